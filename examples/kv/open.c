/*
 * open.c - open, recover, close.
 *
 * MANIFEST names the tables and the first log. The logs from there on are replayed into a memtable,
 * and the last one is continued. Files that nothing names are what a crash left: a table that was
 * not yet part of the store, a log whose memtable had become a table. They are removed, once all
 * else is found in order.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parts.h"

typedef struct open_file {
  uint64_t number, bytes;
  const char *suffix;
} open_file;

/* opening: what is known so far. */
typedef struct opening {
  kv *db;
  kv_error *error;
  open_file *files; /* by number */
  size_t n;
  kv_manifest manifest;
  kv_replay replay;
  uint64_t last_log;
} opening;

static int file_order(const void *a, const void *b) {
  uint64_t x = ((const open_file *)a)->number, y = ((const open_file *)b)->number;
  return x < y ? -1 : x > y;
}

static nay_status open_list(opening *o) {
  DIR *dir = opendir(o->db->dir);
  struct stat st;
  if (dir == NULL) return kv_fail(o->error, NAY_EIO, "%s: %s", o->db->dir, strerror(errno));
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    char *end, path[KV_PATH];
    uint64_t number = strtoull(e->d_name, &end, 10);
    const char *suffix = strcmp(end, ".log") == 0 ? "log" : "ldb";
    kv_path(o->db, number, suffix, path);
    if (strcmp(strrchr(path, '/') + 1, e->d_name) != 0 || stat(path, &st) != 0) continue;
    open_file *files = kv_alloc((o->n + 1) * sizeof *files);
    if (o->n != 0) memcpy(files, o->files, o->n * sizeof *files);
    free(o->files);
    o->files = files;
    files[o->n++] = (open_file){number, (uint64_t)st.st_size, suffix};
    if (o->db->next <= number) o->db->next = number + 1;
  }
  closedir(dir);
  if (o->n != 0) qsort(o->files, o->n, sizeof *o->files, file_order);
  return NAY_OK;
}

/* An empty directory becomes a store; log 1 without a byte is what a crash leaves of that. */
static nay_status open_create(opening *o) {
  kv *db = o->db;
  kv_log log;
  char path[KV_PATH];
  if (!db->options.create) return kv_fail(o->error, NAY_EIO, "%s: no store there", db->dir);
  for (size_t i = 0; i < o->n; i++)
    if (o->files[i].bytes != 0)
      return kv_fail(o->error, NAY_ECORRUPT, "%s: MANIFEST is missing, %06" PRIu64 ".%s is there",
                     db->dir, o->files[i].number, o->files[i].suffix);
  kv_path(db, 1, "log", path);
  unlink(path);
  o->manifest = (kv_manifest){.log = 1, .next = 2};
  nay_status status = kv_log_open(db->dir, 1, 0, true, &log, o->error);
  if (status != NAY_OK) return status;
  close(log.fd);
  free(o->files);
  o->files = NULL;
  o->n = 0;
  status = kv_manifest_save(db->dir, &o->manifest, o->error);
  return status == NAY_OK ? open_list(o) : status;
}

static nay_status open_manifest(opening *o) {
  char path[KV_PATH];
  uint8_t *bytes;
  size_t len;
  snprintf(path, sizeof path, "%s/MANIFEST", o->db->dir);
  if (access(path, F_OK) != 0 && errno == ENOENT) return open_create(o);
  nay_status status = kv_read_file(path, &bytes, &len, o->error);
  if (status != NAY_OK) return status;
  status = kv_manifest_parse((const char *)bytes, len, &o->manifest, o->error);
  free(bytes);
  return status;
}

static nay_status open_tables(opening *o, kv_version **version) {
  kv_table **tables = kv_alloc((o->manifest.ntables + 1) * sizeof *tables);
  nay_status status = NAY_OK;
  size_t n = 0;
  while (status == NAY_OK && n < o->manifest.ntables) {
    tables[n] = kv_alloc(sizeof **tables);
    *tables[n] = o->manifest.tables[n];
    status = kv_table_open(o->db, tables[n++], o->error);
  }
  if (status == NAY_OK) status = kv_version_new(o->db, tables, n, o->error, version);
  while (status != NAY_OK && n > 0) kv_table_free(o->db, tables[--n]);
  free(tables);
  return status;
}

static nay_status log_missing(opening *o, uint64_t number) {
  kv_replay *r = &o->replay;
  kv_fail(o->error, NAY_EIO, "%s: %06" PRIu64 ".log is missing", o->db->dir, number);
  if (!r->salvage) return NAY_EIO;
  r->notice(r->ctx, o->error->text);
  r->dropped = true;
  return NAY_OK;
}

static nay_status open_logs(opening *o) {
  kv_replay *r = &o->replay;
  nay_status status = NAY_OK;
  r->next_log = o->manifest.log;
  for (size_t i = 0; status == NAY_OK && i < o->n; i++) {
    char path[KV_PATH];
    uint8_t *bytes;
    size_t len;
    open_file *f = &o->files[i];
    if (strcmp(f->suffix, "log") != 0 || f->number < o->manifest.log) continue;
    if (r->next_log == 0 && f->bytes == 0) continue; /* a crash: its predecessor does not name it */
    if (r->next_log != f->number)
      status = log_missing(o, r->next_log != 0 ? r->next_log : o->last_log + 1);
    kv_path(o->db, f->number, "log", path);
    if (status == NAY_OK) status = kv_read_file(path, &bytes, &len, o->error);
    if (status != NAY_OK) return status;
    status = kv_log_replay(strrchr(path, '/') + 1, bytes, len, r, o->error);
    free(bytes);
    o->last_log = f->number;
  }
  return status == NAY_OK && r->next_log != 0 ? log_missing(o, r->next_log) : status;
}

/* Removes what a crash left. */
static void open_clean(const opening *o) {
  for (size_t i = 0; i < o->n; i++) {
    const open_file *f = &o->files[i];
    char path[KV_PATH];
    bool named = *f->suffix == 'l' && f->suffix[1] == 'o' && f->number >= o->manifest.log &&
                 f->number <= o->last_log;
    for (size_t t = 0; t < o->manifest.ntables; t++)
      named |= f->number == o->manifest.tables[t].number;
    kv_path(o->db, f->number, f->suffix, path);
    if (!named) unlink(path);
  }
}

static nay_status open_store(opening *o) {
  kv *db = o->db;
  kv_version *version = NULL;
  nay_status status = open_list(o);
  if (status == NAY_OK) status = open_manifest(o);
  if (status == NAY_OK) status = open_tables(o, &version);
  if (status != NAY_OK) return status;
  db->mem = o->replay.mem = kv_memtable_new();
  pthread_mutex_lock(&db->mutex);
  kv_view_publish(db, db->mem, NULL, version);
  kv_version_unref(db, version);
  pthread_mutex_unlock(&db->mutex);
  if (db->next < o->manifest.next) db->next = o->manifest.next;
  db->first_log = o->manifest.log;
  db->flushed = o->replay.sequence = o->manifest.sequence;
  status = open_logs(o);
  if (status != NAY_OK) return status;
  atomic_init(&db->sequence, o->replay.sequence);
  open_clean(o);
  uint64_t length = o->replay.valid;
  if (o->replay.dropped) o->last_log = db->next++, length = 0; /* a damaged log is not continued */
  return kv_log_open(db->dir, o->last_log, length, o->replay.dropped, &db->log, o->error);
}

static void no_notice(void *ctx, const char *text) { (void)ctx, (void)text; }

nay_status kv_open(const char *dir, const kv_options *options, kv_error *error, kv **out) {
  kv_error local;
  nay_diag diag = {.what = ""};
  char path[KV_PATH];
  if (error == NULL) error = &local;
  if (strlen(dir) >= sizeof((kv *)0)->dir)
    return kv_fail(error, NAY_EINVAL, "%.99s...: too long", dir);
  if (options->create && mkdir(dir, 0777) != 0 && errno != EEXIST)
    return kv_fail(error, NAY_EIO, "%s: %s", dir, strerror(errno));
  kv *db = kv_alloc(sizeof *db);
  opening o = {.db = db, .error = error};
  db->options = *options;
  if (db->options.write_buffer == 0) db->options.write_buffer = (size_t)4 << 20;
  if (db->options.table_size == 0) db->options.table_size = 2u << 20;
  if (db->options.level_size == 0) db->options.level_size = 10u << 20;
  if (db->options.notice == NULL) db->options.notice = no_notice;
  o.replay =
      (kv_replay){.salvage = options->salvage, .notice = db->options.notice, .ctx = options->ctx};
  db->log.fd = -1;
  snprintf(db->dir, sizeof db->dir, "%s", dir);
  snprintf(path, sizeof path, "%s/LOCK", dir);
  nay_status status = nay_file_lock(path, NAY_LOCK_TRY, &db->lock, &diag);
  if (status != NAY_OK) {
    free(db);
    return kv_fail(
        error, status, "%s: %s", dir,
        diag.os_error == EWOULDBLOCK ? "another process has it open" : strerror(diag.os_error));
  }
  pthread_mutex_init(&db->writer, NULL);
  pthread_mutex_init(&db->mutex, NULL);
  pthread_cond_init(&db->work, NULL);
  pthread_cond_init(&db->done, NULL);
  status = open_store(&o);
  free(o.files);
  free(o.manifest.tables);
  if (status == NAY_OK && pthread_create(&db->thread, NULL, kv_background, db) != 0)
    status = kv_fail(error, NAY_EIO, "cannot start a thread");
  db->running = status == NAY_OK;
  if (status == NAY_OK && o.replay.dropped) status = kv_settle(db, error);
  if (status == NAY_OK)
    *out = db;
  else
    kv_close(db);
  return status;
}

void kv_close(kv *db) {
  if (db == NULL) return;
  pthread_mutex_lock(&db->mutex);
  db->closing = true;
  pthread_cond_signal(&db->work);
  pthread_mutex_unlock(&db->mutex);
  if (db->running) pthread_join(db->thread, NULL);
  if (db->log.fd >= 0) close(db->log.fd);
  if (db->view != NULL) kv_view_unref(db, db->view);
  for (kv_snapshot *s = db->snapshots, *next; s != NULL; s = next) {
    next = s->next;
    free(s);
  }
  pthread_mutex_destroy(&db->writer);
  pthread_mutex_destroy(&db->mutex);
  pthread_cond_destroy(&db->work);
  pthread_cond_destroy(&db->done);
  nay_file_unlock(&db->lock);
  free(db);
}

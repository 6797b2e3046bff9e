/*
 * open.c - open, recover, close.
 *
 * MANIFEST names the tables and the first log. The logs from there on are replayed into a memtable,
 * and the last one is continued. Files that nothing names are what a crash left: a table that was
 * not yet part of the store, a log whose memtable had become a table, a log that its predecessor
 * does not name yet. They are removed, once all else is found in order.
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

typedef struct opening {
  kv *db;
  kv_error *error;
  kv_manifest m;
  kv_replay replay;
  uint64_t last_log, highest; /* number of a file */
} opening;

/* NULL with NAY_OK: there is no such file. The text ends in a 0 at len. */
static nay_status open_read(const char *path, char **text, size_t *len, kv_error *error) {
  FILE *file = fopen(path, "rb");
  *text = NULL;
  *len = 0;
  if (file == NULL && errno == ENOENT) return NAY_OK;
  for (size_t room = 1 << 16, n = 1; file != NULL && n != 0; room *= 2) {
    char *more = kv_alloc(room + 1);
    if (*len != 0) memcpy(more, *text, *len);
    free(*text);
    *text = more;
    *len += n = fread(more + *len, 1, room - *len, file);
  }
  bool failed = file == NULL || ferror(file) != 0;
  int cause = errno;
  if (file != NULL) fclose(file);
  return failed ? kv_fail(error, NAY_EIO, "%s: %s", path, strerror(cause)) : NAY_OK;
}

/* Goes over the logs and tables in the directory; to remove: those that nothing names. */
static nay_status open_files(opening *o, bool remove) {
  DIR *dir = opendir(o->db->dir);
  if (dir == NULL) return kv_fail(o->error, NAY_EIO, "%s: %s", o->db->dir, strerror(errno));
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    char *suffix, path[KV_PATH];
    uint64_t number = strtoull(e->d_name, &suffix, 10);
    bool log = strcmp(suffix, ".log") == 0;
    kv_path(o->db, number, log ? "log" : "ldb", path);
    if (strcmp(strrchr(path, '/') + 1, e->d_name) != 0) continue;
    bool named = log && number >= o->m.log && number <= o->last_log;
    for (size_t t = 0; t < o->m.n; t++) named |= number == o->m.tables[t]->number;
    if (remove && !named) unlink(path);
    if (number > o->highest) o->highest = number;
  }
  closedir(dir);
  return NAY_OK;
}

/* An empty directory becomes a store; log 1 without a byte is what a crash leaves of that. */
static nay_status open_create(opening *o) {
  kv *db = o->db;
  char path[KV_PATH];
  struct stat st;
  kv_log log;
  if (!db->options.create) return kv_fail(o->error, NAY_EIO, "%s: no store there", db->dir);
  kv_path(db, 1, "log", path);
  bool half = o->highest == 1 && stat(path, &st) == 0 && st.st_size == 0;
  if (o->highest != 0 && !half)
    return kv_fail(o->error, NAY_ECORRUPT, "%s: MANIFEST is missing, other files are there",
                   db->dir);
  if (half) unlink(path);
  o->m = (kv_manifest){.log = 1, .next = 2};
  nay_status status = kv_log_open(db->dir, 1, 0, true, &log, o->error);
  if (status != NAY_OK) return status;
  close(log.fd);
  o->highest = 1;
  return kv_manifest_save(db, &o->m, o->error);
}

static nay_status open_tables(opening *o) {
  kv *db = o->db;
  char path[KV_PATH], *text;
  size_t len;
  snprintf(path, sizeof path, "%s/MANIFEST", db->dir);
  nay_status status = open_read(path, &text, &len, o->error);
  if (status == NAY_OK && text == NULL)
    status = open_create(o);
  else if (status == NAY_OK)
    status = kv_manifest_parse(text, len, db->options.comparator, &o->m, o->error);
  free(text);
  for (size_t i = 0; status == NAY_OK && i < o->m.n; i++)
    status = kv_table_open(db, o->m.tables[i], o->error);
  db->mem = kv_memtable_new(db->options.comparator);
  pthread_mutex_lock(&db->mutex);
  if (status == NAY_OK) status = kv_view_publish(db, db->mem, NULL, o->m.tables, o->m.n, o->error);
  pthread_mutex_unlock(&db->mutex);
  if (status == NAY_OK) return NAY_OK;
  while (o->m.n > 0) kv_table_unref(db, o->m.tables[--o->m.n]);
  kv_memtable_free(db->mem);
  return status;
}

/* A log is missing: an error, or, with salvage, a notice. */
static nay_status open_gap(opening *o, uint64_t number, const char *what) {
  const kv_options *options = &o->db->options;
  kv_fail(o->error, NAY_EIO, "%s: %06" PRIu64 ".log %s", o->db->dir, number, what);
  if (!options->salvage) return NAY_EIO;
  options->notice(options->ctx, o->error->text);
  o->replay.dropped = true;
  return NAY_OK;
}

/* Each log names the one that follows. One that is not named has no record, or one is missing. */
static nay_status open_logs(opening *o) {
  kv_replay *r = &o->replay;
  nay_status status = NAY_OK;
  r->next_log = o->m.log;
  for (uint64_t number = o->m.log; status == NAY_OK && number <= o->highest; number++) {
    char path[KV_PATH], *text;
    size_t len;
    kv_path(o->db, number, "log", path);
    status = open_read(path, &text, &len, o->error);
    if (status == NAY_OK && text != NULL && (r->next_log == number || len != 0)) {
      if (r->next_log == 0)
        status = open_gap(o, number, "follows a log that does not name it");
      else if (r->next_log != number)
        status = open_gap(o, r->next_log, "is missing");
      if (status == NAY_OK)
        status = kv_log_replay(strrchr(path, '/') + 1, (const uint8_t *)text, len, r, o->error);
      o->last_log = number;
    }
    free(text);
  }
  return status == NAY_OK && r->next_log != 0 ? open_gap(o, r->next_log, "is missing") : status;
}

static nay_status open_store(opening *o) {
  kv *db = o->db;
  nay_status status = open_files(o, false);
  if (status == NAY_OK) status = open_tables(o);
  if (status != NAY_OK) return status;
  o->replay = (kv_replay){.mem = db->mem, .sequence = o->m.sequence, .options = &db->options};
  status = open_logs(o);
  if (status != NAY_OK) return status;
  db->saved = (kv_manifest){.log = o->m.log, .sequence = o->m.sequence, .next = o->m.next};
  if (db->saved.next <= o->highest) db->saved.next = o->highest + 1;
  atomic_init(&db->sequence, o->replay.sequence);
  open_files(o, true);
  if (o->replay.dropped) /* a damaged log is not continued */
    return kv_log_open(db->dir, db->saved.next++, 0, true, &db->log, o->error);
  return kv_log_open(db->dir, o->last_log, o->replay.valid, false, &db->log, o->error);
}

static void no_notice(void *ctx, const char *text) { (void)ctx, (void)text; }

static void open_defaults(kv_options *o) {
  if (o->write_buffer == 0) o->write_buffer = (size_t)4 << 20;
  if (o->table_size == 0) o->table_size = 2u << 20;
  if (o->level_size == 0) o->level_size = 10u << 20;
  if (o->notice == NULL) o->notice = no_notice;
}

nay_status kv_open(const char *dir, const kv_options *options, kv_error *error, kv **out) {
  kv_error local;
  nay_diag diag = {.what = ""};
  char path[KV_PATH];
  kv *db = kv_alloc(sizeof *db);
  opening o = {.db = db, .error = error = error != NULL ? error : &local};
  db->options = *options;
  open_defaults(&db->options);
  db->log.fd = -1;
  snprintf(db->dir, sizeof db->dir, "%s", dir);
  snprintf(path, sizeof path, "%s/LOCK", dir);
  if (options->create) mkdir(dir, 0777); /* if it cannot, there is no lock */
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
  free(o.m.tables);
  if (status == NAY_OK && pthread_create(&db->thread, NULL, kv_background, db) != 0)
    status = kv_fail(error, NAY_EIO, "%s: cannot start a thread", dir);
  db->running = status == NAY_OK;
  if (status == NAY_OK && o.replay.dropped) status = kv_settle(db, error);
  if (status != NAY_OK)
    kv_close(db);
  else
    *out = db;
  return status;
}

void kv_close(kv *db) {
  pthread_mutex_lock(&db->mutex);
  db->closing = true;
  pthread_cond_signal(&db->work);
  pthread_mutex_unlock(&db->mutex);
  if (db->running) pthread_join(db->thread, NULL);
  if (db->log.fd >= 0) close(db->log.fd);
  if (db->view != NULL) kv_view_unref(db, db->view);
  while (db->snapshots != NULL) kv_snapshot_release(db, db->snapshots);
  pthread_mutex_destroy(&db->writer);
  pthread_mutex_destroy(&db->mutex);
  pthread_cond_destroy(&db->work);
  pthread_cond_destroy(&db->done);
  nay_file_unlock(&db->lock);
  free(db);
}

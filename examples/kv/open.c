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

/* Of a file that is not there: NULL. A 0 follows the bytes. */
static nay_status open_read(const char *path, kv_slice *bytes, kv_error *error) {
  FILE *file = fopen(path, "rb");
  struct stat st = {.st_size = 0};
  *bytes = (kv_slice){NULL, 0};
  if (file == NULL && errno == ENOENT) return NAY_OK;
  if (file == NULL || fstat(fileno(file), &st) != 0 || !S_ISREG(st.st_mode))
    return kv_fail(error, NAY_EIO, "%s: cannot be read: %s", path, strerror(errno));
  char *data = kv_alloc((size_t)st.st_size + 1);
  *bytes = (kv_slice){data, fread(data, 1, (size_t)st.st_size, file)};
  fclose(file);
  if (bytes->len == (size_t)st.st_size) return NAY_OK;
  free(data);
  return kv_fail(error, NAY_EIO, "%s: cannot read all of it", path);
}

/* Goes over the logs and tables in the directory; to clean: removes those that nothing names. */
static nay_status open_files(opening *o, bool clean) {
  DIR *dir = opendir(o->db->dir);
  if (dir == NULL) return kv_fail(o->error, NAY_EIO, "%s: %s", o->db->dir, strerror(errno));
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    char *end;
    uint64_t number = strtoull(e->d_name, &end, 10);
    bool log = strcmp(end, ".log") == 0, named = log && number >= o->m.log && number <= o->last_log;
    kv_name path = kv_path(o->db, number, log ? "log" : "ldb");
    if (strcmp(strrchr(path.text, '/') + 1, e->d_name) != 0) continue;
    for (size_t t = 0; t < o->m.n; t++) named |= number == o->m.tables[t]->number;
    if (clean && !named) unlink(path.text);
    if (number > o->highest) o->highest = number;
  }
  closedir(dir);
  return NAY_OK;
}

/* An empty directory becomes a store; log 1 without a byte is what a crash leaves of that. */
static nay_status open_create(opening *o) {
  kv *db = o->db;
  struct stat st;
  kv_name path = kv_path(db, 1, "log");
  kv_log log;
  if (!db->options.create) return kv_fail(o->error, NAY_EIO, "%s: no store there", db->dir);
  if (o->highest > 1 || (o->highest == 1 && (stat(path.text, &st) != 0 || st.st_size != 0)))
    return kv_fail(o->error, NAY_ECORRUPT, "%s: MANIFEST is missing, other files are there",
                   db->dir);
  nay_status status = kv_log_open(db, 1, 0, o->highest == 0, &log, o->error);
  if (status != NAY_OK) return status;
  close(log.fd);
  o->highest = 1;
  o->m = (kv_manifest){.log = 1, .sequence = 1, .next = 2}; /* snapshot 0 is none */
  return kv_manifest_save(db, &o->m, o->error);
}

static nay_status open_tables(opening *o) {
  kv *db = o->db;
  kv_slice text;
  nay_status status = open_read(kv_path(db, 0, "MANIFEST").text, &text, o->error);
  if (status == NAY_OK)
    status = text.data == NULL ? open_create(o)
                               : kv_manifest_parse(text, db->options.comparator, &o->m, o->error);
  free((void *)(uintptr_t)text.data);
  for (size_t i = 0; status == NAY_OK && i < o->m.n; i++)
    status = kv_table_open(db, o->m.tables[i], o->error);
  db->mem = kv_memtable_new(db->options.comparator);
  if (status == NAY_OK) status = kv_view_publish(db, db->mem, NULL, o->m.tables, o->m.n, o->error);
  if (status == NAY_OK) return NAY_OK;
  while (o->m.n > 0) kv_table_unref(db, o->m.tables[--o->m.n]);
  kv_memtable_unref(db->mem);
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
    kv_slice bytes;
    kv_name path = kv_path(o->db, number, "log");
    status = open_read(path.text, &bytes, o->error);
    if (status == NAY_OK && bytes.data != NULL && (r->next_log == number || bytes.len != 0)) {
      if (r->next_log == 0)
        status = open_gap(o, number, "follows a log that does not name it");
      else if (r->next_log != number)
        status = open_gap(o, r->next_log, "is missing");
      if (status == NAY_OK) status = kv_log_replay(strrchr(path.text, '/') + 1, bytes, r, o->error);
      o->last_log = number;
    }
    free((void *)(uintptr_t)bytes.data);
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
  bool fresh = o->replay.dropped; /* a damaged log is not continued */
  return kv_log_open(db, fresh ? db->saved.next++ : o->last_log, fresh ? 0 : o->replay.valid, fresh,
                     &db->log, o->error);
}

static void no_notice(void *ctx, const char *text) { (void)ctx, (void)text; }

static kv *open_new(const char *dir, const kv_options *options) {
  kv *db = kv_alloc(sizeof *db);
  kv_options *o = &db->options;
  *o = *options;
  if (o->write_buffer == 0) o->write_buffer = (size_t)4 << 20;
  if (o->write_buffer < 4096) o->write_buffer = 4096; /* an empty memtable is never full */
  if (o->table_size == 0) o->table_size = 2u << 20;
  if (o->level_size == 0) o->level_size = 10u << 20;
  if (o->notice == NULL) o->notice = no_notice;
  snprintf(db->dir, sizeof db->dir, "%s", dir);
  db->log.fd = -1;
  pthread_mutex_init(&db->writer, NULL);
  pthread_mutex_init(&db->mutex, NULL);
  pthread_cond_init(&db->work, NULL);
  pthread_cond_init(&db->done, NULL);
  return db;
}

nay_status kv_open(const char *dir, const kv_options *options, kv_error *error, kv **out) {
  kv_error local;
  nay_diag diag = {.what = ""};
  if (strlen(dir) >= sizeof(*out)->dir) return kv_fail(error, NAY_EINVAL, "the path is too long");
  kv *db = open_new(dir, options);
  opening o = {.db = db, .error = error = error != NULL ? error : &local};
  if (options->create) mkdir(dir, 0777); /* if it cannot, there is no lock */
  nay_status status = nay_file_lock(kv_path(db, 0, "LOCK").text, NAY_LOCK_TRY, &db->lock, &diag);
  if (status != NAY_OK) {
    free(db);
    const char *why = strerror(diag.os_error);
    return kv_fail(error, status, "%s: %s", dir,
                   diag.os_error == EWOULDBLOCK ? "another process has it open" : why);
  }
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
  pthread_mutex_destroy(&db->writer);
  pthread_mutex_destroy(&db->mutex);
  pthread_cond_destroy(&db->work);
  pthread_cond_destroy(&db->done);
  nay_file_unlock(&db->lock);
  free(db->snapshots);
  free(db);
}

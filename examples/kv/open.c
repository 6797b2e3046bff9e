/*
 * open.c - open, recover, close.
 *
 * MANIFEST names the tables and the log. The log is replayed into a memtable, which becomes a table
 * of level 0; then the store begins with an empty log. Files that nothing names are what a
 * crash left: a table that was not yet part of the store, a log whose memtable had become a table,
 * an empty log. They are removed, once all else is found in order.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "parts.h"

/* A 0 follows the bytes. */
static nay_status open_read(const char *path, kv_bytes *bytes, kv_error *error) {
  FILE *file;
  struct stat st;
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || (file = fopen(path, "rb")) == NULL)
    return kv_fail(error, NAY_EIO, "%s: cannot be read: %s", path, strerror(errno));
  *bytes = (kv_bytes){kv_alloc((size_t)st.st_size + 1), (size_t)st.st_size};
  bool all = fread(bytes->data, 1, bytes->len, file) == bytes->len;
  fclose(file);
  return all ? NAY_OK : kv_fail(error, NAY_EIO, "%s: cannot read all of it", path);
}

/* Goes over the logs and tables in the directory, for the highest number; a log that has records
 * and could have been named is not left over. To clean: removes those that nothing names. */
static nay_status open_files(kv *db, const kv_view *v, bool clean, kv_error *error) {
  DIR *dir = opendir(db->dir);
  nay_status status = NAY_OK;
  if (dir == NULL) return kv_fail(error, NAY_EIO, "%s: %s", db->dir, strerror(errno));
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    char *end;
    struct stat st;
    uint64_t number = strtoull(e->d_name, &end, 10);
    bool log = strcmp(end, ".log") == 0, named = number == v->log;
    kv_name path = kv_path(db, number, log ? "log" : "ldb");
    if (strcmp(strrchr(path.text, '/') + 1, e->d_name) != 0) continue;
    for (size_t i = 0; i < v->n; i++) named |= number == v->tables[i]->number;
    if (number >= db->next) db->next = number + 1;
    if (clean && !named) unlink(path.text);
    if (!named && log && number > v->log && stat(path.text, &st) == 0 && st.st_size != 0)
      status = kv_fail(error, NAY_ECORRUPT, "%s: not in MANIFEST, but has records", path.text);
  }
  closedir(dir);
  return status;
}

/* MANIFEST, and its tables; a directory without files becomes a store without a log. */
static nay_status open_tables(kv *db, kv_view **view, kv_error *error) {
  kv_name path = kv_path(db, 0, "MANIFEST");
  kv_bytes text = {NULL, 0};
  if (access(path.text, F_OK) != 0 && errno == ENOENT) {
    *view = kv_view_next(NULL, 1);
    (*view)->sequence = 1; /* snapshot 0 is none */
    open_files(db, *view, false, error);
    if (db->next == 1) return kv_manifest_save(db, *view, error);
    return kv_fail(error, NAY_ECORRUPT, "%s: MANIFEST is missing, other files are there", db->dir);
  }
  nay_status status = open_read(path.text, &text, error);
  if (status == NAY_OK) status = kv_manifest_parse(text, view, error);
  free(text.data);
  for (size_t i = 0; status == NAY_OK && i < (*view)->n; i++)
    status = kv_table_open(db, (*view)->tables[i], error);
  return status == NAY_OK ? open_files(db, *view, false, error) : status;
}

/* What the log has becomes a table, and a new log begins. */
static nay_status open_store(kv *db, kv_error *error) {
  kv_view *v = NULL;
  kv_bytes log = {NULL, 0};
  nay_status status = open_tables(db, &v, error);
  kv_memtable *mem = kv_memtable_new(v != NULL ? v->sequence : 0);
  if (status == NAY_OK && v->log != 0) {
    kv_name path = kv_path(db, v->log, "log");
    status = open_read(path.text, &log, error);
    if (status == NAY_OK) status = kv_log_replay(strrchr(path.text, '/') + 1, log, mem, error);
  }
  if (status == NAY_OK)
    status = kv_flush(db, mem, v, error);
  else
    kv_view_unref(db, v);
  db->sequence = mem->last;
  kv_memtable_unref(mem);
  free(log.data);
  if (status == NAY_OK) status = open_files(db, db->view, true, error);
  if (status == NAY_OK && pthread_create(&db->thread, NULL, kv_background, db) != 0)
    status = kv_fail(error, NAY_EIO, "%s: cannot start a thread", db->dir);
  db->running = status == NAY_OK;
  return status;
}

nay_status kv_open(const char *dir, const kv_options *options, kv_error *error, kv **out) {
  kv_error local;
  nay_diag diag = {.what = ""};
  if (error == NULL) error = &local;
  error->text[0] = 0;
  if (strlen(dir) >= sizeof(*out)->dir) return kv_fail(error, NAY_EINVAL, "the path is too long");
  kv *db = kv_alloc(sizeof *db);
  *db = (kv){.options = *options,
             .fd = -1,
             .next = 1,
             .writer = PTHREAD_MUTEX_INITIALIZER,
             .mutex = PTHREAD_MUTEX_INITIALIZER,
             .changed = PTHREAD_COND_INITIALIZER};
  if (options->write_buffer == 0) db->options.write_buffer = (size_t)4 << 20;
  snprintf(db->dir, sizeof db->dir, "%s", dir);
  mkdir(dir, 0777); /* if it cannot, there is no lock */
  nay_status status = nay_file_lock(kv_path(db, 0, "LOCK").text, NAY_LOCK_TRY, &db->lock, &diag);
  if (status != NAY_OK) {
    bool taken = diag.os_error == EWOULDBLOCK;
    kv_fail(error, status, "%s: %s", dir,
            taken ? "another process has it open" : strerror(diag.os_error));
    return free(db), status;
  }
  status = open_store(db, error);
  if (status != NAY_OK)
    kv_close(db);
  else
    *out = db;
  return status;
}

void kv_close(kv *db) {
  pthread_mutex_lock(&db->writer);
  db->closing = true;
  pthread_cond_broadcast(&db->changed);
  pthread_mutex_unlock(&db->writer);
  if (db->running) pthread_join(db->thread, NULL);
  if (db->fd >= 0) close(db->fd);
  kv_view_unref(db, db->view);
  nay_file_unlock(&db->lock);
  free(db->snapshots);
  free(db);
}

/*
 * open.c - recovery.
 *
 * MANIFEST names the tables and the logs. The logs are replayed into their memtables, and the store
 * is as it was; nothing is written. Files that nothing names are what a crash left: a table that
 * was not yet part of the store, one that had been merged, a log whose memtable had become a table,
 * a log without records. They are removed, once all else is found in order.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store.h"

/* ---- files that nothing names ---- */

static int number_order(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* The numbers of the files that the view names, ascending. To be freed. */
static uint64_t *open_named(const kv_view *v, size_t *n) {
  uint64_t *numbers = kv__alloc((v->levels->n + 2) * sizeof *numbers);
  *n = 0;
  for (size_t i = 0; i < v->levels->n; i++) numbers[(*n)++] = v->levels->tables[i]->number;
  numbers[(*n)++] = v->mem->log;
  if (v->imm != NULL) numbers[(*n)++] = v->imm->log;
  qsort(numbers, *n, sizeof *numbers, number_order);
  return numbers;
}

/* unnamed: a log or table that the view does not name. */
typedef struct unnamed {
  kv_file at;
  uint64_t number;
  bool log;
} unnamed;

static bool unnamed_is_empty(const unnamed *f) {
  struct stat st;
  if (stat(f->at.path, &st) != 0 || !S_ISREG(st.st_mode)) return true;
  return st.st_size <= (f->log ? KV_LOG_HEAD : 0);
}

/* A log that has records and is newer than those of the view, a table with an entry above all of
 * them, or any file of a store without a manifest, is not left over by a crash: the manifest is
 * older than the file. */
static nay_status unnamed_check(const kv *db, const unnamed *f, uint64_t last, kv_error *error) {
  bool fresh = db->next == 1;
  if (unnamed_is_empty(f)) return NAY_OK;
  if (!fresh && f->log && f->number < db->view->mem->log) return NAY_OK;
  if (!fresh && !f->log && !kv__table_reaches(f->at.path, last)) return NAY_OK;
  return kv__fail(error, NAY_ECORRUPT, "%s: not in MANIFEST, or that is missing", f->at.path);
}

/* renames: else says whether that can be done. */
static nay_status unnamed_keep(const kv *db, const unnamed *f, bool renames, kv_error *error) {
  struct stat st;
  kv_file to = kv__file_numbered(db, f->number, f->log ? "log.damaged" : "ldb.damaged");
  if (unnamed_is_empty(f)) return NAY_OK;
  if (lstat(to.path, &st) == 0)
    return kv__fail(error, NAY_EIO, "%s: is in the way, and is kept", to.path);
  if (!renames) return NAY_OK;
  if (renameat(AT_FDCWD, f->at.path, AT_FDCWD, to.path) != 0)
    return kv__fail(error, NAY_EIO, "%s: cannot rename: %s", f->at.path, strerror(errno));
  kv__also(error, "; %s: not in MANIFEST, kept as %s", strrchr(f->at.path, '/') + 1,
           strrchr(to.path, '/') + 1);
  return NAY_OK;
}

static nay_status unnamed_act(const kv *db, const unnamed *f, kv_unnamed act, uint64_t last,
                              kv_error *error) {
  if (act == KV_UNNAMED_REMOVE) {
    unlink(f->at.path);
    return NAY_OK;
  }
  if (act == KV_UNNAMED_KEEP) return unnamed_keep(db, f, true, error);
  nay_status status = unnamed_check(db, f, last, error);
  if (status != NAY_OK || act == KV_UNNAMED_CHECK) return status;
  return unnamed_keep(db, f, false, error);
}

nay_status kv__open_files(kv *db, kv_unnamed act, uint64_t last, kv_error *error) {
  size_t n;
  DIR *dir = opendir(db->dir);
  if (dir == NULL) return kv__fail(error, NAY_EIO, "%s: %s", db->dir, strerror(errno));
  uint64_t *named = open_named(db->view, &n);
  nay_status status = NAY_OK;
  for (const struct dirent *e; (e = readdir(dir)) != NULL && status == NAY_OK;) {
    char *end;
    uint64_t number = strtoull(e->d_name, &end, 10);
    unnamed f = {.number = number, .log = strcmp(end, ".log") == 0};
    if (act == KV_UNNAMED_SURVEY && *end == '.' && number <= KV_MAX_FILE && number >= db->next)
      db->next = number + 1;
    f.at = kv__file_numbered(db, number, f.log ? "log" : "ldb");
    if (number == 0 || strcmp(strrchr(f.at.path, '/') + 1, e->d_name) != 0) continue;
    if (db->next > 1 && bsearch(&number, named, n, sizeof number, number_order) != NULL) continue;
    status = unnamed_act(db, &f, act, last, error);
  }
  free(named);
  closedir(dir);
  return status;
}

/* ---- logs ---- */

/* The memtable as its log has it. */
static nay_status open_log(kv_memtable *m, bool newest, kv_error *error) {
  void *bytes;
  size_t len;
  nay_status status = kv__file_read(&m->at, &bytes, &len);
  if (status != NAY_OK) return kv__blame(error, status, &m->at);
  status = kv__log_replay(m, bytes, len, error);
  free(bytes);
  if (status == NAY_OK && m->length < len && !newest)
    status = kv__fail(error, NAY_ECORRUPT, "%s: torn at offset %" PRIu64 ", and not the newest log",
                      m->at.path, m->length);
  return status;
}

nay_status kv__open_logs(kv *db, kv_error *error) {
  const kv_view *v = db->view;
  if (v->imm != NULL) {
    nay_status status = open_log(v->imm, false, error);
    if (status != NAY_OK) return status;
    v->mem->last = v->imm->last;
  }
  return open_log(v->mem, true, error);
}

/* ---- the store ---- */

/* The name of the directory is on the disk. */
static nay_status open_sync_parent(const kv *db, kv_error *error) {
  kv_file parent = kv__file_named(db, "..");
  int fd = open(parent.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  /* EINVAL: the file system cannot sync a directory, and nothing more can be done */
  bool synced = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
  int why = errno;
  if (fd >= 0) close(fd);
  if (synced) return NAY_OK;
  return kv__fail(error, NAY_EIO, "%s: cannot sync: %s", parent.path, strerror(why));
}

/* An empty store, on the disk as well. */
static nay_status open_new(kv *db, kv_error *error) {
  uint64_t id;
  kv__fail(error, NAY_OK, "%s", "");
  if (getentropy(&id, sizeof id) != 0) return kv__fail(error, NAY_EIO, "there is no random id");
  db->view = kv__view_next(NULL);
  db->view->sequence = 1; /* snapshot 0 is none */
  db->view->mem = kv__memtable_new(db, id, 1, 1);
  nay_status status = kv__levels_new(NULL, 0, error, &db->view->levels);
  if (status == NAY_OK) status = kv__open_files(db, KV_UNNAMED_CHECK, 1, error);
  db->next = 2;
  if (status == NAY_OK) status = open_sync_parent(db, error);
  if (status == NAY_OK) status = kv__log_create(db->view->mem, error);
  return status == NAY_OK ? kv__manifest_save(db, db->view, error) : status;
}

nay_status kv__open_tables(kv *db, kv_error *error) {
  kv_file at = kv__file_named(db, "MANIFEST");
  void *text;
  size_t len, n = 0;
  kv_table **tables = NULL;
  nay_status status = kv__file_read(&at, &text, &len);
  if (at.diag.os_error == ENOENT)
    return kv__fail(error, NAY_ENOENT, "%s: there is no store", db->dir);
  if (status != NAY_OK) return kv__blame(error, status, &at);
  status = kv__manifest_parse(db, text, len, error, &tables, &n);
  free(text);
  for (size_t i = 0; status == NAY_OK && i < n; i++) status = kv__table_open(db, tables[i], error);
  if (status == NAY_OK)
    status = kv__levels_new(tables, n, error, &db->view->levels);
  else
    for (size_t i = 0; i < n; i++) kv__table_unref(tables[i]);
  free(tables);
  return status;
}

/* The lock is on the directory: it has to be there to be read, and a lock file would have to be
 * made, on a disk that may be full. */
static nay_status open_flock(kv *db, kv_error *error) {
  int result = -1;
  db->lock = open(db->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (db->lock < 0)
    return kv__fail(error, errno == ENOENT ? NAY_ENOENT : NAY_EIO, "%s: cannot open: %s", db->dir,
                    strerror(errno));
  do result = flock(db->lock, LOCK_EX | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result == 0) return NAY_OK;
  int why = errno;
  close(db->lock);
  if (why == EWOULDBLOCK)
    return kv__fail(error, NAY_EIO, "%s: the store is open, here or in another process", db->dir);
  return kv__fail(error, NAY_EIO, "%s: cannot lock: %s", db->dir, strerror(why));
}

/* The pool opens each table once; the cache has one budget for what they hold in memory. */
static void open_pool(kv *db) {
  const nay_sst_cache_options budget = {sizeof budget, KV_CACHE, KV_CACHE, .shared = true};
  if (nay_sst_cache_new(&budget, NULL, NULL, &db->cache) != NAY_OK) abort(); /* memory */
  const nay_sst_read_options read = {sizeof read, .keys = NAY_SST_KEYS_INTERNAL, .cache = db->cache,
                                     .flags = NAY_SST_BUDGETED | NAY_SST_PINNED};
  const nay_sst_pool_options few = {sizeof few, .max_open = KV_OPEN_TABLES, .read = &read};
  if (nay_sst_pool_new(&few, NULL, NULL, &db->pool) != NAY_OK) abort(); /* memory */
}

nay_status kv__open_lock(const char *dir, const kv_options *options, kv_error *error, kv **out) {
  if (strlen(dir) >= sizeof(*out)->dir) return kv__fail(error, NAY_EINVAL, "the path is too long");
  kv *db = kv__alloc(sizeof *db);
  if (options != NULL) db->options = *options;
  if (db->options.write_buffer == 0) db->options.write_buffer = (size_t)4 << 20;
  db->next = 1;
  pthread_mutex_init(&db->writer, NULL);
  pthread_mutex_init(&db->mutex, NULL);
  pthread_cond_init(&db->changed, NULL);
  snprintf(db->dir, sizeof db->dir, "%s", dir);
  if (!db->options.must_exist) mkdir(dir, 0777); /* if it cannot, there is no lock */
  nay_status status = open_flock(db, error);
  if (status != NAY_OK) {
    free(db);
    return status;
  }
  open_pool(db);
  *out = db;
  return kv__fail(error, NAY_OK, "%s", "");
}

nay_status kv_open(const char *dir, const kv_options *options, kv_error *error, kv **out) {
  kv *db;
  nay_status status = kv__open_lock(dir, options, error, &db);
  if (status != NAY_OK) return status;
  status = kv__open_tables(db, error);
  if (status == NAY_OK)
    status = kv__open_logs(db, error);
  else if (status == NAY_ENOENT && !db->options.must_exist)
    status = open_new(db, error);
  if (status == NAY_OK) db->sequence = db->view->mem->last;
  if (status == NAY_OK) status = kv__open_files(db, KV_UNNAMED_CHECK, db->sequence, error);
  if (status == NAY_OK) status = kv__open_files(db, KV_UNNAMED_REMOVE, db->sequence, error);
  db->running = status == NAY_OK && pthread_create(&db->thread, NULL, kv__background, db) == 0;
  if (status == NAY_OK && !db->running) status = kv__fail(error, NAY_EIO, "there is no thread");
  if (status == NAY_OK)
    *out = db;
  else
    kv_close(db);
  return status;
}

void kv_close(kv *db) {
  if (db == NULL) return;
  pthread_mutex_lock(&db->writer);
  db->closing = true;
  pthread_cond_broadcast(&db->changed);
  pthread_mutex_unlock(&db->writer);
  if (db->running) pthread_join(db->thread, NULL);
  kv__view_unref(db->view);
  nay_sst_pool_free(db->pool);
  nay_sst_cache_free(db->cache);
  close(db->lock);
  free(db->snapshots);
  free(db);
}

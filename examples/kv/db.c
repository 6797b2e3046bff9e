/*
 * db.c - the store: open and recover, put, get, snapshots.
 *
 * Two locks. `writer` orders puts: append to the log, insert into the memtable, publish the
 * sequence. `mutex` guards the current view, and is held for a few instructions only. A reader
 * takes a reference to the view and the sequence of the newest entry, and then needs no lock: the
 * memtable is only added to, entries above its sequence are not seen, tables do not change.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parts.h"

void *kv_alloc(size_t n) {
  void *p = calloc(1, n);
  if (p != NULL) return p;
  fprintf(stderr, "kv: no memory\n");
  abort();
}

nay_status kv_fail(kv_error *error, nay_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (error != NULL) vsnprintf(error->text, sizeof error->text, format, args);
  va_end(args);
  return status;
}

void kv_path(const kv *db, uint64_t number, const char *suffix, char path[KV_PATH]) {
  snprintf(path, KV_PATH, "%s/%06" PRIu64 ".%s", db->dir, number, suffix);
}

uint64_t kv_number(kv *db) {
  pthread_mutex_lock(&db->mutex);
  uint64_t number = db->next++;
  pthread_mutex_unlock(&db->mutex);
  return number;
}

/* ---- tables and views ---- */

static nay_status table_key(nay_status status, const nay_sst_iter *iter, kv_bytes *key) {
  nay_sst_version version = {.size = sizeof version};
  size_t len;
  const void *internal = nay_sst_iter_key(iter, &len);
  if (status == NAY_OK) status = nay_sst_key_split(internal, len, &version);
  if (status != NAY_OK) return status == NAY_ENOENT ? NAY_ECORRUPT : status; /* no table is empty */
  key->data = kv_alloc(version.len + 1);
  memcpy(key->data, version.key, version.len);
  key->len = version.len;
  return NAY_OK;
}

nay_status kv_table_open(kv *db, kv_table *t, kv_error *error) {
  char path[KV_PATH];
  nay_diag diag = {.what = ""};
  nay_sst_iter *iter = NULL;
  nay_sst_info info = {.size = sizeof info};
  nay_sst_read_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL};
  kv_path(db, t->number, "ldb", path);
  nay_status status = nay_sst_open(path, &how, NULL, &diag, &t->sst);
  if (status == NAY_OK) status = nay_sst_describe(t->sst, &info);
  if (status == NAY_OK && t->bytes != 0 && t->bytes != info.nbytes) {
    diag.what = "not the size that MANIFEST says";
    status = NAY_ECORRUPT;
  }
  t->bytes = info.nbytes;
  if (status == NAY_OK) status = nay_sst_iter_new(t->sst, &iter);
  if (status == NAY_OK) status = table_key(nay_sst_iter_first(iter), iter, &t->smallest);
  if (status == NAY_OK) status = table_key(nay_sst_iter_last(iter), iter, &t->largest);
  if (iter != NULL && *diag.what == 0) diag = *nay_sst_iter_diag(iter);
  nay_sst_iter_free(iter);
  if (status == NAY_OK) return NAY_OK;
  return kv_fail(error, status, "%s: %s at offset %" PRIu64 ": %s%s%s", path,
                 nay_status_text(status), diag.offset, diag.what, diag.os_error ? ": " : "",
                 diag.os_error ? strerror(diag.os_error) : "");
}

void kv_table_free(kv *db, kv_table *t) {
  char path[KV_PATH];
  nay_sst_free(t->sst);
  kv_path(db, t->number, "ldb", path);
  if (t->obsolete) unlink(path);
  free(t->smallest.data);
  free(t->largest.data);
  free(t);
}

/* The order of tables in a view. */
static int table_order(const void *a, const void *b) {
  const kv_table *s = *(kv_table *const *)a, *t = *(kv_table *const *)b;
  if (s->level != t->level) return s->level < t->level ? -1 : 1;
  if (s->level == 0) return s->number > t->number ? -1 : 1;
  return kv_compare(s->smallest.data, s->smallest.len, t->smallest.data, t->smallest.len);
}

nay_status kv_version_new(kv *db, kv_table *const *tables, size_t n, kv_error *error,
                          kv_version **version) {
  const nay_sst **ssts = kv_alloc((n + 1) * sizeof(nay_sst *));
  kv_version *v = kv_alloc(sizeof *v + n * sizeof v->tables[0]);
  nay_lookup_level levels[KV_LEVELS];
  nay_diag diag = {.what = ""};
  v->refs = 1;
  v->n = n;
  memcpy(v->tables, tables, n * sizeof *tables);
  qsort(v->tables, n, sizeof v->tables[0], table_order);
  for (size_t i = 0; i < n; i++) ssts[i] = v->tables[i]->sst;
  for (size_t i = 0, at = 0; i < KV_LEVELS; at += levels[i++].n)
    levels[i] =
        (nay_lookup_level){sizeof levels[i], ssts + at, kv_level_size(v, (unsigned)i, NULL), i > 0};
  nay_status status = nay_lookup_new_levels(levels, KV_LEVELS, NULL, &diag, &v->lookup);
  free(ssts);
  if (status != NAY_OK) {
    uint64_t number = diag.offset < n ? v->tables[diag.offset]->number : 0;
    free(v);
    return kv_fail(error, NAY_ECORRUPT, "%06" PRIu64 ".ldb: %s", number, diag.what);
  }
  pthread_mutex_lock(&db->mutex);
  for (size_t i = 0; i < n; i++) v->tables[i]->refs++;
  pthread_mutex_unlock(&db->mutex);
  *version = v;
  return NAY_OK;
}

void kv_view_publish(kv *db, kv_memtable *mem, kv_memtable *full, kv_version *version) {
  kv_view *view = kv_alloc(sizeof *view), *old = db->view;
  *view = (kv_view){1, mem, full, version};
  mem->refs++;
  if (full != NULL) full->refs++;
  version->refs++;
  db->view = view;
  if (old != NULL) kv_view_unref(db, old);
}

static void memtable_unref(kv_memtable *m) {
  if (m != NULL && --m->refs == 0) kv_memtable_free(m);
}

void kv_version_unref(kv *db, kv_version *version) {
  if (--version->refs > 0) return;
  nay_lookup_free(version->lookup);
  for (size_t i = 0; i < version->n; i++)
    if (--version->tables[i]->refs == 0) kv_table_free(db, version->tables[i]);
  free(version);
}

void kv_view_unref(kv *db, kv_view *view) {
  if (--view->refs > 0) return;
  memtable_unref(view->mem);
  memtable_unref(view->full);
  kv_version_unref(db, view->version);
  free(view);
}

/* ---- put ---- */

void kv_set_failed(kv *db, nay_status status, const kv_error *error) {
  pthread_mutex_lock(&db->mutex);
  if (db->failed == NAY_OK) {
    db->failed = status;
    db->failure = *error;
  }
  pthread_cond_broadcast(&db->done);
  pthread_mutex_unlock(&db->mutex);
}

/* The memtable is full: it waits for the background thread, a new one with a new log is next. */
static nay_status db_rotate(kv *db, kv_error *error) {
  uint8_t record[KV_RECORD + 8 + 8];
  kv_log log;
  uint64_t number = kv_number(db);
  nay_status status = kv_log_open(db->dir, number, 0, true, &log, error);
  if (status != NAY_OK) return status;
  kv_store(record + KV_RECORD, db->mem->last << 8 | KV_NEXT_LOG, 8);
  kv_store(record + KV_RECORD + 8, number, 8);
  kv_record_seal(record, 0, 8);
  status = kv_log_append(&db->log, record, sizeof record, true, error);
  if (status != NAY_OK) {
    close(log.fd);
    return status;
  }
  close(db->log.fd);
  db->log = log;
  db->mem->next_log = number;
  kv_memtable *full = db->mem;
  db->mem = kv_memtable_new();
  pthread_mutex_lock(&db->mutex);
  kv_view_publish(db, db->mem, full, db->view->version);
  db->idle = false;
  pthread_cond_signal(&db->work);
  pthread_mutex_unlock(&db->mutex);
  return NAY_OK;
}

/* With the writer lock: waits until the memtable has room, or a write has failed. */
static nay_status db_make_room(kv *db, size_t limit, kv_error *error) {
  pthread_mutex_lock(&db->mutex);
  while (db->failed == NAY_OK && db->mem->bytes >= limit &&
         (db->view->full != NULL || kv_level_size(db->view->version, 0, NULL) >= KV_STOP_TABLES))
    pthread_cond_wait(&db->done, &db->mutex);
  nay_status status = db->failed;
  if (status != NAY_OK && error != NULL) *error = db->failure;
  pthread_mutex_unlock(&db->mutex);
  return status != NAY_OK || db->mem->bytes < limit ? status : db_rotate(db, error);
}

static nay_status db_write(kv *db, unsigned type, const void *key, size_t len, const void *value,
                           size_t value_len, kv_error *error) {
  kv_error local;
  if (error == NULL) error = &local;
  if (len > KV_MAX_BYTES || value_len > KV_MAX_BYTES)
    return kv_fail(error, NAY_EINVAL, "keys and values have at most %zu bytes", KV_MAX_BYTES);
  pthread_mutex_lock(&db->writer);
  uint64_t sequence = atomic_load_explicit(&db->sequence, memory_order_relaxed) + 1;
  nay_status status = db_make_room(db, db->options.write_buffer, error);
  if (status == NAY_OK) {
    size_t n = KV_RECORD + len + 8 + value_len;
    kv_node *node = kv_memtable_prepare(db->mem, sequence << 8 | type, key, len, value, value_len);
    kv_record_seal(node->key - KV_RECORD, len, value_len);
    status = kv_log_append(&db->log, node->key - KV_RECORD, n, db->options.sync, error);
    if (status == NAY_OK) kv_memtable_insert(db->mem, node);
    db->stats.put += len + value_len;
    db->stats.logged += n;
  }
  if (status == NAY_OK)
    atomic_store_explicit(&db->sequence, sequence, memory_order_release);
  else
    kv_set_failed(db, status, error);
  pthread_mutex_unlock(&db->writer);
  return status;
}

nay_status kv_put(kv *db, const void *key, size_t len, const void *value, size_t value_len,
                  kv_error *error) {
  return db_write(db, KV_VALUE, key, len, value, value_len, error);
}

nay_status kv_delete(kv *db, const void *key, size_t len, kv_error *error) {
  return db_write(db, KV_DELETED, key, len, NULL, 0, error);
}

/* ---- get ---- */

kv_view *kv_view_ref(kv *db, const kv_snapshot *snapshot, uint64_t *sequence) {
  pthread_mutex_lock(&db->mutex);
  kv_view *view = db->view;
  view->refs++; /* the sequence after the view: all entries up to it are in the view */
  *sequence = snapshot != NULL ? snapshot->sequence
                               : atomic_load_explicit(&db->sequence, memory_order_acquire);
  pthread_mutex_unlock(&db->mutex);
  return view;
}

const kv_snapshot *kv_snapshot_take(kv *db) {
  kv_snapshot *s = kv_alloc(sizeof *s);
  pthread_mutex_lock(&db->mutex);
  *s = (kv_snapshot){atomic_load_explicit(&db->sequence, memory_order_acquire), db->snapshots};
  db->snapshots = s;
  pthread_mutex_unlock(&db->mutex);
  return s;
}

void kv_snapshot_release(kv *db, const kv_snapshot *snapshot) {
  pthread_mutex_lock(&db->mutex);
  kv_snapshot **at = &db->snapshots;
  while (*at != NULL && *at != snapshot) at = &(*at)->next;
  kv_snapshot *found = *at;
  if (found != NULL) *at = found->next;
  pthread_mutex_unlock(&db->mutex);
  free(found);
}

static nay_status get_answer(kv_bytes *value, const void *bytes, size_t len) {
  if (value->room < len) {
    free(value->data);
    value->data = kv_alloc(value->room = len + len / 2);
  }
  if (len != 0) memcpy(value->data, bytes, len);
  value->len = len;
  return NAY_OK;
}

/* db_get: one get under way. */
typedef struct db_get {
  const void *key;
  size_t len;
  uint64_t sequence;
  const kv_version *version;
  kv_trace trace;
  void *ctx;
} db_get;

static void get_trace(const db_get *get, const char *format, ...) {
  char text[200];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  get->trace(get->ctx, text);
}

/* False: it knows nothing of the key, what is older is to be searched. */
static bool get_memtable(const db_get *get, const kv_memtable *m, const char *name, kv_bytes *value,
                         kv_error *error, nay_status *status) {
  if (m == NULL) return false;
  const kv_node *node = kv_memtable_seek(m, get->key, get->len, get->sequence << 8 | 255);
  bool found = node != NULL && kv_compare(node->key, node->len, get->key, get->len) == 0;
  bool deleted = found && (node->tag & 255) == KV_DELETED;
  if (get->trace != NULL)
    get_trace(get, "%s: %s", name, !found ? "absent" : deleted ? "deleted" : "found");
  if (deleted) *status = kv_fail(error, NAY_ENOENT, "deleted");
  if (found && !deleted) *status = get_answer(value, node->key + node->len + 8, node->value_len);
  return found;
}

static void get_step(void *ctx, const nay_lookup_step *step) {
  const db_get *get = ctx;
  const kv_table *t = get->version->tables[step->table];
  char block[80] = "";
  if (step->what == NAY_LOOKUP_INDEX || step->what == NAY_LOOKUP_BLOCK)
    snprintf(block, sizeof block, " (offset %" PRIu64 ", %" PRIu64 " bytes)", step->offset,
             step->nbytes);
  get_trace(get, "level %u, %06" PRIu64 ".ldb: %s%s", t->level, t->number,
            nay_lookup_step_text(step->what), block);
}

static nay_status get_tables(db_get *get, kv_bytes *value, kv_error *error) {
  nay_sst_value found = {.size = sizeof found};
  nay_diag diag = {.what = ""};
  size_t at = 0;
  nay_status status =
      nay_lookup_trace(get->version->lookup, get->key, get->len, get->sequence,
                       get->trace != NULL ? get_step : NULL, get, &diag, &found, &at);
  if (status == NAY_OK)
    status = get_answer(value, found.bytes, found.len);
  else if (status == NAY_ENOENT)
    kv_fail(error, status, "not found");
  else
    kv_fail(error, status, "%06" PRIu64 ".ldb: %s at offset %" PRIu64,
            get->version->tables[at]->number, diag.what, diag.offset);
  nay_sst_value_free(&found);
  return status;
}

nay_status kv_get(kv *db, const void *key, size_t len, const kv_snapshot *snapshot, kv_bytes *value,
                  kv_trace trace, void *ctx, kv_error *error) {
  db_get get = {.key = key, .len = len, .trace = trace, .ctx = ctx};
  kv_view *view = kv_view_ref(db, snapshot, &get.sequence);
  nay_status status;
  get.version = view->version;
  if (!get_memtable(&get, view->mem, "memtable", value, error, &status) &&
      !get_memtable(&get, view->full, "full memtable", value, error, &status))
    status = get_tables(&get, value, error);
  pthread_mutex_lock(&db->mutex);
  kv_view_unref(db, view);
  pthread_mutex_unlock(&db->mutex);
  return status;
}

/* ---- what it did ---- */

nay_status kv_settle(kv *db, kv_error *error) {
  pthread_mutex_lock(&db->writer);
  nay_status status = db_make_room(db, db->mem->last == 0 ? SIZE_MAX : 0, error);
  if (status != NAY_OK) kv_set_failed(db, status, error);
  pthread_mutex_unlock(&db->writer);
  pthread_mutex_lock(&db->mutex);
  while (db->failed == NAY_OK && !db->idle) pthread_cond_wait(&db->done, &db->mutex);
  status = db->failed;
  if (status != NAY_OK && error != NULL) *error = db->failure;
  pthread_mutex_unlock(&db->mutex);
  return status;
}

void kv_describe(kv *db, kv_stats *stats) {
  pthread_mutex_lock(&db->writer);
  pthread_mutex_lock(&db->mutex);
  *stats = db->stats;
  stats->sequence = db->sequence;
  stats->memtable = db->mem->bytes;
  for (unsigned i = 0; i < KV_LEVELS; i++)
    stats->tables[i] = kv_level_size(db->view->version, i, &stats->bytes[i]);
  stats->counters.size = sizeof stats->counters;
  nay_lookup_count(db->view->version->lookup, &stats->counters);
  pthread_mutex_unlock(&db->mutex);
  pthread_mutex_unlock(&db->writer);
}

/*
 * db.c - views and puts.
 *
 * Two locks. `writer` orders puts: insert into the memtable, append to the log, publish the
 * sequence, which makes the entry visible. `mutex` guards the current view, and is held for a few
 * instructions only. A reader takes a reference to the view and the sequence of the newest entry,
 * and then needs no lock: the memtable is only added to, entries above its sequence are not seen,
 * tables do not change.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

uint64_t kv_load(const uint8_t *at, unsigned n) {
  uint64_t value = 0;
  for (unsigned i = 0; i < n; i++) value |= (uint64_t)at[i] << 8 * i;
  return value;
}

void kv_store(uint8_t *at, uint64_t value, unsigned n) {
  for (unsigned i = 0; i < n; i++) at[i] = (uint8_t)(value >> 8 * i);
}

int kv_compare(const nay_sst_comparator *comparator, kv_slice a, kv_slice b) {
  if (comparator != NULL) return comparator->compare(comparator, a.data, a.len, b.data, b.len);
  size_t common = a.len < b.len ? a.len : b.len;
  int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
  return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

kv_name kv_path(const kv *db, uint64_t number, const char *suffix) {
  kv_name path;
  const char *format = number != 0 ? "%s/%06" PRIu64 ".%s" : "%s/%.0" PRIu64 "%s";
  snprintf(path.text, sizeof path.text, format, db->dir, number, suffix);
  return path;
}

uint64_t kv_number(kv *db) {
  pthread_mutex_lock(&db->mutex);
  uint64_t number = db->saved.next++;
  pthread_mutex_unlock(&db->mutex);
  return number;
}

/* ---- tables and views ---- */

/* The first or last user key, copied. */
static nay_status table_key(nay_status status, const nay_sst_iter *iter, kv_slice *key) {
  size_t len;
  const void *internal = nay_sst_iter_key(iter, &len);
  if (status != NAY_OK) return status == NAY_ENOENT ? NAY_ECORRUPT : status; /* no table is empty */
  *key = (kv_slice){memcpy(kv_alloc(len), internal, len), len - 8};
  return NAY_OK;
}

nay_status kv_table_open(kv *db, kv_table *t, kv_error *error) {
  kv_name path = kv_path(db, t->number, "ldb");
  nay_diag diag = {.what = ""};
  nay_sst_iter *iter = NULL;
  nay_sst_info info = {.size = sizeof info};
  nay_sst_read_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL,
                              .comparator = db->options.comparator};
  nay_status status = nay_sst_open(path.text, &how, NULL, &diag, &t->sst);
  if (status == NAY_OK) status = nay_sst_describe(t->sst, &info);
  if (status == NAY_OK && t->bytes != 0 && t->bytes != info.nbytes)
    return kv_fail(error, NAY_ECORRUPT, "%s: not of the size that MANIFEST says", path.text);
  t->bytes = info.nbytes;
  if (status == NAY_OK) status = nay_sst_iter_new(t->sst, &iter);
  if (status == NAY_OK) status = table_key(nay_sst_iter_first(iter), iter, &t->smallest);
  if (status == NAY_OK) status = table_key(nay_sst_iter_last(iter), iter, &t->largest);
  if (status != NAY_OK && iter != NULL) diag = *nay_sst_iter_diag(iter);
  nay_sst_iter_free(iter);
  if (status == NAY_OK) return NAY_OK;
  return kv_fail(error, status, "%s: %s at offset %" PRIu64 ": %s", path.text, diag.what,
                 diag.offset,
                 diag.os_error != 0 ? strerror(diag.os_error) : nay_status_text(status));
}

void kv_table_unref(kv *db, kv_table *t) {
  if (t->refs-- > 1) return;
  nay_sst_free(t->sst);
  if (t->obsolete) unlink(kv_path(db, t->number, "ldb").text);
  free((void *)(uintptr_t)t->smallest.data);
  free((void *)(uintptr_t)t->largest.data);
  free(t);
}

/* Whether s stands before t in a view. */
static bool table_before(const kv *db, const kv_table *s, const kv_table *t) {
  if (s->level != t->level) return s->level < t->level;
  if (s->level == 0) return s->number > t->number;
  return kv_compare(db->options.comparator, s->smallest, t->smallest) < 0;
}

nay_status kv_view_publish(kv *db, kv_memtable *mem, kv_memtable *full, kv_table *const *tables,
                           size_t n, kv_error *error) {
  kv_view *v = kv_alloc(sizeof *v + n * sizeof v->tables[0]), *old = db->view;
  const nay_sst **ssts = kv_alloc((n + 1) * sizeof(nay_sst *));
  nay_lookup_level levels[KV_LEVELS];
  nay_diag diag = {.what = ""};
  *v = (kv_view){.refs = 1, .mem = mem, .full = full, .n = n};
  for (size_t i = 0, at; i < n; v->tables[at] = tables[i], i++)
    for (at = i; at > 0 && table_before(db, tables[i], v->tables[at - 1]); at--)
      v->tables[at] = v->tables[at - 1];
  for (size_t i = 0; i < n; i++) ssts[i] = v->tables[i]->sst;
  for (unsigned i = 0, at = 0; i < KV_LEVELS; at += (unsigned)levels[i++].n)
    levels[i] = (nay_lookup_level){sizeof levels[i], ssts + at, kv_level(v, i, NULL), i > 0};
  nay_status status = nay_lookup_new_levels(levels, KV_LEVELS, NULL, &diag, &v->lookup);
  free(ssts);
  if (status != NAY_OK) { /* levels that overlap */
    kv_fail(error, status, "%06" PRIu64 ".ldb: %s",
            diag.offset < n ? v->tables[diag.offset]->number : 0, diag.what);
    free(v);
    return status == NAY_EINVAL ? NAY_ECORRUPT : status;
  }
  mem->refs++;
  if (full != NULL) full->refs++;
  for (size_t i = 0; i < n; i++) v->tables[i]->refs++;
  db->view = v;
  if (old != NULL) kv_view_unref(db, old);
  return NAY_OK;
}

void kv_view_unref(kv *db, kv_view *v) {
  if (--v->refs > 0) return;
  kv_memtable_unref(v->mem);
  kv_memtable_unref(v->full);
  nay_lookup_free(v->lookup);
  for (size_t i = 0; i < v->n; i++) kv_table_unref(db, v->tables[i]);
  free(v);
}

/* ---- put ---- */

void kv_set_failed(kv *db, nay_status status, const kv_error *error) {
  pthread_mutex_lock(&db->mutex);
  if (db->failed == NAY_OK) db->failure = *error;
  if (db->failed == NAY_OK) db->failed = status;
  pthread_cond_broadcast(&db->done);
  pthread_mutex_unlock(&db->mutex);
}

/* The memtable is full: it waits for the background thread, a new one with a new log is next. */
static nay_status db_rotate(kv *db, kv_error *error) {
  uint8_t record[KV_RECORD + 8 + 8];
  kv_log log;
  kv_memtable *full = db->mem;
  nay_status status = kv_log_open(db, full->next_log = kv_number(db), 0, true, &log, error);
  kv_store(record + KV_RECORD, full->last << 8 | KV_NEXT_LOG, 8);
  kv_store(record + KV_RECORD + 8, full->next_log, 8);
  if (status == NAY_OK)
    status = kv_log_append(&db->log, record, kv_record_seal(record, 0, 8), true, error);
  close(status == NAY_OK ? db->log.fd : log.fd);
  if (status != NAY_OK) return status;
  db->log = log;
  db->mem = kv_memtable_new(db->options.comparator);
  pthread_mutex_lock(&db->mutex);
  status = kv_view_publish(db, db->mem, full, db->view->tables, db->view->n, error);
  db->idle = false;
  pthread_cond_signal(&db->work);
  pthread_mutex_unlock(&db->mutex);
  return status;
}

/* With the writer lock: waits until the memtable has fewer bytes, or a write has failed. */
static nay_status db_make_room(kv *db, size_t limit, kv_error *error) {
  pthread_mutex_lock(&db->mutex);
  while (db->failed == NAY_OK && db->mem->bytes >= limit &&
         (db->view->full != NULL || kv_level(db->view, 0, NULL) >= KV_STOP_TABLES))
    pthread_cond_wait(&db->done, &db->mutex);
  nay_status status = db->failed;
  if (status != NAY_OK) *error = db->failure;
  pthread_mutex_unlock(&db->mutex);
  if (status == NAY_OK && db->mem->bytes >= limit) status = db_rotate(db, error);
  if (status != NAY_OK) kv_set_failed(db, status, error);
  return status;
}

static nay_status db_write(kv *db, unsigned type, kv_slice key, kv_slice value, kv_error *error) {
  kv_error local;
  if (error == NULL) error = &local;
  if (key.len > KV_MAX_BYTES || value.len > KV_MAX_BYTES)
    return kv_fail(error, NAY_EINVAL, "keys and values have at most %zu bytes", KV_MAX_BYTES);
  pthread_mutex_lock(&db->writer);
  nay_status status = db_make_room(db, db->options.write_buffer, error);
  if (status == NAY_OK) {
    uint64_t sequence = atomic_load_explicit(&db->sequence, memory_order_relaxed) + 1;
    kv_node *node = kv_memtable_add(db->mem, sequence << 8 | type, key, value);
    uint8_t *record = (uint8_t *)(uintptr_t)node->key.data - KV_RECORD;
    size_t n = kv_record_seal(record, key.len, value.len);
    db->stats.put += key.len + value.len;
    db->stats.logged += n;
    status = kv_log_append(&db->log, record, n, db->options.sync, error);
    if (status == NAY_OK)
      atomic_store_explicit(&db->sequence, sequence, memory_order_release);
    else
      kv_set_failed(db, status, error);
  }
  pthread_mutex_unlock(&db->writer);
  return status;
}

nay_status kv_put(kv *db, kv_slice key, kv_slice value, kv_error *error) {
  return db_write(db, KV_VALUE, key, value, error);
}

nay_status kv_delete(kv *db, kv_slice key, kv_error *error) {
  return db_write(db, KV_DELETED, key, (kv_slice){NULL, 0}, error);
}

nay_status kv_settle(kv *db, kv_error *error) {
  kv_error local;
  if (error == NULL) error = &local;
  pthread_mutex_lock(&db->writer);
  db_make_room(db, db->mem->last == 0 ? SIZE_MAX : 0, error);
  pthread_mutex_unlock(&db->writer);
  pthread_mutex_lock(&db->mutex);
  while (db->failed == NAY_OK && !db->idle) pthread_cond_wait(&db->done, &db->mutex);
  nay_status status = db->failed;
  if (status != NAY_OK) *error = db->failure;
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
    stats->tables[i] = kv_level(db->view, i, &stats->bytes[i]);
  stats->counters.size = sizeof stats->counters;
  nay_lookup_count(db->view->lookup, &stats->counters);
  pthread_mutex_unlock(&db->mutex);
  pthread_mutex_unlock(&db->writer);
}

/*
 * db.c - views, puts and reads.
 *
 * Two locks. `writer` orders all changes. A put inserts into the memtable, appends to the log, and
 * publishes the sequence, which makes the entry visible. `mutex` guards the current view, and is
 * held for a few instructions only. A reader takes a reference to the view and the sequence of the
 * newest entry, and then needs no lock: the memtable is only added to, entries above its sequence
 * are not seen, tables do not change.
 *
 * The put that finds the memtable full writes it to a table, and begins a new one with a new log.
 *
 * Reads go newest first: the memtable, then the tables of the view. The library's lookup goes
 * through those: range of keys, filter, index, block. An iterator merges the same places; the
 * memtable is a source of its merge.
 */
#include "parts.h"

/* ---- tables and views ---- */

nay_status kv_table_open(const kv *db, kv_table *t, kv_error *error) {
  kv_name path = kv_path(db, t->number, "ldb");
  nay_diag diag = {.what = ""};
  nay_sst_info info = {.size = sizeof info};
  nay_sst_read_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL};
  nay_status status = nay_sst_open(path.text, &how, NULL, &diag, &t->sst);
  if (status != NAY_OK) return kv_blame(error, status, path.text, &diag);
  nay_sst_describe(t->sst, &info);
  if (info.smallest == NULL || (t->bytes != 0 && t->bytes != info.nbytes))
    return kv_fail(error, NAY_ECORRUPT, "%s: %s", path.text,
                   info.smallest != NULL ? "not of the size that MANIFEST says"
                                         : "damaged at offset 0: no first key");
  t->bytes = info.nbytes;
  t->smallest = (kv_slice){info.smallest, info.smallest_len - 8};
  t->largest = (kv_slice){info.largest, info.largest_len - 8};
  return NAY_OK;
}

static void table_unref(kv_table *t) {
  if (t->refs-- > 1) return;
  nay_sst_free(t->sst);
  free(t);
}

kv_view *kv_view_ref(kv *db) {
  pthread_mutex_lock(&db->mutex);
  kv_view *v = db->view;
  v->refs++;
  pthread_mutex_unlock(&db->mutex);
  return v;
}

void kv_view_unref(kv *db, kv_view *v) {
  pthread_mutex_lock(&db->mutex);
  if (v != NULL && v->refs-- <= 1) {
    kv_memtable_unref(v->mem);
    nay_lookup_free(v->lookup);
    for (size_t i = 0; i < v->n; i++) table_unref(v->tables[i]);
    free(v);
  }
  pthread_mutex_unlock(&db->mutex);
}

size_t kv_level(const kv_view *v, unsigned level, uint64_t *bytes) {
  size_t n = 0;
  *bytes = 0;
  for (size_t i = 0; i < v->n; i++)
    if (v->tables[i]->level == level) n++, *bytes += v->tables[i]->bytes;
  return n;
}

kv_view *kv_view_next(const kv_view *v, size_t more) {
  size_t n = v != NULL ? v->n : 0;
  kv_view *next = kv_alloc(sizeof *v + (n + more) * sizeof v->tables[0]);
  if (v != NULL) next->log = v->log, next->sequence = v->sequence, next->mem = v->mem, next->n = n;
  if (n != 0) memcpy(next->tables, v->tables, n * sizeof v->tables[0]);
  return next;
}

static int table_order(const void *a, const void *b) {
  const kv_table *s = *(kv_table *const *)a, *t = *(kv_table *const *)b;
  if (s->level != t->level) return s->level < t->level ? -1 : 1;
  return s->level == 0 ? (s->number < t->number ? 1 : -1) : kv_compare(s->smallest, t->smallest);
}

/* Tables in their order, and the lookup over them. */
static nay_status view_index(kv_view *v, kv_error *error) {
  const nay_sst **ssts = kv_alloc((v->n + 1) * sizeof(nay_sst *));
  nay_lookup_level levels[KV_LEVELS];
  nay_diag diag = {.what = ""};
  uint64_t bytes;
  if (v->n > 1) qsort(v->tables, v->n, sizeof v->tables[0], table_order);
  for (size_t i = 0; i < v->n; i++) ssts[i] = v->tables[i]->sst;
  for (unsigned i = 0, at = 0; i < KV_LEVELS; at += (unsigned)levels[i++].n)
    levels[i] = (nay_lookup_level){sizeof levels[i], ssts + at, kv_level(v, i, &bytes), i > 0};
  nay_status status = nay_lookup_new_levels(levels, KV_LEVELS, NULL, NULL, &diag, &v->lookup);
  free(ssts);
  if (status == NAY_OK) return NAY_OK; /* else levels overlap */
  return kv_fail(error, status == NAY_EINVAL ? NAY_ECORRUPT : status, "%06" PRIu64 ".ldb: %s",
                 diag.offset < v->n ? v->tables[diag.offset]->number : 0, diag.what);
}

nay_status kv_view_commit(kv *db, kv_view *v, nay_status status, kv_error *error) {
  pthread_mutex_lock(&db->mutex);
  v->refs = 1;
  v->mem->refs++;
  for (size_t i = 0; i < v->n; i++) v->tables[i]->refs++;
  pthread_mutex_unlock(&db->mutex);
  if (status == NAY_OK) status = view_index(v, error);
  if (status == NAY_OK) status = kv_manifest_save(db, v, error);
  pthread_mutex_lock(&db->mutex);
  kv_view *old = status == NAY_OK ? db->view : v;
  if (status == NAY_OK) db->view = v;
  pthread_mutex_unlock(&db->mutex);
  kv_view_unref(db, old);
  pthread_cond_broadcast(&db->changed);
  return status;
}

/* ---- put ---- */

/* A table of all that the memtable has. */
static nay_status db_table(kv *db, const kv_memtable *m, kv_table *t, kv_error *error) {
  t->number = atomic_fetch_add(&db->next, 1);
  kv_name path = kv_path(db, t->number, "ldb");
  nay_diag diag = {.what = ""};
  nay_sst_writer *w = NULL;
  nay_sst_write_options how = kv_table_options;
  how.keys = NAY_SST_KEYS_INTERNAL;
  nay_status status = nay_sst_writer_new(path.text, &how, NULL, &diag, &w);
  for (const kv_node *n = m->head; status == NAY_OK && (n = kv_node_next(n)) != NULL;)
    status = nay_sst_writer_add(w, n->key.data, n->key.len + 8, n->value.data, n->value.len);
  nay_status finished = w != NULL ? nay_sst_writer_finish(w, &diag) : status; /* has the cause */
  if (status == NAY_OK) status = finished;
  nay_sst_writer_free(w);
  return status != NAY_OK ? kv_blame(error, status, path.text, &diag) : kv_table_open(db, t, error);
}

nay_status kv_flush(kv *db, const kv_memtable *m, kv_view *v, kv_error *error) {
  uint64_t old = v->log;
  nay_status status = NAY_OK;
  if (kv_node_next(m->head) != NULL)
    status = db_table(db, m, v->tables[v->n++] = kv_alloc(sizeof(kv_table)), error);
  if (kv_node_next(m->head) != NULL) db->stats.flushed += v->tables[v->n - 1]->bytes;
  v->mem = kv_memtable_new(m->last);
  v->sequence = m->last;
  v->log = atomic_fetch_add(&db->next, 1);
  int fd = status == NAY_OK ? kv_log_new(db, v->log, error) : -1;
  if (status == NAY_OK && fd < 0) status = NAY_EIO;
  status = kv_view_commit(db, v, status, error);
  int unused = status == NAY_OK ? db->fd : fd;
  if (unused >= 0) close(unused);
  if (status != NAY_OK) return status;
  if (old != 0) unlink(kv_path(db, old, "log").text);
  db->fd = fd, db->length = 0, db->idle = false;
  return NAY_OK;
}

/* With the writer lock: waits until the memtable has fewer bytes, or a write has failed. */
static nay_status db_make_room(kv *db, size_t limit) {
  uint64_t bytes;
  while (db->failed == NAY_OK && db->view->mem->bytes >= limit &&
         kv_level(db->view, 0, &bytes) >= KV_STOP_TABLES)
    pthread_cond_wait(&db->changed, &db->writer);
  if (db->failed == NAY_OK && db->view->mem->bytes >= limit)
    db->failed = kv_flush(db, db->view->mem, kv_view_next(db->view, 1), &db->failure);
  return db->failed;
}

static nay_status db_write(kv *db, unsigned type, kv_slice key, kv_slice value, kv_error *error) {
  if (key.len > KV_MAX_BYTES || value.len > KV_MAX_BYTES)
    return kv_fail(error, NAY_EINVAL, "keys and values have at most %zu bytes", KV_MAX_BYTES);
  pthread_mutex_lock(&db->writer);
  if (db_make_room(db, db->options.write_buffer) == NAY_OK) {
    uint64_t sequence = atomic_load_explicit(&db->sequence, memory_order_relaxed) + 1;
    kv_node *node = kv_memtable_add(db->view->mem, sequence << 8 | type, key, value);
    uint8_t *record = (uint8_t *)(uintptr_t)node->key.data - KV_RECORD;
    size_t n = kv_record_seal(record, key.len, value.len);
    db->failed = kv_log_append(db, record, n, &db->failure);
    if (db->failed == NAY_OK) atomic_store_explicit(&db->sequence, sequence, memory_order_release);
  }
  nay_status status =
      kv_fail(db->failed != NAY_OK ? error : NULL, db->failed, "%s", db->failure.text);
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
  pthread_mutex_lock(&db->writer);
  db_make_room(db, kv_node_next(db->view->mem->head) == NULL ? SIZE_MAX : 0);
  while (db->failed == NAY_OK && !db->idle) pthread_cond_wait(&db->changed, &db->writer);
  nay_status status =
      kv_fail(db->failed != NAY_OK ? error : NULL, db->failed, "%s", db->failure.text);
  pthread_mutex_unlock(&db->writer);
  return status;
}

void kv_describe(kv *db, kv_stats *stats) {
  pthread_mutex_lock(&db->writer);
  *stats = db->stats;
  stats->sequence = db->sequence;
  stats->memtable = db->view->mem->bytes;
  for (unsigned i = 0; i < KV_LEVELS; i++)
    stats->tables[i] = kv_level(db->view, i, &stats->bytes[i]);
  stats->counters.size = sizeof stats->counters;
  nay_lookup_count(db->view->lookup, &stats->counters);
  pthread_mutex_unlock(&db->writer);
}

/* ---- snapshots ---- */

uint64_t kv_snapshot_take(kv *db) {
  pthread_mutex_lock(&db->mutex);
  uint64_t now = db->sequence;
  db->snapshots = kv_grow(db->snapshots, (db->nsnapshots + 1) * sizeof now);
  db->snapshots[db->nsnapshots++] = now;
  pthread_mutex_unlock(&db->mutex);
  return now;
}

void kv_snapshot_release(kv *db, uint64_t snapshot) {
  size_t i = 0;
  pthread_mutex_lock(&db->mutex);
  while (i < db->nsnapshots && db->snapshots[i] != snapshot) i++;
  if (i < db->nsnapshots) db->nsnapshots--;
  for (; i < db->nsnapshots; i++) db->snapshots[i] = db->snapshots[i + 1];
  pthread_mutex_unlock(&db->mutex);
}

/* ---- get ---- */

typedef struct get {
  const kv_view *view;
  kv_trace trace;
  void *ctx;
} get;

/* Of a lookup in the tables. */
static void get_step(void *ctx, const nay_lookup_step *step) {
  const get *g = ctx;
  char text[200], where[80] = "";
  if (step->what == NAY_LOOKUP_INDEX || step->what == NAY_LOOKUP_BLOCK)
    snprintf(where, sizeof where, " (offset %" PRIu64 ", %" PRIu64 " bytes)", step->offset,
             step->nbytes);
  snprintf(text, sizeof text, "level %zu, %06" PRIu64 ".ldb: %s%s", step->level,
           g->view->tables[step->table]->number, nay_lookup_step_text(step->what), where);
  g->trace(g->ctx, text);
}

nay_status kv_get(kv *db, kv_slice key, uint64_t snapshot, kv_bytes *value, kv_trace trace,
                  void *ctx, kv_error *error) {
  kv_view *v = kv_view_ref(db); /* first: what is put in between is newer than all of it */
  uint64_t sequence = snapshot != 0 ? snapshot : db->sequence;
  get g = {v, trace, ctx};
  const kv_node *node = kv_memtable_find(v->mem, &key, sequence << 8 | 255, NULL);
  if (node != NULL && kv_compare(node->key, key) != 0) node = NULL;
  nay_status status = node != NULL && (node->tag & 255) == KV_DELETED ? NAY_ENOENT : NAY_OK;
  if (trace != NULL && node == NULL) trace(ctx, "memtable: absent");
  if (trace != NULL && node != NULL) trace(ctx, status ? "memtable: deleted" : "memtable: found");
  nay_sst_value found = {.size = sizeof found};
  nay_diag diag = {.what = ""};
  size_t at = 0;
  if (node == NULL)
    status = nay_lookup_trace(v->lookup, key.data, key.len, sequence,
                              trace != NULL ? get_step : NULL, &g, &diag, &found, &at);
  else
    found.bytes = node->value.data, found.len = node->value.len;
  if (status == NAY_OK) {
    value->data = kv_grow(value->data, found.len + 1);
    value->len = found.len;
    if (found.len != 0) memcpy(value->data, found.bytes, found.len);
  } else if (status != NAY_ENOENT) {
    kv_blame(error, status, kv_path(db, v->tables[at]->number, "ldb").text, &diag);
  }
  nay_sst_value_free(&found);
  kv_view_unref(db, v);
  return status;
}

/* ---- iterator ---- */

nay_status kv_iter_new(kv *db, uint64_t snapshot, kv_slice from, kv_slice to, kv_error *error,
                       kv_iter *it) {
  nay_merge_options how = {sizeof how, .nsources = 1, .keys = NAY_SST_KEYS_INTERNAL};
  how.lower = from.data, how.lower_len = from.len;
  how.upper = to.data, how.upper_len = to.len;
  *it = (kv_iter){.db = db, .view = kv_view_ref(db)};
  uint64_t sequence = snapshot != 0 ? snapshot : db->sequence;
  how.sequence = &sequence;
  nay_merge_source source = kv_memtable_source(it->view->mem);
  how.sources = &source;
  if (nay_merge_new(it->view->lookup, &how, NULL, NULL, &it->merge) != NAY_OK) abort(); /* memory */
  nay_status status = nay_merge_first(it->merge);
  if (status == NAY_OK || status == NAY_ENOENT) return status;
  kv_blame(error, status, "a table", nay_merge_diag(it->merge));
  kv_iter_free(it);
  return status;
}

void kv_iter_free(kv_iter *it) {
  nay_merge_free(it->merge);
  kv_view_unref(it->db, it->view);
}

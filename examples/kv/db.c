/*
 * db.c - puts and reads.
 *
 * Two locks. `writer` orders all changes. A put appends to the log, inserts into the memtable, and
 * publishes the sequence, which makes the entry visible. `mutex` guards the current view, and is
 * held for a few instructions only. A reader takes a reference to the view and the sequence of the
 * newest entry, and then needs no lock: the memtable is only added to, entries above its sequence
 * are not seen, tables do not change.
 *
 * The put that finds the memtable full makes it the immutable one, which the background thread
 * writes to a table, and begins a new one with a new log. It waits only if the last one is not yet
 * written, or level 0 has too many tables.
 *
 * Reads go newest first: the memtables, then the tables of the view. The library's lookup goes
 * through those: range of keys, filter, index, block. An iterator merges the same places; the
 * memtables are sources of its merge.
 */
#include <stdio.h>

#include "store.h"

#define LAST_SEQUENCE (NAY_SST_MAX_SEQUENCE - 4096) /* some threads may be behind the check */

/* ---- put ---- */

/* The memtable becomes the immutable one. Its log is on the disk first: of two logs, only the newer
 * one may be torn. */
static nay_status db_rotate(kv *db, kv_error *error) {
  kv_view *v = kv__view_next(db->view);
  kv_memtable *m = v->imm = v->mem;
  v->mem = kv__memtable_new(db, m->store, db->next++, m->last);
  nay_status status = kv__log_sync(m, error);
  if (status == NAY_OK) status = kv__log_create(v->mem, error);
  db->idle = false;
  return kv__view_commit(db, v, status, error);
}

/* With the writer lock: waits until the memtable has fewer bytes, or a write has failed. */
static nay_status db_make_room(kv *db, size_t limit) {
  while (db->failed == NAY_OK && kv__memtable_bytes(db->view->mem) >= limit) {
    if (db->view->imm != NULL || kv__levels_count(db->view->levels, 0) >= KV_STOP_TABLES)
      pthread_cond_wait(&db->changed, &db->writer);
    else
      db->failed = db_rotate(db, &db->failure);
  }
  return db->failed;
}

static nay_status db_unlock(kv *db, kv_error *error) {
  nay_status status = db->failed;
  if (status != NAY_OK && error != NULL) *error = db->failure;
  pthread_mutex_unlock(&db->writer);
  return status;
}

static nay_status db_write(kv *db, nay_sst_entry_type type, kv_slice key, kv_slice value,
                           kv_error *error) {
  nay_sst_entry entry = {sizeof entry, key.data, key.len, .type = type};
  if (key.len > KV_MAX_BYTES || value.len > KV_MAX_BYTES)
    return kv__fail(error, NAY_EINVAL, "keys and values have at most %d bytes", KV_MAX_BYTES);
  if (db->sequence > LAST_SEQUENCE) return kv__fail(error, NAY_EFULL, "sequences are used up");
  pthread_mutex_lock(&db->writer);
  if (db_make_room(db, db->options.write_buffer) == NAY_OK) {
    kv_memtable *m = db->view->mem;
    entry.sequence = m->last + 1;
    db->failed = kv__log_append(m, &entry, value, db->options.sync, &db->failure);
    if (db->failed == NAY_OK) kv__memtable_add(m, &entry, value);
    if (db->failed == NAY_OK) db->sequence = entry.sequence;
  }
  return db_unlock(db, error);
}

nay_status kv_put(kv *db, kv_slice key, kv_slice value, kv_error *error) {
  return db_write(db, NAY_SST_PUT, key, value, error);
}

nay_status kv_delete(kv *db, kv_slice key, kv_error *error) {
  return db_write(db, NAY_SST_DELETE, key, (kv_slice){NULL, 0}, error);
}

nay_status kv_settle(kv *db, kv_error *error) {
  pthread_mutex_lock(&db->writer);
  db_make_room(db, 1);
  while (db->failed == NAY_OK && !db->idle) pthread_cond_wait(&db->changed, &db->writer);
  return db_unlock(db, error);
}

void kv_describe(kv *db, kv_stats *stats) {
  pthread_mutex_lock(&db->writer);
  *stats = db->stats;
  stats->sequence = db->sequence;
  stats->memtable = kv__memtable_bytes(db->view->mem);
  const kv_levels *l = db->view->levels;
  for (unsigned i = 0; i < KV_LEVELS; i++) {
    stats->tables[i] = kv__levels_count(l, i);
    stats->bytes[i] = kv__levels_bytes(l, (kv_range){l->start[i], l->start[i + 1]});
  }
  stats->counters.size = sizeof stats->counters;
  nay_sst_lookup_stats(l->lookup, &stats->counters);
  nay_sst_pool_info open = {.size = sizeof open};
  nay_sst_cache_info memory = {.size = sizeof memory};
  nay_sst_pool_stats(db->pool, &open);
  nay_sst_cache_stats(db->cache, &memory);
  stats->open = open.open;
  stats->held = memory.data.held + memory.filter.held;
  pthread_mutex_unlock(&db->writer);
}

/* ---- snapshots ----
 *
 * An array that ascends: a binary search finds the snapshot that is released. Released ones stay
 * until they are half of it, so that each costs a constant number of moves. */

uint64_t kv_snapshot_take(kv *db) {
  pthread_mutex_lock(&db->mutex);
  uint64_t now = db->sequence;
  size_t n = db->nsnapshots;
  if (n == 0 || db->snapshots[n - 1].sequence != now) {
    if ((n & (n - 1)) == 0) /* a power of two is full */
      db->snapshots = kv__grow(db->snapshots, (n == 0 ? 1 : 2 * n) * sizeof(kv_held));
    db->snapshots[db->nsnapshots++] = (kv_held){.sequence = now};
  }
  db->nlive += db->snapshots[db->nsnapshots - 1].holders++ == 0;
  pthread_mutex_unlock(&db->mutex);
  return now;
}

static size_t snapshot_find(const kv *db, uint64_t snapshot) {
  size_t first = 0, end = db->nsnapshots;
  while (first < end) {
    size_t middle = first + (end - first) / 2;
    if (db->snapshots[middle].sequence < snapshot)
      first = middle + 1;
    else
      end = middle;
  }
  return first;
}

void kv_snapshot_release(kv *db, uint64_t snapshot) {
  pthread_mutex_lock(&db->mutex);
  size_t i = snapshot_find(db, snapshot), n = 0;
  kv_held *all = db->snapshots;
  if (i < db->nsnapshots && all[i].sequence == snapshot && all[i].holders != 0)
    db->nlive -= --all[i].holders == 0;
  if (db->nlive <= db->nsnapshots / 2) {
    for (i = 0; i < db->nsnapshots; i++)
      if (all[i].holders != 0) all[n++] = all[i];
    db->nsnapshots = n;
  }
  pthread_mutex_unlock(&db->mutex);
}

/* ---- get ---- */

typedef struct get {
  kv_view *view;
  kv_trace trace;
  void *ctx;
} get;

/* Of a lookup in the tables. */
static nay_status get_step(void *ctx, const nay_sst_lookup_step *step) {
  const get *g = ctx;
  char text[200];
  int n = snprintf(text, sizeof text, "level %zu, %06" PRIu64 ".ldb: %s", step->level,
                   g->view->levels->tables[step->table]->number, step->text);
  if (step->nbytes != 0)
    snprintf(text + n, sizeof text - (size_t)n, " (offset %" PRIu64 ", %" PRIu64 " bytes)",
             step->offset, step->nbytes);
  g->trace(g->ctx, text);
  return NAY_OK;
}

nay_status kv_get(kv *db, kv_slice key, uint64_t snapshot, kv_bytes *value, kv_trace trace,
                  void *ctx, kv_error *error) {
  get g = {kv__view_ref(db), trace,
           ctx}; /* first: what is put in between is newer than all of it */
  uint64_t now = db->sequence, sequence = snapshot != 0 && snapshot < now ? snapshot : now;
  const kv_memtable *memtables[] = {g.view->mem, g.view->imm, NULL};
  nay_sst_value found = {.size = sizeof found};
  nay_diag diag = {.what = "a memtable"};
  size_t at = SIZE_MAX; /* which table failed */
  nay_status status = NAY_ENOENT;
  /* a deletion ends the search: what is older must not come back */
  for (size_t i = 0; status == NAY_ENOENT && !found.deleted && memtables[i] != NULL; i++) {
    status = nay_sst_memtable_get(memtables[i]->list, key.data, key.len, sequence, &diag, &found);
    const char *what = found.deleted ? "memtable: deleted" : "memtable: absent";
    if (trace != NULL) trace(ctx, status == NAY_OK ? "memtable: found" : what);
  }
  if (status == NAY_ENOENT && !found.deleted)
    status = nay_sst_lookup_explain(g.view->levels->lookup, key.data, key.len, sequence,
                                    trace != NULL ? get_step : NULL, &g, &diag, &found, &at);
  if (status == NAY_OK) {
    value->data = kv__grow(value->data, found.len + 1);
    value->len = found.len;
    if (found.len != 0) memcpy(value->data, found.bytes, found.len);
  } else if (status != NAY_ENOENT) {
    kv__fail(error, status, "%06" PRIu64 ".ldb: %s at offset %" PRIu64,
             at < g.view->levels->n ? g.view->levels->tables[at]->number : 0, diag.what,
             diag.offset);
  }
  nay_sst_value_free(&found);
  kv__view_unref(g.view);
  return status;
}

/* ---- iterator ---- */

nay_status kv_iter_new(kv *db, uint64_t snapshot, kv_slice from, kv_slice to, kv_error *error,
                       kv_iter *it) {
  kv_view *v = kv__view_ref(db);
  nay_sst_source sources[2] = {{.size = sizeof *sources}, {.size = sizeof *sources}};
  nay_sst_memtable_source(v->mem->list, &sources[0]);
  if (v->imm != NULL) nay_sst_memtable_source(v->imm->list, &sources[1]);
  uint64_t now = db->sequence, sequence = snapshot != 0 && snapshot < now ? snapshot : now;
  nay_sst_scan_options how = {sizeof how, sources, .keys = NAY_SST_KEYS_INTERNAL};
  how.nsources = v->imm != NULL ? 2 : 1;
  how.sequence = &sequence;
  how.lower = from.data;
  how.lower_len = from.len;
  how.upper = to.data;
  how.upper_len = to.len;
  *it = (kv_iter){.view = v};
  if (nay_sst_scan_new(v->levels->lookup, &how, NULL, NULL, &it->merge) != NAY_OK)
    abort(); /* memory */
  nay_status status = nay_sst_scan_first(it->merge);
  if (status == NAY_OK || status == NAY_EEND) return status;
  kv__fail(error, status, "%s: %s", db->dir, nay_sst_scan_diag(it->merge)->what);
  kv_iter_free(it);
  return status;
}

void kv_iter_free(kv_iter *it) {
  nay_sst_scan_free(it->merge);
  kv__view_unref(it->view);
}

/*
 * read.c - the read path: one key, or keys in order.
 *
 * Newest first: the memtable, the memtable that is being written, then the tables of the view. The
 * library's lookup goes through those: range of keys, filter, index, block. An iterator merges the
 * same places; the memtables are sources of its merge.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

/* The view, then the sequence: all entries up to it are in the view. */
static kv_view *view_ref(kv *db, uint64_t snapshot, uint64_t *sequence) {
  pthread_mutex_lock(&db->mutex);
  kv_view *view = db->view;
  view->refs++;
  *sequence = snapshot != 0 ? snapshot : atomic_load_explicit(&db->sequence, memory_order_acquire);
  pthread_mutex_unlock(&db->mutex);
  return view;
}

static void view_release(kv *db, kv_view *view) {
  pthread_mutex_lock(&db->mutex);
  kv_view_unref(db, view);
  pthread_mutex_unlock(&db->mutex);
}

uint64_t kv_snapshot_take(kv *db) {
  pthread_mutex_lock(&db->mutex);
  uint64_t now = atomic_load_explicit(&db->sequence, memory_order_acquire);
  uint64_t *more = kv_alloc((db->nsnapshots + 1) * sizeof *more);
  if (db->nsnapshots != 0) memcpy(more, db->snapshots, db->nsnapshots * sizeof *more);
  free(db->snapshots);
  db->snapshots = more;
  more[db->nsnapshots++] = now;
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
  kv_slice key;
  uint64_t sequence;
  kv_view *view;
  kv_bytes *value;
  kv_trace trace;
  void *ctx;
  kv_error *error;
} get;

static void get_trace(const get *g, const char *format, ...) {
  char text[200];
  va_list args;
  if (g->trace == NULL) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  g->trace(g->ctx, text);
}

static nay_status get_answer(const get *g, const void *bytes, size_t len) {
  kv_bytes *value = g->value;
  if (value->room < len) free(value->data);
  if (value->room < len) value->data = kv_alloc(value->room = len + len / 2);
  if (len != 0) memcpy(value->data, bytes, len);
  value->len = len;
  return NAY_OK;
}

/* False: it knows nothing of the key, what is older is to be searched. */
static bool get_memtable(const get *g, const kv_memtable *m, const char *name, nay_status *status) {
  if (m == NULL) return false;
  const kv_node *node = kv_memtable_seek(m, g->key, g->sequence << 8 | 255);
  bool found = node != NULL && kv_compare(m->comparator, node->key, g->key) == 0;
  bool deleted = found && (node->tag & 255) == KV_DELETED;
  get_trace(g, "%s: %s", name, !found ? "absent" : deleted ? "deleted" : "found");
  if (deleted)
    *status = kv_fail(g->error, NAY_ENOENT, "deleted");
  else if (found)
    *status = get_answer(g, node->value.data, node->value.len);
  return found;
}

static void get_step(void *ctx, const nay_lookup_step *step) {
  const get *g = ctx;
  const kv_table *t = g->view->tables[step->table];
  char block[80] = "";
  if (step->what == NAY_LOOKUP_INDEX || step->what == NAY_LOOKUP_BLOCK)
    snprintf(block, sizeof block, " (offset %" PRIu64 ", %" PRIu64 " bytes)", step->offset,
             step->nbytes);
  get_trace(g, "level %u, %06" PRIu64 ".ldb: %s%s", t->level, t->number,
            nay_lookup_step_text(step->what), block);
}

static nay_status get_tables(get *g) {
  nay_sst_value found = {.size = sizeof found};
  nay_diag diag = {.what = ""};
  size_t at = 0;
  nay_status status = nay_lookup_trace(g->view->lookup, g->key.data, g->key.len, g->sequence,
                                       g->trace != NULL ? get_step : NULL, g, &diag, &found, &at);
  if (status == NAY_OK)
    get_answer(g, found.bytes, found.len);
  else if (status == NAY_ENOENT)
    kv_fail(g->error, status, "not found");
  else
    kv_fail(g->error, status, "%06" PRIu64 ".ldb: %s at offset %" PRIu64,
            g->view->tables[at]->number, diag.what, diag.offset);
  nay_sst_value_free(&found);
  return status;
}

nay_status kv_get(kv *db, kv_slice key, uint64_t snapshot, kv_bytes *value, kv_trace trace,
                  void *ctx, kv_error *error) {
  get g = {key, 0, NULL, value, trace, ctx, error};
  nay_status status;
  g.view = view_ref(db, snapshot, &g.sequence);
  if (!get_memtable(&g, g.view->mem, "memtable", &status) &&
      !get_memtable(&g, g.view->full, "full memtable", &status))
    status = get_tables(&g);
  view_release(db, g.view);
  return status;
}

/* ---- iterator ---- */

nay_status kv_iter_new(kv *db, uint64_t snapshot, kv_slice from, kv_slice to, kv_error *error,
                       kv_iter *it) {
  nay_merge_source sources[2];
  nay_merge_options how = {sizeof how, .sources = sources, .keys = NAY_SST_KEYS_INTERNAL};
  how.comparator = db->options.comparator;
  how.lower = from.data, how.lower_len = from.len;
  how.upper = to.data, how.upper_len = to.len;
  *it = (kv_iter){.db = db, .view = view_ref(db, snapshot, &how.sequence)};
  sources[how.nsources++] = kv_memtable_source(it->view->mem);
  if (it->view->full != NULL) sources[how.nsources++] = kv_memtable_source(it->view->full);
  if (nay_merge_new(it->view->lookup, &how, NULL, NULL, &it->merge) != NAY_OK) abort(); /* memory */
  nay_status status = nay_merge_first(it->merge);
  if (status == NAY_OK || status == NAY_ENOENT) return status;
  const nay_diag *diag = nay_merge_diag(it->merge);
  kv_fail(error, status, "a table: %s at offset %" PRIu64, diag->what, diag->offset);
  kv_iter_free(it);
  return status;
}

void kv_iter_free(kv_iter *it) {
  nay_merge_free(it->merge);
  view_release(it->db, it->view);
}

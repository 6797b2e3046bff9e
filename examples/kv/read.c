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
  kv_snapshot **at = &db->snapshots, *found;
  while (*at != snapshot) at = &(*at)->next;
  found = *at;
  *at = found->next;
  pthread_mutex_unlock(&db->mutex);
  free(found);
}

/* ---- get ---- */

typedef struct get {
  const void *key;
  size_t len;
  uint64_t sequence;
  const kv_view *view;
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
  if (value->room < len) {
    free(value->data);
    value->data = kv_alloc(value->room = len + len / 2);
  }
  if (len != 0) memcpy(value->data, bytes, len);
  value->len = len;
  return NAY_OK;
}

/* False: it knows nothing of the key, what is older is to be searched. */
static bool get_memtable(const get *g, const kv_memtable *m, const char *name, nay_status *status) {
  if (m == NULL) return false;
  const kv_node *node = kv_memtable_seek(m, g->key, g->len, g->sequence << 8 | 255);
  bool found = node != NULL && kv_compare(m->comparator, node->key, node->len, g->key, g->len) == 0;
  bool deleted = found && (node->tag & 255) == KV_DELETED;
  get_trace(g, "%s: %s", name, !found ? "absent" : deleted ? "deleted" : "found");
  if (deleted)
    *status = kv_fail(g->error, NAY_ENOENT, "deleted");
  else if (found)
    *status = get_answer(g, node->key + node->len + 8, node->value_len);
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
  nay_status status = nay_lookup_trace(g->view->lookup, g->key, g->len, g->sequence,
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

nay_status kv_get(kv *db, const void *key, size_t len, const kv_snapshot *snapshot, kv_bytes *value,
                  kv_trace trace, void *ctx, kv_error *error) {
  get g = {key, len, 0, NULL, value, trace, ctx, error};
  kv_view *view = kv_view_ref(db, snapshot, &g.sequence);
  nay_status status;
  g.view = view;
  if (!get_memtable(&g, view->mem, "memtable", &status) &&
      !get_memtable(&g, view->full, "full memtable", &status))
    status = get_tables(&g);
  pthread_mutex_lock(&db->mutex);
  kv_view_unref(db, view);
  pthread_mutex_unlock(&db->mutex);
  return status;
}

/* ---- iterator ---- */

typedef struct cursor { /* in a memtable */
  const kv_memtable *m;
  const kv_node *node;
} cursor;

static nay_status cursor_at(cursor *c, const kv_node *node) {
  c->node = node;
  return node != NULL ? NAY_OK : NAY_ENOENT;
}

static nay_status cursor_first(void *state) {
  cursor *c = state;
  return cursor_at(c, kv_memtable_seek(c->m, NULL, 0, 0));
}
static nay_status cursor_last(void *state) {
  cursor *c = state;
  return cursor_at(c, kv_memtable_before(c->m, NULL, 0, 0));
}
static nay_status cursor_seek(void *state, const void *key, size_t len) {
  cursor *c = state;
  return cursor_at(c, kv_memtable_seek(c->m, key, len, UINT64_MAX));
}
static nay_status cursor_seek_for_prev(void *state, const void *key, size_t len) {
  cursor *c = state;
  return cursor_at(c, kv_memtable_before(c->m, key, len, 0));
}
static nay_status cursor_next(void *state) {
  cursor *c = state;
  return cursor_at(c, kv_node_next(c->node));
}
static nay_status cursor_prev(void *state) {
  cursor *c = state;
  return cursor_at(c, kv_memtable_before(c->m, c->node->key, c->node->len, c->node->tag));
}
static const void *cursor_key(void *state, size_t *len) {
  const kv_node *node = ((cursor *)state)->node;
  *len = node->len + 8;
  return node->key;
}
static const void *cursor_value(void *state, size_t *len) {
  const kv_node *node = ((cursor *)state)->node;
  *len = node->value_len;
  return node->key + node->len + 8;
}

static void cursor_add(nay_merge_options *how, nay_merge_source *sources, const kv_memtable *m) {
  if (m == NULL) return;
  cursor *c = kv_alloc(sizeof *c);
  c->m = m;
  sources[how->nsources++] = (nay_merge_source){
      sizeof *sources, c,           cursor_first, cursor_last,  cursor_seek, cursor_seek_for_prev,
      cursor_next,     cursor_prev, cursor_key,   cursor_value, free,        true};
}

nay_status kv_iter_new(kv *db, const kv_snapshot *snapshot, const void *from, size_t from_len,
                       const void *to, size_t to_len, kv_error *error, kv_iter *it) {
  nay_merge_source sources[2];
  nay_diag diag = {.what = ""};
  nay_merge_options how = {sizeof how,
                           .sources = sources,
                           .lower = from,
                           .lower_len = from_len,
                           .upper = to,
                           .upper_len = to_len,
                           .keys = NAY_SST_KEYS_INTERNAL,
                           .comparator = db->options.comparator};
  *it = (kv_iter){.db = db};
  it->view = kv_view_ref(db, snapshot, &how.sequence);
  cursor_add(&how, sources, it->view->mem);
  cursor_add(&how, sources, it->view->full);
  nay_status status = nay_merge_new(it->view->lookup, &how, NULL, &diag, &it->merge);
  if (status != NAY_OK) abort(); /* no memory; see kv_alloc */
  status = how.sequence == 0 ? NAY_ENOENT : nay_merge_first(it->merge); /* 0: nothing to see yet */
  if (status == NAY_OK || status == NAY_ENOENT) return status;
  kv_fail(error, status, "a table: %s at offset %" PRIu64, nay_merge_diag(it->merge)->what,
          nay_merge_diag(it->merge)->offset);
  kv_iter_free(it);
  return status;
}

void kv_iter_free(kv_iter *it) {
  nay_merge_free(it->merge);
  pthread_mutex_lock(&it->db->mutex);
  kv_view_unref(it->db, it->view);
  pthread_mutex_unlock(&it->db->mutex);
}

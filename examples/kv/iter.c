/*
 * iter.c - keys in order: the memtables and the tables merged, of each key the newest entry that
 * the reader sees.
 */
#include <stdlib.h>
#include <string.h>

#include "parts.h"

typedef struct iter_source {
  const kv_node *node; /* of a memtable */
  nay_sst_iter *table; /* or of a table */
} iter_source;

struct kv_iter {
  kv *db;
  kv_view *view;
  uint64_t sequence;
  nay_status status;
  kv_bytes to, key, value;
  size_t n;
  iter_source sources[];
};

static const uint8_t *source_key(const iter_source *s, size_t *len) {
  if (s->table != NULL) {
    const uint8_t *key = nay_sst_iter_key(s->table, len);
    *len -= key != NULL ? 8 : 0;
    return key;
  }
  *len = s->node != NULL ? s->node->len : 0;
  return s->node != NULL ? s->node->key : NULL;
}

static void iter_keep(kv_bytes *to, const void *bytes, size_t len) {
  if (to->room < len + 1) {
    free(to->data);
    to->data = kv_alloc(to->room = 2 * len + 1);
  }
  if (len != 0) memcpy(to->data, bytes, len);
  to->len = len;
}

static nay_status source_next(iter_source *s) {
  if (s->table != NULL) {
    nay_status status = nay_sst_iter_next(s->table);
    return status == NAY_ENOENT ? NAY_OK : status;
  }
  s->node = kv_node_next(s->node);
  return NAY_OK;
}

/* The source with the first entry; NULL: none is left. */
static iter_source *iter_first(kv_iter *it, const uint8_t **key, size_t *len) {
  iter_source *first = NULL;
  for (size_t i = 0; i < it->n; i++) {
    size_t n;
    const uint8_t *k = source_key(&it->sources[i], &n);
    int order = k == NULL ? 1 : first == NULL ? -1 : kv_compare(k, n, *key, *len);
    if (order == 0) order = kv_load(k + n, 8) > kv_load(*key + *len, 8) ? -1 : 1;
    if (order < 0) first = &it->sources[i], *key = k, *len = n;
  }
  return first;
}

static nay_status iter_find(kv_iter *it, bool behind) {
  const uint8_t *key = NULL;
  size_t len = 0;
  for (iter_source *s; it->status == NAY_OK; it->status = source_next(s)) {
    if ((s = iter_first(it, &key, &len)) == NULL) return it->status = NAY_ENOENT;
    if (it->to.data != NULL && kv_compare(key, len, it->to.data, it->to.len) >= 0)
      return it->status = NAY_ENOENT;
    uint64_t tag = kv_load(key + len, 8);
    if (tag >> 8 > it->sequence) continue;
    if (behind && kv_compare(key, len, it->key.data, it->key.len) == 0) continue;
    iter_keep(&it->key, key, len);
    behind = true;
    if ((tag & 255) == KV_DELETED) continue;
    size_t n;
    const void *value = s->table != NULL ? nay_sst_iter_value(s->table, &n) : key + len + 8;
    iter_keep(&it->value, value, s->table != NULL ? n : s->node->value_len);
    return NAY_OK;
  }
  return it->status;
}

nay_status kv_iter_new(kv *db, const kv_snapshot *snapshot, const void *from, size_t from_len,
                       const void *to, size_t to_len, kv_error *error, kv_iter **iter) {
  uint64_t sequence;
  kv_view *view = kv_view_ref(db, snapshot, &sequence);
  kv_iter *it = kv_alloc(sizeof *it + (view->version->n + 2) * sizeof it->sources[0]);
  it->db = db;
  it->view = view;
  it->sequence = sequence;
  if (to != NULL) iter_keep(&it->to, to, to_len);
  it->sources[it->n++].node = kv_memtable_seek(view->mem, from, from_len, UINT64_MAX);
  if (view->full != NULL)
    it->sources[it->n++].node = kv_memtable_seek(view->full, from, from_len, UINT64_MAX);
  for (size_t i = 0; i < view->version->n; i++) {
    nay_sst_iter **table = &it->sources[it->n++].table;
    nay_status status = nay_sst_iter_new(view->version->tables[i]->sst, table);
    if (status == NAY_OK) status = nay_sst_iter_seek(*table, from, from_len);
    if (status != NAY_OK && status != NAY_ENOENT) it->status = status;
  }
  iter_find(it, false);
  if (it->status != NAY_OK && it->status != NAY_ENOENT)
    kv_fail(error, it->status, "a table: %s", nay_status_text(it->status));
  *iter = it;
  return it->status;
}
nay_status kv_iter_next(kv_iter *it) { return iter_find(it, true); }

const void *kv_iter_key(const kv_iter *it, size_t *len) {
  *len = it->key.len;
  return it->key.data;
}

const void *kv_iter_value(const kv_iter *it, size_t *len) {
  *len = it->value.len;
  return it->value.data;
}

void kv_iter_free(kv_iter *it) {
  if (it == NULL) return;
  for (size_t i = 0; i < it->n; i++) nay_sst_iter_free(it->sources[i].table);
  pthread_mutex_lock(&it->db->mutex);
  kv_view_unref(it->db, it->view);
  pthread_mutex_unlock(&it->db->mutex);
  free(it->to.data);
  free(it->key.data);
  free(it->value.data);
  free(it);
}

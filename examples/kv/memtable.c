/*
 * memtable.c - the newest entries, sorted: a skip list in an arena.
 *
 *   record    | header 16 | key | tag 8 | value |        the bytes of the log are the bytes in
 * memory node      key, value, tag, next[height]              a node of height h is in the lists 0
 * .. h-1
 *
 * List 0 has all nodes in order: by key, and of one key the newest first. Each list above has about
 * a quarter of the one below, so a search takes O(log n) steps. One thread inserts; others read
 * without a lock: a node is complete before the release store that links it, and nothing is ever
 * removed. The arena is freed as a whole, when the last view that has the memtable is gone.
 */
#include <stdlib.h>
#include <string.h>

#include "parts.h"

#define MAX_HEIGHT 12
#define CHUNK ((size_t)64 << 10)

struct kv_chunk {
  struct kv_chunk *next;
  size_t room;
};

static void *memtable_alloc(kv_memtable *m, size_t n) {
  n = (n + 15) & ~(size_t)15;
  if (m->chunks == NULL || m->chunks->room - m->used < n) {
    struct kv_chunk *chunk = kv_alloc(sizeof *chunk + (n > CHUNK ? n : CHUNK));
    *chunk = (struct kv_chunk){m->chunks, n > CHUNK ? n : CHUNK};
    m->chunks = chunk;
    m->used = 0;
  }
  m->used += n;
  m->bytes += n;
  return (uint8_t *)(m->chunks + 1) + m->used - n;
}

kv_memtable *kv_memtable_new(const nay_sst_comparator *comparator) {
  kv_memtable *m = kv_alloc(sizeof *m);
  m->comparator = comparator;
  m->head = memtable_alloc(m, sizeof *m->head + MAX_HEIGHT * sizeof m->head->next[0]);
  atomic_init(&m->height, 1);
  return m;
}

void kv_memtable_unref(kv_memtable *m) {
  if (m == NULL || m->refs-- > 1) return;
  for (struct kv_chunk *next; m->chunks != NULL; m->chunks = next) {
    next = m->chunks->next;
    free(m->chunks);
  }
  free(m);
}

static kv_node *node_next(const kv_node *node, unsigned i) {
  return atomic_load_explicit(&node->next[i], memory_order_acquire);
}

kv_node *kv_node_next(const kv_node *node) { return node_next(node, 0); }
kv_node *kv_memtable_first(const kv_memtable *m) { return node_next(m->head, 0); }

/* The first node at or behind (key, tag), key NULL: behind all; before[] gets the node before it in
 * each list. It must not be read again as the successor of that: another may be inserted between.
 */
static kv_node *memtable_find(const kv_memtable *m, const kv_slice *key, uint64_t tag,
                              kv_node *before[MAX_HEIGHT]) {
  kv_node *at = m->head, *next = NULL;
  for (unsigned i = atomic_load_explicit(&m->height, memory_order_relaxed); i-- > 0;) {
    for (; (next = node_next(at, i)) != NULL; at = next) {
      int order = key == NULL ? -1 : kv_compare(m->comparator, next->key, *key);
      if (order > 0 || (order == 0 && next->tag <= tag)) break;
    }
    before[i] = at;
  }
  return next;
}

kv_node *kv_memtable_seek(const kv_memtable *m, kv_slice key, uint64_t tag) {
  kv_node *before[MAX_HEIGHT];
  return memtable_find(m, &key, tag, before);
}

kv_node *kv_memtable_add(kv_memtable *m, uint64_t tag, kv_slice key, kv_slice value) {
  unsigned height = 1;
  for (uint64_t r = nay_hash_mix(tag); height < MAX_HEIGHT && (r & 3) == 0; r >>= 2) height++;
  kv_node *node = memtable_alloc(m, sizeof *node + height * sizeof node->next[0]);
  uint8_t *record = memtable_alloc(m, KV_RECORD + key.len + 8 + value.len);
  node->key = (kv_slice){record + KV_RECORD, key.len};
  node->value = (kv_slice){record + KV_RECORD + key.len + 8, value.len};
  node->tag = tag;
  node->height = height;
  if (key.len != 0) memcpy(record + KV_RECORD, key.data, key.len);
  kv_store(record + KV_RECORD + key.len, tag, 8);
  if (value.len != 0) memcpy(record + KV_RECORD + key.len + 8, value.data, value.len);
  kv_node *before[MAX_HEIGHT];
  for (unsigned i = 0; i < MAX_HEIGHT; i++) before[i] = m->head;
  memtable_find(m, &node->key, tag, before);
  if (height > atomic_load_explicit(&m->height, memory_order_relaxed))
    atomic_store_explicit(&m->height, height, memory_order_relaxed);
  for (unsigned i = 0; i < height; i++) {
    atomic_init(&node->next[i], node_next(before[i], i));
    atomic_store_explicit(&before[i]->next[i], node, memory_order_release);
  }
  m->last = tag >> 8;
  return node;
}

/* ---- as a source of a merge ---- */

typedef struct cursor {
  const kv_memtable *m;
  const kv_node *node;
} cursor;

static nay_status cursor_at(cursor *c, const kv_node *node) {
  c->node = node != c->m->head ? node : NULL;
  return c->node != NULL ? NAY_OK : NAY_ENOENT;
}

static nay_status cursor_before(cursor *c, const kv_slice *key, uint64_t tag) {
  kv_node *before[MAX_HEIGHT];
  memtable_find(c->m, key, tag, before);
  return cursor_at(c, before[0]);
}

static nay_status cursor_first(void *c) {
  return cursor_at(c, kv_memtable_first(((cursor *)c)->m));
}
static nay_status cursor_last(void *c) { return cursor_before(c, NULL, 0); }
static nay_status cursor_next(void *c) { return cursor_at(c, node_next(((cursor *)c)->node, 0)); }
static nay_status cursor_prev(void *c) {
  return cursor_before(c, &((cursor *)c)->node->key, ((cursor *)c)->node->tag);
}
static nay_status cursor_seek(void *c, const void *key, size_t len) {
  return cursor_at(c, kv_memtable_seek(((cursor *)c)->m, (kv_slice){key, len}, UINT64_MAX));
}
static nay_status cursor_seek_for_prev(void *c, const void *key, size_t len) {
  return cursor_before(c, &(kv_slice){key, len}, 0);
}
static const void *cursor_key(void *c, size_t *len) {
  *len = ((cursor *)c)->node->key.len + 8;
  return ((cursor *)c)->node->key.data;
}
static const void *cursor_value(void *c, size_t *len) {
  *len = ((cursor *)c)->node->value.len;
  return ((cursor *)c)->node->value.data;
}

nay_merge_source kv_memtable_source(const kv_memtable *m) {
  cursor *c = kv_alloc(sizeof *c);
  c->m = m;
  return (nay_merge_source){sizeof(nay_merge_source),
                            c,
                            cursor_first,
                            cursor_last,
                            cursor_seek,
                            cursor_seek_for_prev,
                            cursor_next,
                            cursor_prev,
                            cursor_key,
                            cursor_value,
                            free,
                            true};
}

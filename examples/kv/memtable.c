/*
 * memtable.c - the newest entries, sorted: a skip list in an arena.
 *
 *   record    | header 16 | key | tag 8 | value |        the bytes of the log are the bytes in
 * memory node      key, lengths, tag, next[height]            a node of height h is in the lists 0
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
  void *at = (uint8_t *)(m->chunks + 1) + m->used;
  m->used += n;
  m->bytes += n;
  return at;
}

kv_memtable *kv_memtable_new(const nay_sst_comparator *comparator) {
  kv_memtable *m = kv_alloc(sizeof *m);
  m->comparator = comparator;
  m->head = memtable_alloc(m, sizeof *m->head + MAX_HEIGHT * sizeof m->head->next[0]);
  atomic_init(&m->height, 1);
  return m;
}

void kv_memtable_free(kv_memtable *m) {
  for (struct kv_chunk *c = m->chunks, *next; c != NULL; c = next) {
    next = c->next;
    free(c);
  }
  free(m);
}

int kv_compare(const nay_sst_comparator *comparator, const void *a, size_t a_len, const void *b,
               size_t b_len) {
  if (comparator != NULL) return comparator->compare(comparator, a, a_len, b, b_len);
  size_t common = a_len < b_len ? a_len : b_len;
  int order = common == 0 ? 0 : memcmp(a, b, common);
  return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

/* The first node at or behind (key, tag); the last one before that, in each list, goes to before[].
 * key NULL: behind all nodes, or, as `nowhere` says with 1, before them. */
static kv_node *memtable_find(const kv_memtable *m, const void *key, size_t len, uint64_t tag,
                              int nowhere, kv_node *before[MAX_HEIGHT]) {
  kv_node *at = m->head, *next = NULL;
  for (unsigned i = atomic_load_explicit(&m->height, memory_order_relaxed); i-- > 0;) {
    while ((next = atomic_load_explicit(&at->next[i], memory_order_acquire)) != NULL) {
      int order = key == NULL ? nowhere : kv_compare(m->comparator, next->key, next->len, key, len);
      if (order > 0 || (order == 0 && next->tag <= tag)) break;
      at = next;
    }
    before[i] = at;
  }
  return next;
}

kv_node *kv_memtable_seek(const kv_memtable *m, const void *key, size_t len, uint64_t tag) {
  kv_node *before[MAX_HEIGHT];
  return memtable_find(m, key, len, tag, 1, before);
}

kv_node *kv_memtable_before(const kv_memtable *m, const void *key, size_t len, uint64_t tag) {
  kv_node *before[MAX_HEIGHT];
  memtable_find(m, key, len, tag, -1, before);
  return before[0] != m->head ? before[0] : NULL;
}

kv_node *kv_memtable_prepare(kv_memtable *m, uint64_t tag, const void *key, size_t len,
                             const void *value, size_t value_len) {
  unsigned height = 1;
  for (uint64_t r = nay_hash_mix(tag); height < MAX_HEIGHT && (r & 3) == 0; r >>= 2) height++;
  kv_node *node = memtable_alloc(m, sizeof *node + height * sizeof node->next[0]);
  node->key = (uint8_t *)memtable_alloc(m, KV_RECORD + len + 8 + value_len) + KV_RECORD;
  node->tag = tag;
  node->len = (uint32_t)len;
  node->value_len = (uint32_t)value_len;
  node->height = height;
  if (len != 0) memcpy(node->key, key, len);
  kv_store(node->key + len, tag, 8);
  if (value_len != 0) memcpy(node->key + len + 8, value, value_len);
  return node;
}

void kv_memtable_insert(kv_memtable *m, kv_node *node) {
  kv_node *before[MAX_HEIGHT];
  for (unsigned i = 0; i < MAX_HEIGHT; i++) before[i] = m->head;
  memtable_find(m, node->key, node->len, node->tag, 0, before);
  if (node->height > atomic_load_explicit(&m->height, memory_order_relaxed))
    atomic_store_explicit(&m->height, node->height, memory_order_relaxed);
  for (unsigned i = 0; i < node->height; i++) {
    kv_node *next = atomic_load_explicit(&before[i]->next[i], memory_order_relaxed);
    atomic_init(&node->next[i], next);
    atomic_store_explicit(&before[i]->next[i], node, memory_order_release);
  }
  m->last = node->tag >> 8;
}

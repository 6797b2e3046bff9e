/*
 * memtable.c - the newest entries, sorted: a skip list.
 *
 *   node    key, value, tag, next[height] | header 16 | key | tag 8 | value |
 *                                         what follows is the record, as the log has it
 *
 * A node of height h is in the lists 0 .. h-1. List 0 has all nodes in order: by key, and of one
 * key the newest first. Each list above has about a quarter of the one below, so a search takes
 * O(log n) steps. One thread inserts; others read without a lock: a node is complete before the
 * release store that links it, and nothing is removed until the last view that has the memtable is
 * gone.
 */
#include "parts.h"

#define MAX_HEIGHT 12

static kv_node *node_next(const kv_node *node, unsigned i) {
  return atomic_load_explicit(&node->next[i], memory_order_acquire);
}

kv_node *kv_node_next(const kv_node *node) { return node_next(node, 0); }

static kv_node *node_new(kv_memtable *m, unsigned height, uint64_t tag, kv_slice key,
                         kv_slice value) {
  size_t links = sizeof(kv_node) + height * sizeof(kv_node *);
  size_t n = links + KV_RECORD + key.len + 8 + value.len;
  kv_node *node = kv_alloc(n);
  uint8_t *at = (uint8_t *)node + links + KV_RECORD;
  if (key.len != 0) memcpy(at, key.data, key.len);
  kv_store(at + key.len, tag, 8);
  if (value.len != 0) memcpy(at + key.len + 8, value.data, value.len);
  node->key = (kv_slice){at, key.len};
  node->value = (kv_slice){at + key.len + 8, value.len};
  node->tag = tag;
  m->bytes += n;
  return node;
}

kv_memtable *kv_memtable_new(uint64_t last) {
  kv_memtable *m = kv_alloc(sizeof *m);
  m->head = node_new(m, MAX_HEIGHT, 0, (kv_slice){NULL, 0}, (kv_slice){NULL, 0});
  m->last = last;
  return m;
}

void kv_memtable_unref(kv_memtable *m) {
  if (m == NULL || m->refs-- > 1) return;
  for (kv_node *node = m->head, *next; node != NULL; node = next) {
    next = node_next(node, 0);
    free(node);
  }
  free(m);
}

/* It must not be read again as the successor of before[0]: another may be inserted between. */
kv_node *kv_memtable_find(const kv_memtable *m, const kv_slice *key, uint64_t tag,
                          kv_node **before) {
  kv_node *at = m->head, *next = NULL;
  for (unsigned i = MAX_HEIGHT; i-- > 0;) {
    for (; (next = node_next(at, i)) != NULL; at = next) {
      int order = key == NULL ? -1 : kv_compare(next->key, *key);
      if (order > 0 || (order == 0 && next->tag <= tag)) break;
    }
    if (before != NULL) before[i] = at;
  }
  return next;
}

kv_node *kv_memtable_add(kv_memtable *m, uint64_t tag, kv_slice key, kv_slice value) {
  kv_node *before[MAX_HEIGHT];
  unsigned height = 1;
  for (uint64_t r = nay_hash_mix(tag); height < MAX_HEIGHT && (r & 3) == 0; r >>= 2) height++;
  kv_node *node = node_new(m, height, tag, key, value);
  kv_memtable_find(m, &node->key, tag, before);
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
  kv_memtable_find(c->m, key, tag, before);
  return cursor_at(c, before[0]);
}

#define AT(c) (((cursor *)(c))->node)
static nay_status cursor_last(void *c) { return cursor_before(c, NULL, 0); }
static nay_status cursor_next(void *c) { return cursor_at(c, node_next(AT(c), 0)); }
static nay_status cursor_prev(void *c) { return cursor_before(c, &AT(c)->key, AT(c)->tag); }
static nay_status cursor_seek(void *c, const void *key, size_t len) {
  return cursor_at(c, kv_memtable_find(((cursor *)c)->m, &(kv_slice){key, len}, UINT64_MAX, NULL));
}
static nay_status cursor_first(void *c) { return cursor_seek(c, NULL, 0); }
static nay_status cursor_seek_for_prev(void *c, const void *key, size_t len) {
  return cursor_before(c, &(kv_slice){key, len}, 0);
}
static const void *cursor_key(void *c, size_t *len) {
  return *len = AT(c)->key.len + 8, AT(c)->key.data;
}
static const void *cursor_value(void *c, size_t *len) {
  return *len = AT(c)->value.len, AT(c)->value.data;
}

nay_merge_source kv_memtable_source(const kv_memtable *m) {
  nay_merge_source s = {sizeof s, .state = kv_alloc(sizeof(cursor)), .free = free, .stable = true};
  ((cursor *)s.state)->m = m;
  s.first = cursor_first, s.last = cursor_last, s.next = cursor_next, s.prev = cursor_prev;
  s.seek = cursor_seek, s.seek_for_prev = cursor_seek_for_prev;
  s.key = cursor_key, s.value = cursor_value;
  return s;
}

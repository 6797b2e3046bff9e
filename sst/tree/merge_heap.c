/* merge_heap.c - a binary heap in an array; the children of node i are 2i + 1 and 2i + 2. See
 * merge_heap.h. */
#include "tree/merge_heap.h"

nay_status nay_sst__merge_reserve(nay_merge_heap *h, size_t capacity, const nay_allocator *a) {
  size_t size;
  if (capacity <= h->capacity) return NAY_OK;
  if (!nay__mul_ok(capacity, sizeof *h->at, &size)) return NAY_ENOMEM;
  nay_merge_input *at = nay__alloc(a, size);
  if (at == NULL) return NAY_ENOMEM;
  if (h->n != 0) memcpy(at, h->at, h->n * sizeof *at);
  nay__free(a, h->at, h->capacity * sizeof *h->at);
  h->at = at;
  h->capacity = capacity;
  return NAY_OK;
}

void nay_sst__merge_free(nay_merge_heap *h, const nay_allocator *a) {
  nay__free(a, h->at, h->capacity * sizeof *h->at);
  h->at = NULL;
  h->n = h->capacity = 0;
}

/* Returns the sequence number of an input's key; 0 for plain keys. */
static uint64_t merge_sequence(const nay_merge_heap *h, const nay_merge_input *i, size_t user_len) {
  bool internal = h->order.internal && i->len >= NAY_KEY_TRAILER;
  return internal ? nay__load64le(i->key + user_len) >> 8 : 0;
}

/* Between equal user keys and sequence numbers the newer source comes first, whether its entry is a
   value or a deletion: engines without sequence numbers store 0 everywhere. */
bool nay_sst__merge_before(const nay_merge_heap *h, const nay_merge_input *a,
                           const nay_merge_input *b) {
  size_t a_len = nay_sst__user_len(h->order, a->len), b_len = nay_sst__user_len(h->order, b->len);
  int order = nay_sst__compare_users(h->order, a->key, a_len, b->key, b_len);
  if (order == 0) {
    uint64_t x = merge_sequence(h, a, a_len), y = merge_sequence(h, b, b_len);
    order = x != y ? (x < y) - (x > y) : a->age < b->age ? -1 : 1;
  }
  return h->descending ? order > 0 : order < 0;
}

void nay_sst__merge_push(nay_merge_heap *h, nay_merge_input input) {
  size_t at = h->n++;
  h->second = 0;
  for (size_t parent; at > 0 && nay_sst__merge_before(h, &input, &h->at[parent = (at - 1) / 2]);
       at = parent) {
    h->at[at] = h->at[parent];
  }
  h->at[at] = input;
}

static size_t merge_second(const nay_merge_heap *h) {
  return h->n > 2 && nay_sst__merge_before(h, &h->at[2], &h->at[1]) ? 2 : 1;
}

/* Sifts the top down. Its smaller child is known to come before it. */
static void merge_sift(nay_merge_heap *h) {
  nay_merge_input x = h->at[0];
  size_t at = h->second;
  h->at[0] = h->at[at];
  for (size_t child; (child = 2 * at + 1) < h->n; at = child) {
    if (child + 1 < h->n && nay_sst__merge_before(h, &h->at[child + 1], &h->at[child])) child++;
    if (!nay_sst__merge_before(h, &h->at[child], &x)) break;
    h->at[at] = h->at[child];
  }
  h->at[at] = x;
  h->second = 0;
}

void nay_sst__merge_sink(nay_merge_heap *h) {
  if (h->n < 2) return;
  if (h->second == 0) h->second = merge_second(h);
  if (nay_sst__merge_before(h, &h->at[h->second], &h->at[0])) merge_sift(h);
}

void nay_sst__merge_pop(nay_merge_heap *h) {
  h->at[0] = h->at[--h->n];
  h->second = 0;
  nay_sst__merge_sink(h);
}

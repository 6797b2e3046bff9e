/* merge_heap.c - see merge_heap.h. A binary heap in an array: the children of i are 2i + 1, 2i + 2.
 */
#include "sst/merge_heap.h"

nay_status nay__merge_reserve(nay_merge_heap *h, size_t capacity, const nay_allocator *a) {
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

void nay__merge_free(nay_merge_heap *h, const nay_allocator *a) {
  nay__free(a, h->at, h->capacity * sizeof *h->at);
  h->at = NULL;
  h->n = h->capacity = 0;
}

/* Of one version in two sources the newer source's counts, be it a value or a deletion: tables of
 * engines without sequence numbers have 0 everywhere. */
static bool merge_same_version(const nay_merge_heap *h, const nay_merge_input *a,
                               const nay_merge_input *b) {
  if (h->order != NAY_INTERNAL_KEYS || a->len != b->len || a->len < NAY_KEY_TRAILER) return false;
  size_t user = a->len - NAY_KEY_TRAILER;
  return nay__load64le(a->key + user) >> 8 == nay__load64le(b->key + user) >> 8 &&
         (user == 0 || memcmp(a->key, b->key, user) == 0);
}

static bool merge_before(const nay_merge_heap *h, const nay_merge_input *a,
                         const nay_merge_input *b) {
  int order = nay__compare(h->order, a->key, a->len, b->key, b->len);
  if (order == 0 || merge_same_version(h, a, b)) order = a->age < b->age ? -1 : 1;
  return h->descending ? order > 0 : order < 0;
}

void nay__merge_push(nay_merge_heap *h, nay_merge_input input) {
  size_t at = h->n++;
  for (size_t parent; at > 0 && merge_before(h, &input, &h->at[parent = (at - 1) / 2]);
       at = parent) {
    h->at[at] = h->at[parent];
  }
  h->at[at] = input;
}

void nay__merge_sink(nay_merge_heap *h) {
  nay_merge_input x = h->at[0];
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < h->n; at = child) {
    if (child + 1 < h->n && merge_before(h, &h->at[child + 1], &h->at[child])) child++;
    if (!merge_before(h, &h->at[child], &x)) break;
    h->at[at] = h->at[child];
  }
  h->at[at] = x;
}

void nay__merge_pop(nay_merge_heap *h) {
  h->at[0] = h->at[--h->n];
  if (h->n > 1) nay__merge_sink(h);
}

/*
 * merge_heap.h - the heap of a k-way merge.
 *
 * The heap has one input for each source that has entries left, ordered by the key that the source
 * stands at. The top has the smallest key; among equal user keys the newest version, then the
 * newest source. A step of a merge reads the top, moves its source, and restores the heap:
 *
 *   nay_merge_input *top = nay_sst__merge_top(&heap);
 *   top->key, top->len = ... ; nay_sst__merge_sink(&heap);    the source has another entry
 *   nay_sst__merge_pop(&heap);                                the source is exhausted
 *
 * `descending` mirrors the order exactly: the largest key is on top, and among equal keys the
 * oldest source. A backward walk therefore meets the entries of a forward walk in reverse.
 *
 * Cost of a step: at most 2 log2(k) comparisons; 1 while the same source stays on top, because the
 * smaller child of the top is remembered.
 */
#ifndef NAY_SST_TREE_MERGE_HEAP_H
#define NAY_SST_TREE_MERGE_HEAP_H

#include "base/alloc.h"
#include "block/key_order.h"

/* nay_merge_input: a source and the key it stands at. The key's bytes must stay valid until the
 * source moves. */
typedef struct nay_merge_input {
  const uint8_t *key;
  size_t len;
  size_t age; /* 0 is the newest source */
  void *source;
} nay_merge_input;

/* nay_merge_heap: the caller sets order and descending, and zeroes the rest. */
typedef struct nay_merge_heap {
  nay_order order;
  bool descending;
  nay_merge_input *at;
  size_t n, capacity;
  size_t second; /* index of the smaller child of the top; 0: not known */
} nay_merge_heap;

/* nay_sst__merge_reserve: allocates room for `capacity` inputs. NAY_ENOMEM. */
nay_status nay_sst__merge_reserve(nay_merge_heap *heap, size_t capacity, const nay_allocator *a);
void nay_sst__merge_free(nay_merge_heap *heap, const nay_allocator *a);

/* nay_sst__merge_before: whether input a comes before b: by user key, then the higher sequence
 * number, then the newer source. A descending heap reverses all three. */
bool nay_sst__merge_before(const nay_merge_heap *heap, const nay_merge_input *a,
                           const nay_merge_input *b);

/* nay_sst__merge_clear: removes all inputs and keeps the memory. */
static inline void nay_sst__merge_clear(nay_merge_heap *heap) { heap->n = heap->second = 0; }

/* nay_sst__merge_push: inserts an input; nay_sst__merge_reserve must have made room for it. */
void nay_sst__merge_push(nay_merge_heap *heap, nay_merge_input input);

/* nay_sst__merge_top: the first input in order; NULL when all sources are exhausted. */
static inline nay_merge_input *nay_sst__merge_top(const nay_merge_heap *heap) {
  return heap->n != 0 ? heap->at : NULL;
}

/* nay_sst__merge_sink: sifts the top down after its key has changed. */
void nay_sst__merge_sink(nay_merge_heap *heap);

/* nay_sst__merge_pop: removes the top. */
void nay_sst__merge_pop(nay_merge_heap *heap);

#endif /* NAY_SST_TREE_MERGE_HEAP_H */

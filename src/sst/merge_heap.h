/*
 * merge_heap.h - k sorted inputs as one: the heap of a k-way merge.
 *
 * The heap holds an input for each source that has entries left, by the key that the source is at.
 * The first input has the smallest key; of equal keys, that of the newest source. A step of a
 * merge:
 *
 *   nay_merge_input *top = nay__merge_top(&heap);    use top->key, then move its source
 *   top->key, top->len = ... ; nay__merge_sink       the source has another entry
 *   nay__merge_pop                                   the source is at its end
 *
 * With `descending` all of it is mirrored: the largest key comes first, and of equal keys that of
 * the oldest source, so that a walk back meets the entries of a walk forward in reverse order.
 *
 * A step costs at most 2 log2(k) comparisons, and 1 while the same source stays the smallest: the
 * second smallest, a child of the top, is then known.
 */
#ifndef NAY_SST_MERGE_HEAP_H
#define NAY_SST_MERGE_HEAP_H

#include "base/alloc.h"
#include "sst/comparator.h"

/* nay_merge_input: one source, and the key it is at, which must stay until the input moves. */
typedef struct nay_merge_input {
  const uint8_t *key;
  size_t len;
  size_t age; /* 0: the newest source */
  void *source;
} nay_merge_input;

/* nay_merge_heap: set order and descending; the rest zero. */
typedef struct nay_merge_heap {
  nay_order order;
  bool descending;
  nay_merge_input *at;
  size_t n, capacity;
  size_t second; /* the smaller child of the top; 0: not known */
} nay_merge_heap;

/* nay__merge_reserve: memory for so many inputs. NAY_ENOMEM. */
nay_status nay__merge_reserve(nay_merge_heap *heap, size_t capacity, const nay_allocator *a);
void nay__merge_free(nay_merge_heap *heap, const nay_allocator *a);

/* nay__merge_before: whether a comes before b: by user key, then the newer version, then the newer
 * source; the other way round in a descending heap. */
bool nay__merge_before(const nay_merge_heap *heap, const nay_merge_input *a,
                       const nay_merge_input *b);

/* nay__merge_clear: no inputs, the capacity stays. */
static inline void nay__merge_clear(nay_merge_heap *heap) { heap->n = heap->second = 0; }

/* nay__merge_push: puts an input into its place; there must be capacity for it. */
void nay__merge_push(nay_merge_heap *heap, nay_merge_input input);

/* nay__merge_top: the next input in order; NULL when all sources are at their end. */
static inline nay_merge_input *nay__merge_top(const nay_merge_heap *heap) {
  return heap->n != 0 ? heap->at : NULL;
}

/* nay__merge_sink: puts the top into its place, after its key has changed. */
void nay__merge_sink(nay_merge_heap *heap);

/* nay__merge_pop: removes the top. */
void nay__merge_pop(nay_merge_heap *heap);

#endif /* NAY_SST_MERGE_HEAP_H */

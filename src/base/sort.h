/* sort.h - in-place sorting of hashes, without allocation. */
#ifndef NAY_SORT_H
#define NAY_SORT_H

#include "base/base.h"

/* nay__sort_u64: ascending. Fast for random values such as hashes, correct for all. */
void nay__sort_u64(uint64_t *a, size_t n);

/* nay__sort_split_u64: by the top byte only, so that several threads can sort the 256 buckets;
 * bucket b ends at end[b]. */
void nay__sort_split_u64(uint64_t *a, size_t n, size_t end[256]);

/* nay__unique_u64: drops duplicates of a sorted array; returns how many values remain. */
size_t nay__unique_u64(uint64_t *a, size_t n);

/* nay__unique_last_u64: drops all but the last of equal values and keeps the order of those;
 * returns how many remain. scratch has NAY_LAST_SCRATCH(n) words. */
#define NAY_LAST_SCRATCH(n) ((n) + (n) / 64 + 1)
size_t nay__unique_last_u64(uint64_t *a, size_t n, uint64_t *scratch);

#endif /* NAY_SORT_H */

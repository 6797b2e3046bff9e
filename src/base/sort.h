/* sort.h - sorting hashes in place, with nothing allocated. */
#ifndef NAY_SORT_H
#define NAY_SORT_H

#include "base/base.h"

/* nay__sort_u64: ascending. In place; made for random values such as hashes, right for all. */
void nay__sort_u64(uint64_t *a, size_t n);

/* nay__sort_split_u64: only by the top byte, so that its 256 parts can be sorted by several
 * threads; part b ends at end[b]. */
void nay__sort_split_u64(uint64_t *a, size_t n, size_t end[256]);

/* nay__unique_u64: drops repeats from a sorted array; returns how many remain at its front. */
size_t nay__unique_u64(uint64_t *a, size_t n);

#endif /* NAY_SORT_H */

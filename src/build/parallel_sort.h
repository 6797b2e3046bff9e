/* parallel_sort.h - base/sort.h with several threads. */
#ifndef NAY_PARALLEL_SORT_H
#define NAY_PARALLEL_SORT_H

#include "base/base.h"

/* nay__sort_parallel: sorts words, ascending; the bytes do not depend on nthreads. */
void nay__sort_parallel(uint64_t *words, size_t n, unsigned nthreads);

#endif /* NAY_PARALLEL_SORT_H */

/* thread.h - fork-join parallelism: one job for several threads. */
#ifndef NAY_OS_THREAD_H
#define NAY_OS_THREAD_H

#include "base/base.h"

#define NAY_MAX_THREADS 256u

/*
 * nay__parallel: runs work(ctx, 0), ... work(ctx, n - 1) in parallel, the first in the calling
 * thread, and joins them. If the system refuses a thread there are fewer of them: workers must take
 * tasks from a shared counter, not by their number.
 */
void nay__parallel(unsigned n, void (*work)(void *ctx, unsigned worker), void *ctx);

/* nay__take: the next task: an atomic increment of the shared counter. */
uint64_t nay__take(uint64_t *next);

/* nay__tally: atomically adds to a shared sum; returns the sum. */
uint64_t nay__tally(uint64_t *sum, uint64_t more);

#endif /* NAY_OS_THREAD_H */

/* thread.h - one job for several threads, and nothing else about threads. */
#ifndef NAY_OS_THREAD_H
#define NAY_OS_THREAD_H

#include "base/base.h"

#define NAY_MAX_THREADS 256u

/*
 * nay__parallel: runs work(ctx, 0), work(ctx, 1), ... work(ctx, n - 1) at the same time, the first
 * in the calling thread, and returns when all are done. When the system refuses a thread there are
 * fewer of them: the work must take its pieces from a shared counter, not from its number.
 */
void nay__parallel(unsigned n, void (*work)(void *ctx, unsigned worker), void *ctx);

/* nay__take: the next piece of work, counted up from *next by all threads together. */
uint64_t nay__take(uint64_t *next);

/* nay__tally: adds to a sum that all threads share; returns the sum. */
uint64_t nay__tally(uint64_t *sum, uint64_t more);

#endif /* NAY_OS_THREAD_H */

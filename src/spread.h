/* spread.h - many hashes into a filter far larger than the cache, one neighbourhood at a time. */
#ifndef NAY_SPREAD_H
#define NAY_SPREAD_H

#include "family/family.h"

typedef struct nay_spread nay_spread;

/* nay__spread_pays: whether n hashes in no order get into the filter sooner in this way. */
bool nay__spread_pays(const nay_filter *filter, uint64_t n);

/*
 * nay__spread_ordered: whether hashes are ascending, as far as the first few tell: then they are
 * with their neighbours already, and are best added as they come.
 */
bool nay__spread_ordered(const uint64_t *hashes, uint64_t n);

/* nay__spread_new: for so many threads, which are numbered from 0 on. NAY_ENOMEM. */
nay_status nay__spread_new(nay_filter *filter, unsigned nthreads, nay_spread **spread);

/* nay__spread_add: takes hashes; some are added at once, some later. */
void nay__spread_add(nay_spread *spread, unsigned thread, const uint64_t *hashes, uint64_t n);

/* nay__spread_flush: all hashes of the thread are in the filter. */
void nay__spread_flush(nay_spread *spread, unsigned thread);

/* nay__spread_free: forgets what has not been flushed. NULL is fine. */
void nay__spread_free(nay_spread *spread);

#endif /* NAY_SPREAD_H */

/* partitioned_add.h - many hashes into a filter far larger than the cache, one neighbourhood at a
 * time. */
#ifndef NAY_PARTITIONED_ADD_H
#define NAY_PARTITIONED_ADD_H

#include "family/family.h"

typedef struct nay_partitioner nay_partitioner;

/* nay__partitioner_pays: whether n hashes in no order get into the filter sooner in this way. */
bool nay__partitioner_pays(const nay_filter *filter, uint64_t n);

/*
 * nay__partitioner_ordered: whether hashes are ascending, as far as the first few tell: then they
 * are with their neighbours already, and are best added as they come.
 */
bool nay__partitioner_ordered(const uint64_t *hashes, uint64_t n);

/* nay__partitioner_new: for so many threads, which are numbered from 0 on. NAY_ENOMEM. */
nay_status nay__partitioner_new(nay_filter *filter, unsigned nthreads, nay_partitioner **spread);

/* nay__partitioner_add: takes hashes; some are added at once, some later. */
void nay__partitioner_add(nay_partitioner *spread, unsigned thread, const uint64_t *hashes,
                          uint64_t n);

/* nay__partitioner_flush: all hashes of the thread are in the filter. */
void nay__partitioner_flush(nay_partitioner *spread, unsigned thread);

/* nay__partitioner_free: forgets what has not been flushed. NULL is fine. */
void nay__partitioner_free(nay_partitioner *spread);

#endif /* NAY_PARTITIONED_ADD_H */

/* partitioned_add.h - adds to a filter larger than the last-level cache, partition by partition. */
#ifndef NAY_PARTITIONED_ADD_H
#define NAY_PARTITIONED_ADD_H

#include "family/family.h"

typedef struct nay_partitioner nay_partitioner;

/* nay__partitioner_new: for threads numbered from 0; see nay__bulk_strategy for when. NAY_ENOMEM.
 */
nay_status nay__partitioner_new(nay_filter *filter, unsigned nthreads,
                                nay_partitioner **partitioner);

/* nay__partitioner_add: adds the hashes when the queue of their partition is full, or at flush. */
void nay__partitioner_add(nay_partitioner *partitioner, unsigned thread, const uint64_t *hashes,
                          uint64_t n);

/* nay__partitioner_flush: adds all that the thread still holds. */
void nay__partitioner_flush(nay_partitioner *partitioner, unsigned thread);

/* nay__partitioner_free: drops what has not been flushed. NULL is fine. */
void nay__partitioner_free(nay_partitioner *partitioner);

#endif /* NAY_PARTITIONED_ADD_H */

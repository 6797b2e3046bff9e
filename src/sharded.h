/* sharded.h - builds static filters: cuts the keys into shards and solves them in parallel. */
#ifndef NAY_SHARDED_H
#define NAY_SHARDED_H

#include "family/family.h"
#include "partition.h"

/*
 * nay__sharded_build: a filter of a static family. params say the size; the number of keys is that
 * of the distinct hashes. The bytes depend on that set and on the size alone.
 */
nay_status nay__sharded_build(const nay_family *family, const nay_params *params,
                              const nay_hasher *hasher, const nay_source *source,
                              const nay_allocator *allocator, nay_filter **filter);

/* nay__sharded_memory: what a build takes beside the filter, for the plan. */
uint64_t nay__sharded_memory(const nay_family *family, const nay_shape *shape,
                             const nay_params *params);

#endif /* NAY_SHARDED_H */

/* static_build.h - builds static filters: cuts the keys into shards and solves them in parallel. */
#ifndef NAY_STATIC_BUILD_H
#define NAY_STATIC_BUILD_H

#include "build/hash_source.h"
#include "family/family.h"

/*
 * nay__static_build: a filter of a static family. params say the size; the number of keys is that
 * of the distinct hashes. The bytes depend on that set and on the size alone.
 */
nay_status nay__static_build(const nay_family *family, const nay_params *params,
                             const nay_hasher *hasher, const nay_source *source,
                             const nay_allocator *allocator, nay_filter **filter);

/* nay__static_build_memory: what a build takes beside the filter, for the plan. */
uint64_t nay__static_build_memory(const nay_family *family, const nay_shape *shape,
                                  const nay_params *params);

#endif /* NAY_STATIC_BUILD_H */

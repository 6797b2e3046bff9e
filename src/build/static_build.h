/* static_build.h - builds static filters: partitions the keys into shards, solves them in parallel.
 */
#ifndef NAY_STATIC_BUILD_H
#define NAY_STATIC_BUILD_H

#include "build/hash_source.h"
#include "family/family.h"

/*
 * nay__static_build: params state the size; the number of keys is that of the distinct hashes. The
 * bytes depend on that set and on the size alone.
 */
nay_status nay__static_build(const nay_family *family, const nay_params *params,
                             const nay_hash_fn *hasher, const nay_source *source,
                             const nay_allocator *allocator, nay_diag *diag, nay_filter **filter);

/* nay__static_build_memory: bytes that a build takes beside the filter. */
uint64_t nay__static_build_memory(const nay_family *family, const nay_shape *shape,
                                  const nay_params *params);

#endif /* NAY_STATIC_BUILD_H */

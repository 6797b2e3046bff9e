/*
 * range_build.h - range filters (nay_range.h) from keys: the builder of that kind. It is behind
 * nay_builder, which forwards to it.
 */
#ifndef NAY_RANGE_BUILD_H
#define NAY_RANGE_BUILD_H

#include "family/range.h"

typedef struct nay_range_builder nay_range_builder;

/* nay__range_builder_new: params are those of nay__range_params; with NAY_LOW_MEMORY keys wait in a
 * file in params->spill_dir. */
nay_status nay__range_builder_new(const nay_params *params, const nay_hash_fn *hasher,
                                  const nay_allocator *allocator, nay_diag *diag,
                                  nay_range_builder **builder);

/* nay__range_builder_add: a failed call adds nothing. NAY_EKEY: locked. */
nay_status nay__range_builder_add(nay_range_builder *builder, const void *key, size_t len);

uint64_t nay__range_builder_nkeys(const nay_range_builder *builder);

/* nay__range_builder_finish: the builder is then empty; a failed call keeps the keys. */
nay_status nay__range_builder_finish(nay_range_builder *builder, nay_diag *diag,
                                     nay_filter **filter);
void nay__range_builder_free(nay_range_builder *builder);

#endif /* NAY_RANGE_BUILD_H */

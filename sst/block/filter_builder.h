/*
 * filter_builder.h - builds the filters of a table: collects keys, then appends the encoded filter
 * to a buffer. A policy makes the bytes, or they are a native filter file (doc/formats/nay.md) made
 * from nay_params.
 */
#ifndef NAY_SST_BLOCK_FILTER_BUILDER_H
#define NAY_SST_BLOCK_FILTER_BUILDER_H

#include "base/buffer.h"
#include "nay_policy.h"

#define NAY_NATIVE_POLICY "nay.filter.v1" /* the policy name of native filter files */

/* nay_filter_builder: made by nay_sst__filter_builder_init. */
typedef struct nay_filter_builder {
  const nay_policy *policy; /* NULL: native filters */
  nay_builder *builder;     /* native filters: collects the hashes */
  nay_buffer keys;          /* policy: the bytes of all keys, concatenated */
  nay_buffer ends;          /* policy: the end of each key in `keys`, size_t */
  nay_buffer pointers;      /* policy: scratch for the arguments of policy->create */
  size_t n;                 /* keys added since the last finish */
} nay_filter_builder;

/* nay_sst__filter_builder_init: `params` are for native filters. NAY_EINVAL: diag says which of the
 * params is wrong. */
nay_status nay_sst__filter_builder_init(nay_filter_builder *builder, const nay_policy *policy,
                                        const nay_params *params, const nay_allocator *a,
                                        nay_diag *diag);
nay_status nay_sst__filter_builder_add(nay_filter_builder *builder, const void *key, size_t len,
                                       const nay_allocator *a);

/* nay_sst__filter_builder_finish: appends the filter of the keys to `out` and empties the builder.
 * NAY_EFULL: the filter cannot hold so many keys; diag says why. NAY_ENOMEM may leave diag unset.
 */
nay_status nay_sst__filter_builder_finish(nay_filter_builder *builder, nay_buffer *out,
                                          const nay_allocator *a, nay_diag *diag);
void nay_sst__filter_builder_free(nay_filter_builder *builder, const nay_allocator *a);

#endif /* NAY_SST_BLOCK_FILTER_BUILDER_H */

/*
 * filter_builder.h - collects keys, then appends the bytes of their filter: made by a policy, or a
 * native file made by params.
 */
#ifndef NAY_SST_FILTER_BUILDER_H
#define NAY_SST_FILTER_BUILDER_H

#include "base/buffer.h"
#include "nay_policy.h"

#define NAY_NATIVE_POLICY "nay.filter.v1" /* the bytes are a native file: doc/formats/nay.md */

/* nay_filter_builder: set up by nay__filter_builder_init; n is the number of keys since the last
 * finish. */
typedef struct nay_filter_builder {
  const nay_policy *policy; /* NULL: native */
  nay_builder *builder;     /* native */
  nay_buffer keys;          /* else: the keys' bytes in a row, */
  nay_buffer ends;          /* where each of them ends, */
  nay_buffer pointers;      /* and room for what policy->create wants */
  size_t n;
} nay_filter_builder;

/* nay__filter_builder_init: diag says which of the params is wrong. */
nay_status nay__filter_builder_init(nay_filter_builder *builder, const nay_policy *policy,
                                    const nay_params *params, const nay_allocator *a,
                                    nay_diag *diag);
nay_status nay__filter_builder_add(nay_filter_builder *builder, const void *key, size_t len,
                                   const nay_allocator *a);

/* nay__filter_builder_finish: appends the filter of the keys to `out`; the builder is then empty
 * again. NAY_EFULL: a filter of this size, or of this policy, cannot have so many keys; diag says
 * why, and may stay as it is when there is no memory. */
nay_status nay__filter_builder_finish(nay_filter_builder *builder, nay_buffer *out,
                                      const nay_allocator *a, nay_diag *diag);
void nay__filter_builder_free(nay_filter_builder *builder, const nay_allocator *a);

#endif /* NAY_SST_FILTER_BUILDER_H */

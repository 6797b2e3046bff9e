/* builder.h - what others need of builder.c beside the public calls. */
#ifndef NAY_BUILDER_H
#define NAY_BUILDER_H

#include "family/family.h"

/* nay_builder_plan: the number of keys -> the shape of a layout, once all keys are known. */
typedef nay_status (*nay_builder_plan)(const struct nay_format *, const nay_params *,
                                       uint64_t nkeys, nay_shape *);

/*
 * nay__builder_make: for another system's layout. `distinct` says whether the number of keys leaves
 * duplicates out.
 */
nay_status nay__builder_make(const struct nay_format *format, const nay_family *family,
                             const nay_params *params, const nay_hasher *hasher,
                             nay_builder_plan plan, bool distinct, const nay_allocator *allocator,
                             nay_builder **builder);

/*
 * nay__builder_take: all the hashes of a new builder at once, one word each, for a filter that is
 * made of them in order: they are copied once and sorted, without a page.
 */
nay_status nay__builder_take(nay_builder *builder, const uint64_t *hashes, size_t n);

/* nay__builder_memory: what a builder holds that has taken so many. */
uint64_t nay__builder_memory(uint64_t nkeys);

#endif /* NAY_BUILDER_H */

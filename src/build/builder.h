/* builder.h - the calls of builder.c that are not public. */
#ifndef NAY_BUILDER_H
#define NAY_BUILDER_H

#include "family/family.h"

/* nay_builder_plan: the shape of a foreign layout for nkeys keys. */
typedef nay_status (*nay_builder_plan)(const struct nay_format *, const nay_params *,
                                       uint64_t nkeys, nay_diag *, nay_shape *);

/* nay__builder_make: for a foreign layout. distinct: its number of keys does not count duplicates.
 */
nay_status nay__builder_make(const struct nay_format *format, const nay_family *family,
                             const nay_params *params, const nay_hash_fn *hasher,
                             nay_builder_plan plan, bool distinct, const nay_allocator *allocator,
                             nay_diag *diag, nay_builder **builder);

/*
 * nay__resolve_few: nay__resolve of params whose number of keys is not the caller's choice. Bits
 * per key that are enough for many keys, and too few for the smallest filter of params->nkeys, are
 * raised to that.
 */
nay_status nay__resolve_few(nay_params *params, nay_diag *diag, const nay_family **family,
                            nay_shape *shape, nay_hash_fn *hasher);

/* nay__resolve_counted: nay__resolve, or nay__resolve_few for n keys if params->nkeys is 0. */
nay_status nay__resolve_counted(const nay_params *params, uint64_t n, nay_diag *diag,
                                const nay_family **family, nay_shape *shape, nay_hash_fn *hasher);

/*
 * nay__builder_check: the params of a native family as far as they can be checked before the keys
 * are counted: those of one key, as nay__resolve_counted.
 */
nay_status nay__builder_check(const nay_params *params, nay_diag *diag, const nay_family **family,
                              nay_hash_fn *hasher);

/*
 * nay__builder_take: all hashes of a new builder in one call, one word each. It copies them once
 * and sorts the copy, without pages.
 */
nay_status nay__builder_take(nay_builder *builder, const uint64_t *hashes, size_t n);

/* nay__builder_memory: bytes that a builder of nkeys keys holds. */
uint64_t nay__builder_memory(uint64_t nkeys);

#endif /* NAY_BUILDER_H */

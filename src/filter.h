/* filter.h - what the layers above the handle (builder, formats) need of filter.c. */
#ifndef NAY_FILTER_H
#define NAY_FILTER_H

#include "family/family.h"
#include "nay_explain.h"

#define NAY_NAN ((double)((1e300 * 1e10) * 0.0)) /* not known */

/* nay__filter_make: an empty, writable filter of a shape, with a zeroed payload of its own. */
nay_status nay__filter_make(const nay_family *family, const nay_shape *shape,
                            const nay_hash_fn *hasher, uint64_t nkeys, uint32_t flags,
                            const nay_allocator *allocator, nay_filter **filter);

/* nay__filter_make_sized: the same, of a self-sized family: with a payload of nbytes. */
nay_status nay__filter_make_sized(const nay_family *family, const nay_shape *shape, size_t nbytes,
                                  const nay_hash_fn *hasher, uint64_t nkeys, uint32_t flags,
                                  const nay_allocator *allocator, nay_filter **filter);

/*
 * nay__filter_made: what a failed nay__filter_make, or adding to the filter it made, says in diag.
 * Returns status.
 */
nay_status nay__filter_made(nay_status status, nay_diag *diag);

/* nay__filter_init: what an empty filter of the family has in its payload, after nay__filter_make.
 */
void nay__filter_init(nay_filter *filter, const nay_params *params);

/* nay__filter_attach: points a filter (its shape set) at its payload and chooses its kernels. */
void nay__filter_attach(nay_filter *filter, uint8_t *payload, size_t nbytes);

/* nay__filter_writable: NAY_EINVAL for NULL, NAY_ENOTSUP when the bytes are not ours to change. */
nay_status nay__filter_writable(const nay_filter *filter);

/* nay__filter_all_verified: verifies the rest of a lazy map. NAY_ECORRUPT. */
nay_status nay__filter_all_verified(const nay_filter *filter);

/* nay__filter_probe_verified: whether every byte that a probe of this hash reads is known to be
 * good; for a lazy map. */
bool nay__filter_probe_verified(const nay_filter *filter, nay_hash hash);

/* nay__filter_count_hash, nay__filter_explain_hash: nay_filter_count and nay_filter_explain of a
 * hash. */
nay_status nay__filter_count_hash(const nay_filter *filter, nay_hash hash, uint64_t *count);
nay_status nay__filter_explain_hash(const nay_filter *filter, nay_hash hash,
                                    nay_explain_visitor visit, void *ctx,
                                    nay_explanation *explanation);

/* nay__resolve: params of a native family -> family (NAY_AUTO resolved), shape, hasher. */
nay_status nay__resolve(const nay_params *params, nay_diag *diag, const nay_family **family,
                        nay_shape *shape, nay_hash_fn *hasher);

#endif /* NAY_FILTER_H */

/*
 * filter_build.c - nay_filter_build: a filter from an array of hashes, in one call.
 *
 * Static families are built from the array (static_build.c). A family that takes adds in any order
 * gets them, if the caller states the number of keys (threaded_add.c). All others need the distinct
 * hashes first, and a builder sorts them.
 */
#include "base/abi.h"
#include "build/builder.h"
#include "build/static_build.h"
#include "build/threaded_add.h"
#include "filter.h"
#include "math/plan.h"

#define BUILD_MANY 65536u /* keys: the least size of every family is small beside them */

/* The number of keys is stated and the family takes adds: nothing to collect, count or sort. */
static nay_status filter_build_by_adding(const nay_params *params, const uint64_t *hashes, size_t n,
                                         const nay_allocator *allocator, nay_diag *diag,
                                         nay_filter **filter) {
  nay_filter *f;
  NAY_TRY(nay_filter_new(params, allocator, diag, &f));
  nay_run all = {hashes, n};
  nay_status status = nay__threaded_add(f, &all, 1, params->threads);
  if (status != NAY_OK) {
    nay_filter_free(f);
    return nay__filter_made(status, diag);
  }
  *filter = f;
  return NAY_OK;
}

nay_status nay__resolve_few(nay_params *p, nay_diag *diag, const nay_family **family,
                            nay_shape *shape, nay_hash_fn *hasher) {
  nay_params many = *p;
  nay_diag why = {.what = NULL}; /* diag is filled on failure alone */
  many.nkeys = BUILD_MANY;
  nay_status status = nay__resolve(p, &why, family, shape, hasher);
  bool few = status == NAY_EINVAL && p->bits_per_key > 0 &&
             nay__resolve(&many, NULL, family, shape, hasher) == NAY_OK;
  while (few && status == NAY_EINVAL && p->bits_per_key < NAY_MAX_BITS_PER_KEY) {
    double more = p->bits_per_key * (17.0 / 16);
    p->bits_per_key = more < NAY_MAX_BITS_PER_KEY ? more : NAY_MAX_BITS_PER_KEY;
    status = nay__resolve(p, NULL, family, shape, hasher);
  }
  if (status != NAY_OK && diag != NULL) *diag = why;
  return status;
}

nay_status nay__resolve_counted(const nay_params *params, uint64_t n, nay_diag *diag,
                                const nay_family **family, nay_shape *shape, nay_hash_fn *hasher) {
  if (params->nkeys != 0) return nay__resolve(params, diag, family, shape, hasher);
  nay_params p = *params;
  p.nkeys = nay__max_u64(n, 1);
  return nay__resolve_few(&p, diag, family, shape, hasher);
}

nay_status nay_filter_build(const nay_params *from, const uint64_t *hashes, size_t n,
                            const nay_allocator *allocator, nay_diag *diag, nay_filter **filter) {
  nay_params full;
  const nay_params *params = &full;
  if (from == NULL || filter == NULL || (hashes == NULL && n != 0)) {
    return nay__fail(diag, NAY_EINVAL, "params, hashes or filter is NULL", 0);
  }
  NAY_TRY(nay__abi_read(NAY_ABI_PARAMS, from, diag, &full));
  if (params->kind == NAY_MAP) {
    return nay__fail(diag, NAY_ENOTSUP, "kind: a map is built of keys and values, by a builder", 0);
  }
  if (params->kind == NAY_LIST) {
    return nay__fail(diag, NAY_ENOTSUP, "kind: a list is built of keys, by a builder", 0);
  }
  if (params->kind == NAY_RANGE) {
    return nay__fail(diag, NAY_ENOTSUP, "kind: a range filter is built of keys, by a builder", 0);
  }
  const nay_family *family;
  nay_shape shape;
  nay_hash_fn hasher;
  NAY_TRY(nay__resolve_counted(params, n, diag, &family, &shape, &hasher)); /* checks params */
  if (nay__family_solver(family) != NULL) {
    nay_run all = {hashes, n};
    nay_source source = {&all, 1, NULL, n};
    return nay__static_build(family, params, &hasher, &source, allocator, diag, filter);
  }
  if (params->nkeys != 0 && !family->ordered) {
    return filter_build_by_adding(params, hashes, n, allocator, diag, filter);
  }
  nay_builder *builder;
  NAY_TRY(nay_builder_new(params, allocator, diag, &builder));
  nay_status status = nay__filter_made(nay__builder_take(builder, hashes, n), diag);
  if (status == NAY_OK) status = nay_builder_finish(builder, diag, filter);
  nay_builder_free(builder);
  return status;
}

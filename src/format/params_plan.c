/*
 * params_plan.c - what a filter will cost, before it exists: nay_params_plan and the choice of a
 * static family. In this layer, because a filter costs memory, the memory of its build (build/),
 * and a file. The sizes themselves come from the families.
 */
#include "base/abi.h"
#include "build/builder.h"
#include "build/static_build.h"
#include "format/native.h"
#include "math/plan.h"
#include "os/spin.h"

static nay_status params_cost(const nay_family *family, const nay_params *params, nay_diag *diag,
                              double *nbytes, double *fpr) {
  nay_shape shape;
  uint64_t bits, bytes;
  nay_params p = *params;
  p.kind = family->kind;
  NAY_TRY(family->plan(&p, diag, &shape));
  if (!family->payload(&shape, &bits, &bytes)) return NAY_EINVAL;
  *nbytes = (double)bytes;
  *fpr = family->fpr(&shape, params->nkeys);
  return NAY_OK;
}

/* NAY_AUTO_STATIC: fuse when its faster probe costs little. */
static nay_status params_choose_static(nay_params *p, nay_diag *diag) {
  double fuse_bytes, fuse_fpr, ribbon_bytes, ribbon_fpr;
  NAY_TRY(params_cost(&nay__family_ribbon, p, diag, &ribbon_bytes, &ribbon_fpr));
  bool fuse = params_cost(&nay__family_fuse, p, NULL, &fuse_bytes, &fuse_fpr) == NAY_OK &&
              fuse_bytes <= ribbon_bytes * 1.15 && fuse_fpr <= ribbon_fpr * 2.2;
  p->kind = fuse ? NAY_FUSE : NAY_RIBBON;
  return NAY_OK;
}

nay_status nay_params_plan(const nay_params *from, nay_diag *diag, nay_plan *plan) {
  nay_params full;
  const nay_params *params = &full;
  const nay_family *family;
  nay_shape shape;
  nay_hash_fn hasher;
  if (from == NULL || plan == NULL) {
    return nay__fail(diag, NAY_EINVAL, "params or plan is NULL", 0);
  }
  NAY_TRY(nay__abi_read(NAY_ABI_PARAMS, from, diag, &full));
  NAY_TRY(nay__abi_check(NAY_ABI_PLAN, plan, diag));
  if (params->kind == NAY_AUTO_STATIC) NAY_TRY(params_choose_static(&full, diag));
  NAY_TRY(nay__resolve(params, diag, &family, &shape, &hasher));
  nay_plan p = {.kind = family->kind, .k = shape.k, .nkeys = params->nkeys};
  if (!family->payload(&shape, &p.nbits, &p.nbytes)) {
    return nay__fail(diag, NAY_EINVAL, "the size cannot be addressed", 0);
  }
  bool key = hasher.kind == NAY_HASH_SIPHASH && (params->flags & NAY_STORE_KEY) != 0;
  uint64_t body = p.nbytes + (key ? NAY_SECTION_ALIGN : 0);
  p.nbytes_file = nay__body_at(key ? 2 : 1, body) + body;
  p.nbytes_build = p.nbytes + NAY_CACHE_LINE + sizeof(nay_filter);
  if (family->concurrent && (params->flags & NAY_CONCURRENT) != 0) p.nbytes_build += NAY_LOCK_BYTES;
  if (family->ordered) p.nbytes_build += nay__builder_memory(params->nkeys);
  if (nay__family_solver(family) != NULL) {
    p.nbytes_build += nay__static_build_memory(family, &shape, params);
  }
  if (params->nkeys != 0) p.bits_per_key = (double)p.nbits / (double)params->nkeys;
  p.fpr = family->fpr(&shape, params->nkeys);
  p.fpr_limit = p.fpr;
  if (family->extend_plan != NULL) family->extend_plan(params, &shape, &p);
  nay__abi_write(NAY_ABI_PLAN, &p, plan);
  return NAY_OK;
}

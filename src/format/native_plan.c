/* native_plan.c - what a filter will cost in memory, in its file and while it is built. */
#include "base/spin.h"
#include "build/builder.h"
#include "build/static_build.h"
#include "format/native.h"
#include "math/plan.h"

nay_status nay_params_plan(const nay_params *params, nay_diag *diag, nay_plan *plan) {
  const nay_family *family;
  nay_shape shape;
  nay_hasher hasher;
  if (plan == NULL) return nay__fail(diag, NAY_EINVAL, "plan is NULL", 0);
  NAY_TRY(nay__resolve(params, diag, &family, &shape, &hasher));
  nay_plan p = {.kind = family->kind, .k = shape.k, .nkeys = params->nkeys};
  if (!family->payload(&shape, &p.nbits, &p.nbytes)) {
    return nay__fail(diag, NAY_EINVAL, "the size cannot be addressed", 0);
  }
  bool key = hasher.kind == NAY_HASH_SIPHASH && (params->flags & NAY_STORE_KEY) != 0;
  uint64_t body = p.nbytes + (key ? NAY_SECTION_ALIGN : 0);
  p.nbytes_file = nay__body_at(key ? 2 : 1, body) + body;
  p.nbytes_build = p.nbytes + NAY_CACHE_LINE + sizeof(nay_filter);
  if (family->shared && (params->flags & NAY_CONCURRENT) != 0) p.nbytes_build += NAY_NSTRIPES;
  if (family->ordered) p.nbytes_build += nay__builder_memory(params->nkeys);
  if (family->build != NULL) p.nbytes_build += nay__static_build_memory(family, &shape, params);
  if (params->nkeys != 0) p.bits_per_key = (double)p.nbits / (double)params->nkeys;
  p.fpr = family->fpr(&shape, params->nkeys);
  p.fpr_limit = p.fpr;
  if (family->foresee != NULL) family->foresee(params, &shape, &p);
  *plan = p;
  return NAY_OK;
}

/*
 * toy.c - a family that answers maybe to every key: the least that a family is.
 *
 *   payload   | 8 zero bytes |
 *
 * It stores nothing, so its false-positive rate (FPR) is 1, and it never answers a false nay.
 */
#include "family/explain.h"
#include "family/family.h"
#include "math/plan.h"

#define TOY_KIND 31 /* no family of nay_kind has it */

static nay_status toy_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(p, diag, &by));
  *shape = (nay_shape){.nunits = 1, .k = 1};
  return NAY_OK;
}

static bool toy_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits != 1 || shape->k != 1 || shape->extra != 0) return false;
  *nbits = 64;
  *nbytes = 8;
  return true;
}

static double toy_fpr(const nay_shape *shape, uint64_t nkeys) {
  (void)shape, (void)nkeys;
  return 1;
}

static nay_status toy_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                            nay_diag *diag) {
  (void)shape;
  for (size_t i = 0; i < len; i++) {
    if (payload[i] != 0) return nay__fail(diag, NAY_ECORRUPT, "a byte is not zero", i);
  }
  return NAY_OK;
}

static void toy_to_params(const nay_filter *f, nay_params *params) { params->nbytes = f->nbytes; }

static void toy_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                       nay_census *census) {
  (void)a, (void)b, (void)factor;
  *census = (nay_census){.nbits = 64, .fpr = 1};
}

static bool toy_test(const nay_filter *f, nay_hash h) {
  (void)f, (void)h;
  return true;
}

static void toy_explain(const nay_filter *f, nay_hash h, nay_explain_run *run) {
  (void)f, (void)h;
  nay__explain_constant(run, 0, true);
}

static nay_status toy_add(nay_filter *f, nay_hash h, bool *is_new) {
  (void)f, (void)h;
  *is_new = false;
  return NAY_OK;
}

static unsigned toy_probe_addresses(const nay_filter *f, nay_hash h, const uint8_t **addresses) {
  (void)h;
  addresses[0] = f->bits.bytes;
  return 1;
}

const nay_family nay__family_toy = {
    .kind = (nay_kind)TOY_KIND,
    .name = "toy",
    .traits = NAY_CAN_ADD,
    .plan = toy_plan,
    .payload = toy_payload,
    .fpr = toy_fpr,
    .to_params = toy_to_params,
    .check = toy_check,
    .census = toy_census,
    .test = toy_test,
    .explain = toy_explain,
    .add = toy_add,
    .probe_addresses = toy_probe_addresses,
    .batch = &nay__batch_each,
};

/*
 * xor.c - the xor filter: the fuse filter (fuse.c) with one long segment for each slot of a key.
 *
 *   slots   |------*------|--*----------|---------*---|      a key has one in each third
 *
 * 1.23 n + 32 slots are needed where fuse needs 1.125 n, and a build accesses memory at random. It
 * is here because it is the classic, and for sets so small that a fuse filter of several segments
 * would be larger. Bytes, probe and solver are those of fuse.h.
 *
 * Graf, Lemire: Xor filters. ACM JEA 25, 2020.
 */
#include "family/fuse.h"

static nay_status xor_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  NAY_TRY(nay__fuse_plan(NAY_XOR_3, p, diag, shape));
  if (p->k == 0 || p->k == 3) return NAY_OK;
  return nay__fail(diag, NAY_EINVAL, "k is not 3, the slots of a key", 0);
}

static bool xor_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  return shape->k == 3 && nay__fuse_payload(shape, nbits, nbytes);
}

static nay_status xor_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                            nay_diag *diag) {
  (void)len; /* is what payload() says */
  return nay__fuse_check(NAY_XOR_3, shape, payload, diag);
}

const nay_family nay__family_xor = {
    .kind = NAY_XOR,
    .name = "xor",
    .plan = xor_plan,
    .payload = xor_payload,
    .fpr = nay__fuse_fpr,
    .check = xor_check,
    .census = nay__fuse_census,
    .bind = nay__fuse_bind,
    .test = nay__fuse_test,
    .explain = nay__fuse_explain,
    .probe_addresses = nay__fuse_probe_addresses,
    .batch = &nay__fuse_batch,
    .bulk = &nay__fuse_bulk,
};

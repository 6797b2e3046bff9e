/*
 * classic.c - see classic.h. All three schemes are double hashing: the k positions of a key are an
 * arithmetic progression, so small arrays have more false positives than with k independent probes.
 * Measured at 50 keys of 16 bits: 2.5 times as many for LevelDB and nori, whose sums wrap around, 5
 * times for the lab, whose do not, 18 times for nori12 with its power of two. doc/formats/README.md
 * has more. They are here because files in these layouts exist.
 */
#include "format/classic.h"

#include "base/bits.h"
#include "family/bitarray.h"
#include "family/explain.h"
#include "math/elementary.h"
#include "math/fpr.h"
#include "math/plan.h"

#define ROTATING_MAX_K 30u

nay_status nay__classic_bits(uint64_t nkeys, double bits_per_key, nay_diag *diag, uint64_t *nbits) {
  uint64_t whole = (uint64_t)bits_per_key;
  if (nkeys > NAY_MAX_NBITS / whole) {
    return nay__fail(diag, NAY_EINVAL, "nkeys times bits_per_key is above 2^60", 0);
  }
  *nbits = nkeys * whole;
  return NAY_OK;
}

static bool classic_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits > NAY_MAX_NBITS) return false;
  *nbits = shape->nunits;
  *nbytes = nay__ceil_div(shape->nunits, 8);
  return true;
}

static double classic_fpr(const nay_shape *shape, uint64_t nkeys) {
  return shape->nunits == 0 ? 0 : nay__fpr_bloom(shape->nunits, shape->k, nkeys);
}

static nay_status classic_merge(nay_filter *dst, const nay_filter *src) {
  nay__bits_or(dst->bits.bytes, src->bits.bytes, dst->nbytes);
  return NAY_OK;
}

static void classic_intersect(nay_filter *dst, const nay_filter *src) {
  nay__bits_and(dst->bits.bytes, src->bits.bytes, dst->nbytes);
}

static void classic_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                           nay_census *census) {
  assert(factor == 1); /* no fold */
  (void)factor;
  uint64_t set = b == NULL ? nay__bits_count(a->bits.bytes, a->nbytes)
                           : nay__bits_count_or(a->bits.bytes, b->bits.bytes, a->nbytes);
  nay_census c = {.nbits = a->shape.nunits, .nbits_set = set};
  if (a->shape.nunits != 0) {
    c.fpr = nay__ipow((double)set / (double)a->shape.nunits, a->shape.k);
    if (a->shape.k != 0) c.keys = nay__estimate_keys(a->shape.nunits, a->shape.k, set);
  }
  *census = c;
}

/* A filter of no keys has no bit to set, and a reserved k has no meaning to add to. */
static nay_status classic_can_add(const nay_filter *f, uint32_t max_k) {
  if (f->shape.nunits == 0) return NAY_EFULL;
  return f->shape.k == 0 || f->shape.k > max_k ? NAY_ENOTSUP : NAY_OK;
}

/* ---- rotating ---- */

static bool rotating_is_reserved(uint32_t k) { return k == 0 || k > ROTATING_MAX_K; }

static nay_status rotating_add(nay_filter *f, nay_hash hash, bool *is_new) {
  NAY_TRY(classic_can_add(f, ROTATING_MAX_K));
  uint32_t h = (uint32_t)hash.lo, delta = nay__rotr32(h, 17);
  bool fresh = false;
  for (uint32_t i = 0; i < f->shape.k; i++, h += delta) {
    fresh |= !nay__bit_set(f->bits.bytes, h % f->shape.nunits);
  }
  *is_new = fresh;
  return NAY_OK;
}

static bool rotating_test(const nay_filter *f, nay_hash hash) {
  if (f->shape.nunits == 0) return false;
  if (rotating_is_reserved(f->shape.k)) return true;
  uint32_t h = (uint32_t)hash.lo, delta = nay__rotr32(h, 17);
  for (uint32_t i = 0; i < f->shape.k; i++, h += delta) {
    if (!nay__bit_get(f->bits.bytes, h % f->shape.nunits)) return false;
  }
  return true;
}

static void rotating_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
  if (f->shape.nunits == 0 || rotating_is_reserved(f->shape.k)) {
    nay__explain_constant(run, 0, f->shape.nunits != 0);
    return;
  }
  uint32_t h = (uint32_t)hash.lo, delta = nay__rotr32(h, 17);
  nay__explain_group(run, 0, f->shape.k);
  for (uint32_t i = 0; i < f->shape.k; i++, h += delta)
    nay__explain_line_bit(run, f->bits.bytes, f->shape.nunits, h % f->shape.nunits);
}

static void rotating_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                            nay_census *census) {
  classic_census(a, b, factor, census);
  if (a->shape.nunits != 0 && rotating_is_reserved(a->shape.k)) census->fpr = 1;
}

/* ---- striding ---- */

static nay_status striding_add(nay_filter *f, nay_hash hash, bool *is_new) {
  NAY_TRY(classic_can_add(f, NAY_CLASSIC_MAX_K));
  bool fresh = false;
  for (uint32_t i = 0; i < f->shape.k; i++, hash.lo += hash.hi) {
    fresh |= !nay__bit_set(f->bits.bytes, hash.lo % f->shape.nunits);
  }
  *is_new = fresh;
  return NAY_OK;
}

static bool striding_test(const nay_filter *f, nay_hash hash) {
  if (f->shape.nunits == 0) return false;
  for (uint32_t i = 0; i < f->shape.k; i++, hash.lo += hash.hi) {
    if (!nay__bit_get(f->bits.bytes, hash.lo % f->shape.nunits)) return false;
  }
  return true;
}

static void striding_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
  if (f->shape.nunits == 0 || f->shape.k == 0) { /* all of no bits are set */
    nay__explain_constant(run, 0, f->shape.nunits != 0);
    return;
  }
  nay__explain_group(run, 0, f->shape.k);
  for (uint32_t i = 0; i < f->shape.k; i++, hash.lo += hash.hi)
    nay__explain_line_bit(run, f->bits.bytes, f->shape.nunits, hash.lo % f->shape.nunits);
}

/* ---- signed ---- */

static nay_hash signed_steps(const nay_filter *f, nay_hash hash) {
  return (f->shape.extra & NAY_SIGNED_SWAPPED) != 0 ? hash : (nay_hash){hash.hi, hash.lo};
}

/* Reversing the bytes of a word of 64 bits is to invert three bits of the location. */
static uint64_t signed_bit(const nay_filter *f, uint64_t base) {
  uint64_t magnitude = base >> 63 != 0 ? 0 - base : base, bit = magnitude % f->shape.nunits;
  return (f->shape.extra & NAY_SIGNED_WORDS_BE) != 0 ? bit ^ 0x38 : bit;
}

static nay_status signed_add(nay_filter *f, nay_hash hash, bool *is_new) {
  NAY_TRY(classic_can_add(f, NAY_CLASSIC_MAX_K));
  nay_hash step = signed_steps(f, hash);
  bool fresh = false;
  for (uint32_t i = 0; i < f->shape.k; i++, step.lo += step.hi) {
    fresh |= !nay__bit_set(f->bits.bytes, signed_bit(f, step.lo));
  }
  *is_new = fresh;
  return NAY_OK;
}

static bool signed_test(const nay_filter *f, nay_hash hash) {
  if (f->shape.nunits == 0) return true;
  nay_hash step = signed_steps(f, hash);
  for (uint32_t i = 0; i < f->shape.k; i++, step.lo += step.hi) {
    if (!nay__bit_get(f->bits.bytes, signed_bit(f, step.lo))) return false;
  }
  return true;
}

static void signed_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
  if (f->shape.nunits == 0) {
    nay__explain_constant(run, 0, true);
    return;
  }
  nay_hash step = signed_steps(f, hash);
  nay__explain_group(run, 0, f->shape.k);
  for (uint32_t i = 0; i < f->shape.k; i++, step.lo += step.hi)
    nay__explain_line_bit(run, f->bits.bytes, f->shape.nunits, signed_bit(f, step.lo));
}

static double signed_fpr(const nay_shape *shape, uint64_t nkeys) {
  return shape->nunits == 0 ? 1 : classic_fpr(shape, nkeys);
}

static void signed_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                          nay_census *census) {
  classic_census(a, b, factor, census);
  if (a->shape.nunits == 0) census->fpr = 1;
}

static const nay_family_algebra classic_algebra = {
    .merge = classic_merge,
    .intersect = classic_intersect,
};

const nay_family nay__family_rotating = {
    .kind = NAY_BLOOM,
    .name = "bloom (rotating)",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT,
    .payload = classic_payload,
    .fpr = classic_fpr,
    .add = rotating_add,
    .test = rotating_test,
    .explain = rotating_explain,
    .census = rotating_census,
    .batch = &nay__batch_each,
    .algebra = &classic_algebra,
};

const nay_family nay__family_striding = {
    .kind = NAY_BLOOM,
    .name = "bloom (striding)",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT,
    .payload = classic_payload,
    .fpr = classic_fpr,
    .add = striding_add,
    .test = striding_test,
    .explain = striding_explain,
    .census = classic_census,
    .batch = &nay__batch_each,
    .algebra = &classic_algebra,
};

const nay_family nay__family_signed = {
    .kind = NAY_BLOOM,
    .name = "bloom (signed)",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT,
    .payload = classic_payload,
    .fpr = signed_fpr,
    .add = signed_add,
    .test = signed_test,
    .explain = signed_explain,
    .census = signed_census,
    .batch = &nay__batch_each,
    .algebra = &classic_algebra,
};

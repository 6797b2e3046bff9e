/*
 * classic.c - see classic.h. The schemes here are double hashing: the k positions of a key are an
 * arithmetic progression, so small arrays have more false positives than with k independent probes.
 * Measured at 50 keys of 16 bits: 2.5 times as many for LevelDB and nori, whose sums wrap around, 5
 * times for the lab, whose do not, 18 times for nori12 with its power of two. doc/formats/README.md
 * has more. They are here because files in these layouts exist.
 */
#include "format/classic.h"

#include "base/bytes.h"
#include "math/elementary.h"
#include "math/fpr.h"
#include "math/plan.h"

nay_status nay__classic_bits(uint64_t nkeys, double bits_per_key, nay_diag *diag, uint64_t *nbits) {
  uint64_t whole = (uint64_t)bits_per_key;
  if (nkeys > NAY_MAX_NBITS / whole) {
    return nay__fail(diag, NAY_EINVAL, "nkeys times bits_per_key is above 2^60", 0);
  }
  *nbits = nkeys * whole;
  return NAY_OK;
}

nay_status nay__classic_java_bits(double nbits, nay_diag *diag) {
  if (nbits < 1) return nay__fail(diag, NAY_EINVAL, "the size is below one bit", 0);
  if (nbits > 64.0 * NAY_CLASSIC_JAVA_WORDS) {
    return nay__fail(diag, NAY_EINVAL, "nkeys needs more than 2^31 - 1 words of 64 bits", 0);
  }
  return NAY_OK;
}

nay_status nay__classic_words(const uint8_t *bytes, size_t len, size_t header, uint32_t most,
                              nay_diag *diag, nay_shape *shape, nay_span *payload) {
  uint32_t words = nay__load32be(bytes + header - 4);
  if (words == 0 || words > most || words > (len - header) / 8) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of words does not fit the length", header - 4);
  }
  shape->nunits = 64 * (uint64_t)words;
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes + header, 8 * (size_t)words};
  return NAY_OK;
}

/* ---- what all schemes share ---- */

bool nay__classic_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits > NAY_MAX_NBITS) return false;
  *nbits = shape->nunits;
  *nbytes = nay__ceil_div(shape->nunits, 8);
  return true;
}

double nay__classic_nbits_for(uint64_t nkeys, double fpr) {
  return -(double)nkeys * nay__ln_nearest(fpr) / (NAY_LN2 * NAY_LN2);
}

uint32_t nay__classic_k(double nbits, uint64_t nkeys) {
  double k = nbits / (double)nkeys * NAY_LN2 + 0.5;
  return k < 1 ? 1 : k > 1e9 ? 1000000000 : (uint32_t)k;
}

double nay__classic_fpr(const nay_probing *p, const nay_shape *shape, uint64_t nkeys) {
  if (shape->nunits == 0) return nay__probing_empty(p, shape);
  return nay__fpr_bloom(shape->nunits, shape->k, nkeys);
}

void nay__classic_census(const nay_probing *p, const nay_filter *a, const nay_filter *b,
                         uint64_t factor, nay_census *census) {
  assert(factor == 1); /* no fold */
  (void)factor;
  size_t at = p->header, len = a->nbytes - at;
  uint64_t set = b == NULL ? nay__bits_count(a->bits.bytes + at, len)
                           : nay__bits_count_or(a->bits.bytes + at, b->bits.bytes + at, len);
  nay_census c = {.nbits = a->shape.nunits, .nbits_set = set};
  if (a->shape.nunits == 0) {
    c.fpr = nay__probing_empty(p, &a->shape);
  } else {
    if (a->shape.k != 0) c.keys = nay__estimate_keys(a->shape.nunits, a->shape.k, set);
    c.fpr = nay__probing_reserved(p, &a->shape)
                ? 1
                : nay__ipow((double)set / (double)a->shape.nunits, a->shape.k);
  }
  *census = c;
}

void nay__probing_explain(const nay_probing *p, const nay_filter *f, nay_hash hash,
                          nay_explain_run *run) {
  const nay_shape *shape = &f->shape;
  if (shape->nunits == 0 || nay__probing_reserved(p, shape)) {
    nay__explain_constant(run, 0, shape->nunits != 0 || nay__probing_empty(p, shape));
    return;
  }
  uint64_t block_bits = p->block_bits != NULL ? p->block_bits(shape) : 0;
  nay_hash state = nay__probing_start(p, shape, hash);
  nay__explain_group(run, 0, shape->k);
  for (uint32_t i = 0; i < shape->k; i++) {
    uint64_t bit = p->next(shape, &state);
    if (block_bits == 0) {
      nay__explain_line_bit(run, f->bits.bytes + p->header, shape->nunits, bit);
    } else {
      uint64_t block = bit / block_bits, first = block * block_bits;
      nay_explain_unit unit = {"block", block, nay__explain_at(run, f->bits.bytes) + first,
                               block_bits};
      nay__explain_bit(run, &unit, bit - first, 0);
    }
  }
}

/* ---- by key ---- */

bool nay__keyed_test(const nay_probing *p, const nay_filter *f, const uint8_t *key, size_t len) {
  uint64_t at[NAY_CLASSIC_MAX_K];
  if (f->shape.nunits == 0) return nay__probing_empty(p, &f->shape);
  if (nay__probing_reserved(p, &f->shape)) return true;
  p->locate(f, key, len, at);
  for (uint32_t i = 0; i < f->shape.k; i++) {
    if (!nay__bit_get(f->bits.bytes + p->header, at[i])) return false;
  }
  return true;
}

nay_status nay__keyed_add(const nay_probing *p, nay_filter *f, const uint8_t *key, size_t len,
                          bool *is_new) {
  uint64_t at[NAY_CLASSIC_MAX_K];
  if (f->shape.nunits == 0) return nay__probing_empty(p, &f->shape) ? NAY_ENOTSUP : NAY_EFULL;
  if (nay__probing_reserved(p, &f->shape)) return NAY_ENOTSUP;
  p->locate(f, key, len, at);
  bool fresh = false;
  for (uint32_t i = 0; i < f->shape.k; i++) {
    fresh |= !nay__bit_set(f->bits.bytes + p->header, at[i]);
  }
  *is_new = fresh;
  return NAY_OK;
}

void nay__keyed_explain(const nay_probing *p, const nay_filter *f, const uint8_t *key, size_t len,
                        nay_explain_run *run) {
  uint64_t at[NAY_CLASSIC_MAX_K];
  const nay_shape *shape = &f->shape;
  if (shape->nunits == 0 || nay__probing_reserved(p, shape)) {
    nay__explain_constant(run, 0, shape->nunits != 0 || nay__probing_empty(p, shape));
    return;
  }
  p->locate(f, key, len, at);
  uint64_t nbits = 8 * (uint64_t)(f->nbytes - p->header); /* words in reverse reach past m */
  nay__explain_group(run, 0, shape->k);
  for (uint32_t i = 0; i < shape->k; i++) {
    nay__explain_line_bit(run, f->bits.bytes + p->header, nbits, at[i]);
  }
}

bool nay__keyed_no_test(const nay_filter *f, nay_hash hash) {
  (void)f;
  (void)hash;
  return true;
}

nay_status nay__keyed_no_add(nay_filter *f, nay_hash hash, bool *is_new) {
  (void)f;
  (void)hash;
  (void)is_new;
  return NAY_ENOTSUP;
}

void nay__keyed_no_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
  (void)f;
  (void)hash;
  nay__explain_constant(run, 0, true);
}

static nay_status classic_merge(nay_filter *dst, const nay_filter *src) {
  nay__bits_or(dst->bits.bytes, src->bits.bytes, dst->nbytes);
  return NAY_OK;
}

static void classic_intersect(nay_filter *dst, const nay_filter *src) {
  nay__bits_and(dst->bits.bytes, src->bits.bytes, dst->nbytes);
}

const nay_family_algebra nay__classic_algebra = {
    .merge = classic_merge,
    .intersect = classic_intersect,
};

/* ---- rotating ---- */

static nay_hash rotating_start(const nay_shape *shape, nay_hash hash) {
  (void)shape;
  return (nay_hash){(uint32_t)hash.lo, nay__rotr32((uint32_t)hash.lo, 17)};
}

static uint64_t rotating_next(const nay_shape *shape, nay_hash *state) {
  uint64_t bit = state->lo % shape->nunits;
  state->lo = (uint32_t)(state->lo + state->hi);
  return bit;
}

static const nay_probing rotating = {
    .start = rotating_start,
    .next = rotating_next,
    .max_k = 30,
};
NAY_CLASSIC_VERBS(rotating, rotating)
const nay_family nay__family_rotating = NAY_CLASSIC_FAMILY(rotating, "bloom (rotating)");

/* ---- striding ---- */

static uint64_t striding_next(const nay_shape *shape, nay_hash *state) {
  uint64_t bit = state->lo % shape->nunits;
  state->lo += state->hi;
  return bit;
}

static const nay_probing striding = {.next = striding_next, .max_k = NAY_CLASSIC_MAX_K};
NAY_CLASSIC_VERBS(striding, striding)
const nay_family nay__family_striding = NAY_CLASSIC_FAMILY(striding, "bloom (striding)");

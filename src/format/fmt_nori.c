/*
 * fmt_nori.c - nori-sstable's Bloom filter, in the form its page documents and in the two sizes
 * that its code has written.
 *
 *   nori               | num_bits u64 | k u32 | bits_per_key u32 | bits |   num_bits = n * b
 *   nori12             | k u32 | num_bits u64 | bits |   num_bits = n * b rounded up to 2^i
 *   nori12-unrounded   | k u32 | num_bits u64 | bits |   num_bits = n * b
 *
 * Little-endian, bits least significant first. k = ceil(0.693 * bits_per_key), at least 1; the
 * documented form also stops at 30. No commit of nori wrote the documented form. Until 2025-10-31
 * the code did not round, and nothing in the file says which writer it was; probe i is (h1 + i *
 * h2) mod num_bits in both, which a power of two turns into "& (num_bits - 1)". So one reader and
 * one family serve all three. Each of the two names of the 12-byte header reads both.
 *
 * num_bits 0 is the filter of no keys; nori writes it for every table that was planned for 0
 * entries, also when the table then got entries: nori denies those. k = 0 with bits means maybe.
 * The reader of nori12 ignores what follows the bits, as the code's does; the documented form ends
 * where its bits end.
 */
#include "base/bytes.h"
#include "family/bitarray.h"
#include "format/classic.h"
#include "format/format.h"
#include "math/plan.h"

#define NORI_HEADER 16u
#define NORI12_HEADER 12u
#define NORI_MAX_K 30u

static uint32_t nori_k(double bits_per_key) {
  double x = 0.693 * bits_per_key;
  uint32_t k = (uint32_t)x;
  if (k < x) k++;
  return k < 1 ? 1 : k;
}

static nay_status nori_check_tail(const nay_shape *shape, const nay_span *payload, uint64_t at,
                                  nay_diag *diag) {
  if (nay__bits_tail_clear(payload->at, payload->len, shape->nunits)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "bits are set past num_bits", at + payload->len - 1);
}

/* ---- the documented form ---- */

static nay_status nori_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag, nay_shape *shape) {
  uint64_t nbits;
  NAY_TRY(nay__classic_bits(nkeys, bits_per_key, diag, &nbits));
  uint32_t k = nori_k(bits_per_key);
  *shape = (nay_shape){nbits, k > NORI_MAX_K ? NORI_MAX_K : k, (uint32_t)bits_per_key};
  return NAY_OK;
}

static nay_status nori_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                             nay_span *payload) {
  if (len < NORI_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  *shape = (nay_shape){nay__load64le(bytes), nay__load32le(bytes + 8), nay__load32le(bytes + 12)};
  if (shape->nunits > NAY_MAX_NBITS ||
      nay__ceil_div(shape->nunits, 8) != (uint64_t)len - NORI_HEADER) {
    return nay__fail(diag, NAY_ECORRUPT, "num_bits does not fit the length", 0);
  }
  if (shape->k < 1 || shape->k > NORI_MAX_K) {
    return nay__fail(diag, NAY_ECORRUPT, "k is not between 1 and 30", 8);
  }
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes + NORI_HEADER, len - NORI_HEADER};
  return nori_check_tail(shape, payload, NORI_HEADER, diag);
}

/* num_bits = n * bits_per_key, so the header tells n. */
static uint64_t nori_planned(const nay_shape *shape, const uint8_t *bytes) {
  (void)bytes;
  return shape->extra != 0 ? shape->nunits / shape->extra : 0;
}

static void nori_encode(const nay_filter *f, uint8_t *dst) {
  nay__store64le(dst, f->shape.nunits);
  nay__store32le(dst + 8, f->shape.k);
  nay__store32le(dst + 12, f->shape.extra);
  if (f->nbytes != 0) memcpy(dst + NORI_HEADER, f->bits.bytes, f->nbytes);
}

/* XXH64 with seeds 0 and 1. */
static nay_hash nori_hash_of(const uint8_t *key, size_t len) {
  return (nay_hash){XXH64(key, len, 0), XXH64(key, len, 1)};
}
const nay_foreign_hash nay__nori_hash = {
    .kind = (nay_hash_kind)66, .name = "xxh64x2", .has_hi = true, .hash = nori_hash_of};

const nay_format nay__format_nori = {
    .name = "nori",
    .about = "nori-sstable's filter, as its page documents it",
    .family = &nay__family_striding,
    .hash = &nay__nori_hash,
    .plan = nori_plan,
    .parse = nori_parse,
    .planned = nori_planned,
    .overhead = NORI_HEADER,
    .encode = nori_encode,
};

/* ---- the form of the code ---- */

static nay_status nori12_unrounded_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag,
                                        nay_shape *shape) {
  uint64_t nbits;
  NAY_TRY(nay__classic_bits(nkeys, bits_per_key, diag, &nbits));
  uint32_t k = nori_k(bits_per_key);
  if (k > NAY_CLASSIC_MAX_K) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key needs more than 255 probes", 0);
  }
  *shape = (nay_shape){.nunits = nbits, .k = k};
  return NAY_OK;
}

static nay_status nori12_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag,
                              nay_shape *shape) {
  uint64_t rounded = 1;
  NAY_TRY(nori12_unrounded_plan(nkeys, bits_per_key, diag, shape));
  while (rounded < shape->nunits) rounded *= 2;
  if (shape->nunits != 0) shape->nunits = rounded;
  return NAY_OK;
}

/* Bits that are a power of two fit both writers: they stay in the layout that the caller named. */
static const nay_format *nori12_variant(const nay_format *named, const uint8_t *bytes, size_t len) {
  uint64_t nbits = len < NORI12_HEADER ? 0 : nay__load64le(bytes + 4);
  return (nbits & (nbits - 1)) == 0 ? named : &nay__format_nori12_unrounded;
}

static nay_status nori12_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                               nay_span *payload) {
  if (len < NORI12_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  *shape = (nay_shape){.nunits = nay__load64le(bytes + 4), .k = nay__load32le(bytes)};
  if (shape->k > NAY_CLASSIC_MAX_K) {
    return nay__fail(diag, NAY_ECORRUPT, "k is above 255", 0);
  }
  if (shape->nunits > NAY_MAX_NBITS ||
      nay__ceil_div(shape->nunits, 8) > (uint64_t)len - NORI12_HEADER) {
    return nay__fail(diag, NAY_ECORRUPT, "num_bits does not fit the length", 4);
  }
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes + NORI12_HEADER,
                        (size_t)nay__ceil_div(shape->nunits, 8)};
  return nori_check_tail(shape, payload, NORI12_HEADER, diag);
}

/* Also the layout of the lab, which has another hash. */
void nay__encode_k_m_bits(const nay_filter *f, uint8_t *dst) {
  nay__store32le(dst, f->shape.k);
  nay__store64le(dst + 4, f->shape.nunits);
  if (f->nbytes != 0) memcpy(dst + NORI12_HEADER, f->bits.bytes, f->nbytes);
}

static const char *nori12_caveat(const nay_filter *f) {
  if (f->shape.nunits == 0) {
    return "num_bits is 0, as for a table planned for 0 entries: nori denies every key, also those "
           "that the table holds";
  }
  return f->shape.k == 0 ? "k is 0: the filter answers maybe for every key" : NULL;
}

/*
 * The bits per key b that give k: one or two. n * b is num_bits, or up to num_bits where that is a
 * power of two, which the rounding makes.
 */
static bool nori12_plan_of(const nay_shape *shape, size_t i, uint64_t *nkeys, double *bits_per_key,
                           double *fpr) {
  if (shape->nunits == 0 || shape->k == 0) return false;
  bool rounded = (shape->nunits & (shape->nunits - 1)) == 0;
  uint32_t b = 1;
  for (size_t left = i; nori_k(b) <= shape->k; b++) {
    bool fits = nori_k(b) == shape->k && shape->nunits >= b;
    if (fits && (rounded || shape->nunits % b == 0) && left-- == 0) break;
  }
  if (nori_k(b) > shape->k) return false;
  *nkeys = shape->nunits / b;
  *bits_per_key = b;
  *fpr = nay__family_striding.fpr(shape, *nkeys);
  return true;
}

const nay_format nay__format_nori12 = {
    .name = "nori12",
    .about = "nori-sstable's filter, as its code writes it (12-byte header, power of two)",
    .family = &nay__family_striding,
    .hash = &nay__nori_hash,
    .plan = nori12_plan,
    .variant = nori12_variant,
    .parse = nori12_parse,
    .overhead = NORI12_HEADER,
    .encode = nay__encode_k_m_bits,
    .plan_of = nori12_plan_of,
    .caveat = nori12_caveat,
};

const nay_format nay__format_nori12_unrounded = {
    .name = "nori12-unrounded",
    .about = "nori-sstable's filter until 2025-10-31 (12-byte header, any number of bits)",
    .family = &nay__family_striding,
    .hash = &nay__nori_hash,
    .plan = nori12_unrounded_plan,
    .variant = nori12_variant,
    .parse = nori12_parse,
    .overhead = NORI12_HEADER,
    .encode = nay__encode_k_m_bits,
    .plan_of = nori12_plan_of,
    .caveat = nori12_caveat,
};

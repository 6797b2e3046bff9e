/*
 * fmt_toy.c - a layout that no other system has, with a hash and a probing scheme of its own.
 *
 *   | "TOY1" | k u32 | m u64 | bits, m / 8 bytes |                       little-endian
 *
 * Bits: m = max(64, n * bits_per_key), rounded up to bytes; k = trunc(0.69 * bits_per_key), at
 * least 1. doc/formats/toy.md has the hash and the scheme.
 */
#include "base/bytes.h"
#include "format/classic.h"
#include "format/format.h"
#include "math/plan.h"

#define TOY_MAGIC "TOY1"
#define TOY_MAGIC_LEN 4u
#define TOY_HEADER 16u

/* ---- the hash ---- */

static nay_hash toy_hash_of(const uint8_t *key, size_t len) {
  uint64_t a = 0x746f79, b = 0x686173680000;
  for (size_t i = 0; i < len; i++) {
    a = (nay__rotl64(a, 7) ^ key[i]) * 0x9e3779b97f4a7c15u;
    b += a;
  }
  return (nay_hash){a ^ a >> 29, (b ^ b >> 31) | 1};
}
static const nay_foreign_hash toy_hash = {
    .kind = (nay_hash_kind)NAY_HASH_LAST, .name = "toy-hash", .has_hi = true, .hash = toy_hash_of};

/* ---- the probing scheme: the step grows ---- */

static uint64_t toy_next(const nay_shape *shape, nay_hash *state) {
  uint64_t bit = state->lo % shape->nunits;
  state->lo += state->hi;
  state->hi += 0x10001;
  return bit;
}

static const nay_probing toy_probing = {.next = toy_next, .max_k = NAY_CLASSIC_MAX_K};
NAY_CLASSIC_VERBS(toy, toy_probing)
static const nay_family toy_family = NAY_CLASSIC_FAMILY(toy, "bloom (toy)");

/* ---- the bytes ---- */

static bool toy_matches(const uint8_t *bytes, size_t len) {
  return len >= TOY_MAGIC_LEN && memcmp(bytes, TOY_MAGIC, TOY_MAGIC_LEN) == 0;
}

static nay_status toy_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag, nay_shape *shape) {
  uint64_t nbits;
  NAY_TRY(nay__classic_bits(nkeys, bits_per_key, diag, &nbits));
  uint32_t k = (uint32_t)(bits_per_key * 0.69);
  if (k > NAY_CLASSIC_MAX_K) return nay__fail(diag, NAY_EINVAL, "bits_per_key is above 370", 0);
  *shape = (nay_shape){.nunits = nay__round_up(nay__max_u64(64, nbits), 8), .k = k < 1 ? 1 : k};
  return NAY_OK;
}

static nay_status toy_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                            nay_span *payload) {
  if (!toy_matches(bytes, len)) return nay__fail(diag, NAY_EFORMAT, "not a toy", 0);
  if (len < TOY_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  *shape = (nay_shape){.nunits = nay__load64le(bytes + 8), .k = nay__load32le(bytes + 4)};
  if (shape->k < 1 || shape->k > NAY_CLASSIC_MAX_K) {
    return nay__fail(diag, NAY_ECORRUPT, "k is not between 1 and 255", 4);
  }
  if (shape->nunits > NAY_MAX_NBITS || shape->nunits != 8 * (uint64_t)(len - TOY_HEADER)) {
    return nay__fail(diag, NAY_ECORRUPT, "m does not fit the length", 8);
  }
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes + TOY_HEADER, len - TOY_HEADER};
  return NAY_OK;
}

static void toy_encode(const nay_filter *f, uint8_t *dst) {
  memcpy(dst, TOY_MAGIC, TOY_MAGIC_LEN);
  nay__encode_k_m_bits(f, dst + TOY_MAGIC_LEN);
}

const nay_format nay__format_toy = {
    .name = "toy-format",
    .about = "the filter of no system",
    .traits = NAY_FORMAT_MAGIC,
    .named_wrong = "the magic number is that of a toy: not of the layout that is named",
    .matches = toy_matches,
    .family = &toy_family,
    .hash = &toy_hash,
    .plan = toy_plan,
    .parse = toy_parse,
    .overhead = TOY_HEADER,
    .encode = toy_encode,
};

/*
 * fmt_lab.c - the filter of the Rust / Go / C++ lab: one layout for three languages.
 *
 *   | k u32 | m u64 | bits, ceil(m / 8) bytes |       little-endian, least significant bit first
 *
 * Hash: SplitMix64 (with its golden step) of FNV-1a-64; h1 is the low half, h2 the high half, both
 * widened to 64 bits; probe i is (h1 + i * h2) % m. m = n * bits_per_key, k = round(bits_per_key
 * * ln 2). The lab's page leaves some of this open; doc/formats/lab.md says which reading this is.
 */
#include "base/bytes.h"
#include "family/bitarray.h"
#include "format/classic.h"
#include "format/format.h"
#include "math/elementary.h"
#include "math/plan.h"

#define LAB_HEADER 12u

static nay_status lab_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag, nay_shape *shape) {
  uint64_t nbits;
  NAY_TRY(nay__classic_bits(nkeys, bits_per_key, diag, &nbits));
  uint32_t k = (uint32_t)(bits_per_key * NAY_LN2 + 0.5);
  if (k > NAY_CLASSIC_MAX_K) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key needs more than 255 probes", 0);
  }
  *shape = (nay_shape){.nunits = nbits, .k = k < 1 ? 1 : k};
  return NAY_OK;
}

static nay_status lab_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                            nay_span *payload) {
  if (len < LAB_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  *shape = (nay_shape){.nunits = nay__load64le(bytes + 4), .k = nay__load32le(bytes)};
  if (shape->k < 1 || shape->k > NAY_CLASSIC_MAX_K) {
    return nay__fail(diag, NAY_ECORRUPT, "k is not between 1 and 255", 0);
  }
  if (shape->nunits > NAY_MAX_NBITS ||
      nay__ceil_div(shape->nunits, 8) != (uint64_t)len - LAB_HEADER) {
    return nay__fail(diag, NAY_ECORRUPT, "m does not fit the length", 4);
  }
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes + LAB_HEADER, len - LAB_HEADER};
  if (nay__bits_tail_clear(payload->at, payload->len, shape->nunits)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "bits are set past m", len - 1);
}

/* FNV-1a is weak alone: one multiplication per byte. The mix makes up for it. */
static nay_hash lab_hash_of(const uint8_t *key, size_t len) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < len; i++) h = (h ^ key[i]) * 0x100000001b3u;
  h = nay_hash_mix(h);
  return (nay_hash){(uint32_t)h, h >> 32};
}
static const nay_foreign_hash lab_hash = {
    .kind = (nay_hash_kind)67, .name = "fnv1a-splitmix", .has_hi = true, .hash = lab_hash_of};

const nay_format nay__format_lab = {
    .name = "lab",
    .about = "the filter of the Rust / Go / C++ lab",
    .family = &nay__family_striding,
    .hash = &lab_hash,
    .plan = lab_plan,
    .parse = lab_parse,
    .overhead = LAB_HEADER,
    .encode = nay__encode_k_m_bits,
};

/*
 * fmt_toy.c - a layout that no other system has: the lab's, behind a magic number.
 *
 *   | "TOY1" | k u32 | m u64 | bits, ceil(m / 8) bytes |                little-endian
 */
#include "base/base.h"
#include "format/classic.h"
#include "format/format.h"

#define TOY_MAGIC "TOY1"
#define TOY_MAGIC_LEN 4u
#define TOY_HEADER 16u

static bool toy_matches(const uint8_t *bytes, size_t len) {
  return len >= TOY_MAGIC_LEN && memcmp(bytes, TOY_MAGIC, TOY_MAGIC_LEN) == 0;
}

static nay_status toy_bits(uint64_t nkeys, double bits_per_key, nay_diag *diag, nay_shape *shape) {
  return nay__format_lab.plan(nkeys, bits_per_key, diag, shape);
}

static nay_status toy_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                            nay_span *payload) {
  if (!toy_matches(bytes, len)) return nay__fail(diag, NAY_EFORMAT, "not a toy", 0);
  nay_status status =
      nay__format_lab.parse(bytes + TOY_MAGIC_LEN, len - TOY_MAGIC_LEN, diag, shape, payload);
  if (status != NAY_OK && diag != NULL) diag->offset += TOY_MAGIC_LEN;
  return status;
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
    .family = &nay__family_striding,
    .hash = NAY_HASH_FNV_MIX,
    .plan = toy_bits,
    .parse = toy_parse,
    .overhead = TOY_HEADER,
    .encode = toy_encode,
};

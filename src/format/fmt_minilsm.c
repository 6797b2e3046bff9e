/*
 * fmt_minilsm.c - the filter block of mini-lsm, as its code stores it.
 *
 *   mini-lsm         | bits | k u8 | CRC-32 u32 big-endian |      from week 2 of the course on
 *   mini-lsm-week1   | bits | k u8 |                              the end of week 1
 *
 * bits: max(64, n * bits_per_key) rounded up to bytes. The checksum covers bits and k.
 * k = trunc(0.69 * bits_per_key) in [1, 30]; 0 and values above 30 mean maybe. mini-lsm divides by
 * the number of keys to find the bits per key, which gives 0 for no keys: such a filter has k = 1.
 * mini-lsm reduces by the number of bits modulo 2^32 when it reads and modulo 2^64 when it builds,
 * so filters of 2^32 bits and more do not work there and are refused here.
 */
#include "base/bytes.h"
#include "base/crc32.h"
#include "format/classic.h"
#include "format/format.h"

#define MINILSM_TRAILER 5u

static nay_status minilsm_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag,
                               nay_shape *shape) {
  NAY_TRY(nay__format_leveldb.plan(nkeys, bits_per_key, diag, shape)); /* the same sizes */
  if (shape->nunits > UINT32_MAX) {
    return nay__fail(diag, NAY_EINVAL, "mini-lsm cannot read filters of 2^32 bits or more", 0);
  }
  if (nkeys == 0) shape->k = 1;
  return NAY_OK;
}

/* The array of bits and the k behind it. */
static nay_status minilsm_parse_bits(const uint8_t *bytes, size_t array, nay_diag *diag,
                                     nay_shape *shape, nay_span *payload) {
  if (array == 0) return nay__fail(diag, NAY_ECORRUPT, "no bits", 0);
  if (array > UINT32_MAX / 8) {
    return nay__fail(diag, NAY_ECORRUPT, "2^32 bits or more: mini-lsm cannot read these", 0);
  }
  *shape = (nay_shape){.nunits = (uint64_t)array * 8, .k = bytes[array]};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes, array};
  return NAY_OK;
}

static nay_status minilsm_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                                nay_span *payload) {
  if (len < MINILSM_TRAILER) {
    return nay__fail(diag, NAY_ECORRUPT, "shorter than k and checksum", len);
  }
  size_t array = len - MINILSM_TRAILER;
  if (nay__crc32(bytes, array + 1) != nay__load32be(bytes + array + 1)) {
    return nay__fail(diag, NAY_ECORRUPT, "the CRC-32 is wrong", array + 1);
  }
  return minilsm_parse_bits(bytes, array, diag, shape, payload);
}

static nay_status minilsm_week1_parse(const uint8_t *bytes, size_t len, nay_diag *diag,
                                      nay_shape *shape, nay_span *payload) {
  if (len < 1) return nay__fail(diag, NAY_ECORRUPT, "shorter than k", len);
  return minilsm_parse_bits(bytes, len - 1, diag, shape, payload);
}

static void minilsm_week1_encode(const nay_filter *f, uint8_t *dst) {
  memcpy(dst, f->bits.bytes, f->nbytes);
  dst[f->nbytes] = (uint8_t)f->shape.k;
}

static void minilsm_encode(const nay_filter *f, uint8_t *dst) {
  minilsm_week1_encode(f, dst);
  nay__store32be(dst + f->nbytes + 1, nay__crc32(dst, f->nbytes + 1));
}

static nay_hash minilsm_hash_of(const uint8_t *key, size_t len) {
  return (nay_hash){nay__farm_fingerprint32(key, len), 0};
}
static const nay_foreign_hash minilsm_hash = {
    .kind = (nay_hash_kind)65, .name = "farm32", .hash = minilsm_hash_of};

const nay_format nay__format_minilsm = {
    .name = "mini-lsm",
    .about = "the filter block of mini-lsm's SSTables",
    .traits = NAY_FORMAT_CHECKSUM,
    .named_wrong = "the checksum of mini-lsm holds: not of the layout that is named",
    .family = &nay__family_rotating,
    .hash = &minilsm_hash,
    .plan = minilsm_plan,
    .parse = minilsm_parse,
    .overhead = MINILSM_TRAILER,
    .encode = minilsm_encode,
};

const nay_format nay__format_minilsm_week1 = {
    .name = "mini-lsm-week1",
    .about = "the filter block of mini-lsm's first week, without a checksum",
    .family = &nay__family_rotating,
    .hash = &minilsm_hash,
    .plan = minilsm_plan,
    .parse = minilsm_week1_parse,
    .overhead = 1,
    .encode = minilsm_week1_encode,
};

/*
 * fmt_datasketches.c - the Bloom filter of Apache DataSketches (family 21), Java and C++.
 *
 *   | preLongs u8 | 1 u8 | 21 u8 | flags u8 | k u16 | 0 u16 | seed u64 | words i32 | 0 u32 |
 *   | bits set i64 | words u64 |                        unless the filter is empty, little-endian
 *
 * An empty filter has preLongs 3, flags 4 and ends after 24 bytes; others have 4 and 0. The number
 * of set bits is -1 once keys were added, until somebody counts: it changes with the keys, so it is
 * the start of the payload here. Bit p is bit p % 8 of byte p / 8; m = 64 * words. h0 is XXH64 of
 * the key with the seed, h1 XXH64 with the seed h0; probe i = 1 .. k is ((h0 + i * h1 mod 2^64) >>
 * 1) % m.
 *
 * Size: bits = ceil(-n ln p / ln(2)^2), words of 64; k = max(1, ceil(bits / n * ln 2)) in Java,
 * which is taken here, and ceil(-ln p / ln 2) in C++, which params.k gives.
 */
#include "base/bytes.h"
#include "format/classic.h"
#include "format/format.h"
#include "math/elementary.h"

#define DS_PREAMBLE 24u
#define DS_COUNT 8u /* the number of set bits, the start of the payload */
#define DS_VERSION 1u
#define DS_FAMILY 21u
#define DS_EMPTY 4u
#define DS_MAX_WORDS 0x3ffffffu /* at 2^32 bits and above Java and C++ compute other locations */
#define DS_MAX_EMPTY_WORDS (1u << 16) /* of 24 bytes that ask for 512 KiB */
#define DS_MAX_K NAY_CLASSIC_MAX_K

static double ds_ceil(double x) {
  double whole = (double)(uint64_t)x;
  return x > whole ? whole + 1 : whole;
}

static nay_status ds_size(const nay_params *p, nay_sizing by, nay_diag *diag, nay_shape *shape) {
  double n = (double)p->nkeys, bits = (double)p->nbits;
  if (by == NAY_BY_FPR) bits = nay__classic_nbits_for(p->nkeys, p->fpr);
  if (by == NAY_BY_BITS_PER_KEY) bits = n * p->bits_per_key;
  if (bits > 64.0 * DS_MAX_WORDS) {
    return nay__fail(diag, NAY_EINVAL, "nkeys needs 2^32 bits or more: the engines address fewer",
                     0);
  }
  bits = bits < 1 ? 1 : ds_ceil(bits);
  double k = p->k != 0 ? p->k : ds_ceil(bits / n * NAY_LN2);
  if (k > DS_MAX_K) return nay__fail(diag, NAY_EINVAL, "the size needs more than 255 probes", 0);
  *shape = (nay_shape){nay__round_up((uint64_t)bits, 64), k < 1 ? 1 : (uint32_t)k, 0};
  return NAY_OK;
}

static bool ds_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > UINT64_C(64) * DS_MAX_WORDS) return false;
  *nbits = shape->nunits;
  *nbytes = DS_COUNT + shape->nunits / 8;
  return true;
}

/* All checks; *size is that of the form with all words. */
static nay_status ds_check(const uint8_t *bytes, size_t len, nay_diag *diag, size_t *size) {
  if (len < DS_PREAMBLE) return nay__fail(diag, NAY_ECORRUPT, "shorter than the preamble", len);
  if (bytes[1] != DS_VERSION || bytes[2] != DS_FAMILY) {
    return nay__fail(diag, NAY_ECORRUPT, "not a Bloom filter of DataSketches, version 1", 1);
  }
  uint32_t k = nay__load16le(bytes + 4), words = nay__load32le(bytes + 16);
  if (bytes[0] != 3 && bytes[0] != 4) {
    return nay__fail(diag, NAY_ECORRUPT, "the preamble is neither 3 nor 4 words", 0);
  }
  if (k < 1 || k > DS_MAX_K) return nay__fail(diag, NAY_ECORRUPT, "k is not between 1 and 255", 4);
  if (words == 0 || words > INT32_MAX) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of words is not above 0", 16);
  }
  if (words > DS_MAX_WORDS) {
    return nay__fail(diag, NAY_ENOTSUP, "a filter of 2^32 bits or more: its engine loses keys", 16);
  }
  bool empty = bytes[0] == 3;
  if (empty && words > DS_MAX_EMPTY_WORDS) {
    return nay__fail(diag, NAY_ENOTSUP, "an empty filter of more than 512 KiB", 16);
  }
  if (!empty && (len < DS_PREAMBLE + DS_COUNT || words > (len - DS_PREAMBLE - DS_COUNT) / 8)) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of words does not fit the length", 16);
  }
  *size = DS_PREAMBLE + DS_COUNT + 8 * (size_t)words;
  return NAY_OK;
}

static nay_status ds_unpack(const uint8_t *bytes, size_t len, nay_diag *diag, uint8_t *dst,
                            size_t *size, uint32_t *extra) {
  NAY_TRY(ds_check(bytes, len, diag, size));
  *extra = 0;
  if (dst == NULL) return NAY_OK;
  bool empty = bytes[0] == 3;
  memset(dst, 0, *size);
  memcpy(dst, bytes, empty ? DS_PREAMBLE : *size);
  dst[0] = 4;
  return NAY_OK;
}

static nay_status ds_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                           nay_span *payload) {
  size_t size;
  NAY_TRY(ds_check(bytes, len, diag, &size));
  if (bytes[0] != 4) return nay__fail(diag, NAY_ENOTSUP, "an empty filter must be unpacked", 0);
  *shape = (nay_shape){64 * (uint64_t)nay__load32le(bytes + 16), nay__load16le(bytes + 4), 0};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes + DS_PREAMBLE, size - DS_PREAMBLE};
  return NAY_OK;
}

static uint64_t ds_seed(const uint8_t *bytes) { return nay__load64le(bytes + 8); }

static bool ds_fits(const uint8_t *head, size_t nhead, uint64_t len) {
  if (nhead < DS_PREAMBLE || head[1] != DS_VERSION || head[2] != DS_FAMILY) return false;
  uint64_t nbytes = 8 * (uint64_t)nay__load32le(head + 16);
  if (nbytes == 0 || nay__load16le(head + 4) == 0 || nay__load16le(head + 6) != 0) return false;
  return head[0] == 3 ? len == DS_PREAMBLE : head[0] == 4 && len == DS_PREAMBLE + DS_COUNT + nbytes;
}

/* Empty: no bit is set, and none was since it was counted. */
static nay_status ds_pack(const nay_filter *f, uint8_t *dst, size_t *size) {
  bool empty = nay__load64le(f->bits.bytes) == 0 &&
               nay__bits_count(f->bits.bytes + DS_COUNT, f->nbytes - DS_COUNT) == 0;
  *size = DS_PREAMBLE + (empty ? 0 : f->nbytes);
  if (dst == NULL) return NAY_OK;
  memset(dst, 0, DS_PREAMBLE);
  dst[0] = empty ? 3 : 4;
  dst[1] = DS_VERSION;
  dst[2] = DS_FAMILY;
  dst[3] = empty ? DS_EMPTY : 0;
  nay__store16le(dst + 4, (uint16_t)f->shape.k);
  nay__store64le(dst + 8, f->hasher.seed);
  nay__store32le(dst + 16, (uint32_t)(f->shape.nunits / 64));
  if (!empty) memcpy(dst + DS_PREAMBLE, f->bits.bytes, f->nbytes);
  return NAY_OK;
}

static uint64_t ds_packed_size(const nay_shape *shape, uint64_t nkeys) {
  return DS_PREAMBLE + (nkeys != 0 ? DS_COUNT + shape->nunits / 8 : 0);
}

static nay_hash ds_hash_seeded(uint64_t seed, const uint8_t *key, size_t len) {
  uint64_t h0 = XXH64(key, len, seed);
  return (nay_hash){h0, XXH64(key, len, h0)};
}
static const nay_foreign_hash ds_hash = {
    .kind = (nay_hash_kind)101, .name = "xxh64-chained", .has_hi = true, .seeded = ds_hash_seeded};

static uint64_t ds_next(const nay_shape *shape, nay_hash *state) {
  state->lo += state->hi;
  return (state->lo >> 1) % shape->nunits;
}

static const nay_probing ds_probing = {
    .next = ds_next,
    .max_k = DS_MAX_K,
    .header = DS_COUNT,
};
NAY_CLASSIC_VERBS(ds_plain, ds_probing)

static void ds_count(nay_filter *f) {
  nay__store64le(f->bits.bytes, nay__bits_count(f->bits.bytes + DS_COUNT, f->nbytes - DS_COUNT));
}

/* The engines do not count on update. */
static nay_status ds_add(nay_filter *f, nay_hash hash, bool *is_new) {
  NAY_TRY(ds_plain_add(f, hash, is_new));
  nay__store64le(f->bits.bytes, UINT64_MAX);
  return NAY_OK;
}

static nay_status ds_merge(nay_filter *dst, const nay_filter *src) {
  nay__bits_or(dst->bits.bytes + DS_COUNT, src->bits.bytes + DS_COUNT, dst->nbytes - DS_COUNT);
  ds_count(dst);
  return NAY_OK;
}

static void ds_intersect(nay_filter *dst, const nay_filter *src) {
  nay__bits_and(dst->bits.bytes + DS_COUNT, src->bits.bytes + DS_COUNT, dst->nbytes - DS_COUNT);
  ds_count(dst);
}

static const nay_family_algebra ds_algebra = {.merge = ds_merge, .intersect = ds_intersect};

static const nay_family ds_family = {
    .kind = NAY_BLOOM,
    .name = "bloom (datasketches)",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT,
    .payload = ds_payload,
    .fpr = ds_plain_fpr,
    .census = ds_plain_census,
    .test = ds_plain_test,
    .explain = ds_plain_explain,
    .add = ds_add,
    .batch = &nay__batch_each,
    .algebra = &ds_algebra,
};

const nay_format nay__format_datasketches = {
    .name = "datasketches",
    .about = "the Bloom filter of Apache DataSketches, Java and C++",
    .family = &ds_family,
    .hash = &ds_hash,
    .size_by = ds_size,
    .takes = NAY_TAKES_NBITS | NAY_TAKES_K | NAY_TAKES_SEED,
    .parse = ds_parse,
    .fits = ds_fits,
    .seed = ds_seed,
    .unpack = ds_unpack,
    .pack = ds_pack,
    .packed_size = ds_packed_size,
};

/*
 * fmt_bip37.c - the filterload message of Bitcoin (BIP37), without the envelope.
 *
 *   | length, CompactSize | filter | k u32le | tweak u32le | flags u8 |
 *
 * At most 36,000 bytes and k <= 50. Bit p is bit p % 8 of byte p / 8; probe i is MurmurHash3 x86 of
 * the key with the seed i * FBA4C795 + tweak, mod 8 * length: every probe is a hash of its own, so
 * this family takes keys. k = 0 and a filter of no bytes answer maybe, as in Bitcoin Core. The
 * tweak and the flags follow the array, and are kept: they are the seed, and `extra`.
 *
 * Size: bytes = min(trunc(-n ln p / ln(2)^2), 288000) / 8, k = trunc(bytes * 8 / n * ln 2), at most
 * 50: the text of the BIP. Bitcoin Core divides bytes * 8 / n as integers; params.k gives its k.
 */
#include "base/bytes.h"
#include "format/classic.h"
#include "format/format.h"
#include "math/elementary.h"

#define BIP37_MAX_BYTES 36000u
#define BIP37_MAX_K 50u
#define BIP37_TRAILER 9u
#define BIP37_FLAGS 3u

static nay_status bip37_size(const nay_params *p, nay_sizing by, nay_diag *diag, nay_shape *shape) {
  double n = (double)p->nkeys, bits = n * p->bits_per_key;
  if (by == NAY_BY_FPR) bits = nay__classic_nbits_for(p->nkeys, p->fpr);
  if (bits > 8.0 * BIP37_MAX_BYTES) bits = 8.0 * BIP37_MAX_BYTES;
  uint64_t nbytes = (uint64_t)bits / 8;
  if (nbytes == 0) return nay__fail(diag, NAY_EINVAL, "the size is below one byte", 0);
  if (p->seed > UINT32_MAX) {
    return nay__fail(diag, NAY_EINVAL, "seed, the tweak, is above 32 bits", 0);
  }
  double k = p->k != 0 ? p->k : (double)(8 * nbytes) / n * NAY_LN2;
  if (p->k > BIP37_MAX_K) return nay__fail(diag, NAY_EINVAL, "k is above 50", 0);
  if (k < 1) return nay__fail(diag, NAY_EINVAL, "more keys than bits: every answer is maybe", 0);
  *shape = (nay_shape){8 * nbytes, k > BIP37_MAX_K ? BIP37_MAX_K : (uint32_t)k, 0};
  return NAY_OK;
}

/* The length of the filter and where it starts; 0: not one of at most 36,000 bytes. */
static size_t bip37_start(const uint8_t *bytes, size_t len, size_t *nbytes) {
  if (len >= 1 && bytes[0] < 0xfd) {
    *nbytes = bytes[0];
    return 1;
  }
  if (len < 3 || bytes[0] != 0xfd) return 0;
  *nbytes = nay__load16le(bytes + 1);
  return *nbytes < 0xfd ? 0 : 3; /* Bitcoin Core refuses three bytes where one is enough, too */
}

static nay_status bip37_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                              nay_span *payload) {
  size_t nbytes = 0, start = bip37_start(bytes, len, &nbytes);
  if (start == 0 || nbytes > BIP37_MAX_BYTES) {
    return nay__fail(diag, NAY_ECORRUPT, "the length is not one of at most 36,000 bytes", 0);
  }
  if (len != start + nbytes + BIP37_TRAILER) {
    return nay__fail(diag, NAY_ECORRUPT, "the length of the filter is not that of the message", 0);
  }
  const uint8_t *end = bytes + start + nbytes;
  uint32_t k = nay__load32le(end);
  if (k > BIP37_MAX_K) return nay__fail(diag, NAY_ECORRUPT, "k is above 50", start + nbytes);
  *shape = (nay_shape){8 * (uint64_t)nbytes, k, end[8]};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes + start, nbytes};
  return NAY_OK;
}

/* k and the flags are behind the array: without them only a length of 16 bits is enough. */
static bool bip37_fits(const uint8_t *head, size_t nhead, uint64_t len) {
  size_t nbytes = 0, start = bip37_start(head, nhead, &nbytes);
  if (start == 0 || nbytes == 0 || nbytes > BIP37_MAX_BYTES) return false;
  if (len != start + nbytes + BIP37_TRAILER) return false;
  if (nhead < len) return start > 1;
  const uint8_t *end = head + start + nbytes;
  uint32_t k = nay__load32le(end);
  return k != 0 && k <= BIP37_MAX_K && end[8] < BIP37_FLAGS;
}

/* The tweak is behind the array. */
static uint64_t bip37_seed(const uint8_t *bytes) {
  size_t nbytes = 0, start = bip37_start(bytes, 3, &nbytes);
  return nay__load32le(bytes + start + nbytes + 4);
}

static size_t bip37_size_of(size_t nbytes) {
  return (nbytes < 0xfd ? 1 : 3) + nbytes + BIP37_TRAILER;
}

static size_t bip37_encoded_size(const nay_filter *f) { return bip37_size_of(f->nbytes); }

static uint64_t bip37_planned_size(const nay_shape *shape, uint64_t nkeys) {
  (void)nkeys;
  return bip37_size_of((size_t)(shape->nunits / 8));
}

static void bip37_encode(const nay_filter *f, uint8_t *dst) {
  if (f->nbytes < 0xfd) {
    *dst++ = (uint8_t)f->nbytes;
  } else {
    *dst = 0xfd;
    nay__store16le(dst + 1, (uint16_t)f->nbytes);
    dst += 3;
  }
  if (f->nbytes != 0) memcpy(dst, f->bits.bytes, f->nbytes);
  dst += f->nbytes;
  nay__store32le(dst, f->shape.k);
  nay__store32le(dst + 4, (uint32_t)f->hasher.seed);
  dst[8] = (uint8_t)f->shape.extra;
}

static nay_hash bip37_hash_of(const uint8_t *key, size_t len) {
  return (nay_hash){nay__murmur3_32(key, len, 0), 0};
}
static const nay_foreign_hash bip37_hash = {
    .kind = (nay_hash_kind)102, .name = "murmur3-32", .hash = bip37_hash_of, .by_key = true};

static void bip37_locate(const nay_filter *f, const uint8_t *key, size_t len, uint64_t *at) {
  for (uint32_t i = 0; i < f->shape.k; i++) {
    uint32_t seed = i * 0xfba4c795u + (uint32_t)f->hasher.seed;
    at[i] = nay__murmur3_32(key, len, seed) % f->shape.nunits;
  }
}

static bool bip37_empty(const nay_shape *shape) {
  (void)shape;
  return true;
}

static const nay_probing bip37_probing = {
    .max_k = BIP37_MAX_K, .empty_is_maybe = bip37_empty, .locate = bip37_locate};
NAY_KEYED_VERBS(bip37, bip37_probing)
static const nay_family bip37_family =
    NAY_KEYED_FAMILY(bip37, "bloom (bip37)", nay__classic_payload);

static const char *bip37_caveat(const nay_filter *f) {
  if (f->shape.nunits != 0 && f->shape.k != 0) return NULL;
  return "a filter of no bytes or no probes: every answer is maybe, as in Bitcoin Core";
}

const nay_format nay__format_bip37 = {
    .name = "bip37",
    .about = "the filterload message of Bitcoin (BIP37)",
    .family = &bip37_family,
    .hash = &bip37_hash,
    .size_by = bip37_size,
    .takes = NAY_TAKES_K | NAY_TAKES_SEED,
    .parse = bip37_parse,
    .fits = bip37_fits,
    .seed = bip37_seed,
    .packed_size = bip37_planned_size,
    .size = bip37_encoded_size,
    .encode = bip37_encode,
    .caveat = bip37_caveat,
};

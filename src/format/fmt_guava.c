/*
 * fmt_guava.c - BloomFilter.writeTo of Google's Guava.
 *
 *   | strategy i8 | k u8 | words i32be | 8 * words bytes |        m = 64 * words bits
 *
 *   guava          strategy 1, MURMUR128_MITZ_64: the default since 2014
 *   guava-mitz32   strategy 0, MURMUR128_MITZ_32: before
 *
 * Bit p is bit p % 64 of the big-endian word p / 64. The hash is MurmurHash3 x64 of 128 bits, h1
 * and h2 its halves; the probes are
 *
 *   64   c = h1, then k times: bit (c without its sign) % m, c += h2
 *   32   for i = 1 .. k: c = lo32(h1) + i * hi32(h1); if c is negative, ~c; bit c % m
 *
 * so strategy 0 reaches 2^31 positions. One reader takes both. Neither the number of keys nor the
 * funnel (what makes bytes of a key) is in the file, and there is no magic number: strategy, k and
 * a length that agrees are what it is recognised by, and what that says is "likely".
 */
#include "base/bytes.h"
#include "format/classic.h"
#include "format/format.h"
#include "math/elementary.h"

#define GUAVA_HEADER 6u
#define GUAVA_MAX_WORDS NAY_CLASSIC_JAVA_WORDS
#define GUAVA_MITZ_32 0u
#define GUAVA_MITZ_64 1u

static nay_status guava_size(const nay_params *p, nay_sizing by, nay_diag *diag, nay_shape *shape) {
  double n = (double)p->nkeys;
  double bits = by == NAY_BY_FPR ? nay__classic_nbits_for(p->nkeys, p->fpr) : n * p->bits_per_key;
  NAY_TRY(nay__classic_java_bits(bits, diag));
  /* since 33.4.0 k comes from the FPR, before from the size: give k for that */
  double k = by == NAY_BY_FPR ? -nay__ln_nearest(p->fpr) / NAY_LN2 : p->bits_per_key * NAY_LN2;
  uint32_t probes = p->k != 0 ? p->k : k + 0.5 < 1 ? 1 : (uint32_t)(k + 0.5);
  if (probes > NAY_CLASSIC_MAX_K) {
    return nay__fail(diag, NAY_EINVAL, "the size needs more than 255 probes", 0);
  }
  *shape = (nay_shape){nay__round_up((uint64_t)bits, 64), probes, GUAVA_MITZ_64};
  return NAY_OK;
}

static nay_status guava_mitz32_size(const nay_params *p, nay_sizing by, nay_diag *diag,
                                    nay_shape *shape) {
  NAY_TRY(guava_size(p, by, diag, shape));
  shape->extra = GUAVA_MITZ_32;
  return NAY_OK;
}

static nay_status guava_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                              nay_span *payload) {
  if (len < GUAVA_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  if (bytes[0] > GUAVA_MITZ_64) {
    return nay__fail(diag, NAY_ECORRUPT, "the strategy is neither 0 nor 1", 0);
  }
  if (bytes[1] == 0) return nay__fail(diag, NAY_ECORRUPT, "k is 0", 1);
  *shape = (nay_shape){0, bytes[1], bytes[0]};
  return nay__classic_words(bytes, len, GUAVA_HEADER, GUAVA_MAX_WORDS, diag, shape, payload);
}

static bool guava_fits(const uint8_t *head, size_t nhead, uint64_t len) {
  return nhead >= GUAVA_HEADER && head[0] <= GUAVA_MITZ_64 && head[1] != 0 &&
         len - GUAVA_HEADER == 8 * (uint64_t)nay__load32be(head + 2) && len > GUAVA_HEADER;
}

static const nay_format *guava_variant(const nay_format *named, const uint8_t *bytes, size_t len) {
  if (len == 0 || bytes[0] > GUAVA_MITZ_64) return named;
  return bytes[0] == GUAVA_MITZ_64 ? &nay__format_guava : &nay__format_guava_mitz32;
}

static void guava_encode(const nay_filter *f, uint8_t *dst) {
  dst[0] = (uint8_t)f->shape.extra;
  dst[1] = (uint8_t)f->shape.k;
  nay__store32be(dst + 2, (uint32_t)(f->shape.nunits / 64));
  memcpy(dst + GUAVA_HEADER, f->bits.bytes, f->nbytes);
}

static const nay_foreign_hash guava_hash = {
    .kind = (nay_hash_kind)96, .name = "murmur3", .has_hi = true, .hash = nay__murmur3_128};

static nay_hash guava_start(const nay_shape *shape, nay_hash hash) {
  if (shape->extra == GUAVA_MITZ_64) return hash;
  return (nay_hash){(uint32_t)hash.lo + (uint32_t)(hash.lo >> 32), (uint32_t)(hash.lo >> 32)};
}

static uint64_t guava_next(const nay_shape *shape, nay_hash *state) {
  uint64_t at = state->lo;
  if (shape->extra == GUAVA_MITZ_64) {
    state->lo += state->hi;
    at &= UINT64_MAX >> 1;
  } else {
    state->lo = (uint32_t)(state->lo + state->hi);
    if (at >> 31 != 0) at = ~(uint32_t)at;
  }
  return NAY_WORDS_BE(at % shape->nunits);
}

static const nay_probing guava_probing = {
    .start = guava_start,
    .next = guava_next,
    .max_k = NAY_CLASSIC_MAX_K,
};
NAY_CLASSIC_VERBS(guava, guava_probing)
static const nay_family guava_family = NAY_CLASSIC_FAMILY(guava, "bloom (guava)");

const nay_format nay__format_guava = {
    .name = "guava",
    .about = "Guava's BloomFilter.writeTo, strategy MURMUR128_MITZ_64",
    .family = &guava_family,
    .hash = &guava_hash,
    .size_by = guava_size,
    .takes = NAY_TAKES_K,
    .parse = guava_parse,
    .variant = guava_variant,
    .fits = guava_fits,
    .overhead = GUAVA_HEADER,
    .encode = guava_encode,
};

const nay_format nay__format_guava_mitz32 = {
    .name = "guava-mitz32",
    .about = "Guava's BloomFilter.writeTo, strategy MURMUR128_MITZ_32 (until 2014)",
    .family = &guava_family,
    .hash = &guava_hash,
    .size_by = guava_mitz32_size,
    .takes = NAY_TAKES_K,
    .parse = guava_parse,
    .variant = guava_variant,
    .fits = guava_fits,
    .overhead = GUAVA_HEADER,
    .encode = guava_encode,
};

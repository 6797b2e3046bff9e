/*
 * fmt_bits_and_blooms.c - bits-and-blooms/bloom, the Bloom filter of Go.
 *
 *   | m u64be | k u64be | length u64 | ceil(length / 64) words u64 |       WriteTo, MarshalBinary
 *   {"m":M,"k":K,"b":"base64url of length | words"}                        MarshalJSON
 *
 *   bits-and-blooms, bits-and-blooms-json          length and words big-endian, the default
 *   bits-and-blooms-le, bits-and-blooms-json-le    little-endian, which a program can switch to
 *
 * m and k are big-endian always. length is m; which order the file has shows in it. Bit p is bit
 * p % 64 of word p / 64. h0 and h1 are MurmurHash3 x64 of the key, h2 and h3 that of the key and a
 * byte 01 behind it; probe i is
 *
 *   h[i % 2] + i * h[2 + ((i + i % 2) % 4) / 2]   mod 2^64, mod m
 *
 * Four words: no hash of two tells the bits, so this family takes keys. Size: m = ceil(-n ln p /
 * ln(2)^2), k = ceil(ln 2 * m / n). A new filter of m = 0 has length 0 until its first add; it is
 * refused, being a filter of 1 bit that has none.
 */
#include "base/bytes.h"
#include "format/classic.h"
#include "format/format.h"
#include "math/elementary.h"

#define BAB_HEADER 24u
#define BAB_LE 1u    /* extra */
#define BAB_TEXT 64u /* {"m":18446744073709551615,"k":255,"b":""} */

static double bab_ceil(double x) {
  double whole = (double)(uint64_t)x;
  return x > whole ? whole + 1 : whole;
}

static nay_status bab_size(const nay_params *p, nay_sizing by, nay_diag *diag, nay_shape *shape) {
  double n = (double)p->nkeys, m = (double)p->nbits;
  if (by == NAY_BY_FPR) m = nay__classic_nbits_for(p->nkeys, p->fpr);
  if (by == NAY_BY_BITS_PER_KEY) m = n * p->bits_per_key;
  if (m > (double)NAY_MAX_NBITS) {
    return nay__fail(diag, NAY_EINVAL, "nkeys needs more than 2^60 bits", 0);
  }
  m = m < 1 ? 1 : bab_ceil(m);
  double k = p->k != 0 ? p->k : bab_ceil(NAY_LN2 * m / n);
  if (k > NAY_CLASSIC_MAX_K) {
    return nay__fail(diag, NAY_EINVAL, "the size needs more than 255 probes", 0);
  }
  *shape = (nay_shape){by == NAY_BY_NBITS ? p->nbits : (uint64_t)m, k < 1 ? 1 : (uint32_t)k, 0};
  return NAY_OK;
}

static nay_status bab_size_le(const nay_params *p, nay_sizing by, nay_diag *diag,
                              nay_shape *shape) {
  NAY_TRY(bab_size(p, by, diag, shape));
  shape->extra = BAB_LE;
  return NAY_OK;
}

static bool bab_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > NAY_MAX_NBITS) return false;
  *nbits = shape->nunits;
  *nbytes = nay__ceil_div(shape->nunits, 64) * 8;
  return true;
}

static uint64_t bab_word(const uint8_t *p, uint32_t extra) {
  uint64_t x = nay__load64le(p);
  return (extra & BAB_LE) != 0 ? x : nay__swap64(x);
}

static nay_status bab_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                            nay_span *payload) {
  if (len < BAB_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  uint64_t m = nay__swap64(nay__load64le(bytes)), k = nay__swap64(nay__load64le(bytes + 8));
  uint32_t extra = nay__load64le(bytes + 16) == m && bab_word(bytes + 16, 0) != m ? BAB_LE : 0;
  if (k < 1 || k > NAY_CLASSIC_MAX_K) {
    return nay__fail(diag, NAY_ECORRUPT, "k is not between 1 and 255", 8);
  }
  if (m == 0 || m > NAY_MAX_NBITS || bab_word(bytes + 16, extra) != m) {
    return nay__fail(diag, NAY_ECORRUPT, "the length of the bits is not m", 16);
  }
  uint64_t nbytes = nay__ceil_div(m, 64) * 8;
  if (nbytes > len - BAB_HEADER) {
    return nay__fail(diag, NAY_ECORRUPT, "m does not fit the length", 0);
  }
  *shape = (nay_shape){m, (uint32_t)k, extra};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes + BAB_HEADER, (size_t)nbytes};
  bool clear = m % 64 == 0 || bab_word(payload->at + nbytes - 8, extra) >> m % 64 == 0;
  return clear ? NAY_OK
               : nay__fail(diag, NAY_ECORRUPT, "bits are set past m", BAB_HEADER + nbytes - 8);
}

static bool bab_fits(const uint8_t *head, size_t nhead, uint64_t len) {
  if (nhead < BAB_HEADER) return false;
  uint64_t m = bab_word(head, 0), k = bab_word(head + 8, 0);
  bool same = bab_word(head + 16, 0) == m || bab_word(head + 16, BAB_LE) == m;
  return same && m != 0 && m <= NAY_MAX_NBITS && k != 0 && k <= NAY_CLASSIC_MAX_K &&
         len - BAB_HEADER == nay__ceil_div(m, 64) * 8;
}

static bool bab_is_le(const uint8_t *bytes, size_t len) {
  if (len < BAB_HEADER) return false;
  uint64_t m = bab_word(bytes, 0);
  return bab_word(bytes + 16, 0) != m && bab_word(bytes + 16, BAB_LE) == m;
}

static const nay_format *bab_variant(const nay_format *named, const uint8_t *bytes, size_t len) {
  (void)named;
  return bab_is_le(bytes, len) ? &nay__format_bits_and_blooms_le : &nay__format_bits_and_blooms;
}

static const nay_format *bab_variant_json(const nay_format *named, const uint8_t *bytes,
                                          size_t len) {
  (void)named;
  return bab_is_le(bytes, len) ? &nay__format_bits_and_blooms_json_le
                               : &nay__format_bits_and_blooms_json;
}

static void bab_encode(const nay_filter *f, uint8_t *dst) {
  uint64_t m = f->shape.nunits;
  nay__store64le(dst, nay__swap64(m));
  nay__store64le(dst + 8, nay__swap64(f->shape.k));
  nay__store64le(dst + 16, (f->shape.extra & BAB_LE) != 0 ? m : nay__swap64(m));
  memcpy(dst + BAB_HEADER, f->bits.bytes, f->nbytes);
}

/* ---- JSON ---- */

static const char bab_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static int bab_digit(uint8_t c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '-' || c == '+') return 62; /* of base64url, and of base64 */
  return c == '_' || c == '/' ? 63 : -1;
}

typedef struct bab_text {
  const uint8_t *at, *end;
} bab_text;

static void bab_space(bab_text *t) {
  while (t->at < t->end && (*t->at == ' ' || (*t->at >= '\t' && *t->at <= '\r'))) t->at++;
}

static bool bab_take(bab_text *t, const char *what) {
  size_t len = strlen(what);
  bab_space(t);
  if ((size_t)(t->end - t->at) < len || memcmp(t->at, what, len) != 0) return false;
  t->at += len;
  return true;
}

static bool bab_number(bab_text *t, uint64_t *number) {
  bab_space(t);
  uint64_t n = 0;
  const uint8_t *start = t->at;
  for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
    uint64_t digit = (uint64_t)(*t->at - '0');
    if (n > (UINT64_MAX - digit) / 10) return false;
    n = n * 10 + digit;
  }
  *number = n;
  return t->at != start;
}

static bool bab_head(bab_text *t, uint64_t *m, uint64_t *k) {
  return bab_take(t, "{") && bab_take(t, "\"m\"") && bab_take(t, ":") && bab_number(t, m) &&
         bab_take(t, ",") && bab_take(t, "\"k\"") && bab_take(t, ":") && bab_number(t, k) &&
         bab_take(t, ",") && bab_take(t, "\"b\"") && bab_take(t, ":") && bab_take(t, "\"");
}

/* The JSON as the binary form: m, k, and the bytes of b. */
static nay_status bab_unpack(const uint8_t *bytes, size_t len, nay_diag *diag, uint8_t *dst,
                             size_t *size, uint32_t *extra) {
  bab_text t = {bytes, bytes + len};
  uint64_t m, k;
  if (!bab_head(&t, &m, &k)) {
    return nay__fail(diag, NAY_ECORRUPT, "not {\"m\":M,\"k\":K,\"b\":\"...\"}",
                     (uint64_t)(t.at - bytes));
  }
  size_t n = 0;
  uint32_t bits = 0;
  uint8_t *to = dst != NULL ? dst + 16 : NULL;
  for (; t.at < t.end && bab_digit(*t.at) >= 0; t.at++, n++) {
    bits = bits << 6 | (uint32_t)bab_digit(*t.at);
    if (n % 4 != 0 && to != NULL) *to++ = (uint8_t)(bits >> (6 - 2 * (n % 4)));
  }
  while (t.at < t.end && *t.at == '=') t.at++;
  if (!bab_take(&t, "\"") || !bab_take(&t, "}") || n % 4 == 1) {
    return nay__fail(diag, NAY_ECORRUPT, "b is not base64, or the text goes on",
                     (uint64_t)(t.at - bytes));
  }
  bab_space(&t);
  if (t.at != t.end) {
    return nay__fail(diag, NAY_ECORRUPT, "the text goes on", (uint64_t)(t.at - bytes));
  }
  *size = 16 + n / 4 * 3 + (n % 4 != 0 ? n % 4 - 1 : 0);
  *extra = 0;
  if (dst == NULL) return NAY_OK;
  nay__store64le(dst, nay__swap64(m));
  nay__store64le(dst + 8, nay__swap64(k));
  if (bab_is_le(dst, *size)) *extra = BAB_LE;
  return NAY_OK;
}

static uint8_t *bab_print(uint8_t *at, const char *name, uint64_t number) {
  char digits[20];
  size_t n = 0;
  size_t len = strlen(name);
  memcpy(at, name, len);
  at += len;
  do digits[n++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  while (n != 0) *at++ = (uint8_t)digits[--n];
  return at;
}

static nay_status bab_pack(const nay_filter *f, uint8_t *dst, size_t *size) {
  uint8_t head[BAB_TEXT];
  uint8_t *at = bab_print(bab_print(head, "{\"m\":", f->shape.nunits), ",\"k\":", f->shape.k);
  memcpy(at, ",\"b\":\"", 6);
  size_t head_len = (size_t)(at - head) + 6, n = 8 + f->nbytes;
  *size = head_len + (n + 2) / 3 * 4 + 2;
  if (dst == NULL) return NAY_OK;
  memcpy(dst, head, head_len);
  dst += head_len;
  uint8_t length[8];
  uint64_t m = f->shape.nunits;
  nay__store64le(length, (f->shape.extra & BAB_LE) != 0 ? m : nay__swap64(m));
  for (size_t i = 0; i < n; i += 3) {
    uint32_t three = 0;
    for (size_t j = i; j < i + 3; j++) {
      three = three << 8 | (j >= n ? 0 : j < 8 ? length[j] : f->bits.bytes[j - 8]);
    }
    for (size_t j = 0; j < 4; j++) {
      bool pad = i + j > n;
      *dst++ = pad ? '=' : (uint8_t)bab_digits[three >> (18 - 6 * j) & 63];
    }
  }
  memcpy(dst, "\"}", 2);
  return NAY_OK;
}

static unsigned bab_ndigits(uint64_t number) {
  unsigned n = 1;
  while ((number /= 10) != 0) n++;
  return n;
}

/* 18 bytes of {"m":,"k":,"b":""}, the numbers, and the base64 of length and words. */
static uint64_t bab_packed_size(const nay_shape *shape, uint64_t nkeys) {
  (void)nkeys;
  return 18 + bab_ndigits(shape->nunits) + bab_ndigits(shape->k) +
         (8 + nay__ceil_div(shape->nunits, 64) * 8 + 2) / 3 * 4;
}

static bool bab_fits_json(const uint8_t *head, size_t nhead, uint64_t len) {
  bab_text t = {head, head + nhead};
  uint64_t m, k;
  if (!bab_head(&t, &m, &k) || m > NAY_MAX_NBITS) return false;
  uint64_t digits = (8 + nay__ceil_div(m, 64) * 8 + 2) / 3 * 4, at = (uint64_t)(t.at - head);
  return len >= at + digits + 2 && len <= at + digits + 16;
}

/* ---- the hash ---- */

static nay_hash bab_hash_of(const uint8_t *key, size_t len) { return nay__murmur3_128(key, len); }

static const nay_foreign_hash bab_hash = {.kind = (nay_hash_kind)100,
                                          .name = "murmur3x2",
                                          .has_hi = true,
                                          .hash = bab_hash_of,
                                          .by_key = true};

static void bab_locate(const nay_filter *f, const uint8_t *key, size_t len, uint64_t *at) {
  nay_hash a = nay__murmur3_128(key, len), b = nay__murmur3_128_with(key, len, 1);
  const uint64_t h[4] = {a.lo, a.hi, b.lo, b.hi};
  for (uint32_t i = 0; i < f->shape.k; i++) {
    uint64_t x = h[i % 2] + i * h[2 + ((i + i % 2) % 4) / 2], bit = x % f->shape.nunits;
    at[i] = (f->shape.extra & BAB_LE) != 0 ? bit : NAY_WORDS_BE(bit);
  }
}

static const nay_probing bab_probing = {.max_k = NAY_CLASSIC_MAX_K, .locate = bab_locate};
NAY_KEYED_VERBS(bab, bab_probing)
static const nay_family bab_family = NAY_KEYED_FAMILY(bab, "bloom (go)", bab_payload);

const nay_format nay__format_bits_and_blooms = {
    .name = "bits-and-blooms",
    .about = "bits-and-blooms/bloom of Go, WriteTo",
    .family = &bab_family,
    .hash = &bab_hash,
    .size_by = bab_size,
    .takes = NAY_TAKES_NBITS | NAY_TAKES_K,
    .parse = bab_parse,
    .variant = bab_variant,
    .fits = bab_fits,
    .overhead = BAB_HEADER,
    .encode = bab_encode,
};

const nay_format nay__format_bits_and_blooms_le = {
    .name = "bits-and-blooms-le",
    .about = "bits-and-blooms/bloom of Go, WriteTo after bitset.LittleEndian()",
    .family = &bab_family,
    .hash = &bab_hash,
    .size_by = bab_size_le,
    .takes = NAY_TAKES_NBITS | NAY_TAKES_K,
    .parse = bab_parse,
    .variant = bab_variant,
    .fits = bab_fits,
    .overhead = BAB_HEADER,
    .encode = bab_encode,
};

const nay_format nay__format_bits_and_blooms_json = {
    .name = "bits-and-blooms-json",
    .about = "bits-and-blooms/bloom of Go, MarshalJSON",
    .family = &bab_family,
    .hash = &bab_hash,
    .size_by = bab_size,
    .takes = NAY_TAKES_NBITS | NAY_TAKES_K,
    .parse = bab_parse,
    .variant = bab_variant_json,
    .fits = bab_fits_json,
    .unpack = bab_unpack,
    .pack = bab_pack,
    .packed_size = bab_packed_size,
};

const nay_format nay__format_bits_and_blooms_json_le = {
    .name = "bits-and-blooms-json-le",
    .about = "bits-and-blooms/bloom of Go, MarshalJSON after bitset.LittleEndian()",
    .family = &bab_family,
    .hash = &bab_hash,
    .size_by = bab_size_le,
    .takes = NAY_TAKES_NBITS | NAY_TAKES_K,
    .parse = bab_parse,
    .variant = bab_variant_json,
    .fits = bab_fits_json,
    .unpack = bab_unpack,
    .pack = bab_pack,
    .packed_size = bab_packed_size,
};

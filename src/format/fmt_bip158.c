/*
 * fmt_bip158.c - the basic filter of a Bitcoin block (BIP158): a Golomb-coded set.
 *
 *   | N, CompactSize | N deltas, Golomb-Rice with P = 19, bits from the top of each byte, zero
 * padded |
 *
 * The value of a key is (SipHash-2-4 of the key * N * M) >> 64, M = 784931; the values are sorted,
 * and their deltas are coded: delta >> 19 one-bits and a zero-bit, then 19 bits. The key of SipHash
 * is the first 16 bytes of the block's hash, in the order in which blocks have it. The file does
 * not contain it: it is the secret key of the filter, which is locked until it is given, and
 * nothing detects a wrong one.
 *
 * In memory the values are an array, 8 bytes each: a probe is a binary search. N is that of the
 * distinct keys, as the BIP wants it; btcd's library counts duplicates.
 */
#include "base/bytes.h"
#include "base/sort.h"
#include "build/hash_source.h"
#include "family/explain.h"
#include "format/format.h"

#define GCS_P 19u
#define GCS_M 784931u
#define GCS_LEAST_BITS (GCS_P + 1) /* of a delta */
#define GCS_BITS_PER_KEY 21.06     /* GCS_P + 1 + 1 / (e^(2^P / M) - 1) */
#define GCS_MAX_KEYS UINT32_MAX

/* ---- the family ---- */

static uint64_t gcs_value(const nay_filter *f, uint64_t i) {
  return nay__load64le(f->bits.bytes + 8 * i);
}

/* Where the first value that is not below v stands; N: all are. */
static uint64_t gcs_lower(const nay_filter *f, uint64_t v) {
  uint64_t from = 0, to = f->shape.nunits;
  while (from < to) {
    uint64_t middle = from + (to - from) / 2;
    if (gcs_value(f, middle) < v) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

static uint64_t gcs_map(uint64_t hash, uint64_t n) { return nay__reduce(hash, n * GCS_M); }

static bool gcs_test(const nay_filter *f, nay_hash hash) {
  uint64_t v = gcs_map(hash.lo, f->shape.nunits), at = gcs_lower(f, v);
  return at < f->shape.nunits && gcs_value(f, at) == v;
}

/* The value that ends the search, against that of the key. */
static void gcs_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
  uint64_t n = f->shape.nunits;
  if (n == 0) {
    nay__explain_constant(run, 0, false);
    return;
  }
  uint64_t v = gcs_map(hash.lo, n), at = gcs_lower(f, v);
  if (at == n) at = n - 1;
  uint64_t bit = nay__explain_at(run, f->bits.bytes + 8 * at);
  nay_explain_unit unit = {"value", at, bit, 64};
  nay__explain_group(run, 0, 1);
  nay__explain_step(run, &unit,
                    (nay_explain_step){.kind = NAY_STEP_FINGERPRINT,
                                       .bit = bit,
                                       .nbits = 64,
                                       .found = gcs_value(f, at),
                                       .expected = v});
}

static bool gcs_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits > GCS_MAX_KEYS) return false;
  *nbits = 64 * shape->nunits;
  *nbytes = 8 * shape->nunits;
  return true;
}

static double gcs_fpr(const nay_shape *shape, uint64_t nkeys) {
  (void)nkeys; /* N of N * M values */
  return shape->nunits != 0 ? 1.0 / GCS_M : 0;
}

static uint64_t gcs_coded_bits(const nay_filter *f) {
  uint64_t bits = 0, last = 0;
  for (uint64_t i = 0; i < f->shape.nunits; i++) {
    uint64_t v = gcs_value(f, i);
    bits += ((v - last) >> GCS_P) + 1 + GCS_P;
    last = v;
  }
  return bits;
}

static void gcs_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                       nay_census *census) {
  (void)b, (void)factor; /* no algebra */
  uint64_t bits = gcs_coded_bits(a);
  *census = (nay_census){bits, bits, nay__exactly(a->shape.nunits), gcs_fpr(&a->shape, 0)};
}

/* ---- bytes ---- */

/* The length of a CompactSize, and its number; 0: it is cut off, or longer than it must be. */
static size_t gcs_count(const uint8_t *bytes, size_t len, uint64_t *n) {
  if (len == 0) return 0;
  size_t width = bytes[0] < 0xfd ? 0 : (size_t)2 << (bytes[0] - 0xfd);
  if (width > len - 1) return 0;
  static const uint64_t least[] = {0xfd, 0x10000, (uint64_t)1 << 32};
  *n = width == 0   ? bytes[0]
       : width == 2 ? nay__load16le(bytes + 1)
       : width == 4 ? nay__load32le(bytes + 1)
                    : nay__load64le(bytes + 1);
  return width != 0 && *n < least[bytes[0] - 0xfd] ? 0 : width + 1;
}

static size_t gcs_store_count(uint8_t *to, uint64_t n) {
  if (n < 0xfd) {
    to[0] = (uint8_t)n;
    return 1;
  }
  if (n < 0x10000) {
    to[0] = 0xfd;
    nay__store16le(to + 1, (uint16_t)n);
    return 3;
  }
  to[0] = 0xfe;
  nay__store32le(to + 1, (uint32_t)n);
  return 5;
}

typedef struct gcs_bits {
  const uint8_t *bytes;
  uint64_t at, end; /* in bits, from the top of each byte */
} gcs_bits;

static bool gcs_bit(gcs_bits *in) {
  bool bit = (in->bytes[in->at / 8] >> (7 - in->at % 8) & 1) != 0;
  in->at++;
  return bit;
}

/* false: the bits end before the delta does. */
static bool gcs_delta(gcs_bits *in, uint64_t *delta) {
  uint64_t quotient = 0, rest = 0;
  while (in->at < in->end && gcs_bit(in)) quotient++;
  if (in->at >= in->end || in->end - in->at < GCS_P) return false;
  for (unsigned i = 0; i < GCS_P; i++) rest = rest << 1 | gcs_bit(in);
  *delta = quotient << GCS_P | rest;
  return true;
}

static nay_status gcs_read(gcs_bits *in, uint64_t n, nay_diag *diag, uint8_t *dst) {
  uint64_t value = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t delta;
    if (!gcs_delta(in, &delta)) {
      return nay__fail(diag, NAY_ECORRUPT, "the values end before the last", in->end / 8);
    }
    value += delta; /* both are far below 2^63: a delta has no more bits than the file */
    if (value >= n * GCS_M) {
      return nay__fail(diag, NAY_ECORRUPT, "a value is not below N * 784931", in->at / 8);
    }
    if (dst != NULL) nay__store64le(dst + 8 * i, value);
  }
  if (in->end - in->at >= 8) {
    return nay__fail(diag, NAY_ECORRUPT, "bytes follow the last value", in->at / 8 + 1);
  }
  while (in->at < in->end) {
    if (gcs_bit(in)) return nay__fail(diag, NAY_ECORRUPT, "padding is not zero", in->end / 8 - 1);
  }
  return NAY_OK;
}

static nay_status gcs_unpack(const uint8_t *bytes, size_t len, nay_diag *diag, uint8_t *dst,
                             size_t *size, uint32_t *extra) {
  uint64_t n = 0;
  size_t start = gcs_count(bytes, len, &n);
  if (start == 0) return nay__fail(diag, NAY_ECORRUPT, "N is not a CompactSize", 0);
  if (n > (uint64_t)(len - start) * 8 / GCS_LEAST_BITS || n > GCS_MAX_KEYS) {
    return nay__fail(diag, NAY_ECORRUPT, "N does not fit the length", 0);
  }
  *size = 8 * (size_t)n;
  *extra = 0;
  gcs_bits in = {bytes, 8 * (uint64_t)start, 8 * (uint64_t)len};
  return gcs_read(&in, n, diag, dst);
}

/* Whether bytes can be the start of a text: UTF-8 without control characters. */
static bool gcs_is_text(const uint8_t *p, size_t len) {
  for (size_t i = 0; i < len;) {
    uint8_t c = p[i++];
    unsigned more = c < 0x80 ? 0 : c < 0xc2 ? 4 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : 4;
    if (more == 4 || c == 0x7f || (c < 0x20 && (c < '\t' || c > '\r'))) return false;
    for (; more > 0 && i < len; more--) {
      if (p[i++] >> 6 != 2) return false;
    }
  }
  return true;
}

/* N values below N * M have at most N * M / 2^P one-bits. The numbers are those of some texts. */
static bool gcs_fits(const uint8_t *head, size_t nhead, uint64_t len) {
  uint64_t n = 0;
  size_t start = gcs_count(head, nhead, &n), size;
  uint32_t extra;
  if (start == 0 || n == 0 || n > GCS_MAX_KEYS || gcs_is_text(head, nhead)) return false;
  uint64_t least = n * GCS_LEAST_BITS, most = least + (n * GCS_M >> GCS_P);
  if (len < start + nay__ceil_div(least, 8) || len > start + nay__ceil_div(most, 8)) return false;
  return nhead < len || gcs_unpack(head, nhead, NULL, NULL, &size, &extra) == NAY_OK;
}

static nay_status gcs_parse(const uint8_t *flat, size_t len, nay_diag *diag, nay_shape *shape,
                            nay_span *payload) {
  (void)diag; /* unpack has checked */
  *shape = (nay_shape){.nunits = len / 8, .k = 1};
  *payload = (nay_span){(uint8_t *)(uintptr_t)flat, len};
  return NAY_OK;
}

static uint64_t gcs_planned(const nay_shape *shape, const uint8_t *bytes) {
  (void)bytes;
  return shape->nunits;
}

static void gcs_set_bits(uint8_t *dst, uint64_t *at, uint64_t value, unsigned n) {
  for (unsigned i = n; i-- > 0; ++*at) {
    dst[*at / 8] |= (uint8_t)((value >> i & 1) << (7 - *at % 8));
  }
}

static nay_status gcs_pack(const nay_filter *f, uint8_t *dst, size_t *size) {
  uint8_t count[9];
  size_t start = gcs_store_count(count, f->shape.nunits);
  *size = start + (size_t)nay__ceil_div(gcs_coded_bits(f), 8);
  if (dst == NULL) return NAY_OK;
  memset(dst, 0, *size);
  memcpy(dst, count, start);
  uint64_t at = 8 * (uint64_t)start, last = 0;
  for (uint64_t i = 0; i < f->shape.nunits; i++) {
    uint64_t v = gcs_value(f, i), delta = v - last;
    for (uint64_t q = delta >> GCS_P; q > 0; q--) gcs_set_bits(dst, &at, 1, 1);
    gcs_set_bits(dst, &at, 0, 1);
    gcs_set_bits(dst, &at, delta, GCS_P);
    last = v;
  }
  return NAY_OK;
}

/* On average. */
static uint64_t gcs_packed_size(const nay_shape *shape, uint64_t nkeys) {
  uint8_t count[9];
  (void)nkeys;
  return gcs_store_count(count, shape->nunits) +
         (uint64_t)((double)shape->nunits * GCS_BITS_PER_KEY / 8 + 0.5);
}

/* ---- building ---- */

static nay_status gcs_size(const nay_params *p, nay_sizing by, nay_diag *diag, nay_shape *shape) {
  if (by == NAY_BY_FPR && p->fpr < 1.0 / GCS_M) {
    return nay__fail(diag, NAY_EINVAL, "fpr: this layout has 1/784931 and no less", 0);
  }
  if (by == NAY_BY_BITS_PER_KEY && p->bits_per_key < GCS_P) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key: this layout has one size, above 19", 0);
  }
  if (p->nkeys > GCS_MAX_KEYS) {
    return nay__fail(diag, NAY_EINVAL, "nkeys: this layout has at most 2^32 - 1", 0);
  }
  *shape = (nay_shape){.nunits = p->nkeys, .k = 1};
  return NAY_OK;
}

/* The hashes in ascending order, which is that of their values, each once. */
static nay_status gcs_sorted(const nay_source *source, const nay_allocator *allocator,
                             nay_memory *memory, size_t *n) {
  size_t nbytes, at = 0;
  if (!nay__mul_ok((size_t)source->n, sizeof(uint64_t), &nbytes)) return NAY_ENOMEM;
  NAY_TRY(nay__memory_raw(allocator, nbytes, memory));
  uint64_t *all = (uint64_t *)(void *)memory->at;
  for (size_t r = 0; r < source->nruns; r++) {
    const nay_run *run = &source->runs[r];
    if (run->n != 0) memcpy(all + at, run->at, run->n * sizeof *all);
    at += run->n;
  }
  nay__sort_u64(all, at);
  *n = nay__unique_u64(all, at);
  return NAY_OK;
}

static nay_status gcs_compose(const nay_format *format, const nay_params *params,
                              const nay_source *source, const nay_allocator *allocator,
                              nay_diag *diag, nay_filter **filter) {
  nay_memory memory;
  nay_hash_fn hasher;
  nay_filter *f;
  size_t n;
  NAY_TRY(nay__format_hasher(format, params, diag, &hasher));
  if (gcs_sorted(source, allocator, &memory, &n) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory to sort the hashes, 8 bytes for each", 0);
  }
  nay_shape shape = {.nunits = n, .k = 1};
  nay_status status = nay__filter_make(format->family, &shape, &hasher, n, 0, allocator, &f);
  if (status == NAY_OK) {
    const uint64_t *hashes = (const uint64_t *)(const void *)memory.at;
    for (size_t i = 0; i < n; i++) {
      nay__store64le(f->bits.bytes + 8 * i, gcs_map(hashes[i], n));
    }
    f->format = format;
    *filter = f;
  }
  nay__memory_free(allocator, &memory);
  return nay__filter_made(status, diag);
}

static nay_hash gcs_hash_keyed(const uint8_t secret[16], const uint8_t *key, size_t len) {
  return (nay_hash){nay__siphash(secret, key, len, 2, 4), 0};
}
static const nay_foreign_hash gcs_hash = {
    .kind = (nay_hash_kind)104, .name = "siphash24", .keyed = gcs_hash_keyed};

static uint64_t gcs_batch_test(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                               unsigned n, const uint64_t *next) {
  (void)next;
  return nay__test_each(gcs_test, f, lo, hi, n);
}

static const nay_family_batch gcs_batch = {.test = gcs_batch_test};
static const nay_family_bulk gcs_bulk = {.compose = gcs_compose};

static const nay_family gcs_family = {
    .kind = NAY_FOREIGN_KIND,
    .name = "golomb-coded set",
    .payload = gcs_payload,
    .fpr = gcs_fpr,
    .census = gcs_census,
    .test = gcs_test,
    .explain = gcs_explain,
    .batch = &gcs_batch,
    .bulk = &gcs_bulk,
};

static const char *gcs_caveat(const nay_filter *f) {
  (void)f;
  return "the file does not state its block: with the key of another block, members are denied";
}

const nay_format nay__format_bip158 = {
    .name = "bip158",
    .about = "the basic filter of a Bitcoin block (BIP158)",
    .family = &gcs_family,
    .hash = &gcs_hash,
    .takes = NAY_TAKES_KEY,
    .size_by = gcs_size,
    .parse = gcs_parse,
    .fits = gcs_fits,
    .planned = gcs_planned,
    .unpack = gcs_unpack,
    .pack = gcs_pack,
    .packed_size = gcs_packed_size,
    .caveat = gcs_caveat,
};

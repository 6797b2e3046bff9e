/*
 * fmt_dcso.c - the .bloom file of DCSO's bloom, library and command.
 *
 *   | flags u64 | n u64 | p f64 | k u64 | m u64 | N u64 | ceil(m / 64) words | data to the end |
 *
 * All little-endian; the low byte of flags is the version, 1. n keys at the false-positive rate p
 * were planned; N counts the adds that set a bit, and joining two filters adds their N. The header
 * is therefore the start of the payload here, and bit p of the array is bit p % 8 of byte p / 8
 * behind it. The data at the end is the user's: nay_filter_meta.
 *
 * Hash: FNV-1 (not FNV-1a) of 64 bits, modulo q = 2^64 - 59; k times h = (h * g mod 2^64) mod q,
 * bit h % m. Size: m = |ceil(n * ln p / ln(2)^2)|, a negative number that is rounded up, so m
 * is rounded down; k = ceil(ln 2 * m / n).
 *
 * A file may be compressed by gzip, which the command unpacks.
 */
#include "base/bytes.h"
#include "format/classic.h"
#include "format/format.h"
#include "math/elementary.h"

#define DCSO_HEADER 48u
#define DCSO_AT_NKEYS 8u
#define DCSO_AT_FPR 16u
#define DCSO_AT_K 24u
#define DCSO_AT_NBITS 32u
#define DCSO_AT_ADDS 40u
#define DCSO_Q 18446744073709551557u
#define DCSO_G 18446744073709550147u

static double dcso_load_double(const uint8_t *p) {
  uint64_t word = nay__load64le(p);
  double x;
  memcpy(&x, &word, sizeof x);
  return x;
}

/* k of m bits and n keys, as the engine rounds it. */
static double dcso_k(double nbits, uint64_t nkeys) {
  double k = NAY_LN2 * nbits / (double)nkeys;
  return k > (double)(uint64_t)k ? (double)((uint64_t)k + 1) : k;
}

static nay_status dcso_size(const nay_params *p, nay_sizing by, nay_diag *diag, nay_shape *shape) {
  double fpr = by == NAY_BY_FPR ? p->fpr : nay__exp(-p->bits_per_key * NAY_LN2 * NAY_LN2);
  if (!(fpr > 0)) { /* so many bits for a key that the FPR is no double any more */
    return nay__fail(diag, NAY_EINVAL, "the size needs more than 255 probes", 0);
  }
  double bits = nay__classic_nbits_for(p->nkeys, fpr);
  if (bits < 1) return nay__fail(diag, NAY_EINVAL, "the size is below one bit", 0);
  if (bits > (double)NAY_MAX_NBITS) {
    return nay__fail(diag, NAY_EINVAL, "nkeys needs more than 2^60 bits", 0);
  }
  double k = dcso_k((double)(uint64_t)bits, p->nkeys);
  if (k > NAY_CLASSIC_MAX_K) {
    return nay__fail(diag, NAY_EINVAL, "the size needs more than 255 probes", 0);
  }
  *shape = (nay_shape){(uint64_t)bits, (uint32_t)k, 0};
  return NAY_OK;
}

static uint64_t dcso_nbytes(uint64_t nbits) { return DCSO_HEADER + nay__ceil_div(nbits, 64) * 8; }

static bool dcso_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits > NAY_MAX_NBITS) return false;
  *nbits = shape->nunits;
  *nbytes = dcso_nbytes(shape->nunits);
  return true;
}

static nay_status dcso_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                             nay_span *payload) {
  if (len < DCSO_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  uint64_t k = nay__load64le(bytes + DCSO_AT_K), nbits = nay__load64le(bytes + DCSO_AT_NBITS);
  if (bytes[0] != 1) return nay__fail(diag, NAY_EVERSION, "the version is not 1", 0);
  if (k < 1 || k > NAY_CLASSIC_MAX_K) {
    return nay__fail(diag, NAY_ECORRUPT, "k is not between 1 and 255", DCSO_AT_K);
  }
  if (nbits == 0 || nbits > NAY_MAX_NBITS || dcso_nbytes(nbits) > len) {
    return nay__fail(diag, NAY_ECORRUPT, "m does not fit the length", DCSO_AT_NBITS);
  }
  size_t nbytes = (size_t)dcso_nbytes(nbits);
  *shape = (nay_shape){nbits, (uint32_t)k, 0};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes, nbytes};
  if (nay__bits_tail_clear(bytes + DCSO_HEADER, nbytes - DCSO_HEADER, nbits)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "bits are set past m", nbytes - 1);
}

/* m and k are those of n and p, or next to them: logarithms differ in their last bit. */
static bool dcso_fits(const uint8_t *head, size_t nhead, uint64_t len) {
  if (nhead < DCSO_HEADER || nay__load64le(head) != 1) return false;
  uint64_t n = nay__load64le(head + DCSO_AT_NKEYS), k = nay__load64le(head + DCSO_AT_K),
           m = nay__load64le(head + DCSO_AT_NBITS);
  double p = dcso_load_double(head + DCSO_AT_FPR);
  if (n == 0 || n > NAY_MAX_NKEYS || !(p > 0 && p < 1) || k == 0 || k > NAY_CLASSIC_MAX_K) {
    return false;
  }
  double bits = nay__classic_nbits_for(n, p);
  return bits >= 1 && m <= NAY_MAX_NBITS && dcso_nbytes(m) <= len && (double)m >= bits - 2 &&
         (double)m <= bits + 1;
}

static nay_span dcso_note(const uint8_t *bytes, size_t len, const nay_shape *shape) {
  size_t at = (size_t)dcso_nbytes(shape->nunits);
  return (nay_span){(uint8_t *)(uintptr_t)bytes + at, len - at};
}

static size_t dcso_encoded_size(const nay_filter *f) { return f->nbytes + f->meta_len; }

static void dcso_encode(const nay_filter *f, uint8_t *dst) {
  memcpy(dst, f->bits.bytes, f->nbytes);
  if (f->meta_len != 0) memcpy(dst + f->nbytes, f->meta, f->meta_len);
}

/* ---- the hash ---- */

static nay_hash dcso_hash_of(const uint8_t *key, size_t len) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < len; i++) h = (h * 0x100000001b3u) ^ key[i];
  return (nay_hash){h % DCSO_Q, 0};
}
static const nay_foreign_hash dcso_hash = {
    .kind = (nay_hash_kind)99, .name = "fnv1", .hash = dcso_hash_of};

/* ---- the family ---- */

static uint64_t dcso_next(const nay_shape *shape, nay_hash *state) {
  state->lo = state->lo * DCSO_G % DCSO_Q;
  return state->lo % shape->nunits;
}

static const nay_probing dcso_probing = {
    .next = dcso_next,
    .max_k = NAY_CLASSIC_MAX_K,
    .header = DCSO_HEADER,
};
NAY_CLASSIC_VERBS(dcso_plain, dcso_probing)

static nay_status dcso_add(nay_filter *f, nay_hash hash, bool *is_new) {
  NAY_TRY(dcso_plain_add(f, hash, is_new));
  uint8_t *adds = f->bits.bytes + DCSO_AT_ADDS;
  if (*is_new && nay__load64le(adds) != UINT64_MAX) nay__store64le(adds, nay__load64le(adds) + 1);
  return NAY_OK;
}

static void dcso_init(nay_filter *f, const nay_params *p) {
  double fpr = p->bits_per_key != 0 ? nay__exp(-p->bits_per_key * NAY_LN2 * NAY_LN2) : p->fpr;
  uint64_t word;
  memcpy(&word, &fpr, sizeof word);
  nay__store64le(f->bits.bytes, 1);
  nay__store64le(f->bits.bytes + DCSO_AT_NKEYS, nay__max_u64(f->nkeys, 1));
  nay__store64le(f->bits.bytes + DCSO_AT_FPR, word);
  nay__store64le(f->bits.bytes + DCSO_AT_K, f->shape.k);
  nay__store64le(f->bits.bytes + DCSO_AT_NBITS, f->shape.nunits);
}

static nay_status dcso_clear(nay_filter *f) {
  memset(f->bits.bytes + DCSO_AT_ADDS, 0, f->nbytes - DCSO_AT_ADDS);
  return NAY_OK;
}

static nay_status dcso_merge(nay_filter *dst, const nay_filter *src) {
  uint8_t *adds = dst->bits.bytes + DCSO_AT_ADDS;
  uint64_t a = nay__load64le(adds), b = nay__load64le(src->bits.bytes + DCSO_AT_ADDS);
  nay__bits_or(dst->bits.bytes + DCSO_HEADER, src->bits.bytes + DCSO_HEADER,
               dst->nbytes - DCSO_HEADER);
  nay__store64le(adds, a + b < a ? UINT64_MAX : a + b);
  return NAY_OK;
}

/* N of an intersection is not known: it is at most the smaller one. */
static void dcso_intersect(nay_filter *dst, const nay_filter *src) {
  uint8_t *adds = dst->bits.bytes + DCSO_AT_ADDS;
  uint64_t a = nay__load64le(adds), b = nay__load64le(src->bits.bytes + DCSO_AT_ADDS);
  nay__bits_and(dst->bits.bytes + DCSO_HEADER, src->bits.bytes + DCSO_HEADER,
                dst->nbytes - DCSO_HEADER);
  nay__store64le(adds, a < b ? a : b);
}

static const nay_family_algebra dcso_algebra = {.merge = dcso_merge, .intersect = dcso_intersect};

static const nay_family dcso_family = {
    .kind = NAY_BLOOM,
    .name = "bloom (dcso)",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT,
    .has_note = true,
    .payload = dcso_payload,
    .fpr = dcso_plain_fpr,
    .init = dcso_init,
    .clear = dcso_clear,
    .census = dcso_plain_census,
    .test = dcso_plain_test,
    .explain = dcso_plain_explain,
    .add = dcso_add,
    .batch = &nay__batch_each,
    .algebra = &dcso_algebra,
};

static uint64_t dcso_planned(const nay_shape *shape, const uint8_t *bytes) {
  (void)shape;
  uint64_t n = nay__load64le(bytes + DCSO_AT_NKEYS);
  return n <= NAY_MAX_NKEYS ? n : 0;
}

const nay_format nay__format_dcso = {
    .name = "dcso",
    .about = "the .bloom file of DCSO's bloom",
    .family = &dcso_family,
    .traits = NAY_FORMAT_NOTE,
    .hash = &dcso_hash,
    .size_by = dcso_size,
    .parse = dcso_parse,
    .planned = dcso_planned,
    .fits = dcso_fits,
    .note = dcso_note,
    .size = dcso_encoded_size,
    .encode = dcso_encode,
};

/*
 * rocksdb_bloom.c - RocksDB's two Bloom filters, which both keep the bits of a key in one line.
 *
 *   FastLocalBloom   line (lo32(h) * lines) >> 32; bit i is (hi32(h) * g^i mod 2^32) >> 23 of 512,
 *                    g = 0x9e3779b9: inside the line that is our own blocked filter, and its
 *                    kernels are used, one line at a time
 *   legacy           line h % lines, h 32 bits wide; bits h, h + d, h + 2d ... modulo the bits of
 *                    the line, d = h rotated right by 17
 *
 * The legacy pattern is an arithmetic progression modulo 512, so its false-positive rate (FPR) is
 * above that of a blocked filter, which is the FPR stated here: at 10 bits per key 1.1% and not
 * 0.9%. Lines of other lengths than 64 bytes come from machines with other cache lines; they are
 * read, not written.
 *
 * shape: nunits is the number of lines, k the probes, `extra` the binary logarithm of a line's
 * bytes.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "family/bitarray.h"
#include "family/explain.h"
#include "format/classic.h"
#include "format/rocksdb.h"
#include "math/elementary.h"
#include "math/fpr.h"

#define LOCAL_LINE_LOG2 6u
#define LOCAL_MAX_BYTES 0xffffffc0u /* where RocksDB stops to make filters larger */
#define LEGACY_MAX_BITS 0xffff0000u
#define LOCAL_MAX_PROBES 30u

static uint32_t rocksdb_local_line_log2(const nay_shape *shape) {
  return shape->extra & ~NAY_ROCKSDB_MAYBE;
}

static bool rocksdb_local_is_maybe(const nay_shape *shape) {
  return (shape->extra & NAY_ROCKSDB_MAYBE) != 0;
}

/* ---- sizes ---- */

nay_status nay__rocksdb_bloom_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag,
                                   nay_shape *shape) {
  NAY_TRY(nay__rocksdb_check_bits(&bits_per_key, diag));
  uint32_t millibits = nay__rocksdb_millibits(bits_per_key);
  if (nkeys > (uint64_t)LOCAL_MAX_BYTES * 8000 / millibits) {
    return nay__fail(diag, NAY_EINVAL, "nkeys: RocksDB's filters end at 4 GiB", 0);
  }
  uint64_t nbytes = nay__ceil_div(nkeys * millibits, 8000);
  *shape = (nay_shape){nay__ceil_div(nbytes, 64), nay__rocksdb_probes(millibits), LOCAL_LINE_LOG2};
  return NAY_OK;
}

nay_status nay__rocksdb_legacy_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag,
                                    nay_shape *shape) {
  NAY_TRY(nay__rocksdb_check_bits(&bits_per_key, diag));
  uint32_t whole = (nay__rocksdb_millibits(bits_per_key) + 500) / 1000;
  if (nkeys > LEGACY_MAX_BITS / whole) {
    return nay__fail(diag, NAY_EINVAL, "nkeys: legacy filters end at 512 MiB", 0);
  }
  uint32_t k = (uint32_t)(whole * 0.69);
  k = k < 1 ? 1 : k > LOCAL_MAX_PROBES ? LOCAL_MAX_PROBES : k;
  uint64_t lines = nay__ceil_div(nkeys * whole, NAY_BLOCK_BITS);
  *shape = (nay_shape){lines != 0 ? lines | 1 : 0, k, LOCAL_LINE_LOG2};
  return NAY_OK;
}

/* 4096 lines: as good as any number. */
double nay__rocksdb_bloom_rate(double bits_per_key) {
  const uint64_t lines = 4096;
  uint64_t nkeys = (uint64_t)((double)(lines * NAY_BLOCK_BITS) / bits_per_key);
  uint32_t k = nay__rocksdb_probes(nay__rocksdb_millibits(bits_per_key));
  return nay__fpr_blocked(lines, k, nkeys);
}

static bool rocksdb_local_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  uint64_t nbits_of_lines = shape->nunits << (rocksdb_local_line_log2(shape) + 3);
  *nbits = nbits_of_lines;
  *nbytes = nbits_of_lines / 8 + NAY_ROCKSDB_TRAILER;
  return true;
}

static double rocksdb_local_fpr(const nay_shape *shape, uint64_t nkeys) {
  if (shape->nunits == 0) return rocksdb_local_is_maybe(shape);
  uint32_t log2 = rocksdb_local_line_log2(shape);
  if (log2 == LOCAL_LINE_LOG2) return nay__fpr_blocked(shape->nunits, shape->k, nkeys);
  return nay__fpr_bloom(shape->nunits << (log2 + 3), shape->k, nkeys);
}

/* ---- trailers ---- */

nay_shape nay__rocksdb_bloom_shape(const uint8_t *bytes, size_t len) {
  const uint8_t *trailer = bytes + len - NAY_ROCKSDB_TRAILER;
  uint64_t lines = (uint64_t)(len - NAY_ROCKSDB_TRAILER) >> LOCAL_LINE_LOG2;
  uint32_t k = trailer[2] & 31, line_log2 = trailer[2] >> 5; /* above 6: only 0 has a meaning */
  bool known = trailer[1] == 0 && line_log2 == 0 && k >= 1 && k <= LOCAL_MAX_PROBES &&
               nay__load16le(trailer + 3) == 0 && lines != 0 && lines <= UINT32_MAX;
  return known ? (nay_shape){lines, k, LOCAL_LINE_LOG2} : (nay_shape){.extra = NAY_ROCKSDB_MAYBE};
}

nay_shape nay__rocksdb_legacy_shape(const uint8_t *bytes, size_t len) {
  const uint8_t *trailer = bytes + len - NAY_ROCKSDB_TRAILER;
  uint64_t array = len - NAY_ROCKSDB_TRAILER, lines = nay__load32le(trailer + 1);
  uint32_t log2 = 0;
  while (lines != 0 && log2 < 32 && lines << log2 < array) log2++;
  bool known = lines != 0 && lines << log2 == array && log2 < 29; /* a bit number has 32 bits */
  if (!known) return (nay_shape){.extra = NAY_ROCKSDB_MAYBE};
  return (nay_shape){lines, trailer[0], log2};
}

static void rocksdb_bloom_init(nay_filter *f, const nay_params *params) {
  (void)params;
  uint8_t *trailer = f->bits.bytes + f->nbytes - NAY_ROCKSDB_TRAILER;
  trailer[0] = NAY_ROCKSDB_BLOOM;
  trailer[2] = (uint8_t)f->shape.k;
}

static void rocksdb_legacy_init(nay_filter *f, const nay_params *params) {
  (void)params;
  uint8_t *trailer = f->bits.bytes + f->nbytes - NAY_ROCKSDB_TRAILER;
  trailer[0] = (uint8_t)f->shape.k;
  nay__store32le(trailer + 1, (uint32_t)f->shape.nunits);
}

/* ---- what both do with their bits ---- */

/* A block of no keys has no bit to set, and one whose bytes are reserved no meaning to add to. */
static nay_status rocksdb_local_can_add(const nay_filter *f) {
  if (f->shape.nunits != 0) return NAY_OK;
  return rocksdb_local_is_maybe(&f->shape) ? NAY_ENOTSUP : NAY_EFULL;
}

static size_t rocksdb_local_nbytes(const nay_filter *f) {
  return f->shape.nunits == 0 ? 0 : (size_t)f->shape.nunits << rocksdb_local_line_log2(&f->shape);
}

static nay_status rocksdb_local_clear(nay_filter *f) {
  if (f->shape.nunits != 0) memset(f->bits.bytes, 0, rocksdb_local_nbytes(f));
  return NAY_OK;
}

static nay_status rocksdb_local_merge(nay_filter *dst, const nay_filter *src) {
  nay__bits_or(dst->bits.bytes, src->bits.bytes, rocksdb_local_nbytes(dst));
  return NAY_OK;
}

static void rocksdb_local_intersect(nay_filter *dst, const nay_filter *src) {
  nay__bits_and(dst->bits.bytes, src->bits.bytes, rocksdb_local_nbytes(dst));
}

/* The FPR of the lines as they are: the mean over lines of fill^k. */
static double rocksdb_local_rate(const nay_filter *a, const nay_filter *b) {
  size_t line = (size_t)1 << rocksdb_local_line_log2(&a->shape);
  double sum = 0;
  for (uint64_t i = 0; i < a->shape.nunits; i++) {
    const uint8_t *at = a->bits.bytes + i * line;
    uint64_t set = b == NULL ? nay__bits_count(at, line)
                             : nay__bits_count_or(at, b->bits.bytes + i * line, line);
    sum += nay__ipow((double)set / (double)(line * 8), a->shape.k);
  }
  return sum / (double)a->shape.nunits;
}

static void rocksdb_local_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                                 nay_census *census) {
  assert(factor == 1); /* no fold */
  (void)factor;
  size_t nbytes = rocksdb_local_nbytes(a);
  nay_census c = {.nbits = (uint64_t)nbytes * 8, .fpr = rocksdb_local_fpr(&a->shape, 0)};
  if (nbytes != 0) {
    c.nbits_set = b == NULL ? nay__bits_count(a->bits.bytes, nbytes)
                            : nay__bits_count_or(a->bits.bytes, b->bits.bytes, nbytes);
    c.keys = nay__estimate_keys(c.nbits, a->shape.k, c.nbits_set);
    c.fpr = rocksdb_local_rate(a, b);
  }
  *census = c;
}

/* ---- FastLocalBloom ---- */

/* One line as the kernels of the blocked family see it: a filter of a single block. */
static nay_bits rocksdb_bloom_line(const nay_filter *f, uint64_t h) {
  uint64_t line = (uint64_t)(uint32_t)h * f->shape.nunits >> 32;
  return (nay_bits){.bytes = f->bits.bytes + (line << LOCAL_LINE_LOG2),
                    .nunits = 1,
                    .k = f->shape.k,
                    .in_cache = true};
}

static nay_status rocksdb_bloom_add(nay_filter *f, nay_hash hash, bool *is_new) {
  NAY_TRY(rocksdb_local_can_add(f));
  nay_bits line = rocksdb_bloom_line(f, hash.lo);
  *is_new = f->kernels->blocked_add->add(&line, hash.lo >> 32);
  return NAY_OK;
}

static bool rocksdb_bloom_test(const nay_filter *f, nay_hash hash) {
  if (NAY_UNLIKELY(f->shape.nunits == 0)) return rocksdb_local_is_maybe(&f->shape);
  nay_bits line = rocksdb_bloom_line(f, hash.lo);
  return f->kernels->blocked->test(&line, hash.lo >> 32);
}

static void rocksdb_bloom_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
  if (f->shape.nunits == 0) {
    nay__explain_constant(run, 0, rocksdb_local_is_maybe(&f->shape));
    return;
  }
  uint64_t line = (uint64_t)(uint32_t)hash.lo * f->shape.nunits >> 32;
  nay__explain_block(run, 0, f->bits.bytes, line, f->shape.k, (uint32_t)(hash.lo >> 32));
}

static nay_status rocksdb_bloom_batch_add(nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                          unsigned n, const uint64_t *next, uint64_t *bitmap,
                                          size_t *taken) {
  (void)hi, (void)next, (void)taken;
  NAY_TRY(rocksdb_local_can_add(f));
  uint64_t word = 0;
  for (unsigned i = 0; i < n; i++) {
    nay_bits line = rocksdb_bloom_line(f, lo[i]);
    word |= (uint64_t)f->kernels->blocked_add->add(&line, lo[i] >> 32) << i;
  }
  if (bitmap != NULL) *bitmap = word;
  return NAY_OK;
}

static uint64_t rocksdb_bloom_batch_test(const nay_filter *f, const uint64_t *lo,
                                         const uint64_t *hi, unsigned n, const uint64_t *next) {
  (void)hi, (void)next;
  uint64_t word = 0, all = n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
  if (NAY_UNLIKELY(f->shape.nunits == 0)) return rocksdb_local_is_maybe(&f->shape) ? all : 0;
  for (unsigned i = 0; i < n; i++) {
    nay_bits line = rocksdb_bloom_line(f, lo[i]);
    word |= (uint64_t)f->kernels->blocked->test(&line, lo[i] >> 32) << i;
  }
  return word;
}

static void rocksdb_bloom_prefetch(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                   unsigned n) {
  (void)hi;
  for (unsigned i = 0; i < n && f->shape.nunits != 0; i++)
    NAY_PREFETCH(rocksdb_bloom_line(f, lo[i]).bytes);
}

/* ---- legacy: classic.h's rotating, inside a line ---- */

/* state: delta, and h above it; the first bit of the line. */
static nay_hash rocksdb_legacy_start(const nay_shape *shape, nay_hash hash) {
  uint32_t h = (uint32_t)hash.lo;
  uint64_t line = h % shape->nunits;
  return (nay_hash){(uint64_t)h << 32 | nay__rotr32(h, 17),
                    line << (rocksdb_local_line_log2(shape) + 3)};
}

static uint64_t rocksdb_legacy_next(const nay_shape *shape, nay_hash *state) {
  uint32_t mask = (8u << rocksdb_local_line_log2(shape)) - 1;
  uint64_t bit = state->hi + (state->lo >> 32 & mask);
  state->lo += state->lo << 32; /* h + delta */
  return bit;
}

static uint64_t rocksdb_legacy_line_bits(const nay_shape *shape) {
  return (uint64_t)8 << rocksdb_local_line_log2(shape);
}

static const nay_probing rocksdb_legacy_probing = {
    .start = rocksdb_legacy_start,
    .next = rocksdb_legacy_next,
    .max_k = 127,
    .empty_is_maybe = rocksdb_local_is_maybe,
    .block_bits = rocksdb_legacy_line_bits,
};
NAY_PROBING_VERBS(rocksdb_legacy, rocksdb_legacy_probing)

static const nay_family_algebra rocksdb_local_algebra = {
    .merge = rocksdb_local_merge,
    .intersect = rocksdb_local_intersect,
};

static const nay_family_batch rocksdb_bloom_batch = {
    .add = rocksdb_bloom_batch_add,
    .test = rocksdb_bloom_batch_test,
    .prefetch = rocksdb_bloom_prefetch,
};

/* What the two families do not share is what begins with `verbs`. */
#define ROCKSDB_LOCAL_FAMILY(verbs, text, batch_)                                             \
  {                                                                                           \
    .kind = NAY_BLOCKED, .name = (text),                                                      \
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT, .skips_repeats = true,         \
    .payload = rocksdb_local_payload, .fpr = rocksdb_local_fpr, .clear = rocksdb_local_clear, \
    .census = rocksdb_local_census, .algebra = &rocksdb_local_algebra, .init = verbs##_init,  \
    .add = verbs##_add, .test = verbs##_test, .explain = verbs##_explain, .batch = (batch_),  \
  }

const nay_family nay__family_rocksdb_bloom =
    ROCKSDB_LOCAL_FAMILY(rocksdb_bloom, "blocked (RocksDB)", &rocksdb_bloom_batch);
const nay_family nay__family_rocksdb_legacy =
    ROCKSDB_LOCAL_FAMILY(rocksdb_legacy, "blocked (RocksDB, legacy)", &nay__batch_each);

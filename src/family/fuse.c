/*
 * fuse.c - binary fuse and xor filters: a static set as a system of equations.
 *
 * An array of r-bit slots is filled so that for every key the xor of its 3 (or 4) slots is its
 * r-bit fingerprint. A key that is not in the set finds its fingerprint there by accident, once in
 * 2^r: that is the whole false-positive rate (FPR), whatever the number of keys. A probe reads 3
 * slots and compares.
 *
 *   xor    thirds of the array                fuse   windows of neighbouring segments
 *          |----*-----|-*--------|--------*-|        |---|-*-|*--|--*|---|---|---| ...
 *
 * In a xor filter [1] each third gives one slot, and 1.23 n slots are needed for the equations to
 * come apart (peel.c). In a fuse filter [2] the slots lie in 3 neighbouring segments of a long
 * chain; its two ends come apart first and the rest follows: 1.125 n slots are enough, 1.075 n with
 * 4 slots, and a build walks through memory instead of jumping about. Short chains need more:
 *
 *   keys      10^3   10^4   10^5   10^6 and more        (slots per key)
 *   3 slots   1.41   1.28   1.19   1.125 - 1.14
 *   4 slots   1.38   1.23   1.13   1.075 - 1.09
 *
 * Above 2^21 keys the set is cut into shards of 2^20 by the top bits of the hash, each a filter of
 * its own with its own factor: they are built in cache, by several threads, and the sizes are
 * equal, so that a probe looks up the factor and nothing else. Each has room for 3 standard
 * deviations more keys than its share.
 *
 * Bytes: fuse.h and doc/formats. A probe costs 3 cache lines (4), in parallel.
 *
 * [1] Graf, Lemire: Xor filters. ACM JEA 25, 2020.
 * [2] Graf, Lemire: Binary fuse filters. ACM JEA 27, 2022. The segment lengths are theirs.
 */
#include "family/fuse.h"

#include "math/elementary.h"
#include "math/plan.h"

#define FUSE_SHARD_LOG2 20
#define FUSE_SHARD_SEGMENT 8192u
#define FUSE_IN_CACHE ((size_t)4 << 20) /* bytes: below, prefetching costs more than it saves */
#define FUSE_MAX_NSHARDS ((uint64_t)1 << 24)

/* ---- sizes ---- */

static double fuse_max(double a, double b) { return a > b ? a : b; }

static double fuse_sqrt(double x) { return x > 0 ? nay__exp(0.5 * nay__ln(x)) : 0; }

/* Segment length and slots of a chain for n keys, by the formulas of [2]. */
static void fuse_chain(nay_fuse_layout layout, double n, nay_fuse_dims *dims) {
  double log = nay__ln(n), factor, exponent;
  if (layout == NAY_FUSE_3) {
    exponent = log / nay__ln(3.33) + 2.25;
    factor = fuse_max(1.125, 0.875 + 0.25 * nay__ln(1e6) / log);
  } else {
    exponent = log / nay__ln(2.91) - 0.5;
    factor = fuse_max(1.075, 0.77 + 0.305 * nay__ln(6e5) / log);
  }
  dims->segment = (uint32_t)1 << (exponent < 1 ? 1 : (unsigned)exponent);
  /* the size is a number of segments: among shards, which are of equal size, keep them short */
  if (dims->nshards > 1 && dims->segment > FUSE_SHARD_SEGMENT) dims->segment = FUSE_SHARD_SEGMENT;
  uint64_t length = dims->segment, arity = nay__fuse_arity(layout);
  uint64_t nsegments = nay__max_u64(arity, nay__ceil_div((uint64_t)(n * factor + 0.5), length));
  dims->slots = (uint32_t)(nsegments * length);
}

nay_fuse_dims nay__fuse_dims(nay_fuse_layout layout, uint64_t nkeys) {
  nay_fuse_dims dims = {.nshards = 1};
  if (nkeys >> (FUSE_SHARD_LOG2 + 1) != 0) dims.nshards = nkeys >> FUSE_SHARD_LOG2;
  double n = (double)nay__ceil_div(nay__max_u64(nkeys, 2), dims.nshards);
  if (dims.nshards > 1) n += 3 * fuse_sqrt(n);
  if (layout == NAY_XOR_3) {
    dims.slots = 3 * (uint32_t)((1.23 * n + 32) / 3 + 1); /* the constants of [1] */
  } else {
    fuse_chain(layout, n, &dims);
  }
  return dims;
}

static nay_shape fuse_shape(nay_fuse_layout layout, uint64_t nkeys, unsigned bits) {
  nay_fuse_dims dims = nay__fuse_dims(layout, nkeys);
  return (nay_shape){dims.nshards * dims.slots, nay__fuse_arity(layout),
                     (uint32_t)(dims.nshards << 8 | bits)};
}

bool nay__fuse_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  uint64_t nshards = nay__fuse_nshards(shape), bits = nay__fuse_bits(shape);
  if (shape->k != 3 && shape->k != 4) return false;
  if (bits < NAY_FUSE_MIN_BITS || bits > NAY_FUSE_MAX_BITS) return false;
  if (nshards == 0 || shape->nunits == 0 || shape->nunits % nshards != 0) return false;
  uint64_t slots = shape->nunits / nshards;
  if (slots < shape->k || slots > UINT32_MAX / 2) return false;
  *nbytes =
      nay__fuse_arrays_at(nshards) + nshards * nay__fuse_stride(nshards, slots, (unsigned)bits);
  *nbits = *nbytes * 8;
  return true;
}

static bool fuse_fits(nay_fuse_layout layout, uint64_t nkeys, unsigned bits, double budget) {
  uint64_t nbits, nbytes;
  nay_shape shape = fuse_shape(layout, nkeys, bits);
  return nay__fuse_payload(&shape, &nbits, &nbytes) && (double)nbytes <= budget;
}

nay_status nay__fuse_plan(nay_fuse_layout layout, const nay_params *p, nay_diag *diag,
                          nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(p, diag, &by));
  if (by == NAY_BY_NBITS) {
    return nay__fail(diag, NAY_EINVAL, "nbits: the size of a static filter follows from its keys",
                     0);
  }
  if (p->fold > 1) return nay__fail(diag, NAY_EINVAL, "fold: this family does not fold", 0);
  if (p->nkeys >> FUSE_SHARD_LOG2 >= FUSE_MAX_NSHARDS) {
    return nay__fail(diag, NAY_EINVAL, "nkeys is above 2^44, the limit of this family", 0);
  }
  unsigned bits = NAY_FUSE_MIN_BITS;
  if (by == NAY_BY_FPR) {
    double rate = 1.0 / 16;
    for (; rate > p->fpr && bits <= NAY_FUSE_MAX_BITS; bits++) rate /= 2;
    if (bits > NAY_FUSE_MAX_BITS) {
      return nay__fail(diag, NAY_EINVAL, "fpr is below 2^-32: fingerprints have up to 32 bits", 0);
    }
  } else {
    double budget =
        by == NAY_BY_NBYTES ? (double)p->nbytes : p->bits_per_key * (double)p->nkeys / 8;
    /* like every family, bits_per_key may not hold for a handful of keys; nbytes always does */
    bool fits = by == NAY_BY_NBYTES ? fuse_fits(layout, p->nkeys, bits, budget)
                                    : p->bits_per_key >= NAY_FUSE_MIN_BITS;
    if (!fits) {
      return nay__fail(diag, NAY_EINVAL, "the size is too small: fingerprints have 4 bits at least",
                       0);
    }
    while (bits < NAY_FUSE_MAX_BITS && fuse_fits(layout, p->nkeys, bits + 1, budget)) bits++;
  }
  *shape = fuse_shape(layout, p->nkeys, bits);
  return NAY_OK;
}

static nay_status fuse_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  NAY_TRY(nay__fuse_plan(p->k == 4 ? NAY_FUSE_4 : NAY_FUSE_3, p, diag, shape));
  if (p->k == 0 || p->k == 3 || p->k == 4) return NAY_OK;
  return nay__fail(diag, NAY_EINVAL, "k is not 3 or 4, the slots of a key", 0);
}

static double fuse_rate(unsigned bits) { return 1.0 / (double)((uint64_t)1 << bits); }

double nay__fuse_fpr(const nay_shape *shape, uint64_t nkeys) {
  return nkeys == 0 ? 0 : fuse_rate(nay__fuse_bits(shape));
}

/* ---- probes ---- */

nay_fuse_layout nay__fuse_layout_of(const nay_filter *f) {
  if (f->family->kind == NAY_XOR) return NAY_XOR_3;
  return f->shape.k == 4 ? NAY_FUSE_4 : NAY_FUSE_3;
}

/* 0 when the slots of x in the array of its shard xor to its fingerprint. */
NAY_INLINE uint32_t fuse_differ(nay_fuse_layout layout, unsigned bits, const nay_fuse_view *v,
                                uint64_t shard, uint64_t factor, uint64_t x) {
  const uint8_t *array = v->arrays + shard * v->stride;
  uint64_t at[4];
  uint32_t sum = nay__fuse_slots(layout, v, factor, nay__remix(x, 0), bits, at);
  /* unrolled by hand: not every compiler does, and a loop keeps at[] in memory */
  sum ^= nay__fuse_get(array, at[0], bits) ^ nay__fuse_get(array, at[1], bits);
  sum ^= nay__fuse_get(array, at[2], bits);
  return layout == NAY_FUSE_4 ? sum ^ nay__fuse_get(array, at[3], bits) : sum;
}

/*
 * Answers are shifted in from the top, so that keys are read sequentially, and without a branch:
 * half of the keys may be present.
 */
NAY_INLINE uint64_t fuse_push(uint64_t bitmap, uint32_t differ) {
  return bitmap >> 1 | (((uint64_t)differ - 1) & (uint64_t)1 << 63);
}

/*
 * One probe. It waits for three cache lines, and the fewer instructions it has the more probes wait
 * at the same time. So there is a copy for each layout, for one shard or many, for the widths that
 * divide a word, and for CPUs with BMI2 (MULX); it is for filters as they nearly always are,
 * without premix and without shards whose answer is fixed.
 */
NAY_INLINE bool fuse_find(nay_fuse_layout layout, unsigned width, bool one_shard, const nay_bits *b,
                          uint64_t x) {
  nay_fuse_view v = nay__fuse_view_derived(nay__filter_of(b)->derived, b->bytes);
  if (one_shard) v.arrays = b->bytes + nay__fuse_arrays_at(1); /* a constant: one load less */
  uint64_t shard = one_shard ? 0 : nay__shard_of(x, v.nshards);
  return fuse_differ(layout, width, &v, shard, nay__fuse_factor(&v, shard), x) == 0;
}

/* The same for every filter. */
bool nay__fuse_test(const nay_filter *f, nay_hash h) {
  uint64_t x = nay__premix(h.lo, nay__load64le(f->bits.bytes));
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  uint64_t shard = nay__shard_of(x, v.nshards);
  uint64_t factor = nay__fuse_factor(&v, shard);
  if (nay__fuse_is_fixed(factor)) return factor == NAY_FUSE_SAYS_MAYBE;
  return fuse_differ(nay__fuse_layout_of(f), nay__fuse_bits(&f->shape), &v, shard, factor, x) == 0;
}

/* The probes: fuse_probe3_8, fuse_probe3_bmi2_16_sharded, ...: see fuse_choose_probe. */
#define FUSE_PROBE(target, name, layout, width, one_shard)    \
  target static bool name(const nay_bits *b, uint64_t hash) { \
    return fuse_find(layout, width, one_shard, b, hash);      \
  }
#define FUSE_PROBES(target, name, layout)                     \
  FUSE_PROBE(target, name##_8, layout, 8, true)               \
  FUSE_PROBE(target, name##_16, layout, 16, true)             \
  FUSE_PROBE(target, name##_8_sharded, layout, 8, false)      \
  FUSE_PROBE(target, name##_16_sharded, layout, 16, false)    \
  static nay_bits_probe name(unsigned bits, bool one_shard) { \
    if (bits != 8 && bits != 16) return NULL;                 \
    if (one_shard) return bits == 8 ? name##_8 : name##_16;   \
    return bits == 8 ? name##_8_sharded : name##_16_sharded;  \
  }
#define FUSE_ANY_CPU
FUSE_PROBES(FUSE_ANY_CPU, fuse_probe3, NAY_FUSE_3)
FUSE_PROBES(FUSE_ANY_CPU, fuse_probe4, NAY_FUSE_4)
FUSE_PROBES(FUSE_ANY_CPU, xor_probe3, NAY_XOR_3)
FUSE_PROBES(NAY_BMI2, fuse_probe3_bmi2, NAY_FUSE_3)
FUSE_PROBES(NAY_BMI2, fuse_probe4_bmi2, NAY_FUSE_4)
FUSE_PROBES(NAY_BMI2, xor_probe3_bmi2, NAY_XOR_3)
#undef FUSE_PROBES
#undef FUSE_PROBE

/* Whether fuse_find is enough: no premix, no shard whose answer is fixed. */
static bool fuse_is_plain(const nay_filter *f) {
  nay_fuse_view v = nay__fuse_view_derived(f->derived, f->bits.bytes);
  uint64_t odd = 1;
  for (uint64_t i = 0; i < v.nshards; i++) odd &= nay__fuse_factor(&v, i);
  return nay__load64le(f->bits.bytes) == 0 && !nay__fuse_is_fixed(odd);
}

static nay_bits_probe fuse_choose_probe(const nay_filter *f) {
  if (!fuse_is_plain(f)) return NULL;
  unsigned bits = nay__fuse_bits(&f->shape);
  bool one_shard = f->derived[NAY_FUSE_NSHARDS] == 1, bmi2 = f->kernels->bmi2;
  switch (nay__fuse_layout_of(f)) {
    case NAY_FUSE_3: return (bmi2 ? fuse_probe3_bmi2 : fuse_probe3)(bits, one_shard);
    case NAY_FUSE_4: return (bmi2 ? fuse_probe4_bmi2 : fuse_probe4)(bits, one_shard);
    case NAY_XOR_3: break;
  }
  return (bmi2 ? xor_probe3_bmi2 : xor_probe3)(bits, one_shard);
}

void nay__fuse_bind(nay_filter *f) {
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  f->derived[NAY_FUSE_NSHARDS] = v.nshards;
  f->derived[NAY_FUSE_STRIDE] = v.stride;
  f->derived[NAY_FUSE_SPAN] = v.span;
  f->derived[NAY_FUSE_SEGMENT] = v.segment;
  f->derived[NAY_FUSE_ARRAYS_AT] = nay__fuse_arrays_at(v.nshards);
  f->bits.probe = fuse_choose_probe(f);
}

/* In a cache there is nothing to wait for: test one after the other. */
NAY_INLINE uint64_t fuse_test_in_cache(nay_fuse_layout layout, unsigned bits,
                                       const nay_fuse_view *v, const uint64_t *x, unsigned n) {
  uint64_t bitmap = 0;
  uint64_t factor = nay__fuse_factor(v, 0);
  if (nay__fuse_is_fixed(factor))
    return factor == NAY_FUSE_SAYS_MAYBE ? ~(uint64_t)0 >> (64 - n) : 0;
  for (unsigned i = 0; i < n; i++) {
    bitmap = fuse_push(bitmap, fuse_differ(layout, bits, v, 0, factor, x[i]));
  }
  return bitmap >> (64 - n);
}

/* The locations of a group of keys: all lines are prefetched before the first is read. */
typedef struct fuse_group {
  uint64_t at[4][64]; /* slots, in bytes from the first array on; in bits if they straddle */
  uint32_t fingerprint[64];
  uint64_t fixed, answers; /* keys of shards with a fixed answer */
} fuse_group;

/* Where a slot is, and what it holds: nay__fuse_get in two halves. */
NAY_INLINE uint64_t fuse_location(uint64_t array_at, uint64_t slot, unsigned bits) {
  return bits % 8 == 0 ? array_at + slot * (bits / 8) : array_at * 8 + slot * bits;
}

NAY_INLINE uint32_t fuse_load(const uint8_t *bytes, uint64_t location, unsigned bits) {
  switch (bits) {
    case 8: return bytes[location];
    case 16: return nay__load16le(bytes + location);
    case 32: return nay__load32le(bytes + location);
    default: break;
  }
  if (bits == 24) return (uint32_t)nay__load64le(bytes + location) & 0xffffff;
  uint64_t word = nay__load64le(bytes + (location >> 3)) >> (location & 7);
  return (uint32_t)(word & (((uint64_t)1 << bits) - 1));
}

NAY_INLINE void fuse_locate_group(nay_fuse_layout layout, unsigned bits, const nay_fuse_view *v,
                                  const uint64_t *x, unsigned n, fuse_group *g) {
  for (unsigned i = 0; i < n; i++) {
    uint64_t shard = nay__shard_of(x[i], v->nshards), at[4];
    uint64_t factor = nay__fuse_factor(v, shard);
    if (NAY_UNLIKELY(nay__fuse_is_fixed(factor))) { /* its slots are read all the same */
      g->fixed |= (uint64_t)1 << i;
      g->answers |= (uint64_t)(factor == NAY_FUSE_SAYS_MAYBE) << i;
    }
    g->fingerprint[i] = nay__fuse_slots(layout, v, factor, nay__remix(x[i], 0), bits, at);
    for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
      uint64_t location = g->at[j][i] = fuse_location(shard * v->stride, at[j], bits);
      NAY_PREFETCH(v->arrays + (bits % 8 == 0 ? location : location >> 3));
    }
  }
}

/* Whether the CPU has kernels for 64 keys of this filter. */
static bool fuse_has_kernels(const nay_filter *f, const nay_fuse_view *v) {
  return f->kernels->fuse != NULL && (uint64_t)f->nbytes >> 32 == 0 && v->stride >> 29 == 0;
}

NAY_INLINE nay_fuse_map fuse_map(nay_fuse_layout layout, unsigned bits, const nay_fuse_view *v) {
  return (nay_fuse_map){v->factors, v->arrays,  v->nshards, v->stride,
                        v->span,    v->segment, bits,       nay__fuse_arity(layout)};
}

NAY_INLINE uint64_t fuse_kernel_test(nay_fuse_layout layout, unsigned bits, const nay_filter *f,
                                     const nay_fuse_view *v, const uint64_t *x) {
  nay_fuse_map map = fuse_map(layout, bits, v);
  uint64_t fixed, bitmap = f->kernels->fuse->test64(&map, x, &fixed);
  for (bitmap &= ~fixed; NAY_UNLIKELY(fixed != 0); fixed &= fixed - 1) {
    unsigned i = nay__ctz64(fixed);
    uint64_t factor = nay__fuse_factor(v, nay__shard_of(x[i], v->nshards));
    bitmap |= (uint64_t)(factor == NAY_FUSE_SAYS_MAYBE) << i;
  }
  return bitmap;
}

NAY_INLINE uint64_t fuse_group_test(nay_fuse_layout layout, unsigned bits, const nay_filter *f,
                                    const uint64_t *x, unsigned n) {
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  if (n == 64 && fuse_has_kernels(f, &v)) return fuse_kernel_test(layout, bits, f, &v, x);
  if (f->nbytes < FUSE_IN_CACHE && v.nshards == 1) {
    return fuse_test_in_cache(layout, bits, &v, x, n);
  }
  fuse_group g;
  g.fixed = g.answers = 0;
  fuse_locate_group(layout, bits, &v, x, n, &g);
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    uint32_t sum = g.fingerprint[i];
    for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
      sum ^= fuse_load(v.arrays, g.at[j][i], bits);
    }
    bitmap = fuse_push(bitmap, sum);
  }
  return (bitmap >> (64 - n) & ~g.fixed) | g.answers;
}

/* A copy of the loops for each width that divides a word, so that the compiler sees it. */
NAY_INLINE uint64_t fuse_widths(nay_fuse_layout layout, const nay_filter *f, const uint64_t *x,
                                unsigned n) {
  switch (nay__fuse_bits(&f->shape)) {
    case 8: return fuse_group_test(layout, 8, f, x, n);
    case 16: return fuse_group_test(layout, 16, f, x, n);
    case 32: return fuse_group_test(layout, 32, f, x, n);
    default: return fuse_group_test(layout, nay__fuse_bits(&f->shape), f, x, n);
  }
}

uint64_t nay__fuse_test_premixed(const nay_filter *f, const uint64_t *x, unsigned n) {
  switch (nay__fuse_layout_of(f)) {
    case NAY_FUSE_3: return fuse_widths(NAY_FUSE_3, f, x, n);
    case NAY_FUSE_4: return fuse_widths(NAY_FUSE_4, f, x, n);
    case NAY_XOR_3: break;
  }
  return fuse_widths(NAY_XOR_3, f, x, n);
}

static uint64_t fuse_batch_test(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                unsigned n, const uint64_t *next) {
  (void)hi, (void)next;
  uint64_t premix = nay__load64le(f->bits.bytes), x[64];
  if (NAY_LIKELY(premix == 0)) return nay__fuse_test_premixed(f, lo, n);
  for (unsigned i = 0; i < n; i++) x[i] = nay__premix(lo[i], premix);
  return nay__fuse_test_premixed(f, x, n);
}

unsigned nay__fuse_probe_addresses(const nay_filter *f, nay_hash h, const uint8_t **addresses) {
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  uint64_t x = nay__premix(h.lo, nay__load64le(f->bits.bytes)), at[4];
  uint64_t shard = nay__shard_of(x, v.nshards);
  unsigned bits = nay__fuse_bits(&f->shape), n = 0;
  uint64_t factor = nay__fuse_factor(&v, shard);
  addresses[n++] = v.factors + 8 * shard; /* aligned */
  if (nay__fuse_is_fixed(factor)) return n;
  const uint8_t *array = v.arrays + shard * v.stride;
  nay_fuse_layout layout = nay__fuse_layout_of(f);
  nay__fuse_slots(layout, &v, factor, nay__remix(x, 0), bits, at);
  for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
    uint64_t bit = at[j] * bits;
    addresses[n++] = array + (bit >> 3);
    addresses[n++] = array + ((bit + bits - 1) >> 3);
  }
  return n;
}

/*
 * One key: all its slots. A batch: only in filters larger than the LLC; in smaller ones it takes
 * longer to locate the slots twice than the prefetch saves.
 */
static void fuse_prefetch(const nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n) {
  (void)hi;
  if (n == 1) {
    const uint8_t *addresses[NAY_MAX_ADDRESSES];
    unsigned count = nay__fuse_probe_addresses(f, (nay_hash){lo[0], 0}, addresses);
    for (unsigned i = 0; i < count; i++) NAY_PREFETCH(addresses[i]);
    return;
  }
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  bool vectors = n % 8 == 0 && fuse_has_kernels(f, &v) && nay__load64le(f->bits.bytes) == 0;
  if (vectors && f->nbytes >= NAY_OUT_OF_CACHE_BYTES) {
    nay_fuse_map map = fuse_map(nay__fuse_layout_of(f), nay__fuse_bits(&f->shape), &v);
    f->kernels->fuse->prefetch64(&map, lo, n);
  }
}

/* ---- whole filters ---- */

void nay__fuse_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                      nay_census *census) {
  (void)b, (void)factor; /* static filters neither merge nor fold */
  nay_fuse_view v = nay__fuse_view_of(&a->shape, a->bits.bytes);
  double rates = 0;
  for (uint64_t i = 0; i < v.nshards; i++) {
    uint64_t odd = nay__fuse_factor(&v, i);
    rates +=
        nay__fuse_is_fixed(odd) ? odd == NAY_FUSE_SAYS_MAYBE : fuse_rate(nay__fuse_bits(&a->shape));
  }
  uint64_t nbits = a->nbytes * 8;
  *census = (nay_census){nbits, nbits, nay__exactly(a->nkeys), rates / (double)v.nshards};
}

/* The slots that keys can have are all in the array. */
static bool fuse_span_ok(const nay_shape *shape, bool is_xor, const nay_fuse_view *v,
                         uint64_t slots) {
  if (v->span == 0) return false;
  if (is_xor) return v->span * 3 <= slots;
  return v->span % v->segment == 0 && v->span + (shape->k - 1) * v->segment <= slots;
}

nay_status nay__fuse_check(nay_fuse_layout layout, const nay_shape *shape, const uint8_t *payload,
                           nay_diag *diag) {
  bool is_xor = layout == NAY_XOR_3;
  nay_fuse_view v = nay__fuse_view_of(shape, (uint8_t *)(uintptr_t)payload);
  uint64_t slots = shape->nunits / v.nshards, end = NAY_FUSE_HEADER + 8 * v.nshards;
  if (nay__load32le(payload + 8) != slots) {
    return nay__fail(diag, NAY_ECORRUPT, "the payload's size does not fit the header", 8);
  }
  bool power = v.segment != 0 && (v.segment & (v.segment - 1)) == 0;
  if (is_xor ? v.segment != 0 : !power || v.segment > NAY_FUSE_MAX_SEGMENT) {
    return nay__fail(diag, NAY_ECORRUPT, "impossible segment length", 12);
  }
  if (!fuse_span_ok(shape, is_xor, &v, slots)) {
    return nay__fail(diag, NAY_ECORRUPT, "the slots of a key do not fit its array", 16);
  }
  if (nay__load32le(payload + 20) != 0) {
    return nay__fail(diag, NAY_ECORRUPT, "a reserved field is not zero", 20);
  }
  for (uint64_t i = 0; i < v.nshards; i++) {
    uint64_t factor = nay__fuse_factor(&v, i);
    if (nay__fuse_is_fixed(factor) && factor > NAY_FUSE_SAYS_MAYBE) {
      return nay__fail(diag, NAY_ECORRUPT, "an impossible factor", NAY_FUSE_HEADER + 8 * i);
    }
  }
  bool clear = nay__all_zero(payload + end, (size_t)(nay__fuse_arrays_at(v.nshards) - end));
  return clear ? NAY_OK : nay__fail(diag, NAY_ECORRUPT, "padding is not zero", end);
}

static nay_status fuse_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                             nay_diag *diag) {
  (void)len; /* is what payload() says */
  return nay__fuse_check(shape->k == 4 ? NAY_FUSE_4 : NAY_FUSE_3, shape, payload, diag);
}

const nay_family_batch nay__fuse_batch = {
    .test = fuse_batch_test,
    .prefetch = fuse_prefetch,
};

const nay_family_bulk nay__fuse_bulk = {.solver = &nay__peel_solver};

const nay_family nay__family_fuse = {
    .kind = NAY_FUSE,
    .name = "fuse",
    .plan = fuse_plan,
    .payload = nay__fuse_payload,
    .fpr = nay__fuse_fpr,
    .check = fuse_check,
    .census = nay__fuse_census,
    .bind = nay__fuse_bind,
    .test = nay__fuse_test,
    .explain = nay__fuse_explain,
    .probe_addresses = nay__fuse_probe_addresses,
    .batch = &nay__fuse_batch,
    .bulk = &nay__fuse_bulk,
};

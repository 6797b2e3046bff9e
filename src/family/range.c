/*
 * range.c - range filters: a hash that keeps near numbers near, and the sorted hashes in few bits
 * (Costa, Ferragina, Vinciguerra: "Grafite: taming adversarial queries with optimal range filters",
 * SIGMOD 2024).
 *
 * Numbers are cut into blocks of 2^b; r is between 2^b and 2^(b + 1), and need be no power of two.
 * The hash sends a block as a whole to a random place of a circle of r locations:
 *
 *   h(x) = (q(x >> b) + (x mod 2^b)) mod r          q(j): the block's hash, reduced to [0, r)
 *
 *   numbers  ...|......b......|......c......|...        circle  0 ...[....c....]...[....b....]... r
 *
 * A range inside a block is an arc of the circle, one across the border of two blocks is two arcs,
 * each computed from its own block; a longer range is a maybe. Every key of the range lies on its
 * arcs: no false nay. A key of another block lies on an arc of l locations with probability l / r:
 * the false-positive rate (FPR) of a range of l numbers is at most n * l / r, whatever the keys and
 * the range, as long as neither knows the seed. Keys of one block never collide. So
 * r = n * range_length / fpr, and the sorted locations take log2(range_length / fpr) + 1.98 to 2.09
 * bits for each key (range_values.c). A lower bound is log2(range_length / fpr) - O(1).
 *
 * Behind a prefix a block is known by prefix and number: q hashes both. Numbers of two prefixes are
 * numbers of two blocks, and the same proof holds.
 *
 * Where all numbers, without prefixes, span less than r, the filter stores the numbers themselves,
 * less the least one: it is exact.
 *
 * Bytes: doc/families/range.md. Cost: three or four cache lines for a range.
 */
#include "family/range.h"

#include "family/explain.h"
#include "math/elementary.h"
#include "math/plan.h"

/* ---- params and shape ---- */

#define RANGE_FLAGS (NAY_STORE_KEY | NAY_NO_VERIFY | NAY_SMALL_PAGES | NAY_LOW_MEMORY)
#define RANGE_OVERHEAD 2.1 /* bits of a key beyond log2(r / n): range_values.c */
#define RANGE_FIXED 160u   /* bytes: the head, and what rounding up adds to the parts */
#define RANGE_MANTISSA 26u

nay_status nay__range_params(const nay_params *p, nay_diag *diag) {
  nay_params one = *p;
  nay_sizing sizing;
  if (one.nkeys == 0) one.nkeys = 1;
  NAY_TRY(nay__params_check(&one, diag, &sizing));
  NAY_TRY(nay__params_knobs(p, NAY_KNOB_RANGE, diag));
  if (sizing == NAY_BY_NBITS) {
    return nay__fail(diag, NAY_EINVAL, "nbits: a range filter has fpr, bits_per_key or nbytes", 0);
  }
  if (p->range_length == 0) {
    return nay__fail(diag, NAY_EINVAL, "range_length is 0: say how long the longest range is", 0);
  }
  if (p->range_keys > NAY_RANGE_DECIMAL) {
    return nay__fail(diag, NAY_EINVAL, "range_keys is not a form of keys", 0);
  }
  if (p->range_delimiter > 255) {
    return nay__fail(diag, NAY_EINVAL, "range_delimiter is not a byte", 0);
  }
  if (p->k != 0) return nay__fail(diag, NAY_EINVAL, "k: a range filter has none", 0);
  if (p->fold != 0) return nay__fail(diag, NAY_EINVAL, "fold: a range filter does not fold", 0);
  if (p->hash == NAY_HASH_CALLER) {
    return nay__fail(diag, NAY_EINVAL, "hash: a range filter hashes parts of keys itself", 0);
  }
  if ((p->flags & ~RANGE_FLAGS) != 0) {
    return nay__fail(diag, NAY_EINVAL, "flags: not one of a range filter", 0);
  }
  return NAY_OK;
}

/* The least length with 26 significant bits that is not below `length`. */
static uint32_t range_length_code(uint64_t length) {
  unsigned shift = 0;
  while (length >> RANGE_MANTISSA != 0) {
    length = (length >> 1) + (length & 1);
    shift++;
  }
  return (uint32_t)shift << RANGE_MANTISSA | (uint32_t)length;
}

/*
 * How many locations; 0: too many, or too few. By an FPR a block is longer than any range of the
 * plan. By a budget the FPR of such a range has to be below 1.
 */
static uint64_t range_locations(const nay_params *p, uint64_t n, double length) {
  double keys = (double)n, r, bits = p->bits_per_key;
  if (p->nbytes != 0) {
    if (p->nbytes <= RANGE_FIXED) return 0;
    bits = (double)(p->nbytes - RANGE_FIXED) * 8 / keys;
  }
  if (p->fpr > 0) {
    r = keys * length / p->fpr;
    if (r < 2 * length) r = 2 * length;
  } else {
    if (bits < RANGE_OVERHEAD || bits > 64) return 0;
    r = keys * nay__exp((bits - RANGE_OVERHEAD) * NAY_LN2);
    if (r < 2 * length || r <= keys * length) return 0;
  }
  if (!(r < (double)NAY_RANGE_MAX_UNITS)) return 0;
  uint64_t whole = (uint64_t)r;
  return (double)whole < r && p->fpr > 0 ? whole + 1 : whole;
}

nay_status nay__range_shape(const nay_params *p, uint64_t n, nay_diag *diag, nay_shape *shape) {
  NAY_TRY(nay__range_params(p, diag));
  if (n > NAY_RANGE_MAX_VALUES) return nay__fail(diag, NAY_EINVAL, "nkeys: above 2^32 - 1", 0);
  uint32_t code = range_length_code(p->range_length);
  uint64_t r = range_locations(p, nay__max_u64(n, 1), (double)nay__range_length_of(code));
  if (r == 0 && p->fpr > 0) {
    return nay__fail(diag, NAY_EINVAL,
                     "fpr: nkeys * range_length / fpr is above 2^62: take shorter ranges", 0);
  }
  if (r == 0) {
    return nay__fail(diag, NAY_EINVAL,
                     "the budget does not fit: a range filter takes more than "
                     "log2(range_length) + 2.1 bits for each key, and at most 2^62 locations",
                     0);
  }
  *shape = (nay_shape){r, code, p->range_keys | p->range_delimiter << 8};
  return NAY_OK;
}

static nay_status range_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  NAY_TRY(nay__range_params(p, diag));
  if (p->nkeys == 0) {
    return nay__fail(diag, NAY_EINVAL, "nkeys is 0: say how many keys you will add", 0);
  }
  return nay__range_shape(p, p->nkeys, diag, shape);
}

/* Of a range as long as the plan's: nkeys * length / r. */
static double range_fpr(const nay_shape *shape, uint64_t nkeys) {
  double fpr = (double)nkeys * (double)nay__range_length_of(shape->k) / (double)shape->nunits;
  return fpr < 1 ? fpr : 1;
}

/* The payload of n keys. */
static uint64_t range_nbytes(const nay_shape *shape, uint64_t n) {
  nay_range_head head = {.nvalues = n, .last = shape->nunits - 1};
  nay_range_parts parts;
  if (n > shape->nunits) head.nvalues = shape->nunits;
  head.low_bits = nay__range_low_bits(head.nvalues, head.last);
  return nay__range_parts(&head, &parts) ? parts.end : 0;
}

#define RANGE_BUILD_BYTES 16u /* of memory for each key of a build */

static void range_extend_plan(const nay_params *p, const nay_shape *shape, nay_plan *plan) {
  uint64_t bound = plan->nbytes;
  plan->k = 1;
  plan->nbytes = range_nbytes(shape, p->nkeys);
  plan->nbits = plan->nbytes * 8;
  plan->bits_per_key = (double)plan->nbits / (double)p->nkeys;
  plan->nbytes_file -= bound - plan->nbytes;
  plan->nbytes_build -= bound - plan->nbytes;
  plan->nbytes_build += p->nkeys * RANGE_BUILD_BYTES;
}

/* ---- payload ---- */

/* The most that a filter of this shape has: the plan and the head know how many values there are.
 */
static bool range_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  nay_range_form form = nay__range_form_of(shape);
  if (shape->nunits < 2 || shape->nunits > NAY_RANGE_MAX_UNITS || shape->extra >> 16 != 0) {
    return false;
  }
  if (nay__range_length_of(shape->k) == 0 || shape->k >> RANGE_MANTISSA > 64 - RANGE_MANTISSA) {
    return false;
  }
  if (form.keys > NAY_RANGE_DECIMAL) return false;
  *nbytes = range_nbytes(shape, nay__min_u64(shape->nunits, NAY_RANGE_MAX_VALUES));
  *nbits = *nbytes * 8;
  return *nbytes != 0;
}

typedef struct range_view {
  const uint8_t *payload;
  nay_range_head head;
  nay_range_parts parts;
} range_view;

static void range_open(const uint8_t *payload, range_view *v) {
  v->payload = payload;
  nay__range_head_load(payload, &v->head);
  nay__range_layout(&v->head, &v->parts); /* range_check has seen it */
}

static nay_status range_bad(nay_diag *diag, const char *what, uint64_t offset) {
  return nay__fail(diag, NAY_ECORRUPT, what, offset);
}

/* The upper bits, the counts and the order of the values. */
static nay_status range_check_values(const range_view *v, nay_diag *diag) {
  const nay_range_parts *p = &v->parts;
  uint64_t nwords = nay__ceil_div(p->nupper, 64), ones = 0;
  for (uint64_t i = 0; i < nwords; i++) {
    ones += nay__popcount64(nay__load64le(v->payload + p->upper + i * 8));
  }
  uint64_t spare = nwords * 64 - p->nupper;
  const uint8_t *top = v->payload + p->upper + nwords * 8 - 8;
  if (ones != v->head.nvalues || (spare != 0 && nay__load64le(top) >> (64 - spare) != 0) ||
      (nay__load64le(top) >> ((p->nupper - 1) & 63) & 1) != 0) {
    return range_bad(diag, "the upper bits are not as many as the values", p->upper);
  }
  nay_range_reader r;
  nay__range_reader_start(&r, v->payload);
  uint64_t value, before = 0;
  while (nay__range_reader_next(&r, &value)) {
    if (value > v->head.last || (r.i > 1 && value <= before)) {
      return range_bad(diag, "the values are not ascending", p->low);
    }
    before = value;
  }
  return NAY_OK;
}

/* The counts, and the padding: what a writer would have written. */
static nay_status range_check_counts(const range_view *v, nay_diag *diag) {
  const nay_range_parts *p = &v->parts;
  if (!nay__range_counts(v->payload, p, NULL))
    return range_bad(diag, "a count is wrong", p->supers);
  uint64_t groups_end =
      p->groups + nay__ceil_div(p->nbuckets, (uint64_t)1 << NAY_RANGE_GROUP_LOG) * 2;
  uint64_t samples_end = p->samples + ((p->nupper >> NAY_RANGE_SAMPLE_LOG) + 1) * 4;
  uint64_t low_bits = v->head.nvalues * v->head.low_bits;
  const uint8_t *word = v->payload + p->low + low_bits / 64 * 8;
  uint64_t others_end = p->others + v->head.others_min_len + v->head.others_max_len;
  if (!nay__all_zero(v->payload + groups_end, (size_t)(p->samples - groups_end)) ||
      !nay__all_zero(v->payload + samples_end, (size_t)(p->low - samples_end)) ||
      nay__load64le(word) >> (low_bits & 63) != 0 ||
      !nay__all_zero(word + 8, (size_t)(v->payload + p->others - (word + 8))) ||
      !nay__all_zero(v->payload + others_end, (size_t)(p->end - others_end))) {
    return range_bad(diag, "padding is not zero", samples_end);
  }
  return NAY_OK;
}

static nay_status range_check_head(const nay_shape *shape, const range_view *v, nay_diag *diag) {
  const nay_range_head *h = &v->head;
  const uint8_t *rest = v->payload + NAY_RANGE_HEAD_USED;
  if (v->payload[22] > 1 || v->payload[23] > 1 ||
      !nay__all_zero(rest, NAY_RANGE_HEAD - NAY_RANGE_HEAD_USED)) {
    return range_bad(diag, "a reserved field is not zero", 22);
  }
  if (h->exact) {
    bool fits = h->last < shape->nunits && h->last <= UINT64_MAX - h->base && h->shift == 0;
    bool plain = h->forms.prefix_min == 0 && h->forms.prefix_max == 0;
    if (!fits || !plain || h->nvalues == 0) return range_bad(diag, "not an exact filter", 0);
  } else if (h->base != 0 || h->shift > 62 || h->last != (shape->nunits - 1) >> h->shift) {
    return range_bad(diag, "the greatest location is not that of the shape", 8);
  }
  bool none = h->forms.prefix_min > h->forms.prefix_max;
  if (none != (h->nvalues == 0)) return range_bad(diag, "prefixes without keys", 24);
  bool decimal = nay__range_form_of(shape).keys == NAY_RANGE_DECIMAL;
  bool digits = none ? h->forms.digits_min == UINT32_MAX && h->forms.digits_max == 0
                     : h->forms.digits_min <= h->forms.digits_max &&
                           (decimal ? h->forms.digits_min != 0 : h->forms.digits_max == 0);
  if (!digits) return range_bad(diag, "numbers of digits that no keys have", 40);
  if (!h->others && h->others_min_len + h->others_max_len != 0) {
    return range_bad(diag, "bounds of other keys, and no such key", 23);
  }
  return NAY_OK;
}

static nay_status range_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                              nay_diag *diag) {
  range_view v = {.payload = payload};
  if (len < NAY_RANGE_HEAD) return range_bad(diag, "shorter than its head", len);
  nay__range_head_load(payload, &v.head);
  if (!nay__range_parts(&v.head, &v.parts)) return range_bad(diag, "impossible numbers", 0);
  if (v.parts.end != len) return range_bad(diag, "the length does not fit the head", 0);
  NAY_TRY(range_check_head(shape, &v, diag));
  NAY_TRY(range_check_values(&v, diag));
  return range_check_counts(&v, diag);
}

/* A range of l numbers meets (l - 1) / 2^shift + 1 cells of 2^shift numbers, on average. */
double nay__range_rate(const nay_shape *shape, const nay_range_head *h) {
  double length = (double)nay__range_length_of(shape->k);
  double numbers = length - 1 + (double)((uint64_t)1 << h->shift);
  double fpr = h->exact ? 0 : (double)h->nvalues * numbers / (double)shape->nunits;
  return fpr < 1 ? fpr : 1;
}

static void range_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                         nay_census *census) {
  range_view v;
  (void)b, (void)factor; /* merging is a join, and there is no fold */
  range_open(a->bits.bytes, &v);
  uint64_t nbits = (uint64_t)a->nbytes * 8;
  double keys = (double)v.head.nvalues; /* others are not counted */
  if (v.head.others && keys == 0) keys = 1;
  double fpr = nay__range_rate(&a->shape, &v.head);
  *census = (nay_census){nbits, nbits, {keys, 0, false}, fpr};
}

static void range_describe(const nay_filter *f, nay_stats *stats) {
  range_view v;
  range_open(f->bits.bytes, &v);
  stats->k = 1;
  stats->range_length = nay__range_length_of(f->shape.k);
  stats->range_block = (uint64_t)1 << nay__log2_64(f->shape.nunits);
  stats->range_exact = v.head.exact && !v.head.others;
  stats->range_shift = v.head.shift;
}

/* ---- questions ---- */

/* nay_filter.derived: what a question needs of the head. */
enum { RANGE_SUPERS, RANGE_GROUPS, RANGE_LOW, RANGE_BASE, RANGE_PACKED, RANGE_NDERIVED };
_Static_assert(RANGE_NDERIVED <= NAY_NDERIVED, "the handle has no room for it");

/* RANGE_PACKED: low_bits, shift and the bits of a block in a byte each, then */
#define RANGE_SHIFT_AT 8u
#define RANGE_BLOCK_AT 16u
#define RANGE_HAS_VALUES ((uint64_t)1 << 24)
#define RANGE_IS_EXACT ((uint64_t)1 << 25)
#define RANGE_IS_PLAIN ((uint64_t)1 << 26) /* no prefix and no other key: 8 bytes are a number */
#define RANGE_IS_WIDE ((uint64_t)1 << 27)  /* more low bits than kernels take */

void nay__range_bind(nay_filter *f) {
  range_view v = {.payload = f->bits.bytes};
  memset(f->derived, 0, sizeof f->derived);
  if (f->nbytes < NAY_RANGE_HEAD) return;
  nay__range_head_load(v.payload, &v.head);
  if (!nay__range_parts(&v.head, &v.parts)) return; /* range_check refuses it */
  const nay_range_head *h = &v.head;
  f->derived[RANGE_SUPERS] = v.parts.supers;
  f->derived[RANGE_GROUPS] = v.parts.groups;
  f->derived[RANGE_LOW] = v.parts.low;
  f->derived[RANGE_BASE] = h->base;
  f->derived[RANGE_PACKED] = h->low_bits | h->shift << RANGE_SHIFT_AT |
                             nay__log2_64(f->shape.nunits | 1) << RANGE_BLOCK_AT |
                             (h->nvalues != 0 ? RANGE_HAS_VALUES : 0) |
                             (h->exact ? RANGE_IS_EXACT : 0) |
                             (!h->others && h->forms.prefix_max == 0 ? RANGE_IS_PLAIN : 0) |
                             (h->low_bits > NAY_RANGE_MAX_FAST_LOW ? RANGE_IS_WIDE : 0);
}

/* A filter as questions see it. */
typedef struct range_asked {
  const nay_filter *f;
  nay_range_index index;
  nay_range_map map;
  uint64_t base, packed;
  unsigned shift;
} range_asked;

NAY_INLINE range_asked range_ask(const nay_filter *f) {
  const uint8_t *payload = f->bits.bytes;
  const uint64_t *d = f->derived;
  uint64_t packed = d[RANGE_PACKED];
  return (range_asked){.f = f,
                       .index = {payload + NAY_RANGE_HEAD, payload + d[RANGE_SUPERS],
                                 payload + d[RANGE_GROUPS], payload + d[RANGE_LOW],
                                 (f->nbytes - NAY_RANGE_HEAD) / 8, packed & 0xff, f->bits.in_cache},
                       .map = {&f->hasher, f->shape.nunits, packed >> RANGE_BLOCK_AT & 0xff},
                       .base = d[RANGE_BASE],
                       .packed = packed,
                       .shift = packed >> RANGE_SHIFT_AT & 0xff};
}

static uint64_t range_last(const nay_filter *f) { return nay__load64le(f->bits.bytes + 8); }

static NAY_NOINLINE bool range_any_slow(const range_asked *q, uint64_t lo, uint64_t hi) {
  return nay__range_any(q->f->bits.bytes, lo, hi);
}

/* Whether a value is in [lo, hi]. */
NAY_INLINE bool range_any(const range_asked *q, uint64_t lo, uint64_t hi) {
  nay_range_found found = NAY_RANGE_LEFT;
  if (NAY_LIKELY((q->packed & RANGE_IS_WIDE) == 0)) {
    found = q->f->kernels->range->any(&q->index, lo, hi);
  }
  return NAY_LIKELY(found != NAY_RANGE_LEFT) ? found == NAY_RANGE_SOME : range_any_slow(q, lo, hi);
}

/* An arc around location 0. */
static NAY_NOINLINE bool range_wraps(const range_asked *q, uint64_t x, uint64_t y) {
  return range_any(q, x >> q->shift, range_last(q->f)) ||
         range_any(q, 0, (y - q->map.r) >> q->shift);
}

/* Numbers [a, b] of one block. */
NAY_INLINE bool range_arc(const range_asked *q, bool has_prefix, uint64_t prefix, uint64_t a,
                          uint64_t b) {
  uint64_t x = nay__range_place(&q->map, has_prefix, prefix, a), y = x + (b - a);
  if (NAY_LIKELY(y < q->map.r)) return range_any(q, x >> q->shift, y >> q->shift);
  return range_wraps(q, x, y);
}

/* The values that an exact filter has between two numbers; false: none. */
NAY_INLINE bool range_exact_values(const range_asked *q, bool has_prefix, uint64_t a, uint64_t b,
                                   uint64_t *lo, uint64_t *hi) {
  uint64_t base = q->base, last = range_last(q->f);
  if (has_prefix || b < base || (a > base && a - base > last)) return false;
  *lo = a > base ? a - base : 0;
  *hi = nay__min_u64(b - base, last);
  return true;
}

/* Exact filters; ranges over the border of blocks, and longer ones. */
static NAY_NOINLINE bool range_numbers_rare(const range_asked *q, bool has_prefix, uint64_t prefix,
                                            uint64_t a, uint64_t b) {
  if ((q->packed & RANGE_HAS_VALUES) == 0) return false;
  if ((q->packed & RANGE_IS_EXACT) != 0) {
    uint64_t lo, hi;
    return range_exact_values(q, has_prefix, a, b, &lo, &hi) && range_any(q, lo, hi);
  }
  uint64_t first = a >> q->map.block_bits, last = b >> q->map.block_bits;
  if (last - first > 1) return true;
  uint64_t border = last << q->map.block_bits;
  return range_arc(q, has_prefix, prefix, a, border - 1) ||
         range_arc(q, has_prefix, prefix, border, b);
}

/* Whether numbers [a, b] are an arc, or two around location 0. */
NAY_INLINE bool range_is_arc(const range_asked *q, uint64_t a, uint64_t b) {
  return (q->packed & (RANGE_HAS_VALUES | RANGE_IS_EXACT)) == RANGE_HAS_VALUES &&
         a >> q->map.block_bits == b >> q->map.block_bits;
}

/* Numbers [a, b] behind a prefix. */
NAY_INLINE bool range_numbers(const range_asked *q, bool has_prefix, uint64_t prefix, uint64_t a,
                              uint64_t b) {
  return NAY_LIKELY(range_is_arc(q, a, b)) ? range_arc(q, has_prefix, prefix, a, b)
                                           : range_numbers_rare(q, has_prefix, prefix, a, b);
}

/* ---- batches ---- */

/* Up to 64 ranges: those that a kernel takes are gathered, the others answered at once. */
typedef struct range_group {
  uint64_t lo[NAY_RANGE_GROUP], hi[NAY_RANGE_GROUP]; /* of values */
  uint8_t at[NAY_RANGE_GROUP];                       /* which range of the group it is */
  unsigned n;
  uint64_t answers;
} range_group;

NAY_INLINE void range_gather(const range_asked *q, range_group *g, unsigned i, bool has_prefix,
                             uint64_t prefix, uint64_t a, uint64_t b) {
  uint64_t lo, hi;
  if (NAY_LIKELY(range_is_arc(q, a, b))) {
    lo = nay__range_place(&q->map, has_prefix, prefix, a);
    hi = lo + (b - a);
    if (NAY_UNLIKELY(hi >= q->map.r)) {
      g->answers |= (uint64_t)range_wraps(q, lo, hi) << i;
      return;
    }
    lo >>= q->shift;
    hi >>= q->shift;
  } else if ((q->packed & RANGE_IS_EXACT) == 0) {
    g->answers |= (uint64_t)range_numbers_rare(q, has_prefix, prefix, a, b) << i;
    return;
  } else if (!range_exact_values(q, has_prefix, a, b, &lo, &hi)) {
    return;
  }
  g->lo[g->n] = lo;
  g->hi[g->n] = hi;
  g->at[g->n++] = (uint8_t)i;
}

static uint64_t range_answer(const range_asked *q, range_group *g) {
  uint64_t some = 0, left = ~(uint64_t)0, all = g->answers;
  if (g->n == 0) return all;
  if (NAY_LIKELY((q->packed & RANGE_IS_WIDE) == 0)) {
    some = q->f->kernels->range->any64(&q->index, g->lo, g->hi, g->n, &left);
  }
  if (NAY_LIKELY(left == 0 && g->n == NAY_RANGE_GROUP)) return some;
  for (unsigned i = 0; i < g->n; i++) {
    bool maybe = (left >> i & 1) != 0 ? range_any_slow(q, g->lo[i], g->hi[i]) : some >> i & 1;
    all |= (uint64_t)maybe << g->at[i];
  }
  return all;
}

/* ---- keys as bytes ---- */

static int range_compare(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len) {
  size_t n = a_len < b_len ? a_len : b_len;
  int c = n != 0 ? memcmp(a, b, n) : 0;
  return c != 0 ? c : (a_len > b_len) - (a_len < b_len);
}

static size_t range_cut(size_t len) { return len < NAY_RANGE_OTHER ? len : NAY_RANGE_OTHER; }

/* Whether a key without a number may lie between two keys; of each its first 255 bytes are kept. */
static bool range_others(const nay_filter *f, const nay_range_ends *e) {
  range_view v;
  range_open(f->bits.bytes, &v);
  const nay_range_head *h = &v.head;
  const uint8_t *least = v.payload + v.parts.others, *most = least + h->others_min_len;
  if (!h->others) return false;
  return range_compare(e->lo, range_cut(e->lo_len), most, h->others_max_len) <= 0 &&
         range_compare(e->hi, range_cut(e->hi_len), least, h->others_min_len) >= 0;
}

/* What a range of keys asks: numbers [a, b] behind a prefix, or its answer is known. */
typedef struct range_keys {
  bool known, maybe, has_prefix;
  uint64_t prefix, a, b;
} range_keys;

static nay_status range_split_ends(const range_asked *q, const nay_range_ends *e, range_keys *k) {
  const nay_filter *f = q->f;
  nay_range_form form = nay__range_form_of(&f->shape);
  nay_range_key_parts a, b;
  nay_range_ends ends = *e;
  int order = range_compare(e->lo, e->lo_len, e->hi, e->hi_len);
  bool split =
      nay__range_split(form, e->lo, e->lo_len, &a) && nay__range_split(form, e->hi, e->hi_len, &b);
  bool one = split && range_compare(e->lo, a.prefix_len, e->hi, b.prefix_len) == 0;
  bool numeric = one && form.keys == NAY_RANGE_DECIMAL;
  if (numeric ? a.number > b.number : order > 0) return NAY_EINVAL;
  if (order > 0) ends = (nay_range_ends){e->hi, e->lo, e->hi_len, e->lo_len}; /* in bytes */
  bool has_values = (q->packed & RANGE_HAS_VALUES) != 0;
  *k = (range_keys){.known = true};
  if ((q->packed & RANGE_IS_PLAIN) == 0 && range_others(f, &ends)) {
    k->maybe = true;
    return NAY_OK;
  }
  nay_range_head head;
  nay__range_head_load(f->bits.bytes, &head);
  if (!one || !nay__range_in_order(&head.forms, form, e->lo, a.prefix_len)) {
    k->maybe = has_values;
    return NAY_OK;
  }
  k->known = false;
  k->has_prefix = a.prefix_len != 0;
  k->prefix = nay__range_prefix(&f->hasher, e->lo, a.prefix_len);
  k->a = a.number;
  k->b = b.number;
  return NAY_OK;
}

nay_status nay__range_ask_scan(const nay_filter *f, const nay_range_ends *e, bool *maybe) {
  range_asked q = range_ask(f);
  nay_range_form form = nay__range_form_of(&f->shape);
  nay_range_key_parts a, b;
  int order = range_compare(e->lo, e->lo_len, e->hi, e->hi_len);
  if (order > 0) return NAY_EINVAL;
  bool has_values = (q.packed & RANGE_HAS_VALUES) != 0;
  *maybe = true;
  if (order == 0) {
    *maybe = false;
    return NAY_OK;
  }
  if ((q.packed & RANGE_IS_PLAIN) == 0 && range_others(f, e)) return NAY_OK;
  if (!nay__range_split(form, e->lo, e->lo_len, &a) ||
      !nay__range_split(form, e->hi, e->hi_len, &b) || a.number >= b.number ||
      range_compare(e->lo, a.prefix_len, e->hi, b.prefix_len) != 0) {
    *maybe = has_values;
    return NAY_OK;
  }
  nay_range_head head;
  nay__range_head_load(f->bits.bytes, &head);
  if (!nay__range_in_byte_order(&head.forms, form, e->lo, &a, &b)) {
    *maybe = has_values;
    return NAY_OK;
  }
  uint64_t prefix = nay__range_prefix(&f->hasher, e->lo, a.prefix_len);
  *maybe = range_numbers(&q, a.prefix_len != 0, prefix, a.number, b.number - 1);
  return NAY_OK;
}

nay_status nay__range_ask(const nay_filter *f, const nay_range_ends *ranges, unsigned n,
                          uint64_t *answers) {
  range_asked q = range_ask(f);
  range_group g;
  range_keys k;
  if (n == 1) {
    NAY_TRY(range_split_ends(&q, ranges, &k));
    *answers = k.known ? k.maybe : range_numbers(&q, k.has_prefix, k.prefix, k.a, k.b);
    return NAY_OK;
  }
  g.n = 0;
  g.answers = 0;
  for (unsigned i = 0; i < n; i++) {
    NAY_TRY(range_split_ends(&q, &ranges[i], &k));
    if (k.known) {
      g.answers |= (uint64_t)k.maybe << i;
    } else {
      range_gather(&q, &g, i, k.has_prefix, k.prefix, k.a, k.b);
    }
  }
  *answers = range_answer(&q, &g);
  return NAY_OK;
}

/* Keys of other lengths, or others, beside those of 8 bytes. */
static NAY_NOINLINE uint64_t range_ask_mixed(const nay_filter *f, const uint64_t *lo,
                                             const uint64_t *hi, unsigned n) {
  uint8_t a[NAY_RANGE_GROUP][8], b[NAY_RANGE_GROUP][8];
  nay_range_ends ends[NAY_RANGE_GROUP];
  uint64_t answers = ~(uint64_t)0;
  for (unsigned i = 0; i < n; i++) {
    ends[i] = (nay_range_ends){nay_range_key(lo[i], a[i]), nay_range_key(hi[i], b[i]), 8, 8};
  }
  (void)nay__range_ask(f, ends, n, &answers);
  return answers;
}

uint64_t nay__range_ask_numbers(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                unsigned n) {
  range_asked q = range_ask(f);
  if (NAY_UNLIKELY((q.packed & RANGE_IS_PLAIN) == 0)) return range_ask_mixed(f, lo, hi, n);
  if (n == 1) return range_numbers(&q, false, 0, *lo, *hi);
  range_group g;
  g.n = 0;
  g.answers = 0;
  for (unsigned i = 0; i < n; i++) range_gather(&q, &g, i, false, 0, lo[i], hi[i]);
  return range_answer(&q, &g);
}

/* ---- keys as points ---- */

static void range_split_key(const range_asked *q, const void *key, size_t len, range_keys *k) {
  nay_range_key_parts parts;
  *k = (range_keys){.known = true};
  if (!nay__range_split(nay__range_form_of(&q->f->shape), key, len, &parts)) {
    k->maybe = (q->packed & RANGE_IS_PLAIN) == 0 &&
               range_others(q->f, &(nay_range_ends){key, key, len, len});
    return;
  }
  *k = (range_keys){.has_prefix = parts.prefix_len != 0,
                    .prefix = nay__range_prefix(&q->f->hasher, key, parts.prefix_len),
                    .a = parts.number,
                    .b = parts.number};
}

static nay_status range_test_key(const nay_filter *f, const void *key, size_t len, bool *maybe) {
  NAY_TRY(nay__hasher_ready(&f->hasher));
  range_asked q = range_ask(f);
  range_keys k;
  range_split_key(&q, key, len, &k);
  *maybe = k.known ? k.maybe : range_numbers(&q, k.has_prefix, k.prefix, k.a, k.b);
  return NAY_OK;
}

static uint64_t range_test_keys(const nay_filter *f, const void *const *keys, const size_t *lens,
                                unsigned n) {
  range_asked q = range_ask(f);
  range_group g;
  g.n = 0;
  g.answers = 0;
  for (unsigned i = 0; i < n; i++) {
    range_keys k;
    range_split_key(&q, keys[i], lens[i], &k);
    if (k.known) {
      g.answers |= (uint64_t)k.maybe << i;
    } else {
      range_gather(&q, &g, i, k.has_prefix, k.prefix, k.a, k.b);
    }
  }
  return range_answer(&q, &g);
}

/* The value that decides; of an empty bucket, or of values without low bits, the upper bit that
 * would be the value's. */
static void range_explain_value(const nay_filter *f, uint64_t value, nay_explain_run *run) {
  nay_range_head h;
  nay__range_head_load(f->bits.bytes, &h);
  nay_range_where w = nay__range_find(f->bits.bytes, value);
  uint64_t n = w.end - w.first, bits = h.low_bits, first = w.upper - n;
  nay__explain_group(run, 0, 1);
  if (n == 0 || bits == 0) {
    nay__explain_bit(run, &(nay_explain_unit){"bucket", w.bucket, first, n + 1}, 0, 0);
    return;
  }
  nay_explain_unit unit = {"bucket", w.bucket, w.lows + w.first * bits, n * bits};
  nay__explain_step(run, &unit,
                    (nay_explain_step){.kind = NAY_STEP_VALUE,
                                       .bit = w.lows + w.at * bits,
                                       .nbits = h.low_bits,
                                       .found = w.low,
                                       .expected = value & (((uint64_t)1 << bits) - 1)});
}

static void range_explain_key(const nay_filter *f, const void *key, size_t len,
                              nay_explain_run *run) {
  range_asked q = range_ask(f);
  range_keys k;
  range_split_key(&q, key, len, &k);
  bool some = !k.known && (q.packed & RANGE_HAS_VALUES) != 0;
  uint64_t value = 0, high;
  if (some && (q.packed & RANGE_IS_EXACT) != 0) {
    some = range_exact_values(&q, k.has_prefix, k.a, k.a, &value, &high);
  } else if (some) {
    value = nay__range_place(&q.map, k.has_prefix, k.prefix, k.a) >> q.shift;
  }
  run->what.word = value;
  if (some) {
    range_explain_value(f, value, run);
  } else {
    nay__explain_constant(run, 0, k.known && k.maybe);
  }
}

/* ---- one hash: a range filter cannot answer for it ---- */

static bool range_test(const nay_filter *f, nay_hash h) {
  (void)h;
  range_view v;
  range_open(f->bits.bytes, &v);
  return v.head.nvalues != 0 || v.head.others;
}

static void range_explain(const nay_filter *f, nay_hash h, nay_explain_run *run) {
  nay__explain_constant(run, 0, range_test(f, h));
}

static const nay_family_order range_order = {
    .test = range_test_key, .test_many = range_test_keys, .explain = range_explain_key};

static const nay_family_algebra range_algebra = {.join = nay__range_join,
                                                 .shrink_to = nay__range_shrink};

const nay_family nay__family_range = {
    .kind = NAY_RANGE,
    .name = "range",
    .traits = NAY_CAN_RANGE | NAY_CAN_MERGE,
    .knobs = NAY_KNOB_RANGE,
    .self_sized = true,
    .plan = range_plan,
    .payload = range_payload,
    .fpr = range_fpr,
    .extend_plan = range_extend_plan,
    .check = range_check,
    .census = range_census,
    .describe = range_describe,
    .bind = nay__range_bind,
    .test = range_test,
    .explain = range_explain,
    .batch = &nay__batch_each,
    .algebra = &range_algebra,
    .order = &range_order,
};

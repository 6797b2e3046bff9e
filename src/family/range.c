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
 * r = n * range_length / fpr, and the sorted locations take log2(range_length / fpr) + 2.02 to 2.11
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
#define RANGE_OVERHEAD 2.11 /* bits of a key beyond log2(r / n): range_values.c */
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

/* How many locations; 0: too many. */
static uint64_t range_locations(const nay_params *p, uint64_t n, double length) {
  double keys = (double)n, r, bits = p->bits_per_key;
  if (p->nbytes != 0) {
    if (p->nbytes <= NAY_RANGE_HEAD) return 0;
    bits = (double)(p->nbytes - NAY_RANGE_HEAD) * 8 / keys;
  }
  if (p->fpr > 0) {
    r = keys * length / p->fpr;
  } else {
    if (bits < RANGE_OVERHEAD) return 0;
    if (bits > 64) return 0;
    r = keys * nay__exp((bits - RANGE_OVERHEAD) * NAY_LN2);
  }
  if (r < 2 * length) r = 2 * length; /* a block is longer than any range of the plan */
  if (!(r < (double)NAY_RANGE_MAX_UNITS)) return 0;
  uint64_t whole = (uint64_t)r;
  return (double)whole < r ? whole + 1 : whole;
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
                     "a range filter takes 2.11 bits for each key, and at most "
                     "2^62 locations: too few bits, or too many",
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
  (void)nay__range_parts(&v->head, &v->parts); /* range_check has seen it */
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
  uint64_t ones = 0, bucket = 0, group = 0;
  for (uint64_t i = 0; i <= p->nupper; i++) {
    if (i % NAY_RANGE_SAMPLE_BITS == 0 &&
        nay__load32le(v->payload + p->samples + i / NAY_RANGE_SAMPLE_BITS * 4) != ones) {
      return range_bad(diag, "a count of ones is wrong", p->samples);
    }
    if (bucket == group * NAY_RANGE_GROUP_BUCKETS) {
      if (nay__load32le(v->payload + p->groups + group * 4) != ones) {
        return range_bad(diag, "a count of values is wrong", p->groups);
      }
      group++;
    }
    if (i == p->nupper) break;
    bool one = (v->payload[p->upper + (i >> 3)] >> (i & 7) & 1) != 0;
    ones += one;
    bucket += !one;
  }
  if (group != (p->samples - p->groups) / 4 &&
      nay__load32le(v->payload + p->groups + group * 4) != ones) {
    return range_bad(diag, "a count of values is wrong", p->groups);
  }
  uint64_t samples_end = p->samples + (p->nupper / NAY_RANGE_SAMPLE_BITS + 1) * 4;
  uint64_t low_bits = v->head.nvalues * v->head.low_bits;
  const uint8_t *word = v->payload + p->low + low_bits / 64 * 8;
  uint64_t others_end = p->others + v->head.others_min_len + v->head.others_max_len;
  if (!nay__all_zero(v->payload + samples_end, (size_t)(p->low - samples_end)) ||
      nay__load64le(word) >> (low_bits & 63) != 0 ||
      !nay__all_zero(word + 8, (size_t)(v->payload + p->others - (word + 8))) ||
      !nay__all_zero(v->payload + others_end, (size_t)(p->end - others_end))) {
    return range_bad(diag, "padding is not zero", samples_end);
  }
  return NAY_OK;
}

static nay_status range_check_head(const nay_shape *shape, const range_view *v, nay_diag *diag) {
  const nay_range_head *h = &v->head;
  uint32_t exact = nay__load32le(v->payload + 40);
  if (exact > 1 || !nay__all_zero(v->payload + 76, NAY_RANGE_HEAD - 76)) {
    return range_bad(diag, "a reserved field is not zero", 76);
  }
  if (h->exact) {
    bool fits = h->last < shape->nunits && h->last <= UINT64_MAX - h->base && h->shift == 0;
    bool plain = h->forms.prefix_min == 0 && h->forms.prefix_max == 0;
    if (!fits || !plain || h->nvalues == 0) return range_bad(diag, "not an exact filter", 16);
  } else if (h->base != 0 || h->shift > 62 || h->last != (shape->nunits - 1) >> h->shift) {
    return range_bad(diag, "the greatest location is not that of the shape", 16);
  }
  bool none = h->forms.prefix_min > h->forms.prefix_max;
  if (none != (h->nvalues == 0)) return range_bad(diag, "prefixes without keys", 44);
  bool decimal = nay__range_form_of(shape).keys == NAY_RANGE_DECIMAL;
  bool digits = none ? h->forms.digits_min == UINT32_MAX && h->forms.digits_max == 0
                     : h->forms.digits_min <= h->forms.digits_max &&
                           (decimal ? h->forms.digits_min != 0 : h->forms.digits_max == 0);
  if (!digits) return range_bad(diag, "numbers of digits that no keys have", 68);
  if (h->nothers == 0 && h->others_min_len + h->others_max_len != 0) {
    return range_bad(diag, "bounds of other keys, and no such key", 24);
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
  double keys = (double)v.head.nvalues + (double)v.head.nothers;
  double fpr = nay__range_rate(&a->shape, &v.head);
  *census = (nay_census){nbits, nbits, {keys, 0, false}, fpr};
}

static void range_describe(const nay_filter *f, nay_stats *stats) {
  range_view v;
  range_open(f->bits.bytes, &v);
  stats->k = 1;
  stats->range_length = nay__range_length_of(f->shape.k);
  stats->range_block = (uint64_t)1 << nay__log2_64(f->shape.nunits);
  stats->range_exact = v.head.exact;
  stats->range_shift = v.head.shift;
}

/* ---- questions ---- */

/* Numbers [a, b] of one block: one arc, or two around location 0. */
static bool range_arc(const range_view *v, const nay_range_map *map, bool has_prefix,
                      uint64_t prefix, uint64_t a, uint64_t b) {
  uint64_t x = nay__range_place(map, has_prefix, prefix, a), y = x + (b - a);
  uint32_t s = v->head.shift;
  if (y < map->r) return nay__range_any(v->payload, &v->head, &v->parts, x >> s, y >> s);
  return nay__range_any(v->payload, &v->head, &v->parts, x >> s, v->head.last) ||
         nay__range_any(v->payload, &v->head, &v->parts, 0, (y - map->r) >> s);
}

static bool range_exactly(const range_view *v, bool has_prefix, uint64_t a, uint64_t b) {
  uint64_t base = v->head.base, last = v->head.last;
  if (has_prefix || b < base || (a > base && a - base > last)) return false;
  uint64_t lo = a > base ? a - base : 0, hi = nay__min_u64(b - base, last);
  return nay__range_any(v->payload, &v->head, &v->parts, lo, hi);
}

/* Numbers [a, b] behind a prefix. */
static bool range_numbers(const range_view *v, const nay_range_map *map, bool has_prefix,
                          uint64_t prefix, uint64_t a, uint64_t b) {
  if (v->head.nvalues == 0) return false;
  if (v->head.exact) return range_exactly(v, has_prefix, a, b);
  uint64_t first = a >> map->block_bits, last = b >> map->block_bits;
  if (first == last) return range_arc(v, map, has_prefix, prefix, a, b);
  if (last - first > 1) return true;
  uint64_t border = last << map->block_bits;
  return range_arc(v, map, has_prefix, prefix, a, border - 1) ||
         range_arc(v, map, has_prefix, prefix, border, b);
}

static int range_compare(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len) {
  size_t n = a_len < b_len ? a_len : b_len;
  int c = n != 0 ? memcmp(a, b, n) : 0;
  return c != 0 ? c : (a_len > b_len) - (a_len < b_len);
}

static size_t range_cut(size_t len) { return len < NAY_RANGE_OTHER ? len : NAY_RANGE_OTHER; }

/* Whether a key without a number may lie between two keys; of each its first 255 bytes are kept. */
static bool range_others(const range_view *v, const uint8_t *lo, size_t lo_len, const uint8_t *hi,
                         size_t hi_len) {
  const nay_range_head *h = &v->head;
  const uint8_t *least = v->payload + v->parts.others, *most = least + h->others_min_len;
  if (h->nothers == 0) return false;
  return range_compare(lo, range_cut(lo_len), most, h->others_max_len) <= 0 &&
         range_compare(hi, range_cut(hi_len), least, h->others_min_len) >= 0;
}

nay_status nay__range_ask(const nay_filter *f, const void *lo, size_t lo_len, const void *hi,
                          size_t hi_len, bool *maybe) {
  const uint8_t *a = lo, *b = hi;
  nay_range_form form = nay__range_form_of(&f->shape);
  nay_range_key_parts pa, pb;
  range_view v;
  int order = range_compare(a, lo_len, b, hi_len);
  bool split = nay__range_split(form, a, lo_len, &pa) && nay__range_split(form, b, hi_len, &pb);
  bool one = split && range_compare(a, pa.prefix_len, b, pb.prefix_len) == 0;
  bool numeric = one && form.keys == NAY_RANGE_DECIMAL;
  if (numeric ? pa.number > pb.number : order > 0) return NAY_EINVAL;
  range_open(f->bits.bytes, &v);
  bool swapped = order > 0; /* numbers in their order, bytes not */
  if (v.head.nvalues == 0 && v.head.nothers == 0) {
    *maybe = false;
  } else if (range_others(&v, swapped ? b : a, swapped ? hi_len : lo_len, swapped ? a : b,
                          swapped ? lo_len : hi_len)) {
    *maybe = true;
  } else if (!one || !nay__range_in_order(&v.head.forms, form, a, pa.prefix_len)) {
    *maybe = v.head.nvalues != 0;
  } else {
    nay_range_map map = nay__range_map_of(&f->hasher, f->shape.nunits);
    uint64_t prefix = nay__range_prefix(&f->hasher, a, pa.prefix_len);
    *maybe = range_numbers(&v, &map, pa.prefix_len != 0, prefix, pa.number, pb.number);
  }
  return NAY_OK;
}

nay_status nay__range_ask_scan(const nay_filter *f, const void *lo, size_t lo_len, const void *end,
                               size_t end_len, bool *maybe) {
  const uint8_t *a = lo, *b = end;
  nay_range_form form = nay__range_form_of(&f->shape);
  nay_range_key_parts pa, pb;
  range_view v;
  int order = range_compare(a, lo_len, b, end_len);
  if (order > 0) return NAY_EINVAL;
  range_open(f->bits.bytes, &v);
  if (order == 0 || (v.head.nvalues == 0 && v.head.nothers == 0)) {
    *maybe = false;
    return NAY_OK;
  }
  *maybe = true;
  if (range_others(&v, a, lo_len, b, end_len)) return NAY_OK;
  if (v.head.nvalues == 0) {
    *maybe = false;
    return NAY_OK;
  }
  bool split = nay__range_split(form, a, lo_len, &pa) && nay__range_split(form, b, end_len, &pb);
  if (!split || range_compare(a, pa.prefix_len, b, pb.prefix_len) != 0 ||
      !nay__range_in_byte_order(&v.head.forms, form, a, &pa, &pb) || pa.number >= pb.number) {
    return NAY_OK;
  }
  nay_range_map map = nay__range_map_of(&f->hasher, f->shape.nunits);
  uint64_t prefix = nay__range_prefix(&f->hasher, a, pa.prefix_len);
  *maybe = range_numbers(&v, &map, pa.prefix_len != 0, prefix, pa.number, pb.number - 1);
  return NAY_OK;
}

bool nay__range_has(const nay_filter *f, const void *key, size_t len) {
  nay_range_key_parts parts;
  range_view v;
  range_open(f->bits.bytes, &v);
  if (!nay__range_split(nay__range_form_of(&f->shape), key, len, &parts)) {
    return range_others(&v, key, len, key, len);
  }
  nay_range_map map = nay__range_map_of(&f->hasher, f->shape.nunits);
  uint64_t prefix = nay__range_prefix(&f->hasher, key, parts.prefix_len);
  return range_numbers(&v, &map, parts.prefix_len != 0, prefix, parts.number, parts.number);
}

uint64_t nay__range_ask_numbers(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                unsigned n) {
  range_view v;
  range_open(f->bits.bytes, &v);
  uint64_t word = 0;
  if (v.head.nothers != 0 || v.head.forms.prefix_max != 0) { /* keys of other lengths */
    for (unsigned i = 0; i < n; i++) {
      uint8_t a[8], b[8];
      bool maybe = true;
      (void)nay__range_ask(f, nay_range_key(lo[i], a), 8, nay_range_key(hi[i], b), 8, &maybe);
      word |= (uint64_t)maybe << i;
    }
    return word;
  }
  nay_range_map map = nay__range_map_of(&f->hasher, f->shape.nunits);
  for (unsigned i = 0; i < n; i++) {
    word |= (uint64_t)range_numbers(&v, &map, false, 0, lo[i], hi[i]) << i;
  }
  return word;
}

/* ---- one hash: a range filter cannot answer for it ---- */

static bool range_test(const nay_filter *f, nay_hash h) {
  (void)h;
  range_view v;
  range_open(f->bits.bytes, &v);
  return v.head.nvalues != 0 || v.head.nothers != 0;
}

static void range_explain(const nay_filter *f, nay_hash h, nay_explain_run *run) {
  nay__explain_constant(run, 0, range_test(f, h));
}

static nay_status range_test_key(const nay_filter *f, const void *key, size_t len, bool *maybe) {
  NAY_TRY(nay__hasher_ready(&f->hasher));
  *maybe = nay__range_has(f, key, len);
  return NAY_OK;
}

static const nay_family_order range_order = {.test = range_test_key};

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
    .test = range_test,
    .explain = range_explain,
    .batch = &nay__batch_each,
    .algebra = &range_algebra,
    .order = &range_order,
};

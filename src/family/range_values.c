/*
 * range_values.c - the payload of a range filter: an ascending sequence of different values in
 * [0, last] that finds in a few cache lines whether one of them lies between two numbers (Elias and
 * Fano: "Efficient storage and retrieval by content and address of static files", 1974).
 *
 * A value is cut into `low_bits` low bits, which are stored as they are, and the upper ones, its
 * bucket. With l = floor(log2((last + 1) / n)) there are between n and 2n buckets.
 *
 *   upper     bucket 0 | bucket 1 | ...     a one for each value of a bucket, then a zero
 *               1 1 0      0      1 0
 *   low       | low bits of value 0 | of value 1 | ...
 *   groups    u32 each 512 buckets: the values before them; so their first bit is that + 512 g
 *   samples   u32 each 4,096 upper bits: the ones before them
 *
 *   |0 head |128 upper, in words of 64 |groups |samples |low, a word more than it needs |others |
 *
 * Bits: 1 for the value, (last + 1) / (n 2^l) for the zeros, l, and 0.09 + 0.02 for the counts: at
 * most log2((last + 1) / n) + 2.11, at least + 2.02.
 *
 * A question reads one count of groups, one or two lines of upper bits behind it, and one of low
 * bits. Keys that lie close together fill a bucket with up to 2^l values; `samples` bounds what is
 * then scanned, and the low bits of a bucket are searched by bisection: the cost does not grow with
 * it.
 */
#include "family/range.h"

uint32_t nay__range_low_bits(uint64_t n, uint64_t last) {
  uint64_t each = last / nay__max_u64(n, 1);
  return each == 0 ? 0 : nay__log2_64(each);
}

bool nay__range_parts(const nay_range_head *h, nay_range_parts *p) {
  if (h->nvalues > NAY_RANGE_MAX_VALUES || h->last > NAY_RANGE_MAX_UNITS) return false;
  if (h->low_bits != nay__range_low_bits(h->nvalues, h->last)) return false;
  if (h->nvalues > h->last + 1) return false;
  if (h->others_min_len > NAY_RANGE_OTHER || h->others_max_len > NAY_RANGE_OTHER) return false;
  p->nbuckets = (h->last >> h->low_bits) + 1; /* at most 2n + 2 */
  p->nupper = h->nvalues + p->nbuckets;
  p->upper = NAY_RANGE_HEAD;
  p->groups = p->upper + nay__ceil_div(p->nupper, 64) * 8;
  uint64_t ngroups = nay__ceil_div(p->nbuckets, NAY_RANGE_GROUP_BUCKETS) + 1;
  p->samples = p->groups + ngroups * 4;
  p->low = nay__round_up(p->samples + (p->nupper / NAY_RANGE_SAMPLE_BITS + 1) * 4, 8);
  p->others = p->low + (nay__ceil_div(h->nvalues * h->low_bits, 64) + 1) * 8;
  p->end = nay__round_up(p->others + h->others_min_len + h->others_max_len, 8);
  return true;
}

void nay__range_head_load(const uint8_t *p, nay_range_head *h) {
  h->nvalues = nay__load64le(p);
  h->base = nay__load64le(p + 8);
  h->last = nay__load64le(p + 16);
  h->nothers = nay__load64le(p + 24);
  h->low_bits = nay__load32le(p + 32);
  h->shift = nay__load32le(p + 36);
  h->exact = nay__load32le(p + 40) == 1;
  h->forms = (nay_range_forms){nay__load32le(p + 44), nay__load32le(p + 48), nay__load32le(p + 52),
                               nay__load32le(p + 56), nay__load32le(p + 68), nay__load32le(p + 72)};
  h->others_min_len = nay__load32le(p + 60);
  h->others_max_len = nay__load32le(p + 64);
}

void nay__range_head_store(const nay_range_head *h, uint8_t *p) {
  nay__store64le(p, h->nvalues);
  nay__store64le(p + 8, h->base);
  nay__store64le(p + 16, h->last);
  nay__store64le(p + 24, h->nothers);
  nay__store32le(p + 32, h->low_bits);
  nay__store32le(p + 36, h->shift);
  nay__store32le(p + 40, h->exact ? 1 : 0);
  nay__store32le(p + 44, h->forms.prefix_min);
  nay__store32le(p + 48, h->forms.prefix_max);
  nay__store32le(p + 52, h->forms.delimiters_min);
  nay__store32le(p + 56, h->forms.delimiters_max);
  nay__store32le(p + 60, h->others_min_len);
  nay__store32le(p + 64, h->others_max_len);
  nay__store32le(p + 68, h->forms.digits_min);
  nay__store32le(p + 72, h->forms.digits_max);
}

/* ---- writing and reading in order ---- */

static void rvalues_set(uint8_t *bits, uint64_t at) {
  bits[at >> 3] = (uint8_t)(bits[at >> 3] | 1u << (at & 7));
}

/* The low bits of value i: `n` of them, 0 to 62. */
NAY_INLINE uint64_t rvalues_low(const uint8_t *low, uint32_t n, uint64_t i) {
  uint64_t at = i * n, shift = at & 63, mask = ((uint64_t)1 << n) - 1;
  const uint8_t *word = low + (at >> 6) * 8;
  uint64_t x = nay__load64le(word) >> shift;
  if (shift + n > 64) x |= nay__load64le(word + 8) << (64 - shift);
  return x & mask;
}

static void rvalues_put_low(uint8_t *low, uint32_t n, uint64_t i, uint64_t value) {
  uint64_t at = i * n, shift = at & 63, x = value & (((uint64_t)1 << n) - 1);
  uint8_t *word = low + (at >> 6) * 8;
  nay__store64le(word, nay__load64le(word) | x << shift);
  if (shift + n > 64) nay__store64le(word + 8, nay__load64le(word + 8) | x >> (64 - shift));
}

void nay__range_writer_start(nay_range_writer *w, uint8_t *payload) {
  nay_range_head head;
  *w = (nay_range_writer){.payload = payload};
  nay__range_head_load(payload, &head);
  bool ok = nay__range_parts(&head, &w->parts);
  assert(ok);
  (void)ok;
  w->low_bits = head.low_bits;
}

/* The counts of the groups that begin at or before a bucket. */
static void rvalues_count_groups(nay_range_writer *w, uint64_t bucket) {
  for (; w->group * NAY_RANGE_GROUP_BUCKETS <= bucket; w->group++) {
    nay__store32le(w->payload + w->parts.groups + w->group * 4, (uint32_t)w->n);
  }
}

void nay__range_writer_put(nay_range_writer *w, uint64_t value) {
  uint64_t bucket = value >> w->low_bits;
  rvalues_count_groups(w, bucket);
  rvalues_set(w->payload + w->parts.upper, bucket + w->n);
  rvalues_put_low(w->payload + w->parts.low, w->low_bits, w->n, value);
  w->n++;
}

/* Bits are counted where they stand. */
static uint64_t rvalues_word(const uint8_t *upper, uint64_t i) {
  return nay__load64le(upper + i * 8);
}

void nay__range_writer_end(nay_range_writer *w) {
  const nay_range_parts *p = &w->parts;
  uint64_t last = nay__ceil_div(p->nbuckets, NAY_RANGE_GROUP_BUCKETS) * NAY_RANGE_GROUP_BUCKETS;
  rvalues_count_groups(w, last);
  uint64_t ones = 0, nwords = nay__ceil_div(p->nupper, 64);
  for (uint64_t i = 0; i <= p->nupper / 64; i++) {
    if (i * 64 % NAY_RANGE_SAMPLE_BITS == 0) {
      uint64_t s = i * 64 / NAY_RANGE_SAMPLE_BITS;
      nay__store32le(w->payload + p->samples + s * 4, (uint32_t)ones);
    }
    if (i < nwords) ones += nay__popcount64(rvalues_word(w->payload + p->upper, i));
  }
}

void nay__range_reader_start(nay_range_reader *r, const uint8_t *payload) {
  nay_range_head head;
  *r = (nay_range_reader){.payload = payload};
  nay__range_head_load(payload, &head);
  if (!nay__range_parts(&head, &r->parts)) return;
  r->low_bits = head.low_bits;
  r->n = head.nvalues;
}

bool nay__range_reader_next(nay_range_reader *r, uint64_t *value) {
  if (r->i == r->n) return false;
  const uint8_t *upper = r->payload + r->parts.upper;
  uint64_t word = rvalues_word(upper, r->at >> 6) >> (r->at & 63);
  while (word == 0) {
    r->at = (r->at | 63) + 1;
    word = rvalues_word(upper, r->at >> 6);
  }
  r->at += nay__ctz64(word);
  uint64_t bucket = r->at - r->i;
  *value = bucket << r->low_bits | rvalues_low(r->payload + r->parts.low, r->low_bits, r->i);
  r->i++;
  r->at++;
  return true;
}

/* ---- questions ---- */

/* The position of zero number k (0 the first) of a word that has so many: pdep where there is one.
 */
NAY_INLINE unsigned rvalues_select(uint64_t word, unsigned k) {
#if defined(__BMI2__)
  return nay__ctz64(__builtin_ia32_pdep_di((uint64_t)1 << k, word));
#else
  for (unsigned half = 32, at = 0;; half /= 2) { /* bisection by popcounts */
    uint64_t low = word >> at & (((uint64_t)1 << half) - 1);
    unsigned n = nay__popcount64(low);
    if (k >= n) {
      k -= n;
      at += half;
    }
    if (half == 1) return at;
  }
#endif
}

/* With many ones in the group: the last sample before zero number `zero`; *zeros: those before it.
 */
static uint64_t rvalues_skip(const uint8_t *payload, const nay_range_parts *p, uint64_t zero,
                             uint64_t from, uint64_t to, uint64_t *zeros) {
  uint64_t a = from / NAY_RANGE_SAMPLE_BITS, b = to / NAY_RANGE_SAMPLE_BITS, best = from;
  while (a < b) {
    uint64_t s = a + (b - a + 1) / 2, at = s * NAY_RANGE_SAMPLE_BITS;
    uint64_t before = at - nay__load32le(payload + p->samples + s * 4);
    if (before <= zero) {
      best = at;
      *zeros = before;
      a = s;
    } else {
      b = s - 1;
    }
  }
  return best;
}

/* Where bucket b begins among the upper bits: behind zero b - 1. Buckets up to nbuckets. */
NAY_INLINE uint64_t rvalues_start(const uint8_t *payload, const nay_range_parts *p, uint64_t b) {
  uint64_t g = b / NAY_RANGE_GROUP_BUCKETS, zeros = g * NAY_RANGE_GROUP_BUCKETS;
  const uint8_t *counts = payload + p->groups + g * 4, *upper = payload + p->upper;
  uint64_t at = zeros + nay__load32le(counts);
  if (b == zeros) return at;
  uint64_t end = zeros + NAY_RANGE_GROUP_BUCKETS + nay__load32le(counts + 4);
  if (NAY_UNLIKELY(end - at > 2 * NAY_RANGE_SAMPLE_BITS)) {
    at = rvalues_skip(payload, p, b - 1, at, nay__min_u64(end, p->nupper), &zeros);
  }
  uint64_t i = at >> 6, word = ~rvalues_word(upper, i) >> (at & 63) << (at & 63);
  unsigned n = nay__popcount64(word);
  while (zeros + n < b) {
    zeros += n;
    word = ~rvalues_word(upper, ++i);
    n = nay__popcount64(word);
  }
  return i * 64 + rvalues_select(word, (unsigned)(b - 1 - zeros)) + 1;
}

/* The first zero at or behind `at`, the start of bucket b. */
NAY_INLINE uint64_t rvalues_end(const uint8_t *payload, const nay_range_parts *p, uint64_t b,
                                uint64_t at) {
  uint64_t word = ~rvalues_word(payload + p->upper, at >> 6) >> (at & 63);
  if (NAY_LIKELY(word != 0)) return at + nay__ctz64(word);
  return rvalues_start(payload, p, b + 1) - 1;
}

/* The first of values [i, end) whose low bits are at least x; end if there is none. */
NAY_INLINE uint64_t rvalues_least(const uint8_t *low, uint32_t bits, uint64_t i, uint64_t end,
                                  uint64_t x) {
  while (end - i > 4) {
    uint64_t middle = i + (end - i) / 2;
    if (rvalues_low(low, bits, middle) < x) {
      i = middle + 1;
    } else {
      end = middle;
    }
  }
  while (i < end && rvalues_low(low, bits, i) < x) i++;
  return i;
}

bool nay__range_any(const uint8_t *payload, const nay_range_head *h, const nay_range_parts *p,
                    uint64_t lo, uint64_t hi) {
  const uint8_t *low = payload + p->low;
  uint32_t bits = h->low_bits;
  uint64_t mask = ((uint64_t)1 << bits) - 1, a = lo >> bits, b = hi >> bits;
  uint64_t start = rvalues_start(payload, p, a), end = rvalues_end(payload, p, a, start);
  uint64_t first = start - a, behind = end - a; /* numbers of values */
  if (a == b) {
    uint64_t i = rvalues_least(low, bits, first, behind, lo & mask);
    return i < behind && rvalues_low(low, bits, i) <= (hi & mask);
  }
  if (behind > first && rvalues_low(low, bits, behind - 1) >= (lo & mask)) return true;
  start = rvalues_start(payload, p, b);
  if (start - b > behind) return true; /* in a bucket between them */
  end = rvalues_end(payload, p, b, start);
  return end > start && rvalues_low(low, bits, start - b) <= (hi & mask);
}

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
 *   supers    u32 each 2^14 buckets: the values before them
 *   groups    u16 each 2^8 buckets: the values from the start of the supergroup to them; at most
 * 65,535 samples   u32 each 2^15 upper bits: the ones before them
 *
 *   |0 head |64 upper, in words of 64 |supers |groups |samples |low, a word more than it needs
 * |others |
 *
 * Bits: 1 for the value, t = (last + 1) / (n 2^low_bits) for the zeros, low_bits, 0.065 t for the
 * counts of buckets and 0.001 (1 + t) for the samples. t is between 15/16 and 15/8, so that the sum
 * is log2((last + 1) / n) + 1.98 to 2.093.
 *
 * A question reads one count of groups and one of supergroups, which are few, one or two lines of
 * upper bits behind the place they give, and one of low bits. Keys that lie close together fill a
 * bucket with up to 2^low_bits values; `samples` bounds what is then scanned, and the low bits of a
 * bucket are searched by bisection: the cost does not grow with it.
 */
#include "cpu/select.h"
#include "family/range.h"

#define RVALUES_GROUP ((uint64_t)1 << NAY_RANGE_GROUP_LOG)
#define RVALUES_SUPER ((uint64_t)1 << NAY_RANGE_SUPER_LOG)
#define RVALUES_SAMPLE ((uint64_t)1 << NAY_RANGE_SAMPLE_LOG)

/* The counts cost 0.07 bits for each bucket: fewer buckets are better from 15/8 of them a value on.
 */
uint32_t nay__range_low_bits(uint64_t n, uint64_t last) {
  if (n == 0) n = 1;
  uint64_t each = last / n;
  uint32_t log = each == 0 ? 0 : nay__log2_64(each);
  return (last >> log) * 8 >= n * 15 ? log + 1 : log; /* last >> log is below 2n */
}

void nay__range_layout(const nay_range_head *h, nay_range_parts *p) {
  p->nbuckets = (h->last >> h->low_bits) + 1; /* at most 2n + 2 */
  p->nupper = h->nvalues + p->nbuckets;
  p->upper = NAY_RANGE_HEAD;
  p->supers = p->upper + nay__ceil_div(p->nupper, 64) * 8;
  p->groups = p->supers + nay__ceil_div(p->nbuckets, RVALUES_SUPER) * 4;
  p->samples = nay__round_up(p->groups + nay__ceil_div(p->nbuckets, RVALUES_GROUP) * 2, 4);
  p->low = nay__round_up(p->samples + (p->nupper / RVALUES_SAMPLE + 1) * 4, 8);
  p->others = p->low + (nay__ceil_div(h->nvalues * h->low_bits, 64) + 1) * 8;
  p->end = nay__round_up(p->others + h->others_min_len + h->others_max_len, 8);
}

bool nay__range_parts(const nay_range_head *h, nay_range_parts *p) {
  if (h->nvalues > NAY_RANGE_MAX_VALUES || h->last > NAY_RANGE_MAX_UNITS) return false;
  if (h->low_bits != nay__range_low_bits(h->nvalues, h->last)) return false;
  if (h->nvalues > h->last + 1) return false;
  if (h->others_min_len > NAY_RANGE_OTHER || h->others_max_len > NAY_RANGE_OTHER) return false;
  nay__range_layout(h, p);
  return true;
}

void nay__range_head_load(const uint8_t *p, nay_range_head *h) {
  h->base = nay__load64le(p);
  h->last = nay__load64le(p + 8);
  h->nvalues = nay__load32le(p + 16);
  h->low_bits = p[20];
  h->shift = p[21];
  h->exact = p[22] == 1;
  h->others = p[23] == 1;
  h->forms = (nay_range_forms){nay__load32le(p + 24), nay__load32le(p + 28), nay__load32le(p + 32),
                               nay__load32le(p + 36), nay__load32le(p + 40), nay__load32le(p + 44)};
  h->others_min_len = p[48];
  h->others_max_len = p[49];
}

void nay__range_head_store(const nay_range_head *h, uint8_t *p) {
  nay__store64le(p, h->base);
  nay__store64le(p + 8, h->last);
  nay__store32le(p + 16, (uint32_t)h->nvalues);
  p[20] = (uint8_t)h->low_bits;
  p[21] = (uint8_t)h->shift;
  p[22] = h->exact ? 1 : 0;
  p[23] = h->others ? 1 : 0;
  nay__store32le(p + 24, h->forms.prefix_min);
  nay__store32le(p + 28, h->forms.prefix_max);
  nay__store32le(p + 32, h->forms.delimiters_min);
  nay__store32le(p + 36, h->forms.delimiters_max);
  nay__store32le(p + 40, h->forms.digits_min);
  nay__store32le(p + 44, h->forms.digits_max);
  p[48] = (uint8_t)h->others_min_len;
  p[49] = (uint8_t)h->others_max_len;
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

void nay__range_writer_put(nay_range_writer *w, uint64_t value) {
  uint64_t bucket = value >> w->low_bits;
  rvalues_set(w->payload + w->parts.upper, bucket + w->n);
  rvalues_put_low(w->payload + w->parts.low, w->low_bits, w->n, value);
  w->n++;
}

/* Bits are counted where they stand. */
static uint64_t rvalues_word(const uint8_t *upper, uint64_t i) {
  return nay__load64le(upper + i * 8);
}

/* The counts of the group of bucket b, before which there are n values; false: not those. */
static bool rvalues_group(const uint8_t *payload, const nay_range_parts *p, uint8_t *out,
                          uint64_t b, uint64_t n, uint64_t *super) {
  uint64_t s = p->supers + (b >> NAY_RANGE_SUPER_LOG) * 4;
  uint64_t g = p->groups + (b >> NAY_RANGE_GROUP_LOG) * 2;
  if (b % RVALUES_SUPER == 0) {
    *super = n;
    if (out != NULL) nay__store32le(out + s, (uint32_t)n);
    if (nay__load32le(payload + s) != n) return false;
  }
  uint16_t count = (uint16_t)nay__min_u64(n - *super, NAY_RANGE_FULL);
  if (out != NULL) nay__store16le(out + g, count);
  return nay__load16le(payload + g) == count;
}

bool nay__range_counts(const uint8_t *payload, const nay_range_parts *p, uint8_t *out) {
  uint64_t ones = 0, zeros = 0, super = 0, next = 0; /* next: bucket, the first of a group */
  for (uint64_t i = 0; i <= p->nupper / 64; i++) {
    if (i * 64 % RVALUES_SAMPLE == 0) {
      uint64_t s = p->samples + i * 64 / RVALUES_SAMPLE * 4;
      if (out != NULL) nay__store32le(out + s, (uint32_t)ones);
      if (nay__load32le(payload + s) != ones) return false;
    }
    if (i * 64 >= p->nupper) break;
    uint64_t word = rvalues_word(payload + p->upper, i);
    unsigned n = nay__popcount64(word);
    /* bucket `next` begins behind zero next - 1, or at 0 */
    for (; next < p->nbuckets && next <= zeros + 64 - n; next += RVALUES_GROUP) {
      unsigned bit = 0;
      if (next > zeros) bit = nay__ctz64(nay__select64(~word, (unsigned)(next - 1 - zeros))) + 1;
      uint64_t before = next > zeros ? i * 64 + bit - next : ones;
      if (!rvalues_group(payload, p, out, next, before, &super)) return false;
    }
    ones += n;
    zeros += 64 - n;
  }
  return true;
}

void nay__range_writer_end(nay_range_writer *w) {
  (void)nay__range_counts(w->payload, &w->parts, w->payload);
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

/* Zero number `zero` in the words from bit `at` on, before which there are `zeros`; UINT64_MAX if
 * it is not in the first `nwords`. */
static uint64_t rvalues_scan(const uint8_t *upper, uint64_t at, uint64_t zeros, uint64_t zero,
                             unsigned nwords) {
  uint64_t i = at >> 6, word = ~rvalues_word(upper, i) >> (at & 63) << (at & 63);
  for (unsigned w = 0; w < nwords; w++) {
    unsigned n = nay__popcount64(word);
    if (zero - zeros < n) {
      return i * 64 + nay__ctz64(nay__select64(word, (unsigned)(zero - zeros)));
    }
    zeros += n;
    word = ~rvalues_word(upper, ++i);
  }
  return UINT64_MAX;
}

/* With many ones in the group: from the last sample before the zero, or from `at` if none is. */
static uint64_t rvalues_skip(const uint8_t *payload, const nay_range_parts *p, uint64_t at,
                             uint64_t zeros, uint64_t zero) {
  uint64_t a = at >> NAY_RANGE_SAMPLE_LOG, b = (p->nupper - 1) >> NAY_RANGE_SAMPLE_LOG;
  while (a < b) {
    uint64_t s = a + (b - a + 1) / 2, to = s << NAY_RANGE_SAMPLE_LOG;
    uint64_t before = to - nay__load32le(payload + p->samples + s * 4);
    if (before <= zero) {
      at = to;
      zeros = before;
      a = s;
    } else {
      b = s - 1;
    }
  }
  return rvalues_scan(payload + p->upper, at, zeros, zero, (unsigned)(RVALUES_SAMPLE / 64 + 1));
}

#define RVALUES_SCAN 16u /* words of a group, before its samples are searched */

/* The position of a zero: the end of that bucket. Below nbuckets. */
static uint64_t rvalues_end(const uint8_t *payload, const nay_range_parts *p, uint64_t zero) {
  uint64_t super = nay__load32le(payload + p->supers + (zero >> NAY_RANGE_SUPER_LOG) * 4);
  uint64_t group = nay__load16le(payload + p->groups + (zero >> NAY_RANGE_GROUP_LOG) * 2);
  bool full = group == NAY_RANGE_FULL;
  uint64_t zeros =
      full ? zero / RVALUES_SUPER * RVALUES_SUPER : zero / RVALUES_GROUP * RVALUES_GROUP;
  uint64_t at = zeros + super + (full ? 0 : group);
  uint64_t words = nay__ceil_div(p->nupper, 64) - (at >> 6);
  uint64_t end = UINT64_MAX;
  if (!full) {
    end = rvalues_scan(payload + p->upper, at, zeros, zero,
                       (unsigned)nay__min_u64(words, RVALUES_SCAN));
  }
  return end != UINT64_MAX ? end : rvalues_skip(payload, p, at, zeros, zero);
}

/* The values of a bucket: [first, end). */
static void rvalues_bucket(const uint8_t *payload, const nay_range_parts *p, uint64_t b,
                           uint64_t *first, uint64_t *end) {
  *first = b == 0 ? 0 : rvalues_end(payload, p, b - 1) - (b - 1);
  *end = rvalues_end(payload, p, b) - b;
}

/* The first of values [i, end) whose low bits are at least x; end if there is none. */
static uint64_t rvalues_least(const uint8_t *low, uint32_t bits, uint64_t i, uint64_t end,
                              uint64_t x) {
  while (i < end) {
    uint64_t middle = i + (end - i) / 2;
    if (rvalues_low(low, bits, middle) < x) {
      i = middle + 1;
    } else {
      end = middle;
    }
  }
  return i;
}

bool nay__range_any(const uint8_t *payload, uint64_t lo, uint64_t hi) {
  nay_range_head h;
  nay_range_parts p;
  nay__range_head_load(payload, &h);
  nay__range_layout(&h, &p);
  const uint8_t *low = payload + p.low;
  uint32_t bits = h.low_bits;
  uint64_t mask = ((uint64_t)1 << bits) - 1, a = lo >> bits, b = hi >> bits, first, end, at, behind;
  rvalues_bucket(payload, &p, a, &first, &end);
  if (a == b) {
    uint64_t i = rvalues_least(low, bits, first, end, lo & mask);
    return i < end && rvalues_low(low, bits, i) <= (hi & mask);
  }
  if (end > first && rvalues_low(low, bits, end - 1) >= (lo & mask)) return true;
  rvalues_bucket(payload, &p, b, &at, &behind);
  if (at > end) return true; /* in a bucket between them */
  return behind > at && rvalues_low(low, bits, at) <= (hi & mask);
}

nay_range_where nay__range_find(const uint8_t *payload, uint64_t value) {
  nay_range_head h;
  nay_range_parts p;
  nay__range_head_load(payload, &h);
  nay__range_layout(&h, &p);
  const uint8_t *low = payload + p.low;
  nay_range_where w = {.bucket = value >> h.low_bits, .lows = p.low * 8};
  rvalues_bucket(payload, &p, w.bucket, &w.first, &w.end);
  w.upper = p.upper * 8 + w.bucket + w.end;
  uint64_t mask = ((uint64_t)1 << h.low_bits) - 1;
  w.at = rvalues_least(low, h.low_bits, w.first, w.end, value & mask);
  if (w.at == w.end && w.at != w.first) w.at--;
  if (w.first != w.end) w.low = rvalues_low(low, h.low_bits, w.at);
  return w;
}

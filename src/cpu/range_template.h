/*
 * range_template.h - the kernels of range filters; range_scalar.c and range_bmi2.c include it for
 * each way to count bits and to select one. They define
 *
 *   RANGE(name)            the name of a function
 *   RANGE_TARGET           its attributes
 *   RANGE_COUNT(x)         the number of set bits
 *   RANGE_SELECT(x, r)     the r-th set bit of x alone, from r = 0
 *
 * A range is decided from the zero that ends its bucket: the ones right before it are the values of
 * the bucket, and their number is known from the place of the zero. Of the eight words from the
 * start of the group on, no branch depends on which one has the zero: it would be mispredicted for
 * nearly every range.
 */
#include "base/bytes.h"
#include "base/compiler.h"

#define RANGE_WORDS 8u  /* 256 zeros and as many ones */
#define RANGE_ROUNDS 3u /* of so many words, before a kernel leaves it */

/* Where the group of bucket b begins among the upper bits. */
RANGE_TARGET NAY_INLINE uint64_t RANGE(group)(const nay_range_index *x, uint64_t b, bool *full) {
  uint32_t super = nay__load32le(x->supers + (b >> NAY_RANGE_SUPER_LOG) * 4);
  uint32_t group = nay__load16le(x->groups + (b >> NAY_RANGE_GROUP_LOG) * 2);
  *full = group == NAY_RANGE_FULL;
  return (b >> NAY_RANGE_GROUP_LOG << NAY_RANGE_GROUP_LOG) + super + group;
}

/* The values of bucket b, whose group begins at `at`: [*end - *n, *end). False: left. */
RANGE_TARGET NAY_INLINE bool RANGE(bucket)(const nay_range_index *x, uint64_t b, uint64_t at,
                                           uint64_t *end, unsigned *n) {
  uint64_t i = at >> 6, before = ((uint64_t)1 << (at & 63)) -
                                 1; /* bits that are set in `before` count as ones */
  unsigned k = (unsigned)b & ((1u << NAY_RANGE_GROUP_LOG) - 1), words = 0;
  for (unsigned round = 0; round < RANGE_ROUNDS; round++, before = 0) {
    if (NAY_UNLIKELY(i + RANGE_WORDS > x->nwords)) return false;
    const uint8_t *p = x->upper + i * 8;
    unsigned sum = 0, skipped = 0;
    words = 0;
    for (unsigned w = 0; w < RANGE_WORDS; w++) {
      unsigned zeros = RANGE_COUNT(~(nay__load64le(p + w * 8) | (w == 0 ? before : 0)));
      sum += zeros;
      words += sum <= k;
      skipped = sum <= k ? sum : skipped;
    }
    k -= skipped;
    if (NAY_LIKELY(words < RANGE_WORDS)) break;
    i += RANGE_WORDS;
  }
  if (NAY_UNLIKELY(words == RANGE_WORDS)) return false;
  i += words;
  const uint8_t *p = x->upper + i * 8;
  uint64_t word = nay__load64le(p), zeros = ~(word | (words == 0 ? before : 0));
  unsigned bit = nay__ctz64(RANGE_SELECT(zeros, k));
  uint64_t ones = word << 1 << (63 - bit) | nay__load64le(p - 8) >> bit; /* the 64 bits before */
  if (NAY_UNLIKELY(~ones == 0)) return false;
  *n = 63 - nay__log2_64(~ones);
  *end = i * 64 + bit - b;
  return true;
}

RANGE_TARGET NAY_INLINE uint64_t RANGE(low)(const nay_range_index *x, uint64_t i) {
  uint64_t at = i * x->low_bits;
  return nay__load64le(x->low + (at >> 3)) >> (at & 7) & (((uint64_t)1 << x->low_bits) - 1);
}

/* Values [end - n, end) of a bucket, n > 0: whether one has low bits in [lo, hi]. The last two are
 * compared without a branch, which would be mispredicted; few buckets have more. */
RANGE_TARGET NAY_INLINE bool RANGE(within)(const nay_range_index *x, uint64_t end, unsigned n,
                                           uint64_t lo, uint64_t hi) {
  bool last = RANGE(low)(x, end - 1) - lo <= hi - lo;
  bool some = last | (RANGE(low)(x, end - 1 - (n > 1)) - lo <= hi - lo);
  for (unsigned i = 3; NAY_UNLIKELY(i <= n) && !some; i++) {
    some = RANGE(low)(x, end - i) - lo <= hi - lo;
  }
  return some;
}

/* A range over the border of buckets. */
RANGE_TARGET static NAY_NOINLINE nay_range_found RANGE(across)(const nay_range_index *x,
                                                               uint64_t lo, uint64_t hi) {
  uint64_t a = lo >> x->low_bits, b = hi >> x->low_bits, mask = ((uint64_t)1 << x->low_bits) - 1;
  uint64_t a_end, b_end;
  unsigned a_n, b_n;
  bool a_full, b_full;
  uint64_t a_at = RANGE(group)(x, a, &a_full), b_at = RANGE(group)(x, b, &b_full);
  if (a_full || b_full || !RANGE(bucket)(x, a, a_at, &a_end, &a_n) ||
      !RANGE(bucket)(x, b, b_at, &b_end, &b_n)) {
    return NAY_RANGE_LEFT;
  }
  bool some = b_end - b_n > a_end || (a_n != 0 && RANGE(low)(x, a_end - 1) >= (lo & mask)) ||
              (b_n != 0 && RANGE(low)(x, b_end - b_n) <= (hi & mask));
  return some ? NAY_RANGE_SOME : NAY_RANGE_NONE;
}

RANGE_TARGET static nay_range_found RANGE(any)(const nay_range_index *x, uint64_t lo, uint64_t hi) {
  uint64_t b = lo >> x->low_bits, mask = ((uint64_t)1 << x->low_bits) - 1, end;
  unsigned n;
  bool full;
  if (NAY_UNLIKELY(b != hi >> x->low_bits)) return RANGE(across)(x, lo, hi);
  uint64_t at = RANGE(group)(x, b, &full);
  if (NAY_UNLIKELY(full) || !RANGE(bucket)(x, b, at, &end, &n)) return NAY_RANGE_LEFT;
  if (n == 0) return NAY_RANGE_NONE;
  return RANGE(within)(x, end, n, lo & mask, hi & mask) ? NAY_RANGE_SOME : NAY_RANGE_NONE;
}

#ifndef __OPTIMIZE_SIZE__

/* The places of the groups; the lines of upper bits behind them are prefetched. */
RANGE_TARGET NAY_INLINE uint64_t RANGE(groups)(const nay_range_index *x, const uint64_t *lo,
                                               const uint64_t *hi, unsigned n, uint64_t *at) {
  uint64_t left = 0;
  for (unsigned i = 0; i < n && !x->in_cache; i++) {
    NAY_PREFETCH_SOON(x->groups + (lo[i] >> x->low_bits >> NAY_RANGE_GROUP_LOG) * 2);
  }
  for (unsigned i = 0; i < n; i++) {
    bool full;
    at[i] = RANGE(group)(x, lo[i] >> x->low_bits, &full);
    left |= (uint64_t)(full || lo[i] >> x->low_bits != hi[i] >> x->low_bits) << i;
    if (x->in_cache) continue;
    NAY_PREFETCH_SOON(x->upper + (at[i] >> 6) * 8);
    NAY_PREFETCH_SOON(x->upper + (at[i] >> 6) * 8 + 56);
  }
  return left;
}

RANGE_TARGET static uint64_t RANGE(any64)(const nay_range_index *x, const uint64_t *lo,
                                          const uint64_t *hi, unsigned n, uint64_t *left) {
  uint64_t at[64], word = 0, some = 0, mask = ((uint64_t)1 << x->low_bits) - 1;
  unsigned count[64];
  uint64_t odd = RANGE(groups)(x, lo, hi, n, at);
  for (unsigned i = 0; i < n; i++) {
    if (NAY_UNLIKELY(odd >> i & 1)) continue;
    uint64_t end;
    if (NAY_UNLIKELY(!RANGE(bucket)(x, lo[i] >> x->low_bits, at[i], &end, &count[i]))) {
      odd |= (uint64_t)1 << i;
      continue;
    }
    at[i] = end;
    some |= (uint64_t)(count[i] != 0) << i;
    if (!x->in_cache) NAY_PREFETCH_SOON(x->low + ((end - (count[i] != 0)) * x->low_bits >> 3));
  }
  for (; some != 0; some &= some - 1) {
    unsigned i = nay__ctz64(some);
    word |= (uint64_t)RANGE(within)(x, at[i], count[i], lo[i] & mask, hi[i] & mask) << i;
  }
  *left = 0;
  for (; NAY_UNLIKELY(odd != 0); odd &= odd - 1) {
    unsigned i = nay__ctz64(odd);
    nay_range_found found = RANGE(any)(x, lo[i], hi[i]);
    if (found == NAY_RANGE_LEFT) *left |= (uint64_t)1 << i;
    word |= (uint64_t)(found == NAY_RANGE_SOME) << i;
  }
  return word;
}

#else /* one by one, which is less code */

RANGE_TARGET static uint64_t RANGE(any64)(const nay_range_index *x, const uint64_t *lo,
                                          const uint64_t *hi, unsigned n, uint64_t *left) {
  uint64_t word = 0;
  *left = 0;
  for (unsigned i = 0; i < n; i++) {
    nay_range_found found = RANGE(any)(x, lo[i], hi[i]);
    word |= (uint64_t)(found == NAY_RANGE_SOME) << i;
    *left |= (uint64_t)(found == NAY_RANGE_LEFT) << i;
  }
  return word;
}

#endif /* __OPTIMIZE_SIZE__ */

#undef RANGE_WORDS
#undef RANGE_ROUNDS
#undef RANGE
#undef RANGE_TARGET
#undef RANGE_COUNT
#undef RANGE_SELECT

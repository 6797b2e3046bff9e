/*
 * rates.h - measures false-positive rates (FPR).
 *
 * Keys and probes are hashes, nay_hash_mix of a counter. That is a bijection, so hashes of
 * different counters differ and a probe from outside the keys' range is certainly absent.
 *
 * Noise. The maybes among N absent probes are binomial: the relative standard deviation of a rate p
 * is 1/sqrt(N p), which is 0.5 % when N = 4*10^4 / p. On top of it the rate of one filter varies
 * with its fill: for a Bloom filter of m bits, half full, by about 0.56 k / sqrt(m), so small
 * filters are averaged over many. Counters are fixed, so every run sees the same numbers; the
 * chances of a false alarm that the tests state are those of picking the counters at random.
 */
#ifndef NAY_TEST_RATES_H
#define NAY_TEST_RATES_H

#include <math.h>

#include "contract/contract.h"

#define ABSENT ((uint64_t)1 << 63) /* probes count from here, keys stay below */

/* maybes: how many of the absent probes number [first, first + n) the filter takes for keys. */
static inline uint64_t maybes(const nay_filter *f, uint64_t first, uint64_t n) {
  uint64_t lo[1024], bitmap[16], count = 0;
  for (uint64_t i = 0; i < n; i += 1024) {
    size_t group = n - i < 1024 ? (size_t)(n - i) : 1024;
    for (size_t j = 0; j < group; j++) lo[j] = nay_hash_mix(ABSENT + first + i + j);
    assert_ok(nay_filter_may_contain_hash_many(f, lo, NULL, group, bitmap));
    for (size_t j = 0; j < (group + 63) / 64; j++) {
      count += (uint64_t)__builtin_popcountll(bitmap[j]);
    }
  }
  return count;
}

/* hashed_filter: of keys number [first, first + n), by nay_filter_build. */
static inline nay_filter *hashed_filter(const nay_params *p, uint64_t first, uint64_t n) {
  uint64_t *hashes = malloc((size_t)(n + 1) * sizeof *hashes);
  assert_non_null(hashes);
  for (uint64_t i = 0; i < n; i++) hashes[i] = nay_hash_mix(first + i);
  nay_filter *f;
  assert_ok(nay_filter_build(p, hashes, (size_t)n, NULL, NULL, &f));
  free(hashes);
  return f;
}

/* measured_rate: the mean over nfilters filters of n keys, nprobes probes in all. */
static inline double measured_rate(const nay_params *p, uint64_t n, uint64_t nfilters,
                                   uint64_t nprobes) {
  uint64_t each = nprobes / nfilters + 1, count = 0;
  for (uint64_t i = 0; i < nfilters; i++) {
    nay_filter *f = hashed_filter(p, i * n, n);
    count += maybes(f, i * each, each);
    nay_filter_free(f);
  }
  return (double)count / (double)(each * nfilters);
}

static inline nay_plan plan_of(const nay_params *p) {
  nay_plan plan = {.size = sizeof plan};
  assert_ok(nay_params_plan(p, NULL, &plan));
  return plan;
}

/* tell: measurements are part of the output; TAP readers skip lines with a #. */
#define tell(...) print_message("# " __VA_ARGS__)

#endif /* NAY_TEST_RATES_H */

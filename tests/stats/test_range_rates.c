/*
 * test_range_rates.c - the FPR and the size of range filters: at most 1.03 times the plan and
 * log2(length / FPR) + 2.10 bits a key, whatever the keys and the ranges, if they do not depend on
 * the seed. n is 10^3 to 10^5, and 10^6 to 10^8 in test_range_rates_long.c.
 *
 * The expected rate is n * length / r or less, 1.00 times the plan. What is measured may
 * exceed 1.03 times by five standard deviations, of a binomial distribution over ranges and of a
 * Poisson distribution over the blocks that a filter places: chance of a false alarm below 10^-6.
 */
#include <math.h>

#include "base/sort.h"
#include "support/ranges.h"

#ifndef MOST
#define MOST 100000u
#endif
#define ASKED 200000u /* of each n and each kind of range, over all filters */

typedef enum keys_kind { UNIFORM, CLUSTERS, STEPS } keys_kind;
typedef enum range_kind { ANYWHERE, BEHIND, BETWEEN } range_kind;

static size_t make_keys(uint64_t *keys, size_t n, keys_kind kind, uint64_t *rng) {
  for (size_t i = 0; i < n; i++) {
    uint64_t x = test_random(rng);
    keys[i] = kind == UNIFORM    ? x
              : kind == CLUSTERS ? (nay_hash_mix(x % (n / 50 + 1)) << 4) + x % 4096
                                 : i * ((uint64_t)1 << 40) / (n / 1000 + 1) * 997;
  }
  nay__sort_u64(keys, n);
  return nay__unique_u64(keys, n);
}

/* Where a range of `length` begins that has no key; keys are known, the seed is not. */
static uint64_t empty_range(const uint64_t *keys, size_t n, uint64_t length, range_kind kind,
                            uint64_t *rng) {
  for (;;) {
    uint64_t x = test_random(rng), lo = x, at = x % n;
    if (kind == BEHIND) lo = keys[at] + 1 + (x >> 61);
    if (kind == BETWEEN) { /* far from both, in the middle of a gap */
      if (at + 1 == n) continue;
      lo = keys[at] + (keys[at + 1] - keys[at]) / 2;
    }
    if (lo > UINT64_MAX - (length - 1)) continue;
    if (!model_any(keys, n, lo, lo + (length - 1))) return lo;
    if (kind == BETWEEN && keys[at + 1] - keys[at] < 3 * length) continue;
  }
}

static uint64_t count_maybes(const nay_filter *f, const uint64_t *keys, size_t n, uint64_t length,
                             range_kind kind, unsigned asked, uint64_t *rng) {
  uint64_t maybe = 0;
  for (unsigned i = 0; i < asked; i++) {
    uint64_t lo = empty_range(keys, n, length, kind, rng);
    maybe += ask(f, lo, lo + (length - 1));
  }
  return maybe;
}

static void check_rate(size_t n, keys_kind kind, uint64_t length, double fpr, uint64_t *rng) {
  uint64_t *keys = malloc(n * sizeof *keys), maybe[3] = {0, 0, 0}, blocks = 0;
  unsigned filters = n < 100000 ? (unsigned)(2000000 / n) : 1;
  assert_non_null(keys);
  if (filters > 400) filters = 400;
  for (unsigned i = 0; i < filters; i++) {
    nay_params p = {sizeof p, .kind = NAY_RANGE, .fpr = fpr, .range_length = length};
    p.seed = test_random(rng);
    size_t m = make_keys(keys, n, kind, rng);
    nay_filter *f = build(&p, keys, m);
    nay_stats s = {.size = sizeof s};
    assert_int_equal(nay_filter_stats(f, &s), NAY_OK);
    if (m >= 100000 && s.range_exact == 0) {
      double bits = (double)s.nbits / (double)m, most = log2((double)length / fpr) + 2.10;
      if (bits > most)
        fail_msg("%zu keys, length %llu: %.4f bits, at most %.4f", m, (unsigned long long)length,
                 bits, most);
    }
    for (unsigned r = ANYWHERE; r <= BETWEEN; r++) {
      maybe[r] += count_maybes(f, keys, m, length, (range_kind)r, ASKED / filters, rng);
    }
    blocks += kind == UNIFORM ? m : m / 50;
    nay_filter_free(f);
  }
  double asked = (double)(ASKED / filters) * filters;
  for (unsigned r = ANYWHERE; r <= BETWEEN; r++) {
    double rate = (double)maybe[r] / asked, spread = sqrt(fpr / asked) + fpr / sqrt((double)blocks);
    if (rate > 1.03 * fpr + 5 * spread) {
      fail_msg("%zu keys (%d), length %llu, ranges %u: %.6f for a plan of %.6f", n, (int)kind,
               (unsigned long long)length, r, rate, fpr);
    }
    print_message("# %9zu keys %d, length %7llu, ranges %u: %.3f of the plan\n", n, (int)kind,
                  (unsigned long long)length, r, rate / fpr);
  }
  free(keys);
}

static void rates(void **state) {
  (void)state;
  uint64_t rng = 35;
  for (size_t n = 1000; n <= MOST; n *= 10) {
    check_rate(n, UNIFORM, 1000, 0.01, &rng);
    if (n > 10000000) break;
    check_rate(n, CLUSTERS, 1000, 0.01, &rng);
    check_rate(n, STEPS, 100, 0.02, &rng);
    check_rate(n, UNIFORM, 1, 0.01, &rng);
    check_rate(n, CLUSTERS, 16, 0.1, &rng);
  }
}

/* The size, where the number of buckets changes: the most that a key takes. */
static void sizes(void **state) {
  (void)state;
  const uint64_t n = 100000;
  for (unsigned i = 0; i < 1000; i++) {
    nay_params p = {sizeof p, .kind = NAY_RANGE, .nkeys = n, .range_length = 1000};
    p.fpr = 0.9 * pow(2, -(double)i / 70);
    if (i % 4 == 3) p.range_length = 1; /* few locations for each key */
    nay_plan plan = {.size = sizeof plan};
    assert_int_equal(nay_params_plan(&p, NULL, &plan), NAY_OK);
    double bits = (double)plan.nbytes * 8 / (double)n, least = log2((double)p.range_length / p.fpr);
    if (bits > least + 2.10) fail_msg("fpr %g: %.4f bits over", p.fpr, bits - least);
  }
}

int main(void) {
  const test_case tests[] = {TEST(rates), TEST(sizes)};
  return run_all(tests);
}

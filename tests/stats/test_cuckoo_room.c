/*
 * test_cuckoo_room.c - the chance that a cuckoo filter is full below its plan, which the page of
 * the family states: below 10^-9.
 *
 * n keys find room unless more than 4 s of them have both buckets in one set of s (Hall's theorem).
 * The sum over all sets of the chance of that bounds the chance of a failure. Sets of two and three
 * buckets are summed with the real frequencies of the tags, larger ones as if all pairs of an even
 * and an odd bucket were equally frequent. Above 2,200 slots the sum is too coarse; there the load
 * of the first failure is measured.
 */
#include <math.h>

#include "family/cuckoo.h"
#include "support/mutable.h"

#define CHANCE 1e-9

/* ---- the bound ---- */

static double log_choose(double n, double k) {
  return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* The logarithm of the chance that k or more of n trials succeed. */
static double log_tail(unsigned n, double p, unsigned k) {
  if (k > n) return -INFINITY;
  if (n * p >= k) return 0;
  double term = 1, sum = 1;
  for (unsigned j = k; j < n && term > 1e-9 * sum; j++) {
    term *= (double)(n - j) / (j + 1) * p / (1 - p);
    sum += term;
  }
  double tail = log_choose(n, k) + k * log(p) + (n - k) * log1p(-p) + log(sum);
  return tail < 0 ? tail : 0;
}

/* Sets of a even and b odd buckets, four in all or more. */
static double large_sets(unsigned m, unsigned n) {
  double half = m / 2.0, total = 0;
  for (unsigned a = 1; a <= m / 2; a++) {
    for (unsigned b = a; b <= m / 2 && 4 * (a + b) < n; b++) {
      if (a + b < 4) continue;
      double sets = log_choose(half, a) + log_choose(half, b) + (a != b ? log(2) : 0);
      double p = a * b / half / half, share = (4.0 * (a + b) + 1) / n;
      /* Chernoff's bound first: most terms are negligible */
      double least = p >= share ? 0 : share * log(share / p);
      if (least > 0 && share < 1) least += (1 - share) * log((1 - share) / (1 - p));
      if (sets - n * least < -50) continue;
      total += exp(sets + log_tail(n, p, 4 * (a + b) + 1));
    }
  }
  return total;
}

/* How many tags of f bits pair a bucket with each other, in a table of m buckets that has doubled d
 * times: count[w] of the pairings are those of w tags. */
static unsigned tag_weights(unsigned m, unsigned d, unsigned f, unsigned *count) {
  static unsigned weight[8192];
  unsigned most = 0, base = m >> d;
  memset(weight, 0, sizeof weight);
  for (uint64_t low = 1; low < (uint64_t)1 << f; low++) {
    uint64_t pair = nay__reduce(low * low * NAY_G64, base) | 1;
    uint64_t twist = d == 0 ? 0 : low * low * NAY_REMIX >> (64 - d);
    weight[pair << d | twist] += low == 1 ? 2 : 1;
  }
  for (unsigned i = 0; i < 2 * m; i++) {
    if (weight[i] != 0) count[weight[i]]++;
    if (weight[i] > most) most = weight[i];
  }
  return most;
}

static double small_sets(unsigned m, unsigned d, unsigned n, unsigned f) {
  static unsigned count[1 << 14];
  memset(count, 0, sizeof count);
  unsigned most = tag_weights(m, d, f, count);
  double total = 0, one = 2.0 / m / (double)(1u << f);
  for (unsigned a = 1; a <= most; a++) {
    if (count[a] == 0) continue;
    total += count[a] * (m / 2.0) * exp(log_tail(n, one * a, 9));
    for (unsigned b = a; b <= most; b++) {
      double pairs = a == b ? count[a] * (count[a] - 1.0) / 2 : (double)count[a] * count[b];
      if (pairs > 0) total += m * pairs * exp(log_tail(n, one * (a + b), 13));
    }
  }
  return total;
}

/* Tables of every size, and those that doubled on the way to it. */
static void small_tables_have_room(void **state) {
  (void)state;
  double worst = 0;
  for (unsigned m = 4; m <= 550; m += m < 200 ? 2 : 22) { /* two buckets: all keys share them */
    unsigned n = (unsigned)nay__cuckoo_capacity(4 * m);
    double large = large_sets(m, n);
    for (unsigned d = 0; d == 0 || (m >> d << d == m && m >> d >= NAY_CUCKOO_LEAST_GROWING); d++) {
      for (unsigned f = 8; f <= 13 && (m >> d) % 2 == 0; f++) {
        double chance = large + small_sets(m, d, n, f);
        if (chance > worst) worst = chance;
        if (chance > CHANCE) print_message("# %u buckets, %u doublings, %u: %g\n", m, d, f, chance);
      }
    }
  }
  print_message("# 4 to 550 buckets: full below the capacity with a chance of at most %.1e\n",
                worst);
  assert_int_equal(nay__cuckoo_capacity(8), 8);
  assert_true(worst < CHANCE);
}

/* Nine keys with one tag and one pair of buckets: n (n / pairs)^8 / 9!. */
static void plans_have_long_tags(void **state) {
  (void)state;
  for (uint64_t n = 1000; n < (uint64_t)1 << 53; n += n / 3) {
    nay_params p = {sizeof p, .kind = NAY_CUCKOO, .nkeys = n, .fpr = 0.9};
    nay_plan plan = {.size = sizeof plan};
    assert_ok(nay_params_plan(&p, NULL, &plan));
    double pairs = (double)plan.nbits / plan.tag_bits / 8 * pow(2, plan.tag_bits);
    double chance = (double)n * pow((double)n / pairs, 8) / 362880;
    assert_true(chance < CHANCE);
  }
}

/* Capacity never falls, and each doubling of a table that grows adds some. */
static void capacity_grows(void **state) {
  (void)state;
  for (uint64_t s = 8; s < 100000; s += 8) {
    assert_true(nay__cuckoo_capacity(s + 8) >= nay__cuckoo_capacity(s));
    assert_true(nay__cuckoo_capacity(s) <= s);
    if (s >= 4 * NAY_CUCKOO_LEAST_GROWING) {
      assert_true(nay__cuckoo_capacity(2 * s) > nay__cuckoo_capacity(s));
    }
  }
}

/* ---- measured ---- */

static uint64_t first_failure(nay_filter *f, uint64_t *key) {
  uint64_t n = 0;
  assert_ok(nay_filter_clear(f));
  while (nay_filter_add_hash(f, hash_of((*key)++), NULL) == NAY_OK) n++;
  return n;
}

/* grown: from the smallest table, in the first trial; clearing keeps the size. */
static void measure_room(uint64_t nslots, unsigned trials, bool grown) {
  static uint64_t key = 0;
  nay_params p = {.size = sizeof p,
                  .kind = NAY_CUCKOO,
                  .nkeys = 1,
                  .nbits = 8 * (grown ? 4 * NAY_CUCKOO_LEAST_GROWING : nslots),
                  .tag_bits = 8,
                  .max_nkeys = grown ? nay__cuckoo_capacity(nslots) : 0,
                  .hash = NAY_HASH_CALLER};
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  double sum = 0, squares = 0, capacity = (double)nay__cuckoo_capacity(nslots);
  for (unsigned t = 0; t < trials; t++) {
    double n = (double)first_failure(f, &key);
    sum += n;
    squares += n * n;
  }
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_filter_stats(f, &s));
  assert_int_equal(s.nbits / s.tag_bits, nslots);
  double mean = sum / trials, sd = sqrt(squares / trials - mean * mean), slots = (double)nslots;
  print_message(
      "# %7.0f slots, %2u doublings: first failure at %.4f (sd %.4f), capacity %.4f, "
      "%.1f sd below\n",
      slots, s.nlevels - 1, mean / slots, sd / slots, capacity / slots, (mean - capacity) / sd);
  assert_true((mean - capacity) / sd > 8);
  nay_filter_free(f);
}

static void large_tables_have_room(void **state) {
  (void)state;
  measure_room(2208, 400, false);
  for (unsigned d = 7; d <= 15; d += 2) {
    measure_room((uint64_t)32 << d, 2000u >> d / 2, false);
    measure_room((uint64_t)32 << d, 2000u >> d / 2, true);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(small_tables_have_room),
      TEST(plans_have_long_tags),
      TEST(capacity_grows),
      TEST(large_tables_have_room),
  };
  return run_all(tests);
}

/*
 * test_fpr.c - rates against the truth.
 *
 * The oracle walks the whole distribution of the number of occupied bits, ball by ball, in extended
 * precision: nothing is approximated. A blocked filter is that, mixed over the binomial number of
 * keys in a block. What fpr.c computes from mean and variance alone must agree.
 */
#include <math.h>

#include "math/fpr.h"
#include "math/plan.h"
#include "math/sliced.h"
#include "support/test.h"

/* chance[x]: that `balls` balls occupy x of m bins; then the mean of (x/m)^k. */
static double occupancy_rate(unsigned m, uint32_t k, uint64_t balls) {
  long double *chance = calloc(m + 2, sizeof *chance), rate = 0;
  assert_non_null(chance);
  chance[0] = 1;
  for (uint64_t ball = 0; ball < balls; ball++) {
    unsigned top = ball + 1 < m ? (unsigned)ball + 1 : m;
    for (unsigned x = top; x > 0; x--) {
      chance[x] = (chance[x] * x + chance[x - 1] * (m - x + 1)) / m;
    }
    chance[0] = 0;
  }
  for (unsigned x = 0; x <= m; x++) rate += chance[x] * powl((long double)x / m, k);
  free(chance);
  return (double)rate;
}

static long double binomial(uint64_t n, uint64_t i, long double p) {
  if (p >= 1) return i == n ? 1 : 0;
  long double ln = lgammal((long double)n + 1) - lgammal((long double)i + 1) -
                   lgammal((long double)(n - i) + 1) + (long double)i * logl(p) +
                   (long double)(n - i) * log1pl(-p);
  return expl(ln);
}

/* Two keys of a block with equal low 32 bits are one: the i / 2^32. */
static double blocked_rate(uint64_t nblocks, uint32_t k, uint64_t n) {
  long double rate = 0;
  for (uint64_t i = 0; i <= n; i++) {
    long double chance = binomial(n, i, 1.0L / (long double)nblocks);
    if (chance < 1e-22L) {
      if (i * nblocks > n) break; /* past the mode: what follows is less */
      continue;
    }
    long double inside = (long double)occupancy_rate(512, k, i * k);
    rate += chance * (inside + (1 - inside) * (long double)i / 4294967296.0L);
  }
  return (double)rate;
}

/* The oracle itself, where counting by hand is possible. */
static void the_oracle_can_count(void **state) {
  (void)state;
  assert_close(occupancy_rate(2, 1, 1), 0.5, 1e-15);
  assert_close(occupancy_rate(2, 1, 2), 0.5 * 0.5 + 0.5 * 1, 1e-15); /* one bin, or both */
  assert_close(occupancy_rate(4, 2, 2), 0.25 * (1.0 / 16) + 0.75 * (4.0 / 16), 1e-15);
  assert_close(blocked_rate(1, 3, 5) - 5 / 4294967296.0, occupancy_rate(512, 3, 15), 1e-6);
}

/* Up to 1024 bits the library walks the distribution as well. */
static void tiny_blooms_are_exact(void **state) {
  (void)state;
  const unsigned sizes[] = {1, 2, 3, 7, 8, 64, 100, 512, 800, 1024};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    unsigned m = sizes[i];
    for (unsigned n = 1; n <= m && n <= 100; n = n * 2 + 1) {
      for (uint32_t k = 1; k <= 30; k += 4) {
        assert_close(nay__fpr_bloom(m, k, n), occupancy_rate(m, k, (uint64_t)n * k), 1e-11);
      }
    }
  }
}

/* Past that, mean and variance: within 0.1 % up to 24 bits per key, 0.5 % up to 40. */
static void large_blooms_are_close(void **state) {
  (void)state;
  const unsigned sizes[] = {1025, 1500, 3000};
  for (size_t i = 0; i < 3; i++) {
    for (unsigned bits = 2; bits <= 40; bits += 2) {
      unsigned m = sizes[i], n = m / bits;
      uint32_t k = (uint32_t)(bits * 0.693);
      double truth = occupancy_rate(m, k, (uint64_t)n * k), got = nay__fpr_bloom(m, k, n);
      assert_close(got, truth, bits <= 24 ? 1e-3 : 5e-3);
      assert_close(nay__fpr_bloom_fast(m, k, n), got, 1e-12);
    }
  }
}

/* For huge arrays the textbook formula is the truth. */
static void huge_blooms_are_textbook(void **state) {
  (void)state;
  for (uint64_t n = 1000000; n <= (uint64_t)1 << 50; n *= 1000) {
    for (unsigned bits = 5; bits <= 20; bits += 5) {
      uint32_t k = (uint32_t)(bits * 0.693);
      double textbook = pow(-expm1(-(double)k / bits), k);
      assert_close(nay__fpr_bloom(n * bits, k, n), textbook, 5e-5);
    }
  }
}

/* A few keys in arrays whose 1/m is beside 1 nothing: the formula does not cancel. */
static void a_few_keys_in_huge_blooms(void **state) {
  (void)state;
  for (double size = 1e6; size < 0x1p60; size *= 3) {
    uint64_t m = (uint64_t)size;
    for (uint64_t n = 1; n <= 1000; n *= 10) {
      double above = 1;
      for (uint32_t k = 1; k <= 16; k++) {
        long double bins = (long double)m, t = (long double)(k * n);
        long double mean = -expm1l(t * log1pl(-1 / bins));
        long double more = 0.25L * k * (k - 1) * (t - 1) / t / bins; /* pairs of balls that meet */
        double truth = (double)(powl(mean, k) * (1 + more)), got = nay__fpr_bloom(m, k, n);
        if (truth < 1e-300) break;
        if (fabs(got / truth - 1) > (m > 1000000000 ? 1e-11 : 1e-5)) {
          fail_msg("m %llu, k %u, n %llu: %g, not %g", (unsigned long long)m, k,
                   (unsigned long long)n, got, truth);
        }
        assert_true(got < above); /* more probes, fewer false positives */
        above = got;
      }
    }
  }
}

static void a_few_keys_in_huge_blocked(void **state) {
  (void)state;
  for (unsigned log2 = 10; log2 <= 51; log2++) {
    for (uint64_t n = 1; n <= 20; n += 1 + n / 2) {
      for (uint32_t k = 1; k <= 8; k++) {
        uint64_t nblocks = (uint64_t)1 << log2;
        assert_close(nay__fpr_blocked(nblocks, k, n), blocked_rate(nblocks, k, n), 0.02);
        nay_slices slices = {9, 512};
        double one = nay__fpr_blocked(nblocks, k, n), all = nay__sliced_fpr(slices, nblocks, k, n);
        assert_close(all, -expm1(9 * log1p(-one)), 1e-11);
      }
    }
  }
}

/* The best k of one key: as many probes as an FPR that a double can show has use for. */
static void the_best_k_of_huge_arrays(void **state) {
  (void)state;
  for (unsigned log2 = 40; log2 <= 60; log2++) {
    uint64_t m = (uint64_t)1 << log2;
    uint32_t k = nay__bloom_k(m, 1);
    assert_true(k > 15 && nay__fpr_bloom(m, k, 1) < 1e-300 && nay__fpr_bloom(m, k - 1, 1) > 0);
  }
}

/* So do the plans of every family that takes a number of bits. */
static void plans_of_one_key_are_above_zero(void **state) {
  (void)state;
  unsigned planned = 0;
  for (int kind = 1; nay_kind_name((nay_kind)kind) != NULL; kind++) {
    nay_params p = {sizeof p, .kind = (nay_kind)kind, .nkeys = 1, .nbits = (uint64_t)1 << 55};
    nay_plan plan = {.size = sizeof plan};
    p.k = kind == NAY_CUCKOO ? 0 : 1;
    if (nay_params_plan(&p, NULL, &plan) != NAY_OK) continue;
    if (!(plan.fpr > 0 && plan.fpr < 1e-12)) fail_msg("%s: %g", nay_kind_name(p.kind), plan.fpr);
    planned++;
  }
  print_message("# %u families\n", planned);
  assert_true(planned >= 4);
}

static void blocked_rates_are_a_mixture(void **state) {
  (void)state;
  const uint64_t nblocks[] = {1, 2, 7, 50, 300};
  for (size_t i = 0; i < 5; i++) {
    for (unsigned bits = 5; bits <= 40; bits += 5) {
      uint64_t n = nblocks[i] * 512 / bits;
      uint32_t k = nay__blocked_k(nblocks[i], n);
      double truth = blocked_rate(nblocks[i], k, n);
      /* 0.1 % up to 20 bits per key; past that a single block is the worst case */
      assert_close(nay__fpr_blocked(nblocks[i], k, n), truth, bits <= 20 ? 1e-3 : 1e-2);
    }
  }
}

static void a_few_keys_in_many_blocks(void **state) {
  (void)state;
  for (uint64_t n = 1; n <= 20; n++) {
    for (uint32_t k = 1; k <= 16; k *= 2) {
      assert_close(nay__fpr_blocked(40, k, n), blocked_rate(40, k, n), 0.02);
    }
  }
}

static void edges_of_the_rates(void **state) {
  (void)state;
  for (uint32_t k = 1; k <= 64; k *= 2) {
    assert_true(nay__fpr_bloom(1000, k, 0) == 0 && nay__fpr_bloom(1000000, k, 0) == 0);
    assert_true(nay__fpr_blocked(10, k, 0) == 0);
    assert_true(nay__fpr_bloom(1, k, 1) == 1 && nay__fpr_bloom(1, k, 1000000) == 1);
    assert_true(nay__fpr_bloom(100, k, (uint64_t)1 << 56) == 1);
    for (uint64_t nblocks = 1; nblocks <= 1000; nblocks *= 10) {
      assert_true(nay__fpr_blocked(nblocks, k, (uint64_t)1 << 56) == 1);
    }
  }
}

/* More keys, more false positives; more bits, fewer. Where the shortcut for full blocks begins,
 * too. */
static void rates_are_monotone(void **state) {
  (void)state;
  for (uint32_t k = 1; k <= 13; k += 3) {
    double bloom = 0, blocked = 0;
    for (uint64_t n = 1; n < 1000000; n += 1 + n / 7) {
      double a = nay__fpr_bloom(4096, k, n), b = nay__fpr_blocked(8, k, n);
      assert_true(a >= bloom * (1 - 1e-12) && b >= blocked * (1 - 1e-12) && a <= 1 && b <= 1);
      bloom = a;
      blocked = b;
      assert_true(nay__fpr_bloom(8192, k, n) <= a);
      assert_true(nay__fpr_blocked(16, k, n) <= b);
    }
    assert_true(bloom == 1 && blocked == 1);
  }
}

/* The estimate undoes the expectation: m (1 - (1-1/m)^(kn)) occupied bits mean n keys. */
static void estimates_undo_expectations(void **state) {
  (void)state;
  const uint64_t sizes[] = {512, 10000, 1000000, (uint64_t)1 << 40};
  for (size_t i = 0; i < 4; i++) {
    for (uint32_t k = 1; k <= 16; k *= 2) {
      double m = (double)sizes[i];
      for (double n = 10; n < m / k; n *= 3) {
        double expected = -m * expm1(k * n * log1p(-1 / m));
        uint64_t x = (uint64_t)(expected + 0.5);
        double slope = k * (1 - expected / m); /* bits for one key more */
        double got = nay__estimate_keys(sizes[i], k, x).nkeys;
        assert_true(fabs(got - n) <= 0.51 / slope + 1e-9 * n);
      }
    }
  }
  assert_true(nay__estimate_keys(1000, 7, 0).nkeys == 0);
}

/* A full array has at least so many keys: with a chance of 999 in 1,000 fewer leave a bit clear. */
static void full_arrays_give_a_lower_bound(void **state) {
  (void)state;
  const uint64_t sizes[] = {1, 2, 6, 7, 8, 64, 512, 10000};
  for (size_t i = 0; i < 8; i++) {
    for (uint32_t k = 1; k <= 64; k *= 4) {
      double m = (double)sizes[i];
      nay_estimate full = nay__estimate_keys(sizes[i], k, sizes[i]);
      assert_true(full.saturated && full.variance == 0);
      assert_true(full.nkeys >= 1 && full.nkeys >= m / k && full.nkeys < 100 * m);
      if (full.nkeys > 1.001 * m / k && m > 100) {
        double clear = m * exp(k * full.nkeys * log1p(-1 / m));
        assert_true(fabs(exp(-clear) - 0.001) < 1e-6);
      }
      if (sizes[i] < 2) continue;
      nay_estimate nearly = nay__estimate_keys(sizes[i], k, sizes[i] - 1);
      assert_true(!nearly.saturated && nearly.variance > 0);
      assert_true(nay__estimate_value(&nearly) == nearly.nkeys);
    }
  }
}

/* The bound of a sum is below its most likely value, by its standard deviation. */
static void estimates_add_up(void **state) {
  (void)state;
  nay_estimate sum = {0, 0, false}, half = nay__estimate_keys(512, 4, 256);
  nay_estimate full = nay__estimate_keys(512, 4, 512);
  nay__estimate_add(&sum, &full, 0);
  assert_false(sum.saturated);
  nay__estimate_add(&sum, &half, 100);
  assert_true(nay__estimate_value(&sum) == sum.nkeys);
  nay__estimate_add(&sum, &full, 1);
  assert_true(sum.saturated);
  double sd = sqrt(100 * half.variance), least = nay__estimate_value(&sum);
  assert_true(fabs(least - (100 * half.nkeys + full.nkeys - 3.1 * sd)) < 1e-6);
  sum = (nay_estimate){1, 1e6, true};
  assert_true(nay__estimate_value(&sum) == 0);
}

int main(void) {
  const test_case tests[] = {
      TEST(the_oracle_can_count),
      TEST(tiny_blooms_are_exact),
      TEST(large_blooms_are_close),
      TEST(huge_blooms_are_textbook),
      TEST(a_few_keys_in_huge_blooms),
      TEST(a_few_keys_in_huge_blocked),
      TEST(the_best_k_of_huge_arrays),
      TEST(plans_of_one_key_are_above_zero),
      TEST(blocked_rates_are_a_mixture),
      TEST(a_few_keys_in_many_blocks),
      TEST(edges_of_the_rates),
      TEST(rates_are_monotone),
      TEST(estimates_undo_expectations),
      TEST(full_arrays_give_a_lower_bound),
      TEST(estimates_add_up),
  };
  return run_all(tests);
}

/*
 * test_elementary.c - ln, exp, roots and powers against libm in extended precision.
 *
 * Bounds are the largest errors seen in 10^7 random arguments, rounded up. An ulp is the distance
 * of the neighbouring doubles at the true result.
 */
#include <float.h>
#include <math.h>

#include "math/elementary.h"
#include "support/test.h"

#define N TEST_SCALE(300000)

static uint64_t state_of_random = 1;
static uint64_t random64(void) { return nay_hash_mix(state_of_random++); }
static double random_between(double a, double b) {
  return a + (b - a) * (double)(random64() >> 11) * 0x1p-53;
}

static double ulps(double got, long double want) {
  int exponent;
  (void)frexp((double)want, &exponent);
  return (double)(fabsl((long double)got - want) / ldexpl(1, exponent - DBL_MANT_DIG));
}

/* Any finite positive double: random bits, so that all exponents come up, subnormals too. */
static double random_positive(void) {
  for (;;) {
    uint64_t bits = random64() >> 1;
    double x;
    memcpy(&x, &bits, sizeof x);
    if (x > 0 && x <= DBL_MAX) return x;
  }
}

static void ln_of_everything(void **state) {
  (void)state;
  double worst = 0, subnormal = 5e-324;
  for (long i = 0; i < N; i++) {
    double x = random_positive();
    worst = fmax(worst, ulps(nay__ln(x), logl((long double)x)));
    x = random_between(0.5, 2); /* where ln passes zero */
    worst = fmax(worst, ulps(nay__ln(x), logl((long double)x)));
  }
  for (; subnormal < 1e-300; subnormal *= 3) {
    worst = fmax(worst, ulps(nay__ln(subnormal), logl((long double)subnormal)));
  }
  if (worst > 3) fail_msg("ln is off by %g ulp", worst);
  assert_true(nay__ln(1) == 0);
  assert_true(nay__ln(0) == -(double)INFINITY && nay__ln(-1) == -(double)INFINITY);
}

static void ln1p_of_small_numbers(void **state) {
  (void)state;
  double worst = 0, worst_relative = 0;
  for (long i = 0; i < N; i++) {
    double x = ldexp(random_between(1, 2), -(int)(random64() % 60) - 1);
    if (i % 2 != 0) x = -x;
    long double want = log1pl((long double)x);
    if (fabs(x) < 1e-4) worst = fmax(worst, ulps(nay__ln1p(x), want));
    worst_relative = fmax(worst_relative, (double)fabsl(((long double)nay__ln1p(x) - want) / want));
  }
  if (worst > 2) fail_msg("ln1p is off by %g ulp", worst);
  if (worst_relative > 1.2e-12) fail_msg("ln1p is off by a share of %g", worst_relative);
  assert_true(nay__ln1p(0) == 0);
}

static void exp_of_its_range(void **state) {
  (void)state;
  double worst = 0;
  for (long i = 0; i < N; i++) {
    double x = random_between(-700, 700);
    worst = fmax(worst, ulps(nay__exp(x), expl((long double)x)));
    x = random_between(-1, 1);
    worst = fmax(worst, ulps(nay__exp(x), expl((long double)x)));
  }
  if (worst > 1.5) fail_msg("exp is off by %g ulp", worst);
  assert_true(nay__exp(0) == 1);
  assert_true(nay__exp(-701) == 0 && nay__exp(701) == (double)INFINITY);
  assert_true(nay__exp(-1e300) == 0);
}

static void expm1_of_its_range(void **state) {
  (void)state;
  double worst = 0;
  for (long i = 0; i < N; i++) {
    double x = ldexp(random_between(1, 2), -(int)(random64() % 1000) - 1);
    worst = fmax(worst, ulps(nay__expm1(i % 2 != 0 ? -x : x), expm1l(i % 2 != 0 ? -x : x)));
    x = random_between(-40, 40);
    worst = fmax(worst, ulps(nay__expm1(x), expm1l((long double)x)));
    x = random_between(-1, 1); /* both sides of where the series ends */
    worst = fmax(worst, ulps(nay__expm1(x), expm1l((long double)x)));
  }
  if (worst > 3) fail_msg("expm1 is off by %g ulp", worst);
  assert_true(nay__expm1(0) == 0 && nay__expm1(-701) == -1 && nay__expm1(701) == (double)INFINITY);
}

static void square_roots(void **state) {
  (void)state;
  double worst = 0;
  for (long i = 0; i < N; i++) {
    double x = random_positive();
    if (x < DBL_MIN) continue;
    double off = ulps(nay__sqrt(x), sqrtl((long double)x));
    if (off > worst) worst = off;
  }
  assert_true(worst <= 1);
  assert_true(nay__sqrt(0) == 0 && nay__sqrt(1) == 1 && nay__sqrt(144) == 12);
}

static void whole_powers(void **state) {
  (void)state;
  for (long i = 0; i < N; i++) {
    double x = random_between(0, 1);
    uint64_t k = random64() % 65;
    long double want = powl((long double)x, (long double)k);
    if (want > 1e-300L) assert_close(nay__ipow(x, k), (double)want, 2e-14);
    x = random_between(0.99, 1); /* what is left of a block after many balls */
    k = random64() % 50000;
    want = powl((long double)x, (long double)k);
    if (want > 1e-300L) assert_close(nay__ipow(x, k), (double)want, 1e-11);
  }
  assert_true(nay__ipow(0, 0) == 1 && nay__ipow(0, 5) == 0 && nay__ipow(1, UINT64_MAX) == 1);
  assert_true(nay__ipow(2, 10) == 1024 && nay__ipow(-3, 3) == -27);
}

/* Sizes depend on these, so they must not depend on the machine: bits, not bounds. */
static void the_bits_are_fixed(void **state) {
  (void)state;
  assert_true(nay__ln(10) == 0x1.26bb1bbb55515p+1);
  assert_true(nay__ln(0.01) == -0x1.26bb1bbb55515p+2);
  assert_true(nay__exp(-0.5) == 0x1.368b2fc6f960ap-1);
  assert_true(nay__expm1(-0.125) == -0x1.e14aed893eef4p-4);
  assert_true(nay__ln1p(-1.0 / 512) == -0x1.0040155d5889ep-9);
  assert_true(nay__ipow(511.0 / 512, 300) == 0x1.1ccec4a7963d7p-1);
}

int main(void) {
  const test_case tests[] = {
      TEST(ln_of_everything),   TEST(ln1p_of_small_numbers), TEST(exp_of_its_range),
      TEST(expm1_of_its_range), TEST(square_roots),          TEST(whole_powers),
      TEST(the_bits_are_fixed),
  };
  return run_all(tests);
}

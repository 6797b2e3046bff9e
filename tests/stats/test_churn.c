/*
 * test_churn.c - a filter that holds exactly as many keys as it was planned for, while they are
 * replaced 5 n times: it keeps its planned false-positive rate (FPR), loses no key and sticks
 * nowhere. Every family of the registry that removes, FPRs from 10^-6 to 0.6.
 *
 * Seeds are fixed, so results are deterministic. Three comparisons, each with a bound of Z standard
 * deviations: the probes with the FPR of the bits as they are (binomial), those bits with fresh
 * filters of other keys (the spread of CHURN_FRESH of them), and the mean of these with the plan
 * (which may be CHURN_MODEL off: it is a formula to second order, and it states an expectation). By
 * the union bound over all comparisons the chance of a false alarm is below 10^-6 (normal tails,
 * and Student's t for the spread: 31 degrees of freedom, |t| > 8.5 is 10^-9).
 */
#include <math.h>

#include "support/mutable.h"

#ifndef EFFORT
#define EFFORT 1 /* test_churn_long.c: 10 */
#endif

#define CHURN_ROUNDS 5u
#define CHURN_FRESH 32u
#define CHURN_MODEL 0.02
#define CHURN_Z 8.5

static const double churn_fprs[] = {1e-6,  1e-5,  1e-4,  0.001, 0.003, 0.01, 0.02,  0.03, 0.05,
                                    0.075, 0.1,   0.125, 0.15,  0.175, 0.2,  0.25,  0.3,  0.325,
                                    0.35,  0.375, 0.4,   0.45,  0.5,   0.55, 0.575, 0.6};

static nay_params churn_params(const nay_family *family, uint64_t n, double fpr) {
  return (nay_params){.size = sizeof(nay_params),
                      .kind = family->kind,
                      .nkeys = n,
                      .fpr = fpr,
                      .hash = NAY_HASH_CALLER};
}

static nay_filter *churn_full(const nay_params *p, uint64_t first) {
  nay_filter *f;
  assert_ok(nay_filter_new(p, NULL, NULL, &f));
  for (uint64_t i = 0; i < p->nkeys; i++)
    assert_ok(nay_filter_add_hash(f, hash_of(first + i), NULL));
  return f;
}

static nay_stats churn_stats(const nay_filter *f) {
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_filter_stats(f, &s));
  return s;
}

/* Mean and standard deviation of the FPR of filters that were filled once. */
static void churn_fresh(const nay_params *p, double *mean, double *sd) {
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < CHURN_FRESH; i++) {
    nay_filter *f = churn_full(p, (i + 2) << 40);
    double x = churn_stats(f).fpr_now;
    sum += x;
    squares += x * x;
    nay_filter_free(f);
  }
  *mean = sum / CHURN_FRESH;
  double variance = (squares - sum * *mean) / (CHURN_FRESH - 1);
  *sd = variance > 0 ? sqrt(variance) : 0;
}

/* The share of maybes among keys that were never added. */
static double churn_measure(const nay_filter *f, uint64_t nprobes) {
  uint64_t hashes[1024], bitmap[16], maybe = 0;
  for (uint64_t at = 0; at < nprobes; at += 1024) {
    for (unsigned i = 0; i < 1024; i++) hashes[i] = nay_hash_mix(((uint64_t)1 << 63) + at + i);
    assert_ok(nay_filter_may_contain_hash_many(f, hashes, NULL, 1024, bitmap));
    maybe += nay_bitmap_count(bitmap, 1024);
  }
  return (double)maybe / (double)nprobes;
}

/* The oldest key goes, a new one comes. */
static void churn(nay_filter *f, uint64_t n) {
  for (uint64_t i = 0; i < CHURN_ROUNDS * n; i++) {
    assert_ok(nay_filter_remove_hash(f, hash_of(i)));
    assert_ok(nay_filter_add_hash(f, hash_of(i + n), NULL));
  }
  for (uint64_t i = CHURN_ROUNDS * n; i < (CHURN_ROUNDS + 1) * n; i++)
    assert_true(nay_filter_may_contain_hash(f, hash_of(i)));
}

static bool churn_near(double x, double want, double sd) { return fabs(x - want) <= CHURN_Z * sd; }

static void check_churn(const nay_family *family, uint64_t n, double fpr) {
  const uint64_t nprobes = fpr < 1e-3 ? 1 << 23 : 1 << 20;
  nay_params p = churn_params(family, n, fpr);
  nay_plan plan = {.size = sizeof plan};
  double mean, sd;
  assert_ok(nay_params_plan(&p, NULL, &plan));
  assert_true(plan.fpr <= fpr);
  churn_fresh(&p, &mean, &sd);
  nay_filter *f = churn_full(&p, 0);
  churn(f, n);
  nay_stats s = churn_stats(f);
  double rate = churn_measure(f, nprobes);
  /* a few events are Poisson, not normal: one more of them at least */
  double binomial = sqrt(s.fpr_now * (1 - s.fpr_now) / (double)nprobes) + 1.0 / (double)nprobes;
  bool ok = churn_near(rate, s.fpr_now, binomial) &&
            churn_near(s.fpr_now, mean, sd * sqrt(1 + 1.0 / CHURN_FRESH) + 1e-12) &&
            churn_near(mean, plan.fpr, sd / sqrt(CHURN_FRESH) + plan.fpr * CHURN_MODEL / CHURN_Z) &&
            s.nstuck == 0;
  if (!ok) {
    fail_msg(
        "%s, n %llu, fpr %g: planned %.8f, fresh %.8f (sd %.8f), churned %.8f, measured %.8f, "
        "%llu stuck",
        family->name, (unsigned long long)n, fpr, plan.fpr, mean, sd, s.fpr_now, rate,
        (unsigned long long)s.nstuck);
  }
  nay_filter_free(f);
}

static void check_removing_families(uint64_t n, uint64_t step) {
  const nay_family *family;
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++) {
    if ((family->traits & NAY_CAN_REMOVE) == 0) continue;
    size_t checked = 0;
    for (size_t j = 0; j < sizeof churn_fprs / sizeof *churn_fprs; j += step, checked++)
      check_churn(family, n, churn_fprs[j]);
    print_message("# %s: %llu keys at %u rates\n", family->name, (unsigned long long)n,
                  (unsigned)checked);
  }
}

static void small_filters_keep_their_fpr(void **state) {
  (void)state;
  check_removing_families(100, 1);
  check_removing_families(1000, 1);
}

static void filters_of_a_page_keep_their_fpr(void **state) {
  (void)state;
  check_removing_families(3000, 1);
  check_removing_families(30000, 1);
}

static void filters_of_pages_keep_their_fpr(void **state) {
  (void)state;
  check_removing_families(300000, EFFORT > 1 ? 1 : 5);
  if (EFFORT > 1) check_removing_families(3000000, 3);
}

int main(void) {
  const test_case tests[] = {
      TEST(small_filters_keep_their_fpr),
      TEST(filters_of_a_page_keep_their_fpr),
      TEST(filters_of_pages_keep_their_fpr),
  };
  return run_all(tests);
}

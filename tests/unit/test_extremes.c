/*
 * test_extremes.c - params with extremes in every field, two at a time, for every kind and every
 * layout: each plan returns, and what it returns is finite. A hang ends in the test's time limit.
 */
#include "family/family.h"
#include "nay_format.h"
#include "support/test.h"

static const uint64_t integers[] = {0,
                                    1,
                                    2,
                                    63,
                                    1000,
                                    (uint64_t)1 << 32,
                                    (uint64_t)1 << 48,
                                    (uint64_t)1 << 56,
                                    ((uint64_t)1 << 56) + 1,
                                    (uint64_t)1 << 57,
                                    (uint64_t)1 << 60,
                                    ((uint64_t)1 << 60) + 1,
                                    (uint64_t)1 << 63,
                                    ((uint64_t)1 << 63) + 1,
                                    UINT64_MAX - 1,
                                    UINT64_MAX};
#define N_INTEGERS (sizeof integers / sizeof integers[0])

static const double doubles[] = {0,
                                 -0.0,
                                 1,
                                 2,
                                 -1,
                                 0.5,
                                 1e-6,
                                 1e-12,
                                 1e-300,
                                 1e9,
                                 4.9e-324,
                                 -4.9e-324,
                                 2.2e-308,
                                 0.99999999999999989,
                                 4096,
                                 4096.1,
                                 1e308,
                                 -1e308,
                                 (double)(1e300 * 1e10),
                                 -(double)(1e300 * 1e10),
                                 (double)((1e300 * 1e10) * 0.0)};
#define N_DOUBLES (sizeof doubles / sizeof doubles[0])

enum {
  NKEYS,
  FPR,
  BITS_PER_KEY,
  NBYTES,
  NBITS,
  K,
  FOLD,
  TAG_BITS,
  GENERATIONS,
  WINDOW,
  MAX_NKEYS,
  MAX_NBYTES,
  THREADS,
  FLAGS,
  N_FIELDS
};

static size_t n_values(unsigned field) {
  return field == FPR || field == BITS_PER_KEY ? N_DOUBLES : N_INTEGERS;
}

/* One size takes the place of another: two are refused at once, and nothing would be tested. */
static void set_field(nay_params *p, unsigned field, size_t i) {
  if (field >= FPR && field <= NBITS) p->fpr = p->bits_per_key = 0, p->nbytes = p->nbits = 0;
  switch (field) {
    case NKEYS: p->nkeys = integers[i]; break;
    case FPR: p->fpr = doubles[i]; break;
    case BITS_PER_KEY: p->bits_per_key = doubles[i]; break;
    case NBYTES: p->nbytes = integers[i]; break;
    case NBITS: p->nbits = integers[i]; break;
    case K: p->k = (uint32_t)integers[i]; break;
    case FOLD: p->fold = integers[i]; break;
    case TAG_BITS: p->tag_bits = (uint32_t)integers[i]; break;
    case GENERATIONS: p->generations = (uint32_t)integers[i]; break;
    case WINDOW: p->window = integers[i]; break;
    case MAX_NKEYS: p->max_nkeys = integers[i]; break;
    case MAX_NBYTES: p->max_nbytes = integers[i]; break;
    case THREADS: p->threads = (uint32_t)integers[i]; break;
    default: p->flags = (uint32_t)integers[i]; break;
  }
}

static void assert_finite(double x, double most, const char *what) {
  if (!(x >= 0 && x <= most)) fail_msg("%s is %g", what, x);
}

static void assert_sane(nay_status status, const nay_diag *diag, const nay_plan *plan) {
  if (status != NAY_OK) {
    assert_non_null(diag->what);
    return;
  }
  assert_finite(plan->fpr, 1, "fpr");
  assert_finite(plan->fpr_limit, 1, "fpr_limit");
  assert_finite(plan->bits_per_key, 1e30, "bits_per_key");
  assert_finite(plan->window_error, 16, "window_error"); /* one key in up to 16 generations */
  /* a packed file (nori's quotient filter) can be smaller than the filter in memory */
  assert_true(plan->nbytes <= (uint64_t)1 << 61);
  assert_true((plan->nbytes_file > 0 || plan->nbytes == 0) && plan->nbytes_file <= (uint64_t)1
                                                                                       << 62);
}

/* Every field at every extreme, together with every extreme of another; under sanitizers with every
 * third one. */
static void extremes(nay_params base,
                     nay_status (*plan_of)(const void *, const nay_params *, nay_diag *,
                                           nay_plan *),
                     const void *what) {
  for (unsigned a = 0; a < N_FIELDS; a++) {
    for (unsigned b = a; b < N_FIELDS; b++) {
      for (size_t i = 0; i < n_values(a); i++) {
        size_t first = a == b ? 0 : (i + a) % TEST_EVERY(3);
        for (size_t j = first; j < (a == b ? 1 : n_values(b)); j += TEST_EVERY(3)) {
          nay_params p = base;
          nay_diag diag = {.what = NULL};
          nay_plan plan = {.size = sizeof plan};
          if (a != b) set_field(&p, b, j);
          set_field(&p, a, i);
          assert_sane(plan_of(what, &p, &diag, &plan), &diag, &plan);
        }
      }
    }
  }
}

static nay_status plan_native(const void *what, const nay_params *p, nay_diag *diag,
                              nay_plan *plan) {
  (void)what;
  return nay_params_plan(p, diag, plan);
}

static nay_status plan_format(const void *what, const nay_params *p, nay_diag *diag,
                              nay_plan *plan) {
  return nay_format_plan(what, p, diag, plan);
}

static void every_kind_returns(void **state) {
  const nay_family *family = *state;
  nay_params base = {.size = sizeof base,
                     .kind = family != NULL ? family->kind : NAY_AUTO,
                     .nkeys = 1000,
                     .fpr = 0.01};
  extremes(base, plan_native, NULL);
  if (base.kind == NAY_CUCKOO) { /* the pair that hung: the doublings of nkeys towards max_nkeys */
    base = (nay_params){.size = sizeof(nay_params),
                        .kind = NAY_CUCKOO,
                        .nkeys = 3,
                        .fpr = 0.01,
                        .max_nkeys = UINT64_MAX};
    nay_diag diag;
    nay_plan plan = {.size = sizeof plan};
    assert_status(nay_params_plan(&base, &diag, &plan), NAY_EINVAL);
    assert_non_null(strstr(diag.what, "max_nkeys"));
  }
}

static void every_layout_returns(void **state) {
  nay_params base = {sizeof base, .nkeys = 1000, .bits_per_key = 10};
  extremes(base, plan_format, *state);
}

/* The error of a window is that of its rounding, for windows of any length. */
static void window_errors_are_small(void **state) {
  (void)state;
  for (uint32_t g = 1; g <= 15; g++) {
    for (size_t i = 0; i < N_INTEGERS; i++) {
      nay_params p = {sizeof p, .kind = NAY_WINDOW, .nkeys = 1000, .fpr = 0.01, .generations = g};
      p.window = integers[i];
      nay_plan plan = {.size = sizeof plan};
      if (nay_params_plan(&p, NULL, &plan) != NAY_OK) continue;
      double least = 1.0 / g, length = p.window != 0 ? (double)p.window : 1000;
      assert_true(plan.window_error >= least - 1e-9);
      assert_true(plan.window_error <= least + (g + 1) / length + 1e-9);
    }
  }
}

int main(void) {
  static test_case cases[64];
  static char names[64][64];
  size_t n = 0;
  const nay_family *family;
  const nay_format *format;
  cases[n++] = (test_case)TEST(window_errors_are_small);
  cases[n++] = (test_case)TEST_WITH("auto returns", every_kind_returns, NULL);
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++, n++) {
    snprintf(names[n], sizeof names[n], "%s returns", family->name);
    cases[n] = (test_case)TEST_WITH(names[n], every_kind_returns, family);
  }
  for (size_t i = 0; (format = nay_format_at(i)) != NULL && n < 64; i++, n++) {
    snprintf(names[n], sizeof names[n], "layout %s returns", nay_format_name(format));
    cases[n] = (test_case)TEST_WITH(names[n], every_layout_returns, format);
  }
  return run_list(test_file(__FILE__), cases, n);
}

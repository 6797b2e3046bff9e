/*
 * windows.h - many small measurements against their expectation, one for each n below 2,048.
 *
 * Single sizes and windows of 2, 4, 8, ... 2,048 sizes are compared, so that a fault of few sizes
 * and a small fault of many are both seen. The largest excess of all windows is what a test bounds;
 * an excess of e has a probability of at most exp(-e).
 */
#ifndef NAY_TEST_WINDOWS_H
#define NAY_TEST_WINDOWS_H

#include <math.h>

#include "support/test.h"

#define WINDOWS_N 2048u

typedef struct worst_window {
  double excess;
  char where[160];
} worst_window;

/*
 * window_counts: hits among independent trials. By Chernoff's inequality a sum with mean e reaches
 * k, or falls to it, with a probability of at most exp(-(k ln(k / e) - k + e)).
 */
typedef struct window_counts {
  double hits[WINDOWS_N], expected[WINDOWS_N];
} window_counts;

static inline double count_excess(double k, double e) {
  if (e == 0) return k == 0 ? 0 : HUGE_VAL;
  return k == 0 ? e : k * log(k / e) - k + e;
}

/* counts_worst: adds up the windows in place. */
static inline worst_window counts_worst(window_counts *c) {
  worst_window worst = {0, ""};
  for (unsigned width = 1; width <= WINDOWS_N; width *= 2) {
    for (unsigned i = 0; i < WINDOWS_N / width; i++) {
      if (width > 1) {
        c->hits[i] = c->hits[2 * i] + c->hits[2 * i + 1];
        c->expected[i] = c->expected[2 * i] + c->expected[2 * i + 1];
      }
      double excess = count_excess(c->hits[i], c->expected[i]);
      if (excess <= worst.excess) continue;
      worst.excess = excess;
      snprintf(worst.where, sizeof worst.where, "n from %u to %u: %.0f hits, %.1f expected",
               i * width, (i + 1) * width - 1, c->hits[i], c->expected[i]);
    }
  }
  return worst;
}

/*
 * window_errors: values that scatter around what is expected of them. If x1, x2, ... are
 * independent and symmetric around 0, z = sum(x) / sqrt(sum(x^2)) exceeds z with a probability of
 * at most exp(-z^2 / 2), however they are distributed. FPRs of single filters are skewed to the
 * right, which makes a large z rarer; a z far below 0 is made more frequent, but not by much where
 * the FPR is above 2^-16. Values that are computed twice and do not scatter differ by rounding
 * alone: errors below 10^-9 of what is expected count for nothing.
 */
typedef struct window_errors {
  double sum[WINDOWS_N], squares[WINDOWS_N], expected[WINDOWS_N];
} window_errors;

static inline void errors_add(window_errors *e, unsigned n, double value, double expected) {
  double error = value - expected;
  e->sum[n] += error;
  e->squares[n] += error * error;
  e->expected[n] += expected;
}

/* errors_worst: adds up the windows in place; only_above: values may be below what is expected. */
static inline worst_window errors_worst(window_errors *e, bool only_above) {
  worst_window worst = {0, ""};
  for (unsigned width = 1; width <= WINDOWS_N; width *= 2) {
    for (unsigned i = 0; i < WINDOWS_N / width; i++) {
      if (width > 1) {
        e->sum[i] = e->sum[2 * i] + e->sum[2 * i + 1];
        e->squares[i] = e->squares[2 * i] + e->squares[2 * i + 1];
        e->expected[i] = e->expected[2 * i] + e->expected[2 * i + 1];
      }
      if (fabs(e->sum[i]) <= 1e-9 * e->expected[i] || (only_above && e->sum[i] < 0)) continue;
      double excess = e->sum[i] * e->sum[i] / e->squares[i] / 2;
      if (excess <= worst.excess) continue;
      worst.excess = excess;
      snprintf(worst.where, sizeof worst.where, "n from %u to %u: %.4f of what is expected",
               i * width, (i + 1) * width - 1, 1 + e->sum[i] / e->expected[i]);
    }
  }
  return worst;
}

#endif /* NAY_TEST_WINDOWS_H */

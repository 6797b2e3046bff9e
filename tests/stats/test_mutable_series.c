/*
 * test_mutable_series.c - which series of FPRs a growing filter should use: the table of
 * doc/families/scalable.md, computed with the exact FPR of blocked levels.
 */
#include <math.h>

#include "math/plan.h"
#include "math/series.h"
#include "support/test.h"

typedef double (*share)(unsigned level, double parameter);

static double share_geometric(unsigned i, double ratio) { return (1 - ratio) * pow(ratio, i); }

static double share_shifted_squares(unsigned i, double shift) {
  static double last_shift, sum; /* of 1/(i + shift)^2 over all i */
  if (shift != last_shift) {
    sum = 1 / (1e6 + shift - 0.5);
    for (double j = 0; j < 1e6; j++) sum += 1 / ((j + shift) * (j + shift));
    last_shift = shift;
  }
  return 1 / ((i + shift) * (i + shift)) / sum;
}

static double share_ours(unsigned i, double unused) {
  (void)unused;
  return nay__series_share(i);
}

static const struct candidate {
  const char *name;
  share share;
  double parameter;
} candidates[] = {
    {"1/2^(i+1), halving", share_geometric, 0.5}, {"6/(pi^2 (i+1)^2)", share_shifted_squares, 1},
    {"c/(i+4)^2", share_shifted_squares, 4},      {"c/(i+8)^2", share_shifted_squares, 8},
    {"0.20 * 0.80^i", share_geometric, 0.8},      {"0.15 * 0.85^i", share_geometric, 0.85},
    {"0.12 * 0.88^i (ours)", share_ours, 0},      {"0.10 * 0.90^i", share_geometric, 0.9},
};
enum { NCANDIDATES = sizeof candidates / sizeof candidates[0], NSIZES = 8 };

typedef struct cost {
  double full, worst; /* bits per key: last level full; just after it was made */
} cost;

/* The first moment at which the levels hold n keys. */
static cost cost_of(const struct candidate *c, double first, double n, double fpr) {
  double bits = 0, keys = 0, before = 0;
  for (unsigned i = 0; keys < n * 0.999; i++) {
    uint64_t here = (uint64_t)(first * pow(2, i));
    uint64_t nblocks = nay__blocked_blocks(here, fpr * c->share(i, c->parameter), 0);
    before = keys;
    bits += nblocks == 0 ? INFINITY : (double)nblocks * 512;
    keys += (double)here;
  }
  return (cost){bits / keys, before > 0 ? bits / before : 0};
}

static void print_row(const char *name, const cost row[NSIZES]) {
  print_message("# | %-20s |", name);
  for (unsigned s = 0; s < NSIZES; s++) {
    if (isinf(row[s].full)) {
      print_message("   never |");
    } else {
      print_message(" %4.1f %4.1f |", row[s].full, row[s].worst);
    }
  }
  print_message("\n");
}

/* Once grown tenfold, ours is within 6 % of the best candidate for each size. */
static void the_table(void **state) {
  (void)state;
  const double firsts[] = {1e2, 1e3, 1e5};
  double regret = 0;
  for (unsigned f = 0; f < 3; f++) {
    cost costs[NCANDIDATES][NSIZES];
    print_message("# from %g keys, at 1 %%; sizes 10^3 to 10^10; full, just grown\n", firsts[f]);
    for (unsigned c = 0; c < NCANDIDATES; c++) {
      for (unsigned s = 0; s < NSIZES; s++) {
        costs[c][s] = cost_of(&candidates[c], firsts[f], pow(10, 3 + (double)s), 0.01);
      }
      print_row(candidates[c].name, costs[c]);
    }
    for (unsigned s = 0; s < NSIZES; s++) {
      if (pow(10, 3 + (double)s) < 9 * firsts[f]) continue;
      double best = INFINITY, ours = 0;
      for (unsigned c = 0; c < NCANDIDATES; c++) {
        if (costs[c][s].full < best) best = costs[c][s].full;
        if (candidates[c].share == share_ours) ours = costs[c][s].full;
      }
      if (ours / best - 1 > regret) regret = ours / best - 1;
    }
  }
  print_message("# ours is at most %.1f %% above the best of them\n", 100 * regret);
  assert_true(regret < 0.06);
}

int main(void) {
  const test_case tests[] = {TEST(the_table)};
  return run_all(tests);
}

/*
 * test_mutable_series.c - which series of FPRs a growing filter should use: the table of
 * doc/families/scalable.md, and how fast its levels should grow, computed with the exact FPR of
 * blocked levels.
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

/* Levels of two halves that triple, or of one block of 512 bits that grow by some factor. */
static const struct candidate {
  const char *name;
  share share;
  double parameter;
  double growth; /* of single levels; 0: of two halves, as ours */
} candidates[] = {
    {"0.18 * 0.82^i (ours)", share_ours, 0, 0},
    {"0.25 * 0.75^i", share_geometric, 0.75, 0},
    {"0.15 * 0.85^i", share_geometric, 0.85, 0},
    {"0.12 * 0.88^i", share_geometric, 0.88, 0},
    {"1/2^(i+1)", share_geometric, 0.5, 0},
    {"6/(pi^2 (i+1)^2)", share_shifted_squares, 1, 0},
    {"c/(i+6)^2", share_shifted_squares, 6, 0},
    {"x2, 0.12 * 0.88^i", share_geometric, 0.88, 2},
    {"x3, 0.18 * 0.82^i", share_geometric, 0.82, 3},
    {"x4, 0.20 * 0.80^i", share_geometric, 0.80, 4},
};
enum { NCANDIDATES = sizeof candidates / sizeof candidates[0], NSIZES = 8, NHALVES = 7 };

typedef struct cost {
  double full, worst; /* bits per key: all that is there is full; just after it was made */
  double mean, lines; /* over all sizes up to this one, equally likely in their logarithm */
} cost;

/* The bits of the next level or half. */
static double cost_bits(const struct candidate *c, unsigned level, double keys, double fpr) {
  double target = fpr * c->share(level, c->parameter);
  uint32_t k;
  uint64_t n = (uint64_t)keys;
  if (c->growth != 0) {
    uint64_t nblocks = nay__blocked_blocks(n, target, 0);
    return nblocks == 0 ? INFINITY : (double)nblocks * 512;
  }
  uint64_t nblocks = nay__halves_size(256, n, target, &k);
  return nblocks == 0 ? INFINITY : (double)nblocks * 256;
}

/* From ten times the first keys to n; full and worst: the first moment at which n are held. */
static cost cost_of(const struct candidate *c, double first, double n, double fpr) {
  double bits = 0, keys = 0, here = first, from = 10 * first;
  cost sum = {0, 0, 0, 0};
  for (unsigned i = 0; keys < n * 0.999; i++) {
    unsigned level = c->growth != 0 ? i : i / 2;
    if (i > 0) here *= c->growth != 0 ? c->growth : i % 2 == 0 ? NAY_SERIES_GROWTH : 1;
    bits += cost_bits(c, level, here, fpr);
    double low = fmax(keys, from), high = fmin(keys + here, n);
    if (high > low) {
      sum.mean += bits * (1 / low - 1 / high);
      sum.lines += (level + 1) * log(high / low);
    }
    sum.worst = keys > 0 ? bits / keys : 0;
    keys += here;
    sum.full = bits / keys;
  }
  double width = log(n / from);
  sum.mean /= width;
  sum.lines /= width;
  return sum;
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
  print_message("\n# | %-20s |", "  mean, lines");
  for (unsigned s = 0; s < NSIZES; s++) {
    bool none = isinf(row[s].mean) || !(row[s].lines > 0);
    if (none) {
      print_message("       - |");
    } else {
      print_message(" %4.1f %4.1f |", row[s].mean, row[s].lines);
    }
  }
  print_message("\n");
}

static double regret_of(double first, cost costs[NCANDIDATES][NSIZES]) {
  double regret = 0;
  for (unsigned s = 0; s < NSIZES; s++) {
    if (pow(10, 3 + (double)s) < 9 * first) continue;
    double best = INFINITY;
    for (unsigned c = 0; c < NHALVES; c++) best = fmin(best, costs[c][s].full);
    regret = fmax(regret, costs[0][s].full / best - 1);
  }
  return regret;
}

/* Once grown tenfold, ours is within an eighth of the best series of each size; its mean is below
 * that of single levels that grow by three, and it probes fewer lines than levels that double. */
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
    regret = fmax(regret, regret_of(firsts[f], costs));
    const cost *ours = &costs[0][5], *doubling = &costs[7][5], *tripling = &costs[8][5];
    assert_true(ours->mean < 0.95 * tripling->mean && ours->mean < 1.12 * doubling->mean);
    assert_true(ours->lines < 0.75 * doubling->lines && ours->lines < tripling->lines);
  }
  print_message("# ours is at most %.1f %% above the best of the series\n", 100 * regret);
  assert_true(regret < 0.125);
}

int main(void) {
  const test_case tests[] = {TEST(the_table)};
  return run_all(tests);
}

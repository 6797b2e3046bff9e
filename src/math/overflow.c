/*
 * overflow.c - the tail of a binomial, mixed over the number of keys in a block.
 *
 * A block gets Poisson(n / nblocks) keys; with i keys there, the sum of a group's counters is
 * Binomial(k i, 1/8), as each of the k i bits falls into one of 8 groups. q(i) = P(sum > 64). The
 * groups of a block are nearly independent given i, blocks are independent, so a page has a number
 * of such groups with mean B * 8 E[q] and variance B * (8 E[q(1-q)] + 64 Var[q]).
 */
#include "math/overflow.h"

#include "math/elementary.h"

#define OVERFLOW_GROUPS 8.0
#define OVERFLOW_LIMIT 64u

/* P(Binomial(t, 1/8) > 64), summed upward from 65 by the ratio of neighbours. */
static double overflow_tail(uint64_t t) {
  if (t <= OVERFLOW_LIMIT) return 0;
  const double odds = 1.0 / 7;
  double ln = (double)t * nay__ln(7.0 / 8); /* ln P(0), then up to ln P(65) */
  for (unsigned j = 0; j <= OVERFLOW_LIMIT; j++) {
    ln += nay__ln((double)(t - j) / (j + 1.0) * odds);
  }
  double p = nay__exp(ln), sum = 0;
  for (uint64_t j = OVERFLOW_LIMIT + 1; j <= t; j++) {
    sum += p;
    double ratio = (double)(t - j) / ((double)j + 1) * odds;
    if (ratio < 1 && p < sum * 1e-12) break;
    p *= ratio;
  }
  return sum < 1 ? sum : 1;
}

uint32_t nay__overflow_records(uint64_t page_blocks, uint64_t nblocks, uint32_t k, uint64_t n) {
  const double mean_keys = (double)n / (double)nblocks;
  const double groups = OVERFLOW_GROUPS * (double)page_blocks;
  if (mean_keys * k / OVERFLOW_GROUPS > 2 * OVERFLOW_LIMIT) return (uint32_t)groups; /* all do */
  /* Poisson weights up to a factor, from ten standard deviations below the mean */
  double low = mean_keys - 10 * nay__exp(0.5 * nay__ln(mean_keys + 1));
  double weight = 1, sum = 0, eq = 0, eqq = 0;
  for (uint64_t i = low > 0 ? (uint64_t)low : 0; weight > sum * 1e-15; i++) {
    double q = overflow_tail(i * k);
    sum += weight;
    eq += weight * q;
    eqq += weight * q * q;
    weight *= mean_keys / ((double)i + 1);
  }
  eq /= sum;
  eqq /= sum;
  double b = (double)page_blocks;
  double mean = b * OVERFLOW_GROUPS * eq;
  double variance =
      b * (OVERFLOW_GROUPS * (eq - eqq) + OVERFLOW_GROUPS * OVERFLOW_GROUPS * (eqq - eq * eq));
  double deviation = variance > 0 ? nay__exp(0.5 * nay__ln(variance)) : 0;
  double records = mean + 6 * deviation + 2;
  return records < groups ? (uint32_t)records : (uint32_t)groups;
}

/*
 * fpr.c - exact false-positive rates (FPR).
 *
 * Throw t balls into m bins. With q1 = (1-1/m)^t and q2 = (1-2/m)^t the share X/m of occupied bins
 * has mean p = 1 - q1 and variance v = (1-1/m) q2 + q1/m - q1^2. A false positive is a query whose
 * k probes all meet occupied bins, so its FPR is E[(X/m)^k]; to second order that is
 *
 *     p^k (1 + k(k-1)/2 * v/p^2)                                                             (1)
 *
 * with an error below 0.1% for m = 512 and up to 16 bits per key (0.6% at 40), less for larger m.
 * For tiny arrays (m <= 1024, few balls) the FPR is exact. The k probes meet j bins with a chance
 * that a walk over the probes gives: one probe takes j to j with chance j/m and to j+1 otherwise.
 * And j given bins are all occupied with a chance that a walk over the balls gives: a ball falls
 * into one of the j with chance j/m, and then j-1 are left. No term is negative.
 *
 * A few balls in a huge array leave q1 and q2 at 1 in a double. p is therefore computed as
 * -expm1(t ln(1-1/m)), and v, whose terms are of the order of 1 and whose value is that of p^2/m,
 * is rewritten with differences that are small themselves:
 *
 *     v = q1/m (1 - (1 - 1/(m-1))^t) - q1^2 (1 - (1 - 1/(m-1)^2)^t)                          (2)
 *
 * A blocked filter is a mixture: the keys in one block follow Binomial(n, 1/nblocks), and within
 * the block (1) holds with m = 512. Putze, Sanders, Singler 2007 give the mixture (with Poisson,
 * and without the variance).
 */
#include "math/fpr.h"

#include "math/elementary.h"

#define FPR_SMALL_BITS 1024
#define FPR_BLOCK_BITS 512
#define FPR_FULL 64 /* probes for each bit at which no bit stays clear: e^-64 is 0 beside 1 */

static double fpr_clamp(double p) { return p < 0 ? 0 : p > 1 ? 1 : p; }

/* Formula (1). */
static double fpr_moments(double m, uint32_t k, double p, double v) {
  if (p <= 0) return 0;
  /*
   * When m is huge v is all rounding. With L = t/m, v is close to (e^-L - (1+L) e^-2L) / m, which
   * is at most (1 - e^-L)^2 / 2m: a few balls hardly ever meet.
   */
  if (v < 0) v = 0;
  if (v > p * p / (2 * m)) v = p * p / (2 * m);
  return fpr_clamp(nay__ipow(p, k) * (1 + 0.5 * k * (k - 1.0) * v / (p * p)));
}

/* The FPR of a block of few bits, where 1 - q1 does not cancel. */
static double fpr_block(double m, uint32_t k, double q1, double q2) {
  return fpr_moments(m, k, 1 - q1, (1 - 1 / m) * q2 + q1 / m - q1 * q1);
}

static double fpr_small(unsigned m, uint32_t k, uint64_t balls) {
  double meets[FPR_SMALL_BITS + 1] = {1}; /* [j]: the chance that the probes meet j bins */
  double holds[FPR_SMALL_BITS + 1] = {1}; /* [j]: that j given bins are all occupied */
  const double per_bin = 1.0 / m;
  const unsigned most = k < m ? k : m;
  for (uint32_t probe = 0; probe < k; probe++) {
    for (unsigned j = probe < most ? probe + 1 : most; j > 0; j--)
      meets[j] = (meets[j] * j + meets[j - 1] * (m - j + 1)) * per_bin;
    meets[0] = 0;
  }
  for (uint64_t ball = 0; ball < balls; ball++) {
    for (unsigned j = most; j > 0; j--)
      holds[j] = (holds[j] * (m - j) + holds[j - 1] * j) * per_bin;
  }
  double rate = 0;
  for (unsigned j = 0; j <= most; j++) rate += meets[j] * holds[j];
  return fpr_clamp(rate);
}

double nay__fpr_bloom(uint64_t m, uint32_t k, uint64_t n) {
  if (m <= FPR_SMALL_BITS && n <= FPR_SMALL_BITS && n * k <= 4 * FPR_SMALL_BITS) {
    return fpr_small((unsigned)m, k, n * k);
  }
  return nay__fpr_bloom_fast(m, k, n);
}

double nay__fpr_bloom_fast(uint64_t m, uint32_t k, uint64_t n) {
  return nay__fpr_bloom_scaled((double)m, k, (double)n);
}

double nay__fpr_bloom_scaled(double m, uint32_t k, double n) {
  if (n <= 0) return 0;
  if (m <= 2) return 1;
  double balls = n * k;
  double ln_q1 = balls * nay__ln1p(-1 / m), q1 = nay__exp(ln_q1), others = m - 1;
  double v = q1 * q1 * nay__expm1(balls * nay__ln1p(-1 / (others * others))) -
             q1 / m * nay__expm1(balls * nay__ln1p(-1 / others)); /* (2) */
  return fpr_moments(m, k, -nay__expm1(ln_q1), v);
}

/*
 * The binomial weights are walked outward from the mode, where they start as 1, until they vanish;
 * dividing by their sum makes them probabilities. No factorial, no underflow.
 */
double nay__fpr_blocked(uint64_t nblocks, uint32_t k, uint64_t n) {
  return nay__fpr_blocks(nblocks, FPR_BLOCK_BITS, k, n);
}

double nay__fpr_blocks(uint64_t nblocks, uint32_t block_bits, uint32_t k, uint64_t n) {
  if (n == 0) return 0;
  const double m = block_bits;
  const double s1 = nay__ipow(1 - 1 / m, k), s2 = nay__ipow(1 - 2 / m, k);
  /* another key of the block with the same low 32 bits has the same pattern, whatever k is */
  const double duplicates = (double)n / (double)nblocks / 4294967296.0;
  if (nblocks == 1)
    return fpr_clamp(fpr_block(m, k, nay__ipow(s1, n), nay__ipow(s2, n)) + duplicates);
  const uint64_t mode = n / nblocks;
  /* also bounds the walk below, whose length is a few times the square root of the mode */
  if (mode * k >= (uint64_t)FPR_BLOCK_BITS * FPR_FULL) return 1;
  const double odds = 1.0 / (double)(nblocks - 1), nn = (double)n;
  const double q1_mode = nay__ipow(s1, mode), q2_mode = nay__ipow(s2, mode);
  double weights = 0, rate = 0;

  double w = 1, q1 = q1_mode, q2 = q2_mode;
  for (uint64_t i = mode; w > 1e-18; i++) {
    weights += w;
    rate += w * fpr_block(m, k, q1, q2);
    if (i == n) break;
    w *= (nn - (double)i) / ((double)i + 1) * odds;
    q1 *= s1;
    q2 *= s2;
  }
  w = 1, q1 = q1_mode, q2 = q2_mode;
  for (uint64_t i = mode; i > 0; i--) {
    w *= (double)i / ((nn - (double)i + 1) * odds);
    if (w < 1e-18) break;
    q1 /= s1;
    q2 /= s2;
    weights += w;
    rate += w * fpr_block(m, k, q1, q2);
  }
  return fpr_clamp(rate / weights + duplicates);
}

/*
 * A full array: clear bits are Poisson with a mean of m e^(-kn/m), so none is left with a chance of
 * 1 in 1,000 when that mean is ln 1,000. Each key sets at most k bits, so m / k is a bound, too.
 */
static double fpr_fewest_that_fill(double m, uint32_t k) {
  const double ln_1000 = 6.907755278982137;
  double sure = m > k ? m / k : 1;
  if (m <= ln_1000) return sure;
  double fewest = nay__ln(ln_1000 / m) / (k * nay__ln1p(-1 / m));
  return fewest > sure ? fewest : sure;
}

/* The variance is that of linear counting (Whang, Vander-Zanden, Taylor 1990), for k probes. */
nay_estimate nay__estimate_keys(uint64_t m, uint32_t k, uint64_t x) {
  double bins = (double)m;
  if (x == 0) return (nay_estimate){0, 0, false};
  if (x >= m) return (nay_estimate){fpr_fewest_that_fill(bins, k), 0, true};
  double ln_clear = nay__ln1p(-(double)x / bins); /* below 0; m is at least 2 */
  double t = -ln_clear, variance = bins * (nay__exp(t) - t - 1) / ((double)k * k);
  return (nay_estimate){ln_clear / (k * nay__ln1p(-1 / bins)), variance, false};
}

void nay__estimate_add(nay_estimate *sum, const nay_estimate *one, uint64_t times) {
  sum->nkeys += (double)times * one->nkeys;
  sum->variance += (double)times * one->variance;
  sum->saturated |= one->saturated && times != 0;
}

double nay__estimate_value(const nay_estimate *estimate) {
  if (!estimate->saturated || estimate->variance <= 0) return estimate->nkeys;
  double least = estimate->nkeys - 3.1 * nay__sqrt(estimate->variance);
  return least > 0 ? least : 0;
}

/* sliced.c - the searches of plan.c for a false-positive rate (FPR) of several filters. */
#include "math/sliced.h"

#include "math/elementary.h"
#include "math/fpr.h"
#include "math/plan.h"

#define SLICED_K_SLACK 1.01

double nay__sliced_fpr(nay_slices s, uint64_t nunits, uint32_t k, uint64_t n) {
  double one = nay__fpr_blocks(nunits, s.nbits, k, n);
  return one < 1 ? -nay__expm1(s.slices * nay__ln1p(-one)) : 1;
}

uint32_t nay__sliced_k(nay_slices s, uint64_t nunits, uint64_t n) {
  double best = 1;
  uint32_t best_k = 1;
  for (uint32_t k = 1; k <= NAY_MAX_K / 2; k++) {
    double rate = nay__sliced_fpr(s, nunits, k, n);
    if (rate > best * 1.5) break; /* past the minimum */
    if (rate < best) best = rate;
  }
  for (uint32_t k = NAY_MAX_K / 2; k >= 1; k--) {
    if (nay__sliced_fpr(s, nunits, k, n) <= best * SLICED_K_SLACK) best_k = k;
  }
  return best_k;
}

static bool sliced_enough(nay_slices s, uint64_t nunits, uint64_t n, double fpr, uint32_t k) {
  return nay__sliced_fpr(s, nunits, k != 0 ? k : nay__sliced_k(s, nunits, n), n) <= fpr;
}

uint64_t nay__sliced_units(nay_slices s, uint64_t n, double fpr, uint32_t k) {
  /* half of the textbook size for the keys of one slice is below what is needed */
  double start = -(double)n * nay__ln(fpr) / (NAY_LN2 * NAY_LN2) / s.nbits / 2;
  double most = (double)n * (NAY_MAX_BITS_PER_KEY / s.nbits) + 1;
  if (most > (double)(NAY_MAX_NBITS / 1024)) most = (double)(NAY_MAX_NBITS / 1024);
  if (start > most) return 0;
  uint64_t low = 0, high = start < 1 ? 1 : (uint64_t)start;
  while (!sliced_enough(s, high, n, fpr, k)) {
    if ((double)high >= most) return 0;
    low = high;
    high += high / 4 + 1;
  }
  while (high - low > 1 + low / 4096) {
    uint64_t mid = low + (high - low) / 2;
    if (sliced_enough(s, mid, n, fpr, k)) {
      high = mid;
    } else {
      low = mid;
    }
  }
  return high;
}

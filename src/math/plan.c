/*
 * plan.c - sizing.
 *
 * k is chosen by trying: rates are cheap to compute and have one minimum in k, so walk from the
 * textbook value (bits per key times ln 2) to the best, then down while the loss stays within 1 %:
 * a probe less is a probe faster. Sizes for a rate are found by bisection on the exact rate, which
 * falls as the size grows.
 */
#include "math/plan.h"

#include "math/elementary.h"
#include "math/fpr.h"

#define PLAN_BLOCK_BITS 512
#define PLAN_K_SLACK 1.01

typedef double (*plan_rate)(uint64_t size, uint32_t k, uint64_t n);

static bool plan_is_set(double x) { return x != 0; /* NaN is set, and refused below */ }

nay_status nay__params_check(const nay_params *p, nay_diag *diag, nay_sizing *sizing) {
  int given =
      plan_is_set(p->fpr) + plan_is_set(p->bits_per_key) + (p->nbytes != 0) + (p->nbits != 0);
  if (given == 0) {
    return nay__fail(diag, NAY_EINVAL, "no size: set fpr, bits_per_key, nbytes or nbits", 0);
  }
  if (given > 1) {
    return nay__fail(diag, NAY_EINVAL,
                     "more than one size: set only one of fpr, bits_per_key, nbytes, nbits", 0);
  }
  if (p->nkeys == 0 && p->nbits == 0) {
    return nay__fail(diag, NAY_EINVAL, "nkeys is 0: say how many keys you will add", 0);
  }
  if (p->nkeys > NAY_MAX_NKEYS) return nay__fail(diag, NAY_EINVAL, "nkeys is above 2^56", 0);
  if (p->k > NAY_MAX_K) return nay__fail(diag, NAY_EINVAL, "k is above 64", 0);
  if (p->nbits > NAY_MAX_NBITS) return nay__fail(diag, NAY_EINVAL, "nbits is above 2^60", 0);
  if (p->nbytes > NAY_MAX_NBITS / 8) return nay__fail(diag, NAY_EINVAL, "nbytes is above 2^57", 0);
  if (p->fold > NAY_MAX_NBITS) return nay__fail(diag, NAY_EINVAL, "fold is above 2^60", 0);
  if ((p->flags & ~(NAY_CONCURRENT | NAY_STORE_KEY | NAY_SMALL_PAGES | NAY_UNIQUE | NAY_NO_VERIFY |
                    NAY_LOW_MEMORY | NAY_ZEROED)) != 0) {
    return nay__fail(diag, NAY_EINVAL, "flags has a bit that is not known", 0);
  }
  if (p->threads > 256) return nay__fail(diag, NAY_EINVAL, "threads is above 256", 0);
  if (plan_is_set(p->fpr) && !(p->fpr > 0 && p->fpr < 1)) {
    return nay__fail(diag, NAY_EINVAL, "fpr is not between 0 and 1", 0);
  }
  if (plan_is_set(p->bits_per_key) &&
      !(p->bits_per_key > 0 && p->bits_per_key <= NAY_MAX_BITS_PER_KEY)) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key is not between 0 and 4096", 0);
  }
  if (plan_is_set(p->bits_per_key) && p->bits_per_key * (double)p->nkeys > (double)NAY_MAX_NBITS) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key times nkeys is above 2^60", 0);
  }
  *sizing = plan_is_set(p->fpr)            ? NAY_BY_FPR
            : plan_is_set(p->bits_per_key) ? NAY_BY_BITS_PER_KEY
            : p->nbytes != 0               ? NAY_BY_NBYTES
                                           : NAY_BY_NBITS;
  return NAY_OK;
}

nay_status nay__params_knobs(const nay_params *p, nay_kind kind, nay_diag *diag) {
  if (kind != NAY_CUCKOO) {
    if (p->tag_bits != 0) return nay__fail(diag, NAY_EINVAL, "tag_bits is for cuckoo", 0);
    if (p->max_nkeys != 0) return nay__fail(diag, NAY_EINVAL, "max_nkeys is for cuckoo", 0);
  }
  if ((p->flags & NAY_UNIQUE) != 0 && kind != NAY_CUCKOO && kind != NAY_COUNTING) {
    return nay__fail(diag, NAY_EINVAL, "flags: NAY_UNIQUE is for counting and cuckoo", 0);
  }
  if (kind != NAY_WINDOW) {
    if (p->generations != 0) return nay__fail(diag, NAY_EINVAL, "generations is for window", 0);
    if (p->window != 0) return nay__fail(diag, NAY_EINVAL, "window is for window", 0);
  }
  if (p->max_nbytes != 0 && kind != NAY_SCALABLE && kind != NAY_CUCKOO) {
    return nay__fail(diag, NAY_EINVAL, "max_nbytes is for scalable and cuckoo, which grow", 0);
  }
  return NAY_OK;
}

static uint32_t plan_best_k(plan_rate rate, uint64_t size, uint64_t n, double bits_per_key) {
  double start = bits_per_key * NAY_LN2;
  uint32_t k = start < 1 ? 1 : start > NAY_MAX_K ? NAY_MAX_K : (uint32_t)start;
  double best = rate(size, k, n);
  while (k < NAY_MAX_K) {
    double up = rate(size, k + 1, n);
    if (!(up < best)) break;
    best = up;
    k++;
  }
  while (k > 1) {
    double down = rate(size, k - 1, n);
    if (down > best * PLAN_K_SLACK) break;
    if (down < best) best = down;
    k--;
  }
  return k;
}

uint32_t nay__bloom_k(uint64_t m, uint64_t n) {
  if (n == 0) return 1;
  return plan_best_k(nay__fpr_bloom_fast, m, n, (double)m / (double)n);
}

uint32_t nay__blocked_k(uint64_t nblocks, uint64_t n) {
  if (n == 0) return 1;
  return plan_best_k(nay__fpr_blocked, nblocks, n, (double)nblocks * PLAN_BLOCK_BITS / (double)n);
}

/* The least size in (low, high] at which the rate is at or below fpr; high is known to be enough.
 */
static uint64_t plan_bisect(plan_rate rate, uint32_t (*best_k)(uint64_t, uint64_t), uint64_t low,
                            uint64_t high, uint64_t n, double fpr, uint32_t k) {
  while (high - low > 1 + low / 65536) { /* 0.0015 %: the last bits of a size buy nothing */
    uint64_t mid = low + (high - low) / 2;
    if (rate(mid, k != 0 ? k : best_k(mid, n), n) <= fpr) {
      high = mid;
    } else {
      low = mid;
    }
  }
  return high;
}

/* Doubles from the textbook size until the rate holds; then bisects. 0 when max_size is not enough.
 */
static uint64_t plan_search(plan_rate rate, uint32_t (*best_k)(uint64_t, uint64_t), uint64_t start,
                            uint64_t max_size, uint64_t n, double fpr, uint32_t k) {
  uint64_t low = 0, high = start < 1 ? 1 : start;
  while (rate(high, k != 0 ? k : best_k(high, n), n) > fpr) {
    if (high >= max_size) return 0;
    low = high;
    high = nay__min_u64(max_size, high + high / 8 + 1);
  }
  return plan_bisect(rate, best_k, low, high, n, fpr, k);
}

/* The textbook size for a rate: -n ln(fpr) / ln(2)^2. */
static double plan_textbook_bits(uint64_t n, double fpr) {
  return -(double)n * nay__ln(fpr) / (NAY_LN2 * NAY_LN2);
}

uint64_t nay__bloom_bits(uint64_t n, double fpr, uint32_t k) {
  double start = plan_textbook_bits(n, fpr);
  if (start > (double)NAY_MAX_NBITS) return 0;
  uint64_t m =
      plan_search(nay__fpr_bloom_fast, nay__bloom_k, (uint64_t)start, NAY_MAX_NBITS, n, fpr, k);
  while (m != 0 && nay__fpr_bloom(m, k != 0 ? k : nay__bloom_k(m, n), n) > fpr) {
    m = m < NAY_MAX_NBITS ? m + m / 128 + 1 : 0; /* tiny arrays: the fast rate is a little low */
  }
  return m;
}

uint64_t nay__blocked_blocks(uint64_t n, double fpr, uint32_t k) {
  double start = plan_textbook_bits(n, fpr) / PLAN_BLOCK_BITS;
  double most = (double)n * (NAY_MAX_BITS_PER_KEY / PLAN_BLOCK_BITS);
  if (most > (double)(NAY_MAX_NBITS / PLAN_BLOCK_BITS)) {
    most = (double)(NAY_MAX_NBITS / PLAN_BLOCK_BITS);
  }
  if (start > most) return 0;
  return plan_search(nay__fpr_blocked, nay__blocked_k, (uint64_t)start, (uint64_t)most + 1, n, fpr,
                     k);
}

/*
 * Steps of 60 * 2^j have the divisors 1 2 3 4 5 6 8 10 12 15 16 ...; 256 steps make a size, so that
 * rounding up costs 0.4 % at most. Because the step doubles with the size, from 15360 units on a
 * plan for twice the keys is exactly twice as large (1452 of 1454 that were tried: the search may
 * stop on either side of a step), and the two can be merged by folding.
 */
uint64_t nay__fold_step(uint64_t size, uint64_t fold) {
  static const uint64_t small[] = {2, 4, 12, 60};
  uint64_t step = 1;
  for (unsigned i = 0; i < 4; i++) {
    if (small[i] <= size / 256) step = small[i];
  }
  if (step == 60) {
    while (step * 2 <= size / 256) step *= 2;
  }
  if (fold <= 1 || step % fold == 0) return step;
  return fold;
}

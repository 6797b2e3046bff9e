/*
 * plan.c - sizing.
 *
 * k is chosen by trying: false-positive rates (FPR) are cheap to compute and have one minimum in k,
 * so walk from the textbook value (bits per key times ln 2) to the best, then down while the loss
 * stays within 1%: a probe less is a probe faster. Sizes for an FPR are found by bisection on the
 * exact FPR, which falls as the size grows.
 *
 * Filters of different sizes merge by folding both to their greatest common size. So sizes of 128
 * units (blocks of 512 bits, words of 64) and more are m * 2^e with 128 <= m < 256, and a plan for
 * twice the keys is exactly twice as large, with the same k. That a size on this grid is found for
 * n keys and its double for 2n takes more than rounding: the exact FPR depends a little on the
 * size itself, and near a step n and 2n would fall on different sides of it. The FPRs that choose
 * are therefore those of one octave, to which both are scaled: for blocks a very large one, where
 * the keys of a block are Poisson and the FPR is highest; for a classic array the smallest, where
 * its variance is highest. The exact FPR of the size that is chosen is never above them.
 */
#include "math/plan.h"

#include "math/elementary.h"
#include "math/fpr.h"

#define PLAN_BLOCK_BITS 512
#define PLAN_WORD_BITS 64
#define PLAN_K_SLACK 1.01
#define PLAN_GRID 128u /* sizes below are exact: the step is one unit */
#define PLAN_MANY_BLOCKS ((uint64_t)1 << 40)

typedef double (*plan_fpr)(uint64_t size, uint32_t k, uint64_t n);

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

nay_status nay__params_knobs(const nay_params *p, unsigned knobs, nay_diag *diag) {
  const struct {
    bool is_set;
    unsigned knob;
    const char *what;
  } fields[] = {
      {p->tag_bits != 0, NAY_KNOB_TAG_BITS, "tag_bits is for cuckoo"},
      {p->max_nkeys != 0, NAY_KNOB_MAX_NKEYS, "max_nkeys is for cuckoo"},
      {(p->flags & NAY_UNIQUE) != 0, NAY_KNOB_UNIQUE,
       "flags: NAY_UNIQUE is for counting and cuckoo"},
      {p->generations != 0, NAY_KNOB_GENERATIONS, "generations is for window"},
      {p->window != 0, NAY_KNOB_GENERATIONS, "window is for window"},
      {p->max_nbytes != 0, NAY_KNOB_MAX_NBYTES,
       "max_nbytes is for scalable and cuckoo, which grow"},
      {p->value_bits != 0, NAY_KNOB_VALUES, "value_bits is for maps"},
      {p->check_bits != 0, NAY_KNOB_VALUES, "check_bits is for maps and lists"},
      {p->range_length != 0, NAY_KNOB_RANGE, "range_length is for range filters"},
      {p->range_keys != 0, NAY_KNOB_RANGE, "range_keys is for range filters"},
      {p->range_delimiter != 0, NAY_KNOB_RANGE, "range_delimiter is for range filters"},
      {p->list_base != 0, NAY_KNOB_LIST, "list_base is for lists"},
      {p->list_prefix != 0, NAY_KNOB_LIST, "list_prefix is for lists"},
      {p->list_delimiter != 0, NAY_KNOB_LIST, "list_delimiter is for lists"},
      {p->list_outside != 0, NAY_KNOB_LIST, "list_outside is for lists"},
  };
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    if (fields[i].is_set && (knobs & fields[i].knob) == 0) {
      return nay__fail(diag, NAY_EINVAL, fields[i].what, 0);
    }
  }
  return NAY_OK;
}

static uint32_t plan_best_k(plan_fpr fpr_of, uint64_t size, uint64_t n, double bits_per_key) {
  double start = bits_per_key * NAY_LN2;
  uint32_t k = start < 1 ? 1 : start > NAY_MAX_K ? NAY_MAX_K : (uint32_t)start;
  double best = fpr_of(size, k, n);
  while (k < NAY_MAX_K) {
    double up = fpr_of(size, k + 1, n);
    if (!(up < best)) break;
    best = up;
    k++;
  }
  while (k > 1) {
    double down = fpr_of(size, k - 1, n);
    if (down > best * PLAN_K_SLACK) break;
    if (down < best) best = down;
    k--;
  }
  return k;
}

/* The FPR of the smallest array of 128 words or more that has as many bits for each key. */
static double plan_bloom_rate(uint64_t m, uint32_t k, uint64_t n) {
  const double least = PLAN_GRID * PLAN_WORD_BITS;
  double bits = (double)m, keys = (double)n;
  for (; bits >= 2 * least; bits *= 0.5) keys *= 0.5;
  return nay__fpr_bloom_scaled(bits, k, keys);
}

/* The FPR of 2^40 blocks or more that have as many keys each. */
static double plan_blocked_rate(uint64_t nblocks, uint32_t k, uint64_t n) {
  if (nblocks < PLAN_GRID) return nay__fpr_blocked(nblocks, k, n);
  if (n / nblocks >= 65536) return 1; /* no bit of a block stays clear */
  for (; nblocks < PLAN_MANY_BLOCKS; nblocks *= 2) n *= 2;
  return nay__fpr_blocked(nblocks, k, n);
}

uint32_t nay__bloom_k(uint64_t m, uint64_t n) {
  if (n == 0) return 1;
  return plan_best_k(plan_bloom_rate, m, n, (double)m / (double)n);
}

uint32_t nay__blocked_k(uint64_t nblocks, uint64_t n) {
  if (n == 0) return 1;
  return plan_best_k(plan_blocked_rate, nblocks, n, (double)nblocks * PLAN_BLOCK_BITS / (double)n);
}

/* The least size in (low, high] at which the FPR is at or below fpr; high is known to be enough.
 */
static uint64_t plan_bisect(plan_fpr fpr_of, uint32_t (*best_k)(uint64_t, uint64_t), uint64_t low,
                            uint64_t high, uint64_t n, double fpr, uint32_t k) {
  while (high - low > 1 + low / 65536) { /* 0.0015%: the last bits of a size buy nothing */
    uint64_t mid = low + (high - low) / 2;
    if (fpr_of(mid, k != 0 ? k : best_k(mid, n), n) <= fpr) {
      high = mid;
    } else {
      low = mid;
    }
  }
  return high;
}

/* Doubles from the textbook size until the FPR holds; then bisects. 0 when max_size is not enough.
 */
static uint64_t plan_search(plan_fpr fpr_of, uint32_t (*best_k)(uint64_t, uint64_t), uint64_t start,
                            uint64_t max_size, uint64_t n, double fpr, uint32_t k) {
  uint64_t low = 0, high = start < 1 ? 1 : start;
  while (fpr_of(high, k != 0 ? k : best_k(high, n), n) > fpr) {
    if (high >= max_size) return 0;
    low = high;
    high = nay__min_u64(max_size, high + high / 8 + 1);
  }
  return plan_bisect(fpr_of, best_k, low, high, n, fpr, k);
}

/* The textbook size for an FPR: -n ln(fpr) / ln(2)^2. */
static double plan_textbook_bits(uint64_t n, double fpr) {
  return -(double)n * nay__ln(fpr) / (NAY_LN2 * NAY_LN2);
}

uint64_t nay__bloom_bits(uint64_t n, double fpr, uint32_t k) {
  double start = plan_textbook_bits(n, fpr);
  if (start > (double)NAY_MAX_NBITS) return 0;
  uint64_t m =
      plan_search(nay__fpr_bloom_fast, nay__bloom_k, (uint64_t)start, NAY_MAX_NBITS, n, fpr, k);
  while (m != 0 && nay__fpr_bloom(m, k != 0 ? k : nay__bloom_k(m, n), n) > fpr) {
    m = m < NAY_MAX_NBITS ? m + m / 128 + 1 : 0; /* tiny arrays: the fast FPR is a little low */
  }
  return m;
}

static double plan_most_blocks(uint64_t n) {
  const double all = (double)(NAY_MAX_NBITS / PLAN_BLOCK_BITS);
  double most = (double)n * (NAY_MAX_BITS_PER_KEY / PLAN_BLOCK_BITS);
  return most < all ? most : all;
}

uint64_t nay__blocked_blocks(uint64_t n, double fpr, uint32_t k) {
  double start = plan_textbook_bits(n, fpr) / PLAN_BLOCK_BITS;
  double most = plan_most_blocks(n);
  if (start > most) return 0;
  return plan_search(nay__fpr_blocked, nay__blocked_k, (uint64_t)start, (uint64_t)most + 1, n, fpr,
                     k);
}

/* ---- sizes that fold ---- */

uint64_t nay__grid_up(double units) {
  uint64_t scale = 1;
  for (; units > 2 * PLAN_GRID; units *= 0.5) scale *= 2; /* exact: a power of two */
  uint64_t m = (uint64_t)units;
  return ((double)m < units || m == 0 ? m + 1 : m) * scale;
}

uint64_t nay__grid_down(uint64_t units) {
  unsigned shift = 0;
  while (units >> shift >= 2 * PLAN_GRID) shift++;
  return units >> shift << shift;
}

/* The sizes of the grid from 128 units on, in order. */
static uint64_t plan_grid_at(unsigned i) {
  return (uint64_t)(PLAN_GRID + i % PLAN_GRID) << i / PLAN_GRID;
}

/* The last of them that is not above x; 0 when all are. */
static unsigned plan_grid_index(double x) {
  unsigned octave = 0;
  for (; x >= 2 * PLAN_GRID; x *= 0.5) octave++;
  return octave * PLAN_GRID + (x > PLAN_GRID ? (unsigned)x - PLAN_GRID : 0);
}

/* What a search over the grid is for: n keys at fpr, with k probes or the best number of them. */
typedef struct plan_goal {
  plan_fpr fpr_of;
  uint32_t (*best_k)(uint64_t, uint64_t);
  uint64_t unit; /* what FPR counts in a unit of the grid */
  uint64_t n;
  double fpr;
  uint32_t k;
} plan_goal;

static bool plan_reaches(const plan_goal *goal, unsigned i) {
  uint64_t size = plan_grid_at(i) * goal->unit;
  return goal->fpr_of(size, goal->k != 0 ? goal->k : goal->best_k(size, goal->n), goal->n) <=
         goal->fpr;
}

/* The least size of the grid, from `start` units to `most`, that keeps the FPR; 0: none does. */
static uint64_t plan_grid_search(const plan_goal *goal, double start, double most) {
  unsigned low = plan_grid_index(start), last = plan_grid_index(most), high = low, step = 1;
  if (low > last) return 0;
  if (plan_reaches(goal, low)) return plan_grid_at(low);
  do { /* doubles the distance, always from `start`: n and 2n are searched alike */
    if (high == last) return 0;
    low = high;
    high = last - high > step ? high + step : last;
    step *= 2;
  } while (!plan_reaches(goal, high));
  while (high - low > 1) {
    unsigned middle = low + (high - low) / 2;
    if (plan_reaches(goal, middle)) {
      high = middle;
    } else {
      low = middle;
    }
  }
  return plan_grid_at(high);
}

uint64_t nay__bloom_size(uint64_t n, double fpr, uint32_t k) {
  double start = plan_textbook_bits(n, fpr) / PLAN_WORD_BITS;
  if (start > (double)(NAY_MAX_NBITS / PLAN_WORD_BITS)) return 0;
  if (start < PLAN_GRID) { /* the search begins at the textbook size */
    uint64_t words = nay__ceil_div(nay__bloom_bits(n, fpr, k), PLAN_WORD_BITS);
    if (words < PLAN_GRID) return words * PLAN_WORD_BITS;
  }
  plan_goal goal = {plan_bloom_rate, nay__bloom_k, PLAN_WORD_BITS, n, fpr, k};
  return plan_grid_search(&goal, start, (double)(NAY_MAX_NBITS / PLAN_WORD_BITS)) * PLAN_WORD_BITS;
}

uint64_t nay__blocked_size(uint64_t n, double fpr, uint32_t k) {
  double start = plan_textbook_bits(n, fpr) / PLAN_BLOCK_BITS;
  double most = plan_most_blocks(n);
  if (start > most) return 0;
  if (start < PLAN_GRID) { /* the search begins at the textbook size */
    uint64_t nblocks = nay__blocked_blocks(n, fpr, k);
    if (nblocks < PLAN_GRID) return nblocks;
  }
  plan_goal goal = {plan_blocked_rate, nay__blocked_k, 1, n, fpr, k};
  return plan_grid_search(&goal, start, most);
}

/* ---- levels of two halves ---- */

/* As plan_blocked_rate, for an absent key that is nay in both halves. */
static double plan_halves_rate(uint32_t block_bits, uint64_t nblocks, uint32_t k, uint64_t n) {
  if (n / nblocks >= 65536) return 1;
  while (nblocks >= PLAN_GRID && nblocks < PLAN_MANY_BLOCKS) {
    nblocks *= 2;
    n *= 2;
  }
  double one = nay__fpr_blocks(nblocks, block_bits, k, n);
  return one * (2 - one);
}

static double plan_rate_256(uint64_t nblocks, uint32_t k, uint64_t n) {
  return plan_halves_rate(256, nblocks, k, n);
}

static double plan_rate_512(uint64_t nblocks, uint32_t k, uint64_t n) {
  return plan_halves_rate(512, nblocks, k, n);
}

static uint32_t plan_k_256(uint64_t nblocks, uint64_t n) {
  return plan_best_k(plan_rate_256, nblocks, n, (double)nblocks * 256 / (double)n);
}

static uint32_t plan_k_512(uint64_t nblocks, uint64_t n) {
  return plan_best_k(plan_rate_512, nblocks, n, (double)nblocks * 512 / (double)n);
}

uint64_t nay__halves_size(uint32_t block_bits, uint64_t n, double fpr, uint32_t *k) {
  bool small = block_bits == 256;
  plan_goal goal = {
      small ? plan_rate_256 : plan_rate_512, small ? plan_k_256 : plan_k_512, 1, n, fpr, 0};
  double start = plan_textbook_bits(n, fpr) / block_bits;
  double most = plan_most_blocks(n) * PLAN_BLOCK_BITS / block_bits;
  uint64_t nblocks = 0;
  if (start > most) return 0;
  if (start < PLAN_GRID) {
    nblocks = plan_search(goal.fpr_of, goal.best_k, (uint64_t)start, (uint64_t)most + 1, n, fpr, 0);
    if (nblocks >= PLAN_GRID) nblocks = 0;
  }
  if (nblocks == 0) nblocks = plan_grid_search(&goal, start, most);
  if (nblocks != 0) *k = goal.best_k(nblocks, n);
  return nblocks;
}

/*
 * counting_plan.c - the size of a counting filter: its plane, its number of probes and its pools.
 *
 * A plan of blocked.c sizes the plane. What is left is to see that the pools hold: a group whose
 * counters sum to more than 64 needs a record, and a group that finds no record sticks, for ever.
 * Under churn every overflow leaves a stuck group behind, so pools must not merely be large enough
 * for one set of keys: the chance that a page overflows is kept below 10^-12, with 5% more keys
 * than planned (from there on nay_stats.overloaded is set).
 *
 * The chance. The keys of a block are Poisson. Given N keys, the N k probes fall on the 8 groups
 * like a multinomial (a key that probes a bit twice counts once, which only lowers the sums), and a
 * group is above 64 with the chance q(N) of a binomial tail. Given N the groups of a block are
 * negatively associated, so the number H of groups above 64 has E[z^H | N] <= (1 + q(N)(z-1))^8 for
 * z > 1, and Chernoff's bound for a page of b blocks with r records is
 *
 *     P(more than r) <= z^-r M(z)^b,   M(z) = E[(1 + q(N)(z-1))^8]
 *
 * which holds for each z: the best of a few is taken.
 *
 * Counters. A counter of a record sticks at 15. A key has a given bit with a probability of at most
 * k / 512, so the count of a bit is Poisson with a mean of at most keys * k / bits. Plans keep that
 * mean at or below 1.08, with 5% more keys: fewer than 1 in 10^12 counters reach 15. The best k has
 * a mean of 0.7; a higher k that the caller gives needs a larger plane.
 *
 * The remedy. The FPR is nearly flat around its best k, so a smaller k, with fewer counts for each
 * key, costs few bits; at k = 1 a larger plane does, and the FPR is then below the one asked for.
 * Where the caller has fixed the plane, or k is so high that a larger plane costs more, pools have
 * more records: 1 to 8 for each block, part of the shape. nbits is the one size that fixes the
 * plane whatever its counters do: nay_filter_params makes the twin of a folded filter from it.
 */
#include "family/counting_page.h"

#include "family/blocked.h"
#include "math/elementary.h"
#include "math/plan.h"

#define COUNTING_LN_CHANCE (-27.6310211159285) /* ln 10^-12 */
#define COUNTING_MORE_KEYS 1.05
#define COUNTING_MOST_MEAN 1.08   /* counts of a bit: P(Poisson >= 15) is 8.8 * 10^-13 */
#define COUNTING_WORD 64u         /* the sum of counters that a group's word holds */
#define COUNTING_ALL_ABOVE 4096.0 /* probes of a block from which on all groups are above that */
#define COUNTING_NZ 12u           /* z = 1 + 2^-4, ... 1 + 2^7 */
#define COUNTING_ALIKE 128u       /* sizes from here on double exactly: math/plan.c */
#define COUNTING_MAX_BLOCKS (NAY_MAX_NBITS / NAY_BLOCK_BITS / 8)

bool nay__counting_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > COUNTING_MAX_BLOCKS) return false;
  if (shape->k == 0 || shape->k > NAY_MAX_K) return false;
  if (shape->extra > (NAY_COUNTING_UNIQUE | NAY_COUNTING_MAX_SPARE << 1)) return false;
  uint32_t spare = shape->extra >> 1;
  uint64_t npages = nay__counting_npages(shape->nunits);
  uint64_t last = shape->nunits - (npages - 1) * NAY_COUNTING_PAGE;
  *nbytes = shape->nunits * NAY_BLOCK_BYTES +
            (npages - 1) * nay__counting_page_size(NAY_COUNTING_PAGE, spare) +
            nay__counting_page_size((unsigned)last, spare);
  *nbits = *nbytes * 8;
  return true;
}

/* ---- do the pools hold? ---- */

/* q(N): the chance that more than 64 of n probes fall on one of 8 groups. */
static double counting_above(uint64_t n) {
  if ((double)n >= COUNTING_ALL_ABOVE) return 1;
  if (n <= COUNTING_WORD) return 0;
  double term = nay__ipow(7.0 / 8, n), sum = term;
  for (unsigned i = 1; i <= COUNTING_WORD; i++) {
    term *= (double)(n - i + 1) / (7.0 * i);
    sum += term;
  }
  return sum < 1 ? 1 - sum : 0;
}

static void counting_weigh(double moments[COUNTING_NZ], double weight, double q) {
  double z_minus_1 = 1.0 / 16;
  for (unsigned i = 0; i < COUNTING_NZ; i++, z_minus_1 *= 2)
    moments[i] += weight * nay__ipow(1 + q * z_minus_1, NAY_COUNTING_GROUPS);
}

/* ln M(z): the weights of Poisson are walked outward from the mode, as in math/fpr.c. */
static void counting_ln_moments(double mean, uint32_t k, double moments[COUNTING_NZ]) {
  const uint64_t mode = (uint64_t)mean;
  double weights = 0, w = 1;
  for (unsigned i = 0; i < COUNTING_NZ; i++) moments[i] = 0;
  for (uint64_t n = mode; w > 1e-30; w *= mean / (double)++n) {
    weights += w;
    counting_weigh(moments, w, counting_above(n * k));
  }
  w = 1;
  for (uint64_t n = mode; n > 0; n--) {
    w *= (double)n / mean;
    if (w < 1e-30) break;
    weights += w;
    counting_weigh(moments, w, counting_above((n - 1) * k));
  }
  for (unsigned i = 0; i < COUNTING_NZ; i++) moments[i] = nay__ln(moments[i] / weights);
}

/* Whether pages of so many blocks hold, by ln M(z). */
static bool counting_page_holds(const double ln_moments[COUNTING_NZ], unsigned nblocks,
                                uint32_t spare) {
  const uint32_t nrecords = nay__counting_nrecords(nblocks, spare);
  if (nrecords == nblocks * NAY_COUNTING_GROUPS) return true;
  double z_minus_1 = 1.0 / 16;
  for (unsigned i = 0; i < COUNTING_NZ; i++, z_minus_1 *= 2) {
    double ln_chance = nblocks * ln_moments[i] - nrecords * nay__ln1p(z_minus_1);
    if (ln_chance <= COUNTING_LN_CHANCE) return true;
  }
  return false;
}

/* From 128 blocks on a plan for twice the keys is the same with twice the blocks, and the last page
 * has any size: pages of all sizes, in steps of a quarter, must hold. */
static bool counting_holds(const double ln_moments[COUNTING_NZ], uint64_t nblocks, uint32_t spare) {
  if (nblocks < COUNTING_ALIKE) return counting_page_holds(ln_moments, (unsigned)nblocks, spare);
  for (unsigned n = 4; n <= NAY_COUNTING_PAGE; n += n / 4)
    if (!counting_page_holds(ln_moments, n, spare)) return false;
  return counting_page_holds(ln_moments, NAY_COUNTING_PAGE, spare);
}

/* The fewest spare records for each block with which the pools hold. */
static uint32_t counting_spare(uint64_t nkeys, uint64_t nblocks, uint32_t k) {
  double mean = COUNTING_MORE_KEYS * (double)nkeys / (double)nblocks;
  if (nkeys == 0) return 0;
  if (mean * k >= COUNTING_ALL_ABOVE) return NAY_COUNTING_MAX_SPARE;
  double ln_moments[COUNTING_NZ];
  counting_ln_moments(mean, k, ln_moments);
  uint32_t spare = 0;
  while (spare < NAY_COUNTING_MAX_SPARE && !counting_holds(ln_moments, nblocks, spare)) spare++;
  return spare;
}

/* The blocks from which on counters hold: a fraction, so that twice the keys need exactly twice. */
static double counting_least_blocks(uint64_t nkeys, uint32_t k) {
  return COUNTING_MORE_KEYS / COUNTING_MOST_MEAN / NAY_BLOCK_BITS * (double)nkeys * k;
}

static void counting_set_spare(uint64_t nkeys, nay_shape *shape) {
  shape->extra = counting_spare(nkeys, shape->nunits, shape->k) << 1;
}

/* ---- by a false-positive rate (FPR) ---- */

/* The fewest blocks, on the grid, above `from` with which pools without spare records hold. */
static uint64_t counting_roomy(uint64_t nkeys, uint64_t from, uint32_t k) {
  double low = (double)from, high = 2 * low;
  while (counting_spare(nkeys, nay__grid_up(high), k) > 0) {
    if (high > (double)COUNTING_MAX_BLOCKS) return COUNTING_MAX_BLOCKS + 1;
    low = high;
    high *= 2;
  }
  for (unsigned i = 0; i < 8; i++) { /* 1/256 of an octave: the grid has 128 steps */
    double middle = (low + high) / 2;
    if (counting_spare(nkeys, nay__grid_up(middle), k) > 0) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return nay__grid_up(high);
}

static uint64_t counting_nbytes(const nay_shape *shape) {
  uint64_t nbits, nbytes;
  return nay__counting_payload(shape, &nbits, &nbytes) ? nbytes : UINT64_MAX;
}

/* Bytes for comparing plans: from 128 blocks on those of full pages, so that twice the blocks cost
 * exactly twice as much. */
static double counting_cost(const nay_shape *shape) {
  if (shape->nunits < COUNTING_ALIKE) return (double)counting_nbytes(shape);
  uint64_t page = nay__counting_page_size(NAY_COUNTING_PAGE, shape->extra >> 1);
  return (double)shape->nunits * ((double)page / NAY_COUNTING_PAGE + NAY_BLOCK_BYTES);
}

/* A plane that keeps the FPR with k probes and whose counters hold, and the cheaper of two pools
 * for it: more records, or more blocks. */
static nay_status counting_plan_k(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  NAY_TRY(nay__blocked_plan(p, diag, shape));
  uint64_t least = nay__grid_up(counting_least_blocks(p->nkeys, shape->k));
  if (p->fold > 1) least = nay__round_up(least, p->fold);
  shape->nunits = nay__max_u64(shape->nunits, least);
  counting_set_spare(p->nkeys, shape);
  if (shape->extra == 0) return NAY_OK;
  nay_shape roomy = {counting_roomy(p->nkeys, shape->nunits, shape->k), shape->k, 0};
  if (p->fold > 1) roomy.nunits = nay__round_up(roomy.nunits, p->fold);
  counting_set_spare(p->nkeys, &roomy); /* a fold may round to a page that holds less */
  if (counting_cost(&roomy) <= counting_cost(shape)) *shape = roomy;
  return NAY_OK;
}

/* The fewest bytes that keep the FPR: k from the best of the plane alone downward. */
static nay_status counting_plan_fpr(const nay_params *params, nay_diag *diag, nay_shape *shape) {
  NAY_TRY(counting_plan_k(params, diag, shape));
  if (params->k != 0) return NAY_OK;
  nay_params p = *params;
  nay_shape next, plane;
  for (p.k = shape->k - 1; p.k > 0; p.k--) {
    if (nay__blocked_plan(&p, NULL, &plane) != NAY_OK) break;
    if (counting_cost(&plane) >= counting_cost(shape)) break; /* planes grow as k falls */
    NAY_TRY(counting_plan_k(&p, diag, &next));
    if (counting_cost(&next) < counting_cost(shape)) *shape = next;
  }
  return NAY_OK;
}

/* ---- by a size ---- */

/* The highest k, at most the best of the plane, whose counts the pools hold without spare records;
 * 1 when there is none. */
static uint32_t counting_best_k(const nay_params *p, uint64_t nblocks) {
  if (p->k != 0) return p->k;
  uint32_t k = nay__blocked_k(nblocks, p->nkeys);
  while (k > 1 && counting_spare(p->nkeys, nblocks, k) > 0) k--;
  return k;
}

/* The largest plane whose payload, counters included, is within a budget; 0 when none is. */
static uint64_t counting_fit(const nay_params *p, uint64_t budget, uint32_t spare) {
  uint64_t nblocks = budget / (2 * NAY_BLOCK_BYTES);
  for (; nblocks > 0; nblocks -= nblocks / 128 + 1) {
    nay_shape shape = {nay__grid_down(nblocks), 1, spare << 1};
    if (p->fold > 1) shape.nunits -= shape.nunits % p->fold;
    if (shape.nunits == 0) return 0;
    if (counting_nbytes(&shape) <= budget) return shape.nunits;
  }
  return 0;
}

static nay_status counting_too_small(const nay_params *p, bool any_block, nay_diag *diag) {
  const char *what = "the size is below one block and its counters";
  if (any_block) {
    what = p->k > 1 ? "k: the size is too small to count so many probes of nkeys keys"
                    : "the size is too small to count nkeys keys";
  } else if (p->fold > 1) {
    what = "fold: the size is below so many blocks and their counters";
  }
  return nay__fail(diag, NAY_EINVAL, what, 0);
}

/* The largest plane within the budget whose pools and counters hold. */
static nay_status counting_plan_budget(const nay_params *p, uint64_t budget, nay_diag *diag,
                                       nay_shape *shape) {
  for (uint32_t spare = 0; spare <= NAY_COUNTING_MAX_SPARE; spare++) {
    uint64_t nblocks = counting_fit(p, budget, spare);
    if (nblocks == 0) return counting_too_small(p, spare > 0, diag);
    *shape = (nay_shape){nblocks, counting_best_k(p, nblocks), 0};
    if ((double)nblocks < counting_least_blocks(p->nkeys, shape->k)) break;
    counting_set_spare(p->nkeys, shape);
    if (shape->extra >> 1 <= spare) return NAY_OK;
  }
  return counting_too_small(p, true, diag);
}

static nay_status counting_plan_nbits(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  NAY_TRY(nay__blocked_plan(p, diag, shape));
  if (p->nkeys != 0) shape->k = counting_best_k(p, shape->nunits);
  counting_set_spare(p->nkeys, shape);
  return NAY_OK;
}

nay_status nay__counting_plan(const nay_params *params, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(params, diag, &by));
  switch (by) {
    case NAY_BY_FPR: NAY_TRY(counting_plan_fpr(params, diag, shape)); break;
    case NAY_BY_BITS_PER_KEY:
      NAY_TRY(counting_plan_budget(
          params, (uint64_t)((double)params->nkeys * params->bits_per_key / 8), diag, shape));
      break;
    case NAY_BY_NBYTES: NAY_TRY(counting_plan_budget(params, params->nbytes, diag, shape)); break;
    case NAY_BY_NBITS: NAY_TRY(counting_plan_nbits(params, diag, shape)); break;
  }
  if ((params->flags & NAY_UNIQUE) != 0) shape->extra |= NAY_COUNTING_UNIQUE;
  if (counting_nbytes(shape) == UINT64_MAX) {
    return nay__fail(diag, NAY_EINVAL, "the size is above 2^57 bits", 0);
  }
  return NAY_OK;
}

/*
 * lsm_allocate.c - distributes the memory budget of the filters over the levels of an LSM tree.
 *
 * The problem. Level i has r_i runs of F_i tables. A filter of s bytes has the false-positive rate
 * (FPR) f_i(s), with f_i(0) = 1: without a filter every lookup reads the run. A lookup of an absent
 * key reads sum r_i f_i(s_i) data blocks, and the filters take sum r_i F_i s_i bytes. Minimise the
 * reads while the bytes stay within the budget.
 *
 * Monkey (Dayan, Athanassoulis, Idreos, SIGMOD 2017) solves this for ideal Bloom filters, f(s) =
 * e^(-s 8 ln(2)^2 / n), by Lagrange multipliers. At the optimum all levels gain equally from one
 * more byte, so the FPRs are proportional to the keys of a run. Real filter families are not ideal:
 * sizes are rounded to blocks, binary fuse filters have whole bits from 4 up, k is an integer, and
 * a Bloom filter of half a bit per key is hardly better than none. So the curves f_i are tabulated
 * from the families' own plans (nay_params_plan), in steps of 1/8 bit per key up to 64 bits, or of
 * half a byte for the few keys whose filters have a minimum size. The tables are reduced to their
 * lower convex hulls:
 *
 *     FPR 1 *.                     hull of a fuse filter: from none straight to 4 bits,
 *           |  '.                  whatever lies between is never worth its bytes
 *           |     '.
 *           |        '*--*---*     gain per byte falls from segment to segment
 *           +--------------------> bytes
 *
 * GREEDY. On hulls the multiplier method is a greedy algorithm: it takes the segment with the
 * largest gain per byte of all levels until the budget is used up. This is optimal up to the one
 * segment that does not fit. The greedy then continues in two ways, and keeps the better result: it
 * skips that segment and continues with the other levels; or it takes that segment first, and plans
 * the other levels again with the rest of the budget.
 *
 * KNAPSACK. If the budget is only a few segments long, the segment that does not fit is most of it.
 * So the problem is also solved as a knapsack problem: each level gets one tabulated size, on the
 * hull or not. The budget has 1,024 units, sizes are rounded up to units, and dynamic programming
 * finds the best combination. The better of the two results is kept.
 *
 * EXCHANGE. Finally neighbouring levels exchange bytes as long as that lowers the reads, which
 * finds sizes between the tabulated ones.
 *
 * The result is never worse than the allocation that the caller passes. Cost: 512 plans per level
 * and some hundred per exchange, at 1 to 10 microseconds each, and half a million additions per
 * level. The memory is 24 KiB per level, and 150 KiB for the knapsack.
 */
#include "plan/lsm.h"

#define LSM_STEPS_PER_BIT 8u
#define LSM_ROUNDS 16u
#define LSM_LEAST_PART 1024u
#define LSM_UNITS 1024u
#define LSM_POINTS (LSM_STEPS_PER_BIT * NAY_LSM_MAX_BITS + 1)

/* lsm_hull: filter sizes of one level in ascending order, from no filter to the lowest FPR. The
   array has all sizes that are worth their bytes, or only those on the lower convex hull. */
typedef struct lsm_hull {
  size_t n;
  nay_lsm_size at[LSM_POINTS];
} lsm_hull;

/* lsm_knapsack: for each number of units the fewest reads of the levels so far, and the size of the
   last level in that solution. */
typedef struct lsm_knapsack {
  double reads[2][LSM_UNITS + 1];
  uint16_t chosen[NAY_LSM_MAX_LEVELS][LSM_UNITS + 1];
} lsm_knapsack;

/* lsm_state: a state of the greedy: the point on the hull that each level has reached. */
typedef struct lsm_state {
  size_t at[NAY_LSM_MAX_LEVELS];
  bool stuck[NAY_LSM_MAX_LEVELS]; /* the level's next segment did not fit */
  uint64_t left;
} lsm_state;

nay_lsm_size nay_sst__lsm_filter(const nay_lsm_run *run, uint64_t nbytes) {
  nay_lsm_size none = {0, 0, 1};
  nay_params p = {sizeof p, .kind = run->kind, .nkeys = run->nkeys_filter, .nbytes = nbytes};
  nay_plan plan = {.size = sizeof plan};
  if (nbytes == 0 || nay_params_plan(&p, NULL, &plan) != NAY_OK) return none;
  if (!(plan.fpr < 1) || plan.nbytes > nbytes) return none;
  return (nay_lsm_size){nbytes, plan.nbytes, plan.fpr};
}

uint64_t nay_sst__lsm_bytes(const nay_lsm_tree *tree, const nay_lsm_sizes *sizes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < tree->n; i++) {
    sum += nay_sst__lsm_nfilters(&tree->level[i]) * sizes->level[i].nbytes;
  }
  return sum;
}

double nay_sst__lsm_reads(const nay_lsm_tree *tree, const nay_lsm_sizes *sizes) {
  double sum = 0;
  for (size_t i = 0; i < tree->n; i++) {
    sum += (double)tree->level[i].nruns * sizes->level[i].fpr;
  }
  return sum;
}

/* ---- hulls ---- */

/* Returns the FPR gained per byte between two sizes. */
static double lsm_slope(nay_lsm_size a, nay_lsm_size b) {
  return (a.fpr - b.fpr) / (double)(b.nbytes - a.nbytes);
}

static void lsm_hull_add(lsm_hull *hull, nay_lsm_size size) {
  nay_lsm_size *at = hull->at;
  if (size.nbytes <= at[hull->n - 1].nbytes || !(size.fpr < at[hull->n - 1].fpr)) return;
  while (hull->n > 1 &&
         lsm_slope(at[hull->n - 2], at[hull->n - 1]) <= lsm_slope(at[hull->n - 1], size)) {
    hull->n--;
  }
  at[hull->n++] = size;
}

static void lsm_hull_fill(const nay_lsm_run *run, lsm_hull *all, lsm_hull *hull) {
  const double step = (double)nay_sst__lsm_most_bytes(run) / (LSM_POINTS - 1);
  all->n = hull->n = 1;
  all->at[0] = hull->at[0] = (nay_lsm_size){0, 0, 1};
  for (uint32_t i = 1; i < LSM_POINTS; i++) {
    nay_lsm_size size = nay_sst__lsm_filter(run, (uint64_t)(step * i)), last = all->at[all->n - 1];
    if (size.nbytes > last.nbytes && size.fpr < last.fpr) all->at[all->n++] = size;
    lsm_hull_add(hull, size);
  }
}

/* ---- the greedy ---- */

/* Returns the level whose next segment gains most per byte; tree->n: no level has a segment
   left. */
static size_t lsm_steepest(const nay_lsm_tree *tree, const lsm_hull *hulls, const lsm_state *s) {
  size_t best = tree->n;
  double most = 0;
  for (size_t i = 0; i < tree->n; i++) {
    if (s->stuck[i] || s->at[i] + 1 >= hulls[i].n) continue;
    const nay_lsm_size *from = &hulls[i].at[s->at[i]];
    double gain = lsm_slope(from[0], from[1]) / (double)tree->level[i].ntables;
    if (best == tree->n || gain > most) best = i, most = gain;
  }
  return best;
}

/* Takes segments while they fit. A level whose next segment does not fit stays at its point. */
static void lsm_greedy(const nay_lsm_tree *tree, const lsm_hull *hulls, lsm_state *s) {
  for (size_t best; (best = lsm_steepest(tree, hulls, s)) < tree->n;) {
    const nay_lsm_size *from = &hulls[best].at[s->at[best]];
    uint64_t cost = nay_sst__lsm_nfilters(&tree->level[best]) * (from[1].nbytes - from[0].nbytes);
    if (cost > s->left) {
      s->stuck[best] = true;
    } else {
      s->at[best]++;
      s->left -= cost;
    }
  }
}

/* Returns the filter after a level has got its share of `left` more bytes, as far as it can use
   them. */
static nay_lsm_size lsm_larger(const nay_lsm_run *run, nay_lsm_size now, uint64_t left) {
  uint64_t more = left / nay_sst__lsm_nfilters(run), most = nay_sst__lsm_most_bytes(run);
  if (more == 0 || now.nbytes >= most) return now;
  return nay_sst__lsm_filter(run, now.nbytes + nay__min_u64(more, most - now.nbytes));
}

/* Gives the remaining bytes to the level that gains most, until no level gains. */
static void lsm_spend(const nay_lsm_tree *tree, uint64_t left, nay_lsm_sizes *sizes) {
  for (size_t round = 0; round < 2 * tree->n; round++) {
    size_t best = 0;
    nay_lsm_size taken = sizes->level[0];
    double gained = 0;
    for (size_t i = 0; i < tree->n; i++) {
      nay_lsm_size size = lsm_larger(&tree->level[i], sizes->level[i], left);
      double gain = (double)tree->level[i].nruns * (sizes->level[i].fpr - size.fpr);
      if (gain > gained) best = i, gained = gain, taken = size;
    }
    if (!(gained > 0)) return;
    uint64_t n = nay_sst__lsm_nfilters(&tree->level[best]);
    left = left + n * sizes->level[best].nbytes - n * taken.nbytes;
    sizes->level[best] = taken;
  }
}

/* Completes a state, and keeps it if it is better than *best. */
static void lsm_finish(const nay_lsm_tree *tree, const lsm_hull *hulls, lsm_state *s,
                       nay_lsm_sizes *best) {
  nay_lsm_sizes sizes;
  lsm_greedy(tree, hulls, s);
  for (size_t i = 0; i < tree->n; i++) sizes.level[i] = hulls[i].at[s->at[i]];
  lsm_spend(tree, s->left, &sizes);
  if (nay_sst__lsm_reads(tree, &sizes) < nay_sst__lsm_reads(tree, best)) *best = sizes;
}

static void lsm_both_ways(const nay_lsm_tree *tree, const lsm_hull *hulls, uint64_t budget,
                          nay_lsm_sizes *best) {
  lsm_state first = {.left = budget};
  lsm_finish(tree, hulls, &first, best);
  for (size_t i = 0; i < tree->n; i++) {
    if (!first.stuck[i]) continue;
    lsm_state again = {.left = budget};
    uint64_t cost = nay_sst__lsm_nfilters(&tree->level[i]) * hulls[i].at[first.at[i] + 1].nbytes;
    if (cost > budget) continue;
    again.at[i] = first.at[i] + 1;
    again.left -= cost;
    lsm_finish(tree, hulls, &again, best);
  }
}

/* ---- the knapsack ---- */

/* Adds one level to the knapsack: finds its best size for every number of units. */
static void lsm_pack(const nay_lsm_run *run, const lsm_hull *all, uint64_t unit,
                     const double *before, double *after, uint16_t *chosen) {
  for (size_t u = 0; u <= LSM_UNITS; u++) {
    after[u] = before[u] + (double)run->nruns; /* no filter */
    chosen[u] = 0;
  }
  for (size_t p = 1; p < all->n; p++) {
    uint64_t cost = nay__ceil_div(nay_sst__lsm_nfilters(run) * all->at[p].nbytes, unit);
    double reads = (double)run->nruns * all->at[p].fpr;
    for (size_t u = (size_t)cost; cost <= LSM_UNITS && u <= LSM_UNITS; u++) {
      if (!(before[u - cost] + reads < after[u])) continue;
      after[u] = before[u - cost] + reads;
      chosen[u] = (uint16_t)p;
    }
  }
}

static void lsm_pack_all(const nay_lsm_tree *tree, const lsm_hull *all, uint64_t budget,
                         lsm_knapsack *k, nay_lsm_sizes *best) {
  const uint64_t unit = nay__max_u64(1, nay__ceil_div(budget, LSM_UNITS));
  nay_lsm_sizes sizes;
  memset(k->reads[0], 0, sizeof k->reads[0]);
  for (size_t i = 0; i < tree->n; i++) {
    lsm_pack(&tree->level[i], &all[i], unit, k->reads[i % 2], k->reads[1 - i % 2], k->chosen[i]);
  }
  uint64_t units = budget / unit;
  for (size_t i = tree->n; i-- > 0;) {
    sizes.level[i] = all[i].at[k->chosen[i][units]];
    units -= nay__ceil_div(nay_sst__lsm_nfilters(&tree->level[i]) * sizes.level[i].nbytes, unit);
  }
  lsm_spend(tree, budget - nay_sst__lsm_bytes(tree, &sizes), &sizes);
  if (nay_sst__lsm_reads(tree, &sizes) < nay_sst__lsm_reads(tree, best)) *best = sizes;
}

/* ---- exchanges ---- */

/* Moves 1/part of the bytes of level `from` to level `to`. false: the move does not lower the
   reads, and nothing has changed. */
static bool lsm_exchange(const nay_lsm_tree *tree, size_t from, size_t to, uint64_t part,
                         uint64_t *left, nay_lsm_sizes *sizes) {
  const nay_lsm_run *a = &tree->level[from], *b = &tree->level[to];
  nay_lsm_size was_a = sizes->level[from], was_b = sizes->level[to];
  nay_lsm_size less = nay_sst__lsm_filter(a, was_a.nbytes - nay__ceil_div(was_a.nbytes, part));
  uint64_t free = *left + nay_sst__lsm_nfilters(a) * (was_a.nbytes - less.nbytes);
  nay_lsm_size more = lsm_larger(b, was_b, free);
  double before = (double)a->nruns * was_a.fpr + (double)b->nruns * was_b.fpr;
  double after = (double)a->nruns * less.fpr + (double)b->nruns * more.fpr;
  if (!(after < before)) return false;
  sizes->level[from] = less;
  sizes->level[to] = more;
  *left = free + nay_sst__lsm_nfilters(b) * was_b.nbytes - nay_sst__lsm_nfilters(b) * more.nbytes;
  return true;
}

static void lsm_exchange_all(const nay_lsm_tree *tree, uint64_t left, nay_lsm_sizes *sizes) {
  for (unsigned round = 0; round < LSM_ROUNDS; round++) {
    bool better = false;
    for (size_t i = 0; i + 1 < tree->n; i++) {
      for (uint64_t part = 2; part <= LSM_LEAST_PART; part *= 2) {
        if (sizes->level[i].nbytes != 0) {
          better |= lsm_exchange(tree, i, i + 1, part, &left, sizes);
        }
        if (sizes->level[i + 1].nbytes != 0) {
          better |= lsm_exchange(tree, i + 1, i, part, &left, sizes);
        }
      }
    }
    if (!better) return;
  }
}

nay_status nay_sst__lsm_allocate(const nay_lsm_tree *tree, uint64_t budget,
                                 const nay_allocator *allocator, nay_lsm_sizes *best) {
  const size_t nbytes = 2 * tree->n * sizeof(lsm_hull);
  lsm_hull *all = nay__alloc(allocator, nbytes);
  lsm_knapsack *knapsack = nay__alloc(allocator, sizeof *knapsack);
  if (all != NULL && knapsack != NULL) {
    lsm_hull *hulls = all + tree->n;
    for (size_t i = 0; i < tree->n; i++) lsm_hull_fill(&tree->level[i], &all[i], &hulls[i]);
    lsm_spend(tree, budget - nay_sst__lsm_bytes(tree, best), best);
    lsm_both_ways(tree, hulls, budget, best);
    lsm_pack_all(tree, all, budget, knapsack, best);
    lsm_exchange_all(tree, budget - nay_sst__lsm_bytes(tree, best), best);
  }
  nay_status status = all != NULL && knapsack != NULL ? NAY_OK : NAY_ENOMEM;
  nay__free(allocator, knapsack, sizeof *knapsack);
  nay__free(allocator, all, nbytes);
  return status;
}

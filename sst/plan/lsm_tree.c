/*
 * lsm_tree.c - computes the levels of an LSM tree of n keys: their number, sizes and runs.
 *
 * With a memtable of m keys and a size ratio T the capacity of level i = 1, 2, ... is
 *
 *     leveled                  one run     m T^i           1..L hold  m T (T^L - 1) / (T - 1)
 *     tiered, lazy leveled     T-1 runs    m T^(i-1) each  1..L hold  m (T^L - 1)
 *
 * L is the smallest number of levels that hold the keys. A tree is rarely full, so all levels are
 * scaled down together: each level stays T times as large as the one before it, and the sum is n.
 * RocksDB's level_compaction_dynamic_level_bytes aims at the same shape. A tiered level has T-1
 * runs, its maximum, as in Monkey's analysis, but no more runs than its keys fill memtables. Lazy
 * leveling merges the runs of level L into one.
 *
 * In a leveled tree flushes may wait in level 0. Each is a run of m keys; level 0 is subtracted
 * from n first.
 *
 * Doubles round numbers of keys above 2^53. The last level gets the remaining keys, so the sum is
 * always exact.
 *
 * Families: flushes and compactions write different filters, as in the RocksDB plug-in. A flush
 * makes writers wait and its table is soon merged away, so it gets a blocked Bloom filter, the
 * fastest to build. A compaction gets a ribbon filter, the fewest bits for an FPR, because every
 * bit per key saved on the last level lowers the FPR of the whole tree.
 */
#include "plan/lsm.h"

#define LSM_DEFAULT_MEMTABLE 1000000u

static const char lsm_requested[] = "the requested family";
static const char lsm_flushed[] = "written by flushes: the fastest build, one cache line per probe";
static const char lsm_merged[] = "written by compactions: the fewest bits per key for an FPR";

static void lsm_add(const nay_sst_plan_params *p, nay_lsm_tree *tree, uint32_t level,
                    uint64_t nkeys, uint64_t nruns, bool flushed) {
  nay_lsm_run *run = &tree->level[tree->n++];
  uint64_t each = nay__ceil_div(nkeys, nruns);
  *run = (nay_lsm_run){.level = level, .nkeys = nkeys, .nruns = nruns, .ntables = 1};
  if (p->nkeys_table != 0) run->ntables = nay__ceil_div(each, p->nkeys_table);
  run->nkeys_filter = nay__ceil_div(each, run->ntables);
  run->kind = p->kind != NAY_AUTO ? p->kind : flushed ? NAY_BLOCKED : NAY_RIBBON;
  run->why = p->kind != NAY_AUTO ? lsm_requested : flushed ? lsm_flushed : lsm_merged;
}

/* Returns the smallest number of levels that hold n keys. Sets *weights to 1 + T + ... +
   T^(L-1). */
static uint32_t lsm_depth(double n, double memtable, double ratio, bool tiered, double *weights) {
  double first = memtable * (tiered ? ratio - 1 : ratio);
  double power = 1, sum = 1;
  uint32_t depth = 1;
  while (first * sum < n) {
    power *= ratio;
    sum += power;
    depth++;
  }
  *weights = sum;
  return depth;
}

void nay_sst__lsm_tree(const nay_sst_plan_params *p, nay_lsm_tree *tree) {
  uint64_t memtable = p->nkeys_memtable != 0 ? p->nkeys_memtable : LSM_DEFAULT_MEMTABLE;
  uint64_t left = p->nkeys, nruns = nay__min_u64(p->nruns_level0, nay__ceil_div(left, memtable));
  bool tiered = p->merging != NAY_SST_PLAN_LEVELED;
  double ratio = (double)p->ratio, weights, power = 1;
  tree->n = 0;
  if (nruns != 0) {
    uint64_t nkeys = left / memtable < nruns ? left : nruns * memtable;
    lsm_add(p, tree, 0, nkeys, nruns, true);
    left -= nkeys;
  }
  if (left == 0) return;
  double all = (double)left;
  uint32_t depth = lsm_depth(all, (double)memtable, ratio, tiered, &weights);
  for (uint32_t i = 1; i <= depth; i++, power *= ratio) {
    uint64_t share = nay__max_u64((uint64_t)(all / weights * power), 1);
    uint64_t nkeys = i == depth ? left : nay__min_u64(share, left - 1);
    nruns = 1;
    if (p->merging == NAY_SST_PLAN_TIERED || (tiered && i < depth)) {
      nruns = nay__min_u64(nay__ceil_div(nkeys, memtable), p->ratio - 1);
    }
    lsm_add(p, tree, i, nkeys, nruns, tiered && i == 1);
    left -= nkeys;
  }
}

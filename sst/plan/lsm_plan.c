/*
 * lsm_plan.c - implements nay_sst_plan.h: checks the params, computes the tree (lsm_tree.c), gives
 * every level the same bits per key (uniform), and starts from there to compute Monkey's allocation
 * (lsm_allocate.c).
 */
#include "base/bits.h"
#include "plan/lsm.h"

#define NAY_ABI_LSM_PARAMS NAY_ABI(nay_sst_plan_params, reserved)
#define NAY_ABI_LSM_LEVEL NAY_ABI(nay_sst_level, why)
#define NAY_ABI_LSM_SUMS NAY_ABI(nay_sst_plan_info, present_waste)

#define LSM_MAX_RATIO 1000000u
#define LSM_MAX_LEVEL0 10000u
#define LSM_TRIES 64u
#define LSM_MAX_NBYTES ((uint64_t)1 << 62) /* 2^56 filters of one block each */

static const char lsm_better_elsewhere[] = "no filter: the bytes save more reads on other levels";
static const char lsm_too_few_bytes[] =
    "no filter: the budget is below the smallest of this family";

struct nay_sst_plan {
  nay_allocator allocator;
  nay_lsm_tree tree;
  uint64_t budget;
  nay_lsm_sizes sizes[2]; /* indexed by nay_sst_plan_allocation */
};

/* ---- params ---- */

static bool lsm_is_set(double x) { return x != 0; /* NaN counts as set, and is refused later */ }

static nay_status lsm_check_budget(const nay_sst_plan_params *p, nay_diag *diag) {
  int given = (p->nbytes != 0) + lsm_is_set(p->bits_per_key) + lsm_is_set(p->fpr);
  if (given == 0) {
    return nay__fail(diag, NAY_EINVAL, "no budget: set nbytes, bits_per_key or fpr", 0);
  }
  if (given > 1) {
    return nay__fail(diag, NAY_EINVAL,
                     "more than one budget: set only one of nbytes, bits_per_key, fpr", 0);
  }
  if (lsm_is_set(p->bits_per_key) &&
      !(p->bits_per_key > 0 && p->bits_per_key <= NAY_LSM_MAX_BITS)) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key is not between 0 and 64", 0);
  }
  if (lsm_is_set(p->fpr) && !(p->fpr > 0 && p->fpr < 1)) {
    return nay__fail(diag, NAY_EINVAL, "fpr is not between 0 and 1", 0);
  }
  return NAY_OK;
}

static nay_status lsm_check_tree(const nay_sst_plan_params *p, nay_diag *diag) {
  const struct {
    bool wrong;
    const char *what;
  } rules[] = {
      {p->nkeys == 0, "nkeys is 0: say how many keys the tree holds"},
      {p->nkeys > NAY_LSM_MAX_NKEYS, "nkeys is above 2^56"},
      {p->ratio < 2, "ratio is below 2: a level must be larger than the one before it"},
      {p->ratio > LSM_MAX_RATIO, "ratio is above 1,000,000"},
      {p->nkeys_memtable > NAY_LSM_MAX_NKEYS, "nkeys_memtable is above 2^56"},
      {p->nkeys_table > NAY_LSM_MAX_NKEYS, "nkeys_table is above 2^56"},
      {p->nruns_level0 > LSM_MAX_LEVEL0, "nruns_level0 is above 10,000"},
      {(unsigned)p->merging > NAY_SST_PLAN_LAZY_LEVELED, "merging is not known"},
      {p->nruns_level0 != 0 && p->merging != NAY_SST_PLAN_LEVELED,
       "nruns_level0 is for leveled trees: elsewhere flushes are runs of level 1"},
      {p->kind == NAY_SCALABLE || p->kind == NAY_WINDOW,
       "kind: the keys of a run are known and stay, scalable and window filters are not for them"},
      {p->reserved != 0, "reserved is not 0"},
  };
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (rules[i].wrong) return nay__fail(diag, NAY_EINVAL, rules[i].what, 0);
  }
  return NAY_OK;
}

/* ---- uniform ---- */

/* Returns floor(a * b / c); the result must be below 2^60. */
static uint64_t lsm_share(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t low, high = nay__mul128(a, b, &low), at_low, at_high;
  uint64_t x = (uint64_t)((double)a * (double)b / (double)c);
  while (at_high = nay__mul128(x, c, &at_low),
         at_high > high || (at_high == high && at_low > low)) {
    x--;
  }
  while (at_high = nay__mul128(x + 1, c, &at_low),
         at_high < high || (at_high == high && at_low <= low)) {
    x++;
  }
  return x;
}

/* Returns a filter with at most this FPR. A filter planned by bytes may use one probe less than one
   planned by FPR, for an FPR up to 1% higher: a few more bytes make up for that. */
static nay_status lsm_filter_fpr(const nay_lsm_run *run, double fpr, nay_diag *diag,
                                 nay_lsm_size *size) {
  nay_params p = {sizeof p, .kind = run->kind, .nkeys = run->nkeys_filter, .fpr = fpr};
  nay_plan plan = {.size = sizeof plan};
  NAY_TRY(nay_params_plan(&p, diag, &plan));
  uint64_t nbytes = plan.nbytes;
  for (unsigned tries = 0; tries < LSM_TRIES; tries++) {
    *size = nay_sst__lsm_filter(run, nbytes);
    if (size->fpr <= fpr) return NAY_OK;
    nbytes += nbytes / 256 + 1;
  }
  return nay__fail(diag, NAY_EINVAL, "fpr: no filter of this kind has it by its size", 0);
}

/* Plans the same FPR for every run; the budget is the memory that these filters take. */
static nay_status lsm_uniform_fpr(const nay_sst_plan_params *p, nay_diag *diag,
                                  nay_sst_plan *plan) {
  plan->budget = 0;
  for (size_t i = 0; i < plan->tree.n; i++) {
    const nay_lsm_run *run = &plan->tree.level[i];
    nay_lsm_size *size = &plan->sizes[NAY_SST_PLAN_UNIFORM].level[i];
    NAY_TRY(lsm_filter_fpr(run, p->fpr, diag, size));
    if (size->nbytes > (LSM_MAX_NBYTES - plan->budget) / nay_sst__lsm_nfilters(run)) {
      return nay__fail(diag, NAY_EINVAL, "fpr: all filters together are above 2^62 bytes", 0);
    }
    plan->budget += nay_sst__lsm_nfilters(run) * size->nbytes;
  }
  return NAY_OK;
}

/* Plans the same bits for every key, at most NAY_LSM_MAX_BITS; filters never take more. */
static void lsm_uniform_bits(const nay_sst_plan_params *p, nay_sst_plan *plan) {
  /* Keys that all filters are planned for; slightly above p->nkeys, because tables round up */
  uint64_t nkeys = 0, asked = 0;
  for (size_t i = 0; i < plan->tree.n; i++) {
    const nay_lsm_run *run = &plan->tree.level[i];
    nkeys += nay_sst__lsm_nfilters(run) * run->nkeys_filter;
  }
  uint64_t most = nkeys * (NAY_LSM_MAX_BITS / 8);
  for (size_t i = 0; i < plan->tree.n; i++) {
    const nay_lsm_run *run = &plan->tree.level[i];
    uint64_t nbytes = p->nbytes != 0
                          ? lsm_share(nay__min_u64(p->nbytes, most), run->nkeys_filter, nkeys)
                          : (uint64_t)((double)run->nkeys_filter * p->bits_per_key / 8);
    asked += nay_sst__lsm_nfilters(run) * nbytes;
    plan->sizes[NAY_SST_PLAN_UNIFORM].level[i] = nay_sst__lsm_filter(run, nbytes);
  }
  plan->budget = p->nbytes != 0 ? p->nbytes : asked;
}

/* ---- the plan ---- */

/* Checks that each level can have filters of its family; diag tells the reason if not. */
static nay_status lsm_check_kind(const nay_lsm_tree *tree, nay_diag *diag) {
  for (size_t i = 0; i < tree->n; i++) {
    nay_params p = {sizeof p, .kind = tree->level[i].kind, .nkeys = 1000, .fpr = 0.1};
    nay_plan plan = {.size = sizeof plan};
    NAY_TRY(nay_params_plan(&p, diag, &plan));
    p.nkeys = tree->level[i].nkeys_filter;
    if (nay_params_plan(&p, NULL, &plan) != NAY_OK) {
      return nay__fail(diag, NAY_EINVAL,
                       "a run has too many keys for one filter of its family: set nkeys_table", 0);
    }
  }
  return NAY_OK;
}

static nay_status lsm_make(const nay_sst_plan_params *p, nay_diag *diag, nay_sst_plan *plan) {
  nay_sst__lsm_tree(p, &plan->tree);
  NAY_TRY(lsm_check_kind(&plan->tree, diag));
  if (lsm_is_set(p->fpr)) {
    NAY_TRY(lsm_uniform_fpr(p, diag, plan));
  } else {
    lsm_uniform_bits(p, plan);
  }
  plan->sizes[NAY_SST_PLAN_MONKEY] = plan->sizes[NAY_SST_PLAN_UNIFORM];
  nay_status status = nay_sst__lsm_allocate(&plan->tree, plan->budget, &plan->allocator,
                                            &plan->sizes[NAY_SST_PLAN_MONKEY]);
  return status == NAY_OK ? NAY_OK : nay__fail(diag, status, "no memory for the plan", 0);
}

nay_status nay_sst_plan_new(const nay_sst_plan_params *params, const nay_allocator *allocator,
                            nay_diag *diag, nay_sst_plan **plan) {
  nay_sst_plan_params p;
  nay_allocator memory;
  if (params == NULL || plan == NULL) {
    return nay__fail(diag, NAY_EINVAL, "params or plan is NULL", 0);
  }
  NAY_TRY(nay__abi_read(NAY_ABI_LSM_PARAMS, params, diag, &p));
  NAY_TRY(nay__allocator_read(allocator, diag, &memory));
  NAY_TRY(lsm_check_tree(&p, diag));
  NAY_TRY(lsm_check_budget(&p, diag));
  nay_sst_plan *made = nay__alloc(&memory, sizeof *made);
  if (made == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the plan", 0);
  made->allocator = memory;
  nay_status status = lsm_make(&p, diag, made);
  if (status != NAY_OK) {
    nay_sst_plan_free(made);
    return status;
  }
  *plan = made;
  return NAY_OK;
}

void nay_sst_plan_free(nay_sst_plan *plan) {
  if (plan == NULL) return;
  nay_allocator memory = plan->allocator;
  nay__free(&memory, plan, sizeof *plan);
}

/* ---- reading it ---- */

static bool lsm_is_allocation(nay_sst_plan_allocation a) {
  return a == NAY_SST_PLAN_UNIFORM || a == NAY_SST_PLAN_MONKEY;
}

nay_status nay_sst_plan_level(const nay_sst_plan *plan, nay_sst_plan_allocation allocation,
                              size_t i, nay_sst_level *level) {
  if (plan == NULL || level == NULL || !lsm_is_allocation(allocation)) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_LSM_LEVEL, level, NULL));
  if (i >= plan->tree.n) return NAY_EEND;
  const nay_lsm_sizes *sizes = &plan->sizes[allocation];
  const nay_lsm_run *run = &plan->tree.level[i];
  nay_lsm_size filter = sizes->level[i];
  nay_sst_level l = {.level = run->level,
                     .kind = filter.nbytes != 0 ? run->kind : NAY_AUTO,
                     .nkeys = run->nkeys,
                     .nruns = run->nruns,
                     .nkeys_filter = run->nkeys_filter,
                     .nbytes_filter = filter.given,
                     .nbytes = nay_sst__lsm_nfilters(run) * filter.nbytes,
                     .fpr = filter.fpr,
                     .absent_reads = (double)run->nruns * filter.fpr,
                     .why = run->why};
  l.nfilters = filter.nbytes != 0 ? nay_sst__lsm_nfilters(run) : 0;
  l.bits_per_key = (double)l.nbytes * 8 / (double)l.nkeys;
  if (filter.nbytes == 0) {
    bool others = nay_sst__lsm_bytes(&plan->tree, sizes) != 0;
    l.why = others && allocation == NAY_SST_PLAN_MONKEY ? lsm_better_elsewhere : lsm_too_few_bytes;
  }
  nay__abi_write(NAY_ABI_LSM_LEVEL, &l, level);
  return NAY_OK;
}

nay_status nay_sst_plan_stats(const nay_sst_plan *plan, nay_sst_plan_allocation allocation,
                              nay_sst_plan_info *sums) {
  if (plan == NULL || sums == NULL || !lsm_is_allocation(allocation)) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_LSM_SUMS, sums, NULL));
  nay_sst_plan_info s = {.nlevels = plan->tree.n, .nbytes_budget = plan->budget};
  double found = 0; /* sum over all keys of the reads wasted before the key is found */
  for (size_t i = 0; i < plan->tree.n; i++) {
    nay_sst_level level = {.size = sizeof level};
    NAY_TRY(nay_sst_plan_level(plan, allocation, i, &level));
    /* On average half of the level's other runs are read first */
    double in_level = level.fpr * (double)(level.nruns - 1) / 2;
    found += (double)level.nkeys * (s.absent_reads + in_level);
    s.nkeys += level.nkeys;
    s.nruns += level.nruns;
    s.nfilters += level.nfilters;
    s.nbytes += level.nbytes;
    s.absent_reads += level.absent_reads;
  }
  s.bits_per_key = (double)s.nbytes * 8 / (double)s.nkeys;
  s.present_waste = found / (double)s.nkeys;
  nay__abi_write(NAY_ABI_LSM_SUMS, &s, sums);
  return NAY_OK;
}

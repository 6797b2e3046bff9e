/*
 * lsm.h - what lsm_tree.c (which levels and runs there are) and lsm_allocate.c (how many bytes each
 * gets) share with lsm_plan.c, which implements nay_sst_plan.h.
 */
#ifndef NAY_SST_PLAN_LSM_H
#define NAY_SST_PLAN_LSM_H

#include "base/abi.h"
#include "base/alloc.h"
#include "nay_sst_plan.h"

#define NAY_LSM_MAX_NKEYS ((uint64_t)1 << 56) /* as nay_params.nkeys */

/* 2^56 keys, ratio 2, a memtable of one key: 56 levels, and level 0. */
#define NAY_LSM_MAX_LEVELS 64u

/* More bits for a key are never spent: what is still gained then is below 10^-7 reads. */
#define NAY_LSM_MAX_BITS 64u

/* nay_lsm_run: the shape of one level, and the family of its filters. */
typedef struct nay_lsm_run {
  uint32_t level;
  nay_kind kind;
  const char *why;
  uint64_t nkeys, nruns;
  uint64_t ntables;      /* of a run: disjoint ranges of keys, a filter for each */
  uint64_t nkeys_filter; /* of the largest table */
} nay_lsm_run;

typedef struct nay_lsm_tree {
  size_t n;
  nay_lsm_run level[NAY_LSM_MAX_LEVELS];
} nay_lsm_tree;

/* nay_lsm_size: a filter of a level; 0 bytes and FPR 1: none. */
typedef struct nay_lsm_size {
  uint64_t given;  /* nay_params.nbytes */
  uint64_t nbytes; /* of those taken */
  double fpr;
} nay_lsm_size;

typedef struct nay_lsm_sizes {
  nay_lsm_size level[NAY_LSM_MAX_LEVELS];
} nay_lsm_sizes;

/* nay_sst__lsm_tree: the levels of params that have been checked. */
void nay_sst__lsm_tree(const nay_sst_plan_params *params, nay_lsm_tree *tree);

/* nay_sst__lsm_filter: the best filter of a level that fits nbytes. */
nay_lsm_size nay_sst__lsm_filter(const nay_lsm_run *run, uint64_t nbytes);

static inline uint64_t nay_sst__lsm_nfilters(const nay_lsm_run *run) {
  return run->nruns * run->ntables;
}

/* nay_sst__lsm_most_bytes: NAY_LSM_MAX_BITS for each key of a filter, and what a few keys take. */
static inline uint64_t nay_sst__lsm_most_bytes(const nay_lsm_run *run) {
  return nay__max_u64(run->nkeys_filter * (NAY_LSM_MAX_BITS / 8), 256);
}

/* nay_sst__lsm_bytes, nay_sst__lsm_reads: of all levels; data blocks that an absent lookup reads.
 */
uint64_t nay_sst__lsm_bytes(const nay_lsm_tree *tree, const nay_lsm_sizes *sizes);
double nay_sst__lsm_reads(const nay_lsm_tree *tree, const nay_lsm_sizes *sizes);

/*
 * nay_sst__lsm_allocate: lowers nay_sst__lsm_reads of *sizes, whose nay_sst__lsm_bytes are at most
 * `budget`, as far as these bytes allow. NAY_ENOMEM leaves *sizes alone.
 */
nay_status nay_sst__lsm_allocate(const nay_lsm_tree *tree, uint64_t budget,
                                 const nay_allocator *allocator, nay_lsm_sizes *sizes);

#endif /* NAY_SST_PLAN_LSM_H */

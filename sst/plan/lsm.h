/*
 * lsm.h - the private interface of the planner: lsm_tree.c computes levels and runs, lsm_allocate.c
 * distributes the memory budget, and lsm_plan.c implements nay_sst_plan.h with both.
 */
#ifndef NAY_SST_PLAN_LSM_H
#define NAY_SST_PLAN_LSM_H

#include "base/abi.h"
#include "base/alloc.h"
#include "nay_sst_plan.h"

#define NAY_LSM_MAX_NKEYS ((uint64_t)1 << 56) /* the limit of nay_params.nkeys */

/* Upper limit of levels: 2^56 keys at ratio 2 with a memtable of one key make 56 levels and level
   0. */
#define NAY_LSM_MAX_LEVELS 64u

/* Upper limit of bits per key: more bits would save fewer than 10^-7 reads. */
#define NAY_LSM_MAX_BITS 64u

/* nay_lsm_run: the runs of one level: their shape, and the family of their filters. */
typedef struct nay_lsm_run {
  uint32_t level;
  nay_kind kind;
  const char *why;
  uint64_t nkeys, nruns;
  uint64_t ntables;      /* tables of a run; their key ranges are disjoint, and each has a filter */
  uint64_t nkeys_filter; /* keys of the largest table */
} nay_lsm_run;

typedef struct nay_lsm_tree {
  size_t n;
  nay_lsm_run level[NAY_LSM_MAX_LEVELS];
} nay_lsm_tree;

/* nay_lsm_size: the size of a level's filters; 0 bytes and FPR 1: no filter. */
typedef struct nay_lsm_size {
  uint64_t given;  /* nay_params.nbytes */
  uint64_t nbytes; /* bytes that the filter takes of them */
  double fpr;
} nay_lsm_size;

typedef struct nay_lsm_sizes {
  nay_lsm_size level[NAY_LSM_MAX_LEVELS];
} nay_lsm_sizes;

/* nay_sst__lsm_tree: computes the levels from checked params. */
void nay_sst__lsm_tree(const nay_sst_plan_params *params, nay_lsm_tree *tree);

/* nay_sst__lsm_filter: the best filter of a level that fits nbytes. */
nay_lsm_size nay_sst__lsm_filter(const nay_lsm_run *run, uint64_t nbytes);

static inline uint64_t nay_sst__lsm_nfilters(const nay_lsm_run *run) {
  return run->nruns * run->ntables;
}

/* nay_sst__lsm_most_bytes: upper limit of a filter's size: NAY_LSM_MAX_BITS per key, and the
   minimum size of filters of few keys. */
static inline uint64_t nay_sst__lsm_most_bytes(const nay_lsm_run *run) {
  return nay__max_u64(run->nkeys_filter * (NAY_LSM_MAX_BITS / 8), 256);
}

/* nay_sst__lsm_bytes: bytes of the filters of all levels. nay_sst__lsm_reads: data blocks that a
   lookup of an absent key reads. */
uint64_t nay_sst__lsm_bytes(const nay_lsm_tree *tree, const nay_lsm_sizes *sizes);
double nay_sst__lsm_reads(const nay_lsm_tree *tree, const nay_lsm_sizes *sizes);

/*
 * nay_sst__lsm_allocate: changes *sizes to lower nay_sst__lsm_reads, as far as `budget` bytes
 * allow. nay_sst__lsm_bytes of *sizes is at most `budget`. NAY_ENOMEM: *sizes has not changed.
 */
nay_status nay_sst__lsm_allocate(const nay_lsm_tree *tree, uint64_t budget,
                                 const nay_allocator *allocator, nay_lsm_sizes *sizes);

#endif /* NAY_SST_PLAN_LSM_H */

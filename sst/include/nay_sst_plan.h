/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_plan.h - plans the filters of an LSM tree: the bits per key of each level.
 *
 *   nay_sst_plan_params p = {sizeof p, .nkeys = 1000000000, .ratio = 10, .nbytes = 1 << 30};
 *   nay_sst_plan *plan;
 *   if (nay_sst_plan_new(&p, NULL, NULL, &plan) != NAY_OK) return 1;
 *   nay_sst_level level = {.size = sizeof level};
 *   for (size_t i = 0; nay_sst_plan_level(plan, NAY_SST_PLAN_MONKEY, i, &level) == NAY_OK; i++) {
 *     printf("level %u: %.1f bits per key\n", level.level, level.bits_per_key);
 *   }
 *   nay_sst_plan_free(plan);
 *
 * A lookup of an absent key reads one data block of each sorted run whose filter answers maybe.
 * With the same bits per key on every level (uniform), the last level takes nearly all filter
 * memory, but each run causes as many wasted reads as any other. Monkey (Dayan, Athanassoulis,
 * Idreos, SIGMOD 2017) minimises the sum of the false-positive rates (FPR) of all runs under the
 * same memory budget. Smaller levels get more bits per key, which cost little there. If memory is
 * scarce, the last levels get no filter.
 *
 * Sizes and FPRs are the exact ones of the filter families, rounding included, not those of an
 * ideal Bloom filter. doc/lsm-planning.md describes the tree and the method. Ownership, errors,
 * threads, memory and ABI are as in nay.h. A plan is immutable.
 */
#ifndef NAY_SST_PLAN_H
#define NAY_SST_PLAN_H

#include "nay.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * nay_sst_plan_merging: the compaction style, which tells when runs of a level are merged.
 *
 * NAY_SST_PLAN_LEVELED: each level is one run, `ratio` times as large as the level before it
 * (LevelDB, and RocksDB by default). NAY_SST_PLAN_TIERED: a level collects up to ratio - 1 runs,
 * which are then merged into one run of the next level (Cassandra's size-tiered compaction).
 * NAY_SST_PLAN_LAZY_LEVELED: tiered, but the last level is one run (Dayan and Idreos, SIGMOD 2018).
 */
typedef enum nay_sst_plan_merging {
  NAY_SST_PLAN_LEVELED = 0,
  NAY_SST_PLAN_TIERED = 1,
  NAY_SST_PLAN_LAZY_LEVELED = 2
} nay_sst_plan_merging;

/* nay_sst_plan_allocation: the two allocations of a plan. */
typedef enum nay_sst_plan_allocation {
  NAY_SST_PLAN_UNIFORM = 0,
  NAY_SST_PLAN_MONKEY = 1
} nay_sst_plan_allocation;

/*
 * nay_sst_plan_params: the tree and the budget. `size`, `nkeys`, `ratio` and exactly one budget are
 * required; the other fields may be 0. The budgets:
 *
 *   nbytes        memory for the payload of all filters; what exceeds 64 bits per key is not used
 *   bits_per_key  what uniform gives each key, up to 64; Monkey gets the same bytes
 *   fpr           of each run in the uniform plan; Monkey gets the bytes that this takes
 */
typedef struct nay_sst_plan_params {
  size_t size;             /* sizeof the struct: see ABI in nay.h */
  uint64_t nkeys;          /* distinct keys in the tree: 1 to 2^56 */
  uint64_t ratio;          /* size ratio of adjacent levels: 2 to 1,000,000 */
  uint64_t nkeys_memtable; /* keys of a flush; 0: 1,000,000 */
  uint64_t nkeys_table;    /* largest number of keys per filter; 0: one filter for each run */
  uint64_t nbytes;
  double bits_per_key;
  double fpr;
  /* Leveled: flushes that wait in level 0, at most 10,000, and at most as many as hold all keys. 0:
     none. */
  uint32_t nruns_level0;
  nay_sst_plan_merging merging;
  /* Family of all filters, not scalable or window; NAY_AUTO: the plan chooses for each level */
  nay_kind kind;
  uint32_t reserved; /* 0 */
} nay_sst_plan_params;

/* nay_sst_level: one level of an allocation. */
typedef struct nay_sst_level {
  size_t size;    /* sizeof the struct: see ABI in nay.h */
  uint32_t level; /* 0: flushes of a leveled tree; level 1 is the first level of all others */
  nay_kind kind;  /* NAY_AUTO: no filter */
  uint64_t nkeys; /* keys of all runs */
  uint64_t nruns;
  uint64_t nfilters;      /* filters of all runs; a lookup probes one per run */
  uint64_t nkeys_filter;  /* nay_params.nkeys of each filter */
  uint64_t nbytes_filter; /* nay_params.nbytes of each filter; 0: no filter */
  uint64_t nbytes;        /* bytes of the payload of all filters, in memory */
  double bits_per_key;    /* nbytes * 8 / nkeys */
  double fpr;             /* FPR of a run, exact for the family; 1: no filter */
  /* Nruns * fpr: data blocks of this level that a lookup of an absent key reads */
  double absent_reads;
  const char *why; /* why this family was chosen, or no filter; a static text */
} nay_sst_level;

/* nay_sst_plan_info: the sums of an allocation over all levels. */
typedef struct nay_sst_plan_info {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t nlevels;
  uint64_t nkeys;
  /* Number of runs: the data blocks that a lookup of an absent key reads without filters */
  uint64_t nruns;
  uint64_t nfilters;
  uint64_t nbytes; /* never above nbytes_budget */
  uint64_t nbytes_budget;
  double bits_per_key;
  double absent_reads; /* data blocks that a lookup of an absent key reads */
  /* Blocks read in vain before a present key is found, if every key is equally likely */
  double present_waste;
} nay_sst_plan_info;

typedef struct nay_sst_plan nay_sst_plan;

/*
 * nay_sst_plan_new: plans both allocations. Monkey's absent_reads is never above uniform's.
 * NAY_EINVAL: diag names a field that is out of range, or whose FPR no filter of this family has.
 * NAY_ENOMEM.
 */
NAY_API nay_status nay_sst_plan_new(const nay_sst_plan_params *params,
                                    const nay_allocator *allocator, nay_diag *diag,
                                    nay_sst_plan **plan);

/* nay_sst_plan_level: level i of an allocation, from 0, in the order of lookups. NAY_EEND: past the
   last. */
NAY_API nay_status nay_sst_plan_level(const nay_sst_plan *plan, nay_sst_plan_allocation allocation,
                                      size_t i, nay_sst_level *level);

/* nay_sst_plan_stats: sums over all levels. NAY_EINVAL: the allocation does not exist. */
NAY_API nay_status nay_sst_plan_stats(const nay_sst_plan *plan, nay_sst_plan_allocation allocation,
                                      nay_sst_plan_info *sums);

/* nay_sst_plan_free: frees a plan. NULL is allowed. */
NAY_API void nay_sst_plan_free(nay_sst_plan *plan);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_PLAN_H */

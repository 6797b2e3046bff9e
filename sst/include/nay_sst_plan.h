/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_plan.h - plans the filters of an LSM tree: how many bits per key each level gets.
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
 * A lookup of an absent key reads one data block of each run whose filter answers maybe. The same
 * bits per key on every level (uniform) spend nearly all memory on the last level, and each level
 * wastes as many reads as the last. Monkey (Dayan, Athanassoulis, Idreos, SIGMOD 2017) minimises
 * the sum of the false-positive rates (FPR) of all runs under the same budget: smaller levels get
 * more bits per key, which cost little there; when memory is scarce, the last levels get no filter.
 *
 * Sizes and FPRs are those of the families, exact and with their rounding, not the formula of an
 * ideal Bloom filter. doc/lsm-planning.md describes the tree and the method. Ownership, errors,
 * threads, memory and the ABI are as nay.h says; a plan does not change once it is made.
 */
#ifndef NAY_SST_PLAN_H
#define NAY_SST_PLAN_H

#include "nay.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * nay_sst_plan_merging: when runs of a level are merged.
 *
 * NAY_SST_PLAN_LEVELED: a level is one run (LevelDB, RocksDB by default); level i is `ratio` times
 * as large as the one before it. NAY_SST_PLAN_TIERED: a level collects runs, up to ratio - 1, and
 * then becomes one run of the next (Cassandra's size-tiered compaction). NAY_SST_PLAN_LAZY_LEVELED:
 * tiered, but the last level is one run (Dayan and Idreos, SIGMOD 2018).
 */
typedef enum nay_sst_plan_merging {
  NAY_SST_PLAN_LEVELED = 0,
  NAY_SST_PLAN_TIERED = 1,
  NAY_SST_PLAN_LAZY_LEVELED = 2
} nay_sst_plan_merging;

/* nay_sst_plan_allocation: which of the two plans. */
typedef enum nay_sst_plan_allocation {
  NAY_SST_PLAN_UNIFORM = 0,
  NAY_SST_PLAN_MONKEY = 1
} nay_sst_plan_allocation;

/*
 * nay_sst_plan_params: the tree and the budget. All 0 but `size`, `nkeys`, `ratio` and one of:
 *
 *   nbytes        memory for the payload of all filters; what exceeds 64 bits per key is not used
 *   bits_per_key  what uniform gives each key, up to 64; Monkey gets the same bytes
 *   fpr           of each run in the uniform plan; Monkey gets the bytes that this takes
 */
typedef struct nay_sst_plan_params {
  size_t size;             /* sizeof the struct: see ABI in nay.h */
  uint64_t nkeys;          /* in the tree, each once: 1 to 2^56 */
  uint64_t ratio;          /* size of a level over that of the one before it: 2 to 1,000,000 */
  uint64_t nkeys_memtable; /* of a flush; 0: 1,000,000 */
  uint64_t nkeys_table;    /* at most this many keys share a filter; 0: one filter for each run */
  uint64_t nbytes;
  double bits_per_key;
  double fpr;
  uint32_t nruns_level0; /* leveled: flushes that wait in level 0, at most 10,000, and no more than
                            hold all keys; 0: none */
  nay_sst_plan_merging merging;
  nay_kind kind;     /* of all filters, not scalable or window; NAY_AUTO: by level */
  uint32_t reserved; /* 0 */
} nay_sst_plan_params;

/* nay_sst_level: one level of one of the plans. */
typedef struct nay_sst_level {
  size_t size;    /* sizeof the struct: see ABI in nay.h */
  uint32_t level; /* 0: flushes of a leveled tree; 1 is the first of all others */
  nay_kind kind;  /* NAY_AUTO: no filter */
  uint64_t nkeys; /* in all runs */
  uint64_t nruns;
  uint64_t nfilters;      /* in all runs; a lookup probes one in each run */
  uint64_t nkeys_filter;  /* a filter is planned for so many keys ... */
  uint64_t nbytes_filter; /* ... with this nay_params.nbytes; 0: no filter */
  uint64_t nbytes;        /* of all filters: payload, in memory */
  double bits_per_key;    /* nbytes * 8 / nkeys */
  double fpr;             /* of a run, exact for the family; 1: no filter */
  double absent_reads;    /* nruns * fpr: data blocks that a lookup of an absent key reads here */
  const char *why;        /* why this family, or none: static text */
} nay_sst_level;

/* nay_sst_plan_info: one of the plans as a whole. */
typedef struct nay_sst_plan_info {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t nlevels;
  uint64_t nkeys;
  uint64_t nruns; /* also: data blocks that an absent lookup reads without any filter */
  uint64_t nfilters;
  uint64_t nbytes; /* never above nbytes_budget */
  uint64_t nbytes_budget;
  double bits_per_key;
  double absent_reads;  /* data blocks that a lookup of an absent key reads */
  double present_waste; /* blocks read in vain before a present key is found, every key as likely */
} nay_sst_plan_info;

typedef struct nay_sst_plan nay_sst_plan;

/*
 * nay_sst_plan_new: plans both allocations. Monkey's absent_reads is never above that of uniform.
 * NAY_EINVAL: out of range, or no filter of this kind has that FPR: diag says which field.
 * NAY_ENOMEM.
 */
NAY_API nay_status nay_sst_plan_new(const nay_sst_plan_params *params,
                                    const nay_allocator *allocator, nay_diag *diag,
                                    nay_sst_plan **plan);

/* nay_sst_plan_level: level i from 0 in the order of lookups. NAY_EEND: past the last. */
NAY_API nay_status nay_sst_plan_level(const nay_sst_plan *plan, nay_sst_plan_allocation allocation,
                                      size_t i, nay_sst_level *level);

/* nay_sst_plan_stats: sums over all levels. NAY_EINVAL: no such allocation. */
NAY_API nay_status nay_sst_plan_stats(const nay_sst_plan *plan, nay_sst_plan_allocation allocation,
                                      nay_sst_plan_info *sums);

/* nay_sst_plan_free: NULL is fine. */
NAY_API void nay_sst_plan_free(nay_sst_plan *plan);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_PLAN_H */

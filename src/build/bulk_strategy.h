/* bulk_strategy.h - how to load many hashes: partitioned or not, by how many threads, in how much
 * memory. Every bulk load decides here. */
#ifndef NAY_BULK_STRATEGY_H
#define NAY_BULK_STRATEGY_H

#include "family/family.h"

/* nay_bulk_strategy: how a filter takes a bulk of adds. */
typedef struct nay_bulk_strategy {
  unsigned nthreads; /* 1: the calling thread alone */
  bool partitioned;  /* by partitioned_add.c, if there is memory for it */
} nay_bulk_strategy;

/*
 * nay__bulk_strategy: for n hashes, of which `sample` are the first nsample; NULL: not known yet.
 */
nay_bulk_strategy nay__bulk_strategy(const nay_filter *filter, uint64_t n, const uint64_t *sample,
                                     uint64_t nsample, unsigned max_threads);

/* nay__bulk_threads: how many of max_threads n keys are worth; at least 1. */
unsigned nay__bulk_threads(unsigned max_threads, uint64_t n);

/* nay__bulk_group_keys: how many keys of n a static build holds in memory at a time. */
uint64_t nay__bulk_group_keys(uint32_t flags, uint64_t n);

#endif /* NAY_BULK_STRATEGY_H */

/*
 * memory_budget.h - an allocator that enforces a memory limit. The allocator wraps another one,
 * counts the allocated bytes, records their peak, and fails an allocation that would exceed the
 * limit. A mutex serialises all calls, so the wrapped allocator need not be thread-safe.
 */
#ifndef NAY_SST_TREE_MEMORY_BUDGET_H
#define NAY_SST_TREE_MEMORY_BUDGET_H

#include "base/alloc.h"
#include "os/mutex.h"

typedef struct nay_budget {
  nay_allocator below; /* the wrapped allocator */
  size_t limit;        /* largest number of allocated bytes; 0: no limit */
  size_t used, peak;   /* allocated bytes, now and at most so far */
  bool exceeded;       /* an allocation failed because of the limit */
  nay_mutex mutex;
} nay_budget;

/* nay_sst__budget_init: the caller has zeroed the struct and set `below` and `limit`. NAY_ENOMEM.
 */
nay_status nay_sst__budget_init(nay_budget *budget);
void nay_sst__budget_free(nay_budget *budget);

/* nay_sst__budget_allocator: the allocator to hand out. The allocator points to *budget, which must
 * outlive every allocation and must not move. */
nay_allocator nay_sst__budget_allocator(nay_budget *budget);

#endif /* NAY_SST_TREE_MEMORY_BUDGET_H */

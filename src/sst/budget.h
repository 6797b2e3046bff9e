/*
 * budget.h - an allocator with a limit: counts what is allocated, records the peak, and fails
 * rather than exceed the limit. Calls from several threads reach the allocator below one at a time.
 */
#ifndef NAY_SST_BUDGET_H
#define NAY_SST_BUDGET_H

#include "base/alloc.h"
#include "os/mutex.h"

typedef struct nay_budget {
  nay_allocator below;
  size_t limit; /* 0: none */
  size_t used, peak;
  bool exceeded; /* an allocation failed because of the limit */
  nay_mutex mutex;
} nay_budget;

/* nay__budget_init: set below and limit before. NAY_ENOMEM. */
nay_status nay__budget_init(nay_budget *budget);
void nay__budget_free(nay_budget *budget);

/* nay__budget_allocator: the budget must stay where it is while something of it is allocated. */
nay_allocator nay__budget_allocator(nay_budget *budget);

#endif /* NAY_SST_BUDGET_H */

/* fill.h - many hashes into a new filter, by several threads. */
#ifndef NAY_FILL_H
#define NAY_FILL_H

#include "family/family.h"
#include "partition.h"

/* nay__fill: adds the hashes of all runs, one word each. The bytes do not depend on nthreads. */
nay_status nay__fill(nay_filter *filter, const nay_run *runs, size_t nruns, unsigned nthreads);

#endif /* NAY_FILL_H */

/* threaded_add.h - bulk adds to a new filter by several threads. */
#ifndef NAY_THREADED_ADD_H
#define NAY_THREADED_ADD_H

#include "build/hash_source.h"
#include "family/family.h"

/*
 * nay__threaded_add: adds the hashes of all runs, one word each, by up to max_threads threads. The
 * bytes do not depend on the number of threads.
 */
nay_status nay__threaded_add(nay_filter *filter, const nay_run *runs, size_t nruns,
                             unsigned max_threads);

#endif /* NAY_THREADED_ADD_H */

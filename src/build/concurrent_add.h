/* concurrent_add.h - batches of adds to a filter that takes adds from several threads. */
#ifndef NAY_CONCURRENT_ADD_H
#define NAY_CONCURRENT_ADD_H

#include "batch.h"

/* nay__concurrent_add_pays: whether a batch of n keys is worth sorting by region. */
bool nay__concurrent_add_pays(const nay_filter *filter, size_t n);

/* nay__concurrent_add: adds keys that have been checked. bitmap: of those that are new, or NULL. */
void nay__concurrent_add(nay_filter *filter, const nay_batch_input *in, uint64_t *bitmap);

#endif /* NAY_CONCURRENT_ADD_H */

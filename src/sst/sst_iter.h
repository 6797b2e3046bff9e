/*
 * sst_iter.h - an iterator of one table, as the merge of many sees it: a cursor in the index, and
 * one in the data block it points to. An index of the cache is pinned from the first movement on,
 * until the iterator is freed.
 */
#ifndef NAY_SST_SST_ITER_H
#define NAY_SST_SST_ITER_H

#include "sst/sst.h"

struct nay_sst_iter {
  const nay_sst *table;
  nay_cursor index, data;
  nay_index_pin pin;
  nay_handle block; /* of data */
  nay_hold *hold;
  nay_buffer end; /* user key before which a range ends */
  bool ends;
  bool valid;
  nay_status status; /* of the last movement */
  nay_diag diag;
};

/* nay__sst_iter_seek_before: the last entry whose user key is below key. */
nay_status nay__sst_iter_seek_before(nay_sst_iter *iter, const void *key, size_t len);

#endif /* NAY_SST_SST_ITER_H */

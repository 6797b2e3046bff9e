/*
 * iterator.h - the state of an iterator over one table, shared with the merging iterator. An index
 * that lives in the cache is pinned from the first move until the iterator is freed.
 */
#ifndef NAY_SST_TABLE_ITERATOR_H
#define NAY_SST_TABLE_ITERATOR_H

#include "nay_sst_iter.h"
#include "table/table.h"

struct nay_sst_iter {
  const nay_sst *table;
  nay_cursor index, data;
  nay_index_pin pin;
  nay_handle block; /* handle of the data block */
  nay_hold *hold;
  nay_buffer end; /* exclusive upper bound of a range, a user key; valid if has_end */
  bool has_end;
  bool valid;
  nay_status status; /* result of the last move */
  nay_diag diag;
};

/* nay_sst__iter_seek_before: seeks the last entry whose user key is below key. */
nay_status nay_sst__iter_seek_before(nay_sst_iter *iter, const void *key, size_t len);

#endif /* NAY_SST_TABLE_ITERATOR_H */

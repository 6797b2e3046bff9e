/*
 * merge_child.h - what a merge merges: a run of tables, or a source of the caller.
 *
 * A run is one table, or the tables of a disjoint level, which are walked one after the other as
 * if they were one (a concatenating iterator): at most one of them is open. Seeks find the table by
 * binary search among the smallest keys.
 */
#ifndef NAY_SST_MERGE_CHILD_H
#define NAY_SST_MERGE_CHILD_H

#include "nay_merge.h"
#include "sst/merge_heap.h"
#include "sst/sst_iter.h"

typedef struct nay_merge_child {
  nay_merge_source source;      /* if there are no tables */
  const nay_sst *const *tables; /* ascending; NULL: a source */
  size_t n;                     /* of them */
  size_t at;                    /* the table that iter walks */
  nay_sst_iter *iter;           /* NULL: none yet */
} nay_merge_child;

/* Where to. Before: the last entry whose user key is below the key. */
typedef enum nay_merge_move {
  NAY_MERGE_FIRST,
  NAY_MERGE_LAST,
  NAY_MERGE_SEEK,
  NAY_MERGE_SEEK_FOR_PREV,
  NAY_MERGE_SEEK_BEFORE,
  NAY_MERGE_NEXT,
  NAY_MERGE_PREV
} nay_merge_move;

/* nay__merge_child_move: key is of seeks alone. NAY_ENOENT past either end. */
nay_status nay__merge_child_move(nay_merge_child *child, nay_merge_move move, nay_bytes key,
                                 nay_diag *diag);

/* nay__merge_child_key: of the entry it is at. */
static inline nay_bytes nay__merge_child_key(const nay_merge_child *c) {
  if (c->iter != NULL) return (nay_bytes){c->iter->data.key.at, c->iter->data.key.len};
  nay_bytes key;
  key.at = c->source.key(c->source.state, &key.len);
  return key;
}

static inline nay_bytes nay__merge_child_value(const nay_merge_child *c) {
  if (c->iter != NULL) return (nay_bytes){c->iter->data.entry.value, c->iter->data.entry.value_len};
  nay_bytes value;
  value.at = c->source.value(c->source.state, &value.len);
  return value;
}

void nay__merge_child_free(nay_merge_child *child);

#endif /* NAY_SST_MERGE_CHILD_H */

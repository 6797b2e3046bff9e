/*
 * scan_child.h - one child of a merging iterator: a sorted run of tables, or a source of the
 * caller.
 *
 * A run is one table, or all tables of a disjoint level. The tables of a level are iterated one
 * after the other, as LevelDB's concatenating iterator does: at most one of them is open, and a
 * seek finds the table by binary search over the smallest keys.
 */
#ifndef NAY_SST_TREE_SCAN_CHILD_H
#define NAY_SST_TREE_SCAN_CHILD_H

#include "nay_sst_iter.h"
#include "table/iterator.h"
#include "tree/merge_heap.h"

typedef struct nay_scan_child {
  nay_sst_source source;        /* the caller's source, if `tables` is NULL */
  const nay_sst *const *tables; /* tables of the run in key order; NULL: the child is a source */
  size_t n;                     /* number of tables */
  size_t at;                    /* index of the table that `iter` reads */
  nay_sst_iter *iter;           /* NULL until the first move */
  /* of each table: its range filter answered maybe for the bounds; NULL for a source */
  bool *asked;
} nay_scan_child;

/* Kinds of moves. SEEK_BEFORE finds the last entry whose user key is below the target. */
typedef enum nay_scan_move {
  NAY_MERGE_FIRST,
  NAY_MERGE_LAST,
  NAY_MERGE_SEEK,
  NAY_MERGE_SEEK_FOR_PREV,
  NAY_MERGE_SEEK_BEFORE,
  NAY_MERGE_NEXT,
  NAY_MERGE_PREV
} nay_scan_move;

/* nay_sst__scan_child_move: moves the child; `key` is the target of a seek, and unused otherwise.
 * NAY_EEND: past either end. */
nay_status nay_sst__scan_child_move(nay_scan_child *child, nay_scan_move move, nay_bytes key,
                                    nay_diag *diag);

/* nay_sst__scan_child_key: the key of the entry that the child stands at. */
static inline nay_bytes nay_sst__scan_child_key(const nay_scan_child *c) {
  if (c->iter != NULL) return (nay_bytes){c->iter->data.key.at, c->iter->data.key.len};
  nay_bytes key;
  key.at = c->source.key(c->source.ctx, &key.len);
  return key;
}

static inline nay_bytes nay_sst__scan_child_value(const nay_scan_child *c) {
  if (c->iter != NULL) return (nay_bytes){c->iter->data.entry.value, c->iter->data.entry.value_len};
  nay_bytes value;
  value.at = c->source.value(c->source.ctx, &value.len);
  return value;
}

/* nay_sst__scan_child_excludes: whether the range filters of the run say that it has no key in
 * [from, to). *asked is the first table that could have them, if its filter answered maybe; else
 * NULL. */
bool nay_sst__scan_child_excludes(const nay_scan_child *child, nay_bytes from, nay_bytes to,
                                  const nay_sst **asked);

void nay_sst__scan_child_free(nay_scan_child *child);

#endif /* NAY_SST_TREE_SCAN_CHILD_H */

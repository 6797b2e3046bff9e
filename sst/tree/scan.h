/*
 * scan.h - the state of a merging iterator.
 *
 *   scan_new.c     options, bounds, choice of the tables inside the bounds, children
 *   scan.c         moves: first, last, seek, next, prev
 *   scan_entry.c   accessors of the current entry: key, value, version, pin
 *   scan_child.c   a child: a sorted run of tables, or a source of the caller
 *   merge_heap.c    the heap that orders the children
 */
#ifndef NAY_SST_TREE_SCAN_H
#define NAY_SST_TREE_SCAN_H

#include "table/merge_operands.h"
#include "tree/scan_child.h"

/* nay_saved_value: the value of an entry after its child has moved on. */
typedef struct nay_saved_value {
  nay_bytes value;
  const nay_sst *table; /* table of the entry; NULL: the entry came from a source */
  const uint8_t
      *block; /* Block that `hold` pins. Further values of the same block need no new pin. */
  nay_hold *hold;
  bool stable;     /* the source promises that its values outlive its moves */
  nay_buffer copy; /* copy of a value whose source makes no such promise */
} nay_saved_value;

struct nay_sst_scan {
  nay_allocator allocator;
  nay_order order;
  uint64_t sequence; /* snapshot: entries above this sequence number are invisible */
  bool keep_deletions, all_versions;
  nay_operator merge_operator;
  bool has_lower, has_upper;
  nay_buffer lower, upper;

  nay_scan_child *children; /* ordered by age: child 0 is the newest */
  /* Capacity of `children` as allocated; nchildren may be smaller. */
  size_t nchildren, children_capacity;
  const nay_sst **tables; /* tables of all runs, one array; each child points into it */
  size_t tables_capacity; /* allocated length of `tables` and `asked` */
  /* Of each table: its range filter answered maybe for the bounds, and no move has told yet whether
     that was right. */
  bool *asked;
  bool any_asked;
  nay_merge_heap heap; /* holds the children that stand at an entry */

  bool valid;
  nay_status status; /* result of the last move */
  nay_diag diag;
  const nay_sst *failed_table; /* table of the last error; NULL: no table caused it */
  bool backward;               /* the heap is in descending order */
  bool detached; /* the current value is saved_value or `operand`, not the value of the top */
  /* next and prev take merge_step_slow: all_versions is set, or the current value is combined. */
  bool slow_path;
  nay_buffer saved_key; /* user key of an entry that the children have passed */
  nay_bytes key;        /* user key of the current entry; points into a child or into saved_key */
  uint64_t trailer;     /* Trailer of the current entry. Plain keys: 1, the trailer of a value. */
  nay_saved_value saved_value;  /* current value of a backward move without all_versions */
  nay_operand operand;          /* current value when it is combined from merge operands */
  const nay_sst *operand_table; /* table of the newest operand of `operand`; NULL: a source */
};

static inline bool nay_sst__scan_is_combined(const nay_sst_scan *m) {
  return m->slow_path && !m->all_versions;
}

/* nay_sst__scan_top_table: the table of the top entry. NULL: the entry came from a source. */
static inline const nay_sst *nay_sst__scan_top_table(const nay_sst_scan *m) {
  const nay_scan_child *c = nay_sst__merge_top(&m->heap)->source;
  return c->iter != NULL ? c->iter->table : NULL;
}

#endif /* NAY_SST_TREE_SCAN_H */

/*
 * merge.h - a merging iterator, shared by what makes it and what moves it.
 *
 *   merge_new.c     bounds, the tables that they leave, children
 *   merge.c         movements
 *   merge_entry.c   the present entry: key, value, version, pin
 *   merge_child.c   one child: a run of tables or a source
 *   merge_heap.c    the order of the children
 */
#ifndef NAY_SST_MERGE_H
#define NAY_SST_MERGE_H

#include "sst/merge_child.h"
#include "sst/operand.h"

/* nay_merge_kept: the value of an entry that its child has left. */
typedef struct nay_merge_kept {
  nay_bytes value;
  const nay_sst *table; /* NULL: a source */
  const uint8_t *block; /* that `hold` keeps: the next value in it costs nothing */
  nay_hold *hold;
  bool stable;     /* a source says that its values stay */
  nay_buffer copy; /* of one that does not */
} nay_merge_kept;

struct nay_merge {
  nay_allocator allocator;
  nay_order order;
  uint64_t sequence; /* what is above it is not seen */
  bool keep_deletions, all_versions;
  nay_operator merge;
  bool has_lower, has_upper;
  nay_buffer lower, upper;

  nay_merge_child *children; /* by age: 0 is the newest */
  size_t nchildren, room;    /* room of the array */
  const nay_sst **tables;    /* of all runs */
  size_t ntables;            /* room of the array */
  nay_merge_heap heap;       /* of children that are at an entry */

  bool valid;
  nay_status status; /* of the last movement */
  nay_diag diag;
  const nay_sst *failed; /* the table of the last error; NULL: no table's */
  bool backward;         /* the heap is in descending order */
  bool stored;           /* the present value is not the top's, but kept or combined */
  bool special;          /* all_versions; or the present value is combined */
  nay_buffer saved;      /* the user key of an entry that the children have left */
  nay_bytes key;         /* user key of the present entry, in a child or `saved` */
  uint64_t trailer;      /* of the present entry; plain keys: 1, a value */
  nay_merge_kept kept;   /* backward, unless all versions come: the present value */
  nay_operand operand;   /* combined: the present value, */
  const nay_sst *from;   /* and the table of its newest operand; NULL: a source */
};

static inline bool nay__merge_is_combined(const nay_merge *m) {
  return m->special && !m->all_versions;
}

/* nay__merge_top_table: that of the top; NULL: a source. */
static inline const nay_sst *nay__merge_top_table(const nay_merge *m) {
  const nay_merge_child *c = nay__merge_top(&m->heap)->source;
  return c->iter != NULL ? c->iter->table : NULL;
}

#endif /* NAY_SST_MERGE_H */

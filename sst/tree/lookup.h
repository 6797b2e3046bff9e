/*
 * lookup.h - a lookup: the tables of an LSM tree by level, newest first (LevelDB's Version).
 *
 * An overlapping level, as level 0 is, has its tables newest first, and a get searches all of them
 * in turn. A disjoint level has its tables in ascending key order. Only the last table whose
 * smallest key is at or below the key can have it; a binary search finds that table. The search
 * uses smallest keys because the largest key that an index has is a separator, which may be above
 * the smallest key of the next table.
 *
 *   tables    every table, in the caller's order; its position there is its *number*
 *   slots     the tables that a get searches, level after level: all but the empty tables of
 *             disjoint levels, which have no place in the key order
 */
#ifndef NAY_SST_TREE_LOOKUP_H
#define NAY_SST_TREE_LOOKUP_H

#include "table/get.h"

typedef struct nay_sst_lookup_slot {
  const nay_sst *table;
  size_t number; /* position of the table in the caller's order */
} nay_sst_lookup_slot;

/* nay_level_slots: one level of a lookup. */
typedef struct nay_level_slots {
  size_t first, n;   /* the level's slots are [first, first + n) */
  size_t tables_end; /* number of tables in this level and all levels before it */
  bool disjoint;
} nay_level_slots;

struct nay_sst_lookup {
  nay_allocator allocator;
  nay_operator merge; /* the merge operator; call NULL: none */
  size_t ntables, nslots, nlevels;
  bool overlapping;   /* no level is disjoint: a get searches every slot in turn */
  size_t array_bytes; /* size of the one allocation that holds the three arrays */
  nay_sst_lookup_slot *tables;
  nay_sst_lookup_slot *slots;
  nay_level_slots *levels;
  uint64_t counters[2]; /* gets; hashes of keys */
  uint64_t *counts;     /* points to `counters`, so that calls on a const lookup can count */
};

/* nay_sst__lookup_alloc: makes an empty lookup with memory for so many tables and levels.
 * NAY_ENOMEM.
 */
nay_status nay_sst__lookup_alloc(size_t ntables, size_t nlevels, const nay_allocator *a,
                                 nay_diag *diag, nay_sst_lookup **lookup);

/* nay_sst__lookup_add_level, nay_sst__lookup_add_table: append a level to the lookup, and a table
 * to its last level. The memory is there. */
void nay_sst__lookup_add_level(nay_sst_lookup *lookup, bool disjoint);
void nay_sst__lookup_add_table(nay_sst_lookup *lookup, const nay_sst *table);

/* nay_sst__lookup_check_place: checks that a table can follow `before` (NULL: it is the first) in a
 * disjoint level: its key order and smallest key are known, and all keys of `before` are below that
 * key. `number` is for diag. NAY_EINVAL, or an error of reading the last block of `before`. */
nay_status nay_sst__lookup_check_place(const nay_sst *before, const nay_sst *table, size_t number,
                                       nay_diag *diag);

/* nay_sst__lookup_upper_bound: number of slots of a disjoint level whose smallest key is at or
 * below `key`. */
size_t nay_sst__lookup_upper_bound(const nay_sst_lookup *lookup, const nay_level_slots *level,
                                   const uint8_t *key, size_t len);

/* nay_sst__lookup_find_slot: the slot of the only table of a disjoint level that can have the key;
 * NULL: no table can. */
const nay_sst_lookup_slot *nay_sst__lookup_find_slot(const nay_sst_lookup *lookup,
                                                     const nay_level_slots *level,
                                                     const uint8_t *key, size_t len);

/* nay_sst__lookup_get_from: a get that starts at slot i of a level instead of the newest table, and
 * is not counted as a get of the lookup. A disjoint level ignores i and searches the key's slot.
 * *table is set as by nay_sst_lookup_get. */
nay_status nay_sst__lookup_get_from(const nay_sst_lookup *lookup, size_t level, size_t i,
                                    const nay_target *target, nay_hash_memo *memo, nay_diag *diag,
                                    nay_sst_value *value, size_t *table);

#endif /* NAY_SST_TREE_LOOKUP_H */

/*
 * lookup.h - the tables of a lookup, by level.
 *
 * A *run* is one level. The tables of an overlapping run are searched in turn, newest first. A
 * disjoint run has its tables in ascending order of their keys: the only one that can have a key is
 * the last whose smallest key is not above it, found by binary search. The largest key of the index
 * does not serve for that: it is a separator, and may be above the first keys of the next table.
 *
 * `tables` has all tables as the caller counts them. `slots` has those that are searched, run after
 * run: empty tables of disjoint runs are left out, because they have no place in the order.
 */
#ifndef NAY_SST_LOOKUP_H
#define NAY_SST_LOOKUP_H

#include "sst/sst_get.h"

typedef struct nay_lookup_slot {
  const nay_sst *table;
  size_t number; /* as the caller counts */
} nay_lookup_slot;

typedef struct nay_lookup_run {
  size_t first, n;   /* slots */
  size_t tables_end; /* tables of this run and those before it */
  bool disjoint;
} nay_lookup_run;

struct nay_lookup {
  nay_allocator allocator;
  nay_operator merge;
  size_t ntables, nslots, nruns;
  bool overlapping;        /* no run is disjoint: every slot is searched, in turn */
  size_t array_bytes;      /* of the allocation that has: */
  nay_lookup_slot *tables; /* slots and runs are behind them */
  nay_lookup_slot *slots;
  nay_lookup_run *runs;
  uint64_t own[2];
  uint64_t *counts; /* gets and hashes, in own[]: const calls count too */
};

/* nay__lookup_alloc: an empty lookup with room for so many tables and runs. NAY_ENOMEM. */
nay_status nay__lookup_alloc(size_t ntables, size_t nruns, const nay_allocator *a, nay_diag *diag,
                             nay_lookup **lookup);

/* nay__lookup_add_run, nay__lookup_add: the next run, and the next table of the last run. */
void nay__lookup_add_run(nay_lookup *lookup, bool disjoint);
void nay__lookup_add(nay_lookup *lookup, const nay_sst *table);

/* nay__lookup_check_place: whether a table, `number` as the caller counts, can stand in a disjoint
 * run: its order is known, it has a first key, and all keys of `before` (NULL: there is none) are
 * below that. NAY_EINVAL; errors of reading the last block of `before`. */
nay_status nay__lookup_check_place(const nay_sst *before, const nay_sst *table, size_t number,
                                   nay_diag *diag);

/* nay__lookup_bound: of a disjoint run, how many slots have a smallest key not above the key. */
size_t nay__lookup_bound(const nay_lookup *lookup, const nay_lookup_run *run, const uint8_t *key,
                         size_t len);

/* nay__lookup_find: in a disjoint run, the slot of the only table that can have the key; NULL: none
 * does. */
const nay_lookup_slot *nay__lookup_find(const nay_lookup *lookup, const nay_lookup_run *run,
                                        const uint8_t *key, size_t len);

/* nay__lookup_get_from: a get that starts at slot i of a run, and counts no get of the lookup. Of a
 * disjoint run the slot of the key is searched, whatever i is. *table as nay_lookup_get. */
nay_status nay__lookup_get_from(const nay_lookup *lookup, size_t run, size_t i,
                                const nay_target *target, nay_hash_memo *memo, nay_diag *diag,
                                nay_sst_value *value, size_t *table);

#endif /* NAY_SST_LOOKUP_H */

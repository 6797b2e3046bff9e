/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_lookup.h - gets a key from many tables, newest first: the read path of an LSM tree below
 * the memtable.
 *
 *   const nay_sst *tables[] = {newest, older, oldest};
 *   nay_sst_lookup_level level = {sizeof level, tables, 3, false};
 *   nay_sst_lookup *lookup;
 *   if (nay_sst_lookup_new(&level, 1, NULL, NULL, NULL, &lookup) != NAY_OK) return 1;
 *   nay_sst_value v = {.size = sizeof v};
 *   if (nay_sst_lookup_get(lookup, "foo", 3, NAY_SST_NEWEST, NULL, &v, NULL) == NAY_ENOENT)
 *
 * LEVELS. A leveled LSM tree has overlapping tables in level 0, and tables with disjoint key ranges
 * in the levels below. In a disjoint level a get searches at most one table, found by binary
 * search.
 *
 * MERGE OPERANDS. With a merge operator (nay_sst_merge.h) in the options, a get combines operands
 * through all versions, tables and levels, until it meets a value, a deletion or the end of the
 * key's versions. The result is a value; a compaction with the same operator makes the same bytes.
 * Without an operator, operands are NAY_ENOTSUP.
 *
 * THREADS. All calls on a const nay_sst_lookup are safe together.
 */
#ifndef NAY_SST_LOOKUP_H
#define NAY_SST_LOOKUP_H

#include "nay_sst_merge.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * nay_sst_lookup: searches tables newest first, until one has the key. The key is hashed once for
 * all native filters with the same hash function and seed. The tables stay the caller's and must
 * outlive the lookup. NAY_EMISMATCH: the tables have different comparators. NAY_ENOTSUP: one of
 * several tables was written by RocksDB's SstFileWriter, so nothing tells which table is newer.
 */
typedef struct nay_sst_lookup nay_sst_lookup;

/*
 * nay_sst_lookup_level: one level. The tables of an overlapping level are given newest first. The
 * tables of a disjoint level are given in ascending key order; their key ranges do not overlap, and
 * no user key is in two of them.
 */
typedef struct nay_sst_lookup_level {
  size_t size; /* sizeof the struct, the same in a whole array: see ABI in nay.h */
  const nay_sst *const *tables;
  size_t n;
  bool disjoint;
} nay_sst_lookup_level;

/* nay_sst_lookup_options: options that are all zero except `size` make a lookup without merge
   operator. */
typedef struct nay_sst_lookup_options {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  /* Operator for gets, and for merging iterators over this lookup; NULL: none */
  nay_sst_merge_operator merge;
  void *merge_ctx;
} nay_sst_lookup_options;

/*
 * nay_sst_lookup_new: makes a lookup over n levels, newest first. options may be NULL. Tables are
 * numbered from 0, level after level. NAY_EINVAL: a disjoint level has overlapping tables
 * (diag->offset is the number of the first table that is not above its predecessor), or the first
 * key of one of its tables cannot be read. NAY_EMISMATCH: a table has another comparator. If the
 * index does not tell the last key of a table in a disjoint level, the call reads the last block of
 * that table, with the errors of nay_sst_get. The index tells it in tables that nay wrote with
 * `properties` (nay_sst.h).
 */
NAY_API nay_status nay_sst_lookup_new(const nay_sst_lookup_level *levels, size_t n,
                                      const nay_sst_lookup_options *options,
                                      const nay_allocator *allocator, nay_diag *diag,
                                      nay_sst_lookup **lookup);
NAY_API void nay_sst_lookup_free(nay_sst_lookup *lookup);

/*
 * nay_sst_lookup_edit: the tables that a level loses, in any order, and the tables that it gains. A
 * table that an overlapping level has several times is named once, and all its copies are removed.
 * Tables added to a disjoint level are given in ascending key order, and each is inserted at its
 * place. Tables added to an overlapping level are given newest first, and precede the tables that
 * stay.
 */
typedef struct nay_sst_lookup_edit {
  size_t size; /* sizeof the struct, the same in a whole array: see ABI in nay.h */
  size_t level;
  const nay_sst *const *removed;
  size_t nremoved;
  const nay_sst *const *added;
  size_t nadded;
} nay_sst_lookup_edit;

/*
 * nay_sst_lookup_new_edited: makes a lookup from a previous one, which does not change, and n edits
 * of different levels, in ascending order of level: one call for each flush or compaction of an LSM
 * tree. Levels and options stay the same. Only added tables are checked, with O(log) comparisons
 * and block reads as in nay_sst_lookup_new; each table that stays costs a copy of 32 bytes. Errors
 * as nay_sst_lookup_new, where table numbers are those of the new lookup. NAY_EINVAL also: the
 * level does not exist, or a removed table is not in it or is named twice (diag->offset is its
 * position in `removed`).
 */
NAY_API nay_status nay_sst_lookup_new_edited(const nay_sst_lookup *previous,
                                             const nay_sst_lookup_edit *edits, size_t n,
                                             const nay_allocator *allocator, nay_diag *diag,
                                             nay_sst_lookup **lookup);

/* nay_sst_lookup_table: the table with this number, counted from 0, level after level. NULL: the
   lookup has fewer tables. */
NAY_API const nay_sst *nay_sst_lookup_table(const nay_sst_lookup *lookup, size_t number);

/*
 * nay_sst_lookup_get: nay_sst_get over all tables. NAY_ENOENT: no table has the key, or its newest
 * version is a deletion (value->deleted). *table (may be NULL) is the number of the table that
 * answered or failed. Errors as nay_sst_get: a damaged table is an error, and older tables are then
 * not searched.
 *
 * A value combined from merge operands is in the memory of `value`, not a view. Its sequence number
 * and table are those of the newest operand. NAY_ECORRUPT: the operator cannot combine the
 * operands.
 */
NAY_API nay_status nay_sst_lookup_get(const nay_sst_lookup *lookup, const void *key, size_t len,
                                      uint64_t sequence, nay_diag *diag, nay_sst_value *value,
                                      size_t *table);

/*
 * nay_sst_lookup_get_many: nay_sst_lookup_get for n keys at once (RocksDB's MultiGet): keys[i] has
 * lens[i] bytes; statuses[i], values[i] and, unless tables is NULL, tables[i] are the results for
 * key i. Keys may come in any order and may repeat. A batch is faster than single gets, most of all
 * for absent keys in many tables: keys are hashed together, each filter is probed in one batch, and
 * keys in one block share its read. NAY_OK: every status is NAY_OK or NAY_ENOENT. Otherwise the
 * call returns the first other status, and its diag. NAY_EINVAL, also if the values have different
 * sizes: no output was written.
 */
NAY_API nay_status nay_sst_lookup_get_many(const nay_sst_lookup *lookup, const void *const *keys,
                                           const size_t *lens, size_t n, uint64_t sequence,
                                           nay_diag *diag, nay_sst_value *values,
                                           nay_status *statuses, size_t *tables);

/* ---- trace ----------------------------------------------------------------------------------- */

/* nay_sst_lookup_what: the steps of a get in one table. FOUND to FAILED end the search in that
 * table. */
typedef enum nay_sst_lookup_what {
  /* The key is outside the table's range; ends the search in this table */
  NAY_SST_LOOKUP_OUT_OF_RANGE = 1,
  NAY_SST_LOOKUP_FILTER_NAY = 2, /* the filter answers nay; ends the search in this table */
  NAY_SST_LOOKUP_FILTER_MAYBE = 3,
  NAY_SST_LOOKUP_NO_FILTER = 4, /* the table has no filter for this key */
  NAY_SST_LOOKUP_INDEX = 5,     /* the index names the block at `offset`, with `nbytes` bytes */
  NAY_SST_LOOKUP_BLOCK = 6,     /* the data block was read, or found in the cache */
  NAY_SST_LOOKUP_FOUND = 7,
  NAY_SST_LOOKUP_DELETED = 8,
  NAY_SST_LOOKUP_ABSENT =
      9, /* the block does not have the key; a false positive, if a filter answered maybe */
  NAY_SST_LOOKUP_FAILED = 10,
  NAY_SST_LOOKUP_OPERAND =
      11 /* a merge operand; ends the search in this table if it has no older version */
} nay_sst_lookup_what;

/* nay_sst_lookup_step: a step of a get, and the table in which it happened. */
typedef struct nay_sst_lookup_step {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  nay_sst_lookup_what what;
  size_t level, table;     /* table: its number, as in nay_sst_lookup_new */
  uint64_t offset, nbytes; /* index, block: offset and stored length of the block in the file */
  bool cached;             /* block: it came from the cache */
  nay_status status;       /* status of a failed step */
  const char *text;        /* the step as a short text, such as "filter: nay" */
} nay_sst_lookup_step;

/* nay_sst_lookup_visitor: receives each step, which is valid during the call. After a status other
   than NAY_OK it gets no more steps, and the explanation returns that status. */
typedef nay_status (*nay_sst_lookup_visitor)(void *ctx, const nay_sst_lookup_step *step);

/* nay_sst_lookup_explain: nay_sst_lookup_get that reports each step to `visit` (may be NULL). */
NAY_API nay_status nay_sst_lookup_explain(const nay_sst_lookup *lookup, const void *key, size_t len,
                                          uint64_t sequence, nay_sst_lookup_visitor visit,
                                          void *ctx, nay_diag *diag, nay_sst_value *value,
                                          size_t *table);

/* ---- counters -------------------------------------------------------------------------------- */

/* nay_sst_lookup_stats: the sum of the tables' counters. `gets` and `hashes` are those of the
   lookup. */
NAY_API nay_status nay_sst_lookup_stats(const nay_sst_lookup *lookup, nay_sst_counters *counters);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_LOOKUP_H */

/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_lookup.h - one key in many tables, newest first: the read path of an LSM tree below its
 * memtable.
 *
 *   const nay_sst *tables[] = {newest, older, oldest};
 *   nay_sst_lookup_level level = {sizeof level, tables, 3, false};
 *   nay_sst_lookup *lookup;
 *   if (nay_sst_lookup_new(&level, 1, NULL, NULL, NULL, &lookup) != NAY_OK) return 1;
 *   nay_sst_value v = {.size = sizeof v};
 *   if (nay_sst_lookup_get(lookup, "foo", 3, NAY_SST_NEWEST, NULL, &v, NULL) == NAY_ENOENT)
 * puts("nay"); nay_sst_value_free(&v); nay_sst_lookup_free(lookup);
 *
 * LEVELS. A leveled LSM tree has overlapping tables in level 0 and tables with disjoint ranges of
 * keys below it. nay_sst_lookup_new takes them so: in a disjoint level one table at most is
 * probed, found by binary search.
 *
 * MERGE OPERANDS. With a merge operator (nay_sst_merge.h) in the options gets combine operands
 * through all versions, tables and levels, down to a value, a deletion or the end of the key, which
 * gives a value; the same operator in a compaction gives the same bytes. Without one they are
 * NAY_ENOTSUP.
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
 * nay_sst_lookup: searches tables in turn, newest first, until one has the key. The key is
 * hashed once for all native filters that share hash and seed. The tables stay the caller's and
 * must outlive it. NAY_EMISMATCH: they have different comparators. NAY_ENOTSUP: one of several is a
 * table of RocksDB's SstFileWriter: which is newer is not known.
 */
typedef struct nay_sst_lookup nay_sst_lookup;

NAY_API void nay_sst_lookup_free(nay_sst_lookup *lookup);

/*
 * nay_sst_lookup_level: tables that overlap, newest first; or, if disjoint, tables in ascending
 * order of their keys, each wholly above the one before it. No user key may be in two of them.
 */
typedef struct nay_sst_lookup_level {
  size_t size; /* sizeof the struct, the same in a whole array: see ABI in nay.h */
  const nay_sst *const *tables;
  size_t n;
  bool disjoint;
} nay_sst_lookup_level;

/* nay_sst_lookup_options: all zero but for the size is a lookup in tables without merge operands.
 */
typedef struct nay_sst_lookup_options {
  size_t size;                  /* sizeof the struct: see ABI in nay.h */
  nay_sst_merge_operator merge; /* of gets, and of merging iterators over this lookup; NULL: none */
  void *merge_ctx;
} nay_sst_lookup_options;

/*
 * nay_sst_lookup_new: a lookup over n levels, the newest first; options may be NULL. Tables are
 * counted from 0, level after level. NAY_EINVAL: a disjoint level is not (diag->offset is the
 * number of the first table that is not above the one before it), or a table in it has no readable
 * first key. NAY_EMISMATCH: a table has another comparator. Reads the last block of
 * a table of a disjoint level where the index does not tell its last key; errors then as
 * nay_sst_get. In tables that nay wrote with `properties` (nay_sst.h) the index tells it.
 */
NAY_API nay_status nay_sst_lookup_new(const nay_sst_lookup_level *levels, size_t n,
                                      const nay_sst_lookup_options *options,
                                      const nay_allocator *allocator, nay_diag *diag,
                                      nay_sst_lookup **lookup);

/*
 * nay_sst_lookup_edit: what changes in a level: tables that go, in any order, and tables that come.
 * A table that an overlapping level has several times is named once, and goes with all its copies.
 * To a disjoint level they come in ascending order of their keys, and each goes to its place; in
 * any other level they stand before those that stay, newest first.
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
 * nay_sst_lookup_new_edited: a lookup with the levels and options of the previous one, which stays
 * as it is, but for n edits of different levels, in ascending order. For each flush and compaction
 * of an LSM tree: only the tables that come are checked, in O(log) comparisons and reads of blocks
 * as above; for each that stays 32 bytes are copied. Errors as nay_sst_lookup_new, in which numbers
 * are those of the new lookup; NAY_EINVAL also if there is no such level, or a removed table is not
 * in it or is named twice (diag->offset: which one of `removed`).
 */
NAY_API nay_status nay_sst_lookup_new_edited(const nay_sst_lookup *previous,
                                             const nay_sst_lookup_edit *edits, size_t n,
                                             const nay_allocator *allocator, nay_diag *diag,
                                             nay_sst_lookup **lookup);

/* nay_sst_lookup_table: the table of a number, counted from 0, level after level. NULL: there are
 * fewer tables. */
NAY_API const nay_sst *nay_sst_lookup_table(const nay_sst_lookup *lookup, size_t number);

/*
 * nay_sst_lookup_get: nay_sst_get over all tables. NAY_ENOENT when no table has the key, or the
 * newest that does says that it is deleted (value->deleted). table (may be NULL) tells which one
 * answered, or failed. Errors as nay_sst_get: a damaged table is an error, not a reason to search
 * an older one.
 *
 * A value that was combined of merge operands is the value's own, not a view; its sequence and
 * `table` are those of the newest operand. NAY_ECORRUPT: operands cannot be combined.
 */
NAY_API nay_status nay_sst_lookup_get(const nay_sst_lookup *lookup, const void *key, size_t len,
                                      uint64_t sequence, nay_diag *diag, nay_sst_value *value,
                                      size_t *table);

/*
 * nay_sst_lookup_get_many: nay_sst_lookup_get for n keys at once: keys[i] of lens[i] bytes,
 * statuses[i] and values[i] as that call gives them, and tables[i] unless tables is NULL. Keys may
 * come in any order, and more than once. Faster than one by one, most of all for absent keys in
 * many tables: the keys are hashed together, each filter takes them as one batch, and keys in one
 * block share it. NAY_OK: every status is NAY_OK or NAY_ENOENT; else the first that is not, with
 * its diag. NAY_EINVAL, also if values differ in size: no output was written.
 */
NAY_API nay_status nay_sst_lookup_get_many(const nay_sst_lookup *lookup, const void *const *keys,
                                           const size_t *lens, size_t n, uint64_t sequence,
                                           nay_diag *diag, nay_sst_value *values,
                                           nay_status *statuses, size_t *tables);

/* ---- trace ----------------------------------------------------------------------------------- */

/* nay_sst_lookup_what: the steps of a get in one table. FOUND to FAILED end it. */
typedef enum nay_sst_lookup_what {
  NAY_SST_LOOKUP_OUT_OF_RANGE = 1, /* the key is outside of the table's range: ends it as well */
  NAY_SST_LOOKUP_FILTER_NAY = 2,   /* also ends the search in this table */
  NAY_SST_LOOKUP_FILTER_MAYBE = 3,
  NAY_SST_LOOKUP_NO_FILTER = 4, /* the table has no filter for this key */
  NAY_SST_LOOKUP_INDEX = 5,     /* the index names the block at offset, of nbytes */
  NAY_SST_LOOKUP_BLOCK = 6,     /* the data block was read, or found in the cache */
  NAY_SST_LOOKUP_FOUND = 7,
  NAY_SST_LOOKUP_DELETED = 8,
  NAY_SST_LOOKUP_ABSENT =
      9, /* the block does not have the key: a false positive, if a filter said maybe */
  NAY_SST_LOOKUP_FAILED = 10,
  NAY_SST_LOOKUP_OPERAND =
      11 /* each merge operand: ends it if the table has nothing older of the key */
} nay_sst_lookup_what;

/* nay_sst_lookup_step: one of them, in which table. */
typedef struct nay_sst_lookup_step {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  nay_sst_lookup_what what;
  size_t level, table;     /* table: counted as nay_sst_lookup_new does */
  uint64_t offset, nbytes; /* index, block: where it is in the file, and as long as it is there */
  bool cached;             /* block: it was in the cache */
  nay_status status;       /* of a step that failed */
  const char *text;        /* the step in a few words for people, such as "filter: nay" */
} nay_sst_lookup_step;

typedef void (*nay_sst_lookup_visitor)(void *ctx, const nay_sst_lookup_step *step);

/* nay_sst_lookup_explain: nay_sst_lookup_get, which tells each step to call (may be NULL). */
NAY_API nay_status nay_sst_lookup_explain(const nay_sst_lookup *lookup, const void *key, size_t len,
                                          uint64_t sequence, nay_sst_lookup_visitor call, void *ctx,
                                          nay_diag *diag, nay_sst_value *value, size_t *table);

/* ---- counters -------------------------------------------------------------------------------- */

/* nay_sst_lookup_stats: the sum over its tables, with `gets` and `hashes` those of the lookup. */
NAY_API nay_status nay_sst_lookup_stats(const nay_sst_lookup *lookup, nay_sst_counters *counters);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_LOOKUP_H */

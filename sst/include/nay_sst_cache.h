/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_cache.h - caches that many tables share: of blocks, and of open tables.
 *
 *   nay_sst_cache *cache;
 *   nay_sst_cache_options both = {sizeof both, .data_bytes = 64u << 20, .filter_bytes = 8u << 20};
 *   if (nay_sst_cache_new(&both, NULL, NULL, &cache) != NAY_OK) return 1;
 *   nay_sst_read_options how = {sizeof how, .cache = cache};
 *
 *   nay_sst_cache_options one = {sizeof one, 64u << 20, 16u << 20, .shared = true}; // one budget
 *   nay_sst_cache_new(&one, NULL, NULL, &cache);
 *   nay_sst_read_options all = {sizeof all, .cache = cache, .flags = NAY_SST_BUDGETED};
 *   nay_sst_read_options level0 = {sizeof level0, .cache = cache,
 *                                  .flags = NAY_SST_BUDGETED | NAY_SST_PINNED};
 *
 *   nay_sst_pool_options few = {sizeof few, .max_open = 100, .read = &how};
 *   nay_sst_pool *tables;
 *   const nay_sst *t;
 *   if (nay_sst_pool_new(&few, NULL, NULL, &tables) != NAY_OK) return 1;
 *   if (nay_sst_pool_acquire(tables, "a.ldb", NULL, &t) == NAY_OK) {
 *     // get, iterate, look up ...
 *     nay_sst_pool_release(tables, t);
 *   }
 *   nay_sst_pool_free(tables);
 *
 * THREADS. All calls on a cache are safe together; its allocator must be as well.
 */
#ifndef NAY_SST_CACHE_H
#define NAY_SST_CACHE_H

#include "nay_sst.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nay_sst_cache_options: the budgets. */
typedef struct nay_sst_cache_options {
  size_t size;         /* sizeof the struct: see ABI in nay.h */
  size_t data_bytes;   /* of data blocks; shared: of both kinds together */
  size_t filter_bytes; /* of filters; shared: at most so much of data_bytes */
  bool shared;         /* one budget for both kinds */
} nay_sst_cache_options;

/*
 * nay_sst_cache_new: an LRU cache of blocks that had to be read or uncompressed, and of filter
 * partitions. Each of the two kinds has its own budget of bytes and cannot evict the other. Many
 * tables may share one. Uncompressed blocks of a mapped file are used in place and not cached.
 *
 * SHARED. Filters have priority: they may take up to filter_bytes of the budget and evict data for
 * that; data has what they leave. NAY_EINVAL: data_bytes is 0 or below filter_bytes.
 *
 * Tables opened with NAY_SST_BUDGETED have no index and no filters in memory. The cache has them,
 * among the filters: they are read and checked when the table is opened, and again when a call
 * needs one that was evicted; what a get, a batch, an iterator or an offset uses stays until it is
 * done. An index that cannot be read again, or is not what it was, is an error of that call; a
 * filter is left out of that probe and counted in filter_faults. What remains with an open table,
 * 1 to 2 KiB, counts as `held`.
 *
 * With NAY_SST_PINNED as well the table keeps its index and filters (not the partitions of a
 * filter) in memory, held: for tables that every lookup meets, as level 0 of an LSM tree. If open
 * tables hold more than the budget, nothing else is cached: every read goes to the file, and the
 * answers are the same. Bound the number of open tables to bound that: nay_sst_pool.
 *
 * Blocks that a mapped file has uncompressed are used in place and need no room. Tables of other
 * engines keep their index and filter, held.
 */
NAY_API nay_status nay_sst_cache_new(const nay_sst_cache_options *options,
                                     const nay_allocator *allocator, nay_diag *diag,
                                     nay_sst_cache **cache);

/* nay_sst_cache_free: after all tables that use it. */
NAY_API void nay_sst_cache_free(nay_sst_cache *cache);

/* nay_sst_cache_info: what a cache holds now, and what it did so far. */
typedef struct nay_sst_cache_info {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  struct nay_sst_cache_side {
    uint64_t bytes, entries, hits, misses, evictions;
    uint64_t held; /* of the bytes, by open tables */
    uint64_t reserved[2];
  } data, filter;
} nay_sst_cache_info;

/* nay_sst_cache_stats: at any time, from any thread. NAY_EINVAL: stats->size. */
NAY_API nay_status nay_sst_cache_stats(const nay_sst_cache *cache, nay_sst_cache_info *stats);

/* ---- open tables ----------------------------------------------------------------------------- */

/* nay_sst_pool_options: max_open is required, the rest may be zero. */
typedef struct nay_sst_pool_options {
  size_t size;     /* sizeof the struct: see ABI in nay.h */
  size_t max_open; /* tables open at the same time */
  bool strict;     /* never more: if all are in use, acquire is NAY_EFULL. Else there may be more
                      while they are in use, and one that is released above max_open is closed; a
                      table that two threads open at once counts twice until one is closed */
  const nay_sst_read_options *read; /* of all tables; NULL: none. What it points to must outlive the
                                       cache; stored_comparator must be NULL */
  /* opens a table in place of nay_sst_open, for example with nay_sst_open_file; `name` is what
     acquire was given. May be NULL. From many threads at once */
  nay_status (*open)(void *ctx, const char *name, const nay_sst_read_options *read,
                     const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);
  void *open_ctx;
} nay_sst_pool_options;

typedef struct nay_sst_pool nay_sst_pool;

/* nay_sst_pool_new: an LRU cache of open tables. NAY_EINVAL: diag says which option. */
NAY_API nay_status nay_sst_pool_new(const nay_sst_pool_options *options,
                                    const nay_allocator *allocator, nay_diag *diag,
                                    nay_sst_pool **tables);

/* nay_sst_pool_free: after every acquired table was released. */
NAY_API void nay_sst_pool_free(nay_sst_pool *tables);

/*
 * nay_sst_pool_acquire: the table at path, which stays open until it is released as often as it
 * was acquired. If it is not open, first the table that was released longest ago is closed when
 * there are max_open, or the system has no descriptor left, and then this one is opened. Errors as
 * nay_sst_open: they are not cached. NAY_EFULL: see strict. Paths are compared as texts: two names
 * of one file are two tables.
 */
NAY_API nay_status nay_sst_pool_acquire(nay_sst_pool *tables, const char *path, nay_diag *diag,
                                        const nay_sst **sst);

/* nay_sst_pool_release: after values and iterators of the table were freed. NULL is fine. */
NAY_API void nay_sst_pool_release(nay_sst_pool *tables, const nay_sst *sst);

/*
 * nay_sst_pool_evict: before the file at path is removed, or after it was replaced: the next
 * acquire opens it anew. If the table is in use it is closed when it is released.
 */
NAY_API void nay_sst_pool_evict(nay_sst_pool *tables, const char *path);

/* nay_sst_pool_info: what a cache of tables holds now, and what it did so far. */
typedef struct nay_sst_pool_info {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t open;
  uint64_t in_use;    /* of them, acquired */
  uint64_t peak_open; /* at the same time, at most */
  uint64_t hits, misses;
  uint64_t closed; /* to open another one, or as they were above max_open */
} nay_sst_pool_info;

/* nay_sst_pool_stats: at any time, from any thread. NAY_EINVAL: stats->size. */
NAY_API nay_status nay_sst_pool_stats(const nay_sst_pool *tables, nay_sst_pool_info *stats);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_CACHE_H */

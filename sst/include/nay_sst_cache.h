/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_cache.h - caches that several tables share: a cache of blocks, and a pool of open tables.
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
 * THREADS. All calls on a cache are safe together. Its allocator must be thread-safe, too.
 */
#ifndef NAY_SST_CACHE_H
#define NAY_SST_CACHE_H

#include "nay_sst.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nay_sst_cache_options: the budgets of a block cache. */
typedef struct nay_sst_cache_options {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  /* Budget of data blocks; with `shared`: of data blocks and filters together */
  size_t data_bytes;
  size_t filter_bytes; /* budget of filters; with `shared`: at most this much of data_bytes */
  bool shared;         /* data blocks and filters share one budget */
} nay_sst_cache_options;

/*
 * nay_sst_cache_new: an LRU cache of data blocks that were read or uncompressed, and of filter
 * partitions. Data blocks and filters have separate budgets in bytes, and neither side can evict
 * the other. Several tables may share a cache. Uncompressed blocks of a mapped file are used in
 * place and are not cached.
 *
 * SHARED. With one budget, filters have priority: they may take up to filter_bytes of it and evict
 * data blocks. Data blocks get the rest. NAY_EINVAL: data_bytes is 0 or below filter_bytes.
 *
 * BUDGETED. A table opened with NAY_SST_BUDGETED keeps its index and filters in the cache, on the
 * filter side, instead of in its own memory. They are read and verified at open, and again when a
 * call needs an evicted one. A get, a batch, an iterator or an offset keeps what it uses pinned
 * until it ends. If an index cannot be read again, or has changed, the call fails. If a filter
 * cannot be read again, the probe skips it and counts it in filter_faults. The open table itself
 * takes 1 to 2 KiB, which `held` counts.
 *
 * PINNED. With NAY_SST_PINNED as well, the table holds its index and filters in memory, except
 * filter partitions. That suits tables that every lookup searches, such as level 0 of an LSM tree.
 * If open tables hold more than the budget, the cache stores nothing else: every read goes to the
 * file, and the answers stay the same. nay_sst_pool bounds the number of open tables.
 *
 * Tables of other engines always hold their index and filter in memory.
 */
NAY_API nay_status nay_sst_cache_new(const nay_sst_cache_options *options,
                                     const nay_allocator *allocator, nay_diag *diag,
                                     nay_sst_cache **cache);

/* nay_sst_cache_free: frees a cache, after all tables that use it. */
NAY_API void nay_sst_cache_free(nay_sst_cache *cache);

/* nay_sst_cache_info: the contents of a cache, and its event counters. */
typedef struct nay_sst_cache_info {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  struct nay_sst_cache_side {
    uint64_t bytes, entries, hits, misses, evictions;
    uint64_t held; /* bytes that open tables hold; included in the bytes of filters */
    uint64_t reserved[2];
  } data, filter;
} nay_sst_cache_info;

/* nay_sst_cache_stats: may be called at any time, from any thread. NAY_EINVAL: stats->size. */
NAY_API nay_status nay_sst_cache_stats(const nay_sst_cache *cache, nay_sst_cache_info *stats);

/* ---- open tables ----------------------------------------------------------------------------- */

/* nay_sst_pool_options: max_open is required; the other fields may be zero. */
typedef struct nay_sst_pool_options {
  size_t size;     /* sizeof the struct: see ABI in nay.h */
  size_t max_open; /* largest number of open tables */
  /* Never opens more than max_open tables: acquire returns NAY_EFULL while all are in use.
     Otherwise more tables may be open while they are in use, and a table released above max_open is
     closed. A table that two threads open at once counts twice until one copy is closed. */
  bool strict;
  /* Read options of all tables; NULL: none. Everything they point to must outlive the pool.
     stored_comparator must be NULL. */
  const nay_sst_read_options *read;
  /* Opens a table instead of nay_sst_open, for example with nay_sst_open_file. `name` is the path
     given to acquire. The call may be NULL. Several threads may call it at once. */
  nay_status (*open)(void *ctx, const char *name, const nay_sst_read_options *read,
                     const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);
  void *open_ctx;
} nay_sst_pool_options;

typedef struct nay_sst_pool nay_sst_pool;

/* nay_sst_pool_new: an LRU pool of open tables. NAY_EINVAL: diag names the option. */
NAY_API nay_status nay_sst_pool_new(const nay_sst_pool_options *options,
                                    const nay_allocator *allocator, nay_diag *diag,
                                    nay_sst_pool **tables);

/* nay_sst_pool_free: frees a pool, after every acquired table was released. */
NAY_API void nay_sst_pool_free(nay_sst_pool *tables);

/*
 * nay_sst_pool_acquire: returns the table at path, opened if necessary. The table stays open until
 * it has been released as often as it was acquired. If max_open tables are open, or no file
 * descriptor is left, the pool first closes the table that was released longest ago. Errors as
 * nay_sst_open; the pool does not cache them. NAY_EFULL: see strict. Paths are compared as text:
 * two names of one file are two tables.
 */
NAY_API nay_status nay_sst_pool_acquire(nay_sst_pool *tables, const char *path, nay_diag *diag,
                                        const nay_sst **sst);

/* nay_sst_pool_release: releases a table, after its values and iterators were freed. NULL is
   allowed. */
NAY_API void nay_sst_pool_release(nay_sst_pool *tables, const nay_sst *sst);

/*
 * nay_sst_pool_evict: call it before the file at path is removed, or after it was replaced. The
 * next acquire opens the file again. A table in use is closed when it is released.
 */
NAY_API void nay_sst_pool_evict(nay_sst_pool *tables, const char *path);

/* nay_sst_pool_info: the contents of a pool, and its event counters. */
typedef struct nay_sst_pool_info {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t open;
  uint64_t in_use;    /* open tables that are acquired */
  uint64_t peak_open; /* largest number of tables that were open at the same time */
  uint64_t hits, misses;
  uint64_t closed; /* tables closed to open another one, or because more than max_open were open */
} nay_sst_pool_info;

/* nay_sst_pool_stats: may be called at any time, from any thread. NAY_EINVAL: stats->size. */
NAY_API nay_status nay_sst_pool_stats(const nay_sst_pool *tables, nay_sst_pool_info *stats);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_CACHE_H */

/*
 * nay_sst_cache.h - caches that many tables share.
 *
 *   nay_sst_cache *cache;
 *   if (nay_sst_cache_new(64u << 20, 8u << 20, NULL, &cache) != NAY_OK) return 1;
 *   nay_sst_read_options how = {sizeof how, .cache = cache};
 *
 * THREADS. All calls on a cache are safe together.
 */
#ifndef NAY_SST_CACHE_H
#define NAY_SST_CACHE_H

#include "nay_sst.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * nay_sst_cache_new: an LRU cache of blocks that had to be read or uncompressed, and of filter
 * partitions. Each of the two kinds has its own budget of bytes and cannot evict the other. Many
 * tables may share one. Uncompressed blocks of a mapped file are used in place and not cached.
 */
NAY_API nay_status nay_sst_cache_new(size_t data_bytes, size_t filter_bytes,
                                     const nay_allocator *allocator, nay_sst_cache **cache);

/* nay_sst_cache_free: after all tables that use it. */
NAY_API void nay_sst_cache_free(nay_sst_cache *cache);

/* nay_sst_cache_stats: what a cache holds now, and what it did so far. */
typedef struct nay_sst_cache_stats {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  struct nay_sst_cache_side {
    uint64_t bytes, entries, hits, misses, evictions, reserved[3];
  } data, filter;
} nay_sst_cache_stats;

/* nay_sst_cache_describe: at any time, from any thread. NAY_EINVAL: stats->size. */
NAY_API nay_status nay_sst_cache_describe(const nay_sst_cache *cache, nay_sst_cache_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_CACHE_H */

/*
 * lru_list.h - an LRU list with its hash table. Each shard of the cache has one list for each
 * side (data blocks; filters and indexes). The caller holds the shard's mutex around each call.
 *
 * The hash table uses Litwin's linear hashing (VLDB 1980). The table grows by one bucket whenever
 * it has more entries than buckets, by splitting one bucket in two. Therefore no call rehashes more
 * than one chain, whatever the size of the cache:
 *
 *   n buckets, m the power of two with m <= n < 2m, h the hash of an entry:
 *   the entry is in bucket h mod 2m if that is below n, else in bucket h mod m;
 *   the new bucket n takes the entries with h mod 2m = n out of bucket n - m.
 *
 * Buckets live in segments and never move. The first segment, of NAY_CACHE_SEGMENT buckets, is in
 * the struct; each further segment doubles the number of buckets. The caller allocates segments
 * without holding the mutex. Without memory for a segment the table stops growing, and its chains
 * get longer.
 */
#ifndef NAY_SST_CACHE_LRU_LIST_H
#define NAY_SST_CACHE_LRU_LIST_H

#include "cache/block_cache.h"

#define NAY_CACHE_SEGMENT 16u  /* a power of two */
#define NAY_CACHE_SEGMENTS 24u /* after the first: up to 2^28 buckets in all */

typedef struct nay_cache_list {
  size_t nbuckets;
  nay_cache_entry *first[NAY_CACHE_SEGMENT];  /* the first segment */
  nay_cache_entry **more[NAY_CACHE_SEGMENTS]; /* the other segments; NULL: not allocated */
  nay_cache_entry *newest, *oldest;           /* most and least recently used */
  size_t bytes;                               /* sum of the entries' charges */
  uint64_t entries, hits, misses, evictions;
} nay_cache_list;

/* nay_sst__cache_list_init: makes an empty list. */
void nay_sst__cache_list_init(nay_cache_list *list);

/* nay_sst__cache_list_find: the entry with this key, or NULL. The LRU order stays as it is. */
nay_cache_entry *nay_sst__cache_list_find(const nay_cache_list *list, uint64_t hash, uint64_t table,
                                          uint64_t offset);

/* nay_sst__cache_list_use: makes the entry the most recently used. */
void nay_sst__cache_list_use(nay_cache_list *list, nay_cache_entry *entry);

/* nay_sst__cache_list_add: inserts an entry as the most recently used; its key must be new. Splits
 * a bucket if there are more entries than buckets. */
void nay_sst__cache_list_add(nay_cache_list *list, nay_cache_entry *entry);
void nay_sst__cache_list_remove(nay_cache_list *list, nay_cache_entry *entry);

/* nay_sst__cache_list_wants: length, in buckets, of the segment that the caller should allocate for
 * the next split. 0: no split is due, or its segment exists. */
size_t nay_sst__cache_list_wants(const nay_cache_list *list);

/* nay_sst__cache_list_give: takes over a segment of n buckets, which need not be zeroed. False: the
 * list needs no such segment (any more), and the caller keeps it. */
bool nay_sst__cache_list_give(nay_cache_list *list, nay_cache_entry **buckets, size_t n);

/* nay_sst__cache_list_free: frees the segments, not the entries. */
void nay_sst__cache_list_free(nay_cache_list *list, const nay_allocator *a);

#endif /* NAY_SST_CACHE_LRU_LIST_H */

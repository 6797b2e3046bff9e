/*
 * cache_list.h - the entries of one side in one shard of a cache: a hash table to find them, and a
 * list in the order of their last use. The shard's mutex is held around each call.
 *
 * The table is Litwin's linear hashing: with the entry that makes more entries than buckets, one
 * bucket is split in two. So no call moves more than one chain, whatever the size:
 *
 *   n buckets, m the power of two with m <= n < 2m, h the hash:
 *   bucket h mod 2m if there is such a one, else h mod m;
 *   bucket n comes out of bucket n - m, which then keeps what is not in n.
 *
 * Buckets lie in segments, the first of NAY_CACHE_SEGMENT in the struct, each further one as long
 * as all before it: buckets never move. A segment that is missing is allocated by the caller, who
 * holds no mutex then; without memory for it chains only get longer.
 */
#ifndef NAY_SST_CACHE_LIST_H
#define NAY_SST_CACHE_LIST_H

#include "sst/sst_cache.h"

#define NAY_CACHE_SEGMENT 16u  /* a power of two */
#define NAY_CACHE_SEGMENTS 24u /* beside the first: 2^28 buckets; more entries share them */

typedef struct nay_cache_list {
  size_t nbuckets;
  nay_cache_entry *first[NAY_CACHE_SEGMENT];
  nay_cache_entry **more[NAY_CACHE_SEGMENTS];
  nay_cache_entry *newest, *oldest;
  size_t bytes; /* charges of the entries */
  uint64_t entries, hits, misses, evictions;
} nay_cache_list;

/* nay__cache_list_init: an empty one. */
void nay__cache_list_init(nay_cache_list *list);

/* nay__cache_list_find: the entry of this key, or NULL; it keeps its place. */
nay_cache_entry *nay__cache_list_find(const nay_cache_list *list, uint64_t hash, uint64_t table,
                                      uint64_t offset);

/* nay__cache_list_use: the entry becomes the newest. */
void nay__cache_list_use(nay_cache_list *list, nay_cache_entry *entry);

/* nay__cache_list_add: an entry of a key that the list does not have becomes the newest. Splits a
 * bucket if there are too few. */
void nay__cache_list_add(nay_cache_list *list, nay_cache_entry *entry);
void nay__cache_list_remove(nay_cache_list *list, nay_cache_entry *entry);

/* nay__cache_list_wants: how many buckets the segment has that the next split needs; 0: it is
 * there, or too few entries are. */
size_t nay__cache_list_wants(const nay_cache_list *list);

/* nay__cache_list_give: that segment, `n` buckets that need not be zeroed. False: it is not wanted
 * any more. */
bool nay__cache_list_give(nay_cache_list *list, nay_cache_entry **buckets, size_t n);

/* nay__cache_list_free: the segments; not the entries. */
void nay__cache_list_free(nay_cache_list *list, const nay_allocator *a);

#endif /* NAY_SST_CACHE_LIST_H */

/*
 * block_cache.h - the block cache: data blocks on one side, indexes and filters on the other. Each
 * side has a budget in bytes and an LRU order of its own.
 *
 *   cache     account: bytes of each side, under its own mutex
 *     shard   a mutex; for each side a hash table and an LRU list
 *
 * The hash of a key (table, offset) selects one of 16 shards, so threads rarely contend; a cache
 * below 1 MiB has one shard. Budgets belong to the whole cache, not to shards: an entry may be as
 * large as its budget. Eviction takes the least recently used entry of a shard that has at least an
 * equal share of the bytes, round-robin, which approximates a global LRU.
 *
 * A found or inserted entry is pinned until it is released. An entry may be evicted while pinned,
 * but is freed only after the last release.
 *
 * A shared cache has one budget for both sides. Indexes and filters (cached_parts.c) have priority
 * up to their part of it, and data gets what they leave:
 *
 *   | held by open tables | filters and indexes, at most their part | data: the rest, or nothing |
 *
 * LOCKS. A thread locks one shard at a time, and inside it the account. Critical sections link one
 * entry, unlink one entry or split one bucket. Memory is allocated and freed outside of them, so
 * the caller's allocator may block, or use the cache.
 *
 * INVARIANT, whenever the account is unlocked: it equals the bytes of all linked entries plus what
 * open tables hold. No side exceeds its budget, and the sides together do not exceed a shared
 * budget, unless the bytes held by open tables alone exceed it.
 */
#ifndef NAY_SST_CACHE_BLOCK_CACHE_H
#define NAY_SST_CACHE_BLOCK_CACHE_H

#include "base/alloc.h"
#include "cache/native_filter.h"
#include "nay_sst.h"

typedef enum nay_cache_side { NAY_CACHE_DATA, NAY_CACHE_FILTER } nay_cache_side;

/* nay_cache_entry: a cached block of `len` bytes, or the filter decoded from one. */
typedef struct nay_cache_entry {
  uint64_t table, offset; /* key */
  size_t len;
  /* Decoded filter, stored in `bytes` and owned by the entry; NULL: none */
  nay_native_filter *native;
  size_t charge; /* bytes charged to the budget */
  uint64_t refs; /* atomic; one per pin, and one of the shard while the entry is linked */
  uint64_t hash; /* `hash` and the fields below belong to the cache, under the shard's mutex */
  struct nay_cache_entry *chain;         /* next entry of the same bucket */
  struct nay_cache_entry *newer, *older; /* neighbours in the LRU list */
  uint8_t *bytes; /* the block; allocated together with this struct, after it */
} nay_cache_entry;

/* nay_sst__cache_id: returns an id for a table, unique in this cache. */
uint64_t nay_sst__cache_id(nay_sst_cache *cache);

/* nay_sst__cache_find: finds an entry and pins it. NULL: a miss. */
nay_cache_entry *nay_sst__cache_find(nay_sst_cache *cache, nay_cache_side side, uint64_t table,
                                     uint64_t offset);

/* nay_sst__cache_entry_new: allocates an entry of len bytes, pinned and not yet in the cache. NULL:
 * no memory. */
nay_cache_entry *nay_sst__cache_entry_new(nay_sst_cache *cache, uint64_t table, uint64_t offset,
                                          size_t len);

/* nay_sst__cache_insert: makes the entry visible to others. If the key is already cached, or the
 * entry exceeds the budget, the entry stays private to the caller's pin. */
void nay_sst__cache_insert(nay_sst_cache *cache, nay_cache_side side, nay_cache_entry *entry);

/* nay_sst__cache_hold: charges memory of an open table to the filter side, evicting entries for it.
 * nay_sst__cache_unhold takes the same number of bytes back. */
void nay_sst__cache_hold(nay_sst_cache *cache, size_t bytes);
void nay_sst__cache_unhold(nay_sst_cache *cache, size_t bytes);

/* nay_sst__cache_erase: removes an entry of a table that is being closed, if the cache has it. */
void nay_sst__cache_erase(nay_sst_cache *cache, nay_cache_side side, uint64_t table,
                          uint64_t offset);

/* nay_sst__cache_pin: adds a pin to an entry that the caller has pinned already. */
void nay_sst__cache_pin(nay_cache_entry *entry);

/* nay_sst__cache_release: drops a pin. The last reference frees the entry. */
void nay_sst__cache_release(nay_sst_cache *cache, nay_cache_entry *entry);

/* nay_sst__cache_allocator: the allocator for filters that are stored in entries. */
const nay_allocator *nay_sst__cache_allocator(const nay_sst_cache *cache);

#endif /* NAY_SST_CACHE_BLOCK_CACHE_H */

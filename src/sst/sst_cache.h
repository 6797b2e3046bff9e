/*
 * sst_cache.h - blocks and filters in memory: two sides, each with its own budget of bytes and its
 * own LRU order.
 *
 * An entry that is found or inserted is pinned until it is released: it may be evicted meanwhile,
 * but is not freed.
 *
 *   cache     account: bytes of each side, under a mutex of its own
 *     shard   a mutex; for each side a hash table and a list, the least recently used at its end
 *
 * A key (table, offset) belongs to one of 16 shards, by its hash, so threads rarely wait for each
 * other; a cache of less than 1 MiB has one. The budgets are those of the whole cache, not shares
 * of it: an entry may be as large as its budget. What has to go is the oldest entry of a shard that
 * has an equal share or more, in turn: so shards stay about equal, and the entry is among the
 * oldest of all.
 *
 * A shared cache has one budget. Filters, and indexes with them (sst_cached.c), have priority: they
 * take up to their own part of it, and data has what they leave:
 *
 *   | held by open tables | filters and indexes, at most their part | data: the rest, or nothing |
 *
 * LOCKS. One shard at a time, inside it the account. Under them at most one entry is linked, one
 * bucket split or one entry unlinked; memory is allocated and freed without them, so the caller's
 * allocator may wait, or use the cache.
 *
 * INVARIANT, whenever the account is not locked: it has the bytes of all linked entries and what
 * open tables hold; no side is above its budget, nor both above a shared one, unless what open
 * tables hold is alone above it.
 */
#ifndef NAY_SST_SST_CACHE_H
#define NAY_SST_SST_CACHE_H

#include "base/alloc.h"
#include "nay_sst.h"
#include "sst/native_filter.h"

typedef enum nay_cache_side { NAY_CACHE_DATA, NAY_CACHE_FILTER } nay_cache_side;

/* nay_cache_entry: `len` bytes at `bytes`, and the filter they were decoded to, if any. */
typedef struct nay_cache_entry {
  uint64_t table, offset; /* what it is */
  size_t len;
  nay_native_filter *native;             /* in `bytes`; its filter goes with the entry */
  size_t charge;                         /* bytes that count */
  uint64_t refs;                         /* atomic: pins, and one of the shard while it is linked */
  uint64_t hash;                         /* from here on the cache's own, under the shard's mutex */
  struct nay_cache_entry *chain;         /* of the same bucket */
  struct nay_cache_entry *newer, *older; /* of the list */
  uint8_t *bytes;                        /* behind this struct */
} nay_cache_entry;

/* nay__cache_id: a number for a table, unique in this cache. */
uint64_t nay__cache_id(nay_sst_cache *cache);

/* nay__cache_find: pinned, or NULL. */
nay_cache_entry *nay__cache_find(nay_sst_cache *cache, nay_cache_side side, uint64_t table,
                                 uint64_t offset);

/* nay__cache_entry_new: of len bytes, pinned, not in the cache yet. NULL: no memory. */
nay_cache_entry *nay__cache_entry_new(nay_sst_cache *cache, uint64_t table, uint64_t offset,
                                      size_t len);

/* nay__cache_insert: others can find the entry from now on. If the cache has one of this key
 * already, or it is larger than the budget, it stays the caller's alone. */
void nay__cache_insert(nay_sst_cache *cache, nay_cache_side side, nay_cache_entry *entry);

/* nay__cache_hold: bytes that an open table has in memory count among the filters until they are
 * given back; entries make way for them. nay__cache_unhold: the same number again. */
void nay__cache_hold(nay_sst_cache *cache, size_t bytes);
void nay__cache_unhold(nay_sst_cache *cache, size_t bytes);

/* nay__cache_erase: of a table that is closed; nothing if the entry is not there. */
void nay__cache_erase(nay_sst_cache *cache, nay_cache_side side, uint64_t table, uint64_t offset);

/* nay__cache_pin: once more, of an entry that the caller has pinned. */
void nay__cache_pin(nay_cache_entry *entry);

/* nay__cache_release: gives a pin back. The last one of an entry that is not linked frees it. */
void nay__cache_release(nay_sst_cache *cache, nay_cache_entry *entry);

/* nay__cache_allocator: what filters that go into entries are made with. */
const nay_allocator *nay__cache_allocator(const nay_sst_cache *cache);

#endif /* NAY_SST_SST_CACHE_H */

/*
 * sst_cache.h - blocks and filters in memory: two lists of entries, each with its own budget, its
 * own lock, and the least recently used entry at its end.
 *
 * An entry that is found or inserted is pinned until it is released: it may be evicted from the
 * list meanwhile, but is not freed.
 *
 * A shared cache has one budget. Filters, and indexes with them (sst_cached.c), have priority: they
 * take up to their own part of it, and the data list has what they leave:
 *
 *   | held by open tables | filters and indexes, at most their part | data: the rest, or nothing |
 *
 * So the lock of the filter list is taken first, and inside it that of the data list, whenever the
 * bytes of the filter list change. INVARIANT, while no lock is held: data.bytes + filter.bytes <=
 * the budget, unless what open tables hold is alone above it.
 */
#ifndef NAY_SST_SST_CACHE_H
#define NAY_SST_SST_CACHE_H

#include "base/alloc.h"
#include "nay_sst.h"

typedef enum nay_cache_side { NAY_CACHE_DATA, NAY_CACHE_FILTER } nay_cache_side;

/* nay_cache_entry: `len` bytes at `bytes`, and the filter they were decoded to, if any. */
typedef struct nay_cache_entry {
  uint64_t table, offset; /* what it is */
  size_t len;
  nay_filter *filter;                    /* goes with the entry */
  size_t charge;                         /* bytes that count */
  uint32_t npins;                        /* from here on the cache's own, under its lock */
  bool listed;                           /* can be found */
  struct nay_cache_entry *chain;         /* of the same bucket */
  struct nay_cache_entry *newer, *older; /* of the list */
  uint8_t *bytes;                        /* behind this struct */
} nay_cache_entry;

/* nay__cache_id: a number for a table, unique in this cache. */
uint64_t nay__cache_id(nay_sst_cache *cache);

/* nay__cache_find: pinned, or NULL. */
nay_cache_entry *nay__cache_find(nay_sst_cache *cache, nay_cache_side side, uint64_t table,
                                 uint64_t offset);

/* nay__cache_entry_new: of len bytes, not in a list yet. NULL: no memory. */
nay_cache_entry *nay__cache_entry_new(nay_sst_cache *cache, uint64_t table, uint64_t offset,
                                      size_t len);
void nay__cache_entry_free(nay_sst_cache *cache, nay_cache_entry *entry);

/* nay__cache_insert: the entry is then pinned. If the list has it already, or it is larger than the
 * whole budget, it stays the caller's alone. */
void nay__cache_insert(nay_sst_cache *cache, nay_cache_side side, nay_cache_entry *entry);

/* nay__cache_hold: bytes that an open table has in memory count among the filters until they are
 * given back; entries make way for them. nay__cache_unhold: the same number again. */
void nay__cache_hold(nay_sst_cache *cache, size_t bytes);
void nay__cache_unhold(nay_sst_cache *cache, size_t bytes);

/* nay__cache_erase: of a table that is closed; nothing if the entry is not there. */
void nay__cache_erase(nay_sst_cache *cache, nay_cache_side side, uint64_t table, uint64_t offset);

/* nay__cache_pin: once more, of an entry that the caller has pinned. */
void nay__cache_pin(nay_sst_cache *cache, nay_cache_side side, nay_cache_entry *entry);
void nay__cache_release(nay_sst_cache *cache, nay_cache_side side, nay_cache_entry *entry);

/* nay__cache_allocator: what filters that go into entries are made with. */
const nay_allocator *nay__cache_allocator(const nay_sst_cache *cache);

#endif /* NAY_SST_SST_CACHE_H */

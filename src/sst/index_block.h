/*
 * index_block.h - the entries of an index block in memory: a separator key and a handle for each
 * data block, or for each partition of a filter.
 */
#ifndef NAY_SST_INDEX_BLOCK_H
#define NAY_SST_INDEX_BLOCK_H

#include "base/buffer.h"
#include "sst/comparator.h"
#include "sst/footer.h"

typedef struct nay_index_entry {
  nay_handle handle;
  size_t key_at; /* in nay_index_entries.keys */
  size_t key_len;
  bool checked; /* the checksum of the block follows its handle, as in nay's index of partitions: */
  uint32_t checksum;
  bool damaged; /* for the owner */
} nay_index_entry;

typedef struct nay_index_entries {
  nay_buffer list; /* of nay_index_entry */
  nay_buffer keys;
  bool all_internal; /* every key is long enough for an internal key */
} nay_index_entries;

/*
 * nay__index_load: of an uncompressed index block. delta: RocksDB's encoding since format 4, which
 * has no value lengths and stores a handle as a difference to the one before it. `most` limits the
 * bytes of all keys: more is NAY_ECORRUPT.
 */
nay_status nay__index_load(const uint8_t *block, size_t len, bool delta, size_t most,
                           const nay_allocator *a, nay_diag *diag, nay_index_entries *entries);
void nay__index_free(nay_index_entries *entries, const nay_allocator *a);

static inline size_t nay__index_count(const nay_index_entries *entries) {
  return entries->list.len / sizeof(nay_index_entry);
}

static inline nay_index_entry *nay__index_at(const nay_index_entries *entries, size_t i) {
  return (nay_index_entry *)(void *)entries->list.at + i;
}

/* nay__index_is_sorted: whether no key is below the one before it, as nay__index_find assumes. */
bool nay__index_is_sorted(const nay_index_entries *entries, nay_order order);

/* nay__index_find: the first entry whose key is not before the user key; the count when all are. */
size_t nay__index_find(const nay_index_entries *entries, nay_order order, const void *key,
                       size_t len);

#endif /* NAY_SST_INDEX_BLOCK_H */

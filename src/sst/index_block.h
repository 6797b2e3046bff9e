/* index_block.h - the entries of an index block: keys that end a part of the table, and handles.
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
  bool damaged; /* for the owner */
} nay_index_entry;

typedef struct nay_index_entries {
  nay_buffer list; /* of nay_index_entry */
  nay_buffer keys;
  bool all_internal; /* every key has room for a trailer */
} nay_index_entries;

/*
 * nay__index_load: of an uncompressed index block. delta: RocksDB's form since format 4, without
 * lengths of values, where a handle that follows the one before it is only a difference. `most` is
 * how many bytes of keys are kept: more is NAY_ECORRUPT, for no real index grows like that.
 */
nay_status nay__index_load(const uint8_t *block, size_t len, bool delta, size_t most,
                           const nay_allocator *a, nay_diag *diag, nay_index_entries *parts);
void nay__index_free(nay_index_entries *parts, const nay_allocator *a);

static inline size_t nay__index_count(const nay_index_entries *parts) {
  return parts->list.len / sizeof(nay_index_entry);
}

static inline nay_index_entry *nay__index_at(const nay_index_entries *parts, size_t i) {
  return (nay_index_entry *)(void *)parts->list.at + i;
}

/* nay__index_is_sorted: whether no key is below the one before it, as a search assumes. */
bool nay__index_is_sorted(const nay_index_entries *parts, nay_comparator order);

/* nay__index_find: the first part whose key is not before the user key; the count when all are. */
size_t nay__index_find(const nay_index_entries *parts, nay_comparator order, const void *key,
                       size_t len);

#endif /* NAY_SST_INDEX_BLOCK_H */

/*
 * index_block.h - a decoded index block: a separator key and a block handle for each data block, or
 * for each partition of a filter.
 */
#ifndef NAY_SST_BLOCK_INDEX_BLOCK_H
#define NAY_SST_BLOCK_INDEX_BLOCK_H

#include "base/buffer.h"
#include "block/footer.h"
#include "block/key_order.h"

typedef struct nay_index_entry {
  nay_handle handle;
  size_t key_at; /* offset of the separator key in nay_index_entries.keys */
  size_t key_len;
  bool checked;      /* a checksum follows the handle, as in nay's index of filter partitions */
  uint32_t checksum; /* the checksum after the handle, if `checked` */
  bool damaged;      /* set by the owner of the entries: the block cannot be used */
} nay_index_entry;

typedef struct nay_index_entries {
  nay_buffer list;   /* array of nay_index_entry */
  nay_buffer keys;   /* the separator keys, concatenated */
  bool all_internal; /* every key has at least the 8 bytes of an internal key's trailer */
} nay_index_entries;

/*
 * nay_sst__index_load: decodes an uncompressed index block. `delta`: the block has RocksDB's
 * encoding since format 4, without value lengths and with delta-encoded handles. NAY_ECORRUPT: also
 * when the keys have more than `most` bytes in all.
 */
nay_status nay_sst__index_load(const uint8_t *block, size_t len, bool delta, size_t most,
                               const nay_allocator *a, nay_diag *diag, nay_index_entries *entries);
void nay_sst__index_free(nay_index_entries *entries, const nay_allocator *a);

static inline size_t nay_sst__index_count(const nay_index_entries *entries) {
  return entries->list.len / sizeof(nay_index_entry);
}

static inline nay_index_entry *nay_sst__index_at(const nay_index_entries *entries, size_t i) {
  return (nay_index_entry *)(void *)entries->list.at + i;
}

/* nay_sst__index_is_sorted: whether the keys are in non-descending order, which nay_sst__index_find
 * assumes. */
bool nay_sst__index_is_sorted(const nay_index_entries *entries, nay_order order);

/* nay_sst__index_find: the number of the first entry whose key is at or after this user key;
 * nay_sst__index_count if there is none. */
size_t nay_sst__index_find(const nay_index_entries *entries, nay_order order, const void *key,
                           size_t len);

#endif /* NAY_SST_BLOCK_INDEX_BLOCK_H */

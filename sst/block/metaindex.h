/*
 * metaindex.h - the entries of a table's metaindex, parsed in one place for every reader.
 *
 *   filter.<policy>              LevelDB: a filter block, one filter per 2 KiB of data blocks
 *   fullfilter.<policy>          RocksDB: one filter for the table
 *   partitionedfilter.<policy>   RocksDB: an index of filter partitions
 *   nay.full.<policy>            one filter for the table
 *   nay.partitioned.<policy>     an index of filter partitions
 *   nay.prefix.<extractor>       one filter of key prefixes, in the native format
 *   nay.key                      the key description (nay_key.h); absent for text keys
 *   nay.keys                     "plain" or "internal"
 *   nay.properties               nay's properties block: properties.h
 *   nay.range                    a range filter of all user keys, in the native format
 *   rocksdb.properties           RocksDB's properties block
 *   rocksdb.range_del            RocksDB: range tombstones
 *
 * The value is a block handle, except for nay.key and nay.keys, whose value is text. In nay's
 * entries the checksum of the block follows the handle, so that a handle to a wrong block is
 * detected.
 */
#ifndef NAY_SST_BLOCK_METAINDEX_H
#define NAY_SST_BLOCK_METAINDEX_H

#include "block/block.h"
#include "block/footer.h"
#include "block/key_text.h"
#include "nay_sst_filters.h"

#define NAY_META_FULL "nay.full."
#define NAY_META_PARTITIONED "nay.partitioned."
#define NAY_META_PREFIX "nay.prefix."
#define NAY_META_KEY "nay.key"
#define NAY_META_KEYS "nay.keys"
#define NAY_META_PROPERTIES "nay.properties"
#define NAY_META_RANGE "nay.range"
#define NAY_META_FILTER_BLOCK "filter."

typedef enum nay_meta_kind {
  NAY_META_IS_OTHER,
  /* A filter of whole keys; RocksDB's properties tell whether it has prefixes */
  NAY_META_IS_FILTER,
  NAY_META_IS_PREFIX_FILTER,
  NAY_META_IS_RANGE_FILTER,
  NAY_META_IS_PROPERTIES,
  NAY_META_IS_RANGE_DELETIONS,
  NAY_META_IS_KEY, /* the key description */
  NAY_META_IS_KEYS
} nay_meta_kind;

typedef struct nay_meta_entry {
  nay_meta_kind kind;
  /* The only engine that writes such an entry. NAY_SST_ENGINE_LEVELDB: any engine writes it. */
  nay_sst_filters_engine engine;
  nay_sst_filter_layout layout; /* valid for NAY_META_IS_FILTER */
  nay_bytes name;               /* policy or prefix extractor, the rest of the entry's key */
  bool internal;                /* valid for NAY_META_IS_KEYS */
  nay_table_key key_text;       /* valid for NAY_META_IS_KEY */
  /* The value starts with a handle; in nay's entries a checksum follows. */
  bool has_handle;
  nay_checked_handle block; /* handle as stored; it may point outside of the file */
} nay_meta_entry;

/* nay_sst__meta_has_block: whether the entry names a nonempty block inside the first `limit` bytes
 * of the file. */
static inline bool nay_sst__meta_has_block(const nay_meta_entry *e, uint64_t limit) {
  return e->has_handle && e->block.at.size != 0 && nay_sst__handle_fits(e->block.at, limit);
}

/* nay_sst__metaindex_walk: calls visit for each entry of an uncompressed metaindex block. A visitor
 * returns NAY_ECORRUPT for a block outside of the file, and NAY_ENOTSUP for range deletions.
 * Returns errors of the block and of visit; diag->offset counts from the start of the block. */
typedef nay_status (*nay_meta_visit)(void *ctx, const nay_meta_entry *entry);
nay_status nay_sst__metaindex_walk(nay_bytes contents, nay_meta_visit visit, void *ctx,
                                   const nay_allocator *a, nay_diag *diag);

#endif /* NAY_SST_BLOCK_METAINDEX_H */

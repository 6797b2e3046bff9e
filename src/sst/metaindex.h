/*
 * metaindex.h - the entries of a table's metaindex, named once for every reader.
 *
 *   filter.<policy>              LevelDB: a filter block, one filter for each 2 KiB of the file
 *   fullfilter.<policy>          RocksDB: one filter
 *   partitionedfilter.<policy>   RocksDB: an index of filters, one for each range of keys
 *   nay.full.<policy>            one filter
 *   nay.partitioned.<policy>     an index of filters, one for each range of keys
 *   nay.prefix.<extractor>       one filter of prefixes, a native file
 *   nay.key                      the value is the key description (nay_key.h), unless it is text
 *   nay.keys                     the value is "plain" or "internal"
 *   nay.properties               what else the table states: properties.h
 *   rocksdb.properties           the same, by RocksDB
 *   rocksdb.range_del            RocksDB: a block of range deletions, which hide keys of any table
 *
 * Every value but those of nay.key and nay.keys is a handle; in nay's entries the checksum of the
 * block follows.
 */
#ifndef NAY_SST_METAINDEX_H
#define NAY_SST_METAINDEX_H

#include "nay_table_filters.h"
#include "sst/block.h"
#include "sst/footer.h"
#include "sst/key_text.h"

#define NAY_META_FULL "nay.full."
#define NAY_META_PARTITIONED "nay.partitioned."
#define NAY_META_PREFIX "nay.prefix."
#define NAY_META_KEY "nay.key"
#define NAY_META_KEYS "nay.keys"
#define NAY_META_PROPERTIES "nay.properties"
#define NAY_META_FILTER_BLOCK "filter."

typedef enum nay_meta_kind {
  NAY_META_IS_OTHER,
  NAY_META_IS_FILTER, /* of whole keys, or of what a RocksDB table's properties say */
  NAY_META_IS_PREFIX_FILTER,
  NAY_META_IS_PROPERTIES,
  NAY_META_IS_RANGE_DELETIONS,
  NAY_META_IS_KEY, /* the key description */
  NAY_META_IS_KEYS
} nay_meta_kind;

typedef struct nay_meta_entry {
  nay_meta_kind kind;
  nay_table_filters_engine engine; /* which engine alone writes such an entry; LevelDB: any does */
  nay_sst_filter layout;           /* NAY_META_IS_FILTER */
  nay_bytes name;                  /* policy or extractor */
  bool internal;                   /* NAY_META_IS_KEYS */
  nay_table_key key_text;          /* NAY_META_IS_KEY */
  bool has_handle;          /* the value starts with one, in nay's entries with a checksum: */
  nay_checked_handle block; /* which may point outside of the file */
} nay_meta_entry;

/* nay__meta_has_block: whether the handle is that of a block in the first `limit` bytes. */
static inline bool nay__meta_has_block(const nay_meta_entry *e, uint64_t limit) {
  return e->has_handle && e->block.at.size != 0 && nay__handle_fits(e->block.at, limit);
}

/* nay__metaindex_walk: calls visit for each entry of the uncompressed contents of a metaindex.
 * Errors of the block, and those of visit: NAY_ECORRUPT, the block does not lie in the file;
 * NAY_ENOTSUP, of range deletions. diag->offset counts from the start of the block. */
typedef nay_status (*nay_meta_visit)(void *ctx, const nay_meta_entry *entry);
nay_status nay__metaindex_walk(nay_bytes contents, nay_meta_visit visit, void *ctx,
                               const nay_allocator *a, nay_diag *diag);

#endif /* NAY_SST_METAINDEX_H */

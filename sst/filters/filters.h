/*
 * filters.h - the filters of a table without its data: the state of a nay_sst_filters.
 *
 *   filters_load.c      footer, metaindex, properties; opens the filters
 *   filters_list.c      lists and describes the filters
 *   filters_may_contain.c     probes them, and explains the answer
 *   filters_foreign.c   filters of nori's and mini-lsm's tables
 */
#ifndef NAY_SST_FILTERS_FILTERS_H
#define NAY_SST_FILTERS_FILTERS_H

#include "block/filter_block.h"
#include "block/footer.h"
#include "block/index_block.h"
#include "block/key_text.h"
#include "block/properties.h"
#include "foreign/engine.h"
#include "nay_sst_filters.h"
#include "struct_sizes.h"

#define NAY_ABI_TABLE_OPTIONS NAY_ABI(nay_sst_filters_options, layout)
#define NAY_ABI_TABLE_INFO NAY_ABI(nay_sst_filters_info, engine_text)
#define NAY_ABI_TABLE_FILTER NAY_ABI(nay_sst_filters_entry, of_ranges)

struct nay_sst_filters {
  nay_allocator allocator;
  nay_sst_filters_options options;
  const uint8_t *bytes; /* the whole file */
  nay_footer footer;
  nay_sst_filters_engine engine;
  nay_checked_handle properties_block; /* size 0: none */
  nay_properties properties;
  nay_table_key key_text; /* key description (nay_key.h); "": not stated, or text */
  /* The keys are not known to be in bytewise order, so every filter must be probed. */
  bool order_unknown;

  nay_sst_filter_layout layout;
  nay_name policy_name;
  const nay_format *format;  /* format of the filters; NULL: `policy` reads them, or nothing does */
  const nay_policy *policy;  /* one of options.policies, or &small */
  nay_policy small;          /* the library's policy nay.small.v1, which has no format */
  nay_checked_handle filter; /* the block that the metaindex names */
  bool damaged;              /* the checksum of that block is wrong */
  bool has_view;             /* `view` is open: a full filter */
  nay_view view;             /* view of the full filter, opened once */
  nay_filter_block filter_block; /* LevelDB's filter block; n 0: corrupt */
  /* Index of the filter partitions; for LevelDB's filter block, the index of data blocks. */
  nay_index_entries index;
  bool index_known; /* the index of data blocks can be searched */

  nay_checked_handle prefix_block; /* nay's prefix filter; size 0: none */
  bool prefix_damaged;
  nay_checked_handle range_block; /* nay's range filter; size 0: none */
  bool range_damaged;
  bool has_extractor; /* `extractor` is the extractor that the properties name */
  nay_sst_prefix extractor;

  nay_foreign *foreign;       /* NULL: a table of LevelDB or RocksDB */
  nay_buffer foreign_filters; /* filters inside blocks: array of foreign_filter */
  nay_buffer foreign_bytes;   /* bytes of these filters */
  uint64_t nfull;             /* how many of these filters are full */
  uint64_t filter_nbits;      /* size of a full filter in bits */
};

/* nay_sst__filters_load_foreign: opens the filters of a foreign table. */
nay_status nay_sst__filters_load_foreign(nay_sst_filters *t, const nay_foreign_engine *engine,
                                         size_t len, nay_diag *diag);
void nay_sst__filters_free_foreign(nay_sst_filters *t);

/* Filters inside blocks: their number, the i-th, and the filter of the block that may have a key.
 * nay_sst__filters_find_foreign returns false if no block may have it. */
uint64_t nay_sst__filters_count_foreign(const nay_sst_filters *t);
nay_sst_filters_entry nay_sst__filters_at_foreign(const nay_sst_filters *t, uint64_t i);
bool nay_sst__filters_find_foreign(const nay_sst_filters *t, const void *key, size_t len,
                                   const nay_filter **filter, uint64_t *offset, bool *damaged);

/* nay_sst__filters_in_blocks: whether the filters lie inside data blocks, as in nori's
 * version 2. */
static inline bool nay_sst__filters_in_blocks(const nay_sst_filters *t) {
  return t->foreign != NULL && t->foreign->filter_in_blocks;
}

/* nay_sst__filters_comparator: the order of the keys in the partition index. */
static inline nay_order nay_sst__filters_comparator(const nay_sst_filters *t) {
  return t->properties.index_internal_keys ? NAY_INTERNAL_KEYS : NAY_BYTEWISE;
}

#endif /* NAY_SST_FILTERS_FILTERS_H */

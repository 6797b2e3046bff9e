/*
 * table_filters.h - what nay_table_filters_open has found in a table.
 *
 *   table_filters_open.c    footer, metaindex, properties, filters
 *   table_filters_info.c    the filters one by one, and what they are
 *   table_filters_probe.c   what they say of a key
 *   table_filters_foreign.c tables of nori and mini-lsm
 */
#ifndef NAY_SST_TABLE_FILTERS_H
#define NAY_SST_TABLE_FILTERS_H

#include "nay_table_filters.h"
#include "sst/filter_block.h"
#include "sst/footer.h"
#include "sst/foreign.h"
#include "sst/index_block.h"
#include "sst/key_text.h"
#include "sst/properties.h"
#include "sst/sst_abi.h"

#define NAY_ABI_TABLE_OPTIONS NAY_ABI(nay_table_filters_options, npolicies)
#define NAY_ABI_TABLE_INFO NAY_ABI(nay_table_filters_info, key)
#define NAY_ABI_TABLE_FILTER NAY_ABI(nay_table_filters_entry, last_key_len)

struct nay_table_filters {
  nay_allocator allocator;
  nay_table_filters_options options;
  const uint8_t *bytes; /* the file */
  nay_footer footer;
  nay_table_filters_engine engine;
  nay_checked_handle properties_block; /* size 0: none */
  nay_properties properties;
  nay_table_key key_text; /* how keys are made of texts; "": not stated, or text */
  bool other_order;       /* the keys are not known to be in bytewise order */

  nay_sst_filter layout;
  nay_name policy_name;
  const nay_format *format;      /* of the filters; NULL: `policy` reads them, or nothing does */
  const nay_policy *policy;      /* one of options.policies, or: */
  nay_policy small;              /* nay.small.v1, which is no format */
  nay_checked_handle filter;     /* the block that the metaindex names */
  bool damaged;                  /* its checksum is wrong */
  bool has_view;                 /* full filter: */
  nay_view view;                 /* opened once; its size is set with the object */
  nay_filter_block filter_block; /* LevelDB's; n 0 when it is corrupt */
  nay_index_entries index;       /* partitions; or data blocks, for LevelDB's filter block */
  bool index_known;              /* the data blocks can be searched */

  nay_checked_handle prefix_block; /* nay's filter of prefixes; size 0: none */
  bool prefix_damaged;
  bool has_extractor; /* properties.prefix_extractor is one that we know: */
  nay_sst_prefix extractor;

  nay_foreign *foreign;       /* NULL: a table of LevelDB or RocksDB */
  nay_buffer foreign_filters; /* of blocks, and their bytes */
  nay_buffer foreign_bytes;
  uint64_t nfull;        /* of those, how many are full */
  uint64_t filter_nbits; /* of a full filter */
};

/* nay__table_filters_load_foreign: everything behind the allocation of t, for a foreign table. */
nay_status nay__table_filters_load_foreign(nay_table_filters *t, const nay_foreign_engine *engine,
                                           size_t len, nay_diag *diag);
void nay__table_filters_free_foreign(nay_table_filters *t);

/* The filters inside blocks: how many, the i-th, and that of a key (false: no block can have it).
 */
uint64_t nay__table_filters_count_foreign(const nay_table_filters *t);
nay_table_filters_entry nay__table_filters_at_foreign(const nay_table_filters *t, uint64_t i);
bool nay__table_filters_find_foreign(const nay_table_filters *t, const void *key, size_t len,
                                     const nay_filter **filter, uint64_t *offset, bool *damaged);

/* nay__table_filters_in_blocks: whether these are the filters of a table. */
static inline bool nay__table_filters_in_blocks(const nay_table_filters *t) {
  return t->foreign != NULL && t->foreign->filter_in_blocks;
}

/* nay__table_filters_comparator: that of the keys in the index of partitions. */
static inline nay_order nay__table_filters_comparator(const nay_table_filters *t) {
  return t->properties.index_internal_keys ? NAY_INTERNAL_KEYS : NAY_BYTEWISE;
}

#endif /* NAY_SST_TABLE_FILTERS_H */

/* table_filters.h - what table_filters.c has found in a table, for table_filters_probe.c to ask. */
#ifndef NAY_SST_TABLE_FILTERS_H
#define NAY_SST_TABLE_FILTERS_H

#include "nay_table_filters.h"
#include "sst/index_block.h"
#include "sst/inspect_frame.h"

#define TABLE_FILTERS_TEXT 128u

struct nay_table_filters {
  nay_allocator allocator;
  nay_table_filters_options options;
  nay_frame frame;
  nay_table_engine engine;
  nay_sst_filter layout;
  const nay_format *format; /* of the filters; NULL: `policy` is asked, or nobody */
  const nay_policy *policy;
  nay_policy small;        /* nay.small.v1, which is no format: its bytes know no size */
  nay_handle filter;       /* the block that the metaindex names */
  nay_index_entries parts; /* partitions; or data blocks, for filters of 2 KiB */
  nay_handle prefix_block; /* nay's filter of prefixes; size 0: none */
  bool prefix_damaged;
  nay_handle properties;
  char policy_name[TABLE_FILTERS_TEXT], policy_option[TABLE_FILTERS_TEXT],
      prefix[TABLE_FILTERS_TEXT];
  bool whole_keys, prefixes, internal, delta, other_order, index_known;
  bool damaged; /* the one block of a full filter, or that of 2 KiB */
  bool has_view;
  nay_view view; /* of a full filter */
  uint64_t nkeys, nentries;
};

/* LevelDB's filter block, taken apart; count is 0 when it is not one. */
typedef struct nay_filter_blocks {
  const uint8_t *bytes;
  uint32_t array; /* where the offsets are */
  uint32_t count;
  unsigned lg;
} nay_filter_blocks;

static inline nay_filter_blocks nay__filter_blocks(const nay_table_filters *t) {
  nay_filter_blocks b = {.bytes = t->frame.bytes + t->filter.offset};
  size_t size = (size_t)t->filter.size;
  if (size < 5 || size > UINT32_MAX) return b;
  uint32_t array = nay__load32le(b.bytes + size - 5);
  if (array > size - 5) return b;
  b.array = array;
  b.count = (uint32_t)((size - 5 - array) / 4);
  b.lg = b.bytes[size - 1];
  return b;
}

/* The i-th filter; false when its place is not one, which LevelDB takes for a maybe. The word after
 * the last offset is that of the offsets themselves, so the last filter needs no case of its own.
 */
static inline bool nay__filter_block_at(const nay_filter_blocks *b, uint64_t i,
                                        const uint8_t **bytes, size_t *len) {
  const uint8_t *offset = b->bytes + b->array + i * 4;
  uint32_t start = nay__load32le(offset), limit = nay__load32le(offset + 4);
  if (start > limit || limit > b->array) return false;
  *bytes = b->bytes + start;
  *len = limit - start;
  return true;
}

/* nay__text_after: the rest of a text after a prefix; NULL when it does not start so. */
static inline const uint8_t *nay__text_after(const uint8_t *text, size_t len, const char *start,
                                             size_t *rest_len) {
  size_t n = strlen(start);
  if (len < n || memcmp(text, start, n) != 0) return NULL;
  *rest_len = len - n;
  return text + n;
}

#endif /* NAY_SST_TABLE_FILTERS_H */

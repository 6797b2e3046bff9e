/*
 * filter_block.h - LevelDB's filter block: the filters of ranges of data blocks in a row.
 *
 *   | filter 0 | filter 1 | ... | offset u32le of each | offset of the offsets u32le | lg u8 |
 *
 * Filter i holds the keys of the data blocks that start in bytes [i << lg, (i + 1) << lg) of the
 * file; LevelDB writes lg 11, so 2 KiB. Where no block starts, the filter has no bytes.
 */
#ifndef NAY_SST_FILTER_BLOCK_H
#define NAY_SST_FILTER_BLOCK_H

#include "sst/filter_builder.h"

/* ---- writing ---- */

typedef struct nay_filter_block_builder {
  nay_filter_builder filter; /* the one that is open */
  nay_buffer filters;
  nay_buffer offsets; /* as they will be stored */
} nay_filter_block_builder;

/* nay__filter_block_start: the next data block starts at this byte of the file. */
nay_status nay__filter_block_start(nay_filter_block_builder *builder, uint64_t offset,
                                   const nay_allocator *a);

/* nay__filter_block_finish: the block is then builder->filters. */
nay_status nay__filter_block_finish(nay_filter_block_builder *builder, const nay_allocator *a);
void nay__filter_block_free(nay_filter_block_builder *builder, const nay_allocator *a);

/* ---- reading ---- */

typedef struct nay_filter_block {
  const uint8_t *bytes;
  size_t array; /* where the offsets start */
  size_t n;     /* filters */
  unsigned lg;  /* one filter for each 2^lg bytes of the file */
} nay_filter_block;

/* nay__filter_block_open: false, and n is 0, when the bytes cannot be a filter block. */
bool nay__filter_block_open(const uint8_t *bytes, size_t len, nay_filter_block *block);

/* nay__filter_block_at: filter i of n, which may be empty; false when its offsets are corrupt,
 * which LevelDB takes for a maybe. */
bool nay__filter_block_at(const nay_filter_block *block, uint64_t i, const uint8_t **bytes,
                          size_t *len);

/* nay__filter_block_find: the filter of the data block at this offset of the file; false when there
 * is none or its offsets are corrupt. */
bool nay__filter_block_find(const nay_filter_block *block, uint64_t offset, const uint8_t **bytes,
                            size_t *len);

#endif /* NAY_SST_FILTER_BLOCK_H */

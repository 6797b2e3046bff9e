/*
 * filter_block.h - LevelDB's filter block (doc/table_format.md there): one filter for each 2^lg
 * bytes of the file.
 *
 *   | filter 0 | filter 1 | ... | offset u32le of each | offset of the offsets u32le | lg u8 |
 *
 * Filter i holds the keys of the data blocks that start in bytes [i << lg, (i + 1) << lg) of the
 * file. LevelDB writes lg = 11, that is 2 KiB. A filter is empty if no data block starts there.
 */
#ifndef NAY_SST_BLOCK_FILTER_BLOCK_H
#define NAY_SST_BLOCK_FILTER_BLOCK_H

#include "block/filter_builder.h"

/* ---- writing ---- */

typedef struct nay_filter_block_builder {
  nay_filter_builder filter; /* collects the keys of the current filter */
  /* The finished filters; after nay_sst__filter_block_finish, the whole block */
  nay_buffer filters;
  nay_buffer offsets; /* the offsets of the finished filters, encoded */
} nay_filter_block_builder;

/* nay_sst__filter_block_start: announces a data block at this offset of the file; finishes the
 * filters before its own. LevelDB's StartBlock. */
nay_status nay_sst__filter_block_start(nay_filter_block_builder *builder, uint64_t offset,
                                       const nay_allocator *a);

/* nay_sst__filter_block_finish: finishes the last filter and appends the offsets; builder->filters
 * is then the block. */
nay_status nay_sst__filter_block_finish(nay_filter_block_builder *builder, const nay_allocator *a);
void nay_sst__filter_block_free(nay_filter_block_builder *builder, const nay_allocator *a);

/* ---- reading ---- */

typedef struct nay_filter_block {
  const uint8_t *bytes;
  size_t array; /* offset of the array of offsets */
  size_t n;     /* number of filters */
  unsigned lg;  /* each filter covers 2^lg bytes of the file */
} nay_filter_block;

/* nay_sst__filter_block_open: false if the bytes cannot be a filter block; block->n is then 0. */
bool nay_sst__filter_block_open(const uint8_t *bytes, size_t len, nay_filter_block *block);

/* nay_sst__filter_block_at: filter i, below n; it may be empty. False if its offsets are corrupt:
 * LevelDB answers *maybe* then. */
bool nay_sst__filter_block_at(const nay_filter_block *block, uint64_t i, const uint8_t **bytes,
                              size_t *len);

/* nay_sst__filter_block_find: the filter of the data block at this offset of the file. False if
 * there is none, or if its offsets are corrupt. */
bool nay_sst__filter_block_find(const nay_filter_block *block, uint64_t offset,
                                const uint8_t **bytes, size_t *len);

#endif /* NAY_SST_BLOCK_FILTER_BLOCK_H */

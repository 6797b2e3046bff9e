/*
 * filter_builder.h - takes keys, gives the bytes of a filter: by a policy, or a native file by
 * params. And LevelDB's filter block, which is many of them in a row.
 *
 *   filter block   | filter 0 | filter 1 | ... | offset u32le of each | offset of these u32le | 11
 * |
 *
 * Filter i has the keys of the data blocks that start in bytes [2048 i, 2048 (i + 1)) of the file;
 * where none starts it has no bytes.
 */
#ifndef NAY_SST_FILTER_BUILDER_H
#define NAY_SST_FILTER_BUILDER_H

#include "base/buffer.h"
#include "nay_policy.h"

#define NAY_NATIVE_POLICY "nay.filter.v1" /* the bytes are a native file: doc/formats/nay.md */

/* nay_filter_builder: set up by nay__filter_builder_init; n is the number of keys since the last
 * finish. */
typedef struct nay_filter_builder {
  const nay_policy *policy; /* NULL: native */
  nay_builder *builder;     /* native */
  nay_buffer keys;          /* else: the keys' bytes in a row, */
  nay_buffer ends;          /* where each of them ends, */
  nay_buffer pointers;      /* and room for what policy->create wants */
  size_t n;
} nay_filter_builder;

nay_status nay__filter_builder_init(nay_filter_builder *maker, const nay_policy *policy,
                                    const nay_params *params, const nay_allocator *a);
nay_status nay__filter_builder_add(nay_filter_builder *maker, const void *key, size_t len,
                                   const nay_allocator *a);

/* nay__filter_builder_finish: appends the filter of the keys to `out`; the maker is then empty
 * again. */
nay_status nay__filter_builder_finish(nay_filter_builder *maker, nay_buffer *out,
                                      const nay_allocator *a);
void nay__filter_builder_free(nay_filter_builder *maker, const nay_allocator *a);

/* ---- LevelDB's filter block ---- */

typedef struct nay_filter_block_builder {
  nay_filter_builder maker;
  nay_buffer filters;
  nay_buffer offsets; /* as they will be stored */
} nay_filter_block_builder;

/* nay__filter_block_start: the next data block starts at this byte of the file. */
nay_status nay__filter_block_start(nay_filter_block_builder *builder, uint64_t offset,
                                   const nay_allocator *a);

/* nay__filter_block_finish: the block is then builder->filters. */
nay_status nay__filter_block_finish(nay_filter_block_builder *builder, const nay_allocator *a);
void nay__filter_block_free(nay_filter_block_builder *builder, const nay_allocator *a);

typedef struct nay_filter_block {
  const uint8_t *bytes;
  size_t array; /* where the offsets start */
  size_t n;
  unsigned lg; /* one filter for each 2^lg bytes of the file */
} nay_filter_block;

/* nay__filter_block_open: false when the bytes cannot be one. */
bool nay__filter_block_open(const uint8_t *bytes, size_t len, nay_filter_block *block);

/* nay__filter_block_may_match: for a key that could only be in the data block at that offset. */
bool nay__filter_block_may_match(const nay_filter_block *block, const nay_policy *policy,
                                 uint64_t offset, const void *key, size_t len);

#endif /* NAY_SST_FILTER_BUILDER_H */

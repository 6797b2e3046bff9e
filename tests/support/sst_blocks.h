/* sst_blocks.h - tables made block by block, for tests: such as no writer of ours makes. */
#ifndef NAY_TEST_SST_BLOCKS_H
#define NAY_TEST_SST_BLOCKS_H

#include "block/block.h"
#include "block/footer.h"
#include "support/test.h"

/* put_block: finishes the block, appends it with its trailer, and starts the next. */
static inline nay_handle put_block(nay_buffer *file, nay_block_builder *b, const nay_allocator *a) {
  uint8_t trailer[NAY_BLOCK_TRAILER];
  assert_ok(nay_sst__block_finish(b, a));
  nay_handle h = {file->len, b->bytes.len};
  nay_sst__block_trailer_store(trailer, 0, b->bytes.at, b->bytes.len);
  assert_ok(nay__buffer_append(file, b->bytes.at, b->bytes.len, a));
  assert_ok(nay__buffer_append(file, trailer, sizeof trailer, a));
  assert_ok(nay_sst__block_reset(b, a));
  return h;
}

/* add_entry: an entry whose value is a handle. */
static inline void add_entry(nay_block_builder *b, const char *key, nay_handle value,
                             const nay_allocator *a) {
  uint8_t bytes[NAY_HANDLE_MAX];
  size_t n = nay_sst__handle_store(bytes, value);
  assert_ok(nay_sst__block_add(b, (const uint8_t *)key, strlen(key), 0, bytes, n, a));
}

/* put_end: the footer. */
static inline void put_end(nay_buffer *file, nay_handle metaindex, nay_handle index,
                           const nay_allocator *a) {
  uint8_t bytes[NAY_FOOTER];
  nay_sst__footer_store(bytes, &(nay_footer){.metaindex = metaindex, .index = index});
  assert_ok(nay__buffer_append(file, bytes, sizeof bytes, a));
}

#endif /* NAY_TEST_SST_BLOCKS_H */

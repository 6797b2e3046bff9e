/* filter_block.c - see filter_block.h. */
#include "block/filter_block.h"

#include "base/bytes.h"

#define FILTER_BLOCK_LG 11u /* LevelDB's kFilterBaseLg: a filter covers 2 KiB of the file */

/* ---- writing ---- */

/* Finishes the current filter, which is empty if it has no keys. */
static nay_status filter_block_cut(nay_filter_block_builder *b, const nay_allocator *a) {
  uint8_t offset[4];
  nay__store32le(offset, (uint32_t)b->filters.len);
  NAY_TRY(nay__buffer_append(&b->offsets, offset, sizeof offset, a));
  return b->filter.n == 0 ? NAY_OK
                          : nay_sst__filter_builder_finish(&b->filter, &b->filters, a, NULL);
}

nay_status nay_sst__filter_block_start(nay_filter_block_builder *b, uint64_t offset,
                                       const nay_allocator *a) {
  while (b->offsets.len / 4 < offset >> FILTER_BLOCK_LG) NAY_TRY(filter_block_cut(b, a));
  return NAY_OK;
}

nay_status nay_sst__filter_block_finish(nay_filter_block_builder *b, const nay_allocator *a) {
  if (b->filter.n != 0) NAY_TRY(filter_block_cut(b, a));
  uint8_t end[5];
  nay__store32le(end, (uint32_t)b->filters.len);
  end[4] = FILTER_BLOCK_LG;
  NAY_TRY(nay__buffer_append(&b->filters, b->offsets.at, b->offsets.len, a));
  return nay__buffer_append(&b->filters, end, sizeof end, a);
}

void nay_sst__filter_block_free(nay_filter_block_builder *b, const nay_allocator *a) {
  nay_sst__filter_builder_free(&b->filter, a);
  nay__buffer_free(&b->filters, a);
  nay__buffer_free(&b->offsets, a);
}

/* ---- reading ---- */

bool nay_sst__filter_block_open(const uint8_t *bytes, size_t len, nay_filter_block *block) {
  *block = (nay_filter_block){.bytes = bytes};
  if (len < 5) return false;
  size_t array = nay__load32le(bytes + len - 5);
  unsigned lg = bytes[len - 1];
  if (array > len - 5 || lg > 63) return false;
  *block = (nay_filter_block){bytes, array, (len - 5 - array) / 4, lg};
  return true;
}

bool nay_sst__filter_block_at(const nay_filter_block *b, uint64_t i, const uint8_t **bytes,
                              size_t *len) {
  /* The offset of the array follows its last element, and is also where the last filter ends. */
  const uint8_t *entry = b->bytes + b->array + (size_t)i * 4;
  size_t start = nay__load32le(entry), end = nay__load32le(entry + 4);
  if (start > end || end > b->array) return false;
  *bytes = b->bytes + start;
  *len = end - start;
  return true;
}

bool nay_sst__filter_block_find(const nay_filter_block *b, uint64_t offset, const uint8_t **bytes,
                                size_t *len) {
  if (b->n == 0) return false;
  uint64_t i = offset >> b->lg;
  return i < b->n && nay_sst__filter_block_at(b, i, bytes, len);
}

/* footer.c - see footer.h. */
#include "sst/footer.h"

#include "cpu/crc32c.h"

size_t nay__handle_store(uint8_t *p, nay_handle handle) {
  uint8_t *end = nay__varint_store(nay__varint_store(p, handle.offset), handle.size);
  return (size_t)(end - p);
}

const uint8_t *nay__handle_load(const uint8_t *p, const uint8_t *end, nay_handle *handle) {
  nay_handle h;
  p = nay__varint64_load(p, end, &h.offset);
  if (p == NULL || (p = nay__varint64_load(p, end, &h.size)) == NULL) return NULL;
  *handle = h;
  return p;
}

bool nay__handle_fits(nay_handle handle, uint64_t limit) {
  size_t ignored;
  return handle.offset <= limit && limit - handle.offset >= NAY_BLOCK_FRAME &&
         handle.size <= limit - handle.offset - NAY_BLOCK_FRAME &&
         nay__size_ok(handle.size, &ignored);
}

void nay__footer_store(uint8_t bytes[NAY_FOOTER], const nay_footer *footer) {
  memset(bytes, 0, NAY_FOOTER);
  size_t n = nay__handle_store(bytes, footer->metaindex);
  nay__handle_store(bytes + n, footer->index);
  nay__store64le(bytes + NAY_FOOTER - 8, NAY_FOOTER_MAGIC);
}

nay_status nay__footer_load(const uint8_t bytes[NAY_FOOTER], uint64_t file_len, nay_diag *diag,
                            nay_footer *footer) {
  uint64_t at = file_len - NAY_FOOTER;
  nay_footer f;
  if (nay__load64le(bytes + NAY_FOOTER - 8) != NAY_FOOTER_MAGIC) {
    return nay__fail(diag, NAY_EFORMAT, "no table: the last eight bytes are not its magic number",
                     file_len - 8);
  }
  const uint8_t *end = bytes + NAY_FOOTER - 8, *p = nay__handle_load(bytes, end, &f.metaindex);
  if (p == NULL || nay__handle_load(p, end, &f.index) == NULL) {
    return nay__fail(diag, NAY_ECORRUPT, "the footer has no two block handles", at);
  }
  if (!nay__handle_fits(f.metaindex, at) || !nay__handle_fits(f.index, at)) {
    return nay__fail(diag, NAY_ECORRUPT, "the footer points out of the file", at);
  }
  *footer = f;
  return NAY_OK;
}

void nay__frame_store(uint8_t frame[NAY_BLOCK_FRAME], uint8_t type, const uint8_t *contents,
                      size_t len) {
  frame[0] = type;
  uint32_t crc = nay__crc32c(nay__crc32c(0, contents, len), frame, 1);
  nay__store32le(frame + 1, nay__crc32c_mask(crc));
}

nay_status nay__frame_check(const uint8_t *block, size_t size, uint64_t offset, nay_diag *diag) {
  uint32_t crc = nay__crc32c(0, block, size + 1);
  if (nay__crc32c_mask(crc) == nay__load32le(block + size + 1)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "a block does not have its checksum", offset);
}

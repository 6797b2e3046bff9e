/* inspect_frame.c - see inspect_frame.h. */
#include "sst/inspect_frame.h"

#include "cpu/crc32c.h"
#include "hash/hash.h"

#define FRAME_MAGIC 0x88e241b785f4cff7u /* RocksDB from format 1 on */
#define FRAME_FOOTER 53u
#define FRAME_EXTENDED 0x007a003eu /* what stands where the first handle was, from format 6 on */
#define FRAME_NEWEST 7u

/* ---- checksums ---- */

/* Of len bytes, the last of which is the type of a block. XXH3 leaves that one out and mixes it in
 * afterwards, which lets RocksDB choose it last. */
static uint32_t frame_sum(nay_checksum checksum, const uint8_t *bytes, size_t len) {
  switch (checksum) {
    case NAY_CHECKSUM_NONE: break;
    case NAY_CHECKSUM_CRC32C: return nay__crc32c_mask(nay__crc32c(0, bytes, len));
    case NAY_CHECKSUM_XXH32: return XXH32(bytes, len, 0);
    case NAY_CHECKSUM_XXH64: return (uint32_t)XXH64(bytes, len, 0);
    case NAY_CHECKSUM_XXH3:
      return (uint32_t)XXH3_64bits(bytes, len - 1) ^ bytes[len - 1] * 0x6b9083d9u;
  }
  return 0;
}

/* What is added to the checksum of a block at `offset`. */
static uint32_t frame_modifier(uint32_t context, uint64_t offset) {
  return context == 0 ? 0 : context ^ ((uint32_t)offset + (uint32_t)(offset >> 32));
}

bool nay__frame_sound(const nay_frame *frame, nay_handle handle) {
  if (frame->checksum == NAY_CHECKSUM_NONE) return true;
  const uint8_t *block = frame->bytes + handle.offset;
  uint32_t sum = frame_sum(frame->checksum, block, (size_t)handle.size + 1);
  return sum + frame_modifier(frame->context, handle.offset) ==
         nay__load32le(block + handle.size + 1);
}

nay_status nay__frame_block(const nay_frame *frame, nay_handle handle, nay_diag *diag,
                            const uint8_t **contents, uint8_t *type) {
  if (!nay__handle_fits(handle, frame->end)) {
    return nay__fail(diag, NAY_ECORRUPT, "a handle leads out of the file", handle.offset);
  }
  if (!nay__frame_sound(frame, handle)) {
    return nay__fail(diag, NAY_ECORRUPT, "a block does not have its checksum", handle.offset);
  }
  *contents = frame->bytes + handle.offset;
  *type = (*contents)[handle.size];
  return NAY_OK;
}

/* ---- footers ---- */

bool nay__frame_magic(const uint8_t *bytes, size_t len) {
  if (len < NAY_FOOTER) return false;
  uint64_t magic = nay__load64le(bytes + len - 8);
  return magic == NAY_FOOTER_MAGIC || (magic == FRAME_MAGIC && len >= FRAME_FOOTER);
}

/* The footer from format 6 on; f->checksum and f->end are known. */
static nay_status frame_extended(const uint8_t *footer, nay_diag *diag, nay_frame *f) {
  const uint8_t *part = footer + 1;
  uint8_t copy[FRAME_FOOTER];
  if (nay__load32le(part) != FRAME_EXTENDED || !nay__all_zero(part + 16, 24)) {
    return nay__fail(diag, NAY_ECORRUPT, "the footer is not one of its format", f->end);
  }
  f->context = nay__load32le(part + 8);
  memcpy(copy, footer, sizeof copy);
  memset(copy + 1 + 4, 0, 4); /* the sum itself */
  uint32_t sum = frame_sum(f->checksum, copy, sizeof copy) + frame_modifier(f->context, f->end);
  if (f->checksum != NAY_CHECKSUM_NONE && sum != nay__load32le(part + 4)) {
    return nay__fail(diag, NAY_ECORRUPT, "the footer does not have its checksum", f->end);
  }
  uint64_t size = nay__load32le(part + 12);
  if (size + NAY_BLOCK_FRAME > f->end) {
    return nay__fail(diag, NAY_ECORRUPT, "the footer points out of the file", f->end);
  }
  f->footer.metaindex = (nay_handle){f->end - NAY_BLOCK_FRAME - size, size};
  return NAY_OK;
}

static nay_status frame_handles(const uint8_t *footer, nay_diag *diag, nay_frame *f) {
  const uint8_t *p = footer + 1, *end = p + 40;
  p = nay__handle_load(p, end, &f->footer.metaindex);
  if (p == NULL || nay__handle_load(p, end, &f->footer.index) == NULL) {
    return nay__fail(diag, NAY_ECORRUPT, "the footer has no two block handles", f->end);
  }
  return NAY_OK;
}

nay_status nay__frame_open(const uint8_t *bytes, size_t len, nay_diag *diag, nay_frame *frame) {
  if (!nay__frame_magic(bytes, len)) {
    return nay__fail(diag, NAY_EFORMAT, "no table: the last eight bytes are not its magic number",
                     len < 8 ? 0 : len - 8);
  }
  nay_frame f = {.bytes = bytes, .checksum = NAY_CHECKSUM_CRC32C};
  if (nay__load64le(bytes + len - 8) == NAY_FOOTER_MAGIC) {
    f.end = len - NAY_FOOTER;
    NAY_TRY(nay__footer_load(bytes + f.end, len, diag, &f.footer));
    *frame = f;
    return NAY_OK;
  }
  const uint8_t *footer = bytes + len - FRAME_FOOTER;
  f.end = len - FRAME_FOOTER;
  f.rocksdb = true;
  f.format_version = nay__load32le(footer + 41);
  if (f.format_version > FRAME_NEWEST) {
    return nay__fail(diag, NAY_EVERSION, "a format of RocksDB above 7", f.end + 41);
  }
  if (footer[0] > NAY_CHECKSUM_XXH3) {
    return nay__fail(diag, NAY_EVERSION, "a kind of checksum that is not known", f.end);
  }
  f.checksum = (nay_checksum)footer[0];
  NAY_TRY(f.format_version >= 6 ? frame_extended(footer, diag, &f)
                                : frame_handles(footer, diag, &f));
  *frame = f;
  return NAY_OK;
}

/* footer.c - see footer.h, which draws the bytes. */
#include "block/footer.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "block/crc32c.h"

#define FOOTER_ROCKSDB_MAGIC 0x88e241b785f4cff7u /* RocksDB's, format 1 and later */
#define FOOTER_EXTENDED \
  0x007a003eu            /* 3e 00 7a 00, RocksDB's extended magic of format 6 and later */
#define FOOTER_NEWEST 7u /* the latest format_version that is known */

/* ---- handles ---- */

size_t nay_sst__handle_store(uint8_t *p, nay_handle handle) {
  uint8_t *end = nay__varint_store(nay__varint_store(p, handle.offset), handle.size);
  return (size_t)(end - p);
}

const uint8_t *nay_sst__handle_load(const uint8_t *p, const uint8_t *end, nay_handle *handle) {
  nay_handle h;
  p = nay__varint64_load(p, end, &h.offset);
  if (p == NULL || (p = nay__varint64_load(p, end, &h.size)) == NULL) return NULL;
  *handle = h;
  return p;
}

size_t nay_sst__checked_handle_store(uint8_t *p, const nay_checked_handle *handle) {
  size_t len = nay_sst__handle_store(p, handle->at);
  if (!handle->checked) return len;
  nay__store32le(p + len, handle->checksum);
  return len + 4;
}

bool nay_sst__checked_handle_load(const uint8_t *p, size_t len, nay_checked_handle *handle) {
  const uint8_t *end = p + len;
  *handle = (nay_checked_handle){.checked = false};
  p = nay_sst__handle_load(p, end, &handle->at);
  if (p == NULL) return false;
  handle->checked = end - p == 4;
  if (handle->checked) handle->checksum = nay__load32le(p);
  return true;
}

bool nay_sst__handle_fits(nay_handle handle, uint64_t limit) {
  size_t ignored;
  return handle.offset <= limit && limit - handle.offset >= NAY_BLOCK_TRAILER &&
         handle.size <= limit - handle.offset - NAY_BLOCK_TRAILER &&
         nay__size_ok(handle.size, &ignored);
}

/* ---- checksums ---- */

/* The checksum of len bytes, the last of which is the compression type of a block. RocksDB's XXH3
 * checksum leaves that byte out of the hash and mixes it in afterwards. */
static uint32_t footer_checksum(nay_checksum checksum, const uint8_t *bytes, size_t len) {
  switch (checksum) {
    case NAY_CHECKSUM_NONE: break;
    case NAY_CHECKSUM_CRC32C: return nay_sst__crc32c_mask(nay_sst__crc32c(0, bytes, len));
    case NAY_CHECKSUM_XXH32: return XXH32(bytes, len, 0);
    case NAY_CHECKSUM_XXH64: return (uint32_t)XXH64(bytes, len, 0);
    case NAY_CHECKSUM_XXH3:
      return (uint32_t)XXH3_64bits(bytes, len - 1) ^ bytes[len - 1] * 0x6b9083d9u;
  }
  return 0;
}

/* The value added to the checksum of a block at `offset`: RocksDB's ChecksumModifierForContext. */
static uint32_t footer_modifier(uint32_t context, uint64_t offset) {
  return context == 0 ? 0 : context ^ ((uint32_t)offset + (uint32_t)(offset >> 32));
}

bool nay_sst__block_intact(const nay_footer *f, const uint8_t *block, nay_handle handle) {
  if (f->checksum == NAY_CHECKSUM_NONE) return true;
  uint32_t sum = footer_checksum(f->checksum, block, (size_t)handle.size + 1);
  return sum + footer_modifier(f->context, handle.offset) == nay__load32le(block + handle.size + 1);
}

void nay_sst__block_trailer_store(uint8_t trailer[NAY_BLOCK_TRAILER], uint8_t type,
                                  const uint8_t *contents, size_t len) {
  trailer[0] = type;
  uint32_t crc = nay_sst__crc32c(nay_sst__crc32c(0, contents, len), trailer, 1);
  nay__store32le(trailer + 1, nay_sst__crc32c_mask(crc));
}

/* ---- footers ---- */

bool nay_sst__footer_recognise(const uint8_t *bytes, size_t len) {
  if (len < NAY_FOOTER) return false;
  uint64_t magic = nay__load64le(bytes + len - 8);
  return magic == NAY_FOOTER_MAGIC || (magic == FOOTER_ROCKSDB_MAGIC && len >= NAY_FOOTER_MAX);
}

void nay_sst__footer_store(uint8_t bytes[NAY_FOOTER], const nay_footer *footer) {
  memset(bytes, 0, NAY_FOOTER);
  size_t n = nay_sst__handle_store(bytes, footer->metaindex);
  nay_sst__handle_store(bytes + n, footer->index);
  nay__store64le(bytes + NAY_FOOTER - 8, NAY_FOOTER_MAGIC);
}

static nay_status footer_corrupt(nay_diag *diag, const char *what, const nay_footer *f) {
  return nay__fail(diag, NAY_ECORRUPT, what, f->at);
}

static bool footer_ends_at(nay_handle handle, uint64_t end) {
  return handle.offset + handle.size + NAY_BLOCK_TRAILER == end;
}

/*
 * Checks that index and metaindex are where a writer puts them. No checksum covers the two handles.
 * Damage could make one of them point to another intact block, whose own checksum is right.
 *
 *   LevelDB, RocksDB until 2014    | ... | metaindex | index | footer |
 *   RocksDB, Pebble                | ... | index | ... | metaindex | footer |
 */
static nay_status footer_check_places(nay_diag *diag, const nay_footer *f) {
  if (footer_ends_at(f->index, f->at)) {
    if (footer_ends_at(f->metaindex, f->index.offset)) return NAY_OK;
    return footer_corrupt(diag, "the metaindex does not end where the index begins", f);
  }
  if (!footer_ends_at(f->metaindex, f->at)) {
    return footer_corrupt(diag, "neither index nor metaindex ends at the footer", f);
  }
  if (nay_sst__handle_fits(f->index, f->metaindex.offset)) return NAY_OK;
  return footer_corrupt(diag, "the index does not lie before the metaindex", f);
}

/* Decodes the 40 bytes with the two handles, in formats before 6. */
static nay_status footer_handles(const uint8_t *p, nay_diag *diag, nay_footer *f) {
  const uint8_t *end = p + 40;
  p = nay_sst__handle_load(p, end, &f->metaindex);
  if (p == NULL || nay_sst__handle_load(p, end, &f->index) == NULL) {
    return footer_corrupt(diag, "the footer does not have two block handles", f);
  }
  if (!nay_sst__handle_fits(f->metaindex, f->at) || !nay_sst__handle_fits(f->index, f->at)) {
    return footer_corrupt(diag, "the footer points outside of the file", f);
  }
  return footer_check_places(diag, f);
}

/* Decodes a footer of format 6 or later; f->checksum and f->at are set. */
static nay_status footer_extended(const uint8_t *footer, nay_diag *diag, nay_footer *f) {
  const uint8_t *part = footer + 1;
  uint8_t copy[NAY_FOOTER_MAX];
  if (nay__load32le(part) != FOOTER_EXTENDED || !nay__all_zero(part + 16, 24)) {
    return footer_corrupt(diag, "the footer does not have the layout of its format_version", f);
  }
  f->context = nay__load32le(part + 8);
  memcpy(copy, footer, sizeof copy);
  memset(copy + 1 + 4, 0, 4); /* the footer's checksum is computed with its own field zeroed */
  uint32_t sum =
      footer_checksum(f->checksum, copy, sizeof copy) + footer_modifier(f->context, f->at);
  if (f->checksum != NAY_CHECKSUM_NONE && sum != nay__load32le(part + 4)) {
    return footer_corrupt(diag, "the checksum of the footer is wrong", f);
  }
  uint64_t size = nay__load32le(part + 12);
  if (size + NAY_BLOCK_TRAILER > f->at) {
    return footer_corrupt(diag, "the footer points outside of the file", f);
  }
  f->metaindex = (nay_handle){f->at - NAY_BLOCK_TRAILER - size, size};
  return NAY_OK;
}

static nay_status footer_rocksdb(const uint8_t *footer, nay_diag *diag, nay_footer *f) {
  f->rocksdb = true;
  f->format_version = nay__load32le(footer + 41);
  if (f->format_version > FOOTER_NEWEST) {
    return nay__fail(diag, NAY_EVERSION, "the table has a format_version of RocksDB above 7",
                     f->at + 41);
  }
  if (footer[0] > NAY_CHECKSUM_XXH3) {
    return nay__fail(diag, NAY_EVERSION, "the table has an unknown checksum type", f->at);
  }
  f->checksum = (nay_checksum)footer[0];
  return f->format_version >= 6 ? footer_extended(footer, diag, f)
                                : footer_handles(footer + 1, diag, f);
}

nay_status nay_sst__footer_load(const uint8_t *tail, size_t tail_len, uint64_t file_len,
                                nay_diag *diag, nay_footer *footer) {
  if (tail_len < NAY_FOOTER) {
    return nay__fail(diag, NAY_EFORMAT, "not a table: shorter than a footer", file_len);
  }
  if (!nay_sst__footer_recognise(tail, tail_len)) {
    return nay__fail(diag, NAY_EFORMAT, "not a table: the last eight bytes are not a magic number",
                     file_len - 8);
  }
  bool leveldb = nay__load64le(tail + tail_len - 8) == NAY_FOOTER_MAGIC;
  size_t len = leveldb ? NAY_FOOTER : NAY_FOOTER_MAX;
  nay_footer f = {.at = file_len - len, .checksum = NAY_CHECKSUM_CRC32C};
  NAY_TRY((leveldb ? footer_handles : footer_rocksdb)(tail + tail_len - len, diag, &f));
  *footer = f;
  return NAY_OK;
}

/*
 * footer.h - block handles, block trailers, and the footers of LevelDB and of RocksDB's formats 0
 * to 7. All numbers are little-endian.
 *
 *   block on disk    | contents | compression type u8 | checksum u32 |
 *   handle           | offset varint64 | size of the contents varint64 |
 *
 *   footer of        bytes
 *   LevelDB,         48   | metaindex handle | index handle | 0 up to byte 40 | magic u64 |
 *   RocksDB 0
 *   RocksDB 1 to 5   53   | checksum type u8 | 40 bytes of handles, as above | version u32 |
 *                         | magic u64 |
 *   RocksDB 6, 7     53   | checksum type u8 | 3e 00 7a 00 | checksum u32 | context u32 |
 *                         | metaindex size u32 | 0 x 24 | version u32 | magic u64 |
 *
 * Formats 6 and 7 store no handles in the footer: the metaindex ends where the footer starts, and
 * holds the handle of the index. The footer has a checksum. Each block checksum has a value added
 * that depends on the context and on the block's offset, so a block at the wrong offset is
 * detected.
 */
#ifndef NAY_SST_BLOCK_FOOTER_H
#define NAY_SST_BLOCK_FOOTER_H

#include "base/bytes.h"
#include "base/varint.h"

/* ---- handles ---- */

#define NAY_BLOCK_TRAILER 5u /* bytes: compression type and checksum */
#define NAY_HANDLE_MAX (2 * NAY_VARINT64_MAX)

/* nay_handle: LevelDB's BlockHandle. */
typedef struct nay_handle {
  uint64_t offset; /* file offset of the block */
  uint64_t size;   /* size of the block's contents, without the trailer */
} nay_handle;

/* nay_sst__handle_store: encodes a handle at p; returns its encoded length. */
size_t nay_sst__handle_store(uint8_t *p, nay_handle handle);

/* nay_sst__handle_load: decodes a handle from [p, end). Returns the first byte after it, or NULL if
 * it does not fit. */
const uint8_t *nay_sst__handle_load(const uint8_t *p, const uint8_t *end, nay_handle *handle);

/*
 * nay_sst__handle_fits: whether the block and its trailer lie in the first `limit` bytes of the
 * file, and its size fits a size_t.
 */
bool nay_sst__handle_fits(nay_handle handle, uint64_t limit);

/*
 * nay_checked_handle: a handle and, if `checked`, the checksum that its block must have. nay stores
 * that checksum after the handles in its metaindex and in its index of filter partitions. That
 * checksum detects an intact block that is in the place of another.
 */
typedef struct nay_checked_handle {
  nay_handle at;
  bool checked;
  uint32_t checksum;
} nay_checked_handle;

#define NAY_CHECKED_HANDLE_MAX (NAY_HANDLE_MAX + 4)

/* nay_sst__checked_handle_store: encodes a handle at p; returns its encoded length. */
size_t nay_sst__checked_handle_store(uint8_t *p, const nay_checked_handle *handle);

/* nay_sst__checked_handle_load: decodes a handle from p[0, len); four bytes after it are the
 * checksum. False if there is no handle. */
bool nay_sst__checked_handle_load(const uint8_t *p, size_t len, nay_checked_handle *handle);

/* nay_sst__checked_handle_is: whether the checksum in the block's trailer equals the checksum of
   the handle. The caller has verified the block against its trailer. */
static inline bool nay_sst__checked_handle_is(const nay_checked_handle *handle,
                                              const uint8_t *block) {
  return !handle->checked || nay__load32le(block + handle->at.size + 1) == handle->checksum;
}

/* nay_sst__in_file: turns diag->offset from an offset in the block into one in the file, and
 * returns `status`. Only NAY_ECORRUPT and NAY_ENOTSUP have such offsets. */
static inline nay_status nay_sst__in_file(nay_status status, nay_diag *diag, nay_handle block) {
  bool inside = status == NAY_ECORRUPT || status == NAY_ENOTSUP;
  if (inside && diag != NULL) diag->offset += block.offset;
  return status;
}

/* ---- footers ---- */

#define NAY_FOOTER 48u /* bytes of LevelDB's footer */
#define NAY_FOOTER_MAX 53u
#define NAY_FOOTER_MAGIC 0xdb4775248b80fb57u /* LevelDB's magic number */

/* nay_checksum: RocksDB's ChecksumType. LevelDB always writes masked CRC-32C. */
typedef enum nay_checksum {
  NAY_CHECKSUM_NONE = 0,
  NAY_CHECKSUM_CRC32C = 1,
  NAY_CHECKSUM_XXH32 = 2,
  NAY_CHECKSUM_XXH64 = 3,
  NAY_CHECKSUM_XXH3 = 4
} nay_checksum;

typedef struct nay_footer {
  nay_handle metaindex;
  nay_handle index; /* formats 6 and 7: size 0, because the metaindex holds this handle */
  uint64_t at;      /* offset of the footer in the file; all blocks end at or before it */
  bool rocksdb;     /* the magic number is RocksDB's: format 1 or later */
  uint32_t format_version;
  nay_checksum checksum; /* checksum type of the blocks */
  uint32_t context;      /* formats 6 and 7: RocksDB's base_context_checksum; 0: none */
} nay_footer;

/* nay_sst__footer_recognise: whether the bytes end in the magic number of a table. */
bool nay_sst__footer_recognise(const uint8_t *bytes, size_t len);

/*
 * nay_sst__footer_load: decodes the footer of a file of file_len bytes. tail[0, tail_len) is the
 * end of the file, at least NAY_FOOTER_MAX bytes of it or the whole file. NAY_EFORMAT: not a table.
 * NAY_EVERSION: a format or checksum type of a later RocksDB. NAY_ECORRUPT: the footer's checksum
 * is wrong, or index and metaindex are not where any writer puts them.
 */
nay_status nay_sst__footer_load(const uint8_t *tail, size_t tail_len, uint64_t file_len,
                                nay_diag *diag, nay_footer *footer);

/* nay_sst__footer_store: encodes LevelDB's footer with the two handles of *footer. */
void nay_sst__footer_store(uint8_t bytes[NAY_FOOTER], const nay_footer *footer);

/* ---- block trailers ---- */

/* nay_sst__block_trailer_store: encodes LevelDB's trailer for a block with contents[0, len) and
 * this compression type. */
void nay_sst__block_trailer_store(uint8_t trailer[NAY_BLOCK_TRAILER], uint8_t type,
                                  const uint8_t *contents, size_t len);

/* nay_sst__block_intact: whether the block's checksum is right. `block` points to its contents,
 * with the trailer behind them. */
bool nay_sst__block_intact(const nay_footer *footer, const uint8_t *block, nay_handle handle);

#endif /* NAY_SST_BLOCK_FOOTER_H */

/*
 * footer.h - block handles, block trailers and every footer that LevelDB and RocksDB have written.
 *
 *   block on disk        | contents | compression type u8 | checksum u32le |
 *   handle               | offset varint64 | size of the contents varint64 |
 *
 *   LevelDB, RocksDB 0   | metaindex handle | index handle | 0 ... to byte 40 | magic u64 | 48
 * bytes RocksDB 1 to 5       | checksum type u8 | handles, 40 bytes | version u32 | magic u64 | 53
 * bytes RocksDB 6, 7         | checksum type u8 | 3e 00 7a 00 | checksum u32 | context u32 | |
 * metaindex size u32 | 0 x 24 | version u32 | magic u64 |          53 bytes
 *
 * From format 6 on the metaindex ends where the footer starts, and holds the handle of the index;
 * the footer has a checksum of its own; and a value derived from the context and from the block's
 * offset is added to each block checksum, so that a block at the wrong offset is detected.
 */
#ifndef NAY_SST_FOOTER_H
#define NAY_SST_FOOTER_H

#include "base/bytes.h"
#include "base/varint.h"

/* ---- handles ---- */

#define NAY_BLOCK_TRAILER 5u /* bytes: compression type and checksum */
#define NAY_HANDLE_MAX (2 * NAY_VARINT64_MAX)

typedef struct nay_handle {
  uint64_t offset;
  uint64_t size; /* of the contents, without the trailer */
} nay_handle;

/* nay__handle_store: returns the length. */
size_t nay__handle_store(uint8_t *p, nay_handle handle);

/* nay__handle_load: the first byte after the handle, or NULL when it does not end before `end`. */
const uint8_t *nay__handle_load(const uint8_t *p, const uint8_t *end, nay_handle *handle);

/*
 * nay__handle_fits: whether the block and its trailer lie in the first `limit` bytes of the file,
 * and its size fits a size_t.
 */
bool nay__handle_fits(nay_handle handle, uint64_t limit);

/*
 * nay_checked_handle: a handle and, if `checked`, the checksum that its block must have. nay's own
 * entries have that behind the handle: a block that stands in the place of another is then found
 * out, though its own checksum is right.
 */
typedef struct nay_checked_handle {
  nay_handle at;
  bool checked;
  uint32_t checksum;
} nay_checked_handle;

#define NAY_CHECKED_HANDLE_MAX (NAY_HANDLE_MAX + 4)

/* nay__checked_handle_store: returns the length. */
size_t nay__checked_handle_store(uint8_t *p, const nay_checked_handle *handle);

/* nay__checked_handle_load: false when there is no handle. It is checked if four bytes follow. */
bool nay__checked_handle_load(const uint8_t *p, size_t len, nay_checked_handle *handle);

/* nay__checked_handle_is: whether this block, whose own checksum is right, is the one meant. */
static inline bool nay__checked_handle_is(const nay_checked_handle *handle, const uint8_t *block) {
  return !handle->checked || nay__load32le(block + handle->at.size + 1) == handle->checksum;
}

/* nay__in_file: turns the offset of an error inside a block into one in the file. */
static inline nay_status nay__in_file(nay_status status, nay_diag *diag, nay_handle block) {
  bool inside = status == NAY_ECORRUPT || status == NAY_ENOTSUP;
  if (inside && diag != NULL) diag->offset += block.offset;
  return status;
}

/* ---- footers ---- */

#define NAY_FOOTER 48u /* bytes of LevelDB's footer */
#define NAY_FOOTER_MAX 53u
#define NAY_FOOTER_MAGIC 0xdb4775248b80fb57u /* LevelDB's */

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
  nay_handle index; /* size 0 from format 6 on: the metaindex has it */
  uint64_t at;      /* offset of the footer: all blocks end at or before it */
  bool rocksdb;     /* by its magic number, so format 1 or later */
  uint32_t format_version;
  nay_checksum checksum;
  uint32_t context;
} nay_footer;

/* nay__footer_recognise: whether the bytes end in the magic number of a table. */
bool nay__footer_recognise(const uint8_t *bytes, size_t len);

/*
 * nay__footer_load: of a file of file_len bytes that ends in tail[0, tail_len), at least
 * NAY_FOOTER_MAX bytes or the whole file. NAY_EFORMAT: not a table. NAY_EVERSION: a format or
 * checksum type of a later RocksDB. NAY_ECORRUPT: bad checksum, or index and metaindex do not lie
 * before the footer in one of the orders that writers have.
 */
nay_status nay__footer_load(const uint8_t *tail, size_t tail_len, uint64_t file_len, nay_diag *diag,
                            nay_footer *footer);

/* nay__footer_store: LevelDB's footer, from the two handles. */
void nay__footer_store(uint8_t bytes[NAY_FOOTER], const nay_footer *footer);

/* ---- block trailers ---- */

/* nay__block_trailer_store: LevelDB's trailer of contents[0, len). */
void nay__block_trailer_store(uint8_t trailer[NAY_BLOCK_TRAILER], uint8_t type,
                              const uint8_t *contents, size_t len);

/* nay__block_intact: whether the block, which `block` points to and handle fits, has its checksum.
 */
bool nay__block_intact(const nay_footer *footer, const uint8_t *block, nay_handle handle);

#endif /* NAY_SST_FOOTER_H */

/*
 * footer.h - the frame of a table file: where blocks are, and whether they are what was written.
 *
 *   block on disk   | contents | type u8 | crc32c of contents and type, masked, u32le |
 *   handle          | offset varint64 | size of the contents varint64 |
 *   footer          | metaindex handle | index handle | 0 ... up to byte 40 | magic u64le |
 */
#ifndef NAY_SST_FOOTER_H
#define NAY_SST_FOOTER_H

#include "base/bytes.h"
#include "base/varint.h"

#define NAY_BLOCK_FRAME 5u /* type and checksum */
#define NAY_HANDLE_MAX (2 * NAY_VARINT64_MAX)
#define NAY_FOOTER 48u
#define NAY_FOOTER_MAGIC 0xdb4775248b80fb57u

typedef struct nay_handle {
  uint64_t offset;
  uint64_t size; /* of the contents, without the frame */
} nay_handle;

/* nay__handle_store: returns the length. */
size_t nay__handle_store(uint8_t *p, nay_handle handle);

/* nay__handle_load: the first byte after it, or NULL when it does not end before `end`. */
const uint8_t *nay__handle_load(const uint8_t *p, const uint8_t *end, nay_handle *handle);

/*
 * nay__handle_fits: whether the block and its frame lie in the first `limit` bytes of the file, and
 * its size is one that this machine can hold.
 */
bool nay__handle_fits(nay_handle handle, uint64_t limit);

typedef struct nay_footer {
  nay_handle metaindex;
  nay_handle index;
} nay_footer;

void nay__footer_store(uint8_t bytes[NAY_FOOTER], const nay_footer *footer);

/*
 * nay__footer_load: of a file of file_len bytes. NAY_EFORMAT: not a table. NAY_ECORRUPT: a handle
 * is not one, or leads out of the file.
 */
nay_status nay__footer_load(const uint8_t bytes[NAY_FOOTER], uint64_t file_len, nay_diag *diag,
                            nay_footer *footer);

/* nay__frame_store: the five bytes behind contents[0, len). */
void nay__frame_store(uint8_t frame[NAY_BLOCK_FRAME], uint8_t type, const uint8_t *contents,
                      size_t len);

/* nay__frame_check: block[0, size + 5) as it is on disk. NAY_ECORRUPT: offset is its place there.
 */
nay_status nay__frame_check(const uint8_t *block, size_t size, uint64_t offset, nay_diag *diag);

#endif /* NAY_SST_FOOTER_H */

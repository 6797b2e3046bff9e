/* codec.h - uncompressing the blocks of a table with the codecs that the caller gave. */
#ifndef NAY_SST_CODEC_H
#define NAY_SST_CODEC_H

#include "nay_sst.h"
#include "sst/footer.h"

/* NAY_MAX_BLOCK: bytes of a compressed block, uncompressed, that readers accept unless the caller
 * says otherwise. A writer leaves longer ones uncompressed, which have no limit. */
#define NAY_MAX_BLOCK (256u << 20)

/*
 * nay__codec_plan: how long the contents of a block are, and which codec they need (NULL: none).
 * The block and its trailer lie at `block`; most is the largest size that is accepted: above it
 * NAY_EFULL. rocksdb: the table is one of RocksDB's, whose ids above 1 (snappy) are those of other
 * codecs than LevelDB's: 2 zlib, 3 bzip2, 4 and 5 LZ4 with a size in front, 6 xpress, 7 zstd.
 * NAY_ENOTSUP: the block has one of those, or its codec was not given. NAY_ECORRUPT.
 */
nay_status nay__codec_plan(const nay_sst_codec *const *codecs, size_t ncodecs, bool rocksdb,
                           const uint8_t *block, nay_handle handle, uint64_t most, nay_diag *diag,
                           const nay_sst_codec **codec, size_t *size);

/* nay__codec_unpack: writes the contents, whose size the plan said, to dst. NAY_ECORRUPT. */
nay_status nay__codec_unpack(const nay_sst_codec *codec, const uint8_t *block, nay_handle handle,
                             uint8_t *dst, size_t size, nay_diag *diag);

#endif /* NAY_SST_CODEC_H */

/*
 * codec.h - uncompresses the blocks of a table with the caller's codecs.
 *
 *   block    | contents, compressed or not | type u8 | checksum u32le |
 *
 * The type byte is the id of the codec; 0 means uncompressed. The caller calls nay_sst__codec_plan
 * first, which checks the size before memory is allocated for it, and then nay_sst__codec_unpack.
 */
#ifndef NAY_SST_BLOCK_CODEC_H
#define NAY_SST_BLOCK_CODEC_H

#include "block/footer.h"
#include "nay_sst.h"

/* NAY_MAX_BLOCK: default limit for the uncompressed size of a compressed block. Writers store
 * longer blocks uncompressed; stored blocks have no limit. */
#define NAY_MAX_BLOCK (256u << 20)

/*
 * nay_sst__codec_plan: finds the codec of a block (NULL: uncompressed) and the block's uncompressed
 * size. `block` points to the block with its trailer. NAY_EFULL: the size is above `most`.
 * NAY_ENOTSUP: the caller gave no codec with this id. NAY_ECORRUPT.
 *
 * `rocksdb` tells whether the type byte has RocksDB's ids or LevelDB's. Only 1, snappy, means the
 * same in both. LevelDB's 2 is zstd. RocksDB's others are NAY_ENOTSUP: 2 zlib, 3 bzip2, 4 and 5 LZ4
 * after a size, 6 xpress, 7 zstd.
 */
nay_status nay_sst__codec_plan(const nay_sst_codec *const *codecs, size_t ncodecs, bool rocksdb,
                               const uint8_t *block, nay_handle handle, uint64_t most,
                               nay_diag *diag, const nay_sst_codec **codec, size_t *size);

/* nay_sst__codec_failed: the status and diag of a failed call of a codec: NAY_ENOMEM stays, and
 * every other failure is NAY_ECORRUPT. */
nay_status nay_sst__codec_failed(nay_status status, uint64_t offset, nay_diag *diag);

/* nay_sst__codec_unpack: writes the uncompressed contents to dst; codec and size come from
 * nay_sst__codec_plan. NAY_ENOMEM, NAY_ECORRUPT. */
nay_status nay_sst__codec_unpack(const nay_sst_codec *codec, const uint8_t *block,
                                 nay_handle handle, uint8_t *dst, size_t size, nay_diag *diag);

#endif /* NAY_SST_BLOCK_CODEC_H */

/* codec.c - see codec.h. */
#include "block/codec.h"

#define CODEC_SNAPPY 1u /* the same id in LevelDB and RocksDB */

static const nay_sst_codec *codec_find(const nay_sst_codec *const *codecs, size_t n, uint8_t id) {
  for (size_t i = 0; i < n; i++) {
    if (codecs[i]->id == id) return codecs[i];
  }
  return NULL;
}

/*
 * Whether `stored` compressed bytes can become `size` bytes. A copy element of snappy makes at most
 * 64 bytes from 3; a zstd block makes at most 128 KiB from at least 4. A larger size is corrupt and
 * is found before memory is allocated for it. The ratios of other codecs are unknown.
 */
static bool codec_reaches(const nay_sst_codec *codec, size_t stored, size_t size) {
  size_t ratio = codec->id == CODEC_SNAPPY ? 22 : codec->id == 2 ? 32768 : 0;
  return ratio == 0 || size / ratio <= stored;
}

nay_status nay_sst__codec_failed(nay_status status, uint64_t offset, nay_diag *diag) {
  if (status == NAY_ENOMEM) {
    return nay__fail(diag, NAY_ENOMEM, "the codec has no memory to uncompress a block", offset);
  }
  return nay__fail(diag, NAY_ECORRUPT, "a block cannot be uncompressed", offset);
}

nay_status nay_sst__codec_plan(const nay_sst_codec *const *codecs, size_t ncodecs, bool rocksdb,
                               const uint8_t *block, nay_handle handle, uint64_t most,
                               nay_diag *diag, const nay_sst_codec **codec, size_t *size) {
  uint8_t type = block[handle.size];
  *codec = NULL;
  *size = (size_t)handle.size;
  if (type == 0) return NAY_OK;
  if (rocksdb && type > CODEC_SNAPPY) {
    return nay__fail(diag, NAY_ENOTSUP,
                     "a block is compressed with a RocksDB codec other than snappy", handle.offset);
  }
  *codec = codec_find(codecs, ncodecs, type);
  if (*codec == NULL) {
    return nay__fail(diag, NAY_ENOTSUP, "a block is compressed, and no codec was given for it",
                     handle.offset);
  }
  nay_status status = (*codec)->uncompressed_size((*codec)->ctx, block, (size_t)handle.size, size);
  if (status != NAY_OK) return nay_sst__codec_failed(status, handle.offset, diag);
  if (!codec_reaches(*codec, (size_t)handle.size, *size)) {
    return nay__fail(diag, NAY_ECORRUPT,
                     "a compressed block states a size that its codec cannot produce",
                     handle.offset);
  }
  if (*size <= most) return NAY_OK;
  return nay__fail(diag, NAY_EFULL, "the uncompressed size of a block is above max_block_bytes",
                   handle.offset);
}

nay_status nay_sst__codec_unpack(const nay_sst_codec *codec, const uint8_t *block,
                                 nay_handle handle, uint8_t *dst, size_t size, nay_diag *diag) {
  if (codec == NULL) {
    memcpy(dst, block, size);
    return NAY_OK;
  }
  nay_status status = codec->uncompress(codec->ctx, block, (size_t)handle.size, dst, size);
  return status == NAY_OK ? NAY_OK : nay_sst__codec_failed(status, handle.offset, diag);
}

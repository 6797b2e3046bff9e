/*
 * nay_codecs.h - snappy, zstd and lz4 for the blocks of tables, ready to use.
 *
 *   nay_sst_read_options how = {.size = sizeof how};
 *   how.codecs = nay_codecs(&how.ncodecs);                          // opens every table
 *   nay_sst_write_options write = {.size = sizeof write};
 *   write.codec = nay_codec_find(NAY_CODEC_SNAPPY);
 *
 * Codecs are constant: any number of tables and threads may share them.
 */
#ifndef NAY_CODECS_H
#define NAY_CODECS_H

#include "nay_sst.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nay_codec_kind: the low byte is the id in the file. */
typedef enum nay_codec_kind {
  NAY_CODEC_SNAPPY = 1, /* LevelDB's own */
  NAY_CODEC_ZSTD = 2,   /* level 3; the frame states its size, as later versions of LevelDB need */
  NAY_CODEC_LZ4 = 4,    /* raw blocks: nori's and nay's. LevelDB has no lz4, RocksDB's differs */
  NAY_CODEC_ZSTD_UNSIZED = 0x102, /* zstd frames without a size, which nori writes */
  NAY_CODEC_LZ4_FRAME = 0x104     /* LZ4 frames that state their size, as Puffin has them */
} nay_codec_kind;

/* nay_codecs: one for each id that this library was built with, for the options of readers. */
const nay_sst_codec *const *nay_codecs(size_t *n);

/* nay_codec_find: one of them. NULL: this library was built without it. */
const nay_sst_codec *nay_codec_find(nay_codec_kind kind);

#ifdef __cplusplus
}
#endif

#endif /* NAY_CODECS_H */

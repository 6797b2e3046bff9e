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

/*
 * NAY_CODECS: the codecs for blocks of tables, each with its id in the file and its name. `nay sst
 * --compress`, nay_codecs, the tests and the fuzz target iterate over this list.
 *
 *   snappy   LevelDB's own
 *   zstd     level 3; the frame states its size, as later versions of LevelDB need
 *   lz4      raw blocks: nori's and nay's. LevelDB has no lz4, RocksDB's differs
 */
#define NAY_CODECS(X)    \
  X(SNAPPY, 1, "snappy") \
  X(ZSTD, 2, "zstd")     \
  X(LZ4, 4, "lz4")

/* nay_codec_kind: the low byte is the id in the file. */
#define NAY_CODEC_KIND(name, id, text) NAY_CODEC_##name = id,
typedef enum nay_codec_kind {
  NAY_CODECS(NAY_CODEC_KIND) NAY_CODEC_ZSTD_UNSIZED = 0x102, /* frames without a size: nori's */
  NAY_CODEC_LZ4_FRAME = 0x104 /* LZ4 frames that state their size, as Puffin has them */
} nay_codec_kind;

/* nay_codecs: one for each id that this library was built with, for the options of readers. */
const nay_sst_codec *const *nay_codecs(size_t *n);

/* nay_codec_find: one of them. NULL: this library was built without it. */
const nay_sst_codec *nay_codec_find(nay_codec_kind kind);

/* nay_codec_name: the name of the codec with this id in the file. NULL: it is not in NAY_CODECS. */
const char *nay_codec_name(unsigned id);

#ifdef __cplusplus
}
#endif

#endif /* NAY_CODECS_H */

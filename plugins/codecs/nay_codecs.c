/*
 * nay_codecs.c - see nay_codecs.h. One section for each library.
 *
 * A reader asks for the uncompressed size before it allocates. Snappy's blocks state it. nori's do
 * not: a raw LZ4 block is walked for it, sequence by sequence, without output; a zstd frame without
 * a content size is uncompressed twice. Sizes come from the file and may be any number: the reader
 * has a limit (max_block_bytes), and uncompress writes no byte beyond the size it is given.
 */
#include "nay_codecs.h"

#ifdef NAY_HAVE_SNAPPY
#include <snappy-c.h>
#endif
#ifdef NAY_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif
#ifdef NAY_HAVE_LZ4
#include <lz4.h>
#include <lz4frame.h>
#endif

/* ---- snappy ---- */

#ifdef NAY_HAVE_SNAPPY
static size_t snappy_room(void *ctx, size_t len) {
  (void)ctx;
  return snappy_max_compressed_length(len);
}

static nay_status snappy_pack(void *ctx, const void *src, size_t len, void *dst, size_t cap,
                              size_t *written) {
  (void)ctx;
  *written = cap;
  return snappy_compress(src, len, dst, written) == SNAPPY_OK ? NAY_OK : NAY_EINVAL;
}

static nay_status snappy_size(void *ctx, const void *src, size_t len, size_t *size) {
  (void)ctx;
  return snappy_uncompressed_length(src, len, size) == SNAPPY_OK ? NAY_OK : NAY_ECORRUPT;
}

static nay_status snappy_unpack(void *ctx, const void *src, size_t len, void *dst, size_t size) {
  (void)ctx;
  return snappy_uncompress(src, len, dst, &size) == SNAPPY_OK ? NAY_OK : NAY_ECORRUPT;
}

static const nay_sst_codec snappy_codec = {.size = sizeof snappy_codec,
                                           .id = NAY_CODEC_SNAPPY,
                                           .bound = snappy_room,
                                           .compress = snappy_pack,
                                           .uncompressed_size = snappy_size,
                                           .uncompress = snappy_unpack};
#endif

/* ---- zstd ---- */

#ifdef NAY_HAVE_ZSTD
#define ZSTD_LEVEL 3           /* nori's */
#define ZSTD_MOST (1ull << 30) /* counting ends here: a reader's limit is lower */

static size_t zstd_room(void *ctx, size_t len) {
  (void)ctx;
  return ZSTD_compressBound(len);
}

static nay_status zstd_pack(void *ctx, const void *src, size_t len, void *dst, size_t cap,
                            size_t *written) {
  (void)ctx;
  *written = ZSTD_compress(dst, cap, src, len, ZSTD_LEVEL);
  return ZSTD_isError(*written) ? NAY_EINVAL : NAY_OK;
}

/* As nori's streaming encoder: no content size in the header. */
static nay_status zstd_pack_unsized(void *ctx, const void *src, size_t len, void *dst, size_t cap,
                                    size_t *written) {
  (void)ctx;
  ZSTD_CCtx *c = ZSTD_createCCtx();
  if (c == NULL) return NAY_ENOMEM;
  (void)ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, ZSTD_LEVEL);
  (void)ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
  *written = ZSTD_compress2(c, dst, cap, src, len);
  ZSTD_freeCCtx(c);
  return ZSTD_isError(*written) ? NAY_EINVAL : NAY_OK;
}

/* Uncompresses into a buffer that nobody reads. */
static bool zstd_count(ZSTD_DStream *stream, const void *src, size_t len, size_t *size) {
  uint8_t scratch[16384];
  ZSTD_inBuffer in = {src, len, 0};
  size_t left = 1;
  *size = 0;
  while (left != 0 && *size <= ZSTD_MOST) {
    ZSTD_outBuffer out = {scratch, sizeof scratch, 0};
    left = ZSTD_decompressStream(stream, &out, &in);
    if (ZSTD_isError(left)) return false;
    *size += out.pos;
    if (left != 0 && out.pos == 0 && in.pos == len) return false; /* cut off */
  }
  return left != 0 || in.pos == len;
}

static nay_status zstd_size(void *ctx, const void *src, size_t len, size_t *size) {
  (void)ctx;
  unsigned long long stated = ZSTD_getFrameContentSize(src, len);
  if (stated == ZSTD_CONTENTSIZE_ERROR) return NAY_ECORRUPT;
  if (stated != ZSTD_CONTENTSIZE_UNKNOWN) {
    *size = stated < SIZE_MAX / 2 ? (size_t)stated : SIZE_MAX / 2;
    return NAY_OK;
  }
  ZSTD_DStream *stream = ZSTD_createDStream();
  if (stream == NULL) return NAY_ENOMEM;
  bool ok = zstd_count(stream, src, len, size);
  ZSTD_freeDStream(stream);
  return ok ? NAY_OK : NAY_ECORRUPT;
}

static nay_status zstd_unpack(void *ctx, const void *src, size_t len, void *dst, size_t size) {
  (void)ctx;
  size_t n = ZSTD_decompress(dst, size, src, len);
  if (n == size) return NAY_OK;
  return ZSTD_isError(n) && ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation ? NAY_ENOMEM
                                                                                 : NAY_ECORRUPT;
}

static const nay_sst_codec zstd_codec = {.size = sizeof zstd_codec,
                                         .id = NAY_CODEC_ZSTD,
                                         .bound = zstd_room,
                                         .compress = zstd_pack,
                                         .uncompressed_size = zstd_size,
                                         .uncompress = zstd_unpack};

static const nay_sst_codec zstd_unsized_codec = {.size = sizeof zstd_unsized_codec,
                                                 .id = NAY_CODEC_ZSTD,
                                                 .bound = zstd_room,
                                                 .compress = zstd_pack_unsized,
                                                 .uncompressed_size = zstd_size,
                                                 .uncompress = zstd_unpack};
#endif

/* ---- lz4: raw blocks ---- */

#ifdef NAY_HAVE_LZ4
static size_t lz4_room(void *ctx, size_t len) {
  (void)ctx;
  return len <= LZ4_MAX_INPUT_SIZE ? (size_t)LZ4_compressBound((int)len) : 0;
}

static nay_status lz4_pack(void *ctx, const void *src, size_t len, void *dst, size_t cap,
                           size_t *written) {
  if (lz4_room(ctx, len) == 0) return NAY_EINVAL;
  int got = LZ4_compress_default(src, dst, (int)len, cap < INT32_MAX ? (int)cap : INT32_MAX);
  *written = (size_t)got;
  return got > 0 ? NAY_OK : NAY_EINVAL;
}

/* A length: the nibble of the token, and bytes that go on after 15. False: the block ends. */
static bool lz4_length(const uint8_t **p, const uint8_t *end, unsigned nibble, size_t *len) {
  *len = nibble;
  for (uint8_t byte = 255; nibble == 15 && byte == 255; *len += byte) {
    if (*p == end) return false;
    byte = *(*p)++;
  }
  return true;
}

static nay_status lz4_size(void *ctx, const void *src, size_t len, size_t *size) {
  (void)ctx;
  const uint8_t *p = src, *end = p + len;
  *size = 0;
  while (p < end) {
    unsigned token = *p++;
    size_t literals, match;
    if (!lz4_length(&p, end, token >> 4, &literals) || literals > (size_t)(end - p))
      return NAY_ECORRUPT;
    p += literals;
    *size += literals;
    if (p == end) return NAY_OK; /* the last sequence has literals alone */
    if (end - p < 2) return NAY_ECORRUPT;
    p += 2;
    if (!lz4_length(&p, end, token & 15, &match)) return NAY_ECORRUPT;
    *size += match + 4;
  }
  return NAY_ECORRUPT;
}

static nay_status lz4_unpack(void *ctx, const void *src, size_t len, void *dst, size_t size) {
  (void)ctx;
  if (len > INT32_MAX || size > INT32_MAX) return NAY_ECORRUPT;
  int got = LZ4_decompress_safe(src, dst, (int)len, (int)size);
  return got >= 0 && (size_t)got == size ? NAY_OK : NAY_ECORRUPT;
}

static const nay_sst_codec lz4_codec = {.size = sizeof lz4_codec,
                                        .id = NAY_CODEC_LZ4,
                                        .bound = lz4_room,
                                        .compress = lz4_pack,
                                        .uncompressed_size = lz4_size,
                                        .uncompress = lz4_unpack};

/* ---- lz4: frames ---- */

static const LZ4F_preferences_t *frame_options(LZ4F_preferences_t *options, size_t len) {
  *options = (LZ4F_preferences_t){.frameInfo = {.contentSize = len}};
  return options;
}

static size_t frame_room(void *ctx, size_t len) {
  LZ4F_preferences_t options;
  (void)ctx;
  return LZ4F_compressFrameBound(len, frame_options(&options, len));
}

static nay_status frame_pack(void *ctx, const void *src, size_t len, void *dst, size_t cap,
                             size_t *written) {
  LZ4F_preferences_t options;
  (void)ctx;
  *written = LZ4F_compressFrame(dst, cap, src, len, frame_options(&options, len));
  return LZ4F_isError(*written) ? NAY_EINVAL : NAY_OK;
}

/* 0 stands for no stated size as well as for no bytes: an empty frame is tried. */
static nay_status frame_size(void *ctx, const void *src, size_t len, size_t *size) {
  LZ4F_dctx *context;
  LZ4F_frameInfo_t info;
  size_t used = len;
  (void)ctx;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) return NAY_ENOMEM;
  bool ok = !LZ4F_isError(LZ4F_getFrameInfo(context, &info, src, &used));
  (void)LZ4F_freeDecompressionContext(context);
  if (!ok) return NAY_ECORRUPT;
  *size = info.contentSize < SIZE_MAX / 2 ? (size_t)info.contentSize : SIZE_MAX / 2;
  return NAY_OK;
}

static nay_status frame_unpack(void *ctx, const void *src, size_t len, void *dst, size_t size) {
  LZ4F_dctx *context;
  const uint8_t *from = src;
  uint8_t *to = dst;
  (void)ctx;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) return NAY_ENOMEM;
  size_t more = 1, nin = 1, nout = 1;
  while (more != 0 && (nin != 0 || nout != 0)) {
    nin = len;
    nout = size;
    more = LZ4F_decompress(context, to, &nout, from, &nin, NULL);
    if (LZ4F_isError(more)) break;
    from += nin;
    len -= nin;
    to += nout;
    size -= nout;
  }
  (void)LZ4F_freeDecompressionContext(context);
  return more == 0 && len == 0 && size == 0 ? NAY_OK : NAY_ECORRUPT;
}

static const nay_sst_codec lz4_frame_codec = {.size = sizeof lz4_frame_codec,
                                              .id = NAY_CODEC_LZ4,
                                              .bound = frame_room,
                                              .compress = frame_pack,
                                              .uncompressed_size = frame_size,
                                              .uncompress = frame_unpack};
#endif

/* ---- the list ---- */

static const nay_sst_codec *const codec_list[] = {
#ifdef NAY_HAVE_SNAPPY
    &snappy_codec,
#endif
#ifdef NAY_HAVE_ZSTD
    &zstd_codec,
#endif
#ifdef NAY_HAVE_LZ4
    &lz4_codec,
#endif
    NULL};

const char *nay_codec_name(unsigned id) {
  switch (id) {
#define CODEC_NAME(name, number, text) \
  case number: return text;
    NAY_CODECS(CODEC_NAME)
#undef CODEC_NAME
    default: return NULL;
  }
}

const nay_sst_codec *const *nay_codecs(size_t *n) {
  *n = sizeof codec_list / sizeof codec_list[0] - 1;
  return codec_list;
}

const nay_sst_codec *nay_codec_find(nay_codec_kind kind) {
#ifdef NAY_HAVE_ZSTD
  if (kind == NAY_CODEC_ZSTD_UNSIZED) return &zstd_unsized_codec;
#endif
#ifdef NAY_HAVE_LZ4
  if (kind == NAY_CODEC_LZ4_FRAME) return &lz4_frame_codec;
#endif
  for (size_t i = 0; codec_list[i] != NULL; i++) {
    if (codec_list[i]->id == (unsigned)kind) return codec_list[i];
  }
  return NULL;
}

/* codecs.c - see codecs.h. One section for each library, then the table. */
#include "codecs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef NAY_HAVE_ZLIB
#define ZLIB_CONST
#include <zlib.h>
#endif
#ifdef NAY_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef NAY_HAVE_LZMA
#include <lzma.h>
#endif
#ifdef NAY_HAVE_BZIP2
#include <bzlib.h>
#endif
#ifdef NAY_HAVE_LZ4
#include <lz4frame.h>
#endif

#define CODEC_STEP (1u << 30) /* zlib and bzip2 count in unsigned int */

/* Inline: not used when no library is there. */
static inline void codec_moved(codec_io *io, size_t nin, size_t nout) {
  io->in += nin;
  io->in_len -= nin;
  io->out += nout;
  io->out_len -= nout;
}

static inline size_t codec_part(size_t n) { return n < CODEC_STEP ? n : CODEC_STEP; }

static inline codec_result codec_bad(codec_io *io, const char *why) {
  io->why = why;
  return CODEC_BAD;
}

static inline codec_result codec_refused(codec_io *io, const char *why) {
  io->why = why;
  return CODEC_REFUSED;
}

/* ---- gzip ---- */

#ifdef NAY_HAVE_ZLIB
static void *gzip_open(void) {
  z_stream *z = calloc(1, sizeof *z);
  if (z != NULL && inflateInit2(z, 15 + 16) == Z_OK) return z;
  free(z);
  return NULL;
}

static codec_result gzip_step(void *state, codec_io *io) {
  z_stream *z = state;
  size_t nin = codec_part(io->in_len), nout = codec_part(io->out_len);
  z->next_in = io->in;
  z->avail_in = (uInt)nin;
  z->next_out = io->out;
  z->avail_out = (uInt)nout;
  int got = inflate(z, Z_NO_FLUSH);
  codec_moved(io, nin - z->avail_in, nout - z->avail_out);
  if (got == Z_STREAM_END) {
    inflateReset(z);
    return CODEC_END;
  }
  if (got == Z_OK || got == Z_BUF_ERROR) return CODEC_MORE;
  return codec_bad(io, z->msg != NULL ? z->msg : "the gzip data is corrupt");
}

static void gzip_close(void *state) {
  inflateEnd(state);
  free(state);
}
#define GZIP_CODEC gzip_open, gzip_step, gzip_close
#else
#define GZIP_CODEC NULL, NULL, NULL
#endif

/* ---- zstd ---- */

#ifdef NAY_HAVE_ZSTD
static void *zstd_open(void) { return ZSTD_createDStream(); }

static codec_result zstd_step(void *state, codec_io *io) {
  ZSTD_inBuffer from = {io->in, io->in_len, 0};
  ZSTD_outBuffer to = {io->out, io->out_len, 0};
  size_t got = ZSTD_decompressStream(state, &to, &from);
  if (ZSTD_isError(got)) return codec_bad(io, ZSTD_getErrorName(got));
  codec_moved(io, from.pos, to.pos);
  return got == 0 ? CODEC_END : CODEC_MORE;
}

static void zstd_close(void *state) { ZSTD_freeDStream(state); }
#define ZSTD_CODEC zstd_open, zstd_step, zstd_close
#else
#define ZSTD_CODEC NULL, NULL, NULL
#endif

/* ---- xz ---- */

#ifdef NAY_HAVE_LZMA
#define XZ_MEMORY ((uint64_t)256 << 20) /* xz -9 needs 65 MiB; a hostile header requests 4 GiB */

static void *xz_open(void) {
  lzma_stream *z = calloc(1, sizeof *z);
  if (z == NULL) return NULL;
  if (lzma_stream_decoder(z, XZ_MEMORY, LZMA_CONCATENATED) == LZMA_OK) return z;
  free(z);
  return NULL;
}

/* With LZMA_CONCATENATED the library joins the streams; the end comes once, after the last. */
static codec_result xz_step(void *state, codec_io *io) {
  lzma_stream *z = state;
  z->next_in = io->in;
  z->avail_in = io->in_len;
  z->next_out = io->out;
  z->avail_out = io->out_len;
  lzma_ret got = lzma_code(z, io->last ? LZMA_FINISH : LZMA_RUN);
  codec_moved(io, io->in_len - z->avail_in, io->out_len - z->avail_out);
  switch (got) {
    case LZMA_OK:
    case LZMA_BUF_ERROR: return CODEC_MORE;
    case LZMA_STREAM_END: return CODEC_END;
    case LZMA_MEMLIMIT_ERROR:
      return codec_refused(io, "the xz data needs more than 256 MiB of memory");
    case LZMA_MEM_ERROR: return codec_refused(io, "out of memory");
    default: return codec_bad(io, "the xz data is corrupt");
  }
}

static void xz_close(void *state) {
  lzma_end(state);
  free(state);
}
#define XZ_CODEC xz_open, xz_step, xz_close
#else
#define XZ_CODEC NULL, NULL, NULL
#endif

/* ---- bzip2 ---- */

#ifdef NAY_HAVE_BZIP2
static void *bzip2_open(void) {
  bz_stream *z = calloc(1, sizeof *z);
  if (z != NULL && BZ2_bzDecompressInit(z, 0, 0) == BZ_OK) return z;
  free(z);
  return NULL;
}

static codec_result bzip2_step(void *state, codec_io *io) {
  bz_stream *z = state;
  size_t nin = codec_part(io->in_len), nout = codec_part(io->out_len);
  z->next_in = (char *)(uintptr_t)io->in; /* it only reads */
  z->avail_in = (unsigned)nin;
  z->next_out = (char *)io->out;
  z->avail_out = (unsigned)nout;
  int got = BZ2_bzDecompress(z);
  codec_moved(io, nin - z->avail_in, nout - z->avail_out);
  if (got == BZ_OK) return CODEC_MORE;
  if (got != BZ_STREAM_END) return codec_bad(io, "the bzip2 data is corrupt");
  BZ2_bzDecompressEnd(z); /* for the next stream of a concatenation */
  memset(z, 0, sizeof *z);
  return BZ2_bzDecompressInit(z, 0, 0) == BZ_OK ? CODEC_END : codec_refused(io, "out of memory");
}

static void bzip2_close(void *state) {
  BZ2_bzDecompressEnd(state);
  free(state);
}
#define BZIP2_CODEC bzip2_open, bzip2_step, bzip2_close
#else
#define BZIP2_CODEC NULL, NULL, NULL
#endif

/* ---- lz4 ---- */

#ifdef NAY_HAVE_LZ4
static void *lz4_open(void) {
  LZ4F_dctx *context = NULL;
  return LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) ? NULL : context;
}

static codec_result lz4_step(void *state, codec_io *io) {
  size_t nin = io->in_len, nout = io->out_len;
  size_t got = LZ4F_decompress(state, io->out, &nout, io->in, &nin, NULL);
  if (LZ4F_isError(got)) return codec_bad(io, LZ4F_getErrorName(got));
  codec_moved(io, nin, nout);
  return got == 0 ? CODEC_END : CODEC_MORE;
}

static void lz4_close(void *state) { LZ4F_freeDecompressionContext(state); }
#define LZ4_CODEC lz4_open, lz4_step, lz4_close
#else
#define LZ4_CODEC NULL, NULL, NULL
#endif

/* ---- the table ---- */

/* In a magic number ? stands for any byte, here a digit of bzip2 or a nibble of zstd. */
#define MAGIC(text) text, sizeof text - 1

/*
 * "BZh" alone may begin a word: the magic number of the first block, or of the end of an empty
 * file, belongs to it. Frames that zstd and pzstd skip may come first.
 */
static const codec codecs[] = {
    {"gzip", "gzip -dc", MAGIC("\x1f\x8b\x08"), GZIP_CODEC},
    {"zstd", "zstd -dc", MAGIC("\x28\xb5\x2f\xfd"), ZSTD_CODEC},
    {"zstd", "zstd -dc", MAGIC("?\x2a\x4d\x18"), ZSTD_CODEC},
    {"xz", "xz -dc",
     MAGIC("\xfd"
           "7zXZ\0"),
     XZ_CODEC},
    {"bzip2", "bzip2 -dc", MAGIC("BZh?\x31\x41\x59\x26\x53\x59"), BZIP2_CODEC},
    {"bzip2", "bzip2 -dc", MAGIC("BZh?\x17\x72\x45\x38\x50\x90"), BZIP2_CODEC},
    {"lz4", "lz4 -dc", MAGIC("\x04\x22\x4d\x18"), LZ4_CODEC},
    {"lz4", "lz4 -dc", MAGIC("\x02\x21\x4c\x18"), NULL, NULL, NULL}, /* its first layout */
    {"lzip", "lzip -dc", MAGIC("LZIP\1"), NULL, NULL, NULL},
    {"compress", "gzip -dc", MAGIC("\x1f\x9d"), NULL, NULL, NULL},
    {"zip", "unzip -p", MAGIC("PK\3\4"), NULL, NULL, NULL},
    {"7z", "7z x -so", MAGIC("7z\xbc\xaf\x27\x1c"), NULL, NULL, NULL},
};
#define NCODECS (sizeof codecs / sizeof codecs[0])

/* The byte that a ? stands for: '1' to '9' inside, 0x50 to 0x5f at the start. */
static bool codec_any(size_t at, uint8_t byte) {
  return at == 0 ? byte >> 4 == 5 : byte >= '1' && byte <= '9';
}

const codec *codec_recognise(const uint8_t *bytes, size_t len, bool *more) {
  *more = false;
  for (size_t i = 0; i < NCODECS; i++) {
    const codec *c = &codecs[i];
    size_t at = 0, n = len < c->magic_len ? len : c->magic_len;
    while (at < n &&
           (c->magic[at] == '?' ? codec_any(at, bytes[at]) : (uint8_t)c->magic[at] == bytes[at])) {
      at++;
    }
    if (at == c->magic_len) return c;
    if (at == len) *more = true;
  }
  return NULL;
}

void codec_names(const char *list[CODEC_NAMES]) {
  size_t n = 0;
  for (size_t i = 0; i < NCODECS; i++) {
    bool again = i > 0 && strcmp(codecs[i].name, codecs[i - 1].name) == 0;
    if (codecs[i].open != NULL && !again) list[n++] = codecs[i].name;
  }
  list[n] = NULL;
}

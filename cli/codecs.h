/*
 * codecs.h - compressed input, recognised by its magic number. What the libraries at hand can
 * unpack (zlib, zstd, liblzma, bzip2, lz4) is unpacked; the rest is named, so that it can be
 * refused: compressed bytes are never taken for lines.
 */
#ifndef NAY_CODECS_H
#define NAY_CODECS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum codec_result {
  CODEC_MORE, /* needs more input, or more room for output */
  CODEC_END,  /* a member or frame is complete; another may follow */
  CODEC_BAD,  /* damaged */
  CODEC_REFUSED
} codec_result;

/* Input and output of one step; the step moves the pointers. */
typedef struct codec_io {
  const uint8_t *in;
  size_t in_len;
  uint8_t *out;
  size_t out_len;
  bool last;       /* there is no input after this */
  const char *why; /* for CODEC_BAD and CODEC_REFUSED */
} codec_io;

typedef struct codec {
  const char *name;    /* "gzip" */
  const char *command; /* what unpacks it to standard output: "gzip -dc" */
  const char *magic;
  size_t magic_len;
  void *(*open)(void); /* NULL: not in this program. Returns NULL when out of memory. */
  codec_result (*step)(void *state, codec_io *io);
  void (*close)(void *state);
} codec;

/*
 * codec_recognise: the codec of a file that starts with these bytes, or NULL. *more is set when
 * they are too few to tell.
 */
const codec *codec_recognise(const uint8_t *bytes, size_t len, bool *more);

/* codec_names: what this program can unpack; ends in NULL. */
#define CODEC_NAMES 16
void codec_names(const char *list[CODEC_NAMES]);

/* CODEC_MAGIC: no magic number is longer. */
#define CODEC_MAGIC 10

#endif /* NAY_CODECS_H */

/*
 * source.h - the bytes of an input file: plain, or decompressed when it starts with the magic
 * number of a codec (see codecs.h).
 */
#ifndef NAY_SOURCE_H
#define NAY_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct source source;

/* Why a file could not be read, and the exit status that says so: 3 when its bytes are damaged. */
typedef struct source_failure {
  int status;
  bool binary; /* it was recognised as no text, before anything was read as keys */
  char text[512];
} source_failure;

/* AS_KEYS: the end of a message about a file that is refused. */
#define AS_KEYS ", or --no-decompress to read its bytes as keys"

/* source_use: what a file is read for, as messages say it. */
typedef struct source_use {
  const char *wanted;     /* "keys" */
  bool text;              /* in lines or rows: binary files are refused with `decompress` */
  bool skips_mark;        /* a UTF-8 byte order mark at the start is no part of the text */
  bool decompress;        /* if it is compressed; filters are refused then */
  bool has_no_decompress; /* the command has --no-decompress: say so where it helps */
  bool has_element;       /* the same for -e */
  const char *unpack;     /* of a file that was decompressed: the command that does it; else NULL */
} source_use;

/*
 * source_open: "-" is standard input. False when it cannot, with the reason in `fail`; *s is NULL
 * then. It is set before anything is read: a thread may be cancelled where this file waits for
 * input, and nowhere else in it, and leaves *s to be closed.
 */
bool source_open(const char *path, const source_use *use, source **s, source_failure *fail);

/* source_exists: whether the file can be opened now, for commands that need all of several. */
bool source_exists(const char *path, const source_use *use, source_failure *fail);

/* UTF8_MARK: U+FEFF, which some editors write at the start of a text in UTF-8. */
#define UTF8_MARK "\xef\xbb\xbf"
#define UTF8_MARK_LEN 3u

/* source_read: bytes put into dst, 0 at the end, -1 with the reason in `fail`. cap: of the first
 * call at least UTF8_MARK_LEN. */
ssize_t source_read(source *s, void *dst, size_t cap, source_failure *fail);

/* source_unpack_command: "gzip -dc" for a file that is decompressed by gzip; NULL: as it is. */
const char *source_unpack_command(const source *s);

/* source_is_idle: whether a read would wait now. */
bool source_is_idle(const source *s);

/* source_whole: reads the rest of a compressed file; false, and why, when it is corrupt: what
 * seemed wrong with its contents is then no surprise. */
bool source_whole(source *s, source_failure *fail);

/* source_position: how many bytes of the file itself have been read, for progress. */
uint64_t source_position(const source *s);

void source_close(source *s);

/* source_fail: fills *fail as printf does. */
void source_fail(source_failure *fail, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* NAY_SOURCE_H */

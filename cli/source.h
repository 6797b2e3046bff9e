/*
 * source.h - the bytes of an input file: plain, or unpacked when it starts with the magic number of
 * a codec (see codecs.h).
 */
#ifndef NAY_SOURCE_H
#define NAY_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct source source;

#define SOURCE_FAIL 512

/* source_open: "-" is standard input. NULL when it cannot, with the reason in `fail`. */
source *source_open(const char *path, bool decompress, char fail[SOURCE_FAIL]);

/* source_read: bytes put into dst, 0 at the end, -1 with the reason in `fail`. */
ssize_t source_read(source *s, void *dst, size_t cap, char fail[SOURCE_FAIL]);

/* source_position: how many bytes of the file itself have been read, for progress. */
uint64_t source_position(const source *s);

void source_close(source *s);

#endif /* NAY_SOURCE_H */

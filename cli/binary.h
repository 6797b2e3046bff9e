/*
 * binary.h - files that are neither lines nor rows of text. Those that begin with a known magic
 * number are named, so that the message can say what to do; text has no zero bytes, so the others
 * are recognised by the first one: see stream.c.
 */
#ifndef NAY_BINARY_H
#define NAY_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source.h"

typedef struct binary_format {
  const char *name;    /* "a SQLite database" */
  const char *command; /* what makes text of it, or what to do instead */
  const char *magic;
  size_t magic_len;
} binary_format;

/* binary_recognise: what a file is that starts with these bytes, or NULL. *more is set when they
 * are too few to tell, else left alone. */
const binary_format *binary_recognise(const uint8_t *bytes, size_t len, bool *more);

/*
 * binary_orc: whether a file of nbytes, which starts with these bytes, is an ORC file, or the
 * stream of Bloom filters in one, alone. fd, for the end of the file, may be -1 or a pipe.
 * binary_container: the name of a file that holds filters, such as "a Puffin file", or NULL.
 */
typedef enum orc_kind { ORC_NONE, ORC_FILE, ORC_STREAM, ORC_PRERELEASE } orc_kind;
orc_kind binary_orc(int fd, const uint8_t *head, size_t len, uint64_t nbytes);
const char *binary_container(int fd, const uint8_t *head, size_t len, uint64_t nbytes);

/*
 * binary_refuse: why a file with a zero byte at `place` ("line 7") is not read. `start` is the
 * start of the file, or its len is 0: there UTF-16 is recognised. binary_refuse_utf16: the same for
 * a file with the byte order mark of UTF-16.
 */
void binary_refuse(source_failure *fail, const source_use *use, const char *name, const char *place,
                   const uint8_t *start, size_t len);
void binary_refuse_utf16(source_failure *fail, const source_use *use, const char *name);

#endif /* NAY_BINARY_H */

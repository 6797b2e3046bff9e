/* binary.c - see binary.h. */
#include "binary.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* A magic number has a byte that no text has, or is too long for a key to begin with it by chance.
 */
#define MAGIC(text) text, sizeof text - 1

static const binary_format formats[] = {
    {"a SQLite database", "sqlite3 FILE 'SELECT column FROM table' | nay ...",
     MAGIC("SQLite format 3\0")},
    {"a Parquet file", "write its column as CSV first", MAGIC("PAR1\x15")},
    {"an Arrow file", "write its column as CSV first", MAGIC("ARROW1\0\0")},
    {"an Avro file", "write its field as text first", MAGIC("Obj\x01")},
    {"an HDF5 file", "write its column as CSV first", MAGIC("\x89HDF\r\n\x1a\n")},
    {"an Excel or Word file of the old format", "save it as CSV first",
     MAGIC("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")},
    {"a PNG image", "give a file of text", MAGIC("\x89PNG\r\n\x1a\n")},
    {"a program (ELF)", "give a file of text",
     MAGIC("\x7f"
           "ELF")},
};
#define NFORMATS (sizeof formats / sizeof formats[0])

const binary_format *binary_recognise(const uint8_t *bytes, size_t len, bool *more) {
  for (size_t i = 0; i < NFORMATS; i++) {
    const binary_format *f = &formats[i];
    size_t n = len < f->magic_len ? len : f->magic_len;
    if (memcmp(bytes, f->magic, n) != 0) continue;
    if (n == f->magic_len) return f;
    *more = true;
  }
  return NULL;
}

/* Whether the n bytes at `at` of a regular file are these. */
static bool binary_is_at(int fd, uint64_t at, const char *bytes, size_t n) {
  char read[4];
  return fd >= 0 && pread(fd, read, n, (off_t)at) == (ssize_t)n && memcmp(read, bytes, n) == 0;
}

/* A number of protobuf; the number of its bytes, 0: it is cut off. */
static size_t orc_varint(const uint8_t *at, size_t len, uint64_t *number) {
  *number = 0;
  for (size_t i = 0; i < len && i < 10; i++) {
    *number |= (uint64_t)(at[i] & 0x7f) << (7 * i);
    if (at[i] < 0x80) return i + 1;
  }
  return 0;
}

/*
 * The stream is a list (0a) of messages that begin with k (08). Writers before the first release
 * put the number of keys there and their words as numbers (18): readers of today, which take the
 * first for k, deny every member.
 */
static orc_kind orc_stream(const uint8_t *head, size_t len, uint64_t nbytes) {
  uint64_t message, k;
  size_t at = 1, n = len > 1 && head[0] == 0x0a ? orc_varint(head + 1, len - 1, &message) : 0;
  at += n;
  if (n == 0 || message < 4 || message > nbytes - at || at + 2 > len || head[at] != 0x08) {
    return ORC_NONE;
  }
  n = orc_varint(head + at + 1, len - at - 1, &k);
  at += 1 + n;
  if (n == 0 || k == 0 || at >= len) return ORC_NONE;
  uint8_t tag = head[at];
  if (tag == 0x18 || (tag == 0x11 && k > 255)) return ORC_PRERELEASE;
  return tag == 0x1a || tag == 0x11 ? ORC_STREAM : ORC_NONE;
}

orc_kind binary_orc(int fd, const uint8_t *head, size_t len, uint64_t nbytes) {
  /* an ORC file starts and, before its last byte, ends with its name */
  if (len >= 4 && memcmp(head, "ORC", 3) == 0 && binary_is_at(fd, nbytes - 4, "ORC", 3)) {
    return ORC_FILE;
  }
  return orc_stream(head, len, nbytes);
}

const char *binary_container(int fd, const uint8_t *head, size_t len, uint64_t nbytes) {
  static const char *const orc[] = {NULL, "an ORC file", "a stream of ORC's Bloom filters",
                                    "a stream of ORC's Bloom filters"};
  if (len >= 4 && memcmp(head, "PFA1", 4) == 0 && binary_is_at(fd, nbytes - 4, "PFA1", 4)) {
    return "a Puffin file";
  }
  return orc[binary_orc(fd, head, len, nbytes)];
}

#define ZEROS_END "; -0 if zero bytes end the keys"
#define UTF16_LOOK 64u /* bytes */

/* In ASCII text one byte of each pair is zero, and always the same one. */
static bool utf16_is(const uint8_t *bytes, size_t len, size_t zero) {
  size_t n = (len < UTF16_LOOK ? len : UTF16_LOOK) / 2;
  for (size_t i = 0; i < n; i++) {
    if (bytes[2 * i + zero] != 0 || bytes[2 * i + 1 - zero] == 0) return false;
  }
  return n >= 2;
}

/* ", or --no-decompress to read its bytes as keys": of a file that was decompressed these are not
 * the bytes that the message is about. */
static const char *as_keys(const source_use *use, char *text, size_t cap) {
  text[0] = '\0';
  if (!use->has_no_decompress) return text;
  if (use->unpack == NULL) return AS_KEYS;
  snprintf(text, cap, ", or %s FILE | nay ... --no-decompress to read its bytes as keys",
           use->unpack);
  return text;
}

/* "iconv -f UTF-16LE -t UTF-8 FILE", of the decompressed text if need be. */
static const char *iconv_command(const source_use *use, const char *order, char *text, size_t cap) {
  bool packed = use->unpack != NULL;
  snprintf(text, cap, "%s%siconv -f UTF-16%s -t UTF-8%s", packed ? use->unpack : "",
           packed ? " FILE | " : "", order, packed ? "" : " FILE");
  return text;
}

#define HINT_TEXT 128u

void binary_refuse(source_failure *fail, const source_use *use, const char *name, const char *place,
                   const uint8_t *start, size_t len) {
  char keys[HINT_TEXT], iconv[HINT_TEXT];
  const char *utf16 = utf16_is(start, len, 1) ? "LE" : utf16_is(start, len, 0) ? "BE" : NULL;
  const char *zeros = use->has_no_decompress ? ZEROS_END : "";
  if (utf16 != NULL) {
    source_fail(fail, EXIT_TROUBLE, "%s is UTF-16 without a byte order mark: %s | nay ...%s%s",
                name, iconv_command(use, utf16, iconv, sizeof iconv), zeros,
                as_keys(use, keys, sizeof keys));
    return;
  }
  source_fail(fail, EXIT_TROUBLE, "%s is binary, not text: %s has a zero byte%s%s", name, place,
              zeros, as_keys(use, keys, sizeof keys));
}

void binary_refuse_utf16(source_failure *fail, const source_use *use, const char *name) {
  char keys[HINT_TEXT], iconv[HINT_TEXT];
  source_fail(fail, EXIT_TROUBLE, "%s is UTF-16: %s | nay ...%s", name,
              iconv_command(use, "", iconv, sizeof iconv), as_keys(use, keys, sizeof keys));
}

/* binary.c - see binary.h. */
#include "binary.h"

#include <stdio.h>
#include <string.h>

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

/*
 * fuzz_formats.c - other systems' bytes. An input starts with the name of a format and a newline;
 * without a name that is known, its first byte picks one. The rest is the filter. The corpus has
 * names, so that a format added to the list does not turn its inputs into those of another. A Redis
 * DUMP is read as it is and with a checksum that fits, so that what is inside is read.
 */
#include "support/exercise.h"
#include "support/seal.h"

static const nay_format *picked(const uint8_t *data, size_t size, size_t *start) {
  size_t nformats = 0;
  const uint8_t *end = memchr(data, '\n', size);
  for (; nay_format_at(nformats) != NULL; nformats++) {
    const char *name = nay_format_name(nay_format_at(nformats));
    size_t len = strlen(name);
    if (end != NULL && (size_t)(end - data) == len && memcmp(data, name, len) == 0) {
      *start = len + 1;
      return nay_format_at(nformats);
    }
  }
  *start = 1;
  return nay_format_at(data[0] % nformats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  size_t start;
  const nay_format *format = picked(data, size, &start);
  size_t len = size - start;
  uint8_t *p = malloc(len == 0 ? 1 : len); /* exactly as long, for the sanitizer */
  if (p == NULL) return 0;
  memcpy(p, data + start, len);
  exercise_bytes(format, p, len, len, true);
  (void)nay_format_recognise(p, len);
  if (strncmp(nay_format_name(format), "redis-dump", 10) == 0) {
    seal_dump(p, len);
    exercise_bytes(format, p, len, len, true);
  }
  free(p);
  return 0;
}

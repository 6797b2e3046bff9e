/*
 * fuzz_formats.c - other systems' bytes. The first byte picks the format, the rest is the filter.
 * Its highest bit makes the checksum of a Redis DUMP right, so that what is inside is read.
 */
#include "support/exercise.h"
#include "support/seal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  size_t nformats = 0, len = size - 1;
  while (nay_format_at(nformats) != NULL) nformats++;
  uint8_t *p = malloc(len == 0 ? 1 : len);
  if (p == NULL) return 0;
  memcpy(p, data + 1, len);
  const nay_format *format = nay_format_at((data[0] & 0x7f) % nformats);
  bool is_dump = strncmp(nay_format_name(format), "redis-dump", 10) == 0;
  if (is_dump && (data[0] & 0x80) != 0) seal_dump(p, len);
  exercise_bytes(format, p, len, len, true);
  (void)nay_format_recognise(p, len);
  free(p);
  return 0;
}

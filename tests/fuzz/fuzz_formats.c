/* fuzz_formats.c - other systems' bytes. The first byte picks the format, the rest is the filter.
 */
#include "support/exercise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  size_t nformats = 0, len = size - 1;
  while (nay_format_at(nformats) != NULL) nformats++;
  uint8_t *p = malloc(len == 0 ? 1 : len);
  if (p == NULL) return 0;
  memcpy(p, data + 1, len);
  exercise_bytes(nay_format_at(data[0] % nformats), p, len, len, true);
  (void)nay_format_recognise(p, len);
  free(p);
  return 0;
}

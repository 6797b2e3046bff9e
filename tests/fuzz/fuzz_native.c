/*
 * fuzz_native.c - native files from an enemy. The first byte says how: bit 0, the digests are made
 * right first, so that the fuzzer gets past them; bit 1, statistics and round trips as well, which
 * take ten times as long. The rest is the file.
 */
#include "support/exercise.h"
#include "support/native.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  size_t len = size - 1;
  uint8_t *p = malloc(len == 0 ? 1 : len); /* exact: a read past the end is seen */
  if (p == NULL) return 0;
  memcpy(p, data + 1, len);
  if ((data[0] & 1) != 0) native_seal(p, len);
  exercise_bytes(nay_format_find("nay"), p, len, data[0], (data[0] & 2) != 0);
  free(p);
  return 0;
}

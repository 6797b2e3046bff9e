/*
 * fuzz_snappy.c - bytes that claim to be compressed by snappy, for the decoder of the WebAssembly
 * module (web/wasm/snappy.c): it reads and writes nothing outside, and what it accepts is all
 * there.
 */
#include "../../web/wasm/snappy.h"
#include "support/exercise.h"

#define FUZZ_MOST ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t len;
  if (nayw_snappy_size(NULL, data, size, &len) != NAY_OK || len > FUZZ_MOST) return 0;
  uint8_t *one = malloc(len + 1), *two = malloc(len + 1);
  CHECK(one != NULL && two != NULL);
  memset(one, 0, len + 1);
  memset(two, 0xff, len + 1);
  bool ok = nayw_snappy_uncompress(NULL, data, size, one, len) == NAY_OK;
  CHECK((nayw_snappy_uncompress(NULL, data, size, two, len) == NAY_OK) == ok);
  CHECK(!ok || memcmp(one, two, len) == 0); /* no byte was left unwritten */
  CHECK(one[len] == 0 && two[len] == 0xff);
  free(one);
  free(two);
  return 0;
}

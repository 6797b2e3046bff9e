/*
 * fuzz_codecs.c - bytes that claim to be a compressed block: the first chooses the codec. No codec
 * reads outside of them or writes outside of the size it said; and the bytes themselves,
 * compressed, come back.
 */
#include <nay_codecs.h>

#include "support/exercise.h"

static void take_apart(const nay_sst_codec *c, const uint8_t *block, size_t len) {
  size_t size;
  if (c->uncompressed_size(c->ctx, block, len, &size) != NAY_OK || size > 1u << 22) return;
  uint8_t *out = malloc(size != 0 ? size : 1);
  CHECK(out != NULL);
  (void)c->uncompress(c->ctx, block, len, out, size);
  free(out);
}

static void there_and_back(const nay_sst_codec *c, const uint8_t *bytes, size_t len) {
  size_t n, size;
  uint8_t *packed = malloc(c->bound(c->ctx, len) + 1), *back = malloc(len + 1);
  CHECK(packed != NULL && back != NULL);
  size_t cap = c->bound(c->ctx, len);
  CHECK(c->compress(c->ctx, bytes, len, packed, cap, &n) == NAY_OK && n <= cap);
  CHECK(c->uncompressed_size(c->ctx, packed, n, &size) == NAY_OK && size == len);
  CHECK(c->uncompress(c->ctx, packed, n, back, len) == NAY_OK && memcmp(back, bytes, len) == 0);
  free(packed);
  free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
#define CODEC_KIND(name, id, text) NAY_CODEC_##name,
  static const nay_codec_kind kinds[] = {NAY_CODECS(CODEC_KIND) NAY_CODEC_ZSTD_UNSIZED};
  if (size == 0) return 0;
  const nay_sst_codec *c = nay_codec_find(kinds[data[0] % (sizeof kinds / sizeof *kinds)]);
  if (c == NULL) return 0; /* built without it */
  uint8_t *copy = malloc(size);
  CHECK(copy != NULL);
  memcpy(copy, data + 1, size - 1);
  take_apart(c, copy, size - 1);
  there_and_back(c, copy, size - 1);
  free(copy);
  return 0;
}

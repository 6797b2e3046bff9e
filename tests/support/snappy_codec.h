/* snappy_codec.h - snappy for tables, through libsnappy. */
#ifndef NAY_TEST_SNAPPY_CODEC_H
#define NAY_TEST_SNAPPY_CODEC_H

#include <snappy-c.h>

#include "nay_sst.h"

static inline size_t snappy_bound(void *ctx, size_t len) {
  (void)ctx;
  return snappy_max_compressed_length(len);
}

static inline nay_status snappy_pack(void *ctx, const void *src, size_t len, void *dst, size_t cap,
                                     size_t *written) {
  (void)ctx;
  *written = cap;
  return snappy_compress(src, len, dst, written) == SNAPPY_OK ? NAY_OK : NAY_EINVAL;
}

static inline nay_status snappy_size(void *ctx, const void *src, size_t len, size_t *size) {
  (void)ctx;
  return snappy_uncompressed_length(src, len, size) == SNAPPY_OK ? NAY_OK : NAY_ECORRUPT;
}

static inline nay_status snappy_unpack(void *ctx, const void *src, size_t len, void *dst,
                                       size_t size) {
  (void)ctx;
  return snappy_uncompress(src, len, dst, &size) == SNAPPY_OK ? NAY_OK : NAY_ECORRUPT;
}

static const nay_sst_codec snappy_codec = {.size = sizeof snappy_codec,
                                           .id = 1,
                                           .bound = snappy_bound,
                                           .compress = snappy_pack,
                                           .uncompressed_size = snappy_size,
                                           .uncompress = snappy_unpack};
static const nay_sst_codec *const snappy_codecs[] = {&snappy_codec};

#endif /* NAY_TEST_SNAPPY_CODEC_H */

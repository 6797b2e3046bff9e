/* memory_file.h - bytes in memory as a nay_sst_file whose reads must lie within them. */
#ifndef NAY_TEST_MEMORY_FILE_H
#define NAY_TEST_MEMORY_FILE_H

#include <stdlib.h>
#include <string.h>

#include "nay_sst.h"

typedef struct memory_file {
  const uint8_t *at;
  size_t len;
} memory_file;

static inline nay_status memory_read(void *ctx, uint64_t at, void *dst, size_t len,
                                     nay_diag *diag) {
  const memory_file *m = ctx;
  (void)diag;
  if (at > m->len || len > m->len - at) abort(); /* a reader asks for what is there */
  if (len != 0) memcpy(dst, m->at + at, len);
  return NAY_OK;
}

#endif /* NAY_TEST_MEMORY_FILE_H */

/* append_operator.h - a merge operator for tests: the older bytes, then the newer ones. */
#ifndef NAY_TEST_APPEND_OPERATOR_H
#define NAY_TEST_APPEND_OPERATOR_H

#include <string.h>

#include "nay_sst_merge.h"

static inline nay_status append_operator(void *ctx, const nay_sst_operands *o, void *dst,
                                         size_t cap, size_t *written) {
  (void)ctx;
  *written = o->older_len + o->newer_len;
  if (*written > cap) return NAY_EBUFFER;
  if (o->older_len != 0) memcpy(dst, o->older, o->older_len);
  if (o->newer_len != 0) memcpy((char *)dst + o->older_len, o->newer, o->newer_len);
  return NAY_OK;
}

#endif /* NAY_TEST_APPEND_OPERATOR_H */

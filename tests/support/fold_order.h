/* fold_order.h - an order of letters without case: keys of other bytes are equal in it. */
#ifndef NAY_TEST_FOLD_ORDER_H
#define NAY_TEST_FOLD_ORDER_H

#include "nay_sst.h"

static inline int fold_compare(void *ctx, const void *a, size_t a_len, const void *b,
                               size_t b_len) {
  const uint8_t *p = a, *q = b;
  (void)ctx;
  for (size_t i = 0; i < a_len && i < b_len; i++) {
    int x = p[i] | 0x20, y = q[i] | 0x20;
    if (x != y) return x < y ? -1 : 1;
  }
  return (a_len > b_len) - (a_len < b_len);
}

static const nay_sst_comparator fold = {
    .size = sizeof fold, .name = "test.fold", .compare = fold_compare, .equal_may_differ = true};

#endif /* NAY_TEST_FOLD_ORDER_H */

/* ranges.h - for tests of range filters: a model of a set of numbers, and a filter of it. */
#ifndef NAY_TEST_RANGES_H
#define NAY_TEST_RANGES_H

#include <stdlib.h>

#include "nay_range.h"
#include "support/test.h"

/* splitmix64 */
static inline uint64_t test_random(uint64_t *state) {
  return nay_hash_mix(*state += 0x9e3779b97f4a7c15u);
}

static inline bool model_any(const uint64_t *keys, size_t n, uint64_t lo, uint64_t hi) {
  size_t a = 0, b = n;
  while (a < b) {
    size_t m = a + (b - a) / 2;
    if (keys[m] < lo)
      a = m + 1;
    else
      b = m;
  }
  return a < n && keys[a] <= hi;
}

static inline int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static inline size_t sort_unique(uint64_t *keys, size_t n) {
  size_t m = 0;
  qsort(keys, n, sizeof *keys, by_value);
  for (size_t i = 0; i < n; i++) {
    if (m == 0 || keys[m - 1] != keys[i]) keys[m++] = keys[i];
  }
  return m;
}

static inline nay_filter *build(const nay_params *params, const uint64_t *keys, size_t n) {
  nay_builder *b;
  nay_filter *f;
  nay_diag diag = {.what = NULL};
  assert_int_equal(nay_builder_new(params, NULL, &diag, &b), NAY_OK);
  for (size_t i = 0; i < n; i++) {
    uint8_t key[8];
    assert_int_equal(nay_builder_add(b, nay_range_key(keys[i], key), 8), NAY_OK);
  }
  assert_int_equal(nay_builder_finish(b, &diag, &f), NAY_OK);
  nay_builder_free(b);
  return f;
}

static inline bool ask(const nay_filter *f, uint64_t lo, uint64_t hi) {
  bool maybe = true;
  assert_int_equal(nay_filter_may_contain_range_u64(f, lo, hi, &maybe), NAY_OK);
  return maybe;
}

#endif /* NAY_TEST_RANGES_H */

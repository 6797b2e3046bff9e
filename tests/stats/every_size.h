/* every_size.h - builds sets of many sizes: none may fail, none may give up. */
#ifndef NAY_TEST_EVERY_SIZE_H
#define NAY_TEST_EVERY_SIZE_H

#include "support/static_sets.h"

static const struct {
  const char *name;
  nay_kind kind;
  uint32_t k;
} every_layout[] = {{"fuse-3", NAY_FUSE, 3},
                    {"fuse-4", NAY_FUSE, 4},
                    {"xor", NAY_XOR, 3},
                    {"ribbon", NAY_RIBBON, 0}};
#define N_EVERY_LAYOUT (sizeof every_layout / sizeof every_layout[0])

/* One build; the build itself verifies every key. */
static inline void every_size_one(size_t layout, const uint64_t *x, size_t n) {
  nay_params p = set_params(every_layout[layout].kind, 1.0 / 256, every_layout[layout].k);
  nay_filter *f = NULL;
  nay_stats stats = {.size = sizeof stats};
  nay_status status = nay_filter_build(&p, x, n, NULL, NULL, &f);
  if (status != NAY_OK)
    fail_msg("%s, n = %zu: %s", every_layout[layout].name, n, nay_status_name(status));
  assert_int_equal(f->nkeys, n);
  assert_ok(nay_filter_stats(f, &stats));
  /* a ribbon of few keys is a Bloom filter, whose rate scatters with the keys; giving up is 1 */
  double most = every_layout[layout].kind == NAY_RIBBON && f->shape.extra == 0 ? 0.25 : 1.05 / 256;
  if (stats.fpr_now > most) fail_msg("%s, n = %zu gave up", every_layout[layout].name, n);
  nay_filter_free(f);
}

/* Sizes lo, lo + step, ... hi, each with `seeds` sets. */
static inline void every_size(size_t layout, size_t lo, size_t hi, size_t step, unsigned seeds) {
  uint64_t *x = malloc((hi + 1) * sizeof *x);
  assert_non_null(x);
  for (size_t n = lo; n <= hi; n += step) {
    for (unsigned s = 0; s < seeds; s++) {
      uint64_t from = ((uint64_t)n << 32) + ((uint64_t)s << 24);
      for (size_t i = 0; i < n; i++) x[i] = nay_hash_mix(from + i);
      every_size_one(layout, x, n);
    }
  }
  free(x);
}

#endif /* NAY_TEST_EVERY_SIZE_H */

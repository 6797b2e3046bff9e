/*
 * test_static_sizes.c - static builds never fail: every n up to 2000, every 37th up to 20,000, the
 * sizes where other libraries fail, plateau edges, and half of the keys twice. The whole sweep,
 * every n up to 20,000 with 20 sets each, is test_static_every_size.c.
 */
#include "stats/every_size.h"

static void small_sizes(void **state) {
  (void)state;
  for (size_t l = 0; l < N_EVERY_LAYOUT; l++) {
    every_size(l, 0, 2000, 1, 3);
    every_size(l, 2000, 20000, 37, 1);
  }
}

/* A library of binary fuse filters failed for 22 to 38 % of the sets of these sizes. */
static void sizes_near_11500(void **state) {
  (void)state;
  for (size_t l = 0; l < N_EVERY_LAYOUT; l++) every_size(l, 11480, 11521, 1, 5);
}

/* Where the segment length doubles (floor of ln n / ln 3.33 + 2.25, ln n / ln 2.91 - 0.5), where
 * shards begin, and either side of it. */
static void plateau_edges(void **state) {
  (void)state;
  static const size_t edges[] = {
      38362,   127745,  425393, 1416559, /* 3.33^(j - 2.25) */
      33000,   96031,   279451, 813203,  /* 2.91^(j + 0.5) */
      7767,    196400,  340000,          /* ribbon: a layer more, a part more, a layer more */
      2097151, 2097152,                  /* fuse: two shards */
  };
  for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
    for (size_t l = 0; l < N_EVERY_LAYOUT; l++) every_size(l, edges[i] - 1, edges[i] + 1, 1, 1);
  }
}

static void half_of_them_twice(void **state) {
  (void)state;
  for (size_t l = 0; l < N_EVERY_LAYOUT; l++) {
    for (size_t n = 2; n <= 1000000; n = n * 7 + 1) {
      uint64_t *x = set_random(n, n);
      for (size_t i = 0; i < n / 2; i++) x[n - 1 - i] = x[i];
      nay_params p = set_params(every_layout[l].kind, 1.0 / 256, every_layout[l].k);
      nay_filter *f = set_build(&p, x, n), *g = set_build(&p, x, n - n / 2);
      set_same_bytes(f, g);
      nay_filter_free(f);
      nay_filter_free(g);
      free(x);
    }
  }
}

int main(void) {
  const test_case tests[] = {TEST(small_sizes), TEST(sizes_near_11500), TEST(plateau_edges),
                             TEST(half_of_them_twice)};
  return run_all(tests);
}

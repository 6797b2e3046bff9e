/* test_map_every_size.c - static maps of every n from 0 to 20,000 with 4 sets each, and edges up to
 * 10 M: none fails, and none has more blocks than a ribbon filter of so many keys. The build itself
 * verifies every value. */
#include "support/maps.h"

static void one_map(size_t n, uint64_t seed, uint32_t flags) {
  pairs p = pairs_of(n, 1 + (unsigned)(n % 9), seed);
  nay_params params = params_of(0, 0);
  params.flags = flags;
  params.threads = 2;
  nay_filter *map = build(&params, &p);
  assert_int_equal(map->nkeys, n);
  assert_true(map->shape.nunits <= nay__burr_blocks(n));
  nay_filter_free(map);
  pairs_free(&p);
}

static void every_size_to_20000(void **state) {
  (void)state;
  for (size_t n = 0; n <= 20000; n++) {
    for (uint64_t set = 0; set < 4; set++) one_map(n, n << 4 | set, 0);
  }
}

/* Where the number of parts or layers changes, and where a build with little memory has groups. */
static void edges_to_10_million(void **state) {
  (void)state;
  static const size_t edges[] = {100000,  196608,  262144,  500000,  1000000,
                                 2097152, 4194304, 4717142, 8388608, 10000000};
  for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
    for (size_t n = edges[i] - 1; n <= edges[i] + 1; n++) {
      one_map(n, i, 0);
      if (n > 4000000) one_map(n, i, NAY_LOW_MEMORY);
    }
  }
}

int main(void) {
  const test_case tests[] = {TEST(every_size_to_20000), TEST(edges_to_10_million)};
  return run_all(tests);
}

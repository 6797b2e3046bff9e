/* test_static_every_size.c - every n from 0 to 20,000 with 20 sets each, and edges up to 10 M. */
#include "stats/every_size.h"

static void every_size_to_20000(void **state) {
  every_size(*(const size_t *)*state, 0, 20000, 1, 20);
}

static void edges_to_10_million(void **state) {
  size_t layout = *(const size_t *)*state;
  static const size_t edges[] = {1000000, 2097152, 3145728, 4717142, 10000000};
  for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
    every_size(layout, edges[i] - 1, edges[i] + 1, 1, 1);
  }
}

int main(void) {
  static const size_t numbers[N_EVERY_LAYOUT] = {0, 1, 2, 3};
  test_case tests[2 * N_EVERY_LAYOUT];
  for (size_t l = 0; l < N_EVERY_LAYOUT; l++) {
    tests[2 * l] = (test_case)TEST_WITH(every_layout[l].name, every_size_to_20000, &numbers[l]);
    tests[2 * l + 1] = (test_case)TEST_WITH("edges to 10 M", edges_to_10_million, &numbers[l]);
  }
  return run_list("static_every_size", tests, 2 * N_EVERY_LAYOUT);
}

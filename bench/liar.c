/*
 * liar.c - a plug-in with one wrong filter, for the test: it is very fast, and has a false negative
 * for every 1,000th key, which the runner must detect. It is also the smallest example of an
 * adapter that is built separately.
 */
#include <stdlib.h>

#include "adapter.h"

const bench_adapter *nay_bench_adapters(size_t *n);

static void *liar_add(const bench_adapter *a, const bench_keys *keys) {
  (void)a;
  (void)keys;
  return malloc(1);
}

static size_t liar_probe(const void *filter, const bench_keys *keys) {
  (void)filter;
  return keys->n - keys->n / 1000;
}

static uint64_t liar_nbytes(const void *filter) {
  (void)filter;
  return 1;
}

const bench_adapter *nay_bench_adapters(size_t *n) {
  static const bench_adapter liar = {.library = "test",
                                     .version = "1",
                                     .name = "liar",
                                     .family = "blocked",
                                     .takes_hashes = true,
                                     .add = liar_add,
                                     .probe = liar_probe,
                                     .nbytes = liar_nbytes,
                                     .free = free};
  *n = 1;
  return &liar;
}

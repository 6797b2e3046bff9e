/*
 * batch.c - many keys in one call: their cache misses overlap. The answer is a bitmap.
 *
 *   $ batch
 *   10000 keys added, 9978 of them new to the filter
 *   of 10000 others 96 are maybe: 0.96%
 *   as a column: 96
 */
#include <nay_column.h>
#include <stdio.h>

#define N 10000

static uint64_t ids[2 * N], bitmap[NAY_BITMAP_WORDS(N)];
static const void *keys[2 * N];
static size_t lens[2 * N];

static int count_bits(void) { return (int)nay_bitmap_count(bitmap, N); }

int main(void) {
  nay_params params = {sizeof params, .kind = NAY_BLOCKED, .nkeys = N, .fpr = 0.01};
  nay_filter *filter;
  if (nay_filter_new(&params, NULL, NULL, &filter) != NAY_OK) return 1;
  for (size_t i = 0; i < 2 * N; i++) {
    ids[i] = i;
    keys[i] = &ids[i];
    lens[i] = sizeof ids[i];
  }
  if (nay_filter_add_many(filter, keys, lens, N, bitmap, NULL) != NAY_OK) return 1;
  printf("%d keys added, %d of them new to the filter\n", N, count_bits());
  if (nay_filter_may_contain_many(filter, keys + N, lens + N, N, bitmap) != NAY_OK) return 1;
  printf("of %d others %d are maybe: %.2f%%\n", N, count_bits(), 100.0 * count_bits() / N);
  nay_column column = {sizeof column, .bytes = ids + N, .nbytes = N * sizeof ids[0],
                       .width = sizeof ids[0]};
  if (nay_filter_may_contain_column(filter, &column, N, bitmap) != NAY_OK) return 1;
  printf("as a column: %d\n", count_bits());
  nay_filter_free(filter);
  return 0;
}

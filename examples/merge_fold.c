/*
 * merge_fold.c - filters of two shards, of different size, become one; then it shrinks to fit.
 *
 *   $ merge_fold
 *   shard a: 497664 bytes, about 19999 keys, FPR now 0.0000%
 *   merged:  248832 bytes, about 29984 keys, FPR now 0.0002%
 *   folded:   41472 bytes, about 29965 keys, FPR now 0.6379%
 */
#include <nay_advanced.h>
#include <stdio.h>

static nay_filter *shard(uint64_t planned, uint64_t first, uint64_t last) {
  nay_params params = {sizeof params, .kind = NAY_BLOCKED, .nkeys = planned, .fpr = 0.01};
  nay_filter *filter;
  if (nay_filter_new(&params, NULL, NULL, &filter) != NAY_OK) return NULL;
  for (uint64_t id = first; id < last; id++) nay_filter_add(filter, &id, sizeof id, NULL);
  return filter;
}

static void show(const char *what, const nay_filter *filter) {
  nay_stats s = {.size = sizeof s};
  if (nay_filter_stats(filter, &s) != NAY_OK) return;
  printf("%s %6.0f bytes, about %.0f keys, FPR now %.4f%%\n", what, (double)s.nbits / 8,
         s.nkeys_estimated, 100 * s.fpr_now);
}

int main(void) {
  nay_filter *a = shard(400000, 0, 20000), *b = shard(200000, 20000, 30000);
  uint64_t factor;
  show("shard a:", a);
  if (nay_filter_merge(a, b, 0.01, NULL) != NAY_OK) return 1; /* refused above an FPR of 1% */
  show("merged: ", a);
  if (nay_filter_fold_factor(a, 0.01, &factor) != NAY_OK) return 1; /* the largest that keeps 1% */
  if (nay_filter_fold(a, factor, NULL) != NAY_OK) return 1;         /* no keys are needed */
  show("folded: ", a);
  nay_filter_free(a);
  nay_filter_free(b);
  return 0;
}

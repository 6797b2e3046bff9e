/*
 * save_mmap.c - write a filter to a file, read it back, and probe the file in place.
 *
 *   $ save_mmap
 *   opened: 5 is maybe, 1000005 is nay
 *   mapped: 5 is maybe, 1000005 is nay, read-only, healthy
 */
#include <nay.h>
#include <stdio.h>

static const char *answer(const nay_filter *filter, uint64_t key) {
  return nay_filter_may_contain(filter, &key, sizeof key) ? "maybe" : "nay";
}

int main(void) {
  nay_params params = {sizeof params, .nkeys = 100000, .fpr = 0.001};
  nay_filter *filter, *opened, *mapped;
  nay_diag diag;
  if (nay_filter_new(&params, NULL, NULL, &filter) != NAY_OK) return 1;
  for (uint64_t key = 0; key < params.nkeys; key++) nay_filter_add(filter, &key, sizeof key, NULL);
  if (nay_filter_save(filter, "ids.nay", &diag) != NAY_OK) {
    fprintf(stderr, "save_mmap: %s\n", diag.what);
    return 1;
  }

  /* in memory of its own, every byte verified */
  if (nay_filter_open("ids.nay", NULL, &diag, &opened) != NAY_OK) return 1;
  printf("opened: 5 is %s, 1000005 is %s\n", answer(opened, 5), answer(opened, 1000005));

  /* in place, each 64 KiB verified at its first touch: opening costs nothing, whatever the size */
  if (nay_filter_mmap("ids.nay", NAY_MMAP_LAZY, NULL, &diag, &mapped) != NAY_OK) return 1;
  printf("mapped: 5 is %s, 1000005 is %s, %s, %s\n", answer(mapped, 5), answer(mapped, 1000005),
         nay_filter_clear(mapped) == NAY_ENOTSUP ? "read-only" : "writable",
         nay_filter_health(mapped) == NAY_OK ? "healthy" : "damaged");
  nay_filter_free(mapped);
  nay_filter_free(opened);
  nay_filter_free(filter);
  return 0;
}

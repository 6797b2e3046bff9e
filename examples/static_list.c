/*
 * static_list.c - publish a list once, probe it everywhere: a static filter is built, saved, mapped
 * and probed in batches. Needs nay.h alone.
 *
 *   $ static_list
 *   100000 keys, 6.7 bits for each, a file of 84391 bytes
 *   of 1000 listed keys 1000 are maybe
 *   of 1000 others 5 are maybe, the first is key 200058
 *   fpr 2: NAY_EINVAL, fpr is not between 0 and 1
 */
#include <nay.h>
#include <stdio.h>

#define LISTED 100000u
#define N 1000u

static int failed(const char *step, nay_status status, const nay_diag *diag) {
  fprintf(stderr, "%s: %s: %s\n", step, nay_status_name(status), diag->what);
  return 1;
}

int main(void) {
  nay_params params = {sizeof params, .kind = NAY_RIBBON, .fpr = 0.01};
  nay_stats stats = {.size = sizeof stats};
  nay_diag diag = {.what = ""};
  nay_builder *builder;
  nay_filter *filter, *list;
  nay_status status = nay_builder_new(&params, NULL, &diag, &builder);
  if (status != NAY_OK) return failed("new", status, &diag);
  for (uint64_t id = 0; id < LISTED; id++) nay_builder_add(builder, &id, sizeof id);
  status = nay_builder_finish(builder, &diag, &filter);
  nay_builder_free(builder);
  if (status != NAY_OK) return failed("build", status, &diag);
  status = nay_filter_save(filter, "list.nay", &diag);
  if (status != NAY_OK) return failed("save", status, &diag);
  if (nay_filter_stats(filter, &stats) != NAY_OK) return 1;
  printf("%u keys, %.1f bits for each, a file of %zu bytes\n", LISTED, (double)stats.nbits / LISTED,
         nay_filter_encoded_size(filter));
  nay_filter_free(filter);

  status = nay_filter_mmap("list.nay", 0, NULL, &diag, &list);
  if (status != NAY_OK) return failed("mmap", status, &diag);
  for (int round = 0; round < 2; round++) {
    uint64_t ids[N], bitmap[NAY_BITMAP_WORDS(N)];
    const void *keys[N];
    size_t lens[N];
    for (size_t i = 0; i < N; i++) {
      ids[i] = i + (round == 0 ? 0 : 2 * LISTED);
      keys[i] = &ids[i];
      lens[i] = sizeof ids[i];
    }
    status = nay_filter_may_contain_many(list, keys, lens, N, bitmap);
    if (status != NAY_OK) return 1;
    printf("of %u %s %zu are maybe", N, round == 0 ? "listed keys" : "others",
           nay_bitmap_count(bitmap, N));
    if (round == 1)
      printf(", the first is key %llu", (unsigned long long)ids[nay_bitmap_next(bitmap, N, 0)]);
    puts("");
  }
  nay_filter_free(list);

  params.fpr = 2;
  status = nay_builder_new(&params, NULL, &diag, &builder);
  printf("fpr 2: %s, %s\n", nay_status_name(status), diag.what);
  return 0;
}

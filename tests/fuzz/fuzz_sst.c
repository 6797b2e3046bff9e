/*
 * fuzz_sst.c - tables. The first byte picks how they are read; the rest is the file, tried as it is
 * and with checksums that fit.
 */
#include "nay_sst_cache.h"
#include "support/sst_seal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const nay_sst_codec *codecs[] = {&invert_codec};
  nay_policy builtin = {.size = sizeof builtin}, small = {.size = sizeof small};
  nay_sst_prefix prefix = {.size = sizeof prefix};
  const nay_policy *policies[] = {&builtin, &small};
  nay_sst_comparator reverse = {.size = sizeof reverse};
  nay_sst_cache *cache = NULL;
  size_t len = size - 1;
  uint8_t *p = malloc(len == 0 ? 1 : len); /* exactly as long, for the sanitizer */
  if (p == NULL) return 0;
  memcpy(p, data + 1, len);
  if (nay_policy_leveldb(10, &builtin) != NAY_OK || nay_policy_small(10, &small) != NAY_OK ||
      nay_sst_prefix_fixed(3, &prefix) != NAY_OK ||
      nay_sst_comparator_reverse(&reverse) != NAY_OK ||
      nay_sst_cache_new(5000, 5000, NULL, &cache)) {
    abort();
  }
  nay_sst_read_options how = {.size = sizeof how,
                              .keys = (nay_sst_keys)(data[0] % 3),
                              .codecs = codecs,
                              .ncodecs = data[0] >> 2 & 1,
                              .policies = policies,
                              .npolicies = 2,
                              .prefix = data[0] & 8 ? &prefix : NULL,
                              .cache = data[0] & 16 ? cache : NULL,
                              .flags = ((data[0] & 20) == 20 ? NAY_SST_BUDGETED : 0) |
                                       (data[0] & 32 ? NAY_SST_NO_FILTERS : 0) |
                                       (data[0] & 128 ? NAY_SST_STORED_COMPARATOR : 0),
                              .comparator = data[0] & 64 ? &reverse : NULL,
                              .max_block_bytes = 1 << 16};
  (void)exercise_table(p, len, &how);
  seal_table(p, len);
  (void)exercise_table(p, len, &how);
  nay_sst_cache_free(cache);
  free(p);
  return 0;
}

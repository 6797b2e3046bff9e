/*
 * fuzz_sst.c - tables. The first byte picks how they are read; the rest is the file, tried as it is
 * and with checksums that fit. A walk through read calls of the caller, with readahead, and gets of
 * the keys that it meets, must end as those over the bytes do.
 */
#include "nay_sst_cache.h"
#include "nay_sst_iter.h"
#include "support/sst_seal.h"

#define MAX_STEPS 2000u

/* A table must not ask for bytes outside of the file. */
typedef struct own_bytes {
  const uint8_t *at;
  size_t len;
} own_bytes;

static nay_status read_own(void *ctx, uint64_t at, void *dst, size_t len, nay_diag *diag) {
  (void)diag;
  const own_bytes *own = ctx;
  if (at > own->len || len > own->len - at) abort();
  memcpy(dst, own->at + at, len);
  return NAY_OK;
}

static bool same_entry(const nay_sst_iter *a, const nay_sst_iter *b) {
  size_t na, nb;
  const void *x = nay_sst_iter_key(a, &na), *y = nay_sst_iter_key(b, &nb);
  if (na != nb || memcmp(x, y, na) != 0) return false;
  x = nay_sst_iter_value(a, &na);
  y = nay_sst_iter_value(b, &nb);
  return na == nb && (na == 0 || memcmp(x, y, na) == 0);
}

static void get_both(const nay_sst *a, const nay_sst *b, const void *key, size_t len) {
  nay_sst_value v = {.size = sizeof v}, w = {.size = sizeof w};
  nay_status s = nay_sst_get(a, key, len, NAY_SST_NEWEST, NULL, &v),
             t = nay_sst_get(b, key, len, NAY_SST_NEWEST, NULL, &w);
  if (s != t || (s == NAY_OK && (v.len != w.len || memcmp(v.bytes, w.bytes, v.len) != 0))) abort();
  nay_sst_value_free(&v);
  nay_sst_value_free(&w);
}

static void walk_both(const nay_sst *a, const nay_sst *b) {
  nay_sst_iter *i, *j;
  if (nay_sst_iter_new(a, NULL, &i) != NAY_OK || nay_sst_iter_new(b, NULL, &j) != NAY_OK) abort();
  nay_status s = nay_sst_iter_first(i), t = nay_sst_iter_first(j);
  for (unsigned n = 0; s == NAY_OK && t == NAY_OK && n < MAX_STEPS; n++) {
    if (!same_entry(i, j)) abort();
    size_t len;
    const void *key = nay_sst_iter_key(i, &len);
    if (n % 8 == 0) get_both(a, b, key, len);
    if (n % 8 == 0 && len >= 8) get_both(a, b, key, len - 8);
    s = nay_sst_iter_next(i);
    t = nay_sst_iter_next(j);
  }
  if (s != t) abort();
  nay_sst_iter_free(i);
  nay_sst_iter_free(j);
}

static void compare_own(uint8_t *p, size_t len, nay_sst_read_options how) {
  own_bytes own = {p, len};
  nay_sst_file file = {sizeof file, len, read_own, NULL, &own};
  nay_sst *a = NULL, *b = NULL;
  nay_status view = nay_sst_view(p, len, &how, NULL, NULL, &a);
  how.readahead = 300;
  nay_status read = nay_sst_open_file(&file, &how, NULL, NULL, &b);
  if (view != read) abort();
  if (view == NAY_OK) walk_both(a, b);
  nay_sst_free(a);
  nay_sst_free(b);
}

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
  if (nay_policy_find(NAY_POLICY_LEVELDB, 10, &builtin) != NAY_OK ||
      nay_policy_find(NAY_POLICY_SMALL, 10, &small) != NAY_OK ||
      nay_sst_prefix_find("nay.fixed.3", &prefix) != NAY_OK ||
      nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reverse) != NAY_OK ||
      nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 5000, 5000, false},
                        NULL, NULL, &cache)) {
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
                              .flags = (data[0] & 16 ? NAY_SST_BUDGETED : 0) |
                                       ((data[0] & 20) == 20 ? NAY_SST_PINNED : 0) |
                                       (data[0] & 32 ? NAY_SST_NO_FILTERS : 0) |
                                       (data[0] & 128 ? NAY_SST_STORED_COMPARATOR : 0),
                              .comparator = data[0] & 64 ? &reverse : NULL,
                              .max_block_bytes = 1 << 16};
  (void)exercise_table(p, len, &how);
  compare_own(p, len, how);
  seal_table(p, len);
  (void)exercise_table(p, len, &how);
  compare_own(p, len, how);
  nay_sst_cache_free(cache);
  free(p);
  return 0;
}

/* test_hash_many.c - hashing in batches gives what hashing one by one gives, for every hash. */
#include "nay_format.h"
#include "support/hashes.h"
#include "support/keys.h"
#include "support/test.h"

#define N 300

static void check_filter(nay_filter *f, bool two_words) {
  static uint8_t bytes[N][KEY_MAX];
  const void *keys[N];
  size_t lens[N];
  uint64_t lo[N], hi[N];
  for (size_t i = 0; i < N; i++) {
    lens[i] = key_sets[i % N_KEY_SETS].make(i, bytes[i]);
    keys[i] = bytes[i];
  }
  keys[7] = NULL; /* the empty key */
  lens[7] = 0;
  assert_ok(filter_hash_many(f, keys, lens, N, lo, hi));
  for (size_t i = 0; i < N; i++) {
    nay_hash h;
    assert_ok(filter_hash(f, keys[i], lens[i], &h));
    assert_true(lo[i] == h.lo && hi[i] == h.hi);
  }
  assert_status(filter_hash_many(f, keys, lens, N, lo, NULL), two_words ? NAY_EINVAL : NAY_OK);
  assert_ok(filter_hash_many(f, NULL, NULL, 0, NULL, NULL));
  lens[7] = 1;
  assert_status(filter_hash_many(f, keys, lens, N, lo, hi), NAY_EINVAL);
  nay_filter_free(f);
}

static void native_hashes(void **state) {
  (void)state;
  nay_filter *f;
  nay_params p = {sizeof p, .kind = NAY_BLOCKED, .nkeys = 100, .fpr = 0.01, .seed = 42};
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  check_filter(f, false);
  p = (nay_params){.size = sizeof(nay_params),
                   .kind = NAY_BLOOM,
                   .nkeys = 1,
                   .fpr = 0.5,
                   .hash = NAY_HASH_SIPHASH};
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  check_filter(f, false);
  p.hash = NAY_HASH_CALLER;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  uint64_t lo;
  const void *key = "k";
  size_t len = 1;
  assert_status(filter_hash_many(f, &key, &len, 1, &lo, NULL), NAY_ENOTSUP);
  nay_filter_free(f);
}

static void foreign_hashes(void **state) {
  (void)state;
  const char *names[] = {"leveldb", "mini-lsm", "nori", "lab"};
  for (size_t i = 0; i < 4; i++) {
    nay_filter *f;
    nay_params p = {sizeof p, .nkeys = 100, .bits_per_key = 10};
    assert_ok(nay_format_new(nay_format_find(names[i]), &p, NULL, NULL, &f));
    check_filter(f, i >= 2);
  }
}

int main(void) {
  const test_case tests[] = {TEST(native_hashes), TEST(foreign_hashes)};
  return run_all(tests);
}

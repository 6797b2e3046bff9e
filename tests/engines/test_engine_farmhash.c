/*
 * test_engine_farmhash.c - against the C++ FarmHash as it runs. mini-lsm's crate agrees with it but
 * for keys of 1 to 4 bytes with a byte of 0x80 or above, and so do we (src/hash/farm32.c).
 */
#include "engines.h"
#include "golden/golden.h"
#include "support/hashes.h"

static bool crate_differs(const uint8_t *key, size_t len) {
  bool high = false;
  for (size_t i = 0; i < len; i++) high |= key[i] >= 0x80;
  return len <= 4 && high;
}

static void fingerprint32_is_farmhash(void **state) {
  (void)state;
  nay_params p = {sizeof p, .nkeys = 1, .bits_per_key = 10};
  nay_filter *f;
  unsigned same = 0, differ = 0;
  assert_ok(nay_format_new(nay_format_find("mini-lsm"), &p, NULL, NULL, &f));
  for (size_t len = 0; len <= 1024; len++) {
    for (uint64_t round = 0; round < (len <= 32 ? 200 : 4); round++) {
      uint8_t key[1024] = {0};
      uint8_t mask = round % 2 == 0 ? 0x7f : 0xff; /* half of them ASCII */
      for (size_t i = 0; i < len; i++) {
        key[i] = (uint8_t)nay_hash_mix(len << 32 | round << 16 | i) & mask;
      }
      nay_hash hash;
      assert_ok(filter_hash(f, key, len, &hash));
      bool equal = hash.lo == engine_farmhash_fingerprint32(key, len);
      assert_int_equal(equal, !crate_differs(key, len));
      same += equal;
      differ += !equal;
    }
  }
  assert_true(same > 5000 && differ > 300);
  nay_filter_free(f);
}

int main(void) {
  const test_case tests[] = {TEST(fingerprint32_is_farmhash)};
  return run_all(tests);
}

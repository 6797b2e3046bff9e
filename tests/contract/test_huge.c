/* test_huge.c - sizes above 32 bits: filters of 2^33 bits, a key of a gigabyte. */
#include "contract.h"
#include "family/bitarray.h"
#include "support/hashes.h"

#define RANDOM (&key_sets[3])
#define HALF ((size_t)512 << 20) /* bit 2^32 is the first of this byte */

/* One gibibyte of filter: keys land on both sides of bit 2^32, evenly, and none is lost. */
static void keys_land_past_bit_2_to_the_32(void **state) {
  const uint64_t n = 100000;
  nay_params p = {sizeof p, .kind = ((const nay_family *)*state)->kind, .nkeys = n, .k = 4};
  p.nbits = (uint64_t)1 << 33;
  nay_filter *f = contract_new(&p);
  contract_add(f, RANDOM, 0, n);
  assert_all_maybe(f, RANDOM, 0, n);
  assert_int_equal(f->nbytes, 2 * HALF);
  uint64_t low = nay__bits_count(f->bits.bytes, HALF);
  uint64_t high = nay__bits_count(f->bits.bytes + HALF, HALF);
  /* k * n coins, those of one key together at worst: sigma is below sqrt(n)/2 * k = 632 */
  assert_in_range(low, 2 * n - 4000, 2 * n + 4000);
  assert_in_range(high, 2 * n - 4000, 2 * n + 4000);
  /* the last bits of all: somewhere in the last thousandth (400 bits are expected there) */
  assert_true(nay__bits_count(f->bits.bytes + 2 * HALF - 2 * HALF / 1000, 2 * HALF / 1000) > 100);
  unsigned wrong = 0;
  for (uint64_t i = n; i < 2 * n; i++) wrong += contract_has(f, RANDOM, i);
  assert_int_equal(wrong, 0); /* a rate below 1e-12 */
  nay_stats s = stats_of(f);
  assert_int_equal(s.nbits, p.nbits);
  assert_int_equal(s.nbits_set, low + high);
  assert_close(s.nkeys_estimated, (double)n, 0.001);
  assert_true(nay_filter_encoded_size(f) > 2 * HALF);
  nay_filter_free(f);
}

/* Batches of concurrent adds set the same bits, on both sides of bit 2^32. */
static void concurrent_batches_reach_every_bit(void **state) {
  const nay_family *family = *state;
  static uint64_t lo[20000], bitmap[20000 / 64 + 1];
  if (!family->concurrent) return;
  nay_params p = {sizeof p, .kind = family->kind, .nkeys = 20000, .k = 4};
  p.nbits = ((uint64_t)1 << 33) + 4096;
  nay_filter *plain = contract_new(&p);
  p.flags = NAY_CONCURRENT;
  nay_filter *f = contract_new(&p);
  for (size_t i = 0; i < 20000; i++) lo[i] = nay_hash_mix(i);
  assert_ok(nay_filter_add_hash_many(plain, lo, NULL, 20000, NULL, NULL));
  assert_ok(nay_filter_add_hash_many(f, lo, NULL, 10000, NULL, NULL));
  assert_ok(nay_filter_add_hash_many(f, lo + 10000, NULL, 10000, bitmap, NULL));
  assert_int_equal(memcmp(plain->bits.bytes, f->bits.bytes, f->nbytes), 0);
  nay_filter_free(plain);
  nay_filter_free(f);
}

/* Folding and merging count in 64 bits as well: 2^33 bits down to 2^20. */
static void huge_filters_fold(void **state) {
  nay_params p = {sizeof p, .kind = ((const nay_family *)*state)->kind, .nkeys = 1000, .k = 4};
  p.nbits = (uint64_t)1 << 33;
  nay_params small = p;
  small.nbits = (uint64_t)1 << 20;
  nay_filter *f = contract_new(&p), *g = contract_new(&small);
  contract_add(f, RANDOM, 0, 1000);
  contract_add(g, RANDOM, 0, 1000);
  assert_ok(nay_filter_fold(f, (uint64_t)1 << 13, NULL));
  assert_true(filters_equal(f, g));
  nay_filter_free(f);
  nay_filter_free(g);
}

/* A key of 1 GiB and one byte; only the last byte differs. */
static void a_gigabyte_is_a_key(void **state) {
  size_t len = ((size_t)1 << 30) + 1;
  uint8_t *key = calloc(len, 1);
  assert_non_null(key);
  nay_params plain = contract_params(*state, 10), keyed = contract_keyed(*state, 10);
  const nay_params *both[] = {&plain, &keyed};
  for (size_t i = 0; i < 2; i++) {
    nay_filter *f = contract_build(both[i], RANDOM, 0, 10);
    nay_hash one, two, shorter;
    key[len - 1] = 0;
    assert_ok(filter_hash(f, key, len, &one));
    assert_ok(filter_hash(f, key, len - 1, &shorter));
    key[len - 1] = 1;
    assert_ok(filter_hash(f, key, len, &two));
    assert_true(one.lo != two.lo && one.lo != shorter.lo && two.lo != shorter.lo);
    nay_filter_free(f);
  }
  free(key);
}

int main(void) {
  const contract_test tests[] = {
      CONTRACT_SETS(keys_land_past_bit_2_to_the_32, NAY_CAN_FOLD),
      CONTRACT_SETS(concurrent_batches_reach_every_bit, NAY_CAN_FOLD),
      CONTRACT_SETS(huge_filters_fold, NAY_CAN_FOLD),
      CONTRACT_SETS(a_gigabyte_is_a_key, NAY_CAN_FOLD),
  };
  return contract_run_all(tests);
}

/* test_bits.c - arithmetic on words. Compiled twice: see test_bits_portable.c. */
#include "base/bits.h"
#include "support/test.h"

__extension__ typedef unsigned __int128 wide;

static const uint64_t words[] = {0,
                                 1,
                                 2,
                                 3,
                                 63,
                                 64,
                                 0xffff,
                                 0x10000,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 0x100000000u,
                                 0x9e3779b97f4a7c15u,
                                 0x7fffffffffffffffu,
                                 0x8000000000000000u,
                                 UINT64_MAX - 1,
                                 UINT64_MAX};
#define N_WORDS (sizeof words / sizeof words[0])

static void assert_product(uint64_t a, uint64_t b) {
  uint64_t high = (uint64_t)((wide)a * b >> 64);
  assert_true(nay__mulhi(a, b) == high);
  assert_true(nay__reduce(a, b) == high);
}

static void the_high_half_of_a_product(void **state) {
  (void)state;
  for (size_t i = 0; i < N_WORDS; i++) {
    for (size_t j = 0; j < N_WORDS; j++) assert_product(words[i], words[j]);
  }
  for (uint64_t i = 0; i < 100000; i++) assert_product(nay_hash_mix(i), nay_hash_mix(~i));
}

/* What makes folding exact: position p of f * n is position p / f of n. */
static void reducing_keeps_order(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 100000; i++) {
    uint64_t h = nay_hash_mix(i), n = nay_hash_mix(i + 1) >> (i % 50 + 14), f = 1 + i % 60;
    if (n == 0) continue;
    assert_true(nay__reduce(h, n) < n);
    assert_true(nay__reduce(h, n * f) / f == nay__reduce(h, n));
  }
}

static void counting_bits(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 10000 + N_WORDS; i++) {
    uint64_t x = i < N_WORDS ? words[i] : nay_hash_mix(i) & nay_hash_mix(i * 3);
    unsigned count = 0;
    for (unsigned b = 0; b < 64; b++) count += (unsigned)(x >> b & 1);
    assert_int_equal(nay__popcount64(x), count);
  }
}

static void rotating(void **state) {
  (void)state;
  assert_int_equal(nay__rotl32(0x80000001u, 1), 3);
  assert_int_equal(nay__rotr32(3, 1), 0x80000001u);
  assert_true(nay__rotl64(0x8000000000000001u, 1) == 3);
  for (unsigned r = 1; r < 32; r++) {
    assert_int_equal(nay__rotl32(nay__rotr32(0xdeadbeefu, r), r), 0xdeadbeefu);
    assert_true(nay__rotl64(nay__rotl64(0x0123456789abcdefu, r), 64 - r) == 0x0123456789abcdefu);
  }
}

static void common_divisors(void **state) {
  (void)state;
  assert_int_equal(nay__gcd(12, 18), 6);
  assert_int_equal(nay__gcd(18, 12), 6);
  assert_int_equal(nay__gcd(7, 0), 7);
  assert_int_equal(nay__gcd(0, 7), 7);
  assert_int_equal(nay__gcd(1, UINT64_MAX), 1);
  assert_true(nay__gcd((uint64_t)60 << 40, (uint64_t)90 << 39) == (uint64_t)15 << 40);
}

int main(void) {
  const test_case tests[] = {
      TEST(the_high_half_of_a_product),
      TEST(reducing_keeps_order),
      TEST(counting_bits),
      TEST(rotating),
      TEST(common_divisors),
  };
  return run_all(tests);
}

/* test_bitarray.c - whole-array operations against one bit at a time, at every length and address.
 */
#include "family/bitarray.h"
#include "support/test.h"

#define MAX_LEN 70

static void random_bytes(uint8_t *p, size_t len, uint64_t seed) {
  for (size_t i = 0; i < len; i++) p[i] = (uint8_t)nay_hash_mix(seed * 1000 + i);
}

static void bits_are_least_significant_first(void **state) {
  (void)state;
  uint8_t bits[4] = {0};
  assert_false(nay__bit_set(bits, 0));
  assert_false(nay__bit_set(bits, 9));
  assert_false(nay__bit_set(bits, 31));
  assert_true(nay__bit_set(bits, 9));
  const uint8_t expected[4] = {0x01, 0x02, 0x00, 0x80};
  assert_memory_equal(bits, expected, 4);
  for (uint64_t b = 0; b < 32; b++) {
    assert_int_equal(nay__bit_get(bits, b), b == 0 || b == 9 || b == 31);
  }
}

/* Lengths 0 to 70 at shifts 0 to 7: whole words and the rest of them. */
static void arrays_do_what_bits_do(void **state) {
  (void)state;
  for (size_t len = 0; len <= MAX_LEN; len++) {
    for (size_t shift = 0; shift < 8; shift++) {
      uint8_t room_a[MAX_LEN + 16], room_b[MAX_LEN + 16], either[MAX_LEN + 16], both[MAX_LEN + 16];
      uint8_t *a = room_a + shift, *b = room_b + 7 - shift;
      random_bytes(room_a, sizeof room_a, len * 8 + shift);
      random_bytes(room_b, sizeof room_b, ~(len * 8 + shift));
      memcpy(either, room_a, sizeof either);
      memcpy(both, room_a, sizeof both);
      uint64_t count = 0, count_or = 0;
      for (size_t i = 0; i < 8 * len; i++) {
        bool x = nay__bit_get(a, i), y = nay__bit_get(b, i);
        count += x;
        count_or += x || y;
      }
      assert_int_equal(nay__bits_count(a, len), count);
      assert_int_equal(nay__bits_count_or(a, b, len), count_or);
      nay__bits_or(either + shift, b, len);
      nay__bits_and(both + shift, b, len);
      for (size_t i = 0; i < 8 * len; i++) {
        bool x = nay__bit_get(a, i), y = nay__bit_get(b, i);
        assert_int_equal(nay__bit_get(either + shift, i), x || y);
        assert_int_equal(nay__bit_get(both + shift, i), x && y);
      }
      /* nothing outside was touched */
      assert_memory_equal(either, room_a, shift);
      assert_memory_equal(both + shift + len, room_a + shift + len, sizeof both - shift - len);
      assert_memory_equal(either + shift + len, room_a + shift + len, sizeof both - shift - len);
    }
  }
}

/* Every single bit past the end is seen, none before it is. */
static void tails_are_checked_bit_by_bit(void **state) {
  (void)state;
  uint8_t bits[24];
  for (uint64_t nbits = 0; nbits <= 8 * sizeof bits; nbits++) {
    memset(bits, 0, sizeof bits);
    assert_true(nay__bits_tail_clear(bits, sizeof bits, nbits));
    for (uint64_t b = 0; b < 8 * sizeof bits; b++) {
      nay__bit_set(bits, b);
      assert_int_equal(nay__bits_tail_clear(bits, sizeof bits, nbits), b < nbits);
      bits[b / 8] = 0;
    }
  }
}

/* Every start in arrays of every length up to three words, with 0, 1, 2 bits, and many. */
static void the_next_bit_is_found(void **state) {
  (void)state;
  for (uint64_t nbits = 1; nbits <= 192; nbits++) {
    for (unsigned nset = 0; nset <= 40; nset += nset < 2 ? 1 : 38) {
      uint8_t bits[24] = {0};
      for (unsigned i = 0; i < nset; i++) nay__bit_set(bits, nay_hash_mix(nbits * 64 + i) % nbits);
      uint64_t next = nbits;
      for (uint64_t from = nbits; from-- > 0;) {
        if (nay__bit_get(bits, from)) next = from;
        assert_int_equal(nay__bits_next(bits, from, nbits), next);
      }
      assert_int_equal(nay__bits_next(bits, nbits, nbits), nbits);
    }
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(bits_are_least_significant_first),
      TEST(arrays_do_what_bits_do),
      TEST(the_next_bit_is_found),
      TEST(tails_are_checked_bit_by_bit),
  };
  return run_all(tests);
}

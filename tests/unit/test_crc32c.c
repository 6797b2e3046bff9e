/* test_crc32c.c - every way to compute CRC-32C against the definition and published values. */
#include "base/bytes.h"
#include "block/crc32c.h"
#include "support/test.h"

#define MAX_LEN 3000

/* The definition, bit by bit. */
static uint32_t by_bits(uint32_t crc, const uint8_t *p, size_t len) {
  crc = ~crc;
  for (size_t i = 0; i < len; i++) {
    crc ^= p[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

/* RFC 3720, B.4, and the check value of the catalogues. */
static void published_values(void **unused) {
  (void)unused;
  uint8_t zeros[32] = {0}, ones[32], up[32], down[32];
  static const uint8_t read_pdu[48] = {
      0x01, 0xc0, 0, 0,    0, 0, 0, 0,    0,    0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 0x04, 0,
      0,    0,    0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0,    0};
  for (uint8_t i = 0; i < 32; i++) {
    ones[i] = 0xff;
    up[i] = i;
    down[i] = (uint8_t)(31 - i);
  }
  nay_crc32c crc;
  for (size_t i = 0; (crc = nay_sst__crc32c_at(i)) != NULL; i++) {
    assert_int_equal(crc(0, (const uint8_t *)"123456789", 9), 0xe3069283u);
    assert_int_equal(crc(0, zeros, 32), 0x8a9136aau);
    assert_int_equal(crc(0, ones, 32), 0x62a8ab43u);
    assert_int_equal(crc(0, up, 32), 0x46dd794eu);
    assert_int_equal(crc(0, down, 32), 0x113fdb5cu);
    assert_int_equal(crc(0, read_pdu, 48), 0xd9963a56u);
  }
}

static void every_way_and_length_agrees(void **unused) {
  (void)unused;
  static uint8_t bytes[MAX_LEN + 8];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)nay_hash_mix(i);
  for (size_t len = 0; len <= MAX_LEN; len += len < 1100 ? 1 : 61) {
    const uint8_t *p = bytes + len % 8; /* any alignment */
    uint32_t want = by_bits(0, p, len);
    size_t cut = len / 3;
    assert_int_equal(nay_sst__crc32c(0, p, len), want);
    nay_crc32c crc;
    for (size_t i = 0; (crc = nay_sst__crc32c_at(i)) != NULL; i++) {
      assert_int_equal(crc(0, p, len), want);
      assert_int_equal(crc(crc(0, p, cut), p + cut, len - cut), want);
    }
  }
}

/* LevelDB's mask: a rotation by 15 and a constant; it is never the identity on these. */
static void masks(void **unused) {
  (void)unused;
  uint32_t crc = nay_sst__crc32c(0, (const uint8_t *)"foo", 3);
  assert_int_not_equal(nay_sst__crc32c_mask(crc), crc);
  assert_int_not_equal(nay_sst__crc32c_mask(nay_sst__crc32c_mask(crc)), crc);
  assert_int_equal(nay_sst__crc32c_mask(0), 0xa282ead8u);
  assert_int_equal(nay_sst__crc32c_mask(1), 0xa284ead8u);
}

int main(void) {
  const test_case tests[] = {
      TEST(published_values),
      TEST(every_way_and_length_agrees),
      TEST(masks),
  };
  return run_all(tests);
}

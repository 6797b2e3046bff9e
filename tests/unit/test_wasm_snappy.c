/*
 * test_wasm_snappy.c - the snappy decoder of the WebAssembly module (web/wasm/snappy.c) beside
 * libsnappy: what that compresses is uncompressed, and of damaged input both say the same.
 */
#include <snappy-c.h>

#include "../../web/wasm/snappy.h"
#include "support/test.h"

#define ROOM 70000u

static uint64_t state = 88172645463325252u;

static uint64_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

/* Bytes of few values, with repeats near and far: literals and copies of all forms. */
static void fill(uint8_t *bytes, size_t len, unsigned values) {
  for (size_t i = 0; i < len;) {
    size_t run = 1 + next() % 70, back = i == 0 ? 0 : next() % i;
    if (i != 0 && next() % 3 == 0) {
      for (; run > 0 && i < len; run--, i++) bytes[i] = bytes[back++];
    } else {
      for (; run > 0 && i < len; run--, i++) bytes[i] = (uint8_t)(next() % values);
    }
  }
}

/* Whether both decoders agree; the output must be of the size that the input states. */
static bool agree(const uint8_t *packed, size_t len) {
  static uint8_t ours[ROOM], theirs[ROOM];
  size_t our_size = 0, their_size = 0;
  bool have = nayw_snappy_size(NULL, packed, len, &our_size) == NAY_OK;
  snappy_status said = snappy_uncompressed_length((const char *)packed, len, &their_size);
  if (have != (said == SNAPPY_OK)) return false;
  if (!have) return true;
  if (our_size != their_size) return false;
  if (our_size > ROOM) return true;      /* nobody would allocate that */
  uint8_t *exact = malloc(our_size + 1); /* so that a sanitizer sees a byte too many */
  bool ok = nayw_snappy_uncompress(NULL, packed, len, exact, our_size) == NAY_OK;
  memcpy(ours, exact, our_size);
  free(exact);
  their_size = ROOM;
  bool their_ok =
      snappy_uncompress((const char *)packed, len, (char *)theirs, &their_size) == SNAPPY_OK;
  if (ok != their_ok) return false;
  return !ok || (their_size == our_size && memcmp(ours, theirs, our_size) == 0);
}

static size_t compress(const uint8_t *bytes, size_t len, uint8_t *packed) {
  size_t packed_len = 2 * ROOM;
  assert_int_equal(snappy_compress((const char *)bytes, len, (char *)packed, &packed_len),
                   SNAPPY_OK);
  return packed_len;
}

static void test_uncompresses(void **unused) {
  static uint8_t bytes[ROOM], packed[2 * ROOM], out[ROOM];
  (void)unused;
  for (size_t len = 0; len < ROOM; len += len < 400 ? 1 : 1 + len / 7) {
    for (unsigned values = 1; values <= 256; values = values * 4 + 3) {
      fill(bytes, len, values);
      size_t packed_len = compress(bytes, len, packed), size;
      assert_ok(nayw_snappy_size(NULL, packed, packed_len, &size));
      assert_int_equal(size, len);
      assert_ok(nayw_snappy_uncompress(NULL, packed, packed_len, out, len));
      assert_memory_equal(out, bytes, len);
    }
  }
}

static void test_damaged(void **unused) {
  static uint8_t bytes[3000], packed[2 * ROOM];
  (void)unused;
  for (unsigned round = 0; round < 300; round++) {
    size_t len = next() % sizeof bytes;
    fill(bytes, len, 1 + (unsigned)(next() % 256));
    size_t packed_len = compress(bytes, len, packed);
    for (size_t cut = 0; cut < packed_len; cut += 1 + packed_len / 40) {
      assert_true(agree(packed, cut));
    }
    for (unsigned i = 0; i < 100; i++) {
      size_t at = next() % packed_len;
      uint8_t was = packed[at];
      packed[at] = (uint8_t)next();
      assert_true(agree(packed, packed_len));
      packed[at] = was;
    }
  }
}

static void test_noise(void **unused) {
  uint8_t noise[64];
  (void)unused;
  for (unsigned i = 0; i < 200000; i++) {
    size_t len = next() % sizeof noise;
    for (size_t j = 0; j < len; j++) noise[j] = (uint8_t)next();
    if (len > 0 && i % 2 == 0) noise[0] = (uint8_t)(len + next() % 64) & 0x7f;
    assert_true(agree(noise, len));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_uncompresses),
      cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_noise),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_lazy.c - chunks are verified once, at their first touch, each for itself. */
#include "base/bytes.h"
#include "family/lazy.h"
#include "hash/hash.h"
#include "support/test.h"

#define NCHUNKS 4u
#define BODY_LEN (3 * NAY_CHUNK + 1000) /* the last chunk is short */

typedef struct body {
  uint8_t *bytes;
  uint8_t digests[8 * NCHUNKS];
  nay_lazy *lazy;
} body;

static body body_make(void) {
  body b = {.bytes = malloc(BODY_LEN)};
  b.lazy = calloc(1, nay__lazy_size(NCHUNKS));
  assert_true(b.bytes != NULL && b.lazy != NULL);
  for (size_t i = 0; i < BODY_LEN; i++) b.bytes[i] = (uint8_t)nay_hash_mix(i / 64);
  for (size_t i = 0; i < NCHUNKS; i++) {
    size_t len = i + 1 < NCHUNKS ? NAY_CHUNK : BODY_LEN - 3 * NAY_CHUNK;
    nay__store64le(b.digests + 8 * i, XXH3_64bits(b.bytes + i * NAY_CHUNK, len));
  }
  b.lazy->body = b.bytes;
  b.lazy->body_len = BODY_LEN;
  b.lazy->nchunks = NCHUNKS;
  return b;
}

/* Separate, because a body that is returned by value moves its digests. */
static void body_arm(body *b) { b->lazy->digests = b->digests; }

static void body_free(body *b) {
  free(b->bytes);
  free(b->lazy);
}

static void good_chunks_are_good(void **state) {
  (void)state;
  body b = body_make();
  body_arm(&b);
  for (size_t i = 0; i < BODY_LEN; i += 777) assert_true(nay__lazy_ok(b.lazy, b.bytes + i));
  assert_true(nay__lazy_ok(b.lazy, b.bytes + BODY_LEN - 1));
  assert_true(nay__lazy_all_ok(b.lazy));
  assert_int_equal(b.lazy->bad, 0);
  body_free(&b);
}

/* One flipped bit spoils its own chunk, wherever in the chunk it is, and no other. */
static void a_flipped_bit_spoils_its_chunk(void **state) {
  (void)state;
  const size_t places[] = {0,           NAY_CHUNK - 1, NAY_CHUNK, 2 * NAY_CHUNK - 1, 3 * NAY_CHUNK,
                           BODY_LEN - 1};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    body b = body_make();
    body_arm(&b);
    b.bytes[places[i]] ^= 0x10;
    for (size_t chunk = 0; chunk < NCHUNKS; chunk++) {
      bool ok = nay__lazy_ok(b.lazy, b.bytes + chunk * NAY_CHUNK + 13);
      assert_int_equal(ok, chunk != places[i] / NAY_CHUNK);
    }
    assert_int_equal(b.lazy->bad, 1);
    assert_false(nay__lazy_all_ok(b.lazy));
    body_free(&b);
  }
}

/* The verdict is remembered: bytes that change later are not looked at again. */
static void verdicts_are_remembered(void **state) {
  (void)state;
  body b = body_make();
  body_arm(&b);
  assert_true(nay__lazy_ok(b.lazy, b.bytes));
  b.bytes[5] ^= 1;
  assert_true(nay__lazy_ok(b.lazy, b.bytes + 100)); /* good once, good for ever */
  b.bytes[NAY_CHUNK] ^= 1;
  assert_false(nay__lazy_ok(b.lazy, b.bytes + NAY_CHUNK));
  b.bytes[NAY_CHUNK] ^= 1;
  assert_false(nay__lazy_ok(b.lazy, b.bytes + NAY_CHUNK)); /* bad once, bad for ever */
  assert_true(nay__lazy_ok(b.lazy, b.bytes + 2 * NAY_CHUNK));
  body_free(&b);
}

int main(void) {
  const test_case tests[] = {
      TEST(good_chunks_are_good),
      TEST(a_flipped_bit_spoils_its_chunk),
      TEST(verdicts_are_remembered),
  };
  return run_all(tests);
}

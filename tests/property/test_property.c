/*
 * test_property.c - random tapes for the properties, and proof that the properties can fail.
 *
 *   test_property              20 000 random programs; a failure is shrunk and printed as hex
 *   test_property FILE...      replays tapes, telling each step
 */
#include "filter_program.h"
#include "support/test.h"

#define SEED 0x6e61792074617065u
#define MAX_LEN 160u

static void assert_holds(tape_property property, size_t ntapes) {
  uint8_t bytes[MAX_LEN];
  size_t len;
  if (!tape_search(property, SEED, ntapes, MAX_LEN, bytes, &len)) return;
  const char *why;
  tape_shrink(property, bytes, &len);
  tape_holds(property, bytes, len, &why);
  tape_print(stderr, why, bytes, len);
  fail_msg("%s", why);
}

static void programs_lose_no_key(void **state) {
  (void)state;
  assert_holds(property_filter_program, TEST_SCALE(20000));
}

/* A planted bug is found by random tapes and shrunk to at most `most` bytes. */
static void assert_caught(tape_property property, size_t most) {
  uint8_t bytes[MAX_LEN];
  size_t len;
  assert_true(tape_search(property, SEED, 2000, MAX_LEN, bytes, &len));
  tape_shrink(property, bytes, &len);
  assert_false(tape_holds(property, bytes, len, NULL));
  assert_true(tape_holds(property_filter_program, bytes, len, NULL)); /* the bug, not the tape */
  if (len > most) {
    tape_print(stderr, "shrunk only to", bytes, len);
    fail_msg("%zu bytes are left, more than %zu", len, most);
  }
}

/* family, hash, k, three sizes, then: add to slot 0 key 42. */
static void a_dropped_add_is_caught(void **state) {
  (void)state;
  assert_caught(property_with_a_dropped_add, 9);
}

/* The same start, then: add to slot 1, merge it into slot 0. */
static void a_lazy_merge_is_caught(void **state) {
  (void)state;
  assert_caught(property_with_a_lazy_merge, 12);
}

static void a_forgetful_file_is_caught(void **state) {
  (void)state;
  assert_caught(property_with_a_forgetful_file, 12);
}

/* A property of the machinery itself: what it shrinks to is known. */
static bool property_no_byte_above_100(tape *t) {
  while (tape_more(t)) {
    if (tape_byte(t) > 100) return tape_fail(t, "above 100");
  }
  return true;
}

static void tapes_shrink_to_the_least(void **state) {
  (void)state;
  uint8_t bytes[MAX_LEN];
  size_t len;
  assert_true(tape_search(property_no_byte_above_100, SEED, 1000, MAX_LEN, bytes, &len));
  tape_shrink(property_no_byte_above_100, bytes, &len);
  assert_int_equal(len, 1);
  assert_int_equal(bytes[0], 101);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    bool ok = true;
    for (int i = 1; i < argc; i++) ok &= tape_replay(property_filter_program, argv[i]);
    return ok ? 0 : 1;
  }
  const test_case tests[] = {
      TEST(tapes_shrink_to_the_least),  TEST(a_dropped_add_is_caught), TEST(a_lazy_merge_is_caught),
      TEST(a_forgetful_file_is_caught), TEST(programs_lose_no_key),
  };
  return run_all(tests);
}

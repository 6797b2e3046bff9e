/* test_sql_state.c - the states of nay_agg as bytes, which a server sends from process to process:
 * round trips, merges in any split, no memory, hostile bytes. */
#include "nay_sql.h"
#include "support/flaky.h"
#include "support/test.h"

enum { MAX_STATE = 1 << 20 };
static uint8_t state_a[MAX_STATE], state_b[MAX_STATE];

static const nay_sql_wish wishes[] = {{.nkeys = 0, .fpr = 0.01, .kind = NAY_AUTO},
                                      {.nkeys = 1000, .fpr = 0.01, .kind = NAY_AUTO},
                                      {.nkeys = 300, .fpr = 1e-6, .kind = NAY_BLOOM},
                                      {.nkeys = 1000, .fpr = 0.01, .kind = NAY_COUNTING},
                                      {.nkeys = 1000, .fpr = 0.01, .kind = NAY_CUCKOO},
                                      {.nkeys = 1000, .fpr = 0.01, .kind = NAY_SCALABLE},
                                      {.nkeys = 0, .fpr = 0.01, .kind = NAY_FUSE},
                                      {.nkeys = 1000, .fpr = 0.001, .kind = NAY_RIBBON}};
enum { NWISHES = sizeof wishes / sizeof *wishes };

static nay_sql_agg *state_of(const nay_sql_wish *wish, const nay_allocator *allocator, int from,
                             int to) {
  nay_sql_error error;
  nay_sql_agg *agg;
  if (nay_sql_agg_new(wish, allocator, &error, &agg) != NAY_OK) return NULL;
  for (int i = from; i < to; i++) {
    nay_sql_value value;
    nay_sql_int(&value, NAY_KEY_INT, i);
    if (nay_sql_agg_add(agg, &value, &error) != NAY_OK) {
      nay_sql_agg_free(agg);
      return NULL;
    }
  }
  return agg;
}

static size_t file_of(nay_sql_agg *agg, uint8_t *bytes) {
  nay_sql_error error;
  const nay_filter *filter;
  size_t len;
  assert_ok(nay_sql_agg_result(agg, &error, &filter));
  assert_ok(nay_filter_encode(filter, bytes, MAX_STATE, &len));
  return len;
}

static nay_sql_agg *sent(nay_sql_agg *agg, const nay_allocator *allocator) {
  nay_sql_error error;
  size_t len, need;
  nay_sql_agg *got;
  if (nay_sql_agg_encode(agg, NULL, 0, &error, &need) != NAY_OK) return NULL;
  assert_true(need <= MAX_STATE);
  if (nay_sql_agg_encode(agg, state_a, MAX_STATE, &error, &len) != NAY_OK) return NULL;
  assert_int_equal(len, need);
  assert_status(nay_sql_agg_encode(agg, state_b, need - 1, &error, &len), NAY_EBUFFER);
  return nay_sql_agg_decode(state_a, len, &(nay_sql_wish){0}, allocator, &error, &got) == NAY_OK
             ? got
             : NULL;
}

static void any_split_gives_the_same_filter(void **unused) {
  (void)unused;
  static uint8_t whole[MAX_STATE], parts[MAX_STATE];
  const int cuts[] = {0, 1, 255, 256, 257, 999, 1000};
  for (size_t w = 0; w < NWISHES; w++) {
    nay_sql_agg *one = state_of(&wishes[w], NULL, 0, 1000);
    size_t len = file_of(one, whole);
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
      nay_sql_error error;
      nay_sql_agg *a = state_of(&wishes[w], NULL, 0, cuts[c]);
      nay_sql_agg *b = state_of(&wishes[w], NULL, cuts[c] / 2, 1000); /* some keys twice */
      nay_sql_agg *a2 = sent(a, NULL), *b2 = sent(b, NULL);
      assert_non_null(a2);
      assert_non_null(b2);
      assert_ok(nay_sql_agg_merge(a2, b2, &error));
      assert_ok(nay_sql_agg_merge(a2, a, &error));
      size_t got = file_of(a2, parts);
      if (wishes[w].kind != NAY_COUNTING) { /* which counts duplicates */
        assert_int_equal(got, len);
        assert_memory_equal(parts, whole, len);
      }
      nay_sql_agg_free(a);
      nay_sql_agg_free(b);
      nay_sql_agg_free(a2);
      nay_sql_agg_free(b2);
    }
    nay_sql_agg_free(one);
  }
}

static void parts_that_differ_do_not_merge(void **unused) {
  (void)unused;
  for (size_t w = 0; w < NWISHES; w++) {
    for (size_t v = 0; v < NWISHES; v++) {
      nay_sql_error error = {0};
      nay_sql_agg *a = state_of(&wishes[w], NULL, 0, 10), *b = state_of(&wishes[v], NULL, 0, 10);
      assert_status(nay_sql_agg_merge(a, b, &error), w == v ? NAY_OK : NAY_EMISMATCH);
      nay_sql_value text;
      nay_sql_bytes(&text, NAY_KEY_TEXT, false, "7", 1);
      assert_status(nay_sql_agg_add(a, &text, &error), NAY_EINVAL);
      assert_non_null(strstr(error.message, "int"));
      nay_sql_agg_free(a);
      nay_sql_agg_free(b);
    }
  }
}

static void limits_are_refused(void **unused) {
  (void)unused;
  nay_sql_error error;
  nay_sql_wish wish = {.fpr = 0.01, .max_memory = 65536};
  nay_sql_agg *agg, *other = state_of(&wishes[0], NULL, 0, 20000);
  assert_null(state_of(&wish, NULL, 0, 20000));
  assert_ok(nay_sql_agg_new(&wish, NULL, &error, &agg));
  assert_status(nay_sql_agg_merge(agg, other, &error), NAY_EFULL);
  assert_true(strlen(error.hint) > 0);
  nay_sql_agg_free(agg);
  size_t len;
  assert_ok(nay_sql_agg_encode(other, state_a, MAX_STATE, &error, &len));
  assert_status(nay_sql_agg_decode(state_a, len, &wish, NULL, &error, &agg), NAY_EFULL);
  nay_sql_agg_free(other);
  wish = (nay_sql_wish){.nkeys = 1000000, .fpr = 0.01, .max_file = 1000000};
  assert_status(nay_sql_agg_new(&wish, NULL, &error, &agg), NAY_EFULL);
  wish = (nay_sql_wish){.fpr = 0.01, .max_file = 1000};
  agg = state_of(&wish, NULL, 0, 2000);
  const nay_filter *filter;
  assert_status(nay_sql_agg_result(agg, &error, &filter), NAY_EFULL);
  nay_sql_agg_free(agg);
}

/* A life with the allocation that fails moved along: all is freed, every time. */
static void no_memory_anywhere(void **unused) {
  (void)unused;
  for (size_t w = 0; w < NWISHES; w++) {
    bool failed = true;
    for (long at = 0; failed && at < 400; at++) {
      flaky heap = {.fail_at = at};
      nay_allocator allocator = flaky_allocator(&heap);
      nay_sql_error error;
      const nay_filter *filter;
      nay_sql_agg *a = state_of(&wishes[w], &allocator, 0, 1500), *b = NULL;
      if (a != NULL) b = sent(a, &allocator);
      if (b != NULL && nay_sql_agg_merge(b, a, &error) == NAY_OK)
        (void)nay_sql_agg_result(b, &error, &filter);
      nay_sql_agg_free(a);
      nay_sql_agg_free(b);
      failed = heap.calls > at;
      assert_true(flaky_is_clean(&heap));
    }
    assert_false(failed);
  }
}

static void hostile_states(void **unused) {
  (void)unused;
  uint64_t salt = 32;
  for (size_t w = 0; w < NWISHES; w++) {
    nay_sql_error error;
    nay_sql_agg *agg = state_of(&wishes[w], NULL, 0, 40), *got;
    size_t len;
    assert_ok(nay_sql_agg_encode(agg, state_a, MAX_STATE, &error, &len));
    for (int round = 0; round < 3000; round++) {
      memcpy(state_b, state_a, len);
      size_t use = len;
      for (int i = 0; i < 1 + round % 3; i++) {
        salt = nay_hash_mix(salt);
        size_t at = (size_t)(salt >> 16) % (salt % 4 != 0 && len > 96 ? 96 : len);
        if (salt % 16 < 8)
          state_b[at] ^= (uint8_t)(1u << (salt >> 8) % 8);
        else if (salt % 16 < 14)
          state_b[at] = (uint8_t)(salt >> 8);
        else
          use = at;
      }
      uint8_t *exact = malloc(use + !use);
      assert_non_null(exact);
      memcpy(exact, state_b, use);
      nay_sql_wish limits = {.max_memory = 1 << 20, .max_file = 1 << 24};
      if (nay_sql_agg_decode(exact, use, &limits, NULL, &error, &got) == NAY_OK) {
        const nay_filter *filter;
        (void)nay_sql_agg_merge(agg, got, &error);
        (void)nay_sql_agg_result(got, &error, &filter);
        nay_sql_agg_free(got);
      }
      free(exact);
    }
    nay_sql_agg_free(agg);
  }
}

int main(void) {
  const test_case tests[] = {TEST(any_split_gives_the_same_filter),
                             TEST(parts_that_differ_do_not_merge), TEST(limits_are_refused),
                             TEST(no_memory_anywhere), TEST(hostile_states)};
  return run_all(tests);
}

/* test_sql_growth.c - millions of distinct keys: states that are sent and merged in linear time. In
 * the order of their hash table they once took minutes, more than this test's time limit. */
#include "nay_sql.h"
#include "support/test.h"

static const nay_sql_wish wish = {.fpr = 0.01};

static nay_sql_agg *state_of(int from, int to) {
  nay_sql_error error;
  nay_sql_agg *agg;
  assert_ok(nay_sql_agg_new(&wish, NULL, &error, &agg));
  for (int i = from; i < to; i++) {
    nay_sql_value value;
    nay_sql_int(&value, NAY_KEY_INT, i);
    assert_ok(nay_sql_agg_add(agg, &value, &error));
  }
  return agg;
}

/* A table of 2^22 slots, six tenths of them used: the worst of what was. */
static void many_keys_are_sent_and_merged(void **unused) {
  (void)unused;
  const int n = (1 << 22) / 10 * 6, common = n / 4;
  nay_sql_agg *a = state_of(0, n), *b = state_of(n - common, 2 * n - common), *sent;
  nay_sql_error error;
  size_t len;
  assert_ok(nay_sql_agg_encode(b, NULL, 0, &error, &len));
  assert_int_equal(len, 32 + 8 * (size_t)n);
  uint8_t *bytes = malloc(len);
  assert_non_null(bytes);
  assert_ok(nay_sql_agg_encode(b, bytes, len, &error, &len));
  assert_ok(nay_sql_agg_decode(bytes, len, &wish, NULL, &error, &sent));
  assert_ok(nay_sql_agg_merge(a, sent, &error));
  assert_ok(nay_sql_agg_encode(a, NULL, 0, &error, &len));
  assert_int_equal(len, 32 + 8 * (size_t)(2 * n - common));
  free(bytes);
  nay_sql_agg_free(a);
  nay_sql_agg_free(b);
  nay_sql_agg_free(sent);
}

static size_t ninterrupts;
static void count_interrupt(void) { ninterrupts++; }

static void an_engine_may_interrupt(void **unused) {
  (void)unused;
  nay_sql_wish limits = {.interrupts = count_interrupt};
  nay_sql_agg *a = state_of(0, 200000), *sent;
  nay_sql_error error;
  size_t len;
  assert_ok(nay_sql_agg_encode(a, NULL, 0, &error, &len));
  uint8_t *bytes = malloc(len);
  assert_non_null(bytes);
  assert_ok(nay_sql_agg_encode(a, bytes, len, &error, &len));
  assert_ok(nay_sql_agg_decode(bytes, len, &limits, NULL, &error, &sent));
  assert_true(ninterrupts >= 200000 / 65536);
  ninterrupts = 0;
  assert_ok(nay_sql_agg_merge(sent, a, &error));
  assert_true(ninterrupts >= 200000 / 65536);
  free(bytes);
  nay_sql_agg_free(a);
  nay_sql_agg_free(sent);
}

int main(void) {
  const test_case tests[] = {TEST(many_keys_are_sent_and_merged), TEST(an_engine_may_interrupt)};
  return run_all(tests);
}

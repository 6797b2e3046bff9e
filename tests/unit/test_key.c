/*
 * test_key.c - typed keys: the golden vectors; one value, many spellings, one key; other values,
 * other keys; strtod as the oracle of floats; what is refused, where, and that nothing is touched.
 */
#include <inttypes.h>
#include <math.h>

#include "support/key_vectors.h"
#include "support/test.h"

static const nay_key_type all_types[] = {NAY_KEY_TEXT,         NAY_KEY_INT,
                                         NAY_KEY_FLOAT,        NAY_KEY_BOOL,
                                         NAY_KEY_DATE,         NAY_KEY_TIMESTAMP,
                                         NAY_KEY_UUID,         NAY_KEY_NUMERIC,
                                         NAY_KEY_HEX,          NAY_KEY_B64,
                                         NAY_KEY_ORDERED_INT,  NAY_KEY_ORDERED_FLOAT,
                                         NAY_KEY_ORDERED_DATE, NAY_KEY_ORDERED_TIMESTAMP};
#define N_TYPES (sizeof all_types / sizeof all_types[0])

typedef struct parsed_key {
  uint8_t bytes[1024];
  size_t len;
} parsed_key;

static parsed_key parse(nay_key_type type, const char *text) {
  parsed_key key;
  nay_diag diag = {.what = NULL};
  if (nay_key_parse(type, text, strlen(text), &diag, key.bytes, sizeof key.bytes, &key.len) !=
      NAY_OK) {
    fail_msg("%s \"%s\": %s, at %" PRIu64, nay_key_type_name(type), text, diag.what, diag.offset);
  }
  return key;
}

static bool is_key(const parsed_key *key, const void *bytes, size_t len) {
  return key->len == len && memcmp(key->bytes, bytes, len) == 0;
}

static void assert_key(nay_key_type type, const char *text, const uint8_t want[8]) {
  parsed_key key = parse(type, text);
  if (!is_key(&key, want, 8)) fail_msg("%s \"%s\"", nay_key_type_name(type), text);
}

static void assert_same(nay_key_type type, const char *a, const char *b) {
  parsed_key x = parse(type, a), y = parse(type, b);
  if (!is_key(&x, y.bytes, y.len)) fail_msg("%s: \"%s\", \"%s\"", nay_key_type_name(type), a, b);
}

static void golden_vectors_hold(void **state) {
  (void)state;
  assert_in_range(key_vectors_check(TEST_GOLDEN "/keys/keys.txt"), 400, 10000);
}

static void names_and_numbers_agree(void **state) {
  (void)state;
  nay_key_description how = {.size = sizeof how};
  for (size_t i = 0; i < N_TYPES; i++) {
    assert_int_equal(all_types[i], i); /* the numbers never change */
    assert_ok(nay_key_description_parse(nay_key_type_name(all_types[i]), NULL, &how));
    assert_int_equal(how.type, all_types[i]);
    assert_int_equal(how.ntransformations, 0);
  }
  assert_null(nay_key_type_name((nay_key_type)N_TYPES));
  assert_null(nay_key_type_name((nay_key_type)-1));
  for (int i = NAY_KEY_TEXT; i <= NAY_KEY_ORDERED_TIMESTAMP; i++) {
    uint8_t out[64];
    assert_status(nay_key_parse((nay_key_type)i, "1", 1, NULL, out, sizeof out, NULL), NAY_EINVAL);
  }
}

/* ---- integers ---- */

static void integers_as_values_and_as_text(void **state) {
  (void)state;
  char text[64];
  uint8_t key[8];
  for (uint64_t i = 0; i < TEST_SCALE(200000); i++) {
    uint64_t u = nay_hash_mix(i) >> i % 64;
    int64_t s;
    memcpy(&s, &u, sizeof s);
    nay_key_int(s, key);
    for (unsigned b = 0; b < 8; b++) assert_int_equal(key[b], u >> 8 * b & 0xff); /* modulo 2^64 */
    const char *formats[] = {"%" PRId64, "%+" PRId64, "%040" PRId64};
    for (unsigned f = 0; f < 3; f++) {
      snprintf(text, sizeof text, formats[f], s);
      assert_key(NAY_KEY_INT, text, key);
    }
    const char *unsigned_formats[] = {"%" PRIu64, "0x%" PRIx64, "+0X%030" PRIX64};
    for (unsigned f = 0; f < 3; f++) {
      snprintf(text, sizeof text, unsigned_formats[f], u);
      assert_key(NAY_KEY_INT, text, key);
    }
  }
}

/* ---- floats ---- */

static double random_double(uint64_t i) {
  uint64_t bits = nay_hash_mix(i);
  double value;
  if (i % 8 == 0) bits &= (UINT64_C(1) << (i % 52)) - 1; /* subnormal */
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void assert_as_strtod(const char *text) {
  uint8_t want[8];
  size_t len;
  double value = strtod(text, NULL);
  if (isinf(value)) { /* all texts here are finite */
    assert_status(nay_key_parse(NAY_KEY_FLOAT, text, strlen(text), NULL, want, 8, &len),
                  NAY_EINVAL);
    return;
  }
  nay_key_float(value, want);
  assert_key(NAY_KEY_FLOAT, text, want);
}

/* Seventeen digits tell a binary64 from all others: so other values have other keys. */
static void floats_as_values_and_as_text(void **state) {
  (void)state;
  char text[64];
  uint8_t key[8];
  for (uint64_t i = 0; i < TEST_SCALE(300000); i++) {
    double value = random_double(i);
    snprintf(text, sizeof text, "%.17g", value);
    nay_key_float(value, key);
    assert_key(NAY_KEY_FLOAT, text, key);
    uint64_t bits = 0;
    for (unsigned b = 0; b < 8; b++) bits |= (uint64_t)key[b] << (8 * b);
    if (!isnan(value) && value != 0) assert_memory_equal(&bits, &value, 8);
    if (!isfinite(value)) continue;
    snprintf(text, sizeof text, "%.*e", (int)(i % 25), value);
    assert_as_strtod(text);
  }
}

static void random_digits_as_strtod(void **state) {
  (void)state;
  char text[1100];
  for (uint64_t i = 0; i < TEST_SCALE(300000); i++) {
    size_t n = 1 + nay_hash_mix(i) % (i % 100 == 0 ? 1000 : 24), at = 0;
    for (; at < n; at++) text[at] = (char)('0' + nay_hash_mix(i * 1000 + at) % 10);
    if (i % 3 == 0) text[nay_hash_mix(~i) % n] = '.';
    if (i % 3 == 0 && n == 1) text[at++] = '5';
    int exponent = (int)(nay_hash_mix(i + 7) % 700) - 350;
    snprintf(text + at, sizeof text - at, "e%d", i % 2 == 0 ? exponent : exponent / 16);
    assert_as_strtod(text);
  }
}

/* Exactly between two neighbours, with a digit far behind that decides, and one below. */
static void ties_as_strtod(void **state) {
  (void)state;
  static char text[2600], tie[1500];
  for (uint64_t i = 0; i < TEST_SCALE(4000); i++) {
    double value = fabs(random_double(i * 8 + i % 2));
    if (!isfinite(value) || value > 1e300) continue;
    double next = nextafter(value, INFINITY);
    /* half of the last bit has at most one digit more than the binary64 itself: print the sum */
    long double middle = ((long double)value + (long double)next) / 2;
    snprintf(tie, sizeof tie, "%.1080Lf", middle);
    if ((double)middle != value && (double)middle != next) continue;
    assert_as_strtod(tie);
    snprintf(text, sizeof text, "%s%0*d", tie, (int)(i % 900) + 1, 1);
    assert_as_strtod(text);
    size_t last = strlen(tie);
    while (last > 0 && (tie[last - 1] == '0' || tie[last - 1] == '.')) last--;
    if (last == 0) continue;
    tie[last - 1]--;
    assert_as_strtod(tie);
  }
}

static void one_zero_and_one_nan(void **state) {
  (void)state;
  static const uint8_t zero[8] = {0}, nan[8] = {0, 0, 0, 0, 0, 0, 0xf8, 0x7f};
  uint8_t key[8], wide[8];
  nay_key_float(-0.0, key);
  assert_memory_equal(key, zero, 8);
  for (uint64_t i = 0; i < 2000; i++) {
    uint64_t bits = (UINT64_C(0x7ff) << 52 | (nay_hash_mix(i) >> 12 | 1)) ^ (i % 2) << 63;
    double value;
    memcpy(&value, &bits, sizeof value);
    nay_key_float(value, key);
    assert_memory_equal(key, nan, 8);
  }
  nay_key_float((double)0.1f, key); /* float4 is widened: not the key of 0.1 */
  nay_key_float(0.1, wide);
  assert_true(memcmp(key, wide, 8) != 0);
  assert_key(NAY_KEY_FLOAT, "0.100000001490116119384765625", key);
}

/* ---- dates and timestamps ---- */

static int64_t integer_of(const parsed_key *key) {
  uint64_t word = 0;
  int64_t value;
  assert_int_equal(key->len, 8);
  for (unsigned b = 0; b < 8; b++) word |= (uint64_t)key->bytes[b] << (8 * b);
  memcpy(&value, &word, sizeof value);
  return value;
}

/* Every day of 2,800 years, around year 0 and far from it: each is one more than the day before. */
static void days_follow_each_other(void **state) {
  (void)state;
  static const int months[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  static const int starts[] = {-401, 1599, 294000, -290400};
  char text[64];
  for (unsigned s = 0; s < 4; s++) {
    int64_t last = INT64_MIN;
    for (int year = starts[s]; year < starts[s] + 700; year++) {
      bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
      for (int m = 1; m <= 12; m++) {
        for (int d = 1; d <= months[m - 1] + (m == 2 && leap); d++) {
          snprintf(text, sizeof text, year < 0 ? "%05d-%02d-%02d" : "%04d-%02d-%02d", year, m, d);
          parsed_key key = parse(NAY_KEY_DATE, text);
          int64_t days = integer_of(&key);
          if (last != INT64_MIN) assert_true(days == last + 1);
          last = days;
        }
      }
    }
  }
}

static void a_moment_has_one_key_in_every_zone(void **state) {
  (void)state;
  char text[96], zoned[96];
  for (uint64_t i = 0; i < TEST_SCALE(100000); i++) {
    uint64_t r = nay_hash_mix(i);
    unsigned hh = (unsigned)(r % 24), mm = (unsigned)(r >> 8) % 60, ss = (unsigned)(r >> 16) % 60,
             us = (unsigned)(r >> 24) % 1000000, zh = (unsigned)(r >> 44) % 24;
    snprintf(text, sizeof text, "2024-02-28T%02u:%02u:%02u.%06uZ", hh, mm, ss, us);
    unsigned east = hh + zh;
    snprintf(zoned, sizeof zoned, "2024-02-%02u %02u:%02u:%02u,%06u000+%02u", 28 + east / 24,
             east % 24, mm, ss, us, zh);
    assert_same(NAY_KEY_TIMESTAMP, text, zoned);
    parsed_key day = parse(NAY_KEY_DATE, "2024-02-28"), moment = parse(NAY_KEY_TIMESTAMP, text);
    int64_t seconds = integer_of(&day) * 86400 + (int64_t)((hh * 60 + mm) * 60 + ss);
    assert_true(integer_of(&moment) == seconds * 1000000 + us);
  }
}

/* ---- numeric ---- */

/* A canonical text is its own key, and its respellings have that key. */
static void numerics_have_one_spelling(void **state) {
  (void)state;
  char canonical[128], text[256];
  for (uint64_t i = 0; i < TEST_SCALE(100000); i++) {
    uint64_t whole = nay_hash_mix(i) >> (i % 63 + 1), part = nay_hash_mix(~i) % 1000000 * 10 + 1;
    const char *sign = i % 2 == 0 ? "-" : "";
    snprintf(canonical, sizeof canonical, "%s%" PRIu64 ".%07" PRIu64, sign, whole, part);
    parsed_key key = parse(NAY_KEY_NUMERIC, canonical);
    assert_true(is_key(&key, canonical, strlen(canonical)));
    const char *formats[] = {"%s%" PRIu64 "%07" PRIu64 "e-7", "%s000%" PRIu64 ".%07" PRIu64 "000",
                             "%s0.0%" PRIu64 "%07" PRIu64 "E%d"};
    for (unsigned f = 0; f < 3; f++) {
      char digits[32];
      int ndigits = snprintf(digits, sizeof digits, "%" PRIu64, whole);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
      snprintf(text, sizeof text, formats[f], sign, whole, part, ndigits + 1);
#pragma GCC diagnostic pop
      assert_same(NAY_KEY_NUMERIC, text, canonical);
    }
  }
}

static char *long_text(const char *head, size_t n, const char *tail) {
  size_t head_len = strlen(head);
  char *text = malloc(head_len + n + strlen(tail) + 1);
  assert_non_null(text);
  memcpy(text, head, head_len);
  memset(text + head_len, '0', n);
  strcpy(text + head_len + n, tail);
  return text;
}

static void assert_length(nay_key_type type, char *text, nay_status want, size_t want_len) {
  size_t len = 0;
  assert_status(nay_key_parse(type, text, strlen(text), NULL, NULL, 0, &len), want);
  assert_int_equal(len, want_len);
  free(text);
}

static void long_texts_and_the_limits_of_numeric(void **state) {
  (void)state;
  assert_length(NAY_KEY_NUMERIC, long_text("1", 131071, ""), NAY_OK, 131072);
  assert_length(NAY_KEY_NUMERIC, long_text("1", 131072, ""), NAY_EINVAL, 0);
  assert_length(NAY_KEY_NUMERIC, long_text("0.", 16382, "1"), NAY_OK, 2 + 16383);
  assert_length(NAY_KEY_NUMERIC, long_text("0.", 16383, "1"), NAY_EINVAL, 0);
  assert_length(NAY_KEY_NUMERIC, long_text("-1", 131071 + 16382, "1e-16383"), NAY_OK,
                NAY_KEY_NUMERIC_MAX);
  assert_length(NAY_KEY_NUMERIC, long_text("", 1000000, "7.5"), NAY_OK, 3);
  assert_length(NAY_KEY_NUMERIC, long_text("7.5", 1000000, ""), NAY_OK, 3);
  assert_length(NAY_KEY_NUMERIC, long_text("1", 1000000, "e-1000000"), NAY_OK, 1);
  assert_length(NAY_KEY_FLOAT, long_text("1", 1000000, "e-1000000"), NAY_OK, 8);
  assert_length(NAY_KEY_FLOAT, long_text("0.", 1000000, "1e1000001"), NAY_OK, 8);
  assert_length(NAY_KEY_FLOAT, long_text("1", 1000000, ""), NAY_EINVAL, 0);
  assert_length(NAY_KEY_INT, long_text("", 1000000, "7"), NAY_OK, 8);
}

/* ---- refusals ---- */

typedef struct refusal {
  nay_key_type type;
  const char *text;
  uint64_t offset;
  const char *what;
} refusal;

static const refusal refusals[] = {
    {NAY_KEY_INT, "", 0, "an empty text has no value"},
    {NAY_KEY_INT, "12a", 2, "not a decimal digit"},
    {NAY_KEY_INT, "-", 1, "an integer without digits"},
    {NAY_KEY_INT, "0x12g", 4, "not a hexadecimal digit"},
    {NAY_KEY_INT, "18446744073709551616", 19, "an integer below -2^63 or above 2^64 - 1"},
    {NAY_KEY_FLOAT, "1e", 2, "an exponent without digits"},
    {NAY_KEY_FLOAT, "1.5x", 3, "not a decimal digit"},
    {NAY_KEY_FLOAT, ".", 1, "a number without digits"},
    {NAY_KEY_FLOAT, "1e400", 0, "a number beyond the range of a float"},
    {NAY_KEY_BOOL, "yes", 0, "a bool is true, false, t, f, 1 or 0"},
    {NAY_KEY_DATE, "24-01-01", 2, "a year has 4 to 7 digits"},
    {NAY_KEY_DATE, "2024/01/01", 4, "a date is YYYY-MM-DD"},
    {NAY_KEY_DATE, "2024-13-01", 5, "a month is 01 to 12"},
    {NAY_KEY_DATE, "2023-02-29", 8, "this month has no such day"},
    {NAY_KEY_DATE, "2023-02-2", 9, "a day is 01 to 31"},
    {NAY_KEY_DATE, "2023-02-21T", 10, "something follows the date"},
    {NAY_KEY_DATE, "-0000-02-21", 0, "there is no year -0000"},
    {NAY_KEY_TIMESTAMP, "2023-02-21T24:00", 11, "an hour is 00 to 23"},
    {NAY_KEY_TIMESTAMP, "2023-02-21T23:60", 14, "a minute is 00 to 59"},
    {NAY_KEY_TIMESTAMP, "2016-12-31T23:59:60Z", 17,
     "a second is 00 to 59: a leap second has no key"},
    {NAY_KEY_TIMESTAMP, "2016-12-31T23:59:59.0000001Z", 26, "a fraction finer than a microsecond"},
    {NAY_KEY_TIMESTAMP, "2016-12-31T23:59:59+1", 21, "the hours of a zone are 00 to 23"},
    {NAY_KEY_TIMESTAMP, "2016-12-31T23:59:59 UTC", 19, "something follows the timestamp"},
    {NAY_KEY_TIMESTAMP, "300000-12-31", 0, "a timestamp beyond 64 bits of microseconds since 1970"},
    {NAY_KEY_UUID, "123e4567-e89b12d3-a456-426614174000", 13, "a hyphen is missing in the UUID"},
    {NAY_KEY_UUID, "123e4567e89b12d3a45642661417400", 31,
     "the text ends where a hexadecimal digit must be"},
    {NAY_KEY_UUID, "{123e4567e89b12d3a456426614174000", 33, "the brace of the UUID is not closed"},
    {NAY_KEY_UUID, "123e4567e89b12d3a456426614174000}", 32, "something follows the UUID"},
    {NAY_KEY_NUMERIC, "1e131072", 0, "a numeric of more than 131,072 digits before the point"},
    {NAY_KEY_NUMERIC, "1e-16384", 0, "a numeric of more than 16,383 digits after the point"},
    {NAY_KEY_HEX, "abc", 3, "the text ends where a hexadecimal digit must be"},
    {NAY_KEY_HEX, "ab:cd", 2, "not a hexadecimal digit"},
    {NAY_KEY_B64, "AAAA AAA", 4, "not a base64 digit"},
    {NAY_KEY_B64, "AAAAA", 5, "base64 of an impossible length"},
    {NAY_KEY_B64, "AA=", 2, "the padding of the base64 text is wrong"},
    {NAY_KEY_B64, "+AA_", 3, "two base64 alphabets in one text"},
    {NAY_KEY_B64, "AB==", 1, "unused bits of the last base64 digit are not 0"},
};

static void a_refusal_says_what_and_where(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    const refusal *r = &refusals[i];
    nay_diag diag = {.offset = UINT64_MAX, .os_error = 1};
    uint8_t out[64];
    size_t len = 77;
    assert_status(nay_key_parse(r->type, r->text, strlen(r->text), &diag, out, 64, &len),
                  NAY_EINVAL);
    assert_string_equal(diag.what, r->what);
    if (diag.offset != r->offset) fail_msg("\"%s\": offset %" PRIu64, r->text, diag.offset);
    assert_int_equal(diag.os_error, 0);
    assert_true(key_vector_holds(r->type, r->text, strlen(r->text), "error"));
  }
}

static void nonsense_is_refused(void **state) {
  (void)state;
  uint8_t out[8];
  size_t len = 77;
  nay_diag diag = {.what = NULL};
  assert_status(nay_key_parse((nay_key_type)N_TYPES, "1", 1, &diag, out, 8, &len), NAY_EINVAL);
  assert_non_null(diag.what);
  assert_status(nay_key_parse((nay_key_type)-1, "1", 1, NULL, out, 8, &len), NAY_EINVAL);
  for (size_t i = 0; i < N_TYPES; i++) {
    assert_status(nay_key_parse(all_types[i], NULL, 1, NULL, out, 8, &len), NAY_EINVAL);
    /* no type takes a NUL for the end of its text */
    bool text = all_types[i] == NAY_KEY_TEXT;
    assert_status(nay_key_parse(all_types[i], "1\0", 2, NULL, out, 8, &len),
                  text ? NAY_OK : NAY_EINVAL);
    len = 77;
  }
  assert_ok(nay_key_parse(NAY_KEY_TEXT, NULL, 0, NULL, out, 0, &len));
  assert_int_equal(len, 0);
}

int main(void) {
  const test_case tests[] = {
      TEST(golden_vectors_hold),
      TEST(names_and_numbers_agree),
      TEST(integers_as_values_and_as_text),
      TEST(floats_as_values_and_as_text),
      TEST(random_digits_as_strtod),
      TEST(ties_as_strtod),
      TEST(one_zero_and_one_nan),
      TEST(days_follow_each_other),
      TEST(a_moment_has_one_key_in_every_zone),
      TEST(numerics_have_one_spelling),
      TEST(long_texts_and_the_limits_of_numeric),
      TEST(a_refusal_says_what_and_where),
      TEST(nonsense_is_refused),
  };
  return run_all(tests);
}

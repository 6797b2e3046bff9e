/*
 * fuzz_key.c - a type, then a text that claims to be a value of it. Parsing reads nothing outside
 * of the text; a key that comes out, spelled again in another way, gives the same key; and floats
 * are what strtod says. From 128 on the first byte says that the text is a key description,
 * ended by a zero byte, which a text follows.
 */
#include <inttypes.h>
#include <math.h>

#include "nay_key.h"
#include "support/exercise.h"

#define FUZZ_TYPES 10

static uint64_t word_of(const uint8_t *key) {
  uint64_t word = 0;
  for (unsigned b = 0; b < 8; b++) word |= (uint64_t)key[b] << (8 * b);
  return word;
}

/* The text has this key. */
static void expect(nay_key_type type, const char *text, size_t len, const uint8_t *key,
                   size_t key_len) {
  size_t got_len = key_len + 1;
  uint8_t *got = malloc(key_len + 1);
  CHECK(got != NULL && nay_key_parse(type, text, len, NULL, got, key_len, &got_len) == NAY_OK);
  CHECK(got_len == key_len && memcmp(got, key, key_len) == 0);
  free(got);
}

/* Bytes as hexadecimal: the other spelling of hex, b64 and uuid. */
static void expect_hex(nay_key_type type, const uint8_t *key, size_t len) {
  char *hex = malloc(2 * len + 3);
  CHECK(hex != NULL);
  memcpy(hex, "0x", 3);
  for (size_t i = 0; i < len; i++) sprintf(hex + 2 + 2 * i, "%02X", key[i]);
  if (type == NAY_KEY_UUID) expect(type, hex + 2, 2 * len, key, len);
  expect(NAY_KEY_HEX, hex, 2 * len + 2, key, len);
  free(hex);
}

/* The text ends with a NUL here, and has no other. */
static void expect_float(const char *text, const uint8_t *key) {
  uint8_t want[8];
  char *end;
  nay_key_float(strtod(text, &end), want);
  CHECK(*end == '\0' && memcmp(key, want, 8) == 0);
  uint64_t word = word_of(key);
  double value;
  memcpy(&value, &word, sizeof value);
  char again[64];
  int len = snprintf(again, sizeof again, "%.17g", value);
  expect(NAY_KEY_FLOAT, again, (size_t)len, key, 8);
}

/* The key that has the order is that of the plain type, big-endian, with the sign turned. */
static void expect_ordered(nay_key_type type, const char *text, size_t len, const uint8_t *key) {
  static const nay_key_type plain[] = {NAY_KEY_INT, NAY_KEY_FLOAT, NAY_KEY_DATE, NAY_KEY_TIMESTAMP};
  uint8_t of[8];
  size_t n;
  (void)len;
  CHECK(nay_key_parse(plain[type - NAY_KEY_ORDERED_INT], text, len, NULL, of, 8, &n) == NAY_OK);
  bool inverted = type == NAY_KEY_ORDERED_FLOAT && (of[7] & 0x80) != 0;
  for (unsigned i = 0; i < 8; i++) {
    uint8_t byte = inverted ? (uint8_t)~of[7 - i] : (uint8_t)(of[7 - i] ^ (i == 0 ? 0x80 : 0));
    CHECK(key[i] == byte);
  }
}

static void expect_again(nay_key_type type, const char *text, const uint8_t *key, size_t len) {
  char again[64];
  switch (type) {
    case NAY_KEY_INT:
    case NAY_KEY_BOOL: {
      int n = snprintf(again, sizeof again, "%" PRIu64, word_of(key));
      expect(NAY_KEY_INT, again, (size_t)n, key, len);
      CHECK(type == NAY_KEY_INT || word_of(key) <= 1);
      break;
    }
    case NAY_KEY_FLOAT: expect_float(text, key); break;
    case NAY_KEY_NUMERIC: expect(type, (const char *)key, len, key, len); break;
    case NAY_KEY_UUID:
    case NAY_KEY_HEX:
    case NAY_KEY_B64: expect_hex(type, key, len); break;
    case NAY_KEY_DATE: {
      bool infinite = word_of(key) + 1 == UINT64_C(1) << 63 || word_of(key) == UINT64_C(1) << 63;
      CHECK(infinite || word_of(key) + 4000000000u < 8000000000u);
      break;
    }
    case NAY_KEY_ORDERED_INT:
    case NAY_KEY_ORDERED_FLOAT:
    case NAY_KEY_ORDERED_DATE:
    case NAY_KEY_ORDERED_TIMESTAMP: expect_ordered(type, text, len, key); break;
    case NAY_KEY_TIMESTAMP:
    case NAY_KEY_TEXT: break;
  }
}

/* What a date is as a day, it is as a timestamp at midnight. */
static void expect_midnight(const char *text, size_t len, const uint8_t *key) {
  uint8_t midnight[8];
  size_t n;
  uint64_t days = word_of(key);
  if (days + 100000000u > 200000000u) return; /* timestamps end before dates do */
  CHECK(nay_key_parse(NAY_KEY_TIMESTAMP, text, len, NULL, midnight, 8, &n) == NAY_OK);
  CHECK(word_of(midnight) == days * UINT64_C(86400000000));
}

/* What trim and ascii-lower do, by their specification (doc/keys.md). */
static size_t trimmed(const char *text, size_t len, size_t *start) {
  static const char spaces[] = " \t\n\v\f\r";
  size_t from = 0;
  while (from < len && memchr(spaces, text[from], sizeof spaces - 1) != NULL) from++;
  while (len > from && memchr(spaces, text[len - 1], sizeof spaces - 1) != NULL) len--;
  *start = from;
  return len - from;
}

static void lowered(const char *text, size_t len, char *dst) {
  for (size_t i = 0; i < len; i++) {
    dst[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
  }
}

/* A text by a description: what nay_key_parse says of the text that was transformed before. */
static void expect_converted(const nay_key_description *d, const char *text, size_t len) {
  size_t key_len = SIZE_MAX, want_len = SIZE_MAX, start = 0;
  bool trims = (d->transformations & NAY_KEY_TRIM) != 0;
  bool lowers = (d->transformations & NAY_KEY_ASCII_LOWER) != 0;
  nay_diag diag = {.offset = UINT64_MAX};
  nay_status status = nay_key_convert(d, text, len, &diag, NULL, 0, &key_len);
  size_t kept = trims ? trimmed(text, len, &start) : len;
  CHECK(start + kept <= len);
  char *before = malloc(kept + 1);
  CHECK(before != NULL);
  bool notation = d->type == NAY_KEY_HEX || d->type == NAY_KEY_B64;
  if (kept != 0) memcpy(before, text + start, kept);
  if (lowers && !notation) lowered(before, kept, before);
  CHECK(nay_key_parse(d->type, before, kept, NULL, NULL, 0, &want_len) == status);
  CHECK(status == NAY_OK || (diag.what != NULL && diag.offset <= len && key_len == SIZE_MAX));
  if (status == NAY_OK) {
    size_t again = 0, inner = 0;
    char *want = malloc(want_len + 1), *key = malloc(key_len + 1);
    CHECK(want != NULL && key != NULL);
    CHECK(nay_key_parse(d->type, before, kept, NULL, (uint8_t *)want, want_len, &want_len) ==
          NAY_OK);
    CHECK(nay_key_convert(d, text, len, NULL, (uint8_t *)key, key_len, &again) == NAY_OK);
    if (notation && trims) want_len = trimmed(want, want_len, &inner);
    if (notation && lowers) lowered(want + inner, want_len, want + inner);
    CHECK(again == key_len && key_len == want_len && memcmp(key, want + inner, key_len) == 0);
    free(want);
    free(key);
  }
  free(before);
}

/* A description is the same as itself; what a filter shows of it is the same too, and canonical. */
static void expect_description(const uint8_t *data, size_t len) {
  static nay_filter *f;
  nay_params p = {sizeof p, .kind = NAY_BLOOM, .nbits = 64, .k = 1};
  nay_key_description d = {.size = sizeof d};
  nay_diag diag = {.what = NULL};
  char *text = calloc(1, len + 1), shown[NAY_KEY_DESCRIPTION_MAX + 1];
  CHECK(text != NULL && (f != NULL || nay_filter_new(&p, NULL, NULL, &f) == NAY_OK));
  memcpy(text, data, len);
  nay_status status = nay_key_description_parse(text, &diag, &d);
  bool is_one = nay_key_description_same(text, text);
  CHECK(is_one == (status == NAY_OK || status == NAY_EVERSION));
  CHECK(status == NAY_OK || (diag.what != NULL && diag.offset <= strlen(text)));
  CHECK(nay_filter_set_key(f, text) == status);
  if (status == NAY_OK) {
    strcpy(shown, nay_filter_key(f));
    CHECK(nay_key_description_same(text, shown));
    CHECK(nay_filter_set_key(f, shown) == NAY_OK && strcmp(shown, nay_filter_key(f)) == 0);
    size_t used = strlen(text) < len ? strlen(text) + 1 : len;
    expect_converted(&d, (const char *)data + used, len - used);
  }
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  if (data[0] >= 128) {
    expect_description(data + 1, size - 1);
    return 0;
  }
  nay_key_type type = (nay_key_type)(data[0] % FUZZ_TYPES);
  size_t len = size - 1, key_len = SIZE_MAX, again;
  nay_diag diag = {.offset = UINT64_MAX};
  char *exact = malloc(len + (len == 0)), *ended = calloc(1, len + 1);
  CHECK(exact != NULL && ended != NULL);
  memcpy(exact, data + 1, len);
  memcpy(ended, data + 1, len);
  nay_status status = nay_key_parse(type, exact, len, &diag, NULL, 0, &key_len);
  if (status == NAY_OK) {
    CHECK(key_len <= len + 8 || type == NAY_KEY_NUMERIC);
    CHECK(key_len <= NAY_KEY_NUMERIC_MAX || type != NAY_KEY_NUMERIC);
    uint8_t *key = malloc(key_len + (key_len == 0));
    CHECK(key != NULL);
    CHECK(nay_key_parse(type, exact, len, NULL, key, key_len, &again) == NAY_OK);
    CHECK(again == key_len);
    expect_again(type, ended, key, key_len);
    if (type == NAY_KEY_DATE) expect_midnight(exact, len, key);
    free(key);
  } else {
    CHECK(status == NAY_EINVAL && diag.what != NULL && diag.offset <= len && key_len == SIZE_MAX);
  }
  free(ended);
  free(exact);
  return 0;
}

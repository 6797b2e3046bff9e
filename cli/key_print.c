/*
 * key_print.c - from the bytes of a typed key back to a text.
 *
 * Any text that gives the key will do, so each type has one that is usual and short: decimal
 * integers, the shortest decimal that is the same double, ISO dates in UTC. Whatever is made is
 * parsed again and compared with the key, so that a wrong text cannot leave this file: bytes that
 * are no key of the type (five bytes as an int, 7 as a bool) fail there or before.
 */
#include "key_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRINT_ROOM 64 /* the longest text of 8 or 16 bytes, and more */
#define DAY_SECONDS 86400
#define DAY_MICROS (INT64_C(1000000) * DAY_SECONDS)

size_t key_print_size(size_t len) { return 2 * len + PRINT_ROOM; }

static int64_t print_integer(const uint8_t *key) {
  uint64_t value = 0;
  for (unsigned i = 0; i < 8; i++) value |= (uint64_t)key[i] << (8 * i);
  return (int64_t)value;
}

/* The shortest of 15 to 17 digits that is this double again. */
static size_t print_float(const uint8_t *key, char *text) {
  uint64_t bits = (uint64_t)print_integer(key);
  double value;
  memcpy(&value, &bits, sizeof value);
  if (isnan(value)) return (size_t)snprintf(text, PRINT_ROOM, "nan");
  if (isinf(value)) return (size_t)snprintf(text, PRINT_ROOM, value > 0 ? "inf" : "-inf");
  for (int digits = 15; digits < 17; digits++) {
    int n = snprintf(text, PRINT_ROOM, "%.*g", digits, value);
    if (strtod(text, NULL) == value) return (size_t)n;
  }
  return (size_t)snprintf(text, PRINT_ROOM, "%.17g", value);
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar; years start in March inside. */
static size_t print_date(int64_t days, char *text) {
  int64_t shifted = days + 719468, era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  int64_t of_era = shifted - era * 146097;
  int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  int64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
  int64_t day = of_year - (153 * month + 2) / 5 + 1;
  month = month < 10 ? month + 3 : month - 9;
  year += era * 400 + (month <= 2);
  return (size_t)snprintf(text, PRINT_ROOM, "%s%04" PRId64 "-%02d-%02d", year < 0 ? "-" : "",
                          year < 0 ? -year : year, (int)month, (int)day);
}

static size_t print_timestamp(int64_t micros, char *text) {
  int64_t days = micros / DAY_MICROS, rest = micros % DAY_MICROS;
  if (rest < 0) {
    rest += DAY_MICROS;
    days--;
  }
  int64_t seconds = rest / 1000000, fraction = rest % 1000000;
  size_t n = print_date(days, text);
  n += (size_t)snprintf(text + n, PRINT_ROOM - n, "T%02d:%02d:%02d", (int)(seconds / 3600),
                        (int)(seconds / 60 % 60), (int)(seconds % 60));
  if (fraction != 0) n += (size_t)snprintf(text + n, PRINT_ROOM - n, ".%06d", (int)fraction);
  return n + (size_t)snprintf(text + n, PRINT_ROOM - n, "Z");
}

static size_t print_eight(nay_key_type type, const uint8_t *key, char *text) {
  int64_t value = print_integer(key);
  bool timed = type == NAY_KEY_DATE || type == NAY_KEY_TIMESTAMP;
  if (timed && value == INT64_MAX) return (size_t)snprintf(text, PRINT_ROOM, "infinity");
  if (timed && value == INT64_MIN) return (size_t)snprintf(text, PRINT_ROOM, "-infinity");
  if (type == NAY_KEY_BOOL) {
    return (size_t)snprintf(text, PRINT_ROOM, value == 0 ? "false" : "true");
  }
  if (type == NAY_KEY_FLOAT) return print_float(key, text);
  if (type == NAY_KEY_TIMESTAMP) return print_timestamp(value, text);
  /* years of seven digits end before 4 * 10^9 days */
  if (type == NAY_KEY_DATE && llabs(value) < 4000000000) return print_date(value, text);
  return (size_t)snprintf(text, PRINT_ROOM, "%" PRId64, value);
}

static size_t print_hex(const uint8_t *key, size_t len, bool hyphens, char *text) {
  size_t n = 0;
  for (size_t i = 0; i < len; i++) {
    if (hyphens && (i == 4 || i == 6 || i == 8 || i == 10)) text[n++] = '-';
    text[n++] = "0123456789abcdef"[key[i] >> 4];
    text[n++] = "0123456789abcdef"[key[i] & 15];
  }
  return n;
}

static size_t print_b64(const uint8_t *key, size_t len, char *text) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t n = 0;
  for (size_t i = 0; i < len; i += 3) {
    uint32_t b1 = i + 1 < len ? key[i + 1] : 0, b2 = i + 2 < len ? key[i + 2] : 0;
    uint32_t three = (uint32_t)key[i] << 16 | b1 << 8 | b2;
    text[n++] = digits[three >> 18];
    text[n++] = digits[three >> 12 & 63];
    text[n++] = i + 1 < len ? digits[three >> 6 & 63] : '=';
    text[n++] = i + 2 < len ? digits[three & 63] : '=';
  }
  return n;
}

/* Whether the text has this key. */
static bool print_is_right(nay_key_type type, const uint8_t *key, size_t len, const char *text,
                           size_t text_len) {
  uint8_t *parsed = must_alloc(len + 1);
  size_t parsed_len;
  bool right = nay_key_parse(type, text, text_len, NULL, parsed, len + 1, &parsed_len) == NAY_OK &&
               parsed_len == len && (len == 0 || memcmp(parsed, key, len) == 0);
  free(parsed);
  return right;
}

/* An ordered key as one of the type that it orders. */
static nay_key_type print_unordered(nay_key_type type, const uint8_t *key, uint8_t plain[8]) {
  static const nay_key_type types[] = {NAY_KEY_INT, NAY_KEY_FLOAT, NAY_KEY_DATE, NAY_KEY_TIMESTAMP};
  uint64_t word = 0, sign = (uint64_t)1 << 63;
  for (unsigned i = 0; i < 8; i++) word = word << 8 | key[i];
  word = type == NAY_KEY_ORDERED_FLOAT && (word & sign) == 0 ? ~word : word ^ sign;
  for (unsigned i = 0; i < 8; i++) plain[i] = (uint8_t)(word >> 8 * i);
  return types[type - NAY_KEY_ORDERED_INT];
}

bool key_print(unsigned type, const uint8_t *key, size_t len, char *text, size_t *text_len) {
  bool ordered = type >= NAY_KEY_ORDERED_INT && type <= NAY_KEY_ORDERED_TIMESTAMP;
  bool eight = type == NAY_KEY_INT || type == NAY_KEY_FLOAT || type == NAY_KEY_BOOL ||
               type == NAY_KEY_DATE || type == NAY_KEY_TIMESTAMP || ordered;
  if ((eight && len != 8) || (type == NAY_KEY_UUID && len != 16)) return false;
  uint8_t plain[8];
  if (ordered) {
    *text_len = print_eight(print_unordered((nay_key_type)type, key, plain), plain, text);
  } else if (eight) {
    *text_len = print_eight((nay_key_type)type, key, text);
  } else if (type == NAY_KEY_HEX || type == NAY_KEY_UUID) {
    *text_len = print_hex(key, len, type == NAY_KEY_UUID, text);
  } else if (type == NAY_KEY_B64) {
    *text_len = print_b64(key, len, text);
  } else {
    if (len != 0) memcpy(text, key, len);
    *text_len = len;
  }
  return type == NAY_KEY_TEXT || type == KEY_U64LE ||
         print_is_right((nay_key_type)type, key, len, text, *text_len);
}

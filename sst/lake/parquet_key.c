/*
 * parquet_key.c - converts a text to the bytes that a Parquet filter hashes: the value in PLAIN
 * encoding, without a length.
 *
 *   BOOLEAN 1 byte | INT32, FLOAT 4 | INT64, DOUBLE 8 | INT96 12, in hex | BYTE_ARRAY as it is
 *   FIXED_LEN_BYTE_ARRAY: a UUID, a decimal, a FLOAT16, or hex
 *
 * Integers are little-endian. A date counts days, a time and a timestamp count the column's unit,
 * and a decimal is an integer of its digits, in bytes of a fixed length big-endian. A text that no
 * value of the column can equal is an error, not a nay: it may be a typing mistake.
 */
#include "base/bytes.h"
#include "lake/parquet.h"
#include "nay_key.h"

/* ---- names ---- */

static char *type_append(char *at, const char *end, const char *text) {
  while (*text != 0 && at + 1 < end) *at++ = *text++;
  *at = 0;
  return at;
}

static char *type_append_number(char *at, const char *end, int64_t n) {
  char digits[24];
  size_t i = sizeof digits;
  uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
  digits[--i] = 0;
  do digits[--i] = (char)('0' + left % 10);
  while ((left /= 10) != 0);
  if (n < 0) digits[--i] = '-';
  return type_append(at, end, digits + i);
}

void nay_sst__parquet_type_text(const parquet_type *type, char *text, size_t cap) {
  static const char *const names[] = {"BOOLEAN", "INT32",  "INT64",      "INT96",
                                      "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};
  const char *end = text + cap;
  bool known = (int)type->physical >= 0 && type->physical <= PARQUET_FIXED;
  char *at = type_append(text, end, known ? names[type->physical] : "unknown");
  switch (type->logical) {
    case PARQUET_PLAIN: break;
    case PARQUET_SIGNED:
    case PARQUET_UNSIGNED:
      at = type_append(at, end, type->logical == PARQUET_SIGNED ? " (int" : " (uint");
      at = type_append_number(at, end, type->width);
      (void)type_append(at, end, ")");
      break;
    case PARQUET_DECIMAL:
      at = type_append(at, end, " (decimal, ");
      at = type_append_number(at, end, type->scale);
      (void)type_append(at, end, " digits)");
      break;
    case PARQUET_DATE: (void)type_append(at, end, " (date)"); break;
    case PARQUET_TIMESTAMP:
    case PARQUET_TIME:
      at = type_append(at, end, type->logical == PARQUET_TIME ? " (time, " : " (timestamp, ");
      (void)type_append(at, end,
                        type->per_second == 1000         ? "ms)"
                        : type->per_second == 1000000    ? "us)"
                        : type->per_second == 1000000000 ? "ns)"
                                                         : "unknown unit)");
      break;
    case PARQUET_UUID: (void)type_append(at, end, " (uuid)"); break;
    case PARQUET_FLOAT16: (void)type_append(at, end, " (float16)"); break;
    case PARQUET_INTERVAL: (void)type_append(at, end, " (interval)"); break;
  }
}

/* ---- values ---- */

static nay_status key_refuse(nay_diag *diag, const char *what) {
  return nay__fail(diag, NAY_EINVAL, what, 0);
}

static void key_store(parquet_key *key, uint64_t value, size_t len) {
  for (size_t i = 0; i < len; i++) key->short_bytes[i] = (uint8_t)(value >> 8 * i);
  key->at = key->short_bytes;
  key->len = len;
}

/* Parses a text by nay_key.h, for types whose key has at most 16 bytes. */
static nay_status key_parse(nay_key_type type, const char *text, size_t len, nay_diag *diag,
                            uint8_t bytes[16]) {
  size_t written;
  return nay_key_parse(type, text, len, diag, bytes, 16, &written);
}

static bool key_is_integer(const char *text, size_t len) {
  size_t i = len != 0 && (text[0] == '-' || text[0] == '+');
  bool digits = i < len;
  for (; i < len; i++) digits = digits && text[i] >= '0' && text[i] <= '9';
  return digits;
}

/* Parses an integer of `width` bits. The sign is taken from the text, because the two's complement
   alone does not show it. */
static nay_status key_integer(const parquet_type *type, const char *text, size_t len,
                              nay_diag *diag, uint64_t *value) {
  uint8_t bytes[16];
  NAY_TRY(key_parse(NAY_KEY_INT, text, len, diag, bytes));
  uint64_t v = nay__load64le(bytes);
  bool negative = len != 0 && text[0] == '-' && v != 0;
  bool is_unsigned = type->logical == PARQUET_UNSIGNED;
  int32_t physical = type->physical == PARQUET_INT32 ? 32 : 64;
  int32_t width = type->width > 0 && type->width < physical ? type->width : physical;
  uint64_t most = is_unsigned ? (width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1)
                              : ((uint64_t)1 << (width - 1)) - 1;
  bool fits = negative ? !is_unsigned && 0 - v <= most + 1 : v <= most;
  if (!fits) return key_refuse(diag, "the number is outside of the column's type");
  *value = v;
  return NAY_OK;
}

/* Big-endian numbers of len bytes. number_digit: times 10, plus a digit; false: too large. */
static bool number_digit(uint8_t *number, size_t len, unsigned digit) {
  unsigned carry = digit;
  for (size_t i = len; i-- != 0; carry >>= 8) {
    carry += 10u * number[i];
    number[i] = (uint8_t)carry;
  }
  return carry == 0;
}

static void number_negate(uint8_t *number, size_t len) {
  unsigned carry = 1;
  for (size_t i = len; i-- != 0; carry >>= 8) {
    carry += (uint8_t)~number[i];
    number[i] = (uint8_t)carry;
  }
}

/* Parses the digits of a decimal, with the sign taken off: "12.5" with scale 2 is 1250. Digits
   beyond the scale must be zeros. */
static nay_status key_decimal_digits(const parquet_type *type, const char *text, size_t len,
                                     nay_diag *diag, uint8_t *number, size_t nbytes) {
  static const char too_large[] = "the number is outside of the column's type";
  bool point = false, any = false;
  int32_t after = 0;
  for (size_t i = 0; i < len; i++) {
    if (text[i] == '.' && !point) {
      point = true;
      continue;
    }
    if (text[i] < '0' || text[i] > '9') return key_refuse(diag, "the text is not a decimal number");
    any = true;
    if (point && after == type->scale) {
      if (text[i] != '0') return key_refuse(diag, "the number has more digits than the column");
      continue;
    }
    after += point;
    if (!number_digit(number, nbytes, (unsigned)(text[i] - '0')))
      return key_refuse(diag, too_large);
  }
  if (!any) return key_refuse(diag, "the text is not a decimal number");
  for (; after < type->scale; after++) {
    if (!number_digit(number, nbytes, 0)) return key_refuse(diag, too_large);
  }
  return NAY_OK;
}

/* Parses a decimal as a big-endian number in two's complement. */
static nay_status key_decimal(const parquet_type *type, const char *text, size_t len,
                              nay_diag *diag, uint8_t *number, size_t nbytes) {
  bool sign = len != 0 && (text[0] == '-' || text[0] == '+');
  bool negative = sign && text[0] == '-';
  /* digits that the column cannot have */
  if (type->scale < 0 || (size_t)type->scale > 8 * nbytes) {
    return nay__fail(diag, NAY_ENOTSUP, "a decimal of this scale", 0);
  }
  memset(number, 0, nbytes);
  NAY_TRY(key_decimal_digits(type, text + sign, len - sign, diag, number, nbytes));
  if (negative) number_negate(number, nbytes);
  bool zero = true;
  for (size_t i = 0; i < nbytes; i++) zero = zero && number[i] == 0;
  if (!zero && (number[0] >= 0x80) != negative) {
    return key_refuse(diag, "the number is outside of the column's type");
  }
  return NAY_OK;
}

/* Takes the digits of nanoseconds out of the text of a timestamp: writes the text without them to
   `shorter`, and their number to *ns. False: there are none, or they make no such number. */
static bool key_nanoseconds(const char *text, size_t len, char shorter[64], size_t *shorter_len,
                            int64_t *ns) {
  const char *point = len < 64 ? memchr(text, '.', len) : NULL;
  size_t at = point != NULL ? (size_t)(point - text) + 7 : len, end = at;
  if (at >= len) return false;
  for (int64_t unit = *ns = 0; end < len && text[end] >= '0' && text[end] <= '9'; end++) {
    unit = end == at ? 100 : unit / 10;
    if (unit == 0 && text[end] != '0') return false;
    *ns += (text[end] - '0') * unit;
  }
  memcpy(shorter, text, at);
  memcpy(shorter + at, text + end, len - end);
  *shorter_len = len - (end - at);
  return end != at;
}

/* Whether a timestamp has a time zone other than UTC: an offset after its hours and minutes. */
static bool key_has_offset(const char *text, size_t len) {
  const char *colon = memchr(text, ':', len);
  bool offset = false;
  for (const char *at = colon; at != NULL && at < text + len; at++) {
    if (*at == '+' || *at == '-') offset = true;
    if (offset && *at >= '1' && *at <= '9') return true;
  }
  return false;
}

/* The nanoseconds of us microseconds and 0 to 999 nanoseconds, in *value. False: too many. */
static bool key_add_nanoseconds(int64_t us, int64_t ns, int64_t *value) {
  int64_t borrowed = us < 0; /* so that us * 1000 is no larger than the sum */
  us += borrowed;
  ns -= 1000 * borrowed;
  if (us > INT64_MAX / 1000 || us < INT64_MIN / 1000) return false;
  us *= 1000;
  if (ns > 0 ? us > INT64_MAX - ns : us < INT64_MIN - ns) return false;
  *value = us + ns;
  return true;
}

/* Parses an ISO 8601 timestamp in the column's unit. */
static nay_status key_timestamp(const parquet_type *type, const char *text, size_t len,
                                nay_diag *diag, uint64_t *value) {
  uint8_t bytes[16];
  char shorter[64];
  int64_t ns = 0;
  if (type->per_second == 0) return nay__fail(diag, NAY_ENOTSUP, "a unit of time unknown here", 0);
  if (type->is_local && key_has_offset(text, len)) {
    return key_refuse(diag, "the column has no time zone, and the text names one");
  }
  if (type->per_second == 1000000000 && key_nanoseconds(text, len, shorter, &len, &ns)) {
    text = shorter;
  }
  NAY_TRY(key_parse(NAY_KEY_TIMESTAMP, text, len, diag, bytes));
  int64_t us = (int64_t)nay__load64le(bytes);
  if (us == INT64_MAX || us == INT64_MIN) return key_refuse(diag, "an infinite timestamp");
  if (type->per_second == 1000) {
    if (us % 1000 != 0) return key_refuse(diag, "the column has milliseconds alone");
    us /= 1000;
  } else if (type->per_second == 1000000000) {
    if (!key_add_nanoseconds(us, ns, &us)) {
      return key_refuse(diag, "the time is outside of the column's type");
    }
  }
  *value = (uint64_t)us;
  return NAY_OK;
}

/* Parses two digits that are at most `most`. */
static bool key_two_digits(const char *text, int64_t most, int64_t *n) {
  if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') return false;
  *n = 10 * (text[0] - '0') + (text[1] - '0');
  return *n <= most;
}

/* Parses a time of day, HH:MM, HH:MM:SS or with a fraction, in the column's unit. */
static nay_status key_time_of_day(const parquet_type *type, const char *text, size_t len,
                                  nay_diag *diag, uint64_t *value) {
  int64_t hours, minutes, seconds = 0, unit = type->per_second, fraction = 0;
  if (unit == 0) return nay__fail(diag, NAY_ENOTSUP, "a unit of time unknown here", 0);
  bool fits = (len == 5 || len == 8 || (len > 9 && text[8] == '.')) && text[2] == ':' &&
              key_two_digits(text, 23, &hours) && key_two_digits(text + 3, 59, &minutes);
  if (fits && len > 5) fits = text[5] == ':' && key_two_digits(text + 6, 59, &seconds);
  if (!fits) return key_refuse(diag, "the text is not a time, 12:34:56.789");
  for (size_t i = 9; i < len; i++) {
    if (text[i] < '0' || text[i] > '9') return key_refuse(diag, "the text is not a time");
    unit /= 10;
    if (unit == 0 && text[i] != '0') {
      return key_refuse(diag, "the fraction is finer than the column's unit");
    }
    fraction += (text[i] - '0') * unit;
  }
  *value = (uint64_t)(((hours * 60 + minutes) * 60 + seconds) * type->per_second + fraction);
  return NAY_OK;
}

static nay_status key_whole(const parquet_type *type, const char *text, size_t len, nay_diag *diag,
                            parquet_key *key) {
  uint8_t bytes[16];
  uint64_t value = 0;
  bool is_integer = key_is_integer(text, len);
  size_t nbytes = type->physical == PARQUET_INT32 ? 4 : 8;
  if (type->logical == PARQUET_DECIMAL) {
    NAY_TRY(key_decimal(type, text, len, diag, bytes, nbytes));
    for (size_t i = 0; i < nbytes; i++) value = value << 8 | bytes[i];
  } else if (type->logical == PARQUET_DATE && !is_integer) {
    NAY_TRY(key_parse(NAY_KEY_DATE, text, len, diag, bytes));
    value = nay__load64le(bytes);
    if ((int64_t)value > INT32_MAX || (int64_t)value < INT32_MIN) {
      return key_refuse(diag, "the date is outside of the column's type");
    }
  } else if (type->logical == PARQUET_TIMESTAMP && !is_integer) {
    NAY_TRY(key_timestamp(type, text, len, diag, &value));
  } else if (type->logical == PARQUET_TIME && !is_integer) {
    NAY_TRY(key_time_of_day(type, text, len, diag, &value));
  } else {
    NAY_TRY(key_integer(type, text, len, diag, &value));
  }
  key_store(key, value, nbytes);
  return NAY_OK;
}

/* Whether a double lies exactly between two floats. Below 2^-126 they are multiples of 2^-149. */
static bool key_between_floats(uint64_t word, double wide) {
  if ((word << 1 >> 1) >= UINT64_C(0x381) << 52) return (word & 0x1fffffff) == 0x10000000;
  double halves = wide * 0x1p150; /* exact, and less than 2^24 */
  int64_t whole = (int64_t)halves;
  return (double)whole == halves && whole % 2 != 0;
}

/*
 * Parses a float. The nearest double is rounded to the nearest float. Rounding twice can miss the
 * float nearest to the text only if the double lies exactly between two floats: such a text is
 * refused.
 */
static nay_status key_float(const parquet_type *type, const char *text, size_t len, nay_diag *diag,
                            parquet_key *key) {
  uint8_t bytes[16];
  NAY_TRY(key_parse(NAY_KEY_FLOAT, text, len, diag, bytes));
  uint64_t word = nay__load64le(bytes), magnitude = word << 1 >> 1;
  key->any = magnitude > UINT64_C(0x7ff) << 52;
  key->also_zero = magnitude == 0;
  if (type->physical == PARQUET_DOUBLE) {
    key_store(key, word, 8);
    return NAY_OK;
  }
  double wide;
  memcpy(&wide, &word, sizeof wide);
  if (key_between_floats(word, wide)) return key_refuse(diag, "the text lies between two floats");
  float narrow = (float)wide;
  uint32_t half;
  memcpy(&half, &narrow, sizeof half);
  key->also_zero = half << 1 == 0;
  key_store(key, half, 4);
  return NAY_OK;
}

/*
 * Rounds a double to the nearest half-precision number, in *half. False: it lies exactly between
 * two of them.
 */
static bool key_half(uint64_t word, uint16_t *half) {
  uint64_t magnitude = word << 1 >> 1;
  int exponent = (int)(magnitude >> 52) - 1023;
  uint64_t digits = (magnitude & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
  unsigned shift = exponent >= -14 ? 42u : 42u + (unsigned)(-14 - exponent);
  uint32_t bits = 0;
  if (exponent > 15) {
    bits = 0x7c00;
  } else if (shift < 54) {
    uint64_t left = digits & ((UINT64_C(1) << shift) - 1), middle = UINT64_C(1) << (shift - 1);
    if (left == middle) return false;
    bits = (uint32_t)(digits >> shift) + (left > middle);
    if (exponent >= -14) bits += (uint32_t)(exponent + 14) << 10;
  }
  *half = (uint16_t)((uint32_t)(word >> 63) << 15 | (bits > 0x7c00 ? 0x7c00 : bits));
  return true;
}

static nay_status key_float16(const char *text, size_t len, nay_diag *diag, parquet_key *key) {
  uint8_t bytes[16];
  uint16_t half;
  NAY_TRY(key_parse(NAY_KEY_FLOAT, text, len, diag, bytes));
  uint64_t word = nay__load64le(bytes);
  if (!key_half(word, &half)) return key_refuse(diag, "the text lies between two floats");
  key->any = word << 1 >> 1 > UINT64_C(0x7ff) << 52;
  key->also_zero = (half & 0x7fff) == 0;
  key_store(key, half, 2);
  return NAY_OK;
}

/* Parses hex digits as a value of fixed length. */
static nay_status key_hex(size_t fixed_len, const char *text, size_t len, nay_diag *diag,
                          parquet_key *key) {
  size_t written;
  if (fixed_len > sizeof key->short_bytes) {
    return nay__fail(diag, NAY_ENOTSUP, "bytes of a fixed length above 256", 0);
  }
  nay_status status = nay_key_parse(NAY_KEY_HEX, text, len, diag, key->short_bytes,
                                    sizeof key->short_bytes, &written);
  if (status == NAY_EBUFFER) return key_refuse(diag, "not as many bytes as the column has");
  NAY_TRY(status);
  if (written != fixed_len) return key_refuse(diag, "not as many bytes as the column has");
  key->at = key->short_bytes;
  key->len = written;
  return NAY_OK;
}

/* Parses a value of fixed length. */
static nay_status key_fixed_len(const parquet_type *type, const char *text, size_t len,
                                nay_diag *diag, parquet_key *key) {
  size_t nbytes = (size_t)type->fixed_len;
  if (type->logical == PARQUET_UUID && nbytes == 16) {
    NAY_TRY(key_parse(NAY_KEY_UUID, text, len, diag, key->short_bytes));
  } else if (type->logical == PARQUET_FLOAT16 && nbytes == 2) {
    return key_float16(text, len, diag, key);
  } else if (type->logical == PARQUET_DECIMAL && nbytes - 1 < sizeof key->short_bytes) {
    NAY_TRY(key_decimal(type, text, len, diag, key->short_bytes, nbytes));
  } else {
    return key_hex(nbytes, text, len, diag, key);
  }
  key->at = key->short_bytes;
  key->len = nbytes;
  return NAY_OK;
}

nay_status nay_sst__parquet_key(const parquet_type *type, const char *text, size_t len,
                                nay_diag *diag, parquet_key *key) {
  uint8_t bytes[16];
  key->at = (const uint8_t *)text;
  key->len = len;
  key->any = key->also_zero = false;
  switch (type->physical) {
    case PARQUET_BOOLEAN:
      NAY_TRY(key_parse(NAY_KEY_BOOL, text, len, diag, bytes));
      key_store(key, bytes[0], 1);
      return NAY_OK;
    case PARQUET_INT32:
    case PARQUET_INT64: return key_whole(type, text, len, diag, key);
    case PARQUET_INT96: return key_hex(12, text, len, diag, key);
    case PARQUET_FLOAT:
    case PARQUET_DOUBLE: return key_float(type, text, len, diag, key);
    case PARQUET_BYTE_ARRAY:
      if (type->logical == PARQUET_DECIMAL) { /* writers need not choose the shortest form */
        return nay__fail(diag, NAY_ENOTSUP, "a decimal in bytes of any length", 0);
      }
      return NAY_OK;
    case PARQUET_FIXED: return key_fixed_len(type, text, len, diag, key);
  }
  return nay__fail(diag, NAY_ENOTSUP, "an unknown type", 0);
}

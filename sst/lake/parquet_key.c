/*
 * parquet_key.c - converts a text to the bytes that a Parquet filter hashes: the value in PLAIN
 * encoding, without a length.
 *
 *   BOOLEAN 1 byte | INT32, FLOAT 4 | INT64, DOUBLE 8 | INT96 12, in hex | BYTE_ARRAY as it is
 *   FIXED_LEN_BYTE_ARRAY: a UUID, or hex
 *
 * Integers are little-endian. A date counts days, a timestamp counts the column's unit, and a
 * decimal is an integer of its digits. A text that no value of the column can equal is an error,
 * not a nay: it may be a typing mistake.
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
      (void)type_append(at, end,
                        type->per_second == 1000      ? " (timestamp, ms)"
                        : type->per_second == 1000000 ? " (timestamp, us)"
                                                      : " (timestamp, ns)");
      break;
    case PARQUET_TIME: (void)type_append(at, end, " (time)"); break;
    case PARQUET_UUID: (void)type_append(at, end, " (uuid)"); break;
    case PARQUET_OPAQUE: (void)type_append(at, end, " (other)"); break;
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

/* Parses a decimal: "12.5" with scale 2 is 1250. Digits beyond the scale must be zeros. */
static nay_status key_decimal(const parquet_type *type, const char *text, size_t len,
                              nay_diag *diag, uint64_t *value) {
  size_t i = len != 0 && (text[0] == '-' || text[0] == '+');
  bool negative = i != 0 && text[0] == '-', point = false, any = false;
  uint64_t sum = 0, most = type->physical == PARQUET_INT32 ? INT32_MAX : INT64_MAX;
  int32_t after = 0;
  if (type->scale < 0 || type->scale > 18) {
    return nay__fail(diag, NAY_ENOTSUP, "a decimal of this scale", 0);
  }
  for (; i < len; i++) {
    if (text[i] == '.' && !point) {
      point = true;
      continue;
    }
    if (text[i] < '0' || text[i] > '9') return key_refuse(diag, "the text is not a decimal number");
    any = true;
    uint64_t digit = (uint64_t)(text[i] - '0');
    if (point && after == type->scale) {
      if (digit != 0) return key_refuse(diag, "the number has more digits than the column");
      continue;
    }
    after += point;
    if (sum > (most - digit) / 10)
      return key_refuse(diag, "the number is outside of the column's type");
    sum = sum * 10 + digit;
  }
  for (; any && after < type->scale; after++) {
    if (sum > most / 10) return key_refuse(diag, "the number is outside of the column's type");
    sum *= 10;
  }
  if (!any) return key_refuse(diag, "the text is not a decimal number");
  *value = negative ? 0 - sum : sum;
  return NAY_OK;
}

/* Parses an ISO 8601 timestamp in the column's unit. */
static nay_status key_timestamp(const parquet_type *type, const char *text, size_t len,
                                nay_diag *diag, uint64_t *value) {
  uint8_t bytes[16];
  NAY_TRY(key_parse(NAY_KEY_TIMESTAMP, text, len, diag, bytes));
  int64_t us = (int64_t)nay__load64le(bytes);
  if (us == INT64_MAX || us == INT64_MIN) return key_refuse(diag, "an infinite timestamp");
  if (type->per_second == 1000) {
    if (us % 1000 != 0) return key_refuse(diag, "the column has milliseconds alone");
    us /= 1000;
  } else if (type->per_second == 1000000000) {
    if (us > INT64_MAX / 1000 || us < INT64_MIN / 1000) {
      return key_refuse(diag, "the time is outside of the column's type");
    }
    us *= 1000;
  }
  *value = (uint64_t)us;
  return NAY_OK;
}

static nay_status key_whole(const parquet_type *type, const char *text, size_t len, nay_diag *diag,
                            parquet_key *key) {
  uint8_t bytes[16];
  uint64_t value = 0;
  bool is_integer = key_is_integer(text, len);
  if (type->logical == PARQUET_DECIMAL) {
    NAY_TRY(key_decimal(type, text, len, diag, &value));
  } else if (type->logical == PARQUET_DATE && !is_integer) {
    NAY_TRY(key_parse(NAY_KEY_DATE, text, len, diag, bytes));
    value = nay__load64le(bytes);
    if ((int64_t)value > INT32_MAX || (int64_t)value < INT32_MIN) {
      return key_refuse(diag, "the date is outside of the column's type");
    }
  } else if (type->logical == PARQUET_TIMESTAMP && !is_integer) {
    NAY_TRY(key_timestamp(type, text, len, diag, &value));
  } else {
    NAY_TRY(key_integer(type, text, len, diag, &value));
  }
  key_store(key, value, type->physical == PARQUET_INT32 ? 4 : 8);
  return NAY_OK;
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
  bool small = magnitude < UINT64_C(0x381) << 52; /* a subnormal float */
  if ((word & 0x1fffffff) == 0x10000000 || (small && magnitude != 0 && !key->any)) {
    float narrow = (float)wide;
    if ((double)narrow != wide) return key_refuse(diag, "the text lies between two floats");
  }
  float narrow = (float)wide;
  uint32_t half;
  memcpy(&half, &narrow, sizeof half);
  key_store(key, half, 4);
  return NAY_OK;
}

/* Parses hex digits as a value of fixed length. */
static nay_status key_hex(size_t fixed_len, const char *text, size_t len, nay_diag *diag,
                          parquet_key *key) {
  size_t written;
  if (fixed_len > sizeof key->short_bytes) {
    return nay__fail(diag, NAY_ENOTSUP, "bytes of a fixed length above 16", 0);
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

nay_status nay_sst__parquet_key(const parquet_type *type, const char *text, size_t len,
                                nay_diag *diag, parquet_key *key) {
  uint8_t bytes[16];
  *key = (parquet_key){.at = (const uint8_t *)text, .len = len};
  if (type->logical == PARQUET_OPAQUE) {
    return nay__fail(diag, NAY_ENOTSUP, "no text is read as this type", 0);
  }
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
      if (type->logical == PARQUET_DECIMAL) {
        return nay__fail(diag, NAY_ENOTSUP, "a decimal in bytes", 0);
      }
      return NAY_OK;
    case PARQUET_FIXED:
      if (type->logical == PARQUET_DECIMAL) {
        return nay__fail(diag, NAY_ENOTSUP, "a decimal in bytes", 0);
      }
      if (type->logical != PARQUET_UUID) {
        return key_hex((size_t)type->fixed_len, text, len, diag, key);
      }
      NAY_TRY(key_parse(NAY_KEY_UUID, text, len, diag, key->short_bytes));
      key->at = key->short_bytes;
      key->len = 16;
      return NAY_OK;
  }
  return nay__fail(diag, NAY_ENOTSUP, "an unknown type", 0);
}

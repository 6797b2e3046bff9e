/* duckdb_nay.c - the entry point of the extension for DuckDB, and values as keys. */
#include "duckdb_nay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

duck_api duck;

__attribute__((visibility("default"))) bool nay_init_c_api(duck_info info, duck_access *access);

bool nay_init_c_api(duck_info info, duck_access *access) {
  const duck_slot *slots = access->get_api(info, "v1.2.0");
  if (slots == NULL) return false; /* DuckDB has said why */
#define X(slot, result, name, arguments) duck.name = (result(*) arguments)slots[slot];
  DUCK_API(X)
#undef X
  duck_database *database = access->get_database(info);
  duck_connection connection;
  if (database == NULL || duck.connect(*database, &connection) != 0) {
    access->set_error(info, "nay: no connection to the database");
    return false;
  }
  bool failed = duck_register_scalars(connection) != 0 || duck_register_aggregates(connection) != 0;
  duck.disconnect(&connection);
  if (failed) access->set_error(info, "nay: its functions could not be registered");
  return !failed;
}

const char *duck_message(char text[640], const char *function, const nay_sql_error *error) {
  snprintf(text, 640, error->hint[0] != 0 ? "%s: %s. %s" : "%s: %s", function, error->message,
           error->hint);
  return text;
}

/* ---- results --------------------------------------------------------------------------------- */

void duck_put_null(duck_vector vector, uint64_t row) {
  duck.vector_ensure_validity_writable(vector);
  duck.vector_get_validity(vector)[row / 64] &= ~(UINT64_C(1) << (row % 64));
}

nay_status duck_put_filter(duck_vector vector, uint64_t row, const nay_filter *filter,
                           nay_sql_error *error) {
  size_t len = nay_filter_encoded_size(filter);
  if (len > DUCK_MAX_FILE)
    return nay_sql_fail(error, NAY_EFULL, NULL, "the filter has %zu bytes, and a BLOB at most 4 GB",
                        len);
  void *bytes = malloc(len);
  if (bytes == NULL) return nay_sql_refuse(error, NAY_ENOMEM, NULL);
  nay_status status = nay_filter_encode(filter, bytes, len, &len);
  if (status == NAY_OK)
    duck.vector_assign_string_element_len(vector, row, bytes, len);
  else
    nay_sql_refuse(error, status, NULL);
  free(bytes);
  return status;
}

/* ---- columns --------------------------------------------------------------------------------- */

nay_key_type duck_column_type(const duck_column *column) {
  switch (column->type) {
    case DUCK_BOOLEAN: return NAY_KEY_BOOL;
    case DUCK_FLOAT:
    case DUCK_DOUBLE: return NAY_KEY_FLOAT;
    case DUCK_DATE: return NAY_KEY_DATE;
    case DUCK_TIMESTAMP:
    case DUCK_TIMESTAMP_S:
    case DUCK_TIMESTAMP_MS:
    case DUCK_TIMESTAMP_TZ: return NAY_KEY_TIMESTAMP;
    case DUCK_UUID: return NAY_KEY_UUID;
    case DUCK_HUGEINT:
    case DUCK_UHUGEINT:
    case DUCK_DECIMAL: return NAY_KEY_NUMERIC;
    case DUCK_VARCHAR:
    case DUCK_BLOB:
    case DUCK_SQLNULL: return NAY_KEY_TEXT;
    default: return NAY_KEY_INT;
  }
}

static bool duck_has_keys(int type) {
  return (type >= DUCK_BOOLEAN && type <= DUCK_DATE) ||
         (type >= DUCK_HUGEINT && type <= DUCK_TIMESTAMP_MS) || type == DUCK_UUID ||
         type == DUCK_TIMESTAMP_TZ || type == DUCK_UHUGEINT || type == DUCK_SQLNULL;
}

nay_status duck_column_open(duck_vector vector, nay_sql_error *error, duck_column *column) {
  duck_type type = duck.vector_get_column_type(vector);
  *column = (duck_column){.data = duck.vector_get_data(vector),
                          .validity = duck.vector_get_validity(vector),
                          .type = duck.get_type_id(type)};
  if (column->type == DUCK_DECIMAL) {
    column->scale = duck.decimal_scale(type);
    column->storage = duck.decimal_internal_type(type);
  }
  duck.destroy_logical_type(&type);
  if (duck_has_keys(column->type)) return NAY_OK;
  return nay_sql_fail(error, NAY_EINVAL,
                      column->type == DUCK_TIMESTAMP_NS
                          ? "Cast to TIMESTAMP, or take epoch_ns(x), on both sides."
                          : "Cast to a type that has, such as VARCHAR.",
                      "values of this type have no keys");
}

/* ---- numbers of 128 bits --------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 duck_u128;

/* The decimal text of a number and its scale, ended by 0. */
static size_t duck_decimal(duck_u128 number, bool negative, unsigned scale, char text[64]) {
  char digits[48];
  unsigned n = 0;
  do {
    digits[n++] = (char)('0' + (int)(number % 10));
    number /= 10;
  } while (number != 0);
  while (n <= scale) digits[n++] = '0';
  size_t len = 0;
  if (negative) text[len++] = '-';
  while (n > 0) {
    if (n == scale) text[len++] = '.';
    text[len++] = digits[--n];
  }
  return len;
}

static nay_status duck_numeric(duck_int128 number, bool is_signed, unsigned scale, char text[64],
                               nay_sql_error *error, nay_sql_value *value) {
  bool negative = is_signed && number.upper < 0;
  duck_u128 bits = (duck_u128)(uint64_t)number.upper << 64 | number.lower;
  char spelled[64];
  size_t len = duck_decimal(negative ? -bits : bits, negative, scale, spelled);
  nay_diag diag = {0};
  size_t key_len;
  nay_status status =
      nay_key_parse(NAY_KEY_NUMERIC, spelled, len, &diag, (uint8_t *)text, 64, &key_len);
  if (status != NAY_OK) return nay_sql_refuse(error, status, &diag);
  nay_sql_bytes(value, NAY_KEY_NUMERIC, false, text, key_len);
  return NAY_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Vectors are aligned, but this costs nothing and needs no such promise. */
#define LOAD(type, column, row, into) \
  type into;                          \
  memcpy(&into, (column)->data + (row) * sizeof into, sizeof into)

static int64_t duck_integer(const duck_column *column, int type, uint64_t row) {
  switch (type) {
    case DUCK_TINYINT: return (int8_t)column->data[row];
    case DUCK_BOOLEAN: return column->data[row] != 0;
    case DUCK_UTINYINT: return column->data[row];
    case DUCK_SMALLINT: {
      LOAD(int16_t, column, row, v);
      return v;
    }
    case DUCK_USMALLINT: {
      LOAD(uint16_t, column, row, v);
      return v;
    }
    case DUCK_INTEGER:
    case DUCK_DATE: {
      LOAD(int32_t, column, row, v);
      return v;
    }
    case DUCK_UINTEGER: {
      LOAD(uint32_t, column, row, v);
      return v;
    }
    default: { /* BIGINT, UBIGINT, timestamps */ LOAD(int64_t, column, row, v); return v;
    }
  }
}

/* Infinities are the greatest number and its negative. */
static nay_status duck_time(int type, int64_t number, nay_sql_error *error, nay_sql_value *value) {
  if (type == DUCK_DATE) {
    if (number == INT32_MAX) number = INT64_MAX;
    if (number == -INT32_MAX) number = INT64_MIN;
    nay_sql_int(value, NAY_KEY_DATE, number);
    return NAY_OK;
  }
  int64_t unit = type == DUCK_TIMESTAMP_S ? 1000000 : type == DUCK_TIMESTAMP_MS ? 1000 : 1;
  if (number == -INT64_MAX)
    number = INT64_MIN;
  else if (number != INT64_MAX && __builtin_mul_overflow(number, unit, &number))
    return nay_sql_fail(error, NAY_EINVAL, NULL, "timestamps after 294247-01-10 have no key");
  nay_sql_int(value, NAY_KEY_TIMESTAMP, number);
  return NAY_OK;
}

static void duck_uuid(const duck_column *column, uint64_t row, nay_sql_value *value) {
  LOAD(duck_int128, column, row, v);
  uint64_t upper = (uint64_t)v.upper ^ UINT64_C(1) << 63; /* DuckDB sorts them as signed numbers */
  for (int i = 0; i < 8; i++) {
    value->room[i] = (uint8_t)(upper >> (56 - 8 * i));
    value->room[8 + i] = (uint8_t)(v.lower >> (56 - 8 * i));
  }
  nay_sql_bytes(value, NAY_KEY_UUID, false, value->room, 16);
}

static nay_status duck_wide(const duck_column *column, uint64_t row, char text[64],
                            nay_sql_error *error, nay_sql_value *value) {
  bool decimal = column->type == DUCK_DECIMAL;
  if (!decimal || column->storage == DUCK_HUGEINT) {
    LOAD(duck_int128, column, row, v);
    return duck_numeric(v, column->type != DUCK_UHUGEINT, column->scale, text, error, value);
  }
  int64_t v = duck_integer(column, column->storage, row);
  duck_int128 wide = {(uint64_t)v, v < 0 ? -1 : 0};
  return duck_numeric(wide, true, column->scale, text, error, value);
}

nay_status duck_value(const duck_column *column, uint64_t row, char text[64], nay_sql_error *error,
                      nay_sql_value *value) {
  switch (column->type) {
    case DUCK_FLOAT: {
      LOAD(float, column, row, v);
      nay_sql_float(value, (double)v);
      return NAY_OK;
    }
    case DUCK_DOUBLE: {
      LOAD(double, column, row, v);
      nay_sql_float(value, v);
      return NAY_OK;
    }
    case DUCK_DATE:
    case DUCK_TIMESTAMP:
    case DUCK_TIMESTAMP_S:
    case DUCK_TIMESTAMP_MS:
    case DUCK_TIMESTAMP_TZ:
      return duck_time(column->type, duck_integer(column, column->type, row), error, value);
    case DUCK_UUID: duck_uuid(column, row, value); return NAY_OK;
    case DUCK_HUGEINT:
    case DUCK_UHUGEINT:
    case DUCK_DECIMAL: return duck_wide(column, row, text, error, value);
    case DUCK_VARCHAR:
    case DUCK_BLOB: {
      const duck_string *string = (const duck_string *)(const void *)column->data + row;
      nay_sql_bytes(value, NAY_KEY_TEXT, column->type == DUCK_BLOB, duck_bytes(string),
                    string->len);
      return NAY_OK;
    }
    default: {
      int64_t v = duck_integer(column, column->type, row);
      nay_sql_int(value, duck_column_type(column), v);
      value->above = column->type == DUCK_UBIGINT && v < 0;
      return NAY_OK;
    }
  }
}

/* ---- literals -------------------------------------------------------------------------------- */

static int duck_hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* What a cast to BLOB makes of a text: \xNN is a byte. false: it makes nothing. */
static bool duck_blob(const char *text, size_t len, uint8_t *dst, size_t *written) {
  size_t n = 0;
  for (size_t i = 0; i < len; i++) {
    if (text[i] != '\\') {
      dst[n++] = (uint8_t)text[i];
      continue;
    }
    if (len - i < 4 || text[i + 1] != 'x' || duck_hex(text[i + 2]) < 0 || duck_hex(text[i + 3]) < 0)
      return false;
    dst[n++] = (uint8_t)(duck_hex(text[i + 2]) << 4 | duck_hex(text[i + 3]));
    i += 3;
  }
  *written = n;
  return true;
}

/* Whether a text that is a timestamp has no zone: then it is a date, or one with a Z is one too. */
static bool duck_has_no_zone(const char *text, size_t len) {
  char with[72];
  uint8_t key[80];
  nay_diag diag = {0};
  size_t written;
  for (; len > 0 && strchr(" \t\n\v\f\r", text[0]) != NULL && text[0] != 0; len--) text++;
  for (; len > 0 && strchr(" \t\n\v\f\r", text[len - 1]) != NULL && text[len - 1] != 0;) len--;
  if (len == 0 || len > 64) return false;
  memcpy(with, text, len);
  if (nay_key_parse(NAY_KEY_DATE, with, len, &diag, key, sizeof key, &written) == NAY_OK)
    return with[0] >= '0' && with[0] <= '9'; /* not infinity */
  with[len] = 'Z';
  return nay_key_parse(NAY_KEY_TIMESTAMP, with, len + 1, &diag, key, sizeof key, &written) ==
         NAY_OK;
}

static void duck_read_usecs(nay_sql_readings *readings, int64_t usecs) {
  nay_sql_int(&readings->values[readings->n++], NAY_KEY_TIMESTAMP, usecs);
}

/* A cast to TIMESTAMP ignores the zone; to TIMESTAMP_MS and _S it also rounds. */
static void duck_read_local(const nay_sql_probe *probe, const char *text, size_t len,
                            nay_sql_readings *readings) {
  nay_key_description how = probe->how;
  how.type = NAY_KEY_TIMESTAMP;
  nay_diag diag = {0};
  uint8_t key[8];
  size_t written, end = 0;
  while (end < len && text[end] != ':') end++;
  while (end < len && strchr("Zz+-", text[end]) == NULL) end++;
  if (end == len || nay_key_convert(&how, text, end, &diag, key, sizeof key, &written) != NAY_OK)
    return; /* infinity, or out of range */
  uint64_t word = 0;
  for (int i = 0; i < 8; i++) word |= (uint64_t)key[i] << (8 * i);
  int64_t usecs = (int64_t)word;
  duck_read_usecs(readings, usecs);
  for (int64_t unit = 1000; unit <= 1000000; unit *= 1000) {
    int64_t over = (usecs % unit + unit) % unit;
    if (over == 0 || usecs < INT64_MIN + unit || usecs > INT64_MAX - unit) continue;
    duck_read_usecs(readings, usecs - over);
    duck_read_usecs(readings, usecs - over + unit);
  }
}

nay_status duck_literal_read(const duck_column *column, const nay_sql_probe *probe,
                             nay_sql_error *error, duck_literal *literal) {
  const nay_sql_value *value = &literal->readings.values[0];
  literal->readings.n = 1;
  literal->more = NULL;
  if (column->type != DUCK_VARCHAR || probe->how.size == 0) return NAY_OK;
  if (probe->how.type == NAY_KEY_TIMESTAMP || probe->how.type == NAY_KEY_ORDERED_TIMESTAMP) {
    if (duck_has_no_zone(value->key, value->len))
      return nay_sql_fail(
          error, NAY_EINVAL, "Cast it: ::TIMESTAMP, or ::TIMESTAMPTZ.",
          "a time without a zone, and the filter does not say whether its keys had");
    duck_read_local(probe, value->key, value->len, &literal->readings);
    return NAY_OK;
  }
  if (probe->how.type != NAY_KEY_TEXT || value->len == 0 ||
      memchr(value->key, '\\', value->len) == NULL)
    return NAY_OK;
  literal->more = malloc(value->len);
  if (literal->more == NULL) return nay_sql_refuse(error, NAY_ENOMEM, NULL);
  size_t len;
  if (duck_blob(value->key, value->len, literal->more, &len))
    nay_sql_bytes(&literal->readings.values[literal->readings.n++], NAY_KEY_TEXT, true,
                  literal->more, len);
  return NAY_OK;
}

/* The key of a numeric, of len bytes with a byte free before it, without the digits from `at` on:
 * rounded, halves away from zero. Returns where it starts. */
static char *duck_round(char *digits, size_t at, size_t *len) {
  bool up = digits[at] >= '5', negative = digits[0] == '-';
  size_t first = negative ? 1 : 0;
  *len = digits[at - 1] == '.' ? at - 1 : at;
  for (size_t i = *len; up && i-- > first;) {
    if (digits[i] == '.') continue;
    up = digits[i] == '9';
    digits[i] = up ? '0' : (char)(digits[i] + 1);
  }
  if (!up) return digits;
  digits -= 1; /* 99.5 */
  digits[first] = '1';
  if (negative) digits[0] = '-';
  *len += 1;
  return digits;
}

nay_status duck_ask_rounded(const nay_sql_probe *probe, const nay_sql_value *literal,
                            nay_sql_error *error, bool *maybe) {
  uint8_t room[128];
  const void *key;
  void *more;
  size_t len;
  if (probe->how.type != NAY_KEY_NUMERIC) return NAY_OK;
  if (memchr(literal->key, 'e', literal->len) != NULL ||
      memchr(literal->key, 'E', literal->len) != NULL) {
    *maybe = true; /* DuckDB 1.5.6: 12.995e2 is 1299 as DECIMAL(4, 0), and 1300 as HUGEINT */
    return NAY_OK;
  }
  nay_status status = nay_sql_key(probe, literal, room, error, &key, &len, &more);
  if (status != NAY_OK) return status;
  const char *point = memchr(key, '.', len);
  size_t scale0 = point != NULL ? (size_t)(point - (const char *)key) + 1 : len;
  char *copy = scale0 < len ? malloc(len + 1) : NULL;
  if (scale0 < len && copy == NULL) status = nay_sql_refuse(error, NAY_ENOMEM, NULL);
  size_t end = len - scale0 > 38 ? scale0 + 39 : len; /* the greatest scale is 38 */
  for (size_t at = end; status == NAY_OK && !*maybe && at-- > scale0;) {
    memcpy(copy + 1, key, len);
    nay_sql_value rounded;
    size_t rounded_len;
    const char *digits = duck_round(copy + 1, at, &rounded_len);
    nay_sql_bytes(&rounded, NAY_KEY_TEXT, false, digits, rounded_len);
    status = nay_sql_ask(probe, &rounded, error, maybe);
  }
  free(copy);
  free(more);
  return status;
}

/* pg_value.c - values of PostgreSQL as keys, by doc/keys.md. */
#include "nay_pg.h"

#include <catalog/pg_type.h>
#include <fmgr.h>
#include <mb/pg_wchar.h>
#include <utils/builtins.h>
#include <utils/date.h>
#include <utils/lsyscache.h>
#include <utils/pg_locale.h>
#include <utils/timestamp.h>
#include <utils/uuid.h>
#if PG_VERSION_NUM >= 190000
#include <nodes/miscnodes.h>
#endif

/* PostgreSQL counts from 2000-01-01. */
enum { DAYS_TO_2000 = 10957 };
#define USECS_TO_2000 INT64CONST(946684800000000)

static bool pg_key_type(Oid oid, nay_key_type *type) {
  switch (oid) {
    case INT2OID:
    case INT4OID:
    case INT8OID: *type = NAY_KEY_INT; return true;
    case FLOAT4OID:
    case FLOAT8OID: *type = NAY_KEY_FLOAT; return true;
    case BOOLOID: *type = NAY_KEY_BOOL; return true;
    case DATEOID: *type = NAY_KEY_DATE; return true;
    case TIMESTAMPOID:
    case TIMESTAMPTZOID: *type = NAY_KEY_TIMESTAMP; return true;
    case UUIDOID: *type = NAY_KEY_UUID; return true;
    case NUMERICOID: *type = NAY_KEY_NUMERIC; return true;
    case TEXTOID:
    case VARCHAROID:
    case BPCHAROID:
    case NAMEOID:
    case BYTEAOID: *type = NAY_KEY_TEXT; return true;
    default: return false;
  }
}

nay_pg_type nay_pg_type_of(Oid oid, Oid collation) {
  nay_pg_type found = {.oid = OidIsValid(oid) ? getBaseType(oid) : InvalidOid};
  if (!OidIsValid(oid))
    ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE),
                    errmsg("nay: the type of the value is not known")));
  if (!pg_key_type(found.oid, &found.type))
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("nay: values of type %s have no keys", format_type_be(oid)),
                    found.oid == OIDOID /* equals integers modulo 2^32 */
                        ? errhint("Cast to bigint.")
                        : errhint("Cast to a type that has: a text that is the same for equal "
                                  "values, such as lower(x::text) for citext.")));
  found.binary = found.oid == BYTEAOID;
  if (found.type == NAY_KEY_TEXT && !found.binary && OidIsValid(collation) &&
      !get_collation_isdeterministic(collation))
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("nay: equal texts of a nondeterministic collation have different keys"),
                    errhint("Fold the text, and use COLLATE \"C\".")));
  return found;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* A key is UTF-8, so that databases of every encoding agree. SQL_ASCII has no encoding: its bytes.
 */
static void pg_text(const char *bytes, size_t len, nay_sql_value *value) {
  int encoding = GetDatabaseEncoding();
  if (encoding != PG_UTF8 && encoding != PG_SQL_ASCII) {
    char *other = pg_server_to_any(bytes, (int)len, PG_UTF8);
    if (other != bytes) {
      bytes = other;
      len = strlen(other);
    }
  }
  nay_sql_bytes(value, NAY_KEY_TEXT, false, bytes, len);
}

static void pg_numeric(Datum datum, nay_sql_value *value) {
  const char *text = DatumGetCString(DirectFunctionCall1(numeric_out, datum));
  size_t cap = strlen(text) + 8, len;
  uint8_t *key = palloc(cap);
  nay_diag diag = {0};
  nay_status status = nay_key_parse(NAY_KEY_NUMERIC, text, cap - 8, &diag, key, cap, &len);
  if (status != NAY_OK) nay_pg_refuse(status, &diag);
  nay_sql_bytes(value, NAY_KEY_NUMERIC, false, key, len);
}

/* ---- times ----------------------------------------------------------------------------------- */

static int64_t pg_days(DateADT date) {
  if (DATE_IS_NOBEGIN(date)) return INT64_MIN;
  if (DATE_IS_NOEND(date)) return INT64_MAX;
  return (int64_t)date + DAYS_TO_2000;
}

static bool pg_has_usecs(Timestamp time, int64_t *usecs) {
  if (TIMESTAMP_IS_NOBEGIN(time)) *usecs = INT64_MIN;
  if (TIMESTAMP_IS_NOEND(time)) *usecs = INT64_MAX;
  return TIMESTAMP_NOT_FINITE(time) ||
         (!__builtin_add_overflow((int64_t)time, USECS_TO_2000, usecs) && *usecs != INT64_MAX);
}

static int64_t pg_usecs(Timestamp time) {
  int64_t usecs;
  if (!pg_has_usecs(time, &usecs))
    ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                    errmsg("nay: timestamps after 294247-01-10 have no key")));
  return usecs;
}

/* One reading more, but for a time that has no key and so is in no filter. */
static void pg_read_time(nay_sql_readings *readings, Timestamp time) {
  int64_t usecs;
  if (pg_has_usecs(time, &usecs))
    nay_sql_int(&readings->values[readings->n++], NAY_KEY_TIMESTAMP, usecs);
}

static bool pg_zone_is_utc(void) {
  long offset;
  return pg_get_timezone_offset(session_timezone, &offset) && offset == 0;
}

/* What timestamp2timestamptz carries to an instant: its local time, also by the offsets of the day
 * before and after, as a local time that a change of the clocks skips has one of those. */
static void pg_read_local(nay_sql_readings *readings, TimestampTz instant) {
  for (int days = -1; days <= 1; days++) {
    struct pg_tm parts;
    fsec_t fraction;
    int west;
    TimestampTz at = instant + days * 25 * USECS_PER_HOUR;
    if (IS_VALID_TIMESTAMP(at) && timestamp2tm(at, &west, &parts, &fraction, NULL, NULL) == 0)
      pg_read_time(readings, instant - west * USECS_PER_SEC);
  }
}

/* A local time of the session's zone as an instant; false: out of range. */
static bool pg_is_instant(Timestamp local, TimestampTz *instant) {
#if PG_VERSION_NUM >= 190000
  ErrorSaveContext context = {T_ErrorSaveContext};
  *instant = timestamp2timestamptz_safe(local, (Node *)&context);
  return !context.error_occurred;
#else
  int overflow = 0;
  *instant = timestamp2timestamptz_opt_overflow(local, &overflow);
  return overflow == 0;
#endif
}

void nay_pg_time(const nay_pg_type *type, Datum datum, nay_sql_readings *readings) {
  Timestamp time = DatumGetTimestamp(datum);
  readings->n = 1;
  nay_pg_value(type, datum, &readings->values[0]);
  if (TIMESTAMP_NOT_FINITE(time) || pg_zone_is_utc()) return;
  if (type->oid == TIMESTAMPTZOID) {
    pg_read_local(readings, time);
    return;
  }
  TimestampTz instant;
  if (pg_is_instant(time, &instant)) pg_read_time(readings, instant);
}

/* ---- any value ------------------------------------------------------------------------------- */

static void pg_varlena(const nay_pg_type *type, Datum datum, nay_sql_value *value) {
  struct varlena *bytes = PG_DETOAST_DATUM_PACKED(datum);
  const char *data = VARDATA_ANY(bytes);
  size_t len = VARSIZE_ANY_EXHDR(bytes);
  if (type->oid == BYTEAOID) {
    nay_sql_bytes(value, NAY_KEY_TEXT, true, data, len);
    return;
  }
  if (type->oid == BPCHAROID) len = (size_t)bpchartruelen((char *)(uintptr_t)data, (int)len);
  pg_text(data, len, value);
}

void nay_pg_value(const nay_pg_type *type, Datum datum, nay_sql_value *value) {
  switch (type->oid) {
    case INT2OID: nay_sql_int(value, NAY_KEY_INT, DatumGetInt16(datum)); return;
    case INT4OID: nay_sql_int(value, NAY_KEY_INT, DatumGetInt32(datum)); return;
    case INT8OID: nay_sql_int(value, NAY_KEY_INT, DatumGetInt64(datum)); return;
    case FLOAT4OID: nay_sql_float(value, (double)DatumGetFloat4(datum)); return;
    case FLOAT8OID: nay_sql_float(value, DatumGetFloat8(datum)); return;
    case BOOLOID: nay_sql_int(value, NAY_KEY_BOOL, DatumGetBool(datum)); return;
    case DATEOID: nay_sql_int(value, NAY_KEY_DATE, pg_days(DatumGetDateADT(datum))); return;
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
      nay_sql_int(value, NAY_KEY_TIMESTAMP, pg_usecs(DatumGetTimestamp(datum)));
      return;
    case UUIDOID:
      nay_sql_bytes(value, NAY_KEY_UUID, false, DatumGetUUIDP(datum)->data, UUID_LEN);
      return;
    case NUMERICOID: pg_numeric(datum, value); return;
    case NAMEOID:
      pg_text(NameStr(*DatumGetName(datum)), strlen(NameStr(*DatumGetName(datum))), value);
      return;
    default: pg_varlena(type, datum, value);
  }
}

/* ---- literals -------------------------------------------------------------------------------- */

static int pg_hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* What byteain makes of a text, without its errors; false: no bytea. dst has room for len bytes. */
static bool pg_bytea(const char *text, size_t len, uint8_t *dst, size_t *written) {
  size_t n = 0, i = 0;
  if (len >= 2 && text[0] == '\\' && text[1] == 'x') {
    for (i = 2; i < len; i++) {
      if (strchr(" \t\n\r", text[i]) != NULL && text[i] != 0) continue;
      if (i + 1 == len || pg_hex(text[i]) < 0 || pg_hex(text[i + 1]) < 0) return false;
      dst[n++] = (uint8_t)(pg_hex(text[i]) << 4 | pg_hex(text[i + 1]));
      i++;
    }
  }
  while (i < len) {
    if (text[i] != '\\') {
      dst[n++] = (uint8_t)text[i++];
    } else if (i + 1 < len && text[i + 1] == '\\') {
      dst[n++] = '\\';
      i += 2;
    } else if (i + 3 < len && text[i + 1] >= '0' && text[i + 1] <= '3' && text[i + 2] >= '0' &&
               text[i + 2] <= '7' && text[i + 3] >= '0' && text[i + 3] <= '7') {
      dst[n++] =
          (uint8_t)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 | (text[i + 3] - '0'));
      i += 4;
    } else {
      return false;
    }
  }
  *written = n;
  return true;
}

static bool pg_states(const nay_sql_probe *probe, nay_key_type type, nay_key_type ordered) {
  return probe->how.size != 0 && (probe->how.type == type || probe->how.type == ordered);
}

static Timestamp pg_time_in(PGFunction input, text *from) {
  return DatumGetTimestamp(DirectFunctionCall3(input, CStringGetDatum(text_to_cstring(from)),
                                               ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

/* As text: of char(n) without trailing spaces, of name its first 63 bytes. As bytea. As timestamptz
 * by the session's zone; as timestamp, where PostgreSQL ignores a zone that the text has. */
void nay_pg_literal(Datum datum, const nay_sql_probe *probe, nay_sql_readings *literal) {
  struct varlena *value = PG_DETOAST_DATUM_PACKED(datum);
  const char *chars = VARDATA_ANY(value);
  size_t len = VARSIZE_ANY_EXHDR(value);
  literal->n = 1;
  pg_text(chars, len, &literal->values[0]);
  if (pg_states(probe, NAY_KEY_TIMESTAMP, NAY_KEY_ORDERED_TIMESTAMP)) {
    pg_read_time(literal, pg_time_in(timestamptz_in, (text *)value));
    pg_read_time(literal, pg_time_in(timestamp_in, (text *)value));
  }
  if (!pg_states(probe, NAY_KEY_TEXT, NAY_KEY_TEXT)) return;
  if (len > 0 && chars[len - 1] == ' ')
    pg_text(chars, (size_t)bpchartruelen((char *)(uintptr_t)chars, (int)len),
            &literal->values[literal->n++]);
  if (len >= NAMEDATALEN)
    pg_text(chars, (size_t)pg_mbcliplen(chars, (int)len, NAMEDATALEN - 1),
            &literal->values[literal->n++]);
  bool other = literal->values[0].key != chars; /* another encoding: a bytea has the bytes of it */
  if (len > 0 && (other || memchr(chars, '\\', len) != NULL)) {
    uint8_t *bytes = palloc(len);
    size_t n;
    if (pg_bytea(chars, len, bytes, &n))
      nay_sql_bytes(&literal->values[literal->n++], NAY_KEY_TEXT, true, bytes, n);
  }
}

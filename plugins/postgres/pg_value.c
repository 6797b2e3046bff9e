/* pg_value.c - values of PostgreSQL as keys, by doc/keys.md. */
#include "nay_pg.h"

#include <catalog/pg_type.h>
#include <mb/pg_wchar.h>
#include <utils/builtins.h>
#include <utils/date.h>
#include <utils/lsyscache.h>
#include <utils/pg_locale.h>
#include <utils/timestamp.h>
#include <utils/uuid.h>

/* PostgreSQL counts from 2000-01-01. */
enum { DAYS_TO_2000 = 10957 };
#define USECS_TO_2000 INT64CONST(946684800000000)

static bool pg_key_type(Oid oid, nay_key_type *type) {
  switch (oid) {
    case INT2OID:
    case INT4OID:
    case INT8OID:
    case OIDOID: *type = NAY_KEY_INT; return true;
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
                    errhint("Cast to a type that has: a text that is the same for equal values, "
                            "such as lower(x::text) for citext.")));
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

static int64_t pg_usecs(Timestamp time) {
  if (TIMESTAMP_IS_NOBEGIN(time)) return INT64_MIN;
  if (TIMESTAMP_IS_NOEND(time)) return INT64_MAX;
  int64_t usecs;
  if (__builtin_add_overflow((int64_t)time, USECS_TO_2000, &usecs) || usecs == INT64_MAX)
    ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                    errmsg("nay: timestamps after 294247-01-10 have no key")));
  return usecs;
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
    case OIDOID: nay_sql_int(value, NAY_KEY_INT, (int64_t)DatumGetObjectId(datum)); return;
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

/* nay_pg.c - the type nay: memory, errors, input and output. A value is the bytes of a native file.
 */
#include "nay_pg.h"

#include <common/base64.h>
#include <libpq/pqformat.h>
#include <utils/memutils.h>

PG_MODULE_MAGIC;

/* ---- memory ---------------------------------------------------------------------------------- */

static void *pg_alloc(void *ctx, size_t size) {
  if (size > MaxAllocHugeSize) return NULL;
  return nay_sql_memory(MemoryContextAllocExtended(ctx, size, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM),
                        size);
}

static void pg_release(void *ctx, void *ptr, size_t size) {
  (void)ctx, (void)size;
  if (ptr != NULL) pfree(ptr);
}

nay_allocator nay_pg_allocator(MemoryContext context) {
  return (nay_allocator){.alloc = pg_alloc, .free = pg_release, .ctx = context};
}

/* ---- errors ---------------------------------------------------------------------------------- */

static int pg_code(nay_status status) {
  switch (status) {
    case NAY_ENOMEM: return ERRCODE_OUT_OF_MEMORY;
    case NAY_EINVAL: return ERRCODE_INVALID_PARAMETER_VALUE;
    case NAY_ENOTSUP: return ERRCODE_FEATURE_NOT_SUPPORTED;
    case NAY_EVERSION: return ERRCODE_FEATURE_NOT_SUPPORTED;
    case NAY_EMISMATCH: return ERRCODE_DATATYPE_MISMATCH;
    case NAY_ECORRUPT:
    case NAY_EFORMAT: return ERRCODE_INVALID_BINARY_REPRESENTATION;
    case NAY_EKEY: return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
    case NAY_EFULL: return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
    default: return ERRCODE_INTERNAL_ERROR;
  }
}

void nay_pg_fail(const nay_sql_error *error) {
  ereport(ERROR, (errcode(pg_code(error->status)), errmsg_internal("nay: %s", error->message),
                  error->hint[0] != 0 ? errhint("%s", error->hint) : 0));
  pg_unreachable();
}

void nay_pg_refuse(nay_status status, const nay_diag *diag) {
  nay_sql_error error;
  nay_sql_refuse(&error, status, diag);
  nay_pg_fail(&error);
}

/* ---- filters and values ---------------------------------------------------------------------- */

static void pg_too_large(size_t len) {
  ereport(ERROR,
          (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
           errmsg("nay: the filter would have %zu bytes, and a value has less than 1 GB", len),
           errhint("Split the keys: one filter for each part, probed with OR.")));
}

struct varlena *nay_pg_encode(const nay_filter *filter) {
  size_t len = nay_filter_encoded_size(filter);
  if (len > NAY_PG_MAX_FILE) pg_too_large(len);
  struct varlena *value = palloc(VARHDRSZ + len);
  nay_status status = nay_filter_encode(filter, VARDATA(value), len, &len);
  if (status != NAY_OK) nay_pg_refuse(status, NULL);
  SET_VARSIZE(value, VARHDRSZ + len);
  return value;
}

nay_filter *nay_pg_decode(struct varlena *value) {
  nay_allocator allocator = nay_pg_allocator(CurrentMemoryContext);
  nay_diag diag = {0};
  nay_filter *filter;
  nay_status status =
      nay_filter_decode(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), &allocator, &diag, &filter);
  if (status != NAY_OK) nay_pg_refuse(status, &diag);
  return filter;
}

/* Bytes from outside become a value only when a decoder has accepted them. */
static void pg_validate(const void *bytes, size_t len) {
  MemoryContext own = AllocSetContextCreate(CurrentMemoryContext, "nay", ALLOCSET_DEFAULT_SIZES);
  nay_allocator allocator = nay_pg_allocator(own);
  nay_diag diag = {0};
  nay_filter *filter;
  nay_status status = nay_filter_decode(bytes, len, &allocator, &diag, &filter);
  if (status == NAY_OK) nay_filter_free(filter);
  MemoryContextDelete(own);
  if (status != NAY_OK) nay_pg_refuse(status, &diag);
}

/* The bytes that base64 stands for: unsigned since PostgreSQL 18. */
#if PG_VERSION_NUM >= 180000
typedef uint8 pg_b64_byte;
#else
typedef char pg_b64_byte;
#endif

NAY_PG_FUNCTION(nay_pg_in) {
  const char *text = PG_GETARG_CSTRING(0);
  size_t len = strlen(text);
  if (len > MaxAllocSize - 8) pg_too_large(len / 4 * 3);
  int cap = (int)(len / 4 * 3 + 3); /* pg_b64_dec_len overflows above 683 MiB */
  struct varlena *value = palloc(VARHDRSZ + (size_t)cap);
  int got = pg_b64_decode(text, (int)len, (pg_b64_byte *)VARDATA(value), cap);
  if (got < 0)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("nay: the text is not base64"),
             errhint("A filter is the base64 of a native file; bytea takes its bytes.")));
  pg_validate(VARDATA(value), (size_t)got);
  SET_VARSIZE(value, VARHDRSZ + (size_t)got);
  PG_RETURN_POINTER(value);
}

NAY_PG_FUNCTION(nay_pg_out) {
  struct varlena *value = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0));
  size_t len = VARSIZE_ANY_EXHDR(value);
  if (len > (MaxAllocSize - 8) / 4 * 3)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("nay: the text of a filter of %zu bytes would exceed 1 GB", len),
                    errhint("Send it in binary, or split the keys.")));
  int cap = (int)((len + 2) / 3 * 4); /* pg_b64_enc_len overflows above 512 MiB */
  char *text = palloc((size_t)cap + 1);
  int got = pg_b64_encode((const pg_b64_byte *)VARDATA_ANY(value), (int)len, text, cap);
  if (got < 0) elog(ERROR, "nay: base64 did not fit");
  text[got] = 0;
  PG_RETURN_CSTRING(text);
}

NAY_PG_FUNCTION(nay_pg_recv) {
  StringInfo in = (StringInfo)PG_GETARG_POINTER(0);
  int len = in->len - in->cursor;
  const char *bytes = pq_getmsgbytes(in, len);
  pg_validate(bytes, (size_t)len);
  struct varlena *value = palloc(VARHDRSZ + (size_t)len);
  memcpy(VARDATA(value), bytes, (size_t)len);
  SET_VARSIZE(value, VARHDRSZ + (size_t)len);
  PG_RETURN_POINTER(value);
}

NAY_PG_FUNCTION(nay_pg_send) { PG_RETURN_POINTER(PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0))); }

NAY_PG_FUNCTION(nay_pg_from_bytea) {
  struct varlena *value = PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0));
  pg_validate(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
  PG_RETURN_POINTER(value);
}

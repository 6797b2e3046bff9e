/* nay_pg.h - what the files of the extension for PostgreSQL share. postgres.h comes first. */
#ifndef NAY_PG_H
#define NAY_PG_H

#include <postgres.h>

#if PG_VERSION_NUM >= 160000
#include <varatt.h>
#endif
#include <fmgr.h>
#include <utils/palloc.h>
#include "nay_sql.h"

/* A function that SQL calls. */
#define NAY_PG_FUNCTION(name) \
  PG_FUNCTION_INFO_V1(name);  \
  Datum name(PG_FUNCTION_ARGS)

/* nay_pg_allocator: of a memory context, whose owner frees what is left. */
nay_allocator nay_pg_allocator(MemoryContext context);

/* nay_pg_fail: ERROR with SQLSTATE and hint. */
void nay_pg_fail(const nay_sql_error *error) __attribute__((noreturn));
void nay_pg_refuse(nay_status status, const nay_diag *diag) __attribute__((noreturn));

static inline void nay_pg_check(nay_status status, const nay_sql_error *error) {
  if (unlikely(status != NAY_OK)) nay_pg_fail(error);
}

/* nay_pg_encode: the bytes of a filter as a value in the current context; ERROR above 1 GB. */
struct varlena *nay_pg_encode(const nay_filter *filter);

/* nay_pg_decode: a filter in the current context, writable. */
nay_filter *nay_pg_decode(struct varlena *value);

/* The largest file of a value. */
#define NAY_PG_MAX_FILE ((size_t)0x3fffffff - VARHDRSZ)

/* ---- values ---------------------------------------------------------------------------------- */

/* nay_pg_type: how values of an SQL type become keys. */
typedef struct nay_pg_type {
  Oid oid;           /* of the base type, when a domain was given */
  nay_key_type type; /* of the key */
  bool binary;
} nay_pg_type;

/* nay_pg_type_of: ERROR with a hint for a type that has no keys here, or a collation whose equality
 * is not that of bytes. */
nay_pg_type nay_pg_type_of(Oid oid, Oid collation);

/* nay_pg_value: of a datum that is not NULL; bytes stay in the current context. */
void nay_pg_value(const nay_pg_type *type, Datum datum, nay_sql_value *value);

/* nay_pg_time: the readings of a timestamp or timestamptz. A filter does not say which of the two
 * its keys were, and PostgreSQL's = converts one to the other in the session's zone. */
void nay_pg_time(const nay_pg_type *type, Datum datum, nay_sql_readings *readings);

/* nay_pg_literal: the readings of a quoted literal. */
void nay_pg_literal(Datum datum, const nay_sql_probe *probe, nay_sql_readings *literal);

#endif /* NAY_PG_H */

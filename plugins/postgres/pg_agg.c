/*
 * pg_agg.c - nay_agg and nay_union, parallel safe: a state per worker, sent as bytes, combined. All
 * memory of a state is in the aggregate's context, so an error or a cancelled query frees it.
 */
#include "nay_pg.h"

#include <miscadmin.h>
#include <utils/memutils.h>

static MemoryContext pg_agg_context(FunctionCallInfo fcinfo) {
  MemoryContext context;
  if (!AggCheckCallContext(fcinfo, &context))
    elog(ERROR, "nay: this function is called by aggregates only");
  return context;
}

/* ---- nay_agg --------------------------------------------------------------------------------- */

/* What a call in a plan keeps: how values become keys, and the arguments that it has seen. */
typedef struct pg_agg_call {
  nay_pg_type type;
  int64 n;
  double fpr;
} pg_agg_call;

static void pg_interrupts(void) { CHECK_FOR_INTERRUPTS(); }

/* work_mem * hash_mem_multiplier: what a hash table of the executor may take. */
static void pg_limits(nay_sql_wish *wish) {
  wish->max_memory = get_hash_memory_limit();
  wish->max_file = NAY_PG_MAX_FILE;
  wish->memory = "work_mem";
  wish->interrupts = pg_interrupts;
}

static void pg_null_argument(void) {
  ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                  errmsg("nay: n, fpr and kind of nay_agg must not be NULL")));
}

/* (x), (x, fpr), (x, n, fpr), (x, n, fpr, kind); argument 0 is the state. */
static nay_sql_agg *pg_agg_start(FunctionCallInfo fcinfo, pg_agg_call *call) {
  nay_allocator allocator = nay_pg_allocator(pg_agg_context(fcinfo));
  int nargs = PG_NARGS() - 1;
  for (int i = 2; i <= nargs; i++) {
    if (PG_ARGISNULL(i)) pg_null_argument();
  }
  int64_t n = nargs >= 3 ? PG_GETARG_INT64(2) : 0;
  double fpr = nargs == 1 ? 0.01 : PG_GETARG_FLOAT8(nargs == 2 ? 2 : 3);
  text *kind = nargs == 4 ? PG_GETARG_TEXT_PP(4) : NULL;
  nay_sql_wish wish;
  nay_sql_error error;
  nay_pg_check(
      nay_sql_wish_read(nargs >= 3 ? &n : NULL, fpr, kind != NULL ? VARDATA_ANY(kind) : NULL,
                        kind != NULL ? VARSIZE_ANY_EXHDR(kind) : 0, &error, &wish),
      &error);
  pg_limits(&wish);
  nay_sql_agg *agg;
  nay_pg_check(nay_sql_agg_new(&wish, &allocator, &error, &agg), &error);
  nay_sql_agg_set_type(agg, call->type.type);
  return agg;
}

/* Another n or fpr in a later row would be ignored: it is an error instead. */
static void pg_agg_arguments(FunctionCallInfo fcinfo, const nay_sql_agg *agg) {
  int nargs = PG_NARGS() - 1;
  const nay_sql_wish *wish = nay_sql_agg_wish(agg);
  if (nargs < 2) return;
  int at = nargs == 2 ? 2 : 3;
  if (!PG_ARGISNULL(at) && PG_GETARG_FLOAT8(at) == wish->fpr &&
      (nargs == 2 || (!PG_ARGISNULL(2) && (uint64_t)PG_GETARG_INT64(2) == wish->nkeys)))
    return;
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                  errmsg("nay: n and fpr must be the same in all rows of a group")));
}

NAY_PG_FUNCTION(nay_pg_agg_trans) {
  pg_agg_call *call = fcinfo->flinfo->fn_extra;
  if (call == NULL) {
    nay_pg_type type = nay_pg_type_of(get_fn_expr_argtype(fcinfo->flinfo, 1), PG_GET_COLLATION());
    call = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof *call);
    call->type = type;
    fcinfo->flinfo->fn_extra = call;
  }
  nay_sql_agg *agg;
  if (PG_ARGISNULL(0)) {
    agg = pg_agg_start(fcinfo, call);
  } else {
    agg = (nay_sql_agg *)PG_GETARG_POINTER(0);
    pg_agg_arguments(fcinfo, agg);
  }
  if (!PG_ARGISNULL(1)) {
    nay_sql_value value;
    nay_sql_error error;
    nay_pg_value(&call->type, PG_GETARG_DATUM(1), &value);
    nay_pg_check(nay_sql_agg_add(agg, &value, &error), &error);
  }
  PG_RETURN_POINTER(agg);
}

/*
 * What deserial returns has a context of its own below a short-lived one: the first part becomes
 * the state, with its context, and the others are merged and freed.
 */
NAY_PG_FUNCTION(nay_pg_agg_combine) {
  MemoryContext context = pg_agg_context(fcinfo);
  if (PG_ARGISNULL(1)) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    PG_RETURN_DATUM(PG_GETARG_DATUM(0));
  }
  nay_sql_agg *part = (nay_sql_agg *)PG_GETARG_POINTER(1);
  MemoryContext own = nay_sql_agg_memory(part);
  if (PG_ARGISNULL(0)) {
    MemoryContextSetParent(own, context);
    PG_RETURN_POINTER(part);
  }
  nay_sql_agg *agg = (nay_sql_agg *)PG_GETARG_POINTER(0);
  nay_sql_error error;
  nay_pg_check(nay_sql_agg_merge(agg, part, &error), &error);
  MemoryContextDelete(own);
  PG_RETURN_POINTER(agg);
}

NAY_PG_FUNCTION(nay_pg_agg_serial) {
  pg_agg_context(fcinfo);
  nay_sql_agg *agg = (nay_sql_agg *)PG_GETARG_POINTER(0);
  nay_sql_error error;
  size_t len;
  nay_pg_check(nay_sql_agg_encode(agg, NULL, 0, &error, &len), &error);
  if (len > NAY_PG_MAX_FILE)
    ereport(ERROR,
            (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
             errmsg("nay: the state of a parallel worker has %zu bytes, more than 1 GB", len),
             errhint("SET max_parallel_workers_per_gather = 0, or take a smaller n.")));
  bytea *out = palloc(VARHDRSZ + len);
  nay_pg_check(nay_sql_agg_encode(agg, VARDATA(out), len, &error, &len), &error);
  SET_VARSIZE(out, VARHDRSZ + len);
  PG_RETURN_BYTEA_P(out);
}

NAY_PG_FUNCTION(nay_pg_agg_deserial) {
  pg_agg_context(fcinfo);
  bytea *in = PG_GETARG_BYTEA_PP(0);
  nay_allocator allocator = nay_pg_allocator(
      AllocSetContextCreate(CurrentMemoryContext, "nay_agg", ALLOCSET_DEFAULT_SIZES));
  nay_sql_wish limits = {0};
  pg_limits(&limits);
  nay_sql_error error;
  nay_sql_agg *agg;
  nay_pg_check(
      nay_sql_agg_decode(VARDATA_ANY(in), VARSIZE_ANY_EXHDR(in), &limits, &allocator, &error, &agg),
      &error);
  PG_RETURN_POINTER(agg);
}

static void pg_warn(const nay_filter *filter) {
  nay_stats stats = {.size = sizeof stats};
  if (nay_filter_stats(filter, &stats) != NAY_OK || !stats.overloaded) return;
  ereport(WARNING, (errmsg("nay: the filter was planned for %llu keys and has about %.0f",
                           (unsigned long long)stats.nkeys, stats.nkeys_estimated),
                    errdetail("Its false-positive rate is %.3g and not %.3g.", stats.fpr_now,
                              stats.fpr_planned),
                    errhint("Plan for the keys of all parts: a larger n.")));
}

NAY_PG_FUNCTION(nay_pg_agg_final) {
  pg_agg_context(fcinfo);
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  nay_sql_agg *agg = (nay_sql_agg *)PG_GETARG_POINTER(0);
  nay_sql_error error;
  const nay_filter *filter;
  CHECK_FOR_INTERRUPTS();
  nay_pg_check(nay_sql_agg_result(agg, &error, &filter), &error);
  pg_warn(filter);
  PG_RETURN_POINTER(nay_pg_encode(filter));
}

/* ---- nay_union ------------------------------------------------------------------------------- */

static void pg_unite(nay_filter *to, const nay_filter *from) {
  nay_diag diag = {0};
  nay_status status = nay_filter_merge(to, from, 1.0, &diag);
  if (status != NAY_OK) nay_pg_refuse(status, &diag);
}

static nay_filter *pg_decode_into(MemoryContext context, struct varlena *value) {
  MemoryContext before = MemoryContextSwitchTo(context);
  nay_filter *filter = nay_pg_decode(value);
  MemoryContextSwitchTo(before);
  return filter;
}

NAY_PG_FUNCTION(nay_pg_union_trans) {
  MemoryContext context = pg_agg_context(fcinfo);
  nay_filter *all = PG_ARGISNULL(0) ? NULL : (nay_filter *)PG_GETARG_POINTER(0);
  if (!PG_ARGISNULL(1)) {
    struct varlena *value = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(1));
    if (all == NULL) {
      all = pg_decode_into(context, value);
    } else {
      nay_filter *one = nay_pg_decode(value);
      pg_unite(all, one);
      nay_filter_free(one);
    }
  }
  if (all == NULL) PG_RETURN_NULL();
  PG_RETURN_POINTER(all);
}

NAY_PG_FUNCTION(nay_pg_union_combine) {
  nay_allocator allocator = nay_pg_allocator(pg_agg_context(fcinfo));
  if (PG_ARGISNULL(1)) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    PG_RETURN_DATUM(PG_GETARG_DATUM(0));
  }
  nay_filter *part = (nay_filter *)PG_GETARG_POINTER(1), *all;
  if (PG_ARGISNULL(0)) {
    nay_diag diag = {0};
    nay_status status = nay_filter_copy(part, &allocator, &diag, &all);
    if (status != NAY_OK) nay_pg_refuse(status, &diag);
  } else {
    all = (nay_filter *)PG_GETARG_POINTER(0);
    pg_unite(all, part);
  }
  PG_RETURN_POINTER(all);
}

NAY_PG_FUNCTION(nay_pg_union_serial) {
  pg_agg_context(fcinfo);
  PG_RETURN_POINTER(nay_pg_encode((const nay_filter *)PG_GETARG_POINTER(0)));
}

NAY_PG_FUNCTION(nay_pg_union_deserial) {
  pg_agg_context(fcinfo);
  PG_RETURN_POINTER(nay_pg_decode(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0))));
}

NAY_PG_FUNCTION(nay_pg_union_final) {
  pg_agg_context(fcinfo);
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  const nay_filter *all = (const nay_filter *)PG_GETARG_POINTER(0);
  pg_warn(all);
  PG_RETURN_POINTER(nay_pg_encode(all));
}

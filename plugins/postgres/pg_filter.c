/* pg_filter.c - functions of filters: probes, copies on write, descriptions. */
#include "nay_pg.h"

#include <access/detoast.h>
#include <access/htup_details.h>
#include <catalog/pg_type.h>
#include <funcapi.h>
#include <miscadmin.h>
#include <utils/builtins.h>

/* ---- the filters of a call ------------------------------------------------------------------- */

/*
 * What a call in a plan keeps between rows: the filters that it asked last, decoded, as many as a
 * hash table of the executor might have bytes, and at least one. A value in a table is known again
 * by its TOAST pointer, others by their digests (nay_sql.h).
 */
enum { PG_KEPT = 16 };
typedef struct pg_kept {
  nay_sql_probe *probe;
  bool toasted;
  struct varatt_external pointer;
} pg_kept;

typedef struct pg_call {
  nay_pg_type type;
  size_t n;
  pg_kept kept[PG_KEPT]; /* the last asked one first */
} pg_call;

static pg_call *pg_call_of(FunctionCallInfo fcinfo, bool literal) {
  FmgrInfo *info = fcinfo->flinfo;
  pg_call *call = info->fn_extra;
  if (call != NULL) return call;
  nay_pg_type type =
      nay_pg_type_of(literal ? TEXTOID : get_fn_expr_argtype(info, 1), PG_GET_COLLATION());
  call = MemoryContextAllocZero(info->fn_mcxt, sizeof *call);
  call->type = type;
  info->fn_extra = call;
  return call;
}

/* Moves entry i to the front. */
static nay_sql_probe *pg_call_use(pg_call *call, size_t i) {
  pg_kept used = call->kept[i];
  memmove(call->kept + 1, call->kept, i * sizeof used);
  call->kept[0] = used;
  return used.probe;
}

/* Frees those asked longest ago until there is room for one of len bytes more. */
static void pg_call_make_room(pg_call *call, size_t len) {
  size_t total = len, limit = get_hash_memory_limit();
  for (size_t i = 0; i < call->n; i++) total += call->kept[i].probe->identity[0];
  while (call->n == PG_KEPT || (call->n > 0 && total > limit)) {
    nay_sql_probe *last = call->kept[--call->n].probe;
    total -= last->identity[0];
    nay_sql_probe_free(last);
  }
}

static nay_sql_probe *pg_call_open(pg_call *call, MemoryContext context, struct varlena *value) {
  struct varlena *bytes = PG_DETOAST_DATUM_PACKED(PointerGetDatum(value));
  size_t len = VARSIZE_ANY_EXHDR(bytes), i = 0;
  while (i < call->n && !nay_sql_probe_is(call->kept[i].probe, VARDATA_ANY(bytes), len)) i++;
  if (i == call->n) {
    nay_allocator allocator = nay_pg_allocator(context);
    nay_sql_error error;
    pg_call_make_room(call, len);
    i = call->n;
    nay_pg_check(
        nay_sql_probe_new(VARDATA_ANY(bytes), len, &allocator, &error, &call->kept[i].probe),
        &error);
    call->n++;
  }
  pg_kept *kept = &call->kept[i];
  kept->toasted = VARATT_IS_EXTERNAL_ONDISK(value);
  if (kept->toasted) VARATT_EXTERNAL_GET_POINTER(kept->pointer, value);
  if (bytes != value) pfree(bytes);
  return pg_call_use(call, i);
}

static inline bool pg_kept_is(const pg_kept *kept, const struct varlena *value,
                              const struct varatt_external *pointer) {
  if (pointer != NULL)
    return kept->toasted && memcmp(pointer, &kept->pointer, sizeof *pointer) == 0;
  return !VARATT_IS_EXTENDED(value) &&
         nay_sql_probe_is(kept->probe, VARDATA(value), VARSIZE(value) - VARHDRSZ);
}

static inline nay_sql_probe *pg_call_probe(pg_call *call, MemoryContext context, Datum datum) {
  struct varlena *value = (struct varlena *)DatumGetPointer(datum);
  struct varatt_external place, *pointer = NULL;
  if (VARATT_IS_EXTERNAL_ONDISK(value)) {
    VARATT_EXTERNAL_GET_POINTER(place, value);
    pointer = &place;
  }
  for (size_t i = 0; i < call->n; i++) {
    if (pg_kept_is(&call->kept[i], value, pointer))
      return i == 0 ? call->kept[0].probe : pg_call_use(call, i);
  }
  return pg_call_open(call, context, value);
}

/* varchar = char(n) ignores the spaces at the end of both: such a key has none. */
static bool pg_contains_padded(const nay_sql_probe *probe, const nay_sql_value *value) {
  const char *chars = value->key;
  size_t len = value->len;
  if (probe->range || len == 0 || chars[len - 1] != ' ') return false;
  while (len > 0 && chars[len - 1] == ' ') len--;
  nay_sql_value stripped;
  nay_sql_error error;
  bool maybe;
  nay_sql_bytes(&stripped, NAY_KEY_TEXT, false, chars, len);
  nay_pg_check(nay_sql_ask(probe, &stripped, &error, &maybe), &error);
  return maybe;
}

NAY_PG_FUNCTION(nay_pg_contains) {
  pg_call *call = pg_call_of(fcinfo, false);
  nay_sql_probe *probe = pg_call_probe(call, fcinfo->flinfo->fn_mcxt, PG_GETARG_DATUM(0));
  nay_sql_value value;
  nay_sql_error error;
  bool maybe;
  nay_pg_value(&call->type, PG_GETARG_DATUM(1), &value);
  nay_pg_check(nay_sql_ask(probe, &value, &error, &maybe), &error);
  if (!maybe && call->type.oid == VARCHAROID) maybe = pg_contains_padded(probe, &value);
  PG_RETURN_BOOL(maybe);
}

/* All readings of a value: those of a literal, of a time, or one. */
static void pg_read(const pg_call *call, const nay_sql_probe *probe, bool literal, Datum datum,
                    nay_sql_readings *readings) {
  readings->n = 1;
  if (literal)
    nay_pg_literal(datum, probe, readings);
  else if (call->type.type == NAY_KEY_TIMESTAMP)
    nay_pg_time(&call->type, datum, readings);
  else
    nay_pg_value(&call->type, datum, &readings->values[0]);
}

static Datum pg_contains_readings(FunctionCallInfo fcinfo, bool literal) {
  pg_call *call = pg_call_of(fcinfo, literal);
  nay_sql_probe *probe = pg_call_probe(call, fcinfo->flinfo->fn_mcxt, PG_GETARG_DATUM(0));
  nay_sql_readings readings;
  nay_sql_error error;
  bool maybe;
  pg_read(call, probe, literal, PG_GETARG_DATUM(1), &readings);
  nay_pg_check(nay_sql_ask_literal(probe, &readings, &error, &maybe), &error);
  PG_RETURN_BOOL(maybe);
}

NAY_PG_FUNCTION(nay_pg_contains_literal) { return pg_contains_readings(fcinfo, true); }

NAY_PG_FUNCTION(nay_pg_contains_time) { return pg_contains_readings(fcinfo, false); }

static Datum pg_contains_range(FunctionCallInfo fcinfo, bool literal) {
  pg_call *call = pg_call_of(fcinfo, literal);
  nay_sql_probe *probe = pg_call_probe(call, fcinfo->flinfo->fn_mcxt, PG_GETARG_DATUM(0));
  nay_sql_readings ends[2];
  nay_sql_error error;
  bool maybe;
  for (int i = 0; i < 2; i++) pg_read(call, probe, literal, PG_GETARG_DATUM(1 + i), &ends[i]);
  nay_pg_check(nay_sql_ask_range(probe, &ends[0], &ends[1], &error, &maybe), &error);
  PG_RETURN_BOOL(maybe);
}

NAY_PG_FUNCTION(nay_pg_contains_range) { return pg_contains_range(fcinfo, false); }

NAY_PG_FUNCTION(nay_pg_contains_range_literal) { return pg_contains_range(fcinfo, true); }

/* ---- copies on write ------------------------------------------------------------------------- */

static Datum pg_add(FunctionCallInfo fcinfo, bool literal) {
  pg_call *call = pg_call_of(fcinfo, literal);
  nay_sql_probe *probe = pg_call_probe(call, fcinfo->flinfo->fn_mcxt, PG_GETARG_DATUM(0));
  nay_sql_readings key; /* all readings of a literal are added */
  nay_sql_error error;
  nay_hash hashes[NAY_SQL_HASHES];
  size_t n;
  key.n = 1;
  if (literal)
    nay_pg_literal(PG_GETARG_DATUM(1), probe, &key);
  else
    nay_pg_value(&call->type, PG_GETARG_DATUM(1), &key.values[0]);
  nay_pg_check(nay_sql_hashes(probe, &key, &error, hashes, &n), &error);
  nay_allocator allocator = nay_pg_allocator(CurrentMemoryContext);
  nay_diag diag = {0};
  nay_filter *copy;
  nay_status status = nay_filter_copy(probe->filter, &allocator, &diag, &copy);
  if (status != NAY_OK) nay_pg_refuse(status, &diag);
  if (probe->empty && key.values[0].type != NAY_KEY_TEXT) /* the first key decides */
    status = nay_filter_set_key(copy, nay_key_type_name(key.values[0].type));
  for (size_t i = 0; i < n && status == NAY_OK; i++)
    status = nay_filter_add_hash(copy, hashes[i], NULL);
  if (status != NAY_OK) nay_pg_refuse(status, NULL);
  struct varlena *result = nay_pg_encode(copy);
  nay_filter_free(copy);
  PG_RETURN_POINTER(result);
}

NAY_PG_FUNCTION(nay_pg_add) { return pg_add(fcinfo, false); }

NAY_PG_FUNCTION(nay_pg_add_literal) { return pg_add(fcinfo, true); }

NAY_PG_FUNCTION(nay_pg_merge) {
  nay_filter *a = nay_pg_decode(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0)));
  nay_filter *b = nay_pg_decode(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(1)));
  nay_diag diag = {0};
  nay_status status = nay_filter_merge(a, b, PG_GETARG_FLOAT8(2), &diag);
  if (status != NAY_OK) nay_pg_refuse(status, &diag);
  nay_filter_free(b);
  struct varlena *result = nay_pg_encode(a);
  nay_filter_free(a);
  PG_RETURN_POINTER(result);
}

NAY_PG_FUNCTION(nay_pg_fold) {
  nay_filter *filter = nay_pg_decode(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0)));
  int64 factor = PG_GETARG_INT64(1);
  nay_diag diag = {0};
  nay_status status = factor < 1 ? NAY_EINVAL : nay_filter_fold(filter, (uint64_t)factor, &diag);
  if (status != NAY_OK) nay_pg_refuse(status, factor < 1 ? NULL : &diag);
  struct varlena *result = nay_pg_encode(filter);
  nay_filter_free(filter);
  PG_RETURN_POINTER(result);
}

/* ---- descriptions ---------------------------------------------------------------------------- */

/* A record whose columns are filled in order; NaN, which is "not known", and a NULL text are NULL.
 */
typedef struct pg_record {
  TupleDesc desc;
  int n;
  Datum values[16];
  bool nulls[16];
} pg_record;

static void pg_record_start(FunctionCallInfo fcinfo, pg_record *record) {
  *record = (pg_record){.n = 0};
  if (get_call_result_type(fcinfo, NULL, &record->desc) != TYPEFUNC_COMPOSITE)
    elog(ERROR, "nay: the function must return a record");
  BlessTupleDesc(record->desc);
}

static void put_text(pg_record *record, const char *text) {
  record->nulls[record->n] = text == NULL;
  record->values[record->n++] = text != NULL ? CStringGetTextDatum(text) : (Datum)0;
}

static void put_int8(pg_record *record, uint64_t number) {
  record->values[record->n++] = Int64GetDatum((int64)number);
}

static void put_float8(pg_record *record, double number) {
  record->nulls[record->n] = number != number;
  record->values[record->n++] = Float8GetDatum(number);
}

static Datum pg_record_end(pg_record *record) {
  if (record->n != record->desc->natts)
    elog(ERROR, "nay: the SQL of the extension is of another version");
  return HeapTupleGetDatum(heap_form_tuple(record->desc, record->values, record->nulls));
}

NAY_PG_FUNCTION(nay_pg_info) {
  struct varlena *value = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0));
  nay_filter *filter = nay_pg_decode(value);
  nay_stats stats = {.size = sizeof stats};
  nay_status status = nay_filter_stats(filter, &stats);
  if (status != NAY_OK) nay_pg_refuse(status, NULL);
  pg_record record;
  pg_record_start(fcinfo, &record);
  put_text(&record, nay_kind_name(stats.kind));
  put_text(&record, nay_filter_key(filter));
  put_text(&record, nay_hash_name(stats.hash));
  record.values[record.n++] = Int32GetDatum((int32)stats.k);
  put_int8(&record, stats.nkeys);
  put_float8(&record, stats.nkeys_estimated);
  put_int8(&record, stats.nbits);
  put_int8(&record, VARSIZE_ANY_EXHDR(value));
  put_float8(&record, stats.fill);
  put_float8(&record, stats.fpr_planned);
  put_float8(&record, stats.fpr_now);
  record.values[record.n++] = BoolGetDatum(stats.overloaded);
  record.values[record.n++] = BoolGetDatum(stats.saturated);
  record.values[record.n++] = BoolGetDatum(stats.derived);
  nay_filter_free(filter);
  return pg_record_end(&record);
}

NAY_PG_FUNCTION(nay_pg_plan) {
  int64_t n = PG_GETARG_INT64(0);
  text *kind = PG_GETARG_TEXT_PP(2);
  nay_sql_wish wish;
  nay_sql_error error;
  nay_pg_check(nay_sql_wish_read(&n, PG_GETARG_FLOAT8(1), VARDATA_ANY(kind),
                                 VARSIZE_ANY_EXHDR(kind), &error, &wish),
               &error);
  nay_params params = {
      .size = sizeof params, .kind = wish.kind, .nkeys = wish.nkeys, .fpr = wish.fpr};
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag = {0};
  nay_status status = nay_params_plan(&params, &diag, &plan);
  if (status != NAY_OK) nay_pg_refuse(status, &diag);
  pg_record record;
  pg_record_start(fcinfo, &record);
  put_text(&record, nay_kind_name(plan.kind));
  record.values[record.n++] = Int32GetDatum((int32)plan.k);
  put_int8(&record, plan.nbytes_file);
  put_float8(&record, plan.bits_per_key);
  put_float8(&record, plan.fpr);
  put_int8(&record, plan.nbytes_build);
  return pg_record_end(&record);
}

NAY_PG_FUNCTION(nay_pg_overlap) {
  nay_filter *a = nay_pg_decode(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0)));
  nay_filter *b = nay_pg_decode(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(1)));
  nay_overlap overlap = {.size = sizeof overlap};
  nay_diag diag = {0};
  nay_status status = nay_filter_overlap(a, b, &diag, &overlap);
  if (status != NAY_OK) nay_pg_refuse(status, &diag);
  pg_record record;
  pg_record_start(fcinfo, &record);
  put_float8(&record, overlap.nkeys_a);
  put_float8(&record, overlap.nkeys_b);
  put_float8(&record, overlap.nkeys_union);
  put_float8(&record, overlap.nkeys_intersection);
  put_float8(&record, overlap.jaccard);
  nay_filter_free(a);
  nay_filter_free(b);
  return pg_record_end(&record);
}

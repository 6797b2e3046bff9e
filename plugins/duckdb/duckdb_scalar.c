/* duckdb_scalar.c - nay_contains over whole vectors, nay_merge, nay_info. */
#include <math.h>
#include <nay_column.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "duckdb_nay.h"

/* What threads that probe share: the filters of the last vectors. */
typedef struct duck_shared {
  pthread_mutex_t lock;
  nay_sql_cache cache;
  int refs; /* functions that have it */
} duck_shared;

static void duck_shared_free(void *ptr) {
  duck_shared *shared = ptr;
  pthread_mutex_lock(&shared->lock);
  int left = --shared->refs;
  pthread_mutex_unlock(&shared->lock);
  if (left != 0) return;
  nay_sql_cache_clear(&shared->cache);
  pthread_mutex_destroy(&shared->lock);
  free(shared);
}

static nay_status duck_acquire(duck_shared *shared, const duck_string *bytes, nay_sql_error *error,
                               nay_sql_probe **probe) {
  pthread_mutex_lock(&shared->lock);
  nay_status status =
      nay_sql_cache_get(&shared->cache, duck_bytes(bytes), bytes->len, NULL, error, probe);
  pthread_mutex_unlock(&shared->lock);
  return status;
}

static void duck_release(duck_shared *shared, nay_sql_probe *probe) {
  pthread_mutex_lock(&shared->lock);
  nay_sql_probe_free(probe);
  pthread_mutex_unlock(&shared->lock);
}

/* ---- nay_contains ---------------------------------------------------------------------------- */

/* Rows of one vector that ask one filter: their hashes, and where the answers go. */
enum { RUN = 512 };
typedef struct duck_run {
  uint64_t hashes[RUN], bitmap[NAY_BITMAP_WORDS(RUN)];
  uint64_t rows[RUN];
  size_t n;
} duck_run;

static nay_status duck_run_ask(duck_run *run, const nay_sql_probe *probe, bool *answers,
                               nay_sql_error *error) {
  if (run->n == 0) return NAY_OK;
  nay_status status =
      nay_filter_may_contain_hash_many(probe->filter, run->hashes, NULL, run->n, run->bitmap);
  if (status != NAY_OK) return nay_sql_refuse(error, status, NULL);
  for (size_t i = 0; i < run->n; i++) answers[run->rows[i]] = nay_bitmap_get(run->bitmap, i);
  run->n = 0;
  return NAY_OK;
}

typedef struct duck_contains {
  duck_shared *shared;
  const duck_string *filters;
  const uint64_t *filters_valid;
  duck_column values;
  duck_vector output;
  bool *answers;
  nay_sql_probe *probe;
  const duck_string *asked; /* what probe was made from */
  duck_run run;
} duck_contains;

/* Rows of a constant filter all point to the same bytes. */
static nay_status duck_contains_filter(duck_contains *call, uint64_t row, nay_sql_error *error) {
  const duck_string *bytes = call->filters + row;
  if (call->probe != NULL && bytes->len == call->asked->len &&
      duck_bytes(bytes) == duck_bytes(call->asked))
    return NAY_OK;
  nay_status status = NAY_OK;
  if (call->probe != NULL) {
    status = duck_run_ask(&call->run, call->probe, call->answers, error);
    duck_release(call->shared, call->probe);
    call->probe = NULL;
  }
  if (status == NAY_OK) status = duck_acquire(call->shared, bytes, error, &call->probe);
  call->asked = bytes;
  return status;
}

#ifndef NAY_DUCKDB_ROW_BY_ROW
/* Whether this value is one key: a VARCHAR may be a literal, which has other readings. */
static bool duck_is_one_key(const duck_contains *call, const nay_sql_value *value) {
  if (call->probe->range) return false;
  return call->values.type != DUCK_VARCHAR ||
         (call->probe->how.type == NAY_KEY_TEXT &&
          (value->len == 0 || memchr(value->key, '\\', value->len) == NULL));
}
#endif

static nay_status duck_contains_row(duck_contains *call, uint64_t row, nay_sql_error *error) {
  if (duck_is_null(call->filters_valid, row) || duck_is_null(call->values.validity, row) ||
      call->values.type == DUCK_SQLNULL) {
    duck_put_null(call->output, row);
    return NAY_OK;
  }
  nay_status status = duck_contains_filter(call, row, error);
  if (status != NAY_OK) return status;
  duck_literal literal;
  nay_sql_value *value = &literal.readings.values[0];
  nay_hash hash;
  status = duck_value(&call->values, row, literal.text, error, value);
  if (status != NAY_OK) return status;
#ifndef NAY_DUCKDB_ROW_BY_ROW
  if (duck_is_one_key(call, value)) {
    status = nay_sql_hash(call->probe, value, error, &hash);
    if (status != NAY_OK) return status;
    call->run.hashes[call->run.n] = hash.lo;
    call->run.rows[call->run.n++] = row;
    return call->run.n == RUN ? duck_run_ask(&call->run, call->probe, call->answers, error)
                              : NAY_OK;
  }
  status = duck_literal_read(&call->values, call->probe, error, &literal);
  if (status == NAY_OK)
    status = nay_sql_ask_literal(call->probe, &literal.readings, error, &call->answers[row]);
  if (status == NAY_OK && !call->answers[row] && call->values.type == DUCK_VARCHAR)
    status = duck_ask_rounded(call->probe, value, error, &call->answers[row]);
  free(literal.more);
#else /* what bench/sql/duckdb.mjs compares with */
  status = nay_sql_hash(call->probe, value, error, &hash);
  if (status == NAY_OK) call->answers[row] = nay_filter_may_contain_hash(call->probe->filter, hash);
#endif
  return status;
}

/* Whether all rows, none of them NULL, ask one filter of integers by 64 bits: such a vector is a
 * column of keys as it lies in memory. */
static bool duck_is_column(const duck_contains *call, uint64_t n) {
#if defined(NAY_DUCKDB_ROW_BY_ROW) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
  (void)call, (void)n;
  return false;
#else
  if (n == 0 || (call->values.type != DUCK_BIGINT && call->values.type != DUCK_UBIGINT))
    return false;
  for (uint64_t row = 0; row < n; row++) {
    if (duck_is_null(call->filters_valid, row) || duck_is_null(call->values.validity, row) ||
        call->filters[row].len != call->filters->len ||
        duck_bytes(call->filters + row) != duck_bytes(call->filters))
      return false;
  }
  return true;
#endif
}

/* The answers of such a vector; *done is false when the filter's keys are no plain integers. */
static nay_status duck_contains_column(duck_contains *call, uint64_t n, nay_sql_error *error,
                                       bool *done) {
  nay_status status = duck_contains_filter(call, 0, error);
  if (status != NAY_OK) return status;
  const nay_sql_probe *probe = call->probe;
  if (probe->how.size == 0 || probe->how.type != NAY_KEY_INT) return NAY_OK;
  for (uint64_t at = 0; at < n; at += RUN) {
    size_t some = n - at < RUN ? (size_t)(n - at) : RUN;
    nay_column column = {sizeof column, .bytes = call->values.data + 8 * at, .nbytes = 8 * some,
                         .width = 8};
    status = nay_filter_may_contain_column(probe->filter, &column, some, call->run.bitmap);
    if (status != NAY_OK) return nay_sql_refuse(error, status, NULL);
    for (size_t i = 0; i < some; i++) call->answers[at + i] = nay_bitmap_get(call->run.bitmap, i);
  }
  *done = true;
  return NAY_OK;
}

static void duck_scalar_contains(duck_info info, duck_chunk input, duck_vector output) {
  nay_sql_error error = {0};
  duck_contains call;
  memset(&call, 0, offsetof(duck_contains, run));
  call.run.n = 0;
  duck_vector filters = duck.chunk_get_vector(input, 0);
  call.shared = duck.scalar_get_extra_info(info);
  call.filters = duck.vector_get_data(filters);
  call.filters_valid = duck.vector_get_validity(filters);
  call.output = output;
  call.answers = duck.vector_get_data(output);
  nay_status status = duck_column_open(duck.chunk_get_vector(input, 1), &error, &call.values);
  uint64_t n = duck.chunk_get_size(input);
  bool done = false;
  if (status == NAY_OK && duck_is_column(&call, n))
    status = duck_contains_column(&call, n, &error, &done);
  for (uint64_t row = 0; row < n && status == NAY_OK && !done; row++)
    status = duck_contains_row(&call, row, &error);
  if (call.probe != NULL) {
    if (status == NAY_OK) status = duck_run_ask(&call.run, call.probe, call.answers, &error);
    duck_release(call.shared, call.probe);
  }
  char text[640];
  if (status != NAY_OK) duck.scalar_set_error(info, duck_message(text, "nay_contains", &error));
}

/* ---- nay_contains_range ---------------------------------------------------------------------- */

static nay_status duck_range_row(duck_shared *shared, const duck_string *filter,
                                 const duck_column ends[2], uint64_t row, nay_sql_error *error,
                                 bool *answer) {
  nay_sql_probe *probe;
  duck_literal literals[2] = {{.more = NULL}, {.more = NULL}};
  nay_status status = duck_acquire(shared, filter, error, &probe);
  if (status != NAY_OK) return status;
  for (int i = 0; i < 2 && status == NAY_OK; i++) {
    status = duck_value(&ends[i], row, literals[i].text, error, &literals[i].readings.values[0]);
    if (status == NAY_OK) status = duck_literal_read(&ends[i], probe, error, &literals[i]);
  }
  if (status == NAY_OK)
    status = nay_sql_ask_range(probe, &literals[0].readings, &literals[1].readings, error, answer);
  free(literals[0].more);
  free(literals[1].more);
  duck_release(shared, probe);
  return status;
}

static void duck_scalar_range(duck_info info, duck_chunk input, duck_vector output) {
  duck_shared *shared = duck.scalar_get_extra_info(info);
  duck_vector filters = duck.chunk_get_vector(input, 0);
  const duck_string *bytes = duck.vector_get_data(filters);
  const uint64_t *validity = duck.vector_get_validity(filters);
  bool *answers = duck.vector_get_data(output);
  nay_sql_error error = {0};
  duck_column ends[2];
  nay_status status = duck_column_open(duck.chunk_get_vector(input, 1), &error, &ends[0]);
  if (status == NAY_OK)
    status = duck_column_open(duck.chunk_get_vector(input, 2), &error, &ends[1]);
  uint64_t n = duck.chunk_get_size(input);
  for (uint64_t row = 0; row < n && status == NAY_OK; row++) {
    bool null = duck_is_null(validity, row);
    for (int i = 0; i < 2; i++)
      null |= duck_is_null(ends[i].validity, row) || ends[i].type == DUCK_SQLNULL;
    if (null)
      duck_put_null(output, row);
    else
      status = duck_range_row(shared, bytes + row, ends, row, &error, &answers[row]);
  }
  char text[640];
  if (status != NAY_OK)
    duck.scalar_set_error(info, duck_message(text, "nay_contains_range", &error));
}

/* ---- nay_open -------------------------------------------------------------------------------- */

/* A handle: DuckDB copies a filter with each vector, and a joined one with each row that passes. */
static void duck_scalar_open(duck_info info, duck_chunk input, duck_vector output) {
  duck_shared *shared = duck.scalar_get_extra_info(info);
  duck_vector filters = duck.chunk_get_vector(input, 0);
  const duck_string *bytes = duck.vector_get_data(filters);
  const uint64_t *validity = duck.vector_get_validity(filters);
  nay_sql_error error = {0};
  nay_status status = NAY_OK;
  uint64_t n = duck.chunk_get_size(input);
  for (uint64_t row = 0; row < n && status == NAY_OK; row++) {
    nay_sql_probe *probe;
    nay_sql_handle handle;
    if (duck_is_null(validity, row)) {
      duck_put_null(output, row);
      continue;
    }
    status = duck_acquire(shared, bytes + row, &error, &probe);
    if (status != NAY_OK) break;
    nay_sql_handle_make(probe, &handle);
    duck_release(shared, probe);
    duck.vector_assign_string_element_len(output, row, (const char *)&handle, sizeof handle);
  }
  char text[640];
  if (status != NAY_OK) duck.scalar_set_error(info, duck_message(text, "nay_open", &error));
}

/* ---- nay_merge ------------------------------------------------------------------------------- */

static nay_status duck_decode(const duck_string *bytes, nay_sql_error *error, nay_filter **filter) {
  nay_diag diag = {0};
  nay_status status = nay_filter_decode(duck_bytes(bytes), bytes->len, NULL, &diag, filter);
  return status == NAY_OK ? NAY_OK : nay_sql_refuse(error, status, &diag);
}

static nay_status duck_merge_row(const duck_string *a, const duck_string *b, duck_vector output,
                                 uint64_t row, nay_sql_error *error) {
  nay_filter *to = NULL, *from = NULL;
  nay_diag diag = {0};
  nay_status status = duck_decode(a, error, &to);
  if (status == NAY_OK) status = duck_decode(b, error, &from);
  if (status == NAY_OK) {
    status = nay_filter_merge(to, from, 1.0, &diag);
    if (status != NAY_OK) nay_sql_refuse(error, status, &diag);
  }
  if (status == NAY_OK) status = duck_put_filter(output, row, to, error);
  nay_filter_free(to);
  nay_filter_free(from);
  return status;
}

static void duck_scalar_merge(duck_info info, duck_chunk input, duck_vector output) {
  duck_vector a = duck.chunk_get_vector(input, 0), b = duck.chunk_get_vector(input, 1);
  const duck_string *left = duck.vector_get_data(a), *right = duck.vector_get_data(b);
  const uint64_t *left_valid = duck.vector_get_validity(a),
                 *right_valid = duck.vector_get_validity(b);
  nay_sql_error error = {0};
  nay_status status = NAY_OK;
  uint64_t n = duck.chunk_get_size(input);
  for (uint64_t row = 0; row < n && status == NAY_OK; row++) {
    if (duck_is_null(left_valid, row) || duck_is_null(right_valid, row))
      duck_put_null(output, row);
    else
      status = duck_merge_row(left + row, right + row, output, row, &error);
  }
  char text[640];
  if (status != NAY_OK) duck.scalar_set_error(info, duck_message(text, "nay_merge", &error));
}

/* ---- nay_info -------------------------------------------------------------------------------- */

static const struct info_column {
  const char *name;
  int type;
} info_columns[] = {
    {"kind", DUCK_VARCHAR},       {"key", DUCK_VARCHAR},    {"hash", DUCK_VARCHAR},
    {"k", DUCK_UBIGINT},          {"nkeys", DUCK_UBIGINT},  {"nkeys_estimated", DUCK_DOUBLE},
    {"nbits", DUCK_UBIGINT},      {"nbytes", DUCK_UBIGINT}, {"fill", DUCK_DOUBLE},
    {"fpr_planned", DUCK_DOUBLE}, {"fpr_now", DUCK_DOUBLE}, {"overloaded", DUCK_BOOLEAN},
    {"saturated", DUCK_BOOLEAN},  {"derived", DUCK_BOOLEAN}};
enum { NINFO = sizeof info_columns / sizeof *info_columns };

typedef struct info_row {
  duck_vector output;
  uint64_t row, column;
} info_row;

static duck_vector info_next(info_row *at) {
  return duck.struct_vector_get_child(at->output, at->column++);
}

static void info_text(info_row *at, const char *text) {
  duck_vector vector = info_next(at);
  if (text != NULL)
    duck.vector_assign_string_element_len(vector, at->row, text, strlen(text));
  else
    duck_put_null(vector, at->row);
}

static void info_count(info_row *at, uint64_t count) {
  ((uint64_t *)duck.vector_get_data(info_next(at)))[at->row] = count;
}

/* What is not known is NULL. */
static void info_double(info_row *at, double value) {
  duck_vector vector = info_next(at);
  ((double *)duck.vector_get_data(vector))[at->row] = value;
  if (isnan(value)) duck_put_null(vector, at->row);
}

static void info_flag(info_row *at, bool flag) {
  ((bool *)duck.vector_get_data(info_next(at)))[at->row] = flag;
}

static nay_status info_put(const duck_string *bytes, duck_vector output, uint64_t row,
                           nay_sql_error *error) {
  nay_filter *filter;
  nay_status status = duck_decode(bytes, error, &filter);
  if (status != NAY_OK) return status;
  nay_stats stats = {.size = sizeof stats};
  status = nay_filter_stats(filter, &stats);
  if (status == NAY_OK) {
    info_row at = {.output = output, .row = row};
    info_text(&at, nay_kind_name(stats.kind));
    info_text(&at, nay_filter_key(filter));
    info_text(&at, nay_hash_name(stats.hash));
    info_count(&at, stats.k);
    info_count(&at, stats.nkeys);
    info_double(&at, stats.nkeys_estimated);
    info_count(&at, stats.nbits);
    info_count(&at, bytes->len);
    info_double(&at, stats.fill);
    info_double(&at, stats.fpr_planned);
    info_double(&at, stats.fpr_now);
    info_flag(&at, stats.overloaded);
    info_flag(&at, stats.saturated);
    info_flag(&at, stats.derived);
  } else {
    nay_sql_refuse(error, status, NULL);
  }
  nay_filter_free(filter);
  return status;
}

static void info_put_null(duck_vector output, uint64_t row) {
  duck_put_null(output, row);
  for (uint64_t i = 0; i < NINFO; i++) duck_put_null(duck.struct_vector_get_child(output, i), row);
}

static void duck_scalar_info(duck_info info, duck_chunk input, duck_vector output) {
  duck_vector filters = duck.chunk_get_vector(input, 0);
  const duck_string *bytes = duck.vector_get_data(filters);
  const uint64_t *validity = duck.vector_get_validity(filters);
  nay_sql_error error = {0};
  nay_status status = NAY_OK;
  uint64_t n = duck.chunk_get_size(input);
  for (uint64_t row = 0; row < n && status == NAY_OK; row++) {
    if (duck_is_null(validity, row))
      info_put_null(output, row);
    else
      status = info_put(bytes + row, output, row, &error);
  }
  char text[640];
  if (status != NAY_OK) duck.scalar_set_error(info, duck_message(text, "nay_info", &error));
}

/* ---- registration ---------------------------------------------------------------------------- */

static duck_type info_type(void) {
  duck_type types[NINFO];
  const char *names[NINFO];
  for (size_t i = 0; i < NINFO; i++) {
    types[i] = duck.create_logical_type(info_columns[i].type);
    names[i] = info_columns[i].name;
  }
  duck_type made = duck.create_struct_type(types, names, NINFO);
  for (size_t i = 0; i < NINFO; i++) duck.destroy_logical_type(&types[i]);
  return made;
}

static int duck_register(duck_connection connection, const char *name, duck_scalar call,
                         const int *parameters, size_t n, duck_type result, duck_shared *shared) {
  duck_function function = duck.create_scalar_function();
  duck.scalar_set_name(function, name);
  for (size_t i = 0; i < n; i++) {
    duck_type type = duck.create_logical_type(parameters[i]);
    duck.scalar_add_parameter(function, type);
    duck.destroy_logical_type(&type);
  }
  duck.scalar_set_return_type(function, result);
  duck.destroy_logical_type(&result);
  duck.scalar_set_special_handling(function);
  if (shared != NULL) {
    shared->refs++;
    duck.scalar_set_extra_info(function, shared, duck_shared_free);
  }
  duck.scalar_set_function(function, call);
  int failed = duck.register_scalar_function(connection, function);
  duck.destroy_scalar_function(&function);
  return failed;
}

int duck_register_scalars(duck_connection connection) {
  duck_shared *shared = calloc(1, sizeof *shared);
  if (shared == NULL) return 1;
  if (pthread_mutex_init(&shared->lock, NULL) != 0) {
    free(shared);
    return 1;
  }
  const int contains[] = {DUCK_BLOB, DUCK_ANY, DUCK_ANY}, two[] = {DUCK_BLOB, DUCK_BLOB};
  return duck_register(connection, "nay_contains", duck_scalar_contains, contains, 2,
                       duck.create_logical_type(DUCK_BOOLEAN), shared) != 0 ||
         duck_register(connection, "nay_contains_range", duck_scalar_range, contains, 3,
                       duck.create_logical_type(DUCK_BOOLEAN), shared) != 0 ||
         duck_register(connection, "nay_open", duck_scalar_open, two, 1,
                       duck.create_logical_type(DUCK_BLOB), shared) != 0 ||
         duck_register(connection, "nay_merge", duck_scalar_merge, two, 2,
                       duck.create_logical_type(DUCK_BLOB), NULL) != 0 ||
         duck_register(connection, "nay_info", duck_scalar_info, two, 1, info_type(), NULL) != 0;
}

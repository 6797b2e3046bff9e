/*
 * nay_sqlite.c - the extension for SQLite: functions that take filters, and aggregates that make
 * them. A filter is a BLOB: the bytes of a native file. Loaded with sqlite3_nay_init it opens no
 * files; with sqlite3_nayfiles_init nay_file does. With -DSQLITE_CORE it is compiled into a program
 * beside sqlite3.c, which calls sqlite3_nay_init(db, NULL, NULL).
 */
#include "nay_sqlite.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#ifndef SQLITE_CORE
SQLITE_EXTENSION_INIT1
#endif

/* ---- memory, errors, values ------------------------------------------------------------------ */

static void *sqlite_alloc(void *ctx, size_t size) {
  (void)ctx;
  return nay_sql_memory(sqlite3_malloc64(size), size);
}

static void sqlite_release(void *ctx, void *ptr, size_t size) {
  (void)ctx, (void)size;
  sqlite3_free(ptr);
}

const nay_allocator nay_sqlite_allocator = {.alloc = sqlite_alloc, .free = sqlite_release};

char *nay_sqlite_message(const char *function, const nay_sql_error *error) {
  return error->hint[0] == 0 ? sqlite3_mprintf("%s: %s", function, error->message)
                             : sqlite3_mprintf("%s: %s. %s", function, error->message, error->hint);
}

void nay_sqlite_fail(sqlite3_context *ctx, const char *function, const nay_sql_error *error) {
  char *text = nay_sqlite_message(function, error);
  if (text == NULL || error->status == NAY_ENOMEM) {
    sqlite3_free(text);
    sqlite3_result_error_nomem(ctx);
    return;
  }
  sqlite3_result_error(ctx, text, -1);
  sqlite3_free(text);
}

/* A text is UTF-8 whatever the encoding of the database is. The value is not NULL. */
static nay_status sqlite_value(sqlite3_value *from, nay_sql_value *value, nay_sql_error *error) {
  const void *bytes;
  switch (sqlite3_value_type(from)) {
    case SQLITE_INTEGER: nay_sql_int(value, NAY_KEY_INT, sqlite3_value_int64(from)); return NAY_OK;
    case SQLITE_FLOAT: nay_sql_float(value, sqlite3_value_double(from)); return NAY_OK;
    case SQLITE_TEXT: bytes = sqlite3_value_text(from); break;
    default: bytes = sqlite3_value_blob(from);
  }
  size_t len = (size_t)sqlite3_value_bytes(from);
  if (bytes == NULL && len != 0) return nay_sql_refuse(error, NAY_ENOMEM, NULL);
  nay_sql_bytes(value, NAY_KEY_TEXT, sqlite3_value_type(from) == SQLITE_BLOB, bytes, len);
  return NAY_OK;
}

/* A text that is asked of floats is also what SQLite makes of it, which need not be the nearest
 * binary64: 3.40 reads 8311844.54096999576e-299 as the one above. */
static nay_status sqlite_read(sqlite3_value *from, const nay_sql_probe *probe,
                              nay_sql_readings *readings, nay_sql_error *error) {
  readings->n = 1;
  nay_status status = sqlite_value(from, &readings->values[0], error);
  if (status != NAY_OK || sqlite3_value_type(from) != SQLITE_TEXT || probe->how.size == 0 ||
      readings->values[0].key == NULL ||
      (probe->how.type != NAY_KEY_FLOAT && probe->how.type != NAY_KEY_ORDERED_FLOAT) ||
      strpbrk((const char *)readings->values[0].key, "iInN") != NULL) /* no numbers to SQLite */
    return status;
  nay_sql_float(&readings->values[readings->n++], sqlite3_value_double(from));
  return NAY_OK;
}

static void sqlite_result_handle(sqlite3_context *ctx, const nay_sql_probe *probe) {
  nay_sql_handle handle;
  nay_sql_handle_make(probe, &handle);
  sqlite3_result_blob(ctx, &handle, sizeof handle, SQLITE_TRANSIENT);
}

nay_status nay_sqlite_filter(nay_sql_cache *cache, sqlite3_value *from, nay_sql_error *error,
                             nay_sql_probe **probe) {
  if (sqlite3_value_type(from) != SQLITE_BLOB)
    return nay_sql_fail(error, NAY_EINVAL, "nay_agg makes one; so does readfile of the shell.",
                        "a filter is a BLOB");
  const void *bytes = sqlite3_value_blob(from);
  size_t len = (size_t)sqlite3_value_bytes(from);
  return nay_sql_cache_get(cache, bytes, len, &nay_sqlite_allocator, error, probe);
}

static bool sqlite_is_null(sqlite3_value *value) {
  return sqlite3_value_type(value) == SQLITE_NULL;
}

static void sqlite_probe_free(void *probe) { nay_sql_probe_free(probe); }

static void sqlite_result_filter(sqlite3_context *ctx, const char *function,
                                 const nay_filter *filter) {
  nay_sql_error error;
  size_t len = nay_filter_encoded_size(filter);
  int limit = sqlite3_limit(sqlite3_context_db_handle(ctx), SQLITE_LIMIT_LENGTH, -1);
  if (len > (size_t)limit) {
    nay_sql_fail(&error, NAY_EFULL, "Take fewer keys or a higher false-positive rate.",
                 "the filter has %zu bytes, and a BLOB here at most %d", len, limit);
    nay_sqlite_fail(ctx, function, &error);
    return;
  }
  void *bytes = sqlite3_malloc64(len + 1);
  if (bytes == NULL) {
    sqlite3_result_error_nomem(ctx);
    return;
  }
  nay_status status = nay_filter_encode(filter, bytes, len, &len);
  if (status != NAY_OK) {
    sqlite3_free(bytes);
    nay_sql_refuse(&error, status, NULL);
    nay_sqlite_fail(ctx, function, &error);
    return;
  }
  sqlite3_result_blob64(ctx, bytes, len, sqlite3_free);
}

/* ---- nay_contains, nay_merge, nay_open, nay_file
 * ------------------------------------------------------- */

/* The filter of argument 0: kept for the statement when SQLite says that the argument is constant,
 * otherwise found in the cache of the connection. */
static nay_sql_probe *sqlite_statement_filter(sqlite3_context *ctx, sqlite3_value *from,
                                              nay_sql_error *error) {
  nay_sqlite *state = sqlite3_user_data(ctx);
  nay_sql_probe *kept = sqlite3_get_auxdata(ctx, 0), *probe;
  if (kept != NULL) return kept;
  if (nay_sqlite_filter(&state->cache, from, error, &probe) != NAY_OK) return NULL;
  /* SQLite may free it before it returns; the cache still holds it */
  sqlite3_set_auxdata(ctx, 0, probe, sqlite_probe_free);
  return state->cache.probes[0];
}

static void sqlite_contains(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
  (void)argc;
  if (sqlite_is_null(argv[0]) || sqlite3_value_type(argv[1]) == SQLITE_NULL) return;
  nay_sql_error error = {0};
  nay_sql_readings asked;
  bool maybe = false;
  nay_sql_probe *probe = sqlite_statement_filter(ctx, argv[0], &error);
  if (probe == NULL || sqlite_read(argv[1], probe, &asked, &error) != NAY_OK ||
      nay_sql_ask_literal(probe, &asked, &error, &maybe) != NAY_OK) {
    nay_sqlite_fail(ctx, "nay_contains", &error);
    return;
  }
  sqlite3_result_int(ctx, maybe);
}

static void sqlite_contains_range(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
  for (int i = 0; i < argc; i++) {
    if (sqlite_is_null(argv[i])) return;
  }
  nay_sql_error error = {0};
  nay_sql_readings lo, hi;
  bool maybe = false;
  nay_sql_probe *probe = sqlite_statement_filter(ctx, argv[0], &error);
  if (probe == NULL || sqlite_read(argv[1], probe, &lo, &error) != NAY_OK ||
      sqlite_read(argv[2], probe, &hi, &error) != NAY_OK ||
      nay_sql_ask_range(probe, &lo, &hi, &error, &maybe) != NAY_OK) {
    nay_sqlite_fail(ctx, "nay_contains_range", &error);
    return;
  }
  sqlite3_result_int(ctx, maybe);
}

static void sqlite_merge(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
  if (sqlite_is_null(argv[0]) || sqlite_is_null(argv[1])) return;
  nay_sqlite *state = sqlite3_user_data(ctx);
  nay_sql_error error = {0};
  nay_sql_probe *a = NULL, *b = NULL;
  nay_filter *both = NULL;
  double max_fpr = argc == 3 ? sqlite3_value_double(argv[2]) : 1.0;
  nay_status status = nay_sqlite_filter(&state->cache, argv[0], &error, &a);
  if (status == NAY_OK) status = nay_sqlite_filter(&state->cache, argv[1], &error, &b);
  if (status == NAY_OK) {
    nay_diag diag = {0};
    status = nay_filter_copy(a->filter, &nay_sqlite_allocator, &diag, &both);
    if (status == NAY_OK) status = nay_filter_merge(both, b->filter, max_fpr, &diag);
    if (status != NAY_OK) nay_sql_refuse(&error, status, &diag);
  }
  if (status == NAY_OK)
    sqlite_result_filter(ctx, "nay_merge", both);
  else
    nay_sqlite_fail(ctx, "nay_merge", &error);
  nay_filter_free(both);
  nay_sql_probe_free(a);
  nay_sql_probe_free(b);
}

/*
 * A handle of the filter. SQLite copies a BLOB that a subquery gave for each row that a function is
 * called for, which for a filter of a megabyte takes a thousand times as long as the probe.
 */
static void sqlite_open(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
  (void)argc;
  if (sqlite_is_null(argv[0])) return;
  nay_sqlite *state = sqlite3_user_data(ctx);
  nay_sql_error error = {0};
  nay_sql_probe *probe;
  if (nay_sqlite_filter(&state->cache, argv[0], &error, &probe) != NAY_OK) {
    nay_sqlite_fail(ctx, "nay_open", &error);
    return;
  }
  sqlite_result_handle(ctx, probe);
  nay_sql_probe_free(probe);
}

static nay_status sqlite_map(nay_sqlite *state, const char *path, nay_sql_error *error,
                             nay_sql_probe **probe) {
  if (!state->files)
    return nay_sql_fail(error, NAY_ENOTSUP, "Load the extension with sqlite3_nayfiles_init.",
                        "this connection opens no files");
  nay_diag diag = {0};
  nay_filter *filter;
  nay_status status = nay_filter_mmap(path, 0, &nay_sqlite_allocator, &diag, &filter);
  if (status != NAY_OK)
    return nay_sql_fail(error, status, NULL, "%s: %s: %s", path, nay_status_text(status),
                        diag.os_error != 0 ? strerror(diag.os_error) : diag.what);
  status = nay_sql_probe_take(filter, &nay_sqlite_allocator, error, probe);
  if (status != NAY_OK) {
    nay_filter_free(filter);
    return status;
  }
  (*probe)->identity[0] = 0; /* no BLOB has this length */
  (*probe)->identity[1] = ++state->nfiles;
  (*probe)->identity[2] = state->own;
  nay_sql_cache_put(&state->cache, *probe);
  return NAY_OK;
}

/* A handle of the mapped file; a statement maps it once. */
static void sqlite_file(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
  (void)argc;
  nay_sqlite *state = sqlite3_user_data(ctx);
  const char *path = (const char *)sqlite3_value_text(argv[0]);
  if (path == NULL) return;
  nay_sql_error error = {0};
  nay_sql_probe *probe = sqlite3_get_auxdata(ctx, 0);
  if (probe != NULL) {
    if (nay_sql_cache_find(&state->cache, probe->identity) != NULL)
      probe->refs--; /* the statement has its own */
    else
      nay_sql_cache_put(&state->cache, probe);
    sqlite_result_handle(ctx, probe);
    return;
  }
  if (sqlite_map(state, path, &error, &probe) != NAY_OK) {
    nay_sqlite_fail(ctx, "nay_file", &error);
    return;
  }
  sqlite_result_handle(ctx, probe);
  sqlite3_set_auxdata(ctx, 0, probe, sqlite_probe_free);
}

/* ---- nay_agg --------------------------------------------------------------------------------- */

typedef struct sqlite_agg {
  nay_sql_agg *state;
  nay_filter *united; /* nay_union */
  bool failed;
} sqlite_agg;

/* (x), (x, fpr), (x, n, fpr), (x, n, fpr, kind) */
static nay_status sqlite_wish(sqlite3_context *ctx, int argc, sqlite3_value **argv,
                              nay_sql_error *error, nay_sql_wish *wish) {
  int64_t n = 0;
  double fpr = 0.01;
  for (int i = 1; i < argc; i++) {
    if (sqlite_is_null(argv[i]))
      return nay_sql_fail(error, NAY_EINVAL, NULL, "n, fpr and kind must not be NULL");
  }
  int rate = argc == 2 ? 1 : 2;
  if (argc >= 2 && sqlite3_value_numeric_type(argv[rate]) != SQLITE_FLOAT &&
      sqlite3_value_numeric_type(argv[rate]) != SQLITE_INTEGER)
    return nay_sql_fail(error, NAY_EINVAL, NULL, "fpr, the false-positive rate, is a number");
  if (argc == 2) fpr = sqlite3_value_double(argv[1]);
  if (argc >= 3) {
    int type = sqlite3_value_numeric_type(argv[1]);
    double number = sqlite3_value_double(argv[1]);
    if (type == SQLITE_INTEGER)
      n = sqlite3_value_int64(argv[1]);
    else if (type == SQLITE_FLOAT && number == floor(number) && number < 1e18 && number > 0)
      n = (int64_t)number;
    else
      return nay_sql_fail(error, NAY_EINVAL, NULL, "n, the number of distinct keys, is an integer");
    fpr = sqlite3_value_double(argv[2]);
  }
  const char *kind = argc == 4 ? (const char *)sqlite3_value_text(argv[3]) : NULL;
  size_t kind_len = kind != NULL ? (size_t)sqlite3_value_bytes(argv[3]) : 0;
  nay_status status = nay_sql_wish_read(argc >= 3 ? &n : NULL, fpr, kind, kind_len, error, wish);
  if (status != NAY_OK) return status;
  wish->max_file = (size_t)sqlite3_limit(sqlite3_context_db_handle(ctx), SQLITE_LIMIT_LENGTH, -1);
  return NAY_OK;
}

/* Another n or fpr in a later row would be ignored: it is an error instead. */
static nay_status sqlite_same(const nay_sql_agg *agg, int argc, sqlite3_value **argv,
                              nay_sql_error *error) {
  const nay_sql_wish *wish = nay_sql_agg_wish(agg);
  if ((argc < 3 || sqlite3_value_double(argv[1]) == (double)wish->nkeys) &&
      (argc < 2 || sqlite3_value_double(argv[argc == 2 ? 1 : 2]) == wish->fpr))
    return NAY_OK;
  return nay_sql_fail(error, NAY_EINVAL, NULL, "n and fpr must be the same in all rows of a group");
}

static void sqlite_agg_step(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
  sqlite_agg *agg = sqlite3_aggregate_context(ctx, sizeof *agg);
  if (agg == NULL) {
    sqlite3_result_error_nomem(ctx);
    return;
  }
  if (agg->failed) return;
  nay_sql_error error = {0};
  nay_status status = NAY_OK;
  if (agg->state == NULL) {
    nay_sql_wish wish;
    status = sqlite_wish(ctx, argc, argv, &error, &wish);
    if (status == NAY_OK)
      status = nay_sql_agg_new(&wish, &nay_sqlite_allocator, &error, &agg->state);
  } else {
    status = sqlite_same(agg->state, argc, argv, &error);
  }
  nay_sql_value value;
  if (status == NAY_OK && sqlite3_value_type(argv[0]) != SQLITE_NULL) {
    status = sqlite_value(argv[0], &value, &error);
    if (status == NAY_OK) status = nay_sql_agg_add(agg->state, &value, &error);
  }
  if (status != NAY_OK) {
    agg->failed = true;
    nay_sqlite_fail(ctx, "nay_agg", &error);
  }
}

static void sqlite_agg_value(sqlite3_context *ctx) {
  sqlite_agg *agg = sqlite3_aggregate_context(ctx, 0);
  if (agg == NULL || agg->failed || agg->state == NULL) return; /* no rows: NULL */
  nay_sql_error error = {0};
  const nay_filter *filter;
  if (nay_sql_agg_result(agg->state, &error, &filter) == NAY_OK)
    sqlite_result_filter(ctx, "nay_agg", filter);
  else
    nay_sqlite_fail(ctx, "nay_agg", &error);
}

static void sqlite_agg_final(sqlite3_context *ctx) {
  sqlite_agg *agg = sqlite3_aggregate_context(ctx, 0);
  if (agg == NULL) return;
  sqlite_agg_value(ctx);
  nay_sql_agg_free(agg->state);
  agg->state = NULL;
}

static void sqlite_inverse_fail(sqlite3_context *ctx, const char *function) {
  sqlite_agg *agg = sqlite3_aggregate_context(ctx, sizeof *agg);
  if (agg != NULL) agg->failed = true;
  nay_sql_error error;
  nay_sql_fail(&error, NAY_ENOTSUP, "Let the frame start at UNBOUNDED PRECEDING.",
               "nothing can be taken out of a filter");
  nay_sqlite_fail(ctx, function, &error);
}

static void sqlite_agg_inverse(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  sqlite_inverse_fail(ctx, "nay_agg");
}

/* ---- nay_union ------------------------------------------------------------------------------- */

static void sqlite_union_step(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
  (void)argc;
  sqlite_agg *agg = sqlite3_aggregate_context(ctx, sizeof *agg);
  if (agg == NULL) {
    sqlite3_result_error_nomem(ctx);
    return;
  }
  if (agg->failed || sqlite_is_null(argv[0])) return;
  nay_sqlite *state = sqlite3_user_data(ctx);
  nay_sql_error error = {0};
  nay_sql_probe *probe = NULL;
  nay_status status = nay_sqlite_filter(&state->cache, argv[0], &error, &probe);
  if (status == NAY_OK) {
    nay_diag diag = {0};
    status = agg->united == NULL
                 ? nay_filter_copy(probe->filter, &nay_sqlite_allocator, &diag, &agg->united)
                 : nay_filter_merge(agg->united, probe->filter, 1.0, &diag);
    if (status != NAY_OK) nay_sql_refuse(&error, status, &diag);
    nay_sql_probe_free(probe);
  }
  if (status != NAY_OK) {
    agg->failed = true;
    nay_sqlite_fail(ctx, "nay_union", &error);
  }
}

static void sqlite_union_value(sqlite3_context *ctx) {
  sqlite_agg *agg = sqlite3_aggregate_context(ctx, 0);
  if (agg != NULL && !agg->failed && agg->united != NULL)
    sqlite_result_filter(ctx, "nay_union", agg->united);
}

static void sqlite_union_final(sqlite3_context *ctx) {
  sqlite_agg *agg = sqlite3_aggregate_context(ctx, 0);
  if (agg == NULL) return;
  sqlite_union_value(ctx);
  nay_filter_free(agg->united);
  agg->united = NULL;
}

static void sqlite_union_inverse(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  sqlite_inverse_fail(ctx, "nay_union");
}

/* ---- registration ---------------------------------------------------------------------------- */

static void sqlite_state_free(void *ptr) {
  nay_sqlite *state = ptr;
  if (--state->refs != 0) return;
  nay_sql_cache_clear(&state->cache);
  sqlite3_free(state);
}

/* Pure functions of their arguments, safe in views, triggers and indexes of hostile schemas. */
enum { PURE = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS };

static int sqlite_scalar(sqlite3 *db, nay_sqlite *state, const char *name, int nargs, int flags,
                         void (*call)(sqlite3_context *, int, sqlite3_value **)) {
  state->refs++;
  return sqlite3_create_function_v2(db, name, nargs, flags, state, call, NULL, NULL,
                                    sqlite_state_free);
}

static int sqlite_functions(sqlite3 *db, nay_sqlite *state) {
  int rc = sqlite_scalar(db, state, "nay_contains", 2, PURE, sqlite_contains);
  if (rc == SQLITE_OK)
    rc = sqlite_scalar(db, state, "nay_contains_range", 3, PURE, sqlite_contains_range);
  if (rc == SQLITE_OK) rc = sqlite_scalar(db, state, "nay_open", 1, PURE, sqlite_open);
  if (rc == SQLITE_OK) rc = sqlite_scalar(db, state, "nay_merge", 2, PURE, sqlite_merge);
  if (rc == SQLITE_OK) rc = sqlite_scalar(db, state, "nay_merge", 3, PURE, sqlite_merge);
  if (rc == SQLITE_OK)
    rc = sqlite_scalar(db, state, "nay_file", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, sqlite_file);
  for (int nargs = 1; nargs <= 4 && rc == SQLITE_OK; nargs++) {
    state->refs++;
    rc = sqlite3_create_window_function(db, "nay_agg", nargs, PURE, state, sqlite_agg_step,
                                        sqlite_agg_final, sqlite_agg_value, sqlite_agg_inverse,
                                        sqlite_state_free);
  }
  if (rc != SQLITE_OK) return rc;
  state->refs++;
  return sqlite3_create_window_function(db, "nay_union", 1, PURE, state, sqlite_union_step,
                                        sqlite_union_final, sqlite_union_value,
                                        sqlite_union_inverse, sqlite_state_free);
}

static int sqlite_init(sqlite3 *db, bool files) {
  nay_sqlite *state = sqlite3_malloc64(sizeof *state);
  if (state == NULL) return SQLITE_NOMEM;
  *state = (nay_sqlite){.refs = 1, .files = files};
  sqlite3_randomness(sizeof state->own, &state->own);
  int rc = sqlite_functions(db, state);
  if (rc == SQLITE_OK) {
    state->refs++;
    rc = sqlite3_create_module_v2(db, "nay_info", &nay_sqlite_info, state, sqlite_state_free);
  }
  sqlite_state_free(state);
  return rc;
}

#ifdef SQLITE_CORE
#define LOADED(api) (void)(api)
#else
#define LOADED(api) SQLITE_EXTENSION_INIT2(api)
#endif

int sqlite3_nay_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
  (void)message;
  LOADED(api);
  return sqlite_init(db, false);
}

int sqlite3_nayfiles_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
  (void)message;
  LOADED(api);
  return sqlite_init(db, true);
}

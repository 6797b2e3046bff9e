/* duckdb_aggregate.c - nay_agg and nay_union: a state per group and thread, combined by DuckDB. */
#define _GNU_SOURCE /* syscall */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "duckdb_nay.h"

/* A state is a mark and one pointer, NULL before its first row. */
typedef struct duck_agg {
  uint64_t mark;
  nay_sql_agg *agg;
} duck_agg;
typedef struct duck_united {
  uint64_t mark;
  nay_filter *filter;
} duck_united;

static uint64_t duck_state_size(duck_info info) {
  (void)info;
  return sizeof(duck_agg);
}
_Static_assert(sizeof(duck_agg) == sizeof(duck_united), "one size for both");

static const uint64_t duck_mark = UINT64_C(0x9c6e61790d7374f1);

static void duck_state_init(duck_info info, duck_state state) {
  (void)info;
  *(duck_agg *)state = (duck_agg){.mark = duck_mark};
}

/* ---- constant states ------------------------------------------------------------------------- */

/*
 * DuckDB has one state for all rows of a call where the rows are sorted (nay_agg(x ORDER BY y)) or
 * the frame of a window is constant (OVER ()). It then passes a vector of one state as if it had as
 * many as rows (duckdb issue 21537, open with 1.5.6): states[1] and later are whatever memory
 * follows. Nothing says so; but true states have a mark, and the memory that follows an allocation
 * of 8 bytes has not: its fourth word is the size of the next block. So a pointer that is no state
 * tells that all rows are of states[0]. Both the pointers and what they point to may be unreadable.
 */
typedef struct duck_pages {
  uintptr_t known[64]; /* numbers of pages that can be read, each at its number modulo 64 */
} duck_pages;

enum { DUCK_PAGE = 4096 };

static bool duck_page_readable(duck_pages *pages, uintptr_t page) {
  if (page == 0) return false;
  if (pages->known[page % 64] == page) return true;
#ifdef __linux__
  /* the kernel copies 8 bytes before it refuses the call: EFAULT where there are none */
  if (syscall(SYS_rt_sigprocmask, -1, page * DUCK_PAGE, NULL, 8) == 0 || errno == EFAULT)
    return false;
#endif
  pages->known[page % 64] = page;
  return true;
}

static bool duck_readable(duck_pages *pages, const void *ptr, size_t len) {
  uintptr_t from = (uintptr_t)ptr, to = from + len - 1;
  if (to < from) return false;
  for (uintptr_t page = from / DUCK_PAGE; page <= to / DUCK_PAGE; page++) {
    if (!duck_page_readable(pages, page)) return false;
  }
  return true;
}

/* Whether states has a state for each of n rows; false: states[0] is that of all rows. Sanitizers
 * would stop at the reads beyond a vector of one. */
__attribute__((no_sanitize("address", "undefined"))) static bool duck_states_are_many(
    duck_state *states, uint64_t n) {
  duck_pages pages = {{0}};
  if (n > 1 && !duck_readable(&pages, states, n * sizeof *states)) return false;
  for (uint64_t i = 1; i < n; i++) {
    if (states[i] == states[i - 1]) continue;
    if (!duck_readable(&pages, states[i], sizeof duck_mark) ||
        *(const volatile uint64_t *)states[i] != duck_mark)
      return false;
  }
  return true;
}

/* ---- nay_agg --------------------------------------------------------------------------------- */

/* The vectors of a call: (x), (x, fpr), (x, n, fpr), (x, n, fpr, kind). */
typedef struct duck_arguments {
  duck_column values;
  const int64_t *n;
  const double *fpr;
  const duck_string *kind;
  const uint64_t *n_valid, *fpr_valid, *kind_valid;
} duck_arguments;

static void duck_argument(duck_chunk input, uint64_t i, const void **data, const uint64_t **valid) {
  duck_vector vector = duck.chunk_get_vector(input, i);
  *data = duck.vector_get_data(vector);
  *valid = duck.vector_get_validity(vector);
}

static nay_status duck_arguments_open(duck_chunk input, uint64_t nargs, nay_sql_error *error,
                                      duck_arguments *arguments) {
  const void *data;
  *arguments = (duck_arguments){.n = NULL};
  if (nargs >= 3) {
    duck_argument(input, 1, &data, &arguments->n_valid);
    arguments->n = data;
  }
  if (nargs >= 2) {
    duck_argument(input, nargs == 2 ? 1 : 2, &data, &arguments->fpr_valid);
    arguments->fpr = data;
  }
  if (nargs == 4) {
    duck_argument(input, 3, &data, &arguments->kind_valid);
    arguments->kind = data;
  }
  return duck_column_open(duck.chunk_get_vector(input, 0), error, &arguments->values);
}

static nay_status duck_agg_start(const duck_arguments *arguments, uint64_t row,
                                 nay_sql_error *error, nay_sql_agg **agg) {
  if (duck_is_null(arguments->n_valid, row) || duck_is_null(arguments->fpr_valid, row) ||
      duck_is_null(arguments->kind_valid, row))
    return nay_sql_fail(error, NAY_EINVAL, NULL, "n, fpr and kind must not be NULL");
  const duck_string *kind = arguments->kind != NULL ? arguments->kind + row : NULL;
  nay_sql_wish wish;
  nay_status status = nay_sql_wish_read(arguments->n != NULL ? arguments->n + row : NULL,
                                        arguments->fpr != NULL ? arguments->fpr[row] : 0.01,
                                        kind != NULL ? duck_bytes(kind) : NULL,
                                        kind != NULL ? kind->len : 0, error, &wish);
  if (status != NAY_OK) return status;
  wish.max_file = DUCK_MAX_FILE;
  status = nay_sql_agg_new(&wish, NULL, error, agg);
  if (status == NAY_OK && arguments->values.type != DUCK_SQLNULL)
    nay_sql_agg_set_type(*agg, duck_column_type(&arguments->values));
  return status;
}

/* Another n or fpr in a later row would be ignored: it is an error instead. */
static nay_status duck_agg_same(const duck_arguments *arguments, uint64_t row,
                                const nay_sql_agg *agg, nay_sql_error *error) {
  const nay_sql_wish *wish = nay_sql_agg_wish(agg);
  bool same = (arguments->n == NULL || (!duck_is_null(arguments->n_valid, row) &&
                                        (uint64_t)arguments->n[row] == wish->nkeys)) &&
              (arguments->fpr == NULL ||
               (!duck_is_null(arguments->fpr_valid, row) && arguments->fpr[row] == wish->fpr));
  return same ? NAY_OK
              : nay_sql_fail(error, NAY_EINVAL, NULL,
                             "n and fpr must be the same in all rows of a group");
}

static nay_status duck_agg_row(const duck_arguments *arguments, uint64_t row, duck_agg *state,
                               nay_sql_error *error) {
  nay_status status = state->agg == NULL ? duck_agg_start(arguments, row, error, &state->agg)
                                         : duck_agg_same(arguments, row, state->agg, error);
  if (status != NAY_OK) return status;
  if (duck_is_null(arguments->values.validity, row) || arguments->values.type == DUCK_SQLNULL)
    return NAY_OK;
  char text[64];
  nay_sql_value value;
  status = duck_value(&arguments->values, row, text, error, &value);
  return status == NAY_OK ? nay_sql_agg_add(state->agg, &value, error) : status;
}

static void duck_agg_update(duck_info info, duck_chunk input, duck_state *states, uint64_t nargs) {
  duck_arguments arguments;
  nay_sql_error error = {0};
  nay_status status = duck_arguments_open(input, nargs, &error, &arguments);
  uint64_t n = duck.chunk_get_size(input);
  bool many = duck_states_are_many(states, n);
  for (uint64_t row = 0; row < n && status == NAY_OK; row++)
    status = duck_agg_row(&arguments, row, states[many ? row : 0], &error);
  char text[640];
  if (status != NAY_OK) duck.aggregate_set_error(info, duck_message(text, "nay_agg", &error));
}

static void duck_agg_update_1(duck_info info, duck_chunk input, duck_state *states) {
  duck_agg_update(info, input, states, 1);
}

static void duck_agg_update_2(duck_info info, duck_chunk input, duck_state *states) {
  duck_agg_update(info, input, states, 2);
}

static void duck_agg_update_3(duck_info info, duck_chunk input, duck_state *states) {
  duck_agg_update(info, input, states, 3);
}

static void duck_agg_update_4(duck_info info, duck_chunk input, duck_state *states) {
  duck_agg_update(info, input, states, 4);
}

/* The source may be combined again: it stays as it is. */
static void duck_agg_combine(duck_info info, duck_state *source, duck_state *target,
                             uint64_t count) {
  nay_sql_error error = {0};
  nay_status status = NAY_OK;
  for (uint64_t i = 0; i < count && status == NAY_OK; i++) {
    duck_agg *from = source[i], *to = target[i];
    if (from->agg == NULL) continue;
    if (to->agg == NULL)
      status = nay_sql_agg_new(nay_sql_agg_wish(from->agg), NULL, &error, &to->agg);
    if (status == NAY_OK) status = nay_sql_agg_merge(to->agg, from->agg, &error);
  }
  char text[640];
  if (status != NAY_OK) duck.aggregate_set_error(info, duck_message(text, "nay_agg", &error));
}

static void duck_agg_finalize(duck_info info, duck_state *states, duck_vector result,
                              uint64_t count, uint64_t offset) {
  nay_sql_error error = {0};
  nay_status status = NAY_OK;
  for (uint64_t i = 0; i < count && status == NAY_OK; i++) {
    duck_agg *state = states[i];
    const nay_filter *filter;
    if (state->agg == NULL) {
      duck_put_null(result, offset + i);
      continue;
    }
    status = nay_sql_agg_result(state->agg, &error, &filter);
    if (status == NAY_OK) status = duck_put_filter(result, offset + i, filter, &error);
  }
  char text[640];
  if (status != NAY_OK) duck.aggregate_set_error(info, duck_message(text, "nay_agg", &error));
}

static void duck_agg_destroy(duck_state *states, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    duck_agg *state = states[i];
    nay_sql_agg_free(state->agg);
    *state = (duck_agg){.mark = 0};
  }
}

/* ---- nay_union ------------------------------------------------------------------------------- */

static nay_status duck_unite(duck_united *to, const nay_filter *from, nay_sql_error *error) {
  nay_diag diag = {0};
  nay_status status = to->filter == NULL ? nay_filter_copy(from, NULL, &diag, &to->filter)
                                         : nay_filter_merge(to->filter, from, 1.0, &diag);
  return status == NAY_OK ? NAY_OK : nay_sql_refuse(error, status, &diag);
}

static void duck_union_update(duck_info info, duck_chunk input, duck_state *states) {
  duck_vector vector = duck.chunk_get_vector(input, 0);
  const duck_string *bytes = duck.vector_get_data(vector);
  const uint64_t *validity = duck.vector_get_validity(vector);
  nay_sql_error error = {0};
  nay_status status = NAY_OK;
  uint64_t n = duck.chunk_get_size(input);
  bool many = duck_states_are_many(states, n);
  for (uint64_t row = 0; row < n && status == NAY_OK; row++) {
    if (duck_is_null(validity, row)) continue;
    nay_diag diag = {0};
    nay_filter *one;
    status = nay_filter_decode(duck_bytes(bytes + row), bytes[row].len, NULL, &diag, &one);
    if (status != NAY_OK) {
      nay_sql_refuse(&error, status, &diag);
      break;
    }
    status = duck_unite(states[many ? row : 0], one, &error);
    nay_filter_free(one);
  }
  char text[640];
  if (status != NAY_OK) duck.aggregate_set_error(info, duck_message(text, "nay_union", &error));
}

static void duck_union_combine(duck_info info, duck_state *source, duck_state *target,
                               uint64_t count) {
  nay_sql_error error = {0};
  nay_status status = NAY_OK;
  for (uint64_t i = 0; i < count && status == NAY_OK; i++) {
    const duck_united *from = source[i];
    if (from->filter != NULL) status = duck_unite(target[i], from->filter, &error);
  }
  char text[640];
  if (status != NAY_OK) duck.aggregate_set_error(info, duck_message(text, "nay_union", &error));
}

static void duck_union_finalize(duck_info info, duck_state *states, duck_vector result,
                                uint64_t count, uint64_t offset) {
  nay_sql_error error = {0};
  nay_status status = NAY_OK;
  for (uint64_t i = 0; i < count && status == NAY_OK; i++) {
    const duck_united *state = states[i];
    if (state->filter != NULL)
      status = duck_put_filter(result, offset + i, state->filter, &error);
    else
      duck_put_null(result, offset + i);
  }
  char text[640];
  if (status != NAY_OK) duck.aggregate_set_error(info, duck_message(text, "nay_union", &error));
}

static void duck_union_destroy(duck_state *states, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    duck_united *state = states[i];
    nay_filter_free(state->filter);
    *state = (duck_united){.mark = 0};
  }
}

/* ---- registration ---------------------------------------------------------------------------- */

static duck_function duck_aggregate(const char *name, const int *parameters, size_t n,
                                    duck_update update, duck_combine combine,
                                    duck_finalize finalize, duck_destroy destroy) {
  duck_function function = duck.create_aggregate_function();
  duck.aggregate_set_name(function, name);
  for (size_t i = 0; i < n; i++) {
    duck_type type = duck.create_logical_type(parameters[i]);
    duck.aggregate_add_parameter(function, type);
    duck.destroy_logical_type(&type);
  }
  duck_type blob = duck.create_logical_type(DUCK_BLOB);
  duck.aggregate_set_return_type(function, blob);
  duck.destroy_logical_type(&blob);
  duck.aggregate_set_special_handling(function); /* NULLs come too: rows of NULL are rows */
  duck.aggregate_set_functions(function, duck_state_size, duck_state_init, update, combine,
                               finalize);
  duck.aggregate_set_destructor(function, destroy);
  return function;
}

int duck_register_aggregates(duck_connection connection) {
  static const int parameters[4][4] = {{DUCK_ANY},
                                       {DUCK_ANY, DUCK_DOUBLE},
                                       {DUCK_ANY, DUCK_BIGINT, DUCK_DOUBLE},
                                       {DUCK_ANY, DUCK_BIGINT, DUCK_DOUBLE, DUCK_VARCHAR}};
  static const duck_update updates[4] = {duck_agg_update_1, duck_agg_update_2, duck_agg_update_3,
                                         duck_agg_update_4};
  duck_set set = duck.create_aggregate_function_set("nay_agg");
  int failed = 0;
  for (size_t i = 0; i < 4; i++) {
    duck_function one = duck_aggregate("nay_agg", parameters[i], i + 1, updates[i],
                                       duck_agg_combine, duck_agg_finalize, duck_agg_destroy);
    failed |= duck.add_aggregate_function_to_set(set, one);
    duck.destroy_aggregate_function(&one);
  }
  failed |= duck.register_aggregate_function_set(connection, set);
  duck.destroy_aggregate_function_set(&set);
  static const int blob[] = {DUCK_BLOB};
  duck_function united = duck_aggregate("nay_union", blob, 1, duck_union_update, duck_union_combine,
                                        duck_union_finalize, duck_union_destroy);
  failed |= duck.register_aggregate_function(connection, united);
  duck.destroy_aggregate_function(&united);
  return failed;
}

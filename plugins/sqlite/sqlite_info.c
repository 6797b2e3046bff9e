/* sqlite_info.c - the table-valued function nay_info(filter): one row that describes a filter. */
#include <math.h>
#include <string.h>

#include "nay_sqlite.h"

#ifndef SQLITE_CORE
SQLITE_EXTENSION_INIT3
#endif

typedef struct info_table {
  sqlite3_vtab base;
  nay_sqlite *state;
} info_table;

typedef struct info_cursor {
  sqlite3_vtab_cursor base;
  nay_sql_probe *probe; /* NULL: at the end */
  nay_stats stats;
} info_cursor;

enum { INFO_FILTER = 14 }; /* the hidden column: the argument */

static int info_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                        sqlite3_vtab **table, char **message) {
  (void)argc, (void)argv, (void)message;
  int rc = sqlite3_declare_vtab(
      db,
      "CREATE TABLE x(kind TEXT, key TEXT, hash TEXT, k INT, nkeys INT, nkeys_estimated REAL, "
      "nbits INT, nbytes INT, fill REAL, fpr_planned REAL, fpr_now REAL, overloaded INT, "
      "saturated INT, derived INT, filter HIDDEN)");
  if (rc != SQLITE_OK) return rc;
  sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  info_table *made = sqlite3_malloc64(sizeof *made);
  if (made == NULL) return SQLITE_NOMEM;
  memset(made, 0, sizeof *made);
  made->state = aux;
  *table = &made->base;
  return SQLITE_OK;
}

static int info_disconnect(sqlite3_vtab *table) {
  sqlite3_free(table);
  return SQLITE_OK;
}

static int info_best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
  (void)table;
  for (int i = 0; i < info->nConstraint; i++) {
    if (info->aConstraint[i].iColumn != INFO_FILTER ||
        info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
      continue;
    if (!info->aConstraint[i].usable) return SQLITE_CONSTRAINT;
    info->aConstraintUsage[i].argvIndex = 1;
    info->aConstraintUsage[i].omit = 1;
    info->idxNum = 1;
    info->estimatedCost = 1;
    info->estimatedRows = 1;
    return SQLITE_OK;
  }
  info->idxNum = 0;
  info->estimatedCost = 1e9;
  return SQLITE_OK;
}

static int info_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor) {
  (void)table;
  info_cursor *made = sqlite3_malloc64(sizeof *made);
  if (made == NULL) return SQLITE_NOMEM;
  memset(made, 0, sizeof *made);
  *cursor = &made->base;
  return SQLITE_OK;
}

static int info_close(sqlite3_vtab_cursor *base) {
  info_cursor *cursor = (info_cursor *)base;
  nay_sql_probe_free(cursor->probe);
  sqlite3_free(cursor);
  return SQLITE_OK;
}

static int info_filter(sqlite3_vtab_cursor *base, int index, const char *text, int argc,
                       sqlite3_value **argv) {
  (void)text, (void)argc;
  info_cursor *cursor = (info_cursor *)base;
  nay_sql_probe_free(cursor->probe);
  cursor->probe = NULL;
  if (index == 0) return SQLITE_OK; /* no argument: no rows */
  if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return SQLITE_OK;
  info_table *table = (info_table *)base->pVtab;
  nay_sql_error error = {0};
  nay_status status = nay_sqlite_filter(&table->state->cache, argv[0], &error, &cursor->probe);
  if (status == NAY_OK) {
    cursor->stats = (nay_stats){.size = sizeof cursor->stats};
    status = nay_filter_stats(cursor->probe->filter, &cursor->stats);
    if (status != NAY_OK) nay_sql_refuse(&error, status, NULL);
  }
  if (status == NAY_OK) return SQLITE_OK;
  nay_sql_probe_free(cursor->probe);
  cursor->probe = NULL;
  sqlite3_free(base->pVtab->zErrMsg);
  base->pVtab->zErrMsg = nay_sqlite_message("nay_info", &error);
  return status == NAY_ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

static int info_next(sqlite3_vtab_cursor *base) {
  info_cursor *cursor = (info_cursor *)base;
  nay_sql_probe_free(cursor->probe);
  cursor->probe = NULL;
  return SQLITE_OK;
}

static int info_eof(sqlite3_vtab_cursor *base) { return ((info_cursor *)base)->probe == NULL; }

static void info_text(sqlite3_context *ctx, const char *text) {
  if (text != NULL) sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

/* What is not known is NULL, and so is a NaN. */
static void info_double(sqlite3_context *ctx, double value) {
  if (!isnan(value)) sqlite3_result_double(ctx, value);
}

static int info_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column) {
  const info_cursor *cursor = (const info_cursor *)base;
  const nay_stats *stats = &cursor->stats;
  const nay_filter *filter = cursor->probe->filter;
  switch (column) {
    case 0: info_text(ctx, nay_kind_name(stats->kind)); break;
    case 1: info_text(ctx, nay_filter_key(filter)); break;
    case 2: info_text(ctx, nay_hash_name(stats->hash)); break;
    case 3: sqlite3_result_int64(ctx, stats->k); break;
    case 4: sqlite3_result_int64(ctx, (sqlite3_int64)stats->nkeys); break;
    case 5: info_double(ctx, stats->nkeys_estimated); break;
    case 6: sqlite3_result_int64(ctx, (sqlite3_int64)stats->nbits); break;
    case 7: sqlite3_result_int64(ctx, (sqlite3_int64)nay_filter_encoded_size(filter)); break;
    case 8: info_double(ctx, stats->fill); break;
    case 9: info_double(ctx, stats->fpr_planned); break;
    case 10: info_double(ctx, stats->fpr_now); break;
    case 11: sqlite3_result_int(ctx, stats->overloaded); break;
    case 12: sqlite3_result_int(ctx, stats->saturated); break;
    case 13: sqlite3_result_int(ctx, stats->derived); break;
    default: break; /* the argument is not kept */
  }
  return SQLITE_OK;
}

static int info_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
  (void)base;
  *rowid = 1;
  return SQLITE_OK;
}

const sqlite3_module nay_sqlite_info = {.xConnect = info_connect,
                                        .xBestIndex = info_best_index,
                                        .xDisconnect = info_disconnect,
                                        .xOpen = info_open,
                                        .xClose = info_close,
                                        .xFilter = info_filter,
                                        .xNext = info_next,
                                        .xEof = info_eof,
                                        .xColumn = info_column,
                                        .xRowid = info_rowid};

/* nay_sqlite.h - the entry points of the extension, for programs that compile it in, and what its
 * files share. */
#ifndef NAY_SQLITE_H
#define NAY_SQLITE_H

#ifdef SQLITE_CORE
#include <sqlite3.h>
#else
#include <sqlite3ext.h>
#endif

#include "nay_sql.h"

#ifdef SQLITE_CORE
struct sqlite3_api_routines;
typedef struct sqlite3_api_routines sqlite3_api_routines;
#endif

#define NAY_SQLITE_API __attribute__((visibility("default")))

/* sqlite3_nay_init: everything but nay_file. */
NAY_SQLITE_API int sqlite3_nay_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);

/* sqlite3_nayfiles_init: nay_file too, which opens any file that the process can read. */
NAY_SQLITE_API int sqlite3_nayfiles_init(sqlite3 *db, char **message,
                                         const sqlite3_api_routines *api);

/* nay_sqlite: what the functions of one connection share; its mutex protects it. */
typedef struct nay_sqlite {
  nay_sql_cache cache;
  unsigned refs;
  bool files;
  uint64_t nfiles; /* opened so far */
  uint64_t own;    /* random: tells handles of files from those of other connections */
} nay_sqlite;

extern const nay_allocator nay_sqlite_allocator;
extern const sqlite3_module nay_sqlite_info;

/* nay_sqlite_message: "function: message. hint", to sqlite3_free; NULL without memory. */
char *nay_sqlite_message(const char *function, const nay_sql_error *error);
void nay_sqlite_fail(sqlite3_context *ctx, const char *function, const nay_sql_error *error);

/* nay_sqlite_filter: of a BLOB: a filter, or a handle of nay_open or
 * nay_file; nay_sql_probe_free it. */
nay_status nay_sqlite_filter(nay_sql_cache *cache, sqlite3_value *from, nay_sql_error *error,
                             nay_sql_probe **probe);

#endif /* NAY_SQLITE_H */

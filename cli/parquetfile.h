/* parquetfile.h - Parquet files: opening one, and what info and extract tell of its filters. */
#ifndef NAY_PARQUETFILE_H
#define NAY_PARQUETFILE_H

#include <nay_sst_parquet.h>

#include "options.h"

/* parquetfile_magic: whether a file starts as one. parquetfile_is: a regular file that does. */
bool parquetfile_magic(const uint8_t head[4]);
bool parquetfile_is(const char *path);

/* parquetfile_try: NULL, its status and why, when it cannot be opened. */
nay_sst_parquet *parquetfile_try(const char *path, nay_status *status, char why[DIAG_TEXT]);

/* parquetfile_open: the same, but exits with the status of the error. */
nay_sst_parquet *parquetfile_open(const char *path);

/* parquetfile_column: the column of a name; exits when there is none, or several. */
uint64_t parquetfile_column(const nay_sst_parquet *p, const char *path, const char *name);

/* parquetfile_info: what nay info tells; returns the exit status. */
int parquetfile_info(const char *path, bool as_json);

/* parquetfile_extract: what nay extract does; `to` NULL: it only lists. */
int parquetfile_extract(const options *o, const char *path, const output_options *to);

#endif /* NAY_PARQUETFILE_H */

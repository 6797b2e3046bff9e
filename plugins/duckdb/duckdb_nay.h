/* duckdb_nay.h - what the files of the extension for DuckDB share. */
#ifndef NAY_DUCKDB_NAY_H
#define NAY_DUCKDB_NAY_H

#include "duckdb_api.h"
#include "nay_sql.h"

/* duck_column: a vector of any type whose values become keys. */
typedef struct duck_column {
  const uint8_t *data;
  const uint64_t *validity;
  int type, storage; /* storage: of a DECIMAL, the integer that holds it */
  uint8_t scale;
} duck_column;

/* duck_column_open: NAY_EINVAL: values of this type have no keys here. */
nay_status duck_column_open(duck_vector vector, nay_sql_error *error, duck_column *column);

/* duck_column_type: the type of its keys. A column of untyped NULLs has text. */
nay_key_type duck_column_type(const duck_column *column);

/* duck_value: row's value, which is not NULL. `text` holds what a number becomes. */
nay_status duck_value(const duck_column *column, uint64_t row, char text[64], nay_sql_error *error,
                      nay_sql_value *value);

/* duck_literal: a value that may be a quoted literal, and memory of its readings, to be freed. */
typedef struct duck_literal {
  char text[64]; /* of duck_value */
  void *more;
  nay_sql_readings readings;
} duck_literal;

/*
 * duck_literal_read: the readings of readings.values[0], a value of the column: a VARCHAR may be a
 * literal that DuckDB would compare with a column as BLOB, and is one then too. NAY_EINVAL: a time
 * without a zone, for a filter of timestamps: whether their column had zones is not known.
 */
nay_status duck_literal_read(const duck_column *column, const nay_sql_probe *probe,
                             nay_sql_error *error, duck_literal *literal);

/*
 * duck_ask_rounded: of a filter of numerics that says nay to a literal: DuckDB rounds a literal to
 * the scale of the DECIMAL that it is compared with, halves away from zero, and the filter does not
 * say which scale that was. All that the digits allow are asked.
 */
nay_status duck_ask_rounded(const nay_sql_probe *probe, const nay_sql_value *literal,
                            nay_sql_error *error, bool *maybe);

/* duck_put_filter: the bytes of a filter as a BLOB. */
nay_status duck_put_filter(duck_vector vector, uint64_t row, const nay_filter *filter,
                           nay_sql_error *error);
void duck_put_null(duck_vector vector, uint64_t row);

/* duck_message: "function: message. Hint", into text. */
const char *duck_message(char text[640], const char *function, const nay_sql_error *error);

/* A BLOB has at most 4 GB. */
#define DUCK_MAX_FILE ((size_t)0xfffffff0)

int duck_register_scalars(duck_connection connection);
int duck_register_aggregates(duck_connection connection);

#endif /* NAY_DUCKDB_NAY_H */

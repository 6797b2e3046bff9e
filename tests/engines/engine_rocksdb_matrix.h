/*
 * engine_rocksdb_matrix.h - one configuration of RocksDB: a history of writes in a database in
 * memory, and every answer compared with a std::map.
 */
#ifndef NAY_TEST_ENGINE_ROCKSDB_MATRIX_H
#define NAY_TEST_ENGINE_ROCKSDB_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each field is an index into the names of matrix_dimensions. */
typedef enum matrix_dimension {
  MATRIX_POLICY,
  MATRIX_LAYOUT,
  MATRIX_PREFIX,
  MATRIX_HISTORY,
  MATRIX_SHAPE,
  MATRIX_COMPARATOR,
  MATRIX_WHOLE_KEYS,
  MATRIX_INDEX,
  MATRIX_CACHE,
  MATRIX_FORMAT,
  MATRIX_MEMTABLE,
  MATRIX_ORIGIN,
  MATRIX_REOPEN,
  MATRIX_COMPRESSION,
  MATRIX_CUT,
  MATRIX_DIMENSIONS
} matrix_dimension;

typedef struct matrix_names {
  const char *name;
  unsigned n;
  const char *values[8];
} matrix_names;
extern const matrix_names matrix_dimensions[MATRIX_DIMENSIONS];

typedef struct matrix_config {
  uint8_t at[MATRIX_DIMENSIONS];
} matrix_config;

typedef struct matrix_result {
  uint64_t keys;        /* live at the end */
  uint64_t answers;     /* compared */
  uint64_t wrong;       /* of ours; 0 for stock RocksDB with the same question */
  uint64_t wrong_stock; /* of ours that stock RocksDB gives as well */
  uint64_t filter_nays; /* by RocksDB's tickers: the filters were really asked */
  char first[200];      /* the first wrong one, in words */
} matrix_result;

/* False: RocksDB does not have this combination, or it is not written here (timestamps). Only pairs
 * of values exclude each other, and no value 0 does. */
bool matrix_possible(const matrix_config *config);
/* Whether RocksDB has filters to ask there. */
bool matrix_filters(const matrix_config *config);
/*
 * Asks the database about each key. stride 1: in every way, of the past about one key in four. Else
 * by Get or by MultiGet, and for one key in `stride` by seeks with a prefix; which keys, `turn`
 * says. Seeks in total order, which ask no filter, are for one key in 16.
 */
typedef struct matrix_questions {
  unsigned stride, turn;
} matrix_questions;
matrix_result matrix_run(const matrix_config *config, matrix_questions questions);
/* All of it in one line. */
void matrix_print(const matrix_config *config, char *text, size_t cap);

#ifdef __cplusplus
}
#endif

#endif /* NAY_TEST_ENGINE_ROCKSDB_MATRIX_H */

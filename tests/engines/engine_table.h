/* engine_table.h - the real LevelDB's tables behind C calls. Everything is in memory but databases.
 */
#ifndef NAY_TEST_ENGINE_TABLE_H
#define NAY_TEST_ENGINE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct engine_slice {
  const uint8_t *at;
  size_t len;
} engine_slice;

/* Orders of keys: LevelDB's own; the same backwards; shorter keys first, which orders decimal
 * numbers; without case (support/fold_order.h), which has a filter policy to match. */
typedef enum engine_comparator {
  ENGINE_BYTEWISE,
  ENGINE_REVERSE,
  ENGINE_NUMERIC,
  ENGINE_PREFIX, /* the first three bytes ascending, what follows them descending */
  ENGINE_FOLD
} engine_comparator;

typedef struct engine_table_options {
  size_t block_bytes;
  int restart_interval;
  bool snappy;
  int filter_bits; /* per key; 0: no filter */
  engine_comparator comparator;
} engine_table_options;

/* engine_table_build: the file, from malloc. Entries in order. */
uint8_t *engine_table_build(const engine_table_options *options, const engine_slice *keys,
                            const engine_slice *values, size_t n, size_t *len);

/* engine_table_open: over bytes that stay; every checksum is verified. NULL when it refuses. */
typedef struct engine_table engine_table;
engine_table *engine_table_open(const uint8_t *bytes, size_t len, int filter_bits,
                                engine_comparator comparator);
void engine_table_close(engine_table *table);

/* Its iterator; false: at no entry. `failed` tells whether LevelDB saw damage. */
bool engine_table_first(engine_table *table, engine_slice *key, engine_slice *value);
bool engine_table_next(engine_table *table, engine_slice *key, engine_slice *value);
bool engine_table_seek(engine_table *table, engine_slice target, engine_slice *key,
                       engine_slice *value);
bool engine_table_failed(engine_table *table);

/* engine_table_offset: ApproximateOffsetOf. */
uint64_t engine_table_offset(engine_table *table, engine_slice key);

/* engine_rocksdb_walk: all entries of a file, by RocksDB's SstFileReader; keys are user keys. False
 * when it refuses the file or sees damage. */
bool engine_rocksdb_walk(const char *path, void (*entry)(void *, engine_slice, engine_slice),
                         void *ctx);

/* A database in a directory that does not exist yet. put with value.at NULL deletes. */
typedef struct engine_db engine_db;
engine_db *engine_db_open(const char *path, const engine_table_options *options);
bool engine_db_put(engine_db *db, engine_slice key, engine_slice value);
/* engine_db_flush: what is in memory becomes a table of level 0; nothing is dropped but what newer
 * versions hide. */
bool engine_db_flush(engine_db *db);
/* engine_db_get: the value from malloc; false when it is not there. */
bool engine_db_get(engine_db *db, engine_slice key, uint8_t **value, size_t *len);
/* engine_db_repair: the tables in the directory become the database. */
bool engine_db_repair(const char *path, const engine_table_options *options);
/* engine_db_nays: keys for which filters of ENGINE_FOLD said no, in all databases so far. */
uint64_t engine_db_nays(void);
void engine_db_close(engine_db *db);
bool engine_db_destroy(const char *path);

#ifdef __cplusplus
}
#endif

#endif /* NAY_TEST_ENGINE_TABLE_H */

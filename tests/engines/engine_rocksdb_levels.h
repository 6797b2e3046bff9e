/* engine_rocksdb_levels.h - a real RocksDB database whose tables a test puts into chosen levels. */
#ifndef NAY_TEST_ENGINE_ROCKSDB_LEVELS_H
#define NAY_TEST_ENGINE_ROCKSDB_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leveled_db leveled_db;

typedef struct leveled_policy {
  const char *id; /* as in an options file; NULL: what the OPTIONS file of the database says */
  bool partitioned;
} leveled_policy;

/* NULL: it could not be opened. */
leveled_db *leveled_open(const char *path, const leveled_policy *policy);
void leveled_close(leveled_db *db);

/* The GetId of the policy it has. */
const char *leveled_id(const leveled_db *db);

/* n keys, "PREFIX000000" and so on, numbers from `first` in steps, in a table of this level:
 * flushed, and for a level above 0 compacted into it. */
typedef struct leveled_keys {
  const char *prefix;
  unsigned n, first, step;
} leveled_keys;
void leveled_write(leveled_db *db, leveled_keys keys, int level);

/* The same by SstFileWriter, ingested: RocksDB tells the policy no level. */
void leveled_ingest(leveled_db *db, const char *directory, leveled_keys keys);

/* The path and the level of the i-th table; false past the last. */
bool leveled_table(leveled_db *db, size_t i, char *path, size_t cap, int *level);

bool leveled_has(leveled_db *db, const char *key);

/* Filters that answered maybe, since the last call. */
uint64_t leveled_maybes(leveled_db *db);

#ifdef __cplusplus
}
#endif

#endif /* NAY_TEST_ENGINE_ROCKSDB_LEVELS_H */

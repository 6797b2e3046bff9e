/* engine_rocksdb_db.h - a real RocksDB database with any of the filter policies, behind C calls. */
#ifndef NAY_TEST_ENGINE_ROCKSDB_DB_H
#define NAY_TEST_ENGINE_ROCKSDB_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rocks_policy {
  ROCKS_NAY,            /* nay's own bytes */
  ROCKS_NAY_COMPATIBLE, /* RocksDB's bytes, made by nay */
  ROCKS_BLOOM,          /* RocksDB's own */
  ROCKS_RIBBON,
  ROCKS_NONE
} rocks_policy;

typedef struct rocks_options {
  rocks_policy policy;
  double bits_per_key;
  int blocked_before_level;
  bool partitioned;
  bool no_checksums;
  bool by_string; /* the policy comes from the text "nay:BITS", through the registry */
} rocks_options;

typedef struct rocks_db rocks_db;

typedef struct rocks_tickers {
  uint64_t useful, positive, true_positive;
} rocks_tickers;

/* NULL: it could not be opened. */
rocks_db *rocks_open(const char *path, const rocks_options *options);
void rocks_close(rocks_db *db);
void rocks_put(rocks_db *db, const char *key);
void rocks_flush(rocks_db *db);
void rocks_compact(rocks_db *db);
bool rocks_has(rocks_db *db, const char *key);
/* one bool for each of n keys, by MultiGet */
void rocks_has_many(rocks_db *db, const char *const *keys, int n, bool *found);
/* since the last call */
rocks_tickers rocks_count(rocks_db *db);
/* the path of the i-th table; false past the last */
bool rocks_table(rocks_db *db, size_t i, char *path, size_t cap);

/* A block straight from the policy's builder (from malloc), and its reader. */
uint8_t *rocks_build(const rocks_options *options, const uint64_t *keys, size_t n, size_t *len);
void *rocks_reader(const rocks_options *options, const uint8_t *block, size_t len);
bool rocks_reader_may_match(void *reader, uint64_t key);
void rocks_reader_close(void *reader);
size_t rocks_approximate(const rocks_options *options, size_t nbytes);

/* The versions of the table format that this RocksDB writes. */
unsigned rocks_first_format(void);
unsigned rocks_last_format(void);

/* A table of SstFileWriter; keys ascending, each with its own name as value. */
#define ROCKS_KEY 32
typedef struct rocks_table_options {
  rocks_policy policy;
  double bits_per_key;
  unsigned format_version;              /* rocks_first_format to rocks_last_format */
  unsigned checksum;                    /* 0 to 4 */
  unsigned fixed_prefix, capped_prefix; /* 0: none */
  unsigned metadata_block;              /* 0: a full filter */
  unsigned restart_interval;            /* of the index */
  bool prefixes_only, memory;
  bool reverse; /* rocksdb.ReverseBytewiseComparator; keys are then written backwards */
} rocks_table_options;
void rocks_write_table(const char *path, const rocks_table_options *options, size_t n,
                       void (*key_of)(unsigned i, char key[ROCKS_KEY]));

#ifdef __cplusplus
}
#endif

#endif /* NAY_TEST_ENGINE_ROCKSDB_DB_H */

/* engines.h - the real engines behind C calls: their own interfaces are C++ only. */
#ifndef NAY_TEST_ENGINES_H
#define NAY_TEST_ENGINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* LevelDB's built-in Bloom policy; the filter is from malloc, NULL when it has no bytes. */
uint8_t *engine_leveldb_create(int bits_per_key, const uint8_t *const *keys, const size_t *lens,
                               size_t n, size_t *filter_len);
bool engine_leveldb_may_match(const uint8_t *key, size_t len, const uint8_t *filter,
                              size_t filter_len);

/* FarmHash's Fingerprint32, of the C++ library. */
uint32_t engine_farmhash_fingerprint32(const uint8_t *bytes, size_t len);

/* RocksDB's own policies: a block as it is written, from malloc (never NULL), and its readers. */
typedef enum engine_rocksdb_kind {
  ROCKSDB_BLOOM,
  ROCKSDB_LEGACY,
  ROCKSDB_RIBBON
} engine_rocksdb_kind;
uint8_t *engine_rocksdb_create(engine_rocksdb_kind kind, double bits_per_key,
                               const uint8_t *const *keys, const size_t *lens, size_t n,
                               size_t *filter_len);
void *engine_rocksdb_open(const uint8_t *filter, size_t len); /* the bytes stay the caller's */
bool engine_rocksdb_may_match(void *reader, const uint8_t *key, size_t len);
void engine_rocksdb_close(void *reader);

#ifdef __cplusplus
}
#endif

#endif /* NAY_TEST_ENGINES_H */

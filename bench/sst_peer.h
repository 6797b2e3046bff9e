/* sst_peer.h - the real LevelDB's tables behind C calls, for sst_bench.c. No block cache. */
#ifndef NAY_BENCH_SST_PEER_H
#define NAY_BENCH_SST_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* sst_records: n keys of key_len bytes in order, and one value for all of them. */
typedef struct sst_records {
  const char *keys;
  size_t n, key_len;
  const char *values; /* the value of record i starts at values + i % 1000 */
  size_t value_len;
} sst_records;

/* sst_peer_write: TableBuilder into a file of LevelDB's Env, synced and closed. */
bool sst_peer_write(const char *path, const sst_records *records, bool snappy, int filter_bits);

typedef struct sst_peer sst_peer;
sst_peer *sst_peer_open(const char *path, bool verify);
void sst_peer_close(sst_peer *peer);

/* sst_peer_get: seeks each key with one iterator; how many are there. */
size_t sst_peer_get(sst_peer *peer, const char *keys, size_t n, size_t key_len);

/* sst_peer_scan: walks the whole table; how many bytes keys and values have. */
uint64_t sst_peer_scan(sst_peer *peer);

#ifdef __cplusplus
}
#endif

#endif /* NAY_BENCH_SST_PEER_H */

/* hash_bench.h - nay bench --hash: what hashing costs, and how many hashes a Bloom filter needs. */
#ifndef NAY_HASH_BENCH_H
#define NAY_HASH_BENCH_H

#include "options.h"

/* hash_bench: the table of hashes, then that of schemes; returns the exit status. */
int hash_bench(const size_options *size, bool json, bool csv);

/* The same keys in a row, each `len` bytes; key_row_free releases them. */
typedef struct key_row {
  uint8_t *bytes;
  const void **keys;
  size_t *lens;
  size_t n, len;
} key_row;

/* key_row_new: n keys; rows with other salts share no key of 8 bytes or more. */
key_row key_row_new(size_t n, size_t len, uint64_t salt);
void key_row_free(key_row *r);

/* hash_schemes: in hash_schemes.c. hash_schemes_check: exits when the options do not allow it. */
void hash_schemes(const size_options *size, bool json);
void hash_schemes_check(const size_options *size);

#endif /* NAY_HASH_BENCH_H */

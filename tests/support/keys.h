/* keys.h - key sets that have hurt filters before, generated on the fly by number. */
#ifndef NAY_TEST_KEYS_H
#define NAY_TEST_KEYS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "nay_advanced.h"
#include "nay_column.h"

#define KEY_MAX 160

typedef size_t (*key_maker)(uint64_t i,
                            uint8_t *out); /* returns the length; out has KEY_MAX bytes */

/* 8 bytes, little-endian: 0, 1, 2, ... */
static inline size_t key_sequential(uint64_t i, uint8_t *out) {
  for (unsigned b = 0; b < 8; b++) out[b] = (uint8_t)(i >> (8 * b));
  return 8;
}

/* A long common prefix, then the number in decimal. */
static inline size_t key_long_prefix(uint64_t i, uint8_t *out) {
  memset(out, 'x', 120);
  return 120 + (size_t)snprintf((char *)out + 120, KEY_MAX - 120, "%llu", (unsigned long long)i);
}

/* 64 bytes that differ from their neighbours in one byte only, wherever that byte is. */
static inline size_t key_one_byte(uint64_t i, uint8_t *out) {
  memset(out, 0, 64);
  for (unsigned b = 0; b < 8; b++) out[(b * 29 + 7) % 64] = (uint8_t)(i >> (8 * b));
  return 64;
}

/* 16 random bytes. */
static inline size_t key_random(uint64_t i, uint8_t *out) {
  key_sequential(nay_hash_mix(i), out);
  key_sequential(nay_hash_mix(~i), out + 8);
  return 16;
}

typedef struct key_set {
  const char *name;
  key_maker make;
} key_set;

static const key_set key_sets[] = {
    {"sequential", key_sequential},
    {"long prefix", key_long_prefix},
    {"one byte", key_one_byte},
    {"random", key_random},
};
#define N_KEY_SETS (sizeof key_sets / sizeof key_sets[0])

/* column_of: n keys one after the other, with n + 1 offsets. */
static inline nay_column column_of(const void *bytes, const size_t *offsets, size_t n) {
  return (nay_column){.size = sizeof(nay_column),
                      .bytes = bytes,
                      .nbytes = offsets[n],
                      .offsets = offsets,
                      .offset_bytes = sizeof *offsets};
}

#endif /* NAY_TEST_KEYS_H */

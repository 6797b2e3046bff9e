/*
 * bench_keys.c - keys that are distinct by construction, in any number, from one seed.
 *
 * Key number i is mix(seed + i), and mix is a bijection of 64 bits: no two are equal, absent ones
 * are really absent, and any key can be made again from its number, so a set of queries needs no
 * lookup in the set of keys. The string of a key is its word in 16 hexadecimal digits.
 */
#include <nay_advanced.h>
#include <string.h>

#include "bench.h"

const int bench_share_percent[BENCH_NSHARES] = {0, 50, 100};

static uint64_t keys_word(uint64_t seed, uint64_t number) { return nay_hash_mix(seed + number); }

static void keys_digits(uint64_t word, char *out) {
  static const char digits[] = "0123456789abcdef";
  for (int i = 0; i < BENCH_KEY_LEN; i++, word <<= 4) out[i] = digits[word >> 60];
}

/* The arrays are const to adapters; here, where they are made, they are not. */
static void keys_put(bench_keys *keys, size_t i, uint64_t word) {
  if (keys->strings != NULL) {
    keys_digits(word, (char *)(uintptr_t)keys->strings + i * BENCH_KEY_LEN);
  } else {
    ((uint64_t *)(uintptr_t)keys->hashes)[i] = word;
  }
}

static bench_keys keys_make(size_t n, bench_form form) {
  bench_keys keys = {NULL, NULL, n};
  if (form == BENCH_STRINGS) {
    keys.strings = bench_alloc(n * BENCH_KEY_LEN);
  } else {
    keys.hashes = bench_alloc(n * sizeof(uint64_t));
  }
  return keys;
}

void bench_keys_refill(bench_keys *keys, uint64_t seed, uint64_t first) {
  for (size_t i = 0; i < keys->n; i++) keys_put(keys, i, keys_word(seed, first + i));
}

bench_keys bench_keys_new(uint64_t seed, uint64_t first, size_t n, bench_form form) {
  bench_keys keys = keys_make(n, form);
  bench_keys_refill(&keys, seed, first);
  return keys;
}

bench_keys bench_queries_new(uint64_t seed, uint64_t nkeys, size_t n, bench_share share,
                             bench_form form) {
  bench_keys keys = keys_make(n, form);
  for (size_t i = 0; i < n; i++) {
    /* which key, and whether it is present, by a sequence of its own: no pattern to predict */
    uint64_t r = nay_hash_mix(~seed + i * BENCH_NSHARES + (uint64_t)share);
    bool present = share == BENCH_PRESENT || (share == BENCH_HALF && (r & 1) != 0);
    uint64_t number = present ? (r >> 8) % nkeys : BENCH_FIRST_ABSENT + i;
    keys_put(&keys, i, keys_word(seed, number));
  }
  return keys;
}

bench_keys bench_keys_slice(const bench_keys *keys, size_t from, size_t n) {
  if (from > keys->n) from = keys->n;
  if (n > keys->n - from) n = keys->n - from;
  return (bench_keys){keys->hashes != NULL ? keys->hashes + from : NULL,
                      keys->strings != NULL ? keys->strings + from * BENCH_KEY_LEN : NULL, n};
}

void bench_keys_free(bench_keys *keys) {
  bench_free((void *)(uintptr_t)keys->hashes, keys->n * sizeof(uint64_t));
  bench_free((void *)(uintptr_t)keys->strings, keys->n * BENCH_KEY_LEN);
  *keys = (bench_keys){NULL, NULL, 0};
}

/*
 * adapter_redisbloom.c - the Bloom filter inside RedisBloom (deps/bloom), without the server
 * around it; bench/redis compares the modules as a whole.
 *
 * One layer for all keys at 1% false positives, not rounded to a power of two, 64-bit Murmur2, as
 * BF.RESERVE makes it. It hashes the bytes of each key, also of a key that is a hash. The checkout
 * must have deps/bloom and deps/murmur2; both are compiled in.
 */
#include <stdlib.h>

#include <bloom.h>

#include "peer_loops.h"

/* The module takes these from the server. Here they are libc's. */
void (*RedisModule_Free)(void *) = free;
void *(*RedisModule_Calloc)(size_t, size_t) = calloc;
void *(*RedisModule_TryCalloc)(size_t, size_t) = calloc;

static const void *redisbloom_key(const bench_keys *keys, size_t i) {
  if (keys->strings != NULL) return keys->strings + i * BENCH_KEY_LEN;
  return keys->hashes + i;
}

static int redisbloom_len(const bench_keys *keys) {
  return keys->strings != NULL ? BENCH_KEY_LEN : (int)sizeof(uint64_t);
}

static void *redisbloom_add(const bench_adapter *a, const bench_keys *keys) {
  (void)a;
  struct bloom *b = calloc(1, sizeof *b);
  if (b == NULL) return NULL;
  if (bloom_init(b, keys->n, 0.01, BLOOM_OPT_NOROUND | BLOOM_OPT_FORCE64) != 0) {
    free(b);
    return NULL;
  }
  int len = redisbloom_len(keys);
  for (size_t i = 0; i < keys->n; i++) bloom_add(b, redisbloom_key(keys, i), len);
  return b;
}

static bool redisbloom_answer(const void *filter, const bench_keys *keys, size_t i) {
  return bloom_check(filter, redisbloom_key(keys, i), redisbloom_len(keys)) == 1;
}

static size_t redisbloom_probe(const void *filter, const bench_keys *keys) {
  return peer_probe(filter, keys, redisbloom_answer);
}

static size_t redisbloom_probe_alone(const void *filter, const bench_keys *keys) {
  return peer_probe_alone(filter, keys, redisbloom_answer);
}

static uint64_t redisbloom_nbytes(const void *filter) {
  return ((const struct bloom *)filter)->bytes;
}

static void redisbloom_free(void *filter) {
  bloom_free(filter);
  free(filter);
}

const bench_adapter *nay_bench_adapters(size_t *n) {
  static const bench_adapter adapter = {.library = "redisbloom",
                                        .version = PEER_VERSION_TEXT,
                                        .name = "bloom",
                                        .family = "bloom",
                                        .takes_hashes = true,
                                        .takes_strings = true,
                                        .hashes_inside = true,
                                        .add = redisbloom_add,
                                        .probe = redisbloom_probe,
                                        .probe_alone = redisbloom_probe_alone,
                                        .nbytes = redisbloom_nbytes,
                                        .free = redisbloom_free};
  *n = 1;
  return &adapter;
}

/* adapter_libbloom.c - libbloom 1.6 as Debian has it: classic Bloom, Murmur2, keys as bytes. */
#include <bloom.h>
#include <limits.h>
#include <stdlib.h>

#include "bench.h"

/* Given hashes it must still hash: it has no call that takes one. Their 8 bytes are the key. */
static const void *libbloom_key(const bench_keys *keys, size_t i) {
  return keys->strings != NULL ? (const void *)(keys->strings + i * BENCH_KEY_LEN)
                               : (const void *)(keys->hashes + i);
}

static int libbloom_len(const bench_keys *keys) {
  return keys->strings != NULL ? BENCH_KEY_LEN : (int)sizeof(uint64_t);
}

static void *libbloom_add(const bench_adapter *a, const bench_keys *keys) {
  (void)a;
  struct bloom *b = calloc(1, sizeof *b);
  if (b == NULL) return NULL;
  if (bloom_init(b, (int)keys->n, 0.01) != 0) { /* below 1000 keys it refuses */
    free(b);
    return NULL;
  }
  int len = libbloom_len(keys);
  for (size_t i = 0; i < keys->n; i++) bloom_add(b, libbloom_key(keys, i), len);
  return b;
}

/* Its check takes a pointer to non-const, but changes nothing. */
static struct bloom *libbloom_handle(const void *filter) {
  return (struct bloom *)(uintptr_t)filter;
}

static size_t libbloom_probe(const void *filter, const bench_keys *keys) {
  struct bloom *b = libbloom_handle(filter);
  size_t maybe = 0;
  int len = libbloom_len(keys);
  for (size_t i = 0; i < keys->n; i++) maybe += bloom_check(b, libbloom_key(keys, i), len) == 1;
  return maybe;
}

static size_t libbloom_probe_alone(const void *filter, const bench_keys *keys) {
  struct bloom *b = libbloom_handle(filter);
  size_t maybe = 0;
  int len = libbloom_len(keys);
  for (size_t i = 0; i < keys->n;) {
    bool answer = bloom_check(b, libbloom_key(keys, i), len) == 1;
    maybe += answer;
    i = bench_next(i, answer);
  }
  return maybe;
}

static uint64_t libbloom_nbytes(const void *filter) {
  return (uint64_t)libbloom_handle(filter)->bytes;
}

static void libbloom_free(void *filter) {
  bloom_free(filter);
  free(filter);
}

const bench_adapter *bench_libbloom_adapters(size_t *n) {
  static const bench_adapter adapters[] = {
      {.library = "libbloom",
       .version = "1.6",
       .name = "bloom",
       .family = "bloom",
       .takes_hashes = true,
       .takes_strings = true,
       .hashes_inside = true,
       .max_keys = INT_MAX / 10, /* bits are counted in an int */
       .add = libbloom_add,
       .probe = libbloom_probe,
       .probe_alone = libbloom_probe_alone,
       .nbytes = libbloom_nbytes,
       .free = libbloom_free}};
  *n = sizeof adapters / sizeof adapters[0];
  return adapters;
}

/*
 * bench_memory.c - what the machine itself can do: random cache lines of an array of a given size.
 *
 * The best that a filter touching one line a key could reach. The line of a hash is found by the
 * same multiply and shift as in a blocked filter, it is asked for 128 keys ahead, into the second
 * level of the cache, and read whole with the widest loads of the processor. In an array that no
 * cache holds it is asked for again 8 keys ahead, into the first level: this loop is so quick that
 * the processor forgets some of what it was asked for. No filter work is done: a ratio of 1 is not
 * to be had.
 *
 * On the Zen 4 on which this was written, ns a line (into the first level alone, 32 ahead):
 *
 *     1.25 MB 1.43 (1.3)     12.5 MB 1.66 (2.9 to 4.3)     125 MB 3.85 (8.3; asked for once 6.2)
 */
#include "bench.h"

#define MEMORY_LINE 64
#define MEMORY_AHEAD 128
#define MEMORY_SOON 8
#define MEMORY_FAR ((uint64_t)64 << 20) /* bytes; above what usual caches hold */

typedef uint64_t memory_line __attribute__((vector_size(MEMORY_LINE)));

static inline __attribute__((always_inline)) const memory_line *memory_at(const void *array,
                                                                          uint64_t nlines,
                                                                          uint64_t hash) {
  __extension__ typedef unsigned __int128 wide;
  return (const memory_line *)array + (uint64_t)(((wide)hash * nlines) >> 64);
}

static inline __attribute__((always_inline)) uint64_t memory_sum(const void *array, uint64_t nlines,
                                                                 const uint64_t *hashes, size_t n,
                                                                 bool far) {
  memory_line sum = {0};
  size_t i = 0;
  for (; i + MEMORY_AHEAD < n; i++) {
    __builtin_prefetch(memory_at(array, nlines, hashes[i + MEMORY_AHEAD]), 0, 2);
    if (far) __builtin_prefetch(memory_at(array, nlines, hashes[i + MEMORY_SOON]), 0, 3);
    sum |= *memory_at(array, nlines, hashes[i]);
  }
  for (; i < n; i++) sum |= *memory_at(array, nlines, hashes[i]);
  uint64_t digest = 0;
  for (int word = 0; word < 8; word++) digest |= sum[word];
  return digest;
}

static inline __attribute__((always_inline)) uint64_t memory_body(const void *array,
                                                                  uint64_t nlines,
                                                                  const uint64_t *hashes,
                                                                  size_t n) {
  if (nlines * MEMORY_LINE < MEMORY_FAR) return memory_sum(array, nlines, hashes, n, false);
  return memory_sum(array, nlines, hashes, n, true);
}

typedef uint64_t memory_fn(const void *, uint64_t, const uint64_t *, size_t);

static uint64_t memory_plain(const void *array, uint64_t nlines, const uint64_t *hashes, size_t n) {
  return memory_body(array, nlines, hashes, n);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t memory_avx2(const void *array, uint64_t nlines,
                                                            const uint64_t *hashes, size_t n) {
  return memory_body(array, nlines, hashes, n);
}

__attribute__((target("avx512f"))) static uint64_t memory_avx512(const void *array, uint64_t nlines,
                                                                 const uint64_t *hashes, size_t n) {
  return memory_body(array, nlines, hashes, n);
}
#endif

static memory_fn *memory_best(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return memory_avx512;
  if (__builtin_cpu_supports("avx2")) return memory_avx2;
#endif
  return memory_plain;
}

static uint64_t memory_lines(size_t nbytes) {
  return nbytes >= MEMORY_LINE ? nbytes / MEMORY_LINE : 1;
}

uint64_t bench_memory_read(const void *array, size_t nbytes, const uint64_t *hashes, size_t n) {
  return memory_best()(array, memory_lines(nbytes), hashes, n);
}

uint64_t bench_memory_alone(const void *array, size_t nbytes, const uint64_t *hashes, size_t n) {
  uint64_t nlines = memory_lines(nbytes), digest = 0;
  for (size_t i = 0; i < n;) {
    uint64_t word = *(const volatile uint64_t *)memory_at(array, nlines, hashes[i]);
    digest |= word;
    i = bench_next(i, word != 0);
  }
  return digest;
}

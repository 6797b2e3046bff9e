/*
 * bench_memory.c - the memory limit: random cache lines of an array of a given size.
 *
 * The lower bound for a filter that touches one line per key. The line of a hash is located by the
 * same multiply and shift as in a blocked filter, prefetched some keys ahead, and read whole with
 * the widest loads of the CPU. No filter work is done, so a ratio of 1 cannot be reached.
 *
 * There are three prefetch strategies: into L1; into L2, which tracks more outstanding misses; and
 * into L2, then into L1 shortly before use. On Zen 4, 125 MB: 7.6, 6.2 and 3.9 ns; 12.5 MB: 1.9,
 * 1.7 and 2.0. The limit is the best of the three.
 */
#include "bench.h"

#define MEMORY_LINE 64

typedef uint64_t memory_line __attribute__((vector_size(MEMORY_LINE)));

static inline __attribute__((always_inline)) const memory_line *memory_at(const void *array,
                                                                          uint64_t nlines,
                                                                          uint64_t hash) {
  __extension__ typedef unsigned __int128 wide;
  return (const memory_line *)array + (uint64_t)(((wide)hash * nlines) >> 64);
}

static inline __attribute__((always_inline)) const memory_line *memory_next(const void *array,
                                                                            uint64_t nlines,
                                                                            const uint64_t *hashes,
                                                                            size_t n, size_t i) {
  return memory_at(array, nlines, hashes[i < n ? i : n - 1]);
}

/* Prefetch distances into L2 and into L1, in keys; 0: none. Constants once inlined. */
static inline __attribute__((always_inline)) uint64_t memory_body(const void *array,
                                                                  uint64_t nlines,
                                                                  const uint64_t *hashes, size_t n,
                                                                  size_t second, size_t first) {
  memory_line sum = {0};
  for (size_t i = 0; i < n; i++) {
    if (second) __builtin_prefetch(memory_next(array, nlines, hashes, n, i + second), 0, 2);
    if (first) __builtin_prefetch(memory_next(array, nlines, hashes, n, i + first), 0, 3);
    sum |= *memory_at(array, nlines, hashes[i]);
  }
  uint64_t digest = 0;
  for (int word = 0; word < 8; word++) digest |= sum[word];
  return digest;
}

typedef uint64_t memory_fn(const void *, uint64_t, const uint64_t *, size_t, unsigned way);

/* The first is best in cache, the second and the third out of cache. */
#define MEMORY_DEFINE(name, attribute)                                                       \
  attribute static uint64_t name(const void *array, uint64_t nlines, const uint64_t *hashes, \
                                 size_t n, unsigned way) {                                   \
    if (way == 0) return memory_body(array, nlines, hashes, n, 0, 32);                       \
    if (way == 1) return memory_body(array, nlines, hashes, n, 128, 0);                      \
    return memory_body(array, nlines, hashes, n, 128, 8);                                    \
  }
MEMORY_DEFINE(memory_plain, )
#if defined(__x86_64__)
MEMORY_DEFINE(memory_avx2, __attribute__((target("avx2"))))
MEMORY_DEFINE(memory_avx512, __attribute__((target("avx512f"))))
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

uint64_t bench_memory_read(const void *array, size_t nbytes, const uint64_t *hashes, size_t n,
                           unsigned way) {
  return memory_best()(array, memory_lines(nbytes), hashes, n, way);
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

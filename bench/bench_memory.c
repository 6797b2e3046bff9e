/*
 * bench_memory.c - what the machine itself can do: random cache lines of an array of a given size.
 *
 * The best that a filter touching one line a key could reach. The line of a hash is found by the
 * same multiply and shift as in a blocked filter, it is asked for some keys ahead, into the second
 * level of the cache, and read whole with the widest loads of the processor. No filter work is
 * done: a ratio of 1 is not to be had.
 */
#include "bench.h"

#define MEMORY_LINE 64
#define MEMORY_AHEAD 128 /* 64 takes 3 % longer at 125 MB, 32 a sixth */

/*
 * Into the first level (a last argument of 3) a line takes twice as long at 125 MB, since fewer can
 * be on their way there.
 */
#define MEMORY_ASK(line) __builtin_prefetch((line), 0, 2)

typedef uint64_t memory_line __attribute__((vector_size(MEMORY_LINE)));

static inline __attribute__((always_inline)) const memory_line *memory_at(const void *array,
                                                                          uint64_t nlines,
                                                                          uint64_t hash) {
  __extension__ typedef unsigned __int128 wide;
  return (const memory_line *)array + (uint64_t)(((wide)hash * nlines) >> 64);
}

static inline __attribute__((always_inline)) uint64_t memory_body(const void *array,
                                                                  uint64_t nlines,
                                                                  const uint64_t *hashes,
                                                                  size_t n) {
  memory_line sum = {0};
  size_t ahead = n < MEMORY_AHEAD ? n : MEMORY_AHEAD;
  for (size_t i = 0; i < ahead; i++) MEMORY_ASK(memory_at(array, nlines, hashes[i]));
  size_t i = 0;
  for (; i + MEMORY_AHEAD < n; i++) {
    MEMORY_ASK(memory_at(array, nlines, hashes[i + MEMORY_AHEAD]));
    sum |= *memory_at(array, nlines, hashes[i]);
  }
  for (; i < n; i++) sum |= *memory_at(array, nlines, hashes[i]);
  uint64_t digest = 0;
  for (int word = 0; word < 8; word++) digest |= sum[word];
  return digest;
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

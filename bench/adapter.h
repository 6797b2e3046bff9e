/*
 * adapter.h - the interface between the benchmark and a filter, ours or a peer's.
 *
 * An adapter is a const table of functions over one kind of filter at one size setting. Each
 * function holds its own loop, so that the call in the loop is the call that a user would write,
 * not an indirect one. A NULL slot means "this library has no such call". Loops return how many
 * keys were answered with maybe: the runner compares that number across calls, so that neither the
 * compiler nor an adapter can drop work unnoticed.
 *
 * The header is C and C++, and needs nothing else of this directory: an adapter can also be built
 * apart as a shared object that exports nay_bench_adapters (see README.md, "Other peers").
 */
#ifndef NAY_BENCH_ADAPTER_H
#define NAY_BENCH_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_KEY_LEN 16 /* bytes of a string key */
#define BENCH_BATCH 32   /* keys per call, for batch interfaces that want a fixed number */

/*
 * bench_keys: n distinct keys in one of two forms. As 64-bit hashes (`strings` is NULL): mixed
 * words that need no further hashing. As strings: 16 hexadecimal digits each, packed, no
 * terminator; `hashes` is NULL.
 */
typedef struct bench_keys {
  const uint64_t *hashes;
  const char *strings;
  size_t n;
} bench_keys;

typedef struct bench_adapter bench_adapter;

struct bench_adapter {
  const char *library; /* "nay", "rocksdb", ... */
  const char *version;
  const char *name;   /* of the filter within its library */
  const char *family; /* the nay family that it competes with: "blocked", "ribbon", ... */
  const char *note;   /* one line for the foot of the table, or NULL */
  bool takes_hashes;
  bool takes_strings;
  /*
   * Given hashes, the library hashes their 8 bytes once more, for want of a call that takes one;
   * such figures are marked in the tables. With own_hash it has a call for single probes: the
   * runner then hands the library's own hashes of the words to probe and probe_alone.
   */
  bool hashes_inside;
  uint64_t (*own_hash)(uint64_t word);
  uint64_t max_keys; /* the library's own limit; 0: none */
  uint64_t setting;  /* for the adapter's own use */

  /* Builds a filter of all keys; NULL when it fails. */
  void *(*build)(const bench_adapter *, const bench_keys *); /* all keys in one call */
  void *(*add)(const bench_adapter *, const bench_keys *);   /* one call per key */
  void *(*add_batch)(const bench_adapter *, const bench_keys *);

  /* How many of the keys are maybe. */
  size_t (*probe)(const void *filter, const bench_keys *);
  size_t (*probe_batch)(const void *filter, const bench_keys *);
  /* one at a time: each key is chosen by the answer before, with bench_fence between them */
  size_t (*probe_alone)(const void *filter, const bench_keys *);

  uint64_t (*nbytes)(const void *filter); /* what must stay in memory to probe */
  void (*free)(void *filter);
};

/* What a separately built adapter exports: *n adapters. */
typedef const bench_adapter *(*bench_adapters_fn)(size_t *n);
#define BENCH_PLUGIN_SYMBOL "nay_bench_adapters"

/*
 * bench_fence: serialises execution. A data-dependent key is not enough: with a filter that returns
 * from a branch, the CPU predicts the answer and continues speculatively.
 */
static inline void bench_fence(void) {
#if defined(__x86_64__) || defined(__i386__)
  __asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
  __asm__ volatile("dsb ish\n\tisb" ::: "memory");
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/*
 * bench_next: the position after i, reached only when the answer for i is known.
 *   for (size_t i = 0; i < n; i = bench_next(i, answer)) ...
 */
static inline size_t bench_next(size_t i, bool answer) {
  size_t zero = 0;
  __asm__("" : "+r"(zero)); /* opaque to the compiler, so the answer is really used */
  bench_fence();
  return i + 1 + ((size_t)answer & zero);
}

#ifdef __cplusplus
}
#endif

#endif /* NAY_BENCH_ADAPTER_H */

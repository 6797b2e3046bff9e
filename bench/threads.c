/*
 * threads.c - the speed-up of builds by more threads, in wall-clock time.
 *
 * nay-bench counts CPU time on one CPU, which hides threads. Runs with one and with more threads
 * alternate; the minimum of each counts. The bytes are compared: they must be equal.
 *
 * Page faults of fresh memory are served by the kernel, and in a virtual machine by its host: on
 * the machine of the kept results they cost two threads 1.5 to 2 ns per key, one thread 0.2. So
 * each build is timed twice, with memory from malloc and with memory that an earlier build has
 * used.
 */
#define _DEFAULT_SOURCE
#include <nay_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define THREADS_REPS 5

static double threads_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void threads_die(const char *what) {
  fprintf(stderr, "nay-bench-threads: %s\n", what);
  exit(2);
}

/* Blocks of 1 MiB and more are kept when they are freed, for the next that is as large. */
#define KEPT_FROM ((size_t)1 << 20)
#define KEPT_BLOCKS 64

typedef struct kept_block {
  void *at;
  size_t size;
  int used;
} kept_block;

typedef struct kept_memory {
  kept_block blocks[KEPT_BLOCKS];
  int n;
} kept_memory;

static void *kept_new(kept_memory *m, size_t size) {
  if (m->n == KEPT_BLOCKS) return NULL;
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return NULL;
  (void)madvise(at, size, MADV_HUGEPAGE);
  m->blocks[m->n++] = (kept_block){at, size, 1};
  return at;
}

static void *kept_alloc(void *ctx, size_t size) {
  kept_memory *m = ctx;
  if (size < KEPT_FROM) return malloc(size);
  for (int i = 0; i < m->n; i++) {
    if (m->blocks[i].used || m->blocks[i].size != size) continue;
    m->blocks[i].used = 1;
    return m->blocks[i].at;
  }
  return kept_new(m, size);
}

static void kept_free(void *ctx, void *at, size_t size) {
  kept_memory *m = ctx;
  if (size < KEPT_FROM) free(at);
  for (int i = 0; i < m->n; i++) {
    if (m->blocks[i].at == at) m->blocks[i].used = 0;
  }
}

static void kept_drop(kept_memory *m) {
  for (int i = 0; i < m->n; i++) munmap(m->blocks[i].at, m->blocks[i].size);
  m->n = 0;
}

/* A digest of the file that the filter would be. */
static nay_status threads_digest(void *ctx, const void *bytes, size_t len) {
  uint64_t *digest = ctx, word;
  const uint8_t *p = bytes;
  for (; len > 0; p += sizeof word, len -= len < sizeof word ? len : sizeof word) {
    word = len;
    memcpy(&word, p, len < sizeof word ? len : sizeof word);
    *digest = nay_hash_mix(*digest ^ word);
  }
  return NAY_OK;
}

static double threads_build(nay_kind kind, const uint64_t *hashes, size_t n, uint32_t threads,
                            const nay_allocator *allocator, uint64_t *digest) {
  nay_params p = {sizeof p, .kind = kind, .nkeys = n, .fpr = 0.01, .threads = threads};
  nay_filter *f;
  double start = threads_now();
  if (nay_filter_build(&p, hashes, n, allocator, NULL, &f) != NAY_OK) threads_die("a build failed");
  double seconds = threads_now() - start;
  *digest = 0;
  if (nay_filter_encode_stream(f, threads_digest, digest) != NAY_OK) threads_die("no digest");
  nay_filter_free(f);
  return seconds;
}

static void threads_compare_in(const char *name, const char *memory, nay_kind kind,
                               const uint64_t *hashes, size_t n, uint32_t threads,
                               const nay_allocator *allocator) {
  double one = 1e9, many = 1e9;
  for (int rep = 0; rep < THREADS_REPS; rep++) {
    uint64_t a, b;
    double x = threads_build(kind, hashes, n, 1, allocator, &a);
    double y = threads_build(kind, hashes, n, threads, allocator, &b);
    if (a != b) threads_die("the bytes depend on the number of threads");
    if (x < one) one = x;
    if (y < many) many = y;
  }
  printf("%-10s %12zu keys   %s memory   1 thread %7.2f ns/key   %u threads %7.2f ns/key   %.2fx\n",
         name, n, memory, one * 1e9 / (double)n, threads, many * 1e9 / (double)n, one / many);
}

static void threads_compare(const char *name, nay_kind kind, const uint64_t *hashes, size_t n,
                            uint32_t threads) {
  kept_memory kept = {.n = 0};
  nay_allocator allocator = {.alloc = kept_alloc, .free = kept_free, .ctx = &kept};
  threads_compare_in(name, "fresh", kind, hashes, n, threads, NULL);
  threads_compare_in(name, "used ", kind, hashes, n, threads, &allocator);
  kept_drop(&kept);
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? (size_t)strtod(argv[1], NULL) : 100000000;
  uint32_t threads = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 2;
  if (n < 1000 || threads < 2) threads_die("usage: nay-bench-threads [KEYS [THREADS]]");
  uint64_t *hashes = malloc(n * sizeof *hashes);
  if (hashes == NULL) threads_die("no memory");
  for (size_t i = 0; i < n; i++) hashes[i] = nay_hash_mix(i);
  threads_compare("blocked", NAY_BLOCKED, hashes, n, threads);
  threads_compare("bloom", NAY_BLOOM, hashes, n / 4, threads);
  threads_compare("counting", NAY_COUNTING, hashes, n / 10, threads);
  threads_compare("fuse", NAY_FUSE, hashes, n / 4, threads);
  threads_compare("ribbon", NAY_RIBBON, hashes, n / 10, threads);
  free(hashes);
  return 0;
}

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
 *
 * Batches of adds to one filter that all threads share are compared with those to a plain one, in
 * CPU time of the slowest thread.
 *
 *   nay-bench-threads [KEYS [THREADS [shared]]]     shared: no builds
 */
#define _DEFAULT_SOURCE
#include <nay_advanced.h>
#include <pthread.h>
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

/* ---- batches of adds to one filter that all threads share ---- */

#define SHARED_BATCH 10000u
#define SHARED_MAX_THREADS 64u

typedef struct shared_adds {
  nay_filter *f;
  const uint64_t *hashes;
  size_t n;
  int asks; /* which keys are new */
  pthread_t thread;
  double seconds; /* of its own CPU */
} shared_adds;

static double shared_cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Pages of a new thread's stack, which the batches of a long-lived one find there. */
static void __attribute__((noinline)) shared_touch_stack(void) {
  volatile char pages[128 << 10];
  for (size_t i = 0; i < sizeof pages; i += 4096) pages[i] = 0;
}

static void *shared_add(void *arg) {
  shared_adds *a = arg;
  shared_touch_stack();
  uint64_t bitmap[NAY_BITMAP_WORDS(SHARED_BATCH)];
  double start = shared_cpu_now();
  for (size_t i = 0; i < a->n; i += SHARED_BATCH) {
    size_t n = a->n - i < SHARED_BATCH ? a->n - i : SHARED_BATCH;
    if (nay_filter_add_hash_many(a->f, a->hashes + i, NULL, n, a->asks ? bitmap : NULL, NULL) !=
        NAY_OK) {
      threads_die("adds failed");
    }
  }
  a->seconds = shared_cpu_now() - start;
  return NULL;
}

/* The most CPU time of a thread: what the adds would take on so many cores that are free. */
static double shared_run(nay_kind kind, uint32_t flags, const uint64_t *hashes, size_t n,
                         uint32_t threads, int asks) {
  nay_params p = {sizeof p, .kind = kind, .nkeys = n, .fpr = 0.01, .flags = flags};
  shared_adds adds[SHARED_MAX_THREADS];
  nay_filter *f;
  double most = 0;
  if (nay_filter_new(&p, NULL, NULL, &f) != NAY_OK) threads_die("no filter");
  if (nay_filter_add_hash_many(f, hashes, NULL, n, NULL, NULL) != NAY_OK) threads_die("no adds");
  nay_filter_clear(f); /* its pages are there now */
  for (uint32_t t = 0; t < threads; t++) {
    size_t from = n * t / threads, to = n * (t + 1) / threads;
    adds[t] = (shared_adds){.f = f, .hashes = hashes + from, .n = to - from, .asks = asks};
    if (pthread_create(&adds[t].thread, NULL, shared_add, &adds[t]) != 0) threads_die("no thread");
  }
  for (uint32_t t = 0; t < threads; t++) {
    pthread_join(adds[t].thread, NULL);
    if (adds[t].seconds > most) most = adds[t].seconds;
  }
  nay_filter_free(f);
  return most;
}

static void shared_compare_in(const char *name, nay_kind kind, const uint64_t *hashes, size_t n,
                              uint32_t threads, int asks) {
  double plain = 1e9, one = 1e9, many = 1e9;
  for (int rep = 0; rep < (n > 20000000 ? 1 : 3) * THREADS_REPS; rep++) {
    double a = shared_run(kind, 0, hashes, n, 1, asks);
    double b = shared_run(kind, NAY_CONCURRENT, hashes, n, 1, asks);
    double c = shared_run(kind, NAY_CONCURRENT, hashes, n, threads, asks);
    if (a < plain) plain = a;
    if (b < one) one = b;
    if (c < many) many = c;
  }
  double each = 1e9 / (double)n;
  printf(
      "%-10s %12zu keys   shared, %s   plain %6.2f ns/key   1 thread %6.2f (%.2fx)   "
      "%u threads %6.2f (%.2fx faster)\n",
      name, n, asks ? "batches with a bitmap" : "batches", plain * each, one * each, one / plain,
      threads, many * each, one / many);
}

static void shared_compare(const char *name, nay_kind kind, const uint64_t *hashes, size_t n,
                           uint32_t threads) {
  shared_compare_in(name, kind, hashes, n, threads, 0);
  shared_compare_in(name, kind, hashes, n, threads, 1);
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? (size_t)strtod(argv[1], NULL) : 100000000;
  uint32_t threads = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 2;
  if (n < 1000 || threads < 2) threads_die("usage: nay-bench-threads [KEYS [THREADS [shared]]]");
  uint64_t *hashes = malloc(n * sizeof *hashes);
  if (hashes == NULL) threads_die("no memory");
  for (size_t i = 0; i < n; i++) hashes[i] = nay_hash_mix(i);
  if (threads <= SHARED_MAX_THREADS) {
    shared_compare("blocked", NAY_BLOCKED, hashes, n, threads);
    shared_compare("bloom", NAY_BLOOM, hashes, n / 4, threads);
    shared_compare("counting", NAY_COUNTING, hashes, n / 10, threads);
  }
  if (argc <= 3) {
    threads_compare("blocked", NAY_BLOCKED, hashes, n, threads);
    threads_compare("bloom", NAY_BLOOM, hashes, n / 4, threads);
    threads_compare("counting", NAY_COUNTING, hashes, n / 10, threads);
    threads_compare("fuse", NAY_FUSE, hashes, n / 4, threads);
    threads_compare("ribbon", NAY_RIBBON, hashes, n / 10, threads);
  }
  free(hashes);
  return 0;
}

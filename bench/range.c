/*
 * range.c - range filters: builds and questions, beside a peer if there is one.
 *
 *   nay-bench-range [--adapter FILE] [--length L] [--fpr P] [KEYS...]
 *
 * Default: 10 k, 1 M and 10 M random 64-bit keys, ranges of 1,000 numbers, 1%. Half of the ranges
 * have a key, half are random and nearly all empty. In ns, the least of some repetitions,
 * everything in turn: a build with one thread, with two and in little memory, per key; one range
 * after the other, a batch of 4,096 ranges, one key (a range of one number) and a batch of keys.
 * The peer (a shared object, range_peer.h) builds with one thread and is asked one range after the
 * other. A false nay ends the run.
 */
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <nay_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "range_peer.h"

#define RANGE_MAX_SIZES 16
#define RANGE_QUERIES ((size_t)1 << 20)
#define RANGE_BATCH 4096

typedef struct range_options {
  const range_peer *peer; /* or NULL */
  uint64_t length;
  double fpr;
  size_t sizes[RANGE_MAX_SIZES], nsizes;
} range_options;

/* The least so far, in ns. */
typedef struct range_times {
  double build, threads, spill, one, batch, point, points, peer_build, peer_one;
} range_times;

typedef struct range_run {
  const range_options *o;
  size_t n, nqueries;
  uint64_t *keys, *lo, *hi, *answers;
  const void **points;
  size_t *lens;
  uint8_t *bytes;
  nay_filter *filter;
  void *peer;
  range_times t;
} range_run;

static double range_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void range_die(const char *what) {
  fprintf(stderr, "nay-bench-range: %s\n", what);
  exit(2);
}

static void *range_room(size_t n, size_t size) {
  void *at = calloc(n, size);
  if (at == NULL) range_die("no memory");
  return at;
}

static void range_least(double *least, double start, size_t n) {
  double ns = (range_now() - start) / (double)n;
  if (*least == 0 || ns < *least) *least = ns;
}

static nay_filter *range_build(const range_run *r, uint32_t threads, uint32_t flags) {
  nay_params p = {sizeof p,           .kind = NAY_RANGE, .fpr = r->o->fpr,
                  .threads = threads, .flags = flags,    .range_length = r->o->length};
  nay_builder *b;
  nay_filter *f;
  uint8_t key[8];
  if (nay_builder_new(&p, NULL, NULL, &b) != NAY_OK) range_die("no builder");
  for (size_t i = 0; i < r->n; i++) {
    if (nay_builder_add(b, nay_range_key(r->keys[i], key), 8) != NAY_OK) range_die("an add failed");
  }
  if (nay_builder_finish(b, NULL, &f) != NAY_OK) range_die("a build failed");
  nay_builder_free(b);
  return f;
}

static void range_builds(range_run *r) {
  double start = range_now();
  nay_filter_free(r->filter);
  r->filter = range_build(r, 1, 0);
  range_least(&r->t.build, start, r->n);
  start = range_now();
  nay_filter_free(range_build(r, 2, 0));
  range_least(&r->t.threads, start, r->n);
  start = range_now();
  nay_filter_free(range_build(r, 1, NAY_LOW_MEMORY));
  range_least(&r->t.spill, start, r->n);
  if (r->o->peer == NULL) return;
  if (r->peer != NULL) r->o->peer->free(r->peer);
  start = range_now();
  r->peer = r->o->peer->build(r->keys, r->n, r->o->fpr, r->o->length);
  range_least(&r->t.peer_build, start, r->n);
  if (r->peer == NULL) range_die("the peer's build failed");
}

/* Half of the ranges have a key, in an order that cannot be predicted. */
static void range_queries(range_run *r) {
  for (size_t i = 0; i < r->nqueries; i++) {
    uint64_t x = nay_hash_mix(~(uint64_t)i), length = r->o->length, lo = nay_hash_mix(x + 1);
    if ((x & 1) != 0) {
      uint64_t key = r->keys[(x >> 8) % r->n], below = (x >> 1) % length;
      lo = key < below ? 0 : key - below;
    }
    if (lo > UINT64_MAX - (length - 1)) lo = UINT64_MAX - (length - 1);
    r->lo[i] = lo;
    r->hi[i] = lo + (length - 1);
    r->points[i] = nay_range_key((x & 1) != 0 ? r->keys[(x >> 8) % r->n] : lo, r->bytes + 8 * i);
    r->lens[i] = 8;
  }
}

static void range_one(range_run *r) {
  size_t maybe = 0;
  double start = range_now();
  for (size_t i = 0; i < r->nqueries; i++) {
    bool answer;
    if (nay_filter_may_contain_range_u64(r->filter, r->lo[i], r->hi[i], &answer) != NAY_OK) {
      range_die("a question failed");
    }
    maybe += answer;
  }
  range_least(&r->t.one, start, r->nqueries);
  if (maybe < r->nqueries / 2 - r->nqueries / 100) range_die("a false nay");
  maybe = 0;
  start = range_now();
  for (size_t i = 0; i < r->nqueries; i++) {
    maybe += nay_filter_may_contain(r->filter, r->points[i], 8);
  }
  range_least(&r->t.point, start, r->nqueries);
  if (maybe < r->nqueries / 2 - r->nqueries / 100) range_die("a false nay");
}

static void range_batches(range_run *r) {
  double start = range_now();
  for (size_t i = 0; i < r->nqueries; i += RANGE_BATCH) {
    if (nay_filter_may_contain_range_u64_many(r->filter, r->lo + i, r->hi + i, RANGE_BATCH,
                                              r->answers + i / 64) != NAY_OK) {
      range_die("a batch failed");
    }
  }
  range_least(&r->t.batch, start, r->nqueries);
  start = range_now();
  for (size_t i = 0; i < r->nqueries; i += RANGE_BATCH) {
    if (nay_filter_may_contain_many(r->filter, r->points + i, r->lens + i, RANGE_BATCH,
                                    r->answers + i / 64) != NAY_OK) {
      range_die("a batch failed");
    }
  }
  range_least(&r->t.points, start, r->nqueries);
}

static void range_ask_peer(range_run *r) {
  if (r->peer == NULL) return;
  double start = range_now();
  size_t maybe = r->o->peer->ask(r->peer, r->lo, r->hi, r->nqueries);
  range_least(&r->t.peer_one, start, r->nqueries);
  if (maybe < r->nqueries / 4) range_die("the peer misses keys");
}

static void range_print(const range_run *r) {
  nay_stats s = {.size = sizeof s};
  const range_times *t = &r->t;
  if (nay_filter_stats(r->filter, &s) != NAY_OK) range_die("no stats");
  printf("%11zu  %-8s %7.3f %7.1f %7.1f %7.1f | %7.1f %7.1f | %7.1f %7.1f\n", r->n, "nay",
         (double)s.nbytes * 8 / (double)r->n, t->build, t->threads, t->spill, t->one, t->batch,
         t->point, t->points);
  if (r->peer == NULL) return;
  printf("%11zu  %-8s %7.3f %7.1f %7s %7s | %7.1f %7s | build %.2fx, one %.2fx, batch %.2fx\n",
         r->n, r->o->peer->name, (double)r->o->peer->nbytes(r->peer) * 8 / (double)r->n,
         t->peer_build, "", "", t->peer_one, "", t->peer_build / t->build, t->peer_one / t->one,
         t->peer_one / t->batch);
}

static void range_size(const range_options *o, size_t n) {
  range_run r = {.o = o, .n = n, .nqueries = RANGE_QUERIES};
  if (n < RANGE_QUERIES / 64) r.nqueries = (n * 64 / RANGE_BATCH + 1) * RANGE_BATCH;
  r.keys = range_room(n, sizeof *r.keys);
  r.lo = range_room(r.nqueries, sizeof *r.lo);
  r.hi = range_room(r.nqueries, sizeof *r.hi);
  r.answers = range_room(r.nqueries / 64, sizeof *r.answers);
  r.points = range_room(r.nqueries, sizeof *r.points);
  r.lens = range_room(r.nqueries, sizeof *r.lens);
  r.bytes = range_room(r.nqueries, 8);
  for (size_t i = 0; i < n; i++) r.keys[i] = nay_hash_mix(i);
  range_queries(&r);
  unsigned reps = n > 50000000 ? 1 : n > 5000000 ? 2 : n > 100000 ? 4 : 20;
  for (unsigned rep = 0; rep < reps; rep++) {
    range_builds(&r);
    for (unsigned again = 0; again < (n > 100000 ? 4 : 1); again++) {
      range_one(&r);
      range_batches(&r);
      range_ask_peer(&r);
    }
  }
  range_print(&r);
  fflush(stdout);
  if (r.peer != NULL) o->peer->free(r.peer);
  nay_filter_free(r.filter);
  void *rooms[] = {r.keys, r.lo, r.hi, r.answers, (void *)(uintptr_t)r.points, r.lens, r.bytes};
  for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) free(rooms[i]);
}

static const range_peer *range_load(const char *path) {
  typedef const range_peer *(*export)(void);
  union {
    void *data;
    export function;
  } symbol;
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (object == NULL) range_die(dlerror());
  symbol.data = dlsym(object, "nay_range_peer");
  if (symbol.data == NULL) range_die("the adapter exports no nay_range_peer");
  return symbol.function();
}

int main(int argc, char **argv) {
  range_options o = {.length = 1000, .fpr = 0.01, .sizes = {10000, 1000000, 10000000}, .nsizes = 3};
  bool stated = false;
  for (int i = 1; i < argc; i++) {
    bool more = i + 1 < argc;
    if (strcmp(argv[i], "--adapter") == 0 && more) {
      o.peer = range_load(argv[++i]);
    } else if (strcmp(argv[i], "--length") == 0 && more) {
      o.length = strtoull(argv[++i], NULL, 10);
    } else if (strcmp(argv[i], "--fpr") == 0 && more) {
      o.fpr = strtod(argv[++i], NULL);
    } else {
      if (!stated) o.nsizes = 0;
      stated = true;
      if (o.nsizes == RANGE_MAX_SIZES) range_die("too many sizes");
      o.sizes[o.nsizes] = strtoull(argv[i], NULL, 10);
      if (o.sizes[o.nsizes++] == 0) range_die("a number of keys is missing");
    }
  }
  if (o.length == 0 || !(o.fpr > 0 && o.fpr < 1)) range_die("--length from 1, --fpr below 1");
  printf("%11s  %-8s %7s %7s %7s %7s | %7s %7s | %7s %7s\n", "keys", "ns", "bits", "build",
         "threads", "spill", "range", "batch", "key", "batch");
  for (size_t i = 0; i < o.nsizes; i++) range_size(&o, o.sizes[i]);
  return 0;
}

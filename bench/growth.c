/*
 * growth.c - the filters that grow and forget, beside a blocked filter of the right size.
 *
 *   nay-bench-growth [KEYS...]     default: 10 k, 1 M, 10 M; 100 M takes 4 GiB and some minutes
 *
 * Keys are 64-bit hashes, half of the probes are present. For each number of keys and each filter:
 * a batch of adds into an empty filter, one probe, a batch of probes, in ns of CPU time a key; the
 * least of some repetitions, filters in turn. `lines` is what the memory allows: the time to load
 * so many random lines of as many bytes as the filter has, all of one key at once, one key after
 * the other (alone) and with the lines of later keys prefetched (ahead), in the same repetitions.
 *
 * scalable/16 starts at a sixteenth of its keys, scalable at its default. window counts keys and is
 * filled once.
 */
#define _DEFAULT_SOURCE
#include <nay_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define GROWTH_MAX_SIZES 16
#define GROWTH_QUERIES ((size_t)1 << 20)
#define GROWTH_BATCH 4096

static double growth_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void growth_die(const char *what) {
  fprintf(stderr, "nay-bench-growth: %s\n", what);
  exit(2);
}

static void *growth_map(size_t nbytes) {
  void *at = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) growth_die("no memory");
  (void)madvise(at, nbytes, MADV_HUGEPAGE);
  return at;
}

typedef struct growth_subject {
  const char *name;
  nay_kind kind;
  uint64_t divisor; /* of the keys that the filter is told; 0: it is told nothing */
  nay_filter *filter;
  double add, one, batch, alone, ahead; /* the least so far */
  nay_stats stats;
  unsigned nlines;
} growth_subject;

typedef struct growth_run {
  size_t n, nqueries;
  uint64_t *keys, *queries, *answers;
  uint8_t *memory;
  uint64_t nlines_of_memory;
} growth_run;

static volatile uint64_t growth_sink;

static void growth_least(double *least, double ns) {
  if (*least == 0 || ns < *least) *least = ns;
}

static nay_filter *growth_new(const growth_subject *s, size_t n) {
  nay_params p = {sizeof p, .kind = s->kind, .fpr = 0.01, .hash = NAY_HASH_CALLER};
  if (s->divisor != 0) p.nkeys = n / s->divisor != 0 ? n / s->divisor : 1;
  nay_filter *f;
  if (nay_filter_new(&p, NULL, NULL, &f) != NAY_OK) growth_die("no filter");
  return f;
}

static void growth_add(growth_subject *s, const growth_run *r) {
  if (s->filter != NULL) nay_filter_free(s->filter);
  s->filter = growth_new(s, r->n);
  double start = growth_now();
  for (size_t i = 0; i < r->n; i += GROWTH_BATCH) {
    size_t left = r->n - i;
    if (nay_filter_add_hash_many(s->filter, r->keys + i, NULL,
                                 left < GROWTH_BATCH ? left : GROWTH_BATCH, NULL, NULL) != NAY_OK)
      growth_die("an add failed");
  }
  growth_least(&s->add, (growth_now() - start) / (double)r->n);
}

static void growth_one(growth_subject *s, const growth_run *r) {
  uint64_t maybes = 0;
  double start = growth_now();
  for (size_t i = 0; i < r->nqueries; i++) {
    maybes += nay_filter_may_contain_hash(s->filter, (nay_hash){r->queries[i], 0});
  }
  growth_least(&s->one, (growth_now() - start) / (double)r->nqueries);
  if (maybes < r->nqueries / 2) growth_die("a false nay");
}

static void growth_batch(growth_subject *s, const growth_run *r) {
  double start = growth_now();
  for (size_t i = 0; i < r->nqueries; i += GROWTH_BATCH) {
    if (nay_filter_may_contain_hash_many(s->filter, r->queries + i, NULL, GROWTH_BATCH,
                                         r->answers) != NAY_OK)
      growth_die("a batch failed");
    growth_sink += r->answers[0];
  }
  growth_least(&s->batch, (growth_now() - start) / (double)r->nqueries);
}

static size_t growth_line(uint64_t hash, unsigned j, uint64_t nlines) {
  uint64_t x = (hash ^ hash >> 29) * (2 * (uint64_t)j + 0x9e3779b97f4a7c15u);
  return (size_t)((x >> 32) * nlines >> 32);
}

/* So many random lines a key; `ahead`: those of the 32nd key from here are prefetched. */
static double growth_lines(const growth_run *r, unsigned nlines, uint64_t lines, bool ahead) {
  uint64_t sum = 0;
  double start = growth_now();
  for (size_t i = 0; i < r->nqueries; i++) {
    for (unsigned j = 0; ahead && j < nlines; j++) {
      uint64_t later = r->queries[(i + 32) % r->nqueries];
      __builtin_prefetch(r->memory + 64 * growth_line(later, j, lines), 0, 2);
    }
    uint64_t all = UINT64_MAX;
    for (unsigned j = 0; j < nlines; j++) {
      uint64_t word;
      memcpy(&word, r->memory + 64 * growth_line(r->queries[i], j, lines), sizeof word);
      all &= word;
    }
    sum += all;
  }
  growth_sink += sum;
  return (growth_now() - start) / (double)r->nqueries;
}

static void growth_limit(growth_subject *s, const growth_run *r) {
  uint64_t lines = s->stats.nbytes / 64 + 1;
  if (lines > r->nlines_of_memory) lines = r->nlines_of_memory;
  growth_least(&s->alone, growth_lines(r, s->nlines, lines, false));
  growth_least(&s->ahead, growth_lines(r, s->nlines, lines, true));
}

static void growth_count(growth_subject *s) {
  s->stats.size = sizeof s->stats;
  if (nay_filter_stats(s->filter, &s->stats) != NAY_OK) growth_die("no stats");
  s->nlines = s->kind == NAY_WINDOW ? 2 : s->stats.nlevels;
}

static void growth_print(const growth_subject *s, const growth_subject *blocked, size_t n) {
  printf(
      "%-12s %10zu %6.1f %7.3f%% %3u | %6.1f %5.1fx | %6.1f %5.1fx | %6.1f %5.1fx | %6.1f %6.1f\n",
      s->name, n, (double)s->stats.nbits / (double)n, 100 * s->stats.fpr_now, s->nlines, s->add,
      s->add / blocked->add, s->one, s->one / blocked->one, s->batch, s->batch / blocked->batch,
      s->alone, s->ahead);
}

static void growth_size(size_t n) {
  growth_subject subjects[] = {
      {"blocked", NAY_BLOCKED, .divisor = 1},
      {"scalable/16", NAY_SCALABLE, .divisor = 16},
      {"scalable", NAY_SCALABLE, .divisor = 0},
      {"window", NAY_WINDOW, .divisor = 1},
  };
  enum { NSUBJECTS = sizeof subjects / sizeof subjects[0] };
  size_t memory = n * 8 + (1 << 20);
  growth_run r = {.n = n, .nqueries = GROWTH_QUERIES, .nlines_of_memory = memory / 64};
  if (n < GROWTH_QUERIES / 64) r.nqueries = (n * 64 / GROWTH_BATCH + 1) * GROWTH_BATCH;
  r.keys = growth_map(n * sizeof *r.keys);
  r.queries = growth_map(r.nqueries * sizeof *r.queries);
  r.answers = growth_map(GROWTH_BATCH / 8);
  r.memory = growth_map(memory);
  memset(r.memory, 1, memory);
  for (size_t i = 0; i < n; i++) r.keys[i] = nay_hash_mix(i);
  for (size_t i = 0; i < r.nqueries; i++) { /* no pattern to predict */
    uint64_t x = nay_hash_mix(~(uint64_t)i);
    r.queries[i] = nay_hash_mix(i % 2 == 0 ? (x >> 8) % n : ((uint64_t)1 << 48) + i);
  }
  for (size_t i = 0; i < r.nqueries; i += 2) {
    if ((nay_hash_mix(i) & 1) == 0) continue;
    uint64_t x = r.queries[i];
    r.queries[i] = r.queries[i + 1];
    r.queries[i + 1] = x;
  }
  size_t reps = n > 50000000 ? 2 : n > 5000000 ? 3 : n > 100000 ? 5 : 40;
  for (size_t rep = 0; rep < reps; rep++) {
    for (unsigned i = 0; i < NSUBJECTS; i++) growth_add(&subjects[i], &r);
    for (unsigned i = 0; rep == 0 && i < NSUBJECTS; i++) growth_count(&subjects[i]);
    for (unsigned again = 0; again < (n > 100000 ? 3 : 1); again++) {
      for (unsigned i = 0; i < NSUBJECTS; i++) growth_one(&subjects[i], &r);
      for (unsigned i = 0; i < NSUBJECTS; i++) growth_batch(&subjects[i], &r);
      for (unsigned i = 0; i < NSUBJECTS; i++) growth_limit(&subjects[i], &r);
    }
  }
  for (unsigned i = 0; i < NSUBJECTS; i++) {
    growth_print(&subjects[i], &subjects[0], n);
    nay_filter_free(subjects[i].filter);
  }
  munmap(r.keys, n * sizeof *r.keys);
  munmap(r.queries, r.nqueries * sizeof *r.queries);
  munmap(r.answers, GROWTH_BATCH / 8);
  munmap(r.memory, memory);
}

int main(int argc, char **argv) {
  static const size_t defaults[] = {10000, 1000000, 10000000};
  puts(
      "                   keys   bits      FPR lines |    add         |    one         |"
      "  batch         |  alone  ahead");
  for (int i = 1; i < argc; i++) {
    double n = strtod(argv[i], NULL);
    if (!(n >= 1 && n <= 1e9)) growth_die("usage: nay-bench-growth [KEYS...]");
    growth_size((size_t)n);
  }
  for (size_t i = 0; argc < 2 && i < sizeof defaults / sizeof defaults[0]; i++)
    growth_size(defaults[i]);
  return 0;
}

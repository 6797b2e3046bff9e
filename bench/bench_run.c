/*
 * bench_run.c - measures all filters at one size, side by side.
 *
 * Each filter is built once, untimed, and checked: every added key must be a maybe, and all ways of
 * probing must agree on the number of maybes. Then come the repetitions. In each, every filter runs
 * every operation once, so that noise hits all alike; the minimum over the repetitions is the
 * figure, the distance to the median its spread. The memory limit is measured in the same
 * repetitions, on an array of the size of each filter.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define RUN_MIN_KEYS                                                          \
  ((size_t)1 << 17) /* an operation on fewer keys is repeated within a timing \
                     */
#define RUN_MIN_QUERIES ((size_t)1 << 18)
#define RUN_ALONE                                                                \
  ((size_t)1 << 15) /* isolated probes a repetition: 3 ms when each takes 100 ns \
                     */
#define RUN_FPR_CHUNK ((size_t)1 << 16)

typedef struct run_state {
  const bench_options *options;
  bench_keys keys;
  bench_keys queries[BENCH_NSHARES];
  bench_keys translated[BENCH_NSHARES]; /* by the hash of one library, see own_hash */
  uint64_t (*translated_by)(uint64_t);
  bench_keys places; /* hashes, for the memory limit */
  void *array;       /* as large as the largest filter */
  size_t array_nbytes;
  bench_row *rows;
  void **filters;
  size_t nrows;
  uint64_t sink; /* keeps the compiler from dropping the probes */
} run_state;

const char *bench_op_name(unsigned op) {
  static const char *const names[BENCH_NOPS] = {
      "build",           "add",         "add_batch",     "probe_0",
      "probe_50",        "probe_100",   "probe_batch_0", "probe_batch_50",
      "probe_batch_100", "probe_alone", "limit",         "limit_32_ahead",
      "limit_alone"};
  return names[op];
}

/* ---- figures of a row ---- */

double bench_row_bits_per_key(const bench_row *row) {
  return 8.0 * (double)row->nbytes / (double)row->nkeys;
}

double bench_row_fpr(const bench_row *row) {
  return row->nfpr != 0 ? (double)row->nfalse / (double)row->nfpr : (double)NAN;
}

void bench_row_fpr_interval(const bench_row *row, double *low, double *high) {
  double n = (double)row->nfpr, p = bench_row_fpr(row), z = 1.959964; /* 97.5% of the normal */
  double middle = p + z * z / (2 * n), width = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  *low = (middle - width) / (1 + z * z / n);
  *high = (middle + width) / (1 + z * z / n);
}

static int run_compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double run_rank(const bench_cell *cell, unsigned rank) {
  if (cell->n == 0) return (double)NAN;
  double sorted[BENCH_MAX_REPS];
  memcpy(sorted, cell->ns, cell->n * sizeof sorted[0]);
  qsort(sorted, cell->n, sizeof sorted[0], run_compare);
  return sorted[rank];
}

double bench_cell_min(const bench_cell *cell) { return run_rank(cell, 0); }
double bench_cell_median(const bench_cell *cell) { return run_rank(cell, cell->n / 2); }

/* ---- queries ---- */

static void run_translate(run_state *s, uint64_t (*own_hash)(uint64_t)) {
  for (int share = 0; share < BENCH_NSHARES; share++) {
    const bench_keys *from = &s->queries[share];
    bench_keys *to = &s->translated[share];
    if (to->hashes == NULL) to->hashes = bench_alloc(from->n * sizeof(uint64_t));
    to->n = from->n;
    uint64_t *words = (uint64_t *)(uintptr_t)to->hashes;
    for (size_t i = 0; i < from->n; i++) words[i] = own_hash(from->hashes[i]);
  }
  s->translated_by = own_hash;
}

/* The queries for single probes; untimed. */
static const bench_keys *run_single_queries(run_state *s, const bench_adapter *a, int share) {
  if (a->own_hash == NULL || s->queries[share].hashes == NULL) return &s->queries[share];
  if (s->translated_by != a->own_hash) run_translate(s, a->own_hash);
  return &s->translated[share];
}

/* ---- making filters ---- */

static void *run_make(const bench_adapter *a, unsigned op, const bench_keys *keys) {
  switch (op) {
    case OP_BUILD: return a->build != NULL ? a->build(a, keys) : NULL;
    case OP_ADD: return a->add != NULL ? a->add(a, keys) : NULL;
    default: return a->add_batch != NULL ? a->add_batch(a, keys) : NULL;
  }
}

/* The name of the key form that a row cannot take, or another reason to leave it out. */
static const char *run_refusal(const bench_row *row) {
  const bench_adapter *a = row->adapter;
  if (row->form == BENCH_HASHES && !a->takes_hashes) return "takes no hashes";
  if (row->form == BENCH_STRINGS && !a->takes_strings) return "takes no strings";
  if (a->max_keys != 0 && row->nkeys > a->max_keys) return "too many keys for it";
  return NULL;
}

/* No false negative, and single, batched and isolated probes agree: a fast wrong answer is none. */
static const char *run_check(run_state *s, const bench_adapter *a, const void *filter) {
  for (int share = 0; share < BENCH_NSHARES; share++) {
    const bench_keys *q = run_single_queries(s, a, share);
    size_t maybe = a->probe(filter, q);
    if (share == BENCH_PRESENT && maybe != q->n) return "FALSE NEGATIVES: left out";
    if (a->probe_batch != NULL && a->probe_batch(filter, &s->queries[share]) != maybe) {
      return "batch and single probes differ: left out";
    }
    bench_keys few = bench_keys_slice(q, 0, RUN_ALONE);
    if (a->probe_alone != NULL && a->probe_alone(filter, &few) != a->probe(filter, &few)) {
      return "isolated and single probes differ: left out";
    }
  }
  return NULL;
}

static void run_measure_fpr(const run_state *s, bench_row *row, const void *filter) {
  const bench_adapter *a = row->adapter;
  bench_keys chunk = bench_keys_new(s->options->seed, BENCH_FIRST_ABSENT, RUN_FPR_CHUNK, row->form);
  for (uint64_t done = 0; done < s->options->nfpr; done += chunk.n) {
    bench_keys_refill(&chunk, s->options->seed, 2 * BENCH_FIRST_ABSENT + done);
    row->nfalse +=
        a->probe_batch != NULL ? a->probe_batch(filter, &chunk) : a->probe(filter, &chunk);
    row->nfpr += chunk.n;
  }
  bench_keys_free(&chunk);
}

static void run_prepare_row(run_state *s, size_t r) {
  bench_row *row = &s->rows[r];
  const bench_adapter *a = row->adapter;
  row->failure = run_refusal(row);
  if (row->failure == NULL && row->nkeys > BENCH_LARGE && !bench_wanted(s->options->large, a)) {
    row->failure = "not asked for at this size";
  }
  if (row->failure != NULL) return;
  bench_say("%s %s: making the filter", a->library, a->name);
  static const unsigned quickest_first[] = {OP_ADD_BATCH, OP_BUILD, OP_ADD};
  for (size_t i = 0; i < 3 && s->filters[r] == NULL; i++) {
    s->filters[r] = run_make(a, quickest_first[i], &s->keys);
  }
  if (s->filters[r] == NULL) {
    row->failure = "could not be made";
    return;
  }
  row->failure = run_check(s, a, s->filters[r]);
  if (row->failure != NULL) return;
  row->nbytes = a->nbytes(s->filters[r]);
  run_measure_fpr(s, row, s->filters[r]);
  if (row->nbytes > s->array_nbytes) s->array_nbytes = row->nbytes;
}

/* ---- timing ---- */

static void run_record(bench_cell *cell, double seconds, double nkeys) {
  cell->ns[cell->n++] = seconds * 1e9 / nkeys;
  cell->seconds += seconds;
}

/*
 * Whether to repeat an operation that has been done n times in so many seconds. Short ones are
 * repeated more often: a few milliseconds can all fall into one bad moment.
 */
static bool run_again(const run_state *s, unsigned n, double seconds) {
  const bench_options *o = s->options;
  if (n < o->reps) return n == 0 || seconds < o->cell_seconds;
  return n < BENCH_MAX_REPS && seconds < o->cell_seconds / 4;
}

/*
 * All probes of a filter and the reads of memory are repeated together or not at all: each must
 * find the caches as the others leave them.
 */
static bool run_probe_again(const run_state *s, const bench_row *row) {
  double seconds = 0;
  for (unsigned op = OP_PROBE; op < BENCH_NOPS; op++) seconds += row->cells[op].seconds;
  return run_again(s, row->cells[OP_LIMIT].n, seconds);
}

static void run_time_making(run_state *s, bench_row *row, unsigned op) {
  const bench_adapter *a = row->adapter;
  size_t times = s->keys.n < RUN_MIN_KEYS ? RUN_MIN_KEYS / s->keys.n + 1 : 1;
  double total = 0;
  for (size_t i = 0; i < times; i++) {
    double start = bench_cpu();
    void *filter = run_make(a, op, &s->keys);
    total += bench_cpu() - start;
    if (filter == NULL) return;
    a->free(filter); /* not counted */
  }
  run_record(&row->cells[op], total, (double)(s->keys.n * times));
}

static void run_time_probing(run_state *s, bench_row *row, const void *filter, unsigned op) {
  const bench_adapter *a = row->adapter;
  bool batch = op >= OP_PROBE_BATCH;
  size_t (*probe)(const void *, const bench_keys *) = batch ? a->probe_batch : a->probe;
  if (probe == NULL) return;
  const bench_keys *q =
      batch ? &s->queries[op - OP_PROBE_BATCH] : run_single_queries(s, a, (int)(op - OP_PROBE));
  double start = bench_cpu();
  s->sink += probe(filter, q);
  run_record(&row->cells[op], bench_cpu() - start, (double)q->n);
}

/* Another part of the queries each time: the lines of the last time may still be in the cache. */
static size_t run_alone_from(const run_state *s, const bench_cell *cell) {
  return s->places.n > RUN_ALONE ? cell->n * RUN_ALONE % (s->places.n - RUN_ALONE) : 0;
}

static void run_time_alone(run_state *s, bench_row *row, const void *filter) {
  bench_cell *cell = &row->cells[OP_PROBE_ALONE];
  if (row->adapter->probe_alone == NULL) return;
  const bench_keys *all = run_single_queries(s, row->adapter, BENCH_HALF);
  bench_keys q = bench_keys_slice(all, run_alone_from(s, cell), RUN_ALONE);
  double start = bench_cpu();
  s->sink += row->adapter->probe_alone(filter, &q);
  run_record(cell, bench_cpu() - start, (double)q.n);
}

/* Each way of reading is timed, and the fastest is the limit. */
static void run_time_limit(run_state *s, bench_row *row) {
  const bench_keys *q = &s->places;
  double least = INFINITY;
  for (unsigned way = 0; way < BENCH_MEMORY_WAYS; way++) {
    double start = bench_cpu();
    s->sink += bench_memory_read(s->array, row->nbytes, q->hashes, q->n, way);
    double seconds = bench_cpu() - start;
    if (way == 0) run_record(&row->cells[OP_LIMIT_USUAL], seconds, (double)q->n);
    least = fmin(least, seconds);
  }
  run_record(&row->cells[OP_LIMIT], least, (double)q->n);
}

static void run_time_limit_alone(run_state *s, bench_row *row) {
  bench_cell *cell = &row->cells[OP_LIMIT_ALONE];
  bench_keys q = bench_keys_slice(&s->places, run_alone_from(s, cell), RUN_ALONE);
  double start = bench_cpu();
  s->sink += bench_memory_alone(s->array, row->nbytes, q.hashes, q.n);
  run_record(cell, bench_cpu() - start, (double)q.n);
}

/* Each operation that is to be repeated, once; false when there was none. */
static bool run_time_row(run_state *s, size_t r) {
  bench_row *row = &s->rows[r];
  bool probes = run_probe_again(s, row), some = probes;
  for (unsigned op = OP_BUILD; op <= OP_ADD_BATCH; op++) {
    if (!run_again(s, row->cells[op].n, row->cells[op].seconds)) continue;
    run_time_making(s, row, op);
    some |= row->cells[op].n != 0;
  }
  if (!probes) return some;
  for (unsigned op = OP_PROBE; op < OP_PROBE_ALONE; op++) {
    run_time_probing(s, row, s->filters[r], op);
  }
  run_time_alone(s, row, s->filters[r]);
  run_time_limit(s, row);
  run_time_limit_alone(s, row);
  return some;
}

/* ---- one size ---- */

static void run_start(run_state *s, uint64_t nkeys, bench_form form) {
  const bench_options *o = s->options;
  size_t nqueries = nkeys > o->max_queries ? o->max_queries : nkeys;
  if (nqueries < RUN_MIN_QUERIES) nqueries = RUN_MIN_QUERIES;
  bench_say("making %llu keys", (unsigned long long)nkeys);
  s->keys = bench_keys_new(o->seed, 0, nkeys, form);
  for (int share = 0; share < BENCH_NSHARES; share++) {
    s->queries[share] = bench_queries_new(o->seed, nkeys, nqueries, (bench_share)share, form);
  }
  s->places = bench_keys_new(~o->seed, 0, nqueries, BENCH_HASHES);
}

static void run_finish(run_state *s) {
  for (size_t r = 0; r < s->nrows; r++) {
    if (s->filters[r] != NULL) s->rows[r].adapter->free(s->filters[r]);
  }
  free(s->filters);
  bench_free(s->array, s->array_nbytes);
  bench_keys_free(&s->keys);
  bench_keys_free(&s->places);
  for (int share = 0; share < BENCH_NSHARES; share++) {
    bench_keys_free(&s->queries[share]);
    bench_keys_free(&s->translated[share]);
  }
  __asm__ volatile("" : : "r"(s->sink));
}

/* Everything once more, filter by filter; false when nothing was left to do. */
static bool run_repeat(run_state *s, unsigned rep) {
  bool some = false;
  for (size_t r = 0; r < s->nrows; r++) {
    const bench_row *row = &s->rows[r];
    if (row->failure != NULL) continue;
    bench_say("%llu %s, repetition %u: %s %s", (unsigned long long)row->nkeys,
              row->form == BENCH_HASHES ? "hashes" : "strings", rep + 1, row->adapter->library,
              row->adapter->name);
    some |= run_time_row(s, r);
  }
  return some;
}

void bench_run(const bench_options *options, uint64_t nkeys, bench_form form,
               const bench_adapter *const *adapters, size_t nadapters, bench_row *rows) {
  run_state s = {.options = options, .rows = rows, .nrows = nadapters};
  s.filters = calloc(nadapters, sizeof s.filters[0]);
  if (s.filters == NULL) bench_die("no memory");
  run_start(&s, nkeys, form);
  for (size_t r = 0; r < nadapters; r++) {
    rows[r] = (bench_row){.adapter = adapters[r], .nkeys = nkeys, .form = form};
    run_prepare_row(&s, r);
  }
  s.array = bench_alloc(s.array_nbytes);
  memset(s.array, 0x55, s.array_nbytes); /* untouched pages would all be the one zero page */
  for (unsigned rep = 0; run_repeat(&s, rep);) rep++;
  bench_say(NULL);
  run_finish(&s);
}

/*
 * lsm_model.c - end to end: 100 sorted tables on disk, most reads for absent keys.
 *
 * An LSM tree keeps its data in many sorted files, and a read searches them newest first until one
 * has the key. Here each file holds fixed records of 16 bytes of key and 16 of value, in blocks of
 * 4 KiB:
 *
 *   table    | block 0: 128 records | block 1 | ...        on disk
 *   index    | first key of block 0 | first key of 1 | ... in memory, as engines keep it
 *   filter   in memory, one for each table; the key is hashed once for all of them
 *
 * A table that the filter does not exclude costs one search of its index and one pread of a block.
 * The files were just written and are in the page cache: the case in which filters save least.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <nay_advanced.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define LSM_BLOCK 4096
#define LSM_RECORD 32
#define LSM_PER_BLOCK (LSM_BLOCK / LSM_RECORD)
#define LSM_PRESENT_ONE_IN 10 /* 90% of the reads are for absent keys */
#define LSM_REPS 5

typedef struct lsm_table {
  int fd;
  size_t nblocks;
  char (*index)[BENCH_KEY_LEN];
} lsm_table;

typedef struct lsm_state {
  lsm_table tables[LSM_TABLES];
  nay_filter *filters[LSM_MAX_RESULTS][LSM_TABLES]; /* [0]: none */
  bench_keys reads;
  uint64_t nread; /* blocks */
} lsm_state;

/* ---- writing ---- */

static int lsm_open(const char *directory, size_t number) {
  char path[512];
  snprintf(path, sizeof path, "%s/table-%zu", directory, number);
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (fd < 0) bench_die("%s: %s", path, strerror(errno));
  unlink(path); /* the file lives as long as it is open */
  return fd;
}

static int lsm_compare(const void *a, const void *b) { return memcmp(a, b, BENCH_KEY_LEN); }

static void lsm_write_block(int fd, const char *keys, size_t n) {
  char block[LSM_BLOCK];
  memset(block, 0xff, sizeof block); /* sorts after every key: the last block may be short */
  for (size_t i = 0; i < n; i++) {
    memcpy(block + i * LSM_RECORD, keys + i * BENCH_KEY_LEN, BENCH_KEY_LEN);
    memset(block + i * LSM_RECORD + BENCH_KEY_LEN, 'v', LSM_RECORD - BENCH_KEY_LEN);
  }
  if (write(fd, block, sizeof block) != (ssize_t)sizeof block) bench_die("cannot write a table");
}

static void lsm_write_table(lsm_table *t, bench_keys *keys) {
  char *sorted = (char *)(uintptr_t)keys->strings;
  qsort(sorted, keys->n, BENCH_KEY_LEN, lsm_compare);
  t->nblocks = (keys->n + LSM_PER_BLOCK - 1) / LSM_PER_BLOCK;
  t->index = calloc(t->nblocks, sizeof t->index[0]);
  if (t->index == NULL) bench_die("no memory");
  for (size_t b = 0; b < t->nblocks; b++) {
    size_t first = b * LSM_PER_BLOCK, n = keys->n - first;
    memcpy(t->index[b], sorted + first * BENCH_KEY_LEN, BENCH_KEY_LEN);
    lsm_write_block(t->fd, sorted + first * BENCH_KEY_LEN, n < LSM_PER_BLOCK ? n : LSM_PER_BLOCK);
  }
}

static nay_filter *lsm_build(nay_kind kind, const bench_keys *keys) {
  nay_params p = {sizeof p, .kind = kind, .nkeys = keys->n, .fpr = 0.01};
  nay_builder *builder;
  nay_filter *f = NULL;
  if (nay_builder_new(&p, NULL, NULL, &builder) != NAY_OK) return NULL;
  nay_status status = NAY_OK;
  for (size_t i = 0; i < keys->n && status == NAY_OK; i++) {
    status = nay_builder_add(builder, keys->strings + i * BENCH_KEY_LEN, BENCH_KEY_LEN);
  }
  if (status == NAY_OK) status = nay_builder_finish(builder, NULL, &f);
  nay_builder_free(builder);
  return status == NAY_OK ? f : NULL;
}

/* ---- reading ---- */

static bool lsm_block_has(const char *block, const char *key) {
  size_t low = 0, high = LSM_PER_BLOCK;
  while (low < high) {
    size_t middle = (low + high) / 2;
    int order = memcmp(block + middle * LSM_RECORD, key, BENCH_KEY_LEN);
    if (order == 0) return true;
    if (order < 0) low = middle + 1;
    if (order > 0) high = middle;
  }
  return false;
}

static bool lsm_table_has(lsm_state *s, const lsm_table *t, const char *key) {
  size_t low = 0, high = t->nblocks; /* the last block whose first key is not above key */
  while (low < high) {
    size_t middle = (low + high) / 2;
    bool above = memcmp(t->index[middle], key, BENCH_KEY_LEN) > 0;
    if (above) high = middle;
    if (!above) low = middle + 1;
  }
  if (low == 0) return false;
  char block[LSM_BLOCK];
  s->nread++;
  ssize_t n = pread(t->fd, block, sizeof block, (off_t)((low - 1) * LSM_BLOCK));
  if (n != (ssize_t)sizeof block) bench_die("cannot read a table");
  return lsm_block_has(block, key);
}

static bool lsm_get(lsm_state *s, nay_filter *const *filters, const char *key) {
  nay_hash hash = {0, 0};
  nay_hasher hasher = {.size = sizeof hasher};
  if (filters[0] != NULL) {
    nay_filter_hasher(filters[0], &hasher);
    nay_hasher_hash(&hasher, key, BENCH_KEY_LEN, &hash);
  }
  for (size_t t = LSM_TABLES; t-- > 0;) {
    if (filters[t] != NULL && !nay_filter_may_contain_hash(filters[t], hash)) continue;
    if (lsm_table_has(s, &s->tables[t], key)) return true;
  }
  return false;
}

/* All reads once; returns seconds. Whatever a filter says, the answers must be right. */
static double lsm_read_all(lsm_state *s, nay_filter *const *filters) {
  size_t wrong = 0;
  s->nread = 0;
  double start = bench_now();
  for (size_t i = 0; i < s->reads.n; i++) {
    bool found = lsm_get(s, filters, s->reads.strings + i * BENCH_KEY_LEN);
    wrong += found != (i % LSM_PRESENT_ONE_IN == 0);
  }
  double seconds = bench_now() - start;
  if (wrong != 0) bench_die("the tables gave %zu wrong answers", wrong);
  return seconds;
}

/* Every tenth read is for a key of some table, the others for keys of none. */
static void lsm_choose_reads(lsm_state *s, const bench_options *options) {
  size_t n = options->quick ? 2000 : 20000;
  s->reads = bench_keys_new(options->seed, BENCH_FIRST_ABSENT, n, BENCH_STRINGS);
  for (size_t i = 0; i < n; i += LSM_PRESENT_ONE_IN) {
    bench_keys one = bench_keys_slice(&s->reads, i, 1);
    uint64_t number = nay_hash_mix(~options->seed + i) % (LSM_TABLES * options->lsm_records);
    bench_keys_refill(&one, options->seed, number);
  }
}

/* ---- the whole ---- */

/* One column of filters for each family that can be built at 1%. */
static void lsm_plan(lsm_report *report, nay_kind kinds[LSM_MAX_RESULTS]) {
  report->results[0] = (lsm_result){0};
  report->nresults = 1;
  for (int kind = 1; kind < 64 && report->nresults < LSM_MAX_RESULTS; kind++) {
    const char *name = nay_kind_name((nay_kind)kind);
    uint32_t traits = nay_kind_traits((nay_kind)kind);
    if (name == NULL || (traits & (NAY_CAN_GET | NAY_CAN_RANGE)) != 0) continue;
    kinds[report->nresults] = (nay_kind)kind;
    report->results[report->nresults++] = (lsm_result){.filter = name};
  }
}

static void lsm_make_tables(lsm_state *s, const bench_options *options, lsm_report *report,
                            const nay_kind *kinds) {
  char directory[256];
  const char *base = getenv("TMPDIR");
  snprintf(directory, sizeof directory, "%s/nay-bench-XXXXXX", base != NULL ? base : "/tmp");
  if (mkdtemp(directory) == NULL) bench_die("%s: %s", directory, strerror(errno));
  for (size_t t = 0; t < LSM_TABLES; t++) s->tables[t].fd = lsm_open(directory, t);
  rmdir(directory);
  bench_keys keys = bench_keys_new(options->seed, 0, options->lsm_records, BENCH_STRINGS);
  for (size_t t = 0; t < LSM_TABLES; t++) {
    bench_say("tables on disk: %zu of %d", t + 1, LSM_TABLES);
    bench_keys_refill(&keys, options->seed, t * options->lsm_records);
    lsm_write_table(&s->tables[t], &keys);
    for (size_t i = 1; i < report->nresults; i++) {
      s->filters[i][t] = lsm_build(kinds[i], &keys);
      nay_stats stats = {.size = sizeof stats};
      if (s->filters[i][t] == NULL)
        bench_die("no %s filter for a table", report->results[i].filter);
      if (nay_filter_stats(s->filters[i][t], &stats) != NAY_OK) bench_die("no figures of a filter");
      report->results[i].filter_bits_per_key +=
          8.0 * (double)stats.nbytes / (double)(LSM_TABLES * options->lsm_records);
    }
  }
  bench_keys_free(&keys);
}

static void lsm_measure(lsm_state *s, lsm_report *report) {
  bench_cell cells[LSM_MAX_RESULTS] = {{{0}, 0, 0}};
  for (int rep = 0; rep < LSM_REPS; rep++) {
    for (size_t i = 0; i < report->nresults; i++) {
      lsm_result *r = &report->results[i];
      bench_say("reads, repetition %d of %d: %s", rep + 1, LSM_REPS,
                r->filter != NULL ? r->filter : "no filters");
      double seconds = lsm_read_all(s, s->filters[i]);
      cells[i].ns[cells[i].n++] = seconds * 1e6 / (double)s->reads.n;
      r->us_per_read = bench_cell_min(&cells[i]);
      r->us_median = bench_cell_median(&cells[i]);
      r->blocks_per_read = (double)s->nread / (double)s->reads.n;
    }
  }
}

void lsm_run(const bench_options *options, lsm_report *report) {
  nay_kind kinds[LSM_MAX_RESULTS];
  lsm_state *s = calloc(1, sizeof *s);
  if (s == NULL) bench_die("no memory");
  lsm_plan(report, kinds);
  report->records = options->lsm_records;
  report->absent = 1 - 1.0 / LSM_PRESENT_ONE_IN;
  lsm_make_tables(s, options, report, kinds);
  lsm_choose_reads(s, options);
  report->reads = s->reads.n;
  lsm_measure(s, report);
  bench_say(NULL);
  bench_keys_free(&s->reads);
  for (size_t t = 0; t < LSM_TABLES; t++) {
    for (size_t i = 1; i < report->nresults; i++) nay_filter_free(s->filters[i][t]);
    close(s->tables[t].fd);
    free(s->tables[t].index);
  }
  free(s);
}

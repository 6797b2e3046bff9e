/*
 * sst_scans.c - short scans over a hundred tables, with and without range filters: what the filters
 * save where a range has no key, and what they cost where it has one.
 *
 *   nay-bench-scans [--quick] [--length L] [--fpr P]
 *
 * Every table has random 64-bit keys, big-endian, with values of 16 bytes; a scan asks for a range
 * of L numbers (1,000) and reads what is there. Checksums are verified. Times are CPU time per
 * scan, the minimum of the repetitions, of which each has all variants in turn:
 *
 *   empty, 100 tables     no table has a key of the range
 *   hit, 100 tables       one table has one
 *   hit, one table        the table has one: the filter only costs
 *
 * each of mapped files, of files that are read without a block cache, and with one that holds all
 * blocks, which are then verified once. Files are in memory (TMPDIR, else /dev/shm). A scan that
 * does not find what it has to ends the run.
 */
#include <nay_range.h>
#include <nay_sst_cache.h>
#include <nay_sst_iter.h>
#include <nay_sst_lookup.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

#define SCANS_TABLES 100
#define SCANS_VALUE 16
#define SCANS_REPS 5

typedef struct scans_options {
  size_t records; /* of each table */
  size_t scans;   /* in all repetitions together */
  uint64_t length;
  double fpr;
  const char *directory;
} scans_options;

/* Tables as one reader opens them. */
typedef struct scans_reader {
  nay_sst *tables[SCANS_TABLES];
  nay_sst_cache *cache; /* or NULL */
  nay_sst_lookup *lookup, *one;
} scans_reader;

typedef enum scans_mode { SCANS_MAPPED, SCANS_READ, SCANS_CACHED, SCANS_NMODES } scans_mode;
static const char *const scans_modes[SCANS_NMODES] = {"mapped", "read", "cached"};

typedef enum scans_what { SCANS_EMPTY, SCANS_HIT, SCANS_HIT_ONE, SCANS_NWHAT } scans_what;
static const char *const scans_names[SCANS_NWHAT] = {"empty, 100 tables", "hit, 100 tables",
                                                     "hit, one table"};

typedef struct scans_result {
  double us;
  uint64_t blocks, scans;
} scans_result;

static const char *scans_path(const scans_options *o, size_t table, char path[512]) {
  snprintf(path, 512, "%s/table-%zu.ldb", o->directory, table);
  return path;
}

static uint64_t scans_key(const scans_options *o, size_t table, size_t i) {
  return nay_hash_mix(table * o->records + i);
}

static int scans_compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void scans_write(const scans_options *o, size_t table, uint64_t *keys) {
  char path[512], value[SCANS_VALUE] = "value";
  uint8_t key[8];
  const nay_params range = {sizeof range, .kind = NAY_RANGE, .fpr = o->fpr,
                            .range_length = o->length};
  const nay_sst_write_options how = {.size = sizeof how, .range = &range};
  nay_sst_writer *w;
  for (size_t i = 0; i < o->records; i++) keys[i] = scans_key(o, table, i);
  qsort(keys, o->records, sizeof *keys, scans_compare);
  nay_status status = nay_sst_writer_new(scans_path(o, table, path), &how, NULL, NULL, &w);
  if (status != NAY_OK) bench_die("%s: %s", path, nay_status_text(status));
  for (size_t i = 0; i < o->records && status == NAY_OK; i++) {
    status = nay_sst_writer_add(w, nay_range_key(keys[i], key), 8, value, sizeof value, NULL);
  }
  if (status == NAY_OK) status = nay_sst_writer_finish(w, NULL);
  if (status != NAY_OK) bench_die("%s: %s", path, nay_status_text(status));
  nay_sst_writer_free(w);
}

static nay_sst_lookup *scans_lookup(const scans_reader *r, size_t n) {
  nay_sst_lookup *lookup;
  const nay_sst_lookup_level level = {sizeof level, (const nay_sst *const *)r->tables, n, false};
  if (nay_sst_lookup_new(&level, 1, NULL, NULL, NULL, &lookup) != NAY_OK) bench_die("no memory");
  return lookup;
}

static void scans_open(scans_reader *r, const scans_options *o, bool filters, scans_mode mode) {
  char path[512];
  const nay_sst_cache_options room = {.size = sizeof room, .data_bytes = (size_t)4 << 30};
  if (mode == SCANS_CACHED && nay_sst_cache_new(&room, NULL, NULL, &r->cache) != NAY_OK)
    bench_die("no memory");
  uint32_t flags = filters ? 0 : NAY_SST_NO_FILTERS;
  if (mode != SCANS_MAPPED) flags |= NAY_SST_PREAD;
  for (size_t i = 0; i < SCANS_TABLES; i++) {
    const nay_sst_read_options how = {.size = sizeof how, .flags = flags, .cache = r->cache};
    if (nay_sst_open(scans_path(o, i, path), &how, NULL, NULL, &r->tables[i]) != NAY_OK) {
      bench_die("%s: cannot be opened", path);
    }
  }
  r->lookup = scans_lookup(r, SCANS_TABLES);
  r->one = scans_lookup(r, 1);
}

static void scans_close(scans_reader *r) {
  nay_sst_lookup_free(r->lookup);
  nay_sst_lookup_free(r->one);
  for (size_t i = 0; i < SCANS_TABLES; i++) nay_sst_free(r->tables[i]);
  nay_sst_cache_free(r->cache);
}

static size_t scans_count(const nay_sst_lookup *lookup, uint64_t lo, uint64_t length) {
  uint8_t from[8], to[8];
  const nay_sst_scan_options how = {.size = sizeof how,
                                    .lower = nay_range_key(lo, from),
                                    .lower_len = 8,
                                    .upper = nay_range_key(lo + length, to),
                                    .upper_len = 8};
  nay_sst_scan *scan;
  size_t n = 0;
  if (nay_sst_scan_new(lookup, &how, NULL, NULL, &scan) != NAY_OK) bench_die("no scan");
  nay_status status = nay_sst_scan_first(scan);
  for (; status == NAY_OK; status = nay_sst_scan_next(scan)) n++;
  if (status != NAY_EEND) bench_die("a scan failed: %s", nay_status_text(status));
  nay_sst_scan_free(scan);
  return n;
}

static uint64_t scans_blocks(const nay_sst_lookup *lookup) {
  nay_sst_counters c = {.size = sizeof c};
  nay_sst_lookup_stats(lookup, &c);
  return c.block_reads;
}

/* Scans number first to first + n - 1. */
static void scans_run(const scans_reader *r, const scans_options *o, scans_what what, size_t first,
                      size_t n, scans_result *to) {
  const nay_sst_lookup *lookup = what == SCANS_HIT_ONE ? r->one : r->lookup;
  uint64_t blocks = scans_blocks(lookup);
  size_t found = 0;
  double start = bench_cpu();
  for (size_t i = first; i < first + n; i++) {
    uint64_t x = nay_hash_mix(~(uint64_t)i), below = x % o->length, lo = x;
    if (what != SCANS_EMPTY) {
      size_t table = what == SCANS_HIT_ONE ? 0 : (x >> 8) % SCANS_TABLES;
      uint64_t key = scans_key(o, table, (x >> 20) % o->records);
      lo = key < below ? 0 : key - below;
    }
    if (lo > UINT64_MAX - o->length) lo = UINT64_MAX - o->length;
    found += scans_count(lookup, lo, o->length) != 0;
  }
  double us = (bench_cpu() - start) * 1e6 / (double)n;
  if (found != (what == SCANS_EMPTY ? 0 : n)) bench_die("%zu of %zu scans find a key", found, n);
  if (to->us == 0 || us < to->us) to->us = us;
  to->blocks += scans_blocks(lookup) - blocks;
  to->scans += n;
}

static void scans_print(const scans_result *none, const scans_result *with, scans_what what,
                        scans_mode mode) {
  double a = (double)none->blocks / (double)none->scans;
  double b = (double)with->blocks / (double)with->scans;
  printf("%-18s %-7s %10.2f %10.2f %9.2fx %10.3f %10.3f", scans_names[what], scans_modes[mode],
         none->us, with->us, none->us / with->us, a, b);
  if (b > 0 && b < a) printf("   1/%.0f", a / b);
  printf("\n");
  fflush(stdout);
}

static void scans_compare_all(const scans_options *o, scans_mode mode) {
  static scans_reader none, with;
  static scans_result results[SCANS_NWHAT][2];
  memset(&none, 0, sizeof none);
  memset(&with, 0, sizeof with);
  memset(results, 0, sizeof results);
  scans_open(&none, o, false, mode);
  scans_open(&with, o, true, mode);
  size_t n = o->scans / SCANS_REPS;
  for (size_t rep = 0; rep < SCANS_REPS; rep++) {
    bench_say("scans, repetition %zu of %d", rep + 1, SCANS_REPS);
    for (unsigned what = 0; what < SCANS_NWHAT; what++) {
      size_t times = what == SCANS_HIT_ONE ? 10 : 1; /* so much shorter */
      for (size_t i = 0; i < times; i++) {
        scans_run(&none, o, (scans_what)what, rep * n, n, &results[what][0]);
        scans_run(&with, o, (scans_what)what, rep * n, n, &results[what][1]);
      }
    }
  }
  bench_say(NULL);
  for (unsigned what = 0; what < SCANS_NWHAT; what++) {
    scans_print(&results[what][0], &results[what][1], (scans_what)what, mode);
  }
  scans_close(&none);
  scans_close(&with);
}

int main(int argc, char **argv) {
  scans_options o = {.records = 100000, .scans = 100000, .length = 1000, .fpr = 0.01};
  static char directory[300];
  struct stat st;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0) {
      o.records = 2000;
      o.scans = 500;
    } else if (strcmp(argv[i], "--length") == 0 && i + 1 < argc) {
      o.length = strtoull(argv[++i], NULL, 10);
    } else if (strcmp(argv[i], "--fpr") == 0 && i + 1 < argc) {
      o.fpr = strtod(argv[++i], NULL);
    } else {
      bench_die("usage: nay-bench-scans [--quick] [--length L] [--fpr P]");
    }
  }
  if (o.length == 0 || !(o.fpr > 0 && o.fpr < 1)) bench_die("--length from 1, --fpr below 1");
  const char *base = getenv("TMPDIR");
  if (base == NULL) base = stat("/dev/shm", &st) == 0 ? "/dev/shm" : ".";
  snprintf(directory, sizeof directory, "%s/nay-bench-XXXXXX", base);
  if (mkdtemp(directory) == NULL) bench_die("%s: cannot make a directory", base);
  o.directory = directory;
  uint64_t *keys = malloc(o.records * sizeof *keys);
  if (keys == NULL) bench_die("no memory");
  for (size_t i = 0; i < SCANS_TABLES; i++) {
    bench_say("writing table %zu of %d", i + 1, SCANS_TABLES);
    scans_write(&o, i, keys);
  }
  free(keys);
  printf("%d tables of %zu keys, ranges of %llu numbers, FPR %g; us per scan, data blocks read\n",
         SCANS_TABLES, o.records, (unsigned long long)o.length, o.fpr);
  printf("%-18s %-7s %10s %10s %10s %10s %10s\n", "scans", "blocks", "no filter", "filter",
         "faster", "reads", "reads");
  for (unsigned mode = 0; mode < SCANS_NMODES; mode++) scans_compare_all(&o, (scans_mode)mode);
  for (size_t i = 0; i < SCANS_TABLES; i++) {
    char path[512];
    unlink(scans_path(&o, i, path));
  }
  rmdir(directory);
  return 0;
}

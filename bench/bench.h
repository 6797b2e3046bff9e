/*
 * bench.h - the parts of the benchmark, in the order in which a run meets them.
 *
 *   bench_main.c      options, order of work        bench_adapters.c  the list of filters
 *   bench_os.c        clock, pinning, machine       bench_keys.c      keys and queries
 *       bench_memory.c    the memory limit              bench_run.c       interleaved measurement
 *   bench_compare.c   against peers and the limit   bench_table.c, bench_json.c, bench_svg.c
 *   lsm_model.c       end to end: tables on disk, with and without filters
 */
#ifndef NAY_BENCH_H
#define NAY_BENCH_H

#include <stdio.h>

#include "adapter.h"

/* ---- options ---- */

#define BENCH_MAX_SIZES 16
#define BENCH_MAX_REPS 32
#define BENCH_MAX_ADAPTERS 96

typedef enum bench_form { BENCH_HASHES, BENCH_STRINGS, BENCH_NFORMS } bench_form;

#define BENCH_LARGE ((uint64_t)20000000)

typedef struct bench_options {
  uint64_t sizes[BENCH_MAX_SIZES];
  unsigned nsizes;
  bool forms[BENCH_NFORMS];
  unsigned reps;        /* of each operation, if it is neither very long nor very short */
  double cell_seconds;  /* no further repetition once an operation has taken this long */
  uint64_t max_queries; /* keys in a set of queries, at most */
  uint64_t nfpr;        /* absent keys to measure the FPR with */
  uint64_t seed;        /* of the keys */
  uint64_t lsm_records; /* in each of the 100 tables; 0: leave the model out */
  const char *kinds;    /* names separated by commas; NULL: all */
  const char *large;    /* the same, for more than BENCH_LARGE keys; NULL: all of kinds */
  const char *json, *svg, *keep, *commit;
  bool quick;
} bench_options;

/* bench_say: shows a line of progress on stderr if it is a terminal. NULL clears it. */
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* bench_die: prints a message to stderr and exits with status 2. */
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* bench_alloc: page-aligned, zeroed, huge pages advised from 4 MiB; dies when out of memory. */
void *bench_alloc(size_t nbytes);
void bench_free(void *at, size_t nbytes);

/* ---- os ---- */

typedef struct bench_machine {
  char cpu[128];
  char host[64]; /* a short name for files, made from the cpu */
  char kernel[128];
  char huge_pages[64];
  char compiler[128];
  char date[32]; /* UTC, ISO 8601 */
  char caches[128];
  int ncpus;
  int pinned; /* the cpu we run on; -1: not pinned */
  uint64_t memory;
} bench_machine;

double bench_now(void); /* wall-clock seconds */

/*
 * bench_cpu: CPU seconds of this process, all threads summed. Other processes count only as far as
 * they slow down the memory.
 */
double bench_cpu(void);
void bench_machine_read(bench_machine *machine);
/* bench_pin: to this cpu, or to the last one when it is negative; returns it, or -1. */
int bench_pin(int cpu);
/* bench_warm: keeps the CPU busy until its frequency has settled. */
void bench_warm(double seconds);

/* ---- keys ---- */

typedef enum bench_share { BENCH_ABSENT, BENCH_HALF, BENCH_PRESENT, BENCH_NSHARES } bench_share;
extern const int bench_share_percent[BENCH_NSHARES];

/* bench_keys_new: keys number first .. first + n - 1 of the endless sequence of this seed. */
bench_keys bench_keys_new(uint64_t seed, uint64_t first, size_t n, bench_form form);

/* bench_keys_refill: the same n keys further on in the sequence, in the memory of `keys`. */
void bench_keys_refill(bench_keys *keys, uint64_t seed, uint64_t first);

/* bench_queries_new: n keys of which a share is among the first nkeys of the sequence. */
bench_keys bench_queries_new(uint64_t seed, uint64_t nkeys, size_t n, bench_share share,
                             bench_form form);

/* bench_keys_slice: some of the keys, in place. */
bench_keys bench_keys_slice(const bench_keys *keys, size_t from, size_t n);
void bench_keys_free(bench_keys *keys);

/* Absent keys start here; no size reaches it. */
#define BENCH_FIRST_ABSENT ((uint64_t)1 << 48)

/* ---- the memory limit ---- */

/* bench_memory_read: reads one random cache line per hash, independent, with one of so many
 * prefetch strategies; returns a digest. */
#define BENCH_MEMORY_WAYS 3u
uint64_t bench_memory_read(const void *array, size_t nbytes, const uint64_t *hashes, size_t n,
                           unsigned way);

/* bench_memory_alone: the same lines, each only after the one before has arrived. */
uint64_t bench_memory_alone(const void *array, size_t nbytes, const uint64_t *hashes, size_t n);

/* ---- adapters ---- */

/* bench_adapters_all: every filter of this build and of the shared objects given. */
size_t bench_adapters_all(const char *const *plugins, size_t nplugins,
                          const bench_adapter *out[BENCH_MAX_ADAPTERS]);

/* bench_adapters_missing: one line for each peer that is not in this build. */
void bench_adapters_missing(FILE *out);

/* bench_wanted: whether "library name" of the adapter contains a name of the list (NULL: yes). */
bool bench_wanted(const char *names, const bench_adapter *adapter);

size_t bench_nay_adapters(bench_adapter out[], size_t cap);
/* bench_nay_inline: the same filter, probed inline; false: its family has no inline probe. */
bool bench_nay_inline(const bench_adapter *of, bench_adapter *inlined);
const bench_adapter *bench_rocksdb_adapters(size_t *n);
const bench_adapter *bench_leveldb_adapters(size_t *n);
const bench_adapter *bench_libbloom_adapters(size_t *n);

/* ---- results ---- */

typedef enum bench_op {
  OP_BUILD,
  OP_ADD,
  OP_ADD_BATCH,
  OP_PROBE, /* and the next two: one for each share */
  OP_PROBE_BATCH = OP_PROBE + BENCH_NSHARES,
  OP_PROBE_ALONE = OP_PROBE_BATCH + BENCH_NSHARES, /* on the half-present set */
  OP_LIMIT,       /* random lines of an array of the filter's size, best prefetch strategy */
  OP_LIMIT_USUAL, /* the same, prefetched 32 ahead into L1 */
  OP_LIMIT_ALONE, /* the same, one at a time */
  BENCH_NOPS
} bench_op;

/* The name of an operation, as in the JSON. */
const char *bench_op_name(unsigned op);

/* ns per key of each repetition. */
typedef struct bench_cell {
  double ns[BENCH_MAX_REPS];
  unsigned n;
  double seconds;
} bench_cell;

typedef struct bench_row {
  const bench_adapter *adapter;
  uint64_t nkeys;
  bench_form form;
  uint64_t nbytes;
  uint64_t nfpr, nfalse; /* absent keys probed, and false positives */
  bench_cell cells[BENCH_NOPS];
  const char *failure; /* why there are no figures, or NULL */
} bench_row;

double bench_row_bits_per_key(const bench_row *row);
double bench_row_fpr(const bench_row *row);
/* bench_row_fpr_interval: 95% (Wilson). */
void bench_row_fpr_interval(const bench_row *row, double *low, double *high);

/* Figures of a cell; NaN when it was not measured. */
double bench_cell_min(const bench_cell *cell);
double bench_cell_median(const bench_cell *cell);

/* bench_run: measures all adapters at one size and form, interleaved. rows has nadapters places. */
void bench_run(const bench_options *options, uint64_t nkeys, bench_form form,
               const bench_adapter *const *adapters, size_t nadapters, bench_row *rows);

/* ---- comparison ---- */

/* What a nay row is compared by: the build, one probe, a batch of probes. */
typedef enum bench_aspect { BENCH_MAKE, BENCH_ONE, BENCH_MANY, BENCH_NASPECTS } bench_aspect;
extern const char *const bench_aspect_names[BENCH_NASPECTS];

/*
 * bench_row_aspect: the filter's best time for it, half of the keys present. For a library without
 * batches, single probes count as its batch.
 */
double bench_row_aspect(const bench_row *row, bench_aspect aspect);

/*
 * bench_best_peer: the fastest row of another library, of the same family, size and form, with a
 * FPR at most twice as high. NULL when there is none.
 */
const bench_row *bench_best_peer(const bench_row *row, const bench_row *rows, size_t nrows,
                                 bench_aspect aspect);

/*
 * bench_row_limit: ns per random line of an array of the filter's size. Larger arrays cannot be
 * faster, so the minimum over them counts too: it removes noise.
 */
double bench_row_limit(const bench_row *row, const bench_row *rows, size_t nrows);

/* bench_row_add: the fastest add to an empty filter; NaN for static families. */
double bench_row_add(const bench_row *row);

/* bench_row_rehashes: whether the operation hashes the 64-bit hash again. */
bool bench_row_rehashes(const bench_row *row, unsigned op);

/* bench_row_is_ours: whether the filter is one of nay's. */
bool bench_row_is_ours(const bench_row *row);

/* ---- end to end ---- */

#define LSM_MAX_RESULTS 24
#define LSM_TABLES 100

typedef struct lsm_result {
  const char *filter; /* NULL: none */
  double us_per_read; /* minimum over the repetitions */
  double us_median;
  double blocks_per_read;
  double filter_bits_per_key;
} lsm_result;

typedef struct lsm_report {
  lsm_result results[LSM_MAX_RESULTS]; /* [0] is without filters */
  size_t nresults;
  uint64_t records; /* in each table */
  uint64_t reads;
  double absent; /* share of reads */
} lsm_report;

/* lsm_run: writes 100 tables into a temporary directory, reads them, removes them. */
void lsm_run(const bench_options *options, lsm_report *report);

/* ---- reports ---- */

typedef struct bench_report {
  const bench_options *options;
  bench_machine machine;
  const bench_row *rows;
  size_t nrows;
  const lsm_report *lsm; /* NULL: not run */
} bench_report;

void bench_table_head(FILE *out, const bench_report *report);
/* bench_table_block: the rows of one size and form. */
void bench_table_block(FILE *out, const bench_row *rows, size_t nrows);
void bench_table_lsm(FILE *out, const lsm_report *lsm);
void bench_table_foot(FILE *out, const bench_row *rows, size_t nrows);
bool bench_json_write(const char *path, const bench_report *report);
bool bench_svg_write(const char *path, const bench_report *report);

#endif /* NAY_BENCH_H */

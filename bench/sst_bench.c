/*
 * sst_bench.c - tables: the writer and the reader beside LevelDB's, and what filters and batches
 * save in lookups over a hundred tables.
 *
 * Both sides write and read the same records, in turn, with files in memory (TMPDIR, else
 * /dev/shm) and no block cache; CPU time is compared, the minimum of the repetitions.
 * LevelDB's public interface has no get, so its gets are seeks of one iterator, its fastest way: an
 * iterator per get costs more. Ours always verifies checksums; LevelDB does on request,
 * and is measured both ways.
 */
#include <nay_sst_iter.h>
#include <nay_sst_lookup.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../tests/support/snappy_codec.h"
#include "bench.h"
#include "sst_peer.h"

#define SST_REPS 7
#define SST_VALUE 100 /* bytes, as in LevelDB's own benchmark */
#define SST_LSM_VALUE 16
#define SST_TABLES 100
#define SST_BATCH 4096 /* the largest batch of gets */

typedef struct sst_options {
  size_t records; /* of the table that is compared with LevelDB's */
  size_t lsm_records;
  size_t reads;
  const char *directory;
} sst_options;

/* ---- records ---- */

static int sst_compare(const void *a, const void *b) { return memcmp(a, b, BENCH_KEY_LEN); }

/* Half of each value repeats, which is what LevelDB's own benchmark gives its codec. */
static char *sst_values(void) {
  char *values = malloc(1000 + SST_VALUE);
  if (values == NULL) bench_die("no memory");
  for (size_t i = 0; i < 1000 + SST_VALUE; i++) {
    values[i] = i / 50 % 2 == 0 ? 'v' : (char)nay_hash_mix(i);
  }
  return values;
}

static sst_records sst_sorted(bench_keys *keys, const char *values, size_t value_len) {
  char *sorted = (char *)(uintptr_t)keys->strings;
  qsort(sorted, keys->n, BENCH_KEY_LEN, sst_compare);
  return (sst_records){sorted, keys->n, BENCH_KEY_LEN, values, value_len};
}

/* Every `step`-th read is for a record, the others for keys of none. */
static bench_keys sst_reads(const sst_records *r, size_t n, size_t step) {
  bench_keys reads = bench_keys_new(1, BENCH_FIRST_ABSENT, n, BENCH_STRINGS);
  char *at = (char *)(uintptr_t)reads.strings;
  for (size_t i = 0; step != 0 && i < n; i += step) {
    memcpy(at + i * BENCH_KEY_LEN, r->keys + nay_hash_mix(i) % r->n * BENCH_KEY_LEN, BENCH_KEY_LEN);
  }
  return reads;
}

/* ---- ours ---- */

static void sst_write(const char *path, const sst_records *r, const nay_sst_write_options *how) {
  nay_sst_writer *w;
  nay_diag diag = {.what = ""};
  nay_status status = nay_sst_writer_new(path, how, NULL, &diag, &w);
  if (status != NAY_OK) bench_die("%s: %s", path, diag.what);
  for (size_t i = 0; i < r->n && status == NAY_OK; i++) {
    status = nay_sst_writer_add(w, r->keys + i * r->key_len, r->key_len, r->values + i % 1000,
                                r->value_len, NULL);
  }
  if (status == NAY_OK) status = nay_sst_writer_finish(w, &diag);
  if (status != NAY_OK) bench_die("%s: %s", path, nay_status_text(status));
  nay_sst_writer_free(w);
}

static size_t sst_get(const nay_sst *t, const char *keys, size_t n) {
  nay_sst_value v = {.size = sizeof v};
  size_t found = 0;
  for (size_t i = 0; i < n; i++) {
    found +=
        nay_sst_get(t, keys + i * BENCH_KEY_LEN, BENCH_KEY_LEN, NAY_SST_NEWEST, NULL, &v) == NAY_OK;
  }
  nay_sst_value_free(&v);
  return found;
}

static uint64_t sst_scan(const nay_sst *t) {
  nay_sst_iter *it;
  uint64_t bytes = 0;
  if (nay_sst_iter_new(t, NULL, &it) != NAY_OK) bench_die("no memory");
  for (nay_status s = nay_sst_iter_first(it); s == NAY_OK; s = nay_sst_iter_next(it)) {
    size_t key_len, value_len;
    (void)nay_sst_iter_key(it, &key_len);
    (void)nay_sst_iter_value(it, &value_len);
    bytes += key_len + value_len;
  }
  nay_sst_iter_free(it);
  return bytes;
}

/* ---- beside LevelDB ---- */

typedef enum sst_op { SST_WRITE, SST_GET, SST_GET_ABSENT, SST_SCAN, SST_NOPS } sst_op;
static const char *const sst_op_names[SST_NOPS] = {"write", "get, present", "get, absent", "scan"};

typedef struct sst_case {
  const char *name;
  bool snappy;
  int filter_bits;
} sst_case;

/* ns per record: ours, LevelDB's, LevelDB's with checksums */
typedef struct sst_times {
  double ns[SST_NOPS][3];
} sst_times;

static void sst_least(double *best, double start, size_t n) {
  double ns = (bench_cpu() - start) * 1e9 / (double)n;
  if (*best == 0 || ns < *best) *best = ns;
}

static void sst_expect(uint64_t got, uint64_t want) {
  if (got != want)
    bench_die("a table gave %llu instead of %llu", (unsigned long long)got,
              (unsigned long long)want);
}

static void sst_round(const sst_case *c, const sst_records *r, const bench_keys *present,
                      const bench_keys *absent, const char *ours, const char *theirs,
                      sst_times *times) {
  nay_policy policy = {.size = sizeof policy};
  nay_sst_write_options how = {sizeof how, .codec = c->snappy ? &snappy_codec : NULL};
  if (c->filter_bits != 0) {
    if (nay_policy_find(NAY_POLICY_LEVELDB, (uint32_t)c->filter_bits, &policy) != NAY_OK)
      bench_die("no policy");
    how.filter = NAY_SST_BLOCK_FILTER;
    how.policy = &policy;
  }
  double start = bench_cpu();
  sst_write(ours, r, &how);
  sst_least(&times->ns[SST_WRITE][0], start, r->n);
  start = bench_cpu();
  if (!sst_peer_write(theirs, r, c->snappy, c->filter_bits)) bench_die("LevelDB cannot write");
  sst_least(&times->ns[SST_WRITE][1], start, r->n);
  times->ns[SST_WRITE][2] = times->ns[SST_WRITE][1];
  uint64_t total = r->n * (r->key_len + r->value_len);

  nay_sst *t;
  nay_sst_read_options read = {
      .size = sizeof read, .codecs = snappy_codecs, .ncodecs = 1, .flags = NAY_SST_NO_FILTERS};
  if (nay_sst_open(ours, &read, NULL, NULL, &t) != NAY_OK) bench_die("cannot open our table");
  sst_peer *peers[2] = {sst_peer_open(theirs, false), sst_peer_open(theirs, true)};
  if (peers[0] == NULL || peers[1] == NULL) bench_die("LevelDB cannot open its table");
  const bench_keys *reads[2] = {present, absent};
  for (int i = 0; i < 2; i++) {
    double *ns = times->ns[SST_GET + i];
    size_t n = reads[i]->n, want = i == 0 ? n : 0;
    start = bench_cpu();
    sst_expect(sst_get(t, reads[i]->strings, n), want);
    sst_least(&ns[0], start, n);
    for (int p = 0; p < 2; p++) {
      start = bench_cpu();
      sst_expect(sst_peer_get(peers[p], reads[i]->strings, n, BENCH_KEY_LEN), want);
      sst_least(&ns[1 + p], start, n);
    }
  }
  start = bench_cpu();
  sst_expect(sst_scan(t), total);
  sst_least(&times->ns[SST_SCAN][0], start, r->n);
  for (int p = 0; p < 2; p++) {
    start = bench_cpu();
    sst_expect(sst_peer_scan(peers[p]), total);
    sst_least(&times->ns[SST_SCAN][1 + p], start, r->n);
    sst_peer_close(peers[p]);
  }
  nay_sst_free(t);
}

static void sst_print(const sst_case *c, const sst_times *times) {
  for (int op = 0; op < SST_NOPS; op++) {
    const double *ns = times->ns[op];
    printf("%-22s %-13s %8.0f %8.0f %8.0f %9.2f %9.2f\n", c->name, sst_op_names[op], ns[0], ns[1],
           ns[2], ns[1] / ns[0], ns[2] / ns[0]);
  }
}

static void sst_beside_leveldb(const sst_options *o) {
  const sst_case cases[] = {
      {"plain", false, 0}, {"snappy", true, 0}, {"plain, 10-bit filter", false, 10}};
  char ours[512], theirs[512], *values = sst_values();
  bench_keys keys = bench_keys_new(1, 0, o->records, BENCH_STRINGS);
  sst_records r = sst_sorted(&keys, values, SST_VALUE);
  bench_keys present = sst_reads(&r, o->reads, 1), absent = sst_reads(&r, o->reads, 0);
  snprintf(ours, sizeof ours, "%s/nay.ldb", o->directory);
  snprintf(theirs, sizeof theirs, "%s/leveldb.ldb", o->directory);
  printf("one table of %zu records, %d + %d bytes; ns per record, and times as fast as LevelDB\n",
         r.n, BENCH_KEY_LEN, SST_VALUE);
  printf("%-22s %-13s %8s %8s %8s %9s %9s\n", "table", "", "nay", "leveldb", "+crc", "faster",
         "than +crc");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sst_times times = {{{0}}};
    for (int rep = 0; rep < SST_REPS; rep++) {
      bench_say("%s: repetition %d of %d", cases[i].name, rep + 1, SST_REPS);
      sst_round(&cases[i], &r, &present, &absent, ours, theirs, &times);
    }
    bench_say(NULL);
    sst_print(&cases[i], &times);
  }
  unlink(ours);
  unlink(theirs);
  bench_keys_free(&present);
  bench_keys_free(&absent);
  bench_keys_free(&keys);
  free(values);
}

/* ---- a hundred tables ---- */

typedef struct sst_lsm {
  nay_sst *tables[SST_TABLES];
  nay_sst_lookup *lookup;
  double us[2]; /* 90% absent, all absent */
  nay_sst_counters counters[2];
} sst_lsm;

static void sst_lsm_open(sst_lsm *l, const sst_options *o, uint32_t flags) {
  for (size_t i = 0; i < SST_TABLES; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s/table-%zu.ldb", o->directory, i);
    nay_sst_read_options read = {sizeof read, .flags = flags};
    if (nay_sst_open(path, &read, NULL, NULL, &l->tables[i]) != NAY_OK) bench_die("%s", path);
  }
  if (nay_sst_lookup_new(
          &(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), (const nay_sst *const *)l->tables,
                                  SST_TABLES, false},
          1, NULL, NULL, NULL, &l->lookup) != NAY_OK) {
    bench_die("no memory");
  }
}

static void sst_lsm_read(sst_lsm *l, const bench_keys *reads, size_t want, int which) {
  nay_sst_value v = {.size = sizeof v};
  nay_sst_counters before = {.size = sizeof before}, after = {.size = sizeof after};
  size_t found = 0;
  nay_sst_lookup_stats(l->lookup, &before);
  double start = bench_cpu();
  for (size_t i = 0; i < reads->n; i++) {
    const char *key = reads->strings + i * BENCH_KEY_LEN;
    found +=
        nay_sst_lookup_get(l->lookup, key, BENCH_KEY_LEN, NAY_SST_NEWEST, NULL, &v, NULL) == NAY_OK;
  }
  double us = (bench_cpu() - start) * 1e6 / (double)reads->n;
  sst_expect(found, want);
  if (l->us[which] == 0 || us < l->us[which]) l->us[which] = us;
  nay_sst_lookup_stats(l->lookup, &after);
  l->counters[which] = (nay_sst_counters){.size = sizeof(nay_sst_counters),
                                          .gets = after.gets - before.gets,
                                          .hashes = after.hashes - before.hashes,
                                          .block_reads = after.block_reads - before.block_reads};
  nay_sst_value_free(&v);
}

/* ---- batches ---- */

static const size_t sst_batches[] = {16, 256, SST_BATCH};
#define SST_NBATCHES (sizeof sst_batches / sizeof *sst_batches)

/* us per key of batches of so many keys; both kinds of reads. */
typedef struct sst_many {
  double us[SST_NBATCHES][2];
  double blocks[SST_NBATCHES][2];
} sst_many;

static void sst_many_read(const sst_lsm *l, const bench_keys *reads, size_t want, size_t batch,
                          double *best, double *blocks) {
  static nay_sst_value values[SST_BATCH];
  static nay_status statuses[SST_BATCH];
  static const void *keys[SST_BATCH];
  static size_t lens[SST_BATCH];
  nay_sst_counters before = {.size = sizeof before}, after = {.size = sizeof after};
  size_t found = 0;
  for (size_t i = 0; i < batch; i++) values[i] = (nay_sst_value){.size = sizeof values[i]};
  nay_sst_lookup_stats(l->lookup, &before);
  double start = bench_cpu();
  for (size_t at = 0; at < reads->n; at += batch) {
    size_t n = reads->n - at < batch ? reads->n - at : batch;
    for (size_t i = 0; i < n; i++) {
      keys[i] = reads->strings + (at + i) * BENCH_KEY_LEN;
      lens[i] = BENCH_KEY_LEN;
    }
    if (nay_sst_lookup_get_many(l->lookup, keys, lens, n, NAY_SST_MAX_SEQUENCE, NULL, values,
                                statuses, NULL) != NAY_OK) {
      bench_die("a batch of gets failed");
    }
    for (size_t i = 0; i < n; i++) found += statuses[i] == NAY_OK;
  }
  double us = (bench_cpu() - start) * 1e6 / (double)reads->n;
  sst_expect(found, want);
  if (*best == 0 || us < *best) *best = us;
  nay_sst_lookup_stats(l->lookup, &after);
  *blocks = (double)(after.block_reads - before.block_reads) / (double)reads->n;
  for (size_t i = 0; i < batch; i++) nay_sst_value_free(&values[i]);
}

static void sst_many_print(const sst_many *m, const sst_lsm *one) {
  for (size_t i = 0; i < SST_NBATCHES; i++) {
    printf("batch %-6zu %10.2f %7.1fx %10.2f %7.1fx %12.3f   times as fast as one by one\n",
           sst_batches[i], m->us[i][0], one->us[0] / m->us[i][0], m->us[i][1],
           one->us[1] / m->us[i][1], m->blocks[i][1]);
  }
}

static void sst_lsm_print(const char *name, const sst_lsm *l, const sst_lsm *none) {
  const nay_sst_counters *c = l->counters;
  printf("%-12s %10.2f %7.1fx %10.2f %7.1fx %12.3f %9.3f%% %8.2f\n", name, l->us[0],
         none->us[0] / l->us[0], l->us[1], none->us[1] / l->us[1],
         (double)c[1].block_reads / (double)c[1].gets,
         100 - 100 * (double)c[1].block_reads / (double)none->counters[1].block_reads,
         (double)c[1].hashes / (double)c[1].gets);
}

static bench_keys sst_lsm_write(const sst_options *o, sst_records *all) {
  char *values = sst_values();
  bench_keys everything = bench_keys_new(1, 0, o->lsm_records * SST_TABLES, BENCH_STRINGS);
  bench_keys keys = bench_keys_new(1, 0, o->lsm_records, BENCH_STRINGS);
  for (size_t i = 0; i < SST_TABLES; i++) {
    char path[512];
    bench_say("writing table %zu of %d", i + 1, SST_TABLES);
    bench_keys_refill(&keys, 1, i * o->lsm_records);
    sst_records r = sst_sorted(&keys, values, SST_LSM_VALUE);
    snprintf(path, sizeof path, "%s/table-%zu.ldb", o->directory, i);
    nay_sst_write_options how = {
        .size = sizeof how,
        .filter = NAY_SST_FULL_FILTER,
        .params = &(nay_params){sizeof(nay_params), .kind = NAY_BLOCKED, .bits_per_key = 10}};
    sst_write(path, &r, &how);
  }
  bench_keys_free(&keys);
  free(values);
  *all = (sst_records){everything.strings, everything.n, BENCH_KEY_LEN, NULL, 0};
  return everything;
}

static void sst_hundred_tables(const sst_options *o) {
  static sst_lsm none, filtered;
  static sst_many many;
  sst_records all;
  bench_keys everything = sst_lsm_write(o, &all);
  bench_keys mixed = sst_reads(&all, o->reads / 10, 10), absent = sst_reads(&all, o->reads / 10, 0);
  sst_lsm_open(&none, o, NAY_SST_NO_FILTERS);
  sst_lsm_open(&filtered, o, 0);
  for (int rep = 0; rep < 5; rep++) {
    sst_lsm *both[2] = {&none, &filtered};
    bench_say("reads, repetition %d of 5", rep + 1);
    for (int i = 0; i < 2; i++) {
      sst_lsm_read(both[i], &mixed, (mixed.n + 9) / 10, 0);
      sst_lsm_read(both[i], &absent, 0, 1);
    }
    for (size_t i = 0; i < SST_NBATCHES; i++) {
      const size_t batch = sst_batches[i], present = (mixed.n + 9) / 10;
      sst_many_read(&filtered, &mixed, present, batch, &many.us[i][0], &many.blocks[i][0]);
      sst_many_read(&filtered, &absent, 0, batch, &many.us[i][1], &many.blocks[i][1]);
    }
  }
  bench_say(NULL);
  printf(
      "\n%d tables of %zu records, %d + %d bytes, full filters of 10 bits per key; us per lookup\n",
      SST_TABLES, o->lsm_records, BENCH_KEY_LEN, SST_LSM_VALUE);
  printf("%-12s %10s %8s %10s %8s %12s %10s %8s\n", "", "90% absent", "faster", "absent", "faster",
         "blocks read", "avoided", "hashes");
  sst_lsm_print("no filters", &none, &none);
  sst_lsm_print("full", &filtered, &none);
  sst_many_print(&many, &filtered);
  for (size_t i = 0; i < SST_TABLES; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s/table-%zu.ldb", o->directory, i);
    unlink(path);
    nay_sst_free(none.tables[i]);
    nay_sst_free(filtered.tables[i]);
  }
  nay_sst_lookup_free(none.lookup);
  nay_sst_lookup_free(filtered.lookup);
  bench_keys_free(&mixed);
  bench_keys_free(&absent);
  bench_keys_free(&everything);
}

int main(int argc, char **argv) {
  sst_options o = {.records = 200000, .lsm_records = 100000, .reads = 200000};
  static char directory[300];
  struct stat st;
  bool lsm_only = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0) {
      o = (sst_options){.records = 20000, .lsm_records = 5000, .reads = 20000};
    } else if (strcmp(argv[i], "--lsm") == 0) {
      lsm_only = true; /* the hundred tables alone */
    } else {
      bench_die("usage: nay-bench-sst [--quick] [--lsm]");
    }
  }
  const char *base = getenv("TMPDIR");
  if (base == NULL) base = stat("/dev/shm", &st) == 0 ? "/dev/shm" : ".";
  snprintf(directory, sizeof directory, "%s/nay-bench-XXXXXX", base);
  if (mkdtemp(directory) == NULL) bench_die("%s: cannot make a directory", base);
  o.directory = directory;
  bench_warm(0.2);
  if (!lsm_only) sst_beside_leveldb(&o);
  sst_hundred_tables(&o);
  rmdir(directory);
  return 0;
}

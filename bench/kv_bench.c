/*
 * kv_bench.c - the store of examples/kv beside LevelDB: fill, random reads of present and of absent
 * keys, a scan of everything; write amplification and space.
 *
 * Both get the same keys (16 bytes, random order) and values (100 bytes), a memtable of 4 MiB,
 * tables of 2 MiB, filters of 10 bits per key, no compression and no sync, files in memory (TMPDIR,
 * else /dev/shm). Both map their tables, so that LevelDB's block cache has nothing to hold. LevelDB
 * verifies no checksums here, its default; nay verifies a block's when it is first used.
 *
 * The fill is measured until the last put returns, and until compactions rest: CPU time of all
 * threads, and wall time. Reads and scans start at rest, are CPU time, in turn, least of the
 * repetitions. LevelDB's C interface copies what it finds into memory of its own, as kv_get does.
 */
#include <dirent.h>
#include <leveldb/c.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../examples/kv/kv.h"
#include "bench.h"

#define KV_REPS 5
#define KV_VALUE 100
#define KV_KEY 16u

typedef struct store {
  const char *name;
  char path[300];
  kv *nay;
  leveldb_t *leveldb;
  leveldb_options_t *options;
  leveldb_readoptions_t *read;
  leveldb_writeoptions_t *write;
  char *error;
  kv_bytes value;
} store;

static void check(const store *s, nay_status status, const kv_error *error) {
  if (status != NAY_OK && status != NAY_ENOENT) bench_die("%s: %s", s->name, error->text);
  if (s->error != NULL) bench_die("%s: %s", s->name, s->error);
}

static void store_open(store *s) {
  kv_error error = {""};
  if (s->leveldb == NULL && strcmp(s->name, "LevelDB") == 0) {
    s->options = leveldb_options_create();
    leveldb_options_set_create_if_missing(s->options, 1);
    leveldb_options_set_compression(s->options, leveldb_no_compression);
    leveldb_options_set_filter_policy(s->options, leveldb_filterpolicy_create_bloom(10));
    s->read = leveldb_readoptions_create();
    s->write = leveldb_writeoptions_create();
    s->leveldb = leveldb_open(s->options, s->path, &s->error);
    check(s, NAY_OK, NULL);
  } else {
    kv_options options = {.sync = false};
    check(s, kv_open(s->path, &options, &error, &s->nay), &error);
  }
}

static void store_close(store *s) {
  if (s->nay != NULL) kv_close(s->nay);
  if (s->leveldb != NULL) leveldb_close(s->leveldb);
  free(s->value.data);
}

static void store_put(store *s, const char *key, const char *value) {
  kv_error error;
  if (s->nay != NULL) {
    check(s, kv_put(s->nay, (kv_slice){key, KV_KEY}, (kv_slice){value, KV_VALUE}, &error), &error);
  } else {
    leveldb_put(s->leveldb, s->write, key, KV_KEY, value, KV_VALUE, &s->error);
    check(s, NAY_OK, NULL);
  }
}

static bool store_get(store *s, const char *key) {
  kv_error error;
  if (s->nay != NULL) {
    nay_status status = kv_get(s->nay, (kv_slice){key, KV_KEY}, 0, &s->value, NULL, NULL, &error);
    check(s, status, &error);
    return status == NAY_OK;
  }
  size_t len;
  char *value = leveldb_get(s->leveldb, s->read, key, KV_KEY, &len, &s->error);
  check(s, NAY_OK, NULL);
  free(value);
  return value != NULL;
}

/* How many keys; their bytes are added up, so that they are read. */
static uint64_t store_scan(store *s, uint64_t *digest) {
  uint64_t n = 0;
  size_t len, value_len;
  kv_error error;
  if (s->nay != NULL) {
    kv_iter it;
    nay_status status =
        kv_iter_new(s->nay, 0, (kv_slice){NULL, 0}, (kv_slice){NULL, 0}, &error, &it);
    for (; status == NAY_OK; status = nay_sst_scan_next(it.merge), n++) {
      const uint8_t *key = nay_sst_scan_key(it.merge, &len);
      const uint8_t *value = nay_sst_scan_value(it.merge, &value_len);
      *digest += key[len - 1] + value[value_len - 1] + len + value_len;
    }
    check(s, status, &error);
    kv_iter_free(&it);
    return n;
  }
  leveldb_iterator_t *it = leveldb_create_iterator(s->leveldb, s->read);
  for (leveldb_iter_seek_to_first(it); leveldb_iter_valid(it); leveldb_iter_next(it), n++) {
    const uint8_t *key = (const uint8_t *)leveldb_iter_key(it, &len);
    const uint8_t *value = (const uint8_t *)leveldb_iter_value(it, &value_len);
    *digest += key[len - 1] + value[value_len - 1] + len + value_len;
  }
  leveldb_iter_destroy(it);
  return n;
}

static uint64_t directory_bytes(const char *path) {
  uint64_t sum = 0;
  DIR *dir = opendir(path);
  for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
    char name[600];
    struct stat st;
    snprintf(name, sizeof name, "%s/%s", path, e->d_name);
    if (stat(name, &st) == 0 && S_ISREG(st.st_mode)) sum += (uint64_t)st.st_size;
  }
  if (dir != NULL) closedir(dir);
  return sum;
}

/* LevelDB does not say when it rests: its tables are the same for half a second. */
static void store_rest(store *s) {
  if (s->nay != NULL) {
    kv_error error;
    check(s, kv_settle(s->nay, &error), &error);
    return;
  }
  char *last = leveldb_property_value(s->leveldb, "leveldb.sstables");
  for (unsigned same = 0; same < 10; same++) {
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    char *now = leveldb_property_value(s->leveldb, "leveldb.sstables");
    if (strcmp(now, last) != 0) same = 0;
    free(last);
    last = now;
  }
  free(last);
}

/* Bytes written to tables, for each byte that was put; the log is one more on both sides. */
static double store_amplification(store *s, double put) {
  if (s->nay != NULL) {
    kv_stats stats;
    kv_describe(s->nay, &stats);
    return (double)(stats.flushed + stats.compacted) / put;
  }
  char *text = leveldb_property_value(s->leveldb, "leveldb.stats");
  double sum = 0;
  for (const char *line = text; (line = strchr(line, '\n')) != NULL; line++) {
    double size, seconds, in, out;
    int level, files;
    if (sscanf(line + 1, "%d %d %lf %lf %lf %lf", &level, &files, &size, &seconds, &in, &out) == 6)
      sum += out * 1048576;
  }
  free(text);
  return sum / put;
}

static void fill(store *s, const bench_keys *keys, size_t n, const char *values) {
  double wall = bench_now(), cpu = bench_cpu(), put = (double)n * (KV_KEY + KV_VALUE);
  for (size_t i = 0; i < n; i++) store_put(s, keys->strings + i * KV_KEY, values + i % 1000);
  double puts = bench_now() - wall;
  store_rest(s);
  double per = 1e9 / (double)n, rest = bench_now() - wall - (s->nay == NULL ? 0.5 : 0);
  printf(
      "%-10s fill: %6.0f ns for each put, %6.0f until at rest, CPU %6.0f; tables written %.1f "
      "times, "
      "%.1f MB on disk for %.1f MB\n",
      s->name, puts * per, rest * per, (bench_cpu() - cpu) * per, store_amplification(s, put),
      (double)directory_bytes(s->path) / 1e6, put / 1e6);
  fflush(stdout);
}

typedef enum job { PRESENT, ABSENT, SCAN, JOBS } job;

static double measure(store *s, job what, const bench_keys *reads, size_t n, size_t records) {
  double start = bench_cpu();
  uint64_t found = 0, digest = 0;
  if (what == SCAN) {
    found = store_scan(s, &digest);
    if (found != records || digest == 0)
      bench_die("%s: a scan of %llu keys", s->name, (unsigned long long)found);
    return (bench_cpu() - start) * 1e9 / (double)records;
  }
  for (size_t i = 0; i < n; i++) found += store_get(s, reads->strings + i * KV_KEY);
  if (found != (what == PRESENT ? n : 0))
    bench_die("%s: found %llu", s->name, (unsigned long long)found);
  return (bench_cpu() - start) * 1e9 / (double)n;
}

static void read_both(store stores[2], size_t n, size_t nreads, unsigned reps) {
  static const char *const names[JOBS] = {"get, present", "get, absent", "scan"};
  bench_keys present = bench_queries_new(1, n, nreads, BENCH_PRESENT, BENCH_STRINGS);
  bench_keys absent = bench_queries_new(1, n, nreads, BENCH_ABSENT, BENCH_STRINGS);
  for (job what = PRESENT; what < JOBS; what++) {
    double best[2] = {1e18, 1e18};
    for (unsigned i = 0; i < 2 * reps; i++) {
      double t = measure(&stores[i % 2], what, what == PRESENT ? &present : &absent, nreads, n);
      if (t < best[i % 2]) best[i % 2] = t;
    }
    printf("%-14s %s %7.0f ns   %s %7.0f ns   %.2f times as fast\n", names[what], stores[0].name,
           best[0], stores[1].name, best[1], best[1] / best[0]);
    fflush(stdout);
  }
  bench_keys_free(&present);
  bench_keys_free(&absent);
}

static void remove_directory(const char *path) {
  DIR *dir = opendir(path);
  for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
    char name[600];
    snprintf(name, sizeof name, "%s/%s", path, e->d_name);
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) unlink(name);
  }
  if (dir != NULL) closedir(dir);
  rmdir(path);
}

int main(int argc, char **argv) {
  size_t n = 1000000, nreads = 1000000;
  unsigned reps = KV_REPS;
  static char base[200], values[1000 + KV_VALUE];
  struct stat st;
  if (argc > 1 && strcmp(argv[1], "--quick") == 0)
    n = nreads = 50000, reps = 1;
  else if (argc > 1)
    bench_die("usage: nay-bench-kv [--quick]");
  const char *where = getenv("TMPDIR");
  if (where == NULL) where = stat("/dev/shm", &st) == 0 ? "/dev/shm" : ".";
  snprintf(base, sizeof base, "%s/nay-bench-XXXXXX", where);
  if (mkdtemp(base) == NULL) bench_die("%s: cannot make a directory", where);
  store stores[2] = {{.name = "kv"}, {.name = "LevelDB"}};
  bench_keys keys = bench_keys_new(1, 0, n, BENCH_STRINGS);
  for (size_t i = 0; i < sizeof values; i++) values[i] = (char)nay_hash_mix(i);
  bench_warm(0.2);
  for (unsigned i = 0; i < 2; i++) {
    snprintf(stores[i].path, sizeof stores[i].path, "%s/%s", base, stores[i].name);
    store_open(&stores[i]);
    fill(&stores[i], &keys, n, values);
  }
  read_both(stores, n, nreads, reps);
  for (unsigned i = 0; i < 2; i++) {
    store_close(&stores[i]);
    remove_directory(stores[i].path);
  }
  rmdir(base);
  bench_keys_free(&keys);
  return 0;
}

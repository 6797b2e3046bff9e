/*
 * test_kv_growth.c - how the cost of a store grows with it, by counts and not by clocks: what is
 * done n, 2n, 4n and 8n times may cost n log n at most.
 *
 * The linker puts the functions below between the store, the library and libc (--wrap).
 */
#define _GNU_SOURCE 1

#include <stdatomic.h>

#include "kv_model.h"
#include "store.h"
#include "support/directory.h"

/* ---- the calls that are counted ---- */

static _Atomic uint64_t comparisons, allocations, hashed, tables;

int __real_nay_sst_compare(const nay_sst_comparator *c, const void *a, size_t a_len, const void *b,
                           size_t b_len);
int __wrap_nay_sst_compare(const nay_sst_comparator *c, const void *a, size_t a_len, const void *b,
                           size_t b_len) {
  comparisons++;
  return __real_nay_sst_compare(c, a, a_len, b, b_len);
}

nay_status __real_nay_sst_open(const char *path, const nay_sst_read_options *options,
                               const nay_allocator *allocator, nay_diag *diag, nay_sst **table);
nay_status __wrap_nay_sst_open(const char *path, const nay_sst_read_options *options,
                               const nay_allocator *allocator, nay_diag *diag, nay_sst **table) {
  tables++;
  return __real_nay_sst_open(path, options, allocator, diag, table);
}

uint64_t __real_kv__checksum(uint64_t store, uint64_t log, const void *bytes, size_t len);
uint64_t __wrap_kv__checksum(uint64_t store, uint64_t log, const void *bytes, size_t len) {
  hashed += len;
  return __real_kv__checksum(store, log, bytes, len);
}

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n) {
  allocations++;
  return __real_malloc(n);
}

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n) {
  allocations++;
  return __real_realloc(p, n);
}

static void counts_clear(void) { comparisons = allocations = hashed = tables = 0; }

/* ---- growth ---- */

enum { SIZES = 4 };

static double log_2(size_t n) {
  double log = 0, x = (double)n;
  for (; x >= 2; x /= 2) log++;
  return log + x - 1; /* between powers of two a line: near enough */
}

/* costs[i] is that of n << i. The shape of the levels changes with n, so that counts jump: up to
 * SLACK times n log n pass. For 8 times as much work that is a factor of about 19; n^1.5 is 23. */
#define SLACK 1.6
static void check_n_log_n(const char *what, size_t n, const double costs[SIZES]) {
  print_message("# %s for %zu, %zu, %zu, %zu: %.0f, %.0f, %.0f, %.0f\n", what, n, 2 * n, 4 * n,
                8 * n, costs[0], costs[1], costs[2], costs[3]);
  for (unsigned i = 1; i < SIZES; i++) {
    double most = SLACK * costs[0] * (double)(1u << i) * log_2(n << i) / log_2(n);
    if (costs[i] > most) fail_msg("%s: %.0f for %zu, more than %.0f", what, costs[i], n << i, most);
  }
}

/* ---- tables ---- */

/* So many flushes of random keys, or of ascending ones; each is settled before the next, so that a
 * run is like any other. */
static void store_fill(kv *db, size_t n, bool ascending) {
  char value[60] = "";
  for (size_t i = 0; i < 24 * n; i++) {
    char key[24];
    snprintf(key, sizeof key, "%016" PRIx64, ascending ? (uint64_t)i : nay_hash_mix(i));
    assert_ok(put(db, key, 16, value, sizeof value));
    if (i % 24 == 23) assert_ok(kv_settle(db, NULL));
  }
}

static size_t store_tables(kv *db) {
  size_t all = 0;
  kv_stats stats;
  kv_describe(db, &stats);
  for (unsigned level = 0; level < KV_LEVELS; level++) all += stats.tables[level];
  return all;
}

/* Comparisons of keys and allocations for each table that is written or moved; the same while a
 * store of so many tables is opened. */
static void flushes_and_compactions(void **state) {
  const bool ascending = *(const bool *)*state;
  enum { N = 60 };
  const kv_options options = {.write_buffer = 5000};
  double compared[SIZES], allocated[SIZES], open_compared[SIZES], open_allocated[SIZES];
  for (unsigned i = 0; i < SIZES; i++) {
    directory dir = directory_make();
    kv *db = model_open(dir.path, options);
    const double n = (double)((size_t)N << i);
    counts_clear();
    store_fill(db, (size_t)N << i, ascending);
    print_message(
        "# %zu tables; of %llu written or moved each: %.1f comparisons, %.1f allocations\n",
        store_tables(db), (unsigned long long)tables, (double)comparisons / (double)tables,
        (double)allocations / (double)tables);
    assert_true(store_tables(db) >= ((size_t)N << i) / 2);
    compared[i] = (double)comparisons / (double)tables * n;
    allocated[i] = (double)allocations / (double)tables * n;
    kv_close(db);
    counts_clear();
    db = model_open(dir.path, options);
    open_compared[i] = (double)comparisons;
    open_allocated[i] = (double)allocations;
    kv_close(db);
    directory_remove(&dir);
  }
  check_n_log_n("comparisons", N, compared);
  check_n_log_n("allocations", N, allocated);
  check_n_log_n("comparisons of an open", N, open_compared);
  check_n_log_n("allocations of an open", N, open_allocated);
}

/* ---- logs ---- */

/* The search behind a torn record hashes the header of each record once, and no body. */
static void torn_logs(void **state) {
  (void)state;
  enum { N = 200 };
  double costs[SIZES];
  for (unsigned i = 0; i < SIZES; i++) {
    directory dir = directory_make();
    kv *db = model_open(dir.path, (kv_options){.write_buffer = 64 << 20});
    for (size_t k = 0; k < (size_t)N << i; k++) assert_ok(put(db, "key", 3, "value", 5));
    kv_close(db);
    size_t len = 0;
    unsigned char *log = directory_read(directory_at(&dir, "000001.log"), &len);
    log[16 + 8] ^= 1; /* the first record */
    directory_write(directory_at(&dir, "000001.log"), log, len);
    free(log);
    counts_clear();
    kv_error error = {""};
    assert_ok(kv_open(dir.path, NULL, &error, &db));
    assert_non_null(strstr(error.text, "recovered 0 records"));
    assert_true(hashed < len);
    costs[i] = (double)hashed;
    kv_close(db);
    directory_remove(&dir);
  }
  check_n_log_n("bytes hashed", N, costs);
}

/* ---- snapshots ---- */

/* The array has at most as many released snapshots as held ones, so that each of them is moved a
 * constant number of times. */
static void snapshots(void **state) {
  (void)state;
  enum { N = 1000 };
  directory dir = directory_make();
  kv *db = model_open(dir.path, (kv_options){.write_buffer = 64 << 20});
  for (unsigned order = 0; order < 4; order++) {
    uint64_t taken[2 * N];
    for (size_t i = 0; i < 2 * N; i++) { /* each twice */
      if (i % 2 == 0) assert_ok(put(db, "key", 3, "value", 5));
      taken[i] = kv_snapshot_take(db);
    }
    assert_int_equal(db->nlive, N);
    for (size_t i = 0, left = 2 * N; left > 0; i++) {
      size_t at = order == 0 ? 0 : order == 1 ? left - 1 : nay_hash_mix(order * N + i) % left;
      kv_snapshot_release(db, taken[at]);
      memmove(taken + at, taken + at + 1, (--left - at) * sizeof taken[0]);
      assert_true(db->nsnapshots <= 2 * db->nlive);
      for (size_t k = 1; k < db->nsnapshots; k++)
        assert_true(db->snapshots[k - 1].sequence < db->snapshots[k].sequence);
    }
    assert_int_equal(db->nlive, 0);
    assert_int_equal(db->nsnapshots, 0);
    kv_snapshot_release(db, 7); /* is none */
  }
  kv_close(db);
  directory_remove(&dir);
}

int main(void) {
  static const bool random = false, ascending = true;
  const test_case tests[] = {
      TEST_WITH("tables of random keys", flushes_and_compactions, &random),
      TEST_WITH("tables of ascending keys", flushes_and_compactions, &ascending),
      TEST(torn_logs),
      TEST(snapshots),
  };
  if (chdir("/dev/shm") != 0) print_message("# no /dev/shm: on the disk\n");
  return run_all(tests);
}

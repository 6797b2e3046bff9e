/*
 * test_engine_rocksdb_levels.c - bits_per_level of the RocksDB plug-in in real databases: tables
 * that RocksDB flushes and compacts into levels have the planned filters or none, before and after
 * the database is opened by its OPTIONS file; tables of unknown or deeper levels have bits_per_key;
 * no key is lost; the false reads are those of the FPRs.
 */
#define _POSIX_C_SOURCE 200809L
#include "engine_rocksdb_levels.h"

#include <math.h>

#include "golden/golden.h"
#include "nay_sst_filters.h"
#include "nay_sst_plan.h"
#include "support/directory.h"

#define KEY 32
#define NONE 0.0
#define LEVELS 5 /* 0 to 4, the last not in the list */

static const char *const prefixes[LEVELS] = {"e", "d", "c", "b", "a"};

static leveled_db *open_at(const directory *at, const leveled_policy *policy) {
  leveled_db *db = leveled_open(directory_at(at, "db"), policy);
  assert_non_null(db);
  return db;
}

/* What RocksDB's Bloom filter has with these bits per key: the FPR that the plug-in promises. */
static double promised(double bits) {
  nay_params p = {sizeof p, .nkeys = 1000000, .bits_per_key = bits};
  nay_plan plan = {.size = sizeof plan};
  assert_ok(nay_format_plan(nay_format_find("rocksdb-ribbon"), &p, NULL, &plan));
  return plan.fpr;
}

/* The filter of a table, by our own reader: none, blocked with these bits, ribbon with their FPR.
 */
static void assert_filter(const char *path, double bits, bool flushed, bool compatible) {
  golden_bytes file = golden_read(path);
  nay_sst_filters *t;
  nay_sst_filters_info info = {.size = sizeof info};
  nay_sst_filters_entry f = {.size = sizeof f};
  nay_view view = {.size = sizeof view};
  nay_stats stats = {.size = sizeof stats};
  assert_ok(nay_sst_filters_open(file.at, file.len, NULL, NULL, NULL, &t));
  assert_ok(nay_sst_filters_stats(t, &info));
  if (bits == NONE) {
    assert_int_equal(info.layout, NAY_SST_NO_FILTER);
  } else {
    assert_true(info.understood && info.ndamaged == 0);
    assert_ok(nay_sst_filters_at(t, 0, &f));
    assert_ok(nay_format_view(f.format, f.bytes, f.len, 0, NULL, &view));
    assert_ok(nay_filter_stats(nay_view_filter(&view), &stats));
    assert_int_equal(stats.kind, flushed ? NAY_BLOCKED : NAY_RIBBON);
    double fpr = promised(bits), now = stats.fpr_now;
    if (flushed) {
      double has = (double)stats.nbits / stats.nkeys_estimated;
      assert_true(fabs(has / bits - 1) < 0.06); /* the estimate of the keys is within 5% */
    } else if (!(now < fpr * 1.01 && now > fpr * 0.8)) {
      fail_msg("%s: FPR %g, promised %g, compatible %d", path, now, fpr, compatible);
    }
  }
  nay_sst_filters_free(t);
  free(file.at);
}

/* Every table has the bits of its level. */
static void assert_levels(leveled_db *db, const double *bits, size_t ntables, bool compatible) {
  char path[512];
  int level;
  size_t i = 0;
  for (; leveled_table(db, i, path, sizeof path, &level); i++) {
    assert_in_range(level, 0, LEVELS - 1);
    assert_filter(path, bits[level], level == 0, compatible);
  }
  assert_int_equal(i, ntables);
}

static void assert_all_found(leveled_db *db, const char *prefix, unsigned n) {
  char key[KEY];
  for (unsigned i = 0; i < n; i++) {
    snprintf(key, sizeof key, "%s%06u", prefix, i);
    if (!leveled_has(db, key)) fail_msg("%s is lost", key);
  }
}

#define N 4000

static void write_n(leveled_db *db, const char *prefix, int level) {
  leveled_write(db, (leveled_keys){prefix, N, 0, 1}, level);
}

/* Fills all levels, from the deepest up; reopens by the OPTIONS file, and again. */
static void levels_have_their_bits(void **state) {
  const char *id = *state;
  static const double bits[LEVELS] = {20, 15.5, 0, 6, 10}; /* level 4: bits_per_key */
  bool compatible = strncmp(id, "nay-c", 5) == 0;
  directory at = directory_make();
  leveled_policy named = {id, false}, by_file = {NULL, false};
  leveled_db *db = open_at(&at, &named);
  for (int level = LEVELS - 1; level >= 0; level--) write_n(db, prefixes[level], level);
  assert_levels(db, bits, LEVELS, compatible);
  leveled_close(db);
  db = open_at(&at, &by_file);
  assert_string_equal(leveled_id(db), id);
  assert_levels(db, bits, LEVELS, compatible);
  for (int level = 1; level < LEVELS; level++) {
    char prefix[8];
    snprintf(prefix, sizeof prefix, "x%d", level);
    write_n(db, prefix, level);
  }
  leveled_close(db);
  db = open_at(&at, &by_file);
  assert_string_equal(leveled_id(db), id);
  write_n(db, "y", 0);
  char path[512];
  int level;
  for (size_t i = 0; leveled_table(db, i, path, sizeof path, &level); i++) {
    assert_filter(path, bits[level], level == 0, compatible);
  }
  for (int i = 0; i < LEVELS; i++) assert_all_found(db, prefixes[i], N);
  for (int i = 1; i < LEVELS; i++) assert_all_found(db, (char[]){'x', (char)('0' + i), 0}, N);
  assert_all_found(db, "y", N);
  leveled_close(db);
  directory_remove(&at);
}

/* A table of SstFileWriter has bits_per_key, whatever level it is put into. */
static void unknown_levels_have_bits_per_key(void **state) {
  (void)state;
  directory at = directory_make();
  leveled_policy named = {"nay:7:0:0,0,0,0,0,0,0", false};
  leveled_db *db = open_at(&at, &named);
  char path[512];
  int level;
  leveled_ingest(db, at.path, (leveled_keys){"in", N, 0, 1});
  assert_true(leveled_table(db, 0, path, sizeof path, &level));
  assert_filter(path, 7, false, false);
  assert_all_found(db, "in", N);
  write_n(db, "out", 3); /* all others have none */
  for (size_t i = 0; leveled_table(db, i, path, sizeof path, &level); i++) {
    if (level == 3) assert_filter(path, NONE, false, false);
  }
  assert_all_found(db, "out", N);
  leveled_close(db);
  directory_remove(&at);
}

/* Levels without filters beside partitioned ones. */
static void partitioned_filters(void **state) {
  (void)state;
  directory at = directory_make();
  leveled_policy named = {"nay:10:0:0,12,0,8", true};
  leveled_db *db = open_at(&at, &named);
  for (int level = LEVELS - 1; level >= 0; level--) write_n(db, prefixes[level], level);
  assert_levels(db, (const double[]){0, 12, 0, 8, 10}, LEVELS, false);
  for (int i = 0; i < LEVELS; i++) assert_all_found(db, prefixes[i], N);
  leveled_close(db);
  directory_remove(&at);
}

/*
 * A plan, carried out: Monkey's bits for three levels whose tables overlap. The maybes that RocksDB
 * counts for absent keys are those of the plan, 10,000 of them, within 5%: four standard deviations
 * and more, those of the filters' own FPR included. Keys are fixed.
 */
static void a_plan_in_a_database(void **state) {
  (void)state;
  nay_sst_plan_params p = {
      sizeof p,         .nkeys = 42000, .ratio = 4, .nkeys_memtable = 500, .kind = NAY_BLOCKED,
      .bits_per_key = 5};
  nay_sst_plan *plan;
  nay_sst_level level[3];
  nay_sst_plan_info sums = {.size = sizeof sums};
  char id[256] = "nay:10:2147483647:0", key[KEY]; /* blocked everywhere, none for flushes */
  assert_ok(nay_sst_plan_new(&p, NULL, NULL, &plan));
  assert_ok(nay_sst_plan_stats(plan, NAY_SST_PLAN_MONKEY, &sums));
  assert_int_equal(sums.nlevels, 3);
  for (size_t i = 0; i < 3; i++) {
    level[i].size = sizeof level[i];
    assert_ok(nay_sst_plan_level(plan, NAY_SST_PLAN_MONKEY, i, &level[i]));
    snprintf(id + strlen(id), sizeof id - strlen(id), ",%.17g", level[i].bits_per_key);
  }
  directory at = directory_make();
  leveled_policy named = {id, false};
  leveled_db *db = open_at(&at, &named);
  for (unsigned i = 3; i-- > 0;) { /* numbers 0 mod 4, 1 mod 16, 2 mod 64: up to 128,000 each */
    leveled_write(db, (leveled_keys){"k", (unsigned)level[i].nkeys, 2 - i, 64u >> 2 * i},
                  (int)level[i].level);
  }
  leveled_maybes(db);
  double expected = 0;
  for (unsigned i = 0; expected < 10000; i++, expected += sums.absent_reads) {
    snprintf(key, sizeof key, "k%06u%c", 100 + i % 31000 * 4 + 3, 'a' + (int)(i / 31000));
    assert_false(leveled_has(db, key));
  }
  double maybes = (double)leveled_maybes(db);
  print_message("# %.0f maybes, planned %.0f: %+.2f%%\n", maybes, expected,
                (maybes / expected - 1) * 100);
  assert_true(fabs(maybes / expected - 1) < 0.05);
  leveled_close(db);
  directory_remove(&at);
  nay_sst_plan_free(plan);
}

int main(void) {
  static const char nay[] = "nay:10:0:20,15.5,0,6",
                    compatible[] = "nay-compatible:10:0:20,15.5,0,6";
  const test_case tests[] = {
      TEST_WITH("levels_have_their_bits nay", levels_have_their_bits, nay),
      TEST_WITH("levels_have_their_bits compatible", levels_have_their_bits, compatible),
      TEST(unknown_levels_have_bits_per_key),
      TEST(partitioned_filters),
      TEST(a_plan_in_a_database),
  };
  return run_all(tests);
}

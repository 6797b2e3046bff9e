/*
 * test_engine_rocksdb_policy.c - plugins/rocksdb in real databases: no key is lost, absent ones are
 * filtered, after reopening, with partitions, when policies change, and when bits flip.
 */
#define _POSIX_C_SOURCE 200809L
#include "engine_rocksdb_db.h"
#include "golden/golden.h"
#include "nay_sst_filters.h"
#include "support/directory.h"

#define N 20000

static const rocks_options nay10 = {ROCKS_NAY, 10, 0, false, false, false};

static void key_of(unsigned i, char key[ROCKS_KEY]) { snprintf(key, ROCKS_KEY, "key%06u", i); }
static void absent_of(unsigned i, char key[ROCKS_KEY]) { snprintf(key, ROCKS_KEY, "key%06ux", i); }

static rocks_db *open_at(const directory *at, const rocks_options *o) {
  rocks_db *db = rocks_open(directory_at(at, "db"), o);
  assert_non_null(db);
  return db;
}

static void fill(rocks_db *db) {
  char key[ROCKS_KEY];
  for (unsigned i = 0; i < N; i++) {
    key_of(i, key);
    rocks_put(db, key);
  }
  rocks_flush(db);
}

static void all_found(rocks_db *db) {
  char key[ROCKS_KEY];
  for (unsigned i = 0; i < N; i++) {
    key_of(i, key);
    if (!rocks_has(db, key)) fail_msg("%s is lost", key);
  }
}

static void none_found(rocks_db *db) {
  char key[ROCKS_KEY];
  for (unsigned i = 0; i < N; i++) {
    absent_of(i, key);
    assert_false(rocks_has(db, key));
  }
}

/* The tickers: every present key passes and is there; of the absent ones 1.3 % pass at most. */
static void filters_work(rocks_db *db) {
  rocks_count(db);
  all_found(db);
  rocks_tickers present = rocks_count(db);
  assert_int_equal(present.useful, 0);
  assert_int_equal(present.positive, N);
  assert_int_equal(present.true_positive, N);
  none_found(db);
  rocks_tickers absent = rocks_count(db);
  assert_int_equal(absent.true_positive, 0);
  /* the last is above all keys, which below level 0 RocksDB knows without asking */
  assert_in_range(absent.useful + absent.positive, N - 1, N);
  assert_true(absent.positive < N * 13 / 1000);
}

static void filters_are_not_used(rocks_db *db) {
  rocks_count(db);
  all_found(db);
  none_found(db);
  rocks_tickers t = rocks_count(db);
  assert_true(t.useful == 0 && t.positive == 0);
}

/* What the filter of each table is, by our own reader of tables. */
static void tables_are(rocks_db *db, nay_sst_filter_layout layout, const char *policy,
                       nay_kind kind) {
  char path[512];
  size_t i = 0;
  for (; rocks_table(db, i, path, sizeof path); i++) {
    golden_bytes file = golden_read(path);
    nay_sst_filters *t;
    nay_sst_filters_info info = {.size = sizeof info};
    nay_sst_filters_entry f = {.size = sizeof f};
    nay_view view = {.size = sizeof view};
    nay_stats stats = {.size = sizeof stats};
    assert_ok(nay_sst_filters_open(file.at, file.len, NULL, NULL, NULL, &t));
    nay_sst_filters_stats(t, &info);
    assert_int_equal(info.layout, layout);
    assert_string_equal(info.policy, policy);
    assert_true(info.understood && info.ndamaged == 0);
    assert_ok(nay_sst_filters_at(t, 0, &f));
    assert_ok(nay_format_view(f.format, f.bytes, f.len, 0, NULL, &view));
    assert_ok(nay_filter_stats(nay_view_filter(&view), &stats));
    assert_int_equal(stats.kind, kind);
    char key[ROCKS_KEY];
    for (unsigned k = 0; k < N; k += 7) {
      key_of(k, key);
      assert_true(nay_sst_filters_may_contain(t, key, strlen(key)));
    }
    nay_sst_filters_free(t);
    free(file.at);
  }
  assert_true(i > 0);
}

/* ---- one policy ---- */

static void a_database(void **state) {
  const rocks_options *o = *state;
  directory at = directory_make();
  const char *policy = o->policy == ROCKS_NAY ? "nay.rocksdb.v1" : "rocksdb.BuiltinBloomFilter";
  nay_sst_filter_layout layout = o->partitioned ? NAY_SST_PARTITIONED_FILTER : NAY_SST_FULL_FILTER;
  rocks_db *db = open_at(&at, o);
  fill(db);
  filters_work(db);
  tables_are(db, layout, policy, o->blocked_before_level < 0 ? NAY_RIBBON : NAY_BLOCKED);
  rocks_compact(db);
  filters_work(db);
  tables_are(db, layout, policy, NAY_RIBBON);
  rocks_close(db);
  db = open_at(&at, o);
  filters_work(db);
  rocks_close(db);
  directory_remove(&at);
}

/* Many versions of each key, each flushed at once: the filter counts a key once. */
static void versions_of_keys(void **state) {
  const rocks_options *o = *state;
  directory at = directory_make();
  rocks_db *db = open_at(&at, o);
  char key[ROCKS_KEY];
  for (unsigned round = 0; round < 3; round++) {
    for (unsigned i = 0; i < N; i++) {
      key_of(i, key);
      rocks_put(db, key);
    }
  }
  rocks_flush(db);
  filters_work(db);
  rocks_close(db);
  directory_remove(&at);
}

static void multi_get(void **state) {
  directory at = directory_make();
  rocks_db *db = open_at(&at, *state);
  enum { BATCH = 100 };
  char keys[BATCH][ROCKS_KEY];
  const char *pointers[BATCH];
  bool found[BATCH];
  fill(db);
  rocks_count(db);
  for (unsigned i = 0; i < N; i += BATCH / 2) {
    for (unsigned j = 0; j < BATCH; j++) {
      if (j % 2 == 0) key_of(i + j / 2, keys[j]);
      if (j % 2 == 1) absent_of(i + j / 2, keys[j]);
      pointers[j] = keys[j];
    }
    rocks_has_many(db, pointers, BATCH, found);
    for (unsigned j = 0; j < BATCH; j++) assert_int_equal(found[j], j % 2 == 0);
  }
  assert_true(rocks_count(db).useful > N * 98 / 100);
  rocks_close(db);
  directory_remove(&at);
}

/* ---- from one policy to another ---- */

static void switching_policies(void **state) {
  (void)state;
  rocks_options nay = nay10, compatible = nay10, bloom = nay10, ribbon = nay10;
  compatible.policy = ROCKS_NAY_COMPATIBLE;
  bloom.policy = ROCKS_BLOOM;
  ribbon.policy = ROCKS_RIBBON;
  directory at = directory_make();
  rocks_db *db = open_at(&at, &nay);
  fill(db);
  rocks_close(db);
  db = open_at(&at, &bloom); /* RocksDB alone: another name, no filter, no key lost */
  filters_are_not_used(db);
  rocks_compact(db);
  filters_work(db);
  rocks_close(db);
  db = open_at(&at, &nay);
  filters_are_not_used(db);
  rocks_close(db);
  db = open_at(&at, &compatible); /* filters that RocksDB made are used */
  filters_work(db);
  rocks_compact(db); /* now they are nay's, ribbon */
  rocks_close(db);
  db = open_at(&at, &bloom); /* and RocksDB uses those */
  filters_work(db);
  rocks_close(db);
  db = open_at(&at, &ribbon);
  filters_work(db);
  rocks_close(db);
  directory_remove(&at);
}

/* ---- damage ---- */

/* Every single flipped bit of a block of nay's is a maybe. */
static void flips_in_a_block(void **state) {
  (void)state;
  for (int level = -1; level <= 9; level += 10) {
    rocks_options o = nay10;
    o.blocked_before_level = level == -1 ? -1 : INT32_MAX;
    uint64_t keys[200];
    for (uint64_t i = 0; i < 200; i++) keys[i] = nay_hash_mix(i);
    size_t len;
    uint8_t *block = rocks_build(&o, keys, 200, &len);
    assert_non_null(block);
    for (size_t bit = 0; bit < len * 8; bit++) {
      block[bit / 8] ^= (uint8_t)(1u << bit % 8);
      void *reader = rocks_reader(&o, block, len);
      for (unsigned i = 0; i < 200; i++) {
        if (!rocks_reader_may_match(reader, keys[i])) fail_msg("bit %u loses a key", (unsigned)bit);
      }
      rocks_reader_close(reader);
      block[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(block);
  }
}

/* The same in a database that has its own checksums switched off. */
static void flips_in_a_database(void **state) {
  (void)state;
  rocks_options o = nay10;
  o.no_checksums = true;
  char path[512];
  directory at = directory_make();
  rocks_db *db = open_at(&at, &o);
  fill(db);
  assert_true(rocks_table(db, 0, path, sizeof path));
  rocks_close(db);
  golden_bytes file = golden_read(path);
  nay_sst_filters *t;
  nay_sst_filters_entry f = {.size = sizeof f};
  assert_ok(nay_sst_filters_open(file.at, file.len, NULL, NULL, NULL, &t));
  assert_ok(nay_sst_filters_at(t, 0, &f));
  for (uint64_t i = 0; i < 12; i++) {
    uint64_t bit = nay_hash_mix(i) % (f.len * 8);
    uint8_t *byte = file.at + f.offset + bit / 8;
    *byte ^= (uint8_t)(1u << bit % 8);
    directory_write(path, file.at, file.len);
    db = open_at(&at, &o);
    char key[ROCKS_KEY];
    for (unsigned k = 0; k < N; k += 9) {
      key_of(k, key);
      if (!rocks_has(db, key)) fail_msg("bit %u loses %s", (unsigned)bit, key);
    }
    rocks_close(db);
    *byte ^= (uint8_t)(1u << bit % 8);
  }
  nay_sst_filters_free(t);
  free(file.at);
  directory_remove(&at);
}

static void strange_blocks_match_everything(void **state) {
  (void)state;
  static const uint8_t zeros[64] = {0};
  for (size_t len = 0; len <= sizeof zeros; len++) {
    void *reader = rocks_reader(&nay10, zeros, len);
    assert_true(rocks_reader_may_match(reader, 7));
    rocks_reader_close(reader);
  }
}

/* ---- figures ---- */

/* As many false positives as RocksDB's ribbon, in no more bytes. */
static void no_more_bytes_than_rocksdb(void **state) {
  (void)state;
  enum { MEMBERS = 100000, ASKED = 1000000 };
  uint64_t *keys = malloc(MEMBERS * sizeof *keys);
  assert_non_null(keys);
  for (uint64_t i = 0; i < MEMBERS; i++) keys[i] = nay_hash_mix(i);
  double rates[3];
  size_t lens[3];
  for (unsigned p = 0; p < 3; p++) {
    rocks_options o = {(rocks_policy[]){ROCKS_NAY, ROCKS_NAY_COMPATIBLE, ROCKS_RIBBON}[p],
                       10,
                       -1,
                       false,
                       false,
                       false};
    uint8_t *block = rocks_build(&o, keys, MEMBERS, &lens[p]);
    void *reader = rocks_reader(&o, block, lens[p]);
    unsigned maybes = 0;
    for (uint64_t i = 0; i < MEMBERS; i++) assert_true(rocks_reader_may_match(reader, keys[i]));
    for (uint64_t i = 0; i < ASKED; i++) {
      maybes += rocks_reader_may_match(reader, nay_hash_mix(MEMBERS + i));
    }
    rates[p] = (double)maybes / ASKED;
    rocks_reader_close(reader);
    free(block);
    print_message("# %s: %zu bytes, %.4f %%\n", (const char *[]){"nay", "compatible", "RocksDB"}[p],
                  lens[p], rates[p] * 100);
  }
  assert_true(lens[0] <= lens[2]);
  assert_int_equal(lens[1], lens[2]);
  assert_true(rates[0] < rates[2] + 4 * 0.0001); /* 4 deviations of a million draws at 1 % */
  free(keys);
}

static void partitions_are_sized(void **state) {
  (void)state;
  for (int p = ROCKS_NAY; p <= ROCKS_RIBBON; p++) {
    rocks_options o = {(rocks_policy)p, 10, -1, false, false, false};
    size_t n = rocks_approximate(&o, 4096);
    assert_true(n > 3000 && n < 5000); /* RocksDB's own: 3225 for Bloom, 4629 for ribbon */
  }
}

static void by_name_in_options(void **state) {
  (void)state;
  rocks_options o = nay10;
  o.by_string = true;
  directory at = directory_make();
  rocks_db *db = open_at(&at, &o);
  fill(db);
  filters_work(db);
  rocks_close(db);
  directory_remove(&at);
}

int main(void) {
  static rocks_options compatible = {ROCKS_NAY_COMPATIBLE, 10, 0, false, false, false},
                       parts = {ROCKS_NAY, 10, 0, true, false, false},
                       compatible_parts = {ROCKS_NAY_COMPATIBLE, 10, 0, true, false, false},
                       ribbon = {ROCKS_NAY, 10, -1, false, false, false}, plain;
  plain = nay10;
  const test_case tests[] = {
      TEST_WITH("a_database nay", a_database, &plain),
      TEST_WITH("a_database nay, ribbon everywhere", a_database, &ribbon),
      TEST_WITH("a_database nay, partitioned", a_database, &parts),
      TEST_WITH("a_database compatible", a_database, &compatible),
      TEST_WITH("a_database compatible, partitioned", a_database, &compatible_parts),
      TEST_WITH("versions_of_keys nay", versions_of_keys, &plain),
      TEST_WITH("versions_of_keys compatible", versions_of_keys, &compatible),
      TEST_WITH("multi_get nay", multi_get, &plain),
      TEST_WITH("multi_get compatible", multi_get, &compatible),
      TEST(switching_policies),
      TEST(flips_in_a_block),
      TEST(flips_in_a_database),
      TEST(strange_blocks_match_everything),
      TEST(no_more_bytes_than_rocksdb),
      TEST(partitions_are_sized),
      TEST(by_name_in_options),
  };
  return run_all(tests);
}

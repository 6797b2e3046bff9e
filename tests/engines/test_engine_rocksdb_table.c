/*
 * test_engine_rocksdb_table.c - fresh tables of the real RocksDB, with every option that changes
 * where and how their filters are stored: found, described and probed.
 */
#define _POSIX_C_SOURCE 200809L
#include "engine_rocksdb_db.h"
#include "golden/golden.h"
#include "nay_sst_filters.h"
#include "support/directory.h"

#define N_TABLES 200

static void key_of(unsigned i, char key[ROCKS_KEY]) {
  snprintf(key, ROCKS_KEY, "p%04u/%06u", i / 5, i);
}

static unsigned pick(uint64_t *state, unsigned below) {
  *state = nay_hash_mix(*state);
  return (unsigned)(*state % below);
}

static rocks_table_options draw(uint64_t *state) {
  rocks_table_options o = {.policy = pick(state, 2) == 0 ? ROCKS_BLOOM : ROCKS_RIBBON};
  o.bits_per_key = 6 + pick(state, 100) / 10.0;
  unsigned first = rocks_first_format();
  o.format_version = first + pick(state, rocks_last_format() - first + 1);
  o.checksum = o.format_version == 0 ? 1 : pick(state, 5); /* format 0 knows crc32c alone */
  if (pick(state, 3) == 0) o.fixed_prefix = 5;
  if (pick(state, 3) == 0) o.capped_prefix = 5;
  o.prefixes_only = (o.fixed_prefix != 0 || o.capped_prefix != 0) && pick(state, 2) == 0;
  if (pick(state, 2) == 0) o.metadata_block = 256 + pick(state, 2000);
  o.restart_interval = 1 + pick(state, 16);
  o.memory = pick(state, 4) == 0;
  o.reverse = pick(state, 3) == 0;
  return o;
}

static unsigned absent_maybes(const nay_sst_filters *t, unsigned n) {
  unsigned maybes = 0;
  for (unsigned i = 0; i < 1000; i++) {
    char key[ROCKS_KEY];
    snprintf(key, sizeof key, "q%04u/%06u", i, i * 7919 % n); /* no such prefix either */
    maybes += nay_sst_filters_may_contain(t, key, strlen(key));
  }
  return maybes;
}

static void check_table(const rocks_table_options *o, unsigned n, golden_bytes file) {
  static const char *const sums[] = {"none", "crc32c", "xxh32", "xxh64", "xxh3"};
  nay_sst_filters *t;
  nay_sst_filters_info info = {.size = sizeof info};
  nay_diag diag = {.what = NULL};
  if (nay_sst_filters_open(file.at, file.len, NULL, NULL, &diag, &t) != NAY_OK) {
    fail_msg("%s at %llu", diag.what, (unsigned long long)diag.offset);
  }
  nay_sst_filters_stats(t, &info);
  assert_int_equal(info.engine, NAY_SST_ENGINE_ROCKSDB);
  assert_int_equal(info.format_version, o->format_version);
  assert_string_equal(info.checksum, sums[o->checksum]);
  assert_int_equal(info.layout,
                   o->metadata_block != 0 ? NAY_SST_PARTITIONED_FILTER : NAY_SST_FULL_FILTER);
  assert_int_equal(info.whole_keys, !o->prefixes_only);
  assert_int_equal(info.prefixes, o->fixed_prefix != 0 || o->capped_prefix != 0);
  assert_int_equal(info.nkeys, n);
  assert_int_equal(info.ndamaged, 0);
  assert_true(info.understood);
  nay_sst_filters_entry f = {.size = sizeof f};
  assert_ok(nay_sst_filters_at(t, 0, &f));
  bool legacy = strcmp(nay_format_name(f.format), "rocksdb-legacy") == 0;
  assert_int_equal(legacy, o->format_version < 5 && o->policy == ROCKS_BLOOM);
  for (unsigned i = 0; i < n; i++) {
    char key[ROCKS_KEY];
    key_of(i, key);
    if (!nay_sst_filters_may_contain(t, key, strlen(key))) fail_msg("%s is lost", key);
  }
  bool all_asked = o->reverse && o->metadata_block != 0;
  if (!all_asked) assert_true(absent_maybes(t, n) < 150); /* 6 bits: 7 % */
  nay_sst_filters_free(t);
}

/* Format 0 is LevelDB's: its data can be read, in the order that its properties name. */
static void check_data(const rocks_table_options *o, unsigned n, golden_bytes file) {
  nay_sst *t;
  nay_diag diag = {.what = NULL};
  nay_sst_value v = {.size = sizeof v};
  char name[NAY_SST_COMPARATOR_NAME];
  nay_sst_read_options how = {sizeof how, .stored_comparator = name};
  if (o->format_version != 0) return;
  nay_status status = nay_sst_view(file.at, file.len, &how, NULL, &diag, &t);
  bool partitioned = o->metadata_block != 0;
  if (partitioned) {
    assert_status(status, NAY_ENOTSUP);
    assert_non_null(strstr(diag.what, "partitioned index"));
    return;
  }
  assert_status(status, o->reverse ? NAY_EMISMATCH : NAY_OK);
  if (o->reverse) {
    assert_non_null(strstr(diag.what, "comparator"));
    assert_string_equal(name, "rocksdb.ReverseBytewiseComparator");
    how.flags = NAY_SST_STORED_COMPARATOR;
    assert_ok(nay_sst_view(file.at, file.len, &how, NULL, &diag, &t));
  }
  for (unsigned i = 0; i < n; i++) {
    char key[ROCKS_KEY];
    key_of(i, key);
    assert_ok(nay_sst_get(t, key, strlen(key), NAY_SST_NEWEST, NULL, &v));
  }
  nay_sst_value_free(&v);
  nay_sst_free(t);
}

static void fresh_tables(void **unused) {
  (void)unused;
  directory at = directory_make();
  const char *path = directory_at(&at, "fresh.sst");
  for (uint64_t seed = 0; seed < N_TABLES; seed++) {
    uint64_t state = seed;
    rocks_table_options o = draw(&state);
    unsigned n = 1 + pick(&state, pick(&state, 2) == 0 ? 50 : 4000);
    rocks_write_table(path, &o, n, key_of);
    golden_bytes file = golden_read(path);
    check_table(&o, n, file);
    check_data(&o, n, file);
    free(file.at);
  }
  directory_remove(&at);
}

int main(void) {
  const test_case tests[] = {TEST(fresh_tables)};
  return run_all(tests);
}

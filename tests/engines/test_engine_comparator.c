/*
 * test_engine_comparator.c - tables in other orders than bytewise, against the real LevelDB with
 * the same comparators: data, filters and index have the same bytes, and each reads what the other
 * wrote. One comparator ignores case, and so does its filter policy on both sides.
 */
#include <dirent.h>

#include "check_theirs.h"
#include "nay_sst_filters.h"
#include "support/fold_policy.h"
#include "support/sample_filters.h"
#include "support/snappy_codec.h"
#include "support/sst_calls.h"

#define N_TABLES 1000
#define MAX_ENTRIES 300

/* LevelDB's side is Numeric in engine_table.cc. */
static int numeric_compare(void *ctx, const void *a, size_t a_len, const void *b, size_t b_len) {
  (void)ctx;
  if (a_len != b_len) return a_len < b_len ? -1 : 1;
  return a_len == 0 ? 0 : memcmp(a, b, a_len);
}

static nay_sst_comparator comparator_of(engine_comparator order) {
  nay_sst_comparator c = {.size = sizeof c};
  if (order == ENGINE_REVERSE) {
    assert_ok(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &c));
  } else if (order == ENGINE_PREFIX) {
    assert_ok(nay_sst_comparator_find("nay.prefix.3", &c));
  } else if (order == ENGINE_FOLD) {
    c = fold;
  } else {
    c = (nay_sst_comparator){sizeof c, .name = "test.numeric", .compare = numeric_compare};
  }
  return c;
}

static engine_table_options draw_options(sample *s, engine_comparator order) {
  const size_t sizes[] = {1, 60, 300, 1024, 4096};
  return (engine_table_options){.block_bytes = sizes[sample_draw(s, 5)],
                                .restart_interval = 1 + (int)sample_draw(s, 20),
                                .snappy = sample_draw(s, 2) == 0,
                                .filter_bits = (int)sample_draw(s, 3) * 6,
                                .comparator = order};
}

static uint8_t *build_theirs(const sample *s, const engine_table_options *o, size_t *len) {
  static engine_slice keys[MAX_ENTRIES], values[MAX_ENTRIES];
  for (size_t i = 0; i < s->n; i++) {
    keys[i] = (engine_slice){s->entries[i].key, s->entries[i].len};
    values[i] = (engine_slice){s->entries[i].value, s->entries[i].value_len};
  }
  uint8_t *bytes = engine_table_build(o, keys, values, s->n, len);
  assert_non_null(bytes);
  return bytes;
}

static nay_sst_write_options ours_of(const engine_table_options *o, const nay_policy *policy,
                                     const nay_sst_comparator *order) {
  return (nay_sst_write_options){
      .size = sizeof(nay_sst_write_options),
      .block_bytes = (uint32_t)o->block_bytes,
      .restart_interval = (uint32_t)o->restart_interval,
      .codec = o->snappy ? &snappy_codec : NULL,
      .filter = o->filter_bits ? NAY_SST_BLOCK_FILTER : NAY_SST_NO_FILTER,
      .policy = o->filter_bits ? policy : NULL,
      .comparator = order};
}

/* Ours walks and gets from a table, LevelDB's or ours. */
static void check_ours(sample *s, const uint8_t *bytes, size_t len, const nay_policy *policy,
                       bool stored) {
  const nay_policy *policies[] = {policy};
  nay_sst_read_options how = {.size = sizeof how,
                              .keys = NAY_SST_KEYS_PLAIN,
                              .codecs = snappy_codecs,
                              .ncodecs = 1,
                              .policies = policies,
                              .npolicies = 1,
                              .comparator = s->order};
  nay_sst *t;
  nay_sst_info info = {.size = sizeof info};
  assert_ok(nay_sst_view(bytes, len, &how, NULL, NULL, &t));
  assert_ok(nay_sst_stats(t, &info));
  assert_string_equal(info.comparator, s->order->name);
  assert_int_equal(info.comparator_stored, stored);
  sample_check_iter(s, t);
  sample_check_gets(s, t);
  nay_sst_free(t);
}

/* LevelDB's table up to its metaindex, which is where ours gets entries of its own. */
static size_t metaindex_at(const uint8_t *bytes, size_t len) {
  size_t at = 0;
  const uint8_t *p = bytes + len - 48;
  for (unsigned shift = 0;; shift += 7) {
    at |= (size_t)(*p & 0x7f) << shift;
    if ((*p++ & 0x80) == 0) return at;
  }
}

static void both_ways(void **state) {
  engine_comparator order = *(const engine_comparator *)*state;
  nay_sst_comparator comparator = comparator_of(order);
  nay_policy policy = {.size = sizeof policy}, inner;
  sample s;
  sample_init(&s, MAX_ENTRIES);
  s.order = &comparator;
  for (uint64_t seed = 0; seed < TEST_SCALE(N_TABLES); seed++) {
    size_t len, their_len;
    sample_fill(&s, seed + 3000000, MAX_ENTRIES);
    engine_table_options o = draw_options(&s, order);
    uint32_t bits = o.filter_bits != 0 ? (uint32_t)o.filter_bits : 10;
    assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, bits, &policy));
    if (order == ENGINE_FOLD) policy = fold_policy(bits, &inner);
    nay_sst_write_options how = ours_of(&o, &policy, &comparator);
    uint8_t *theirs = build_theirs(&s, &o, &their_len), *ours = sample_bytes(&s, &how, &len);
    assert_true(len > their_len);
    assert_memory_equal(ours, theirs, metaindex_at(theirs, their_len));
    check_ours(&s, theirs, their_len, &policy, false);
    check_ours(&s, ours, len, &policy, true);
    check_theirs(&s, ours, len, o.filter_bits, o.comparator);
    sample_check_filters(&s, ours, len);
    free(theirs);
    free(ours);
  }
  sample_free(&s);
}

/* ---- keys without case, in databases ---- */

#define N_FOLDED 2000u

static size_t folded_key(unsigned i, unsigned upper, uint8_t key[32]) {
  int len = snprintf((char *)key, 32, "key%06xend", i);
  for (int k = 0; k < len; k++) {
    if (key[k] >= 'a' && (upper >> k & 1) != 0) key[k] = (uint8_t)(key[k] - 32);
  }
  return (size_t)len;
}

/* Even numbers are there, in some case. */
static void check_database(const char *path, const engine_table_options *o) {
  engine_db *db = engine_db_open(path, o);
  uint64_t nays = engine_db_nays();
  assert_non_null(db);
  for (unsigned i = 0; i < N_FOLDED; i++) {
    uint8_t key[32], *value;
    size_t value_len, len = folded_key(i, (unsigned)nay_hash_mix(i), key);
    bool there = engine_db_get(db, (engine_slice){key, len}, &value, &value_len);
    assert_int_equal(there, i % 2 == 0);
    if (there) free(value);
  }
  assert_true(engine_db_nays() - nays > N_FOLDED / 3); /* the filter is used */
  engine_db_close(db);
}

static void check_table(const char *path, const nay_policy *policy) {
  const nay_policy *policies[] = {policy};
  nay_sst_read_options how = {.size = sizeof how,
                              .keys = NAY_SST_KEYS_INTERNAL,
                              .policies = policies,
                              .npolicies = 1,
                              .comparator = &fold};
  nay_sst *t;
  nay_sst_value v = {.size = sizeof v};
  nay_sst_counters c = {.size = sizeof c};
  assert_ok(nay_sst_open(path, &how, NULL, NULL, &t));
  for (unsigned i = 0; i < N_FOLDED; i++) {
    uint8_t key[32];
    size_t len = folded_key(i, (unsigned)nay_hash_mix(99 * i), key);
    assert_status(nay_sst_get(t, key, len, NAY_SST_NEWEST, NULL, &v),
                  i % 2 == 0 ? NAY_OK : NAY_ENOENT);
  }
  table_counts(t, &c);
  assert_true(c.filter_useful > N_FOLDED / 3);
  assert_int_equal(c.filter_faults, 0);
  nay_sst_value_free(&v);
  nay_sst_free(t);
}

/* The only table of a database. */
static void table_in(const char *path, char *table, size_t room) {
  DIR *d = opendir(path);
  unsigned n = 0;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    size_t len = strlen(e->d_name);
    if (len < 4 || strcmp(e->d_name + len - 4, ".ldb") != 0) continue;
    snprintf(table, room, "%s/%s", path, e->d_name);
    n++;
  }
  closedir(d);
  assert_int_equal(n, 1);
}

/* LevelDB writes, nay reads; nay writes the same entries anew, and LevelDB reads those. */
static void databases_without_case(void **state) {
  (void)state;
  char path[TEMP_MAX], table[TEMP_MAX + 300];
  nay_policy inner, policy = fold_policy(10, &inner);
  engine_table_options o = {
      .block_bytes = 512, .restart_interval = 16, .filter_bits = 10, .comparator = ENGINE_FOLD};
  temp_path(path, "folded");
  engine_db_destroy(path);
  engine_db *db = engine_db_open(path, &o);
  assert_non_null(db);
  for (unsigned i = 0; i < N_FOLDED; i += 2) {
    uint8_t key[32];
    size_t len = folded_key(i, 7 * i, key);
    assert_true(engine_db_put(db, (engine_slice){key, len}, (engine_slice){key, len}));
  }
  assert_true(engine_db_flush(db));
  engine_db_close(db);
  check_database(path, &o);
  table_in(path, table, sizeof table);
  check_table(table, &policy);
  nay_sst_read_options read = {sizeof read, .keys = NAY_SST_KEYS_INTERNAL, .comparator = &fold};
  nay_sst_write_options write = {.size = sizeof write,
                                 .keys = NAY_SST_KEYS_INTERNAL,
                                 .block_bytes = 700,
                                 .filter = NAY_SST_BLOCK_FILTER,
                                 .policy = &policy,
                                 .comparator = &fold};
  nay_sst *t;
  assert_ok(nay_sst_open(table, &read, NULL, NULL, &t));
  assert_int_equal(sample_copy_table(t, table, &write), N_FOLDED / 2);
  nay_sst_free(t);
  assert_true(engine_db_repair(path, &o));
  check_database(path, &o);
  table_in(path, table, sizeof table);
  check_table(table, &policy);
  engine_db_destroy(path);
}

int main(void) {
  static const engine_comparator folded = ENGINE_FOLD;
  static const engine_comparator reverse = ENGINE_REVERSE, numeric = ENGINE_NUMERIC,
                                 prefix = ENGINE_PREFIX;
  const test_case tests[] = {
      TEST_WITH("both_ways reverse", both_ways, &reverse),
      TEST_WITH("both_ways numeric", both_ways, &numeric),
      TEST_WITH("both_ways prefix", both_ways, &prefix),
      TEST_WITH("both_ways without case", both_ways, &folded),
      TEST(databases_without_case),
  };
  return run_all(tests);
}

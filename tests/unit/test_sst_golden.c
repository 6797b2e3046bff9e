/*
 * test_sst_golden.c - tables that LevelDB wrote: read whole, recognised, and written again to the
 * byte.
 */
#include "golden/golden.h"
#include "support/snappy_codec.h"
#include "support/sst_sample.h"

typedef struct golden_table {
  const char *name;
  const char *set;
  unsigned n, bits, block_bytes;
  bool internal, snappy;
  unsigned nentries;
} golden_table;

static const golden_table tables[] = {
    {"table_str_n0_b10_none", "str", 0, 10, 4096, false, false, 0},
    {"table_str_n0_b10_snappy", "str", 0, 10, 4096, false, true, 0},
    {"table_str_n1_b10_none", "str", 1, 10, 4096, false, false, 1},
    {"table_str_n1_b10_snappy", "str", 1, 10, 4096, false, true, 1},
    {"table_str_n2_b10_none", "str", 2, 10, 4096, false, false, 2},
    {"table_str_n2_b10_snappy", "str", 2, 10, 4096, false, true, 2},
    {"table_str_n100_b10_none", "str", 100, 10, 4096, false, false, 100},
    {"table_str_n100_b10_snappy", "str", 100, 10, 4096, false, true, 100},
    {"table_str_n1000_b10_none_bs512", "str", 1000, 10, 512, false, false, 1000},
    {"table_str_n10000_b10_none", "str", 10000, 10, 4096, false, false, 10000},
    {"table_str_n10000_b10_snappy", "str", 10000, 10, 4096, false, true, 10000},
    {"table_u64le_n1000_b12_none_bs20000", "u64le", 1000, 12, 20000, false, false, 1000},
    {"table_varlen_n300_b10_none", "varlen", 300, 10, 4096, false, false, 300},
    {"table_varlen_n300_b10_snappy", "varlen", 300, 10, 4096, false, true, 300},
    {"db_str_n2000_b10_none", "str", 2000, 10, 4096, true, false, 2000},
    {"db_str_n2000_b10_snappy", "str", 2000, 10, 4096, true, true, 2000},
    {"db_str_n50_b10_none_dups", "str", 50, 10, 4096, true, false, 60},
};
#define N_TABLES (sizeof tables / sizeof *tables)

static const char *path_of(const golden_table *g, char path[512]) {
  snprintf(path, 512, TEST_GOLDEN "/leveldb-tables/%s.ldb", g->name);
  return path;
}

static nay_sst *open_golden(const golden_table *g, const nay_policy *const *policy,
                            unsigned flags) {
  char path[512];
  nay_sst *t;
  nay_sst_read_options how = {.size = sizeof how,
                              .codecs = snappy_codecs,
                              .ncodecs = 1,
                              .policies = policy,
                              .npolicies = 1,
                              .flags = flags};
  assert_ok(nay_sst_open(path_of(g, path), &how, NULL, NULL, &t));
  return t;
}

static void check_info(const golden_table *g, const nay_sst *t) {
  nay_sst_info info = {.size = sizeof info};
  nay_sst_stats(t, &info);
  if (g->n != 0) {
    assert_int_equal(info.keys, g->internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN);
    assert_int_equal(info.codec, g->snappy && g->n > 2);
  }
  assert_int_equal(info.filter, NAY_SST_BLOCK_FILTER);
  assert_true(info.filter_used);
  assert_string_equal(info.policy, "leveldb.BuiltinBloomFilter2");
}

/* Keys that are there, then keys that are not. */
static void check_keys(const golden_table *g, const nay_sst *t) {
  nay_sst_value v = {.size = sizeof v};
  uint8_t *key = malloc(GOLDEN_KEY_MAX);
  golden_key make = golden_set(g->set);
  bool dups = g->nentries > g->n;
  for (unsigned i = 0; i < g->n; i++) {
    char want[16];
    size_t len = make(i, key);
    bool deleted = dups && i % 10 == 0;
    assert_status(nay_sst_get(t, key, len, NAY_SST_NEWEST, NULL, &v),
                  deleted ? NAY_ENOENT : NAY_OK);
    assert_int_equal(v.deleted, deleted);
    if (g->internal) assert_true(v.sequence != 0);
    if (strcmp(g->set, "str") != 0 || v.deleted) continue; /* for str the rank is the number */
    int n = snprintf(want, sizeof want, "%c%u", dups && i % 5 == 0 ? 'w' : 'v', i);
    assert_int_equal(v.len, n);
    assert_memory_equal(v.bytes, want, v.len);
  }
  for (unsigned i = 0; i < 2000; i++) {
    assert_status(nay_sst_get(t, key, golden_abs(i, key), NAY_SST_NEWEST, NULL, &v), NAY_ENOENT);
  }
  free(key);
  nay_sst_value_free(&v);
}

static void check_again(const golden_table *g, const nay_sst *t, const nay_policy *policy) {
  char golden[512], path[TEMP_MAX];
  nay_sst_write_options how = {.size = sizeof how,
                               .keys = g->internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN,
                               .block_bytes = g->block_bytes,
                               .codec = g->snappy ? &snappy_codec : NULL,
                               .filter = NAY_SST_BLOCK_FILTER,
                               .policy = policy};
  assert_int_equal(sample_copy_table(t, temp_path(path, "golden.ldb"), &how), g->nentries);
  sample_same_file(path, path_of(g, golden));
  unlink(path);
}

static void golden_tables(void **unused) {
  (void)unused;
  for (size_t i = 0; i < N_TABLES; i++) {
    nay_policy policy = {.size = sizeof policy};
    const nay_policy *policies[] = {&policy};
    assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, tables[i].bits, &policy));
    for (unsigned flags = 0; flags <= NAY_SST_PREAD; flags += NAY_SST_PREAD) {
      nay_sst *t = open_golden(&tables[i], policies, flags);
      check_info(&tables[i], t);
      check_keys(&tables[i], t);
      if (flags == 0) check_again(&tables[i], t, &policy);
      nay_sst_free(t);
    }
  }
}

/* Older versions are there for those who ask for an earlier moment. */
static void versions(void **unused) {
  (void)unused;
  nay_policy policy = {.size = sizeof policy};
  const nay_policy *policies[] = {&policy};
  nay_sst_value v = {.size = sizeof v};
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, 10, &policy));
  nay_sst *t = open_golden(&tables[N_TABLES - 1], policies, 0);
  assert_ok(nay_sst_get(t, "key000005", 9, NAY_SST_NEWEST, NULL, &v));
  assert_memory_equal(v.bytes, "w5", 2);
  uint64_t newest = v.sequence;
  assert_ok(nay_sst_get(t, "key000005", 9, newest - 1, NULL, &v));
  assert_memory_equal(v.bytes, "v5", 2);
  assert_true(v.sequence < newest);
  assert_status(nay_sst_get(t, "key000005", 9, v.sequence - 1, NULL, &v), NAY_ENOENT);
  assert_status(nay_sst_get(t, "key000010", 9, NAY_SST_NEWEST, NULL, &v), NAY_ENOENT);
  assert_true(v.deleted);
  assert_ok(nay_sst_get(t, "key000010", 9, v.sequence - 1, NULL, &v));
  assert_false(v.deleted);
  nay_sst_value_free(&v);
  nay_sst_free(t);
}

static void without_the_codec(void **unused) {
  (void)unused;
  char path[512];
  nay_sst *t;
  nay_sst_value v = {.size = sizeof v};
  nay_diag diag = {.what = NULL};
  path_of(&tables[10], path);
  nay_status status = nay_sst_open(path, NULL, NULL, &diag, &t);
  if (status ==
      NAY_OK) { /* the index is not compressed here: it is the blocks that cannot be read */
    status = nay_sst_get(t, "key000005", 9, NAY_SST_NEWEST, &diag, &v);
    nay_sst_value_free(&v);
    nay_sst_free(t);
  }
  assert_status(status, NAY_ENOTSUP);
  assert_string_equal(diag.what, "a block is compressed, and no codec was given for it");
}

int main(void) {
  const test_case tests[] = {TEST(golden_tables), TEST(versions), TEST(without_the_codec)};
  return run_all(tests);
}

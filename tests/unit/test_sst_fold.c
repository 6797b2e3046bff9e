/*
 * test_sst_fold.c - filters of a comparator that calls other bytes the same key: by a policy that
 * ignores the same bytes, and by no other filter.
 */
#include "nay_sst_cache.h"
#include "nay_sst_compact.h"
#include "nay_sst_lookup.h"
#include "nay_sst_memtable.h"
#include "support/fold_policy.h"
#include "support/sst_numbers.h"

#define N_KEYS 600u

/* "key" of number i with letters in the case that the bits of `upper` say. */
static size_t mixed_key(unsigned i, unsigned upper, char key[32]) {
  int len = snprintf(key, 32, "k%02xey%06x", i % 7, i);
  for (int k = 0; k < len; k++) {
    if (key[k] >= 'a' && key[k] <= 'z' && (upper >> k % 16 & 1) != 0) key[k] = (char)(key[k] - 32);
  }
  return (size_t)len;
}

static int by_fold(const void *a, const void *b) {
  char x[32], y[32];
  size_t n = mixed_key(*(const unsigned *)a, 0, x), m = mixed_key(*(const unsigned *)b, 0, y);
  return fold_compare(NULL, x, n, y, m);
}

static void write_mixed(const char *path, const nay_sst_write_options *how, unsigned parity) {
  unsigned numbers[N_KEYS];
  nay_sst_writer *w;
  for (unsigned i = 0; i < N_KEYS; i++) numbers[i] = 2 * i + parity;
  qsort(numbers, N_KEYS, sizeof *numbers, by_fold);
  assert_ok(nay_sst_writer_new(path, how, NULL, NULL, &w));
  for (unsigned i = 0; i < N_KEYS; i++) {
    char key[32];
    size_t len = mixed_key(numbers[i], (unsigned)nay_hash_mix(i), key);
    nay_sst_entry v = {sizeof v, key, len, .sequence = 1 + parity};
    if (how->keys == NAY_SST_KEYS_INTERNAL) {
      assert_ok(nay_sst_writer_add_entry(w, &v, key, len, NULL));
    } else {
      assert_ok(nay_sst_writer_add(w, key, len, key, len, NULL));
    }
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
}

/* Every key in another case than it was written in; and absent ones. */
static void check_gets(const nay_sst *t, unsigned parity, bool filtered) {
  nay_sst_value v = {.size = sizeof v};
  nay_sst_counters before = counters_of(t), after;
  for (unsigned i = 0; i < 2 * N_KEYS; i++) {
    char key[32];
    size_t len = mixed_key(i, (unsigned)nay_hash_mix(77 * i), key);
    nay_status status = nay_sst_get(t, key, len, NAY_SST_NEWEST, NULL, &v);
    assert_status(status, i % 2 == parity ? NAY_OK : NAY_ENOENT);
    if (status == NAY_OK) assert_int_equal(fold_compare(NULL, v.bytes, v.len, key, len), 0);
    if (status == NAY_OK) assert_true(nay_sst_may_contain(t, key, len));
  }
  after = counters_of(t);
  uint64_t useful = after.filter_useful - before.filter_useful;
  assert_int_equal(info_of(t).filter_used, filtered);
  if (filtered) assert_true(useful > N_KEYS * 9 / 10);
  if (!filtered) assert_int_equal(useful, 0);
  assert_int_equal(after.filter_faults, 0);
  nay_sst_value_free(&v);
}

static void a_policy_that_ignores_the_same_bytes(void **state) {
  (void)state;
  const nay_sst_filter_layout layouts[] = {NAY_SST_BLOCK_FILTER, NAY_SST_FULL_FILTER,
                                           NAY_SST_PARTITIONED_FILTER};
  char path[TEMP_MAX];
  nay_policy inner, policy = fold_policy(10, &inner);
  const nay_policy *policies[] = {&policy};
  nay_sst_cache *cache;
  temp_path(path, "folded.ldb");
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1u << 20, 1u << 19, true}, NULL, NULL,
      &cache));
  for (unsigned i = 0; i < 24; i++) {
    nay_sst_write_options how = {
        sizeof how,          .keys = i / 3 % 2 ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN,
        .block_bytes = 300,  .filter = layouts[i % 3],
        .policy = &policy,   .partition_keys = 100,
        .comparator = &fold, .properties = i >= 12};
    nay_sst_read_options read = {
        sizeof read,    .policies = policies,
        .npolicies = 1, .comparator = &fold,
        .cache = cache, .flags = i / 6 % 2 ? NAY_SST_BUDGETED | NAY_SST_PREAD : 0};
    write_mixed(path, &how, 1);
    nay_sst *t = open_table(path, &read);
    check_gets(t, 1, true);
    nay_sst_free(t);
    read.npolicies = 0; /* unknown: left out */
    t = open_table(path, &read);
    check_gets(t, 1, false);
    nay_sst_free(t);
  }
  nay_sst_cache_free(cache);
  unlink(path);
}

/* A reader whose policy does not name the comparator leaves its filters out. */
static void other_policies_are_left_out(void **state) {
  (void)state;
  char path[TEMP_MAX];
  nay_policy inner, policy = fold_policy(10, &inner), other[3] = {policy, policy, policy};
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .policy = &policy,
                               .comparator = &fold};
  write_mixed(temp_path(path, "folded.ldb"), &how, 0);
  other[0].comparator = NULL;
  other[1].comparator = "test.other";
  other[2] = inner; /* hashes bytes: would deny keys */
  other[2].name = FOLD_POLICY_NAME;
  other[2].comparator = fold.name;
  for (unsigned i = 0; i < 3; i++) {
    const nay_policy *policies[] = {&other[i]};
    nay_sst_read_options read = {sizeof read, .policies = policies, .npolicies = 1,
                                 .comparator = &fold};
    nay_sst *t = open_table(path, &read);
    check_gets(t, 0, false);
    nay_sst_free(t);
  }
  unlink(path);
}

static void refused(void **state) {
  (void)state;
  nay_policy inner, policy = fold_policy(10, &inner), bare = policy, other = policy,
                    creates = policy, probes = policy;
  nay_policy library = inner, small = {.size = sizeof small};
  nay_sst_prefix prefix = {.size = sizeof prefix};
  nay_sst_writer *w;
  assert_ok(nay_sst_prefix_find("nay.fixed.2", &prefix));
  assert_ok(nay_policy_find(NAY_POLICY_SMALL, 10, &small));
  bare.comparator = NULL;
  other.comparator = "test.unfold";
  creates.create = inner.create;
  probes.may_contain = inner.may_contain;
  library.comparator = small.comparator = fold.name;
  const nay_policy *bad[] = {&bare, &other, &creates, &probes, &library, &small, NULL};
  for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
    for (unsigned filter = NAY_SST_BLOCK_FILTER; filter <= NAY_SST_PARTITIONED_FILTER; filter++) {
      nay_diag diag = {.what = NULL};
      nay_sst_write_options how = {sizeof how, .filter = (nay_sst_filter_layout)filter,
                                   .policy = bad[i], .comparator = &fold};
      assert_status(nay_sst_writer_new("never", &how, NULL, &diag, &w), NAY_EINVAL);
      assert_non_null(diag.what);
    }
  }
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_BLOCK_FILTER, .policy = &policy,
                               .comparator = &fold, .prefix = &prefix};
  assert_status(nay_sst_writer_new("never", &how, NULL, NULL, &w), NAY_EINVAL);
  how = (nay_sst_write_options){sizeof how, .prefix = &prefix, .comparator = &fold};
  assert_status(nay_sst_writer_new("never", &how, NULL, NULL, &w), NAY_EINVAL);
}

/* Lookups, batches, a memtable and a compaction over such tables. */
static void many_tables(void **state) {
  (void)state;
  char paths[3][TEMP_MAX];
  nay_policy inner, policy = fold_policy(12, &inner);
  const nay_policy *policies[] = {&policy};
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL,
                               .filter = NAY_SST_FULL_FILTER, .policy = &policy,
                               .comparator = &fold};
  nay_sst_read_options read = {sizeof read, .keys = NAY_SST_KEYS_INTERNAL, .policies = policies,
                               .npolicies = 1, .comparator = &fold};
  nay_sst_memtable *m;
  nay_sst_lookup *l;
  write_mixed(temp_path(paths[0], "fold0.ldb"), &how, 0);
  assert_ok(nay_sst_memtable_new(&fold, NULL, NULL, &m));
  for (unsigned i = 1; i < 2 * N_KEYS; i += 2) {
    char key[32];
    nay_sst_entry v = {sizeof v, key, mixed_key(i, i, key), .sequence = 9};
    assert_ok(nay_sst_memtable_add(m, &v, key, v.len, NULL));
  }
  assert_ok(nay_sst_memtable_write(m, temp_path(paths[1], "fold1.ldb"), &how, NULL));
  nay_sst_memtable_free(m);
  const nay_sst *t[3] = {open_table(paths[1], &read), open_table(paths[0], &read)};
  nay_sst_compact_options compact = {sizeof compact, .write = &how};
  assert_ok(nay_sst_compact(t, 2, temp_path(paths[2], "fold2.ldb"), &compact, NULL, NULL, NULL));
  t[2] = open_table(paths[2], &read);
  assert_true(info_of(t[2]).filter_used);
  for (unsigned of = 0; of < 2; of++) { /* two tables, and the one they became */
    nay_sst_value values[64];
    nay_status statuses[64];
    char text[64][32];
    const void *keys[64];
    size_t lens[64];
    assert_ok(nay_sst_lookup_new(
        &(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), t + 2 * of, 2 - of, false}, 1, NULL,
        NULL, NULL, &l));
    for (unsigned i = 0; i < 64; i++) {
      lens[i] = mixed_key(i * 37 % (2 * N_KEYS + 20), 0xa5a5 ^ i, text[i]);
      keys[i] = text[i];
      values[i] = (nay_sst_value){.size = sizeof values[i]};
    }
    assert_ok(nay_sst_lookup_get_many(l, keys, lens, 64, NAY_SST_MAX_SEQUENCE, NULL, values,
                                      statuses, NULL));
    for (unsigned i = 0; i < 64; i++) {
      bool there = i * 37 % (2 * N_KEYS + 20) < 2 * N_KEYS;
      assert_status(statuses[i], there ? NAY_OK : NAY_ENOENT);
      assert_status(nay_sst_lookup_get(l, keys[i], lens[i], NAY_SST_NEWEST, NULL, &values[i], NULL),
                    statuses[i]);
      nay_sst_value_free(&values[i]);
    }
    nay_sst_lookup_free(l);
  }
  for (unsigned i = 0; i < 3; i++) {
    nay_sst_free((nay_sst *)(uintptr_t)t[i]);
    unlink(paths[i]);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(a_policy_that_ignores_the_same_bytes),
      TEST(other_policies_are_left_out),
      TEST(refused),
      TEST(many_tables),
  };
  return run_all(tests);
}

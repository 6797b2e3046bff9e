/*
 * test_engine_leveldb.c - against the real LevelDB: the same bytes from the same keys, and the same
 * answer from every filter, whoever wrote it and whatever happened to it since.
 */
#include "engines.h"
#include "nay_policy.h"
#include "random_set.h"

#define N_SETS 5000
#define N_DAMAGED 10000
#define N_PROBES 64

static golden_bytes theirs(const random_set *set) {
  golden_bytes filter = {NULL, 0};
  filter.at = engine_leveldb_create(set->bits_per_key, set->keys, set->lens, set->n, &filter.len);
  assert_non_null(filter.at);
  return filter;
}

static nay_filter *ours_by_new(const random_set *set) {
  nay_params p = {sizeof p, .nkeys = set->n, .bits_per_key = set->bits_per_key};
  nay_filter *f;
  assert_ok(nay_format_new(nay_format_find("leveldb"), &p, NULL, NULL, &f));
  assert_ok(nay_filter_add_many(f, (const void *const *)set->keys, set->lens, set->n, NULL, NULL));
  return f;
}

static nay_filter *ours_by_builder(const random_set *set) {
  nay_params p = {sizeof p, .bits_per_key = set->bits_per_key};
  nay_builder *b;
  nay_filter *f;
  assert_ok(nay_format_builder_new(nay_format_find("leveldb"), &p, NULL, NULL, &b));
  for (size_t i = 0; i < set->n; i++) assert_ok(nay_builder_add(b, set->keys[i], set->lens[i]));
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  return f;
}

static nay_policy ours_as_policy(int bits_per_key) {
  nay_policy policy = {.size = sizeof policy};
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, (uint32_t)bits_per_key, &policy));
  return policy;
}

static void check_policy_bytes(const random_set *set, const golden_bytes *want) {
  nay_policy policy = ours_as_policy(set->bits_per_key);
  golden_bytes made = {NULL, 0};
  assert_ok(policy.create(policy.ctx, (const void *const *)set->keys, set->lens, set->n, NULL,
                          &made.at, &made.len));
  assert_int_equal(made.len, want->len);
  assert_memory_equal(made.at, want->at, want->len);
  free(made.at);
}

/* All readers on the same bytes. */
static void check_answers(const uint8_t *filter, size_t len, const random_set *set,
                          uint64_t *state) {
  nay_view view = {.size = sizeof view};
  assert_ok(nay_format_view(nay_format_find("leveldb"), filter, len, 0, NULL, &view));
  const nay_filter *f = nay_view_filter(&view);
  nay_policy policy = ours_as_policy(10);
  for (unsigned i = 0; i < N_PROBES; i++) {
    uint8_t absent[MAX_KEY_LEN];
    size_t key_len;
    const uint8_t *key = draw_probe(set, i % 2 == 0, state, absent, &key_len);
    bool want = engine_leveldb_may_match(key, key_len, filter, len);
    if (nay_filter_may_contain(f, key, key_len) != want ||
        policy.may_contain(policy.ctx, key, key_len, filter, len) != want) {
      fail_msg("set %llu, probe %u: LevelDB says %d", (unsigned long long)set->seed, i, want);
    }
  }
}

static void the_same_bytes(void **unused) {
  (void)unused;
  random_set *set = malloc(sizeof *set);
  assert_non_null(set);
  for (uint64_t seed = 0; seed < N_SETS; seed++) {
    uint64_t state = ~seed;
    draw_set(set, seed, MAX_KEYS);
    golden_bytes filter = theirs(set);
    golden_assert_encodes(ours_by_new(set), filter.at, filter.len);
    golden_assert_encodes(ours_by_builder(set), filter.at, filter.len);
    check_policy_bytes(set, &filter);
    check_answers(filter.at, filter.len, set, &state);
    for (size_t i = 0; i < set->n; i++) {
      assert_true(engine_leveldb_may_match(set->keys[i], set->lens[i], filter.at, filter.len));
    }
    free(filter.at);
  }
  free(set);
}

static void the_same_answers_from_damaged_filters(void **unused) {
  (void)unused;
  random_set *set = malloc(sizeof *set);
  assert_non_null(set);
  for (uint64_t seed = 0; seed < N_DAMAGED; seed++) {
    uint64_t state = nay_hash_mix(~seed);
    draw_set(set, seed, 60);
    golden_bytes filter = theirs(set);
    size_t cap = filter.len + 32;
    filter.at = realloc(filter.at, cap);
    assert_non_null(filter.at);
    size_t len = damage(filter.at, filter.len, cap, &state);
    uint8_t *exact = malloc(len + 1); /* the filter at an odd address, nothing after it */
    assert_non_null(exact);
    if (len != 0) memcpy(exact + 1, filter.at, len);
    check_answers(exact + 1, len, set, &state);
    free(exact);
    free(filter.at);
  }
  free(set);
}

static golden_bytes theirs_from_golden_set(golden_key make, size_t n, int bits_per_key) {
  enum { ROOM = 512 };
  uint8_t *bytes = malloc(n * ROOM + 1);
  const uint8_t **keys = malloc((n + 1) * sizeof *keys);
  size_t *lens = malloc((n + 1) * sizeof *lens);
  assert_true(bytes != NULL && keys != NULL && lens != NULL);
  for (size_t i = 0; i < n; i++) {
    keys[i] = bytes + i * ROOM;
    lens[i] = make(i, bytes + i * ROOM);
    assert_true(lens[i] < ROOM);
  }
  golden_bytes made = {NULL, 0};
  made.at = engine_leveldb_create(bits_per_key, keys, lens, n, &made.len);
  assert_non_null(made.at);
  free(bytes);
  free(keys);
  free(lens);
  return made;
}

/* The stored files are what this LevelDB writes today. */
static void the_golden_files_made_again(void **unused) {
  (void)unused;
  golden_bytes table = golden_read(TEST_GOLDEN "/leveldb/positives.txt");
  char *rest = (char *)table.at, *line;
  unsigned files = 0;
  while ((line = golden_line(&rest)) != NULL) {
    char set[16], path[512];
    unsigned n, b;
    assert_int_equal(sscanf(line, "filter_%15[^_]_n%u_b%u.bin", set, &n, &b), 3);
    snprintf(path, sizeof path, TEST_GOLDEN "/leveldb/filter_%s_n%u_b%u.bin", set, n, b);
    golden_bytes stored = golden_read(path);
    golden_bytes made = theirs_from_golden_set(golden_set(set), n, (int)b);
    assert_int_equal(made.len, stored.len);
    assert_memory_equal(made.at, stored.at, stored.len);
    free(made.at);
    free(stored.at);
    files++;
  }
  assert_int_equal(files, 27);
  free(table.at);
}

int main(void) {
  const test_case tests[] = {
      TEST(the_same_bytes),
      TEST(the_same_answers_from_damaged_filters),
      TEST(the_golden_files_made_again),
  };
  return run_all(tests);
}

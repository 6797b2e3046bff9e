/*
 * test_rocksdb.c - RocksDB's filter blocks: the golden ones rebuilt byte for byte from their keys,
 * its reader's answers on odd blocks, sizes, and what the three layouts can and cannot do.
 * tests/engines asks the live library.
 */
#include "golden/golden.h"
#include "support/exercise.h"
#include "support/flaky.h"
#include "support/keys.h"

static const char *const layouts[] = {"rocksdb-bloom", "rocksdb-legacy", "rocksdb-ribbon"};
#define N_LAYOUTS (sizeof layouts / sizeof layouts[0])

static nay_filter *decode(const char *name, const void *bytes, size_t len) {
  nay_filter *f;
  assert_ok(nay_format_decode(nay_format_find(name), bytes, len, 0, NULL, NULL, &f));
  return f;
}

/* ---- golden files ---- */

static const char *format_of_file(const char *kind) {
  if (strcmp(kind, "fastlocal") == 0) return "rocksdb-bloom";
  return strcmp(kind, "legacy") == 0 ? "rocksdb-legacy" : "rocksdb-ribbon";
}

static void check_file(const char *line) {
  char kind[16], set[16], path[512];
  unsigned n;
  double b;
  int name_len = 0;
  assert_int_equal(sscanf(line, "filter_%15[^_]_%15[^_]_n%u_b%lf", kind, set, &n, &b), 4);
  name_len = (int)(strstr(line, ".bin") - line) + 4;
  snprintf(path, sizeof path, TEST_GOLDEN "/rocksdb/%.*s", name_len, line);
  const nay_format *format = nay_format_find(format_of_file(kind));
  golden_bytes stored = golden_read(path);
  golden_assert_encodes(golden_by_builder(format, golden_set(set), n, b), stored.at, stored.len);
  if (strcmp(kind, "ribbon") != 0) {
    golden_assert_encodes(golden_by_new(format, golden_set(set), n, b), stored.at, stored.len);
  }
  for (size_t i = 0; i < N_LAYOUTS; i++) { /* whatever it is called: its own bytes decide */
    nay_filter *f = decode(layouts[i], stored.at, stored.len), *copy;
    golden_check_members(f, golden_set(set), n);
    golden_check_positives(f, line + name_len);
    assert_ok(nay_filter_copy(f, NULL, NULL, &copy));
    golden_assert_encodes(f, stored.at, stored.len);
    golden_assert_encodes(copy, stored.at, stored.len);
  }
  free(stored.at);
}

static void golden_filters(void **state) {
  (void)state;
  golden_bytes table = golden_read(TEST_GOLDEN "/rocksdb/positives.txt");
  char *rest = (char *)table.at, *line;
  unsigned files = 0;
  while ((line = golden_line(&rest)) != NULL) {
    check_file(line);
    files++;
  }
  assert_int_equal(files, 62);
  free(table.at);
}

static void reader_edge_cases(void **state) {
  assert_int_equal(golden_check_edge_cases(*state, TEST_GOLDEN "/rocksdb/edge_cases.txt"), 36);
}

/* ---- sizes ---- */

static nay_plan plan_of(const char *name, uint64_t n, double bits_per_key) {
  nay_params p = {sizeof p, .nkeys = n, .bits_per_key = bits_per_key};
  nay_plan plan = {.size = sizeof plan};
  assert_ok(nay_format_plan(nay_format_find(name), &p, NULL, &plan));
  return plan;
}

/* A plan is what is built; the size of a ribbon moves by a segment with the first hash. */
static void plans_are_what_is_built(void **state) {
  const nay_format *format = nay_format_find(*state);
  bool ribbon = strcmp(*state, "rocksdb-ribbon") == 0;
  static const unsigned counts[] = {0, 1, 2, 50, 100, 248, 250, 500, 1000, 5000, 20000};
  static const double bits[] = {0.5, 1, 5, 9.9, 10, 16.5, 30, 100};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    for (size_t j = 0; j < sizeof bits / sizeof bits[0]; j++) {
      nay_plan plan = plan_of(*state, counts[i], bits[j]);
      nay_filter *f = golden_by_builder(format, golden_str, counts[i], bits[j]);
      uint64_t size = nay_format_encoded_size(format, f);
      uint64_t near = size > plan.nbytes_file ? size - plan.nbytes_file : plan.nbytes_file - size;
      if (near > (ribbon ? 16 : 0)) {
        fail_msg("n %u, %g bits: planned %u, is %u", counts[i], bits[j], (unsigned)plan.nbytes_file,
                 (unsigned)size);
      }
      nay_stats stats = {.size = sizeof stats};
      assert_ok(nay_filter_stats(f, &stats));
      assert_int_equal(stats.nkeys, counts[i]);
      if (counts[i] >= 1000 && bits[j] >= 1 && bits[j] <= 17) {
        assert_close(stats.nkeys_estimated, counts[i], 0.08);
        assert_close(stats.fpr_now, plan.fpr, 0.25);
      }
      nay_filter_free(f);
    }
  }
}

/* 10 bits: 0.96 % by RocksDB's own estimate, 0.9 % by the exact sum; ribbon saves 30 % of it. */
static void rates(void **state) {
  (void)state;
  nay_plan bloom = plan_of("rocksdb-bloom", 100000, 10),
           ribbon = plan_of("rocksdb-ribbon", 100000, 10);
  assert_int_equal(bloom.kind, NAY_BLOCKED);
  assert_int_equal(ribbon.kind, NAY_RIBBON);
  assert_close(bloom.fpr, 0.0095, 0.06);
  assert_close(ribbon.fpr, 0.0095, 0.06);
  assert_true(ribbon.nbytes_file * 100 < bloom.nbytes_file * 72);
  nay_params p = {sizeof p, .nkeys = 100000, .fpr = 0.01};
  assert_ok(nay_format_plan(nay_format_find("rocksdb-bloom"), &p, NULL, &bloom));
  assert_ok(nay_format_plan(nay_format_find("rocksdb-ribbon"), &p, NULL, &ribbon));
  assert_true(bloom.fpr <= 0.01 && bloom.fpr > 0.009);
  assert_true(ribbon.fpr <= 0.0101 && ribbon.fpr > 0.009);
}

static void measured_rates(void **state) {
  const nay_format *format = nay_format_find(*state);
  uint8_t key[GOLDEN_KEY_MAX];
  nay_filter *f = golden_by_builder(format, golden_str, 20000, 10);
  unsigned maybes = 0;
  for (uint64_t i = 0; i < 100000; i++)
    maybes += nay_filter_may_contain(f, key, golden_abs(i, key));
  bool legacy = strcmp(*state, "rocksdb-legacy") == 0;
  nay_stats stats = {.size = sizeof stats};
  assert_ok(nay_filter_stats(f, &stats));
  if (legacy) assert_true(maybes > 1000 * stats.fpr_now * 100 && maybes < 1400); /* a progression */
  if (!legacy) assert_close(maybes, stats.fpr_now * 100000, 0.12);
  nay_filter_free(f);
}

static void wrong_params_are_refused(void **state) {
  const nay_format *format = nay_format_find(*state);
  static const struct {
    const char *field;
    nay_params p;
  } cases[] = {
      {"bits_per_key", {.nkeys = 9, .bits_per_key = 0.4}},
      {"bits_per_key", {.nkeys = 9, .bits_per_key = 100.5}},
      {"fpr", {.nkeys = 9, .fpr = 1e-30}},
      {"kind", {.nkeys = 9, .bits_per_key = 10, .kind = NAY_BLOOM}},
      {"nkeys", {.nkeys = UINT64_C(1) << 40, .bits_per_key = 10}},
      {"seed", {.nkeys = 9, .bits_per_key = 10, .seed = 4}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    nay_plan plan = {.size = sizeof plan};
    nay_diag diag = {.offset = 1, .os_error = 1};
    nay_params p = cases[i].p;
    p.size = sizeof p;
    assert_status(nay_format_plan(format, &p, &diag, &plan), NAY_EINVAL);
    if (strstr(diag.what, cases[i].field) == NULL) fail_msg("%s: %s", cases[i].field, diag.what);
  }
}

/* ---- adding, joining ---- */

/* RocksDB drops a key whose hash is that of the one before it, and no other. */
static void repeats_beside_each_other_are_dropped(void **state) {
  const nay_format *format = nay_format_find(*state);
  nay_filter *twice = golden_by_builder(format, golden_str, 0, 10);
  nay_filter_free(twice);
  nay_params p = {sizeof p, .bits_per_key = 10};
  nay_builder *b;
  nay_filter *f;
  uint8_t key[GOLDEN_KEY_MAX];
  assert_ok(nay_format_builder_new(format, &p, NULL, NULL, &b));
  for (uint64_t i = 0; i < 6000; i++) assert_ok(nay_builder_add(b, key, golden_twice(i, key)));
  assert_int_equal(nay_builder_nkeys(b), 3000);
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_filter *once = golden_by_builder(format, golden_str, 3000, 10);
  golden_bytes bytes = golden_encode(once);
  golden_assert_encodes(f, bytes.at, bytes.len);
  for (uint64_t round = 0; round < 2; round++) { /* apart, they count */
    for (uint64_t i = 0; i < 3000; i++) assert_ok(nay_builder_add(b, key, golden_str(i, key)));
  }
  assert_int_equal(nay_builder_nkeys(b), 6000);
  assert_ok(nay_builder_finish(b, NULL, &f));
  assert_true(nay_format_encoded_size(format, f) > bytes.len * 3 / 2);
  golden_check_members(f, golden_str, 3000);
  free(bytes.at);
  nay_filter_free(f);
  nay_filter_free(once);
  nay_builder_free(b);
}

static void blooms_merge_and_clear(void **state) {
  const nay_format *format = nay_format_find(*state);
  nay_params p = {sizeof p, .nkeys = 3000, .bits_per_key = 10};
  nay_filter *a, *b, *both = golden_by_new(format, golden_str, 3000, 10);
  uint8_t key[GOLDEN_KEY_MAX];
  assert_ok(nay_format_new(format, &p, NULL, NULL, &a));
  assert_ok(nay_format_new(format, &p, NULL, NULL, &b));
  golden_bytes empty = golden_encode(b), expected = golden_encode(both);
  for (uint64_t i = 0; i < 3000; i++) {
    bool is_new;
    assert_ok(nay_filter_add(i % 2 == 0 ? a : b, key, golden_str(i, key), &is_new));
    assert_ok(nay_filter_add(i % 2 == 0 ? a : b, key, golden_str(i, key), &is_new));
    assert_false(is_new);
  }
  assert_ok(nay_filter_merge(a, b, 1, NULL));
  golden_assert_encodes(a, expected.at, expected.len);
  assert_ok(nay_filter_intersect(b, both, NULL));
  assert_true(nay_filter_may_contain(b, key, golden_str(1, key)));
  assert_ok(nay_filter_clear(b));
  golden_assert_encodes(b, empty.at, empty.len);
  nay_filter_free(both);
  free(empty.at);
  free(expected.at);
}

static void ribbon_is_static(void **state) {
  (void)state;
  nay_params p = {sizeof p, .nkeys = 3000, .bits_per_key = 10};
  nay_diag diag = {.offset = 1, .os_error = 1};
  nay_filter *f = NULL,
             *ribbon = golden_by_builder(nay_format_find("rocksdb-ribbon"), golden_str, 3000, 10);
  assert_status(nay_format_new(nay_format_find("rocksdb-ribbon"), &p, NULL, &diag, &f),
                NAY_ENOTSUP);
  assert_non_null(strstr(diag.what, "builder"));
  assert_status(nay_filter_add(ribbon, "foo", 3, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_clear(ribbon), NAY_ENOTSUP);
  nay_filter_free(ribbon);
}

/* A small ribbon is a Bloom filter, in RocksDB and here, and is written under either name. */
static void small_ribbons_are_blooms(void **state) {
  (void)state;
  const nay_format *ribbon = nay_format_find("rocksdb-ribbon"),
                   *bloom = nay_format_find("rocksdb-bloom");
  nay_filter *f = golden_by_builder(ribbon, golden_str, 50, 10);
  uint8_t bytes[256];
  size_t written;
  assert_ptr_equal(nay_filter_format(f), bloom);
  assert_ok(nay_format_encode(ribbon, f, bytes, sizeof bytes, &written));
  assert_int_equal(written, 69);
  assert_status(nay_format_encode(nay_format_find("leveldb"), f, bytes, sizeof bytes, &written),
                NAY_EMISMATCH);
  nay_filter_free(f);
}

static void batches_agree(void **state) {
  const nay_format *format = nay_format_find(*state);
  enum { N = 1000 };
  static uint8_t keys[N][16];
  const void *at[N];
  size_t lens[N];
  uint64_t bitmap[(N + 63) / 64];
  nay_filter *f =
      golden_by_builder(format, golden_str, 500000 / 2, 16); /* above the cache's size */
  for (uint64_t i = 0; i < N; i++) {
    at[i] = keys[i];
    lens[i] = i % 2 == 0 ? golden_str(i, keys[i]) : golden_abs(i, keys[i]);
  }
  assert_ok(nay_filter_may_contain_many(f, at, lens, N, bitmap));
  for (uint64_t i = 0; i < N; i++) {
    assert_int_equal(bitmap[i / 64] >> (i % 64) & 1, nay_filter_may_contain(f, at[i], lens[i]));
  }
  nay_filter_free(f);
}

/* ---- strange bytes ---- */

/* Any bytes are a filter, safe to ask, and stay as they are. */
static void any_bytes_are_safe(void **state) {
  const nay_format *format = nay_format_find(*state);
  for (uint64_t round = 0; round < 20000; round++) {
    uint64_t r = nay_hash_mix(round);
    size_t len = r % 200;
    uint8_t *bytes = malloc(len + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < len; i++) bytes[i] = (uint8_t)nay_hash_mix(round << 8 | i);
    uint8_t *trailer = bytes + len - 5;
    if (len > 5 && round % 4 != 0) { /* plausible trailers, the numbers in them anything */
      static const uint8_t which[] = {0xff, 0xfe, 6};
      trailer[0] = which[round % 4 - 1];
      trailer[1] = (uint8_t)(r >> 16 & 3);
      trailer[2] = (uint8_t)(r >> 20 & 31);
      if (round % 8 < 4) trailer[3] = trailer[4] = 0;
    }
    exercise_bytes(format, bytes, len, len, true);
    golden_assert_encodes(decode(*state, bytes, len), bytes, len);
    free(bytes);
  }
}

static void six_zeros_are_maybe_and_full(void **state) {
  static const uint8_t zeros[6] = {0}, none[5] = {0xff, 0, 6, 0, 0};
  nay_filter *f = decode(*state, zeros, 6);
  nay_stats stats = {.size = sizeof stats};
  assert_true(nay_filter_may_contain(f, "foo", 3));
  assert_ok(nay_filter_stats(f, &stats));
  assert_true(stats.fpr_now == 1);
  assert_status(nay_filter_add(f, "foo", 3, NULL), NAY_ENOTSUP);
  nay_filter_free(f);
  f = decode(*state, none, 5);
  assert_false(nay_filter_may_contain(f, "foo", 3));
  assert_ok(nay_filter_stats(f, &stats));
  assert_true(stats.fpr_now == 0);
  bool ribbon = strcmp(*state, "rocksdb-ribbon") == 0;
  assert_status(nay_filter_add(f, "foo", 3, NULL), ribbon ? NAY_ENOTSUP : NAY_EFULL);
  nay_filter_free(f);
}

/* Lines of 128 bytes, as a machine with such cache lines writes them. */
static void legacy_lines_of_other_lengths(void **state) {
  (void)state;
  uint8_t bytes[3 * 128 + 5] = {0};
  bytes[3 * 128] = 6;
  bytes[3 * 128 + 1] = 3;
  nay_filter *f = decode("rocksdb-legacy", bytes, sizeof bytes);
  uint8_t key[GOLDEN_KEY_MAX];
  for (uint64_t i = 0; i < 100; i++) assert_ok(nay_filter_add(f, key, golden_str(i, key), NULL));
  golden_check_members(f, golden_str, 100);
  nay_stats stats = {.size = sizeof stats};
  assert_ok(nay_filter_stats(f, &stats));
  assert_int_equal(stats.nbits, 3 * 1024);
  nay_filter_free(f);
}

static void no_memory(void **state) {
  const nay_format *format = nay_format_find(*state);
  nay_params p = {sizeof p, .bits_per_key = 10};
  for (long call = 1; call < 8; call++) { /* the builder's own is call 0 */
    flaky memory = {.fail_at = -1};
    nay_allocator allocator = flaky_allocator(&memory);
    nay_builder *b;
    nay_filter *f = NULL;
    uint8_t key[GOLDEN_KEY_MAX];
    assert_ok(nay_format_builder_new(format, &p, &allocator, NULL, &b));
    for (uint64_t i = 0; i < 2000; i++) assert_ok(nay_builder_add(b, key, golden_str(i, key)));
    memory.calls = 0;
    memory.fail_at = call - 1;
    nay_status status = nay_builder_finish(b, NULL, &f);
    if (status == NAY_ENOMEM) {
      assert_null(f);
      memory.fail_at = -1;
      assert_ok(nay_builder_finish(b, NULL, &f)); /* nothing was lost */
    } else {
      assert_ok(status);
    }
    golden_check_members(f, golden_str, 2000);
    nay_filter_free(f);
    nay_builder_free(b);
    assert_int_equal(memory.objects, 0);
  }
}

int main(void) {
  static const struct {
    const char *name;
    void (*run)(void **);
  } for_each[] = {
      {"reader_edge_cases", reader_edge_cases},
      {"plans_are_what_is_built", plans_are_what_is_built},
      {"measured_rates", measured_rates},
      {"wrong_params_are_refused", wrong_params_are_refused},
      {"repeats_beside_each_other_are_dropped", repeats_beside_each_other_are_dropped},
      {"batches_agree", batches_agree},
      {"any_bytes_are_safe", any_bytes_are_safe},
      {"six_zeros_are_maybe_and_full", six_zeros_are_maybe_and_full},
      {"no_memory", no_memory},
  };
  test_case tests[40] = {
      TEST(golden_filters),
      TEST(rates),
      TEST(ribbon_is_static),
      TEST(small_ribbons_are_blooms),
      TEST(legacy_lines_of_other_lengths),
      TEST_WITH("blooms_merge_and_clear rocksdb-bloom", blooms_merge_and_clear, "rocksdb-bloom"),
      TEST_WITH("blooms_merge_and_clear rocksdb-legacy", blooms_merge_and_clear, "rocksdb-legacy"),
  };
  size_t n = 7;
  static char names[40][64];
  for (size_t t = 0; t < sizeof for_each / sizeof for_each[0]; t++) {
    for (size_t i = 0; i < N_LAYOUTS; i++, n++) {
      snprintf(names[n], sizeof names[n], "%s %s", for_each[t].name, layouts[i]);
      tests[n] = (test_case)TEST_WITH(names[n], for_each[t].run, layouts[i]);
    }
  }
  return run_list("rocksdb", tests, n);
}

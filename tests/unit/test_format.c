/*
 * test_format.c - the calls of nay_format.h: the list, the params a layout takes, the filters it
 * makes, and what may be done with them.
 */
#include "golden/golden.h"
#include "support/hashes.h"
#include "support/keys.h"

static const char *const layouts[] = {"leveldb", "mini-lsm", "nori", "nori12", "lab"};
#define N_LAYOUTS (sizeof layouts / sizeof layouts[0])

static nay_filter *make(const char *name, uint64_t n, uint32_t bits_per_key) {
  nay_params p = {sizeof p, .nkeys = n, .bits_per_key = bits_per_key};
  nay_filter *f;
  assert_ok(nay_format_new(nay_format_find(name), &p, NULL, NULL, &f));
  return f;
}

static void add_range(nay_filter *f, uint64_t from, uint64_t to) {
  uint8_t key[KEY_MAX];
  for (uint64_t i = from; i < to; i++) {
    assert_ok(nay_filter_add(f, key, key_sequential(i, key), NULL));
  }
}

static unsigned maybes(const nay_filter *f, uint64_t from, uint64_t to) {
  uint8_t key[KEY_MAX];
  unsigned n = 0;
  for (uint64_t i = from; i < to; i++) n += nay_filter_may_contain(f, key, key_sequential(i, key));
  return n;
}

/* ---- the list ---- */

static void the_list(void **state) {
  (void)state;
  size_t n = 0;
  for (; nay_format_at(n) != NULL; n++) {
    const nay_format *format = nay_format_at(n);
    assert_ptr_equal(nay_format_find(nay_format_name(format)), format);
    assert_true(strlen(nay_format_about(format)) > 10);
    bool native = n == 0, dump = strncmp(nay_format_name(format), "redis-dump", 10) == 0;
    assert_int_equal((nay_format_traits(format) & NAY_FORMAT_MAGIC) != 0, native || dump);
    bool minilsm = strcmp(nay_format_name(format), "mini-lsm") == 0;
    assert_int_equal((nay_format_traits(format) & NAY_FORMAT_CHECKSUM) != 0,
                     native || minilsm || dump);
  }
  assert_true(n > N_LAYOUTS);
  assert_null(nay_format_at(SIZE_MAX));
  assert_null(nay_format_find("rocksdb-of-tomorrow"));
  assert_null(nay_format_find(""));
  assert_null(nay_format_find(NULL));
  assert_null(nay_filter_format(NULL));
}

/* One filter in a layout; NULL where it can only be read here. */
static nay_filter *small_filter(const nay_format *format) {
  nay_params p = {sizeof p, .nkeys = 100, .bits_per_key = 10};
  nay_builder *b;
  nay_filter *f;
  uint8_t key[KEY_MAX];
  if (nay_format_builder_new(format, &p, NULL, NULL, &b) != NAY_OK) return NULL;
  for (uint64_t i = 0; i < 100; i++) assert_ok(nay_builder_add(b, key, key_sequential(i, key)));
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  return f;
}

/* Bytes that say what they are, read under every other name: never a filter. */
static void no_name_overrides_a_magic_number(void **state) {
  (void)state;
  const nay_format *is, *named;
  unsigned npairs = 0;
  for (size_t i = 0; (is = nay_format_at(i)) != NULL; i++) {
    nay_filter *f = small_filter(is);
    if (f == NULL) continue;
    golden_bytes bytes = golden_encode(f);
    for (size_t j = 0; (named = nay_format_at(j)) != NULL; j++) {
      nay_filter *wrong = NULL;
      nay_view view = {.size = sizeof view};
      nay_diag diag = {.offset = 1, .os_error = 1};
      uint32_t of = nay_format_traits(is), less = of & ~nay_format_traits(named);
      bool certain = (of & NAY_FORMAT_MAGIC) != 0 || (less & NAY_FORMAT_CHECKSUM) != 0;
      if (named == is || !certain) continue;
      assert_status(nay_format_decode(named, bytes.at, bytes.len, 0, NULL, &diag, &wrong),
                    NAY_EFORMAT);
      assert_non_null(strstr(diag.what, nay_format_name(is)));
      assert_null(wrong);
      npairs++;
      assert_status(nay_format_view(named, bytes.at, bytes.len, 0, &diag, &view), NAY_EFORMAT);
    }
    free(bytes.at);
    nay_filter_free(f);
  }
  assert_true(npairs >= 2 * 12 + 9);
}

static void only_native_files_are_recognised(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_BLOOM, .nkeys = 100, .bits_per_key = 10};
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  golden_bytes bytes = golden_encode(f);
  for (size_t len = 0; len <= bytes.len; len++) {
    const nay_format *want = len < 8 ? NULL : nay_format_find("nay");
    assert_ptr_equal(nay_format_recognise(bytes.at, len, len, NULL), want);
  }
  bytes.at[3] ^= 1;
  assert_null(nay_format_recognise(bytes.at, bytes.len, bytes.len, NULL));
  assert_null(nay_format_recognise(NULL, 0, 0, NULL));
  assert_null(nay_format_recognise(NULL, 100, 100, NULL));
  free(bytes.at);
  nay_filter_free(f);
  for (size_t i = 0; i < N_LAYOUTS; i++) {
    f = golden_by_new(nay_format_find(layouts[i]), golden_str, 100, 10);
    bytes = golden_encode(f);
    assert_null(nay_format_recognise(bytes.at, bytes.len, bytes.len, NULL));
    free(bytes.at);
    nay_filter_free(f);
  }
}

/* ---- params ---- */

static void assert_params_refused(const nay_format *format, const nay_params *from,
                                  const char *field) {
  nay_params full = {.size = 0}, *p = from != NULL ? &full : NULL;
  if (from != NULL) full = *from;
  full.size = sizeof full;
  nay_diag diag = {.offset = 1, .os_error = 1};
  nay_plan plan = {.size = sizeof plan};
  nay_filter *f = NULL;
  nay_builder *b = NULL;
  assert_status(nay_format_plan(format, p, &diag, &plan), NAY_EINVAL);
  assert_non_null(diag.what);
  if (strstr(diag.what, field) == NULL) fail_msg("\"%s\" does not name %s", diag.what, field);
  assert_int_equal(diag.offset, 0);
  diag.what = NULL;
  assert_status(nay_format_new(format, p, NULL, &diag, &f), NAY_EINVAL);
  assert_non_null(diag.what);
  assert_status(nay_format_builder_new(format, p, NULL, &diag, &b), NAY_EINVAL);
  assert_status(nay_format_new(format, p, NULL, NULL, &f), NAY_EINVAL);
  assert_true(f == NULL && b == NULL);
}

static void wrong_params_name_the_field(void **state) {
  (void)state;
  const double nan = strtod("nan", NULL);
  const struct {
    const char *field;
    nay_params p;
  } cases[] = {
      {"bits_per_key", {.nkeys = 9, .bits_per_key = 10.5}},
      {"bits_per_key", {.nkeys = 9, .bits_per_key = 0.5}},
      {"bits_per_key", {.nkeys = 9, .bits_per_key = -10}},
      {"bits_per_key", {.nkeys = 9, .bits_per_key = 4097}},
      {"bits_per_key", {.nkeys = 9, .bits_per_key = nan}},
      {"bits_per_key", {.nkeys = 9}}, /* "set fpr, bits_per_key, ..." */
      {"fpr", {.nkeys = 9, .fpr = 1}},
      {"fpr", {.nkeys = 9, .fpr = -0.01}},
      {"fpr", {.nkeys = 9, .fpr = 0.01, .bits_per_key = 10}},
      {"nbytes", {.nkeys = 9, .nbytes = 64}},
      {"nbits", {.nkeys = 9, .nbits = 64}},
      {"k:", {.nkeys = 9, .bits_per_key = 10, .k = 7}},
      {"fold", {.nkeys = 9, .bits_per_key = 10, .fold = 2}},
      {"kind", {.nkeys = 9, .bits_per_key = 10, .kind = NAY_BLOCKED}},
      {"hash", {.nkeys = 9, .bits_per_key = 10, .hash = NAY_HASH_SIPHASH}},
      {"seed", {.nkeys = 9, .bits_per_key = 10, .seed = 1}},
      {"flags", {.nkeys = 9, .bits_per_key = 10, .flags = NAY_CONCURRENT}},
      {"flags", {.nkeys = 9, .bits_per_key = 10, .flags = NAY_STORE_KEY}},
      {"nkeys", {.nkeys = (UINT64_C(1) << 56) + 1, .bits_per_key = 1}},
      {"nkeys", {.nkeys = UINT64_C(1) << 56, .bits_per_key = 17}},
      {"nkeys", {.nkeys = UINT64_MAX, .bits_per_key = 1}},
  };
  for (size_t l = 0; l < N_LAYOUTS; l++) {
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      assert_params_refused(nay_format_find(layouts[l]), &cases[i].p, cases[i].field);
    }
    assert_params_refused(nay_format_find(layouts[l]), NULL, "params");
  }
}

static void limits_of_single_layouts(void **state) {
  (void)state;
  nay_plan plan = {.size = sizeof plan};
  const nay_params probes = {
      .size = sizeof probes, .nkeys = 1, .bits_per_key = 369}; /* 0.693 and ln 2 of it: 256 */
  assert_params_refused(nay_format_find("nori12"), &probes, "bits_per_key");
  assert_params_refused(nay_format_find("lab"), &probes, "bits_per_key");
  const nay_params huge = {sizeof huge, .nkeys = UINT64_C(1) << 32, .bits_per_key = 1};
  assert_params_refused(nay_format_find("mini-lsm"), &huge, "2^32");
  const nay_params most = {sizeof most, .nkeys = (UINT64_C(1) << 32) - 8, .bits_per_key = 1};
  assert_ok(nay_format_plan(nay_format_find("mini-lsm"), &most, NULL, &plan));
  assert_int_equal(plan.nbits, most.nkeys);
  assert_ok(nay_format_plan(nay_format_find("leveldb"), &huge, NULL, &plan));
  assert_int_equal(plan.nbits, huge.nkeys);
}

/* The sizes and probes that the documents' formulas give; see doc/formats. */
static void plans(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t n;
    double bits_per_key;
    uint64_t nbits, nbytes_file;
    uint32_t k;
  } cases[] = {
      {"leveldb", 0, 10, 64, 9, 6},
      {"leveldb", 1, 1, 64, 9, 1},
      {"leveldb", 100, 10, 1000, 126, 6},
      {"leveldb", 13, 5, 72, 10, 3},
      {"leveldb", 2, 50, 104, 14, 30},
      {"leveldb", 1, 44, 64, 9, 30},
      {"leveldb", 1, 43, 64, 9, 29},
      {"mini-lsm", 0, 10, 64, 13, 1},
      {"mini-lsm-week1", 0, 10, 64, 9, 1},
      {"mini-lsm-week1", 100, 10, 1000, 126, 6},
      {"mini-lsm", 100, 10, 1000, 130, 6},
      {"mini-lsm", 100, 7, 704, 93, 4},
      {"nori", 0, 10, 0, 16, 7},
      {"nori", 100000, 10, 1000000, 125016, 7},
      {"nori", 100, 12, 1200, 166, 9},
      {"nori", 100, 44, 4400, 566, 30},
      {"nori", 3, 1, 3, 17, 1},
      {"nori12", 0, 10, 0, 12, 7},
      {"nori12", 100, 10, 1024, 140, 7},
      {"nori12", 1, 1, 1, 13, 1},
      {"nori12", 3, 1, 4, 13, 1},
      {"nori12", 128, 8, 1024, 140, 6},
      {"nori12", 100, 50, 8192, 1036, 35},
      {"nori12-unrounded", 0, 10, 0, 12, 7},
      {"nori12-unrounded", 100, 10, 1000, 137, 7},
      {"lab", 0, 10, 0, 12, 7},
      {"lab", 1000000, 10, 10000000, 1250012, 7},
      {"lab", 100, 1, 100, 25, 1},
      {"lab", 100, 20, 2000, 262, 14},
      {"lab", 100, 16, 1600, 212, 11},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    nay_params p = {sizeof p, .nkeys = cases[i].n, .bits_per_key = cases[i].bits_per_key};
    nay_plan plan = {.size = sizeof plan};
    assert_ok(nay_format_plan(nay_format_find(cases[i].name), &p, NULL, &plan));
    assert_int_equal(plan.kind, NAY_BLOOM);
    assert_int_equal(plan.nbits, cases[i].nbits);
    assert_int_equal(plan.nbytes_file, cases[i].nbytes_file);
    assert_int_equal(plan.k, cases[i].k);
    assert_int_equal(plan.nkeys, cases[i].n);
    assert_true(plan.fpr >= 0 && plan.fpr <= 1);
  }
}

/* 0.01 is mini-lsm's own choice, and gives it 10 bits. */
static void a_rate_becomes_whole_bits(void **state) {
  (void)state;
  static const struct {
    double fpr;
    uint64_t bits;
  } cases[] = {{0.01, 10}, {0.001, 15}, {0.1, 5}, {0.5, 2}, {0.999999, 1}, {1e-6, 29}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    nay_params p = {sizeof p, .nkeys = 1000, .fpr = cases[i].fpr};
    nay_plan plan = {.size = sizeof plan};
    assert_ok(nay_format_plan(nay_format_find("nori"), &p, NULL, &plan));
    assert_int_equal(plan.nbits, 1000 * cases[i].bits);
  }
}

/* ---- builders ---- */

/* n is what params say, else what was added, repeats included: LevelDB and mini-lsm do the same. */
static void builders_count_repeats(void **state) {
  const nay_format *format = nay_format_find(*state);
  nay_params counted = {sizeof counted, .bits_per_key = 10},
             stated = {sizeof stated, .nkeys = 30, .bits_per_key = 10};
  nay_builder *a, *b;
  nay_filter *from_a, *from_b, *expected = golden_by_new(format, golden_twice, 200, 10);
  uint8_t key[GOLDEN_KEY_MAX];
  assert_ok(nay_format_builder_new(format, &counted, NULL, NULL, &a));
  assert_ok(nay_format_builder_new(format, &stated, NULL, NULL, &b));
  for (uint64_t i = 0; i < 200; i++) {
    size_t len = golden_twice(i, key);
    assert_ok(nay_builder_add(a, key, len));
    assert_ok(nay_builder_add(b, key, len));
  }
  assert_ok(nay_builder_finish(a, NULL, &from_a));
  assert_ok(nay_builder_finish(b, NULL, &from_b));
  golden_bytes bytes = golden_encode(expected);
  golden_assert_encodes(from_a, bytes.at, bytes.len);
  nay_stats stats = {.size = sizeof stats};
  nay_plan plan = {.size = sizeof plan};
  assert_ok(nay_format_plan(format, &stated, NULL, &plan));
  assert_ok(nay_filter_stats(from_b, &stats));
  assert_int_equal(stats.nbits, plan.nbits);
  assert_int_equal(stats.nkeys, 30);
  assert_true(stats.overloaded);
  /* a builder that has finished is empty again */
  assert_ok(nay_builder_finish(a, NULL, &from_a));
  assert_ok(nay_filter_stats(from_a, &stats));
  assert_int_equal(stats.nbits_set, 0);
  nay_filter_free(from_a);
  nay_filter_free(from_b);
  nay_filter_free(expected);
  nay_builder_free(a);
  nay_builder_free(b);
  free(bytes.at);
}

/* More keys than one page of the builder, so that pairs of words cross pages. */
static void builders_of_many_keys(void **state) {
  const nay_format *format = nay_format_find(*state);
  const uint64_t n = 70000;
  nay_filter *f = golden_by_builder(format, golden_u64le, n, 8);
  golden_bytes bytes = golden_encode(f);
  nay_filter_free(f);
  golden_assert_encodes(golden_by_new(format, golden_u64le, n, 8), bytes.at, bytes.len);
  free(bytes.at);
}

/* ---- filters ---- */

static void of_no_keys(void **state) {
  const nay_format *format = nay_format_find(*state);
  bool has_bits = strcmp(*state, "leveldb") == 0 || strcmp(*state, "mini-lsm") == 0;
  nay_filter *f = golden_by_builder(format, golden_str, 0, 10);
  nay_stats stats = {.size = sizeof stats};
  uint64_t bitmap[2] = {0, 0};
  const void *keys[2] = {"foo", "bar"};
  const size_t lens[2] = {3, 3};
  assert_false(nay_filter_may_contain(f, "foo", 3));
  assert_ok(nay_filter_may_contain_many(f, keys, lens, 2, bitmap));
  assert_int_equal(bitmap[0], 0);
  assert_ok(nay_filter_stats(f, &stats));
  assert_int_equal(stats.nbits, has_bits ? 64 : 0);
  assert_true(stats.fpr_now == 0 && stats.fill == 0 && stats.nkeys_estimated == 0);
  assert_status(nay_filter_add(f, "foo", 3, NULL), has_bits ? NAY_OK : NAY_EFULL);
  assert_status(nay_filter_add_many(f, keys, lens, 2, NULL, NULL), has_bits ? NAY_OK : NAY_EFULL);
  assert_int_equal(nay_filter_may_contain(f, "foo", 3), has_bits);
  assert_ok(nay_filter_clear(f));
  nay_filter_free(f);
}

static void single_and_batch_agree(void **state) {
  nay_filter *one = make(*state, 1000, 10), *many = make(*state, 1000, 10);
  enum { N = 150 };
  uint8_t bytes[N][8];
  const void *keys[N];
  size_t lens[N];
  uint64_t is_new[3], bitmap[3], lo[N], hi[N];
  for (uint64_t i = 0; i < N; i++) {
    keys[i] = bytes[i];
    lens[i] = key_sequential(i % 100, bytes[i]); /* the last 50 are repeats */
    nay_hash hash;
    assert_ok(filter_hash(one, keys[i], lens[i], &hash));
    lo[i] = hash.lo;
    hi[i] = hash.hi;
  }
  assert_ok(nay_filter_add_many(many, keys, lens, N, is_new, NULL));
  for (uint64_t i = 0; i < N; i++) {
    bool fresh;
    assert_ok(nay_filter_add(one, keys[i], lens[i], &fresh));
    assert_int_equal(fresh, is_new[i / 64] >> (i % 64) & 1);
    if (i >= 100) assert_false(fresh);
  }
  golden_bytes expected = golden_encode(one);
  assert_ok(nay_filter_may_contain_hash_many(one, lo, hi, N, bitmap));
  assert_true(bitmap[0] == UINT64_MAX && bitmap[1] == UINT64_MAX && bitmap[2] == 0x3fffff);
  bool two_words = strcmp(*state, "leveldb") != 0 && strcmp(*state, "mini-lsm") != 0;
  assert_status(nay_filter_may_contain_hash_many(one, lo, NULL, N, bitmap),
                two_words ? NAY_EINVAL : NAY_OK);
  assert_status(nay_filter_add_hash_many(one, lo, NULL, N, bitmap, NULL),
                two_words ? NAY_EINVAL : NAY_OK);
  golden_assert_encodes(many, expected.at, expected.len);
  golden_assert_encodes(one, expected.at, expected.len);
  free(expected.at);
}

static void merge_is_a_union(void **state) {
  nay_filter *a = make(*state, 400, 10), *b = make(*state, 400, 10), *both = make(*state, 400, 10);
  nay_overlap overlap = {.size = sizeof overlap};
  add_range(a, 0, 250);
  add_range(b, 150, 400);
  add_range(both, 0, 400);
  assert_ok(nay_filter_overlap(a, b, NULL, &overlap));
  assert_close(overlap.nkeys_union, 400, 0.1);
  assert_close(overlap.nkeys_intersection, 100, 0.35);
  assert_status(nay_filter_merge(a, b, 1e-9, NULL), NAY_EFULL);
  assert_int_equal(maybes(a, 0, 250), 250);
  assert_ok(nay_filter_merge(a, b, 1.0, NULL));
  golden_bytes expected = golden_encode(both);
  golden_assert_encodes(a, expected.at, expected.len);
  free(expected.at);
  nay_filter_free(b);
  nay_filter_free(both);
}

static void intersection_is_marked(void **state) {
  nay_filter *a = make(*state, 400, 10), *b = make(*state, 400, 10);
  nay_stats stats = {.size = sizeof stats};
  add_range(a, 0, 250);
  add_range(b, 150, 400);
  assert_ok(nay_filter_intersect(a, b, NULL));
  assert_int_equal(maybes(a, 150, 250), 100);
  assert_true(maybes(a, 0, 150) < 75);
  assert_ok(nay_filter_stats(a, &stats));
  assert_true(stats.derived);
  nay_filter_free(a);
  nay_filter_free(b);
}

static void stats_know_the_load(void **state) {
  nay_filter *f = make(*state, 1000, 10);
  nay_stats stats = {.size = sizeof stats};
  add_range(f, 0, 1000);
  assert_ok(nay_filter_stats(f, &stats));
  assert_int_equal(stats.kind, NAY_BLOOM);
  assert_int_equal(stats.nkeys, 1000);
  assert_close(stats.nkeys_estimated, 1000, 0.05);
  assert_close(stats.fpr_now, stats.fpr_planned, 0.3);
  assert_false(stats.overloaded || stats.derived || stats.read_only || stats.locked);
  add_range(f, 1000, 3000);
  assert_ok(nay_filter_stats(f, &stats));
  assert_true(stats.overloaded);
  nay_filter_free(f);
}

/* Only like joins like; nothing of the target changes. */
/* A header that tells what a filter was planned for is believed, through files, copies and views.
 */
static void headers_tell_the_plan(void **state) {
  (void)state;
  static const char *const tell[] = {"nori", "redisbloom-bf", "redis-dump-bf"};
  for (size_t i = 0; i < 3; i++) {
    const nay_format *format = nay_format_find(tell[i]);
    nay_params p = {sizeof p, .nkeys = 1000, .bits_per_key = 10};
    nay_filter *f, *g;
    nay_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    uint8_t bytes[8192];
    size_t len;
    assert_ok(nay_format_new(format, &p, NULL, NULL, &f));
    assert_ok(nay_filter_stats(f, &before));
    assert_ok(nay_format_encode(format, f, bytes, sizeof bytes, &len));
    assert_ok(nay_format_decode(format, bytes, len, 0, NULL, NULL, &g));
    assert_ok(nay_filter_stats(g, &after));
    assert_int_equal(after.nkeys, 1000);
    assert_true(after.fpr_planned > 0 && after.fpr_planned == before.fpr_planned);
    assert_false(after.overloaded);
    bool full = false; /* RedisBloom's takes no more than planned */
    for (uint64_t j = 0; j < 1500; j++) {
      uint8_t key[KEY_MAX];
      full |= nay_filter_add(g, key, key_sequential(j, key), NULL) == NAY_EFULL;
    }
    assert_ok(nay_filter_stats(g, &after));
    assert_int_equal(after.overloaded, !full);
    if (!full) assert_true(after.fpr_now > 1.5 * after.fpr_planned && after.utilisation > 1.4);
    nay_filter_free(f);
    nay_filter_free(g);
  }
}

static void unlike_filters_do_not_mix(void **state) {
  nay_filter *a = make(*state, 400, 10);
  add_range(a, 0, 100);
  golden_bytes before = golden_encode(a);
  nay_params native = {sizeof native, .kind = NAY_BLOOM, .nkeys = 400, .bits_per_key = 10};
  nay_filter *others[N_LAYOUTS + 3];
  size_t n = 0;
  for (size_t i = 0; i < N_LAYOUTS; i++) {
    if (strcmp(layouts[i], *state) != 0) others[n++] = make(layouts[i], 400, 10);
  }
  others[n++] = make(*state, 800, 10); /* another size */
  others[n++] = make(*state, 200, 20); /* the same size, another k */
  assert_ok(nay_filter_new(&native, NULL, NULL, &others[n++]));
  for (size_t i = 0; i < n; i++) {
    nay_overlap overlap = {.size = sizeof overlap};
    assert_status(nay_filter_merge(a, others[i], 1.0, NULL), NAY_EMISMATCH);
    assert_status(nay_filter_merge(others[i], a, 1.0, NULL), NAY_EMISMATCH);
    assert_status(nay_filter_intersect(a, others[i], NULL), NAY_EMISMATCH);
    assert_status(nay_filter_overlap(a, others[i], NULL, &overlap), NAY_EMISMATCH);
    nay_filter_free(others[i]);
  }
  golden_assert_encodes(a, before.at, before.len);
  free(before.at);
}

static void what_layouts_cannot_do(void **state) {
  nay_filter *f = make(*state, 400, 10);
  uint64_t n;
  uint8_t buffer[4096];
  size_t written = 77, len = 1;
  assert_status(nay_filter_fold(f, 2, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_fold_factor(f, 0.5, &n), NAY_ENOTSUP);
  assert_status(nay_filter_remove(f, "foo", 3), NAY_ENOTSUP);
  assert_status(nay_filter_count(f, "foo", 3, &n), NAY_ENOTSUP);
  assert_status(nay_filter_advance(f, 1), NAY_ENOTSUP);
  assert_status(nay_filter_set_meta(f, "note", 4), NAY_ENOTSUP);
  assert_ok(nay_filter_set_meta(f, NULL, 0));
  assert_null(nay_filter_meta(f, &len));
  assert_int_equal(len, 0);
  assert_status(nay_filter_encode(f, buffer, sizeof buffer, &written), NAY_ENOTSUP);
  assert_int_equal(nay_filter_encoded_size(f), 0);
  nay_diag diag = {.offset = 1, .os_error = 1};
  assert_status(nay_filter_save(f, "never-written.nay", &diag), NAY_ENOTSUP);
  assert_non_null(diag.what);
  assert_int_equal(written, 77);
  nay_filter_free(f);
}

static void encode_checks_layout_and_room(void **state) {
  const nay_format *format = nay_format_find(*state);
  nay_filter *f = make(*state, 400, 10);
  size_t size = nay_format_encoded_size(format, f), written = 77;
  uint8_t *buffer = malloc(size);
  assert_non_null(buffer);
  memset(buffer, 0xee, size);
  for (size_t i = 0; nay_format_at(i) != NULL; i++) {
    const nay_format *other = nay_format_at(i);
    bool variant =
        strcmp(*state, "nori12") == 0 && strcmp(nay_format_name(other), "nori12-unrounded") == 0;
    if (other == format || variant) continue;
    assert_status(nay_format_encode(other, f, buffer, size, &written), NAY_EMISMATCH);
    assert_int_equal(nay_format_encoded_size(other, f), 0);
  }
  assert_status(nay_format_encode(format, f, buffer, size - 1, &written), NAY_EBUFFER);
  assert_status(nay_format_encode(format, f, NULL, size, &written), NAY_EINVAL);
  assert_status(nay_format_encode(format, NULL, buffer, size, &written), NAY_EINVAL);
  assert_status(nay_format_encode(NULL, f, buffer, size, &written), NAY_EINVAL);
  assert_int_equal(written, 77);
  for (size_t i = 0; i < size; i++) assert_int_equal(buffer[i], 0xee);
  assert_ok(nay_format_encode(format, f, buffer, size, &written));
  assert_int_equal(written, size);
  free(buffer);
  nay_filter_free(f);
}

static void null_arguments(void **state) {
  const nay_format *format = nay_format_find(*state);
  nay_params p = {sizeof p, .nkeys = 1, .bits_per_key = 10};
  nay_filter *f;
  nay_view view = {.size = sizeof view};
  nay_plan plan = {.size = sizeof plan};
  nay_builder *b;
  nay_diag diag;
  assert_status(nay_format_plan(NULL, &p, &diag, &plan), NAY_EINVAL);
  assert_status(nay_format_plan(format, &p, &diag, NULL), NAY_EINVAL);
  assert_status(nay_format_new(NULL, &p, NULL, &diag, &f), NAY_EINVAL);
  assert_status(nay_format_new(format, &p, NULL, &diag, NULL), NAY_EINVAL);
  assert_status(nay_format_builder_new(NULL, &p, NULL, &diag, &b), NAY_EINVAL);
  assert_status(nay_format_builder_new(format, NULL, NULL, &diag, &b), NAY_EINVAL);
  assert_status(nay_format_decode(NULL, "", 0, 0, NULL, &diag, &f), NAY_EINVAL);
  assert_status(nay_format_decode(format, NULL, 5, 0, NULL, &diag, &f), NAY_EINVAL);
  assert_status(nay_format_decode(format, "", 0, 0, NULL, &diag, NULL), NAY_EINVAL);
  assert_status(nay_format_view(format, NULL, 5, 0, &diag, &view), NAY_EINVAL);
  assert_status(nay_format_view(format, "", 0, 0, &diag, NULL), NAY_EINVAL);
  assert_int_equal(nay_format_encoded_size(NULL, NULL), 0);
}

/* ---- the native file through the same calls ---- */

static void native_is_a_format_too(void **state) {
  (void)state;
  const nay_format *native = nay_format_find("nay");
  nay_params p = {sizeof p, .kind = NAY_BLOCKED, .nkeys = 100, .fpr = 0.01},
             bad = {sizeof bad, .nkeys = 100, .fpr = 2};
  nay_params counted = {sizeof counted, .kind = NAY_BLOCKED, .fpr = 0.01};
  nay_diag diag = {.offset = 1, .os_error = 1};
  nay_filter *f, *again, *built;
  nay_builder *b;
  nay_plan plan = {.size = sizeof plan}, same = {.size = sizeof same};
  nay_view view = {.size = sizeof view};
  assert_ok(nay_format_plan(native, &p, NULL, &plan));
  assert_ok(nay_params_plan(&p, NULL, &same));
  assert_int_equal(plan.nbytes_file, same.nbytes_file);
  assert_ok(nay_format_new(native, &p, NULL, NULL, &f));
  assert_ptr_equal(nay_filter_format(f), native);
  add_range(f, 0, 100);
  golden_bytes bytes = golden_encode(f);
  assert_ok(nay_format_decode(native, bytes.at, bytes.len, 0, NULL, NULL, &again));
  golden_assert_encodes(again, bytes.at, bytes.len);
  assert_ok(nay_format_view(native, bytes.at, bytes.len, 0, NULL, &view));
  assert_int_equal(maybes(nay_view_filter(&view), 0, 100), 100);
  assert_ok(nay_format_builder_new(native, &counted, NULL, NULL, &b));
  uint8_t key[KEY_MAX];
  for (uint64_t i = 0; i < 100; i++) assert_ok(nay_builder_add(b, key, key_sequential(i, key)));
  assert_ok(nay_builder_finish(b, NULL, &built));
  golden_assert_encodes(built, bytes.at, bytes.len);
  nay_builder_free(b);
  assert_status(nay_format_new(native, &bad, NULL, &diag, &again), NAY_EINVAL);
  assert_non_null(strstr(diag.what, "fpr"));
  diag.what = NULL;
  assert_status(nay_format_builder_new(native, &bad, NULL, &diag, &b), NAY_EINVAL);
  assert_non_null(diag.what);
  assert_non_null(strstr(diag.what, "fpr"));
  free(bytes.at);
  nay_filter_free(f);
}

int main(void) {
  static const struct {
    const char *name;
    void (*run)(void **);
  } for_each[] = {
      {"builders_count_repeats", builders_count_repeats},
      {"builders_of_many_keys", builders_of_many_keys},
      {"of_no_keys", of_no_keys},
      {"single_and_batch_agree", single_and_batch_agree},
      {"merge_is_a_union", merge_is_a_union},
      {"intersection_is_marked", intersection_is_marked},
      {"stats_know_the_load", stats_know_the_load},
      {"unlike_filters_do_not_mix", unlike_filters_do_not_mix},
      {"what_layouts_cannot_do", what_layouts_cannot_do},
      {"encode_checks_layout_and_room", encode_checks_layout_and_room},
      {"null_arguments", null_arguments},
  };
  test_case tests[80] = {
      TEST(the_list),
      TEST(only_native_files_are_recognised),
      TEST(no_name_overrides_a_magic_number),
      TEST(wrong_params_name_the_field),
      TEST(limits_of_single_layouts),
      TEST(plans),
      TEST(a_rate_becomes_whole_bits),
      TEST(headers_tell_the_plan),
      TEST(native_is_a_format_too),
  };
  size_t n = 9;
  static char names[80][64];
  for (size_t t = 0; t < sizeof for_each / sizeof for_each[0]; t++) {
    for (size_t i = 0; i < N_LAYOUTS; i++, n++) {
      snprintf(names[n], sizeof names[n], "%s %s", for_each[t].name, layouts[i]);
      tests[n] = (test_case)TEST_WITH(names[n], for_each[t].run, layouts[i]);
    }
  }
  return run_list("format", tests, n);
}

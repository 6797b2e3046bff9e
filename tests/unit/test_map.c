/* test_map.c - static maps: every width and size, conflicts, what is refused, same set, same bytes.
 */
#include "filter.h"
#include "nay_explain.h"
#include "support/maps.h"

/* ---- values ---- */

static void every_width(void **state) {
  (void)state;
  for (unsigned r = 1; r <= 64; r++) {
    const unsigned checks[3] = {0, 8, 64 - r};
    for (unsigned i = 0; i < 3; i++) {
      unsigned check = checks[i];
      if (check > 64 - r) continue;
      pairs p = pairs_of(300 + 13 * r, r, r);
      nay_params params = params_of(r, check);
      nay_filter *map = build(&params, &p);
      nay_stats stats = {.size = sizeof stats};
      assert_ok(nay_filter_stats(map, &stats));
      assert_int_equal(stats.value_bits, r);
      assert_int_equal(stats.check_bits, check);
      assert_int_equal(stats.nkeys, p.n);
      assert_all(map, &p);
      nay_filter_free(map);
      pairs_free(&p);
    }
  }
}

static void every_size(void **state) {
  (void)state;
  for (size_t n = 0; n <= 20000; n += n < 260 ? 1 : n / 32) {
    pairs p = pairs_of(n, 5, n);
    nay_params params = params_of(5, n % 3 == 0 ? 4 : 0);
    nay_filter *map = build(&params, &p);
    assert_all(map, &p);
    nay_filter_free(map);
    pairs_free(&p);
  }
}

/* Payload bits for each bit of a value: what the documents promise. */
static void size_is_as_promised(void **state) {
  (void)state;
  static const struct {
    size_t n;
    unsigned r;
    double over;
  } rows[] = {{10000, 7, 0.013},
              {100000, 7, 0.004},
              {100000, 1, 0.006},
              {1000000, 7, 0.002},
              {1000000, 1, 0.006}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].n > 100000 && TEST_SCALE(10) == 1) continue;
    pairs p = pairs_of(rows[i].n, rows[i].r, 3);
    nay_params params = params_of(rows[i].r, 0);
    nay_filter *map = build(&params, &p);
    nay_stats stats = {.size = sizeof stats};
    assert_ok(nay_filter_stats(map, &stats));
    assert_true((double)stats.nbits / (double)stats.nkeys <= rows[i].r * (1 + rows[i].over));
    assert_all(map, &p);
    nay_filter_free(map);
    pairs_free(&p);
  }
}

static void fewest_bits_by_default(void **state) {
  (void)state;
  static const uint64_t largest[] = {0, 1, 2, 3, 255, 256, UINT64_MAX};
  static const unsigned bits[] = {1, 1, 2, 2, 8, 9, 64};
  for (size_t i = 0; i < 7; i++) {
    pairs p = pairs_of(100, 1, 7);
    memset(p.values, 0, 100 * 8);
    p.values[41] = largest[i];
    nay_params params = params_of(0, 0);
    nay_filter *map = build(&params, &p);
    nay_stats stats = {.size = sizeof stats};
    assert_ok(nay_filter_stats(map, &stats));
    assert_int_equal(stats.value_bits, bits[i]);
    assert_all(map, &p);
    nay_filter_free(map);
    pairs_free(&p);
  }
}

/* 8 check bits let one absent key in 256 through: 781 of 200,000, six deviations are 167. */
static void absent_keys(void **state) {
  (void)state;
  pairs p = pairs_of(9000, 12, 1);
  nay_params params = params_of(12, 8);
  nay_filter *map = build(&params, &p);
  uint64_t *hashes = malloc(200000 * 8), *values = malloc(200000 * 8), *bitmap = malloc(3125 * 8);
  unsigned found = 0;
  for (size_t i = 0; i < 200000; i++) hashes[i] = nay_hash_mix(~(uint64_t)i);
  assert_ok(maps_get_hashes(map, hashes, 200000, values, bitmap));
  for (size_t i = 0; i < 200000; i++) {
    uint64_t value = 77;
    bool there = (bitmap[i / 64] >> i % 64 & 1) != 0;
    nay_status status = nay_filter_get_hash(map, (nay_hash){hashes[i], 0}, &value);
    assert_status(status, there ? NAY_OK : NAY_ENOENT);
    assert_int_equal(value, there ? values[i] : 77);
    if (!there) assert_int_equal(values[i], 0);
    found += there;
  }
  assert_in_range(found, 781 - 167, 781 + 167);
  free(hashes);
  free(values);
  free(bitmap);
  nay_filter_free(map);
  pairs_free(&p);
}

/* Hashes that are none: consecutive numbers, at either end of the word. */
static void hashes_that_are_not_random(void **state) {
  (void)state;
  for (unsigned shift = 0; shift <= 48; shift += 12) {
    pairs p = pairs_of(12000, 9, 1);
    for (size_t i = 0; i < p.n; i++) p.hashes[i] = (uint64_t)i << shift;
    nay_params params = params_of(9, 6);
    nay_filter *map = build(&params, &p);
    assert_all(map, &p);
    nay_filter_free(map);
    pairs_free(&p);
  }
}

/* All keys of a layer of two parts fall into one: the set gets a premix. */
static void hashes_that_crowd_a_part(void **state) {
  (void)state;
  pairs p = pairs_of(260000, 3, 1);
  for (size_t i = 0; i < p.n; i++) p.hashes[i] = (uint64_t)i;
  nay_params params = params_of(3, 2);
  params.threads = 2;
  nay_filter *map = build(&params, &p);
  assert_true(nay__map_premix(map) != 0);
  assert_all(map, &p);
  size_t len;
  uint8_t *bytes = bytes_of_map(map, &len);
  nay_view view = {.size = sizeof view};
  assert_ok(nay_view_open(bytes, len, NULL, NULL, &view));
  assert_all(nay_view_filter(&view), &p);
  free(bytes);
  nay_filter_free(map);
  pairs_free(&p);
}

/* ---- same set, same bytes ---- */

static void order_threads_and_duplicates_leave_no_trace(void **state) {
  (void)state;
  static const size_t sizes[] = {50, 9000, 400000};
  for (size_t s = 0; s < 3; s++) {
    if (sizes[s] > 100000 && TEST_SCALE(10) == 1) continue;
    pairs p = pairs_of(sizes[s], 10, 2);
    nay_params params = params_of(0, 3);
    nay_filter *map = build(&params, &p), *other;
    for (size_t i = 0; i < p.n / 2; i++) {
      uint64_t h = p.hashes[i], v = p.values[i];
      p.hashes[i] = p.hashes[p.n - 1 - i], p.values[i] = p.values[p.n - 1 - i];
      p.hashes[p.n - 1 - i] = h, p.values[p.n - 1 - i] = v;
    }
    for (size_t i = 0; i < p.n; i += 3) {
      p.hashes[p.n + i / 3] = p.hashes[i];
      p.values[p.n + i / 3] = p.values[i];
    }
    p.n += (p.n + 2) / 3;
    params.threads = 3;
    other = build(&params, &p);
    assert_same(map, other);
    nay_filter_free(other);
    nay_builder *builder;
    assert_ok(nay_builder_new(&params, NULL, NULL, &builder));
    for (size_t i = 0; i < p.n; i++) {
      assert_ok(nay_builder_add_value_hash(builder, (nay_hash){p.hashes[i], 0}, p.values[i]));
    }
    assert_int_equal(nay_builder_nkeys(builder), p.n);
    assert_ok(nay_builder_finish(builder, NULL, &other));
    assert_int_equal(nay_builder_nkeys(builder), 0);
    assert_same(map, other);
    nay_filter_free(other);
    nay_builder_free(builder);
    nay_filter_free(map);
    pairs_free(&p);
  }
}

/* ---- a map is a filter ---- */

/* may_contain answers by the check bits, in every form and by every call. */
static void answers_of_a_map(void **state) {
  (void)state;
  for (unsigned check = 0; check <= 9; check += 3) {
    pairs p = pairs_of(9000, 7, 3);
    nay_params params = params_of(7, check);
    nay_filter *map = build(&params, &p), *copy;
    assert_ok(nay_filter_copy(map, NULL, NULL, &copy));
    uint64_t hashes[640], bitmap[10], value;
    unsigned maybes = 0;
    for (size_t i = 0; i < 640; i++) hashes[i] = i < 320 ? p.hashes[i] : nay_hash_mix(~i);
    assert_ok(nay_filter_may_contain_hash_many(map, hashes, NULL, 640, bitmap));
    for (size_t i = 0; i < 640; i++) {
      nay_hash hash = {hashes[i], 0};
      nay_explanation why = {.size = sizeof why};
      bool there = nay_filter_get_hash(map, hash, &value) == NAY_OK;
      assert_int_equal(nay_filter_may_contain_hash(map, hash), there);
      assert_int_equal(nay_filter_may_contain_hash(copy, hash), there);
      assert_int_equal(nay_bitmap_get(bitmap, i), there);
      assert_ok(nay__filter_explain_hash(map, hash, NULL, NULL, &why));
      assert_int_equal(why.maybe, there);
      assert_int_equal(why.nsteps, check == 0 ? 1 : check);
      assert_true(there || i >= 320);
      maybes += there;
    }
    assert_true(check == 0 ? maybes == 640 : maybes < 640);
    nay_filter_free(copy);
    nay_filter_free(map);
    pairs_free(&p);
  }
}

static void verbs_of_other_families(void **state) {
  (void)state;
  pairs p = pairs_of(100, 3, 1);
  nay_params params = params_of(3, 4), other = {.size = sizeof other},
             blocked = {.size = sizeof blocked};
  nay_filter *map = build(&params, &p), *same = build(&params, &p), *f = NULL;
  nay_builder *b;
  nay_overlap overlap = {.size = sizeof overlap};
  nay_kind kind;
  uint64_t n;
  assert_int_equal(nay_filter_kind(map), NAY_MAP);
  assert_int_equal(nay_kind_traits(NAY_MAP), NAY_CAN_GET);
  assert_string_equal(nay_kind_name(NAY_MAP), "map");
  assert_ok(nay_kind_parse("map", &kind));
  assert_int_equal(kind, NAY_MAP);
  assert_status(nay_filter_add_hash(map, (nay_hash){1, 0}, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_remove_hash(map, (nay_hash){1, 0}), NAY_ENOTSUP);
  assert_status(nay__filter_count_hash(map, (nay_hash){1, 0}, &n), NAY_ENOTSUP);
  assert_status(nay_filter_add_hash_many(map, p.hashes, NULL, 2, NULL, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_clear(map), NAY_ENOTSUP);
  assert_status(nay_filter_merge(map, same, 1.0, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_intersect(map, same, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_fold(map, 1, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_fold_factor(map, 0.5, &n), NAY_ENOTSUP);
  assert_status(nay_filter_shrink(map, 100, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_overlap(map, same, NULL, &overlap), NAY_ENOTSUP);
  assert_status(nay_filter_advance(map, 1), NAY_ENOTSUP);
  assert_status(nay_filter_params(map, &other), NAY_ENOTSUP);
  nay_filter_prefetch(map, (nay_hash){1, 0});
  assert_status(nay_filter_new(&params, NULL, NULL, &f), NAY_ENOTSUP);
  assert_status(nay_filter_build(&params, p.hashes, p.n, NULL, NULL, &f), NAY_ENOTSUP);
  /* builders take values or not, by their kind */
  assert_ok(nay_builder_new(&params, NULL, NULL, &b));
  assert_status(nay_builder_add_hash(b, (nay_hash){1, 0}), NAY_ENOTSUP);
  assert_status(nay_builder_add_value(b, "a", 1, 1), NAY_ENOTSUP); /* the caller hashes */
  assert_int_equal(nay_builder_nkeys(b), 0);
  nay_builder_free(b);
  blocked.fpr = 0.01;
  assert_ok(nay_builder_new(&blocked, NULL, NULL, &b));
  assert_status(nay_builder_add_value(b, "a", 1, 1), NAY_ENOTSUP);
  assert_status(nay_builder_add_value_hash(b, (nay_hash){1, 0}, 1), NAY_ENOTSUP);
  assert_ok(nay_builder_add(b, "a", 1));
  assert_ok(nay_builder_finish(b, NULL, &f));
  assert_status(nay_filter_get(f, "a", 1, &n), NAY_ENOTSUP);
  assert_status(nay_filter_get_hash(f, (nay_hash){1, 0}, &n), NAY_ENOTSUP);
  nay_builder_free(b);
  nay_filter_free(f);
  nay_filter_free(same);
  nay_filter_free(map);
  pairs_free(&p);
}

/* A plan is the map that is built, unless the set needs another attempt at a larger size. */
static void plans_of_maps(void **state) {
  (void)state;
  for (size_t n = 0; n <= 50000; n = 2 * n + 1) {
    pairs p = pairs_of(n, 6, 2);
    nay_params params = params_of(6, 4);
    nay_plan plan = {.size = sizeof plan};
    params.nkeys = n;
    nay_filter *map = build(&params, &p);
    assert_ok(nay_params_plan(&params, NULL, &plan));
    assert_true(plan.nbytes <= map->nbytes && map->nbytes <= plan.nbytes + 16 * 10 * 2);
    assert_int_equal(plan.kind, NAY_MAP);
    assert_true(plan.fpr == 1.0 / 16 && plan.nbytes_build >= 16 * n);
    params.value_bits = 0;
    assert_status(nay_params_plan(&params, NULL, &plan), NAY_EINVAL);
    nay_filter_free(map);
    pairs_free(&p);
  }
  nay_params bloom = {sizeof bloom, .kind = NAY_BLOOM, .nkeys = 10, .fpr = 0.1, .value_bits = 1};
  nay_plan plan = {.size = sizeof plan};
  assert_status(nay_params_plan(&bloom, NULL, &plan), NAY_EINVAL);
}

/* ---- refusals ---- */

static void conflicts_are_named(void **state) {
  (void)state;
  static const size_t where[][2] = {{0, 1}, {5, 39999}, {16383, 16384}, {20000, 20001}};
  for (size_t w = 0; w < 4; w++) {
    pairs p = pairs_of(40000, 8, 4);
    nay_params params = params_of(8, 0);
    nay_filter *map = NULL;
    nay_builder *builder;
    p.hashes[7] = p.hashes[11], p.values[7] = p.values[11]; /* a duplicate: no conflict */
    p.hashes[where[w][1]] = p.hashes[where[w][0]];
    p.values[where[w][1]] = p.values[where[w][0]] ^ 1;
    nay_diag diag = {0};
    assert_status(nay__map_build_arrays(&params, p.hashes, p.values, p.n, NULL, &diag, &map),
                  NAY_EINVAL);
    assert_string_equal(diag.what, "two values for one key");
    assert_int_equal(diag.offset, where[w][1]);
    assert_null(map);
    assert_ok(nay_builder_new(&params, NULL, NULL, &builder));
    for (size_t i = 0; i < p.n; i++) {
      assert_ok(nay_builder_add_value_hash(builder, (nay_hash){p.hashes[i], 0}, p.values[i]));
    }
    diag = (nay_diag){0};
    assert_status(nay_builder_finish(builder, &diag, &map), NAY_EINVAL);
    assert_int_equal(diag.offset, where[w][1]);
    assert_int_equal(nay_builder_nkeys(builder), p.n); /* all kept */
    nay_builder_free(builder);
    pairs_free(&p);
  }
}

static void assert_refused(const nay_params *params, const char *what) {
  uint64_t hash = 1, value = 1;
  nay_filter *map = NULL;
  nay_builder *builder = NULL;
  nay_diag diag = {0};
  assert_status(nay__map_build_arrays(params, &hash, &value, 1, NULL, &diag, &map), NAY_EINVAL);
  assert_non_null(strstr(diag.what, what));
  assert_null(map);
  diag = (nay_diag){0};
  assert_status(nay_builder_new(params, NULL, &diag, &builder), NAY_EINVAL);
  assert_non_null(strstr(diag.what, what));
  assert_null(builder);
}

static void nonsense_is_refused(void **state) {
  (void)state;
  nay_params p = params_of(1, 0);
  assert_refused(NULL, "params");
  p.size = 0;
  assert_refused(&p, "size");
  p.size = offsetof(nay_params, range_delimiter);
  assert_refused(&p, "size");
  p = params_of(65, 0);
  assert_refused(&p, "value_bits");
  p = params_of(60, 5);
  assert_refused(&p, "check_bits");
  p = params_of(0, 64);
  assert_refused(&p, "check_bits");
  p = params_of(1, 0);
  p.flags = NAY_CONCURRENT;
  assert_refused(&p, "flags");
  p = params_of(1, 0);
  p.fpr = 0.01;
  assert_refused(&p, "value_bits");
  p = params_of(1, 0);
  p.tag_bits = 8;
  assert_refused(&p, "tag_bits");
  p = params_of(1, 0);
  p.threads = 257;
  assert_refused(&p, "threads");
  p = params_of(1, 0);
  p.hash = (nay_hash_kind)64;
  assert_refused(&p, "hash");
  struct {
    nay_params params;
    uint64_t later;
  } longer = {params_of(1, 0), 0};
  longer.params.size = sizeof longer;
  nay_filter *map;
  assert_ok(nay__map_build_arrays(&longer.params, NULL, NULL, 0, NULL, NULL, &map));
  nay_filter_free(map);
  longer.later = 1;
  assert_refused(&longer.params, "does not know");
}

static void values_too_wide_are_named(void **state) {
  (void)state;
  pairs p = pairs_of(100, 3, 1);
  nay_params params = params_of(3, 0);
  nay_filter *map;
  nay_diag diag;
  p.values[63] = 8;
  assert_status(nay__map_build_arrays(&params, p.hashes, p.values, p.n, NULL, &diag, &map),
                NAY_EINVAL);
  assert_int_equal(diag.offset, 63);
  params = params_of(0, 61); /* 4 + 61 */
  assert_status(nay__map_build_arrays(&params, p.hashes, p.values, p.n, NULL, &diag, &map),
                NAY_EINVAL);
  assert_non_null(strstr(diag.what, "check_bits"));
  pairs_free(&p);
}

static void null_arguments(void **state) {
  (void)state;
  pairs p = pairs_of(10, 3, 1);
  nay_params params = params_of(3, 2);
  nay_filter *map = build(&params, &p);
  uint64_t value, bitmap[1];
  nay_stats stats = {.size = sizeof stats};
  assert_status(nay__map_build_arrays(&params, NULL, p.values, 1, NULL, NULL, &map), NAY_EINVAL);
  assert_status(nay__map_build_arrays(&params, p.hashes, NULL, 1, NULL, NULL, &map), NAY_EINVAL);
  assert_status(nay__map_build_arrays(&params, p.hashes, p.values, 1, NULL, NULL, NULL),
                NAY_EINVAL);
  assert_status(nay_filter_get_hash(NULL, (nay_hash){1, 0}, &value), NAY_EINVAL);
  assert_status(nay_filter_get_hash(map, (nay_hash){1, 0}, NULL), NAY_EINVAL);
  assert_status(nay_filter_get(NULL, "a", 1, &value), NAY_EINVAL);
  assert_status(nay_filter_get(map, "a", 1, &value), NAY_ENOTSUP); /* the caller hashes */
  const void *keys[1] = {"a"};
  const size_t lens[1] = {1};
  assert_status(nay_filter_get_many(map, keys, lens, 1, &value, NULL), NAY_EINVAL);
  assert_status(nay_filter_get_many(map, keys, lens, 1, NULL, bitmap), NAY_EINVAL);
  assert_status(nay_filter_get_many(map, NULL, lens, 1, &value, bitmap), NAY_EINVAL);
  assert_status(nay_filter_get_many(NULL, keys, lens, 1, &value, bitmap), NAY_EINVAL);
  assert_status(nay_filter_get_many(map, keys, lens, 1, &value, bitmap), NAY_ENOTSUP);
  assert_ok(nay_filter_get_many(map, NULL, NULL, 0, NULL, NULL));
  assert_status(nay_filter_stats(NULL, &stats), NAY_EINVAL);
  assert_status(nay_filter_stats(map, NULL), NAY_EINVAL);
  assert_status(nay_filter_unlock(NULL, (const uint8_t *)"0123456789abcdef"), NAY_EINVAL);
  assert_status(nay_filter_health(NULL), NAY_EINVAL);
  assert_int_equal(nay_filter_encoded_size(NULL), 0);
  assert_null(nay_filter_meta(NULL, NULL));
  nay_filter_free(NULL);
  nay_builder_free(NULL);
  nay_filter_free(map);
  pairs_free(&p);
}

/* The answer of a library that knows fewer or more fields than the caller. */
static void stats_of_any_size(void **state) {
  (void)state;
  pairs p = pairs_of(10, 3, 1);
  nay_params params = params_of(3, 2);
  nay_filter *map = build(&params, &p);
  struct {
    nay_stats stats;
    uint8_t later[64];
  } s;
  for (size_t size = 0; size <= sizeof s; size++) {
    memset(&s, 0xa5, sizeof s);
    s.stats.size = size;
    nay_status status = nay_filter_stats(map, &s.stats);
    size_t first = offsetof(nay_stats, nlisted); /* published without what follows */
    assert_status(status, size < first ? NAY_EINVAL : NAY_OK);
    size_t written = size < first ? sizeof(size_t) : size;
    for (size_t i = written; i < sizeof s; i++) assert_int_equal(((uint8_t *)&s)[i], 0xa5);
    if (size >= first) assert_int_equal(s.stats.value_bits, 3);
    for (size_t i = sizeof s.stats; i < size; i++) assert_int_equal(((uint8_t *)&s)[i], 0);
  }
  nay_filter_free(map);
  pairs_free(&p);
}

int main(void) {
  const test_case tests[] = {
      TEST(every_width),
      TEST(every_size),
      TEST(size_is_as_promised),
      TEST(fewest_bits_by_default),
      TEST(absent_keys),
      TEST(hashes_that_are_not_random),
      TEST(hashes_that_crowd_a_part),
      TEST(order_threads_and_duplicates_leave_no_trace),
      TEST(answers_of_a_map),
      TEST(verbs_of_other_families),
      TEST(plans_of_maps),
      TEST(conflicts_are_named),
      TEST(nonsense_is_refused),
      TEST(values_too_wide_are_named),
      TEST(null_arguments),
      TEST(stats_of_any_size),
  };
  return run_all(tests);
}

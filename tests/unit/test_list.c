/* test_list.c - exact lists: every size and share, partitions, collisions, what is refused, same
 * set, same bytes, sizes. */
#include "support/lists.h"

static const double shares[] = {0, 0.003, 0.02, 0.1, 0.34, 0.5, 0.66, 0.97, 1};
#define NSHARES (sizeof shares / sizeof shares[0])

static void every_size_and_share(void **state) {
  (void)state;
  for (size_t n = 0; n <= 2000; n++) { /* of most sizes one share, of sizes below 70 all */
    for (size_t s = n < 70 ? 0 : n % NSHARES; s < NSHARES; s += n < 70 ? 1 : NSHARES) {
      universe u = universe_of(n, 1, shares[s], n);
      nay_params params = list_params(0, n % 3 == 1 ? 5 : 0);
      nay_filter *list = list_of(&params, &u);
      assert_list(list, &u);
      nay_stats stats = list_stats(list);
      assert_int_equal(stats.nkeys, n);
      assert_int_equal(stats.nlisted, u.nlisted);
      assert_int_equal(stats.check_bits, params.check_bits);
      assert_int_equal(stats.npartitions, 1);
      nay_filter_free(list);
      universe_free(&u);
    }
  }
}

/* Partitions with shares from none to all, sizes from one key on. */
static void partitions_have_shares_of_their_own(void **state) {
  (void)state;
  static const uint32_t nparts[] = {1, 2, 7, 60, 1000, 20000};
  for (size_t t = 0; t < sizeof nparts / sizeof nparts[0]; t++) {
    universe u = universe_new(20000, nparts[t], t);
    for (size_t i = 0; i < u.n; i++) {
      uint32_t part;
      memcpy(&part, u.keys[i], 4);
      u.listed[i] = (double)(nay_hash_mix(i) >> 11) * 0x1p-53 < shares[part % NSHARES];
      u.nlisted += u.listed[i];
    }
    for (uint32_t check = 0; check <= 8; check += 8) {
      nay_params params = list_params(4, check);
      nay_filter *list = list_of(&params, &u);
      assert_list(list, &u);
      nay_stats stats = list_stats(list);
      assert_in_range(stats.npartitions, nparts[t] < 1000 ? nparts[t] : nparts[t] / 2, nparts[t]);
      assert_int_equal(stats.nlisted, u.nlisted);
      assert_true(stats.list_bound <= stats.nbits);
      nay_filter_free(list);
    }
    universe_free(&u);
  }
}

/* The partition of a key by a byte: keys without it, empty keys, the byte alone. */
static void partitions_by_a_delimiter(void **state) {
  (void)state;
  static const struct {
    const char *key;
    unsigned listed;
  } keys[] = {{"", 1},       {",", 0},
              {"a,", 1},     {"a,1", 0},
              {"a,2", 1},    {"b,1", 1},
              {"b,2", 1},    {"b,3", 1},
              {"plain", 0},  {"a", 1},
              {",x", 0},     {"c,,,", 0},
              {"c,\xff", 0}, {"long partition name,1", 1}};
  nay_params params = {.size = sizeof params, .kind = NAY_LIST, .list_delimiter = ','};
  nay_builder *b;
  nay_filter *list;
  uint64_t value = 7;
  assert_ok(nay_builder_new(&params, NULL, NULL, &b));
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    assert_ok(nay_builder_add_value(b, keys[i].key, strlen(keys[i].key), keys[i].listed));
  }
  assert_ok(nay_builder_finish(b, NULL, &list));
  nay_builder_free(b);
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    assert_ok(nay_filter_get(list, keys[i].key, strlen(keys[i].key), &value));
    assert_int_equal(value, keys[i].listed);
  }
  value = 7;
  assert_status(nay_filter_get(list, "d,1", 3, &value), NAY_ENOENT); /* no such partition */
  assert_int_equal(value, 7);
  assert_false(nay_filter_may_contain(list, "d,1", 3));
  nay_stats stats = list_stats(list);
  assert_int_equal(stats.npartitions, 5); /* "", a, b, c, long partition name */
  assert_int_equal(stats.list_delimiter, ',');
  nay_filter_free(list);
}

/* 8 check bits let one key in 256 through: 781 of 200,000, six deviations are 167. */
static void keys_outside_are_unknown(void **state) {
  (void)state;
  universe u = universe_of(30000, 1, 0.05, 1), out = universe_new(200000, 1, 99);
  nay_params params = list_params(0, 8);
  nay_filter *list = list_of(&params, &u);
  unsigned found = 0;
  for (size_t i = 0; i < out.n; i++) {
    uint64_t value = 7;
    nay_status status = nay_filter_get(list, out.keys[i], UNIVERSE_KEY, &value);
    if (status != NAY_OK) {
      assert_status(status, NAY_ENOENT);
      assert_int_equal(value, 7);
      assert_false(nay_filter_may_contain(list, out.keys[i], UNIVERSE_KEY));
    }
    found += status == NAY_OK;
  }
  assert_in_range(found, 781 - 167, 781 + 167);
  nay_filter_free(list);
  universe_free(&u);
  universe_free(&out);
}

/* Check bits let keys through that are of the universe later, or were of it before: what the lists
 * so far say of a key is what the next change is built from. */
static void changes_of_a_universe_that_changes(void **state) {
  (void)state;
  enum { CHANGES = 6 };
  nay_filter *lists[CHANGES];
  for (unsigned step = 0, n = 200; step < CHANGES; step++, n += 100) {
    uint64_t base = step > 0 ? list_stats(lists[step - 1]).list_id : 0, value;
    nay_params params = list_params(0, step % 3); /* 0, 1 and 2 check bits */
    params.list_base = base;
    nay_builder *builder;
    assert_status(nay_builder_new(&params, NULL, NULL, &builder), NAY_OK);
    for (int asks = 0; asks < 2; asks++) {
      for (uint32_t key = 0; key < n; key++) {
        if ((key + step) % 5 == 0) continue; /* not of this universe */
        uint64_t now = (key + 2 * step) % 3 == 0;
        value = 0;
        nay_status status = nay_list_get_all((const nay_filter *const *)lists,
                                             asks ? step + 1 : step, &key, sizeof key, &value);
        if (asks) {
          assert_status(status, NAY_OK);
          assert_int_equal(value, now);
          continue;
        }
        assert_true(status == NAY_OK || (value == 0 && (step == 0 || status == NAY_ENOENT)));
        assert_status(nay_builder_add_value(builder, &key, sizeof key, now != value), NAY_OK);
      }
      if (!asks) assert_status(nay_builder_finish(builder, NULL, &lists[step]), NAY_OK);
    }
    nay_builder_free(builder);
  }
  for (unsigned i = 0; i < CHANGES; i++) nay_filter_free(lists[i]);
}

/* ---- same set, same bytes ---- */

static void order_threads_memory_and_duplicates_leave_no_trace(void **state) {
  (void)state;
  universe u = universe_of(150000, 9, 0.03, 3);
  nay_params params = list_params(4, 2);
  nay_filter *list = list_of(&params, &u);
  for (unsigned how = 0; how < 4; how++) {
    nay_params other = params;
    nay_builder *b;
    nay_filter *again;
    if (how == 1) other.threads = 2;
    if (how == 2) other.flags = NAY_LOW_MEMORY;
    assert_ok(nay_builder_new(&other, NULL, NULL, &b));
    for (size_t i = u.n; i-- > 0;) {
      bool listed = u.listed[i] != 0;
      if (how == 3) { /* the universe, and which of it are listed */
        assert_ok(nay_builder_add(b, u.keys[i], UNIVERSE_KEY));
        if (!listed) continue;
      }
      assert_ok(nay_builder_add_value(b, u.keys[i], UNIVERSE_KEY, listed));
      if (i % 5 == 0) assert_ok(nay_builder_add_value(b, u.keys[i], UNIVERSE_KEY, listed));
      if (i % 7 == 0) assert_ok(nay_builder_add(b, u.keys[i], UNIVERSE_KEY));
    }
    assert_true(nay_builder_nkeys(b) > u.n);
    assert_ok(nay_builder_finish(b, NULL, &again));
    assert_int_equal(nay_builder_nkeys(b), 0);
    assert_same_list(list, again);
    nay_filter_free(again);
    nay_builder_free(b);
  }
  assert_list(list, &u);
  nay_filter_free(list);
  universe_free(&u);
}

static void a_builder_is_used_again(void **state) {
  (void)state;
  nay_params params = list_params(4, 0);
  nay_builder *b;
  assert_ok(nay_builder_new(&params, NULL, NULL, &b));
  for (uint64_t round = 0; round < 3; round++) {
    universe u = universe_of(500, 3, 0.2, round);
    nay_filter *list, *fresh = list_of(&params, &u);
    assert_ok(list_add_all(b, &u));
    assert_ok(nay_builder_finish(b, NULL, &list));
    assert_same_list(list, fresh);
    nay_filter_free(list);
    nay_filter_free(fresh);
    universe_free(&u);
  }
  nay_builder_free(b);
}

static void a_key_is_listed_or_not(void **state) {
  (void)state;
  for (unsigned flags = 0; flags <= NAY_LOW_MEMORY; flags += NAY_LOW_MEMORY) {
    universe u = universe_of(9000, 4, 0.4, 8);
    nay_params params = list_params(4, 0);
    params.flags = flags;
    nay_builder *b;
    nay_filter *list = NULL;
    nay_diag diag = {.what = NULL};
    assert_ok(nay_builder_new(&params, NULL, NULL, &b));
    assert_ok(list_add_all(b, &u));
    for (unsigned i = 0; i < 3; i++) { /* 9,000 agrees, 9,001 does not, 9,002 neither */
      assert_ok(
          nay_builder_add_value(b, u.keys[100 + i], UNIVERSE_KEY, u.listed[100 + i] ^ (i != 0)));
    }
    for (unsigned i = 0; i < 2; i++) { /* and a failed call changes nothing */
      assert_status(nay_builder_finish(b, &diag, &list), NAY_EINVAL);
      assert_string_equal(diag.what, "a key is both listed and not listed");
      assert_int_equal(diag.offset, 9001);
      assert_null(list);
      assert_true(nay_builder_nkeys(b) == 9003);
    }
    nay_builder_free(b);
    universe_free(&u);
  }
}

/* ---- listed keys outside the universe ---- */

/* The universe u by nay_builder_add, its listed keys, and those of `out`, by 1. */
static nay_builder *universe_and_listed(const nay_params *params, const universe *u,
                                        const universe *out) {
  nay_builder *b;
  assert_ok(nay_builder_new(params, NULL, NULL, &b));
  for (size_t i = 0; i < u->n; i++) assert_ok(nay_builder_add(b, u->keys[i], UNIVERSE_KEY));
  for (size_t i = 0; i < u->n; i++) {
    if (u->listed[i] != 0) assert_ok(nay_builder_add_value(b, u->keys[i], UNIVERSE_KEY, 1));
  }
  for (size_t i = 0; i < out->n; i++) {
    assert_ok(nay_builder_add_value(b, out->keys[i], UNIVERSE_KEY, 1));
  }
  return b;
}

static void listed_keys_outside_join_are_dropped_or_refused(void **state) {
  (void)state;
  for (uint32_t how = 0; how < 12; how++) {
    universe u = universe_of(4000, 5, 0.1, 3), out = universe_new(300, 40, 77);
    nay_params params = list_params(how % 2 == 0 ? 4 : 0, 0);
    params.flags = how / 2 % 2 == 0 ? 0 : NAY_LOW_MEMORY;
    params.list_outside = how / 4;
    nay_builder *b = universe_and_listed(&params, &u, &out);
    nay_filter *list = NULL, *want;
    nay_diag diag = {.what = NULL};
    nay_status status = nay_builder_finish(b, &diag, &list);
    if (params.list_outside == NAY_LIST_REFUSE) {
      assert_status(status, NAY_EINVAL);
      assert_string_equal(diag.what, "a listed key is not of the universe");
      assert_int_equal(diag.offset, u.n + u.nlisted); /* the first of them */
      for (size_t i = 0; i < out.n; i++) {            /* now they are */
        assert_ok(nay_builder_add(b, out.keys[i], UNIVERSE_KEY));
      }
      status = nay_builder_finish(b, &diag, &list);
    }
    assert_ok(status);
    nay_builder_free(b);
    nay_stats stats = list_stats(list);
    bool drops = params.list_outside == NAY_LIST_DROP;
    assert_int_equal(stats.nkeys, u.n + (drops ? 0 : out.n));
    assert_int_equal(stats.nlisted, u.nlisted + (drops ? 0 : out.n));
    assert_list(list, &u);
    if (drops) { /* nothing of them is left, not even their partitions */
      params.list_outside = NAY_LIST_JOIN;
      want = list_of(&params, &u);
      assert_same_list(list, want);
      nay_filter_free(want);
    } else {
      memset(out.listed, 1, out.n);
      assert_list(list, &out);
    }
    nay_filter_free(list);
    universe_free(&u);
    universe_free(&out);
  }
}

/* A key that was dropped by a build that failed is listed all the same, once it is of the universe.
 */
static void what_is_dropped_may_come_back(void **state) {
  (void)state;
  nay_params params = {.size = sizeof params, .kind = NAY_LIST, .list_outside = NAY_LIST_DROP};
  nay_builder *b;
  nay_filter *list;
  uint64_t value = 7;
  assert_ok(nay_builder_new(&params, NULL, NULL, &b));
  assert_ok(nay_builder_add(b, "a", 1));
  assert_ok(nay_builder_add_value(b, "b", 1, 1));
  assert_ok(nay_builder_add_value(b, "a", 1, 0));
  assert_ok(nay_builder_add_value(b, "c", 1, 0));
  assert_ok(nay_builder_add_value(b, "c", 1, 1));
  assert_status(nay_builder_finish(b, NULL, &list), NAY_EINVAL); /* c is both */
  assert_ok(nay_builder_add(b, "b", 1));
  assert_status(nay_builder_finish(b, NULL, &list), NAY_EINVAL);
  nay_builder_free(b);
  assert_ok(nay_builder_new(&params, NULL, NULL, &b));
  assert_ok(nay_builder_add_value(b, "b", 1, 1));
  assert_ok(nay_builder_add(b, "b", 1));
  assert_ok(nay_builder_add(b, "a", 1));
  assert_ok(nay_builder_finish(b, NULL, &list));
  assert_ok(nay_filter_get(list, "b", 1, &value));
  assert_int_equal(value, 1);
  nay_builder_free(b);
  nay_filter_free(list);
}

/* ---- collisions ---- */

/* Two keys of 16 bytes with one XXH3 hash: if a is 0 it is b + 16, before the avalanche, and if a
 * is 1 it is 2^56 + 2 b + 16. */
static void colliding_keys(uint64_t seed, uint64_t b, uint8_t key[2][16]) {
  nay_params params = {.size = sizeof params, .seed = seed};
  nay_hash_fn fn;
  assert_ok(nay__hasher_init(&params, NULL, &fn));
  for (uint64_t a = 0; a < 2; a++) {
    uint64_t second = a == 0 ? ((uint64_t)1 << 56) + 2 * b : b;
    nay__store64le(key[a], a ^ fn.first);
    nay__store64le(key[a] + 8, second ^ fn.last);
  }
  assert_true(nay__hash_key(&fn, key[0], 16).lo == nay__hash_key(&fn, key[1], 16).lo);
}

static void colliding_hashes_are_exceptions(void **state) {
  (void)state;
  enum { PAIRS = 40 };
  for (unsigned check = 0; check <= 6; check += 3) {
    nay_params params = list_params(check == 3 ? 1 : 0, check);
    params.seed = check;
    uint8_t keys[PAIRS][2][16];
    nay_builder *b;
    nay_filter *list;
    assert_ok(nay_builder_new(&params, NULL, NULL, &b));
    universe u = universe_of(3000, 1, 0.1, 5);
    assert_ok(list_add_all(b, &u));
    for (unsigned i = 0; i < PAIRS; i++) {
      colliding_keys(params.seed, nay_hash_mix(i) >> 2, keys[i]);
      for (unsigned k = 0; k < 2; k++) {
        assert_ok(nay_builder_add_value(b, keys[i][k], 16, (i >> k) & 1));
        assert_ok(nay_builder_add_value(b, keys[i][k], 16, (i >> k) & 1));
      }
    }
    assert_ok(nay_builder_finish(b, NULL, &list));
    nay_builder_free(b);
    assert_list(list, &u);
    nay_stats stats = list_stats(list);
    assert_int_equal(stats.nexceptions, 2 * PAIRS);
    assert_int_equal(stats.nkeys, u.n + 2 * PAIRS);
    const void *asked[2 * PAIRS];
    size_t lens[2 * PAIRS];
    uint64_t values[2 * PAIRS], known[2];
    for (unsigned i = 0; i < 2 * PAIRS; i++) asked[i] = keys[i / 2][i % 2], lens[i] = 16;
    assert_ok(nay_filter_get_many(list, asked, lens, 2 * PAIRS, values, known));
    for (unsigned i = 0; i < 2 * PAIRS; i++) {
      uint64_t value = 7;
      assert_ok(nay_filter_get(list, asked[i], 16, &value));
      assert_int_equal(value, (i / 2 >> i % 2) & 1);
      assert_int_equal(values[i], value);
      assert_true(nay_bitmap_get(known, i));
      assert_int_equal(nay_filter_may_contain(list, asked[i], 16), value);
    }
    nay_filter_free(list);
    universe_free(&u);
  }
}

/* ---- secrets, hashes, what is refused ---- */

static void a_locked_list_says_maybe(void **state) {
  (void)state;
  universe u = universe_of(5000, 3, 0.2, 4);
  nay_params params = list_params(4, 0);
  params.hash = NAY_HASH_SIPHASH;
  memcpy(params.key, "sixteen secrets!", 16);
  nay_filter *list = list_of(&params, &u), *back;
  assert_list(list, &u);
  size_t len;
  uint8_t *bytes = bytes_of_list(list, &len);
  assert_ok(nay_filter_decode(bytes, len, NULL, NULL, &back));
  uint64_t value, known;
  const void *key = u.keys[0];
  size_t key_len = UNIVERSE_KEY;
  assert_status(nay_filter_get(back, key, key_len, &value), NAY_EKEY);
  assert_status(nay_filter_get_many(back, &key, &key_len, 1, &value, &known), NAY_EKEY);
  assert_true(nay_filter_may_contain(back, key, key_len));
  assert_ok(nay_filter_unlock(back, params.key));
  assert_list(back, &u);
  nay_filter_free(list);
  nay_filter_free(back);
  free(bytes);
  universe_free(&u);
}

static void what_a_list_cannot_do(void **state) {
  (void)state;
  universe u = universe_of(300, 1, 0.3, 4);
  nay_params params = list_params(0, 0);
  nay_filter *list = list_of(&params, &u), *other = NULL;
  nay_hash hash = {1, 2};
  nay_builder *b;
  uint64_t value, number = 0;
  assert_status(nay_filter_add(list, "x", 1, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_remove(list, "x", 1), NAY_ENOTSUP);
  assert_status(nay_filter_clear(list), NAY_ENOTSUP);
  assert_status(nay_filter_merge(list, list, 1, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_get_hash(list, hash, &value), NAY_ENOTSUP);
  assert_status(nay_filter_get(list, "x", 1, NULL), NAY_EINVAL);
  assert_status(nay_filter_get(list, NULL, 1, &value), NAY_EINVAL);
  assert_true(nay_filter_may_contain_hash(list, hash)); /* in doubt */
  assert_true(nay_filter_may_contain(list, NULL, 1));
  assert_status(nay_filter_new(&params, NULL, NULL, &other), NAY_EINVAL);
  assert_status(nay_filter_build(&params, &number, 1, NULL, NULL, &other), NAY_ENOTSUP);
  assert_ok(nay_builder_new(&params, NULL, NULL, &b));
  assert_status(nay_builder_add_hash(b, hash), NAY_ENOTSUP);
  assert_status(nay_builder_add_value_hash(b, hash, 1), NAY_ENOTSUP);
  assert_status(nay_builder_add_value(b, "x", 1, 2), NAY_EINVAL);
  assert_status(nay_builder_add_value(b, NULL, 1, 1), NAY_EINVAL);
  assert_status(nay_builder_add(b, NULL, 1), NAY_EINVAL);
  assert_true(nay_builder_nkeys(b) == 0);
  nay_builder_free(b);
  nay_filter_free(list);
  universe_free(&u);
}

static void params_out_of_range(void **state) {
  (void)state;
  static const nay_params wrong[] = {{.fpr = 0.01},
                                     {.nbytes = 100},
                                     {.k = 3},
                                     {.value_bits = 1},
                                     {.check_bits = 33},
                                     {.list_prefix = 65536},
                                     {.list_delimiter = 256},
                                     {.list_outside = 3},
                                     {.flags = NAY_CONCURRENT},
                                     {.flags = NAY_NO_VERIFY},
                                     {.hash = NAY_HASH_CALLER},
                                     {.threads = 257},
                                     {.list_prefix = 1, .list_delimiter = 1},
                                     {.tag_bits = 8},
                                     {.range_length = 2}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    nay_params p = wrong[i];
    nay_builder *b = NULL;
    nay_diag diag = {.what = NULL};
    p.size = sizeof p;
    p.kind = NAY_LIST;
    assert_status(nay_builder_new(&p, NULL, &diag, &b), NAY_EINVAL);
    assert_non_null(diag.what);
  }
  nay_params p = {.size = sizeof p, .kind = NAY_BLOCKED, .nkeys = 9, .fpr = 0.1, .list_prefix = 4};
  nay_plan plan = {.size = sizeof plan};
  assert_status(nay_params_plan(&p, NULL, &plan), NAY_EINVAL);
  p = list_params(0, 0);
  assert_status(nay_params_plan(&p, NULL, &plan), NAY_EINVAL);
}

/* ---- sizes ---- */

/* k + 1 + x / 2^k bits for each of the few, for the best k. */
static double two_levels(double few, double many) {
  double least = few + many;
  for (unsigned k = 1; k < 40; k++) {
    double bits = (k + 1) * few + many / (double)((uint64_t)1 << k);
    if (bits < least) least = bits;
  }
  return least;
}

/* 1% over the formula from 100,000 keys on the smaller side on; test_list_sizes has more. */
static void size_is_as_promised(void **state) {
  (void)state;
  static const struct {
    size_t listed, unlisted;
    double most;
  } rows[] = {{1000, 2000, 1.25},     {100, 100000, 2.60},    {20000, 20000, 1.03},
              {20000, 400000, 1.03},  {100000, 10000, 1.08},  {100000, 100000, 1.01},
              {100000, 900000, 1.01}, {1000000, 100000, 1.01}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0] && TEST_SCALE(10) == 10; i++) {
    universe u = universe_new(rows[i].listed + rows[i].unlisted, 1, i);
    memset(u.listed, 1, rows[i].listed);
    nay_params params = list_params(0, 0);
    nay_filter *list = list_of(&params, &u);
    double few = (double)(rows[i].listed < rows[i].unlisted ? rows[i].listed : rows[i].unlisted);
    double formula = two_levels(few, (double)u.n - few);
    nay_stats stats = list_stats(list);
    if ((double)stats.nbits > rows[i].most * formula) {
      fail_msg("row %zu: %.4f times the formula", i, (double)stats.nbits / formula);
    }
    assert_true(stats.list_bound < stats.nbits);
    nay_filter_free(list);
    universe_free(&u);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(every_size_and_share),
      TEST(partitions_have_shares_of_their_own),
      TEST(partitions_by_a_delimiter),
      TEST(keys_outside_are_unknown),
      TEST(changes_of_a_universe_that_changes),
      TEST(order_threads_memory_and_duplicates_leave_no_trace),
      TEST(a_builder_is_used_again),
      TEST(a_key_is_listed_or_not),
      TEST(listed_keys_outside_join_are_dropped_or_refused),
      TEST(what_is_dropped_may_come_back),
      TEST(colliding_hashes_are_exceptions),
      TEST(a_locked_list_says_maybe),
      TEST(what_a_list_cannot_do),
      TEST(params_out_of_range),
      TEST(size_is_as_promised),
  };
  return run_all(tests);
}

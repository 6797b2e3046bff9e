/* test_list_passes.c - exact lists of a universe that is added several times: the bytes of one
 * pass, a universe that changes, what is refused, failing allocations. */
#include "support/flaky.h"
#include "support/lists.h"

/* How a universe is added: from two sources (NAY_LIST_REFUSE), or key by key with its answer. */
static nay_params passes_params(uint32_t prefix, bool apart) {
  nay_params params = list_params(prefix, 0);
  params.flags = NAY_LIST_TWO_PASSES;
  if (apart) params.list_outside = NAY_LIST_REFUSE;
  return params;
}

static nay_status add_listed(nay_builder *b, const universe *u) {
  nay_status status = NAY_OK;
  for (size_t i = 0; i < u->n && status == NAY_OK; i++) {
    if (u->listed[i] != 0) status = nay_builder_add_value(b, u->keys[i], UNIVERSE_KEY, 1);
  }
  return status;
}

/* Backwards in every second pass: the order is no part of a universe. */
static nay_status add_universe(nay_builder *b, const universe *u, bool apart, unsigned pass) {
  nay_status status = NAY_OK;
  for (size_t k = 0; k < u->n && status == NAY_OK; k++) {
    size_t i = pass % 2 != 0 ? u->n - 1 - k : k;
    status = apart ? nay_builder_add(b, u->keys[i], UNIVERSE_KEY)
                   : nay_builder_add_value(b, u->keys[i], UNIVERSE_KEY, u->listed[i]);
  }
  return status;
}

static nay_status passes_build(const nay_params *params, const universe *u, const nay_allocator *a,
                               unsigned *npasses, nay_filter **list) {
  nay_builder *b = NULL;
  bool apart = params->list_outside == NAY_LIST_REFUSE;
  unsigned pass = 0;
  nay_status status = nay_builder_new(params, a, NULL, &b);
  if (status == NAY_OK && apart) status = add_listed(b, u);
  while (status == NAY_OK && *list == NULL) {
    status = add_universe(b, u, apart, pass++);
    if (status == NAY_OK) status = nay_builder_finish(b, NULL, list);
    assert_in_range(pass, 1, 3);
  }
  if (status == NAY_OK) assert_int_equal(nay_builder_nkeys(b), 0);
  nay_builder_free(b);
  if (npasses != NULL) *npasses = pass;
  return status;
}

static void assert_passes(const universe *u, uint32_t prefix, bool apart, uint32_t flags,
                          unsigned want) {
  nay_params params = list_params(prefix, 0), passes = passes_params(prefix, apart);
  nay_filter *whole = list_of(&params, u), *list = NULL;
  unsigned npasses;
  passes.flags |= flags;
  assert_ok(passes_build(&passes, u, NULL, &npasses, &list));
  assert_same_list(list, whole);
  assert_list(list, u);
  if (want != 0) assert_int_equal(npasses, want);
  nay_filter_free(list);
  nay_filter_free(whole);
}

/* ---- the same bytes ---- */

static const double shares[] = {0, 0.003, 0.02, 0.1, 0.34, 0.5, 0.66, 0.97, 1};
#define NSHARES (sizeof shares / sizeof shares[0])

static void every_size_has_the_bytes_of_one_pass(void **state) {
  (void)state;
  for (size_t n = 0; n <= 2000; n++) {
    for (size_t s = n < 40 ? 0 : n % NSHARES; s < NSHARES; s += n < 40 ? 1 : NSHARES) {
      universe u = universe_of(n, 1 + (uint32_t)(n % 5), shares[s], n);
      assert_passes(&u, n % 2 == 0 ? 4 : 0, n % 3 != 0, 0, n % 2 == 0 ? 0 : 2);
      universe_free(&u);
    }
  }
}

/* Shares from none to all: a third pass, for some partitions have mostly listed keys. */
static void partitions_of_all_shares_take_three_passes(void **state) {
  (void)state;
  universe u = universe_new(60000, 50, 3);
  for (size_t i = 0; i < u.n; i++) {
    uint32_t part;
    memcpy(&part, u.keys[i], 4);
    u.listed[i] = (double)(nay_hash_mix(i) >> 11) * 0x1p-53 < shares[part % NSHARES];
    u.nlisted += u.listed[i];
  }
  assert_passes(&u, 4, true, 0, 3);
  assert_passes(&u, 4, false, 0, 3);
  assert_passes(&u, 4, true, NAY_LOW_MEMORY, 3);
  assert_passes(&u, 0, true, 0, 2);
  universe_free(&u);
}

static void a_builder_is_used_again(void **state) {
  (void)state;
  nay_params params = list_params(4, 0), passes = passes_params(4, false);
  nay_builder *b;
  assert_ok(nay_builder_new(&passes, NULL, NULL, &b));
  for (uint64_t round = 0; round < 4; round++) {
    universe u = universe_of(700, 3, round % 2 == 0 ? 0.05 : 0.9, round);
    nay_filter *list = NULL, *whole = list_of(&params, &u);
    while (list == NULL) {
      assert_ok(add_universe(b, &u, false, 0));
      assert_int_equal(nay_builder_nkeys(b), u.n);
      assert_ok(nay_builder_finish(b, NULL, &list));
    }
    assert_same_list(list, whole);
    nay_filter_free(list);
    nay_filter_free(whole);
    universe_free(&u);
  }
  nay_builder_free(b);
}

/* ---- a universe that changes ---- */

typedef enum change { GROWS, SHRINKS, SWAPS, TURNS, NCHANGES } change;

static void add_changed(nay_builder *b, const universe *u, bool apart, change what, size_t at) {
  for (size_t i = 0; i < u->n; i++) {
    uint8_t key[UNIVERSE_KEY];
    memcpy(key, u->keys[i], UNIVERSE_KEY);
    bool is = i == at;
    if (is && what == SHRINKS) continue;
    if (is && what == SWAPS) key[UNIVERSE_KEY - 1] ^= 1;
    unsigned listed = u->listed[i] ^ (is && what == TURNS);
    assert_ok(apart ? nay_builder_add(b, key, UNIVERSE_KEY)
                    : nay_builder_add_value(b, key, UNIVERSE_KEY, listed));
  }
  if (what != GROWS) return;
  uint8_t key[UNIVERSE_KEY] = {0xff, 0xff};
  assert_ok(apart ? nay_builder_add(b, key, UNIVERSE_KEY)
                  : nay_builder_add_value(b, key, UNIVERSE_KEY, 0));
}

static void assert_change_is_noticed(const universe *u, bool apart, change what, size_t at,
                                     unsigned pass) {
  nay_params passes = passes_params(4, apart);
  nay_builder *b;
  nay_filter *list = NULL;
  nay_diag diag = {.what = NULL};
  assert_ok(nay_builder_new(&passes, NULL, NULL, &b));
  if (apart) assert_ok(add_listed(b, u));
  for (unsigned i = 0; i < pass; i++) {
    assert_ok(add_universe(b, u, apart, i));
    assert_ok(nay_builder_finish(b, NULL, &list));
    assert_null(list);
  }
  add_changed(b, u, apart, what, at);
  for (unsigned i = 0; i < 2; i++) { /* a second call has the same answer */
    assert_status(nay_builder_finish(b, &diag, &list), NAY_EINVAL);
    assert_string_equal(diag.what, "the universe changed between the passes");
    assert_null(list);
  }
  nay_builder_free(b);
}

static void a_universe_that_changes_is_noticed(void **state) {
  (void)state;
  universe u = universe_of(3000, 1, 0.05, 5);
  for (size_t at = 0; at < u.n; at += 1 + at % 97) {
    for (unsigned what = 0; what < NCHANGES; what++) {
      if (what != TURNS) assert_change_is_noticed(&u, true, (change)what, at, 1);
      assert_change_is_noticed(&u, false, (change)what, at, 1);
    }
  }
  universe_free(&u);
  u = universe_new(3000, 2, 5); /* three passes */
  for (size_t i = 0; i < u.n; i++) {
    u.listed[i] = u.keys[i][0] == 0 ? i % 20 == 0 : i % 20 != 0;
    u.nlisted += u.listed[i];
  }
  for (unsigned pass = 1; pass <= 2; pass++) {
    for (size_t at = 0; at < 40; at++) {
      for (unsigned what = 0; what < NCHANGES; what++) {
        if (what != TURNS) assert_change_is_noticed(&u, true, (change)what, at, pass);
        assert_change_is_noticed(&u, false, (change)what, at, pass);
      }
    }
  }
  universe_free(&u);
}

/* As many keys, and each of them one of before: {a, a, b}, then {a, b, b}. */
static void repeated_keys_do_not_hide_a_change(void **state) {
  (void)state;
  static const char *const passes[][3] = {{"a", "a", "b"}, {"a", "b", "b"}};
  nay_params params = passes_params(0, false);
  nay_builder *b;
  nay_filter *list = NULL;
  nay_diag diag = {.what = NULL};
  assert_ok(nay_builder_new(&params, NULL, NULL, &b));
  for (unsigned pass = 0; pass < 2; pass++) {
    for (unsigned i = 0; i < 3; i++) {
      assert_ok(nay_builder_add_value(b, passes[pass][i], 1, 0));
    }
    nay_status status = nay_builder_finish(b, &diag, &list);
    assert_status(status, pass == 0 ? NAY_OK : NAY_EINVAL);
    assert_null(list);
  }
  assert_string_equal(diag.what, "the universe changed between the passes");
  nay_builder_free(b);
}

/* ---- what is refused ---- */

/* The universe u and one key more in each pass: the last finish fails. */
static void assert_last_pass_fails(const universe *u, const uint8_t *extra, int listed,
                                   const char *what) {
  nay_params params = passes_params(4, true);
  nay_builder *b;
  nay_filter *list = NULL;
  nay_diag diag = {.what = NULL};
  nay_status status = NAY_OK;
  assert_ok(nay_builder_new(&params, NULL, NULL, &b));
  assert_ok(add_listed(b, u));
  if (listed == 1) assert_ok(nay_builder_add_value(b, extra, UNIVERSE_KEY, 1));
  for (unsigned pass = 0; pass < 3 && status == NAY_OK; pass++) {
    assert_ok(add_universe(b, u, true, 0));
    if (listed == 0) assert_ok(nay_builder_add_value(b, extra, UNIVERSE_KEY, 0));
    if (listed == 2) assert_ok(nay_builder_add(b, extra, UNIVERSE_KEY));
    status = nay_builder_finish(b, &diag, &list);
    assert_null(list);
  }
  assert_status(status, NAY_EINVAL);
  assert_string_equal(diag.what, what);
  assert_int_equal(diag.offset, listed == 1 ? u->nlisted : u->n);
  nay_builder_free(b);
}

static void keys_that_contradict_are_refused(void **state) {
  (void)state;
  for (size_t s = 1; s < NSHARES; s++) { /* where few, half and all are listed */
    universe u = universe_of(2000, 3, shares[s], s), out = universe_new(1, 1, 99);
    size_t at = 0;
    while (u.listed[at] == 0) at++;
    assert_last_pass_fails(&u, u.keys[at], 0, "a key is both listed and not listed");
    assert_last_pass_fails(&u, u.keys[at], 2, "a key of the universe was added again");
    assert_last_pass_fails(&u, out.keys[0], 1, "a listed key is not of the universe");
    memset(out.keys[0], 0xee, 4); /* in a partition of its own */
    assert_last_pass_fails(&u, out.keys[0], 1, "a listed key is not of the universe");
    universe_free(&u);
    universe_free(&out);
  }
}

static void listed_keys_come_first(void **state) {
  (void)state;
  nay_params params = passes_params(0, true);
  nay_builder *b;
  nay_filter *list = NULL;
  assert_ok(nay_builder_new(&params, NULL, NULL, &b));
  assert_ok(nay_builder_add_value(b, "a", 1, 1));
  assert_ok(nay_builder_add(b, "a", 1));
  assert_ok(nay_builder_finish(b, NULL, &list));
  assert_null(list);
  assert_status(nay_builder_add_value(b, "a", 1, 1), NAY_EINVAL); /* and adds nothing */
  assert_ok(nay_builder_add(b, "a", 1));
  assert_ok(nay_builder_finish(b, NULL, &list));
  assert_int_equal(list_stats(list).nlisted, 1);
  nay_filter_free(list);
  nay_builder_free(b);
}

static void params_that_need_all_keys(void **state) {
  (void)state;
  nay_builder *b;
  nay_diag diag;
  nay_params params = passes_params(0, true);
  params.check_bits = 1;
  assert_status(nay_builder_new(&params, NULL, &diag, &b), NAY_EINVAL);
  assert_string_equal(diag.what, "check_bits: they need all keys at once, not two passes");
  params = passes_params(0, true);
  params.list_outside = NAY_LIST_DROP;
  assert_status(nay_builder_new(&params, NULL, &diag, &b), NAY_EINVAL);
  assert_string_equal(diag.what, "list_outside: two passes refuse or join");
  params = (nay_params){
      .size = sizeof params, .kind = NAY_FUSE, .fpr = 0.01, .flags = NAY_LIST_TWO_PASSES};
  assert_status(nay_builder_new(&params, NULL, &diag, &b), NAY_EINVAL);
}

/* Of two keys with one hash one is listed: an error, never a wrong answer. */
static void colliding_hashes_are_refused(void **state) {
  (void)state;
  nay_params params = passes_params(0, false);
  nay_hash_fn fn;
  uint8_t keys[2][16];
  assert_ok(nay__hasher_init(&params, NULL, &fn));
  for (uint64_t a = 0; a < 2; a++) { /* one XXH3 hash: see test_list.c */
    uint64_t second = a == 0 ? ((uint64_t)1 << 56) + 2 * 77 : 77;
    nay__store64le(keys[a], a ^ fn.first);
    nay__store64le(keys[a] + 8, second ^ fn.last);
  }
  assert_true(nay__hash_key(&fn, keys[0], 16).lo == nay__hash_key(&fn, keys[1], 16).lo);
  universe u = universe_of(3000, 1, 0.1, 5);
  nay_builder *b;
  nay_filter *list = NULL;
  nay_diag diag = {.what = NULL};
  assert_ok(nay_builder_new(&params, NULL, NULL, &b));
  for (unsigned pass = 0; pass < 2; pass++) {
    assert_ok(add_universe(b, &u, false, pass));
    for (unsigned i = 0; i < 2; i++) assert_ok(nay_builder_add_value(b, keys[i], 16, i));
    assert_status(nay_builder_finish(b, &diag, &list), pass == 0 ? NAY_OK : NAY_ENOTSUP);
    assert_null(list);
  }
  assert_string_equal(diag.what, "two keys have one hash: give another seed, or build in one pass");
  nay_builder_free(b);
  universe_free(&u);
}

/* ---- memory ---- */

static void every_allocation_may_fail(void **state) {
  (void)state;
  universe u = universe_of(1500, 20, 0.2, 1);
  for (size_t i = 0; i < u.n; i++) u.listed[i] ^= u.keys[i][0] % 4 == 3; /* three passes */
  u.nlisted = 0;
  for (size_t i = 0; i < u.n; i++) u.nlisted += u.listed[i];
  for (unsigned flags = 0; flags <= NAY_LOW_MEMORY; flags += NAY_LOW_MEMORY) {
    nay_params params = list_params(4, 0), passes = passes_params(4, flags == 0);
    passes.flags |= flags;
    passes.spill_dir = "/tmp";
    nay_filter *whole = list_of(&params, &u);
    for (long at = 0;; at += flags != 0 && at > 9 ? 41 : at < 400 ? 1 : 13) {
      flaky heap = {.fail_at = at};
      nay_allocator a = flaky_allocator(&heap);
      nay_filter *list = NULL;
      nay_status status = passes_build(&passes, &u, &a, NULL, &list);
      if (status == NAY_OK) assert_same_list(list, whole);
      if (status != NAY_OK) assert_status(status, NAY_ENOMEM);
      if (status != NAY_OK) assert_null(list);
      nay_filter_free(list);
      assert_true(flaky_is_clean(&heap));
      if (status == NAY_OK) break;
    }
    nay_filter_free(whole);
  }
  universe_free(&u);
}

/* Every call that fails is made again, and succeeds: it added and lost nothing. */
static void a_failed_call_may_be_repeated(void **state) {
  (void)state;
  universe u = universe_of(40000, 20, 0.1, 1); /* keys that pass level 1 need pages */
  for (size_t i = 0; i < u.n; i++) u.listed[i] ^= u.keys[i][0] % 8 == 3; /* three passes */
  nay_params params = list_params(4, 0), passes = passes_params(4, false);
  nay_filter *whole = list_of(&params, &u), *list = NULL;
  for (long step = 1; step < 60; step += 8) {
    flaky heap = {.fail_at = -1};
    nay_allocator a = flaky_allocator(&heap);
    nay_builder *b;
    long failed = 0;
    assert_ok(nay_builder_new(&passes, &a, NULL, &b));
    for (list = NULL; list == NULL;) {
      for (size_t i = 0; i < u.n; i++) {
        heap.fail_at = i % 3 == 0 ? heap.calls : -1;
        nay_status status = nay_builder_add_value(b, u.keys[i], UNIVERSE_KEY, u.listed[i]);
        heap.fail_at = -1;
        if (status != NAY_OK) assert_status(status, NAY_ENOMEM);
        failed += status != NAY_OK;
        if (status != NAY_OK) {
          assert_ok(nay_builder_add_value(b, u.keys[i], UNIVERSE_KEY, u.listed[i]));
        }
      }
      heap.fail_at = heap.calls + step;
      nay_status status = nay_builder_finish(b, NULL, &list);
      heap.fail_at = -1;
      failed += status != NAY_OK;
      if (status != NAY_OK) assert_status(status, NAY_ENOMEM);
      if (status != NAY_OK) assert_ok(nay_builder_finish(b, NULL, &list));
    }
    assert_true(failed > 3);
    assert_same_list(list, whole);
    nay_filter_free(list);
    nay_builder_free(b);
    assert_true(flaky_is_clean(&heap));
  }
  nay_filter_free(whole);
  universe_free(&u);
}

int main(void) {
  const test_case tests[] = {
      TEST(every_size_has_the_bytes_of_one_pass),
      TEST(partitions_of_all_shares_take_three_passes),
      TEST(a_builder_is_used_again),
      TEST(a_universe_that_changes_is_noticed),
      TEST(repeated_keys_do_not_hide_a_change),
      TEST(keys_that_contradict_are_refused),
      TEST(listed_keys_come_first),
      TEST(params_that_need_all_keys),
      TEST(colliding_hashes_are_refused),
      TEST(every_allocation_may_fail),
      TEST(a_failed_call_may_be_repeated),
  };
  return run_all(tests);
}

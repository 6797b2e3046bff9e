/* test_answers.c - what a family answers: no false nay, one key or many, keys of every shape. */
#include "contract.h"
#include "support/hashes.h"

#define RANDOM (&key_sets[3])

/* ---- no false nay ---- */

static const uint64_t sizes[] = {0, 1, 2, 10, 1000, 10000};
#define N_SIZES (sizeof sizes / sizeof sizes[0])

static void no_false_nay_when_built(void **state) {
  for (size_t s = 0; s < N_KEY_SETS; s++) {
    for (size_t i = 0; i < N_SIZES; i++) {
      nay_params p = contract_params(*state, 0);
      nay_filter *f = contract_build(&p, &key_sets[s], 0, sizes[i]);
      assert_all_maybe(f, &key_sets[s], 0, sizes[i]);
      /* where keys can come later, the empty set is planned for one */
      uint64_t planned = sizes[i] == 0 && contract_can(*state, NAY_CAN_ADD) ? 1 : sizes[i];
      assert_int_equal(stats_of(f).nkeys, planned);
      nay_filter_free(f);
    }
  }
}

/* A filter that was built of nothing and then takes keys says that it is overloaded, or full. */
static void the_empty_filter_is_soon_overloaded(void **state) {
  nay_params p = contract_params(*state, 0);
  nay_filter *f = contract_build(&p, RANDOM, 0, 0);
  assert_false(stats_of(f).overloaded);
  uint8_t key[KEY_MAX];
  bool full = false;
  for (uint64_t i = 0; i < 100; i++) {
    full |= nay_filter_add(f, key, RANDOM->make(i, key), NULL) == NAY_EFULL;
  }
  nay_stats s = stats_of(f);
  bool keeps = s.fpr_now <= 1.1 * s.fpr_planned; /* grown, or forgotten what came first */
  assert_true(s.fpr_planned > 0 && s.fpr_planned <= 0.01);
  if (!(s.overloaded || full || keeps)) fail_msg("FPR %g, planned %g", s.fpr_now, s.fpr_planned);
  nay_filter_free(f);
}

static void no_false_nay_when_added(void **state) {
  for (size_t s = 0; s < N_KEY_SETS; s++) {
    for (size_t i = 0; i < N_SIZES; i++) {
      nay_params p = contract_params(*state, sizes[i] != 0 ? sizes[i] : 1);
      nay_filter *f = contract_new(&p);
      contract_add(f, &key_sets[s], 0, sizes[i]);
      assert_all_maybe(f, &key_sets[s], 0, sizes[i]);
      nay_filter_free(f);
    }
  }
}

/* Three times the planned keys: the rate suffers, the keys do not. Where keys go, they go by ticks,
 * and no time passes: a window that counts keys would be right to forget. */
static void no_false_nay_when_overloaded(void **state) {
  nay_params p = contract_params(*state, 500);
  if (contract_can(*state, NAY_CAN_EXPIRE)) p.window = 1000;
  nay_filter *f = contract_new(&p);
  uint8_t key[KEY_MAX];
  bool taken[1500];
  for (uint64_t i = 0; i < 1500; i++) {
    nay_status status = nay_filter_add(f, key, RANDOM->make(i, key), NULL);
    assert_true(status == NAY_OK || status == NAY_EFULL);
    taken[i] = status == NAY_OK;
  }
  for (uint64_t i = 0; i < 1500; i++) assert_true(!taken[i] || contract_has(f, RANDOM, i));
  for (uint64_t i = 0; i < 500; i++) assert_true(taken[i]);
  nay_filter_free(f);
}

static void the_empty_filter_says_nay(void **state) {
  nay_params p = contract_params(*state, 0);
  nay_filter *f = contract_build(&p, RANDOM, 0, 0);
  unsigned wrong = 0;
  for (uint64_t i = 0; i < 1000; i++) wrong += contract_has(f, RANDOM, i);
  /* where nothing was added no bit is set; a static filter may keep its rate, here 0.01 */
  assert_true(wrong <= (contract_can(*state, NAY_CAN_ADD) ? 0 : 30));
  nay_filter_free(f);
}

/* ---- one key or many ---- */

/* A batch as the caller holds it: half of the keys are in the filter, some come twice. */
typedef struct batch {
  size_t n;
  uint8_t (*bytes)[KEY_MAX];
  const void **keys;
  size_t *lens;
  uint64_t *lo, *hi;
  uint64_t *bitmap; /* one word more than needed, to see that it is left alone */
  size_t nwords;
} batch;

#define CANARY 0x5a5a5a5a5a5a5a5au

static batch batch_make(const nay_filter *like, size_t n) {
  batch b = {.n = n, .nwords = (n + 63) / 64};
  b.bytes = calloc(n + 1, KEY_MAX);
  b.keys = calloc(n + 1, sizeof *b.keys);
  b.lens = calloc(n + 1, sizeof *b.lens);
  b.lo = calloc(n + 1, sizeof *b.lo);
  b.hi = calloc(n + 1, sizeof *b.hi);
  b.bitmap = calloc(b.nwords + 1, sizeof *b.bitmap);
  assert_true(b.bytes && b.keys && b.lens && b.lo && b.hi && b.bitmap);
  for (size_t i = 0; i < n; i++) {
    uint64_t number = i % 7 == 6 ? i - 3 : i; /* every seventh repeats one of its neighbours */
    nay_hash h;
    b.keys[i] = b.bytes[i];
    b.lens[i] = key_sets[i % N_KEY_SETS].make(number, b.bytes[i]);
    assert_ok(filter_hash(like, b.keys[i], b.lens[i], &h));
    b.lo[i] = h.lo;
    b.hi[i] = h.hi;
  }
  return b;
}

static void batch_free(batch *b) {
  free(b->bytes);
  free(b->keys);
  free(b->lens);
  free(b->lo);
  free(b->hi);
  free(b->bitmap);
}

static uint64_t *batch_bitmap(batch *b) {
  for (size_t i = 0; i <= b->nwords; i++) b->bitmap[i] = CANARY;
  return b->bitmap;
}

static void assert_bitmap(const batch *b, const bool *expected) {
  for (size_t i = 0; i < b->nwords * 64; i++) {
    bool bit = (b->bitmap[i / 64] >> i % 64 & 1) != 0;
    if (bit != (i < b->n && expected[i])) fail_msg("bit %zu of %zu is wrong", i, b->n);
  }
  assert_int_equal(b->bitmap[b->nwords], CANARY);
}

static const size_t batch_sizes[] = {0, 1, 2, 63, 64, 65, 127, 128, 129, 1000};
#define N_BATCHES (sizeof batch_sizes / sizeof batch_sizes[0])

static void batch_adds_are_single_adds(void **state) {
  for (size_t s = 0; s < N_BATCHES; s++) {
    nay_params p = contract_params(*state, 1000);
    nay_filter *single = contract_new(&p), *keys = contract_new(&p), *hashes = contract_new(&p),
               *quiet = contract_new(&p), *quiet_hashes = contract_new(&p);
    batch b = batch_make(single, batch_sizes[s]);
    bool is_new[1001] = {false};
    for (size_t i = 0; i < b.n; i++) {
      assert_ok(nay_filter_add(single, b.keys[i], b.lens[i], &is_new[i]));
    }
    assert_ok(nay_filter_add_many(keys, b.keys, b.lens, b.n, batch_bitmap(&b), NULL));
    assert_bitmap(&b, is_new);
    assert_ok(nay_filter_add_hash_many(hashes, b.lo, b.hi, b.n, batch_bitmap(&b), NULL));
    assert_bitmap(&b, is_new);
    assert_ok(nay_filter_add_many(quiet, b.keys, b.lens, b.n, NULL, NULL));
    assert_ok(nay_filter_add_hash_many(quiet_hashes, b.lo, NULL, b.n, NULL, NULL));
    assert_true(filters_equal(single, keys));
    assert_true(filters_equal(single, hashes));
    assert_true(filters_equal(single, quiet));
    assert_true(filters_equal(single, quiet_hashes));
    batch_free(&b);
    nay_filter_free(single);
    nay_filter_free(keys);
    nay_filter_free(hashes);
    nay_filter_free(quiet);
    nay_filter_free(quiet_hashes);
  }
}

static void batch_probes_are_single_probes(void **state) {
  for (size_t s = 0; s < N_BATCHES; s++) {
    nay_params p = {sizeof p, .kind = ((const nay_family *)*state)->kind, .nkeys = 500, .fpr = 0.1};
    nay_filter *f = contract_build(&p, RANDOM, 0, 500); /* some of the batch */
    batch b = batch_make(f, batch_sizes[s]);
    bool maybe[1001] = {false};
    for (size_t i = 0; i < b.n; i++) {
      maybe[i] = nay_filter_may_contain(f, b.keys[i], b.lens[i]);
      assert_int_equal(maybe[i], nay_filter_may_contain_hash(f, (nay_hash){b.lo[i], b.hi[i]}));
    }
    assert_ok(nay_filter_may_contain_many(f, b.keys, b.lens, b.n, batch_bitmap(&b)));
    assert_bitmap(&b, maybe);
    assert_ok(nay_filter_may_contain_hash_many(f, b.lo, b.hi, b.n, batch_bitmap(&b)));
    assert_bitmap(&b, maybe);
    assert_ok(nay_filter_may_contain_hash_many(f, b.lo, NULL, b.n, batch_bitmap(&b)));
    assert_bitmap(&b, maybe);
    batch_free(&b);
    nay_filter_free(f);
  }
}

/* NULL among the keys, with a length: nothing is added, nothing is known to be absent. */
static void a_bad_batch_changes_nothing(void **state) {
  const void *keys[100];
  size_t lens[100];
  uint64_t bitmap[2] = {0, 0};
  for (size_t i = 0; i < 100; i++) keys[i] = "key", lens[i] = i % 4;
  keys[99] = NULL;
  lens[99] = 3;
  nay_filter *f = contract_filter(*state, 100);
  bytes before = bytes_of(f);
  assert_status(nay_filter_may_contain_many(f, keys, lens, 100, bitmap), NAY_EINVAL);
  assert_true(bitmap[0] == ~(uint64_t)0 && bitmap[1] == ~(uint64_t)0 >> 28);
  if (contract_can(*state, NAY_CAN_ADD)) {
    assert_status(nay_filter_add_many(f, keys, lens, 100, bitmap, NULL), NAY_EINVAL);
  }
  assert_unchanged(f, &before);
  bytes_free(&before);
  nay_filter_free(f);
}

/* ---- adding ---- */

static void add_tells_what_is_new(void **state) {
  nay_params p = {sizeof p, .kind = ((const nay_family *)*state)->kind, .nkeys = 300, .fpr = 0.2};
  /* copies need room as well, and pairs of tags fill buckets of four less evenly than single ones
   */
  if (contract_can(*state, NAY_CAN_COUNT)) p.nkeys = 900;
  nay_filter *f = contract_new(&p);
  unsigned fresh = 0, doubtful = 0;
  for (uint64_t i = 0; i < 600; i++) {
    uint8_t key[KEY_MAX];
    size_t len = RANDOM->make(i / 2, key); /* each key twice */
    bool before = nay_filter_may_contain(f, key, len), is_new;
    assert_ok(nay_filter_add(f, key, len, &is_new));
    assert_int_equal(is_new, !before);
    assert_true(i % 2 == 0 || !is_new);
    fresh += is_new;
    doubtful += i % 2 == 0 && !is_new;
  }
  assert_int_equal(fresh + doubtful, 300);
  assert_true(fresh > 200); /* with a rate of 0.2 at the end: no more than a third were doubtful */
  nay_filter_free(f);
}

/* The bytes tell the set, not how it came: order, repeats, batches, builder. */
static void bytes_depend_on_the_set_alone(void **state) {
  nay_params p = contract_params(*state, 700);
  nay_filter *up = contract_new(&p), *down = contract_new(&p), *twice = contract_new(&p);
  nay_filter *built = contract_build(&p, RANDOM, 0, 700);
  contract_add(up, RANDOM, 0, 700);
  for (uint64_t i = 700; i-- > 0;) contract_add(down, RANDOM, i, 1);
  contract_add(twice, RANDOM, 0, 700);
  contract_add(twice, RANDOM, 100, 600);
  assert_true(filters_equal(up, down));
  assert_true(filters_equal(up, twice));
  assert_true(filters_equal(up, built));
  nay_filter_free(up);
  nay_filter_free(down);
  nay_filter_free(twice);
  nay_filter_free(built);
}

static nay_filter *build_hashes(const nay_params *p, const uint64_t *hashes, size_t n) {
  nay_filter *f;
  assert_ok(nay_filter_build(p, hashes, n, NULL, NULL, &f));
  return f;
}

/* nay_filter_build: the same for every family, and the caller's array stays as it was. */
static void builds_ignore_order_and_repeats(void **state) {
  enum { N = 900 };
  uint64_t up[N], down[N], twice[2 * N], before[2 * N];
  for (size_t i = 0; i < N; i++) {
    up[i] = down[N - 1 - i] = twice[2 * i] = contract_hash(i).lo;
    twice[2 * i + 1] = contract_hash((i * 7) % N).lo;
  }
  memcpy(before, twice, sizeof twice);
  for (uint64_t nkeys = 0; nkeys <= N; nkeys += N) { /* counted, and stated */
    nay_params p = contract_params(*state, nkeys);
    nay_filter *a = build_hashes(&p, up, N), *b = build_hashes(&p, down, N),
               *c = build_hashes(&p, twice, (size_t)2 * N);
    assert_true(filters_equal(a, b));
    if (contract_is_a_set(*state) || nkeys == 0) assert_true(filters_equal(a, c));
    assert_int_equal(stats_of(c).nkeys, N);
    for (size_t i = 0; i < N; i++) {
      assert_true(nay_filter_may_contain_hash(c, (nay_hash){up[i], 0}));
    }
    nay_filter_free(a);
    nay_filter_free(b);
    nay_filter_free(c);
  }
  assert_memory_equal(before, twice, sizeof twice);
}

/* What is built of n keys, wherever it started, has the rate of the plan. */
static void builds_keep_the_rate(void **state) {
  enum { N = 20000, PROBES = 40000 };
  const nay_family *family = *state;
  nay_params start = contract_params(family, 500), room = start;
  room.max_nkeys = N; /* for a family that must be told how far it may grow */
  nay_plan plan = {.size = sizeof plan};
  nay_params table[] = {contract_params(family, 0), contract_params(family, N),
                        nay_params_plan(&room, NULL, &plan) == NAY_OK ? room : start};
  uint64_t *hashes = malloc(N * sizeof *hashes);
  for (uint64_t i = 0; i < N; i++) hashes[i] = contract_hash(i).lo;
  for (size_t i = 0; i < (contract_can(family, NAY_CAN_GROW) ? 3 : 2); i++) {
    nay_filter *f = build_hashes(&table[i], hashes, N);
    unsigned wrong = 0;
    for (uint64_t j = 0; j < PROBES; j++) {
      wrong += nay_filter_may_contain_hash(f, contract_hash(N + j));
    }
    assert_true(wrong <= 600); /* 400 at 1 %: ten standard deviations */
    nay_filter_free(f);
  }
  free(hashes);
}

/* A builder is empty after finish and can be used again; an unfinished one can be dropped. */
static void builders_can_be_used_again(void **state) {
  nay_params p = contract_params(*state, 0);
  nay_builder *b;
  nay_filter *first, *again;
  assert_ok(nay_builder_new(&p, NULL, NULL, &b));
  for (uint64_t i = 0; i < 300; i++) assert_ok(nay_builder_add_hash(b, contract_hash(i)));
  assert_ok(nay_builder_finish(b, NULL, &first));
  assert_int_equal(nay_builder_nkeys(b), 0);
  bool ages = (nay_kind_traits(p.kind) & NAY_CAN_EXPIRE) != 0; /* a window keeps the order */
  for (uint64_t i = 0; i < 300; i++) {
    assert_ok(nay_builder_add_hash(b, contract_hash(ages ? i : 299 - i)));
  }
  assert_int_equal(nay_builder_nkeys(b), 300);
  assert_ok(nay_builder_finish(b, NULL, &again));
  assert_true(filters_equal(first, again));
  assert_ok(nay_builder_add_hash(b, contract_hash(7)));
  nay_builder_free(b);
  nay_filter_free(first);
  nay_filter_free(again);
}

/* ---- odd keys ---- */

/* The key of no bytes is a key; NULL is a way to write it. */
static void the_key_of_no_bytes_is_a_key(void **state) {
  nay_params p = {sizeof p, .kind = ((const nay_family *)*state)->kind, .nkeys = 10, .fpr = 1e-4};
  nay_builder *b;
  nay_filter *f, *without = contract_build(&p, RANDOM, 0, 10);
  assert_ok(nay_builder_new(&p, NULL, NULL, &b));
  assert_ok(nay_builder_add(b, NULL, 0));
  assert_status(nay_builder_add(b, NULL, 1), NAY_EINVAL);
  assert_int_equal(nay_builder_nkeys(b), 1);
  assert_ok(nay_builder_finish(b, NULL, &f));
  assert_true(nay_filter_may_contain(f, "", 0));
  assert_true(nay_filter_may_contain(f, NULL, 0));
  assert_true(nay_filter_may_contain(f, "x", 0)); /* the length decides, not the bytes */
  assert_false(nay_filter_may_contain(without, "", 0));
  assert_true(nay_filter_may_contain(without, NULL, 1)); /* cannot be hashed: maybe */
  nay_hash null, empty;
  assert_ok(filter_hash(f, NULL, 0, &null));
  assert_ok(filter_hash(f, "", 0, &empty));
  assert_true(null.lo == empty.lo && null.hi == empty.hi);
  assert_status(filter_hash(f, NULL, 1, &null), NAY_EINVAL);
  nay_builder_free(b);
  nay_filter_free(f);
  nay_filter_free(without);
}

/* Keys that are prefixes of one another, with NUL bytes inside: lengths 0 to 300. */
static void every_length_is_another_key(void **state) {
  static const uint8_t zeros[301];
  nay_params p = {sizeof p, .kind = ((const nay_family *)*state)->kind, .nkeys = 151, .fpr = 1e-4};
  nay_builder *b;
  nay_filter *f;
  assert_ok(nay_builder_new(&p, NULL, NULL, &b));
  for (size_t len = 0; len <= 300; len += 2) assert_ok(nay_builder_add(b, zeros, len));
  assert_ok(nay_builder_finish(b, NULL, &f));
  unsigned wrong = 0;
  for (size_t len = 0; len <= 300; len++) {
    bool maybe = nay_filter_may_contain(f, zeros, len);
    assert_true(len % 2 == 1 || maybe);
    wrong += len % 2 == 1 && maybe;
  }
  assert_true(wrong <= 2); /* 150 probes at 1e-4: more than two has a chance of 6e-7 */
  nay_builder_free(b);
  nay_filter_free(f);
}

/* ---- hashes of the caller's own ---- */

static void callers_hashes_need_no_key(void **state) {
  nay_params p = contract_params(*state, 200);
  p.hash = NAY_HASH_CALLER;
  nay_builder *b;
  nay_filter *f;
  assert_ok(nay_builder_new(&p, NULL, NULL, &b));
  assert_status(nay_builder_add(b, "key", 3), NAY_ENOTSUP);
  for (uint64_t i = 0; i < 200; i++) assert_ok(nay_builder_add_hash(b, contract_hash(i)));
  assert_ok(nay_builder_finish(b, NULL, &f));
  for (uint64_t i = 0; i < 200; i++) assert_true(nay_filter_may_contain_hash(f, contract_hash(i)));
  nay_hash hash;
  uint64_t bitmap[1] = {0};
  const void *keys[3] = {"a", "b", "c"};
  const size_t lens[3] = {1, 1, 1};
  assert_status(filter_hash(f, "key", 3, &hash), NAY_ENOTSUP);
  assert_true(nay_filter_may_contain(f, "key", 3));
  assert_status(nay_filter_may_contain_many(f, keys, lens, 3, bitmap), NAY_ENOTSUP);
  assert_int_equal(bitmap[0], 7);
  assert_status(nay_filter_add(f, "key", 3, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_add_many(f, keys, lens, 3, NULL, NULL), NAY_ENOTSUP);
  assert_int_equal(stats_of(f).hash, NAY_HASH_CALLER);
  nay_builder_free(b);
  nay_filter_free(f);
}

/* One hash serves all filters that agree on the hash, and only those. */
static void equal_hashers_share_hashes(void **state) {
  nay_params p = contract_params(*state, 100), other_seed = p, keyed = contract_keyed(*state, 100);
  other_seed.seed = 1;
  nay_params other_key = keyed;
  other_key.key[15] ^= 1;
  nay_params all[] = {p, other_seed, keyed, other_key};
  nay_filter *f[4], *small = contract_filter(*state, 10);
  for (size_t i = 0; i < 4; i++) f[i] = contract_build(&all[i], RANDOM, 0, 100);
  for (size_t i = 0; i < 4; i++) {
    for (size_t j = 0; j < 4; j++) assert_int_equal(filter_same_hash(f[i], f[j]), i == j);
  }
  assert_true(filter_same_hash(f[0], small));
  for (uint64_t i = 0; i < 100; i++) {
    uint8_t key[KEY_MAX];
    nay_hash a, b;
    size_t len = RANDOM->make(i, key);
    assert_ok(filter_hash(small, key, len, &a));
    assert_ok(filter_hash(f[0], key, len, &b));
    assert_true(a.lo == b.lo && a.hi == b.hi && nay_filter_may_contain_hash(f[0], a));
    assert_ok(filter_hash(f[1], key, len, &b));
    assert_true(a.lo != b.lo);
  }
  for (size_t i = 0; i < 4; i++) nay_filter_free(f[i]);
  nay_filter_free(small);
}

/* ---- removing, counting, expiring: for the families that can ---- */

static void remove_takes_out_what_was_put_in(void **state) {
  nay_params p = {
      .size = sizeof p, .kind = ((const nay_family *)*state)->kind, .nkeys = 2000, .fpr = 0.001};
  nay_filter *f = contract_new(&p);
  contract_add(f, RANDOM, 0, 2000);
  for (uint64_t i = 0; i < 1000; i++) {
    uint8_t key[KEY_MAX];
    assert_ok(nay_filter_remove(f, key, RANDOM->make(i, key)));
  }
  assert_all_maybe(f, RANDOM, 1000, 1000);
  unsigned left = 0;
  for (uint64_t i = 0; i < 1000; i++) left += contract_has(f, RANDOM, i);
  assert_true(left <= 12); /* 1000 probes at 0.001 or less: more than 12 has a chance below 1e-9 */
  contract_add(f, RANDOM, 0, 1000);
  assert_all_maybe(f, RANDOM, 0, 2000);
  nay_filter_free(f);
}

static void removing_a_stranger_changes_nothing(void **state) {
  nay_filter *f = contract_filter(*state, 1000);
  bytes before = bytes_of(f);
  unsigned refused = 0;
  for (uint64_t i = 1000; i < 1200; i++) {
    uint8_t key[KEY_MAX];
    size_t len = RANDOM->make(i, key);
    if (nay_filter_may_contain(f, key, len)) continue; /* a false positive can be taken out */
    assert_status(nay_filter_remove(f, key, len), NAY_ENOENT);
    refused++;
  }
  assert_true(refused > 150);
  assert_unchanged(f, &before);
  bytes_free(&before);
  nay_filter_free(f);
}

/* A key that was added twice survives one removal. */
static void copies_are_removed_one_by_one(void **state) {
  nay_params p = contract_params(*state, 1000);
  nay_filter *f = contract_new(&p);
  uint8_t key[KEY_MAX];
  for (uint64_t i = 0; i < 200; i++) contract_add(f, RANDOM, i, 1), contract_add(f, RANDOM, i, 1);
  for (uint64_t i = 0; i < 200; i++) {
    assert_ok(nay_filter_remove(f, key, RANDOM->make(i, key)));
    assert_true(contract_has(f, RANDOM, i));
  }
  for (uint64_t i = 0; i < 200; i++) {
    assert_ok(nay_filter_remove(f, key, RANDOM->make(i, key)));
  }
  nay_filter_free(f);
}

static void counts_are_never_too_low(void **state) {
  nay_params p = contract_params(*state, 1000);
  nay_filter *f = contract_new(&p);
  uint8_t key[KEY_MAX];
  for (uint64_t i = 0; i < 100; i++) {
    for (uint64_t j = 0; j <= i % 4; j++) contract_add(f, RANDOM, i, 1);
  }
  for (uint64_t i = 0; i < 100; i++) {
    uint64_t count = 0;
    assert_ok(nay_filter_count(f, key, RANDOM->make(i, key), &count));
    assert_true(count >= i % 4 + 1);
  }
  nay_filter_free(f);
}

int main(void) {
  const contract_test tests[] = {
      CONTRACT(no_false_nay_when_built, 0),
      CONTRACT(the_empty_filter_is_soon_overloaded, NAY_CAN_ADD),
      CONTRACT(no_false_nay_when_added, NAY_CAN_ADD),
      CONTRACT(no_false_nay_when_overloaded, NAY_CAN_ADD),
      CONTRACT(the_empty_filter_says_nay, 0),
      CONTRACT(batch_adds_are_single_adds, NAY_CAN_ADD),
      CONTRACT(batch_probes_are_single_probes, 0),
      CONTRACT(a_bad_batch_changes_nothing, 0),
      CONTRACT(add_tells_what_is_new, NAY_CAN_ADD),
      CONTRACT_SETS(bytes_depend_on_the_set_alone, 0),
      CONTRACT(builds_ignore_order_and_repeats, 0),
      CONTRACT(builds_keep_the_rate, 0),
      CONTRACT(builders_can_be_used_again, 0),
      CONTRACT(the_key_of_no_bytes_is_a_key, 0),
      CONTRACT(every_length_is_another_key, 0),
      CONTRACT(callers_hashes_need_no_key, 0),
      CONTRACT(equal_hashers_share_hashes, 0),
      CONTRACT(remove_takes_out_what_was_put_in, NAY_CAN_ADD | NAY_CAN_REMOVE),
      CONTRACT(removing_a_stranger_changes_nothing, NAY_CAN_REMOVE),
      CONTRACT(copies_are_removed_one_by_one, NAY_CAN_ADD | NAY_CAN_REMOVE),
      CONTRACT(counts_are_never_too_low, NAY_CAN_ADD | NAY_CAN_COUNT),
  };
  return contract_run_all(tests);
}

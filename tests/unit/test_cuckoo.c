/* test_cuckoo.c - two buckets, four slots: copies, eviction, growth, and what is refused. */
#include "family/cuckoo.h"
#include "filter.h"
#include "support/flaky.h"
#include "support/mutable.h"

static nay_params cuckoo_params(uint64_t nkeys, uint32_t tag_bits) {
  return (nay_params){.size = sizeof(nay_params),
                      .kind = NAY_CUCKOO,
                      .nkeys = nkeys,
                      .fpr = 0.2,
                      .tag_bits = tag_bits,
                      .hash = NAY_HASH_CALLER};
}

static nay_filter *make(const nay_params *p) {
  nay_filter *f;
  assert_ok(nay_filter_new(p, NULL, NULL, &f));
  return f;
}

static nay_filter *make_cuckoo(uint64_t nkeys, uint32_t tag_bits) {
  nay_params p = cuckoo_params(nkeys, tag_bits);
  return make(&p);
}

static uint64_t count_of(const nay_filter *f, uint64_t key) {
  uint64_t count;
  assert_ok(nay__filter_count_hash(f, hash_of(key), &count));
  return count;
}

static void every_width_adds_counts_removes(void **state) {
  (void)state;
  for (uint32_t bits = 6; bits <= 32; bits++) {
    nay_filter *f = make_cuckoo(3000, bits), *empty = make_cuckoo(3000, bits);
    for (uint64_t i = 0; i < 3000; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
    reload(&f);
    for (uint64_t i = 0; i < 3000; i++) {
      assert_true(nay_filter_may_contain_hash(f, hash_of(i)));
      assert_true(count_of(f, i) >= 1);
    }
    nay_stats s = {.size = sizeof s};
    assert_ok(nay_filter_stats(f, &s));
    assert_int_equal(s.tag_bits, bits);
    assert_int_equal((uint64_t)s.nkeys_estimated, 3000);
    for (uint64_t i = 0; i < 3000; i++) assert_ok(nay_filter_remove_hash(f, hash_of(i)));
    assert_true(same_bytes(f, empty));
    nay_filter_free(f);
    nay_filter_free(empty);
  }
}

static void tags_follow_the_rate(void **state) {
  (void)state;
  const struct {
    double fpr;
    uint32_t bits;
  } known[] = {{0.3, 8}, {0.1, 8}, {0.03, 8}, {0.01, 10}, {0.001, 13}, {1e-6, 23}, {2e-9, 32}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    nay_params p = {sizeof p, .kind = NAY_CUCKOO, .nkeys = 1000000, .fpr = known[i].fpr};
    nay_plan plan = {.size = sizeof plan};
    assert_ok(nay_params_plan(&p, NULL, &plan));
    assert_int_equal(plan.tag_bits, known[i].bits);
    assert_true(plan.fpr <= known[i].fpr);
    assert_close(plan.bits_per_key, known[i].bits / 0.95, 0.001);
    p.nkeys = 1000;
    assert_ok(nay_params_plan(&p, NULL, &plan));
    assert_int_equal(plan.tag_bits, known[i].bits);
  }
}

static void eight_copies_and_no_more(void **state) {
  (void)state;
  nay_filter *f = make_cuckoo(1000, 12);
  for (unsigned i = 1; i <= 8; i++) {
    bool is_new;
    assert_ok(nay_filter_add_hash(f, hash_of(5), &is_new));
    assert_int_equal(is_new, i == 1);
    assert_int_equal(count_of(f, 5), i);
  }
  snapshot before = snap(f);
  assert_status(nay_filter_add_hash(f, hash_of(5), NULL), NAY_EFULL);
  assert_true(snap_same(before, f));
  for (unsigned i = 8; i-- > 0;) {
    assert_ok(nay_filter_remove_hash(f, hash_of(5)));
    assert_int_equal(count_of(f, 5), i);
  }
  assert_status(nay_filter_remove_hash(f, hash_of(5)), NAY_ENOENT);
  nay_filter_free(f);
}

static void unique_adds_once(void **state) {
  (void)state;
  nay_params p = cuckoo_params(1000, 12);
  p.flags = NAY_UNIQUE;
  nay_filter *f = make(&p);
  bool is_new;
  assert_ok(nay_filter_add_hash(f, hash_of(5), &is_new));
  assert_true(is_new);
  reload(&f);
  for (unsigned i = 0; i < 20; i++) assert_ok(nay_filter_add_hash(f, hash_of(5), &is_new));
  assert_false(is_new);
  assert_int_equal(count_of(f, 5), 1);
  nay_filter_free(f);
}

/* Any even number of buckets: both buckets of a key differ, so eight copies always fit. */
static void the_two_buckets_never_coincide(void **state) {
  (void)state;
  for (uint64_t m = 2; m <= 40; m += 2) {
    nay_params p = {.size = sizeof p,
                    .kind = NAY_CUCKOO,
                    .nbits = m * 4 * 8,
                    .tag_bits = 8,
                    .hash = NAY_HASH_CALLER};
    for (uint64_t key = 0; key < 200; key++) {
      nay_filter *f = make(&p);
      for (unsigned i = 0; i < 8; i++) assert_ok(nay_filter_add_hash(f, hash_of(key), NULL));
      assert_int_equal(count_of(f, key), 8);
      nay_filter_free(f);
    }
  }
}

static void full_is_said_and_changes_nothing(void **state) {
  (void)state;
  for (uint32_t bits = 8; bits <= 20; bits += 6) {
    nay_filter *f = make_cuckoo(5000, bits);
    uint64_t i = 0;
    while (nay_filter_add_hash(f, hash_of(i), NULL) == NAY_OK) i++;
    assert_true(i > 5000);
    for (unsigned again = 0; again < 50; again++) {
      snapshot before = snap(f);
      nay_status status = nay_filter_add_hash(f, hash_of(i + again), NULL);
      if (status != NAY_OK) {
        assert_int_equal(status, NAY_EFULL);
        assert_true(snap_same(before, f));
      } else {
        free(before.bytes);
      }
    }
    for (uint64_t j = 0; j < i; j++) assert_true(nay_filter_may_contain_hash(f, hash_of(j)));
    nay_filter_free(f);
  }
}

static void same_operations_same_bytes(void **state) {
  (void)state;
  nay_filter *a = make_cuckoo(4000, 11), *b = make_cuckoo(4000, 11);
  rng r = {3}, same = {3};
  nay_filter *both[2] = {a, b};
  rng *rs[2] = {&r, &same};
  for (unsigned f = 0; f < 2; f++) {
    uint64_t added = 0, removed = 0;
    for (unsigned step = 0; step < 12000; step++) {
      bool add = added - removed < 2000 || (added - removed < 3900 && rng_below(rs[f], 3) > 0);
      if (add) {
        assert_ok(nay_filter_add_hash(both[f], hash_of(added++), NULL));
      } else {
        assert_ok(nay_filter_remove_hash(both[f], hash_of(removed++)));
      }
      if (f == 1 && step % 3000 == 0) reload(&both[1]); /* saving and loading changes nothing */
    }
  }
  assert_true(same_bytes(both[0], both[1]));
  nay_filter_free(both[0]);
  nay_filter_free(both[1]);
}

static void removing_a_nay_is_refused(void **state) {
  (void)state;
  nay_filter *f = make_cuckoo(1000, 12);
  for (uint64_t i = 0; i < 1000; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
  snapshot before = snap(f);
  for (uint64_t i = 2000; i < 4000; i++) {
    if (nay_filter_may_contain_hash(f, hash_of(i))) continue;
    assert_status(nay_filter_remove_hash(f, hash_of(i)), NAY_ENOENT);
  }
  assert_true(snap_same(before, f));
  nay_filter_free(f);
}

/* The hazard of the family: removing a key that was not added removes the tag of another key. */
static void removing_strangers_hurts_others(void **state) {
  (void)state;
  nay_filter *f = make_cuckoo(1000, 8);
  for (uint64_t i = 0; i < 1000; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
  unsigned strangers = 0, false_nays = 0;
  for (uint64_t i = 10000; i < 15000; i++) {
    strangers += nay_filter_remove_hash(f, hash_of(i)) == NAY_OK;
  }
  for (uint64_t i = 0; i < 1000; i++) false_nays += !nay_filter_may_contain_hash(f, hash_of(i));
  assert_true(strangers > 30 && false_nays > 10 && false_nays <= strangers);
  nay_filter_free(f);
}

static void it_grows_to_its_limit(void **state) {
  (void)state;
  nay_params p = {.size = sizeof p,
                  .kind = NAY_CUCKOO,
                  .nkeys = 1000,
                  .fpr = 0.01,
                  .max_nkeys = 60000,
                  .hash = NAY_HASH_CALLER};
  nay_plan plan = {.size = sizeof plan};
  assert_ok(nay_params_plan(&p, NULL, &plan));
  assert_int_equal(plan.tag_bits, 16); /* 10 for 1 %, 6 to spend on doublings */
  assert_true(plan.fpr_limit <= 0.01 && plan.fpr < 0.001);
  nay_filter *f = make(&p);
  double last_fpr = 0;
  uint32_t levels = 1;
  for (uint64_t i = 0; i < 60000; i++) {
    assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
    if (i % 3 == 0) {
      assert_ok(nay_filter_add_hash(f, hash_of(i), NULL)); /* twice, then once again */
      assert_ok(nay_filter_remove_hash(f, hash_of(i)));
    }
    if (i % 1000 != 0) continue;
    nay_stats s = {.size = sizeof s};
    assert_ok(nay_filter_stats(f, &s));
    assert_int_equal((uint64_t)s.nkeys_estimated, i + 1);
    assert_int_equal(s.tag_bits + s.nlevels, 17);
    assert_true(s.fpr_now <= 0.01 && s.nlevels >= levels);
    assert_false(s.overloaded);
    levels = s.nlevels;
    last_fpr = s.fpr_now;
    if (i % 10000 == 0) reload(&f);
  }
  assert_int_equal(levels, 7);
  assert_true(last_fpr > 0.003);
  for (uint64_t i = 0; i < 60000; i++) {
    assert_true(nay_filter_may_contain_hash(f, hash_of(i)));
  }
  uint64_t extra = 60000;
  while (nay_filter_add_hash(f, hash_of(extra), NULL) == NAY_OK) extra++;
  snapshot before = snap(f);
  assert_status(nay_filter_add_hash(f, hash_of(extra), NULL), NAY_EFULL);
  assert_true(snap_same(before, f));
  for (uint64_t i = 0; i < extra; i++) assert_ok(nay_filter_remove_hash(f, hash_of(i)));
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_filter_stats(f, &s));
  assert_int_equal(s.nbits_set, 0);
  nay_filter_free(f);
}

/* Up to max_nkeys a filter that may grow is not overloaded, whether or not it has to double. */
static void growth_is_no_overload(void **state) {
  (void)state;
  const uint64_t cases[][2] = {{1, 2}, {3, 7}, {5, 8}, {3, 100}, {20, 21}, {1000, 1001}, {20, 400}};
  for (size_t i = 0; i < 21; i++) {
    nay_params p = {sizeof p, .kind = NAY_CUCKOO, .hash = NAY_HASH_CALLER};
    p.nkeys = cases[i % 7][0];
    p.max_nkeys = cases[i % 7][1];
    if (i < 7) p.fpr = 0.01;
    if (i / 7 == 1) p.nbytes = 512 + 4 * p.nkeys;
    if (i / 7 == 2) p.nbits = (uint64_t)8 * 12 * (4 + p.nkeys / 7);
    nay_filter *f = make(&p);
    nay_stats s = {.size = sizeof s};
    for (uint64_t n = 1; n <= p.max_nkeys; n++) {
      assert_ok(nay_filter_add_hash(f, hash_of(n), NULL));
      assert_ok(nay_filter_stats(f, &s));
      if (s.overloaded)
        fail_msg("%llu to %llu keys: overloaded by %llu", (unsigned long long)p.nkeys,
                 (unsigned long long)p.max_nkeys, (unsigned long long)n);
    }
    nay_filter_free(f);
  }
}

static void growth_respects_memory(void **state) {
  (void)state;
  flaky mem = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&mem);
  nay_params p = {.size = sizeof p,
                  .kind = NAY_CUCKOO,
                  .nkeys = 1000,
                  .fpr = 0.01,
                  .max_nkeys = 100000,
                  .max_nbytes = 9000,
                  .hash = NAY_HASH_CALLER};
  nay_filter *f;
  assert_ok(nay_filter_new(&p, &a, NULL, &f));
  mem.fail_at = mem.calls;
  uint64_t i = 0;
  while (nay_filter_add_hash(f, hash_of(i), NULL) == NAY_OK)
    i++; /* the first doubling: no memory */
  snapshot before = snap(f);
  mem.fail_at = mem.calls;
  assert_status(nay_filter_add_hash(f, hash_of(i), NULL), NAY_ENOMEM);
  assert_true(snap_same(before, f));
  while (nay_filter_add_hash(f, hash_of(i), NULL) == NAY_OK) i++;
  before = snap(f);
  assert_status(nay_filter_add_hash(f, hash_of(i), NULL), NAY_EFULL); /* the limit */
  assert_true(snap_same(before, f));
  assert_true(f->nbytes <= 9000 && i > 3000);
  for (uint64_t j = 0; j < i; j++) assert_true(nay_filter_may_contain_hash(f, hash_of(j)));
  nay_filter_free(f);
  assert_int_equal(mem.objects, 0);
}

static uint64_t state_of(const nay_filter *f, nay_stats *s) {
  *s = (nay_stats){.size = sizeof *s};
  assert_ok(nay_filter_stats(f, s));
  return (uint64_t)s->nkeys_estimated;
}

static nay_params growing(uint64_t nkeys, uint64_t max_nkeys) {
  return (nay_params){.size = sizeof(nay_params),
                      .kind = NAY_CUCKOO,
                      .nkeys = nkeys,
                      .fpr = 0.01,
                      .max_nkeys = max_nkeys,
                      .hash = NAY_HASH_CALLER};
}

/* Every start and every end: max_nkeys distinct keys find room, and the memory is that of them. */
static void all_of_max_nkeys_fit(void **unused) {
  (void)unused;
  uint64_t key = 0;
  for (uint64_t nkeys = 1; nkeys <= 300; nkeys++) {
    for (uint64_t most = nkeys; most < 20000; most = most * 5 / 2 + 1) {
      nay_params p = growing(nkeys, most), fixed = growing(most, 0);
      nay_plan plan = {.size = sizeof plan};
      assert_ok(nay_params_plan(&fixed, NULL, &plan));
      nay_filter *f = make(&p);
      nay_stats s;
      for (uint64_t i = 0; i < most; i++) {
        assert_ok(nay_filter_add_hash(f, hash_of(key + i), NULL));
      }
      for (uint64_t i = 0; i < most; i++) {
        assert_true(nay_filter_may_contain_hash(f, hash_of(key + i)));
      }
      assert_int_equal(state_of(f, &s), most);
      assert_true(s.fpr_now <= 0.01 && f->nbytes <= 2 * plan.nbytes + 128);
      nay_filter_free(f);
      key += most;
    }
  }
}

/* Copies of one key, at every load: they are refused, or fit, and the table stays as large. */
static void copies_never_grow_it(void **unused) {
  (void)unused;
  unsigned refused = 0;
  for (uint64_t nkeys = 1; nkeys <= 40; nkeys++) {
    nay_params p = growing(nkeys, 5000);
    for (uint64_t others = 0; others < 200; others += 1 + others / 8) {
      nay_filter *f = make(&p);
      nay_stats before, after;
      for (uint64_t i = 0; i <= others; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
      state_of(f, &before);
      for (unsigned i = 0; i < 20; i++) {
        refused += nay_filter_add_hash(f, hash_of(others), NULL) == NAY_EFULL;
      }
      assert_true(count_of(f, others) <= 8);
      state_of(f, &after);
      assert_int_equal(after.nlevels, before.nlevels);
      nay_filter_free(f);
    }
  }
  assert_true(refused > 0);
}

/* Hashes made to collide: no doubling can part them, and none is tried. */
static void an_attacker_cannot_make_it_grow(void **unused) {
  (void)unused;
  nay_params p = growing(1000, 1000000);
  nay_filter *f = make(&p);
  nay_status status = NAY_OK;
  unsigned added = 0;
  for (; status == NAY_OK && added < 100; added++) {
    /* the same bucket and low 10 tag bits, other spare bits */
    status = nay_filter_add_hash(f, (nay_hash){0x123456789abc0000u + (added % 3 << 10), 0}, NULL);
  }
  assert_int_equal(status, NAY_EFULL);
  assert_true(added <= 9);
  nay_stats s;
  state_of(f, &s);
  assert_int_equal(s.nlevels, 1);
  nay_filter_free(f);
}

/* Keys that differ in their last spare bit alone, nine in each pair of buckets: an attacker who
 * wants memory has to bring a key for every eight slots. */
static void growth_is_paid_for(void **unused) {
  (void)unused;
  nay_params p = growing(8, 100000);
  nay_filter *f = make(&p);
  nay_stats s;
  for (uint64_t i = 0; i < 20000; i++) {
    uint64_t last = (i & 1) << 10, bucket = (i / 9) * NAY_G64 & ~(uint64_t)0xffffff;
    (void)nay_filter_add_hash(f, (nay_hash){bucket | last | 1, 0}, NULL);
    uint64_t n = state_of(f, &s), nslots = s.nbits / s.tag_bits;
    assert_true(s.nlevels == 1 || n * 8 >= nslots);
  }
  nay_filter_free(f);
}

/* New keys that find no room among copies of others: doubling makes it, and is done if it does. */
static void crowds_are_parted(void **unused) {
  (void)unused;
  unsigned early = 0, full = 0;
  for (uint64_t t = 0; t < 300; t++) {
    nay_params p = growing(100 + t, 4000);
    nay_filter *f = make(&p);
    nay_stats s;
    for (uint64_t i = 0; i < 400; i++) {
      uint64_t key = t * 1000 + i, n = state_of(f, &s), nslots = s.nbits / s.tag_bits;
      uint32_t levels = s.nlevels;
      snapshot before = snap(f);
      if (nay_filter_add_hash(f, hash_of(key), NULL) != NAY_OK) {
        full++;
        assert_true(snap_same(before, f));
        continue;
      }
      free(before.bytes);
      assert_int_equal(state_of(f, &s), n + 1);
      early += s.nlevels > levels && n < nay__cuckoo_capacity(nslots);
      for (unsigned copy = 0; copy < 6; copy++) (void)nay_filter_add_hash(f, hash_of(key), NULL);
    }
    nay_filter_free(f);
  }
  print_message("# doubled %u times before the capacity, refused %u new keys\n", early, full);
  assert_true(early > 100);
}

/* Memory that ends at each allocation, once and for good: the filter is as it was, and goes on. */
static void every_allocation_of_growth(void **unused) {
  (void)unused;
  for (int for_ever = 0; for_ever < 2; for_ever++) {
    nay_params p = growing(3, 3000);
    flaky mem = {.fail_at = -1};
    nay_allocator a = flaky_allocator(&mem);
    nay_filter *f, *again = make(&p);
    assert_ok(nay_filter_new(&p, &a, NULL, &f));
    unsigned failures = 0;
    for (uint64_t i = 0; i < 3000; i++) {
      snapshot before = snap(f);
      mem.fail_at = mem.calls;
      nay_status status = nay_filter_add_hash(f, hash_of(i), NULL);
      mem.fail_at = -1;
      if (status == NAY_OK) {
        free(before.bytes);
      } else {
        failures++;
        assert_int_equal(status, NAY_ENOMEM);
        assert_true(snap_same(before, f));
        if (for_ever != 0) continue; /* the next key meets the same table */
        assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
      }
      assert_ok(nay_filter_add_hash(again, hash_of(i), NULL));
    }
    assert_true(same_bytes(f, again));
    assert_true(failures >= 5);
    nay_filter_free(f);
    nay_filter_free(again);
    assert_int_equal(mem.objects, 0);
  }
}

/* nbytes and bits_per_key are budgets of the new filter, with the spare bits of one that grows. */
static void sizes_are_kept(void **state) {
  (void)state;
  unsigned planned = 0;
  for (uint64_t nkeys = 10; nkeys <= 10000000; nkeys *= 10) {
    for (uint64_t nbytes = nkeys / 2 + 200; nbytes <= 16 * nkeys + 600; nbytes += nbytes / 3) {
      for (uint64_t most = nkeys; most <= nkeys << 12; most *= 4) {
        nay_params p = {sizeof p, .kind = NAY_CUCKOO, .nkeys = nkeys, .nbytes = nbytes,
                        .max_nkeys = most};
        nay_plan plan = {.size = sizeof plan};
        if (nay_params_plan(&p, NULL, &plan) == NAY_OK) {
          assert_true(plan.nbytes <= nbytes);
          planned++;
        }
        p.nbytes = 0;
        p.bits_per_key = 8 * (double)nbytes / (double)nkeys;
        if (nay_params_plan(&p, NULL, &plan) == NAY_OK) {
          assert_true(plan.bits_per_key <= p.bits_per_key);
        }
      }
    }
  }
  assert_true(planned > 300);
  nay_params p = {sizeof p, .kind = NAY_CUCKOO, .nkeys = 100000, .bits_per_key = 13};
  nay_plan plan = {.size = sizeof plan};
  assert_ok(nay_params_plan(&p, NULL, &plan));
  assert_int_equal(plan.tag_bits, 12);
  assert_true(plan.bits_per_key <= 13);
}

static void bad_params_are_named(void **state) {
  (void)state;
  nay_params bad[] = {
      {sizeof(nay_params), .kind = NAY_CUCKOO, .nkeys = 100, .fpr = 0.01, .tag_bits = 5},
      {sizeof(nay_params), .kind = NAY_CUCKOO, .nkeys = 100, .fpr = 0.01, .tag_bits = 33},
      {sizeof(nay_params), .kind = NAY_CUCKOO, .nkeys = 100, .fpr = 1e-6, .tag_bits = 8},
      {sizeof(nay_params), .kind = NAY_CUCKOO, .nkeys = 100, .fpr = 1e-12},
      {sizeof(nay_params), .kind = NAY_CUCKOO, .nkeys = 100, .fpr = 0.01, .k = 2},
      {sizeof(nay_params), .kind = NAY_CUCKOO, .nkeys = 100, .fpr = 0.01, .fold = 2},
      {sizeof(nay_params), .kind = NAY_CUCKOO, .nkeys = 100, .fpr = 0.01, .max_nkeys = 99},
      {.size = sizeof(nay_params),
       .kind = NAY_CUCKOO,
       .nkeys = 100,
       .fpr = 0.01,
       .max_nkeys = (uint64_t)1 << 50},
      {sizeof(nay_params), .kind = NAY_CUCKOO, .nkeys = 100, .fpr = 0.01, .max_nbytes = 10},
      {sizeof(nay_params), .kind = NAY_CUCKOO, .nkeys = 100, .bits_per_key = 5},
      {sizeof(nay_params), .kind = NAY_CUCKOO, .nbits = 100},
      {sizeof(nay_params), .kind = NAY_CUCKOO, .nkeys = 100, .fpr = 0.01, .flags = NAY_CONCURRENT},
      {sizeof(nay_params), .kind = NAY_CUCKOO, .nkeys = 100, .fpr = 0.01, .generations = 3},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    nay_diag diag = {.what = NULL};
    nay_plan plan = {.size = sizeof plan};
    assert_status(nay_params_plan(&bad[i], &diag, &plan), NAY_EINVAL);
    assert_non_null(diag.what);
  }
  nay_filter *f = make_cuckoo(100, 8), *g = make_cuckoo(100, 8);
  assert_status(nay_filter_merge(f, g, 1.0, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_fold(f, 1, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_intersect(f, g, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_advance(f, 1), NAY_ENOTSUP);
  nay_filter_free(f);
  nay_filter_free(g);
}

static void hostile_payloads_are_refused_or_safe(void **state) {
  (void)state;
  rng r = {17};
  for (uint32_t bits = 6; bits <= 26; bits += 5) {
    nay_params p = cuckoo_params(300, bits);
    if (bits < 20) p.max_nkeys = 3000;
    nay_filter *f = make(&p);
    for (uint64_t i = 0; i < 290; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
    for (unsigned i = 0; i < 600; i++) {
      use_after_damage(f, &r, 1 + (unsigned)rng_below(&r, 3), i % 3 ? SIZE_MAX : 32);
    }
    nay_filter_free(f);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(every_width_adds_counts_removes),
      TEST(tags_follow_the_rate),
      TEST(eight_copies_and_no_more),
      TEST(unique_adds_once),
      TEST(the_two_buckets_never_coincide),
      TEST(full_is_said_and_changes_nothing),
      TEST(same_operations_same_bytes),
      TEST(removing_a_nay_is_refused),
      TEST(removing_strangers_hurts_others),
      TEST(it_grows_to_its_limit),
      TEST(growth_is_no_overload),
      TEST(growth_respects_memory),
      TEST(all_of_max_nkeys_fit),
      TEST(copies_never_grow_it),
      TEST(an_attacker_cannot_make_it_grow),
      TEST(growth_is_paid_for),
      TEST(crowds_are_parted),
      TEST(every_allocation_of_growth),
      TEST(sizes_are_kept),
      TEST(bad_params_are_named),
      TEST(hostile_payloads_are_refused_or_safe),
  };
  return run_all(tests);
}

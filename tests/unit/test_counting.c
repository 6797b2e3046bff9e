/* test_counting.c - counters beside a bit plane, against an exact model of them. */
#include "cpu/select.h"
#include "family/blocked.h"
#include "filter.h"
#include "support/mutable.h"

static nay_filter *make_counting(uint64_t nkeys, uint32_t flags) {
  nay_params p = {.size = sizeof p,
                  .kind = NAY_COUNTING,
                  .nkeys = nkeys,
                  .fpr = 0.01,
                  .flags = flags,
                  .hash = NAY_HASH_CALLER};
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  return f;
}

/* A filter of so many blocks, whatever its rate. The pool of one block has room for all its groups.
 */
static nay_filter *make_blocks(uint64_t nblocks, uint32_t k) {
  nay_shape shape = {nblocks, k, 0};
  nay_hasher hasher = {.kind = NAY_HASH_CALLER};
  nay_filter *f;
  assert_ok(nay__filter_make(&nay__family_counting, &shape, &hasher, 0, 0, NULL, &f));
  return f;
}

/* One counter for each bit, that stops for ever at 15. */
typedef struct model {
  uint8_t *counts;
  uint64_t nblocks;
  uint32_t k;
} model;

static model model_new(const nay_filter *f) {
  model m = {calloc(f->shape.nunits * 512, 1), f->shape.nunits, f->shape.k};
  assert_non_null(m.counts);
  return m;
}

static uint64_t model_change(model *m, nay_hash h, int change) {
  uint64_t block = nay__reduce(h.lo, m->nblocks);
  nay_pattern p = nay__block_pattern(h.lo, m->k);
  uint64_t least = 15;
  for (unsigned bit = 0; bit < 512; bit++) {
    if ((p.word[bit / 64] >> bit % 64 & 1) == 0) continue;
    uint8_t *c = m->counts + block * 512 + bit;
    if (*c < least) least = *c;
    if (*c < 15) *c = (uint8_t)(*c + change);
  }
  return least;
}

static void select_finds_the_bit(void **state) {
  (void)state;
  rng r = {8};
  for (unsigned i = 0; i < 20000; i++) {
    uint64_t x = rng_next(&r), rest = x;
    if (i % 3 == 1) x &= rng_next(&r) & rng_next(&r);
    if (i % 3 == 2) x |= rng_next(&r) | rng_next(&r);
    if (i == 0) x = ~(uint64_t)0;
    if (i == 1) x = (uint64_t)1 << 63;
    rest = x;
    for (unsigned n = 0; rest != 0; n++, rest &= rest - 1) {
      assert_int_equal(nay__select64(x, n), rest & (0 - rest));
    }
  }
}

/* 100 keys of 6 bits: sums around 64 and above, so that words, pool and back are walked. */
static void check_counts(const nay_kernels *table, uint32_t k) {
  nay_filter *f = make_blocks(1, k);
  f->kernels = table;
  model m = model_new(f);
  rng r = {1};
  unsigned in[100] = {0};
  for (unsigned step = 0; step < 8000; step++) {
    uint64_t key = rng_below(&r, 100);
    nay_hash h = hash_of(key);
    uint64_t count;
    bool is_new, growing = step % 4000 < 2000;
    assert_ok(nay_filter_count_hash(f, h, &count));
    assert_int_equal(count, model_change(&m, h, 0));
    assert_int_equal(nay_filter_may_contain_hash(f, h), count != 0);
    if (rng_below(&r, 10) < (growing ? 7u : 3u)) {
      assert_ok(nay_filter_add_hash(f, h, &is_new));
      assert_int_equal(is_new, count == 0);
      model_change(&m, h, 1);
      in[key]++;
    } else if (in[key] > 0) {
      assert_ok(nay_filter_remove_hash(f, h));
      model_change(&m, h, -1);
      in[key]--;
    } else if (count == 0) {
      snapshot before = snap(f);
      assert_status(nay_filter_remove_hash(f, h), NAY_ENOENT);
      assert_true(snap_same(before, f));
    }
    if (step % 500 == 0) reload(&f);
    f->kernels = table;
  }
  free(m.counts);
  nay_filter_free(f);
}

static void counts_are_exact(void **state) {
  (void)state;
  const uint32_t ks[] = {1, 6, 11, 32};
  const nay_kernels *table;
  for (size_t i = 0; (table = nay__kernels_at(i)) != NULL; i++) {
    for (size_t j = 0; j < sizeof ks / sizeof *ks; j++) check_counts(table, ks[j]);
  }
}

static void bytes_do_not_remember(void **state) {
  (void)state;
  nay_filter *f = make_counting(4000, 0), *empty = make_counting(4000, 0);
  nay_filter *g = make_counting(4000, 0);
  for (uint64_t i = 0; i < 4000; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
  for (uint64_t i = 4000; i-- > 0;) assert_ok(nay_filter_add_hash(g, hash_of(i), NULL));
  assert_true(same_bytes(f, g)); /* another order, the same bytes */
  for (uint64_t i = 0; i < 4000; i++) assert_ok(nay_filter_remove_hash(f, hash_of(i * 7 % 4000)));
  assert_true(same_bytes(f, empty));
  nay_filter_free(f);
  nay_filter_free(g);
  nay_filter_free(empty);
}

static void fifteen_sticks(void **state) {
  (void)state;
  nay_filter *f = make_counting(1000, 0);
  uint64_t count;
  nay_stats stats = {.size = sizeof stats};
  for (unsigned i = 0; i < 14; i++) assert_ok(nay_filter_add_hash(f, hash_of(1), NULL));
  assert_ok(nay_filter_count_hash(f, hash_of(1), &count));
  assert_int_equal(count, 14);
  for (unsigned i = 0; i < 14; i++) assert_ok(nay_filter_remove_hash(f, hash_of(1)));
  assert_false(nay_filter_may_contain_hash(f, hash_of(1)));
  for (unsigned i = 0; i < 40; i++) assert_ok(nay_filter_add_hash(f, hash_of(1), NULL));
  assert_ok(nay_filter_count_hash(f, hash_of(1), &count));
  assert_int_equal(count, 15);
  assert_ok(nay_filter_stats(f, &stats));
  assert_true(stats.nstuck >= 5 && stats.nstuck <= stats.k);
  for (unsigned i = 0; i < 40; i++) assert_ok(nay_filter_remove_hash(f, hash_of(1)));
  assert_true(nay_filter_may_contain_hash(f, hash_of(1))); /* for ever, but nobody else suffers */
  nay_filter_free(f);
}

static void a_full_pool_sticks(void **state) {
  (void)state;
  nay_filter *f = make_blocks(2, 6);
  for (uint64_t i = 0; i < 400; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
  nay_stats stats = {.size = sizeof stats};
  assert_ok(nay_filter_stats(f, &stats));
  assert_true(stats.nstuck > 300);
  reload(&f);
  for (uint64_t i = 0; i < 300; i++) assert_ok(nay_filter_remove_hash(f, hash_of(i)));
  for (uint64_t i = 300; i < 400; i++) assert_true(nay_filter_may_contain_hash(f, hash_of(i)));
  reload(&f);
  nay_filter_free(f);
}

/*
 * Every table of kernels gives the bytes of filters for many threads, whatever is met: words that
 * fill up, records, counters and groups that stick, repeats, removals.
 */
static void writes_the_same(const nay_kernels *table) {
  for (uint32_t round = 2; round <= 81; round += round < 24 ? 1 : 7) {
    uint32_t k = round / 2;
    nay_params p = {sizeof p, .kind = NAY_COUNTING, .nbits = 16 * 512, .nkeys = 700, .k = k};
    p.flags = round % 2 != 0 ? NAY_UNIQUE : 0;
    nay_filter *fast, *plain;
    assert_int_equal(nay_filter_new(&p, NULL, NULL, &fast), NAY_OK);
    p.flags |= NAY_CONCURRENT;
    assert_int_equal(nay_filter_new(&p, NULL, NULL, &plain), NAY_OK);
    fast->kernels = table;
    for (uint64_t i = 0; i < 4000; i++) {
      uint64_t x = nay_hash_mix(i << 8 | k);
      nay_hash h = {nay_hash_mix(x % (i < 2000 ? 1000 : 60)), 0};
      if (x >> 60 < 5) {
        assert_int_equal(nay_filter_remove_hash(fast, h), nay_filter_remove_hash(plain, h));
      } else {
        bool a, b;
        assert_int_equal(nay_filter_add_hash(fast, h, &a), NAY_OK);
        assert_int_equal(nay_filter_add_hash(plain, h, &b), NAY_OK);
        assert_int_equal(a, b);
      }
      if (i % 50 != 0) continue;
      assert_memory_equal(fast->bits.bytes, plain->bits.bytes, fast->nbytes);
    }
    nay_filter_free(fast);
    nay_filter_free(plain);
  }
}

static void every_cpu_writes_the_same(void **state) {
  (void)state;
  const nay_kernels *table;
  for (size_t i = 0; (table = nay__kernels_at(i)) != NULL; i++) writes_the_same(table);
}

static void removing_a_nay_is_refused(void **state) {
  (void)state;
  nay_filter *f = make_counting(1000, 0);
  for (uint64_t i = 0; i < 1000; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
  snapshot before = snap(f);
  unsigned refused = 0;
  for (uint64_t i = 1000; i < 3000; i++) {
    if (nay_filter_may_contain_hash(f, hash_of(i))) continue;
    assert_status(nay_filter_remove_hash(f, hash_of(i)), NAY_ENOENT);
    refused++;
  }
  assert_true(snap_same(before, f));
  nay_stats stats = {.size = sizeof stats};
  assert_ok(nay_filter_stats(f, &stats));
  assert_int_equal(stats.nrefused, refused);
  nay_filter_free(f);
}

/* The hazard of the family, shown: removing keys that were never added makes false nays. */
static void removing_strangers_hurts_others(void **state) {
  (void)state;
  nay_filter *f = make_counting(2000, 0);
  for (uint64_t i = 0; i < 2000; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
  unsigned strangers = 0, false_nays = 0;
  for (uint64_t i = 10000; i < 30000; i++)
    strangers += nay_filter_remove_hash(f, hash_of(i)) == NAY_OK;
  for (uint64_t i = 0; i < 2000; i++) false_nays += !nay_filter_may_contain_hash(f, hash_of(i));
  assert_true(strangers > 20 && strangers < 400); /* fpr of 20000, fewer as bits go */
  assert_true(false_nays > 0);
  nay_filter_free(f);
}

static void merge_adds_counters(void **state) {
  (void)state;
  nay_filter *a = make_counting(4000, 0), *b = make_counting(4000, 0),
             *both = make_counting(4000, 0);
  for (uint64_t i = 0; i < 3000; i++) {
    assert_ok(nay_filter_add_hash(i % 2 ? a : b, hash_of(i), NULL));
    if (i % 5 == 0) assert_ok(nay_filter_add_hash(b, hash_of(i), NULL));
    assert_ok(nay_filter_add_hash(both, hash_of(i), NULL));
    if (i % 5 == 0) assert_ok(nay_filter_add_hash(both, hash_of(i), NULL));
  }
  snapshot before = snap(a);
  assert_status(nay_filter_merge(a, b, 0.001), NAY_EFULL);
  assert_true(snap_same(before, a));
  assert_ok(nay_filter_merge(a, b, 1.0));
  assert_true(same_bytes(a, both));
  nay_filter_free(a);
  nay_filter_free(b);
  nay_filter_free(both);
}

/* What counts is the size, not the number of keys it was planned for. */
static void plans_of_one_size_merge(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_COUNTING, .nkeys = 1000, .nbits = 512 * 60, .k = 5};
  nay_params q = p;
  q.nkeys = 3000;
  q.nbits = 512 * 120;
  nay_filter *a, *b;
  assert_ok(nay_filter_new(&p, NULL, NULL, &a));
  assert_ok(nay_filter_new(&q, NULL, NULL, &b));
  for (uint64_t i = 0; i < 2000; i++) {
    assert_ok(nay_filter_add_hash(i % 2 ? a : b, hash_of(i), NULL));
  }
  assert_ok(nay_filter_merge(a, b, 1.0)); /* by folding b */
  for (uint64_t i = 0; i < 2000; i++) assert_ok(nay_filter_remove_hash(a, hash_of(i)));
  nay_stats stats = {.size = sizeof stats};
  assert_ok(nay_filter_stats(a, &stats));
  assert_int_equal(stats.nbits_set, 0);
  nay_filter_free(a);
  nay_filter_free(b);
}

static void folding_adds_counters(void **state) {
  (void)state;
  nay_filter *f = make_blocks(1024, 6), *half = make_blocks(512, 6);
  for (uint64_t i = 0; i < 20000; i++) {
    assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
    assert_ok(nay_filter_add_hash(half, hash_of(i), NULL));
  }
  assert_ok(nay_filter_fold(f, 2));
  assert_true(same_bytes(f, half));
  for (uint64_t i = 0; i < 20000; i++) assert_ok(nay_filter_remove_hash(f, hash_of(i)));
  nay_stats stats = {.size = sizeof stats};
  assert_ok(nay_filter_stats(f, &stats));
  assert_int_equal(stats.nbits_set, 0);
  nay_filter_free(f);
  nay_filter_free(half);
}

static void unique_counts_once(void **state) {
  (void)state;
  nay_filter *f = make_counting(1000, NAY_UNIQUE);
  bool is_new;
  uint64_t count;
  assert_ok(nay_filter_add_hash(f, hash_of(7), &is_new));
  assert_true(is_new);
  for (unsigned i = 0; i < 30; i++) assert_ok(nay_filter_add_hash(f, hash_of(7), &is_new));
  assert_false(is_new);
  reload(&f); /* the mode is part of the file */
  assert_ok(nay_filter_add_hash(f, hash_of(7), &is_new));
  assert_ok(nay_filter_count_hash(f, hash_of(7), &count));
  assert_int_equal(count, 1);
  assert_ok(nay_filter_remove_hash(f, hash_of(7)));
  assert_false(nay_filter_may_contain_hash(f, hash_of(7)));
  nay_filter_free(f);
}

static void memory_is_little_more_than_two_planes(void **state) {
  (void)state;
  const double rates[] = {0.1, 0.01, 0.001, 0.0001};
  for (unsigned i = 0; i < 4; i++) {
    nay_params p = {sizeof p, .nkeys = 1000000, .fpr = rates[i]};
    nay_plan counting = {.size = sizeof counting}, blocked = {.size = sizeof blocked},
             bloom = {.size = sizeof bloom};
    p.kind = NAY_COUNTING;
    assert_ok(nay_params_plan(&p, NULL, &counting));
    p.kind = NAY_BLOCKED;
    assert_ok(nay_params_plan(&p, NULL, &blocked));
    p.kind = NAY_BLOOM;
    assert_ok(nay_params_plan(&p, NULL, &bloom));
    print_message("# fpr %g: %.3f x blocked, %.3f x bloom, %.2f bits per key\n", rates[i],
                  (double)counting.nbytes / (double)blocked.nbytes,
                  (double)counting.nbytes / (double)bloom.nbytes, counting.bits_per_key);
    assert_true((double)counting.nbytes < 2.12 * (double)blocked.nbytes);
  }
}

static void a_budget_is_kept(void **state) {
  (void)state;
  for (uint64_t budget = 600; budget < 40000000; budget = budget * 3 + 17) {
    nay_params p = {sizeof p, .kind = NAY_COUNTING, .nkeys = budget / 3, .nbytes = budget};
    nay_plan plan = {.size = sizeof plan};
    assert_ok(nay_params_plan(&p, NULL, &plan));
    assert_true(plan.nbytes <= budget);
    if (budget > 100000) assert_true((double)plan.nbytes > 0.97 * (double)budget);
  }
}

static void hostile_payloads_are_refused_or_safe(void **state) {
  (void)state;
  rng r = {99};
  nay_filter *f = make_blocks(9, 6);
  for (uint64_t i = 0; i < 700; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
  for (unsigned i = 0; i < 3000; i++) {
    use_after_damage(f, &r, 1 + (unsigned)rng_below(&r, 3), SIZE_MAX);
  }
  nay_filter_free(f);
}

static void a_flipped_counter_is_noticed(void **state) {
  (void)state;
  nay_filter *f = make_blocks(9, 6);
  for (uint64_t i = 0; i < 300; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
  assert_ok(f->family->check(&f->shape, f->bits.bytes, f->nbytes, NULL));
  f->bits.bytes[9 * 64 + 3] ^= 16; /* a group's word: one count more or less than bits */
  assert_status(f->family->check(&f->shape, f->bits.bytes, f->nbytes, NULL), NAY_ECORRUPT);
  nay_filter_free(f);
}

int main(void) {
  const test_case tests[] = {
      TEST(select_finds_the_bit),
      TEST(counts_are_exact),
      TEST(bytes_do_not_remember),
      TEST(fifteen_sticks),
      TEST(a_full_pool_sticks),
      TEST(every_cpu_writes_the_same),
      TEST(removing_a_nay_is_refused),
      TEST(removing_strangers_hurts_others),
      TEST(merge_adds_counters),
      TEST(plans_of_one_size_merge),
      TEST(folding_adds_counters),
      TEST(unique_counts_once),
      TEST(memory_is_little_more_than_two_planes),
      TEST(a_budget_is_kept),
      TEST(hostile_payloads_are_refused_or_safe),
      TEST(a_flipped_counter_is_noticed),
  };
  return run_all(tests);
}

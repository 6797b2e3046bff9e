/* test_counting.c - counters beside a bit plane, against an exact model of them. */
#include <math.h>

#include "cpu/select.h"
#include "family/blocked.h"
#include "family/counting_page.h"
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
  nay_hash_fn hasher = {.kind = NAY_HASH_CALLER};
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
    assert_ok(nay__filter_count_hash(f, h, &count));
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
  assert_ok(nay__filter_count_hash(f, hash_of(1), &count));
  assert_int_equal(count, 14);
  for (unsigned i = 0; i < 14; i++) assert_ok(nay_filter_remove_hash(f, hash_of(1)));
  assert_false(nay_filter_may_contain_hash(f, hash_of(1)));
  for (unsigned i = 0; i < 40; i++) assert_ok(nay_filter_add_hash(f, hash_of(1), NULL));
  assert_ok(nay__filter_count_hash(f, hash_of(1), &count));
  assert_int_equal(count, 15);
  assert_ok(nay_filter_stats(f, &stats));
  assert_true(stats.nstuck >= 5 && stats.nstuck <= stats.k);
  for (unsigned i = 0; i < 40; i++) assert_ok(nay_filter_remove_hash(f, hash_of(1)));
  assert_true(nay_filter_may_contain_hash(f, hash_of(1))); /* for ever, but nobody else suffers */
  nay_filter_free(f);
}

static void a_full_pool_sticks(void **state) {
  (void)state;
  nay_filter *f = make_blocks(8, 6);
  for (uint64_t i = 0; i < 1600; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
  nay_stats stats = {.size = sizeof stats};
  assert_ok(nay_filter_stats(f, &stats));
  assert_true(stats.nstuck > 1000);
  reload(&f);
  for (uint64_t i = 0; i < 1200; i++) assert_ok(nay_filter_remove_hash(f, hash_of(i)));
  for (uint64_t i = 1200; i < 1600; i++) assert_true(nay_filter_may_contain_hash(f, hash_of(i)));
  reload(&f);
  nay_filter_free(f);
}

/*
 * Every table of kernels gives the bytes of filters for many threads, whatever is met: words that
 * fill up, records, counters and groups that stick, repeats, removals.
 */
static void writes_the_same(const nay_kernels *table) {
  uint64_t nstuck = 0;
  for (uint32_t round = 2; round <= 81; round += round < 24 ? 1 : 7) {
    uint32_t k = round / 2;
    /* planned for 1 key the pools overflow, for 700 they have spare records */
    nay_params p = {sizeof p, .kind = NAY_COUNTING, .nbits = 16 * 512, .k = k};
    p.nkeys = round % 4 < 2 ? 1 : 700;
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
    nay_stats stats = {.size = sizeof stats};
    assert_ok(nay_filter_stats(fast, &stats));
    nstuck += stats.nstuck;
    nay_filter_free(fast);
    nay_filter_free(plain);
  }
  assert_true(nstuck > 16 * 512);
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
  assert_status(nay_filter_merge(a, b, 0.001, NULL), NAY_EFULL);
  assert_true(snap_same(before, a));
  assert_ok(nay_filter_merge(a, b, 1.0, NULL));
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
  assert_ok(nay_filter_merge(a, b, 1.0, NULL)); /* by folding b */
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
  assert_ok(nay_filter_fold(f, 2, NULL));
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
  assert_ok(nay__filter_count_hash(f, hash_of(7), &count));
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
    assert_true((double)counting.nbytes < 2.13 * (double)blocked.nbytes);
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

/* Every way to give a size, far beyond what pools without spare records hold. */
static nay_params crowded_params(unsigned i, uint64_t nkeys) {
  static const uint32_t ks[] = {0, 1, 3, 7, 12, 24, 64};
  nay_params p = {sizeof p, .kind = NAY_COUNTING, .nkeys = nkeys, .hash = NAY_HASH_CALLER};
  p.k = ks[i / 4 % 7];
  switch (i % 4) {
    case 0: p.fpr = i % 8 == 0 ? 0.01 : 0.3; break;
    case 1:
      if (nkeys < 1000) return crowded_params(i + 1, nkeys); /* below one block */
      p.bits_per_key = i % 8 == 1 ? 6 : 15;
      break;
    case 2: p.nbytes = i % 8 == 2 ? nkeys / 2 + 600 : nkeys * 3 + 600; break;
    default: p.nbits = nkeys * (i % 8 == 3 ? 3 : 10) / 512 * 512 + 512;
  }
  return p;
}

/* The groups that are stuck as a whole: their word is 0, their flag clear, their plane not 0. */
static uint64_t stuck_groups(const nay_filter *f) {
  uint64_t n = 0;
  nay_counting_table t = nay__counting_of(f);
  for (uint64_t i = 0; i < t.nblocks * NAY_COUNTING_GROUPS; i++) {
    uint64_t block = i / NAY_COUNTING_GROUPS;
    nay_counting_page page = nay__counting_page_at(&t, block / NAY_COUNTING_PAGE);
    nay_counting_group g =
        nay__counting_group_at(&t, &page, block, (unsigned)(i % NAY_COUNTING_GROUPS));
    n += nay__load64le(g.word) == 0 && nay__load64le(g.plane) != 0 &&
         !nay__counting_flagged(&page, &g);
  }
  return n;
}

/* 5% more keys than planned, replaced twice: no pool overflows, however the size was given, and no
 * counter does unless nbits fixed the plane. Sizes that are too small to count so much are refused.
 */
static void pools_hold_what_is_planned(void **state) {
  (void)state;
  unsigned spare[NAY_COUNTING_MAX_SPARE + 1] = {0}, refused = 0;
  const uint64_t sizes[] = {1, 2, 10, 40, 100, 300, 700, 1500, 4000, 20000};
  for (unsigned i = 0; i < 10 * 56; i++) {
    uint64_t n = sizes[i / 56], more = n + n / 20;
    nay_params p = crowded_params(i % 56, n);
    nay_filter *f;
    nay_diag diag;
    if (p.nbits == 0 && p.fpr == 0 && nay_filter_new(&p, NULL, &diag, &f) == NAY_EINVAL) {
      assert_non_null(strstr(diag.what, "the size is too small to count"));
      refused++;
      continue;
    }
    if (p.nbits != 0 || p.fpr != 0) assert_ok(nay_filter_new(&p, NULL, NULL, &f));
    spare[f->shape.extra >> 1]++;
    for (uint64_t key = 0; key < more; key++) nay_filter_add_hash(f, hash_of(key), NULL);
    for (uint64_t key = 0; key < 2 * more; key++) {
      assert_ok(nay_filter_remove_hash(f, hash_of(key)));
      assert_ok(nay_filter_add_hash(f, hash_of(key + more), NULL));
    }
    nay_stats s = {.size = sizeof s};
    assert_ok(nay_filter_stats(f, &s));
    if (stuck_groups(f) != 0 || (p.nbits == 0 && s.nstuck != 0))
      fail_msg("size %u of %llu keys: %llu groups, %llu counters stuck", i % 56,
               (unsigned long long)n, (unsigned long long)stuck_groups(f),
               (unsigned long long)s.nstuck);
    reload(&f);
    nay_filter_free(f);
  }
  for (unsigned i = 0; i <= NAY_COUNTING_MAX_SPARE; i++)
    print_message("# %u spare records for each block: %u plans\n", i, spare[i]);
  print_message("# refused: %u\n", refused);
  assert_true(spare[0] > 100 && spare[NAY_COUNTING_MAX_SPARE] > 10);
  assert_true(refused > 20 && refused < 200);
}

/* By an FPR every k has a plan whose counters hold: 1.08 counts of a bit with 5% more keys. */
static void every_k_has_a_plan(void **state) {
  (void)state;
  const double fprs[] = {1e-4, 0.01, 0.1, 0.3, 0.5, 0.6, 0.9, 0.99};
  for (uint32_t i = 0; i < 8 * 65; i++) {
    for (uint64_t n = 1; n < 100000000; n = n * 7 + 3) {
      nay_params p = {sizeof p, .kind = NAY_COUNTING, .nkeys = n, .fpr = fprs[i / 65], .k = i % 65};
      nay_shape shape;
      if (nay__counting_plan(&p, NULL, &shape) != NAY_OK) {
        p.kind = NAY_BLOCKED; /* no plane keeps the FPR with so few or so many probes */
        assert_status(nay__blocked_plan(&p, NULL, &shape), NAY_EINVAL);
        continue;
      }
      double mean = 1.05 * (double)n * shape.k / (512.0 * (double)shape.nunits);
      if (mean > 1.0800001)
        fail_msg("%llu keys at %g, k %u: %g counts of a bit", (unsigned long long)n, p.fpr, p.k,
                 mean);
    }
  }
}

/* Whatever chose the plane and k, spare records follow from them: the exact parameters of a filter
 * make the same filter again (replicas rely on it). */
static void spare_records_follow_from_the_shape(void **state) {
  (void)state;
  for (uint64_t n = 1; n < 3000000; n = n * 3 + 1) {
    for (unsigned i = 0; i < 56; i++) {
      nay_params p = crowded_params(i, n), q = p;
      nay_shape shape, again;
      if (nay__counting_plan(&p, NULL, &shape) != NAY_OK) {
        assert_true(p.nbytes != 0 || p.bits_per_key != 0); /* too small to count so much */
        continue;
      }
      q.fpr = q.bits_per_key = 0;
      q.nbytes = 0;
      q.nbits = shape.nunits * 512;
      q.k = shape.k;
      assert_ok(nay__counting_plan(&q, NULL, &again));
      assert_int_equal(again.extra, shape.extra);
    }
  }
}

/* As blocked, from 128 blocks on: twice the keys, twice the blocks, and the rest the same. */
static void plans_double(void **state) {
  (void)state;
  const double fprs[] = {1e-6, 1e-4, 0.001, 0.01, 0.03, 0.075, 0.15, 0.25, 0.3, 0.5, 0.6, 0.97};
  for (unsigned i = 0; i < 12; i++) {
    for (uint64_t n = 300; n < 100000000; n = n * 9 / 5 + 7) {
      nay_params p = {sizeof p, .kind = NAY_COUNTING, .nkeys = n, .fpr = fprs[i]};
      nay_shape once, twice;
      assert_ok(nay__counting_plan(&p, NULL, &once));
      p.nkeys = 2 * n;
      assert_ok(nay__counting_plan(&p, NULL, &twice));
      assert_true(nay__family_counting.fpr(&once, n) <= fprs[i]);
      if (once.nunits < 128) continue;
      assert_int_equal(twice.nunits, 2 * once.nunits);
      assert_int_equal(twice.k, once.k);
      assert_int_equal(twice.extra, once.extra);
    }
  }
}

/* The share of groups above 64 by the model of counting_plan.c, in another way: by logarithms. */
static double share_above(double mean, unsigned k) {
  double share = 0;
  for (unsigned n = 0; n < 3 * mean + 100; n++) {
    double poisson = exp(n * log(mean) - mean - lgamma(n + 1.0)), below = 0;
    double probes = (double)n * k;
    for (unsigned i = 0; i <= 64 && i <= probes; i++)
      below += exp(lgamma(probes + 1) - lgamma(i + 1.0) - lgamma(probes - i + 1) - i * log(8) +
                   (probes - i) * log(7.0 / 8));
    share += poisson * (1 - below);
  }
  return share;
}

static void groups_above_64_are_as_many_as_computed(void **state) {
  (void)state;
  const uint32_t ks[] = {1, 2, 3, 6, 11, 17};
  for (unsigned i = 0; i < 6; i++) {
    const uint64_t nblocks = 4096, n = nblocks * 8 * 48 / ks[i]; /* 48 for each group */
    nay_params p = {sizeof p, .kind = NAY_COUNTING, .nkeys = n, .nbits = nblocks * 512, .k = ks[i]};
    p.hash = NAY_HASH_CALLER;
    nay_filter *f;
    assert_ok(nay_filter_new(&p, NULL, NULL, &f));
    for (uint64_t key = 0; key < n; key++)
      assert_ok(nay_filter_add_hash(f, hash_of(key << 8 | i), NULL));
    uint64_t above = 0;
    nay_counting_table t = nay__counting_of(f);
    for (uint64_t page = 0; page < nay__counting_npages(nblocks); page++) {
      nay_counting_page at = nay__counting_page_at(&t, page);
      above += nay__counting_rank(&at, at.nrows);
    }
    double want = share_above((double)n / (double)nblocks, ks[i]) * 8.0 * (double)nblocks;
    print_message("# k %2u: %llu groups above 64, computed %.1f\n", ks[i],
                  (unsigned long long)above, want);
    /* never more than computed (a repeated probe counts once), by 5 standard deviations of groups
     * that come in up to eights */
    assert_true((double)above < want + 5 * sqrt(8 * want));
    assert_true((double)above > (ks[i] > 12 ? 0.7 : 0.85) * want - 5 * sqrt(8 * want));
    nay_filter_free(f);
  }
}

/* Spare records are capacity: filters merge whatever each has. */
static void spare_records_do_not_matter_to_merges(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_COUNTING, .nkeys = 100, .nbits = 512 * 20, .k = 5};
  nay_params q = p;
  p.hash = q.hash = NAY_HASH_CALLER;
  q.nkeys = 5000;
  q.nbits = 512 * 40;
  for (unsigned way = 0; way < 2; way++) {
    nay_filter *a, *b;
    assert_ok(nay_filter_new(way == 0 ? &p : &q, NULL, NULL, &a));
    assert_ok(nay_filter_new(way == 0 ? &q : &p, NULL, NULL, &b));
    assert_int_not_equal(a->shape.extra, b->shape.extra);
    uint32_t extra = a->shape.extra;
    for (uint64_t i = 0; i < 400; i++)
      assert_ok(nay_filter_add_hash(i % 2 ? a : b, hash_of(i), NULL));
    assert_ok(nay_filter_merge(a, b, 1.0, NULL));
    assert_int_equal(a->shape.extra, extra);
    reload(&a);
    for (uint64_t i = 0; i < 400; i++) assert_ok(nay_filter_remove_hash(a, hash_of(i)));
    nay_stats stats = {.size = sizeof stats};
    assert_ok(nay_filter_stats(a, &stats));
    assert_int_equal(stats.nbits_set, 0);
    nay_filter_free(a);
    nay_filter_free(b);
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
      TEST(pools_hold_what_is_planned),
      TEST(every_k_has_a_plan),
      TEST(spare_records_follow_from_the_shape),
      TEST(plans_double),
      TEST(groups_above_64_are_as_many_as_computed),
      TEST(spare_records_do_not_matter_to_merges),
      TEST(hostile_payloads_are_refused_or_safe),
      TEST(a_flipped_counter_is_noticed),
  };
  return run_all(tests);
}

/* test_scalable.c - growth, its rate, its limits, joining and finishing. */
#include <stdio.h>
#include <unistd.h>

#include "base/patterns.h"
#include "filter.h"
#include "math/series.h"
#include "support/flaky.h"
#include "support/mutable.h"
#include "support/native.h"

static nay_params scalable_params(uint64_t first) {
  return (nay_params){.size = sizeof(nay_params),
                      .kind = NAY_SCALABLE,
                      .nkeys = first,
                      .fpr = 0.01,
                      .hash = NAY_HASH_CALLER};
}

static nay_filter *make_scalable(uint64_t first) {
  nay_params p = scalable_params(first);
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  return f;
}

static void add_range(nay_filter *f, uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
}

static void assert_has_range(const nay_filter *f, uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; i++) assert_true(nay_filter_may_contain_hash(f, hash_of(i)));
}

static nay_stats stats_of(const nay_filter *f) {
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_filter_stats(f, &s));
  return s;
}

static void shares_sum_to_one(void **state) {
  (void)state;
  double sum = 0;
  for (unsigned i = 0; i < 400; i++) sum += nay__series_share(i);
  assert_true(sum <= 1.0 && sum > 0.99999);
}

static void the_rate_holds_while_it_grows(void **state) {
  (void)state;
  nay_filter *f = make_scalable(1000);
  uint32_t levels = 1;
  for (uint64_t i = 0; i < 200000; i++) {
    assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
    if (i % 1000 != 999) continue;
    nay_stats s = stats_of(f);
    assert_true(s.fpr_now <= 0.01);
    assert_false(s.overloaded);
    assert_close(s.nkeys_estimated, (double)(i + 1), 0.03);
    assert_true(s.nlevels >= levels);
    levels = s.nlevels;
  }
  assert_int_equal(levels, 5); /* 2000 * (1 + 3 + 9 + 27) = 80000 */
  assert_has_range(f, 0, 200000);
  reload(&f);
  assert_has_range(f, 0, 200000);
  nay_filter_free(f);
}

static void bits_per_key_at_ten_million(void **state) {
  (void)state;
  double bits = 0, keys = 0, worst = 0;
  uint64_t half = 1000;
  for (unsigned i = 0; keys < 1e7; i++, half *= NAY_SERIES_GROWTH) {
    nay_level level;
    assert_true(nay__series_level(half, 0.01, i, &level));
    for (unsigned j = 0; j < 2 && keys < 1e7; j++) {
      bits += (double)level.nblocks * NAY_HALF_BITS;
      if (keys >= 10000 && bits / keys > worst) worst = bits / keys;
      keys += (double)level.nkeys;
    }
  }
  print_message("# grown from 1000 to %.0f: %.2f bits per key, at most %.2f just after growth\n",
                keys, bits / keys, worst);
  assert_true(bits / keys <= 22.5 && worst <= 48);
}

/* Started from a sixteenth of the keys: the figures of doc/families/scalable.md. */
static void bits_per_key_from_a_sixteenth(void **state) {
  (void)state;
  nay_filter *f = make_scalable(1000);
  add_range(f, 0, 16000);
  nay_stats s = stats_of(f);
  print_message("# %u levels, %.1f bits per key\n", s.nlevels, (double)s.nbits / 16000);
  assert_int_equal(s.nlevels, 3);
  assert_true((double)s.nbits / 16000 <= 24);
  nay_filter_free(f);
}

static void a_start_is_enough(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_SCALABLE, .fpr = 0.001, .hash = NAY_HASH_CALLER};
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  add_range(f, 0, 5000);
  assert_has_range(f, 0, 5000);
  assert_true(stats_of(f).fpr_now <= 0.001);
  nay_filter_free(f);
}

static void the_limit_is_kept(void **state) {
  (void)state;
  nay_params p = scalable_params(1000);
  p.max_nbytes = 20000;
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  uint64_t i = 0;
  while (nay_filter_add_hash(f, hash_of(i), NULL) == NAY_OK) i++;
  assert_true(i > 5000 && i < 10000);
  assert_true(f->nbytes <= p.max_nbytes);
  snapshot before = snap(f);
  assert_status(nay_filter_add_hash(f, hash_of(i), NULL), NAY_EFULL);
  assert_true(snap_same(before, f));
  assert_has_range(f, 0, i);
  assert_ok(nay_filter_add_hash(f, hash_of(0), NULL)); /* known keys are still welcome */
  reload(&f);                                          /* the limit is part of the file */
  assert_status(nay_filter_add_hash(f, hash_of(i), NULL), NAY_EFULL);
  p.max_nbytes = 100;
  nay_diag diag;
  nay_plan plan = {.size = sizeof plan};
  assert_status(nay_params_plan(&p, &diag, &plan), NAY_EINVAL);
  nay_filter_free(f);
}

static void no_memory_changes_nothing(void **state) {
  (void)state;
  flaky mem = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&mem);
  nay_params p = scalable_params(500);
  nay_filter *f;
  assert_ok(nay_filter_new(&p, &a, NULL, &f));
  mem.fail_at = mem.calls;
  mem.for_ever = true;
  uint64_t i = 0;
  while (nay_filter_add_hash(f, hash_of(i), NULL) == NAY_OK) i++;
  snapshot before = snap(f);
  assert_status(nay_filter_add_hash(f, hash_of(i), NULL), NAY_ENOMEM);
  assert_true(snap_same(before, f));
  mem.fail_at = -1;
  mem.for_ever = false;
  add_range(f, i, 3 * i);
  assert_has_range(f, 0, 3 * i);
  nay_filter_free(f);
  assert_int_equal(mem.objects, 0);
}

static void metadata_survives_growth(void **state) {
  (void)state;
  nay_filter *f = make_scalable(100);
  assert_ok(nay_filter_set_meta(f, "hello", 5));
  reload(&f); /* now the metadata may lie beside the payload */
  add_range(f, 0, 2000);
  size_t len;
  const void *meta = nay_filter_meta(f, &len);
  assert_int_equal(len, 5);
  assert_memory_equal(meta, "hello", 5);
  nay_filter_free(f);
}

static void joining_adds_rates(void **state) {
  (void)state;
  nay_filter *a = make_scalable(1000), *b = make_scalable(300), *c = make_scalable(1000);
  add_range(a, 0, 20000);
  add_range(b, 20000, 35000);
  double sum = stats_of(a).fpr_now + stats_of(b).fpr_now;
  snapshot before = snap(a);
  assert_status(nay_filter_merge(a, b, sum * 0.9, NULL), NAY_EFULL);
  assert_true(snap_same(before, a));
  assert_ok(nay_filter_merge(a, b, sum, NULL));
  assert_has_range(a, 0, 35000);
  assert_close(stats_of(a).fpr_now, sum, 0.01);
  assert_close(stats_of(a).fpr_planned, 0.02, 1e-6);
  reload(&a);
  add_range(a, 35000, 90000); /* and it grows on */
  assert_has_range(a, 0, 90000);
  assert_true(stats_of(a).fpr_now <= 0.02);
  assert_ok(nay_filter_merge(c, a, 1.0, NULL));
  assert_has_range(c, 0, 90000);
  assert_ok(nay_filter_merge(c, c, 1.0, NULL)); /* nothing to do */

  nay_params other = scalable_params(1000);
  other.seed = 1;
  nay_filter *d;
  assert_ok(nay_filter_new(&other, NULL, NULL, &d));
  before = snap(c);
  assert_status(nay_filter_merge(c, d, 1.0, NULL), NAY_EMISMATCH);
  assert_true(snap_same(before, c));
  nay_filter_free(a);
  nay_filter_free(b);
  nay_filter_free(c);
  nay_filter_free(d);
}

static void joining_is_bounded(void **state) {
  (void)state;
  nay_filter *a = make_scalable(100), *b = make_scalable(100);
  unsigned joined = 0;
  add_range(b, 0, 50);
  while (nay_filter_merge(a, b, 1.0, NULL) == NAY_OK) joined++;
  assert_int_equal(joined, 63);
  snapshot before = snap(a);
  assert_status(nay_filter_merge(a, b, 1.0, NULL), NAY_EFULL);
  assert_true(snap_same(before, a));
  reload(&a);
  nay_filter_free(a);
  nay_filter_free(b);
}

static void folding_finishes(void **state) {
  (void)state;
  nay_filter *f = make_scalable(1000);
  add_range(f, 0, 27000); /* just grown: the last level is nearly empty */
  nay_stats before = stats_of(f);
  uint64_t factor;
  assert_ok(nay_filter_fold_factor(f, 0.01, &factor));
  assert_true(factor > 4);
  assert_ok(nay_filter_fold(f, factor, NULL));
  nay_stats after = stats_of(f);
  print_message("# folded by %u: %zu -> %zu bytes\n", (unsigned)factor, (size_t)before.nbytes,
                (size_t)after.nbytes);
  assert_true(after.nbytes < before.nbytes * 2 / 3);
  assert_true(after.fpr_now <= 0.01);
  assert_has_range(f, 0, 27000);
  uint64_t stranger = 1000000;
  while (nay_filter_may_contain_hash(f, hash_of(stranger))) stranger++;
  snapshot bytes = snap(f);
  assert_status(nay_filter_add_hash(f, hash_of(stranger), NULL), NAY_EFULL);
  assert_true(snap_same(bytes, f));
  reload(&f);
  assert_status(nay_filter_fold(f, 1000003, NULL), NAY_EINVAL);
  /* joined to one that grows, the finished level is full, not empty */
  nay_filter *g = make_scalable(1000);
  assert_ok(nay_filter_merge(g, f, 1.0, NULL));
  add_range(g, 27000, 200000);
  assert_has_range(g, 0, 200000);
  assert_true(stats_of(g).fpr_now <= 0.02);
  reload(&g);
  nay_filter_free(g);
  /* and clearing starts anew, even where folding left less than the first level needs */
  nay_filter *empty = make_scalable(1000);
  assert_ok(nay_filter_clear(f));
  assert_true(same_bytes(f, empty));
  assert_ok(nay_filter_fold_factor(empty, 0.01, &factor));
  assert_ok(nay_filter_fold(empty, factor, NULL));
  reload(&empty);
  assert_ok(nay_filter_clear(empty));
  assert_true(same_bytes(f, empty));
  nay_filter_free(f);
  nay_filter_free(empty);
}

/* A file of some hundred bytes that claims a first level of any size must not get it. */
static void clearing_does_not_trust_the_header(void **state) {
  (void)state;
  for (unsigned bits = 10; bits <= 48; bits++) {
    nay_filter *f = make_scalable(100), *g;
    assert_ok(nay_filter_fold(f, 1, NULL));
    snapshot s = snap(f);
    nay__store64le(s.bytes + 32, (uint64_t)1 << bits); /* nunits: keys of the first level */
    native_seal(s.bytes, s.len);
    flaky heap = {.fail_at = -1};
    nay_allocator a = flaky_allocator(&heap);
    assert_ok(nay_filter_decode(s.bytes, s.len, &a, NULL, &g));
    assert_ok(nay_filter_clear(g));
    assert_true(heap.peak < 65536 + 4096);
    add_range(g, 0, 3000); /* it grows from there */
    assert_has_range(g, 0, 3000);
    assert_true(stats_of(g).fpr_now <= 0.01);
    reload(&g);
    nay_filter_free(g);
    nay_filter_free(f);
    free(s.bytes);
  }
}

static void batches_are_single_adds(void **state) {
  (void)state;
  nay_filter *one = make_scalable(100), *many = make_scalable(100);
  uint64_t hashes[1000], news[16], maybes[16];
  for (unsigned i = 0; i < 1000; i++) hashes[i] = nay_hash_mix(i % 700);
  assert_ok(nay_filter_add_hash_many(many, hashes, NULL, 1000, news, NULL));
  for (unsigned i = 0; i < 1000; i++) {
    bool is_new;
    assert_ok(nay_filter_add_hash(one, (nay_hash){hashes[i], 0}, &is_new));
    assert_int_equal(is_new, news[i / 64] >> i % 64 & 1);
  }
  assert_true(same_bytes(one, many));
  for (unsigned i = 0; i < 1000; i++) hashes[i] = nay_hash_mix(i * 3);
  assert_ok(nay_filter_may_contain_hash_many(many, hashes, NULL, 1000, maybes));
  for (unsigned i = 0; i < 1000; i++) {
    assert_int_equal(nay_filter_may_contain_hash(one, (nay_hash){hashes[i], 0}),
                     maybes[i / 64] >> i % 64 & 1);
  }
  nay_filter_free(one);
  nay_filter_free(many);
}

/* Every number of keys, from a sixteenth: batches of all lengths make what single adds make. */
static void every_size_in_batches(void **state) {
  (void)state;
  static uint64_t hashes[2000], maybes[32];
  for (unsigned i = 0; i < 2000; i++) hashes[i] = nay_hash_mix(i);
  for (unsigned n = 1; n <= 2000; n++) {
    nay_filter *one = make_scalable(n / 16 + 1), *many = make_scalable(n / 16 + 1);
    add_range(one, 0, n);
    for (unsigned at = 0, len; at < n; at += len) {
      len = 1 + (n * 7 + at) % 200 < n - at ? 1 + (n * 7 + at) % 200 : n - at;
      assert_ok(nay_filter_add_hash_many(many, hashes + at, NULL, len, NULL, NULL));
    }
    assert_true(one->nbytes == many->nbytes);
    assert_memory_equal(one->bits.bytes, many->bits.bytes, one->nbytes);
    assert_ok(nay_filter_may_contain_hash_many(many, hashes, NULL, n, maybes));
    for (unsigned i = 0; i < n; i++) assert_true((maybes[i / 64] >> i % 64 & 1) != 0);
    nay_filter_free(one);
    nay_filter_free(many);
  }
}

/* As many levels as there can be: a key of each is found one by one, in batches and in a file. */
static void sixty_four_levels(void **state) {
  (void)state;
  nay_filter *f = make_scalable(100);
  uint64_t hashes[64 * 20], maybes[20];
  for (unsigned i = 0; i < 64; i++) {
    nay_filter *b = make_scalable(20 + i % 7 * 5);
    add_range(b, i * 20, i * 20 + 20);
    if (i == 0) add_range(f, 0, 20);
    if (i != 0) assert_ok(nay_filter_merge(f, b, 1.0, NULL));
    nay_filter_free(b);
  }
  assert_int_equal(stats_of(f).nlevels, 64);
  for (unsigned again = 0; again < 2; again++, reload(&f)) {
    for (unsigned part = 0; part < 2; part++) { /* present; mostly absent */
      for (unsigned i = 0; i < 64 * 20; i++) hashes[i] = nay_hash_mix(i + part * 5000);
      assert_ok(nay_filter_may_contain_hash_many(f, hashes, NULL, 64 * 20, maybes));
      unsigned nmaybe = 0;
      for (unsigned i = 0; i < 64 * 20; i++) {
        bool maybe = nay_filter_may_contain_hash(f, (nay_hash){hashes[i], 0});
        assert_int_equal(maybe, maybes[i / 64] >> i % 64 & 1);
        nmaybe += maybe;
      }
      assert_true(part == 0 ? nmaybe == 64 * 20 : nmaybe < 64 * 20 / 4);
    }
  }
  nay_filter_free(f);
}

/* Whether the memory at `at` is advised to have huge pages; -1: this system does not tell. */
static int asks_for_huge_pages(const uint8_t *at) {
  char line[512];
  int answer = -1;
  bool here = false;
  if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0) return -1;
  FILE *maps = fopen("/proc/self/smaps", "r");
  if (maps == NULL) return -1;
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long long from, to;
    if (sscanf(line, "%llx-%llx ", &from, &to) == 2) {
      here = from <= (uintptr_t)at && (uintptr_t)at < to;
    } else if (here && strncmp(line, "VmFlags:", 8) == 0) {
      answer = strstr(line, " hg") != NULL;
    }
  }
  (void)fclose(maps);
  return answer;
}

/* A payload that growth has made is probed as fast as a new one. */
static void growth_keeps_huge_pages(void **state) {
  (void)state;
  nay_filter *f = make_scalable(4000000);
  assert_true(f->nbytes > (size_t)5 << 20);
  int before = asks_for_huge_pages(f->bits.bytes + f->nbytes / 2);
  for (uint64_t i = 0; f->nbytes < (size_t)9 << 20; i += 1024) {
    uint64_t hashes[1024];
    for (unsigned j = 0; j < 1024; j++) hashes[j] = nay_hash_mix(i + j);
    assert_ok(nay_filter_add_hash_many(f, hashes, NULL, 1024, NULL, NULL));
  }
  assert_int_equal(asks_for_huge_pages(f->bits.bytes + f->nbytes / 2), before);
  nay_filter_free(f);
}

/* Who knows the number of keys needs one level; who starts too small keeps the rate all the same.
 */
static void building_spreads_the_keys(void **state) {
  (void)state;
  enum { N = 20000 };
  static uint64_t hashes[N];
  for (uint64_t i = 0; i < N; i++) hashes[i] = nay_hash_mix(i);
  for (uint64_t first = 100; first <= N; first *= 200) {
    nay_params p = scalable_params(first);
    nay_filter *f;
    assert_ok(nay_filter_build(&p, hashes, N, NULL, NULL, &f));
    assert_has_range(f, 0, N);
    assert_true(stats_of(f).fpr_now <= 0.01);
    assert_int_equal(stats_of(f).nlevels, first == N ? 1 : 5);
    nay_filter_free(f);
  }
}

static void the_planned_keys_need_no_growth(void **state) {
  (void)state;
  for (uint64_t n = 1; n <= 30000; n = n * 3 / 2 + 1) {
    for (uint64_t trial = 0; trial < 1 + 20000 / n; trial++) {
      nay_filter *f = make_scalable(n);
      add_range(f, trial * n, trial * n + n);
      assert_int_equal(f->bits.bytes[0], 1); /* levels */
      nay_filter_free(f);
      if (trial > 50) break;
    }
  }
}

static void bad_params_are_named(void **state) {
  (void)state;
  nay_params bad[] = {
      {sizeof(nay_params), .kind = NAY_SCALABLE, .nkeys = 100, .bits_per_key = 10},
      {sizeof(nay_params), .kind = NAY_SCALABLE, .nkeys = 100, .fpr = 0.9},
      {sizeof(nay_params), .kind = NAY_SCALABLE, .nkeys = 100, .fpr = 1e-7},
      {sizeof(nay_params), .kind = NAY_SCALABLE, .nkeys = 100, .fpr = 0.01, .k = 3},
      {.size = sizeof(nay_params),
       .kind = NAY_SCALABLE,
       .nkeys = 100,
       .fpr = 0.01,
       .flags = NAY_CONCURRENT},
      {sizeof(nay_params), .kind = NAY_SCALABLE, .nkeys = 100, .fpr = 0.01, .flags = NAY_UNIQUE},
      {sizeof(nay_params), .kind = NAY_SCALABLE, .nkeys = 100, .fpr = 0.01, .window = 9},
      {sizeof(nay_params), .kind = NAY_BLOCKED, .nkeys = 100, .fpr = 0.01, .max_nbytes = 9},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    nay_diag diag = {.what = NULL};
    nay_plan plan = {.size = sizeof plan};
    assert_status(nay_params_plan(&bad[i], &diag, &plan), NAY_EINVAL);
    assert_non_null(diag.what);
  }
  nay_filter *f = make_scalable(100);
  uint64_t count;
  assert_status(nay_filter_remove_hash(f, hash_of(1)), NAY_ENOTSUP);
  assert_status(nay__filter_count_hash(f, hash_of(1), &count), NAY_ENOTSUP);
  assert_status(nay_filter_advance(f, 1), NAY_ENOTSUP);
  nay_filter_free(f);
}

static void hostile_payloads_are_refused_or_safe(void **state) {
  (void)state;
  rng r = {5};
  nay_filter *f = make_scalable(100);
  add_range(f, 0, 500);
  for (unsigned i = 0; i < 2000; i++) {
    use_after_damage(f, &r, 1 + (unsigned)rng_below(&r, 3), i % 2 ? SIZE_MAX : 256);
  }
  nay_filter_free(f);
}

int main(void) {
  const test_case tests[] = {
      TEST(shares_sum_to_one),
      TEST(clearing_does_not_trust_the_header),
      TEST(the_rate_holds_while_it_grows),
      TEST(bits_per_key_at_ten_million),
      TEST(bits_per_key_from_a_sixteenth),
      TEST(a_start_is_enough),
      TEST(the_limit_is_kept),
      TEST(no_memory_changes_nothing),
      TEST(metadata_survives_growth),
      TEST(joining_adds_rates),
      TEST(joining_is_bounded),
      TEST(folding_finishes),
      TEST(batches_are_single_adds),
      TEST(every_size_in_batches),
      TEST(sixty_four_levels),
      TEST(growth_keeps_huge_pages),
      TEST(bad_params_are_named),
      TEST(building_spreads_the_keys),
      TEST(the_planned_keys_need_no_growth),
      TEST(hostile_payloads_are_refused_or_safe),
  };
  return run_all(tests);
}

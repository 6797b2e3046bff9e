/* test_window.c - expiry by count and by ticks: nothing goes too early, everything goes in time. */
#include "filter.h"
#include "support/mutable.h"

static nay_params window_params(uint64_t nkeys, uint32_t generations, uint64_t ticks) {
  return (nay_params){.size = sizeof(nay_params),
                      .kind = NAY_WINDOW,
                      .nkeys = nkeys,
                      .fpr = 0.01,
                      .generations = generations,
                      .window = ticks,
                      .hash = NAY_HASH_CALLER};
}

/* By ticks, unless the window is one of keys. */
static nay_filter *make_loose_window(uint64_t nkeys, double fpr, uint64_t ticks) {
  nay_params p = window_params(nkeys, 0, ticks);
  nay_filter *f;
  p.fpr = fpr;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  return f;
}

static nay_filter *make_window(uint64_t nkeys, uint32_t generations, uint64_t ticks) {
  nay_params p = window_params(nkeys, generations, ticks);
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  return f;
}

static bool has(const nay_filter *f, uint64_t key) {
  return nay_filter_may_contain_hash(f, hash_of(key));
}

static double share_of(const nay_filter *f, uint64_t from, uint64_t to) {
  uint64_t maybe = 0;
  for (uint64_t i = from; i < to; i++) maybe += has(f, i);
  return (double)maybe / (double)(to - from);
}

static void by_count_keeps_the_last_keys(void **state) {
  (void)state;
  for (uint32_t g = 1; g <= 15; g++) {
    nay_filter *f = make_window(1000, g, 0);
    for (uint64_t i = 0; i < 10000; i++) {
      assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
      if (i % 97 != 0) continue;
      uint64_t oldest = i < 999 ? 0 : i - 999;
      for (uint64_t j = oldest; j <= i; j++) assert_true(has(f, j));
      if (i > 4000) assert_true(share_of(f, 0, i - 2200) < 0.03); /* long gone, but for the rate */
    }
    reload(&f);
    assert_true(share_of(f, 9000, 10000) == 1);
    nay_filter_free(f);
  }
}

static void by_ticks_keeps_the_window(void **state) {
  (void)state;
  for (uint32_t g = 1; g <= 15; g += 2) {
    uint64_t window = 1000, length = (window + g - 1) / g;
    nay_filter *f = make_window(1000, g, window);
    uint64_t start = 1700000000; /* any clock will do */
    assert_ok(nay_filter_advance(f, start));
    for (uint64_t t = 0; t < 5000; t++) { /* key t is added at moment t */
      assert_ok(nay_filter_advance(f, start + t));
      assert_ok(nay_filter_add_hash(f, hash_of(t), NULL));
      if (t % 89 != 0) continue;
      for (uint64_t j = t < window ? 0 : t - window; j <= t; j++) assert_true(has(f, j));
      if (t > window + length + 500) {
        assert_true(share_of(f, t - window - length - 500, t - window - length) < 0.05);
      }
      if (t % 890 == 0) reload(&f); /* the ages are in the file */
    }
    nay_filter_free(f);
  }
}

static void time_never_goes_back(void **state) {
  (void)state;
  nay_filter *f = make_window(100, 4, 40);
  assert_ok(nay_filter_add_hash(f, hash_of(1), NULL));
  assert_ok(nay_filter_advance(f, 1000)); /* the first call sets the clock and drops nothing */
  assert_true(has(f, 1));
  assert_ok(nay_filter_add_hash(f, hash_of(2), NULL));
  snapshot before = snap(f);
  assert_status(nay_filter_advance(f, 999), NAY_EINVAL);
  assert_true(snap_same(before, f));
  before = snap(f);
  for (unsigned i = 0; i < 100; i++) (void)has(f, i);
  assert_ok(nay_filter_advance(f, 1000)); /* the same moment again */
  assert_true(snap_same(before, f));      /* queries do not age it either */
  assert_ok(nay_filter_advance(f, 1040));
  assert_true(has(f, 2));
  assert_ok(nay_filter_advance(f, 1050));
  assert_false(has(f, 2));
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_filter_stats(f, &s));
  assert_int_equal(s.clock, 1050);
  assert_int_equal(s.nbits_set, 0);
  assert_ok(nay_filter_add_hash(f, hash_of(3), NULL));
  assert_ok(nay_filter_advance(f, UINT64_MAX)); /* a long sleep */
  assert_false(has(f, 3));
  assert_ok(nay_filter_clear(f));
  assert_status(nay_filter_advance(f, 5), NAY_EINVAL); /* clearing does not turn it back */
  nay_filter_free(f);
}

static void adding_again_is_a_new_lease(void **state) {
  (void)state;
  nay_filter *f = make_window(100, 4, 40);
  assert_ok(nay_filter_advance(f, 0));
  for (uint64_t t = 0; t < 1000; t += 10) {
    assert_ok(nay_filter_advance(f, t));
    bool is_new;
    assert_ok(nay_filter_add_hash(f, hash_of(7), &is_new));
    assert_int_equal(is_new, t == 0);
    assert_true(has(f, 7));
  }
  nay_filter_free(f);
}

static void counting_windows_have_no_clock(void **state) {
  (void)state;
  nay_filter *f = make_window(100, 4, 0);
  assert_status(nay_filter_advance(f, 1), NAY_ENOTSUP);
  nay_filter_free(f);
}

static void the_plan_says_how_long(void **state) {
  (void)state;
  nay_params p = window_params(1000000, 0, 0);
  nay_plan plan = {.size = sizeof plan};
  assert_ok(nay_params_plan(&p, NULL, &plan));
  assert_int_equal(plan.generations, 7);
  assert_close(plan.window_error, 1.0 / 7, 0.001);
  assert_true(plan.fpr <= 0.01 && plan.fpr > 0.0098);
  print_message("# 1 %%, 7 generations: %.2f bits per key of the window, k %u\n", plan.bits_per_key,
                plan.k);
  p = window_params(1000000, 3, 86400);
  assert_ok(nay_params_plan(&p, NULL, &plan));
  assert_close(plan.window_error, 1.0 / 3, 0.001);
  print_message("# 1 %%, 3 generations: %.2f bits per key of the window, k %u\n", plan.bits_per_key,
                plan.k);
}

static void the_rate_of_the_bits_is_the_plan(void **state) {
  (void)state;
  for (uint32_t g = 1; g <= 15; g += 7) {
    nay_params p = window_params(20000, g, 0);
    nay_plan plan = {.size = sizeof plan};
    assert_ok(nay_params_plan(&p, NULL, &plan));
    nay_filter *f = make_window(20000, g, 0);
    double worst = 0;
    for (uint64_t i = 0; i < 100000; i++) {
      assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
      if (i % 500 != 0) continue;
      nay_stats s = {.size = sizeof s};
      assert_ok(nay_filter_stats(f, &s));
      if (s.fpr_now > worst) worst = s.fpr_now;
      assert_false(s.overloaded);
    }
    print_message("# g %u: planned %.5f, worst of the bits %.5f\n", g, plan.fpr, worst);
    assert_true(worst <= plan.fpr * 1.06 && worst > plan.fpr * 0.85);
    nay_filter_free(f);
  }
}

static void overload_is_told(void **state) {
  (void)state;
  nay_filter *f = make_window(1000, 4, 100);
  assert_ok(nay_filter_advance(f, 0));
  for (uint64_t i = 0; i < 250; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_filter_stats(f, &s));
  assert_false(s.overloaded);
  for (uint64_t i = 250; i < 400; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
  assert_ok(nay_filter_stats(f, &s));
  assert_true(s.overloaded);
  nay_filter_free(f);
}

/* All keys of a window within one generation: overloaded where, and only where, the FPR suffers. */
static void overload_is_the_rate(void **state) {
  (void)state;
  for (uint32_t g = 1; g <= 15; g++) {
    nay_filter *f = make_window(7000, g, 1000);
    assert_ok(nay_filter_advance(f, 0));
    bool seen = false;
    for (uint64_t i = 0; i < 14000; i++) {
      assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
      if (i % 500 != 0) continue;
      nay_stats s = {.size = sizeof s};
      assert_ok(nay_filter_stats(f, &s));
      if (s.overloaded) assert_true(s.fpr_now > s.fpr_planned);
      if (s.fpr_now > 2 * s.fpr_planned) assert_true(s.overloaded);
      if (i <= 7000 / g) assert_false(s.overloaded);
      seen |= s.overloaded;
    }
    assert_true(seen);
    nay_filter_free(f);
  }
}

/* Where the planned FPR is high, most keys of a burst change nothing and are not counted: the burst
 * is an overload all the same. */
static void overload_is_told_at_high_rates(void **state) {
  (void)state;
  const double fprs[] = {0.3, 0.5, 0.7, 0.9, 0.95, 0.99};
  const uint64_t sizes[] = {50, 1000, 20000};
  for (size_t i = 0; i < 18; i++) {
    uint64_t n = sizes[i / 6];
    nay_filter *f = make_loose_window(n, fprs[i % 6], 1000);
    nay_stats s = {.size = sizeof s};
    assert_ok(nay_filter_advance(f, 1));
    for (uint64_t key = 0; key < n / 8; key++)
      assert_ok(nay_filter_add_hash(f, hash_of(key), NULL));
    assert_ok(nay_filter_stats(f, &s));
    assert_false(s.overloaded); /* a generation's share */
    for (uint64_t key = n / 8; key < 64 * n; key++)
      assert_ok(nay_filter_add_hash(f, hash_of(key), NULL));
    assert_ok(nay_filter_stats(f, &s));
    if (!s.overloaded)
      fail_msg("%llu keys at %g: FPR now %g, planned %g", (unsigned long long)n, fprs[i % 6],
               s.fpr_now, s.fpr_planned);
    nay_filter_free(f);
  }
}

/* A window of the last nkeys keys is as full as planned for ever. */
static void windows_of_keys_are_never_overloaded(void **state) {
  (void)state;
  const double fprs[] = {0.1, 0.5, 0.7, 0.9, 0.95, 0.99};
  for (size_t i = 0; i < 6; i++) {
    nay_filter *f = make_loose_window(20000, fprs[i], 0);
    double worst = 0;
    for (uint64_t key = 0; key < 200000; key++) {
      assert_ok(nay_filter_add_hash(f, hash_of(key), NULL));
      if (key % 1000 != 0) continue;
      nay_stats s = {.size = sizeof s};
      assert_ok(nay_filter_stats(f, &s));
      if (s.overloaded) fail_msg("%g after %llu keys", fprs[i], (unsigned long long)key);
      if (s.fpr_now > worst) worst = s.fpr_now;
    }
    print_message("# FPR %g by count: worst of the bits %.4f\n", fprs[i], worst);
    nay_filter_free(f);
  }
}

/* As many keys as planned, at random times: chance is no overload. */
static void random_arrivals_are_no_overload(void **state) {
  (void)state;
  const uint64_t sizes[] = {100, 1000, 20000};
  const double fprs[] = {0.01, 0.5, 0.9};
  for (size_t i = 0; i < 9; i++) {
    uint64_t n = sizes[i % 3], overloaded = 0, looks = 0;
    /* a key in 7 * 16 ticks, on average */
    nay_filter *f = make_loose_window(n, fprs[i / 3], 7 * n * 16);
    uint64_t now = 0;
    for (uint64_t key = 0; key < 8 * n; key++) {
      now += nay_hash_mix(key ^ n << 32) % (2 * 7 * 16);
      assert_ok(nay_filter_advance(f, now));
      assert_ok(nay_filter_add_hash(f, hash_of(key), NULL));
      if (key % (n / 10) != 0) continue;
      nay_stats s = {.size = sizeof s};
      assert_ok(nay_filter_stats(f, &s));
      overloaded += s.overloaded;
      looks++;
    }
    print_message("# %llu keys at %g: overloaded %llu of %llu times\n", (unsigned long long)n,
                  fprs[i / 3], (unsigned long long)overloaded, (unsigned long long)looks);
    assert_true(overloaded <= looks / 50);
    nay_filter_free(f);
  }
}

/* A repeat of the newest generation changes nothing; with others, the last nkeys adds are in. */
static void repeats_and_the_last_adds(void **state) {
  (void)state;
  for (uint32_t g = 1; g <= 15; g += 2) {
    nay_filter *f = make_window(300, g, 0);
    uint64_t last[300];
    for (uint64_t i = 0; i < 6000; i++) {
      uint64_t key = nay_hash_mix(i) % (i / 1000 * 100 + 50);
      last[i % 300] = key;
      for (unsigned again = 0; again < 10; again++) {
        bool is_new = false;
        assert_ok(nay_filter_add_hash(f, hash_of(key), &is_new));
        assert_true(again == 0 || !is_new);
      }
      for (uint64_t j = 0; i % 37 == 0 && j < 300 && j <= i; j++) assert_true(has(f, last[j]));
    }
    nay_filter_free(f);
  }
}

/* Built from a set: no key goes before its time, and none is dropped without a word. */
static void a_set_is_built_whole_or_refused(void **state) {
  (void)state;
  enum { N = 2000 };
  uint64_t hashes[2 * N];
  for (uint64_t i = 0; i < 2 * N; i++) hashes[i] = nay_hash_mix(i % N); /* each twice */
  for (uint32_t g = 1; g <= 15; g++) {
    nay_params p = window_params(N, g, 0);
    nay_filter *f = NULL;
    assert_ok(nay_filter_build(&p, hashes, 2 * N, NULL, NULL, &f));
    assert_true(share_of(f, 0, N) == 1);
    nay_filter_free(f);
    f = NULL;
    p.nkeys = N - 1;
    assert_status(nay_filter_build(&p, hashes, 2 * N, NULL, NULL, &f), NAY_EFULL);
    assert_null(f);
    p = window_params(N, g, 360360); /* a multiple of every g */
    assert_ok(nay_filter_build(&p, hashes, 2 * N, NULL, NULL, &f));
    for (uint64_t now = 0; now <= 360360; now += 360360 / 60) {
      assert_ok(nay_filter_advance(f, 12345 + now));
      assert_true(share_of(f, 0, N) == 1);
    }
    nay_filter_free(f);
  }
}

static void check_batches(uint32_t g, uint64_t ticks) {
  nay_filter *one = make_window(300, g, ticks), *many = make_window(300, g, ticks);
  uint64_t hashes[1000], news[16], maybes[16];
  for (unsigned i = 0; i < 1000; i++) hashes[i] = nay_hash_mix(i * 7 % 700);
  assert_ok(nay_filter_add_hash_many(many, hashes, NULL, 1000, news, NULL));
  for (unsigned i = 0; i < 1000; i++) {
    bool is_new;
    assert_ok(nay_filter_add_hash(one, (nay_hash){hashes[i], 0}, &is_new));
    assert_int_equal(is_new, news[i / 64] >> i % 64 & 1);
  }
  assert_true(same_bytes(one, many));
  assert_ok(nay_filter_may_contain_hash_many(many, hashes, NULL, 1000, maybes));
  for (unsigned i = 0; i < 1000; i++) {
    assert_int_equal(nay_filter_may_contain_hash(one, (nay_hash){hashes[i], 0}),
                     maybes[i / 64] >> i % 64 & 1);
  }
  assert_ok(nay_filter_clear(one));
  nay_filter_free(many);
  many = make_window(300, g, ticks);
  assert_true(same_bytes(one, many));
  nay_filter_free(one);
  nay_filter_free(many);
}

/* Batches in which generations end, and batches of one generation. */
static void batches_are_single_calls(void **state) {
  (void)state;
  for (uint32_t g = 1; g <= 15; g++) {
    check_batches(g, 0);
    check_batches(g, 1000);
  }
}

/* Every number of keys: what batches of all lengths make is what single adds make. */
static void every_size_in_batches(void **state) {
  (void)state;
  static uint64_t hashes[2000];
  for (unsigned i = 0; i < 2000; i++) hashes[i] = nay_hash_mix(i);
  for (unsigned n = 1; n <= 2000; n++) {
    uint32_t g = n % 3 == 0 ? 1 + n % 15 : 7;
    uint64_t nkeys = n / 2 + 1;
    nay_filter *one = make_window(nkeys, g, 0), *many = make_window(nkeys, g, 0);
    for (unsigned i = 0; i < n; i++) assert_ok(nay_filter_add_hash(one, hash_of(i), NULL));
    for (unsigned at = 0, len; at < n; at += len) {
      len = 1 + (n * 7 + at) % 200 < n - at ? 1 + (n * 7 + at) % 200 : n - at;
      assert_ok(nay_filter_add_hash_many(many, hashes + at, NULL, len, NULL, NULL));
    }
    assert_true(same_bytes(one, many));
    nay_filter_free(one);
    nay_filter_free(many);
  }
}

/* A set has no order: builders must spread it over the generations, or the rate would suffer. */
static void a_built_window_keeps_its_rate(void **state) {
  (void)state;
  enum { N = 20000 };
  static uint64_t hashes[N], reversed[N];
  for (uint64_t i = 0; i < N; i++) {
    hashes[i] = nay_hash_mix(i);
    reversed[N - 1 - i] = hashes[i];
  }
  nay_params p = window_params(N, 7, 0);
  for (unsigned known = 0; known < 2; known++) {
    nay_filter *f, *g;
    p.nkeys = known ? N : 0;
    assert_ok(nay_filter_build(&p, hashes, N, NULL, NULL, &f));
    assert_ok(nay_filter_build(&p, reversed, N, NULL, NULL, &g));
    assert_true(same_bytes(f, g));
    assert_true(share_of(f, 0, N) == 1);
    assert_true(share_of(f, N, 50 * N) < 0.0101);
    nay_filter_free(f);
    nay_filter_free(g);
  }
}

/*
 * A builder takes a stream, whose order is the age of its keys: what it makes is what adds make,
 * and after more adds the window still has the last keys. Of duplicates the last counts.
 */
static void a_builder_keeps_the_order(void **state) {
  (void)state;
  enum { N = 1000, MORE = 700 };
  for (uint32_t variant = 0; variant < 15 * 4; variant++) {
    nay_params p = window_params(variant & 1 ? N : 0, variant / 4 + 1, 0);
    nay_builder *b;
    assert_ok(nay_builder_new(&p, NULL, NULL, &b));
    for (uint64_t i = 0; (variant & 2) != 0 && i < N; i++) /* earlier duplicates, the other way */
      assert_ok(nay_builder_add_hash(b, hash_of(N - 1 - i)));
    for (uint64_t i = 0; i < N; i++) assert_ok(nay_builder_add_hash(b, hash_of(i)));
    nay_filter *built, *added = make_window(N, variant / 4 + 1, 0);
    assert_ok(nay_builder_finish(b, NULL, &built));
    for (uint64_t i = 0; i < N; i++) assert_ok(nay_filter_add_hash(added, hash_of(i), NULL));
    assert_true(same_bytes(built, added));
    for (uint64_t i = N; i < N + MORE; i++) {
      assert_ok(nay_filter_add_hash(built, hash_of(i), NULL));
    }
    assert_true(share_of(built, MORE, N + MORE) == 1);
    nay_filter_free(built);
    nay_filter_free(added);
    nay_builder_free(b);
  }
}

static void bad_params_are_named(void **state) {
  (void)state;
  nay_params bad[] = {
      {sizeof(nay_params), .kind = NAY_WINDOW, .nkeys = 100, .fpr = 0.01, .generations = 16},
      {sizeof(nay_params), .kind = NAY_WINDOW, .nkeys = 100, .fpr = 0.01, .window = 6},
      {sizeof(nay_params), .kind = NAY_WINDOW, .nbits = 1024},
      {sizeof(nay_params), .kind = NAY_WINDOW, .nkeys = 100, .nbits = 1000},
      {sizeof(nay_params), .kind = NAY_WINDOW, .nkeys = 100, .nbytes = 100},
      {sizeof(nay_params), .kind = NAY_WINDOW, .nkeys = 100, .fpr = 0.01, .fold = 2},
      {sizeof(nay_params), .kind = NAY_WINDOW, .nkeys = 100, .fpr = 1e-15, .generations = 15},
      {sizeof(nay_params), .kind = NAY_WINDOW, .nkeys = 100, .fpr = 0.01, .flags = NAY_CONCURRENT},
      {sizeof(nay_params), .kind = NAY_WINDOW, .nkeys = 100, .fpr = 0.01, .max_nbytes = 100000},
      {sizeof(nay_params), .kind = NAY_BLOCKED, .nkeys = 100, .fpr = 0.01, .window = 100},
      {sizeof(nay_params), .kind = NAY_BLOCKED, .nkeys = 100, .fpr = 0.01, .generations = 4},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    nay_diag diag = {.what = NULL};
    nay_plan plan = {.size = sizeof plan};
    assert_status(nay_params_plan(&bad[i], &diag, &plan), NAY_EINVAL);
    assert_non_null(diag.what);
  }
  nay_filter *f = make_window(100, 4, 0), *g = make_window(100, 4, 0);
  uint64_t count;
  assert_status(nay_filter_merge(f, g, 1.0, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_remove_hash(f, hash_of(1)), NAY_ENOTSUP);
  assert_status(nay__filter_count_hash(f, hash_of(1), &count), NAY_ENOTSUP);
  nay_filter_free(f);
  nay_filter_free(g);
}

static void hostile_payloads_are_refused_or_safe(void **state) {
  (void)state;
  rng r = {23};
  for (uint32_t g = 1; g <= 15; g += 3) {
    nay_filter *f = make_window(100, g, g % 2 ? 1000 : 0);
    for (uint64_t i = 0; i < 300; i++) assert_ok(nay_filter_add_hash(f, hash_of(i), NULL));
    for (unsigned i = 0; i < 600; i++) {
      use_after_damage(f, &r, 1 + (unsigned)rng_below(&r, 3), i % 3 ? 192 : SIZE_MAX);
    }
    nay_filter_free(f);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(by_count_keeps_the_last_keys),
      TEST(by_ticks_keeps_the_window),
      TEST(time_never_goes_back),
      TEST(adding_again_is_a_new_lease),
      TEST(counting_windows_have_no_clock),
      TEST(the_plan_says_how_long),
      TEST(the_rate_of_the_bits_is_the_plan),
      TEST(overload_is_told),
      TEST(overload_is_the_rate),
      TEST(overload_is_told_at_high_rates),
      TEST(windows_of_keys_are_never_overloaded),
      TEST(random_arrivals_are_no_overload),
      TEST(repeats_and_the_last_adds),
      TEST(a_set_is_built_whole_or_refused),
      TEST(batches_are_single_calls),
      TEST(every_size_in_batches),
      TEST(a_built_window_keeps_its_rate),
      TEST(a_builder_keeps_the_order),
      TEST(bad_params_are_named),
      TEST(hostile_payloads_are_refused_or_safe),
  };
  return run_all(tests);
}

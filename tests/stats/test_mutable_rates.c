/*
 * test_mutable_rates.c - measured FPRs of mutable families, against their plans. Seeds are fixed,
 * so results are deterministic; the margins are at least three standard deviations.
 */
#include "support/mutable.h"

static nay_filter *make(nay_params p) {
  p.hash = NAY_HASH_CALLER;
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  return f;
}

/* Adds keys from..to in batches. */
static void add_range(nay_filter *f, uint64_t from, uint64_t to) {
  uint64_t hashes[1024];
  while (from < to) {
    size_t n = to - from < 1024 ? (size_t)(to - from) : 1024;
    for (size_t i = 0; i < n; i++) hashes[i] = nay_hash_mix(from + i);
    assert_ok(nay_filter_add_hash_many(f, hashes, NULL, n, NULL, NULL));
    from += n;
  }
}

/* The share of maybes among keys that were never added. */
static double measure(const nay_filter *f, uint64_t nprobes, uint64_t seed) {
  uint64_t hashes[1024], bitmap[16], maybe = 0, base = (seed + 1) << 40;
  for (uint64_t at = 0; at < nprobes; at += 1024) {
    for (unsigned i = 0; i < 1024; i++) hashes[i] = nay_hash_mix(base + at + i);
    assert_ok(nay_filter_may_contain_hash_many(f, hashes, NULL, 1024, bitmap));
    for (unsigned i = 0; i < 1024; i++) maybe += bitmap[i / 64] >> i % 64 & 1;
  }
  return (double)maybe / (double)(nprobes / 1024 * 1024);
}

/* 2b/2^f * load, within 3 %, by 10^8 probes. */
static void cuckoo_rates(void **state) {
  (void)state;
  const uint32_t bits[] = {8, 12, 16};
  for (unsigned i = 0; i < 3; i++) {
    nay_filter *f = make((nay_params){.size = sizeof(nay_params),
                                      .kind = NAY_CUCKOO,
                                      .nkeys = 500000,
                                      .fpr = 0.05,
                                      .tag_bits = bits[i]});
    add_range(f, 0, 500000);
    nay_stats s = {.size = sizeof s};
    assert_ok(nay_filter_stats(f, &s));
    double rate = measure(f, 100000000, i), want = 8.0 / (double)(1u << bits[i]) * s.fill;
    print_message("# f %u, load %.4f: measured %.6f, 2b/2^f load %.6f (%+.2f %%), exact %.6f\n",
                  bits[i], s.fill, rate, want, 100 * (rate / want - 1), s.fpr_now);
    assert_close(rate, want, 0.03);
    assert_close(rate, s.fpr_now, 0.03);
    nay_filter_free(f);
  }
}

/* n keys fit into a filter planned for n, whatever n is. */
static void cuckoo_plans_hold(void **state) {
  (void)state;
  uint64_t key = 0, trials = 0;
  for (uint64_t n = 1; n < 2000000; n = n * 3 / 2 + 1) {
    for (uint32_t bits = 6; bits <= 13; bits += 7) {
      uint64_t repeat = n < 1000 ? 1000 : n < 20000 ? 40 : 1;
      for (uint64_t i = 0; i < repeat; i++, trials++) {
        nay_filter *f = make((nay_params){.size = sizeof(nay_params),
                                          .kind = NAY_CUCKOO,
                                          .nkeys = n,
                                          .fpr = 0.3,
                                          .tag_bits = bits});
        add_range(f, key, key + n);
        key += n;
        nay_filter_free(f);
      }
      nay_plan plan = {.size = sizeof plan};
      nay_params p = {sizeof p, .kind = NAY_CUCKOO, .nkeys = n, .fpr = 0.3, .tag_bits = bits};
      assert_ok(nay_params_plan(&p, NULL, &plan));
      double load = (double)n * bits / (double)plan.nbits;
      if (n >= 20000) assert_true(load >= 0.95 * 0.99);
    }
  }
  print_message("# %u tables filled as planned\n", (unsigned)trials);
}

static void growing_cuckoo_rates(void **state) {
  (void)state;
  nay_filter *f = make((nay_params){.size = sizeof(nay_params),
                                    .kind = NAY_CUCKOO,
                                    .nkeys = 10000,
                                    .fpr = 0.01,
                                    .max_nkeys = 2000000});
  uint64_t n = 0;
  for (uint64_t next = 10000; next <= 2000000; next *= 2) {
    add_range(f, n, next);
    n = next;
    nay_stats s = {.size = sizeof s};
    assert_ok(nay_filter_stats(f, &s));
    double rate = measure(f, 4000000, n);
    print_message(
        "# %8u keys, %u doublings, tags of %u bits: load %.3f, rate %.6f, planned for it "
        "%.6f, %.1f bits per key\n",
        (unsigned)n, s.nlevels - 1, s.tag_bits, s.fill, rate, s.fpr_now,
        (double)s.nbits / (double)n);
    assert_true(rate <= 0.01);
    if (s.fpr_now > 0.001) assert_close(rate, s.fpr_now, 0.05);
  }
  nay_filter_free(f);
}

/* Grown from 1,000 to 10 M keys: at or below 1 % at every step, 20 bits per key when full. */
static void scalable_rates(void **state) {
  (void)state;
  nay_filter *f =
      make((nay_params){sizeof(nay_params), .kind = NAY_SCALABLE, .nkeys = 1000, .fpr = 0.01});
  uint64_t n = 0;
  double worst = 0;
  for (uint64_t step = 1000; n < 10000000; step = n / 10 + 1000) {
    uint64_t to = n + step < 10000000 ? n + step : 10000000;
    uint32_t levels = f->bits.bytes[0];
    add_range(f, n, to);
    n = to;
    if (f->bits.bytes[0] == levels && n < 10000000) continue;
    nay_stats s = {.size = sizeof s};
    assert_ok(nay_filter_stats(f, &s));
    double rate = measure(f, 1000000, n);
    if (rate > worst) worst = rate;
    print_message("# %8u keys, %2u levels: %.1f bits per key, measured %.5f, of the bits %.5f\n",
                  (unsigned)n, s.nlevels, (double)s.nbits / (double)n, rate, s.fpr_now);
    assert_true(rate <= 0.01 && s.fpr_now <= 0.01);
    assert_close(s.nkeys_estimated, (double)n, 0.02);
  }
  print_message("# worst measured %.5f\n", worst);
  nay_filter_free(f);
}

/* 10^7 keys through a window of 500,000: the rate before each rotation is the plan's. */
static void window_rates(void **state) {
  (void)state;
  const uint32_t generations[] = {3, 7, 15};
  for (unsigned g = 0; g < 3; g++) {
    nay_params p = {.size = sizeof p,
                    .kind = NAY_WINDOW,
                    .nkeys = 500000,
                    .fpr = 0.01,
                    .generations = generations[g]};
    nay_plan plan = {.size = sizeof plan};
    assert_ok(nay_params_plan(&p, NULL, &plan));
    nay_filter *f = make(p);
    uint64_t per = (p.nkeys + generations[g] - 1) / generations[g], n = 0;
    double sum = 0, worst = 0;
    unsigned measured = 0;
    while (n < 10000000) {
      add_range(f, n, n + per);
      n += per;
      if (n < 3 * p.nkeys) continue;
      double rate = measure(f, 200000, n);
      sum += rate;
      measured++;
      if (rate > worst) worst = rate;
    }
    print_message(
        "# g %2u: planned %.5f; before %u rotations: mean %.5f, worst %.5f; %.2f bits per "
        "key of the window\n",
        generations[g], plan.fpr, measured, sum / measured, worst, plan.bits_per_key);
    assert_close(sum / measured, plan.fpr, 0.02);
    nay_filter_free(f);
  }
}

/* Counting has blocked's rate, and keeps it while keys come and go. */
static void counting_rates(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_COUNTING, .nkeys = 500000, .fpr = 0.01};
  nay_filter *f = make(p);
  add_range(f, 0, 500000);
  for (uint64_t i = 0; i < 2000000; i++) { /* a queue: one comes, the oldest goes */
    assert_ok(nay_filter_remove_hash(f, hash_of(i)));
    assert_ok(nay_filter_add_hash(f, hash_of(i + 500000), NULL));
  }
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_filter_stats(f, &s));
  double rate = measure(f, 4000000, 1);
  print_message("# after 4 turnovers: measured %.5f, planned %.5f, stuck counters %u\n", rate,
                s.fpr_planned, (unsigned)s.nstuck);
  assert_close(rate, s.fpr_planned, 0.02);
  assert_int_equal(s.nstuck, 0);
  nay_filter_free(f);
}

int main(void) {
  const test_case tests[] = {
      TEST(cuckoo_rates),   TEST(cuckoo_plans_hold), TEST(growing_cuckoo_rates),
      TEST(scalable_rates), TEST(window_rates),      TEST(counting_rates),
  };
  return run_all(tests);
}

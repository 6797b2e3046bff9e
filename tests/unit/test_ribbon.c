/* test_ribbon.c - ribbon filters: columns, fractions, budgets, shrinking, small sets, hostile
 * bytes. */
#include "build/static_build.h"
#include "family/ribbon.h"
#include "support/static_sets.h"

static void many_rates(void **state) {
  (void)state;
  uint64_t *x = set_random(6000, 1);
  static const double rates[] = {0.9, 0.5, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 2.4e-10};
  for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
    nay_params p = set_params(NAY_RIBBON, rates[i], 0);
    nay_filter *f = set_build(&p, x, 6000);
    nay_plan plan;
    p.nkeys = 6000;
    assert_ok(nay_params_plan(&p, NULL, &plan));
    assert_int_equal(plan.nbytes, f->nbytes);
    assert_true(plan.fpr <= rates[i] && plan.fpr > rates[i] * 0.96);
    set_all_maybe(f, x, 6000);
    double fpr = set_fpr(f, 20000, i), sd = 0.00707107 * (rates[i] > 0.02 ? 0.5 : 0.14);
    assert_true(fpr < plan.fpr + 6 * sd && fpr > plan.fpr - 6 * sd);
    nay_filter_free(f);
  }
  free(x);
}

static void small_sets_of_every_size(void **state) {
  (void)state;
  uint64_t *x = set_random(700, 2);
  for (size_t n = 0; n <= 700; n++) {
    nay_params p = set_params(NAY_RIBBON, 0.01, 0);
    nay_filter *f = set_build(&p, x, n);
    assert_int_equal(f->nkeys, n);
    set_all_maybe(f, x, n);
    assert_ok(f->family->check(&f->shape, f->bits.bytes, f->nbytes, NULL));
    nay_filter_free(f);
  }
  nay_params p = set_params(NAY_RIBBON, 0.5, 0);
  nay_filter *f = set_build(&p, NULL, 0);
  assert_true(set_fpr(f, 1000, 3) == 0); /* the empty set says nay */
  nay_filter_free(f);
  free(x);
}

/* Few keys are a Bloom filter, and never larger than one by more than the header. */
static void small_sets_are_bloom(void **state) {
  (void)state;
  for (uint64_t n = 1; n <= 2000; n += n / 8 + 1) {
    nay_params ribbon = {.kind = NAY_RIBBON, .nkeys = n, .fpr = 0.001};
    nay_params bloom = {.kind = NAY_BLOOM, .nkeys = n, .fpr = 0.001};
    nay_plan r, b;
    assert_ok(nay_params_plan(&ribbon, NULL, &r));
    assert_ok(nay_params_plan(&bloom, NULL, &b));
    assert_true(r.nbytes <= b.nbytes + NAY_RIBBON_HEADER);
    assert_true(r.fpr <= 0.001);
  }
}

/* A budget is used up to its last column, and the rate is within 1.5 % of what it allows. */
static void budgets(void **state) {
  (void)state;
  for (uint64_t n = 20000; n <= 20000000; n *= 10) {
    for (double bits = 2; bits < 32; bits += 0.37) {
      nay_params p = {.kind = NAY_RIBBON, .nkeys = n, .nbytes = (uint64_t)((double)n * bits / 8)};
      nay_plan plan;
      assert_ok(nay_params_plan(&p, NULL, &plan));
      assert_true(plan.nbytes <= p.nbytes && plan.nbytes + 16 > p.nbytes);
      p = (nay_params){.kind = NAY_RIBBON, .nkeys = n, .fpr = plan.fpr};
      assert_ok(nay_params_plan(&p, NULL, &plan));
      assert_close((double)plan.nbytes * 8 / (double)n, bits, 0.01);
    }
  }
  const nay_params bad[] = {
      {.kind = NAY_RIBBON, .nkeys = 10, .nbits = 512},
      {.kind = NAY_RIBBON, .nkeys = 10, .fpr = 1e-12},
      {.kind = NAY_RIBBON, .nkeys = 10, .fpr = 0.1, .k = 5},
      {.kind = NAY_RIBBON, .nkeys = 10, .fpr = 0.1, .fold = 2},
      {.kind = NAY_RIBBON, .nkeys = 1000, .nbytes = 8},
      {.kind = NAY_RIBBON, .nkeys = (uint64_t)1 << 50, .fpr = 0.01},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    nay_plan plan;
    assert_status(nay_params_plan(&bad[i], NULL, &plan), NAY_EINVAL);
  }
}

/* Shrinking gives, byte for byte, the filter that is built for that budget. */
static void shrinking_is_building_smaller(void **state) {
  (void)state;
  static const size_t sizes[] = {500, 700, 1000, 4096, 4097, 40000};
  for (size_t i = 0; i < 6; i++) {
    size_t n = sizes[i];
    uint64_t *x = set_random(n, 3);
    nay_params p = set_params(NAY_RIBBON, 1e-5, 0);
    nay_filter *f = set_build(&p, x, n);
    size_t full = f->nbytes;
    assert_ok(nay_filter_shrink(f, full + 100));
    assert_int_equal(f->nbytes, full);
    for (size_t nbytes = full; nbytes > n / 8; nbytes = nbytes * 7 / 8) {
      nay_params q = {.kind = NAY_RIBBON, .nbytes = nbytes, .hash = NAY_HASH_CALLER};
      nay_filter *built = set_build(&q, x, n);
      assert_ok(nay_filter_shrink(f, nbytes));
      assert_true(f->nbytes <= nbytes);
      if (built->shape.extra != 0) {
        set_same_bytes(f, built);
      } else { /* the only exception: what nay.h says of few keys */
        assert_true(n <= 4096 && f->shape.extra != 0);
      }
      set_all_maybe(f, x, n);
      nay_filter_free(built);
    }
    assert_status(nay_filter_shrink(f, 8), NAY_EINVAL);
    nay_filter_free(f);
    free(x);
  }
  uint64_t *x = set_random(20, 4);
  nay_params p = set_params(NAY_RIBBON, 0.01, 0);
  nay_filter *f = set_build(&p, x, 20);
  assert_status(nay_filter_shrink(f, 16), NAY_ENOTSUP); /* a Bloom filter */
  nay_filter_free(f);
  free(x);
}

/* The fallback: all results 0. With slots to spare its rate is near the plan; it never says nay. */
static void homogeneous_works(void **state) {
  (void)state;
  size_t n = 5000;
  uint64_t *x = set_random(n, 5);
  nay_params p = set_params(NAY_RIBBON, 0.01, 0);
  nay_filter *f = set_build(&p, x, n);
  uint8_t *scratch =
      aligned_alloc(64, (f->family->bulk->solver->scratch(&f->shape, n) + 63) / 64 * 64);
  assert_non_null(scratch);
  f->family->bulk->solver->give_up(f, 0, 12345, x, n, scratch);
  set_all_maybe(f, x, n);
  f->family->bulk->solver->give_up(f, 0, 12345, x, n * 94 / 100, scratch);
  set_all_maybe(f, x, n * 94 / 100);
  double fpr = set_fpr(f, 50000, 6);
  if (!(fpr > 0.005 && fpr < 0.03)) fail_msg("homogeneous: %g", fpr);
  /* keys that are all equal, or many more than slots, are no trouble either */
  for (size_t i = 0; i < n; i++) x[i] = i % 2 ? x[0] : x[i];
  f->family->bulk->solver->give_up(f, 0, 1, x, n, scratch);
  set_all_maybe(f, x, n);
  free(scratch);
  nay_filter_free(f);
  free(x);
}

/*
 * However a table of kernels eliminates and solves, the same sets work out, with the same bytes.
 * Small shards have more equations on their way than a sweep takes; a key that comes twice, or a
 * set as large as its slots, cannot be solved.
 */
static void solve_by_all(size_t n, double fpr, bool twins) {
  uint64_t *x = set_random(n, 9);
  nay_params p = set_params(NAY_RIBBON, fpr, 0);
  nay_filter *f = set_build(&p, x, n);
  assert_int_equal(f->shape.extra, 1);
  const nay_solver *solver = f->family->bulk->solver;
  uint8_t *scratch = aligned_alloc(64, (solver->scratch(&f->shape, n) + 63) / 64 * 64);
  uint8_t *want = malloc(f->nbytes);
  assert_true(scratch != NULL && want != NULL);
  if (twins) x[n / 3] = x[n / 2];
  for (uint32_t seed = 0; seed < 6; seed++) {
    const nay_kernels *own = f->kernels, *table;
    bool works = false;
    for (size_t t = 0; (table = nay__kernels_at(t)) != NULL; t++) {
      f->kernels = table;
      bool ok = solver->attempt(f, 0, 1, seed, x, n, scratch);
      if (t == 0) {
        works = ok;
        memcpy(want, f->bits.bytes, f->nbytes);
      }
      assert_int_equal(ok, works);
      if (ok) assert_memory_equal(f->bits.bytes, want, f->nbytes);
    }
    assert_true(!twins || !works);
    f->kernels = own;
  }
  free(want);
  free(scratch);
  nay_filter_free(f);
  free(x);
}

static void every_cpu_solves_alike(void **state) {
  (void)state;
  for (size_t n = 600; n < 24000; n += n / 7) {
    solve_by_all(n, n % 2 != 0 ? 0.01 : 1e-5, false);
    solve_by_all(n, 2.4e-10, n % 3 == 0);
  }
}

/* A solver whose first attempt leaves one wrong bit behind, at damaged_bit of the blocks. */
static uint64_t damaged_bit;

static bool attempt_with_damage(nay_filter *f, uint64_t shard, unsigned attempt, uint32_t seed,
                                const uint64_t *x, size_t n, uint8_t *scratch) {
  if (!nay__band_solver.attempt(f, shard, attempt, seed, x, n, scratch)) return false;
  uint8_t *blocks = f->bits.bytes + nay__ribbon_blocks_at(f->shape.extra);
  if (attempt == 0) blocks[damaged_bit / 8] ^= (uint8_t)(1u << damaged_bit % 8);
  return true;
}

static bool has_a_false_nay(const nay_filter *f, const uint64_t *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!nay_filter_may_contain_hash(f, (nay_hash){x[i], 0})) return true;
  }
  return false;
}

/*
 * Verifying reads what was written: a wrong bit, wherever it is, that turns a key into a nay makes
 * the build try another seed. About half of the keys that reach over a slot use it, so only a few
 * bits at the very ends are no key's.
 */
static void verifying_finds_every_wrong_bit(void **state) {
  (void)state;
  size_t n = 1500;
  uint64_t *x = set_random(n, 8), noticed = 0, tried = 0;
  nay_solver solver = nay__band_solver;
  nay_family family = nay__family_ribbon;
  solver.attempt = attempt_with_damage;
  nay_family_bulk bulk = {.solver = &solver};
  family.bulk = &bulk;
  nay_params p = set_params(NAY_RIBBON, 0.0003, 0);
  p.nkeys = n;
  nay_filter *good = set_build(&p, x, n), *f;
  assert_int_equal(good->shape.extra, 1);
  assert_int_equal(nay__ribbon_shard_at(good->bits.bytes, 0).seed, 0);
  nay_hasher hasher = {.kind = NAY_HASH_CALLER};
  nay_run run = {x, n};
  nay_source source = {.runs = &run, .nruns = 1, .n = n};
  uint64_t nbits = good->shape.nunits * 128;
  for (damaged_bit = 0; damaged_bit < nbits; damaged_bit += 1 + damaged_bit % 61) {
    uint8_t *byte = good->bits.bytes + nay__ribbon_blocks_at(1) + damaged_bit / 8;
    *byte ^= (uint8_t)(1u << damaged_bit % 8);
    bool harmful = has_a_false_nay(good, x, n);
    *byte ^= (uint8_t)(1u << damaged_bit % 8);
    assert_ok(nay__static_build(&family, &p, &hasher, &source, NULL, NULL, &f));
    assert_int_equal(nay__ribbon_shard_at(f->bits.bytes, 0).seed != 0, harmful);
    set_all_maybe(f, x, n);
    nay_filter_free(f);
    noticed += harmful;
    tried++;
  }
  assert_true(tried > 300 && noticed > tried * 95 / 100);
  p.flags = NAY_NO_VERIFY;
  damaged_bit = nbits / 2;
  assert_ok(nay__static_build(&family, &p, &hasher, &source, NULL, NULL, &f));
  assert_int_equal(nay__ribbon_shard_at(f->bits.bytes, 0).seed, 0);
  assert_true(has_a_false_nay(f, x, n)); /* nobody looked */
  nay_filter_free(f);
  nay_filter_free(good);
  free(x);
}

static void hostile_directories_are_refused_or_safe(void **state) {
  (void)state;
  size_t n = 40000;
  uint64_t *x = set_random(n, 7);
  nay_params p = set_params(NAY_RIBBON, 0.02, 0);
  nay_filter *f = set_build(&p, x, n);
  assert_true(f->shape.extra > 1);
  uint8_t *bytes = f->bits.bytes;
  size_t head = (size_t)nay__ribbon_blocks_at(f->shape.extra), refused = 0;
  for (size_t bit = 0; bit < head * 8; bit++) {
    nay_diag diag;
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    nay_status status = f->family->check(&f->shape, bytes, f->nbytes, &diag);
    refused += status != NAY_OK;
    for (size_t q = 0; status == NAY_OK && q < 300; q++) {
      const uint8_t *addresses[NAY_MAX_ADDRESSES];
      unsigned touched = f->family->probe_addresses(f, (nay_hash){x[q], 0}, addresses);
      for (unsigned a = 0; a < touched; a++) {
        assert_true(addresses[a] >= bytes && addresses[a] < bytes + f->nbytes);
      }
      uint64_t word;
      nay_filter_may_contain_hash(f, (nay_hash){x[q], 0});
      assert_ok(nay_filter_may_contain_hash_many(f, &x[q], NULL, 1, &word));
    }
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  assert_true(refused > 100);
  nay_filter_free(f);
  free(x);
}

int main(void) {
  const test_case tests[] = {
      TEST(many_rates),
      TEST(small_sets_of_every_size),
      TEST(small_sets_are_bloom),
      TEST(budgets),
      TEST(shrinking_is_building_smaller),
      TEST(homogeneous_works),
      TEST(every_cpu_solves_alike),
      TEST(verifying_finds_every_wrong_bit),
      TEST(hostile_directories_are_refused_or_safe),
  };
  return run_all(tests);
}

/* test_ribbon.c - ribbon filters: columns, fractions, budgets, layers, shrinking, small sets,
 * hostile bytes. test_banding.c tests the elimination. */
#include "build/static_build.h"
#include "family/ribbon.h"
#include "filter.h"
#include "support/static_sets.h"

static const nay_solver *ribbon_solver(void) { return nay__family_ribbon.bulk->solver; }

static void many_rates(void **state) {
  (void)state;
  uint64_t *x = set_random(20000, 1);
  static const double rates[] = {0.9, 0.5, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 2.4e-10};
  for (size_t j = 0; j < 2 * sizeof rates / sizeof rates[0]; j++) {
    size_t i = j / 2, n = j % 2 == 0 ? 6000 : 20000; /* one layer, two layers */
    nay_params p = set_params(NAY_RIBBON, rates[i], 0);
    nay_filter *f = set_build(&p, x, n);
    nay_plan plan = {.size = sizeof plan};
    p.nkeys = n;
    assert_ok(nay_params_plan(&p, NULL, &plan));
    assert_int_equal(plan.nbytes, f->nbytes);
    assert_true(plan.fpr <= rates[i] && plan.fpr > rates[i] * 0.96);
    set_all_maybe(f, x, n);
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
    nay_params ribbon = {sizeof ribbon, .kind = NAY_RIBBON, .nkeys = n, .fpr = 0.001};
    nay_params bloom = {sizeof bloom, .kind = NAY_BLOOM, .nkeys = n, .fpr = 0.001};
    nay_plan r = {.size = sizeof r}, b = {.size = sizeof b};
    assert_ok(nay_params_plan(&ribbon, NULL, &r));
    assert_ok(nay_params_plan(&bloom, NULL, &b));
    assert_true(r.nbytes <= b.nbytes + NAY_RIBBON_BLOOM_HEADER);
    assert_true(r.fpr <= 0.001);
  }
}

/* A budget is used up to its last column, and the rate is within 1.5 % of what it allows. */
static void budgets(void **state) {
  (void)state;
  for (uint64_t n = 20000; n <= 20000000; n *= 10) {
    for (double bits = 2; bits < 32; bits += 0.37) {
      nay_params p = {.size = sizeof p,
                      .kind = NAY_RIBBON,
                      .nkeys = n,
                      .nbytes = (uint64_t)((double)n * bits / 8)};
      nay_plan plan = {.size = sizeof plan};
      assert_ok(nay_params_plan(&p, NULL, &plan));
      assert_true(plan.nbytes <= p.nbytes && plan.nbytes + 16 > p.nbytes);
      p = (nay_params){sizeof(nay_params), .kind = NAY_RIBBON, .nkeys = n, .fpr = plan.fpr};
      assert_ok(nay_params_plan(&p, NULL, &plan));
      assert_close((double)plan.nbytes * 8 / (double)n, bits, 0.01);
    }
  }
  const nay_params bad[] = {
      {sizeof(nay_params), .kind = NAY_RIBBON, .nkeys = 10, .nbits = 512},
      {sizeof(nay_params), .kind = NAY_RIBBON, .nkeys = 10, .fpr = 1e-12},
      {sizeof(nay_params), .kind = NAY_RIBBON, .nkeys = 10, .fpr = 0.1, .k = 5},
      {sizeof(nay_params), .kind = NAY_RIBBON, .nkeys = 10, .fpr = 0.1, .fold = 2},
      {sizeof(nay_params), .kind = NAY_RIBBON, .nkeys = 1000, .nbytes = 8},
      {sizeof(nay_params), .kind = NAY_RIBBON, .nkeys = (uint64_t)1 << 50, .fpr = 0.01},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    nay_plan plan = {.size = sizeof plan};
    assert_status(nay_params_plan(&bad[i], NULL, &plan), NAY_EINVAL);
  }
}

/* Shrinking gives, byte for byte, the filter that is built for that budget. */
static void shrinking_is_building_smaller(void **state) {
  (void)state;
  static const size_t sizes[] = {500, 700, 1000, 4096, 4097, 7767, 7768, 40000, 260000};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    size_t n = sizes[i];
    uint64_t *x = set_random(n, 3);
    nay_params p = set_params(NAY_RIBBON, 1e-5, 0);
    nay_filter *f = set_build(&p, x, n);
    size_t full = f->nbytes;
    assert_ok(nay_filter_shrink(f, full + 100, NULL));
    assert_int_equal(f->nbytes, full);
    for (size_t nbytes = full; nbytes > n / 8; nbytes = nbytes * (n > 100000 ? 3 : 7) / 8) {
      nay_params q = {sizeof q, .kind = NAY_RIBBON, .nbytes = nbytes, .hash = NAY_HASH_CALLER};
      nay_filter *built = set_build(&q, x, n);
      assert_ok(nay_filter_shrink(f, nbytes, NULL));
      assert_true(f->nbytes <= nbytes);
      if (built->shape.extra != 0) {
        set_same_bytes(f, built);
      } else { /* the only exception: what nay.h says of few keys */
        assert_true(n <= 4096 && f->shape.extra != 0);
      }
      set_all_maybe(f, x, n);
      nay_filter_free(built);
    }
    assert_status(nay_filter_shrink(f, 8, NULL), NAY_EINVAL);
    nay_filter_free(f);
    free(x);
  }
  uint64_t *x = set_random(20, 4);
  nay_params p = set_params(NAY_RIBBON, 0.01, 0);
  nay_filter *f = set_build(&p, x, 20);
  assert_status(nay_filter_shrink(f, 16, NULL), NAY_ENOTSUP); /* a Bloom filter */
  nay_filter_free(f);
  free(x);
}

/* ---- layers ---- */

/* Whatever the number of blocks: layers of whole buckets, and a small last one. */
static void layers_use_all_blocks(void **state) {
  (void)state;
  for (uint64_t nblocks = 1; nblocks < UINT32_MAX; nblocks += 1 + nblocks / 97) {
    uint64_t first = 0;
    unsigned i = 0;
    nay_burr_layer l;
    do {
      assert_true(i < 8);
      l = nay__burr_layer(nblocks, i++);
      assert_int_equal(l.first, first);
      assert_true(l.nblocks > 0 && l.nparts > 0);
      if (!l.last) assert_int_equal(l.nblocks % 4, 0);
      /* slots of a part are counted in 32 bits, and parts are small enough for a thread */
      assert_true(l.nblocks < 2 * NAY_BURR_PART_BLOCKS);
      first = nay__burr_layer_end(&l);
    } while (!l.last);
    assert_int_equal(first, nblocks);
    assert_true(l.nblocks <= NAY_BURR_LAST_BLOCKS && l.nparts == 1);
    assert_int_equal(nay__burr_last(nblocks).first, l.first);
  }
}

/* More keys never have fewer blocks, and the blocks never many slots to spare. */
static void blocks_follow_from_keys(void **state) {
  (void)state;
  uint64_t before = 0;
  for (uint64_t n = 1; n <= NAY_RIBBON_MAX_KEYS; n += 1 + n / 1013) {
    uint64_t nblocks = nay__burr_blocks(n), slots = nblocks * 128;
    assert_true(nblocks >= before && nblocks <= UINT32_MAX);
    assert_true(slots >= n + 4);
    double most = n < 8000 ? 0.0213 * (double)n + 140 : 0.0009 * (double)n + 480;
    if ((double)(slots - n) > most) fail_msg("n %.0f: %.0f", (double)n, (double)(slots - n));
    before = nblocks;
  }
}

/* Threads, order and duplicates leave no trace, where there are several parts and layers. */
static void threads_give_the_same_bytes(void **state) {
  (void)state;
  static const size_t sizes[] = {9000, 210000, 700000};
  for (size_t i = 0; i < 3; i++) {
    size_t n = sizes[i];
    uint64_t *x = set_random(n + 1, 11);
    nay_params p = set_params(NAY_RIBBON, 0.01, 0);
    nay_filter *one = set_build(&p, x, n);
    x[n] = x[n / 2];
    for (size_t j = 0; j < n / 2; j++) {
      uint64_t t = x[j];
      x[j] = x[n - 1 - j];
      x[n - 1 - j] = t;
    }
    for (uint32_t threads = 2; threads <= 5; threads += 3) {
      p.threads = threads;
      nay_filter *f = set_build(&p, x, n + (threads == 5));
      set_same_bytes(one, f);
      nay_filter_free(f);
    }
    set_all_maybe(one, x, n);
    nay_filter_free(one);
    free(x);
  }
}

/* ---- builds that do not work out ---- */

static nay_status build_with(const nay_layers *layers, const nay_params *params, const uint64_t *x,
                             size_t n, nay_filter **f) {
  nay_solver solver = *ribbon_solver();
  nay_family family = nay__family_ribbon;
  solver.layers = layers;
  nay_family_bulk bulk = {.solver = &solver};
  family.bulk = &bulk;
  nay_hash_fn hasher = {.kind = NAY_HASH_CALLER};
  nay_run run = {x, n};
  nay_source source = {.runs = &run, .nruns = 1, .n = n};
  nay_status status = nay__static_build(&family, params, &hasher, &source, NULL, NULL, f);
  if (status == NAY_OK) (*f)->family = &nay__family_ribbon;
  return status;
}

static bool never_filled(nay_filter *f, unsigned attempt, const uint64_t *x, size_t n,
                         uint8_t *scratch) {
  (void)f, (void)attempt, (void)x, (void)n, (void)scratch;
  return false;
}

/* When no seed works, every answer is maybe, and the filter says so of itself. */
static void giving_up_is_maybe(void **state) {
  (void)state;
  static const size_t sizes[] = {50, 1000, 20000, 210000};
  for (size_t i = 0; i < 4; i++) {
    size_t n = sizes[i];
    uint64_t *x = set_random(n, 5);
    nay_layers layers = *ribbon_solver()->layers;
    layers.fill_last = never_filled;
    nay_params p = set_params(NAY_RIBBON, 0.01, 0);
    p.threads = 2;
    nay_filter *f;
    nay_stats stats = {.size = sizeof stats};
    assert_ok(build_with(&layers, &p, x, n, &f));
    set_all_maybe(f, x, n);
    assert_true(set_fpr(f, 1000, 6) == 1);
    assert_ok(nay_filter_stats(f, &stats));
    if (f->shape.extra != 0) assert_true(stats.fpr_now > 1 - 1e-9);
    assert_ok(f->family->check(&f->shape, f->bits.bytes, f->nbytes, NULL));
    nay_filter_free(f);
    free(x);
  }
}

/* The first attempt leaves one wrong bit behind, at damaged_bit of the blocks. */
static uint64_t damaged_bit;
static unsigned damaged_attempts;

static bool fill_with_damage(nay_filter *f, unsigned attempt, const uint64_t *x, size_t n,
                             uint8_t *scratch) {
  if (!ribbon_solver()->layers->fill_last(f, attempt, x, n, scratch)) return false;
  if (damaged_attempts++ == 0) f->bits.bytes[damaged_bit / 8] ^= (uint8_t)(1u << damaged_bit % 8);
  return true;
}

static bool has_a_false_nay(const nay_filter *f, const uint64_t *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!nay_filter_may_contain_hash(f, (nay_hash){x[i], 0})) return true;
  }
  return false;
}

/*
 * Verifying reads what was written: a wrong bit, in whatever layer, that turns a key into a nay
 * makes the build try another seed. About half of the keys that reach over a slot use it, so only a
 * few bits at the ends of parts are no key's.
 */
static void verifying_finds_every_wrong_bit(void **state) {
  (void)state;
  size_t n = 9000;
  uint64_t *x = set_random(n, 8), noticed = 0, tried = 0;
  nay_layers layers = *ribbon_solver()->layers;
  layers.fill_last = fill_with_damage;
  nay_params p = set_params(NAY_RIBBON, 0.0003, 0);
  p.nkeys = n;
  nay_filter *good = set_build(&p, x, n), *f;
  nay_burr b = nay__ribbon_open(&good->bits);
  assert_true(!nay__burr_layer(b.nblocks, 0).last);
  assert_int_equal(nay__burr_trailer(&b)[4], 0);
  uint64_t nbits = good->shape.nunits * 128;
  for (damaged_bit = 0; damaged_bit < nbits; damaged_bit += 1 + damaged_bit % 701) {
    uint8_t *byte = good->bits.bytes + damaged_bit / 8;
    *byte ^= (uint8_t)(1u << damaged_bit % 8);
    bool harmful = has_a_false_nay(good, x, n);
    *byte ^= (uint8_t)(1u << damaged_bit % 8);
    damaged_attempts = 0;
    assert_ok(build_with(&layers, &p, x, n, &f));
    assert_int_equal(nay__burr_trailer(&b)[4], 0);
    nay_burr built = nay__ribbon_open(&f->bits);
    assert_int_equal(nay__burr_trailer(&built)[4] != 0, harmful);
    set_all_maybe(f, x, n);
    nay_filter_free(f);
    noticed += harmful;
    tried++;
  }
  if (tried < 200 || noticed < tried * 95 / 100) fail_msg("%d of %d", (int)noticed, (int)tried);
  p.flags = NAY_NO_VERIFY;
  damaged_bit = nbits / 2;
  damaged_attempts = 0;
  assert_ok(build_with(&layers, &p, x, n, &f));
  assert_true(has_a_false_nay(f, x, n)); /* the build did not verify */
  nay_filter_free(f);
  nay_filter_free(good);
  free(x);
}

static bool always_damaged(nay_filter *f, unsigned attempt, const uint64_t *x, size_t n,
                           uint8_t *scratch) {
  damaged_attempts = 0;
  return fill_with_damage(f, attempt, x, n, scratch);
}

/* A build whose every attempt lacks a key is an error, not a filter. */
static void a_build_that_stays_wrong_fails(void **state) {
  (void)state;
  size_t n = 9000;
  uint64_t *x = set_random(n, 8);
  nay_layers layers = *ribbon_solver()->layers;
  layers.fill_last = always_damaged;
  nay_params p = set_params(NAY_RIBBON, 0.0003, 0);
  nay_filter *f = NULL;
  damaged_bit = 12 * 128 * 40 + 77;
  assert_status(build_with(&layers, &p, x, n, &f), NAY_ECORRUPT);
  assert_null(f);
  free(x);
}

/* ---- hostile bytes ---- */

/* Every bit of the codes and of the trailer: refused where the last layer would be bumped, else
 * safe, and one by one, in batches and by words the same answers. */
static void hostile_tails(size_t n) {
  uint64_t *x = set_random(n, 7);
  nay_params p = set_params(NAY_RIBBON, 0.02, 0);
  nay_filter *f = set_build(&p, x, n);
  nay_burr b = nay__ribbon_open(&f->bits);
  uint8_t *bytes = f->bits.bytes;
  size_t tail = (size_t)nay__burr_tail(b.nblocks), codes = (size_t)nay__burr_ncodes(b.nblocks);
  size_t buckets = (size_t)nay__burr_last(b.nblocks).first / 4;
  for (size_t bit = 0; bit < tail * 8; bit += 1 + tail / 64) {
    nay_diag diag;
    uint8_t *byte = bytes + f->nbytes - tail + bit / 8;
    *byte ^= (uint8_t)(1u << bit % 8);
    nay_status status = f->family->check(&f->shape, bytes, f->nbytes, &diag);
    assert_int_equal(status, bit / 8 < codes && bit / 2 >= buckets ? NAY_ECORRUPT : NAY_OK);
    if (status == NAY_OK) {
      nay__filter_attach(f, bytes, f->nbytes);
      (void)set_fpr(f, 300, bit);
      const nay_kernels *own = f->kernels, *table;
      for (size_t q = 0; q < 100; q++) {
        const uint8_t *addresses[NAY_MAX_ADDRESSES];
        unsigned touched = f->family->probe_addresses(f, (nay_hash){x[q], 0}, addresses);
        for (unsigned a = 0; a < touched; a++) {
          assert_true(addresses[a] >= bytes && addresses[a] < bytes + f->nbytes);
        }
      }
      uint64_t words[8], found = 0;
      for (size_t t = 0; (table = nay__kernels_at(t)) != NULL; t++) {
        f->kernels = table;
        words[t] = ribbon_solver()->test(f, x, 64);
        assert_true(words[t] == words[0]);
        for (unsigned i = 0; i < 64; i++) {
          uint64_t maybe = f->family->test(f, (nay_hash){x[i], 0});
          found = i == 0 ? maybe : found | maybe << i;
        }
        if (nay__burr_premix(&b) == 0) assert_true(found == words[0]);
      }
      f->kernels = own;
    }
    *byte ^= (uint8_t)(1u << bit % 8);
  }
  nay_filter_free(f);
  free(x);
}

static void hostile_tails_are_refused_or_safe(void **state) {
  (void)state;
  static const size_t sizes[] = {1000, 9000, 40000, 270000, 600000};
  for (size_t i = 0; i < 5; i++) hostile_tails(sizes[i]);
}

/* Blocks, columns and columns of a block that do not fit together: refused by the header alone. */
static void hostile_shapes_are_refused(void **state) {
  (void)state;
  const nay_shape bad[] = {{12, 1, 11},  {0, 1, 1},   {33, 33, 1},
                           {100, 2, 49}, {10, 2, 10}, {(uint64_t)1 << 54, 1, UINT32_MAX}};
  uint64_t nbits, nbytes;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_false(nay__family_ribbon.payload(&bad[i], &nbits, &nbytes));
  }
  const nay_shape good[] = {{1, 1, 1}, {11, 2, 10}, {20, 2, 10}, {1, 1, 1000}};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    assert_true(nay__family_ribbon.payload(&good[i], &nbits, &nbytes));
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(many_rates),
      TEST(small_sets_of_every_size),
      TEST(small_sets_are_bloom),
      TEST(budgets),
      TEST(shrinking_is_building_smaller),
      TEST(layers_use_all_blocks),
      TEST(blocks_follow_from_keys),
      TEST(threads_give_the_same_bytes),
      TEST(giving_up_is_maybe),
      TEST(verifying_finds_every_wrong_bit),
      TEST(a_build_that_stays_wrong_fails),
      TEST(hostile_tails_are_refused_or_safe),
      TEST(hostile_shapes_are_refused),
  };
  return run_all(tests);
}

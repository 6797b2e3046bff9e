/* test_fuse.c - xor and fuse filters: widths, arities, plans, hostile payloads. */
#include "family/fuse.h"
#include "filter.h"
#include "support/static_sets.h"

static const struct {
  nay_kind kind;
  uint32_t k;
} layouts[] = {{NAY_FUSE, 3}, {NAY_FUSE, 4}, {NAY_XOR, 3}};
#define N_LAYOUTS (sizeof layouts / sizeof layouts[0])

/* Every width keeps every key, and its rate is about 2^-width where that can be seen. */
static void every_width(void **state) {
  (void)state;
  uint64_t *x = set_random(5000, 1);
  for (size_t i = 0; i < N_LAYOUTS; i++) {
    for (unsigned bits = 4; bits <= 32; bits++) {
      nay_params p = set_params(layouts[i].kind, 1 / (double)((uint64_t)1 << bits), layouts[i].k);
      nay_filter *f = set_build(&p, x, 5000);
      assert_int_equal(nay__fuse_bits(&f->shape), bits);
      assert_int_equal(f->shape.k, layouts[i].k);
      set_all_maybe(f, x, 5000);
      double fpr = set_fpr(f, 20000, bits), expected = p.fpr;
      /* six deviations of a binomial of 20000 probes, and one probe */
      assert_true(fpr < expected + 6 * 0.00707107 * (expected < 1e-4 ? 0.01 : 0.25) + 1.0 / 20000);
      nay_filter_free(f);
    }
  }
  free(x);
}

static void small_sets_of_every_size(void **state) {
  (void)state;
  uint64_t *x = set_random(300, 2);
  for (size_t i = 0; i < N_LAYOUTS; i++) {
    for (size_t n = 0; n <= 300; n++) {
      nay_params p = set_params(layouts[i].kind, 1.0 / 256, layouts[i].k);
      nay_filter *f = set_build(&p, x, n);
      assert_int_equal(f->nkeys, n);
      set_all_maybe(f, x, n);
      nay_stats stats = {.size = sizeof stats};
      assert_ok(nay_filter_stats(f, &stats));
      assert_true(stats.fpr_now <= 1.0 / 256); /* and not 1: no shard has given up */
      nay_filter_free(f);
    }
  }
  free(x);
}

static void the_empty_set_says_nay(void **state) {
  (void)state;
  for (size_t i = 0; i < N_LAYOUTS; i++) {
    nay_params p = set_params(layouts[i].kind, 1.0 / 16, layouts[i].k);
    nay_filter *f = set_build(&p, NULL, 0);
    assert_true(set_fpr(f, 1000, 3) == 0);
    nay_filter_free(f);
  }
}

static void plans(void **state) {
  (void)state;
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag;
  nay_params p = {sizeof p, .kind = NAY_FUSE, .nkeys = 1000000, .fpr = 1.0 / 256};
  assert_ok(nay_params_plan(&p, &diag, &plan));
  assert_int_equal(plan.k, 3);
  assert_true(plan.fpr == 1.0 / 256 && plan.bits_per_key <= 9.1);
  assert_true(plan.nbytes_build > plan.nbytes + 8 * p.nkeys);
  p.fpr = 1.0 / 255; /* a little more than 2^-8 needs 8 bits, a little less 9 */
  assert_ok(nay_params_plan(&p, &diag, &plan));
  assert_true(plan.fpr == 1.0 / 256);
  p.fpr = 1.0 / 257;
  assert_ok(nay_params_plan(&p, &diag, &plan));
  assert_true(plan.fpr == 1.0 / 512);

  p = (nay_params){
      .size = sizeof(nay_params), .kind = NAY_FUSE, .nkeys = 1000000, .k = 4, .bits_per_key = 8.7};
  assert_ok(nay_params_plan(&p, &diag, &plan));
  assert_true(plan.fpr == 1.0 / 256 && plan.bits_per_key <= 8.7);
  p = (nay_params){sizeof(nay_params), .kind = NAY_FUSE, .nkeys = 1000, .nbytes = 1500};
  assert_ok(nay_params_plan(&p, &diag, &plan));
  assert_true(plan.nbytes <= 1500);

  const nay_params bad[] = {
      {sizeof(nay_params), .kind = NAY_FUSE, .nkeys = 10, .nbits = 512},
      {sizeof(nay_params), .kind = NAY_FUSE, .nkeys = 10, .fpr = 1e-12},
      {sizeof(nay_params), .kind = NAY_FUSE, .nkeys = 10, .fpr = 0.1, .k = 5},
      {sizeof(nay_params), .kind = NAY_FUSE, .nkeys = 10, .fpr = 0.1, .fold = 2},
      {sizeof(nay_params), .kind = NAY_FUSE, .nkeys = 1000, .nbytes = 100},
      {sizeof(nay_params), .kind = NAY_FUSE, .nkeys = 1000, .bits_per_key = 3},
      {sizeof(nay_params), .kind = NAY_FUSE, .nkeys = (uint64_t)1 << 50, .fpr = 0.01},
      {sizeof(nay_params), .kind = NAY_XOR, .nkeys = 10, .fpr = 0.1, .k = 4},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_status(nay_params_plan(&bad[i], &diag, &plan), NAY_EINVAL);
    assert_non_null(diag.what);
  }
}

/* What is built is what was planned, to the byte. */
static void plans_are_kept(void **state) {
  (void)state;
  uint64_t *x = set_random(70000, 4);
  static const size_t sizes[] = {1, 2, 63, 1000, 11500, 70000};
  for (size_t i = 0; i < N_LAYOUTS; i++) {
    for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++) {
      nay_params p = set_params(layouts[i].kind, 0.001, layouts[i].k);
      nay_filter *f = set_build(&p, x, sizes[j]);
      nay_plan plan = {.size = sizeof plan};
      p.nkeys = sizes[j];
      assert_ok(nay_params_plan(&p, NULL, &plan));
      assert_int_equal(plan.nbytes, f->nbytes);
      nay_filter_free(f);
    }
  }
  free(x);
}

static void static_means_static(void **state) {
  (void)state;
  nay_params p = set_params(NAY_FUSE, 0.01, 0);
  nay_filter *f;
  p.nkeys = 10;
  assert_status(nay_filter_new(&p, NULL, NULL, &f), NAY_ENOTSUP);
  f = set_build(&p, NULL, 0);
  assert_status(nay_filter_add_hash(f, (nay_hash){1, 0}, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_clear(f), NAY_ENOTSUP);
  assert_status(nay_filter_fold(f, 2, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_merge(f, f, 1, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_shrink(f, 10, NULL), NAY_ENOTSUP);
  nay_filter_free(f);
}

/* Any change to header or table is either refused by check() or safe to probe: no address outside
 * the payload, under the sanitizers and by this test. */
static void hostile_tables_are_refused_or_safe(void **state) {
  (void)state;
  uint64_t *x = set_random(2000, 5);
  for (size_t i = 0; i < N_LAYOUTS; i++) {
    nay_params p = set_params(layouts[i].kind, 1.0 / 1024, layouts[i].k);
    nay_filter *f = set_build(&p, x, 2000);
    uint8_t *bytes = f->bits.bytes;
    size_t head = (size_t)nay__fuse_arrays_at(nay__fuse_nshards(&f->shape)), refused = 0;
    for (size_t bit = 0; bit < head * 8; bit++) {
      nay_diag diag;
      bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
      nay_status status = f->family->check(&f->shape, bytes, f->nbytes, &diag);
      refused += status != NAY_OK;
      for (size_t q = 0; status == NAY_OK && q < 200; q++) {
        const uint8_t *addresses[NAY_MAX_ADDRESSES];
        unsigned n = f->family->probe_addresses(f, (nay_hash){x[q], 0}, addresses);
        for (unsigned a = 0; a < n; a++) {
          assert_true(addresses[a] >= bytes && addresses[a] < bytes + f->nbytes);
        }
        uint64_t word;
        nay_filter_may_contain_hash(f, (nay_hash){x[q], 0});
        assert_ok(nay_filter_may_contain_hash_many(f, &x[q], NULL, 1, &word));
      }
      bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(refused > 100); /* all but premix, factor and some segment lengths */
    assert_ok(f->family->check(&f->shape, bytes, f->nbytes, NULL));
    nay_filter_free(f);
  }
  free(x);
}

/* A shard of each kind: solved, empty (nay), given up (maybe); single and batched. */
static void fixed_answers(void **state) {
  (void)state;
  uint64_t *x = set_random(100, 6);
  nay_params p = set_params(NAY_FUSE, 1.0 / 256, 3);
  nay_filter *f = set_build(&p, x, 100);
  uint8_t *factor = f->bits.bytes + NAY_FUSE_HEADER;
  uint64_t word = 0;
  nay_stats stats = {.size = sizeof stats};
  nay__store64le(factor, NAY_FUSE_SAYS_MAYBE);
  assert_ok(f->family->check(&f->shape, f->bits.bytes, f->nbytes, NULL));
  nay__filter_attach(f, f->bits.bytes, f->nbytes);
  assert_true(set_fpr(f, 100, 7) == 1);
  assert_ok(nay_filter_stats(f, &stats));
  assert_true(stats.fpr_now == 1);
  nay__store64le(factor, NAY_FUSE_SAYS_NAY);
  assert_ok(nay_filter_may_contain_hash_many(f, x, NULL, 64, &word));
  assert_true(word == 0);
  nay__store64le(factor, 4);
  assert_status(f->family->check(&f->shape, f->bits.bytes, f->nbytes, NULL), NAY_ECORRUPT);
  nay_filter_free(f);
  free(x);
}

/*
 * Two keys that share a slot differ in each bit of their fingerprints half of the time, in the
 * largest shard. A bit that follows from the slot would be the same in all of its keys, absent ones
 * too. More than 10^5 pairs: free bits are not within six standard deviations once in 5 * 10^8
 * comparisons.
 */
static void assert_bits_do_not_follow(nay_fuse_layout layout, unsigned arity) {
  uint64_t nkeys = ((uint64_t)1 << 21) - 1, differ[4][32] = {{0}}, pairs[4] = {0};
  nay_fuse_dims dims = nay__fuse_dims(layout, nkeys);
  nay_fuse_view v = {.nshards = 1, .segment = dims.segment};
  v.span = layout == NAY_XOR_3 ? dims.slots / 3 : dims.slots - (arity - 1) * dims.segment;
  uint64_t *seen = calloc(dims.slots, 4 * sizeof *seen); /* the last fingerprint of a slot, and 1 */
  assert_non_null(seen);
  for (uint64_t x = 1; x <= nkeys; x++) {
    uint64_t at[4], m = nay__remix(nay_hash_mix(x), 0);
    uint64_t fingerprint = nay__fuse_slots(layout, &v, nay_hash_mix(7) | 1, m, 32, at);
    for (unsigned j = 0; j < arity; j++) {
      uint64_t *last = &seen[4 * at[j] + j], different = *last >> 1 ^ fingerprint;
      for (unsigned bit = 0; *last != 0 && bit < 32; bit++) differ[j][bit] += different >> bit & 1;
      pairs[j] += *last != 0;
      *last = fingerprint << 1 | 1;
    }
  }
  free(seen);
  for (unsigned i = 0; i < 32 * arity; i++) {
    double n = (double)pairs[i / 32], deviation = (double)differ[i / 32][i % 32] - n / 2;
    assert_true(n > 1e5);
    if (deviation * deviation > 36 * n / 4) {
      fail_msg("layout %u, slot %u: bit %u differs in %llu of %.0f pairs", layout, i / 32, i % 32,
               (unsigned long long)differ[i / 32][i % 32], n);
    }
  }
}

static void no_fingerprint_bit_follows_from_a_slot(void **state) {
  (void)state;
  assert_bits_do_not_follow(NAY_FUSE_3, 3);
  assert_bits_do_not_follow(NAY_FUSE_4, 4);
  assert_bits_do_not_follow(NAY_XOR_3, 3);
}

int main(void) {
  const test_case tests[] = {
      TEST(every_width),
      TEST(small_sets_of_every_size),
      TEST(the_empty_set_says_nay),
      TEST(plans),
      TEST(plans_are_kept),
      TEST(static_means_static),
      TEST(hostile_tables_are_refused_or_safe),
      TEST(fixed_answers),
      TEST(no_fingerprint_bit_follows_from_a_slot),
  };
  return run_all(tests);
}

/* test_fold_factor.c - nay_filter_fold_factor: what counting every fold finds, in few passes. */
#include "contract.h"
#include "family/bitarray.h"

static nay_params sized(const nay_family *family, uint64_t nbits, uint32_t k) {
  return (nay_params){
      .size = sizeof(nay_params), .kind = family->kind, .nkeys = 1000, .nbits = nbits, .k = k};
}

/* What nay_filter_fold_factor finds, by counting the bits of every fold. */
static uint64_t fold_factor_by_counting(const nay_filter *f, uint64_t nunits, double max_fpr) {
  uint64_t best = 1, limit = nunits < 1u << 20 ? nunits : 1u << 20;
  for (uint64_t d = 2; d <= limit; d++) {
    nay_census census;
    if (nunits % d != 0) continue;
    f->family->census(f, NULL, d, &census);
    if (census.fpr <= max_fpr) {
      best = d;
    } else if (2 * d < limit) {
      limit = 2 * d;
    }
  }
  return best;
}

/* Bits at random, in one run, and at one distance: where bounds are tight, and where they are not.
 */
static void fill_with_bits(nay_filter *f, uint64_t nbits, unsigned how, uint64_t nset) {
  for (uint64_t i = 0; i < nset; i++) {
    uint64_t bit = how == 0 ? nay_hash_mix(i) % nbits : how == 1 ? i : i * (nbits / nset);
    nay__bit_set(f->bits.bytes, bit);
  }
}

static void the_fold_factor_is_that_of_counting(void **state) {
  const uint64_t sizes[] = {512, 512 * 7, 512 * 64, 512 * 720, 512 * 1001};
  const double limits[] = {1e-9, 0.001, 0.02, 0.3, 1};
  for (size_t i = 0; i < 5 * 3 * 6; i++) {
    nay_params p = sized(*state, sizes[i % 5], (uint32_t)(1 + i % 7));
    nay_filter *f = contract_new(&p);
    fill_with_bits(f, p.nbits, (unsigned)(i / 5 % 3),
                   (i / 15 * i / 15) * sizes[i % 5] / 100 + i / 15);
    for (size_t l = 0; l < 5; l++) {
      uint64_t factor = 0;
      assert_ok(nay_filter_fold_factor(f, limits[l], &factor));
      assert_int_equal(factor, fold_factor_by_counting(f, f->shape.nunits, limits[l]));
    }
    nay_filter_free(f);
  }
}

static uint64_t censuses;
static void (*census_of)(const nay_filter *, const nay_filter *, uint64_t, nay_census *);

static void counted_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                           nay_census *census) {
  censuses++;
  census_of(a, b, factor, census);
}

/* A size with hundreds of divisors is no work for hours: most factors are decided by a bound. */
static void a_fold_factor_reads_the_payload_a_few_times(void **state) {
  /* 55,440 blocks have 120 divisors, the bits of bloom 400; a run of full blocks is the worst case,
   * where no bound is tight: once for each divisor */
  const uint64_t most[] = {60, 120, 60};
  nay_params p = sized(*state, 512 * 55440, 7);
  nay_family counted = *(const nay_family *)*state;
  census_of = counted.census;
  counted.census = counted_census;
  for (unsigned how = 0; how < 3; how++) {
    for (uint64_t nset = 1; nset < 100000; nset *= 10) {
      nay_filter *f = contract_new(&p);
      fill_with_bits(f, p.nbits, how, nset);
      const nay_family *family = f->family;
      uint64_t factor;
      censuses = 0;
      f->family = &counted;
      assert_ok(nay_filter_fold_factor(f, 0.01, &factor));
      f->family = family;
      print_message("# fill %u, %llu bits: %llu passes\n", how, (unsigned long long)nset,
                    (unsigned long long)censuses);
      assert_true(censuses <= most[how]);
      nay_filter_free(f);
    }
  }
}

int main(void) {
  const contract_test tests[] = {
      CONTRACT(the_fold_factor_is_that_of_counting, NAY_CAN_ADD | CONTRACT_FOLDS_WHOLE),
      CONTRACT(a_fold_factor_reads_the_payload_a_few_times, NAY_CAN_ADD | CONTRACT_FOLDS_WHOLE),
  };
  return contract_run_all(tests);
}

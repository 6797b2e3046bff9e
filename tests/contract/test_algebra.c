/* test_algebra.c - whole filters: merge, intersect, fold, and the statistics that go with them. */
#include <math.h>

#include "contract.h"

#define RANDOM (&key_sets[3])

/* 60 blocks of 512: the size with many divisors that all folding families accept. */
#define FOLDABLE_BITS 30720u

static nay_params sized(const nay_family *family, uint64_t nbits) {
  return (nay_params){
      .size = sizeof(nay_params), .kind = family->kind, .nkeys = 1000, .nbits = nbits, .k = 5};
}

/* ---- merge ---- */

/* dst becomes what adding the keys of src would have made of it, whatever the two share. */
static void merging_is_adding(void **state) {
  nay_params p = contract_params(*state, 1500);
  for (uint64_t shared = 0; shared <= 500; shared += 250) {
    nay_filter *a = contract_new(&p), *b = contract_new(&p), *both = contract_new(&p);
    contract_add(a, RANDOM, 0, 750);
    contract_add(b, RANDOM, 750 - shared, 750);
    contract_add(both, RANDOM, 0, 750);
    contract_add(both, RANDOM, 750 - shared, 750);
    bytes src = bytes_of(b);
    assert_ok(nay_filter_set_meta(a, "stays", 5));
    assert_ok(nay_filter_merge(a, b, 1.0, NULL));
    assert_all_maybe(a, RANDOM, 0, 1500 - shared);
    assert_unchanged(b, &src);
    size_t len;
    assert_memory_equal(nay_filter_meta(a, &len), "stays", 5);
    assert_ok(nay_filter_set_meta(a, NULL, 0));
    if (!contract_can(*state, NAY_CAN_GROW)) assert_true(filters_equal(a, both));
    bytes_free(&src);
    nay_filter_free(a);
    nay_filter_free(b);
    nay_filter_free(both);
  }
}

static void merging_with_itself_changes_nothing(void **state) {
  nay_filter *f = contract_filter(*state, 500);
  bytes before = bytes_of(f);
  assert_ok(nay_filter_merge(f, f, 1.0, NULL));
  assert_unchanged(f, &before);
  bytes_free(&before);
  nay_filter_free(f);
}

/* Both sides may come from a file, and src may be read-only. */
static void merging_takes_mapped_filters(void **state) {
  nay_filter *f = contract_filter(*state, 500), *opened, *mapped;
  const char *path = saved(f, "merge");
  assert_ok(nay_filter_open(path, NULL, NULL, &opened));
  assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &mapped));
  remove(path);
  assert_ok(nay_filter_merge(opened, mapped, 1.0, NULL));
  assert_all_maybe(opened, RANDOM, 0, 500);
  nay_filter_free(f);
  nay_filter_free(opened);
  nay_filter_free(mapped);
}

/* Sizes a and b: the union is the filter of their greatest common size. */
static void assert_merges_across(const nay_family *family, uint64_t a_bits, uint64_t b_bits,
                                 uint64_t common_bits) {
  nay_params pa = sized(family, a_bits), pb = sized(family, b_bits);
  nay_params pc = sized(family, common_bits);
  nay_filter *a = contract_new(&pa), *b = contract_new(&pb), *c = contract_new(&pc);
  contract_add(a, RANDOM, 0, 300);
  contract_add(b, RANDOM, 200, 300);
  contract_add(c, RANDOM, 0, 500);
  assert_ok(nay_filter_set_meta(a, "kept", 4));
  assert_ok(nay_filter_set_meta(c, "kept", 4));
  bytes src = bytes_of(b);
  assert_ok(nay_filter_merge(a, b, 1.0, NULL));
  assert_true(filters_equal(a, c));
  assert_unchanged(b, &src);
  bytes_free(&src);
  nay_filter_free(a);
  nay_filter_free(b);
  nay_filter_free(c);
}

static void merging_across_sizes_folds(void **state) {
  const nay_family *family = *state;
  assert_merges_across(family, 512 * 60, 512 * 30, 512 * 30); /* dst shrinks */
  assert_merges_across(family, 512 * 12, 512 * 60, 512 * 12); /* src is folded */
  assert_merges_across(family, 512 * 24, 512 * 60, 512 * 12); /* both */
  assert_merges_across(family, 512 * 7, 512 * 5, 512);        /* nothing but the unit in common */
  nay_plan plan = {.size = sizeof plan};
  nay_params odd = sized(family, 21 * 45);
  if (nay_params_plan(&odd, NULL, &plan) == NAY_OK) { /* families that take any number of bits */
    assert_merges_across(family, 21 * 45, 21 * 30, 21 * 15);
    assert_merges_across(family, 1000, 999, 1);
  }
}

/* The decoded filter's metadata lies inside the memory that merging replaces. */
static void folding_keeps_the_metadata_of_an_opened_file(void **state) {
  nay_params big = sized(*state, 512 * 60), small = sized(*state, 512 * 20);
  nay_filter *f = contract_new(&big), *g = contract_new(&small), *opened;
  assert_ok(nay_filter_set_meta(f, "written long ago", 16));
  const char *path = saved(f, "meta");
  size_t len;
  for (int merge = 0; merge < 2; merge++) {
    assert_ok(nay_filter_open(path, NULL, NULL, &opened));
    assert_ok(merge ? nay_filter_merge(opened, g, 1.0, NULL) : nay_filter_fold(opened, 3, NULL));
    assert_memory_equal(nay_filter_meta(opened, &len), "written long ago", 16);
    assert_int_equal(len, 16);
    nay_filter_free(opened);
  }
  remove(path);
  nay_filter_free(f);
  nay_filter_free(g);
}

/* As above, where copies are counted: the counters of both are there, whatever their room. */
static void merging_across_sizes_adds_the_counts(void **state) {
  nay_params pa = sized(*state, 512 * 60), pb = sized(*state, 512 * 12);
  nay_filter *a = contract_new(&pa), *b = contract_new(&pb);
  contract_add(a, RANDOM, 0, 500);
  contract_add(b, RANDOM, 400, 200);
  assert_ok(nay_filter_merge(a, b, 1.0, NULL));
  assert_int_equal(a->shape.nunits, b->shape.nunits);
  uint8_t key[KEY_MAX];
  for (uint64_t i = 0; i < 600; i++) {
    uint64_t count;
    assert_ok(nay_filter_count(a, key, RANDOM->make(i, key), &count));
    assert_true(count >= (i >= 400 && i < 500 ? 2 : 1));
  }
  for (uint64_t i = 0; i < 500; i++) {
    assert_ok(nay_filter_remove(a, key, RANDOM->make(i, key)));
    assert_all_maybe(a, RANDOM, i < 400 ? i + 1 : 400, i < 400 ? 599 - i : 200);
  }
  nay_filter_free(a);
  nay_filter_free(b);
}

/* Above max_fpr: refused, and nothing has changed; also when sizes differ. */
static void merging_respects_the_rate(void **state) {
  nay_params p = contract_params(*state, 1000), twice = contract_params(*state, 2000);
  nay_filter *a = contract_build(&p, RANDOM, 0, 1000), *b = contract_build(&p, RANDOM, 1000, 1000);
  nay_filter *roomy = contract_build(&twice, RANDOM, 0, 1000), *copy;
  bytes before = bytes_of(a), roomy_before = bytes_of(roomy);
  assert_status(nay_filter_merge(a, b, 0.02, NULL), NAY_EFULL); /* twice the keys: about 9 % */
  assert_unchanged(a, &before);
  if (contract_can(*state, NAY_CAN_FOLD) && stats_of(a).k == stats_of(roomy).k) {
    assert_status(nay_filter_merge(roomy, b, 0.02, NULL), NAY_EFULL);
    assert_unchanged(roomy, &roomy_before);
  }
  assert_ok(nay_filter_copy(a, NULL, NULL, &copy));
  assert_ok(nay_filter_merge(copy, b, 1.0, NULL));
  double fpr = stats_of(copy).fpr_now; /* exactly at the limit is not above it */
  assert_status(nay_filter_merge(a, b, fpr * 0.999, NULL), NAY_EFULL);
  assert_unchanged(a, &before);
  assert_ok(nay_filter_merge(a, b, fpr, NULL));
  assert_true(filters_equal(a, copy));
  bytes_free(&before);
  bytes_free(&roomy_before);
  nay_filter_free(a);
  nay_filter_free(b);
  nay_filter_free(roomy);
  nay_filter_free(copy);
}

/* Another k, seed, hash or family: NAY_EMISMATCH, and nothing has changed. */
static void unlike_filters_do_not_mix(void **state) {
  const nay_family *family = *state, *other = NULL;
  for (size_t i = 0; nay__family_at(i) != NULL && other == NULL; i++) {
    if (nay__family_at(i) != family) other = nay__family_at(i);
  }
  nay_params p = contract_params(family, 100), unlike[] = {p, p, p, contract_keyed(family, 100)};
  unlike[0].seed = 1;
  unlike[1].hash = NAY_HASH_CALLER;
  unlike[2].k = p.k = 3;
  unlike[2].k = 4;
  size_t n = 4;
  if (!contract_can(family, CONTRACT_FOLDS_WHOLE)) p.k = unlike[2].k = 0, n = 2; /* no knob k */
  nay_filter *f = contract_build(&p, RANDOM, 0, 100);
  bytes before = bytes_of(f);
  for (size_t i = 0; i < n; i++) {
    nay_filter *g;
    nay_overlap overlap = {.size = sizeof overlap};
    assert_ok(nay_filter_build(&unlike[i], NULL, 0, NULL, NULL, &g));
    assert_status(nay_filter_merge(f, g, 1.0, NULL), NAY_EMISMATCH);
    assert_status(nay_filter_overlap(f, g, NULL, &overlap), NAY_EMISMATCH);
    if (contract_can(family, NAY_CAN_INTERSECT)) {
      assert_status(nay_filter_intersect(f, g, NULL), NAY_EMISMATCH);
    }
    nay_filter_free(g);
  }
  if (other != NULL) {
    nay_filter *g = contract_filter(other, 100);
    assert_status(nay_filter_merge(f, g, 1.0, NULL), NAY_EMISMATCH);
    nay_filter_free(g);
  }
  assert_unchanged(f, &before);
  bytes_free(&before);
  nay_filter_free(f);
}

/* ---- intersect ---- */

static void assert_derived(const nay_filter *f) {
  nay_stats s = stats_of(f);
  assert_true(s.derived);
  assert_true(isnan(s.nkeys_estimated) && isnan(s.fpr_now));
  assert_true(s.utilisation == 0 && !s.overloaded);
}

static void intersecting_keeps_the_common_keys(void **state) {
  nay_params p = contract_params(*state, 1000);
  nay_filter *a = contract_build(&p, RANDOM, 0, 600), *b = contract_build(&p, RANDOM, 400, 600);
  bytes src = bytes_of(b);
  assert_false(stats_of(a).derived);
  assert_ok(nay_filter_intersect(a, b, NULL));
  assert_all_maybe(a, RANDOM, 400, 200);
  for (uint64_t i = 0; i < 3000; i++) { /* and only what both have */
    assert_true(!contract_has(a, RANDOM, i) || contract_has(b, RANDOM, i));
  }
  assert_unchanged(b, &src);
  assert_derived(a);
  bytes_free(&src);
  nay_filter_free(a);
  nay_filter_free(b);
}

/* The mark goes with the bytes, through files, copies, merges and folds; clearing ends it. */
static void derived_is_for_ever(void **state) {
  nay_params p = sized(*state, FOLDABLE_BITS);
  nay_filter *a = contract_new(&p), *b = contract_new(&p), *fresh = contract_new(&p), *g;
  contract_add(a, RANDOM, 0, 600);
  contract_add(b, RANDOM, 400, 600);
  assert_ok(nay_filter_intersect(a, b, NULL));
  const char *path = saved(a, "derived");
  assert_ok(nay_filter_open(path, NULL, NULL, &g));
  assert_derived(g);
  assert_true(filters_equal(a, g));
  nay_filter_free(g);
  assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &g));
  assert_derived(g);
  remove(path);
  assert_ok(nay_filter_merge(b, g, 1.0, NULL));
  assert_derived(b);
  nay_filter_free(g);
  assert_ok(nay_filter_copy(a, NULL, NULL, &g));
  assert_derived(g);
  if (contract_can(*state, NAY_CAN_FOLD)) {
    assert_ok(nay_filter_fold(g, 2, NULL));
    assert_derived(g);
    assert_ok(nay_filter_merge(fresh, g, 1.0, NULL)); /* by folding */
    assert_derived(fresh);
  }
  assert_ok(nay_filter_clear(g));
  assert_false(stats_of(g).derived);
  nay_filter_free(a);
  nay_filter_free(b);
  nay_filter_free(fresh);
  nay_filter_free(g);
}

static void intersecting_needs_equal_sizes(void **state) {
  nay_params p = sized(*state, 512 * 4), half = sized(*state, 512 * 2);
  nay_filter *a = contract_new(&p), *b = contract_new(&half);
  contract_add(a, RANDOM, 0, 10);
  bytes before = bytes_of(a);
  assert_status(nay_filter_intersect(a, b, NULL), NAY_EMISMATCH);
  assert_unchanged(a, &before);
  assert_false(stats_of(a).derived);
  bytes_free(&before);
  nay_filter_free(a);
  nay_filter_free(b);
}

/* ---- fold ---- */

/* Folds by every divisor and compares with the filter built at that size. */
static void assert_folds(const nay_family *family, uint64_t nbits) {
  nay_params p = sized(family, nbits);
  nay_filter *f = contract_new(&p);
  contract_add(f, RANDOM, 0, 400);
  assert_ok(nay_filter_set_meta(f, "m", 1));
  uint64_t nunits = f->shape.nunits;
  unsigned divisors = 0, equal = 0;
  for (uint64_t factor = 1; factor <= nunits; factor++) {
    nay_filter *folded, *built;
    assert_ok(nay_filter_copy(f, NULL, NULL, &folded));
    if (nunits % factor != 0) {
      if (factor < 100) assert_status(nay_filter_fold(folded, factor, NULL), NAY_EINVAL);
      nay_filter_free(folded);
      continue;
    }
    nay_params small = sized(family, nbits / factor);
    assert_ok(nay_filter_fold(folded, factor, NULL));
    built = contract_new(&small);
    contract_add(built, RANDOM, 0, 400);
    assert_ok(nay_filter_set_meta(built, "m", 1));
    bool counted = stats_of(folded).nstuck == 0 && stats_of(built).nstuck == 0;
    if (counted && folded->shape.extra == built->shape.extra) {
      assert_true(filters_equal(folded, built));
      equal++;
    } else { /* counters that stick, or another capacity for them: the bit plane is what is left */
      assert_int_equal((folded->shape.extra ^ built->shape.extra) & ~family->capacity_mask, 0);
      assert_memory_equal(folded->bits.bytes, built->bits.bytes, (size_t)(nbits / factor / 8));
    }
    nay_filter_free(folded);
    nay_filter_free(built);
    divisors++;
  }
  assert_true(divisors >= 4 && equal >= 4);
  nay_filter_free(f);
}

static void folding_is_building_smaller(void **state) {
  const nay_family *family = *state;
  assert_folds(family, FOLDABLE_BITS);
  nay_plan plan = {.size = sizeof plan};
  nay_params odd = sized(family, 3465); /* 3^2 * 5 * 7 * 11: no byte or word in common */
  if (nay_params_plan(&odd, NULL, &plan) == NAY_OK) assert_folds(family, 3465);
}

static void impossible_folds_change_nothing(void **state) {
  nay_params p = sized(*state, FOLDABLE_BITS);
  nay_filter *f = contract_new(&p);
  contract_add(f, RANDOM, 0, 100);
  bytes before = bytes_of(f);
  const uint64_t factors[] = {0, 7, f->shape.nunits + 1, 2 * f->shape.nunits, UINT64_MAX};
  for (size_t i = 0; i < 5; i++) assert_status(nay_filter_fold(f, factors[i], NULL), NAY_EINVAL);
  assert_ok(nay_filter_fold(f, 1, NULL));
  assert_unchanged(f, &before);
  bytes_free(&before);
  nay_filter_free(f);
}

/* Folding by the factor keeps the rate; the next divisor would not. */
static void the_fold_factor_keeps_the_rate(void **state) {
  const double limits[] = {0.5, 0.1, 0.01, 0.001};
  for (size_t i = 0; i < 4; i++) {
    nay_params p = sized(*state, 512 * 720);
    nay_filter *f = contract_new(&p), *copy;
    contract_add(f, RANDOM, 0, 1000);
    uint64_t factor = 0, next;
    assert_ok(nay_filter_fold_factor(f, limits[i], &factor));
    assert_true(factor > 1 && f->shape.nunits % factor == 0);
    for (next = factor + 1; f->shape.nunits % next != 0;) next++;
    assert_ok(nay_filter_copy(f, NULL, NULL, &copy));
    assert_ok(nay_filter_fold(copy, next, NULL));
    assert_true(stats_of(copy).fpr_now > limits[i]);
    assert_ok(nay_filter_fold(f, factor, NULL));
    assert_true(stats_of(f).fpr_now <= limits[i]);
    assert_all_maybe(f, RANDOM, 0, 1000);
    assert_ok(nay_filter_fold_factor(f, limits[i], &factor)); /* nothing is left to fold */
    assert_int_equal(factor, 1);
    nay_filter_free(f);
    nay_filter_free(copy);
  }
}

/* For every family that folds, however it does: the keys stay, and the rate is kept. */
static void folding_keeps_the_keys(void **state) {
  nay_params p = contract_params(*state, 10000);
  nay_filter *f = contract_new(&p);
  contract_add(f, RANDOM, 0, 1000);
  bytes before = bytes_of(f);
  assert_status(nay_filter_fold(f, 0, NULL), NAY_EINVAL);
  assert_status(nay_filter_fold(f, UINT64_MAX, NULL), NAY_EINVAL);
  assert_unchanged(f, &before);
  uint64_t factor = 0;
  assert_ok(nay_filter_fold_factor(f, 0.02, &factor));
  assert_true(factor > 1);
  assert_ok(nay_filter_fold(f, factor, NULL));
  assert_true(stats_of(f).fpr_now <= 0.02 && nay_filter_encoded_size(f) < before.len);
  assert_all_maybe(f, RANDOM, 0, 1000);
  bytes_free(&before);
  nay_filter_free(f);
}

/* params.fold: the size comes out divisible, and not much larger than without. */
static void the_plan_makes_room_to_fold(void **state) {
  const uint64_t folds[] = {2, 3, 7, 16, 60, 1000};
  for (size_t i = 0; i < 6; i++) {
    for (int by = 0; by < 3; by++) {
      nay_params p = {sizeof p, .kind = ((const nay_family *)*state)->kind, .nkeys = 1000000};
      if (by == 0) p.fpr = 0.01;
      if (by == 1) p.bits_per_key = 12;
      if (by == 2) p.nbytes = 1500000;
      nay_plan bare = {.size = sizeof bare}, plan = {.size = sizeof plan};
      assert_ok(nay_params_plan(&p, NULL, &bare));
      p.fold = folds[i];
      assert_ok(nay_params_plan(&p, NULL, &plan));
      assert_close((double)plan.nbits, (double)bare.nbits, 0.05);
      assert_true(by != 2 || plan.nbytes <= p.nbytes);
      nay_filter *f = contract_new(&p);
      assert_int_equal(f->shape.nunits % folds[i], 0);
      assert_ok(nay_filter_fold(f, folds[i], NULL));
      nay_filter_free(f);
    }
  }
}

int main(void) {
  const contract_test tests[] = {
      CONTRACT(merging_is_adding, NAY_CAN_ADD | NAY_CAN_MERGE),
      CONTRACT_SETS(merging_with_itself_changes_nothing, NAY_CAN_MERGE),
      CONTRACT(merging_takes_mapped_filters, NAY_CAN_MERGE),
      CONTRACT_SETS(merging_across_sizes_folds, NAY_CAN_MERGE | NAY_CAN_FOLD),
      CONTRACT(merging_across_sizes_adds_the_counts,
               NAY_CAN_MERGE | NAY_CAN_COUNT | NAY_CAN_REMOVE | CONTRACT_FOLDS_WHOLE),
      CONTRACT(folding_keeps_the_metadata_of_an_opened_file,
               NAY_CAN_ADD | NAY_CAN_MERGE | CONTRACT_FOLDS_WHOLE),
      CONTRACT_SETS(merging_respects_the_rate, NAY_CAN_MERGE),
      CONTRACT(unlike_filters_do_not_mix, NAY_CAN_MERGE),
      CONTRACT(intersecting_keeps_the_common_keys, NAY_CAN_INTERSECT),
      CONTRACT_SETS(derived_is_for_ever, NAY_CAN_INTERSECT | NAY_CAN_MERGE),
      CONTRACT_SETS(intersecting_needs_equal_sizes, NAY_CAN_INTERSECT),
      CONTRACT(folding_is_building_smaller, NAY_CAN_ADD | CONTRACT_FOLDS_WHOLE),
      CONTRACT(impossible_folds_change_nothing, NAY_CAN_ADD | CONTRACT_FOLDS_WHOLE),
      CONTRACT(the_fold_factor_keeps_the_rate, NAY_CAN_ADD | CONTRACT_FOLDS_WHOLE),
      CONTRACT(folding_keeps_the_keys, NAY_CAN_ADD | NAY_CAN_FOLD),
      CONTRACT(the_plan_makes_room_to_fold, NAY_CAN_ADD | CONTRACT_FOLDS_WHOLE),
  };
  return contract_run_all(tests);
}

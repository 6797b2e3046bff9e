/*
 * test_every_n.c - the false-positive rate (FPR) of every family and shape at every number of keys.
 *
 * A fault of few sizes hides from tests of round ones: a ribbon filter had twice its FPR from 83 to
 * 122 keys. So a filter is built for each shape with code of its own (contract/shapes.h) and each n
 * up to 2,000, and each is compared with what is said of it:
 *
 *   rate           the measured FPR with stats.fpr_now, what the filter says of its bits
 *   plan           stats.fpr_now with plan.fpr, what was said before it was built
 *   fingerprints   of absent keys, with what their slots add up to. The difference has full rank
 *                  over GF(2): no column is a sum of others. And any 8 bits of it are all zero once
 *                  in 256: that shows of 32 columns what no rate of 2^-32 can show.
 *   crowded        Bloom families below 2^-16: with so many keys more that the FPR can be measured
 *
 * Bounds and the chance of a false alarm: windows.h, differences.h.
 *
 * Not seen here: rates of scalable and window filters below 2^-16, whose levels and units are those
 * of blocked filters.
 */
#include "contract/shapes.h"
#include "filter.h"
#include "nay_explain.h"
#include "stats/differences.h"
#include "stats/rates.h"

#define MEASURABLE (1.0 / 65536)

/* ---- fingerprints ---- */

/* Where the fingerprint of an absent key differs from what its slots add up to. */
typedef struct difference {
  uint64_t bits;
  unsigned nbits;
  bool is_one; /* the family has fingerprints, even if the slots are empty */
} difference;

static nay_status difference_step(void *ctx, const nay_explain_step *step) {
  difference *d = ctx;
  uint64_t bits = step->found ^ step->expected;
  d->is_one |= step->kind == NAY_STEP_FINGERPRINT;
  if (step->kind == NAY_STEP_COLUMN) {
    d->bits |= bits << d->nbits++;
  } else if (step->kind == NAY_STEP_XOR ||
             (step->kind == NAY_STEP_FINGERPRINT && step->found != 0)) {
    d->bits = bits;
    d->nbits = step->nbits;
  }
  d->is_one |= d->nbits != 0;
  return NAY_OK;
}

/* Explains absent keys until enough have a fingerprint; false: the family has none. */
static bool compare_fingerprints(const nay_filter *f, const char *name, unsigned n, uint64_t first,
                                 unsigned ndifferences, differences *all) {
  bool any = false;
  for (unsigned i = 0; i < 4 * ndifferences && all->n < ndifferences; i++) {
    difference d = {0, 0, false};
    nay_explanation why = {.size = sizeof why};
    nay_hash hash = {nay_hash_mix(ABSENT + first + i), 0};
    assert_ok(nay__filter_explain_hash(f, hash, difference_step, &d, &why));
    any |= d.is_one;
    if (!any) return false;
    if (d.nbits != 0) differences_add(all, n, d.bits, d.nbits);
  }
  differences_close(all, name, n);
  return true;
}

/* ---- one shape ---- */

typedef struct shape_sums {
  window_counts rate, crowded;
  window_errors plan;
  differences fingerprints;
  unsigned nfilters;
} shape_sums;

/* A window by ticks, with the keys of its plan in every generation. */
static nay_filter *every_generation(const nay_params *p, uint64_t first, unsigned n) {
  nay_filter *f = contract_new(p);
  uint64_t each = nay__ceil_div(n, p->generations),
           ticks = nay__ceil_div(p->window, p->generations);
  for (unsigned g = 0; g <= p->generations; g++) {
    assert_ok(nay_filter_advance(f, ticks * (1000 + g)));
    for (uint64_t i = 0; i < each; i++) {
      nay_hash hash = {nay_hash_mix(first + g * each + i), 0};
      assert_ok(nay_filter_add_hash(f, hash, NULL));
    }
  }
  return f;
}

static void compare_rate(const nay_filter *f, unsigned n, uint64_t first, window_counts *counts) {
  counts->hits[n] = (double)maybes(f, first, NPROBES);
  counts->expected[n] = stats_of(f).fpr_now * NPROBES;
}

/* Bloom families with an FPR that is too low: the same array, and keys until it is 2^-8. */
static void compare_crowded(const nay_params *p, unsigned n, uint64_t first, shape_sums *sums) {
  nay_filter *f = contract_new(p);
  for (uint64_t i = 0, most = n; stats_of(f).fpr_now < 1.0 / 256; most += most / 4 + 1) {
    for (; i < most; i++) {
      nay_hash hash = {nay_hash_mix(first + i), 0};
      assert_ok(nay_filter_add_hash(f, hash, NULL));
    }
    assert_true(most < 1 << 18);
  }
  compare_rate(f, n, first + (1 << 18), &sums->crowded);
  nay_filter_free(f);
}

/* Bits for few keys may be less than a block with its counters, or a unit, or too few to count all
 * probes: the least that is not. */
static nay_plan plan_with_room(nay_params *p) {
  nay_plan plan = {.size = sizeof plan};
  if (nay_params_plan(p, NULL, &plan) == NAY_OK) return plan;
  assert_true(p->bits_per_key != 0);
  p->bits_per_key = 0;
  for (p->nbytes = 64; p->nbytes < 16384; p->nbytes += 64) {
    if (nay_params_plan(p, NULL, &plan) == NAY_OK) break;
  }
  return plan_of(p);
}

static void compare_cell(const shape_case *shape, unsigned n, uint64_t first, shape_sums *sums) {
  nay_params p = shape->params;
  p.hash = NAY_HASH_CALLER;
  nay_plan plan = plan_with_room(&p);
  bool by_ticks = p.window != 0;
  nay_filter *f = by_ticks ? every_generation(&p, first, n) : hashed_filter(&p, first, n);
  nay_stats stats = stats_of(f);
  sums->nfilters++;
  /* scalable: of all levels to come */
  double planned = (f->family->traits & NAY_CAN_GROW) != 0 ? stats.fpr_planned : plan.fpr;
  if (planned >= MEASURABLE) errors_add(&sums->plan, n, stats.fpr_now, planned);
  if (stats.fpr_now >= MEASURABLE) compare_rate(f, n, first, &sums->rate);
  bool has =
      compare_fingerprints(f, shape->name, n, first + (1 << 19), NDIFFERENCES, &sums->fingerprints);
  unsigned changing = NAY_CAN_GROW | NAY_CAN_EXPIRE;
  if (!has && stats.fpr_now < MEASURABLE && (f->family->traits & NAY_CAN_ADD) != 0 &&
      (f->family->traits & changing) == 0) {
    compare_crowded(&p, n, first, sums);
  }
  nay_filter_free(f);
}

/* A plan is what is expected, but where keys go on coming: then it is what is not exceeded. */
static bool plan_is_a_limit(const shape_case *shape, const nay_family *family) {
  return (family->traits & NAY_CAN_GROW) != 0 || shape->params.max_nkeys != 0 ||
         ((family->traits & NAY_CAN_EXPIRE) != 0 && shape->params.window == 0);
}

static void assert_shape(const shape_case *shape, const nay_family *family, shape_sums *sums) {
  assert_within(counts_worst(&sums->rate), "rate", shape->name);
  assert_within(counts_worst(&sums->crowded), "rate with more keys", shape->name);
  assert_within(errors_worst(&sums->plan, plan_is_a_limit(shape, family)), "fpr_now", shape->name);
  assert_subsets(&sums->fingerprints, shape->name);
}

static void every_n_is_as_planned(void **state) {
  const nay_family *family = *state;
  static shape_list list;
  shape_sums *sums[512] = {NULL};
  for (unsigned n = 1; n <= MOST_N; n = next_n(n)) {
    list.n = 0;
    shapes_of_all(&list, n, n);
    for (size_t i = 0; i < list.n; i++) {
      if (list.at[i].params.kind != family->kind) continue;
      if (sums[i] == NULL) assert_non_null(sums[i] = calloc(1, sizeof *sums[i]));
      compare_cell(&list.at[i], n, cell_of(i, n), sums[i]);
    }
  }
  unsigned nshapes = 0, nfilters = 0;
  for (size_t i = 0; i < list.n; i++) {
    if (sums[i] == NULL) continue;
    nshapes++;
    nfilters += sums[i]->nfilters;
    assert_shape(&list.at[i], family, sums[i]);
    free(sums[i]);
  }
  tell("%s: %u shapes, %u filters\n", family->name, nshapes, nfilters);
  assert_true(nshapes != 0);
}

/* ---- many keys ---- */

/* Several layers and parts of a ribbon; the largest shard of xor and fuse, and two. */
static void many_keys_have_free_fingerprints(void **state) {
  const nay_family *family = *state;
  shape_list *list = calloc(1, sizeof *list);
  differences *all = calloc(1, sizeof *all);
  assert_true(list != NULL && all != NULL);
  static const unsigned width[] = {32};
  shapes_of_ribbon(list, SHAPE_RIBBONS);
  shapes_of_ribbon(list, SHAPE_PARTS);
#ifdef EVERY_N_LONG
  shapes_of_fuse(list, SHAPE_SHARDS - 2, width, 1);
  shapes_of_fuse(list, SHAPE_SHARDS, width, 1);
#else
  shapes_of_fuse(list, SHAPE_MEDIUM / 7, width, 1);
#endif
  for (size_t i = 0; i < list->n; i++) {
    nay_params p = list->at[i].params;
    if (p.kind != family->kind || p.fpr > 1.1 * shape_fpr(32)) continue;
    p.hash = NAY_HASH_CALLER;
    nay_filter *f = hashed_filter(&p, (uint64_t)1 << 44, list->at[i].nkeys);
    unsigned n = 1u << (MAX_EXCESS > 30 ? 18 : 15);
    assert_true(compare_fingerprints(f, list->at[i].name, 0, (uint64_t)1 << 44, n, all));
    assert_subsets(all, list->at[i].name);
    memset(all, 0, sizeof *all);
    nay_filter_free(f);
  }
  free(all);
  free(list);
}

int main(void) {
  static test_case tests[64];
  static char names[64][64];
  const nay_family *family;
  size_t n = 0;
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++, n++) {
    snprintf(names[n], sizeof names[n], "%s: every_n_is_as_planned", family->name);
    tests[n] = (test_case)TEST_WITH(names[n], every_n_is_as_planned, family);
  }
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++) {
    if ((family->traits & NAY_CAN_ADD) != 0) continue;
    snprintf(names[n], sizeof names[n], "%s: many_keys_have_free_fingerprints", family->name);
    tests[n] = (test_case)TEST_WITH(names[n], many_keys_have_free_fingerprints, family);
    n++;
  }
  return run_list("test_every_n.c", tests, n);
}

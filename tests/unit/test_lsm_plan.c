/*
 * test_lsm_plan.c - plans of LSM trees: the shape of the tree; properties of both allocations over
 * a grid of families, trees and budgets; Monkey's against an exhaustive search and against the
 * closed form for ideal Bloom filters; absurd input; failing allocations. That real filters waste
 * as many reads as planned is in stats/test_lsm_plan_reads.c.
 */
#include <math.h>

#include "nay_sst_plan.h"
#include "support/flaky.h"
#include "support/test.h"

#define MOST_LEVELS 64

typedef struct tree {
  nay_sst_plan *plan;
  size_t n;
  nay_sst_level level[2][MOST_LEVELS];
  nay_sst_plan_info sums[2];
} tree;

static tree tree_of(nay_sst_plan_params p) {
  tree t = {.n = 0};
  nay_diag diag = {.what = NULL};
  p.size = sizeof p;
  nay_status status = nay_sst_plan_new(&p, NULL, &diag, &t.plan);
  if (status != NAY_OK) fail_msg("%s", diag.what);
  for (int a = 0; a < 2; a++) {
    nay_sst_level level = {.size = sizeof level};
    t.sums[a] = (nay_sst_plan_info){.size = sizeof t.sums[a]};
    for (t.n = 0; nay_sst_plan_level(t.plan, (nay_sst_plan_allocation)a, t.n, &level) == NAY_OK;
         t.n++) {
      assert_true(t.n < MOST_LEVELS);
      t.level[a][t.n] = level;
    }
    assert_ok(nay_sst_plan_stats(t.plan, (nay_sst_plan_allocation)a, &t.sums[a]));
    assert_int_equal(t.sums[a].nlevels, t.n);
  }
  nay_sst_plan_free(t.plan);
  return t;
}

/* ---- the tree ---- */

static void assert_shape(const tree *t, size_t i, uint32_t number, uint64_t nkeys, uint64_t nruns) {
  assert_int_equal(t->level[0][i].level, number);
  assert_int_equal(t->level[0][i].nkeys, nkeys);
  assert_int_equal(t->level[0][i].nruns, nruns);
}

static void shapes(void **state) {
  (void)state;
  tree t = tree_of((nay_sst_plan_params){
      .nkeys = 1110000, .ratio = 10, .nkeys_memtable = 1000, .bits_per_key = 10});
  assert_int_equal(t.n, 3); /* three full levels */
  for (size_t i = 0; i < 3; i++) {
    assert_shape(&t, i, (uint32_t)i + 1, i == 0 ? 10000 : i == 1 ? 100000 : 1000000, 1);
  }
  t = tree_of((nay_sst_plan_params){
      .nkeys = 1110001, .ratio = 10, .nkeys_memtable = 1000, .bits_per_key = 10});
  assert_int_equal(t.n, 4); /* one key more needs a level more */
  t = tree_of((nay_sst_plan_params){.nkeys = 1114000,
                                    .ratio = 10,
                                    .nkeys_memtable = 1000,
                                    .nruns_level0 = 4,
                                    .bits_per_key = 10});
  assert_int_equal(t.n, 4);
  assert_shape(&t, 0, 0, 4000, 4);
  assert_shape(&t, 1, 1, 10000, 1);
  t = tree_of((nay_sst_plan_params){
      .nkeys = 2500, .ratio = 10, .nkeys_memtable = 1000, .nruns_level0 = 4, .bits_per_key = 10});
  assert_int_equal(t.n, 1); /* level 0 has them all */
  assert_shape(&t, 0, 0, 2500, 3);
}

static void tiered_shapes(void **state) {
  (void)state;
  nay_sst_plan_params p = {.nkeys = 999000,
                           .ratio = 10,
                           .nkeys_memtable = 1000,
                           .bits_per_key = 10,
                           .merging = NAY_SST_PLAN_TIERED};
  tree t = tree_of(p);
  assert_int_equal(t.n, 3);
  for (size_t i = 0; i < 3; i++) {
    assert_shape(&t, i, (uint32_t)i + 1, i == 0 ? 9000 : i == 1 ? 90000 : 900000, 9);
  }
  assert_int_equal(t.level[0][2].nkeys_filter, 100000);
  p.merging = NAY_SST_PLAN_LAZY_LEVELED;
  t = tree_of(p);
  assert_shape(&t, 1, 2, 90000, 9);
  assert_shape(&t, 2, 3, 900000, 1);
  p.nkeys = 500; /* one flush */
  t = tree_of(p);
  assert_int_equal(t.n, 1);
  assert_shape(&t, 0, 1, 500, 1);
  p = (nay_sst_plan_params){
      .nkeys = 12345678, .ratio = 2, .nkeys_memtable = 1000, .bits_per_key = 10};
  tree leveled = tree_of(p);
  p.merging = NAY_SST_PLAN_TIERED; /* with a ratio of 2 a level has one run */
  t = tree_of(p);
  for (size_t i = 0; i < t.n; i++) assert_int_equal(t.level[0][i].nruns, 1);
  assert_in_range(t.n - leveled.n, 0, 1);
}

static void tables_share_runs(void **state) {
  (void)state;
  tree t = tree_of((nay_sst_plan_params){.nkeys = 1110000,
                                         .ratio = 10,
                                         .nkeys_memtable = 1000,
                                         .nkeys_table = 3000,
                                         .bits_per_key = 10});
  assert_int_equal(t.level[0][0].nfilters, 4);
  assert_int_equal(t.level[0][0].nkeys_filter, 2500);
  assert_int_equal(t.level[0][2].nfilters, 334);
  assert_true(fabs(t.level[0][2].absent_reads - t.level[0][2].fpr) <
              1e-15); /* a lookup probes one table of the run */
}

static void families_by_level(void **state) {
  (void)state;
  nay_sst_plan_params p = {.nkeys = 10000000,
                           .ratio = 10,
                           .nkeys_memtable = 100000,
                           .nruns_level0 = 4,
                           .bits_per_key = 12};
  tree t = tree_of(p);
  for (size_t i = 0; i < t.n; i++) {
    assert_int_equal(t.level[1][i].kind, i == 0 ? NAY_BLOCKED : NAY_RIBBON);
    assert_non_null(strstr(t.level[1][i].why, i == 0 ? "flushes" : "compactions"));
  }
  p.nruns_level0 = 0;
  p.merging = NAY_SST_PLAN_TIERED;
  t = tree_of(p);
  assert_int_equal(t.level[1][0].kind, NAY_BLOCKED);
  assert_int_equal(t.level[1][t.n - 1].kind, NAY_RIBBON);
  p.kind = NAY_FUSE;
  t = tree_of(p);
  for (size_t i = 0; i < t.n; i++) {
    assert_int_equal(t.level[1][i].kind, NAY_FUSE);
    assert_string_equal(t.level[1][i].why, "the requested family");
  }
}

/* ---- properties ---- */

/* nay_params_plan gives each filter of the plan again from its bytes. */
static void assert_reproduced(const nay_sst_level *l) {
  nay_plan plan = {.size = sizeof plan};
  nay_params p = {sizeof p, .kind = l->kind, .nkeys = l->nkeys_filter, .nbytes = l->nbytes_filter};
  if (l->nbytes_filter == 0) {
    assert_int_equal(l->kind, NAY_AUTO);
    assert_int_equal(l->nfilters, 0);
    assert_true(l->fpr == 1);
    return;
  }
  assert_ok(nay_params_plan(&p, NULL, &plan));
  assert_true(plan.nbytes <= l->nbytes_filter);
  assert_int_equal(l->nbytes, l->nfilters * plan.nbytes);
  assert_true(plan.fpr == l->fpr);
}

static void assert_sums(const tree *t, int a, uint64_t nkeys) {
  const nay_sst_plan_info *s = &t->sums[a];
  uint64_t keys = 0, runs = 0, filters = 0, bytes = 0;
  double reads = 0, waste = 0;
  for (size_t i = 0; i < t->n; i++) {
    const nay_sst_level *l = &t->level[a][i];
    assert_reproduced(l);
    assert_true(l->nkeys > 0 && l->nruns > 0 && l->nkeys >= l->nruns);
    assert_true(l->fpr > 0 && l->fpr <= 1);
    assert_true(l->absent_reads == (double)l->nruns * l->fpr);
    assert_non_null(l->why);
    for (uint64_t run = 0; run < l->nruns && l->nruns < 100; run++) {
      waste += (double)l->nkeys / (double)l->nruns * (reads + (double)run * l->fpr);
    }
    keys += l->nkeys, runs += l->nruns, filters += l->nfilters, bytes += l->nbytes;
    reads += l->absent_reads;
  }
  assert_int_equal(keys, nkeys);
  assert_int_equal(s->nkeys, nkeys);
  assert_int_equal(s->nruns, runs);
  assert_int_equal(s->nfilters, filters);
  assert_int_equal(s->nbytes, bytes);
  assert_true(fabs(s->absent_reads - reads) <= 1e-12 * reads);
  assert_true(fabs(s->bits_per_key - (double)bytes * 8 / (double)nkeys) < 1e-9);
  if (runs < 100) assert_true(fabs(s->present_waste - waste / (double)nkeys) <= 1e-9 * reads);
}

static void assert_properties(nay_sst_plan_params p) {
  tree t = tree_of(p);
  for (int a = 0; a < 2; a++) {
    assert_sums(&t, a, p.nkeys);
    assert_true(t.sums[a].nbytes <= t.sums[a].nbytes_budget);
    if (p.nbytes != 0) assert_int_equal(t.sums[a].nbytes_budget, p.nbytes);
  }
  double uniform = t.sums[0].absent_reads, monkey = t.sums[1].absent_reads;
  if (!(monkey <= uniform) || !(uniform <= (double)t.sums[0].nruns)) {
    fail_msg("kind %d, %llu keys, ratio %llu: %g after %g", (int)p.kind,
             (unsigned long long)p.nkeys, (unsigned long long)p.ratio, monkey, uniform);
  }
}

static const nay_kind kinds[] = {NAY_AUTO,     NAY_BLOOM,  NAY_BLOCKED, NAY_XOR,
                                 NAY_COUNTING, NAY_CUCKOO, NAY_FUSE,    NAY_RIBBON};
#define NKINDS (sizeof kinds / sizeof kinds[0])

/* Tries every value of every dimension with random values of the others, from a fixed seed. */
static void properties(void **state) {
  static const uint64_t nkeys[] = {1, 2, 777, 54321, 3000000, 1000000000, (uint64_t)1 << 56};
  static const uint64_t ratios[] = {2, 3, 10, 64, 1000000};
  static const uint64_t memtables[] = {0, 1, 1000, 65536, (uint64_t)1 << 40};
  static const uint64_t tables[] = {0, 0, 1, 4000, 1000000};
  static const double budgets[] = {0.001, 0.1, 0.7, 1.5, 4.6, 10, 17, 40, 64, 1000};
  (void)state;
  uint64_t dice = 1;
#define PICK(list) (list)[(dice = nay_hash_mix(dice)) % (sizeof(list) / sizeof(list)[0])]
  for (unsigned i = 0; i < 160; i += TEST_EVERY(7)) { /* 7: every family, every merging */
    double bits = PICK(budgets);
    nay_sst_plan_params p = {.kind = kinds[i % NKINDS]};
    p.nkeys = PICK(nkeys);
    p.ratio = PICK(ratios);
    p.nkeys_memtable = PICK(memtables);
    p.nkeys_table =
        p.nkeys >> 32 != 0 ? 1000000 : PICK(tables); /* some families end at 2^38 keys */
    p.merging = (nay_sst_plan_merging)(i / NKINDS % 3);
    if (p.merging == NAY_SST_PLAN_LEVELED) p.nruns_level0 = (uint32_t)(dice >> 32) % 5;
    if (bits <= 64 && (dice >> 40) % 2 != 0) {
      p.bits_per_key = bits;
    } else {
      p.nbytes = (uint64_t)((double)p.nkeys * bits / 8) + 1;
    }
    assert_properties(p);
  }
}

static void uniform_fpr_is_the_one_asked_for(void **state) {
  static const double fprs[] = {0.3, 0.01, 0.0001};
  (void)state;
  for (size_t k = 0; k < NKINDS; k++) {
    for (size_t i = 0; i < sizeof fprs / sizeof fprs[0]; i++) {
      nay_sst_plan_params p = {.nkeys = 5000000, .ratio = 10, .kind = kinds[k], .fpr = fprs[i]};
      p.nkeys_memtable = 10000;
      assert_properties(p);
      tree t = tree_of(p);
      for (size_t l = 0; l < t.n; l++) {
        assert_true(t.level[0][l].fpr <= fprs[i]);
      }
    }
  }
}

/* ---- the optimum ---- */

static double filter_of(const nay_sst_level *l, nay_kind kind, uint64_t nbytes, uint64_t *got) {
  nay_params p = {sizeof p, .kind = kind, .nkeys = l->nkeys_filter, .nbytes = nbytes};
  nay_plan plan = {.size = sizeof plan};
  *got = 0;
  if (nbytes == 0 || nay_params_plan(&p, NULL, &plan) != NAY_OK || !(plan.fpr < 1)) return 1;
  *got = plan.nbytes;
  return plan.fpr;
}

/* Returns the fewest reads of levels [i, n) with `left` bytes, by exhaustive search over filter
 * sizes; the last level gets the rest. */
#define STEPS 72u /* steps of 1/3 bit per key, up to 24 bits */
static double exhaustive(const tree *t, nay_kind kind, size_t i, uint64_t left) {
  const nay_sst_level *l = &t->level[0][i];
  uint64_t got, each = (l->nkeys + l->nruns - 1) / l->nruns;
  uint64_t filters = l->nruns * ((each + l->nkeys_filter - 1) / l->nkeys_filter);
  if (i + 1 == t->n) return (double)l->nruns * filter_of(l, kind, left / filters, &got);
  double best = HUGE_VAL;
  for (unsigned step = 0; step <= STEPS; step++) {
    double fpr = filter_of(l, kind, l->nkeys_filter * step / 24, &got);
    if (got * filters > left) break;
    if (step > 0 && got == 0) continue;
    double all = (double)l->nruns * fpr + exhaustive(t, kind, i + 1, left - got * filters);
    if (all < best) best = all;
  }
  return best;
}

static void assert_optimal(nay_sst_plan_params p) {
  tree t = tree_of(p);
  assert_int_equal(t.n, 3);
  double best = exhaustive(&t, p.kind, 0, p.nbytes);
  if (t.sums[1].absent_reads > best * 1.01) {
    fail_msg("%s, %g bits, merging %d, tables of %u keys: %g reads, the search finds %g",
             nay_kind_name(p.kind), (double)p.nbytes * 8 / (double)p.nkeys, (int)p.merging,
             (unsigned)p.nkeys_table, t.sums[1].absent_reads, best);
  }
}

static void no_search_finds_better(void **state) {
  static const double bits[] = {0.3, 1.1, 3, 5, 8.6};
  (void)state;
  for (size_t k = 1; k < NKINDS; k++) {
    for (size_t b = k % TEST_EVERY(4); b < sizeof bits / sizeof bits[0]; b += TEST_EVERY(4)) {
      nay_sst_plan_params p = {
          .nkeys = 300000, .ratio = 4, .nkeys_memtable = 5000, .kind = kinds[k]};
      p.nbytes = (uint64_t)((double)p.nkeys * bits[b] / 8);
      assert_optimal(p);
      p.merging = NAY_SST_PLAN_TIERED;
      assert_optimal(p);
      p.merging = NAY_SST_PLAN_LAZY_LEVELED;
      p.nkeys_table = 2000; /* a lookup probes one table of a run, but all need memory */
      assert_optimal(p);
    }
  }
}

/*
 * Monkey's closed form, for filters whose FPR falls by a constant factor with each bit: the FPR of
 * a level is proportional to the keys of a run, so a level with half the keys per run gets
 * `per_half` bits more for each key. Real filters of these sizes are never better than the plan.
 */
static void assert_closed_form(nay_sst_plan_params p, double per_half) {
  tree t = tree_of(p);
  const nay_sst_level *levels = t.level[0], *last = &levels[t.n - 1];
  double more = 0, reads = 0;
  for (size_t i = 0; i < t.n; i++) {
    more += (double)levels[i].nkeys * per_half *
            log2((double)last->nkeys_filter / (double)levels[i].nkeys_filter);
  }
  double bits =
      ((double)p.nbytes * 8 - more) / (double)p.nkeys; /* bits per key of the last level */
  for (size_t i = 0; i < t.n; i++) {
    uint64_t got;
    double n = (double)levels[i].nkeys_filter;
    double here = bits + per_half * log2((double)last->nkeys_filter / n);
    reads +=
        (double)levels[i].nruns * filter_of(&levels[i], p.kind, (uint64_t)(n * here / 8), &got);
  }
  assert_true(t.sums[1].absent_reads <= reads * 1.0001);
  assert_true(t.sums[1].absent_reads > reads * 0.95);
  assert_true(t.sums[1].absent_reads < t.sums[0].absent_reads * 0.6);
}

static void as_the_closed_form(void **state) {
  (void)state;
  for (int merging = 0; merging < 3; merging++) {
    nay_sst_plan_params p = {.nkeys = 1000000000,
                             .ratio = 10,
                             .nbytes = 1250000000,
                             .merging = (nay_sst_plan_merging)merging};
    p.kind = NAY_BLOOM;
    assert_closed_form(p, 1 / log(2));
    p.kind = NAY_RIBBON;
    assert_closed_form(p, 1);
  }
}

/* With less and less memory the last level loses its filter first. */
static void scarce_memory_leaves_the_last_level_bare(void **state) {
  (void)state;
  size_t bare_before = 0;
  for (double bits = 8; bits > 0.0005; bits /= 2) {
    nay_sst_plan_params p = {
        .nkeys = 1000000000, .ratio = 10, .kind = NAY_BLOOM, .bits_per_key = bits};
    tree t = tree_of(p);
    size_t bare = 0;
    while (bare < t.n && t.level[1][t.n - 1 - bare].nbytes == 0) bare++;
    for (size_t i = 0; i + bare < t.n; i++) assert_true(t.level[1][i].nbytes != 0);
    assert_true(bare >= bare_before);
    if (bare > 0 && bare < t.n) {
      assert_non_null(strstr(t.level[1][t.n - 1].why, "other levels"));
    }
    bare_before = bare;
  }
  assert_int_equal(bare_before, 2);
}

static void more_memory_than_is_of_use(void **state) {
  (void)state;
  nay_sst_plan_params p = {.nkeys = 1000000, .ratio = 10, .nbytes = UINT64_MAX};
  tree t = tree_of(p);
  for (int a = 0; a < 2; a++) {
    assert_true(t.sums[a].nbytes <= 8 * p.nkeys);
    assert_true(t.sums[a].absent_reads < 1e-9);
  }
  p.nbytes = 1; /* less than any filter needs */
  t = tree_of(p);
  assert_true(t.sums[1].absent_reads > 0.99);
  assert_non_null(strstr(t.level[0][0].why, "below the smallest"));
}

/* ---- bad input ---- */

static void absurd_input_is_named(void **state) {
  (void)state;
  const struct {
    nay_sst_plan_params p;
    const char *names;
  } rows[] = {
      {{.ratio = 10, .nbytes = 1}, "nkeys is 0"},
      {{.nkeys = ((uint64_t)1 << 56) + 1, .ratio = 10, .nbytes = 1}, "nkeys is above"},
      {{.nkeys = (uint64_t)1 << 60, .ratio = 10, .nbytes = 1}, "nkeys is above"},
      {{.nkeys = 1, .nbytes = 1}, "ratio is below 2"},
      {{.nkeys = 1, .ratio = 1, .nbytes = 1}, "ratio is below 2"},
      {{.nkeys = 1, .ratio = 1000000000, .nbytes = 1}, "ratio is above"},
      {{.nkeys = 1, .ratio = 10}, "no budget"},
      {{.nkeys = 1, .ratio = 10, .nbytes = 1, .fpr = 0.1}, "more than one budget"},
      {{.nkeys = 1, .ratio = 10, .bits_per_key = NAN}, "bits_per_key"},
      {{.nkeys = 1, .ratio = 10, .bits_per_key = -1}, "bits_per_key"},
      {{.nkeys = 1, .ratio = 10, .bits_per_key = 64.1}, "bits_per_key"},
      {{.nkeys = 1, .ratio = 10, .bits_per_key = HUGE_VAL}, "bits_per_key"},
      {{.nkeys = 1, .ratio = 10, .fpr = NAN}, "fpr"},
      {{.nkeys = 1, .ratio = 10, .fpr = 1}, "fpr"},
      {{.nkeys = 1, .ratio = 10, .fpr = -0.5}, "fpr"},
      {{.nkeys = 1000, .ratio = 10, .fpr = 1e-300, .kind = NAY_FUSE}, "fpr"},
      {{.nkeys = 1, .ratio = 10, .nbytes = 1, .nkeys_memtable = UINT64_MAX}, "nkeys_memtable"},
      {{.nkeys = 1, .ratio = 10, .nbytes = 1, .nkeys_table = UINT64_MAX}, "nkeys_table"},
      {{.nkeys = 1, .ratio = 10, .nbytes = 1, .nruns_level0 = 10001}, "nruns_level0 is above"},
      {{.nkeys = 1, .ratio = 10, .nbytes = 1, .nruns_level0 = 4, .merging = NAY_SST_PLAN_TIERED},
       "nruns_level0 is for leveled"},
      {{.nkeys = 1, .ratio = 10, .nbytes = 1, .merging = (nay_sst_plan_merging)3}, "merging"},
      {{.nkeys = 1, .ratio = 10, .nbytes = 1, .kind = NAY_WINDOW}, "kind"},
      {{.nkeys = 1, .ratio = 10, .nbytes = 1, .kind = NAY_SCALABLE}, "kind"},
      {{.nkeys = 1, .ratio = 10, .nbytes = 1, .kind = (nay_kind)30}, "kind"},
      {{.nkeys = 1, .ratio = 10, .nbytes = 1, .reserved = 1}, "reserved"},
      {{.nkeys = (uint64_t)1 << 56, .ratio = 10, .bits_per_key = 10}, "nkeys_table"},
      {{.nkeys = (uint64_t)1 << 56,
        .ratio = 10,
        .nkeys_table = 1,
        .kind = NAY_COUNTING,
        .fpr = 1e-9},
       "fpr: all filters together"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    nay_sst_plan_params p = rows[i].p;
    nay_diag diag = {.what = NULL};
    nay_sst_plan *plan = NULL;
    p.size = sizeof p;
    assert_status(nay_sst_plan_new(&p, NULL, &diag, &plan), NAY_EINVAL);
    assert_null(plan);
    if (strstr(diag.what, rows[i].names) == NULL) fail_msg("row %zu: %s", i, diag.what);
  }
}

static void arguments_are_checked(void **state) {
  (void)state;
  nay_sst_plan_params p = {sizeof p, .nkeys = 1000, .ratio = 10, .bits_per_key = 10};
  nay_sst_plan *plan;
  nay_sst_level level = {.size = sizeof level};
  nay_sst_plan_info sums = {.size = sizeof sums};
  assert_status(nay_sst_plan_new(NULL, NULL, NULL, &plan), NAY_EINVAL);
  assert_status(nay_sst_plan_new(&p, NULL, NULL, NULL), NAY_EINVAL);
  assert_ok(nay_sst_plan_new(&p, NULL, NULL, &plan));
  assert_status(nay_sst_plan_level(plan, NAY_SST_PLAN_MONKEY, 1, &level), NAY_EEND);
  assert_status(nay_sst_plan_level(plan, (nay_sst_plan_allocation)2, 0, &level), NAY_EINVAL);
  assert_status(nay_sst_plan_level(NULL, NAY_SST_PLAN_MONKEY, 0, &level), NAY_EINVAL);
  assert_status(nay_sst_plan_level(plan, NAY_SST_PLAN_MONKEY, 0, NULL), NAY_EINVAL);
  assert_status(nay_sst_plan_stats(plan, (nay_sst_plan_allocation)2, &sums), NAY_EINVAL);
  assert_status(nay_sst_plan_stats(NULL, NAY_SST_PLAN_MONKEY, &sums), NAY_EINVAL);
  nay_sst_plan_free(plan);
  nay_sst_plan_free(NULL);
}

static double monkey_reads(const nay_sst_plan_params *p) {
  nay_sst_plan *plan;
  nay_sst_plan_info sums = {.size = sizeof sums};
  assert_ok(nay_sst_plan_new(p, NULL, NULL, &plan));
  assert_ok(nay_sst_plan_stats(plan, NAY_SST_PLAN_MONKEY, &sums));
  nay_sst_plan_free(plan);
  return sums.absent_reads;
}

/* A plan for fewer bytes also fits a larger budget, so the larger budget may cost at most 1% more
 * reads. The budgets hold only a few filters, so most of what is left over fits no filter. */
static void more_memory_costs_no_reads(void **state) {
  (void)state;
  const nay_kind some[] = {NAY_FUSE, NAY_RIBBON, NAY_BLOCKED};
  for (size_t k = 0; k < sizeof some / sizeof some[0]; k++) {
    for (unsigned tiered = 0; tiered < 2; tiered++) {
      nay_sst_plan_params p = {sizeof p, .nkeys = 877277, .ratio = 12, .nkeys_memtable = 1};
      p.kind = some[k];
      p.merging = tiered ? NAY_SST_PLAN_TIERED : NAY_SST_PLAN_LEVELED;
      double least = 1e9;
      for (uint64_t nbytes = 500; nbytes < 6000; nbytes += 431 * TEST_EVERY(4)) {
        p.nbytes = nbytes;
        double reads = monkey_reads(&p);
        assert_true(reads <= 1.01 * least);
        if (reads < least) least = reads;
      }
    }
  }
}

static void allocations_may_fail(void **state) {
  (void)state;
  nay_sst_plan_params p = {sizeof p, .nkeys = 1000000, .ratio = 10, .bits_per_key = 10};
  for (long call = 0;; call++) {
    flaky heap = {.fail_at = call};
    nay_allocator allocator = flaky_allocator(&heap);
    nay_sst_plan *plan = NULL;
    nay_diag diag = {.what = NULL};
    nay_status status = nay_sst_plan_new(&p, &allocator, &diag, &plan);
    if (status == NAY_OK) {
      assert_int_equal(call, 3);
      nay_sst_plan_free(plan);
      assert_true(flaky_is_clean(&heap));
      return;
    }
    assert_status(status, NAY_ENOMEM);
    assert_null(plan);
    assert_non_null(diag.what);
    assert_true(flaky_is_clean(&heap));
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(shapes),
      TEST(tiered_shapes),
      TEST(tables_share_runs),
      TEST(families_by_level),
      TEST(properties),
      TEST(uniform_fpr_is_the_one_asked_for),
      TEST(no_search_finds_better),
      TEST(as_the_closed_form),
      TEST(scarce_memory_leaves_the_last_level_bare),
      TEST(more_memory_than_is_of_use),
      TEST(absurd_input_is_named),
      TEST(arguments_are_checked),
      TEST(more_memory_costs_no_reads),
      TEST(allocations_may_fail),
  };
  return run_all(tests);
}

/*
 * test_lsm_plan_reads.c - an LSM tree with real filters wastes as many reads as its plan says.
 *
 * For each merging, allocation, family and budget: every filter of the plan is built, from the keys
 * of its table, with the bytes that the plan gives it. Then absent keys are looked up in all runs,
 * as many as give 20,000 expected false reads, and all present keys in the order of the runs until
 * they are found. The reads that the filters did not save are within 5% of the plan; the bytes are
 * those of the plan; no present key is denied.
 *
 * Chance of a false alarm: 20,000 false reads have a standard deviation of 0.7% where they are
 * independent; the FPR of the smallest filters, of some 2,000 keys, varies by a few percent itself,
 * but there are several. 5% is some five standard deviations. The counters of the keys are fixed,
 * so every run sees the same numbers.
 */
#include "nay_sst_plan.h"
#include "rates.h"

#define EXPECTED 20000.0
#define MOST_FILTERS 4096

typedef struct tree_case {
  nay_sst_plan_merging merging;
  nay_kind kind;
  double bits_per_key;
  uint64_t nkeys_table;
  uint32_t nruns_level0;
} tree_case;

/* A table: the keys with numbers [first, first + nkeys). */
typedef struct table {
  nay_filter *filter; /* NULL: no filter */
  uint64_t first, nkeys;
  size_t run;
} table;

typedef struct tree {
  table tables[MOST_FILTERS];
  size_t ntables, nruns;
  uint64_t nkeys, nbytes;
} tree;

/* Adds the tables of one run, which share its keys evenly. */
static void add_run(tree *t, const nay_sst_level *l, uint64_t nkeys, uint64_t ntables) {
  for (uint64_t i = 0; i < ntables; i++) {
    assert_true(t->ntables < MOST_FILTERS);
    table *here = &t->tables[t->ntables++];
    uint64_t some = nkeys * (i + 1) / ntables - nkeys * i / ntables;
    nay_params p = {sizeof p, .kind = l->kind, .nkeys = l->nkeys_filter};
    nay_stats stats = {.size = sizeof stats};
    *here = (table){.first = t->nkeys, .nkeys = some, .run = t->nruns};
    t->nkeys += some;
    if (l->nbytes_filter == 0) continue;
    assert_in_range(some, l->nkeys_filter - 1, l->nkeys_filter);
    p.nbytes = l->nbytes_filter;
    here->filter = hashed_filter(&p, here->first, some);
    assert_ok(nay_filter_stats(here->filter, &stats));
    t->nbytes += stats.nbits / 8;
  }
  t->nruns++;
}

static void build(const nay_sst_plan *plan, nay_sst_plan_allocation a, tree *t) {
  nay_sst_level l = {.size = sizeof l};
  t->ntables = t->nruns = 0;
  t->nkeys = t->nbytes = 0;
  for (size_t i = 0; nay_sst_plan_level(plan, a, i, &l) == NAY_OK; i++) {
    uint64_t each = (l.nkeys + l.nruns - 1) / l.nruns;
    uint64_t ntables = (each + l.nkeys_filter - 1) / l.nkeys_filter;
    for (uint64_t run = 0; run < l.nruns; run++) {
      add_run(t, &l, l.nkeys * (run + 1) / l.nruns - l.nkeys * run / l.nruns, ntables);
    }
  }
}

/* Returns the table after the last one of the run that starts with table `first`. */
static size_t run_end(const tree *t, size_t first) {
  size_t last = first;
  while (last < t->ntables && t->tables[last].run == t->tables[first].run) last++;
  return last;
}

/* Counts the reads of n absent lookups. A lookup probes one table per run, as key ranges are
 * disjoint. */
static uint64_t absent_reads(const tree *t, uint64_t n) {
  uint64_t reads = 0;
  for (size_t first = 0, last; first < t->ntables; first = last) {
    last = run_end(t, first);
    for (size_t i = first; i < last; i++) {
      uint64_t from = n * (i - first) / (last - first), upto = n * (i - first + 1) / (last - first);
      const nay_filter *f = t->tables[i].filter;
      reads += f != NULL ? maybes(f, from, upto - from) : upto - from;
    }
  }
  return reads;
}

static bool table_reads(const table *here, uint64_t key) {
  nay_hash hash = {nay_hash_mix(key), 0};
  return here->filter == NULL || nay_filter_may_contain_hash(here->filter, hash);
}

/* Counts the reads of present keys in tables that do not have them. The filter of the table that
 * has a key must not exclude it. */
static uint64_t present_waste(const tree *t) {
  uint64_t reads = 0;
  for (size_t i = 0; i < t->ntables; i++) {
    const table *here = &t->tables[i];
    for (uint64_t key = here->first; key < here->first + here->nkeys; key++) {
      assert_true(table_reads(here, key));
      for (size_t first = 0; t->tables[first].run < here->run; first = run_end(t, first)) {
        reads += table_reads(&t->tables[first + key % (run_end(t, first) - first)], key);
      }
    }
  }
  return reads;
}

static void assert_within(double measured, double planned, const char *what) {
  tell("%s: %.0f reads, planned %.0f: %+.2f%%\n", what, measured, planned,
       (measured / planned - 1) * 100);
  assert_true(fabs(measured / planned - 1) < 0.05);
}

static void reads_are_those_of_the_plan(void **state) {
  static const char *const names[] = {"uniform, absent", "Monkey, absent"};
  const tree_case *c = *state;
  nay_sst_plan_params p = {sizeof p, .nkeys = 200000, .ratio = 4, .nkeys_memtable = 2000};
  nay_sst_plan *plan;
  tree *t = malloc(sizeof *t);
  assert_non_null(t);
  p.merging = c->merging;
  p.kind = c->kind;
  p.bits_per_key = c->bits_per_key;
  p.nkeys_table = c->nkeys_table;
  p.nruns_level0 = c->nruns_level0;
  assert_ok(nay_sst_plan_new(&p, NULL, NULL, &plan));
  for (int a = 0; a < 2; a++) {
    nay_sst_plan_info sums = {.size = sizeof sums};
    assert_ok(nay_sst_plan_stats(plan, (nay_sst_plan_allocation)a, &sums));
    build(plan, (nay_sst_plan_allocation)a, t);
    assert_int_equal(t->nkeys, p.nkeys);
    assert_int_equal(t->nruns, sums.nruns);
    assert_in_range(t->nbytes, sums.nbytes - sums.nbytes / 500, sums.nbytes);
    uint64_t n = (uint64_t)(EXPECTED / sums.absent_reads) + 1;
    assert_within((double)absent_reads(t, n), (double)n * sums.absent_reads, names[a]);
    double waste = (double)present_waste(t), planned = (double)p.nkeys * sums.present_waste;
    if (planned > EXPECTED / 2) assert_within(waste, planned, "         present");
    for (size_t i = 0; i < t->ntables; i++) nay_filter_free(t->tables[i].filter);
  }
  nay_sst_plan_free(plan);
  free(t);
}

static const tree_case cases[] = {
    {NAY_SST_PLAN_LEVELED, NAY_AUTO, 6, 0, 0},
    {NAY_SST_PLAN_LEVELED, NAY_AUTO, 1, 0, 4},
    {NAY_SST_PLAN_LEVELED, NAY_BLOOM, 8, 0, 0},
    {NAY_SST_PLAN_LEVELED, NAY_BLOOM, 1, 5000, 0},
    {NAY_SST_PLAN_LEVELED, NAY_BLOCKED, 7, 5000, 4},
    {NAY_SST_PLAN_LEVELED, NAY_FUSE, 7, 0, 0},
    {NAY_SST_PLAN_TIERED, NAY_AUTO, 6, 0, 0},
    {NAY_SST_PLAN_TIERED, NAY_AUTO, 1, 5000, 0},
    {NAY_SST_PLAN_TIERED, NAY_BLOOM, 8, 0, 0},
    {NAY_SST_PLAN_TIERED, NAY_BLOCKED, 5, 0, 0},
    {NAY_SST_PLAN_TIERED, NAY_XOR, 8, 0, 0},
    {NAY_SST_PLAN_LAZY_LEVELED, NAY_AUTO, 6, 0, 0},
    {NAY_SST_PLAN_LAZY_LEVELED, NAY_BLOOM, 3, 5000, 0},
    {NAY_SST_PLAN_LAZY_LEVELED, NAY_RIBBON, 4, 0, 0},
};
#define NCASES (sizeof cases / sizeof cases[0])

int main(void) {
  static const char *const mergings[] = {"leveled", "tiered", "lazy leveled"};
  static char names[NCASES][80];
  test_case tests[NCASES];
  for (size_t i = 0; i < NCASES; i++) {
    const char *kind = cases[i].kind != NAY_AUTO ? nay_kind_name(cases[i].kind) : "auto";
    snprintf(names[i], sizeof names[i], "%s, %s, %g bits per key%s", mergings[cases[i].merging],
             kind, cases[i].bits_per_key, cases[i].nkeys_table != 0 ? ", tables" : "");
    tests[i] = (test_case)TEST_WITH(names[i], reads_are_those_of_the_plan, &cases[i]);
  }
  return run_list("test_lsm_plan_reads.c", tests, NCASES);
}

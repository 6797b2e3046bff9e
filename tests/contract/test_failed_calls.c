/*
 * test_failed_calls.c - a call that fails changes nothing, in every family that changes.
 *
 * Random programs run on two filters. The first meets every failure: full tables, limits of
 * memory, allocations that fail, removals of absent keys, arguments that are refused. The second is
 * a replica: it receives the calls that succeeded, and of a batch that failed the adds that it says
 * it took, one by one. After each call the encoded bytes are equal.
 */
#include "contract.h"
#include "math/plan.h"
#include "support/mutable.h"

enum { UNIVERSE = 400, BATCH_MOST = 200 };

/* What a program of a seed runs on: a size, and of the family's knobs those that it has. */
static nay_params program_params(const nay_family *family, rng *r) {
  static const double fprs[] = {0.2, 0.05, 0.01, 0.001};
  nay_params p = contract_params(family, 1 + rng_below(r, 60));
  p.fpr = fprs[rng_below(r, 4)];
  if ((family->knobs & NAY_KNOB_MAX_NKEYS) != 0 && rng_below(r, 4) != 0) {
    p.max_nkeys = p.nkeys * (2 + rng_below(r, 100));
  }
  if ((family->knobs & NAY_KNOB_UNIQUE) != 0 && rng_below(r, 3) == 0) p.flags |= NAY_UNIQUE;
  if ((family->knobs & NAY_KNOB_GENERATIONS) != 0 && rng_below(r, 2) == 0) p.window = 1000;
  nay_plan plan = {.size = sizeof plan};
  assert_ok(nay_params_plan(&p, NULL, &plan));
  if ((family->knobs & NAY_KNOB_MAX_NBYTES) != 0 && rng_below(r, 2) == 0) {
    p.max_nbytes = plan.nbytes * (1 + rng_below(r, 6));
  }
  return p;
}

typedef struct program {
  const nay_family *family;
  rng r;
  flaky heap;
  nay_filter *filter, *replica;
  uint8_t copies[UNIVERSE]; /* what may be removed without harm */
  uint64_t base, now;
  unsigned universe; /* few keys: many copies of each crowd the same places */
  bool unique;
  unsigned failed, batches_cut;
} program;

static nay_hash program_hash(const program *p, unsigned key) {
  return (nay_hash){nay_hash_mix(p->base + key), 0};
}

/* After a call that failed, and one that did not: the replica has all that the filter has. */
static void program_compare(program *p, nay_status status, const bytes *before) {
  if (status != NAY_OK) {
    p->failed++;
    assert_unchanged(p->filter, before);
  }
  assert_true(filters_equal(p->filter, p->replica));
}

static void run_add(program *p, unsigned key) {
  bytes before = bytes_of(p->filter);
  bool is_new = true, again = true;
  nay_status status = nay_filter_add_hash(p->filter, program_hash(p, key), &is_new);
  if (status == NAY_OK) {
    assert_ok(nay_filter_add_hash(p->replica, program_hash(p, key), &again));
    assert_int_equal(is_new, again);
    p->copies[key]++;
  }
  program_compare(p, status, &before);
  bytes_free(&before);
}

/* As many copies of one key as a family takes, and some more. */
static void run_crowd(program *p) {
  unsigned key = (unsigned)rng_below(&p->r, p->universe);
  for (unsigned i = 0; i < 9; i++) run_add(p, key);
}

static void run_batch(program *p) {
  uint64_t lo[BATCH_MOST], bitmap[NAY_BITMAP_WORDS(BATCH_MOST)];
  unsigned keys[BATCH_MOST];
  size_t n = rng_below(&p->r, BATCH_MOST), taken = 12345;
  bool blind = rng_below(&p->r, 2) == 0;
  for (size_t i = 0; i < n; i++) {
    keys[i] = (unsigned)rng_below(&p->r, p->universe);
    lo[i] = program_hash(p, keys[i]).lo;
  }
  nay_status status =
      nay_filter_add_hash_many(p->filter, lo, NULL, n, blind ? NULL : bitmap, &taken);
  assert_true(status == NAY_OK ? taken == n : taken < n);
  for (size_t i = 0; i < taken; i++) {
    bool is_new;
    assert_ok(nay_filter_add_hash(p->replica, (nay_hash){lo[i], 0}, &is_new));
    if (!blind) assert_int_equal(nay_bitmap_get(bitmap, i), is_new);
    p->copies[keys[i]]++;
  }
  p->batches_cut += status != NAY_OK;
  p->failed += status != NAY_OK;
  assert_true(filters_equal(p->filter, p->replica));
}

/* Of a key that is in, or of one that tests nay: others are the caller's mistake, and with
 * NAY_UNIQUE nobody knows which keys were stored. */
static void run_remove(program *p) {
  unsigned key = (unsigned)rng_below(&p->r, p->universe);
  nay_hash hash = program_hash(p, key);
  bool is_in = p->copies[key] > 0 && !p->unique;
  if (!is_in && nay_filter_may_contain_hash(p->filter, hash)) return;
  bytes before = bytes_of(p->filter);
  nay_status status = nay_filter_remove_hash(p->filter, hash);
  if (status == NAY_OK) {
    assert_ok(nay_filter_remove_hash(p->replica, hash));
    if (p->copies[key] > 0) p->copies[key]--;
  }
  program_compare(p, status, &before);
  bytes_free(&before);
}

/* Forward, or back, which is refused. */
static void run_advance(program *p) {
  bytes before = bytes_of(p->filter);
  uint64_t now = p->now + rng_below(&p->r, 300) - (rng_below(&p->r, 4) == 0 ? 200 : 0);
  nay_status status = nay_filter_advance(p->filter, now);
  if (status == NAY_OK) {
    p->now = now;
    assert_ok(nay_filter_advance(p->replica, now));
  }
  program_compare(p, status, &before);
  bytes_free(&before);
}

/* A merge with a filter that cannot be merged, or one that can, into too little room. */
static void run_merge(program *p) {
  nay_params other = program_params(p->family, &p->r);
  if (rng_below(&p->r, 2) == 0) {
    if (nay_filter_params(p->filter, &other) != NAY_OK) return;
  }
  nay_filter *g;
  if (nay_filter_new(&other, NULL, NULL, &g) != NAY_OK) return;
  for (unsigned i = 0; i < 20; i++) {
    (void)nay_filter_add_hash(g, program_hash(p, UNIVERSE + (unsigned)rng_below(&p->r, 90)), NULL);
  }
  bytes before = bytes_of(p->filter);
  double most = rng_below(&p->r, 2) == 0 ? 1.0 : 0.001;
  nay_status status = nay_filter_merge(p->filter, g, most, NULL);
  if (status == NAY_OK) assert_ok(nay_filter_merge(p->replica, g, most, NULL));
  program_compare(p, status, &before);
  bytes_free(&before);
  nay_filter_free(g);
}

static void run_other(program *p) {
  bytes before = bytes_of(p->filter);
  nay_status status = NAY_OK;
  switch (rng_below(&p->r, 4)) {
    case 0: status = nay_filter_add(p->filter, NULL, 1, NULL); break;
    case 1: status = nay_filter_fold(p->filter, 7, NULL); break;
    case 2: status = nay_filter_intersect(p->filter, NULL, NULL); break;
    default:
      if (rng_below(&p->r, 20) == 0) {
        status = nay_filter_clear(p->filter);
        assert_ok(nay_filter_clear(p->replica));
        memset(p->copies, 0, sizeof p->copies);
      }
      break;
  }
  if (status != NAY_OK) {
    program_compare(p, status, &before);
  } else if (!filters_equal(p->filter, p->replica)) {
    assert_ok(nay_filter_fold(p->replica, 7, NULL));
    assert_true(filters_equal(p->filter, p->replica));
  }
  bytes_free(&before);
}

static void program_step(program *p) {
  uint64_t pick = rng_below(&p->r, 100);
  /* the next allocation fails, or the one after it, once or for good; or none does */
  flaky_arm(&p->heap, (long)rng_below(&p->r, 4) - 2, rng_below(&p->r, 2) == 0);
  if (p->heap.fail_at < 0) flaky_arm(&p->heap, -1, false);
  if (pick < 45) {
    run_add(p, (unsigned)rng_below(&p->r, p->universe));
  } else if (pick < 60) {
    run_crowd(p);
  } else if (pick < 65) {
    run_batch(p);
  } else if (pick < 90) {
    run_remove(p);
  } else if (pick < 94) {
    run_advance(p);
  } else if (pick < 96) {
    run_merge(p);
  } else {
    run_other(p);
  }
}

static void failures_leave_no_trace(void **state) {
  unsigned failed = 0, cut = 0;
  for (uint64_t seed = 0; seed < 200; seed++) {
    program p = {.family = *state, .r = {seed << 32}, .base = seed << 20, .heap = {.fail_at = -1}};
    nay_params params = program_params(*state, &p.r);
    p.universe = (unsigned)(10 + rng_below(&p.r, UNIVERSE - 10));
    p.unique = (params.flags & NAY_UNIQUE) != 0;
    nay_allocator a = flaky_allocator(&p.heap);
    assert_ok(nay_filter_new(&params, &a, NULL, &p.filter));
    p.replica = contract_new(&params);
    for (unsigned step = 0; step < 200; step++) program_step(&p);
    flaky_arm(&p.heap, -1, false);
    for (unsigned key = 0; key < UNIVERSE; key++) {
      assert_true(p.copies[key] == 0 || contract_can(*state, NAY_CAN_EXPIRE) ||
                  nay_filter_may_contain_hash(p.filter, program_hash(&p, key)));
    }
    failed += p.failed;
    cut += p.batches_cut;
    nay_filter_free(p.filter);
    nay_filter_free(p.replica);
    assert_true(flaky_is_clean(&p.heap));
  }
  print_message("# %u calls failed, %u of them batches\n", failed, cut);
  assert_true(failed > 100 && (cut > 10 || !contract_can(*state, NAY_CAN_GROW)));
}

/* Batches of keys and columns tell as much as those of hashes: the same adds, the same number.
 */
static void batches_tell_what_they_took(void **state) {
  enum { N = 150 };
  uint8_t text[N * 8];
  const void *keys[N];
  size_t lens[N], offsets[N + 1];
  for (unsigned i = 0; i <= N; i++) offsets[i] = 8 * (size_t)i;
  for (uint64_t i = 0; i < N; i++) {
    memcpy(text + offsets[i], &i, 8);
    keys[i] = text + offsets[i];
    lens[i] = 8;
  }
  nay_column column = column_of(text, offsets, N);
  for (long at = -1; at < 12; at++) {
    flaky heap[2] = {{.fail_at = -1}, {.fail_at = -1}};
    nay_filter *f[2], *single;
    size_t taken[2] = {N + 1, N + 1};
    nay_params p = contract_params(*state, 10);
    if ((((const nay_family *)*state)->knobs & NAY_KNOB_MAX_NKEYS) != 0) p.max_nkeys = 100;
    for (unsigned i = 0; i < 2; i++) {
      nay_allocator a = flaky_allocator(&heap[i]);
      assert_ok(nay_filter_new(&p, &a, NULL, &f[i]));
      flaky_arm(&heap[i], at, true);
    }
    nay_status many = nay_filter_add_many(f[0], keys, lens, N, NULL, &taken[0]);
    nay_status in_column = nay_filter_add_column(f[1], &column, N, NULL, &taken[1]);
    assert_int_equal(many, in_column);
    assert_int_equal(taken[0], taken[1]);
    assert_true(many == NAY_OK ? taken[0] == N : taken[0] < N);
    single = contract_new(&p);
    for (size_t i = 0; i < taken[0]; i++) assert_ok(nay_filter_add(single, keys[i], 8, NULL));
    assert_true(filters_equal(f[0], single) && filters_equal(f[1], single));
    assert_status(nay_filter_add_many(f[0], NULL, lens, N, NULL, &taken[0]), NAY_EINVAL);
    assert_int_equal(taken[0], 0);
    for (unsigned i = 0; i < 2; i++) nay_filter_free(f[i]);
    nay_filter_free(single);
  }
}

int main(void) {
  const contract_test tests[] = {
      CONTRACT(failures_leave_no_trace, NAY_CAN_ADD),
      CONTRACT(batches_tell_what_they_took, NAY_CAN_ADD),
  };
  return contract_run_all(tests);
}

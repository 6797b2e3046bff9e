/*
 * test_mutable_programs.c - long random programs of add, remove, merge, save, load and advance
 * against an exact multiset. The one thing that must never happen is a false nay.
 *
 * A program is a seed and a number of steps; a failure tells both. Keys come from a small universe,
 * so that adds, repeats and removes of the same key meet often.
 */
#include "filter.h"
#include "support/mutable.h"

#ifndef PROGRAM_STEPS
#define PROGRAM_STEPS 250000u /* test_mutable_programs_long.c runs 10^7 */
#endif

enum { UNIVERSE = 5000 };

typedef struct program {
  nay_filter *f;
  rng r;
  uint64_t step;
  uint32_t count[UNIVERSE]; /* the multiset */
  uint64_t inside;          /* its size */
  uint64_t added_at[UNIVERSE];
  uint64_t now;
} program;

static nay_filter *program_make(nay_params p) {
  p.hash = NAY_HASH_CALLER;
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  return f;
}

#define program_check(p, condition)                                                         \
  do {                                                                                      \
    if (!(condition)) fail_msg("step %llu: %s", (unsigned long long)(p)->step, #condition); \
  } while (0)

static void program_probe(program *p) {
  uint64_t key = rng_below(&p->r, UNIVERSE);
  if (p->count[key] == 0) return;
  program_check(p, nay_filter_may_contain_hash(p->f, hash_of(key)));
  uint64_t count;
  if (nay__filter_count_hash(p->f, hash_of(key), &count) == NAY_OK) {
    program_check(p, count >= (p->count[key] < 15 ? p->count[key] : 15));
  }
}

static void program_probe_all(program *p) {
  for (uint64_t key = 0; key < UNIVERSE; key++) {
    if (p->count[key] != 0) program_check(p, nay_filter_may_contain_hash(p->f, hash_of(key)));
  }
}

static void program_add(program *p) {
  uint64_t key = rng_below(&p->r, UNIVERSE);
  bool before = nay_filter_may_contain_hash(p->f, hash_of(key)), is_new;
  snapshot s = {NULL, 0};
  if (p->step % 1024 == 0) s = snap(p->f);
  nay_status status = nay_filter_add_hash(p->f, hash_of(key), &is_new);
  if (status == NAY_EFULL) { /* eight copies, or a full table: as it was */
    if (s.bytes != NULL) program_check(p, snap_same(s, p->f));
    return;
  }
  free(s.bytes);
  program_check(p, status == NAY_OK);
  program_check(p, is_new == !before);
  p->count[key]++;
  p->inside++;
}

static void program_remove(program *p) {
  uint64_t key = rng_below(&p->r, UNIVERSE);
  if (p->count[key] != 0) {
    program_check(p, nay_filter_remove_hash(p->f, hash_of(key)) == NAY_OK);
    p->count[key]--;
    p->inside--;
  } else if (!nay_filter_may_contain_hash(p->f, hash_of(key))) {
    program_check(p, nay_filter_remove_hash(p->f, hash_of(key)) == NAY_ENOENT);
  }
}

/* Removes keys that are in until half of them are left: then growth and shrinking are both seen. */
static void program_shrink(program *p) {
  for (uint64_t key = 0; key < UNIVERSE; key++) {
    for (; p->count[key] > 0 && rng_below(&p->r, 2) == 0; p->count[key]--, p->inside--) {
      program_check(p, nay_filter_remove_hash(p->f, hash_of(key)) == NAY_OK);
    }
  }
}

static void program_copy(program *p) {
  nay_filter *copy;
  assert_ok(nay_filter_copy(p->f, NULL, NULL, &copy));
  program_check(p, same_bytes(copy, p->f));
  nay_filter_free(p->f);
  p->f = copy;
}

static void program_merge(program *p, const nay_params *params) {
  nay_filter *other = program_make(*params);
  uint32_t more[UNIVERSE] = {0};
  uint64_t n = rng_below(&p->r, 200), merged = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t key = rng_below(&p->r, UNIVERSE);
    program_check(p, nay_filter_add_hash(other, hash_of(key), NULL) == NAY_OK);
    more[key]++;
    merged++;
  }
  nay_status status = nay_filter_merge(p->f, other, 1.0, NULL);
  if (status != NAY_EFULL) { /* scalable: too many levels */
    program_check(p, status == NAY_OK);
    for (uint64_t key = 0; key < UNIVERSE; key++) p->count[key] += more[key];
    p->inside += merged;
  }
  nay_filter_free(other);
}

/* Drains the multiset: what remains can only be what sticks. */
static void program_drain(program *p) {
  program_probe_all(p);
  for (uint64_t key = 0; key < UNIVERSE; key++) {
    for (; p->count[key] > 0; p->count[key]--) {
      program_check(p, nay_filter_remove_hash(p->f, hash_of(key)) == NAY_OK);
    }
  }
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_filter_stats(p->f, &s));
  program_check(p, s.nbits_set == 0 || s.nstuck > 0);
}

static void run_removing(nay_params params, uint64_t most, bool merges) {
  static program p;
  p = (program){.r = {params.nkeys}};
  p.f = program_make(params);
  for (; p.step < PROGRAM_STEPS; p.step++) {
    uint64_t dice = rng_below(&p.r, 1000);
    if (p.inside >= most) program_shrink(&p);
    if (dice < 450) {
      program_add(&p);
    } else if (dice < 700) {
      program_remove(&p);
    } else if (dice < 998 || p.step % 16 != 0) {
      program_probe(&p);
    } else if (rng_below(&p.r, 3) == 0 && merges) {
      program_merge(&p, &params);
    } else if (rng_below(&p.r, 2) == 0) {
      program_copy(&p);
    } else {
      reload(&p.f);
    }
  }
  program_drain(&p);
  nay_filter_free(p.f);
}

static void counting_programs(void **state) {
  (void)state;
  run_removing((nay_params){sizeof(nay_params), .kind = NAY_COUNTING, .nkeys = 4000, .fpr = 0.02},
               4000, true);
}

/* More than planned: groups stick, and still no key is lost. */
static void overloaded_counting_programs(void **state) {
  (void)state;
  run_removing((nay_params){sizeof(nay_params), .kind = NAY_COUNTING, .nkeys = 1000, .fpr = 0.02},
               6000, true);
}

static void cuckoo_programs(void **state) {
  (void)state;
  run_removing((nay_params){sizeof(nay_params), .kind = NAY_CUCKOO, .nkeys = 4000, .fpr = 0.02},
               3990, false);
}

static void full_cuckoo_programs(void **state) {
  (void)state;
  run_removing((nay_params){sizeof(nay_params), .kind = NAY_CUCKOO, .nkeys = 2000, .fpr = 0.1},
               6000, false);
}

static void growing_cuckoo_programs(void **state) {
  (void)state;
  run_removing((nay_params){.size = sizeof(nay_params),
                            .kind = NAY_CUCKOO,
                            .nkeys = 100,
                            .fpr = 0.01,
                            .max_nkeys = 8000},
               8000, false);
}

/* Sets: what was added stays, through growth, joins, files; clear starts again. */
static void scalable_programs(void **state) {
  (void)state;
  static program p;
  nay_params params = {sizeof params, .kind = NAY_SCALABLE, .nkeys = 100, .fpr = 0.02};
  p = (program){.r = {7}};
  p.f = program_make(params);
  for (; p.step < PROGRAM_STEPS; p.step++) {
    uint64_t dice = rng_below(&p.r, 10000);
    if (dice < 5000) {
      program_add(&p);
    } else if (dice < 9990) {
      program_probe(&p);
    } else if (dice < 9993) {
      program_merge(&p, &params);
    } else if (dice < 9996) {
      program_probe_all(&p);
      reload(&p.f);
    } else if (dice < 9998) {
      program_copy(&p);
    } else if (rng_below(&p.r, 5) == 0) {
      assert_ok(nay_filter_clear(p.f));
      memset(p.count, 0, sizeof p.count);
    }
  }
  program_probe_all(&p);
  nay_filter_free(p.f);
}

/* A key is a maybe as long as its last add is within the window. */
static void run_window(uint64_t ticks, uint32_t generations) {
  static program p;
  nay_params params = {.size = sizeof params,
                       .kind = NAY_WINDOW,
                       .nkeys = 1000,
                       .fpr = 0.02,
                       .window = ticks,
                       .generations = generations};
  uint64_t length = ticks != 0 ? ticks : params.nkeys;
  p = (program){.r = {generations}, .now = 1};
  p.f = program_make(params);
  if (ticks != 0) assert_ok(nay_filter_advance(p.f, p.now));
  for (; p.step < PROGRAM_STEPS; p.step++) {
    uint64_t dice = rng_below(&p.r, 1000), key = rng_below(&p.r, UNIVERSE);
    if (dice < 500) {
      assert_ok(nay_filter_add_hash(p.f, hash_of(key), NULL));
      if (ticks == 0) p.now++; /* the clock counts adds */
      p.added_at[key] = p.now;
    } else if (dice < 900) {
      bool within = p.added_at[key] != 0 && p.now - p.added_at[key] < length;
      if (within) program_check(&p, nay_filter_may_contain_hash(p.f, hash_of(key)));
    } else if (dice < 998) {
      if (ticks == 0) continue;
      p.now += rng_below(&p.r, 8);
      assert_ok(nay_filter_advance(p.f, p.now));
      program_check(&p, nay_filter_advance(p.f, p.now - 1) == NAY_EINVAL);
    } else if (p.step % 8 == 0) {
      reload(&p.f);
    }
  }
  nay_filter_free(p.f);
}

static void window_programs(void **state) {
  (void)state;
  run_window(0, 7);
  run_window(0, 1);
  run_window(1000, 7);
  run_window(777, 5);
}

int main(void) {
  const test_case tests[] = {
      TEST(counting_programs),    TEST(overloaded_counting_programs), TEST(cuckoo_programs),
      TEST(full_cuckoo_programs), TEST(growing_cuckoo_programs),      TEST(scalable_programs),
      TEST(window_programs),
  };
  return run_all(tests);
}

/*
 * test_memory.c - every allocation fails once, in turn, alone and with all that follow: the call
 * returns NAY_ENOMEM, a diag says for what, nothing leaks, freed sizes are the requested ones, the
 * object is unchanged.
 */
#include "contract.h"

#define RANDOM (&key_sets[3])
#define MANY 70000u /* more hashes than one page of a builder holds */

/* What is tried: everything it needs, and where it puts what it made. */
typedef struct attempt {
  const nay_family *family;
  nay_allocator allocator;
  nay_filter *subject;     /* changed by the attempt; lives in the flaky heap */
  const nay_filter *other; /* only read */
  const bytes *encoded;
  const char *path;
  nay_filter *made;
  nay_diag *diag; /* what the call got; NULL: it takes none */
} attempt;

typedef nay_status (*attempt_run)(attempt *);

/* Runs it with call number `at` failing. Returns whether so many calls were made at all. */
static bool attempt_once(attempt *a, flaky *heap, attempt_run run, long at, bool for_ever) {
  bytes before = {NULL, 0};
  if (a->subject != NULL) before = bytes_of(a->subject);
  nay_filter *const untouched = (nay_filter *)a;
  a->made = untouched;
  long objects = heap->objects;
  nay_diag diag = {.offset = 1, .os_error = 1};
  a->diag = a->subject == NULL ? &diag : NULL; /* those that change a filter take none */
  flaky_arm(heap, at, for_ever);
  nay_status status = run(a);
  bool reached = heap->calls > at;
  flaky_arm(heap, -1, false);
  assert_status(status, reached ? NAY_ENOMEM : NAY_OK);
  if (reached && a->diag != NULL) {
    assert_non_null(diag.what);
    if (strstr(diag.what, "memory") == NULL) fail_msg("%s", diag.what);
    assert_true(diag.offset == 0 && diag.os_error == 0);
  }
  if (reached) {
    assert_ptr_equal(a->made, untouched);
    if (a->subject != NULL) {
      assert_unchanged(a->subject, &before);
    } else {
      assert_int_equal(heap->objects, objects);
    }
  } else if (a->made != untouched) {
    nay_filter_free(a->made);
  }
  bytes_free(&before);
  assert_int_equal(heap->faults, 0);
  return reached;
}

/* Fails call 0, 1, 2, ... until the attempt needs no more; `least` calls must have been made. */
static void attempt_all(attempt *a, flaky *heap, attempt_run run, long least) {
  for (int for_ever = 0; for_ever < 2; for_ever++) {
    long at = 0;
    while (attempt_once(a, heap, run, at, for_ever != 0)) at++;
    assert_true(at >= least);
  }
}

/* ---- making ---- */

static nay_status try_new(attempt *a) {
  nay_params p = contract_params(a->family, 1000);
  return nay_filter_new(&p, &a->allocator, a->diag, &a->made);
}

static void new_survives(void **state) {
  flaky heap = {.fail_at = -1};
  attempt a = {.family = *state, .allocator = flaky_allocator(&heap)};
  attempt_all(&a, &heap, try_new, 2);
  assert_true(flaky_is_clean(&heap));
}

static uint64_t many_hashes[MANY];

static nay_status try_build(attempt *a) {
  nay_params p = contract_params(a->family, 0);
  return nay_filter_build(&p, many_hashes, MANY, &a->allocator, a->diag, &a->made);
}

static nay_status try_build_sized(attempt *a) {
  nay_params p = contract_params(a->family, MANY);
  return nay_filter_build(&p, many_hashes, MANY, &a->allocator, a->diag, &a->made);
}

static void build_survives(void **state) {
  flaky heap = {.fail_at = -1};
  attempt a = {.family = *state, .allocator = flaky_allocator(&heap)};
  for (uint64_t i = 0; i < MANY; i++) many_hashes[i] = contract_hash(i).lo;
  attempt_all(&a, &heap, try_build, 4);
  attempt_all(&a, &heap, try_build_sized, 2);
  assert_true(flaky_is_clean(&heap));
}

/* nay_filter_build, which takes a set; for a window, whose builder keeps the order, a builder. */
static nay_filter *built_from_many(const nay_params *p) {
  nay_builder *b;
  nay_filter *f;
  if ((nay_kind_traits(p->kind) & NAY_CAN_EXPIRE) == 0) {
    assert_ok(nay_filter_build(p, many_hashes, MANY, NULL, NULL, &f));
    return f;
  }
  assert_ok(nay_builder_new(p, NULL, NULL, &b));
  for (uint64_t i = 0; i < MANY; i++) {
    assert_ok(nay_builder_add_hash(b, (nay_hash){many_hashes[i], 0}));
  }
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  return f;
}

/* A builder that met a failure goes on where it was: no hash is lost, none counted twice. */
static void builders_go_on_after_a_failure(void **state) {
  nay_params p = contract_params(*state, 0);
  nay_filter *expected = built_from_many(&p), *f;
  for (long at = 0;; at++) {
    flaky heap = {.fail_at = -1};
    nay_allocator allocator = flaky_allocator(&heap);
    nay_builder *b;
    unsigned failures = 0;
    assert_ok(nay_builder_new(&p, &allocator, NULL, &b));
    flaky_arm(&heap, at, false);
    for (uint64_t i = 0; i < MANY; i++) {
      nay_status status = nay_builder_add_hash(b, (nay_hash){many_hashes[i], 0});
      if (status == NAY_OK) continue;
      assert_status(status, NAY_ENOMEM);
      assert_int_equal(nay_builder_nkeys(b), i);
      failures++;
      i--;
    }
    nay_diag diag = {.offset = 1, .os_error = 1};
    nay_status status = nay_builder_finish(b, &diag, &f);
    if (status != NAY_OK) {
      assert_non_null(strstr(diag.what, "memory"));
      assert_status(status, NAY_ENOMEM);
      assert_int_equal(nay_builder_nkeys(b), MANY);
      failures++;
      assert_ok(nay_builder_finish(b, NULL, &f));
    }
    assert_true(filters_equal(f, expected));
    nay_filter_free(f);
    nay_builder_free(b);
    assert_true(flaky_is_clean(&heap));
    assert_true(failures <= 1);
    if (failures == 0) break;
  }
  nay_filter_free(expected);
}

static nay_status try_builder_new(attempt *a) {
  nay_params p = contract_params(a->family, 0);
  nay_builder *b;
  nay_status status = nay_builder_new(&p, &a->allocator, a->diag, &b);
  if (status == NAY_OK) nay_builder_free(b);
  return status;
}

static void builder_new_survives(void **state) {
  flaky heap = {.fail_at = -1};
  attempt a = {.family = *state, .allocator = flaky_allocator(&heap)};
  attempt_all(&a, &heap, try_builder_new, 1);
  assert_true(flaky_is_clean(&heap));
}

static nay_status try_copy(attempt *a) {
  a->diag = NULL;
  return nay_filter_copy(a->other, &a->allocator, NULL, &a->made);
}

static nay_status try_decode(attempt *a) {
  return nay_filter_decode(a->encoded->at, a->encoded->len, &a->allocator, a->diag, &a->made);
}

static nay_status try_open(attempt *a) {
  return nay_filter_open(a->path, &a->allocator, a->diag, &a->made);
}

static nay_status try_map(attempt *a) {
  return nay_filter_mmap(a->path, 0, &a->allocator, a->diag, &a->made);
}

static nay_status try_map_lazily(attempt *a) {
  return nay_filter_mmap(a->path, NAY_MMAP_LAZY, &a->allocator, a->diag, &a->made);
}

static void copies_and_files_survive(void **state) {
  flaky heap = {.fail_at = -1};
  nay_filter *f = contract_filter(*state, 1000);
  assert_ok(nay_filter_set_meta(f, "metadata", 8));
  bytes encoded = bytes_of(f);
  attempt a = {.family = *state, .allocator = flaky_allocator(&heap), .other = f};
  a.encoded = &encoded;
  a.path = saved(f, "memory");
  attempt_all(&a, &heap, try_copy, 3);
  attempt_all(&a, &heap, try_decode, 3);
  attempt_all(&a, &heap, try_open, 2);
  attempt_all(&a, &heap, try_map, 1);
  attempt_all(&a, &heap, try_map_lazily, a.family->probe_addresses != NULL ? 2 : 1);
  assert_true(flaky_is_clean(&heap));
  remove(a.path);
  bytes_free(&encoded);
  nay_filter_free(f);
}

/* ---- changing ---- */

static nay_status try_merge(attempt *a) {
  return nay_filter_merge(a->subject, a->other, 1.0, NULL);
}
static nay_status try_fold(attempt *a) { return nay_filter_fold(a->subject, 3, NULL); }
static nay_status try_set_meta(attempt *a) { return nay_filter_set_meta(a->subject, "12345", 5); }

/* A fresh subject of 60 blocks from a file: its metadata lies inside the payload's memory. */
static nay_filter *subject_from(const char *path, const nay_allocator *allocator) {
  nay_filter *f;
  assert_ok(nay_filter_open(path, allocator, NULL, &f));
  return f;
}

static void attempt_on_subject(attempt *a, flaky *heap, attempt_run run, long least) {
  for (int for_ever = 0; for_ever < 2; for_ever++) {
    for (long at = 0;; at++) {
      a->subject = subject_from(a->path, &a->allocator);
      bool reached = attempt_once(a, heap, run, at, for_ever != 0);
      if (reached) { /* and once more, with memory: what failed can be done later */
        assert_ok(run(a));
      }
      nay_filter_free(a->subject);
      assert_true(flaky_is_clean(heap));
      if (reached) continue;
      assert_true(at >= least);
      break;
    }
  }
  a->subject = NULL;
}

static void folds_and_merges_survive(void **state) {
  flaky heap = {.fail_at = -1};
  nay_params big = {.size = sizeof big,
                    .kind = ((const nay_family *)*state)->kind,
                    .nkeys = 500,
                    .nbits = 512 * 60};
  big.k = 5;
  nay_params small = big;
  small.nbits = 512 * 20;
  nay_filter *f = contract_new(&big), *g = contract_new(&small);
  contract_add(f, RANDOM, 0, 500);
  contract_add(g, RANDOM, 500, 500);
  assert_ok(nay_filter_set_meta(f, "metadata", 8));
  attempt a = {.family = *state, .allocator = flaky_allocator(&heap), .other = g};
  a.path = saved(f, "subject");
  attempt_on_subject(&a, &heap, try_fold, 2);
  attempt_on_subject(&a, &heap, try_merge, 4);
  remove(a.path);
  nay_filter_free(f);
  nay_filter_free(g);
}

static void merges_survive(void **state) {
  flaky heap = {.fail_at = -1};
  nay_params p = contract_params(*state, 1000);
  nay_filter *f = contract_build(&p, RANDOM, 0, 500), *g = contract_build(&p, RANDOM, 500, 500);
  attempt a = {.family = *state, .allocator = flaky_allocator(&heap), .other = g};
  a.path = saved(f, "merge");
  attempt_on_subject(&a, &heap, try_merge, 0); /* equal sizes may need no memory at all */
  remove(a.path);
  nay_filter_free(f);
  nay_filter_free(g);
}

static void metadata_survives(void **state) {
  flaky heap = {.fail_at = -1};
  nay_filter *f = contract_filter(*state, 500);
  assert_ok(nay_filter_set_meta(f, "metadata", 8));
  attempt a = {.family = *state, .allocator = flaky_allocator(&heap)};
  a.path = saved(f, "meta");
  attempt_on_subject(&a, &heap, try_set_meta, 1);
  remove(a.path);
  nay_filter_free(f);
}

/* Adding may need memory where filters grow: then it fails like everything else. */
static void adds_survive(void **state) {
  flaky heap = {.fail_at = -1};
  nay_allocator allocator = flaky_allocator(&heap);
  nay_params p = contract_params(*state, 100);
  nay_filter *f;
  assert_ok(nay_filter_new(&p, &allocator, NULL, &f));
  flaky_arm(&heap, 0, true);
  for (uint64_t i = 0; i < 1000; i++) {
    uint8_t key[KEY_MAX];
    size_t len = RANDOM->make(i, key);
    bytes before = bytes_of(f);
    nay_status status = nay_filter_add(f, key, len, NULL);
    if (status != NAY_OK) {
      assert_true(status == NAY_ENOMEM || status == NAY_EFULL);
      assert_unchanged(f, &before);
      flaky_arm(&heap, -1, false);
      nay_status again = nay_filter_add(f, key, len, NULL);
      assert_true(again == NAY_OK || again == NAY_EFULL);
      flaky_arm(&heap, 0, true);
    }
    bytes_free(&before);
    assert_true(contract_has(f, RANDOM, i) || status == NAY_EFULL);
  }
  if (!contract_can(*state, NAY_CAN_GROW)) assert_int_equal(heap.calls, 0);
  nay_filter_free(f);
  assert_true(flaky_is_clean(&heap));
}

/* ---- how much ---- */

/* The plan tells the peak of a build, and the payload, before anything is allocated. */
static void the_plan_knows_the_memory(void **state) {
  flaky heap = {.fail_at = -1};
  nay_allocator allocator = flaky_allocator(&heap);
  nay_params p = contract_params(*state, MANY);
  nay_plan plan = {.size = sizeof plan};
  nay_filter *f;
  assert_ok(nay_params_plan(&p, NULL, &plan));
  assert_ok(nay_filter_build(&p, many_hashes, MANY, &allocator, NULL, &f));
  assert_in_range(heap.peak, plan.nbytes, plan.nbytes_build + 1024);
  nay_stats s = stats_of(f);
  assert_in_range(s.nbytes, plan.nbytes, heap.live + 1024);
  nay_filter_free(f);
  assert_true(flaky_is_clean(&heap));
}

int main(void) {
  for (uint64_t i = 0; i < MANY; i++) many_hashes[i] = contract_hash(i).lo;
  const contract_test tests[] = {
      CONTRACT(new_survives, NAY_CAN_ADD),
      CONTRACT(build_survives, 0),
      CONTRACT(builders_go_on_after_a_failure, 0),
      CONTRACT(builder_new_survives, 0),
      CONTRACT(copies_and_files_survive, 0),
      CONTRACT(folds_and_merges_survive, NAY_CAN_ADD | NAY_CAN_MERGE | CONTRACT_FOLDS_WHOLE),
      CONTRACT(merges_survive, NAY_CAN_MERGE),
      CONTRACT(metadata_survives, 0),
      CONTRACT(adds_survive, NAY_CAN_ADD),
      CONTRACT(the_plan_knows_the_memory, 0),
  };
  return contract_run_all(tests);
}

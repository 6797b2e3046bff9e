/* test_map_low.c - maps that are built in little memory: one group of parts after the other, from
 * arrays or from a temporary file, are the bytes of any other build. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build/map_build.h"
#include "support/flaky.h"
#include "support/maps.h"
#include "support/temp.h"

#define N 300000u /* three parts */
#define NRUNS 3u

/* ---- sources ---- */

static nay_hash_spill *spill_of(const pairs *p) {
  nay_hash_spill *spill;
  nay_allocator a = nay__allocator_default();
  assert_ok(nay__hash_spill_new(NULL, NAY_MAP_RECORD, &a, NULL, &spill));
  for (uint64_t i = 0; i < p->n; i++) {
    const uint64_t record[NAY_MAP_RECORD] = {p->hashes[i], p->values[i], i};
    assert_ok(nay__hash_spill_add(spill, record));
  }
  return spill;
}

/* The pairs in three runs, one of them empty, or in a file. */
static nay_status build_from(const nay_params *params, const pairs *p, bool file,
                             uint64_t group_keys, nay_diag *diag, nay_filter **map) {
  size_t third = p->n / 3;
  nay_map_run runs[NRUNS] = {{p->hashes, p->values, third},
                             {NULL, NULL, 0},
                             {p->hashes + third, p->values + third, p->n - third}};
  nay_map_source source = {.runs = runs, .nruns = NRUNS, .n = p->n, .group_keys = group_keys};
  if (file) source.spill = spill_of(p);
  nay_hash_fn hasher = {.kind = NAY_HASH_CALLER};
  nay_status status = nay__map_build(params, &hasher, &source, NULL, diag, map);
  nay__hash_spill_free(source.spill);
  return status;
}

/* ---- the same bytes ---- */

/* Random hashes; some of them twice, thrice; small numbers, which need a premix and are all in one
 * bucket of the file. */
static pairs a_set(unsigned which) {
  pairs p = pairs_of(N, 5, 21);
  for (size_t i = 0; which == 2 && i < p.n; i++) p.hashes[i] = i * 3;
  if (which != 1) return p;
  for (size_t i = 0; i < N / 2; i++) {
    p.hashes[p.n] = p.hashes[i * 7 % (N / 3)];
    p.values[p.n++] = p.values[i * 7 % (N / 3)];
  }
  return p;
}

static void groups_leave_no_trace(void **state) {
  (void)state;
  const uint64_t groups[] = {30000, 131072, 250000, N, UINT64_MAX};
  for (unsigned which = 0; which < 3; which++) {
    pairs p = a_set(which);
    nay_params params = params_of(5, 3);
    nay_filter *whole = build(&params, &p), *map;
    for (unsigned i = 0; i < 10; i++) {
      params.threads = i % 3;
      assert_ok(build_from(&params, &p, i >= 5, groups[i % 5], NULL, &map));
      assert_same(whole, map);
      nay_filter_free(map);
    }
    assert_all(whole, &p);
    nay_filter_free(whole);
    pairs_free(&p);
  }
}

/* The first pair that is wrong, in the order of the pairs, wherever its hash is. */
static void conflicts_are_named(void **state) {
  (void)state;
  for (unsigned how = 0; how < 4; how++) {
    pairs p = pairs_of(5000, 5, 3);
    for (size_t i = 0; i < 2000; i++) { /* duplicates, and of some another value */
      p.hashes[p.n] = p.hashes[i * 11 % 5000];
      p.values[p.n] = p.values[i * 11 % 5000] ^ (i == 777 || i == 1200 || i == 1999);
      p.n++;
    }
    for (unsigned wide = 0; wide < 2; wide++) {
      nay_params params = params_of(5, 0);
      nay_filter *map = NULL;
      nay_diag diag = {0};
      if (wide) p.values[6500] = p.values[6400] = 32;
      assert_status(build_from(&params, &p, how % 2 != 0, how < 2 ? 100 : UINT64_MAX, &diag, &map),
                    NAY_EINVAL);
      assert_int_equal(diag.offset, wide ? 6400 : 5777);
      assert_null(map);
    }
    pairs_free(&p);
  }
}

/* ---- memory ---- */

static void memory_is_that_of_a_group(void **state) {
  (void)state;
  size_t peaks[2], payload = 0;
  pairs p = pairs_of(1000000, 8, 5);
  nay_map_run run = {p.hashes, p.values, p.n};
  nay_params params = params_of(8, 0);
  nay_hash_fn hasher = {.kind = NAY_HASH_CALLER};
  for (unsigned low = 0; low < 2; low++) {
    flaky heap = {.fail_at = -1};
    nay_allocator a = flaky_allocator(&heap);
    nay_map_source source = {.runs = &run, .nruns = 1, .n = p.n};
    source.group_keys = low ? 140000 : UINT64_MAX; /* one part of eight */
    nay_filter *map;
    assert_ok(nay__map_build(&params, &hasher, &source, &a, NULL, &map));
    payload = map->nbytes;
    nay_filter_free(map);
    assert_true(flaky_is_clean(&heap));
    peaks[low] = heap.peak - payload;
  }
  assert_true(peaks[0] > 16 * p.n);
  /* 16 bytes for each pair of a group, 0.8 for each that may be bumped, 9 MB for a part */
  assert_true(peaks[1] < 16 * 140000 + p.n + (9u << 20));
  pairs_free(&p);
}

/* ---- the builder ---- */

static void add_all(nay_builder *b, const pairs *p, size_t from) {
  for (size_t i = from; i < p->n; i++) {
    assert_ok(nay_builder_add_value_hash(b, (nay_hash){p->hashes[i], 0}, p->values[i]));
  }
}

/* It can be used again, and loses nothing when memory runs out at the end. */
static void a_failed_finish_loses_nothing(void **state) {
  (void)state;
  pairs p = pairs_of(9000, 6, 1);
  memcpy(p.hashes + p.n, p.hashes, 80), memcpy(p.values + p.n, p.values, 80);
  p.n += 10;
  nay_params params = params_of(6, 3);
  nay_filter *whole = build(&params, &p), *map = NULL;
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_builder *b;
  params.flags = NAY_LOW_MEMORY;
  assert_ok(nay_builder_new(&params, &a, NULL, &b));
  add_all(b, &p, 0);
  for (long n = 0;; n++) {
    heap.fail_at = heap.calls + n;
    nay_status status = nay_builder_finish(b, NULL, &map);
    if (status == NAY_OK) break;
    assert_int_equal(status, NAY_ENOMEM);
    assert_null(map);
    assert_int_equal(nay_builder_nkeys(b), p.n);
    assert_true(n < 50);
  }
  heap.fail_at = -1;
  assert_same(whole, map);
  assert_int_equal(map->flags & NAY_LOW_MEMORY, 0);
  nay_filter_free(map);
  assert_int_equal(nay_builder_nkeys(b), 0);
  add_all(b, &p, 0); /* the same again */
  assert_ok(nay_builder_finish(b, NULL, &map));
  assert_same(whole, map);
  nay_filter_free(map);
  nay_builder_free(b);
  assert_true(flaky_is_clean(&heap));
  nay_filter_free(whole);
  pairs_free(&p);
}

/* A file that cannot grow: the pair is not added, the others stay, and it can be added later. */
static void a_full_disk_loses_nothing(void **state) {
  (void)state;
  pairs p = pairs_of(20000, 6, 1);
  for (size_t i = 0; i < p.n; i++) p.hashes[i] >>= 8; /* one bucket: eight chunks */
  nay_params params = params_of(6, 0);
  nay_filter *whole = build(&params, &p), *map;
  nay_builder *b;
  params.flags = NAY_LOW_MEMORY;
  assert_ok(nay_builder_new(&params, NULL, NULL, &b));
  struct rlimit before, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  small = (struct rlimit){3 * 65536, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  nay_status status = NAY_OK;
  size_t i = 0;
  while (status == NAY_OK && i < p.n) {
    status = nay_builder_add_value_hash(b, (nay_hash){p.hashes[i], 0}, p.values[i]);
    i += status == NAY_OK;
  }
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  assert_status(status, NAY_EIO);
  assert_true(i > 8192 && i < p.n);
  assert_int_equal(nay_builder_nkeys(b), i);
  add_all(b, &p, i);
  assert_ok(nay_builder_finish(b, NULL, &map));
  assert_same(whole, map);
  nay_filter_free(map);
  nay_builder_free(b);
  nay_filter_free(whole);
  pairs_free(&p);
}

static void spill_dir_is_used(void **state) {
  (void)state;
  char directory[TEMP_MAX];
  temp_path(directory, "spill");
  nay_params params = params_of(6, 0);
  nay_builder *b = NULL;
  nay_diag diag = {0};
  params.spill_dir = directory;
  assert_ok(nay_builder_new(&params, NULL, NULL, &b)); /* not without the flag */
  nay_builder_free(b);
  b = NULL;
  params.flags = NAY_LOW_MEMORY;
  assert_status(nay_builder_new(&params, NULL, &diag, &b), NAY_EIO);
  assert_int_equal(diag.os_error, ENOENT);
  assert_null(b);
  assert_int_equal(mkdir(directory, 0700), 0);
  assert_ok(nay_builder_new(&params, NULL, NULL, &b));
  assert_int_equal(rmdir(directory), 0); /* its file has no name */
  nay_builder_free(b);
}

int main(void) {
  const test_case tests[] = {
      TEST(groups_leave_no_trace),     TEST(conflicts_are_named),
      TEST(memory_is_that_of_a_group), TEST(a_failed_finish_loses_nothing),
      TEST(a_full_disk_loses_nothing), TEST(spill_dir_is_used),
  };
  return run_all(tests);
}

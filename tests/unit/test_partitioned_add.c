/*
 * test_partitioned_add.c - a partitioned add to a filter larger than the LLC writes the same bytes
 * as adding the hashes one by one.
 *
 * With an argument: so many blocks (the long run has more than 1,024 partitions of 256 KiB).
 */
#include <pthread.h>

#include "build/bulk_strategy.h"

#include "support/flaky.h"
#include "support/keys.h"
#include "support/test.h"

static nay_kind kind;
static uint64_t nblocks = (32u << 20) / 64 + 37; /* the last partition is a small one */
static size_t n;
static uint64_t *hashes;
static nay_filter *expected;

/* The array of a bloom may end anywhere. */
static unsigned odd_bits(void) { return kind == NAY_BLOOM ? 77 : 0; }

static nay_params params(uint32_t threads) {
  return (nay_params){.size = sizeof(nay_params),
                      .kind = kind,
                      .nkeys = n,
                      .nbits = nblocks * 512 - odd_bits(),
                      .k = 7,
                      .threads = threads};
}

/* Duplicates, both ends, and a skew that fills the same queues again and again. */
static void make_hashes(void) {
  for (size_t i = 0; i < n; i++) {
    hashes[i] = nay_hash_mix(i % (n - n / 16));
    if (i % 11 == 0) hashes[i] >>= 12;
    if (i % 13 == 0) hashes[i] |= 0xfffull << 52;
  }
  hashes[1] = 0;
  hashes[2] = UINT64_MAX;
}

static int set_up(void **state) {
  (void)state;
  n = 4 * nblocks + 1001;
  hashes = malloc(n * sizeof *hashes);
  assert_non_null(hashes);
  make_hashes();
  nay_params p = params(1);
  assert_ok(nay_filter_new(&p, NULL, NULL, &expected));
  for (size_t i = 0; i < n; i++)
    assert_ok(nay_filter_add_hash(expected, (nay_hash){hashes[i], 0}, NULL));
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  nay_filter_free(expected);
  free(hashes);
  return 0;
}

static void assert_expected(nay_filter *f) {
  assert_int_equal(f->nbytes, expected->nbytes);
  assert_memory_equal(f->bits.bytes, expected->bits.bytes, f->nbytes);
  nay_filter_free(f);
}

/* Queues are half as large as the filter: the peak tells whether there were any. */
static void assert_partitioned(const flaky *heap, bool partitioned) {
  assert_int_equal(heap->peak > nblocks * 64 * 5 / 4, partitioned);
}

static bool chosen(size_t nhashes, const uint64_t *sample, size_t nsample) {
  return nay__bulk_strategy(expected, nhashes, sample, nsample, 1).partitioned;
}

static void the_strategy(void **state) {
  (void)state;
  assert_true(chosen(n, hashes, n));
  assert_true(chosen(n, NULL, 0));          /* keys that are not hashed yet */
  assert_false(chosen(4096, hashes, 4096)); /* too few for reading every line */
  const uint64_t ascending[3] = {1, 1, 7};
  assert_false(chosen(n, ascending, 3));
}

static void by_threads(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 3; threads++) {
    flaky heap = {.fail_at = -1};
    nay_allocator a = flaky_allocator(&heap);
    nay_params p = params(threads);
    nay_filter *f;
    assert_ok(nay_filter_build(&p, hashes, n, &a, NULL, &f));
    assert_partitioned(&heap, true);
    assert_expected(f);
    assert_true(flaky_is_clean(&heap));
  }
}

/* No memory for the queues, or for the partitioner: the keys are added in the order of the input.
 */
static void without_memory(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 2; threads++) {
    for (long at = 2; at <= 3; at++) { /* after the handle and the payload */
      flaky heap = {.fail_at = at};
      nay_allocator a = flaky_allocator(&heap);
      nay_params p = params(threads);
      nay_filter *f;
      assert_ok(nay_filter_build(&p, hashes, n, &a, NULL, &f));
      assert_true(heap.calls > at);
      assert_partitioned(&heap, false);
      assert_expected(f);
      assert_true(flaky_is_clean(&heap));
    }
  }
}

static void by_a_builder(void **state) {
  (void)state;
  for (unsigned low = 0; low < 2; low++) {
    flaky heap = {.fail_at = -1};
    nay_allocator a = flaky_allocator(&heap);
    nay_params p = params(1);
    p.flags = low ? NAY_LOW_MEMORY : 0;
    nay_builder *b;
    nay_filter *f;
    assert_ok(nay_builder_new(&p, &a, NULL, &b));
    for (size_t i = 0; i < n; i++) assert_ok(nay_builder_add_hash(b, (nay_hash){hashes[i], 0}));
    assert_int_equal(nay_builder_nkeys(b), n);
    assert_ok(nay_builder_finish(b, NULL, &f));
    assert_partitioned(&heap, !low);
    assert_expected(f);
    /* abandoned halfway, with queues that hold something */
    for (size_t i = 0; i < 10000; i++) assert_ok(nay_builder_add_hash(b, (nay_hash){hashes[i], 0}));
    nay_builder_free(b);
    assert_true(flaky_is_clean(&heap));
  }
}

/* To a filter that has keys already, in two calls; a batch that asks which keys are new is not
 * partitioned. */
static void in_batches(void **state) {
  (void)state;
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_params p = params(1);
  nay_filter *f;
  uint64_t is_new[1];
  assert_ok(nay_filter_new(&p, &a, NULL, &f));
  assert_ok(nay_filter_add_hash_many(f, hashes + n - 64, NULL, 64, is_new, NULL));
  assert_ok(nay_filter_add_hash_many(f, hashes, NULL, 1000, NULL, NULL));
  assert_partitioned(&heap, false);
  assert_ok(nay_filter_add_hash_many(f, hashes, NULL, n, NULL, NULL));
  assert_partitioned(&heap, true);
  assert_expected(f);
  assert_true(flaky_is_clean(&heap));
}

/* Keys, hashed by the add. */
static void keys_in_batches(void **state) {
  (void)state;
  size_t *offsets = malloc((n + 1) * sizeof *offsets);
  assert_non_null(offsets);
  for (size_t i = 0; i <= n; i++) offsets[i] = 8 * i - (i % 3 == 1); /* 7, 8 and 9 bytes */
  nay_params p = params(1);
  nay_filter *f, *g;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  assert_ok(nay_filter_new(&p, NULL, NULL, &g));
  const uint8_t *bytes = (const uint8_t *)hashes;
  nay_column column = column_of(bytes, offsets, n);
  assert_ok(nay_filter_add_column(f, &column, n, NULL, NULL));
  for (size_t i = 0; i < n; i++) {
    assert_ok(nay_filter_add(g, bytes + offsets[i], offsets[i + 1] - offsets[i], NULL));
  }
  assert_memory_equal(f->bits.bytes, g->bits.bytes, f->nbytes);
  nay_filter_free(f);
  nay_filter_free(g);
  free(offsets);
}

/* ---- several threads and one filter ---- */

typedef struct sharer {
  nay_filter *f;
  size_t from, to, batch;
  pthread_t thread;
  nay_status status;
} sharer;

static void *share(void *arg) {
  sharer *s = arg;
  for (size_t i = s->from; i < s->to && s->status == NAY_OK; i += s->batch) {
    size_t some = s->to - i < s->batch ? s->to - i : s->batch;
    s->status = nay_filter_add_hash_many(s->f, hashes + i, NULL, some, NULL, NULL);
  }
  return NULL;
}

/* One thread's batch is partitioned, the others' go by regions and by stripes. */
static void beside_other_adders(void **state) {
  (void)state;
  nay_params p = params(1);
  p.flags = NAY_CONCURRENT;
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  size_t small = n / 64;
  sharer sharers[4] = {{f, 0, n, n, 0, 0}, /* all keys: enough for every line */
                       {f, n - 16 * small, n, 5000, 0, 0},
                       {f, 0, 2 * small, 64, 0, 0},
                       {f, n / 2, n / 2 + small, 1, 0, 0}};
  for (unsigned i = 0; i < 4; i++) {
    assert_int_equal(pthread_create(&sharers[i].thread, NULL, share, &sharers[i]), 0);
  }
  for (unsigned i = 0; i < 4; i++) {
    pthread_join(sharers[i].thread, NULL);
    assert_ok(sharers[i].status);
  }
  assert_expected(f);
}

int main(int argc, char **argv) {
  if (argc > 1) nblocks = strtoull(argv[1], NULL, 10);
  const test_case tests[] = {TEST(the_strategy),       TEST(by_threads), TEST(without_memory),
                             TEST(by_a_builder),       TEST(in_batches), TEST(keys_in_batches),
                             TEST(beside_other_adders)};
  kind = NAY_BLOCKED;
  int failed =
      cmocka_run_group_tests_name("test_partitioned_add.c blocked", tests, set_up, tear_down);
  kind = NAY_BLOOM;
  return failed +
         cmocka_run_group_tests_name("test_partitioned_add.c bloom", tests, set_up, tear_down);
}

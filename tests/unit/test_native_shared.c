/*
 * test_native_shared.c - threads and files: a filter is written while others add to it (every file
 * is a good one, and has all keys whose add had returned before); a lazy map is verified by many
 * threads at once.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "format/native.h"
#include "support/native.h"
#include "support/test.h"

#define THREADS 2u
#define ROUNDS 40u

typedef struct adder {
  nay_filter *filter;
  unsigned number;
  atomic_bool *stop;
  _Atomic uint64_t added;
} adder;

static nay_hash adder_hash(unsigned number, uint64_t i) {
  return (nay_hash){nay_hash_mix((uint64_t)number << 32 | i), 0};
}

static void *adder_run(void *state) {
  adder *a = state;
  for (uint64_t i = 0; i < 2000000 && !atomic_load(a->stop); i++) {
    if (nay_filter_add_hash(a->filter, adder_hash(a->number, i), NULL) != NAY_OK) break;
    atomic_store(&a->added, i + 1);
  }
  return NULL;
}

static void files_while_threads_add(void **state) {
  nay_params params = {
      .size = sizeof params, .kind = *(const nay_kind *)*state, .nbits = 512 * 2048, .k = 6};
  params.flags = NAY_CONCURRENT;
  nay_filter *f;
  atomic_bool stop = false;
  adder adders[THREADS];
  pthread_t threads[THREADS];
  assert_ok(nay_filter_new(&params, NULL, NULL, &f));
  for (unsigned t = 0; t < THREADS; t++) {
    adders[t] = (adder){f, t, &stop, 0};
    assert_int_equal(pthread_create(&threads[t], NULL, adder_run, &adders[t]), 0);
  }
  while (atomic_load(&adders[0].added) == 0) sched_yield(); /* a busy machine starts it late */
  for (unsigned round = 0; round < ROUNDS; round++) {
    uint64_t before[THREADS];
    size_t len;
    nay_view view = {.size = sizeof view};
    for (unsigned t = 0; t < THREADS; t++) before[t] = atomic_load(&adders[t].added);
    uint8_t *p = native_encode(f, &len);
    assert_ok(nay_view_open(p, len, NULL, NULL, &view));
    for (unsigned t = 0; t < THREADS; t++) {
      for (uint64_t i = 0; i < before[t]; i += 1 + before[t] / 1000) {
        assert_true(nay_filter_may_contain_hash(nay_view_filter(&view), adder_hash(t, i)));
      }
    }
    free(p);
  }
  atomic_store(&stop, true);
  for (unsigned t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
  nay_filter_free(f);
}

static void *prober_run(void *state) { return native_members_ok(state, 2000) ? state : NULL; }

/* All threads begin with chunks that are not verified yet; one chunk is damaged. */
static void lazy_chunks_from_many_threads(void **state) {
  (void)state;
  nay_params params = {sizeof params, .kind = NAY_BLOCKED, .nbits = 512 * 8192, .k = 6};
  size_t len;
  uint8_t *p = native_sample(&params, 2000, &len);
  p[len / 2] ^= 1;
  for (unsigned round = 0; round < 20; round++) {
    nay_filter *f = malloc(sizeof *f);
    *f = (nay_filter){.allocator = nay__allocator_default(), .flags = NAY_IS_READ_ONLY};
    assert_ok(nay__native_parse(p, len, NAY_VERIFY_AT_TOUCH, NULL, f));
    pthread_t threads[4];
    for (unsigned t = 0; t < 4; t++) {
      assert_int_equal(pthread_create(&threads[t], NULL, prober_run, f), 0);
    }
    for (unsigned t = 0; t < 4; t++) {
      void *good;
      pthread_join(threads[t], &good);
      assert_ptr_equal(good, f);
    }
    assert_status(nay_filter_health(f), NAY_ECORRUPT);
    nay_filter_free(f);
  }
  free(p);
}

int main(void) {
  static const nay_kind bloom = NAY_BLOOM, blocked = NAY_BLOCKED;
  const test_case tests[] = {
      TEST_WITH("files_while_threads_add bloom", files_while_threads_add, &bloom),
      TEST_WITH("files_while_threads_add blocked", files_while_threads_add, &blocked),
      TEST(lazy_chunks_from_many_threads),
  };
  return run_all(tests);
}

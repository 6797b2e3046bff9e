/*
 * test_test_and_add.c - 32 threads add the same keys at the same time: one winner each.
 * Readers run beside them, and the bytes at the end are those that one thread would have made.
 */
#define _POSIX_C_SOURCE 200809L /* barriers */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "support/mutable.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLOW 1
#endif
#endif
#ifdef SLOW
enum { NTHREADS = 32, NKEYS = 3000 };
#else
enum { NTHREADS = 32, NKEYS = 20000 };
#endif

typedef struct race {
  nay_filter *f;
  pthread_barrier_t start;
  atomic_uchar winners[NKEYS];
  atomic_uchar added[NKEYS]; /* 1 once an add of the key has returned */
  atomic_bool done;
  atomic_int next;
  atomic_uint false_nays;
  bool batches;
} race;

/* All threads go through the keys in the same order, so that they meet. */
static void *adder(void *arg) {
  race *r = arg;
  pthread_barrier_wait(&r->start);
  if (r->batches) {
    for (uint64_t i = 0; i < NKEYS; i += 64) {
      uint64_t hashes[64], bitmap;
      unsigned n = NKEYS - i < 64 ? (unsigned)(NKEYS - i) : 64;
      for (unsigned j = 0; j < n; j++) hashes[j] = hash_of(i + j).lo;
      if (nay_filter_add_hash_many(r->f, hashes, NULL, n, &bitmap, NULL) != NAY_OK) return arg;
      for (unsigned j = 0; j < n; j++) {
        if ((bitmap >> j & 1) != 0) atomic_fetch_add(&r->winners[i + j], 1);
        atomic_store(&r->added[i + j], 1);
      }
    }
    return NULL;
  }
  for (uint64_t i = 0; i < NKEYS; i++) {
    bool is_new;
    if (nay_filter_add_hash(r->f, hash_of(i), &is_new) != NAY_OK) return arg;
    if (is_new) atomic_fetch_add(&r->winners[i], 1);
    atomic_store(&r->added[i], 1);
  }
  return NULL;
}

/*
 * Two threads that wait for each other before every key, so that their adds fall into the same few
 * nanoseconds: without the locks this finds two winners soon.
 */
static void *duellist(void *arg) {
  race *r = arg;
  pthread_barrier_wait(&r->start);
  for (uint64_t i = 0; i < NKEYS; i++) {
    atomic_fetch_add(&r->next, 1);
    for (unsigned spins = 0; atomic_load(&r->next) < 2 * (int)(i + 1); spins++) {
      if (spins > 2000) sched_yield(); /* the other has lost its processor */
    }
    bool is_new;
    if (nay_filter_add_hash(r->f, hash_of(i), &is_new) != NAY_OK) return arg;
    if (is_new) atomic_fetch_add(&r->winners[i], 1);
  }
  return NULL;
}

/* What has been added is maybe, at once and for ever. */
static void *reader(void *arg) {
  race *r = arg;
  pthread_barrier_wait(&r->start);
  for (uint64_t i = 0; !atomic_load(&r->done); i = (i + 7919) % NKEYS) {
    bool known = atomic_load(&r->added[i]) != 0;
    if (!nay_filter_may_contain_hash(r->f, hash_of(i)) && known) {
      atomic_fetch_add(&r->false_nays, 1);
    }
  }
  return NULL;
}

static void run_race(race *r) {
  pthread_t adders[NTHREADS], readers[2];
  assert_int_equal(pthread_barrier_init(&r->start, NULL, NTHREADS + 2), 0);
  for (unsigned i = 0; i < 2; i++)
    assert_int_equal(pthread_create(&readers[i], NULL, reader, r), 0);
  for (unsigned i = 0; i < NTHREADS; i++) {
    assert_int_equal(pthread_create(&adders[i], NULL, adder, r), 0);
  }
  for (unsigned i = 0; i < NTHREADS; i++) {
    void *failed;
    pthread_join(adders[i], &failed);
    assert_null(failed);
  }
  atomic_store(&r->done, true);
  for (unsigned i = 0; i < 2; i++) pthread_join(readers[i], NULL);
  pthread_barrier_destroy(&r->start);
}

static nay_filter *make_shared(nay_kind kind, uint32_t flags) {
  nay_params p = {.size = sizeof p,
                  .kind = kind,
                  .nkeys = NKEYS,
                  .fpr = 0.001,
                  .flags = flags,
                  .hash = NAY_HASH_CALLER};
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  return f;
}

/* Never two winners; one, unless the key was a maybe before: those are about fpr of them. */
static void check_winners(race *r) {
  unsigned none = 0;
  for (unsigned i = 0; i < NKEYS; i++) {
    unsigned won = atomic_load(&r->winners[i]);
    if (won > 1) fail_msg("key %u has %u winners", i, won);
    none += won == 0;
  }
  assert_true(none < NKEYS / 50);
  assert_int_equal(atomic_load(&r->false_nays), 0);
}

static void one_winner(nay_kind kind, bool batches) {
  static race r;
  memset(&r, 0, sizeof r);
  r.batches = batches;
  r.f = make_shared(kind, NAY_CONCURRENT);
  run_race(&r);
  check_winners(&r);
  nay_filter *alone = make_shared(kind, 0);
  unsigned times = kind == NAY_COUNTING ? NTHREADS : 1;
  for (unsigned t = 0; t < times; t++) {
    for (uint64_t i = 0; i < NKEYS; i++) assert_ok(nay_filter_add_hash(alone, hash_of(i), NULL));
  }
  /* a full pool may stick other groups in another order: counting is compared where none does */
  if (kind != NAY_COUNTING) assert_true(same_bytes(r.f, alone));
  reload(&r.f); /* runs every check of the family */
  for (uint64_t i = 0; i < NKEYS; i++) {
    assert_true(nay_filter_may_contain_hash(r.f, hash_of(i)));
  }
  nay_filter_free(alone);
  nay_filter_free(r.f);
}

static void duel(nay_kind kind, uint32_t flags) {
  static race r;
  memset(&r, 0, sizeof r);
  r.f = make_shared(kind, NAY_CONCURRENT | flags);
  pthread_t threads[2];
  assert_int_equal(pthread_barrier_init(&r.start, NULL, 2), 0);
  for (unsigned i = 0; i < 2; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, duellist, &r), 0);
  }
  for (unsigned i = 0; i < 2; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  pthread_barrier_destroy(&r.start);
  check_winners(&r);
  nay_filter_free(r.f);
}

static void duels_have_one_winner(void **state) {
  (void)state;
  duel(NAY_BLOCKED, 0);
  duel(NAY_BLOOM, 0);
  duel(NAY_COUNTING, 0);
  duel(NAY_COUNTING, NAY_UNIQUE);
}

static void blocked_has_one_winner(void **state) {
  (void)state;
  one_winner(NAY_BLOCKED, false);
  one_winner(NAY_BLOCKED, true);
}

static void bloom_has_one_winner(void **state) {
  (void)state;
  one_winner(NAY_BLOOM, false);
  one_winner(NAY_BLOOM, true);
}

static void counting_has_one_winner(void **state) {
  (void)state;
  one_winner(NAY_COUNTING, false);
  one_winner(NAY_COUNTING, true);
}

/* Unique counting: 32 adds of each key count once, and the bytes are those of one thread. */
static void unique_counting_counts_once(void **state) {
  (void)state;
  static race r;
  memset(&r, 0, sizeof r);
  r.f = make_shared(NAY_COUNTING, NAY_CONCURRENT | NAY_UNIQUE);
  run_race(&r);
  check_winners(&r);
  for (uint64_t i = 0; i < NKEYS; i++) {
    if (atomic_load(&r.winners[i]) == 1) assert_ok(nay_filter_remove_hash(r.f, hash_of(i)));
  }
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_filter_stats(r.f, &s));
  assert_int_equal(s.nbits_set, 0);
  nay_filter_free(r.f);
}

/* Threads that add and remove keys of their own: at the end the filter is as empty as it was. */
static void *churner(void *arg) {
  race *r = arg;
  uint64_t base = (uint64_t)atomic_fetch_add(&r->next, 1) << 32;
  pthread_barrier_wait(&r->start);
  for (unsigned round = 0; round < 20; round++) {
    for (uint64_t i = 0; i < 20; i++) {
      if (nay_filter_add_hash(r->f, hash_of(base + i), NULL) != NAY_OK) return arg;
    }
    for (uint64_t i = 0; i < 20; i++) {
      if (!nay_filter_may_contain_hash(r->f, hash_of(base + i))) return arg;
      if (nay_filter_remove_hash(r->f, hash_of(base + i)) != NAY_OK) return arg;
    }
  }
  return NULL;
}

static void counting_removes_beside_adds(void **state) {
  (void)state;
  static race r;
  memset(&r, 0, sizeof r);
  r.f = make_shared(NAY_COUNTING, NAY_CONCURRENT);
  nay_filter *empty = make_shared(NAY_COUNTING, 0);
  pthread_t threads[NTHREADS];
  assert_int_equal(pthread_barrier_init(&r.start, NULL, NTHREADS), 0);
  for (unsigned i = 0; i < NTHREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, churner, &r), 0);
  }
  for (unsigned i = 0; i < NTHREADS; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  pthread_barrier_destroy(&r.start);
  assert_true(same_bytes(r.f, empty));
  nay_filter_free(r.f);
  nay_filter_free(empty);
}

/* A copy taken beside adds and removes is a filter in its own right: every check holds. */
static void *copier(void *arg) {
  race *r = arg;
  pthread_barrier_wait(&r->start);
  for (unsigned i = 0; i < 20; i++) {
    nay_filter *copy;
    if (nay_filter_copy(r->f, NULL, NULL, &copy) != NAY_OK) return arg;
    nay_status status = copy->family->check(&copy->shape, copy->bits.bytes, copy->nbytes, NULL);
    nay_filter_free(copy);
    if (status != NAY_OK) return arg;
  }
  return NULL;
}

static void counting_copies_beside_adds(void **state) {
  (void)state;
  static race r;
  memset(&r, 0, sizeof r);
  r.f = make_shared(NAY_COUNTING, NAY_CONCURRENT);
  pthread_t threads[4];
  assert_int_equal(pthread_barrier_init(&r.start, NULL, 4), 0);
  for (unsigned i = 0; i < 4; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, i == 0 ? copier : churner, &r), 0);
  }
  for (unsigned i = 0; i < 4; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  pthread_barrier_destroy(&r.start);
  nay_filter_free(r.f);
}

static void locks_of_shared_filters(void **state) {
  (void)state;
  nay_filter *f = make_shared(NAY_COUNTING, NAY_CONCURRENT), *w;
  assert_non_null(f->locks);
  assert_ok(nay_filter_add_hash(f, hash_of(1), NULL));
  assert_ok(
      nay_filter_copy(f, NULL, NULL, &w)); /* a copy is shared as well, with locks of its own */
  assert_true(w->locks != NULL && w->locks != f->locks);
  nay_filter_free(f);
  nay_filter_free(w);
}

int main(void) {
  const test_case tests[] = {
      TEST(duels_have_one_winner),       TEST(blocked_has_one_winner),
      TEST(bloom_has_one_winner),        TEST(counting_has_one_winner),
      TEST(unique_counting_counts_once), TEST(counting_removes_beside_adds),
      TEST(counting_copies_beside_adds), TEST(locks_of_shared_filters),
  };
  return run_all(tests);
}

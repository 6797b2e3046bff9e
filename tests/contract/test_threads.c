/*
 * test_threads.c - many threads on one filter: readers of a const one, adders with NAY_CONCURRENT
 * beside readers and explanations, a lazily mapped one that all verify at once. Also run under
 * ThreadSanitizer.
 */
#include <pthread.h>

#include "contract.h"
#include "nay_explain.h"
#include "support/hashes.h"

#define RANDOM (&key_sets[3])
#define NTHREADS 4u
#define NKEYS ((uint64_t)TEST_SCALE(100000))
#define NMAPPED 200000u /* enough for several chunks of 64 KiB */

typedef struct worker {
  nay_filter *adds;         /* adds its share of the keys here, if not NULL */
  const nay_filter *reads;  /* probes every key here, if not NULL */
  const nay_filter *oracle; /* and expects these answers; NULL: that keys are in */
  uint64_t first, n;        /* the share */
  uint64_t step;            /* when it reads: every step-th key; 0: every one */
  bool in_batches;
  bool explains; /* when it reads: explains instead of probing */
  uint64_t wrong;
  nay_status status;
} worker;

static void worker_add(worker *w) {
  uint8_t key[KEY_MAX];
  uint64_t lo[64];
  for (uint64_t i = 0; i < w->n && w->status == NAY_OK; i++) {
    size_t len = RANDOM->make(w->first + i, key);
    if (!w->in_batches) {
      bool is_new;
      w->status = nay_filter_add(w->adds, key, len, &is_new);
      continue;
    }
    nay_hash h;
    uint64_t bitmap[1];
    w->status = filter_hash(w->adds, key, len, &h);
    lo[i % 64] = h.lo;
    if (w->status == NAY_OK && (i % 64 == 63 || i + 1 == w->n)) {
      w->status = nay_filter_add_hash_many(w->adds, lo, NULL, i % 64 + 1, bitmap, NULL);
    }
  }
}

/* The explained answer follows from its steps, also while other threads change bits. */
static bool worker_explain(worker *w, uint64_t i) {
  uint8_t key[KEY_MAX];
  nay_explanation why = {.size = sizeof why};
  w->status = nay_filter_explain(w->reads, key, RANDOM->make(i, key), NULL, NULL, &why);
  w->wrong += why.nsteps == 0 || (why.nfailed == 0 && !why.maybe);
  return why.maybe;
}

static void *worker_run(void *arg) {
  worker *w = arg;
  if (w->adds != NULL) {
    worker_add(w);
    for (uint64_t i = 0; i < w->n; i++) { /* what this thread added is in, whatever others do */
      w->wrong += !contract_has(w->adds, RANDOM, w->first + i);
    }
  }
  if (w->reads != NULL) {
    for (uint64_t i = 0; i < w->n; i += w->step + (w->step == 0)) {
      bool maybe = w->explains ? worker_explain(w, w->first + i)
                               : contract_has(w->reads, RANDOM, w->first + i);
      if (w->oracle != NULL) w->wrong += maybe != contract_has(w->oracle, RANDOM, w->first + i);
    }
  }
  return NULL;
}

static void run_workers(worker *workers, size_t n) {
  pthread_t threads[16];
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, worker_run, &workers[i]), 0);
  }
  for (size_t i = 0; i < n; i++) pthread_join(threads[i], NULL);
  for (size_t i = 0; i < n; i++) {
    assert_ok(workers[i].status);
    assert_int_equal(workers[i].wrong, 0);
  }
}

static void readers_share_a_const_filter(void **state) {
  nay_filter *f = contract_filter(*state, NKEYS), *oracle;
  assert_ok(nay_filter_copy(f, NULL, NULL, &oracle));
  worker workers[NTHREADS];
  for (unsigned i = 0; i < NTHREADS; i++) {
    workers[i] = (worker){.reads = f, .oracle = oracle, .first = 0, .n = 2 * NKEYS};
    if (i == 0) workers[i].step = 16, workers[i].explains = true;
  }
  run_workers(workers, NTHREADS);
  nay_filter_free(f);
  nay_filter_free(oracle);
}

/* Four threads add, half of them in batches and all with some keys in common; two only read. */
static void concurrent_adds_lose_nothing(void **state) {
  nay_params p = contract_params(*state, NKEYS);
  nay_filter *serial = contract_new(&p);
  contract_add(serial, RANDOM, 0, NKEYS);
  p.flags = NAY_CONCURRENT;
  nay_filter *f = contract_new(&p);
  worker workers[NTHREADS + 2];
  uint64_t share = NKEYS / NTHREADS, more = share / 4;
  for (unsigned i = 0; i < NTHREADS; i++) {
    uint64_t first = i * share, n = i + 1 < NTHREADS ? share + more : NKEYS - first;
    workers[i] = (worker){.adds = f, .first = first, .n = n, .in_batches = i % 2 == 1};
  }
  workers[NTHREADS] = (worker){.reads = f, .first = 0, .n = NKEYS};
  workers[NTHREADS + 1] = (worker){.reads = f, .first = NKEYS / 2, .n = NKEYS};
  run_workers(workers, NTHREADS + 2);
  assert_all_maybe(f, RANDOM, 0, NKEYS);
  assert_true(filters_equal(f, serial)); /* the very bytes of one thread after another */
  nay_filter_free(f);
  nay_filter_free(serial);
}

/* ---- which keys are new, when several threads add the same ones in batches ---- */

typedef struct claimer {
  nay_filter *f;
  const uint64_t *hashes;
  size_t n, batch, first; /* it begins at `first` and goes round */
  uint8_t *claims;        /* 1 for each key that was new to it */
  nay_status status;
  pthread_t thread;
} claimer;

static void *claimer_run(void *arg) {
  claimer *c = arg;
  uint64_t bitmap[4096 / 64];
  for (size_t done = 0, n; done < c->n && c->status == NAY_OK; done += n) {
    size_t at = (c->first + done) % c->n;
    n = c->batch;
    if (n > c->n - at) n = c->n - at;
    if (n > c->n - done) n = c->n - done;
    c->status = nay_filter_add_hash_many(c->f, c->hashes + at, NULL, n, bitmap, NULL);
    for (size_t i = 0; i < n; i++) c->claims[at + i] = bitmap[i / 64] >> i % 64 & 1;
  }
  return NULL;
}

static void a_key_is_new_to_one_thread(void **state) {
  const nay_family *family = *state;
  const size_t batches[NTHREADS] = {4096, 1000, 513, 64};
  if (!family->concurrent) return;
  nay_params p = contract_params(family, NKEYS);
  p.flags = NAY_CONCURRENT;
  nay_filter *f = contract_new(&p);
  uint64_t *hashes = malloc(NKEYS * sizeof *hashes), nclaimed = 0;
  uint8_t *claims = calloc(NTHREADS, NKEYS);
  claimer claimers[NTHREADS];
  for (uint64_t i = 0; i < NKEYS; i++) hashes[i] = nay_hash_mix(i);
  for (unsigned i = 0; i < NTHREADS; i++) {
    claimers[i] = (claimer){f, hashes, NKEYS, batches[i], i * NKEYS / 64, claims + i * NKEYS, 0, 0};
    assert_int_equal(pthread_create(&claimers[i].thread, NULL, claimer_run, &claimers[i]), 0);
  }
  for (unsigned i = 0; i < NTHREADS; i++) {
    pthread_join(claimers[i].thread, NULL);
    assert_ok(claimers[i].status);
  }
  for (uint64_t i = 0; i < NKEYS; i++) {
    unsigned new_to = 0;
    for (unsigned t = 0; t < NTHREADS; t++) new_to += claims[t * NKEYS + i];
    assert_in_range(new_to, 0, 1);
    nclaimed += new_to;
    assert_true(nay_filter_may_contain_hash(f, (nay_hash){hashes[i], 0}));
  }
  assert_true(nclaimed > NKEYS - NKEYS / 50); /* the others were false positives */
  free(hashes);
  free(claims);
  nay_filter_free(f);
}

/* Two threads add and two explain, in each family that takes concurrent adds. */
static void explanations_beside_adds(void **state) {
  const nay_family *family = *state;
  if (!family->concurrent) return;
  nay_params p = contract_params(family, NKEYS);
  p.flags = NAY_CONCURRENT;
  nay_filter *f = contract_new(&p);
  worker workers[4];
  for (unsigned i = 0; i < 4; i++) {
    workers[i] = (worker){.first = i % 2 * NKEYS / 2, .n = NKEYS / 2, .step = 8};
    if (i < 2) workers[i].adds = f;
    if (i >= 2) workers[i].reads = f, workers[i].explains = true;
  }
  run_workers(workers, 4);
  assert_all_maybe(f, RANDOM, 0, NKEYS);
  nay_filter_free(f);
}

/* Nobody has touched the mapped file before: all threads verify the same chunks at once. */
static void readers_verify_a_lazy_map_together(void **state) {
  nay_filter *f = contract_filter(*state, NMAPPED);
  const char *path = saved(f, "lazy");
  for (unsigned round = 0; round < 3; round++) {
    nay_filter *lazy;
    worker workers[NTHREADS];
    assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &lazy));
    for (unsigned i = 0; i < NTHREADS; i++) {
      workers[i] = (worker){.reads = lazy, .oracle = f, .n = NMAPPED + NMAPPED / 2, .step = 11};
    }
    run_workers(workers, NTHREADS);
    assert_ok(nay_filter_health(lazy));
    nay_filter_free(lazy);
  }
  remove(path);
  nay_filter_free(f);
}

int main(void) {
  const contract_test tests[] = {
      CONTRACT(readers_share_a_const_filter, 0),
      CONTRACT_SETS(concurrent_adds_lose_nothing, 0),
      CONTRACT(a_key_is_new_to_one_thread, NAY_CAN_ADD),
      CONTRACT(explanations_beside_adds, NAY_CAN_ADD),
      CONTRACT(readers_verify_a_lazy_map_together, 0),
  };
  return contract_run_all(tests);
}

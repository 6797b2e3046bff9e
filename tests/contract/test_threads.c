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

/* ---- batches beside single adds, with and without a bitmap ---- */

typedef struct mixer {
  nay_filter *f;
  const uint64_t *hashes; /* all threads add all of these */
  size_t n, batch, first; /* in batches of so many, from `first` on and round */
  bool asks;              /* which keys are new */
  uint8_t *claims;        /* 1 for each key that was new to it */
  uint64_t lost;          /* keys that a probe after their add does not find */
  nay_status status;
  pthread_t thread;
} mixer;

static void *mixer_run(void *arg) {
  mixer *m = arg;
  uint64_t bitmap[4096 / 64];
  for (size_t done = 0, n; done < m->n && m->status == NAY_OK; done += n) {
    size_t at = (m->first + done) % m->n;
    n = m->batch;
    if (n > m->n - at) n = m->n - at;
    if (n > m->n - done) n = m->n - done;
    const uint64_t *lo = m->hashes + at;
    if (n == 1) {
      bool is_new;
      m->status = nay_filter_add_hash(m->f, (nay_hash){lo[0], 0}, &is_new);
      bitmap[0] = is_new;
    } else {
      m->status = nay_filter_add_hash_many(m->f, lo, NULL, n, m->asks ? bitmap : NULL, NULL);
    }
    for (size_t i = 0; i < n; i++) {
      if (m->asks) m->claims[at + i] = bitmap[i / 64] >> i % 64 & 1;
      m->lost += !nay_filter_may_contain_hash(m->f, (nay_hash){lo[i], 0});
    }
  }
  return NULL;
}

#define NMIXERS 6u

/* The keys fill `nkeys` of the filter; few of them make threads meet in every part of it. */
static void mix_adds(const nay_family *family, uint64_t nkeys) {
  const size_t batches[NMIXERS] = {4096, 1, 777, 1, 1000, 33};
  const bool asks[NMIXERS] = {false, true, false, true, true, false};
  nay_params p = contract_params(family, nkeys);
  nay_filter *serial = contract_new(&p);
  p.flags = NAY_CONCURRENT;
  nay_filter *f = contract_new(&p);
  uint64_t *hashes = malloc(nkeys * sizeof *hashes);
  uint8_t *claims = calloc(NMIXERS, nkeys);
  mixer mixers[NMIXERS];
  for (uint64_t i = 0; i < nkeys; i++) hashes[i] = nay_hash_mix(i);
  for (unsigned i = 0; i < NMIXERS; i++) {
    mixers[i] = (mixer){.f = f, .hashes = hashes, .n = nkeys, .batch = batches[i]};
    mixers[i].first = i * nkeys / 64;
    mixers[i].asks = asks[i];
    mixers[i].claims = claims + i * nkeys;
    assert_int_equal(pthread_create(&mixers[i].thread, NULL, mixer_run, &mixers[i]), 0);
  }
  for (unsigned i = 0; i < NMIXERS; i++) {
    pthread_join(mixers[i].thread, NULL);
    assert_ok(mixers[i].status);
    assert_int_equal(mixers[i].lost, 0);
    assert_ok(nay_filter_add_hash_many(serial, hashes, NULL, nkeys, NULL, NULL));
  }
  for (uint64_t i = 0; i < nkeys; i++) {
    unsigned new_to = 0;
    for (unsigned t = 0; t < NMIXERS; t++) new_to += claims[t * nkeys + i];
    assert_in_range(new_to, 0, 1);
  }
  if (contract_is_a_set(family)) assert_true(filters_equal(f, serial));
  free(hashes);
  free(claims);
  nay_filter_free(f);
  nay_filter_free(serial);
}

static void batches_beside_single_adds(void **state) {
  const nay_family *family = *state;
  if (!family->concurrent) return;
  for (unsigned round = 0; round < 20; round++) mix_adds(family, 50 + 150 * round);
  mix_adds(family, NKEYS);
}

/* ---- one thread: batches to a concurrent filter are those to a plain one ---- */

typedef struct pair {
  nay_filter *plain, *shared;
  uint64_t next; /* key */
} pair;

static pair pair_new(nay_params p) {
  pair both = {.next = 0};
  both.plain = contract_new(&p);
  p.flags = NAY_CONCURRENT;
  both.shared = contract_new(&p);
  return both;
}

/* n keys, of which one in eight was in the batch before; the last one is twice in this one. */
static void pair_add(pair *both, size_t n, bool asks) {
  uint64_t lo[5000], expected[5000 / 64 + 1], bitmap[5000 / 64 + 1];
  for (size_t i = 0; i < n; i++) lo[i] = nay_hash_mix(i % 8 == 7 ? both->next - 7 : both->next++);
  if (n > 1) lo[n - 1] = lo[n / 2];
  size_t taken;
  assert_ok(nay_filter_add_hash_many(both->plain, lo, NULL, n, asks ? expected : NULL, NULL));
  assert_ok(nay_filter_add_hash_many(both->shared, lo, NULL, n, asks ? bitmap : NULL, &taken));
  assert_int_equal(taken, n);
  uint64_t wrong = 0;
  for (size_t i = 0; asks && i < n; i++) wrong += (bitmap[i / 64] ^ expected[i / 64]) >> i % 64 & 1;
  for (size_t i = 0; i < n; i++)
    wrong += !nay_filter_may_contain_hash(both->shared, (nay_hash){lo[i], 0});
  assert_int_equal(wrong, 0);
}

static void pair_check(pair *both) {
  assert_true(filters_equal(both->plain, both->shared));
  nay_filter_free(both->plain);
  nay_filter_free(both->shared);
}

static void batches_of_every_size(void **state) {
  const nay_family *family = *state;
  if (!family->concurrent) return;
  pair both = pair_new(contract_params(family, 2000 * 2000));
  for (size_t n = 1; n <= TEST_SCALE(2000); n++) pair_add(&both, n, n % 3 == 0);
  pair_check(&both);
}

/* Sizes with one part and with many, whose last one is short; keys with more bits than a vector. */
static void batches_of_every_shape(void **state) {
  const nay_family *family = *state;
  const uint64_t sizes[] = {64, 512, 513, 4096, 4097, 100000, 1 << 20, ((uint64_t)1 << 26) + 777};
  const size_t batches[] = {1, 15, 16, 17, 63, 64, 65, 127, 145, 147, 1023, 1025, 4999};
  if (family->kind != NAY_BLOOM) return;
  for (uint32_t k = 1; k <= 64; k += k < 10 ? 1 : 9) {
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      for (int asks = 0; asks < 2; asks++) {
        nay_params p = {sizeof p, .kind = NAY_BLOOM, .nkeys = 1000, .nbits = sizes[s], .k = k};
        pair both = pair_new(p);
        for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++)
          pair_add(&both, batches[b], asks != 0);
        pair_check(&both);
      }
    }
  }
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
      CONTRACT(batches_beside_single_adds, NAY_CAN_ADD),
      CONTRACT(batches_of_every_size, NAY_CAN_ADD),
      CONTRACT(batches_of_every_shape, NAY_CAN_ADD),
      CONTRACT(explanations_beside_adds, NAY_CAN_ADD),
      CONTRACT(readers_verify_a_lazy_map_together, 0),
  };
  return contract_run_all(tests);
}

/*
 * test_leveldb_plugin.c - the plug-in inside the real LevelDB: present keys are found, absent ones
 * are filtered, policies change, readers share, allocations fail.
 */
#define _GNU_SOURCE 1
#include <pthread.h>

#include "database.h"
#include "engines_policy.h"
#include "support/keys.h"

#define N_KEYS TEST_SCALE(20000u)
#define N_READERS 4

static const nay_leveldb_mode modes[] = {NAY_LEVELDB_COMPATIBLE, NAY_LEVELDB_NAY};

static leveldb_filterpolicy_t *builtin(void) { return leveldb_filterpolicy_create_bloom(10); }

/*
 * All keys are there; most of the absent ones that a filter was asked about are nays. LevelDB's own
 * hash is weak for numbers in decimal: the odd ones, asked among the even ones that are there, give
 * it 11 % false positives where theory has 0.8, as the same bytes must. Ours has 0.8.
 */
static void check_contents(const database *d, policy_counts *c, bool filters_in_use) {
  assert_int_equal(database_found(d, 0, N_KEYS), N_KEYS);
  c->asked = c->nays = 0;
  assert_int_equal(database_found(d, 1, N_KEYS - 1), 0);
  if (!filters_in_use) {
    assert_int_equal(c->asked, 0);
    return;
  }
  double maybe = (double)(c->asked - c->nays) / (double)c->asked;
  assert_true(c->asked >= N_KEYS - 20); /* a key between two files probes no filter */
  assert_true(maybe <= (strcmp(c->inner.name, "nay.small.v1") == 0 ? 0.015 : 0.15));
}

static void keys_are_found_and_absent_ones_filtered(void **state) {
  const nay_leveldb_mode *mode = *state;
  directory f = directory_make();
  policy_counts c;
  database d = database_open(f.path, counted_policy(*mode, &c));
  database_fill(&d, N_KEYS);
  database_compact(&d);
  assert_true(c.created >= N_KEYS / 60); /* one for every 2 KiB, some 20 to 40 keys */
  check_contents(&d, &c, true);
  database_close(&d);

  d = database_open(f.path, counted_policy(*mode, &c)); /* again, from the disk */
  check_contents(&d, &c, true);
  database_fill(&d, N_KEYS); /* every key has a second version now */
  check_contents(&d, &c, true);
  database_close(&d);
  directory_remove(&f);
}

/* Compatible filters serve LevelDB's own policy, and its filters serve ours. */
static void compatible_means_compatible(void **state) {
  (void)state;
  directory f = directory_make();
  policy_counts c;
  database d = database_open(f.path, builtin());
  database_fill(&d, N_KEYS);
  database_compact(&d);
  database_close(&d);
  d = database_open(f.path, counted_policy(NAY_LEVELDB_COMPATIBLE, &c));
  check_contents(&d, &c, true);
  assert_int_equal(c.created, 0); /* all filters were LevelDB's */
  database_close(&d);
  directory_remove(&f);
}

/* Policies of another name are ignored until compaction; no key is lost on the way. */
static void policies_come_and_go(void **state) {
  (void)state;
  directory f = directory_make();
  policy_counts c;
  database d = database_open(f.path, builtin());
  database_fill(&d, N_KEYS);
  database_compact(&d);
  database_close(&d);

  d = database_open(f.path, counted_policy(NAY_LEVELDB_NAY, &c));
  check_contents(&d, &c, false);
  database_fill(&d, N_KEYS);
  database_compact(&d);
  check_contents(&d, &c, true);
  database_close(&d);

  for (unsigned i = 0; i < 3; i++) { /* without, with the built-in, with ours again */
    d = database_open(f.path, i == 0   ? NULL
                              : i == 1 ? builtin()
                                       : counted_policy(NAY_LEVELDB_NAY, &c));
    assert_int_equal(database_found(&d, 0, N_KEYS), N_KEYS);
    assert_int_equal(database_found(&d, 1, N_KEYS), 0);
    if (i == 2) check_contents(&d, &c, true);
    database_close(&d);
  }
  directory_remove(&f);
}

/* ---- many readers and a writer ---- */

typedef struct reader {
  const database *d;
  uint64_t found, wrongly_found;
} reader;

static void *reader_run(void *arg) {
  reader *r = arg;
  r->found = database_found(r->d, 0, N_KEYS);
  r->wrongly_found = database_found(r->d, 1, N_KEYS);
  return NULL;
}

static void readers_share_a_policy(void **state) {
  const nay_leveldb_mode *mode = *state;
  directory f = directory_make();
  policy_counts c;
  database d = database_open(f.path, counted_policy(*mode, &c));
  database_fill(&d, N_KEYS);
  database_compact(&d);
  pthread_t threads[N_READERS];
  reader readers[N_READERS];
  for (unsigned i = 0; i < N_READERS; i++) {
    readers[i] = (reader){&d, 0, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, reader_run, &readers[i]), 0);
  }
  database_fill(&d, N_KEYS); /* compactions make filters meanwhile */
  database_compact(&d);
  for (unsigned i = 0; i < N_READERS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(readers[i].found, N_KEYS);
    assert_int_equal(readers[i].wrongly_found, 0);
  }
  assert_true(c.created > 0 && c.asked > 0 && c.nays > 0);
  database_close(&d);
  directory_remove(&f);
}

/* ---- when a filter cannot be made ---- */

static nay_status failing_create(void *ctx, const void *const *keys, const size_t *lens, size_t n,
                                 const nay_allocator *a, uint8_t **filter, size_t *len) {
  policy_counts *c = ctx;
  if (c->created++ % 3 == 0) return NAY_ENOMEM;
  return c->inner.create(c->inner.ctx, keys, lens, n, a, filter, len);
}

/* A third of the filters could not be made: their keys are found all the same, by LevelDB too. */
static void want_of_memory_loses_no_key(void **state) {
  const nay_leveldb_mode *mode = *state;
  directory f = directory_make();
  policy_counts c = {.inner = {.size = sizeof c.inner}};
  assert_ok(nay_leveldb_mode_policy(*mode, 10, &c.inner));
  nay_policy failing = c.inner;
  failing.create = failing_create;
  failing.may_contain = counted_may_contain;
  failing.ctx = &c;
  database d = database_open(f.path, nay_leveldb_policy_of(&failing));
  database_fill(&d, N_KEYS);
  database_compact(&d);
  assert_int_equal(database_found(&d, 0, N_KEYS), N_KEYS);
  assert_int_equal(database_found(&d, 1, N_KEYS), 0);
  assert_true(c.nays > c.asked / 10 && c.nays < c.asked);
  database_close(&d);
  d = database_open(f.path, builtin());
  assert_int_equal(database_found(&d, 0, N_KEYS), N_KEYS);
  database_close(&d);
  directory_remove(&f);
}

static void nonsense_is_refused(void **state) {
  (void)state;
  assert_null(nay_leveldb_policy(NAY_LEVELDB_NAY, 0));
  assert_null(nay_leveldb_policy(NAY_LEVELDB_NAY, -1));
  assert_null(nay_leveldb_policy(NAY_LEVELDB_COMPATIBLE, 4097));
  assert_null(nay_leveldb_policy((nay_leveldb_mode)7, 10));
  assert_null(nay_leveldb_policy_of(NULL));
  assert_false(engine_policy_exists(NAY_LEVELDB_NAY, 0));
  assert_true(engine_policy_exists(NAY_LEVELDB_NAY, 10));
}

/* ---- from C++ ---- */

/* The class and the C policy make the same bytes, for sets on its stack and beyond. */
static void cxx_makes_the_same_filters(void **state) {
  const nay_leveldb_mode *mode = *state;
  nay_policy policy = {.size = sizeof policy};
  assert_ok(nay_leveldb_mode_policy(*mode, 10, &policy));
  for (size_t n = 0; n < 3000; n = n * 3 / 2 + 1) {
    uint8_t *bytes = malloc(n * KEY_MAX + 1), *filter;
    const void **keys = malloc((n + 1) * sizeof *keys);
    size_t *lens = malloc((n + 1) * sizeof *lens), len;
    for (size_t i = 0; i < n; i++) {
      keys[i] = bytes + i * KEY_MAX;
      lens[i] = key_random(i, bytes + i * KEY_MAX);
    }
    assert_ok(policy.create(policy.ctx, keys, lens, n, NULL, &filter, &len));
    assert_true(engine_policy_makes(*mode, 10, keys, lens, n, filter, len));
    free(filter);
    free(lens);
    free(keys);
    free(bytes);
  }
}

static void a_database_opened_from_cxx(void **state) {
  const nay_leveldb_mode *mode = *state;
  directory f = directory_make();
  assert_int_equal(engine_policy_database(f.path, *mode, 2000), 2000);
  directory_remove(&f);
}

#define BOTH(function)                                      \
  TEST_WITH(#function ", compatible", function, &modes[0]), \
      TEST_WITH(#function ", nay", function, &modes[1])

int main(void) {
  const test_case tests[] = {
      BOTH(keys_are_found_and_absent_ones_filtered),
      TEST(compatible_means_compatible),
      TEST(policies_come_and_go),
      BOTH(readers_share_a_policy),
      BOTH(want_of_memory_loses_no_key),
      TEST(nonsense_is_refused),
      BOTH(cxx_makes_the_same_filters),
      BOTH(a_database_opened_from_cxx),
  };
  return run_all(tests);
}

/*
 * test_sst_budget.c - one budget for data, filters and indexes: never exceeded, filters and indexes
 * before data, and the same answers whatever fits.
 */
#include <pthread.h>

#include "cache/block_cache.h"
#include "nay_sst_cache.h"
#include "nay_sst_compact.h"
#include "nay_sst_iter.h"
#include "nay_sst_lookup.h"
#include "support/flaky.h"
#include "support/sst_calls.h"
#include "support/sst_numbers.h"

#define N_TABLES 6u
#define N_KEYS 1500u

static char paths[N_TABLES][TEMP_MAX];

static nay_sst_cache_info stats_of(const nay_sst_cache *cache) {
  nay_sst_cache_info s = {.size = sizeof s};
  assert_ok(nay_sst_cache_stats(cache, &s));
  return s;
}

static void open_all(nay_sst **tables, nay_sst_cache *cache, uint32_t flags) {
  nay_sst_read_options how = {sizeof how, .cache = cache, .flags = NAY_SST_PREAD | flags};
  for (unsigned i = 0; i < N_TABLES; i++) {
    assert_ok(nay_sst_open(paths[i], &how, NULL, NULL, &tables[i]));
  }
}

static void close_all(nay_sst **tables) {
  for (unsigned i = 0; i < N_TABLES; i++) nay_sst_free(tables[i]);
}

/* Even numbers are there. */
static unsigned wrong_answers(const nay_sst *t, uint64_t seed, unsigned n) {
  nay_sst_value v = {.size = sizeof v};
  unsigned wrong = 0;
  for (unsigned i = 0; i < n; i++) {
    char key[32], value[32];
    unsigned number = (unsigned)(nay_hash_mix(seed + i) % (2 * N_KEYS));
    nay_status status = nay_sst_get(t, key, number_key(number, key), NAY_SST_NEWEST, NULL, &v);
    if (number % 2 != 0) {
      wrong += status != NAY_ENOENT;
      continue;
    }
    int len = snprintf(value, sizeof value, "value %u", number);
    wrong += status != NAY_OK || v.len != (size_t)len || memcmp(v.bytes, value, v.len) != 0;
  }
  nay_sst_value_free(&v);
  return wrong;
}

static unsigned wrong_batch(const nay_sst_lookup *l, uint64_t seed) {
  enum { N = 64 };
  char text[N][32];
  const void *keys[N];
  size_t lens[N];
  unsigned numbers[N], wrong = 0;
  nay_status statuses[N];
  nay_sst_value values[N];
  for (unsigned i = 0; i < N; i++) {
    numbers[i] = (unsigned)(nay_hash_mix(seed + i) % (2 * N_KEYS));
    lens[i] = number_key(numbers[i], text[i]);
    keys[i] = text[i];
    values[i] = (nay_sst_value){.size = sizeof values[i]};
  }
  wrong += nay_sst_lookup_get_many(l, keys, lens, N, NAY_SST_MAX_SEQUENCE, NULL, values, statuses,
                                   NULL) != NAY_OK;
  for (unsigned i = 0; i < N; i++) {
    wrong += statuses[i] != (numbers[i] % 2 == 0 ? NAY_OK : NAY_ENOENT);
    nay_sst_value_free(&values[i]);
  }
  return wrong;
}

/* After every get the bytes of all kinds are within the budget, from no room to room for all. */
static void every_budget_gives_the_same_answers(void **state) {
  (void)state;
  size_t held = 0;
  for (size_t budget = 1000; budget < 1u << 20; budget = budget * 3 / 2) {
    nay_sst_cache *cache;
    nay_sst *tables[N_TABLES];
    nay_sst_lookup *l;
    assert_ok(nay_sst_cache_new(
        &(nay_sst_cache_options){sizeof(nay_sst_cache_options), budget, budget / 2, true}, NULL,
        NULL, &cache));
    open_all(tables, cache, NAY_SST_BUDGETED);
    assert_ok(
        nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level),
                                                   (const nay_sst *const *)tables, N_TABLES, false},
                           1, NULL, NULL, NULL, &l));
    held = (size_t)stats_of(cache).filter.held;
    assert_true(held != 0);
    for (unsigned i = 0; i < 40; i++) {
      assert_int_equal(wrong_answers(tables[i % N_TABLES], i * 100, 10), 0);
      assert_int_equal(wrong_batch(l, i), 0);
      nay_sst_cache_info s = stats_of(cache);
      assert_true(s.filter.held == held);
      assert_true(s.data.bytes + s.filter.bytes <= (budget > held ? budget : held));
      assert_true(s.filter.bytes <= (budget / 2 > held ? budget / 2 : held));
    }
    nay_sst_lookup_free(l);
    close_all(tables);
    nay_sst_cache_info s = stats_of(cache); /* index and filter go with their table */
    assert_int_equal(s.filter.held + s.filter.bytes + s.filter.entries, 0);
    nay_sst_cache_free(cache);
  }
}

/* Data fills the cache; filters and indexes evict it; data does not evict them. */
static void filters_come_before_data(void **state) {
  (void)state;
  nay_sst_cache *cache;
  nay_sst *plain[N_TABLES], *tables[N_TABLES];
  size_t budget = 60000;
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), budget, budget, true}, NULL, NULL,
      &cache));
  open_all(plain, cache, NAY_SST_NO_FILTERS);
  for (unsigned i = 0; i < N_TABLES; i++) (void)wrong_answers(plain[i], i, 500);
  nay_sst_cache_info full = stats_of(cache);
  assert_true(full.data.bytes > budget - 6000); /* to the last block */
  open_all(tables, cache, NAY_SST_BUDGETED);
  nay_sst_cache_info first = stats_of(cache);
  assert_int_equal(first.filter.entries, 2 * N_TABLES); /* filters and indexes */
  assert_true(first.data.evictions > full.data.evictions);
  assert_true(first.data.bytes + first.filter.bytes <= budget);
  for (unsigned i = 0; i < N_TABLES; i++) assert_int_equal(wrong_answers(plain[i], i, 500), 0);
  nay_sst_cache_info s = stats_of(cache);
  assert_int_equal(s.filter.entries, 2 * N_TABLES);
  assert_int_equal(s.filter.evictions, 0);
  close_all(tables);
  for (unsigned i = 0; i < N_TABLES; i++) (void)wrong_answers(plain[i], i, 500);
  assert_true(stats_of(cache).data.bytes > budget - 6000); /* the room is data's again */
  close_all(plain);
  nay_sst_cache_free(cache);
}

/* A filter that does not fit is read each time, and is right. */
static void filters_that_do_not_fit(void **state) {
  (void)state;
  nay_sst_cache *cache;
  nay_sst *tables[N_TABLES];
  nay_sst_counters c = {.size = sizeof c};
  assert_ok(
      nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 100000, 100, false},
                        NULL, NULL, &cache));
  open_all(tables, cache, NAY_SST_BUDGETED);
  assert_null(table_filter(tables[0]));
  assert_int_equal(wrong_answers(tables[0], 5, 300), 0);
  table_counts(tables[0], &c);
  assert_int_equal(c.filter_faults, 0);
  assert_int_equal(c.filter_checks, c.gets - c.out_of_range);
  assert_int_equal(c.filter_loads, c.filter_checks + 1);
  close_all(tables);
  nay_sst_cache_free(cache);
}

static void damaged_filters_are_left_out(void **state) {
  (void)state;
  size_t len;
  uint8_t *bytes = sample_read(paths[0], &len), *copy = malloc(len);
  nay_sst_cache *cache;
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1u << 20, 1u << 19, true}, NULL, NULL,
      &cache));
  nay_sst_read_options how = {sizeof how, .cache = cache, .flags = NAY_SST_BUDGETED};
  unsigned damaged = 0;
  for (size_t at = len * 3 / 4; at + 60 < len; at += 97) {
    nay_sst *t;
    nay_sst_info info = {.size = sizeof info};
    nay_sst_counters c = {.size = sizeof c};
    memcpy(copy, bytes, len);
    copy[at] ^= 4;
    if (nay_sst_view(copy, len, &how, NULL, NULL, &t) != NAY_OK) continue;
    nay_sst_stats(t, &info);
    table_counts(t, &c);
    assert_int_equal(info.filter_used, c.filter_faults == 0);
    damaged += !info.filter_used;
    if (!info.filter_used) assert_int_equal(wrong_answers(t, at, 50), 0);
    nay_sst_free(t);
  }
  assert_true(damaged != 0);
  nay_sst_cache_free(cache);
  free(copy);
  free(bytes);
}

static void failing_allocations(void **state) {
  (void)state;
  bool done = false;
  for (long at = 0; !done; at++) {
    flaky heap = {.fail_at = at};
    nay_allocator a = flaky_allocator(&heap);
    nay_sst_cache *cache = NULL;
    nay_sst *t = NULL;
    nay_status status = nay_sst_cache_new(
        &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 50000, 30000, true}, &a, NULL,
        &cache);
    nay_sst_read_options how = {sizeof how, .cache = cache,
                                .flags = NAY_SST_BUDGETED | NAY_SST_PREAD};
    if (status == NAY_OK) status = nay_sst_open(paths[0], &how, &a, NULL, &t);
    if (status == NAY_OK) {
      nay_sst_value v = {.size = sizeof v};
      char key[32];
      for (unsigned i = 0; i < 8; i++) {
        nay_status got = nay_sst_get(t, key, number_key(i * 350, key), NAY_SST_NEWEST, NULL, &v);
        assert_true(got == NAY_OK || got == NAY_ENOMEM);
      }
      nay_sst_value_free(&v);
    } else {
      assert_status(status, NAY_ENOMEM);
      if (cache != NULL) assert_int_equal(stats_of(cache).filter.bytes, 0);
    }
    nay_sst_free(t);
    nay_sst_cache_free(cache);
    assert_true(flaky_is_clean(&heap));
    done = heap.calls <= at;
  }
}

static void refused(void **state) {
  (void)state;
  nay_sst_cache *cache = NULL;
  nay_sst *t;
  nay_sst_read_options how = {sizeof how, .flags = NAY_SST_BUDGETED};
  assert_status(
      nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 0, 0, true}, NULL,
                        NULL, &cache),
      NAY_EINVAL);
  assert_status(
      nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 10, 11, true}, NULL,
                        NULL, &cache),
      NAY_EINVAL);
  assert_status(
      nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 10, 5, true}, NULL,
                        NULL, NULL),
      NAY_EINVAL);
  assert_null(cache);
  assert_status(nay_sst_open(paths[0], &how, NULL, NULL, &t), NAY_EINVAL);
}

/* ---- threads: a budget for two filters and a few blocks ---- */

typedef struct work {
  nay_sst **tables;
  const nay_sst_lookup *lookup;
  nay_sst_cache *cache;
  uint64_t seed;
  unsigned wrong;
} work;

/* Iterators, merges and a compaction, whose indexes others evict meanwhile. */
static unsigned wrong_walks(const work *w, const nay_sst *t, unsigned from) {
  nay_sst_iter *it;
  nay_sst_scan *m;
  char key[32];
  unsigned wrong = 0, n = 0;
  if (nay_sst_iter_new(t, NULL, &it) != NAY_OK ||
      nay_sst_scan_new(w->lookup, NULL, NULL, NULL, &m) != NAY_OK) {
    return 1;
  }
  nay_status a = nay_sst_iter_seek(it, key, number_key(2 * from, key));
  nay_status b = nay_sst_scan_seek(m, key, number_key(2 * from, key));
  for (; a == NAY_OK && b == NAY_OK && n < 200; n++) {
    size_t x, y;
    const void *p = nay_sst_iter_key(it, &x), *q = nay_sst_scan_key(m, &y);
    wrong += x != y || memcmp(p, q, x) != 0 || memcmp(p, key, number_key(2 * (from + n), key)) != 0;
    a = nay_sst_iter_next(it);
    b = nay_sst_scan_next(m);
  }
  wrong += n != 200 && from + n != N_KEYS;
  nay_sst_iter_free(it);
  nay_sst_scan_free(m);
  return wrong;
}

static unsigned wrong_compaction(const work *w, const nay_sst *t) {
  char path[TEMP_MAX], name[40];
  nay_sst_compact_stats stats = {.size = sizeof stats};
  snprintf(name, sizeof name, "budget%llx.ldb", (unsigned long long)w->seed);
  temp_path(path, name);
  unsigned wrong = nay_sst_compact(&t, 1, path, NULL, NULL, NULL, &stats) != NAY_OK;
  wrong += stats.written != N_KEYS;
  unlink(path);
  return wrong;
}

static void *run_work(void *ctx) {
  work *w = ctx;
  nay_sst_read_options how = {sizeof how, .cache = w->cache,
                              .flags = NAY_SST_PREAD | NAY_SST_BUDGETED};
  for (unsigned i = 0; i < TEST_SCALE(120); i++) {
    nay_sst *t;
    w->wrong += wrong_answers(w->tables[(w->seed + i) % N_TABLES], w->seed + i * 977, 30);
    w->wrong += wrong_batch(w->lookup, w->seed + i);
    w->wrong += wrong_walks(w, w->tables[i % N_TABLES], (unsigned)((w->seed + 31 * i) % N_KEYS));
    nay_sst_cache_info s = {.size = sizeof s};
    (void)nay_sst_cache_stats(w->cache, &s);
    uint64_t most = s.filter.held > 30000 ? s.filter.held : 30000;
    w->wrong += s.data.bytes + s.filter.bytes > most;
    if (i % 8 != 0) continue;
    w->wrong += wrong_compaction(w, w->tables[i / 8 % N_TABLES]);
    w->wrong += nay_sst_open(paths[i % N_TABLES], &how, NULL, NULL, &t) != NAY_OK;
    w->wrong += wrong_answers(t, i, 5);
    nay_sst_free(t);
  }
  return NULL;
}

static void many_threads_one_small_budget(void **flags) {
  enum { N = 4 };
  nay_sst_cache *cache;
  nay_sst *tables[N_TABLES];
  nay_sst_lookup *l;
  work works[N];
  pthread_t threads[N];
  assert_ok(
      nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 30000, 20000, true},
                        NULL, NULL, &cache));
  open_all(tables, cache, NAY_SST_BUDGETED | *(const uint32_t *)*flags);
  assert_ok(
      nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level),
                                                 (const nay_sst *const *)tables, N_TABLES, false},
                         1, NULL, NULL, NULL, &l));
  for (unsigned i = 0; i < N; i++) {
    works[i] = (work){tables, l, cache, nay_hash_mix(i) >> 8, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, run_work, &works[i]), 0);
  }
  for (unsigned i = 0; i < N; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(works[i].wrong, 0);
  }
  nay_sst_lookup_free(l);
  close_all(tables);
  assert_int_equal(stats_of(cache).filter.bytes, 0);
  nay_sst_cache_free(cache);
}

int main(void) {
  static const uint32_t evicted = 0, pinned = NAY_SST_PINNED;
  const test_case tests[] = {
      TEST(every_budget_gives_the_same_answers),
      TEST(filters_come_before_data),
      TEST(filters_that_do_not_fit),
      TEST(damaged_filters_are_left_out),
      TEST(failing_allocations),
      TEST(refused),
      TEST_WITH("many_threads_one_small_budget", many_threads_one_small_budget, &evicted),
      TEST_WITH("many_threads_one_small_budget pinned", many_threads_one_small_budget, &pinned),
  };
  for (unsigned i = 0; i < N_TABLES; i++) {
    char name[32];
    nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .block_bytes = 1000};
    snprintf(name, sizeof name, "budget%u.ldb", i);
    write_even(temp_path(paths[i], name), &how, N_KEYS);
  }
  int failed = run_all(tests);
  for (unsigned i = 0; i < N_TABLES; i++) unlink(paths[i]);
  return failed;
}

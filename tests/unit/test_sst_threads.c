/* test_sst_threads.c - many threads, one table, one cache that is too small for them. */
#include <pthread.h>

#include "nay_lookup.h"
#include "nay_sst_cache.h"
#include "support/sst_numbers.h"

#define N_KEYS 4000
#define N_THREADS 4
#define N_GETS 8000

typedef struct work {
  const nay_lookup *lookup;
  const nay_sst *table;
  uint64_t seed;
  unsigned wrong;
} work;

static bool right(nay_status status, const nay_sst_value *v, unsigned number) {
  char value[32];
  if (number % 2 != 0 || number >= 2 * N_KEYS) return status == NAY_ENOENT;
  int len = snprintf(value, sizeof value, "value %u", number);
  return status == NAY_OK && v->len == (size_t)len && memcmp(v->bytes, value, v->len) == 0;
}

static void *ask(void *ctx) {
  work *w = ctx;
  nay_sst_value v = {.size = sizeof v};
  nay_sst_iter *it;
  char key[32];
  for (unsigned i = 0; i < TEST_SCALE(N_GETS); i++) {
    unsigned number = (unsigned)(nay_hash_mix(w->seed + i) % (2 * N_KEYS + 100));
    size_t len = number_key(number, key);
    nay_status status = i % 2 == 0 ? nay_sst_get(w->table, key, len, NULL, &v)
                                   : nay_lookup_get(w->lookup, key, len, NULL, &v, NULL);
    w->wrong += !right(status, &v, number);
  }
  if (nay_sst_iter_new(w->table, &it) != NAY_OK) return NULL;
  unsigned n = 0;
  for (nay_status s = nay_sst_iter_first(it); s == NAY_OK; s = nay_sst_iter_next(it)) n++;
  w->wrong += n != N_KEYS;
  nay_sst_iter_free(it);
  nay_sst_value_free(&v);
  return NULL;
}

static void ask_from_all(const nay_lookup *l, nay_sst *const tables[2]) {
  pthread_t threads[N_THREADS];
  work works[N_THREADS];
  for (unsigned i = 0; i < N_THREADS; i++) {
    works[i] = (work){l, tables[i % 2], i * 1000003u, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, ask, &works[i]), 0);
  }
  for (int i = 0; i < 100; i++) { /* readable at any time */
    nay_sst_counters counters = {.size = sizeof counters};
    nay_lookup_count(l, &counters);
  }
  for (unsigned i = 0; i < N_THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(works[i].wrong, 0);
  }
}

static void readers_share_a_cache(void **flags) {
  char path[TEMP_MAX];
  nay_sst_cache *cache;
  nay_sst *t[2];
  nay_lookup *l;
  nay_sst_write_options how = {.size = sizeof how,
                               .filter = NAY_SST_PARTITIONED_FILTER,
                               .partition_keys = 200,
                               .block_bytes = 500,
                               .codec = &snappy_codec};
  write_even(temp_path(path, "threads.ldb"), &how, N_KEYS);
  assert_ok(nay_sst_cache_new(20000, 4000, NULL, &cache));
  nay_sst_read_options read = {.size = sizeof read,
                               .cache = cache,
                               .codecs = snappy_codecs,
                               .ncodecs = 1,
                               .flags = *(const unsigned *)*flags};
  for (int i = 0; i < 2; i++) t[i] = open_table(path, &read);
  assert_ok(nay_lookup_new((const nay_sst *const *)t, 2, NULL, &l));
  nay_sst_cache_stats stats = {.size = sizeof stats};
  nay_sst_counters counters = {.size = sizeof counters};
  ask_from_all(l, t);
  nay_sst_cache_describe(cache, &stats);
  assert_true(stats.data.evictions > 0 && stats.filter.evictions > 0);
  assert_true(stats.data.bytes <= 20000 && stats.filter.bytes <= 4000);
  nay_lookup_count(l, &counters);
  assert_int_equal(counters.gets, N_THREADS * TEST_SCALE(N_GETS) / 2);
  nay_lookup_free(l);
  for (int i = 0; i < 2; i++) nay_sst_free(t[i]);
  nay_sst_cache_free(cache);
  unlink(path);
}

/* Blocks of a mapped file are checked once, by whoever comes first; partitions are kept. */
static void readers_share_a_map(void **filter) {
  char path[TEMP_MAX];
  nay_lookup *l;
  nay_sst_write_options how = {.size = sizeof how,
                               .filter = *(const nay_sst_filter *)*filter,
                               .block_bytes = 300,
                               .partition_keys = 200};
  write_even(temp_path(path, "map.ldb"), &how, N_KEYS);
  nay_sst *t = open_table(path, NULL);
  assert_ok(nay_lookup_new((const nay_sst *const[]){t}, 1, NULL, &l));
  ask_from_all(l, (nay_sst *const[]){t, t});
  nay_lookup_free(l);
  nay_sst_free(t);
  unlink(path);
}

int main(void) {
  static const unsigned mapped = 0, read = NAY_SST_PREAD;
  static const nay_sst_filter none = NAY_SST_NO_FILTER, full = NAY_SST_FULL_FILTER,
                              partitioned = NAY_SST_PARTITIONED_FILTER;
  const test_case tests[] = {
      TEST_WITH("readers_share_a_cache mapped", readers_share_a_cache, &mapped),
      TEST_WITH("readers_share_a_cache pread", readers_share_a_cache, &read),
      TEST_WITH("readers_share_a_map none", readers_share_a_map, &none),
      TEST_WITH("readers_share_a_map full", readers_share_a_map, &full),
      TEST_WITH("readers_share_a_map partitioned", readers_share_a_map, &partitioned),
  };
  return run_all(tests);
}

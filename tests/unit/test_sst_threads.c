/* test_sst_threads.c - many threads, one table, one cache that is too small for them. */
#include <pthread.h>

#include "nay_sst_cache.h"
#include "nay_sst_compact.h"
#include "nay_sst_iter.h"
#include "nay_sst_lookup.h"
#include "support/sst_numbers.h"

#define N_KEYS 4000
#define N_THREADS 4
#define N_GETS 8000
#define N_BATCH 64
#define N_BATCHES (TEST_SCALE(N_GETS) / 4 / N_BATCH)

typedef struct work {
  const nay_sst_lookup *lookup;
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

/* Batches of gets: their values pin blocks that other threads evict. */
static void ask_many(work *w) {
  enum { N = N_BATCH };
  char text[N][32];
  const void *keys[N];
  size_t lens[N];
  unsigned numbers[N];
  nay_status statuses[N];
  nay_sst_value values[N];
  for (unsigned i = 0; i < N; i++) values[i] = (nay_sst_value){.size = sizeof values[i]};
  for (unsigned at = 0; at < N_BATCHES * N; at += N) {
    for (unsigned i = 0; i < N; i++) {
      numbers[i] = (unsigned)(nay_hash_mix(w->seed + at + i) % (2 * N_KEYS + 100));
      lens[i] = number_key(numbers[i], text[i]);
      keys[i] = text[i];
    }
    w->wrong += nay_sst_lookup_get_many(w->lookup, keys, lens, N, NAY_SST_MAX_SEQUENCE, NULL,
                                        values, statuses, NULL) != NAY_OK;
    for (unsigned i = 0; i < N; i++) w->wrong += !right(statuses[i], &values[i], numbers[i]);
  }
  for (unsigned i = 0; i < N; i++) nay_sst_value_free(&values[i]);
}

/* A compaction beside them, which reads the same table. */
static void compact(work *w) {
  char path[TEMP_MAX], name[40];
  nay_sst_compact_stats stats = {.size = sizeof stats};
  snprintf(name, sizeof name, "threads%llu.ldb", (unsigned long long)w->seed);
  temp_path(path, name);
  w->wrong += nay_sst_compact(&w->table, 1, path, NULL, NULL, NULL, &stats) != NAY_OK;
  w->wrong += stats.written != N_KEYS;
  unlink(path);
}

static void *ask(void *ctx) {
  work *w = ctx;
  nay_sst_value v = {.size = sizeof v};
  nay_sst_iter *it;
  char key[32];
  for (unsigned i = 0; i < TEST_SCALE(N_GETS); i++) {
    unsigned number = (unsigned)(nay_hash_mix(w->seed + i) % (2 * N_KEYS + 100));
    size_t len = number_key(number, key);
    nay_status status =
        i % 2 == 0 ? nay_sst_get(w->table, key, len, NAY_SST_NEWEST, NULL, &v)
                   : nay_sst_lookup_get(w->lookup, key, len, NAY_SST_NEWEST, NULL, &v, NULL);
    w->wrong += !right(status, &v, number);
  }
  if (nay_sst_iter_new(w->table, NULL, &it) != NAY_OK) return NULL;
  unsigned n = 0;
  for (nay_status s = nay_sst_iter_first(it); s == NAY_OK; s = nay_sst_iter_next(it)) n++;
  w->wrong += n != N_KEYS;
  nay_sst_iter_free(it);
  nay_sst_value_free(&v);
  ask_many(w);
  compact(w);
  return NULL;
}

static void ask_from_all(const nay_sst_lookup *l, nay_sst *const tables[2]) {
  pthread_t threads[N_THREADS];
  work works[N_THREADS];
  for (unsigned i = 0; i < N_THREADS; i++) {
    works[i] = (work){l, tables[i % 2], i * 1000003u, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, ask, &works[i]), 0);
  }
  for (int i = 0; i < 100; i++) { /* readable at any time */
    nay_sst_counters counters = {.size = sizeof counters};
    nay_sst_lookup_stats(l, &counters);
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
  nay_sst_lookup *l;
  nay_sst_write_options how = {.size = sizeof how,
                               .filter = NAY_SST_PARTITIONED_FILTER,
                               .partition_keys = 200,
                               .block_bytes = 500,
                               .codec = &snappy_codec};
  write_even(temp_path(path, "threads.ldb"), &how, N_KEYS);
  assert_ok(
      nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 20000, 4000, false},
                        NULL, NULL, &cache));
  nay_sst_read_options read = {.size = sizeof read,
                               .cache = cache,
                               .codecs = snappy_codecs,
                               .ncodecs = 1,
                               .flags = *(const unsigned *)*flags};
  for (int i = 0; i < 2; i++) t[i] = open_table(path, &read);
  assert_ok(nay_sst_lookup_new(
      &(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), (const nay_sst *const *)t, 2, false}, 1,
      NULL, NULL, NULL, &l));
  nay_sst_cache_info stats = {.size = sizeof stats};
  nay_sst_counters counters = {.size = sizeof counters};
  ask_from_all(l, t);
  nay_sst_cache_stats(cache, &stats);
  assert_true(stats.data.evictions > 0 && stats.filter.evictions > 0);
  assert_true(stats.data.bytes <= 20000 && stats.filter.bytes <= 4000);
  nay_sst_lookup_stats(l, &counters);
  assert_int_equal(counters.gets, N_THREADS * (TEST_SCALE(N_GETS) / 2 + N_BATCHES * N_BATCH));
  nay_sst_lookup_free(l);
  for (int i = 0; i < 2; i++) nay_sst_free(t[i]);
  nay_sst_cache_free(cache);
  unlink(path);
}

/* The first reader of a block of a mapped file checks it, once; partitions are kept. */
static void readers_share_a_map(void **filter) {
  char path[TEMP_MAX];
  nay_sst_lookup *l;
  nay_sst_write_options how = {.size = sizeof how,
                               .filter = *(const nay_sst_filter_layout *)*filter,
                               .block_bytes = 300,
                               .partition_keys = 200};
  write_even(temp_path(path, "map.ldb"), &how, N_KEYS);
  nay_sst *t = open_table(path, NULL);
  assert_ok(nay_sst_lookup_new(
      &(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), (const nay_sst *const[]){t}, 1, false},
      1, NULL, NULL, NULL, &l));
  ask_from_all(l, (nay_sst *const[]){t, t});
  nay_sst_lookup_free(l);
  nay_sst_free(t);
  unlink(path);
}

/* ---- merging iterators ---- */

#define N_SLOTS 16u

/* Threads hand pinned values to each other: one thread pins a value, another one frees it. */
typedef struct exchange {
  pthread_mutex_t lock;
  nay_sst_value slots[N_SLOTS];
  unsigned numbers[N_SLOTS];
} exchange;

static exchange shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned swap_value(nay_sst_value *v, unsigned number, uint64_t random) {
  unsigned at = (unsigned)(random % N_SLOTS), other;
  pthread_mutex_lock(&shared.lock);
  nay_sst_value value = shared.slots[at];
  other = shared.numbers[at];
  shared.slots[at] = *v;
  shared.numbers[at] = number;
  pthread_mutex_unlock(&shared.lock);
  *v = value;
  return other;
}

static bool is_value(const nay_sst_value *v, unsigned number) {
  return v->bytes == NULL || right(NAY_OK, v, number);
}

static void *merge_back(void *ctx) {
  work *w = ctx;
  nay_sst_scan *m;
  nay_sst_value v = {.size = sizeof v};
  unsigned n = 0;
  if (nay_sst_scan_new(w->lookup, NULL, NULL, NULL, &m) != NAY_OK) return NULL;
  for (nay_status s = nay_sst_scan_last(m); s == NAY_OK; s = nay_sst_scan_prev(m), n++) {
    if (nay_hash_mix(w->seed + n) % 4 != 0) continue;
    unsigned number = 2 * (N_KEYS - 1 - n);
    w->wrong += nay_sst_scan_pin(m, &v) != NAY_OK;
    number = swap_value(&v, number, nay_hash_mix(w->seed ^ n));
    w->wrong += !is_value(&v, number);
  }
  w->wrong += n != N_KEYS;
  nay_sst_value_free(&v);
  nay_sst_scan_free(m);
  return NULL;
}

static void merges_hand_over_pins(void **cached) {
  char path[TEMP_MAX];
  nay_sst_cache *cache;
  nay_sst *t[2];
  nay_sst_lookup *l;
  pthread_t threads[N_THREADS];
  work works[N_THREADS];
  nay_sst_write_options how = {sizeof how, .block_bytes = 500, .codec = &snappy_codec};
  write_even(temp_path(path, "pins.ldb"), &how, N_KEYS);
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 5000, 0, false}, NULL, NULL, &cache));
  nay_sst_read_options read = {.size = sizeof read,
                               .cache = *(const bool *)*cached ? cache : NULL,
                               .codecs = snappy_codecs,
                               .ncodecs = 1};
  for (int i = 0; i < 2; i++) t[i] = open_table(path, &read);
  assert_ok(nay_sst_lookup_new(
      &(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), (const nay_sst *const *)t, 2, false}, 1,
      NULL, NULL, NULL, &l));
  for (size_t i = 0; i < N_SLOTS; i++)
    shared.slots[i] = (nay_sst_value){.size = sizeof shared.slots[i]};
  for (unsigned i = 0; i < N_THREADS; i++) {
    works[i] = (work){l, NULL, i * 1000003u, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, merge_back, &works[i]), 0);
  }
  for (unsigned i = 0; i < N_THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(works[i].wrong, 0);
  }
  for (size_t i = 0; i < N_SLOTS; i++) nay_sst_value_free(&shared.slots[i]);
  nay_sst_lookup_free(l);
  for (int i = 0; i < 2; i++) nay_sst_free(t[i]);
  nay_sst_cache_free(cache);
  unlink(path);
}

/* ---- merge operands ---- */

/* The value below an operand is the value, so that `right` knows it. */
static nay_status keep_older(void *ctx, const nay_sst_operands *o, void *out, size_t room,
                             size_t *len) {
  (void)ctx;
  *len = o->older_len;
  if (o->older == NULL) return NAY_ECORRUPT;
  if (*len > room) return NAY_EBUFFER;
  memcpy(out, o->older, *len);
  return NAY_OK;
}

static void write_versions(const char *path, uint64_t sequence, bool operands) {
  nay_sst_writer *w;
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL, .block_bytes = 500};
  how.filter = NAY_SST_FULL_FILTER;
  assert_ok(nay_sst_writer_new(path, &how, NULL, NULL, &w));
  for (unsigned i = 0; i < N_KEYS; i++) {
    char key[32], value[32];
    int len = snprintf(value, sizeof value, operands ? "+" : "value %u", 2 * i);
    nay_sst_entry v = {
        sizeof v, key, number_key(2 * i, key), sequence, operands ? NAY_SST_MERGE : NAY_SST_PUT, 0};
    if (!operands || i % 3 != 0)
      assert_ok(nay_sst_writer_add_entry(w, &v, value, (size_t)len, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
}

static void *combine(void *ctx) {
  work *w = ctx;
  nay_sst_value v = {.size = sizeof v};
  nay_sst_scan *m;
  char key[32];
  unsigned n = 0;
  for (unsigned i = 0; i < TEST_SCALE(N_GETS); i++) {
    unsigned number = (unsigned)(nay_hash_mix(w->seed + i) % (2 * N_KEYS + 100));
    nay_status status =
        nay_sst_lookup_get(w->lookup, key, number_key(number, key), NAY_SST_NEWEST, NULL, &v, NULL);
    w->wrong += !right(status, &v, number);
  }
  ask_many(w);
  if (nay_sst_scan_new(w->lookup, NULL, NULL, NULL, &m) != NAY_OK) return NULL;
  for (nay_status s = nay_sst_scan_last(m); s == NAY_OK; s = nay_sst_scan_prev(m), n++) {
    w->wrong += nay_sst_scan_pin(m, &v) != NAY_OK || !right(NAY_OK, &v, 2 * (N_KEYS - 1 - n));
  }
  w->wrong += n != N_KEYS;
  nay_sst_scan_free(m);
  nay_sst_value_free(&v);
  return NULL;
}

static void readers_combine_operands(void **state) {
  char paths[2][TEMP_MAX];
  pthread_t threads[N_THREADS];
  work works[N_THREADS];
  nay_sst_cache *cache;
  nay_sst *t[2];
  nay_sst_lookup *l;
  (void)state;
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 5000, 0, false}, NULL, NULL, &cache));
  nay_sst_read_options read = {
      .size = sizeof read, .keys = NAY_SST_KEYS_INTERNAL, .flags = NAY_SST_PREAD, .cache = cache};
  for (unsigned i = 0; i < 2; i++) { /* newest first */
    write_versions(temp_path(paths[i], i == 0 ? "newer.ldb" : "older.ldb"), 2 - i, i == 0);
    t[i] = open_table(paths[i], &read);
    unlink(paths[i]);
  }
  nay_sst_lookup_level both = {sizeof both, .tables = (const nay_sst *const *)t, .n = 2};
  nay_sst_lookup_options how = {sizeof how, .merge = keep_older};
  assert_ok(nay_sst_lookup_new(&both, 1, &how, NULL, NULL, &l));
  for (unsigned i = 0; i < N_THREADS; i++) {
    works[i] = (work){l, NULL, i * 1000003u, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, combine, &works[i]), 0);
  }
  for (unsigned i = 0; i < N_THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(works[i].wrong, 0);
  }
  nay_sst_counters c = {.size = sizeof c};
  assert_ok(nay_sst_lookup_stats(l, &c));
  assert_true(c.operands > N_THREADS * (TEST_SCALE(N_GETS) / 4));
  nay_sst_lookup_free(l);
  for (int i = 0; i < 2; i++) nay_sst_free(t[i]);
  nay_sst_cache_free(cache);
}

int main(void) {
  static const bool yes = true, no = false;
  static const unsigned mapped = 0, read = NAY_SST_PREAD;
  static const nay_sst_filter_layout none = NAY_SST_NO_FILTER, full = NAY_SST_FULL_FILTER,
                                     partitioned = NAY_SST_PARTITIONED_FILTER;
  const test_case tests[] = {
      TEST_WITH("readers_share_a_cache mapped", readers_share_a_cache, &mapped),
      TEST_WITH("readers_share_a_cache pread", readers_share_a_cache, &read),
      TEST_WITH("readers_share_a_map none", readers_share_a_map, &none),
      TEST_WITH("readers_share_a_map full", readers_share_a_map, &full),
      TEST_WITH("readers_share_a_map partitioned", readers_share_a_map, &partitioned),
      TEST_WITH("merges_hand_over_pins cache", merges_hand_over_pins, &yes),
      TEST_WITH("merges_hand_over_pins memory", merges_hand_over_pins, &no),
      TEST(readers_combine_operands),
  };
  return run_all(tests);
}

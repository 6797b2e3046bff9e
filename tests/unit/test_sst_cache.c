/*
 * test_sst_cache.c - the cache of blocks from inside: its hash tables and LRU lists against a
 * model, budgets under random programs, what runs under its mutexes, many threads.
 *
 * With a number n it only inserts and finds n entries, for test_growth_cache.py to count.
 */
#include <pthread.h>
#include <sched.h>

#include "base/compiler.h"
#include "cache/lru_list.h"
#include "nay_sst_cache.h"
#include "nay_sst_compact.h"
#include "support/flaky.h"
#include "support/sst_numbers.h"

static nay_sst_cache_info stats_of(const nay_sst_cache *cache) {
  nay_sst_cache_info s = {.size = sizeof s};
  assert_ok(nay_sst_cache_stats(cache, &s));
  return s;
}

/* ---- lists ---- */

#define LIST_MOST 20000u

/* Entries that the bucket of entry e has. */
static size_t chain_length(const nay_cache_list *l, const nay_cache_entry *e) {
  size_t m = NAY_CACHE_SEGMENT, n = 1;
  while (2 * m <= l->nbuckets) m *= 2;
  size_t bucket = e->hash & (2 * m - 1);
  if (bucket >= l->nbuckets) bucket -= m;
  for (const nay_cache_entry *o = l->newest; o != NULL; o = o->older) {
    size_t other = o->hash & (2 * m - 1);
    if (other >= l->nbuckets) other -= m;
    n += o != e && other == bucket;
  }
  return n;
}

static void list_grow(nay_cache_list *l, bool refused) {
  size_t wants = nay_sst__cache_list_wants(l);
  if (wants == 0 || refused) return;
  nay_cache_entry **buckets = malloc(wants * sizeof *buckets);
  memset(buckets, 0xa5, wants * sizeof *buckets); /* need not be zeroed */
  assert_false(nay_sst__cache_list_give(l, buckets, wants * 2));
  assert_true(nay_sst__cache_list_give(l, buckets, wants));
  assert_false(nay_sst__cache_list_give(l, buckets, wants));
}

/* Adds, removes and uses of entries, in the order of a model; segments come late or not. */
static void lists_keep_what_they_have(void **state) {
  (void)state;
  nay_allocator a = nay__allocator_default();
  nay_cache_entry *entries = calloc(LIST_MOST, sizeof *entries);
  bool *in = calloc(LIST_MOST, sizeof *in);
  for (unsigned round = 0; round < 4; round++) {
    nay_cache_list l;
    size_t n = 0;
    nay_sst__cache_list_init(&l);
    memset(in, 0, LIST_MOST * sizeof *in);
    for (unsigned step = 0; step < 4 * LIST_MOST; step++) {
      uint64_t draw = nay_hash_mix(step * 4 + round);
      size_t i = (size_t)(draw >> 20) % LIST_MOST;
      nay_cache_entry *e = &entries[i];
      uint64_t hash = nay_hash_mix(i);
      bool removes = in[i] && draw % 3 == 0;
      assert_true(nay_sst__cache_list_find(&l, hash, 1, i) == (in[i] ? e : NULL));
      if (removes) {
        nay_sst__cache_list_remove(&l, e);
      } else if (in[i]) {
        nay_sst__cache_list_use(&l, e);
      } else {
        *e = (nay_cache_entry){.table = 1, .offset = i, .hash = hash};
        nay_sst__cache_list_add(&l, e);
        list_grow(&l, round == 1 || (round == 2 && step < LIST_MOST));
      }
      if (!removes) assert_ptr_equal(l.newest, e);
      n = n + !in[i] - removes;
      in[i] = !removes;
      assert_int_equal(l.entries, n);
    }
    size_t listed = 0;
    for (const nay_cache_entry *e = l.oldest; e != NULL; e = e->newer) listed += in[e->offset];
    assert_int_equal(listed, n);
    if (round == 1) assert_int_equal(l.nbuckets, NAY_CACHE_SEGMENT);
    if (round != 1) assert_true(l.nbuckets * 2 > n);
    for (size_t i = 0; i < 50; i++) { /* with enough buckets they are short: what a split moves */
      if (round != 1 && in[i]) assert_true(chain_length(&l, &entries[i]) <= 12);
    }
    nay_sst__cache_list_free(&l, &a);
  }
  free(entries);
  free(in);
}

/* ---- budgets ---- */

static nay_cache_entry *insert(nay_sst_cache *c, nay_cache_side side, uint64_t table,
                               uint64_t offset, size_t len) {
  nay_cache_entry *e = nay_sst__cache_entry_new(c, table, offset, len);
  if (e == NULL) return NULL;
  memset(e->bytes, (int)(offset & 0x7f), len);
  nay_sst__cache_insert(c, side, e);
  return e;
}

static bool is_right(const nay_cache_entry *e) {
  for (size_t i = 0; i < e->len; i += 31) {
    if (e->bytes[i] != (e->offset & 0x7f)) return false;
  }
  return true;
}

typedef struct shape {
  const char *name;
  size_t bytes, filter_bytes;
  bool shared;
} shape;

static const shape shapes[] = {
    {"two budgets, one shard", 40000, 20000, false},
    {"two budgets, 16 shards", 1u << 20, 300000, false},
    {"no data", 0, 1u << 20, false},
    {"shared, one shard", 50000, 20000, true},
    {"shared, all for filters", 50000, 50000, true},
    {"shared, 16 shards", 2u << 20, 1u << 20, true},
    {"shared, no filters", 1u << 20, 0, true},
};

static nay_status make(const shape *s, const nay_allocator *a, nay_sst_cache **c) {
  return s->shared ? nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options),
                                                                s->bytes, s->filter_bytes, true},
                                       a, NULL, c)
                   : nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options),
                                                                s->bytes, s->filter_bytes, false},
                                       a, NULL, c);
}

static bool is_within(const shape *s, const nay_sst_cache_info *now) {
  uint64_t held = now->filter.held, filters = now->filter.bytes;
  bool data = now->data.bytes <= s->bytes;
  if (s->shared) {
    uint64_t most = s->bytes > held ? s->bytes : held;
    data = now->data.bytes + filters <= most;
  }
  return data && filters <= (s->filter_bytes > held ? s->filter_bytes : held);
}

static void budgets_hold(void **state) {
  const shape *s = *state;
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_sst_cache *c;
  size_t held[8] = {0};
  assert_ok(make(s, &a, &c));
  uint64_t id = nay_sst__cache_id(c);
  assert_int_equal(nay_sst__cache_id(c), id + 1);
  for (unsigned step = 0; step < TEST_SCALE(20000); step++) {
    uint64_t draw = nay_hash_mix(step), offset = (draw >> 30) % 600;
    nay_cache_side side = draw % 3 == 0 ? NAY_CACHE_FILTER : NAY_CACHE_DATA;
    nay_cache_entry *e = nay_sst__cache_find(c, side, 7, offset);
    if (e != NULL) assert_true(is_right(e) && e->offset == offset);
    if (e == NULL) e = insert(c, side, 7, offset, (draw >> 8) % (step % 50 == 0 ? 400000 : 5000));
    nay_sst__cache_pin(e);
    nay_sst__cache_release(c, e);
    assert_true(is_right(e)); /* pinned, whatever was evicted */
    nay_sst__cache_release(c, e);
    if (draw % 17 == 0) nay_sst__cache_erase(c, side, 7, (draw >> 50) % 600);
    size_t *hold = &held[(draw >> 3) % 8];
    if (draw % 29 == 0 && *hold == 0) {
      *hold = 1 + (draw >> 12) % (s->filter_bytes / (step % 8000 < 4000 ? 2 : 20) + 1);
      nay_sst__cache_hold(c, *hold);
    } else if (draw % 13 == 0 && *hold != 0) {
      nay_sst__cache_unhold(c, *hold);
      *hold = 0;
    }
    nay_sst_cache_info now = stats_of(c);
    assert_true(is_within(s, &now));
  }
  for (unsigned i = 0; i < 8; i++) nay_sst__cache_unhold(c, held[i]);
  nay_sst__cache_release(c, insert(c, NAY_CACHE_FILTER, 7, 600, 100)); /* there is room again */
  nay_cache_entry *last = nay_sst__cache_find(c, NAY_CACHE_FILTER, 7, 600);
  assert_int_equal(last != NULL, s->filter_bytes != 0);
  if (last != NULL) nay_sst__cache_release(c, last);
  for (uint64_t offset = 0; offset <= 600; offset++) {
    nay_sst__cache_erase(c, NAY_CACHE_DATA, 7, offset);
    nay_sst__cache_erase(c, NAY_CACHE_FILTER, 7, offset);
  }
  nay_sst_cache_info now = stats_of(c);
  assert_int_equal(now.data.bytes + now.filter.bytes + now.data.entries + now.filter.entries, 0);
  nay_sst_cache_free(c);
  assert_true(flaky_is_clean(&heap));
}

/* An entry may have all of a budget, in a cache of shards too; one byte more is the caller's. */
static void an_entry_as_large_as_the_budget(void **state) {
  (void)state;
  nay_sst_cache *c;
  size_t budget = 4u << 20, most = budget - sizeof(nay_cache_entry);
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), budget, budget, true}, NULL, NULL,
      &c));
  for (uint64_t i = 0; i < 100; i++)
    nay_sst__cache_release(c, insert(c, NAY_CACHE_DATA, 1, i, 8000));
  nay_sst__cache_release(c, insert(c, NAY_CACHE_FILTER, 1, 777, most + 1));
  assert_int_equal(stats_of(c).data.entries, 100); /* nothing made way in vain */
  assert_null(nay_sst__cache_find(c, NAY_CACHE_FILTER, 1, 777));
  nay_sst__cache_release(c, insert(c, NAY_CACHE_FILTER, 1, 777, most));
  nay_cache_entry *e = nay_sst__cache_find(c, NAY_CACHE_FILTER, 1, 777);
  assert_non_null(e);
  nay_sst__cache_release(c, e);
  assert_int_equal(stats_of(c).data.entries, 0);
  assert_int_equal(stats_of(c).data.evictions, 100);
  nay_sst__cache_release(c, insert(c, NAY_CACHE_DATA, 1, 1, 1)); /* filters come first */
  assert_int_equal(stats_of(c).data.entries, 0);
  nay_sst_cache_free(c);
}

/* One shard is an exact LRU; 16 keep what is used again and again. */
static void the_oldest_entries_go(void **state) {
  (void)state;
  nay_sst_cache *c;
  assert_ok(
      nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options),
                                                 10 * (1000 + sizeof(nay_cache_entry)), 0, false},
                        NULL, NULL, &c));
  for (uint64_t i = 0; i < 100; i++) {
    nay_sst__cache_release(c, insert(c, NAY_CACHE_DATA, 1, i, 1000));
    nay_cache_entry *zero = nay_sst__cache_find(c, NAY_CACHE_DATA, 1, 0);
    assert_non_null(zero);
    nay_sst__cache_release(c, zero);
  }
  for (uint64_t i = 1; i < 100; i++) {
    nay_cache_entry *e = nay_sst__cache_find(c, NAY_CACHE_DATA, 1, i);
    assert_int_equal(e != NULL, i > 90);
    if (e != NULL) nay_sst__cache_release(c, e);
  }
  nay_sst_cache_free(c);
  unsigned lost = 0;
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 2u << 20, 0, false}, NULL, NULL, &c));
  for (uint64_t i = 0; i < 20000; i++) {
    nay_cache_entry *hot = nay_sst__cache_find(c, NAY_CACHE_DATA, 2, i % 50);
    lost += hot == NULL && i >= 50;
    if (hot == NULL) hot = insert(c, NAY_CACHE_DATA, 2, i % 50, 4000);
    nay_sst__cache_release(c, hot);
    nay_sst__cache_release(c, insert(c, NAY_CACHE_DATA, 1, i, 4000));
  }
  assert_int_equal(lost, 0);
  nay_sst_cache_free(c);
}

/* ---- what runs under the mutexes ---- */

typedef struct inside {
  nay_sst_cache *cache;
  uint64_t calls;
} inside;

/* An allocator that uses the cache: it would wait for itself, were a mutex held. */
static void inside_look(inside *in) {
  if (in->cache == NULL) return;
  in->calls++;
  (void)stats_of(in->cache);
}

static void *inside_alloc(void *ctx, size_t size) {
  inside_look(ctx);
  return malloc(size);
}

static void inside_free(void *ctx, void *p, size_t size) {
  (void)size;
  inside_look(ctx);
  free(p);
}

static void no_allocator_runs_under_a_mutex(void **state) {
  (void)state;
  inside in = {.cache = NULL};
  nay_allocator a = {.alloc = inside_alloc, .free = inside_free, .ctx = &in};
  for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    nay_sst_cache *c;
    assert_ok(make(&shapes[i], &a, &c));
    in.cache = c;
    for (uint64_t k = 0; k < 3000; k++) {
      nay_cache_side side = k % 2 == 0 ? NAY_CACHE_DATA : NAY_CACHE_FILTER;
      nay_sst__cache_release(c, insert(c, side, 1, k, 300)); /* grows, and evicts */
    }
    nay_sst__cache_hold(c, shapes[i].filter_bytes);
    nay_sst__cache_unhold(c, shapes[i].filter_bytes);
    assert_true(in.calls > 3000);
    in.cache = NULL;
    nay_sst_cache_free(c);
  }
}

/* Chains only get longer when there is no memory for buckets. */
static void failing_allocations(void **state) {
  (void)state;
  for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    bool done = false;
    for (long at = 0; !done; at++) {
      flaky heap = {.fail_at = at, .for_ever = at % 2 == 0};
      nay_allocator a = flaky_allocator(&heap);
      nay_sst_cache *c = NULL;
      nay_status status = make(&shapes[i], &a, &c);
      assert_true(status == NAY_OK || status == NAY_ENOMEM);
      for (uint64_t k = 0; c != NULL && k < 60; k++) {
        nay_cache_entry *e = insert(c, NAY_CACHE_FILTER, 1, k, 10);
        if (e != NULL) nay_sst__cache_release(c, e);
      }
      nay_sst_cache_free(c);
      assert_true(flaky_is_clean(&heap));
      done = heap.calls <= at;
    }
  }
}

/* ---- threads ---- */

static uint64_t nyields; /* atomic */

int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __wrap_sched_yield(void) {
  nay__atomic_increment64(&nyields);
  return __real_sched_yield();
}

typedef struct work {
  nay_sst_cache *cache;
  const shape *s;
  uint64_t seed;
  unsigned wrong;
} work;

static void *run_work(void *ctx) {
  work *w = ctx;
  for (unsigned step = 0; step < TEST_SCALE(6000); step++) {
    uint64_t draw = nay_hash_mix(w->seed + step), offset = (draw >> 30) % 900;
    nay_cache_side side = draw % 4 == 0 ? NAY_CACHE_FILTER : NAY_CACHE_DATA;
    nay_cache_entry *e = nay_sst__cache_find(w->cache, side, 1, offset);
    if (e == NULL) e = insert(w->cache, side, 1, offset, 100 + (draw >> 8) % 4000);
    w->wrong += !is_right(e) || e->offset != offset;
    if (draw % 11 == 0) nay_sst__cache_erase(w->cache, side, 1, (draw >> 50) % 900);
    nay_sst__cache_release(w->cache, e);
    if (draw % 23 == 0) {
      nay_sst__cache_hold(w->cache, 2000);
      nay_sst__cache_unhold(w->cache, 2000);
    }
    nay_sst_cache_info now = {.size = sizeof now};
    if (step % 16 != 0) continue;
    w->wrong += nay_sst_cache_stats(w->cache, &now) != NAY_OK || !is_within(w->s, &now);
  }
  return NULL;
}

static void many_threads(void **state) {
  enum { N = 4 };
  const shape *s = *state;
  nay_sst_cache *c;
  work works[N];
  pthread_t threads[N];
  assert_ok(make(s, NULL, &c));
  for (unsigned i = 0; i < N; i++) {
    works[i] = (work){c, s, nay_hash_mix(i), 0};
    assert_int_equal(pthread_create(&threads[i], NULL, run_work, &works[i]), 0);
  }
  for (unsigned i = 0; i < N; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(works[i].wrong, 0);
  }
  nay_sst_cache_free(c);
}

/* Where the next table goes is a call that may wait. Others that want one sleep meanwhile: they do
 * not poll. */
typedef struct outputs {
  char paths[64][TEMP_MAX];
  unsigned n;
} outputs;

static const char *slow_next(void *ctx) {
  outputs *o = ctx;
  char name[32];
  for (unsigned i = 0; i < 200; i++) __real_sched_yield(); /* let others come to wait */
  assert_true(o->n < 64);
  snprintf(name, sizeof name, "slow%u.ldb", o->n);
  return temp_path(o->paths[o->n++], name);
}

static void waiting_threads_sleep(void **state) {
  (void)state;
  char path[TEMP_MAX];
  outputs out = {.n = 0};
  nay_sst_compact_stats stats = {.size = sizeof stats};
  write_even(temp_path(path, "cache.ldb"), NULL, 20000);
  const nay_sst *t = open_table(path, NULL);
  nay_sst_outputs to = {sizeof to, .next = slow_next, .ctx = &out};
  nay_sst_compact_options how = {sizeof how, .target_bytes = 30000, .range_bytes = 30000,
                                 .threads = 4};
  uint64_t before = nay__atomic_load64(&nyields);
  assert_ok(nay_sst_compact_to(&t, 1, &to, &how, NULL, NULL, &stats));
  assert_int_equal(nay__atomic_load64(&nyields), before);
  assert_true(stats.written == 20000 && out.n > 8);
  for (unsigned i = 0; i < out.n; i++) unlink(out.paths[i]);
  nay_sst_free((nay_sst *)(uintptr_t)t);
  unlink(path);
}

/* ---- for callgrind ---- */

NAY_NOINLINE static void growth_work(nay_sst_cache *c, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    nay_sst__cache_release(c, insert(c, NAY_CACHE_DATA, 1, i, 0));
    nay_sst__cache_release(c, nay_sst__cache_find(c, NAY_CACHE_DATA, 1, nay_hash_mix(i) % (i + 1)));
  }
}

static int growth_run(uint64_t n, bool evicts) {
  nay_sst_cache *c;
  size_t budget = evicts ? 100 * sizeof(nay_cache_entry) : (size_t)1 << 30;
  if (nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), budget, 0, false},
                        NULL, NULL, &c) != NAY_OK)
    return 1;
  growth_work(c, n);
  nay_sst_cache_free(c);
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1) return growth_run(strtoull(argv[1], NULL, 10), argc > 2);
  test_case tests[32] = {
      TEST(lists_keep_what_they_have), TEST(an_entry_as_large_as_the_budget),
      TEST(the_oldest_entries_go),     TEST(no_allocator_runs_under_a_mutex),
      TEST(failing_allocations),       TEST(waiting_threads_sleep),
  };
  size_t n = 6;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    tests[n++] = (test_case)TEST_WITH(shapes[i].name, budgets_hold, &shapes[i]);
    tests[n++] = (test_case)TEST_WITH(shapes[i].name, many_threads, &shapes[i]);
  }
  return run_list("test_sst_cache.c", tests, n);
}

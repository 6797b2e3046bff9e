/*
 * test_cfchain.c - RedisBloom's cuckoo chain: its bytes after its calls, from filters and traces
 * that RedisBloom itself wrote (tests/golden/redisbloom), and what nobody else checks: headers of
 * an enemy, memory that fails, sizes at their limits.
 */
#include "base/crc32.h"
#include "redis/cfsub.h"
#include "redis/redis.h"
#include "support/flaky.h"
#include "support/redisbloom.h"

static uint64_t item_hash(const char *prefix, uint64_t i) {
  uint8_t item[32];
  return nay__cfchain_hash(item, redisbloom_key(prefix, i, item));
}

static nay_cfchain *make(uint64_t capacity, uint32_t bucket, uint32_t iterations,
                         uint32_t expansion) {
  nay_cfchain_header h;
  nay_cfchain *chain;
  assert_ok(nay__cfchain_plan(capacity, bucket, iterations, expansion, &h));
  assert_ok(nay__cfchain_new(&h, NULL, NULL, &chain));
  return chain;
}

/* Header and chunks, as SCANDUMP gives them; *nchunks may be NULL. */
static golden_bytes dump(const nay_cfchain *chain, size_t *nchunks) {
  nay_cfchain_header h;
  uint64_t nslots;
  nay__cfchain_describe(chain, &h);
  assert_ok(nay__cfchain_nslots(&h, NULL, &nslots));
  golden_bytes bytes = {malloc(NAY_CFCHAIN_HEADER_LEN + nslots), NAY_CFCHAIN_HEADER_LEN};
  assert_non_null(bytes.at);
  nay__cfchain_write_header(&h, bytes.at);
  size_t len, n = 0;
  const uint8_t *chunk;
  while ((chunk = nay__cfchain_chunk(chain, bytes.len - NAY_CFCHAIN_HEADER_LEN, &len)) != NULL) {
    memcpy(bytes.at + bytes.len, chunk, len);
    bytes.len += len;
    n++;
  }
  assert_int_equal(bytes.len, NAY_CFCHAIN_HEADER_LEN + nslots);
  if (nchunks != NULL) *nchunks = n;
  return bytes;
}

static void assert_dumps_as(const nay_cfchain *chain, golden_bytes want) {
  golden_bytes got = dump(chain, NULL);
  assert_int_equal(got.len, want.len);
  assert_memory_equal(got.at, want.at, want.len);
  free(got.at);
}

/* nitems is the number of slots in use; no slot is lost by compaction. */
static void assert_counts_hold(const nay_cfchain *chain) {
  nay_cfchain_header h;
  nay__cfchain_describe(chain, &h);
  uint64_t occupied = 0;
  size_t len;
  const uint8_t *slots;
  for (uint64_t i = 0; (slots = nay__cfchain_slots(chain, i, &len)) != NULL; i++) {
    occupied += nay__cf_occupied(slots, len);
  }
  assert_int_equal(h.nitems, occupied);
}

static nay_cfchain *load(golden_bytes bytes) {
  nay_cfchain_header h;
  nay_cfchain *chain;
  assert_ok(nay__cfchain_read_header(bytes.at, NAY_CFCHAIN_HEADER_LEN, NULL, &h));
  assert_ok(nay__cfchain_new(&h, NULL, NULL, &chain));
  size_t at = NAY_CFCHAIN_HEADER_LEN, len;
  while (nay__cfchain_chunk(chain, at - NAY_CFCHAIN_HEADER_LEN, &len) != NULL) {
    assert_true(at + len <= bytes.len);
    assert_ok(nay__cfchain_load(chain, at - NAY_CFCHAIN_HEADER_LEN, bytes.at + at, len));
    at += len;
  }
  assert_int_equal(at, bytes.len);
  return chain;
}

/* ---- filters that RedisBloom wrote ---- */

typedef struct example {
  const char *name;
  uint64_t capacity;
  uint32_t bucket, expansion;
  unsigned items, deleted, errors;
  size_t nchunks;
} example;

static const example examples[] = {
    {"cf_default", 1024, 2, 1, 300, 0, 0, 1},
    {"cf_b4", 1024, 4, 2, 2500, 400, 0, 2},
    {"cf_exp0", 256, 2, 0, 300, 0, 54, 1},
    {"cf_del", 64, 2, 1, 400, 200, 0, 4},
};

static nay_cfchain *example_make(const example *e) {
  nay_cfchain *chain = make(e->capacity, e->bucket, 20, e->expansion);
  unsigned errors = 0;
  for (unsigned i = 0; i < e->items; i++) {
    errors += nay__cfchain_add(chain, item_hash("item", i)) != NAY_OK;
  }
  for (unsigned i = 0; i < e->deleted; i++) {
    assert_true(nay__cfchain_remove(chain, item_hash("item", i)));
  }
  assert_int_equal(errors, e->errors);
  return chain;
}

static void same_calls_make_redisbloom_s_bytes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
    nay_cfchain *chain = example_make(&examples[i]);
    golden_bytes want = redisbloom_bytes(examples[i].name, false), got;
    size_t nchunks;
    assert_dumps_as(chain, want);
    got = dump(chain, &nchunks);
    assert_int_equal(nchunks, examples[i].nchunks);
    assert_counts_hold(chain);
    free(got.at);
    free(want.at);
    nay__cfchain_free(chain);
  }
}

static void dumps_load_and_answer_as_redisbloom(void **state) {
  (void)state;
  golden_bytes text = golden_read(TEST_GOLDEN "/redisbloom/filters.txt");
  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
    golden_bytes want = redisbloom_bytes(examples[i].name, false);
    nay_cfchain *chain = load(want);
    assert_dumps_as(chain, want);
    const char *hits = redisbloom_line((char *)text.at, examples[i].name, "hits");
    const char *info = redisbloom_line((char *)text.at, examples[i].name, "info");
    uint64_t next = redisbloom_number(&hits);
    for (uint64_t p = 0; p < 2000; p++) {
      assert_int_equal(nay__cfchain_has(chain, item_hash("probe", p)), p == next);
      if (p == next) next = redisbloom_number(&hits);
    }
    assert_int_equal(nay__cfchain_nbytes(chain), redisbloom_number(&info));
    nay__cfchain_free(chain);
    free(want.at);
  }
  free(text.at);
}

/* RedisBloom counts a slot twice where both buckets of a key are one. */
static uint64_t count_twice(const nay_cfchain *chain, uint64_t hash, uint32_t bucket_size) {
  nay_cfkey key = nay__cf_key(hash);
  uint64_t more = 0;
  size_t len;
  const uint8_t *slots;
  for (uint64_t i = 0; (slots = nay__cfchain_slots(chain, i, &len)) != NULL; i++) {
    nay_cfsub sub = {(uint8_t *)(uintptr_t)slots, len / bucket_size};
    if (nay__cf_bucket(&sub, bucket_size, key.h1) == nay__cf_bucket(&sub, bucket_size, key.h2)) {
      more += nay__cf_count(&sub, bucket_size, &key);
    }
  }
  return nay__cfchain_count(chain, hash) + more;
}

static void counts_are_redisbloom_s_but_for_coinciding_buckets(void **state) {
  (void)state;
  golden_bytes text = golden_read(TEST_GOLDEN "/redisbloom/filters.txt");
  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
    nay_cfchain *chain = example_make(&examples[i]);
    const char *counts = redisbloom_line((char *)text.at, examples[i].name, "counts ");
    for (uint64_t k = 0; counts[k] != '\n'; k++) {
      uint64_t hash = item_hash("item", k), theirs = (uint64_t)(counts[k] - '0');
      assert_int_equal(count_twice(chain, hash, examples[i].bucket), theirs);
    }
    nay__cfchain_free(chain);
  }
  free(text.at);
}

/* RedisBloom says 2 for 203 of these. */
static void count_of_a_single_add_is_one(void **state) {
  (void)state;
  unsigned coincide = 0;
  for (uint64_t i = 0; i < 400; i++) {
    nay_cfchain *chain = make(4, 2, 20, 0);
    uint64_t hash = item_hash("item", i);
    assert_int_equal(nay__cfchain_count(chain, hash), 0);
    assert_ok(nay__cfchain_add(chain, hash));
    assert_int_equal(nay__cfchain_count(chain, hash), 1);
    coincide += count_twice(chain, hash, 2) == 2;
    nay__cfchain_free(chain);
  }
  assert_true(coincide > 150);
}

/* ---- traces: adds, removes and compactions mixed ---- */

#define MAX_EXPANSIONS 32 /* RedisBloom's default: an add on a longer chain is refused */

static void trace_step(nay_cfchain *chain, uint64_t x) {
  uint64_t hash = item_hash("item", x % 400), op = (x >> 32) % 100;
  nay_cfchain_header h;
  nay__cfchain_describe(chain, &h);
  if (op >= 98) {
    nay__cfchain_compact(chain);
  } else if (op >= 60) {
    bool had = nay__cfchain_has(chain, hash);
    assert_int_equal(nay__cfchain_remove(chain, hash), had);
  } else if (h.nfilters < MAX_EXPANSIONS) {
    nay_status status = nay__cfchain_add(chain, hash);
    assert_true(status == NAY_OK || (status == NAY_EFULL && h.expansion == 0));
  }
}

static void traces_are_redisbloom_s(void **state) {
  (void)state;
  golden_bytes text = golden_read(TEST_GOLDEN "/redisbloom/cuckoo_traces.txt");
  char *rest = (char *)text.at, *line;
  unsigned ntraces = 0;
  while ((line = golden_line(&rest)) != NULL) {
    uint64_t capacity = strtoull(line, &line, 10), bucket = strtoull(line, &line, 10);
    uint64_t iterations = strtoull(line, &line, 10), expansion = strtoull(line, &line, 10);
    nay_cfchain *chain =
        make(capacity, (uint32_t)bucket, (uint32_t)iterations, (uint32_t)expansion);
    uint64_t seed = capacity * 1000003 + bucket * 10007 + iterations * 101 + expansion;
    for (uint64_t s = 0; s < 1000; s++) {
      trace_step(chain, nay_hash_mix((seed << 16) + s));
      if (s % 200 != 199) continue;
      golden_bytes bytes = dump(chain, NULL);
      assert_int_equal(nay__crc32(bytes.at, bytes.len), strtoul(line, &line, 16));
      assert_counts_hold(chain);
      free(bytes.at);
    }
    nay__cfchain_free(chain);
    ntraces++;
  }
  assert_int_equal(ntraces, 156);
  free(text.at);
}

/* ---- limits ---- */

static void plan_refuses_what_reserve_refuses(void **state) {
  (void)state;
  nay_cfchain_header h;
  assert_status(nay__cfchain_plan(3, 2, 20, 1, &h), NAY_EINVAL);
  assert_status(nay__cfchain_plan(NAY_CFCHAIN_MAX_CAPACITY + 1, 2, 20, 1, &h), NAY_EINVAL);
  assert_status(nay__cfchain_plan(UINT64_MAX, 2, 20, 1, &h), NAY_EINVAL);
  assert_status(nay__cfchain_plan(1024, 0, 20, 1, &h), NAY_EINVAL);
  assert_status(nay__cfchain_plan(1024, 256, 20, 1, &h), NAY_EINVAL);
  assert_status(nay__cfchain_plan(1024, 2, 0, 1, &h), NAY_EINVAL);
  assert_status(nay__cfchain_plan(1024, 2, 65536, 1, &h), NAY_EINVAL);
  assert_status(nay__cfchain_plan(1024, 2, 20, 32769, &h), NAY_EINVAL);
  assert_status(nay__cfchain_plan(1024, 2, 20, 1, NULL), NAY_EINVAL);
  assert_ok(nay__cfchain_plan(100, 2, 20, 32767, &h));
  assert_int_equal(h.nbuckets, 64);
  assert_int_equal(h.expansion, 32768);
  assert_ok(nay__cfchain_plan(510, 255, 65535, 0, &h));
  assert_int_equal(h.nbuckets, 2);
  assert_int_equal(h.expansion, 0);
}

/* Growth beyond what can be addressed is an error before it is an overflow. */
static void growth_stops_before_sizes_overflow(void **state) {
  (void)state;
  flaky heap = {.fail_at = -1};
  nay_zallocator a = flaky_zallocator(&heap);
  nay_cfchain_header h = {
      .nbuckets = 1, .nfilters = 1, .bucket_size = 1, .max_iterations = 1, .expansion = 32768};
  nay_cfchain *chain;
  assert_ok(nay__cfchain_new(&h, &a, NULL, &chain));
  assert_ok(nay__cfchain_add(chain, 0));
  assert_ok(nay__cfchain_add(chain, 0)); /* the second sub-filter has 32768 slots */
  nay__cfchain_describe(chain, &h);
  assert_int_equal(h.nfilters, 2);
  h.nfilters = 4; /* 2^45 slots */
  uint64_t nslots;
  assert_ok(nay__cfchain_nslots(&h, NULL, &nslots));
  assert_int_equal(nslots, 1 + 32768 + (UINT64_C(1) << 30) + (UINT64_C(1) << 45));
  h.nfilters = 5;
  assert_status(nay__cfchain_nslots(&h, NULL, &nslots), NAY_ECORRUPT);
  nay__cfchain_free(chain);
  assert_true(flaky_is_clean(&heap));
}

static void an_add_that_fails_changes_nothing(void **state) {
  (void)state;
  nay_cfchain *chain = make(64, 2, 20, 0);
  unsigned failures = 0;
  for (uint64_t i = 0; i < 100; i++) {
    golden_bytes before = dump(chain, NULL);
    nay_status status = nay__cfchain_add(chain, item_hash("item", i));
    if (status != NAY_OK) {
      assert_status(status, NAY_EFULL);
      assert_dumps_as(chain, before);
      failures++;
    }
    free(before.at);
  }
  assert_true(failures > 30);
  nay__cfchain_free(chain);
}

/* ---- memory ---- */

static void every_failed_allocation_is_an_error_and_no_more(void **state) {
  (void)state;
  golden_bytes want = redisbloom_bytes("cf_b4", false);
  for (long at = 0;; at++) {
    flaky heap = {.fail_at = at};
    nay_zallocator a = flaky_zallocator(&heap);
    nay_cfchain_header h;
    nay_cfchain *chain = NULL, *copy = NULL;
    assert_ok(nay__cfchain_read_header(want.at, NAY_CFCHAIN_HEADER_LEN, NULL, &h));
    nay_status status = nay__cfchain_new(&h, &a, NULL, &chain);
    if (status == NAY_OK) status = nay__cfchain_copy(chain, &a, &copy);
    nay__cfchain_free(chain);
    nay__cfchain_free(copy);
    assert_true(flaky_is_clean(&heap));
    if (status == NAY_OK) {
      assert_int_equal(at, 8); /* two objects, each with its array and two sub-filters */
      break;
    }
    assert_status(status, NAY_ENOMEM);
  }
  free(want.at);
}

static void growth_without_memory_leaves_the_chain_as_it_was(void **state) {
  (void)state;
  flaky heap = {.fail_at = -1};
  nay_zallocator a = flaky_zallocator(&heap);
  nay_cfchain_header h;
  nay_cfchain *chain;
  assert_ok(nay__cfchain_plan(64, 2, 20, 1, &h));
  assert_ok(nay__cfchain_new(&h, &a, NULL, &chain));
  unsigned grown = 0;
  for (uint64_t i = 0; i < 300; i++) {
    uint64_t hash = item_hash("item", i);
    for (long at = 0;; at++) { /* the array, then the slots */
      golden_bytes before = dump(chain, NULL);
      flaky_arm(&heap, at, false);
      nay_status status = nay__cfchain_add(chain, hash);
      if (status != NAY_OK) assert_dumps_as(chain, before);
      free(before.at);
      if (status == NAY_OK) break;
      assert_status(status, NAY_ENOMEM);
      grown++;
    }
  }
  nay__cfchain_describe(chain, &h);
  assert_true(h.nfilters > 3);
  assert_true(grown >= 2 * (h.nfilters - 1));
  flaky_arm(&heap, 0, true); /* compaction needs no memory */
  for (uint64_t i = 0; i < 250; i++) {
    assert_true(nay__cfchain_remove(chain, item_hash("item", i)));
  }
  nay__cfchain_compact(chain);
  assert_counts_hold(chain);
  for (uint64_t i = 250; i < 300; i++) assert_true(nay__cfchain_has(chain, item_hash("item", i)));
  nay__cfchain_free(chain);
  assert_true(flaky_is_clean(&heap));
}

/* ---- readers ---- */

static void buffers_are_adopted_or_left_alone(void **state) {
  (void)state;
  flaky heap = {.fail_at = -1};
  nay_zallocator a = flaky_zallocator(&heap);
  golden_bytes want = redisbloom_bytes("cf_b4", false);
  nay_cfchain_header h;
  nay_cfchain *chain;
  assert_ok(nay__cfchain_read_header(want.at, NAY_CFCHAIN_HEADER_LEN, NULL, &h));
  assert_ok(nay__cfchain_open(&h, &a, NULL, &chain));
  assert_status(nay__cfchain_finish(chain), NAY_ECORRUPT); /* nothing is there yet */
  uint8_t *first = flaky_alloc(&heap, 1024), *second = flaky_alloc(&heap, 2048);
  memcpy(first, want.at + NAY_CFCHAIN_HEADER_LEN, 1024);
  memcpy(second, want.at + NAY_CFCHAIN_HEADER_LEN + 1024, 2048);
  assert_status(nay__cfchain_adopt(chain, 0, 256, first, 1023), NAY_ECORRUPT);
  assert_status(nay__cfchain_adopt(chain, 0, 512, first, 1024), NAY_ECORRUPT);
  assert_status(nay__cfchain_adopt(chain, 2, 256, first, 1024), NAY_ECORRUPT);
  assert_status(nay__cfchain_adopt(chain, 0, 256, NULL, 1024), NAY_EINVAL);
  assert_ok(nay__cfchain_adopt(chain, 0, 256, first, 1024));
  assert_status(nay__cfchain_adopt(chain, 0, 256, second, 1024), NAY_ECORRUPT); /* twice */
  assert_status(nay__cfchain_finish(chain), NAY_ECORRUPT);
  assert_ok(nay__cfchain_adopt(chain, 1, 512, second, 2048));
  assert_ok(nay__cfchain_finish(chain));
  assert_dumps_as(chain, want);
  nay__cfchain_free(chain);
  free(want.at);
  assert_true(flaky_is_clean(&heap));
}

static void an_empty_chain_dumps_and_loads(void **state) {
  (void)state;
  nay_cfchain *chain = make(1024, 2, 20, 1);
  golden_bytes bytes = dump(chain, NULL);
  assert_int_equal(bytes.len, NAY_CFCHAIN_HEADER_LEN + 1024);
  nay_cfchain *again = load(bytes);
  assert_dumps_as(again, bytes);
  nay__cfchain_free(again);
  nay__cfchain_free(chain);
  free(bytes.at);
}

static void chunks_stay_within_a_sub_filter(void **state) {
  (void)state;
  golden_bytes want = redisbloom_bytes("cf_b4", false); /* 1024 and 2048 slots */
  nay_cfchain *chain = load(want);
  uint8_t zeros[2049] = {0};
  size_t len;
  assert_status(nay__cfchain_load(chain, 0, zeros, 1025), NAY_EINVAL);
  assert_status(nay__cfchain_load(chain, 1023, zeros, 2), NAY_EINVAL);
  assert_status(nay__cfchain_load(chain, 1024, zeros, 2049), NAY_EINVAL);
  assert_status(nay__cfchain_load(chain, 3072, zeros, 1), NAY_EINVAL);
  assert_status(nay__cfchain_load(chain, UINT64_MAX, zeros, 1), NAY_EINVAL);
  assert_status(nay__cfchain_load(chain, UINT64_MAX - 5, zeros, 10), NAY_EINVAL);
  assert_status(nay__cfchain_load(chain, 0, zeros, 0), NAY_EINVAL);
  assert_status(nay__cfchain_load(chain, 0, NULL, 1), NAY_EINVAL);
  assert_dumps_as(chain, want);
  assert_null(nay__cfchain_chunk(chain, 3072, &len));
  assert_null(nay__cfchain_chunk(chain, UINT64_MAX, &len));
  assert_non_null(nay__cfchain_chunk(chain, 1000, &len));
  assert_int_equal(len, 24); /* never into the next */
  assert_ok(nay__cfchain_load(chain, 0, zeros, 1024));
  assert_counts_hold(chain);
  nay__cfchain_free(chain);
  free(want.at);
}

/* ---- moving ---- */

typedef struct mover {
  flaky *heap;
  unsigned offered;
} mover;

static void *mover_move(void *ctx, void *ptr) {
  mover *m = ctx;
  if (m->offered++ % 3 == 1) return NULL; /* it may stay */
  flaky_label *label = (flaky_label *)ptr - 1;
  size_t size = label->size;
  void *copy = flaky_alloc(m->heap, size);
  assert_non_null(copy);
  memcpy(copy, ptr, size);
  flaky_free(m->heap, ptr, size);
  return copy;
}

static void a_defragmenter_may_move_every_part(void **state) {
  (void)state;
  flaky heap = {.fail_at = -1};
  nay_zallocator a = flaky_zallocator(&heap);
  golden_bytes want = redisbloom_bytes("cf_del", false); /* four sub-filters */
  nay_cfchain *loaded = load(want), *chain;
  assert_ok(nay__cfchain_copy(loaded, &a, &chain));
  mover m = {.heap = &heap};
  uint64_t parts = 0;
  while (nay__cfchain_move(&chain, parts, mover_move, &m)) parts++;
  assert_int_equal(parts, 6); /* the object, the list, four sub-filters */
  assert_int_equal(m.offered, 6);
  assert_dumps_as(chain, want);
  nay__cfchain_free(chain);
  nay__cfchain_free(loaded);
  free(want.at);
  assert_true(flaky_is_clean(&heap));
}

static void prefetch_changes_nothing(void **state) {
  (void)state;
  golden_bytes want = redisbloom_bytes("cf_del", false);
  nay_cfchain *chain = load(want);
  uint64_t hashes[3] = {0, UINT64_MAX, item_hash("item", 7)};
  nay__cfchain_prefetch(chain, hashes, 3, true);
  nay__cfchain_prefetch(chain, hashes, 3, false);
  assert_dumps_as(chain, want);
  nay__cfchain_free(chain);
  nay__cfchain_free(NULL);
  free(want.at);
}

static void null_arguments(void **state) {
  (void)state;
  nay_cfchain_header h;
  nay_cfchain *chain = NULL;
  uint64_t nslots;
  assert_ok(nay__cfchain_plan(4, 1, 1, 1, &h));
  assert_status(nay__cfchain_nslots(NULL, NULL, &nslots), NAY_EINVAL);
  assert_status(nay__cfchain_nslots(&h, NULL, NULL), NAY_EINVAL);
  assert_status(nay__cfchain_new(NULL, NULL, NULL, &chain), NAY_EINVAL);
  assert_status(nay__cfchain_new(&h, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay__cfchain_open(&h, NULL, NULL, NULL), NAY_EINVAL);
  assert_null(chain);
  assert_ok(nay__cfchain_new(&h, NULL, NULL, &chain));
  assert_status(nay__cfchain_copy(chain, NULL, NULL), NAY_EINVAL);
  assert_status(nay__cfchain_copy(NULL, NULL, &chain), NAY_EINVAL);
  assert_status(nay__cfchain_adopt(NULL, 0, 4, &h, 4), NAY_EINVAL);
  nay__cfchain_free(chain);
}

/* 65535 sub-filters are the most: a counter of 16 bits in other readers would say 0 after that. */
static void the_longest_chain(void **state) {
  (void)state;
  nay_cfchain_header h = {
      .nbuckets = 1, .nfilters = 65534, .bucket_size = 1, .max_iterations = 1, .expansion = 1};
  nay_cfchain *chain;
  assert_ok(nay__cfchain_open(&h, NULL, NULL, &chain));
  for (uint64_t i = 0; i < 65534; i++) {
    uint8_t *slot = malloc(1);
    assert_non_null(slot);
    *slot = 'x';
    assert_ok(nay__cfchain_adopt(chain, i, 1, slot, 1));
  }
  assert_ok(nay__cfchain_finish(chain));
  assert_ok(nay__cfchain_add(chain, 1));
  assert_status(nay__cfchain_add(chain, 1), NAY_EFULL);
  nay__cfchain_describe(chain, &h);
  assert_int_equal(h.nfilters, 65535);
  assert_int_equal(h.nitems, 65535);
  nay__cfchain_free(chain);
}

int main(void) {
  const test_case tests[] = {
      TEST(same_calls_make_redisbloom_s_bytes),
      TEST(dumps_load_and_answer_as_redisbloom),
      TEST(counts_are_redisbloom_s_but_for_coinciding_buckets),
      TEST(count_of_a_single_add_is_one),
      TEST(traces_are_redisbloom_s),
      TEST(plan_refuses_what_reserve_refuses),
      TEST(growth_stops_before_sizes_overflow),
      TEST(an_add_that_fails_changes_nothing),
      TEST(every_failed_allocation_is_an_error_and_no_more),
      TEST(growth_without_memory_leaves_the_chain_as_it_was),
      TEST(buffers_are_adopted_or_left_alone),
      TEST(an_empty_chain_dumps_and_loads),
      TEST(chunks_stay_within_a_sub_filter),
      TEST(a_defragmenter_may_move_every_part),
      TEST(prefetch_changes_nothing),
      TEST(null_arguments),
      TEST(the_longest_chain),
  };
  return run_all(tests);
}

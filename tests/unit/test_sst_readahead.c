/* test_sst_readahead.c - walks with readahead: the same entries, fewer and larger reads, and no
 * more of them than the walk is long. */
#include "nay_sst_cache.h"
#include "nay_sst_iter.h"
#include "support/flaky.h"
#include "support/sst_numbers.h"
#include "support/sst_own_io.h"
#include "table/table.h"

#define N_KEYS 8000u

typedef struct shape {
  nay_sst_filter_layout filter;
  const nay_sst_codec *codec;
} shape;

static nay_sst_memory *table_of(const shape *s) {
  nay_sst_write_options how = {.size = sizeof how,
                               .filter = s->filter,
                               .codec = s->codec,
                               .block_bytes = 1000,
                               .partition_keys = 100};
  nay_sst_memory *memory;
  nay_sst_target sink = {.size = sizeof sink};
  nay_sst_writer *w;
  char key[32], value[32];
  assert_ok(nay_sst_memory_new(NULL, &memory));
  assert_ok(nay_sst_memory_target(memory, &sink));
  assert_ok(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w));
  for (unsigned i = 0; i < N_KEYS; i++) {
    int len = snprintf(value, sizeof value, "value %u", 2 * i);
    assert_ok(nay_sst_writer_add(w, key, number_key(2 * i, key), value, (size_t)len, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  return memory;
}

static own_file file_of(const nay_sst_memory *memory) {
  own_file f = {.fail_at = -1};
  f.bytes = nay_sst_memory_bytes(memory, &f.len);
  return f;
}

static nay_sst *open_own(own_file *f, size_t readahead, nay_sst_cache *cache,
                         const nay_allocator *a) {
  nay_sst_read_options read = {.size = sizeof read,
                               .codecs = snappy_codecs,
                               .ncodecs = 1,
                               .cache = cache,
                               .readahead = readahead};
  nay_sst_file file = own_file_of(f);
  nay_sst *t;
  assert_ok(nay_sst_open_file(&file, &read, a, NULL, &t));
  f->reads = 0;
  f->longest = 0;
  return t;
}

static void assert_at(const nay_sst_iter *it, unsigned i) {
  char key[32], value[32];
  size_t len, value_len;
  const void *k = nay_sst_iter_key(it, &len), *v = nay_sst_iter_value(it, &value_len);
  assert_int_equal(len, number_key(2 * i, key));
  assert_memory_equal(k, key, len);
  assert_int_equal(value_len, snprintf(value, sizeof value, "value %u", 2 * i));
  assert_memory_equal(v, value, value_len);
}

/* From the first key, or back from the last. */
static void walk(const nay_sst *t, bool back) {
  nay_sst_iter *it;
  unsigned n = 0;
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  nay_status s = back ? nay_sst_iter_last(it) : nay_sst_iter_first(it);
  for (; s == NAY_OK; s = back ? nay_sst_iter_prev(it) : nay_sst_iter_next(it), n++) {
    assert_at(it, back ? N_KEYS - 1 - n : n);
  }
  assert_status(s, NAY_EEND);
  assert_int_equal(n, N_KEYS);
  nay_sst_iter_free(it);
}

static uint64_t nblocks_of(const nay_sst *t) { return info_of(t).nblocks; }

static void walks_read_more_at_a_time(void **state) {
  const shape *s = *state;
  static const size_t windows[] = {1, 900, 5000, 16384, 65536, 100000, SIZE_MAX};
  nay_sst_memory *memory = table_of(s);
  for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
    own_file f = file_of(memory);
    nay_sst *t = open_own(&f, windows[i], NULL, NULL);
    walk(t, false);
    assert_true((uint64_t)f.reads <= nblocks_of(t));
    if (windows[i] >= 65536) assert_true((uint64_t)f.reads <= nblocks_of(t) / 5);
    if (windows[i] > 2000) assert_true(f.longest <= windows[i]);
    if (windows[i] == 1) assert_int_equal(f.reads, nblocks_of(t));
    f.reads = 0;
    walk(t, true);
    assert_int_equal(f.reads, nblocks_of(t)); /* backward: none */
    nay_sst_free(t);
  }
  own_file f = file_of(memory);
  nay_sst *t = open_own(&f, 0, NULL, NULL);
  walk(t, false);
  assert_int_equal(f.reads, nblocks_of(t));
  nay_sst_free(t);
  nay_sst_memory_free(memory);
}

/* Seeks and gets read their block and no more: not even two blocks in a row start it. */
static void short_reads_stay_short(void **state) {
  (void)state;
  static const shape plain = {NAY_SST_NO_FILTER, NULL};
  nay_sst_memory *memory = table_of(&plain);
  own_file f = file_of(memory);
  nay_sst *t = open_own(&f, 1u << 20, NULL, NULL);
  nay_sst_iter *it;
  char key[32];
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  for (unsigned i = 0; i < 50; i++) {
    unsigned number = (unsigned)(nay_hash_mix(i) % N_KEYS);
    f.reads = 0;
    assert_ok(nay_sst_iter_seek(it, key, number_key(2 * number, key)));
    assert_at(it, number);
    assert_true(f.reads <= 1);
    for (unsigned n = 1; n <= 10 && number + n < N_KEYS; n++) {
      assert_ok(nay_sst_iter_next(it));
      assert_at(it, number + n);
    }
    assert_true(f.reads <= 2);
  }
  assert_true(f.longest < 2000);
  nay_sst_iter_free(it);
  f.reads = 0;
  nay_sst_value v = {.size = sizeof v};
  for (unsigned i = 0; i < 1000; i++)
    assert_ok(nay_sst_get(t, key, number_key(2 * i, key), NAY_SST_NEWEST, NULL, &v));
  assert_true(f.reads == 1000 && f.longest < 2000);
  nay_sst_value_free(&v);
  nay_sst_free(t);
  nay_sst_memory_free(memory);
}

/* Random seeks, steps in both directions, pins: with readahead as without. */
static void movements_agree(void **state) {
  const shape *s = *state;
  nay_sst_memory *memory = table_of(s);
  nay_sst_cache *cache;
  assert_ok(
      nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 20000, 4000, false},
                        NULL, NULL, &cache));
  own_file f = file_of(memory);
  for (int cached = 0; cached < 2; cached++) {
    nay_sst *t = open_own(&f, 8192, cached ? cache : NULL, NULL);
    nay_sst_iter *it;
    nay_sst_value pinned = {.size = sizeof pinned};
    char key[32], value[32];
    assert_ok(nay_sst_iter_new(t, NULL, &it));
    for (unsigned i = 0; i < 300; i++) {
      unsigned at = (unsigned)(nay_hash_mix(i) % N_KEYS),
               steps = (unsigned)(nay_hash_mix(~i) % 400);
      bool back = i % 3 == 0;
      assert_ok(nay_sst_iter_seek(it, key, number_key(2 * at, key)));
      assert_ok(nay_sst_iter_pin(it, &pinned));
      int want = snprintf(value, sizeof value, "value %u", 2 * at);
      for (unsigned n = 0; n < steps && (back ? at > 0 : at + 1 < N_KEYS); n++) {
        assert_ok(back ? nay_sst_iter_prev(it) : nay_sst_iter_next(it));
        at = back ? at - 1 : at + 1;
        assert_at(it, at);
      }
      assert_int_equal(pinned.len, want);
      assert_memory_equal(pinned.bytes, value, pinned.len);
    }
    nay_sst_iter_free(it);
    nay_sst_value_free(&pinned);
    nay_sst_free(t);
  }
  nay_sst_cache_free(cache);
  nay_sst_memory_free(memory);
}

/* There is no memory for more than blocks: they are read one by one. */
static void readahead_needs_no_memory(void **state) {
  (void)state;
  static const shape plain = {NAY_SST_NO_FILTER, NULL};
  nay_sst_memory *memory = table_of(&plain);
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  own_file f = file_of(memory);
  nay_sst *t = open_own(&f, 65536, NULL, &a);
  size_t before = heap.live;
  unsigned whole = 0;
  walk(t, false); /* checks the order in each block, which needs memory once */
  for (long at = 0; at < 20; at++) {
    for (int for_ever = 0; for_ever < 2; for_ever++) {
      nay_sst_iter *it;
      unsigned n = 0;
      flaky_arm(&heap, at, for_ever != 0);
      if (nay_sst_iter_new(t, NULL, &it) != NAY_OK) continue;
      nay_status s = nay_sst_iter_first(it);
      for (; s == NAY_OK; s = nay_sst_iter_next(it)) assert_at(it, n++);
      assert_true(s == NAY_ENOMEM || (s == NAY_EEND && n == N_KEYS));
      whole += heap.calls > at && s == NAY_EEND; /* one that failed was not needed */
      nay_sst_iter_free(it);
      assert_int_equal(heap.live, before);
    }
  }
  assert_true(whole >= 2);
  flaky_arm(&heap, -1, false);
  heap.peak = heap.live;
  walk(t, false);
  assert_true(heap.peak - before >= 65536 && heap.peak - before < 65536 * 2 + 16384);
  nay_sst_free(t);
  assert_true(flaky_is_clean(&heap));
  nay_sst_memory_free(memory);
}

/* A mapped file, and one that is read by pread, from their paths. */
static void paths_have_readahead(void **flags) {
  char path[TEMP_MAX];
  nay_sst_write_options how = {.size = sizeof how, .block_bytes = 1000};
  nay_sst_read_options read = {
      .size = sizeof read, .flags = *(const unsigned *)*flags, .readahead = 32768};
  write_even(temp_path(path, "ahead.ldb"), &how, N_KEYS);
  nay_sst *t = open_table(path, &read);
  walk(t, false);
  walk(t, true);
  nay_sst_free(t);
  unlink(path);
}

/* ---- large reads that fall short ---- */

/* Entries, and so blocks, of one length: a block that an earlier read left in the buffer stands
 * where another block belongs, and is whole. */
static nay_sst_memory *even_blocks(void) {
  nay_sst_write_options how = {.size = sizeof how, .block_bytes = 1000, .restart_interval = 1};
  nay_sst_memory *memory;
  nay_sst_target sink = {.size = sizeof sink};
  nay_sst_writer *w;
  char key[32];
  assert_ok(nay_sst_memory_new(NULL, &memory));
  assert_ok(nay_sst_memory_target(memory, &sink));
  assert_ok(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w));
  for (unsigned i = 0; i < N_KEYS; i++) {
    assert_ok(nay_sst_writer_add(w, key, number_key(i, key), "value", 5, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  return memory;
}

/* How many entries; all must be right. */
static unsigned walk_even(const nay_sst *t, nay_status *end) {
  nay_sst_iter *it;
  unsigned n = 0;
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  for (*end = nay_sst_iter_first(it); *end == NAY_OK; *end = nay_sst_iter_next(it), n++) {
    char key[32];
    size_t len;
    const void *at = nay_sst_iter_key(it, &len);
    assert_int_equal(len, number_key(n, key));
    assert_memory_equal(at, key, len);
  }
  nay_sst_iter_free(it);
  return n;
}

/* Where the second block begins. */
static size_t block_length(own_file *f) {
  nay_sst *t = open_own(f, 0, NULL, NULL);
  uint64_t offset = 0;
  for (unsigned i = 0; offset == 0; i++) {
    char key[32];
    assert_ok(nay_sst__approximate_offset(t, key, number_key(i, key), NULL, &offset));
  }
  nay_sst_free(t);
  return (size_t)offset;
}

static void large_reads_fall_short(void **state) {
  (void)state;
  nay_sst_memory *memory = even_blocks();
  own_file f = file_of(memory);
  nay_sst *t = open_own(&f, 10 * block_length(&f), NULL, NULL); /* half of that: whole blocks */
  nay_status end;
  assert_int_equal(walk_even(t, &end), N_KEYS); /* every block is checked once */
  long reads = f.reads;
  f.failure = NAY_OK;
  for (long at = 0; at < reads; at++) {
    f.reads = 0;
    f.fail_at = at;
    unsigned n = walk_even(t, &end);
    assert_true(end == NAY_ECORRUPT || (end == NAY_EEND && n == N_KEYS));
  }
  nay_sst_free(t);
  nay_sst_memory_free(memory);
}

int main(void) {
  static const shape plain = {NAY_SST_NO_FILTER, NULL},
                     partitioned = {NAY_SST_PARTITIONED_FILTER, NULL},
                     compressed = {NAY_SST_FULL_FILTER, &snappy_codec};
  static const unsigned mapped = 0, read = NAY_SST_PREAD;
  const test_case tests[] = {
      TEST_WITH("walks_read_more_at_a_time plain", walks_read_more_at_a_time, &plain),
      TEST_WITH("walks_read_more_at_a_time partitioned", walks_read_more_at_a_time, &partitioned),
      TEST_WITH("walks_read_more_at_a_time compressed", walks_read_more_at_a_time, &compressed),
      TEST(short_reads_stay_short),
      TEST_WITH("movements_agree plain", movements_agree, &plain),
      TEST_WITH("movements_agree partitioned", movements_agree, &partitioned),
      TEST_WITH("movements_agree compressed", movements_agree, &compressed),
      TEST(readahead_needs_no_memory),
      TEST(large_reads_fall_short),
      TEST_WITH("paths_have_readahead mapped", paths_have_readahead, &mapped),
      TEST_WITH("paths_have_readahead pread", paths_have_readahead, &read),
  };
  return run_all(tests);
}

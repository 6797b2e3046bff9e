/*
 * test_sst_iter.c - an iterator backwards, values that are kept while it moves on, and errors that
 * stay.
 */
#include "nay_sst_cache.h"
#include "support/flaky.h"
#include "support/snappy_codec.h"
#include "support/sst_sample.h"

#define MAX_ENTRIES 400u
#define N_PINS 48u

/* How a block gets into memory. */
typedef struct access_way {
  uint32_t flags;
  bool snappy, cache;
} access_way;

static const access_way ways[] = {
    {0, false, false},             /* in place */
    {0, true, false},              /* uncompressed into the iterator's memory */
    {NAY_SST_PREAD, false, false}, /* read into it */
    {NAY_SST_PREAD, true, false},
    {0, true, true}, /* in the cache */
    {NAY_SST_PREAD, false, true},
};

static nay_sst *open_way(const char *path, const access_way *way, nay_sst_cache *cache,
                         const nay_sst_comparator *order) {
  nay_sst_read_options how = {.size = sizeof how,
                              .keys = NAY_SST_KEYS_PLAIN,
                              .flags = way->flags,
                              .codecs = snappy_codecs,
                              .ncodecs = 1,
                              .cache = way->cache ? cache : NULL,
                              .comparator = order};
  nay_sst *t;
  assert_ok(nay_sst_open(path, &how, NULL, NULL, &t));
  return t;
}

/* ---- seek_for_prev ---- */

/* The last entry at or below a key. */
static void check_seek_for_prev(sample *s, nay_sst_iter *it, const uint8_t *key, size_t len) {
  size_t at = sample_lower(s, key, len);
  bool equal = at < s->n && s->entries[at].len == len && memcmp(s->entries[at].key, key, len) == 0;
  at += equal;
  assert_status(nay_sst_iter_seek_for_prev(it, key, len), at == 0 ? NAY_EEND : NAY_OK);
  if (at == 0) return;
  sample_assert_entry(it, &s->entries[at - 1]);
  assert_status(nay_sst_iter_next(it), at == s->n ? NAY_EEND : NAY_OK);
  if (at != s->n) sample_assert_entry(it, &s->entries[at]);
}

static void seeks_backwards(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst_comparator reverse = {.size = sizeof reverse};
  assert_ok(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reverse));
  sample s;
  sample_init(&s, MAX_ENTRIES);
  temp_path(path, "back.ldb");
  for (uint64_t seed = 0; seed < TEST_SCALE(200); seed++) {
    s.order = seed % 2 == 0 ? NULL : &reverse;
    sample_fill(&s, seed, MAX_ENTRIES);
    nay_sst_write_options how = {sizeof how, .block_bytes = 1u << seed % 12, .comparator = s.order};
    sample_write(&s, path, &how);
    nay_sst *t = open_way(path, &ways[0], NULL, s.order);
    nay_sst_iter *it;
    assert_ok(nay_sst_iter_new(t, NULL, &it));
    for (size_t i = 0; i < s.n; i++)
      check_seek_for_prev(&s, it, s.entries[i].key, s.entries[i].len);
    for (int i = 0; i < 50; i++) {
      uint8_t key[SAMPLE_KEY_MAX];
      size_t len = sample_key(&s, (unsigned)sample_draw(&s, 3), key);
      check_seek_for_prev(&s, it, key, len);
    }
    nay_sst_iter_free(it);
    nay_sst_free(t);
  }
  unlink(path);
  sample_free(&s);
}

/* Of versions the oldest: a walk back meets the newer ones next. */
static void oldest_version_first(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL, .block_bytes = 30};
  nay_sst_writer *w;
  assert_ok(nay_sst_writer_new(temp_path(path, "versions.ldb"), &how, NULL, NULL, &w));
  const char *keys[] = {"b", "d"};
  for (int k = 0; k < 2; k++) {
    for (uint64_t sequence = 6; sequence-- > 0;) {
      nay_sst_entry v = {
          sizeof v, keys[k], 1, sequence, sequence % 2 == 0 ? NAY_SST_DELETE : NAY_SST_PUT, 0};
      assert_ok(nay_sst_writer_add_entry(w, &v, "", 0, NULL));
    }
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  nay_sst *t;
  nay_sst_iter *it;
  assert_ok(nay_sst_open(path, NULL, NULL, NULL, &t));
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  assert_status(nay_sst_iter_seek_for_prev(it, "a", 1), NAY_EEND);
  const char *from[] = {"b", "c", "d", "e"};
  for (int i = 0; i < 4; i++) {
    nay_status status = nay_sst_iter_seek_for_prev(it, from[i], 1);
    for (uint64_t sequence = 0; sequence < 6; sequence++, status = nay_sst_iter_prev(it)) {
      nay_sst_entry v = {.size = sizeof v};
      size_t len;
      assert_ok(status);
      const void *key = nay_sst_iter_key(it, &len);
      assert_ok(nay_sst_key_split(key, len, &v));
      assert_int_equal(v.sequence, sequence);
      assert_memory_equal(v.key, keys[i / 2], 1);
    }
  }
  nay_sst_iter_free(it);
  nay_sst_free(t);
  unlink(path);
}

/* ---- pins ---- */

/* A random walk that pins values, more than a cache can keep; all of them stay as they are. */
static void pin_while_walking(sample *s, nay_sst_iter *it, nay_sst_value *pins, size_t *which) {
  for (size_t n = 0; n < 4 * N_PINS; n++) {
    size_t at = sample_draw(s, s->n), slot = n % N_PINS;
    assert_ok(nay_sst_iter_seek(it, s->entries[at].key, s->entries[at].len));
    for (uint64_t steps = sample_draw(s, 3); steps > 0 && at + 1 < s->n; steps--, at++) {
      assert_ok(nay_sst_iter_next(it));
    }
    assert_ok(nay_sst_iter_pin(it, &pins[slot])); /* releases what the slot had */
    which[slot] = at;
  }
}

static void check_pins(const sample *s, const nay_sst_value *pins, const size_t *which) {
  for (size_t i = 0; i < N_PINS; i++) {
    const sample_entry *e = &s->entries[which[i]];
    assert_int_equal(pins[i].len, e->value_len);
    assert_memory_equal(pins[i].bytes, e->value, e->value_len);
  }
}

static void pins_stay(void **state) {
  const access_way *way = *state;
  char path[TEMP_MAX];
  sample s;
  sample_init(&s, MAX_ENTRIES);
  temp_path(path, "pins.ldb");
  for (uint64_t seed = 0; seed < TEST_SCALE(60); seed++) {
    flaky heap = {.fail_at = -1};
    nay_allocator a = flaky_allocator(&heap);
    nay_sst_cache *cache;
    nay_sst_value pins[N_PINS];
    size_t which[N_PINS];
    do sample_fill(&s, sample_draw(&s, 1u << 30), MAX_ENTRIES);
    while (s.n == 0);
    nay_sst_write_options how = {sizeof how, .block_bytes = 500,
                                 .codec = way->snappy ? &snappy_codec : NULL};
    sample_write(&s, path, &how);
    assert_ok(nay_sst_cache_new(
        &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 2000, 0, false}, &a, NULL, &cache));
    for (size_t i = 0; i < N_PINS; i++) pins[i] = (nay_sst_value){.size = sizeof pins[i]};
    nay_sst *t = open_way(path, way, cache, NULL);
    nay_sst_iter *it;
    assert_ok(nay_sst_iter_new(t, NULL, &it));
    pin_while_walking(&s, it, pins, which);
    check_pins(&s, pins, which);
    nay_sst_iter_free(it);
    check_pins(&s, pins, which);
    /* a value with a pin serves gets as any other */
    assert_ok(nay_sst_get(t, s.entries[0].key, s.entries[0].len, NAY_SST_NEWEST, NULL, &pins[0]));
    assert_int_equal(pins[0].len, s.entries[0].value_len);
    for (size_t i = 0; i < N_PINS; i++) nay_sst_value_free(&pins[i]);
    nay_sst_free(t);
    nay_sst_cache_free(cache);
    assert_int_equal(heap.live, 0);
  }
  unlink(path);
  sample_free(&s);
}

/* A value that is freed by another owner after the iterator has pinned the same block again. */
static void pins_of_one_block(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  sample s;
  sample_init(&s, MAX_ENTRIES);
  do sample_fill(&s, sample_draw(&s, 1u << 30), MAX_ENTRIES);
  while (s.n < 10);
  nay_sst_write_options how = {sizeof how, .block_bytes = 1u << 20};
  sample_write(&s, temp_path(path, "one.ldb"), &how);
  nay_sst *t = open_way(path, &ways[2], NULL, NULL);
  nay_sst_iter *it;
  nay_sst_value a = {.size = sizeof a}, b = a, c = a;
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  assert_status(nay_sst_iter_pin(it, &a), NAY_EINVAL); /* at no entry */
  assert_ok(nay_sst_iter_first(it));
  assert_ok(nay_sst_iter_pin(it, &a));
  assert_ok(nay_sst_iter_next(it));
  assert_ok(nay_sst_iter_pin(it, &b));
  nay_sst_value_free(&a);
  assert_ok(nay_sst_iter_first(it)); /* reads the block anew */
  assert_ok(nay_sst_iter_pin(it, &c));
  nay_sst_iter_free(it);
  assert_memory_equal(b.bytes, s.entries[1].value, s.entries[1].value_len);
  assert_memory_equal(c.bytes, s.entries[0].value, s.entries[0].value_len);
  nay_sst_value_free(&b);
  nay_sst_value_free(&c);
  nay_sst_free(t);
  unlink(path);
  sample_free(&s);
}

/* Every allocation of a walk with pins fails once: an error, no leak, and the walk can be repeated.
 */
static void pins_without_memory(void **state) {
  const access_way *way = *state;
  char path[TEMP_MAX];
  sample s;
  sample_init(&s, MAX_ENTRIES);
  do sample_fill(&s, sample_draw(&s, 1u << 30), 60);
  while (s.n < 10);
  nay_sst_write_options how = {sizeof how, .block_bytes = 200,
                               .codec = way->snappy ? &snappy_codec : NULL};
  sample_write(&s, temp_path(path, "memory.ldb"), &how);
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  for (int fail = 0, failed = 1; failed; fail++) {
    nay_sst_read_options read = {
        .size = sizeof read, .flags = way->flags, .codecs = snappy_codecs, .ncodecs = 1};
    nay_sst *t;
    nay_sst_iter *it = NULL;
    nay_sst_value v = {.size = sizeof v}, w = {.size = sizeof w};
    assert_ok(nay_sst_open(path, &read, &a, NULL, &t));
    heap.fail_at = heap.calls + fail;
    nay_status status = nay_sst_iter_new(t, NULL, &it);
    if (status == NAY_OK) status = nay_sst_iter_first(it);
    if (status == NAY_OK) status = nay_sst_iter_pin(it, &v);
    if (status == NAY_OK) status = nay_sst_iter_last(it);
    if (status == NAY_OK) status = nay_sst_iter_pin(it, &w);
    failed = heap.calls > heap.fail_at;
    heap.fail_at = -1;
    assert_status(status, failed ? NAY_ENOMEM : NAY_OK);
    if (it != NULL) assert_ok(nay_sst_iter_first(it));
    nay_sst_value_free(&v);
    nay_sst_value_free(&w);
    nay_sst_iter_free(it);
    nay_sst_free(t);
    assert_int_equal(heap.live, 0);
  }
  unlink(path);
  sample_free(&s);
}

/* ---- errors ---- */

static void errors_stay(void **unused) {
  (void)unused;
  sample s;
  sample_init(&s, MAX_ENTRIES);
  do sample_fill(&s, sample_draw(&s, 1u << 30), MAX_ENTRIES);
  while (s.n < 50);
  nay_sst_write_options how = {sizeof how, .block_bytes = 100};
  nay_sst_read_options read = {sizeof read, .keys = NAY_SST_KEYS_PLAIN};
  size_t len;
  uint8_t *bytes = sample_bytes(&s, &how, &len);
  nay_sst *t;
  nay_sst_iter *it;
  bytes[len / 2] ^= 1; /* in the data: values are most of the table */
  assert_ok(nay_sst_view(bytes, len, &read, NULL, NULL, &t));
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  assert_status(nay_sst_iter_next(it), NAY_EEND);
  nay_status status = nay_sst_iter_first(it);
  while (status == NAY_OK) status = nay_sst_iter_next(it);
  assert_status(status, NAY_ECORRUPT);
  assert_status(nay_sst_iter_next(it), NAY_ECORRUPT);
  assert_status(nay_sst_iter_prev(it), NAY_ECORRUPT);
  assert_false((nay_sst_iter_key(it, &(size_t){0}) != NULL));
  assert_ok(nay_sst_iter_first(it));
  nay_sst_iter_free(it);
  nay_sst_free(t);
  free(bytes);
  sample_free(&s);
}

int main(void) {
  const test_case tests[] = {
      TEST(seeks_backwards),
      TEST(oldest_version_first),
      TEST_WITH("pins_stay mapped", pins_stay, &ways[0]),
      TEST_WITH("pins_stay mapped, snappy", pins_stay, &ways[1]),
      TEST_WITH("pins_stay read", pins_stay, &ways[2]),
      TEST_WITH("pins_stay read, snappy", pins_stay, &ways[3]),
      TEST_WITH("pins_stay cache, snappy", pins_stay, &ways[4]),
      TEST_WITH("pins_stay cache, read", pins_stay, &ways[5]),
      TEST(pins_of_one_block),
      TEST_WITH("pins_without_memory mapped", pins_without_memory, &ways[0]),
      TEST_WITH("pins_without_memory read", pins_without_memory, &ways[2]),
      TEST_WITH("pins_without_memory read, snappy", pins_without_memory, &ways[3]),
      TEST(errors_stay),
  };
  return run_all(tests);
}

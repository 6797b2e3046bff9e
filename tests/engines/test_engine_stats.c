/*
 * test_engine_stats.c - tables with nay's properties in the real engines: LevelDB and RocksDB read
 * them as if the block were not there, and LevelDB's approximate offsets are ours.
 */
#include "engine_table.h"
#include "nay_sst.h"
#include "support/sst_sample.h"
#include "table/table.h"

#define MAX_ENTRIES 300u

static void check_leveldb(const sample *s, const uint8_t *bytes, size_t len) {
  engine_table *t = engine_table_open(bytes, len, 0, ENGINE_BYTEWISE);
  nay_sst *ours;
  engine_slice key, value;
  assert_non_null(t);
  assert_ok(nay_sst_view(bytes, len, NULL, NULL, NULL, &ours));
  bool there = engine_table_first(t, &key, &value);
  for (size_t i = 0; i < s->n; i++, there = engine_table_next(t, &key, &value)) {
    const sample_entry *e = &s->entries[i];
    uint64_t offset;
    assert_true(there);
    assert_int_equal(key.len, e->len);
    assert_memory_equal(key.at, e->key, key.len);
    assert_int_equal(value.len, e->value_len);
    assert_memory_equal(value.at, e->value, value.len);
    assert_ok(nay_sst__approximate_offset(ours, e->key, e->len, NULL, &offset));
    assert_int_equal(offset, engine_table_offset(t, key));
  }
  assert_false(there);
  uint64_t offset;
  assert_ok(nay_sst__approximate_offset(ours, "\xff\xff\xff\xff", 4, NULL, &offset));
  assert_int_equal(offset,
                   engine_table_offset(t, (engine_slice){(const uint8_t *)"\xff\xff\xff\xff", 4}));
  assert_false(engine_table_failed(t));
  engine_table_close(t);
  nay_sst_free(ours);
}

static void leveldb_reads_them(void **state) {
  (void)state;
  sample s;
  sample_init(&s, MAX_ENTRIES);
  for (uint64_t seed = 0; seed < TEST_SCALE(300); seed++) {
    size_t len, plain_len;
    sample_fill(&s, seed, MAX_ENTRIES);
    nay_sst_write_options how = {sizeof how, .block_bytes = 1 + (uint32_t)sample_draw(&s, 3000)};
    uint8_t *plain = sample_bytes(&s, &how, &plain_len);
    how.properties = true;
    uint8_t *bytes = sample_bytes(&s, &how, &len);
    assert_true(len > plain_len);
    check_leveldb(&s, plain, plain_len);
    check_leveldb(&s, bytes, len);
    free(plain);
    free(bytes);
  }
  sample_free(&s);
}

typedef struct walk {
  const sample *s;
  size_t n;
} walk;

static void walk_entry(void *ctx, engine_slice key, engine_slice value) {
  walk *w = ctx;
  const sample_entry *e = &w->s->entries[w->n++];
  assert_true(w->n <= w->s->n);
  assert_int_equal(key.len, e->len);
  assert_memory_equal(key.at, e->key, key.len);
  assert_int_equal(value.len, e->value_len);
  assert_memory_equal(value.at, e->value, value.len);
}

/* RocksDB's keys are internal ones. */
static void rocksdb_reads_them(void **state) {
  (void)state;
  char path[TEMP_MAX];
  temp_path(path, "stats.sst");
  sample s;
  sample_init(&s, MAX_ENTRIES);
  for (uint64_t seed = 0; seed < TEST_SCALE(60); seed++) {
    nay_sst_writer *w;
    sample_fill(&s, seed, MAX_ENTRIES);
    if (s.n == 0) continue;
    nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL, .properties = true};
    assert_ok(nay_sst_writer_new(path, &how, NULL, NULL, &w));
    for (size_t i = 0; i < s.n; i++) {
      const sample_entry *e = &s.entries[i];
      nay_sst_entry v = {sizeof v, e->key, e->len, 5, NAY_SST_PUT, 0};
      assert_ok(nay_sst_writer_add_entry(w, &v, e->value, e->value_len, NULL));
    }
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    walk all = {&s, 0};
    assert_true(engine_rocksdb_walk(path, walk_entry, &all));
    assert_int_equal(all.n, s.n);
  }
  unlink(path);
  sample_free(&s);
}

int main(void) {
  const test_case tests[] = {TEST(leveldb_reads_them), TEST(rocksdb_reads_them)};
  return run_all(tests);
}

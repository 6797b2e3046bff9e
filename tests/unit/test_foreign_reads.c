/*
 * test_foreign_reads.c - block reads that the filters of nori's tables save when 90% of the keys
 * looked up are absent, compared with the same lookups without filters: in tables with disjoint key
 * ranges, and in 100 tables over one range. Versions 0 (unrounded) and 1 have a Bloom filter per
 * table; the filters of version 2 lie inside the blocks and save no read.
 */
#include <unistd.h>

#include "base/bytes.h"
#include "block/crc32c.h"
#include "golden/golden.h"
#include "nay_sst.h"
#include "nay_sst_lookup.h"

#define MOST_TABLES 100u
#define LOOKUPS 2000u

static char paths[MOST_TABLES][64];

/* Makes key i. Even keys are stored; odd keys are absent, but inside the key range. */
static size_t make_key(uint64_t i, uint8_t *key) {
  return (size_t)snprintf((char *)key, 32, "key%08llu", (unsigned long long)i);
}

/* Makes a version-0 table as nori wrote it before 2025-10-31, from a version-1 table. */
static void make_old(const char *path, uint64_t first, uint64_t step, uint64_t n) {
  golden_bytes b = golden_read(path);
  uint8_t *footer = b.at + b.len - 64, key[32];
  size_t bloom = (size_t)nay__load64le(footer + 16);
  nay_params p = {sizeof p, .nkeys = n, .bits_per_key = 10};
  nay_filter *f;
  assert_ok(nay_format_new(nay_format_find("nori12-unrounded"), &p, NULL, NULL, &f));
  for (uint64_t i = 0; i < n; i++) {
    assert_ok(nay_filter_add(f, key, make_key(first + i * step, key), NULL));
  }
  golden_bytes filter = golden_encode(f);
  nay_filter_free(f);
  nay__store64le(footer + 24, filter.len);
  footer[45] = 0;
  nay__store32le(footer + 60, nay_sst__crc32c(0, footer, 60));
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(b.at, 1, bloom, file), bloom);
  assert_int_equal(fwrite(filter.at, 1, filter.len, file), filter.len);
  assert_int_equal(fwrite(footer, 1, 64, file), 64);
  assert_int_equal(fclose(file), 0);
  free(b.at);
  free(filter.at);
}

/* Writes n keys from `first` on, every step-th. */
static void make_table(const char *path, unsigned version, uint64_t first, uint64_t step,
                       uint64_t n) {
  nay_sst_write_options o = {
      .size = sizeof o, .layout = "nori-sst", .quotient = version == 2, .block_bytes = 1024};
  nay_sst_writer *w;
  uint8_t key[32];
  assert_ok(nay_sst_writer_new(path, &o, NULL, NULL, &w));
  for (uint64_t i = 0; i < n; i++) {
    nay_sst_entry v = {sizeof v, .key = key, .len = make_key(first + i * step, key), .sequence = 0,
                       .type = NAY_SST_PUT};
    v.term = 1;
    assert_ok(nay_sst_writer_add_entry(w, &v, "a value of some bytes", 21, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  if (version == 0) make_old(path, first, step, n);
}

typedef struct scene {
  unsigned version, ntables;
  uint64_t keys_per_table;
  uint64_t first[MOST_TABLES], step;
} scene;

/* Counts block reads. Every tenth key is present, in tables by turns; the others are absent. */
static uint64_t count_reads(const scene *s, uint32_t flags) {
  const nay_sst *tables[MOST_TABLES];
  nay_sst_lookup *lookup;
  nay_sst_value value = {.size = sizeof value};
  nay_sst_counters before = {.size = sizeof before}, after = {.size = sizeof after};
  nay_sst_read_options how = {sizeof how, .flags = flags};
  for (unsigned i = 0; i < s->ntables; i++) {
    nay_sst *t;
    assert_ok(nay_sst_open(paths[i], &how, NULL, NULL, &t));
    tables[i] = t;
  }
  assert_ok(nay_sst_lookup_new(
      &(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), tables, s->ntables, false}, 1, NULL,
      NULL, NULL, &lookup));
  nay_sst_lookup_stats(lookup, &before);
  for (uint64_t i = 0; i < LOOKUPS; i++) {
    uint8_t key[32];
    bool present = i % 10 == 0;
    uint64_t number = s->first[i / 10 % s->ntables] + i * 7 % (s->keys_per_table - 1) * s->step;
    size_t len = make_key(number + !present, key);
    nay_status status = nay_sst_lookup_get(lookup, key, len, NAY_SST_NEWEST, NULL, &value, NULL);
    assert_status(status, present ? NAY_OK : NAY_ENOENT);
  }
  nay_sst_lookup_stats(lookup, &after);
  nay_sst_value_free(&value);
  nay_sst_lookup_free(lookup);
  for (unsigned i = 0; i < s->ntables; i++) nay_sst_free((nay_sst *)(uintptr_t)tables[i]);
  return after.block_reads - before.block_reads;
}

static double saved(scene *s, bool overlapping) {
  s->step = overlapping ? 2 * s->ntables : 2;
  for (unsigned i = 0; i < s->ntables; i++) {
    s->first[i] = overlapping ? 2 * i : 2 * i * s->keys_per_table;
    make_table(paths[i], s->version, s->first[i], s->step, s->keys_per_table);
  }
  uint64_t without = count_reads(s, NAY_SST_NO_FILTERS), with = count_reads(s, 0);
  double factor = (double)without / (double)with;
  print_message("# version %u, %u tables, %s: %llu block reads without filters, %llu with: %.1fx\n",
                s->version, s->ntables, overlapping ? "overlapping" : "disjoint",
                (unsigned long long)without, (unsigned long long)with, factor);
  return factor;
}

static void disjoint(void **state) {
  (void)state;
  for (unsigned version = 0; version < 2; version++) {
    scene s = {.version = version, .ntables = 10, .keys_per_table = 500};
    assert_true(saved(&s, false) >= 9);
  }
}

static void overlapping(void **state) {
  (void)state;
  for (unsigned version = 0; version < 2; version++) {
    scene s = {.version = version, .ntables = 100, .keys_per_table = 100};
    assert_true(saved(&s, true) >= 80);
  }
}

static void version_2_saves_none(void **state) {
  (void)state;
  scene s = {.version = 2, .ntables = 10, .keys_per_table = 500};
  assert_true(saved(&s, false) == 1);
  nay_sst *t;
  assert_ok(nay_sst_open(paths[0], NULL, NULL, NULL, &t));
  bool told = false;
  for (size_t i = 0; nay_sst_caveat(t, i) != NULL; i++) {
    told |= strstr(nay_sst_caveat(t, i), "saves no block read") != NULL;
  }
  assert_true(told);
  nay_sst_free(t);
}

int main(void) {
  for (unsigned i = 0; i < MOST_TABLES; i++) {
    snprintf(paths[i], sizeof paths[i], "test_foreign_reads.%ld.%u.sst", (long)getpid(), i);
  }
  const test_case tests[] = {TEST(disjoint), TEST(overlapping), TEST(version_2_saves_none)};
  int failed = run_all(tests);
  for (unsigned i = 0; i < MOST_TABLES; i++) (void)unlink(paths[i]);
  return failed;
}

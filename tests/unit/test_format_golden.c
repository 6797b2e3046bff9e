/*
 * test_format_golden.c - the filters in tests/golden, rebuilt byte for byte from their keys and
 * asked what their own engine, or an independent model, was asked. MANIFEST.md says who made them.
 */
#include "base/crc32.h"
#include "golden/golden.h"

/* A stored filter is what both ways to build give, and decode, encode and copy keep it. */
static void check_bytes(const nay_format *format, golden_key make, uint64_t n, uint32_t b,
                        const uint8_t *bytes, size_t len) {
  golden_assert_encodes(golden_by_new(format, make, n, b), bytes, len);
  golden_assert_encodes(golden_by_builder(format, make, n, b), bytes, len);
  nay_filter *f, *copy;
  assert_ok(nay_format_decode(format, bytes, len, 0, NULL, NULL, &f));
  assert_ptr_equal(nay_filter_format(f), format);
  assert_ok(nay_filter_copy(f, NULL, NULL, &copy));
  golden_assert_encodes(f, bytes, len);
  golden_assert_encodes(copy, bytes, len);
}

static unsigned count_absent_maybes(const nay_filter *f) {
  uint8_t key[GOLDEN_KEY_MAX];
  unsigned maybes = 0;
  for (uint64_t i = 0; i < GOLDEN_ABSENT; i++) {
    maybes += nay_filter_may_contain(f, key, golden_abs(i, key));
  }
  return maybes;
}

static void leveldb_filters(void **state) {
  (void)state;
  const nay_format *leveldb = nay_format_find("leveldb");
  golden_bytes table = golden_read(TEST_GOLDEN "/leveldb/positives.txt");
  char *rest = (char *)table.at, *line;
  unsigned files = 0;
  while ((line = golden_line(&rest)) != NULL) {
    char set[16], path[512];
    unsigned n, b;
    int name_len = 0;
    assert_int_equal(sscanf(line, "filter_%15[^_]_n%u_b%u.bin%n", set, &n, &b, &name_len), 3);
    snprintf(path, sizeof path, TEST_GOLDEN "/leveldb/%.*s", name_len, line);
    golden_bytes stored = golden_read(path);
    check_bytes(leveldb, golden_set(set), n, b, stored.at, stored.len);
    nay_view view = {.size = sizeof view};
    assert_ok(nay_format_view(leveldb, stored.at, stored.len, 0, NULL, &view));
    golden_check_members(nay_view_filter(&view), golden_set(set), n);
    golden_check_positives(nay_view_filter(&view), line + name_len);
    free(stored.at);
    files++;
  }
  assert_int_equal(files, 27);
  free(table.at);
}

/* Reserved values and odd lengths, with what LevelDB's own reader said. */
static void leveldb_reader_edge_cases(void **state) {
  (void)state;
  assert_int_equal(golden_check_edge_cases("leveldb", TEST_GOLDEN "/leveldb/edge_cases.txt"), 12);
}

/* A row of seed_layouts.txt, which the model in make_seed_layouts.py wrote. */
typedef struct seed_row {
  const nay_format *format;
  golden_key make;
  unsigned n, bits_per_key, maybes;
  size_t len;
  uint32_t crc;
  char file[512];
} seed_row;

static seed_row read_seed_row(const char *line) {
  seed_row row = {.format = NULL};
  char name[16], set[16];
  unsigned long len, crc;
  assert_int_equal(sscanf(line, "%15s %15s %u %u %lu %lx %u", name, set, &row.n, &row.bits_per_key,
                          &len, &crc, &row.maybes),
                   7);
  row.format = nay_format_find(name);
  assert_non_null(row.format);
  row.make = golden_set(set);
  row.len = len;
  row.crc = (uint32_t)crc;
  snprintf(row.file, sizeof row.file, TEST_GOLDEN "/%s/filter_%s_n%u_b%u.bin", name, set, row.n,
           row.bits_per_key);
  return row;
}

/* Some rows are kept whole; all of them by length and CRC-32. */
static bool check_kept_file(const seed_row *row, const golden_bytes *bytes) {
  FILE *kept = fopen(row->file, "rb");
  if (kept == NULL) return false;
  fclose(kept);
  golden_bytes stored = golden_read(row->file);
  assert_int_equal(stored.len, bytes->len);
  assert_memory_equal(stored.at, bytes->at, bytes->len);
  free(stored.at);
  return true;
}

static void seed_layouts(void **state) {
  const nay_format *only = nay_format_find(*state);
  golden_bytes table = golden_read(TEST_GOLDEN "/seed_layouts.txt");
  char *rest = (char *)table.at, *line;
  unsigned rows = 0, files = 0;
  while ((line = golden_line(&rest)) != NULL) {
    seed_row row = read_seed_row(line);
    if (row.format != only) continue;
    nay_filter *f = golden_by_new(row.format, row.make, row.n, row.bits_per_key);
    golden_bytes bytes = golden_encode(f);
    assert_int_equal(bytes.len, row.len);
    assert_int_equal(nay__crc32(bytes.at, bytes.len), row.crc);
    check_bytes(row.format, row.make, row.n, row.bits_per_key, bytes.at, bytes.len);
    golden_check_members(f, row.make, row.n);
    assert_int_equal(count_absent_maybes(f), row.maybes);
    files += check_kept_file(&row, &bytes);
    free(bytes.at);
    nay_filter_free(f);
    rows++;
  }
  assert_int_equal(rows, 120);
  assert_int_equal(files, 10);
  free(table.at);
}

int main(void) {
  const test_case tests[] = {
      TEST(leveldb_filters),
      TEST(leveldb_reader_edge_cases),
      TEST_WITH("seed_layouts nori", seed_layouts, "nori"),
      TEST_WITH("seed_layouts nori12", seed_layouts, "nori12"),
      TEST_WITH("seed_layouts mini-lsm", seed_layouts, "mini-lsm"),
      TEST_WITH("seed_layouts lab", seed_layouts, "lab"),
  };
  return run_all(tests);
}

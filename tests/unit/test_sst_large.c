/*
 * test_sst_large.c - a value above the 256 MiB that readers take of a compressed block: what a
 * writer wrote, the default reader and a compaction read.
 */
#include "nay_sst_compact.h"
#include "support/sst_numbers.h"

#define LARGE (((size_t)256 << 20) + 1)

static void a_large_value(void **unused) {
  (void)unused;
  char path[TEMP_MAX], again[TEMP_MAX];
  nay_sst_write_options how = {.size = sizeof how, .codec = &snappy_codec, .no_sync = true};
  nay_sst_read_options read = {.size = sizeof read, .codecs = snappy_codecs, .ncodecs = 1};
  nay_sst_writer *w;
  uint8_t *value = calloc(LARGE, 1);
  assert_non_null(value);
  value[LARGE - 1] = 7;
  assert_ok(nay_sst_writer_new(temp_path(path, "large.ldb"), &how, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add(w, "a", 1, value, 1000, NULL)); /* compressed */
  assert_ok(nay_sst_writer_add(w, "b", 1, value, LARGE, NULL));
  assert_ok(nay_sst_writer_add(w, "c", 1, value, 100000, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  free(value);
  nay_sst *t = open_table(path, &read);
  const nay_sst *const tables[] = {t};
  nay_sst_compact_options options = {.size = sizeof options, .write = &how};
  temp_path(again, "again.ldb");
  assert_ok(nay_sst_compact(tables, 1, again, &options, NULL, NULL, NULL));
  nay_sst_free(t);
  unlink(path);
  t = open_table(again, &read);
  nay_sst_value v = {.size = sizeof v};
  assert_ok(nay_sst_get(t, "b", 1, NAY_SST_NEWEST, NULL, &v));
  assert_int_equal(v.len, LARGE);
  assert_int_equal(((const uint8_t *)v.bytes)[LARGE - 1], 7);
  assert_ok(nay_sst_get(t, "c", 1, NAY_SST_NEWEST, NULL, &v));
  assert_int_equal(v.len, 100000);
  nay_sst_value_free(&v);
  nay_sst_free(t);
  unlink(again);
}

static nay_status swell(void *ctx, const nay_sst_entry *entry, const void *value, size_t value_len,
                        nay_sst_compact_verdict *verdict, void *out, size_t cap, size_t *len) {
  (void)entry, (void)value, (void)value_len;
  *len = *(size_t *)ctx;
  if (cap < *len) return NAY_EBUFFER;
  memset(out, 7, *len);
  *verdict = NAY_SST_COMPACT_CHANGE;
  return NAY_OK;
}

/* A callback's value may be as long as one that a writer takes, and no longer. */
static void a_value_that_swells(void **unused) {
  (void)unused;
  char path[TEMP_MAX], again[TEMP_MAX];
  size_t len = (size_t)1 << 30;
  write_even(temp_path(path, "small.ldb"), NULL, 1);
  nay_sst *t = open_table(path, NULL);
  const nay_sst *const tables[] = {t};
  nay_sst_compact_options options = {.size = sizeof options, .bottom = true, .filter = swell};
  nay_diag diag = {.what = NULL};
  options.filter_ctx = &len;
  temp_path(again, "again.ldb");
  assert_status(nay_sst_compact(tables, 1, again, &options, NULL, &diag, NULL), NAY_EFULL);
  assert_non_null(strstr(diag.what, "1 GiB"));
  assert_int_not_equal(access(again, F_OK), 0);
  len--;
  assert_ok(nay_sst_compact(tables, 1, again, &options, NULL, NULL, NULL));
  nay_sst_free(t);
  unlink(path);
  unlink(again);
}

int main(void) {
  const test_case tests[] = {TEST(a_large_value), TEST(a_value_that_swells)};
  return run_all(tests);
}

/*
 * test_sst_empty_key.c - tables whose only key has no bytes, in every filter layout: no call does
 * arithmetic on a NULL buffer (UndefinedBehaviorSanitizer looks), and the key is found.
 */
#include "nay_sst.h"
#include "nay_sst_filters.h"
#include "support/temp.h"
#include "support/test.h"

static uint8_t *load(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  uint8_t *bytes = malloc(65536);
  assert_non_null(bytes);
  *len = fread(bytes, 1, 65536, file);
  fclose(file);
  return bytes;
}

static void ask_table(const char *path) {
  size_t len;
  uint8_t *bytes = load(path, &len);
  nay_sst_filters *t;
  nay_sst_filters_entry f = {.size = sizeof f};
  assert_ok(nay_sst_filters_open(bytes, len, NULL, NULL, NULL, &t));
  assert_true(nay_sst_filters_may_contain(t, "", 0));
  (void)nay_sst_filters_may_contain(t, "x", 1);
  for (uint64_t i = 0; nay_sst_filters_at(t, i, &f) == NAY_OK; i++) {
    assert_int_equal(f.last_key_len, 0);
  }
  nay_sst_filters_free(t);
  free(bytes);
}

static void the_empty_key_in_every_layout(void **state) {
  (void)state;
  nay_policy small = {.size = sizeof small};
  assert_ok(nay_policy_find(NAY_POLICY_SMALL, 10, &small));
  const nay_sst_write_options all[] = {
      {sizeof(nay_sst_write_options), .filter = NAY_SST_NO_FILTER},
      {sizeof(nay_sst_write_options), .filter = NAY_SST_BLOCK_FILTER, .policy = &small},
      {sizeof(nay_sst_write_options), .filter = NAY_SST_FULL_FILTER},
      {sizeof(nay_sst_write_options), .filter = NAY_SST_FULL_FILTER, .policy = &small},
      {sizeof(nay_sst_write_options), .filter = NAY_SST_PARTITIONED_FILTER},
      {sizeof(nay_sst_write_options), .filter = NAY_SST_PARTITIONED_FILTER, .policy = &small},
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    char path[TEMP_MAX];
    nay_sst_writer *w;
    nay_sst *t;
    nay_sst_value v = {.size = sizeof v};
    temp_path(path, "empty-key");
    assert_ok(nay_sst_writer_new(path, &all[i], NULL, NULL, &w));
    assert_ok(nay_sst_writer_add(w, "", 0, "value", 5, NULL));
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    assert_ok(nay_sst_open(path, NULL, NULL, NULL, &t));
    assert_ok(nay_sst_get(t, "", 0, NAY_SST_NEWEST, NULL, &v));
    nay_sst_value_free(&v);
    assert_status(nay_sst_get(t, "x", 1, NAY_SST_NEWEST, NULL, &v), NAY_ENOENT);
    nay_sst_free(t);
    ask_table(path);
    remove(path);
  }
}

int main(void) {
  const test_case tests[] = {TEST(the_empty_key_in_every_layout)};
  return run_all(tests);
}

/* sst_numbers.h - tables of numbered keys, and a policy without false positives, for tests. */
#ifndef NAY_TEST_SST_NUMBERS_H
#define NAY_TEST_SST_NUMBERS_H

#include "support/snappy_codec.h"
#include "support/sst_calls.h"
#include "support/sst_sample.h"

static inline size_t number_key(unsigned i, char key[32]) {
  return (size_t)snprintf(key, 32, "key%08u", i);
}

/* Keys 0, 2, 4, ...: the odd ones are absent, and in the range of the others. */
static inline void write_even(const char *path, const nay_sst_write_options *how, unsigned n) {
  nay_sst_writer *w;
  char key[32], value[32];
  assert_ok(nay_sst_writer_new(path, how, NULL, NULL, &w));
  for (unsigned i = 0; i < n; i++) {
    int len = snprintf(value, sizeof value, "value %u", 2 * i);
    assert_ok(nay_sst_writer_add(w, key, number_key(2 * i, key), value, (size_t)len, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
}

static inline nay_sst *open_table(const char *path, const nay_sst_read_options *how) {
  nay_sst *t;
  assert_ok(nay_sst_open(path, how, NULL, NULL, &t));
  return t;
}

static inline nay_sst_counters counters_of(const nay_sst *t) {
  nay_sst_counters c = {.size = sizeof c};
  table_counts(t, &c);
  return c;
}

static inline nay_sst_info info_of(const nay_sst *t) {
  nay_sst_info info = {.size = sizeof info};
  nay_sst_stats(t, &info);
  return info;
}

/* Every key, and as many absent ones. */
static inline void ask_all(const nay_sst *t, unsigned n) {
  nay_sst_value v = {.size = sizeof v};
  char key[32], value[32];
  for (unsigned i = 0; i < 2 * n - 1; i++) {
    size_t len = number_key(i, key);
    assert_status(nay_sst_get(t, key, len, NAY_SST_NEWEST, NULL, &v),
                  i % 2 == 0 ? NAY_OK : NAY_ENOENT);
    if (i % 2 != 0) continue;
    int want = snprintf(value, sizeof value, "value %u", i);
    assert_int_equal(v.len, want);
    assert_memory_equal(v.bytes, value, v.len);
  }
  nay_sst_value_free(&v);
}

/* A policy of a user: all keys in a row, so it has no false positives. */
static inline nay_status exact_create(void *ctx, const void *const *keys, const size_t *lens,
                                      size_t n, const nay_allocator *a, uint8_t **filter,
                                      size_t *len) {
  size_t size = 1;
  (void)ctx;
  for (size_t i = 0; i < n; i++) size += 1 + lens[i];
  uint8_t *p = a->alloc(a->ctx, size), *at = p;
  if (p == NULL) return NAY_ENOMEM;
  for (size_t i = 0; i < n; i++) {
    *at++ = (uint8_t)lens[i];
    memcpy(at, keys[i], lens[i]);
    at += lens[i];
  }
  *at = 0xff;
  *filter = p;
  *len = size;
  return NAY_OK;
}

static inline bool exact_may_contain(void *ctx, const void *key, size_t key_len,
                                     const uint8_t *filter, size_t len) {
  (void)ctx;
  for (size_t at = 0; at + 1 < len; at += 1 + (size_t)filter[at]) {
    if (filter[at] == key_len && memcmp(filter + at + 1, key, key_len) == 0) return true;
  }
  return false;
}

static const nay_policy exact = {.size = sizeof exact,
                                 .name = "test.exact",
                                 .create = exact_create,
                                 .may_contain = exact_may_contain};

#endif /* NAY_TEST_SST_NUMBERS_H */

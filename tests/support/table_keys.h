/* table_keys.h - key sets in bytewise order, and what the filters of a table say of them. */
#ifndef NAY_TEST_TABLE_KEYS_H
#define NAY_TEST_TABLE_KEYS_H

#include "golden/golden.h"
#include "nay_sst_filters.h"
#include "support/explained.h"

static inline size_t golden_pfx(uint64_t i, uint8_t *out) {
  return (size_t)sprintf((char *)out, "p%03u/%05u", (unsigned)(i / 7), (unsigned)i);
}

static inline golden_key set_of(const char *name) {
  return strcmp(name, "pfx") == 0 ? golden_pfx : golden_set(name);
}

typedef struct one_key {
  size_t len;
  uint8_t bytes[512];
} one_key;

static inline int by_bytes(const void *a, const void *b) {
  const one_key *x = a, *y = b;
  int order = memcmp(x->bytes, y->bytes, x->len < y->len ? x->len : y->len);
  return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

static inline one_key *sorted_keys(const char *set, size_t n) {
  one_key *keys = calloc(n + 1, sizeof *keys);
  assert_non_null(keys);
  for (size_t i = 0; i < n; i++) keys[i].len = set_of(set)(i, keys[i].bytes);
  qsort(keys, n, sizeof *keys, by_bytes);
  return keys;
}

static inline nay_sst_filters *open_table(golden_bytes file) {
  nay_sst_filters *t;
  nay_diag diag = {.what = NULL};
  nay_status status = nay_sst_filters_open(file.at, file.len, NULL, NULL, &diag, &t);
  if (status != NAY_OK) fail_msg("%s at %llu", diag.what, (unsigned long long)diag.offset);
  return t;
}

/* What the table answers, which is also what is explained. */
static inline bool table_may_contain(const nay_sst_filters *t, const void *key, size_t len) {
  bool maybe = false;
  const char *wrong = explained_table(t, key, len, &maybe);
  if (wrong != NULL) fail_msg("explained: %s", wrong);
  return maybe;
}

static inline unsigned maybes_of(const nay_sst_filters *t, const one_key *keys, size_t n) {
  unsigned maybes = 0;
  for (size_t i = 0; i < n; i++) maybes += table_may_contain(t, keys[i].bytes, keys[i].len);
  return maybes;
}

static inline unsigned absent_maybes(const nay_sst_filters *t) {
  uint8_t key[GOLDEN_KEY_MAX];
  unsigned maybes = 0;
  for (uint64_t i = 0; i < GOLDEN_ABSENT; i++) {
    maybes += table_may_contain(t, key, golden_abs(i, key));
  }
  return maybes;
}

#endif /* NAY_TEST_TABLE_KEYS_H */

/* lists.h - exact lists for tests: universes whose keys are numbers, builds of them, all answers.
 */
#ifndef NAY_TEST_LISTS_H
#define NAY_TEST_LISTS_H

#include "build/builder.h"
#include "family/list.h"
#include "nay_list.h"
#include "support/test.h"

/* n keys of 12 bytes: a partition of 4 bytes, below nparts, and 8 that tell keys apart. */
#define UNIVERSE_KEY 12u
typedef struct universe {
  uint8_t (*keys)[UNIVERSE_KEY];
  uint8_t *listed; /* 0 or 1 */
  size_t n, nlisted;
} universe;

static inline universe universe_new(size_t n, uint32_t nparts, uint64_t seed) {
  universe u = {malloc((n + 1) * UNIVERSE_KEY), calloc(n + 1, 1), n, 0};
  for (size_t i = 0; i < n; i++) {
    uint64_t word = nay_hash_mix(seed << 40 | i);
    uint32_t part = (uint32_t)((word >> 32) * nparts >> 32);
    memcpy(u.keys[i], &part, 4);
    memcpy(u.keys[i] + 4, &word, 8);
  }
  return u;
}

/* Of all keys: those whose mix is below share. */
static inline universe universe_of(size_t n, uint32_t nparts, double share, uint64_t seed) {
  universe u = universe_new(n, nparts, seed);
  for (size_t i = 0; i < n; i++) {
    u.listed[i] = (double)(nay_hash_mix(i * 7 + seed) >> 11) * 0x1p-53 < share;
    u.nlisted += u.listed[i];
  }
  return u;
}

static inline void universe_free(universe *u) {
  free(u->keys);
  free(u->listed);
}

static inline nay_params list_params(uint32_t prefix, uint32_t check_bits) {
  return (nay_params){.size = sizeof(nay_params),
                      .kind = NAY_LIST,
                      .list_prefix = prefix,
                      .check_bits = check_bits};
}

static inline nay_status list_add_all(nay_builder *b, const universe *u) {
  nay_status status = NAY_OK;
  for (size_t i = 0; i < u->n && status == NAY_OK; i++) {
    status = nay_builder_add_value(b, u->keys[i], UNIVERSE_KEY, u->listed[i]);
  }
  return status;
}

static inline nay_filter *list_of(const nay_params *params, const universe *u) {
  nay_builder *b;
  nay_filter *list = NULL;
  nay_diag diag = {.what = NULL};
  assert_ok(nay_builder_new(params, NULL, &diag, &b));
  assert_ok(list_add_all(b, u));
  if (nay_builder_finish(b, &diag, &list) != NAY_OK) fail_msg("%zu keys: %s", u->n, diag.what);
  nay_builder_free(b);
  return list;
}

/* Every key, asked in every way. */
static inline void assert_list(const nay_filter *list, const universe *u) {
  const void **keys = malloc((u->n + 1) * sizeof *keys);
  size_t *lens = malloc((u->n + 1) * sizeof *lens), words = NAY_BITMAP_WORDS(u->n) + 1;
  uint64_t *values = malloc((u->n + 1) * 8), *known = malloc(words * 8), *maybe = malloc(words * 8);
  for (size_t i = 0; i < u->n; i++) keys[i] = u->keys[i], lens[i] = UNIVERSE_KEY;
  assert_ok(nay_filter_get_many(list, keys, lens, u->n, values, known));
  assert_ok(nay_filter_may_contain_many(list, keys, lens, u->n, maybe));
  for (size_t i = 0; i < u->n; i++) {
    uint64_t value = 7;
    bool same = nay_filter_get(list, keys[i], lens[i], &value) == NAY_OK && value == u->listed[i] &&
                values[i] == value && nay_bitmap_get(known, i) &&
                nay_bitmap_get(maybe, i) == value &&
                nay_filter_may_contain(list, keys[i], lens[i]) == value;
    if (!same) fail_msg("key %zu of %zu", i, u->n);
  }
  free(keys), free(lens), free(values), free(known), free(maybe);
}

static inline nay_stats list_stats(const nay_filter *list) {
  nay_stats stats = {.size = sizeof stats};
  assert_ok(nay_filter_stats(list, &stats));
  return stats;
}

static inline uint8_t *bytes_of_list(const nay_filter *list, size_t *len) {
  *len = nay_filter_encoded_size(list);
  uint8_t *bytes = malloc(*len);
  assert_ok(nay_filter_encode(list, bytes, *len, len));
  return bytes;
}

static inline void assert_same_list(const nay_filter *a, const nay_filter *b) {
  size_t alen, blen;
  uint8_t *x = bytes_of_list(a, &alen), *y = bytes_of_list(b, &blen);
  assert_int_equal(alen, blen);
  assert_memory_equal(x, y, alen);
  free(x), free(y);
}

#endif /* NAY_TEST_LISTS_H */

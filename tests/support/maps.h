/* maps.h - static maps for tests: pairs of hashes and values, builds of them, and their bytes. */
#ifndef NAY_TEST_MAPS_H
#define NAY_TEST_MAPS_H

#include "map_handle.h"
#include "nay_map.h"
#include "support/test.h"

typedef struct pairs {
  uint64_t *hashes, *values;
  size_t n;
} pairs;

/* n distinct hashes with values of r bits; room for n more. */
static inline pairs pairs_of(size_t n, unsigned r, uint64_t seed) {
  pairs p = {malloc((2 * n + 1) * 8), malloc((2 * n + 1) * 8), n};
  for (size_t i = 0; i < n; i++) {
    p.hashes[i] = nay_hash_mix(seed << 40 | i);
    p.values[i] = nay_hash_mix(p.hashes[i] + 1) >> (64 - r);
  }
  return p;
}

static inline void pairs_free(pairs *p) {
  free(p->hashes);
  free(p->values);
}

static inline nay_map_params params_of(unsigned value_bits, unsigned check_bits) {
  return (nay_map_params){.size = sizeof(nay_map_params),
                          .value_bits = value_bits,
                          .check_bits = check_bits,
                          .hash = NAY_HASH_CALLER};
}

static inline nay_map *build(const nay_map_params *params, const pairs *p) {
  nay_map *map;
  nay_diag diag = {0};
  if (nay_map_build(params, p->hashes, p->values, p->n, NULL, &diag, &map) != NAY_OK) {
    fail_msg("%zu pairs: %s", p->n, diag.what);
  }
  return map;
}

/* Each pair is found, one by one and in batches. */
static inline void assert_all(const nay_map *map, const pairs *p) {
  uint64_t *values = malloc((p->n + 1) * 8), *bitmap = malloc((p->n / 64 + 1) * 8), value;
  assert_ok(nay_map_get_hash_many(map, p->hashes, p->n, values, bitmap));
  for (size_t i = 0; i < p->n; i++) {
    assert_ok(nay_map_get_hash(map, (nay_hash){p->hashes[i], 0}, &value));
    assert_int_equal(value, p->values[i]);
    assert_int_equal(values[i], p->values[i]);
    assert_int_equal(bitmap[i / 64] >> i % 64 & 1, 1);
  }
  free(values);
  free(bitmap);
}

static inline uint8_t *bytes_of_map(const nay_map *map, size_t *len) {
  *len = nay_map_encoded_size(map);
  uint8_t *bytes = malloc(*len);
  size_t written = 0;
  assert_ok(nay_map_encode(map, bytes, *len, &written));
  assert_int_equal(written, *len);
  return bytes;
}

static inline void assert_same(const nay_map *a, const nay_map *b) {
  size_t alen, blen;
  uint8_t *x = bytes_of_map(a, &alen), *y = bytes_of_map(b, &blen);
  assert_int_equal(alen, blen);
  assert_memory_equal(x, y, alen);
  free(x);
  free(y);
}

#endif /* NAY_TEST_MAPS_H */

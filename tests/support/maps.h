/* maps.h - static maps for tests: pairs of hashes and values, builds of them, and their bytes. */
#ifndef NAY_TEST_MAPS_H
#define NAY_TEST_MAPS_H

#include "build/map_build.h"
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

static inline nay_params params_of(unsigned value_bits, unsigned check_bits) {
  return (nay_params){.size = sizeof(nay_params),
                      .kind = NAY_MAP,
                      .value_bits = value_bits,
                      .check_bits = check_bits,
                      .hash = NAY_HASH_CALLER};
}

static inline nay_filter *build(const nay_params *params, const pairs *p) {
  nay_filter *map;
  nay_diag diag = {0};
  if (nay__map_build_arrays(params, p->hashes, p->values, p->n, NULL, &diag, &map) != NAY_OK) {
    fail_msg("%zu pairs: %s", p->n, diag.what);
  }
  return map;
}

/* The values of hashes, in groups, as nay_filter_get_many looks up those of keys. */
static inline nay_status maps_get_hashes(const nay_filter *map, const uint64_t *hashes, size_t n,
                                         uint64_t *values, uint64_t *bitmap) {
  for (size_t i = 0; i < n; i += 64) {
    unsigned group = n - i < 64 ? (unsigned)(n - i) : 64;
    for (unsigned j = 0; map->lazy != NULL && j < group; j++) {
      if (!nay__filter_probe_verified(map, (nay_hash){hashes[i + j], 0})) return NAY_ECORRUPT;
    }
    uint64_t word = nay__map_get(map, hashes + i, group, values + i);
    if (bitmap != NULL) bitmap[i / 64] = word;
  }
  return NAY_OK;
}

/* Each pair is found, one by one and in batches. */
static inline void assert_all(const nay_filter *map, const pairs *p) {
  uint64_t *values = malloc((p->n + 1) * 8), *bitmap = malloc((p->n / 64 + 1) * 8), value;
  assert_ok(maps_get_hashes(map, p->hashes, p->n, values, bitmap));
  for (size_t i = 0; i < p->n; i++) {
    assert_ok(nay_filter_get_hash(map, (nay_hash){p->hashes[i], 0}, &value));
    assert_int_equal(value, p->values[i]);
    assert_int_equal(values[i], p->values[i]);
    assert_int_equal(bitmap[i / 64] >> i % 64 & 1, 1);
  }
  free(values);
  free(bitmap);
}

static inline uint8_t *bytes_of_map(const nay_filter *map, size_t *len) {
  *len = nay_filter_encoded_size(map);
  uint8_t *bytes = malloc(*len);
  size_t written = 0;
  assert_ok(nay_filter_encode(map, bytes, *len, &written));
  assert_int_equal(written, *len);
  return bytes;
}

static inline void assert_same(const nay_filter *a, const nay_filter *b) {
  size_t alen, blen;
  uint8_t *x = bytes_of_map(a, &alen), *y = bytes_of_map(b, &blen);
  assert_int_equal(alen, blen);
  assert_memory_equal(x, y, alen);
  free(x);
  free(y);
}

#endif /* NAY_TEST_MAPS_H */

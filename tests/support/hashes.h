/* hashes.h - hashes of a filter's own hash function, in one call. */
#ifndef NAY_TEST_HASHES_H
#define NAY_TEST_HASHES_H

#include "nay_advanced.h"

static inline nay_status filter_hash(const nay_filter *f, const void *key, size_t len,
                                     nay_hash *hash) {
  nay_hasher hasher = {.size = sizeof hasher};
  nay_status status = nay_filter_hasher(f, &hasher);
  return status == NAY_OK ? nay_hasher_hash(&hasher, key, len, hash) : status;
}

static inline nay_status filter_hash_many(const nay_filter *f, const void *const *keys,
                                          const size_t *lens, size_t n, uint64_t *lo,
                                          uint64_t *hi) {
  nay_hasher hasher = {.size = sizeof hasher};
  nay_status status = nay_filter_hasher(f, &hasher);
  return status == NAY_OK ? nay_hasher_hash_many(&hasher, keys, lens, n, lo, hi) : status;
}

static inline bool filter_same_hash(const nay_filter *a, const nay_filter *b) {
  nay_hasher x = {.size = sizeof x}, y = {.size = sizeof y};
  return nay_filter_hasher(a, &x) == NAY_OK && nay_filter_hasher(b, &y) == NAY_OK &&
         nay_hasher_same(&x, &y);
}

#endif /* NAY_TEST_HASHES_H */

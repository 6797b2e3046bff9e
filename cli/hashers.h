/* hashers.h - the hash functions of filters. */
#ifndef NAY_HASHERS_H
#define NAY_HASHERS_H

#include "nay_advanced.h"

static inline nay_hasher filter_hasher(const nay_filter *f) {
  nay_hasher hasher = {.size = sizeof hasher};
  nay_filter_hasher(f, &hasher);
  return hasher;
}

/* filters_hash_alike: whether a hash of one serves the other; false when one is NULL. */
static inline bool filters_hash_alike(const nay_filter *a, const nay_filter *b) {
  if (a == NULL || b == NULL) return false;
  nay_hasher x = filter_hasher(a), y = filter_hasher(b);
  return nay_hasher_same(&x, &y);
}

#endif /* NAY_HASHERS_H */

/*
 * filter_get.c - values of static maps and exact lists: nay_filter_get. A lookup of a map checks
 * the arguments, hashes the key once, verifies what it reads of a lazy map, and compares the check
 * bits.
 */
#include "family/list.h"
#include "family/map.h"
#include "filter.h"
#include "nay_map.h"

static nay_status get_check(const nay_filter *f) {
  if (f == NULL) return NAY_EINVAL;
  return f->family == &nay__family_map ? NAY_OK : NAY_ENOTSUP;
}

/* The values of at most 64 hashes, and which of them are there. */
static nay_status get_group(const nay_filter *f, const uint64_t *hashes, unsigned n,
                            uint64_t *values, uint64_t *bitmap) {
  for (unsigned i = 0; f->lazy != NULL && i < n; i++) {
    if (!nay__filter_probe_verified(f, (nay_hash){hashes[i], 0})) return NAY_ECORRUPT;
  }
  *bitmap = nay__map_get(f, hashes, n, values);
  return NAY_OK;
}

nay_status nay_filter_get_hash(const nay_filter *f, nay_hash hash, uint64_t *value) {
  NAY_TRY(get_check(f));
  if (value == NULL) return NAY_EINVAL;
  uint64_t found, is_there;
  NAY_TRY(get_group(f, &hash.lo, 1, &found, &is_there));
  if (is_there == 0) return NAY_ENOENT;
  *value = found;
  return NAY_OK;
}

/* A list takes the key: its hash does not tell the partition. */
static nay_status get_listed(const nay_filter *f, const void *key, size_t len, uint64_t *value) {
  if (value == NULL || (key == NULL && len != 0)) return NAY_EINVAL;
  NAY_TRY(nay__hasher_ready(&f->hasher));
  uint64_t known, listed = nay__list_get(f, &key, &len, 1, &known);
  if (known == 0) return NAY_ENOENT;
  *value = listed;
  return NAY_OK;
}

static nay_status get_listed_many(const nay_filter *f, const void *const *keys, const size_t *lens,
                                  size_t n, uint64_t *values, uint64_t *bitmap) {
  if (n != 0 && (keys == NULL || lens == NULL || values == NULL)) return NAY_EINVAL;
  if (n != 0 && bitmap == NULL && (f->shape.k != 0 || f->shape.extra != 0)) return NAY_EINVAL;
  NAY_TRY(nay__hasher_ready(&f->hasher));
  for (size_t i = 0; i < n; i++) {
    if (keys[i] == NULL && lens[i] != 0) return NAY_EINVAL;
  }
  for (size_t i = 0; i < n; i += NAY_LIST_GROUP) {
    unsigned group = n - i < NAY_LIST_GROUP ? (unsigned)(n - i) : NAY_LIST_GROUP;
    uint64_t known, listed = nay__list_get(f, keys + i, lens + i, group, &known);
    for (unsigned j = 0; j < group; j++) values[i + j] = listed >> j & 1;
    if (bitmap != NULL) bitmap[i / NAY_LIST_GROUP] = known;
  }
  return NAY_OK;
}

nay_status nay_filter_get(const nay_filter *f, const void *key, size_t len, uint64_t *value) {
  if (f != NULL && f->family == &nay__family_list) return get_listed(f, key, len, value);
  NAY_TRY(get_check(f));
  if (key == NULL && len != 0) return NAY_EINVAL;
  NAY_TRY(nay__hasher_ready(&f->hasher));
  return nay_filter_get_hash(f, nay__hash_key(&f->hasher, key, len), value);
}

nay_status nay_filter_get_many(const nay_filter *f, const void *const *keys, const size_t *lens,
                               size_t n, uint64_t *values, uint64_t *bitmap) {
  if (f != NULL && f->family == &nay__family_list) {
    return get_listed_many(f, keys, lens, n, values, bitmap);
  }
  NAY_TRY(get_check(f));
  if (n != 0 && (keys == NULL || lens == NULL || values == NULL)) return NAY_EINVAL;
  /* without a bitmap nobody would learn that a key is absent */
  if (n != 0 && f->shape.extra != 0 && bitmap == NULL) return NAY_EINVAL;
  nay_hasher hasher = {.size = sizeof hasher};
  NAY_TRY(nay_filter_hasher(f, &hasher));
  for (size_t i = 0; i < n; i += NAY_MAP_GROUP) {
    unsigned group = n - i < NAY_MAP_GROUP ? (unsigned)(n - i) : NAY_MAP_GROUP;
    uint64_t hashes[NAY_MAP_GROUP], word;
    NAY_TRY(nay_hasher_hash_many(&hasher, keys + i, lens + i, group, hashes, NULL));
    NAY_TRY(get_group(f, hashes, group, values + i, &word));
    if (bitmap != NULL) bitmap[i / NAY_MAP_GROUP] = word;
  }
  return NAY_OK;
}

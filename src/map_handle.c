/*
 * map_handle.c - static maps: parameters, lookup, description. A lookup checks the arguments,
 * hashes the key once, verifies what it reads of a lazy map, and compares the check bits.
 */
#include "map_handle.h"

#include "base/abi.h"
#include "base/bits.h"

#define HANDLE_FLAGS (NAY_STORE_KEY | NAY_NO_VERIFY | NAY_SMALL_PAGES | NAY_LOW_MEMORY)

/* ---- parameters ---- */

nay_status nay__map_params(const nay_map_params *params, nay_diag *diag, nay_map_params *copy,
                           nay_hash_fn *hasher) {
  if (params == NULL) return nay__fail(diag, NAY_EINVAL, "params is NULL", 0);
  NAY_TRY(nay__abi_read(NAY_ABI(nay_map_params, spill_dir), params, diag, copy));
  if (copy->value_bits > NAY_MAP_MAX_COLUMNS) {
    return nay__fail(diag, NAY_EINVAL, "value_bits: above 64", 0);
  }
  if (copy->check_bits > NAY_MAP_MAX_COLUMNS - nay__max_u64(copy->value_bits, 1)) {
    return nay__fail(diag, NAY_EINVAL, "check_bits: value_bits + check_bits is above 64", 0);
  }
  if ((copy->flags & ~HANDLE_FLAGS) != 0) {
    return nay__fail(diag, NAY_EINVAL, "flags: not one of a map", 0);
  }
  if (copy->threads > 256) return nay__fail(diag, NAY_EINVAL, "threads: above 256", 0);
  nay_params hash = {.hash = copy->hash, .seed = copy->seed, .flags = copy->flags};
  memcpy(hash.key, copy->key, sizeof hash.key);
  return nay__hasher_init(&hash, diag, hasher);
}

/* ---- lookup ---- */

/* Bit i: word i has the check bits of its hash; words become values, 0 where it has not. */
static uint64_t handle_values(const nay_filter *f, const uint64_t *hashes, unsigned n,
                              uint64_t *words) {
  unsigned bits = nay__map_value_bits(&f->shape), check_bits = f->shape.extra;
  uint64_t bitmap = ~(uint64_t)0 >> (64 - n);
  if (check_bits == 0) return bitmap;
  for (unsigned i = 0; i < n; i++) {
    bool same = words[i] >> bits == nay__map_check_of(hashes[i], check_bits);
    words[i] = same ? words[i] & nay__low_bits(bits) : 0;
    bitmap ^= (uint64_t)!same << i;
  }
  return bitmap;
}

/* The values of at most 64 hashes, and which of them are there. */
static nay_status handle_get(const nay_filter *f, const uint64_t *hashes, unsigned n,
                             uint64_t *values, uint64_t *bitmap) {
  uint64_t premix = nay__map_premix(f), x[NAY_MAP_GROUP];
  for (unsigned i = 0; f->lazy != NULL && i < n; i++) {
    if (!nay__filter_probe_verified(f, (nay_hash){hashes[i], 0})) return NAY_ECORRUPT;
  }
  for (unsigned i = 0; premix != 0 && i < n; i++) x[i] = nay__premix(hashes[i], premix);
  nay__map_lookup(f, premix != 0 ? x : hashes, n, values);
  *bitmap = handle_values(f, hashes, n, values);
  return NAY_OK;
}

nay_status nay_map_get_hash(const nay_map *map, nay_hash hash, uint64_t *value) {
  if (map == NULL || value == NULL) return NAY_EINVAL;
  uint64_t found, is_there;
  NAY_TRY(handle_get(nay__map_filter(map), &hash.lo, 1, &found, &is_there));
  if (is_there == 0) return NAY_ENOENT;
  *value = found;
  return NAY_OK;
}

nay_status nay_map_hash(const nay_map *map, const void *key, size_t len, nay_hash *hash) {
  if (map == NULL || hash == NULL || (key == NULL && len != 0)) return NAY_EINVAL;
  const nay_hash_fn *fn = &nay__map_filter(map)->hasher;
  NAY_TRY(nay__hasher_ready(fn));
  *hash = nay__hash_key(fn, key, len);
  return NAY_OK;
}

nay_status nay_map_get(const nay_map *map, const void *key, size_t len, uint64_t *value) {
  nay_hash hash;
  NAY_TRY(nay_map_hash(map, key, len, &hash));
  return nay_map_get_hash(map, hash, value);
}

static nay_status handle_check_many(const nay_map *map, const void *input, size_t n,
                                    const uint64_t *values, const uint64_t *bitmap) {
  if (map == NULL || (n != 0 && (input == NULL || values == NULL))) return NAY_EINVAL;
  /* without a bitmap nobody would learn that a key is absent */
  bool needs = n != 0 && nay__map_filter(map)->shape.extra != 0;
  return needs && bitmap == NULL ? NAY_EINVAL : NAY_OK;
}

nay_status nay_map_get_hash_many(const nay_map *map, const uint64_t *hashes, size_t n,
                                 uint64_t *values, uint64_t *bitmap) {
  NAY_TRY(handle_check_many(map, hashes, n, values, bitmap));
  for (size_t i = 0; i < n; i += NAY_MAP_GROUP) {
    unsigned group = n - i < NAY_MAP_GROUP ? (unsigned)(n - i) : NAY_MAP_GROUP;
    uint64_t word;
    NAY_TRY(handle_get(nay__map_filter(map), hashes + i, group, values + i, &word));
    if (bitmap != NULL) bitmap[i / NAY_MAP_GROUP] = word;
  }
  return NAY_OK;
}

nay_status nay_map_get_many(const nay_map *map, const void *const *keys, const size_t *lens,
                            size_t n, uint64_t *values, uint64_t *bitmap) {
  NAY_TRY(handle_check_many(map, keys, n, values, bitmap));
  if (n != 0 && lens == NULL) return NAY_EINVAL;
  const nay_filter *f = nay__map_filter(map);
  nay_hasher hasher = {.size = sizeof hasher};
  NAY_TRY(nay_filter_hasher(f, &hasher));
  for (size_t i = 0; i < n; i += NAY_MAP_GROUP) {
    unsigned group = n - i < NAY_MAP_GROUP ? (unsigned)(n - i) : NAY_MAP_GROUP;
    uint64_t hashes[NAY_MAP_GROUP], word;
    NAY_TRY(nay_hasher_hash_many(&hasher, keys + i, lens + i, group, hashes, NULL));
    NAY_TRY(handle_get(f, hashes, group, values + i, &word));
    if (bitmap != NULL) bitmap[i / NAY_MAP_GROUP] = word;
  }
  return NAY_OK;
}

/* ---- the rest of the handle ---- */

void nay_map_free(nay_map *map) { nay_filter_free(map != NULL ? &map->filter : NULL); }

static uint32_t handle_nlayers(uint64_t nblocks) {
  uint32_t n = 1;
  nay_burr_layer l = nay__burr_layer_at(nblocks, 0);
  for (; !l.last; n++) l = nay__burr_layer_at(nblocks, nay__burr_layer_end(&l));
  return n;
}

static nay_map_stats handle_stats(const nay_filter *f) {
  uint64_t nbits = (uint64_t)f->nbytes * 8;
  return (nay_map_stats){
      .nkeys = f->nkeys,
      .value_bits = nay__map_value_bits(&f->shape),
      .check_bits = f->shape.extra,
      .nbits = nbits,
      .nbytes = nay_filter_nbytes(f),
      .bits_per_key = f->nkeys != 0 ? (double)nbits / (double)f->nkeys : 0,
      .error_rate = 1 / (double)((uint64_t)1 << f->shape.extra),
      .nlayers = handle_nlayers(f->shape.nunits),
      .hash = f->hasher.kind,
      .read_only = (f->flags & NAY_IS_READ_ONLY) != 0,
      .locked = f->hasher.locked,
      .stores_key = f->hasher.kind == NAY_HASH_SIPHASH && (f->flags & NAY_STORE_KEY) != 0,
  };
}

nay_status nay_map_describe(const nay_map *map, nay_map_stats *stats) {
  if (map == NULL || stats == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI(nay_map_stats, stores_key), stats, NULL));
  nay_map_stats s = handle_stats(nay__map_filter(map));
  nay__abi_write(NAY_ABI(nay_map_stats, stores_key), &s, stats);
  return NAY_OK;
}

nay_status nay_map_unlock(nay_map *map, const uint8_t key[16]) {
  return map == NULL ? NAY_EINVAL : nay_filter_unlock(&map->filter, key);
}

const void *nay_map_meta(const nay_map *map, size_t *len) {
  return nay_filter_meta(map != NULL ? nay__map_filter(map) : NULL, len);
}

nay_status nay_map_set_meta(nay_map *map, const void *bytes, size_t len) {
  return map == NULL ? NAY_EINVAL : nay_filter_set_meta(&map->filter, bytes, len);
}

nay_status nay_map_health(const nay_map *map) {
  return map == NULL ? NAY_EINVAL : nay_filter_health(nay__map_filter(map));
}

nay_status nay_map_verify(const nay_map *map) {
  return map == NULL ? NAY_EINVAL : nay__filter_all_verified(nay__map_filter(map));
}

/*
 * hash.h - from keys to hashes. A hasher is a hash function with its seed or key, held by a filter.
 *
 * Families never see keys: filter.c hashes once and hands over a nay_hash. That keeps the choice of
 * hash, the seeds and the kinds of key out of every family.
 */
#ifndef NAY_HASH_H
#define NAY_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/base.h"

/* What a hasher's `seed` says depends on the kind: XXH3's seed, or the check value of a secret key.
 */
typedef struct nay_hasher {
  nay_hash_kind kind;
  bool locked; /* a secret key is needed and has not been given */
  uint64_t seed;
  uint8_t key[16];
} nay_hasher;

/* nay__hasher_init: from params. NAY_EINVAL for a hash that native families do not have. */
nay_status nay__hasher_init(const nay_params *params, nay_diag *diag, nay_hasher *hasher);

/* nay__hasher_unlock: NAY_EKEY when key does not give the check value in hasher->seed. */
nay_status nay__hasher_unlock(nay_hasher *hasher, const uint8_t key[16]);

/* nay__hasher_ready: NAY_OK when keys can be hashed; NAY_EKEY or NAY_ENOTSUP when not. */
static inline nay_status nay__hasher_ready(const nay_hasher *hasher) {
  if (hasher->locked) return NAY_EKEY;
  return hasher->kind == NAY_HASH_CALLER ? NAY_ENOTSUP : NAY_OK;
}

/* nay__hasher_same: whether two hashers give every key the same hash. */
bool nay__hasher_same(const nay_hasher *a, const nay_hasher *b);

/* nay__hash_slow: every kind but XXH3, which is inlined below. */
nay_hash nay__hash_slow(const nay_hasher *hasher, const void *key, size_t len);

/*
 * nay__hash_xxh3: the usual hash. In a NAY_FLATTEN function the cases of up to 128 bytes are
 * inlined, which for 16 bytes is twice as fast as a call; longer keys are always a call.
 */
static inline uint64_t nay__hash_xxh3(uint64_t seed, const void *key, size_t len) {
  return XXH3_64bits_withSeed(key != NULL ? key : "", len, seed);
}

/* nay__hash_key: the hasher must be ready; key may be NULL when len is 0. */
static inline nay_hash nay__hash_key(const nay_hasher *hasher, const void *key, size_t len) {
  if (hasher->kind == NAY_HASH_XXH3) return (nay_hash){nay__hash_xxh3(hasher->seed, key, len), 0};
  if (key == NULL) key = "";
  return nay__hash_slow(hasher, key, len);
}

/* nay__hash_has_hi: whether the kind needs both words of nay_hash. */
static inline bool nay__hash_has_hi(nay_hash_kind kind) {
  return kind == NAY_HASH_XXH64_PAIR || kind == NAY_HASH_FNV_MIX || kind == NAY_HASH_MURMUR64X2 ||
         kind == NAY_HASH_MURMUR32X2;
}

/* The hash functions, one file each. */
uint64_t nay__siphash(const uint8_t key[16], const uint8_t *p, size_t len, unsigned c, unsigned d);
uint32_t nay__leveldb_hash(const uint8_t *p, size_t len, uint32_t seed);
/* The same of four keys side by side, all of len bytes, a multiple of 4. */
void nay__leveldb_hash_four(const void *const keys[4], size_t len, uint32_t seed,
                            uint32_t hashes[4]);
uint32_t nay__leveldb_hash_s8(const uint8_t *p, size_t len, uint32_t seed);
uint64_t nay__xxph3(const uint8_t *p, size_t len);
uint32_t nay__farm_fingerprint32(const uint8_t *p, size_t len);
uint64_t nay__fnv1a64(const uint8_t *p, size_t len);
uint64_t nay__murmur64a(const uint8_t *p, size_t len, uint64_t seed);
uint32_t nay__murmur32(const uint8_t *p, size_t len, uint32_t seed);
/* RedisBloom's pairs: the second hash has the first as its seed. */
nay_hash nay__murmur64x2(const uint8_t *p, size_t len);
nay_hash nay__murmur32x2(const uint8_t *p, size_t len);

#endif /* NAY_HASH_H */

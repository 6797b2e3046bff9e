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
#include "base/bits.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/patterns.h"

/* What a hasher's `seed` says depends on the kind: XXH3's seed, or the check value of a secret key.
 */
typedef struct nay_hasher {
  nay_hash_kind kind;
  bool locked; /* a secret key is needed and has not been given */
  uint64_t seed;
  uint64_t nshort, first, last; /* nay__hasher_seed, for the shortcuts of nay__hash_key */
  uint64_t ntiny, flip;
  uint8_t key[16];
} nay_hasher;

/* nay__hasher_init: from params. NAY_EINVAL for a hash that native families do not have. */
nay_status nay__hasher_init(const nay_params *params, nay_diag *diag, nay_hasher *hasher);

/* nay__hasher_seed: a hasher of XXH3 with this seed. */
nay_hasher nay__hasher_seed(uint64_t seed);

/* nay__hasher_unlock: NAY_EKEY when key does not give the check value in hasher->seed. */
nay_status nay__hasher_unlock(nay_hasher *hasher, const uint8_t key[16]);

/* nay__hasher_ready: NAY_OK when keys can be hashed; NAY_EKEY or NAY_ENOTSUP when not. */
static inline nay_status nay__hasher_ready(const nay_hasher *hasher) {
  if (hasher->locked) return NAY_EKEY;
  return hasher->kind == NAY_HASH_CALLER ? NAY_ENOTSUP : NAY_OK;
}

/* nay__hasher_same: whether two hashers give every key the same hash. */
bool nay__hasher_same(const nay_hasher *a, const nay_hasher *b);

/*
 * nay__hash_xxh3: the usual hash. In a NAY_FLATTEN function the cases of up to 128 bytes are
 * inlined, which for 16 bytes is twice as fast as a call; longer keys are always a call.
 */
static inline uint64_t nay__hash_xxh3(uint64_t seed, const void *key, size_t len) {
  return XXH3_64bits_withSeed(key != NULL ? key : "", len, seed);
}

/*
 * Keys of 9 to 16 bytes and those of 4 to 8 have ways of their own, short enough to be inlined
 * where keys are asked for one by one: no frame, and the words of the seed are ready. One
 * comparison tells the length and that the hash is XXH3 at all, since nshort and ntiny are 0 for
 * all others.
 */
#define NAY_SHORT_MIN 9u
#define NAY_SHORT_LENS 8u
#define NAY_TINY_MIN 4u
#define NAY_TINY_LENS 5u
#define NAY_TINY_FLIP 0xc73ab174c5ecd5a2u
#define NAY_TINY_PRIME 0x9fb21c651e98df25u

NAY_INLINE bool nay__hash_is_short(const nay_hasher *hasher, const void *key, size_t len) {
  return key != NULL && (uint64_t)len - NAY_SHORT_MIN < hasher->nshort;
}

NAY_INLINE uint64_t nay__hash_short(const nay_hasher *hasher, const void *key, size_t len) {
  const uint8_t *p = key;
  uint64_t low, a = nay__load64le(p) ^ hasher->first, b = nay__load64le(p + len - 8) ^ hasher->last;
  uint64_t high = nay__mul128(a, b, &low), x = len + nay__swap64(a) + b + (high ^ low);
  x ^= x >> 37;
  x *= NAY_XXH3_PRIME;
  return x ^ x >> 32;
}

NAY_INLINE bool nay__hash_is_tiny(const nay_hasher *hasher, const void *key, size_t len) {
  return key != NULL && (uint64_t)len - NAY_TINY_MIN < hasher->ntiny;
}

NAY_INLINE uint64_t nay__hash_tiny(const nay_hasher *hasher, const void *key, size_t len) {
  const uint8_t *p = key;
  uint64_t first = nay__load32le(p), last = nay__load32le(p + len - 4);
  uint64_t x = (first << 32 | last) ^ hasher->flip;
  x ^= nay__rotl64(x, 49) ^ nay__rotl64(x, 24);
  x *= NAY_TINY_PRIME;
  x ^= (x >> 35) + len;
  x *= NAY_TINY_PRIME;
  return x ^ x >> 28;
}

/* nay__hash_any: all kinds, all lengths. */
nay_hash nay__hash_any(const nay_hasher *hasher, const void *key, size_t len);

/* nay__hash_key: the hasher must be ready; key may be NULL when len is 0. */
NAY_INLINE nay_hash nay__hash_key(const nay_hasher *hasher, const void *key, size_t len) {
  if (NAY_LIKELY(nay__hash_is_short(hasher, key, len))) {
    return (nay_hash){nay__hash_short(hasher, key, len), 0};
  }
  if (nay__hash_is_tiny(hasher, key, len)) return (nay_hash){nay__hash_tiny(hasher, key, len), 0};
  return nay__hash_any(hasher, key, len);
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

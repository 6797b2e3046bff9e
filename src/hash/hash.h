/*
 * hash.h - from keys to hashes. A hasher is a hash function with its seed or secret key.
 *
 * Families never see keys: the handle hashes each key once and passes a nay_hash. So the choice of
 * the hash function, the seed and the secret key are no concern of a family.
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

/*
 * nay_foreign_hash: the hash of another system's layout. The file of the format has it; kinds are
 * numbers from 64 on that no other has, and never change.
 */
typedef struct nay_foreign_hash {
  nay_hash_kind kind;
  const char *name; /* for nay_hash_name */
  bool has_hi;      /* it needs both words of nay_hash */
  nay_hash (*hash)(const uint8_t *key, size_t len);
  /* instead of hash, where a filter has a seed of its own; NULL: it has none */
  nay_hash (*seeded)(uint64_t seed, const uint8_t *key, size_t len);
  /* the bits of a key depend on more than two words tell: the family takes keys (add_key), and no
   * call that takes hashes */
  bool by_key;
  /* instead of hash, where it has a secret key that no file contains; NULL: it has none */
  nay_hash (*keyed)(const uint8_t secret[16], const uint8_t *key, size_t len);
} nay_foreign_hash;

/* nay_hash_fn: a public nay_hasher holds one, and so does every filter. */
typedef struct nay_hash_fn {
  nay_hash_kind kind;
  bool locked;                     /* the secret key is missing */
  uint64_t seed;                   /* of XXH3; or the check value of the secret key */
  const nay_foreign_hash *foreign; /* of another system; NULL: XXH3, SipHash or the caller's */
  /* derived from the seed for nay__hash_4to16; n9to16 and n4to8 are 0 unless the kind is XXH3 */
  uint64_t n9to16, first, last;
  uint64_t n4to8, flip;
  uint8_t key[16];
} nay_hash_fn;

/* nay__hasher_of: what a public nay_hasher holds. */
_Static_assert(sizeof(nay_hash_fn) <= sizeof(((nay_hasher *)0)->opaque), "opaque is too small");
static inline const nay_hash_fn *nay__hasher_of(const nay_hasher *hasher) {
  return (const nay_hash_fn *)(const void *)hasher->opaque;
}

/* nay__hash_native_name: nay_hash_name of what native families take; NULL: none of these. It needs
 * no format, so that a program without them does not link them. */
const char *nay__hash_native_name(nay_hash_kind kind);

/* nay__hasher_init: from params. NAY_EINVAL for a hash that native families do not take. */
nay_status nay__hasher_init(const nay_params *params, nay_diag *diag, nay_hash_fn *hasher);

/* nay__hasher_seed: XXH3 with this seed. */
nay_hash_fn nay__hasher_seed(uint64_t seed);

/* nay__hasher_foreign: the hash of a layout, without a seed, and locked if it is keyed. */
static inline nay_hash_fn nay__hasher_foreign(const nay_foreign_hash *function) {
  return (nay_hash_fn){
      .kind = function->kind, .locked = function->keyed != NULL, .foreign = function};
}

/* nay__hasher_unlock: NAY_EKEY when the check value of key is not hasher->seed. Files of other
 * systems have no check value: any key is taken. */
nay_status nay__hasher_unlock(nay_hash_fn *hasher, const uint8_t key[16]);

/* nay__hasher_ready: NAY_EKEY without the secret key, NAY_ENOTSUP if the caller hashes, or the
 * family takes keys. */
static inline nay_status nay__hasher_ready(const nay_hash_fn *hasher) {
  if (hasher->locked) return NAY_EKEY;
  bool by_key = hasher->foreign != NULL && hasher->foreign->by_key;
  return hasher->kind == NAY_HASH_CALLER || by_key ? NAY_ENOTSUP : NAY_OK;
}

/* nay__hasher_same: whether both hashers map every key to the same hash. */
bool nay__hasher_same(const nay_hash_fn *a, const nay_hash_fn *b);

/*
 * nay__hash_xxh3: any length. A NAY_FLATTEN function inlines the cases of up to 128 bytes, which is
 * twice as fast as a call for 16 bytes; longer keys are always a call.
 */
static inline uint64_t nay__hash_xxh3(uint64_t seed, const void *key, size_t len) {
  return XXH3_64bits_withSeed(key != NULL ? key : "", len, seed);
}

/*
 * XXH3 of 9 to 16 and of 4 to 8 bytes (XXH3_len_9to16_64b, XXH3_len_4to8_64b), with the words of
 * the secret and the seed combined in advance. They are short enough to inline into calls that take
 * one key, and need no stack frame.
 */
#define NAY_LEN_9TO16 8u /* lengths */
#define NAY_LEN_4TO8 5u
#define NAY_XXH3_4TO8_FLIP 0xc73ab174c5ecd5a2u /* words of the default secret, xored */
#define NAY_XXH3_4TO8_PRIME 0x9fb21c651e98df25u

NAY_INLINE uint64_t nay__hash_9to16(const nay_hash_fn *hasher, const uint8_t *p, size_t len) {
  uint64_t low, a = nay__load64le(p) ^ hasher->first, b = nay__load64le(p + len - 8) ^ hasher->last;
  uint64_t high = nay__mul128(a, b, &low), x = len + nay__swap64(a) + b + (high ^ low);
  x ^= x >> 37;
  x *= NAY_XXH3_PRIME;
  return x ^ x >> 32;
}

/* word: the first four bytes, then the last four, each as a little-endian number. */
NAY_INLINE uint64_t nay__hash_4to8_word(const nay_hash_fn *hasher, uint64_t word, size_t len) {
  uint64_t x = word ^ hasher->flip;
  x ^= nay__rotl64(x, 49) ^ nay__rotl64(x, 24);
  x *= NAY_XXH3_4TO8_PRIME;
  x ^= (x >> 35) + len;
  x *= NAY_XXH3_4TO8_PRIME;
  return x ^ x >> 28;
}

NAY_INLINE uint64_t nay__hash_4to8(const nay_hash_fn *hasher, const uint8_t *p, size_t len) {
  uint64_t first = nay__load32le(p), last = nay__load32le(p + len - 4);
  return nay__hash_4to8_word(hasher, first << 32 | last, len);
}

/*
 * nay__hash_4to16: the one fast path by length. False: another length, another hash function, or
 * key is NULL. One comparison tests the length and the hash function.
 */
NAY_INLINE bool nay__hash_4to16(const nay_hash_fn *hasher, const void *key, size_t len,
                                uint64_t *hash) {
  if (NAY_UNLIKELY(key == NULL)) return false;
  if (NAY_LIKELY((uint64_t)len - 9 < hasher->n9to16)) {
    *hash = nay__hash_9to16(hasher, key, len);
    return true;
  }
  if ((uint64_t)len - 4 < hasher->n4to8) {
    *hash = nay__hash_4to8(hasher, key, len);
    return true;
  }
  return false;
}

/* nay__key_bytes: a key of no bytes may be NULL. */
static inline const uint8_t *nay__key_bytes(const void *key) {
  return key != NULL ? key : (const void *)"";
}

/* nay__hash_any: all kinds, all lengths. */
nay_hash nay__hash_any(const nay_hash_fn *hasher, const void *key, size_t len);

/* nay__hash_key: the hasher must be ready; key may be NULL when len is 0. */
NAY_INLINE nay_hash nay__hash_key(const nay_hash_fn *hasher, const void *key, size_t len) {
  nay_hash hash = {0, 0};
  return NAY_LIKELY(nay__hash_4to16(hasher, key, len, &hash.lo)) ? hash
                                                                 : nay__hash_any(hasher, key, len);
}

/* nay__hash_u64: of the 8 bytes of a number, little-endian; the hasher must be ready. */
NAY_INLINE uint64_t nay__hash_u64(const nay_hash_fn *hasher, uint64_t number) {
  if (NAY_LIKELY(hasher->n4to8 != 0)) {
    return nay__hash_4to8_word(hasher, nay__rotl64(number, 32), 8);
  }
  uint8_t bytes[8];
  nay__store64le(bytes, number);
  return nay__hash_any(hasher, bytes, sizeof bytes).lo;
}

/* nay__hasher_has_hi: whether it needs both words of nay_hash. */
static inline bool nay__hasher_has_hi(const nay_hash_fn *hasher) {
  return hasher->foreign != NULL && hasher->foreign->has_hi;
}

/* Hash functions that several files use. */
#define NAY_LEVELDB_SEED 0xbc9f1d34u
uint64_t nay__siphash(const uint8_t key[16], const uint8_t *p, size_t len, unsigned c, unsigned d);
uint32_t nay__leveldb_hash(const uint8_t *p, size_t len, uint32_t seed);
/* Four keys in parallel, all of len bytes, a multiple of 4. */
void nay__leveldb_hash_four(const void *const keys[4], size_t len, uint32_t seed,
                            uint32_t hashes[4]);
uint32_t nay__leveldb_hash_s8(const uint8_t *p, size_t len, uint32_t seed);
uint64_t nay__xxph3(const uint8_t *p, size_t len);
uint32_t nay__farm_fingerprint32(const uint8_t *p, size_t len);
/* MurmurHash3 of 128 bits (x64), seed 0; and of 32 bits (x86). */
nay_hash nay__murmur3_128(const uint8_t *p, size_t len);
/* Of p[0, len) and one more byte. */
nay_hash nay__murmur3_128_with(const uint8_t *p, size_t len, uint8_t last);
uint32_t nay__murmur3_32(const uint8_t *p, size_t len, uint32_t seed);
uint64_t nay__murmur64a(const uint8_t *p, size_t len, uint64_t seed);
uint32_t nay__murmur32(const uint8_t *p, size_t len, uint32_t seed);
/* RedisBloom's pairs: the first hash is the seed of the second. */
nay_hash nay__murmur64x2(const uint8_t *p, size_t len);
nay_hash nay__murmur32x2(const uint8_t *p, size_t len);

#endif /* NAY_HASH_H */

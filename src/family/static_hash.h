/*
 * static_hash.h - how static families take a hash apart. Part of the file format.
 *
 *   x      = hash, or mix(hash ^ premix) when the filter has a premix
 *   shard  = floor(x * nshards / 2^64), the top bits of x
 *   m      = high half xor low half of (x ^ seed) * NAY_REMIX: 64 bits that are independent for
 * each seed
 *
 * Hashes come well mixed, so a premix is drawn only for sets that crowd some shards (hashes of the
 * caller's that are not what they should be). In a ribbon a seed is stored for each shard, 0 is the
 * first tried; fuse and xor have seed 0 and a factor for each shard instead (family/fuse.h).
 */
#ifndef NAY_STATIC_HASH_H
#define NAY_STATIC_HASH_H

#include "base/bits.h"
#include "base/compiler.h"
#include "base/patterns.h"

NAY_INLINE uint64_t nay__premix(uint64_t hash, uint64_t premix) {
  return NAY_LIKELY(premix == 0) ? hash : nay_hash_mix(hash ^ premix);
}

NAY_INLINE uint64_t nay__shard_of(uint64_t x, uint64_t nshards) { return nay__reduce(x, nshards); }

NAY_INLINE uint64_t nay__remix(uint64_t x, uint32_t seed) {
  uint64_t low, high = nay__mul128(x ^ seed, NAY_REMIX, &low);
  return high ^ low;
}

/* nay__fingerprint_of: 64 bits for fingerprints; the top ones are the best. */
NAY_INLINE uint64_t nay__fingerprint_of(uint64_t m) { return m * NAY_FINGERPRINT; }

#endif /* NAY_STATIC_HASH_H */

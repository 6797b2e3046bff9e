/*
 * static_hash.h - how static families take a hash apart. Part of the file format.
 *
 *   x      = hash, or mix(hash ^ premix) when the filter has a premix
 *   shard  = floor(x * nshards / 2^64), the top bits of x
 *   m      = fold((x ^ seed) * NAY_REMIX): 64 bits that are independent for each seed
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

/* nay__fold: both halves of a product of 128 bits, xored: every bit depends on all bits of a. The
 * lower half alone would not do: its bit i is a function of the i + 1 lowest bits. */
NAY_INLINE uint64_t nay__fold(uint64_t a, uint64_t factor) {
  uint64_t low, high = nay__mul128(a, factor, &low);
  return high ^ low;
}

NAY_INLINE uint64_t nay__remix(uint64_t x, uint32_t seed) { return nay__fold(x ^ seed, NAY_REMIX); }

#endif /* NAY_STATIC_HASH_H */

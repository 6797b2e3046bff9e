/* bits.h - arithmetic on words that C lacks: rotate, popcount, the high half of a product. */
#ifndef NAY_BITS_H
#define NAY_BITS_H

#include "base/base.h"

static inline uint32_t nay__rotl32(uint32_t x, unsigned r) { return x << r | x >> (32 - r); }
static inline uint32_t nay__rotr32(uint32_t x, unsigned r) { return x >> r | x << (32 - r); }
static inline uint64_t nay__rotl64(uint64_t x, unsigned r) { return x << r | x >> (64 - r); }

/* nay__swap64: byte swap; compilers recognise it as one instruction. */
static inline uint64_t nay__swap64(uint64_t x) {
  x = x << 32 | x >> 32;
  x = (x & 0x0000ffff0000ffffu) << 16 | (x >> 16 & 0x0000ffff0000ffffu);
  return (x & 0x00ff00ff00ff00ffu) << 8 | (x >> 8 & 0x00ff00ff00ff00ffu);
}

/* Without a popcount instruction the builtin would be a call: the sums are faster. */
static inline unsigned nay__popcount64(uint64_t x) {
#if defined(__POPCNT__) || (defined(__GNUC__) && !defined(__x86_64__) && !defined(__i386__))
  return (unsigned)__builtin_popcountll(x);
#else
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (unsigned)(x * 0x0101010101010101u >> 56);
#endif
}

/* nay__ctz64: trailing zeros; x is not 0. */
static inline unsigned nay__ctz64(uint64_t x) {
#if defined(__GNUC__) || defined(__clang__)
  return (unsigned)__builtin_ctzll(x);
#else
  return nay__popcount64((x & (0 - x)) - 1);
#endif
}

/* nay__log2_64: the number of the highest set bit; x is not 0. */
static inline unsigned nay__log2_64(uint64_t x) { return 63 ^ (unsigned)__builtin_clzll(x); }

/* nay__parity64: 1 when an odd number of bits is set. */
static inline unsigned nay__parity64(uint64_t x) {
#if defined(__GNUC__) || defined(__clang__)
  return (unsigned)__builtin_parityll(x);
#else
  return nay__popcount64(x) & 1;
#endif
}

/* nay__mulhi: the high 64 bits of a * b. */
static inline uint64_t nay__mulhi(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ typedef unsigned __int128 u128;
  return (uint64_t)((u128)a * b >> 64);
#else
  uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
  uint64_t mid = ah * bl + (al * bl >> 32);
  uint64_t mid2 = al * bh + (uint32_t)mid;
  return ah * bh + (mid >> 32) + (mid2 >> 32);
#endif
}

/* nay__mul128: both halves of a * b by one multiplication; returns the high half. */
static inline uint64_t nay__mul128(uint64_t a, uint64_t b, uint64_t *low) {
#if defined(__SIZEOF_INT128__)
  __extension__ typedef unsigned __int128 u128;
  u128 product = (u128)a * b;
  *low = (uint64_t)product;
  return (uint64_t)(product >> 64);
#else
  *low = a * b;
  return nay__mulhi(a, b);
#endif
}

/*
 * nay__reduce: maps a random 64-bit hash to [0, n) without division: floor(hash * n / 2^64).
 * It is monotonic, hence floor(reduce(h, f * n) / f) == reduce(h, n): folding is exact.
 */
static inline uint64_t nay__reduce(uint64_t hash, uint64_t n) { return nay__mulhi(hash, n); }

/* nay__part: where part `part` of nparts equal parts of [0, n) starts. */
static inline uint64_t nay__part(uint64_t n, unsigned part, unsigned nparts) {
  return n / nparts * part + n % nparts * part / nparts;
}

static inline uint64_t nay__gcd(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

#endif /* NAY_BITS_H */

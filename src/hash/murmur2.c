/*
 * murmur2.c - MurmurHash2 of 64 bits (MurmurHash64A) and of 32, the hashes of RedisBloom's layouts.
 * An attacker finds collisions for every seed: use it for those layouts only.
 */
#include "base/bytes.h"
#include "hash/hash.h"

#define MURMUR_M64 0xc6a4a7935bd1e995u
#define MURMUR_M32 0x5bd1e995u

static uint64_t murmur_mix64(uint64_t k) {
  k *= MURMUR_M64;
  return (k ^ k >> 47) * MURMUR_M64;
}

/* The last len % 8 bytes as a number. From 8 bytes on one load and a shift do. */
static uint64_t murmur_tail64(const uint8_t *p, size_t len) {
  size_t rest = len & 7;
  if (len >= 8) return nay__load64le(p + len - 8) >> (64 - 8 * rest);
  uint64_t tail = 0;
  for (size_t i = rest; i > 0; i--) tail = tail << 8 | p[i - 1];
  return tail;
}

static inline uint64_t murmur_blocks64(const uint8_t *p, size_t len, uint64_t tail, uint64_t seed) {
  uint64_t h = seed ^ (uint64_t)len * MURMUR_M64;
  for (size_t i = 0; i + 8 <= len; i += 8)
    h = (h ^ murmur_mix64(nay__load64le(p + i))) * MURMUR_M64;
  if ((len & 7) != 0) h = (h ^ tail) * MURMUR_M64;
  h = (h ^ h >> 47) * MURMUR_M64;
  return h ^ h >> 47;
}

uint64_t nay__murmur64a(const uint8_t *p, size_t len, uint64_t seed) {
  return murmur_blocks64(p, len, (len & 7) != 0 ? murmur_tail64(p, len) : 0, seed);
}

nay_hash nay__murmur64x2(const uint8_t *p, size_t len) {
  uint64_t tail = (len & 7) != 0 ? murmur_tail64(p, len) : 0;
  uint64_t a = murmur_blocks64(p, len, tail, MURMUR_M64);
  return (nay_hash){a, murmur_blocks64(p, len, tail, a)};
}

uint32_t nay__murmur32(const uint8_t *p, size_t len, uint32_t seed) {
  uint32_t h = seed ^ (uint32_t)len;
  const uint8_t *end = p + (len & ~(size_t)3);
  for (; p != end; p += 4) {
    uint32_t k = nay__load32le(p) * MURMUR_M32;
    h = h * MURMUR_M32 ^ (k ^ k >> 24) * MURMUR_M32;
  }
  if ((len & 3) != 0) {
    uint32_t tail = 0;
    for (size_t i = len & 3; i > 0; i--) tail = tail << 8 | p[i - 1];
    h = (h ^ tail) * MURMUR_M32;
  }
  h = (h ^ h >> 13) * MURMUR_M32;
  return h ^ h >> 15;
}

nay_hash nay__murmur32x2(const uint8_t *p, size_t len) {
  uint32_t a = nay__murmur32(p, len, 0x9747b28cu);
  return (nay_hash){a, nay__murmur32(p, len, a)};
}

/*
 * murmur64a.c - MurmurHash64A, Austin Appleby's 64-bit hash of 2008 (public domain), for files and
 * filters of systems that use it. Words are read little-endian on every machine.
 */
#include "base/bytes.h"
#include "hash/hash.h"

#define MURMUR_M 0xc6a4a7935bd1e995u

static uint64_t murmur_mix(uint64_t k) {
  k *= MURMUR_M;
  k ^= k >> 47;
  return k * MURMUR_M;
}

uint64_t nay__murmur64a(const uint8_t *p, size_t len, uint64_t seed) {
  uint64_t h = seed ^ (uint64_t)len * MURMUR_M;
  size_t n = len;
  for (; n >= 8; n -= 8, p += 8) h = (h ^ murmur_mix(nay__load64le(p))) * MURMUR_M;
  if (n != 0) {
    uint64_t tail = 0;
    while (n-- != 0) tail = tail << 8 | p[n];
    h = (h ^ tail) * MURMUR_M;
  }
  h ^= h >> 47;
  h *= MURMUR_M;
  return h ^ h >> 47;
}

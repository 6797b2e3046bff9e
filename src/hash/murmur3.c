/*
 * murmur3.c - MurmurHash3 (Appleby, 2011): x64 with 128 bits and seed 0, and x86 with 32 bits.
 * Other systems' layouts have it. An attacker finds collisions for every seed: use it for these
 * alone.
 */
#include "hash/hash.h"

#define MURMUR3_C1 0x87c37b91114253d5u
#define MURMUR3_C2 0x4cf5ad432745937fu

static uint64_t murmur3_mix1(uint64_t x) { return nay__rotl64(x * MURMUR3_C1, 31) * MURMUR3_C2; }
static uint64_t murmur3_mix2(uint64_t x) { return nay__rotl64(x * MURMUR3_C2, 33) * MURMUR3_C1; }

static uint64_t murmur3_final(uint64_t x) {
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
  return x ^ x >> 33;
}

static uint64_t murmur3_tail(const uint8_t *p, size_t n) {
  uint64_t x = 0;
  for (size_t i = 0; i < n; i++) x |= (uint64_t)p[i] << 8 * i;
  return x;
}

/* The first len & ~15 bytes, into h. */
static void murmur3_blocks(const uint8_t *p, size_t len, uint64_t h[2]) {
  const uint8_t *end = p + (len & ~(size_t)15);
  for (; p != end; p += 16) {
    h[0] ^= murmur3_mix1(nay__load64le(p));
    h[0] = (nay__rotl64(h[0], 27) + h[1]) * 5 + 0x52dce729u;
    h[1] ^= murmur3_mix2(nay__load64le(p + 8));
    h[1] = (nay__rotl64(h[1], 31) + h[0]) * 5 + 0x38495ab5u;
  }
}

/* The bytes after the blocks, and the end. */
static nay_hash murmur3_end(const uint8_t *p, size_t rest, size_t len, uint64_t h[2]) {
  uint64_t h1 = h[0], h2 = h[1];
  if (rest > 8) h2 ^= murmur3_mix2(murmur3_tail(p + 8, rest - 8));
  if (rest > 0) h1 ^= murmur3_mix1(murmur3_tail(p, rest < 8 ? rest : 8));
  h1 ^= (uint64_t)len;
  h2 ^= (uint64_t)len;
  h1 += h2;
  h2 += h1;
  h1 = murmur3_final(h1);
  h2 = murmur3_final(h2);
  h1 += h2;
  return (nay_hash){h1, h1 + h2};
}

nay_hash nay__murmur3_128(const uint8_t *p, size_t len) {
  uint64_t h[2] = {0, 0};
  murmur3_blocks(p, len, h);
  return murmur3_end(p + (len & ~(size_t)15), len & 15, len, h);
}

nay_hash nay__murmur3_128_with(const uint8_t *p, size_t len, uint8_t last) {
  uint64_t h[2] = {0, 0};
  uint8_t end[16];
  size_t rest = len & 15;
  murmur3_blocks(p, len, h);
  if (rest != 0) memcpy(end, p + (len - rest), rest);
  end[rest] = last;
  if (rest == 15) murmur3_blocks(end, 16, h);
  return murmur3_end(end, (rest + 1) & 15, len + 1, h);
}

static uint32_t murmur3_mix32(uint32_t x) { return nay__rotl32(x * 0xcc9e2d51u, 15) * 0x1b873593u; }

uint32_t nay__murmur3_32(const uint8_t *p, size_t len, uint32_t seed) {
  uint32_t h = seed;
  size_t at = 0;
  for (; at + 4 <= len; at += 4) {
    h = nay__rotl32(h ^ murmur3_mix32(nay__load32le(p + at)), 13) * 5 + 0xe6546b64u;
  }
  if (at < len) h ^= murmur3_mix32((uint32_t)murmur3_tail(p + at, len - at));
  h ^= (uint32_t)len;
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return h ^ h >> 16;
}

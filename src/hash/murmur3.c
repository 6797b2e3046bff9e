/*
 * murmur3.c - MurmurHash3 of 128 bits (x64), seed 0, with the fault of Cassandra's port: the bytes
 * after the last whole block of 16 are sign-extended to 64 bits before they are shifted and xored,
 * so a byte of 0x80 or above also inverts all bits above its own place. Keys of a multiple of 16
 * bytes, and keys in ASCII, hash as in the original. An attacker finds collisions for every seed:
 * use it for that layout only.
 */
#include "base/bits.h"
#include "base/bytes.h"
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

/* At most 8 bytes as a number, each with its sign. */
static uint64_t murmur3_tail_s8(const uint8_t *p, size_t n) {
  uint64_t x = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t byte = p[i] < 0x80 ? p[i] : p[i] | ~(uint64_t)0xff;
    x ^= byte << 8 * i;
  }
  return x;
}

nay_hash nay__murmur3_s8(const uint8_t *p, size_t len) {
  uint64_t h1 = 0, h2 = 0;
  const uint8_t *end = p + (len & ~(size_t)15);
  for (; p != end; p += 16) {
    h1 ^= murmur3_mix1(nay__load64le(p));
    h1 = (nay__rotl64(h1, 27) + h2) * 5 + 0x52dce729u;
    h2 ^= murmur3_mix2(nay__load64le(p + 8));
    h2 = (nay__rotl64(h2, 31) + h1) * 5 + 0x38495ab5u;
  }
  size_t rest = len & 15;
  if (rest > 8) h2 ^= murmur3_mix2(murmur3_tail_s8(p + 8, rest - 8));
  if (rest > 0) h1 ^= murmur3_mix1(murmur3_tail_s8(p, rest < 8 ? rest : 8));
  h1 ^= (uint64_t)len;
  h2 ^= (uint64_t)len;
  h1 += h2;
  h2 += h1;
  h1 = murmur3_final(h1);
  h2 = murmur3_final(h2);
  h1 += h2;
  return (nay_hash){h1, h1 + h2};
}

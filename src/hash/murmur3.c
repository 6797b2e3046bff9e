/*
 * murmur3.c - MurmurHash3 (Appleby, 2011): x64 with 128 bits and seed 0, and x86 with 32 bits.
 * Other systems' layouts have it. An attacker finds collisions for every seed: use it for these
 * alone.
 */
#include "hash/murmur3.h"

static uint64_t murmur3_tail(const uint8_t *p, size_t n) {
  uint64_t x = 0;
  for (size_t i = 0; i < n; i++) x |= (uint64_t)p[i] << 8 * i;
  return x;
}

nay_hash nay__murmur3_128(const uint8_t *p, size_t len) {
  return nay__murmur3_128_of(p, len, murmur3_tail);
}

nay_hash nay__murmur3_128_with(const uint8_t *p, size_t len, uint8_t last) {
  nay_hash h = {0, 0};
  uint8_t end[16];
  size_t rest = len & 15;
  nay__murmur3_blocks(p, p + (len - rest), &h);
  if (rest != 0) memcpy(end, p + (len - rest), rest);
  end[rest] = last;
  if (rest == 15) nay__murmur3_blocks(end, end + 16, &h);
  return nay__murmur3_end(end, len + 1, h, murmur3_tail);
}

uint32_t nay__murmur3_32(const uint8_t *p, size_t len, uint32_t seed) {
  uint32_t h = seed;
  size_t at = 0;
  for (; at + 4 <= len; at += 4) h = nay__murmur3_word32(h, nay__load32le(p + at));
  if (at < len) h ^= nay__murmur3_mix32((uint32_t)murmur3_tail(p + at, len - at));
  return nay__murmur3_final32(h, len);
}

/*
 * farm32.c - FarmHash Fingerprint32 as mini-lsm computes it for its filters. Four cases by length,
 * all of Murmur3's mixing steps.
 *
 * mini-lsm takes the function from the Rust crate farmhash 1.1.5, which differs from Google's C++
 * in one thing: up to 4 bytes, C++ sign-extends each byte (signed char) and the crate does not. So
 * the two differ for keys of 1 to 4 bytes with a byte of 0x80 or above, and for no others. This
 * file follows the crate: otherwise a filter of mini-lsm with such a key would answer a false nay.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "hash/hash.h"

#define FARM_C1 0xcc9e2d51u
#define FARM_C2 0x1b873593u

static uint32_t farm_finish(uint32_t h) {
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return h ^ h >> 16;
}

static uint32_t farm_step(uint32_t h) { return nay__rotl32(h, 13) * 5 + 0xe6546b64u; }

static uint32_t farm_scramble(uint32_t a) { return nay__rotr32(a * FARM_C1, 17) * FARM_C2; }

static uint32_t farm_mix(uint32_t a, uint32_t h) { return farm_step(h ^ farm_scramble(a)); }

static uint32_t farm_len_0_to_4(const uint8_t *p, size_t len) {
  uint32_t b = 0, c = 9;
  for (size_t i = 0; i < len; i++) {
    b = b * FARM_C1 + p[i];
    c ^= b;
  }
  return farm_finish(farm_mix(b, farm_mix((uint32_t)len, c)));
}

static uint32_t farm_len_5_to_12(const uint8_t *p, size_t len) {
  uint32_t a = (uint32_t)len, b = a * 5, c = 9, d = b;
  a += nay__load32le(p);
  b += nay__load32le(p + len - 4);
  c += nay__load32le(p + (len >> 1 & 4));
  return farm_finish(farm_mix(c, farm_mix(b, farm_mix(a, d))));
}

static uint32_t farm_len_13_to_24(const uint8_t *p, size_t len) {
  uint32_t a = nay__load32le(p + (len >> 1) - 4), b = nay__load32le(p + 4);
  uint32_t c = nay__load32le(p + len - 8), d = nay__load32le(p + (len >> 1));
  uint32_t e = nay__load32le(p), f = nay__load32le(p + len - 4);
  uint32_t h = d * FARM_C1 + (uint32_t)len;
  a = nay__rotr32(a, 12) + f;
  h = farm_mix(c, h) + a;
  a = nay__rotr32(a, 3) + c;
  h = farm_mix(e, h) + a;
  a = nay__rotr32(a + f, 12) + d;
  h = farm_mix(b, h) + a;
  return farm_finish(h);
}

static uint32_t farm_long(const uint8_t *p, size_t len) {
  uint32_t h = (uint32_t)len, g = FARM_C1 * h, f = g;
  h = farm_step(h ^ farm_scramble(nay__load32le(p + len - 4)));
  h = farm_step(h ^ farm_scramble(nay__load32le(p + len - 16)));
  g = farm_step(g ^ farm_scramble(nay__load32le(p + len - 8)));
  g = farm_step(g ^ farm_scramble(nay__load32le(p + len - 12)));
  f = nay__rotr32(f + farm_scramble(nay__load32le(p + len - 20)), 19) + 113;
  for (size_t left = (len - 1) / 20; left > 0; left--, p += 20) {
    uint32_t a = nay__load32le(p), b = nay__load32le(p + 4), c = nay__load32le(p + 8);
    uint32_t d = nay__load32le(p + 12), e = nay__load32le(p + 16);
    h = farm_mix(d, h + a) + e;
    g = farm_mix(c, g + b) + a;
    f = farm_mix(b + e * FARM_C1, f + c) + d;
    f += g;
    g += f;
  }
  g = nay__rotr32(nay__rotr32(g, 11) * FARM_C1, 17) * FARM_C1;
  f = nay__rotr32(nay__rotr32(f, 11) * FARM_C1, 17) * FARM_C1;
  h = nay__rotr32(farm_step(h + g), 17) * FARM_C1;
  h = nay__rotr32(farm_step(h + f), 17) * FARM_C1;
  return h;
}

uint32_t nay__farm_fingerprint32(const uint8_t *p, size_t len) {
  if (len <= 4) return farm_len_0_to_4(p, len);
  if (len <= 12) return farm_len_5_to_12(p, len);
  if (len <= 24) return farm_len_13_to_24(p, len);
  return farm_long(p, len);
}

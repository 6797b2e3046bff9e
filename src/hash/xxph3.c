/*
 * xxph3.c - the 64-bit hash of RocksDB's filters: the preview of XXH3 in xxHash 0.7.2, which
 * RocksDB froze. It differs from the XXH3 of libxxhash: other multipliers, and in long inputs a
 * lane is added to itself and not to its neighbour.
 *
 * Five cases by length. All xor the key with the secret, fold products of 64 by 64 bits to 64, and
 * end with an avalanche. RocksDB defines the value of the empty key. doc/formats/rocksdb.md
 * specifies the hash; tests/golden/hash/xxph3.txt has values that RocksDB computed.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "hash/hash.h"

#define XXPH3_P1 0x9e3779b185ebca87u
#define XXPH3_P2 0xc2b2ae3d27d4eb4fu
#define XXPH3_P3 0x165667b19e3779f9u
#define XXPH3_P4 0x85ebca77c2b2ae63u
#define XXPH3_P5 0x27d4eb2f165667c5u
#define XXPH3_SMALL1 0x9e3779b1u
#define XXPH3_SMALL2 0x85ebca77u
#define XXPH3_SMALL3 0xc2b2ae3du

#define XXPH3_STRIPE 64u
#define XXPH3_BLOCK (16u * XXPH3_STRIPE)

/* The default secret of XXH3, the same in the preview and in the release. */
static const uint8_t xxph3_secret[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

static uint64_t xxph3_secret64(size_t at) { return nay__load64le(xxph3_secret + at); }

static uint64_t xxph3_fold(uint64_t a, uint64_t b) {
  uint64_t low, high = nay__mul128(a, b, &low);
  return low ^ high;
}

static uint64_t xxph3_avalanche(uint64_t x) {
  x = (x ^ x >> 37) * XXPH3_P3;
  return x ^ x >> 32;
}

/* 16 bytes of the key with 16 of the secret. */
static uint64_t xxph3_mix(const uint8_t *p, size_t secret) {
  return xxph3_fold(nay__load64le(p) ^ xxph3_secret64(secret),
                    nay__load64le(p + 8) ^ xxph3_secret64(secret + 8));
}

static uint64_t xxph3_len_1_to_3(const uint8_t *p, size_t n) {
  uint32_t c = p[0] | (uint32_t)p[n >> 1] << 8 | (uint32_t)p[n - 1] << 16 | (uint32_t)n << 24;
  return xxph3_avalanche((c ^ (uint64_t)nay__load32le(xxph3_secret)) * XXPH3_P1);
}

static uint64_t xxph3_len_4_to_8(const uint8_t *p, size_t n) {
  uint64_t v = (nay__load32le(p) | (uint64_t)nay__load32le(p + n - 4) << 32) ^ xxph3_secret64(0);
  uint64_t m = n + (v ^ v >> 51) * XXPH3_SMALL1;
  return xxph3_avalanche((m ^ m >> 47) * XXPH3_P2);
}

static uint64_t xxph3_len_9_to_16(const uint8_t *p, size_t n) {
  uint64_t a = nay__load64le(p) ^ xxph3_secret64(0);
  uint64_t b = nay__load64le(p + n - 8) ^ xxph3_secret64(8);
  return xxph3_avalanche(n + a + b + xxph3_fold(a, b));
}

/* Pairs of 16 bytes from both ends, the inner ones first. */
static uint64_t xxph3_len_17_to_128(const uint8_t *p, size_t n) {
  uint64_t sum = n * XXPH3_P1;
  for (size_t i = (n - 1) / 32 + 1; i-- > 0;) {
    sum += xxph3_mix(p + 16 * i, 32 * i) + xxph3_mix(p + n - 16 * (i + 1), 32 * i + 16);
  }
  return xxph3_avalanche(sum);
}

static uint64_t xxph3_len_129_to_240(const uint8_t *p, size_t n) {
  uint64_t sum = n * XXPH3_P1;
  for (size_t i = 0; i < 8; i++) sum += xxph3_mix(p + 16 * i, 16 * i);
  sum = xxph3_avalanche(sum);
  for (size_t i = 8; i < n / 16; i++) sum += xxph3_mix(p + 16 * i, 16 * (i - 8) + 3);
  return xxph3_avalanche(sum + xxph3_mix(p + n - 16, 119));
}

/* ---- above 240 bytes: eight lanes ---- */

static void xxph3_stripe(uint64_t lanes[8], const uint8_t *p, size_t secret) {
  for (size_t i = 0; i < 8; i++) {
    uint64_t v = nay__load64le(p + 8 * i), d = v ^ xxph3_secret64(secret + 8 * i);
    lanes[i] += v + (uint64_t)(uint32_t)d * (d >> 32);
  }
}

static void xxph3_stripes(uint64_t lanes[8], const uint8_t *p, size_t nstripes) {
  for (size_t i = 0; i < nstripes; i++) xxph3_stripe(lanes, p + i * XXPH3_STRIPE, 8 * i);
}

static void xxph3_scramble(uint64_t lanes[8]) {
  for (size_t i = 0; i < 8; i++) {
    lanes[i] = ((lanes[i] ^ lanes[i] >> 47) ^ xxph3_secret64(128 + 8 * i)) * XXPH3_SMALL1;
  }
}

static uint64_t xxph3_long(const uint8_t *p, size_t n) {
  uint64_t lanes[8] = {XXPH3_SMALL3, XXPH3_P1,     XXPH3_P2, XXPH3_P3,
                       XXPH3_P4,     XXPH3_SMALL2, XXPH3_P5, XXPH3_SMALL1};
  size_t blocks = n / XXPH3_BLOCK, rest = n % XXPH3_BLOCK;
  const uint8_t *end = p + n;
  for (; blocks > 0; blocks--, p += XXPH3_BLOCK) {
    xxph3_stripes(lanes, p, 16);
    xxph3_scramble(lanes);
  }
  xxph3_stripes(lanes, p, rest / XXPH3_STRIPE);
  if (n % XXPH3_STRIPE != 0) xxph3_stripe(lanes, end - XXPH3_STRIPE, 121);
  uint64_t sum = n * XXPH3_P1;
  for (size_t i = 0; i < 4; i++) {
    sum += xxph3_fold(lanes[2 * i] ^ xxph3_secret64(11 + 16 * i),
                      lanes[2 * i + 1] ^ xxph3_secret64(19 + 16 * i));
  }
  return xxph3_avalanche(sum);
}

uint64_t nay__xxph3(const uint8_t *p, size_t len) {
  if (len == 0) return xxph3_fold(xxph3_secret64(0), XXPH3_P2);
  if (len <= 3) return xxph3_len_1_to_3(p, len);
  if (len <= 8) return xxph3_len_4_to_8(p, len);
  if (len <= 16) return xxph3_len_9_to_16(p, len);
  if (len <= 128) return xxph3_len_17_to_128(p, len);
  if (len <= 240) return xxph3_len_129_to_240(p, len);
  return xxph3_long(p, len);
}

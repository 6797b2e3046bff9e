/*
 * sha256.c - SHA-256 [1], for clubcards, whose keys are digests. Portable C: a certificate is one
 * block of 64 bytes, a few hundred nanoseconds.
 * [1] FIPS 180-4, Secure Hash Standard, 2015.
 */
#include "hash/sha256.h"

#include "base/bits.h"
#include "base/bytes.h"

#define SHA256_BLOCK 64u

typedef struct sha256_state {
  uint32_t h[8];
  uint8_t block[SHA256_BLOCK];
  size_t filled;
} sha256_state;

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t sha256_round[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void sha256_compress(uint32_t h[8], const uint8_t *block) {
  uint32_t w[64], s[8];
  for (unsigned i = 0; i < 16; i++) w[i] = nay__load32be(block + 4 * i);
  for (unsigned i = 16; i < 64; i++) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (nay__rotr32(a, 7) ^ nay__rotr32(a, 18) ^ a >> 3) + w[i - 7] +
           (nay__rotr32(b, 17) ^ nay__rotr32(b, 19) ^ b >> 10);
  }
  memcpy(s, h, sizeof s);
  for (unsigned i = 0; i < 64; i++) {
    uint32_t e = s[4], a = s[0];
    uint32_t one = s[7] + (nay__rotr32(e, 6) ^ nay__rotr32(e, 11) ^ nay__rotr32(e, 25)) +
                   (s[6] ^ (e & (s[5] ^ s[6]))) + sha256_round[i] + w[i];
    uint32_t two = (nay__rotr32(a, 2) ^ nay__rotr32(a, 13) ^ nay__rotr32(a, 22)) +
                   ((a & s[1]) | (s[2] & (a | s[1])));
    s[7] = s[6], s[6] = s[5], s[5] = e, s[4] = s[3] + one;
    s[3] = s[2], s[2] = s[1], s[1] = a, s[0] = one + two;
  }
  for (unsigned i = 0; i < 8; i++) h[i] += s[i];
}

static void sha256_update(sha256_state *s, const uint8_t *p, size_t len) {
  while (len > 0) {
    size_t n = SHA256_BLOCK - s->filled < len ? SHA256_BLOCK - s->filled : len;
    memcpy(s->block + s->filled, p, n);
    p += n, len -= n, s->filled += n;
    if (s->filled < SHA256_BLOCK) return;
    sha256_compress(s->h, s->block);
    s->filled = 0;
  }
}

void nay__sha256(const void *a, size_t alen, const void *b, size_t blen,
                 uint8_t digest[NAY_SHA256_BYTES]) {
  sha256_state s = {.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                          0x1f83d9ab, 0x5be0cd19}};
  sha256_update(&s, a, alen);
  sha256_update(&s, b, blen);
  s.block[s.filled++] = 0x80;
  memset(s.block + s.filled, 0, SHA256_BLOCK - s.filled);
  if (s.filled > SHA256_BLOCK - 8) {
    sha256_compress(s.h, s.block);
    memset(s.block, 0, SHA256_BLOCK);
  }
  nay__store64be(s.block + SHA256_BLOCK - 8, 8 * ((uint64_t)alen + blen));
  sha256_compress(s.h, s.block);
  for (unsigned i = 0; i < 8; i++) nay__store32be(digest + 4 * i, s.h[i]);
}

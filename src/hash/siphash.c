/*
 * siphash.c - SipHash-c-d: a pseudo-random function of bytes under a 128-bit key [1].
 *
 * c rounds per 8 bytes, d rounds at the end. The library hashes keys with SipHash-1-3, as Rust and
 * Python do for their hash tables; the test vectors are those of the original, SipHash-2-4.
 * [1] Aumasson, Bernstein: SipHash, a fast short-input PRF. INDOCRYPT 2012.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "hash/hash.h"

typedef struct sip_state {
  uint64_t v0, v1, v2, v3;
} sip_state;

NAY_INLINE void sip_rounds(sip_state *s, unsigned n) {
  while (n-- > 0) {
    s->v0 += s->v1;
    s->v1 = nay__rotl64(s->v1, 13) ^ s->v0;
    s->v0 = nay__rotl64(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = nay__rotl64(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = nay__rotl64(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = nay__rotl64(s->v1, 17) ^ s->v2;
    s->v2 = nay__rotl64(s->v2, 32);
  }
}

NAY_INLINE uint64_t sip_hash(const uint8_t key[16], const uint8_t *p, size_t len, unsigned c,
                             unsigned d) {
  uint64_t k0 = nay__load64le(key), k1 = nay__load64le(key + 8);
  sip_state s = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                 k1 ^ 0x7465646279746573u};
  size_t rest = len;
  for (; rest >= 8; rest -= 8, p += 8) {
    uint64_t word = nay__load64le(p);
    s.v3 ^= word;
    sip_rounds(&s, c);
    s.v0 ^= word;
  }
  uint64_t last = (uint64_t)len << 56;
  for (size_t i = 0; i < rest; i++) last |= (uint64_t)p[i] << (8 * i);
  s.v3 ^= last;
  sip_rounds(&s, c);
  s.v0 ^= last;
  s.v2 ^= 0xff;
  sip_rounds(&s, d);
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t nay__siphash(const uint8_t key[16], const uint8_t *p, size_t len, unsigned c, unsigned d) {
  if (c == 1 && d == 3) return sip_hash(key, p, len, 1, 3); /* constants: the loops unroll */
  return sip_hash(key, p, len, c, d);
}

/*
 * murmur3.h - the parts of MurmurHash3 (Appleby, 2011), for layouts whose system hashes the last
 * bytes of a key in a way of its own: Cassandra extends their signs, Spark mixes each as a word.
 */
#ifndef NAY_MURMUR3_H
#define NAY_MURMUR3_H

#include "base/bits.h"
#include "base/compiler.h"
#include "hash/hash.h"

/* ---- x64, 128 bits, seed 0 ---- */

#define NAY_MURMUR3_C1 0x87c37b91114253d5u
#define NAY_MURMUR3_C2 0x4cf5ad432745937fu

NAY_INLINE uint64_t nay__murmur3_mix1(uint64_t x) {
  return nay__rotl64(x * NAY_MURMUR3_C1, 31) * NAY_MURMUR3_C2;
}

NAY_INLINE uint64_t nay__murmur3_mix2(uint64_t x) {
  return nay__rotl64(x * NAY_MURMUR3_C2, 33) * NAY_MURMUR3_C1;
}

NAY_INLINE uint64_t nay__murmur3_final(uint64_t x) {
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
  return x ^ x >> 33;
}

/* nay__murmur3_blocks: mixes the blocks of 16 bytes before `end` into the hash. */
NAY_INLINE void nay__murmur3_blocks(const uint8_t *p, const uint8_t *end, nay_hash *h) {
  for (; p != end; p += 16) {
    h->lo ^= nay__murmur3_mix1(nay__load64le(p));
    h->lo = (nay__rotl64(h->lo, 27) + h->hi) * 5 + 0x52dce729u;
    h->hi ^= nay__murmur3_mix2(nay__load64le(p + 8));
    h->hi = (nay__rotl64(h->hi, 31) + h->lo) * 5 + 0x38495ab5u;
  }
}

/* nay__murmur3_end: the hash of len bytes; p has those after the last whole block. tail(p, n) is
 * the number that the last n bytes, at most 8 at a time, are mixed as. */
NAY_INLINE nay_hash nay__murmur3_end(const uint8_t *p, size_t len, nay_hash h,
                                     uint64_t (*tail)(const uint8_t *p, size_t n)) {
  size_t rest = len & 15;
  if (rest > 8) h.hi ^= nay__murmur3_mix2(tail(p + 8, rest - 8));
  if (rest > 0) h.lo ^= nay__murmur3_mix1(tail(p, rest < 8 ? rest : 8));
  h.lo ^= (uint64_t)len;
  h.hi ^= (uint64_t)len;
  h.lo += h.hi;
  h.hi += h.lo;
  h.lo = nay__murmur3_final(h.lo);
  h.hi = nay__murmur3_final(h.hi);
  h.lo += h.hi;
  h.hi += h.lo;
  return h;
}

/* nay__murmur3_128_of: the hash; tail as nay__murmur3_end takes it. */
NAY_INLINE nay_hash nay__murmur3_128_of(const uint8_t *p, size_t len,
                                        uint64_t (*tail)(const uint8_t *p, size_t n)) {
  nay_hash h = {0, 0};
  const uint8_t *rest = p + (len & ~(size_t)15);
  nay__murmur3_blocks(p, rest, &h);
  return nay__murmur3_end(rest, len, h, tail);
}

/* ---- x86, 32 bits ---- */

NAY_INLINE uint32_t nay__murmur3_mix32(uint32_t x) {
  return nay__rotl32(x * 0xcc9e2d51u, 15) * 0x1b873593u;
}

/* nay__murmur3_word32: mixes a whole word into the hash. */
NAY_INLINE uint32_t nay__murmur3_word32(uint32_t h, uint32_t word) {
  return nay__rotl32(h ^ nay__murmur3_mix32(word), 13) * 5 + 0xe6546b64u;
}

NAY_INLINE uint32_t nay__murmur3_final32(uint32_t h, size_t len) {
  h ^= (uint32_t)len;
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return h ^ h >> 16;
}

#endif /* NAY_MURMUR3_H */

/*
 * bloom_scalar.c - the classic Bloom: k random bits, k cache lines, in plain C.
 *
 * What decides is how many lines are on their way at once. A probe that leaves at the first zero
 * bit reads fewer lines, but whether it leaves is a branch that nobody can foretell and that is
 * decided only when the line is there; all that was begun behind it is thrown away. So the bits of
 * a key are looked at together, eight at a time. A batch looks at two bits of each key, then at the
 * others of the keys that are left, without a branch on what it finds. Adds know all positions of a
 * few keys before they touch the first.
 *
 * Probes look at words of 64 bits, which takes fewer instructions than bytes do. A payload is whole
 * words, so none reaches past its end.
 */
#include "cpu/bloom_common.h"

/* ---- one key ---- */

NAY_BLOOM_DEFINE(, bool, nay_probe, bloom_test, nay__bloom_test_k)

nay_probe nay__bloom_test_for(const nay_bits *b) { return bloom_test_for(b->k); }

bool nay__bloom_test(const nay_bits *b, uint64_t h) { return nay__bloom_test_k(b, h, b->k); }

NAY_INLINE void bloom_aim(const nay_bits *b, uint64_t h, uint32_t k, uint64_t *at) {
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) at[i] = nay__reduce(h, b->nunits);
}

NAY_INLINE void bloom_set(uint8_t *bytes, uint64_t bit) {
  bytes[bit >> 3] |= (uint8_t)(1u << (bit & 7));
}

NAY_INLINE bool bloom_add_k(const nay_bits *b, uint64_t h, uint32_t k) {
  uint64_t at[NAY_BLOOM_MAX_K];
  uint8_t *bytes = b->bytes, fresh = 0;
  bloom_aim(b, h, k, at);
  for (uint32_t i = 0; i < k; i++) {
    fresh |= (uint8_t)(~bytes[at[i] >> 3] & 1u << (at[i] & 7));
    bloom_set(bytes, at[i]);
  }
  return fresh != 0;
}

NAY_INLINE nay_status bloom_put_k(const nay_bits *b, uint64_t h, uint32_t k) {
  uint64_t at[NAY_BLOOM_MAX_K];
  uint8_t *bytes = b->bytes;
  bloom_aim(b, h, k, at);
  for (uint32_t i = 0; i < k; i++) bloom_set(bytes, at[i]);
  return NAY_OK;
}

NAY_BLOOM_DEFINE(, bool, nay_probe, bloom_add, bloom_add_k)
NAY_BLOOM_DEFINE(, nay_status, nay_put, bloom_put, bloom_put_k)

bool nay__bloom_add(const nay_bits *b, uint64_t hash) { return bloom_add_for(b->k)(b, hash); }

nay_put nay__bloom_put_for(const nay_bits *b) { return bloom_put_for(b->k); }

/* ---- up to 64 keys ---- */

uint64_t nay__bloom_test64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  uint32_t first = b->k < NAY_BLOOM_FIRST ? b->k : NAY_BLOOM_FIRST;
  uint64_t left[64], word = 0;
  uint8_t who[64];
  unsigned kept = 0;
  for (unsigned i = 0; i < n; i++) {
    left[kept] = hashes[i] * (NAY_G64 * NAY_G64);
    who[kept] = (uint8_t)i;
    kept += nay__bloom_look_all(b, hashes[i], first);
  }
  for (unsigned i = 0; i < kept && nay__bloom_is_very_far(b); i++) {
    nay__bloom_ask(b, left[i], b->k - first);
  }
  for (unsigned i = 0; i < kept; i++) {
    word |= (uint64_t)nay__bloom_test_k(b, left[i], b->k - first) << who[i];
  }
  return word;
}

/* Asks for the lines of some keys where they are far, before the first of them is added. */
NAY_INLINE void bloom_ask(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  for (unsigned i = 0; i < n && nay__bloom_is_far(b); i++) nay__bloom_ask(b, hashes[i], b->k);
}

uint64_t nay__bloom_add64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  nay_probe add = bloom_add_for(b->k);
  uint64_t word = 0;
  for (unsigned i = 0; i < n; i++) {
    if (i % NAY_BLOOM_GROUP == 0)
      bloom_ask(b, hashes + i, n - i < NAY_BLOOM_GROUP ? n - i : NAY_BLOOM_GROUP);
    word |= (uint64_t)add(b, hashes[i]) << i;
  }
  return word;
}

void nay__bloom_put64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  nay_put put = bloom_put_for(b->k);
  for (unsigned i = 0; i < n; i++) {
    if (i % NAY_BLOOM_GROUP == 0)
      bloom_ask(b, hashes + i, n - i < NAY_BLOOM_GROUP ? n - i : NAY_BLOOM_GROUP);
    put(b, hashes[i]);
  }
}

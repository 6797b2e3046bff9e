/*
 * kernels_bloom.c - the classic Bloom: k random bits, k cache lines.
 *
 * No vector instruction multiplies 64 by 64 bits to the high half, so these are plain C for every
 * CPU. What pays is overlap. A batch goes probe by probe over all keys that are still undecided,
 * and while it looks at one probe the lines of the next are on their way; absent keys drop out
 * after two probes on average. Adds compute all positions of a few keys, ask for their lines, then
 * set bits.
 */
#include "cpu/kernels_define.h"

#define BLOOM_ADD_GROUP 8u /* keys whose lines are asked for together: 8 x 7 lines fit in L1 */

static inline bool bloom_get(const uint8_t *bytes, uint64_t bit) {
  return (bytes[bit >> 3] >> (bit & 7) & 1) != 0;
}

bool nay__bloom_test(const nay_bits *b, uint64_t h) {
  for (uint32_t i = 0; i < b->k; i++, h *= NAY_G64) {
    if (!bloom_get(b->bytes, nay__reduce(h, b->nunits))) return false;
  }
  return true;
}

bool nay__bloom_add(const nay_bits *b, uint64_t h) {
  uint8_t fresh = 0;
  for (uint32_t i = 0; i < b->k; i++, h *= NAY_G64) {
    uint64_t bit = nay__reduce(h, b->nunits);
    uint8_t mask = (uint8_t)(1u << (bit & 7)), *p = b->bytes + (bit >> 3);
    fresh |= (uint8_t)(~*p & mask);
    *p |= mask;
  }
  return fresh != 0;
}

static uint64_t bloom_test_one_by_one(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  uint64_t word = 0;
  for (unsigned i = 0; i < n; i++) word |= (uint64_t)nay__bloom_test(b, hashes[i]) << i;
  return word;
}

/* `alive` lists the keys whose probes were all set so far, compacted after each round. */
uint64_t nay__bloom_test64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  if (b->in_cache) return bloom_test_one_by_one(b, hashes, n);
  uint64_t h[64], bit[64];
  uint8_t alive[64];
  for (unsigned i = 0; i < n; i++) {
    h[i] = hashes[i];
    bit[i] = nay__reduce(h[i], b->nunits);
    alive[i] = (uint8_t)i;
  }
  for (uint32_t probe = 0; probe < b->k && n > 0; probe++) {
    unsigned kept = 0;
    for (unsigned j = 0; j < n; j++) {
      unsigned i = alive[j];
      bool set = bloom_get(b->bytes, bit[i]);
      h[i] *= NAY_G64;
      bit[i] = nay__reduce(h[i], b->nunits);
      if (set) NAY_PREFETCH(b->bytes + (bit[i] >> 3));
      alive[kept] = (uint8_t)i;
      kept += set;
    }
    n = kept;
  }
  uint64_t word = 0;
  for (unsigned j = 0; j < n; j++) word |= (uint64_t)1 << alive[j];
  return word;
}

uint64_t nay__bloom_add64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  uint64_t word = 0;
  for (unsigned start = 0; start < n; start += BLOOM_ADD_GROUP) {
    unsigned end = start + BLOOM_ADD_GROUP < n ? start + BLOOM_ADD_GROUP : n;
    for (unsigned i = start; i < end && !b->in_cache; i++) {
      uint64_t h = hashes[i];
      for (uint32_t probe = 0; probe < b->k; probe++, h *= NAY_G64) {
        NAY_PREFETCH(b->bytes + (nay__reduce(h, b->nunits) >> 3));
      }
    }
    for (unsigned i = start; i < end; i++) word |= (uint64_t)nay__bloom_add(b, hashes[i]) << i;
  }
  return word;
}

void nay__bloom_prefetch64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  for (unsigned i = 0; i < n; i++)
    NAY_PREFETCH(b->bytes + (nay__reduce(hashes[i], b->nunits) >> 3));
}

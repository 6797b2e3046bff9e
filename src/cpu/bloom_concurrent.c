/*
 * bloom_concurrent.c - the classic Bloom filter with relaxed atomic accesses, for many threads.
 *
 * The family holds a lock around an add (os/spin.h), on the key: finding a bit clear and setting
 * all of them is one step. Another key's adder may write the same byte, so the or is atomic.
 * Readers hold no lock, as in blocked_concurrent.c.
 */
#include "base/bits.h"
#include "cpu/groups.h"
#include "cpu/specialize.h"

NAY_INLINE bool bloom_concurrent_test_k(const nay_bits *b, uint64_t h, uint32_t k) {
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) {
    uint64_t bit = nay__reduce(h, b->nunits);
    if ((nay__atomic_load8(b->bytes + (bit >> 3)) >> (bit & 7) & 1) == 0) return false;
  }
  return true;
}

/* True when this call set the bit. The load first saves a locked write that would change nothing.
 */
NAY_INLINE bool bloom_concurrent_set(uint8_t *bytes, uint64_t bit) {
  uint8_t mask = (uint8_t)(1u << (bit & 7)), *p = bytes + (bit >> 3);
  return (nay__atomic_load8(p) & mask) == 0 && (nay__atomic_or8(p, mask) & mask) == 0;
}

static bool bloom_concurrent_add(const nay_bits *b, uint64_t h) {
  bool is_new = false;
  for (uint32_t i = 0; i < b->k; i++, h *= NAY_G64) {
    is_new |= bloom_concurrent_set(b->bytes, nay__reduce(h, b->nunits));
  }
  return is_new;
}

static bool bloom_concurrent_test(const nay_bits *b, uint64_t h) {
  return bloom_concurrent_test_k(b, h, b->k);
}

static nay_bits_probe bloom_concurrent_choose_test(const nay_bits *b) {
  (void)b;
  return bloom_concurrent_test;
}

#define BLOOM_CONCURRENT_LOOP(k) \
  for (unsigned i = 0; i < n; i++) bitmap |= (uint64_t)bloom_concurrent_test_k(b, hashes[i], k) << i

static uint64_t bloom_concurrent_test64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  uint64_t bitmap = 0;
  NAY_FOR_COMMON_K(b->k, BLOOM_CONCURRENT_LOOP)
  return bitmap;
}

static uint64_t bloom_concurrent_add64(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                       bool report) {
  uint64_t bitmap = 0;
  (void)report;
  for (unsigned i = 0; i < n; i++) bitmap |= (uint64_t)bloom_concurrent_add(b, hashes[i]) << i;
  return bitmap;
}

const nay_bloom_kernels nay__bloom_concurrent = {
    .test = bloom_concurrent_test,
    .choose_test = bloom_concurrent_choose_test,
    .test64 = bloom_concurrent_test64,
    .add = bloom_concurrent_add,
    .add64 = bloom_concurrent_add64,
};

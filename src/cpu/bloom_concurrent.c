/*
 * bloom_concurrent.c - the classic Bloom filter with relaxed atomic accesses, for many threads.
 *
 * The family holds a lock around an add by itself (os/spin.h), on the key: finding a bit clear and
 * setting all of them is one step. Another key's adder may write the same byte, so the or is
 * atomic. Batches hold what they write, so a relaxed load and a relaxed store do. Readers hold no
 * lock, as in blocked_concurrent.c.
 */
#include "cpu/bloom_common.h"

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

/* ---- batches ---- */

/* The caller alone writes to this byte. True when the bit was clear. */
NAY_INLINE bool bloom_concurrent_set_held(uint8_t *bytes, uint64_t bit) {
  uint8_t *p = bytes + (bit >> 3), old = nay__atomic_load8(p);
  nay__atomic_store8(p, (uint8_t)(old | 1u << (bit & 7)));
  return (old >> (bit & 7) & 1) == 0;
}

static uint64_t bloom_concurrent_add64(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                       bool report) {
  uint64_t bitmap = 0;
  (void)report;
  for (unsigned i = 0; i < n; i++) {
    uint64_t h = hashes[i];
    bool is_new = false;
    for (uint32_t probe = 0; probe < b->k; probe++, h *= NAY_G64) {
      is_new |= bloom_concurrent_set_held(b->bytes, nay__reduce(h, b->nunits));
    }
    bitmap |= (uint64_t)is_new << i;
  }
  return bitmap;
}

static void bloom_concurrent_split(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                   nay_bloom_parts *parts) {
  uint64_t nbits = b->nunits, mask = ((uint64_t)1 << parts->shift) - 1;
  unsigned shift = parts->shift;
  for (unsigned i = 0; i < n; i++) {
    uint64_t h = hashes[i];
    for (uint32_t probe = 0; probe < b->k; probe++, h *= NAY_G64) {
      uint64_t bit = nay__reduce(h, nbits), part = bit >> shift;
      parts->at[part][parts->used[part]++] = (uint32_t)(bit & mask);
    }
  }
}

#define BLOOM_CONCURRENT_AHEAD 16u /* bits whose lines are prefetched */

static void bloom_concurrent_set_part(const nay_bits *b, const nay_bloom_parts *parts,
                                      unsigned part) {
  uint8_t *bytes = b->bytes + ((uint64_t)part << parts->shift >> 3);
  const uint32_t *at = parts->at[part];
  unsigned n = parts->used[part], i = 0;
  if (nay__bloom_prefetches_adds(b)) {
    for (; i + BLOOM_CONCURRENT_AHEAD < n; i++) {
      NAY_PREFETCH(bytes + (at[i + BLOOM_CONCURRENT_AHEAD] >> 3));
      (void)bloom_concurrent_set_held(bytes, at[i]);
    }
  }
  for (; i < n; i++) (void)bloom_concurrent_set_held(bytes, at[i]);
}

const nay_bloom_kernels nay__bloom_concurrent = {
    .test = bloom_concurrent_test,
    .choose_test = bloom_concurrent_choose_test,
    .test64 = bloom_concurrent_test64,
    .add = bloom_concurrent_add,
    .add64 = bloom_concurrent_add64,
    .set = bloom_concurrent_set_part,
};

const nay_bloom_split_kernels nay__bloom_split_scalar = {bloom_concurrent_split};

/*
 * blocked_scalar.c - the kernels in plain C: the table that defines the bits, and the one with
 * relaxed atomic accesses for filters that many threads change.
 *
 * What makes test-and-add one step is a lock that the family holds around an add (base/spin.h): on
 * the block for blocked, whose bytes then have one writer at a time, so a relaxed store will do; on
 * the key for bloom, where another key's adder may write the same byte and the or must be atomic.
 * Readers hold no lock: they see each byte before or after, and once an add has returned and its
 * thread has told another of it, after.
 */
#include "cpu/groups.h"

/* ---- blocked, plain ---- */

NAY_INLINE bool scalar_blocked_test(const nay_bits *b, uint64_t hash, uint32_t k) {
  const uint8_t *block = nay__block_of(b, hash);
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    if ((block[h >> NAY_BLOCK_BYTE_SHIFT] >> (h >> NAY_BLOCK_BIT_SHIFT & 7) & 1) == 0) return false;
  }
  return true;
}

NAY_INLINE bool scalar_blocked_add(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint8_t *block = nay__block_of(b, hash), fresh = 0;
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    uint8_t mask = (uint8_t)(1u << (h >> NAY_BLOCK_BIT_SHIFT & 7)),
            *p = block + (h >> NAY_BLOCK_BYTE_SHIFT);
    fresh |= (uint8_t)(~*p & mask);
    *p |= mask;
  }
  return fresh != 0;
}

NAY_DEFINE_KERNEL(static, scalar_test, scalar_blocked_test)
NAY_DEFINE_KERNEL(static, scalar_add, scalar_blocked_add)
NAY_DEFINE_PUTS(, scalar_put, scalar_blocked_add)
NAY_DEFINE_TEST_AHEAD(static, scalar_test64_ahead, scalar_blocked_test)

static uint64_t scalar_add64_ahead(const nay_bits *b, const uint64_t *hashes, const uint64_t *next,
                                   bool tell) {
  uint64_t word = 0;
  (void)tell;
  NAY_FOR_USUAL_K(b->k, NAY_KERNEL_LOOP_AHEAD, scalar_blocked_add)
  return word;
}

void nay__blocked_prefetch64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  for (unsigned i = 0; i < n; i++) NAY_PREFETCH(nay__block_of(b, hashes[i]));
}

const nay_kernels nay__kernels_scalar = {
    .name = "scalar",
    .bloom_test = nay__bloom_test,
    .bloom_test_for = nay__bloom_test_for,
    .bloom_add = nay__bloom_add,
    .bloom_put_for = nay__bloom_put_for,
    .bloom_test64 = nay__bloom_test64,
    .bloom_add64 = nay__bloom_add64,
    .bloom_put64 = nay__bloom_put64,
    .blocked_test = scalar_test,
    .blocked_add = scalar_add,
    .blocked_put = scalar_put,
    .blocked_test64 = scalar_test64,
    .blocked_add64 = scalar_add64,
    .blocked_prefetch64 = nay__blocked_prefetch64,
    .blocked_test64_ahead = scalar_test64_ahead,
    .blocked_add64_ahead = scalar_add64_ahead,
    .counting_add = nay__counting_add,
    .counting_remove = nay__counting_remove,
};

/* ---- shared: many threads ---- */

NAY_INLINE bool shared_get(const uint8_t *bytes, uint64_t bit) {
  return (nay__atomic_load8(bytes + (bit >> 3)) >> (bit & 7) & 1) != 0;
}

/* True when this call set the bit. The load first spares a locked write that would change nothing.
 */
NAY_INLINE bool shared_set(uint8_t *bytes, uint64_t bit) {
  uint8_t mask = (uint8_t)(1u << (bit & 7)), *p = bytes + (bit >> 3);
  return (nay__atomic_load8(p) & mask) == 0 && (nay__atomic_or8(p, mask) & mask) == 0;
}

NAY_INLINE bool shared_bloom_test_one(const nay_bits *b, uint64_t h, uint32_t k) {
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) {
    if (!shared_get(b->bytes, nay__reduce(h, b->nunits))) return false;
  }
  return true;
}

NAY_INLINE bool shared_bloom_add_one(const nay_bits *b, uint64_t h, uint32_t k) {
  bool is_new = false;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) {
    is_new |= shared_set(b->bytes, nay__reduce(h, b->nunits));
  }
  return is_new;
}

NAY_INLINE bool shared_blocked_test_one(const nay_bits *b, uint64_t hash, uint32_t k) {
  const uint8_t *block = nay__block_of(b, hash);
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    if (!shared_get(block, h >> NAY_BLOCK_BIT_SHIFT)) return false;
  }
  return true;
}

NAY_INLINE bool shared_blocked_add_one(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint8_t *block = nay__block_of(b, hash);
  uint32_t h = (uint32_t)hash;
  bool is_new = false;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    uint8_t mask = (uint8_t)(1u << (h >> NAY_BLOCK_BIT_SHIFT & 7)),
            *p = block + (h >> NAY_BLOCK_BYTE_SHIFT);
    if ((*p & mask) != 0) continue;
    nay__atomic_store8(p, *p | mask); /* the lock of the block is ours: no other writer */
    is_new = true;
  }
  return is_new;
}

NAY_DEFINE_KERNEL(static, shared_bloom_test, shared_bloom_test_one)
NAY_DEFINE_KERNEL(static, shared_bloom_add, shared_bloom_add_one)
NAY_DEFINE_KERNEL(static, shared_blocked_test, shared_blocked_test_one)
NAY_DEFINE_KERNEL(static, shared_blocked_add, shared_blocked_add_one)
NAY_DEFINE_TEST_AHEAD(static, shared_blocked_test64_ahead, shared_blocked_test_one)

const nay_kernels nay__kernels_shared = {
    .name = "shared",
    .bloom_test = shared_bloom_test,
    .bloom_add = shared_bloom_add,
    .bloom_test64 = shared_bloom_test64,
    .bloom_add64 = shared_bloom_add64,
    .blocked_test = shared_blocked_test,
    .blocked_add = shared_blocked_add,
    .blocked_test64 = shared_blocked_test64,
    .blocked_add64 = shared_blocked_add64,
    .blocked_prefetch64 = nay__blocked_prefetch64,
    .blocked_test64_ahead = shared_blocked_test64_ahead,
    .counting_add = nay__counting_add, /* on a copy of the bits */
    .counting_remove = nay__counting_remove,
};

/*
 * kernels_scalar.c - the kernels in plain C, twice: with plain memory accesses, and with relaxed
 * atomic ones for filters that many threads change. The text is the same; only how a byte is read
 * and or-ed differs, chosen by a constant that the compiler folds away.
 *
 * What makes test-and-add one step is a lock that the family holds around an add (base/spin.h): on
 * the block for blocked, whose bytes then have one writer at a time, so a relaxed store will do; on
 * the key for bloom, where another key's adder may write the same byte and the or must be atomic.
 * Readers hold no lock: they see each byte before or after, and once an add has returned and its
 * thread has told another of it, after.
 */
#include "base/bits.h"
#include "base/compiler.h"
#include "cpu/kernels.h"

#define SCALAR_G64 0x9e3779b97f4a7c15u
#define SCALAR_G32 0x9e3779b9u

enum { PLAIN = 0, SHARED = 1, LOCKED = 2 };

NAY_INLINE bool scalar_get(const uint8_t *bytes, uint64_t bit, int how) {
  const uint8_t *p = bytes + (bit >> 3);
  uint8_t byte = how == PLAIN ? *p : nay__atomic_load8(p);
  return (byte >> (bit & 7) & 1) != 0;
}

/* Sets a bit; true when it was clear. The read first spares a cache line that would not change. */
NAY_INLINE bool scalar_set(uint8_t *bytes, uint64_t bit, int how) {
  uint8_t mask = (uint8_t)(1u << (bit & 7)), *p = bytes + (bit >> 3);
  if (how == SHARED) {
    return (nay__atomic_load8(p) & mask) == 0 && (nay__atomic_or8(p, mask) & mask) == 0;
  }
  bool was_clear = (*p & mask) == 0;
  if (how == PLAIN) {
    *p |= mask;
  } else if (was_clear) {
    nay__atomic_store8(p, *p | mask);
  }
  return was_clear;
}

/* ---- bloom ---- */

NAY_INLINE bool scalar_bloom_test(const nay_bits *b, uint64_t h, int how) {
  for (uint32_t i = 0; i < b->k; i++, h *= SCALAR_G64) {
    if (!scalar_get(b->bytes, nay__reduce(h, b->nunits), how)) return false;
  }
  return true;
}

NAY_INLINE bool scalar_bloom_add(const nay_bits *b, uint64_t h, int how) {
  bool is_new = false;
  for (uint32_t i = 0; i < b->k; i++, h *= SCALAR_G64) {
    is_new |= scalar_set(b->bytes, nay__reduce(h, b->nunits), how);
  }
  return is_new;
}

/* The first two probes decide most absent keys: fetch their lines for all keys, then look. */
NAY_INLINE void scalar_bloom_prefetch(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    NAY_PREFETCH(b->bytes + (nay__reduce(hashes[i], b->nunits) >> 3));
    NAY_PREFETCH(b->bytes + (nay__reduce(hashes[i] * SCALAR_G64, b->nunits) >> 3));
  }
}

/* ---- blocked ---- */

NAY_INLINE uint8_t *scalar_block(const nay_bits *b, uint64_t h) {
  return b->bytes + nay__reduce(h, b->nunits) * NAY_BLOCK_BYTES;
}

NAY_INLINE bool scalar_blocked_test(const nay_bits *b, uint64_t hash, int how) {
  const uint8_t *block = scalar_block(b, hash);
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < b->k; i++, h *= SCALAR_G32) {
    if (!scalar_get(block, h >> 23, how)) return false;
  }
  return true;
}

NAY_INLINE bool scalar_blocked_add(const nay_bits *b, uint64_t hash, int how) {
  uint8_t *block = scalar_block(b, hash);
  uint32_t h = (uint32_t)hash;
  bool is_new = false;
  for (uint32_t i = 0; i < b->k; i++, h *= SCALAR_G32) {
    is_new |= scalar_set(block, h >> 23, how);
  }
  return is_new;
}

NAY_INLINE void scalar_blocked_prefetch(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  for (unsigned i = 0; i < n; i++) NAY_PREFETCH(scalar_block(b, hashes[i]));
}

/* ---- the two tables ---- */

/* Defines family_verb_suffix and family_verb64_suffix: the only use of pasting, eight functions. */
#define SCALAR_PAIR(family, verb, suffix, how)                                            \
  static bool family##_##verb##_##suffix(const nay_bits *b, uint64_t hash) {              \
    return scalar_##family##_##verb(b, hash, how);                                        \
  }                                                                                       \
  static uint64_t family##_##verb##64_##suffix(const nay_bits *b, const uint64_t *hashes, \
                                               unsigned n) {                              \
    scalar_##family##_prefetch(b, hashes, n);                                             \
    uint64_t bitmap = 0;                                                                  \
    for (unsigned i = 0; i < n; i++) {                                                    \
      bitmap |= (uint64_t)scalar_##family##_##verb(b, hashes[i], how) << i;               \
    }                                                                                     \
    return bitmap;                                                                        \
  }
SCALAR_PAIR(bloom, test, plain, PLAIN)
SCALAR_PAIR(bloom, add, plain, PLAIN)
SCALAR_PAIR(blocked, test, plain, PLAIN)
SCALAR_PAIR(blocked, add, plain, PLAIN)
SCALAR_PAIR(bloom, test, shared, SHARED)
SCALAR_PAIR(bloom, add, shared, SHARED)
SCALAR_PAIR(blocked, test, shared, SHARED)
SCALAR_PAIR(blocked, add, shared, LOCKED)

#define SCALAR_TABLE(text, suffix)                                                              \
  {                                                                                             \
    text, bloom_test_##suffix, bloom_add_##suffix, blocked_test_##suffix, blocked_add_##suffix, \
        bloom_test64_##suffix, bloom_add64_##suffix, blocked_test64_##suffix,                   \
        blocked_add64_##suffix                                                                  \
  }

const nay_kernels nay__kernels_scalar = SCALAR_TABLE("scalar", plain);
const nay_kernels nay__kernels_shared = SCALAR_TABLE("shared", shared);

/* blocked_scalar.c - the blocked filter in plain C: the kernels that define its bits. */
#include "base/trace.h"
#include "cpu/block.h"
#include "cpu/groups.h"
#include "cpu/specialize.h"

/* All bits, without a branch on what is found: it would be mispredicted for most absent keys, and
 * the bits are in one cache line. */
NAY_INLINE bool blocked_scalar_test_k(const nay_bits *b, uint64_t hash, uint32_t k) {
  const uint8_t *block = nay__block_of(b, hash);
  uint32_t h = (uint32_t)hash;
  unsigned all = 1;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    all &= (unsigned)block[h >> NAY_BLOCK_BYTE_SHIFT] >> (h >> NAY_BLOCK_BIT_SHIFT & 7);
  }
  return (all & 1) != 0;
}

NAY_INLINE bool blocked_scalar_add_k(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint8_t *block = nay__block_of(b, hash), fresh = 0;
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    uint8_t mask = (uint8_t)(1u << (h >> NAY_BLOCK_BIT_SHIFT & 7)),
            *p = block + (h >> NAY_BLOCK_BYTE_SHIFT);
    NAY_TRACE(BLOCK_BIT, 0, i, (uint64_t)(block - b->bytes) / NAY_BLOCK_BYTES,
              h >> NAY_BLOCK_BIT_SHIFT, (~*p & mask) != 0, 0);
    fresh |= (uint8_t)(~*p & mask);
    *p |= mask;
  }
  return fresh != 0;
}

NAY_INLINE void blocked_scalar_set_k(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint8_t *block = nay__block_of(b, hash);
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    NAY_TRACE(BLOCK_BIT, 0, i, (uint64_t)(block - b->bytes) / NAY_BLOCK_BYTES,
              h >> NAY_BLOCK_BIT_SHIFT,
              (~block[h >> NAY_BLOCK_BYTE_SHIFT] >> (h >> NAY_BLOCK_BIT_SHIFT & 7) & 1), 0);
    block[h >> NAY_BLOCK_BYTE_SHIFT] |= (uint8_t)(1u << (h >> NAY_BLOCK_BIT_SHIFT & 7));
  }
}

#define BLOCKED(name) blocked_scalar_##name
#define BLOCKED_TARGET
#define BLOCKED_TEST
#define BLOCKED_ADD
#include "cpu/blocked_template.h"

#define BLOCKED_ADD_LOOP(k)                                         \
  for (unsigned i = 0; i < n; i++) {                                \
    if (next != NULL) NAY_PREFETCH(nay__block_of(b, next[i]));      \
    bitmap |= (uint64_t)blocked_scalar_add_k(b, hashes[i], k) << i; \
  }
#define BLOCKED_SET_LOOP(k)                                    \
  for (unsigned i = 0; i < n; i++) {                           \
    if (next != NULL) NAY_PREFETCH(nay__block_of(b, next[i])); \
    blocked_scalar_set_k(b, hashes[i], k);                     \
  }

static uint64_t blocked_scalar_add64(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                     const uint64_t *next, bool report) {
  uint64_t bitmap = 0;
  if (report) {
    NAY_FOR_COMMON_K(b->k, BLOCKED_ADD_LOOP)
  } else {
    NAY_FOR_COMMON_K(b->k, BLOCKED_SET_LOOP)
  }
  return bitmap;
}

void nay__blocked_prefetch64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  for (unsigned i = 0; i < n; i++) NAY_PREFETCH(nay__block_of(b, hashes[i]));
}

const nay_blocked_kernels nay__blocked_scalar = {blocked_scalar_test, blocked_scalar_test64};

const nay_blocked_add_kernels nay__blocked_add_scalar = {
    .add = blocked_scalar_add,
    .choose_add_blind = blocked_scalar_choose_add_blind,
    .add64 = blocked_scalar_add64,
};

/*
 * blocked_concurrent.c - the blocked filter with relaxed atomic accesses, for many threads.
 *
 * The family holds a lock around an add (os/spin.h), on the block: finding a bit clear and
 * setting all of them is one step, and the bytes of a block have one writer at a time, so a relaxed
 * store is enough. Readers hold no lock: they see each byte before or after the add, and after it
 * once the adder has synchronized with them.
 */
#include "cpu/block.h"
#include "cpu/groups.h"
#include "cpu/specialize.h"

NAY_INLINE bool blocked_concurrent_test_k(const nay_bits *b, uint64_t hash, uint32_t k) {
  const uint8_t *block = nay__block_of(b, hash);
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    unsigned byte = nay__atomic_load8(block + (h >> NAY_BLOCK_BYTE_SHIFT));
    if ((byte >> (h >> NAY_BLOCK_BIT_SHIFT & 7) & 1) == 0) return false;
  }
  return true;
}

NAY_INLINE bool blocked_concurrent_add_k(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint8_t *block = nay__block_of(b, hash);
  uint32_t h = (uint32_t)hash;
  bool is_new = false;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    uint8_t mask = (uint8_t)(1u << (h >> NAY_BLOCK_BIT_SHIFT & 7)),
            *p = block + (h >> NAY_BLOCK_BYTE_SHIFT);
    if ((*p & mask) != 0) continue;
    nay__atomic_store8(p, *p | mask);
    is_new = true;
  }
  return is_new;
}

static bool blocked_concurrent_add(const nay_bits *b, uint64_t hash) {
  return blocked_concurrent_add_k(b, hash, b->k);
}

#define BLOCKED(name) blocked_concurrent_##name
#define BLOCKED_TARGET
#define BLOCKED_TEST
#define BLOCKED_ADD64
#include "cpu/blocked_template.h"

const nay_blocked_kernels nay__blocked_concurrent = {blocked_concurrent_test,
                                                     blocked_concurrent_test64};

const nay_blocked_add_kernels nay__blocked_add_concurrent = {
    .add = blocked_concurrent_add,
    .add64 = blocked_concurrent_add64,
};

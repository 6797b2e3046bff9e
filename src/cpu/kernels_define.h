/*
 * kernels_define.h - the loops that are the same for every table: one key, and up to 64 keys. A
 * table differs only in how it tests and adds one key, and in the instructions the compiler may
 * use.
 */
#ifndef NAY_KERNELS_DEFINE_H
#define NAY_KERNELS_DEFINE_H

#include "base/bits.h"
#include "base/compiler.h"
#include "cpu/kernels.h"

/*
 * Defines name(bits, hash) and name64(bits, hashes, n) from an inline `one(bits, hash)`. A macro,
 * because the target attribute must stand on each function and cannot be passed in any other way.
 */
#define NAY_DEFINE_KERNEL(attribute, name, one)                                               \
  attribute static bool name(const nay_bits *b, uint64_t hash) { return one(b, hash); }       \
  attribute static uint64_t name##64(const nay_bits *b, const uint64_t *hashes, unsigned n) { \
    uint64_t word = 0;                                                                        \
    for (unsigned i = 0; i < n; i++) word |= (uint64_t)one(b, hashes[i]) << i;                \
    return word;                                                                              \
  }

NAY_INLINE uint8_t *nay__block_of(const nay_bits *b, uint64_t hash) {
  return b->bytes + nay__reduce(hash, b->nunits) * NAY_BLOCK_BYTES;
}

/* The kernels that no vector instruction helps; every table has them. */
bool nay__bloom_test(const nay_bits *b, uint64_t hash);
bool nay__bloom_add(const nay_bits *b, uint64_t hash);
uint64_t nay__bloom_test64(const nay_bits *b, const uint64_t *hashes, unsigned n);
uint64_t nay__bloom_add64(const nay_bits *b, const uint64_t *hashes, unsigned n);
void nay__bloom_prefetch64(const nay_bits *b, const uint64_t *hashes, unsigned n);
void nay__blocked_prefetch64(const nay_bits *b, const uint64_t *hashes, unsigned n);

#endif /* NAY_KERNELS_DEFINE_H */

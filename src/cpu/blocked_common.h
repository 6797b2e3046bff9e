/*
 * blocked_common.h - the loops that are the same for every table: one key, and up to 64 keys. A
 * table differs only in how it tests and adds one key, and in the instructions the compiler may
 * use.
 */
#ifndef NAY_KERNELS_DEFINE_H
#define NAY_KERNELS_DEFINE_H

#include "base/bits.h"
#include "base/compiler.h"
#include "cpu/kernels.h"

/*
 * Defines name(bits, hash) and name64(bits, hashes, n) from an inline `one(bits, hash, k)`. A
 * macro, because the target attribute must stand on each function and cannot be passed in any other
 * way. The usual numbers of probes (6 to 20 bits per key) get loops of constant length: a quarter
 * less time for an add.
 */
#define NAY_KERNEL_LOOP(one, k) \
  for (unsigned i = 0; i < n; i++) word |= (uint64_t)one(b, hashes[i], k) << i
#define NAY_DEFINE_KERNEL(attribute, name, one)                                        \
  attribute bool name(const nay_bits *b, uint64_t hash) { return one(b, hash, b->k); } \
  attribute uint64_t name##64(const nay_bits *b, const uint64_t *hashes, unsigned n) { \
    uint64_t word = 0;                                                                 \
    NAY_FOR_USUAL_K(b->k, NAY_KERNEL_LOOP, one)                                        \
    return word;                                                                       \
  }

/* Defines name(bits, hashes, next): 64 keys, and a prefetch with each of them. */
#define NAY_KERNEL_LOOP_AHEAD(one, k)            \
  for (unsigned i = 0; i < 64; i++) {            \
    NAY_PREFETCH(nay__block_of(b, next[i]));     \
    word |= (uint64_t)one(b, hashes[i], k) << i; \
  }
#define NAY_DEFINE_TEST_AHEAD(attribute, name, one)                                          \
  attribute uint64_t name(const nay_bits *b, const uint64_t *hashes, const uint64_t *next) { \
    uint64_t word = 0;                                                                       \
    NAY_FOR_USUAL_K(b->k, NAY_KERNEL_LOOP_AHEAD, one)                                        \
    return word;                                                                             \
  }

/*
 * Defines name(k): a function that does what `one` does, forgets what it answers, and knows k. What
 * a filter's single adds cost is the number of their instructions.
 */
#define NAY_DEFINE_PUT(attribute, name, one, k)                        \
  attribute static nay_status name(const nay_bits *b, uint64_t hash) { \
    (void)one(b, hash, k);                                             \
    return NAY_OK;                                                     \
  }
#define NAY_DEFINE_PUTS(attribute, name, one)                                                    \
  NAY_DEFINE_PUT(attribute, name##_any, one, b->k)                                               \
  NAY_DEFINE_PUT(attribute, name##_4, one, 4)                                                    \
  NAY_DEFINE_PUT(attribute, name##_5, one, 5)                                                    \
  NAY_DEFINE_PUT(attribute, name##_6, one, 6)                                                    \
  NAY_DEFINE_PUT(attribute, name##_7, one, 7)                                                    \
  NAY_DEFINE_PUT(attribute, name##_8, one, 8)                                                    \
  NAY_DEFINE_PUT(attribute, name##_9, one, 9)                                                    \
  static nay_put name(uint32_t k) {                                                              \
    static const nay_put usual[] = {name##_4, name##_5, name##_6, name##_7, name##_8, name##_9}; \
    return k >= 4 && k <= 9 ? usual[k - 4] : name##_any;                                         \
  }

#define NAY_FOR_USUAL_K(k, loop, argument) \
  switch (k) {                             \
    case 4: loop(argument, 4); break;      \
    case 5: loop(argument, 5); break;      \
    case 6: loop(argument, 6); break;      \
    case 7: loop(argument, 7); break;      \
    case 8: loop(argument, 8); break;      \
    case 9: loop(argument, 9); break;      \
    default: loop(argument, k); break;     \
  }

NAY_INLINE uint8_t *nay__block_of(const nay_bits *b, uint64_t hash) {
  return b->bytes + nay__reduce(hash, b->nunits) * NAY_BLOCK_BYTES;
}

/* The kernels in plain C that other tables have too. */
bool nay__bloom_test(const nay_bits *b, uint64_t hash);
nay_probe nay__bloom_test_for(const nay_bits *b);
bool nay__bloom_add(const nay_bits *b, uint64_t hash);
nay_put nay__bloom_put_for(const nay_bits *b);
uint64_t nay__bloom_test64(const nay_bits *b, const uint64_t *hashes, unsigned n);
uint64_t nay__bloom_add64(const nay_bits *b, const uint64_t *hashes, unsigned n);
void nay__bloom_put64(const nay_bits *b, const uint64_t *hashes, unsigned n);
void nay__blocked_prefetch64(const nay_bits *b, const uint64_t *hashes, unsigned n);

#endif /* NAY_KERNELS_DEFINE_H */

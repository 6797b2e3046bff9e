/* kernels_bloom.h - what the plain and the vector kernels of the classic Bloom share. */
#ifndef NAY_KERNELS_BLOOM_H
#define NAY_KERNELS_BLOOM_H

#include "base/bytes.h"
#include "cpu/kernels_define.h"

#define NAY_BLOOM_MAX_K 64u
#define NAY_BLOOM_ROUND 8u /* probes of one key that are looked at without a branch between */
#define NAY_G64_POWER_8 0x06d4b2611beb6861u /* G^8 mod 2^64; a test recomputes it */

/*
 * Lines are asked for ahead of adds only where they come from far: from 4 MiB on that takes 14 ns a
 * key in place of 19 (10^7 keys), below it adds as much as it saves, or more.
 */
NAY_INLINE bool nay__bloom_is_far(const nay_bits *b) { return b->nunits >> 25 != 0; }

NAY_INLINE uint64_t nay__bloom_look(const uint8_t *bytes, uint64_t bit) {
  return nay__load64le(bytes + (bit >> 6) * 8) >> (bit & 63);
}

/* Probes 0 to k - 1 of h together. */
NAY_INLINE bool nay__bloom_look_all(const nay_bits *b, uint64_t h, uint32_t k) {
  uint64_t all = 1;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) {
    all &= nay__bloom_look(b->bytes, nay__reduce(h, b->nunits));
  }
  return (all & 1) != 0;
}

NAY_INLINE bool nay__bloom_test_k(const nay_bits *b, uint64_t h, uint32_t k) {
  for (; k > NAY_BLOOM_ROUND; k -= NAY_BLOOM_ROUND, h *= NAY_G64_POWER_8) {
    if (!nay__bloom_look_all(b, h, NAY_BLOOM_ROUND)) return false;
  }
  return nay__bloom_look_all(b, h, k);
}

/*
 * Defines name_for(k), which gives the function for so many probes, from an inline one(bits, hash,
 * k) that has no loop when k is a constant.
 */
#define NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, k, suffix)         \
  attribute static type name##_##suffix(const nay_bits *b, uint64_t hash) { \
    return one(b, hash, k);                                                 \
  }
#define NAY_BLOOM_DEFINE(attribute, type, pointer, name, one)                           \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 4, 4)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 5, 5)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 6, 6)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 7, 7)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 8, 8)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, b->k, any)                           \
  static pointer name##_for(uint32_t k) {                                               \
    static const pointer usual[5] = {name##_4, name##_5, name##_6, name##_7, name##_8}; \
    return k >= 4 && k <= 8 ? usual[k - 4] : name##_any;                                \
  }

#endif /* NAY_KERNELS_BLOOM_H */

/*
 * sbbf_vector.c - the split-block Bloom filter with AVX2, AVX-512 and NEON: the eight bits of a key
 * are one multiplication and one shift of eight lanes, and the block is one register (NEON: two).
 *
 * A batch writes one byte for each key and makes its bitmap of all bytes at the end: a bitmap that
 * grows bit by bit is a chain of shifts. AVX-512 tests a block into a mask register, one
 * instruction where AVX2 takes two. Two keys in a register of 512 bits would need two loads and a
 * shuffle more, and adds of two keys may meet in one block.
 */
#include "base/split_block.h"
#include "cpu/vec.h"

#if NAY_HAS_VEC

/* ---- eight lanes ---- */

#if NAY_HAS_X86_KERNELS

#define SBBF512_TARGET __attribute__((target("avx2,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl")))

typedef __m256i sbbf_lanes;

/* One bit in each word. */
VEC_TARGET NAY_INLINE sbbf_lanes sbbf_vector_bits(uint64_t hash) {
  const __m256i salt = _mm256_loadu_si256((const __m256i *)(const void *)nay__sbbf_salt);
  __m256i products = _mm256_mullo_epi32(_mm256_set1_epi32((int32_t)(uint32_t)hash), salt);
  return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(products, 27));
}

VEC_TARGET NAY_INLINE bool sbbf_vector_covers(const uint8_t *block, sbbf_lanes bits) {
  return _mm256_testc_si256(_mm256_loadu_si256((const __m256i *)(const void *)block), bits) != 0;
}

VEC_TARGET NAY_INLINE void sbbf_vector_or(uint8_t *block, sbbf_lanes bits) {
  __m256i *at = (__m256i *)(void *)block;
  _mm256_storeu_si256(at, _mm256_or_si256(_mm256_loadu_si256(at), bits));
}

/* Bit i: whether byte i, which is 0 or 1, is 1. */
VEC_TARGET NAY_INLINE uint64_t sbbf_vector_bitmap(const uint8_t bytes[64]) {
  const __m256i *two = (const __m256i *)(const void *)bytes;
  __m256i low = _mm256_slli_epi16(_mm256_load_si256(two), 7);
  __m256i high = _mm256_slli_epi16(_mm256_load_si256(two + 1), 7);
  return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

#elif NAY_HAS_NEON_KERNELS

typedef struct sbbf_lanes {
  uint32x4_t low, high;
} sbbf_lanes;

NAY_INLINE uint32x4_t sbbf_vector_half(uint64_t hash, const uint32_t *salt) {
  uint32x4_t bit = vshrq_n_u32(vmulq_n_u32(vld1q_u32(salt), (uint32_t)hash), 27);
  return vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(bit));
}

NAY_INLINE sbbf_lanes sbbf_vector_bits(uint64_t hash) {
  return (sbbf_lanes){sbbf_vector_half(hash, nay__sbbf_salt),
                      sbbf_vector_half(hash, nay__sbbf_salt + 4)};
}

NAY_INLINE uint32x4_t sbbf_vector_load(const uint8_t *p) {
  return vreinterpretq_u32_u8(vld1q_u8(p));
}

NAY_INLINE bool sbbf_vector_covers(const uint8_t *block, sbbf_lanes bits) {
  uint32x4_t low = vtstq_u32(sbbf_vector_load(block), bits.low);
  uint32x4_t high = vtstq_u32(sbbf_vector_load(block + 16), bits.high);
  return vminvq_u32(vandq_u32(low, high)) != 0;
}

NAY_INLINE void sbbf_vector_or(uint8_t *block, sbbf_lanes bits) {
  vst1q_u8(block, vreinterpretq_u8_u32(vorrq_u32(sbbf_vector_load(block), bits.low)));
  vst1q_u8(block + 16, vreinterpretq_u8_u32(vorrq_u32(sbbf_vector_load(block + 16), bits.high)));
}

NAY_INLINE uint64_t sbbf_vector_bitmap(const uint8_t bytes[64]) {
  uint64_t bitmap = 0; /* of 0 and 1 a product gathers eight */
  for (unsigned i = 0; i < 64; i += 8) {
    bitmap |= nay__load64le(bytes + i) * UINT64_C(0x0102040810204080) >> 56 << i;
  }
  return bitmap;
}

#endif

/* ---- one key ---- */

NAY_INLINE uint8_t *sbbf_vector_block(const nay_bits *b, uint64_t hash) {
  return b->bytes + nay__sbbf_block(hash, b->nunits) * NAY_SBBF_BYTES;
}

VEC_TARGET static bool sbbf_vector_test(const nay_bits *b, uint64_t hash) {
  return sbbf_vector_covers(sbbf_vector_block(b, hash), sbbf_vector_bits(hash));
}

VEC_TARGET static nay_status sbbf_vector_add_blind(const nay_bits *b, uint64_t hash) {
  sbbf_vector_or(sbbf_vector_block(b, hash), sbbf_vector_bits(hash));
  return NAY_OK;
}

VEC_TARGET NAY_INLINE bool sbbf_vector_set(const nay_bits *b, uint64_t hash) {
  uint8_t *block = sbbf_vector_block(b, hash);
  sbbf_lanes bits = sbbf_vector_bits(hash);
  bool is_new = !sbbf_vector_covers(block, bits);
  sbbf_vector_or(block, bits);
  return is_new;
}

VEC_TARGET static bool sbbf_vector_add(const nay_bits *b, uint64_t hash) {
  return sbbf_vector_set(b, hash);
}

/* ---- batches ---- */

#define SBBF_PREFETCH(b, next, i) \
  if ((next) != NULL) NAY_PREFETCH(sbbf_vector_block(b, (next)[i]))

VEC_TARGET NAY_INLINE uint64_t sbbf_vector_test_all(const nay_bits *b, const uint64_t *hashes,
                                                    unsigned n, const uint64_t *next) {
  _Alignas(32) uint8_t found[64];
  if (n < 64) memset(found, 0, sizeof found);
  for (unsigned i = 0; i < n; i++) {
    SBBF_PREFETCH(b, next, i);
    found[i] = sbbf_vector_covers(sbbf_vector_block(b, hashes[i]), sbbf_vector_bits(hashes[i]));
  }
  return sbbf_vector_bitmap(found);
}

VEC_TARGET static uint64_t sbbf_vector_test64(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                              const uint64_t *next) {
  if (next != NULL) return sbbf_vector_test_all(b, hashes, 64, next);
  return n == 64 ? sbbf_vector_test_all(b, hashes, 64, NULL)
                 : sbbf_vector_test_all(b, hashes, n, NULL);
}

VEC_TARGET NAY_INLINE uint64_t sbbf_vector_add_all(const nay_bits *b, const uint64_t *hashes,
                                                   unsigned n, const uint64_t *next, bool report) {
  _Alignas(32) uint8_t fresh[64];
  if (report && n < 64) memset(fresh, 0, sizeof fresh);
  for (unsigned i = 0; i < n; i++) {
    SBBF_PREFETCH(b, next, i);
    if (report) {
      fresh[i] = sbbf_vector_set(b, hashes[i]);
    } else {
      sbbf_vector_or(sbbf_vector_block(b, hashes[i]), sbbf_vector_bits(hashes[i]));
    }
  }
  return report ? sbbf_vector_bitmap(fresh) : 0;
}

VEC_TARGET static uint64_t sbbf_vector_add64(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                             const uint64_t *next, bool report) {
  if (next == NULL) {
    return report ? sbbf_vector_add_all(b, hashes, n, NULL, true)
                  : sbbf_vector_add_all(b, hashes, n, NULL, false);
  }
  return report ? sbbf_vector_add_all(b, hashes, 64, next, true)
                : sbbf_vector_add_all(b, hashes, 64, next, false);
}

const nay_sbbf_kernels nay__sbbf_vector = {
    .test = sbbf_vector_test,
    .test64 = sbbf_vector_test64,
    .add = sbbf_vector_add,
    .add_blind = sbbf_vector_add_blind,
    .add64 = sbbf_vector_add64,
};

#if NAY_HAS_X86_KERNELS

/* Byte i of `missing` is 0 where all bits of key i are set. */
SBBF512_TARGET NAY_INLINE uint64_t sbbf_avx512_test_all(const nay_bits *b, const uint64_t *hashes,
                                                        unsigned n, const uint64_t *next) {
  _Alignas(64) uint8_t missing[64];
  if (n < 64) memset(missing, 0xff, sizeof missing);
  for (unsigned i = 0; i < n; i++) {
    SBBF_PREFETCH(b, next, i);
    const void *block = sbbf_vector_block(b, hashes[i]);
    missing[i] = (uint8_t)_mm256_testn_epi32_mask(_mm256_loadu_si256((const __m256i *)block),
                                                  sbbf_vector_bits(hashes[i]));
  }
  __m512i all = _mm512_load_si512(missing);
  return _mm512_testn_epi8_mask(all, all);
}

SBBF512_TARGET static uint64_t sbbf_avx512_test64(const nay_bits *b, const uint64_t *hashes,
                                                  unsigned n, const uint64_t *next) {
  if (next != NULL) return sbbf_avx512_test_all(b, hashes, 64, next);
  return n == 64 ? sbbf_avx512_test_all(b, hashes, 64, NULL)
                 : sbbf_avx512_test_all(b, hashes, n, NULL);
}

const nay_sbbf_kernels nay__sbbf_avx512 = {
    .test = sbbf_vector_test,
    .test64 = sbbf_avx512_test64,
    .add = sbbf_vector_add,
    .add_blind = sbbf_vector_add_blind,
    .add64 = sbbf_vector_add64,
};

#endif /* NAY_HAS_X86_KERNELS */

#endif /* NAY_HAS_VEC */

/*
 * vec.h - eight (AVX2) or four (NEON) keys side by side, for kernels written once for both.
 *
 * A probe of a static or a cuckoo filter is mostly multiplication: about a dozen products locate
 * its slots before memory is read. Vectors of AVX2 and NEON multiply 32 by 32 bits at most, so
 * numbers of 64 bits are split into halves; but few of the products need all four partial products,
 * since arrays have less than 2^32 slots and of most others only one half is wanted.
 *
 *   longs   64 bits of VEC_KEYS / 2 keys                        halves   32 bits of VEC_KEYS keys,
 *   wide    two of them, for VEC_KEYS keys: products                     ready to be multiplied
 *   words   32 bits of VEC_KEYS keys, in order
 *
 * Vectors of 512 bits, which multiply 64 by 64, were slower on Zen 4 (cuckoo 2.3 ns instead of 1.2,
 * fuse of 8 bits 1.8 instead of 1.5), so there is no third kind.
 */
#ifndef NAY_VEC_H
#define NAY_VEC_H

#include "base/bytes.h"
#include "cpu/groups.h"

#define NAY_HAS_VEC (NAY_HAS_X86_KERNELS || NAY_HAS_NEON_KERNELS)

/* ---- AVX2 ---- */

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define VEC_TARGET __attribute__((target("avx2,bmi,bmi2")))
#define VEC_KEYS 8u

typedef uint32_t vec_words __attribute__((vector_size(32)));
typedef uint64_t vec_longs __attribute__((vector_size(32)));
typedef struct vec_wide {
  vec_longs a, b; /* keys 0 1 4 5 and 2 3 6 7, so that packing them is one shuffle */
} vec_wide;
typedef vec_wide vec_half; /* the upper 32 bits may be anything */

VEC_TARGET NAY_INLINE vec_half vec_all(uint32_t x) {
  vec_longs all = (vec_longs)_mm256_set1_epi64x((int64_t)x);
  return (vec_half){all, all};
}

VEC_TARGET NAY_INLINE vec_half vec_low(vec_wide x) { return x; }

VEC_TARGET NAY_INLINE vec_half vec_top(vec_wide x) { return (vec_half){x.a >> 32, x.b >> 32}; }

VEC_TARGET NAY_INLINE vec_words vec_pack(vec_half x) {
  return (vec_words)_mm256_shuffle_ps((__m256)x.a, (__m256)x.b, 0x88);
}

VEC_TARGET NAY_INLINE vec_words vec_pack_top(vec_wide x) {
  return (vec_words)_mm256_shuffle_ps((__m256)x.a, (__m256)x.b, 0xdd);
}

VEC_TARGET NAY_INLINE vec_half vec_unpack(vec_words x) {
  __m256i v = (__m256i)x;
  return (vec_half){(vec_longs)_mm256_unpacklo_epi32(v, v), (vec_longs)_mm256_unpackhi_epi32(v, v)};
}

VEC_TARGET NAY_INLINE vec_wide vec_widen(vec_words x) {
  __m256i v = (__m256i)x, zero = _mm256_setzero_si256();
  return (vec_wide){(vec_longs)_mm256_unpacklo_epi32(v, zero),
                    (vec_longs)_mm256_unpackhi_epi32(v, zero)};
}

VEC_TARGET NAY_INLINE vec_half vec_xor(vec_half x, vec_half y) {
  return (vec_half){x.a ^ y.a, x.b ^ y.b};
}

VEC_TARGET NAY_INLINE vec_wide vec_mul(vec_half x, vec_half y) {
  return (vec_wide){(vec_longs)_mm256_mul_epu32((__m256i)x.a, (__m256i)y.a),
                    (vec_longs)_mm256_mul_epu32((__m256i)x.b, (__m256i)y.b)};
}

VEC_TARGET NAY_INLINE vec_longs vec_shift(vec_longs x, vec_longs counts) {
  return (vec_longs)_mm256_srlv_epi64((__m256i)x, (__m256i)counts);
}

/* Bit i: the sign of word i. */
VEC_TARGET NAY_INLINE uint64_t vec_signs(vec_words x) {
  return (uint32_t)_mm256_movemask_ps((__m256)x);
}

VEC_TARGET NAY_INLINE vec_longs vec_join(__m128i low, __m128i high) {
  return (vec_longs)_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

VEC_TARGET NAY_INLINE vec_wide vec_load(const uint64_t *x) {
  const __m128i *two = (const __m128i *)(const void *)x;
  return (vec_wide){vec_join(_mm_loadu_si128(two), _mm_loadu_si128(two + 2)),
                    vec_join(_mm_loadu_si128(two + 1), _mm_loadu_si128(two + 3))};
}

VEC_TARGET NAY_INLINE __m128i vec_fetch2(const uint8_t *bytes, const uint32_t *at) {
  __m128i low = _mm_loadl_epi64((const __m128i *)(const void *)(bytes + at[0]));
  return _mm_insert_epi64(low, (int64_t)nay__load64le(bytes + at[1]), 1);
}

/* The eight bytes at each place. Gathered, cuckoo takes 1.6 ns where this takes 1.2. */
VEC_TARGET NAY_INLINE vec_wide vec_fetch(const uint8_t *bytes, const uint32_t *at) {
  return (vec_wide){vec_join(vec_fetch2(bytes, at), vec_fetch2(bytes, at + 4)),
                    vec_join(vec_fetch2(bytes, at + 2), vec_fetch2(bytes, at + 6))};
}

/* ---- NEON ---- */

#elif NAY_HAS_NEON_KERNELS

#include <arm_neon.h>

#define VEC_TARGET
#define VEC_KEYS 4u

typedef uint32_t vec_words __attribute__((vector_size(16)));
typedef uint64_t vec_longs __attribute__((vector_size(16)));
typedef struct vec_wide {
  vec_longs a, b; /* keys 0 1 and 2 3 */
} vec_wide;
typedef uint32x4_t vec_half;

NAY_INLINE vec_half vec_all(uint32_t x) { return vdupq_n_u32(x); }

NAY_INLINE vec_half vec_low(vec_wide x) { return vuzp1q_u32((uint32x4_t)x.a, (uint32x4_t)x.b); }

NAY_INLINE vec_half vec_top(vec_wide x) { return vuzp2q_u32((uint32x4_t)x.a, (uint32x4_t)x.b); }

NAY_INLINE vec_words vec_pack(vec_half x) { return (vec_words)x; }

NAY_INLINE vec_words vec_pack_top(vec_wide x) { return (vec_words)vec_top(x); }

NAY_INLINE vec_half vec_unpack(vec_words x) { return (vec_half)x; }

NAY_INLINE vec_wide vec_widen(vec_words x) {
  uint32x4_t v = (uint32x4_t)x;
  return (vec_wide){(vec_longs)vmovl_u32(vget_low_u32(v)), (vec_longs)vmovl_high_u32(v)};
}

NAY_INLINE vec_half vec_xor(vec_half x, vec_half y) { return veorq_u32(x, y); }

NAY_INLINE vec_wide vec_mul(vec_half x, vec_half y) {
  return (vec_wide){(vec_longs)vmull_u32(vget_low_u32(x), vget_low_u32(y)),
                    (vec_longs)vmull_high_u32(x, y)};
}

NAY_INLINE vec_longs vec_shift(vec_longs x, vec_longs counts) {
  return (vec_longs)vshlq_u64((uint64x2_t)x, vnegq_s64((int64x2_t)counts));
}

NAY_INLINE uint64_t vec_signs(vec_words x) {
  const int32x4_t places = {0, 1, 2, 3};
  return vaddvq_u32(vshlq_u32(vshrq_n_u32((uint32x4_t)x, 31), places));
}

NAY_INLINE vec_wide vec_load(const uint64_t *x) {
  return (vec_wide){(vec_longs)vld1q_u64(x), (vec_longs)vld1q_u64(x + 2)};
}

NAY_INLINE vec_longs vec_fetch2(const uint8_t *bytes, const uint32_t *at) {
  return (vec_longs)vcombine_u64(vreinterpret_u64_u8(vld1_u8(bytes + at[0])),
                                 vreinterpret_u64_u8(vld1_u8(bytes + at[1])));
}

NAY_INLINE vec_wide vec_fetch(const uint8_t *bytes, const uint32_t *at) {
  return (vec_wide){vec_fetch2(bytes, at), vec_fetch2(bytes, at + 2)};
}

#endif

#if NAY_HAS_VEC

/* ---- arithmetic ---- */

VEC_TARGET NAY_INLINE vec_wide vec_add_top(vec_wide sum, vec_wide x) {
  return (vec_wide){sum.a + (x.a >> 32), sum.b + (x.b >> 32)};
}

VEC_TARGET NAY_INLINE vec_wide vec_add_low(vec_wide sum, vec_wide x) {
  return (vec_wide){sum.a + (x.a & 0xffffffffu), sum.b + (x.b & 0xffffffffu)};
}

VEC_TARGET NAY_INLINE void vec_store(uint32_t *to, vec_words x) { memcpy(to, &x, sizeof x); }

VEC_TARGET NAY_INLINE vec_words vec_read(const uint32_t *from) {
  vec_words x;
  memcpy(&x, from, sizeof x);
  return x;
}

/* floor(x * n / 2^64), x in halves. */
VEC_TARGET NAY_INLINE vec_words vec_reduce(vec_half low, vec_half top, vec_half n) {
  return vec_pack_top(vec_add_top(vec_mul(top, n), vec_mul(low, n)));
}

/* A factor of 64 bits for each key. */
typedef struct vec_factor {
  vec_half low;
  vec_words low_words, top_words;
} vec_factor;

VEC_TARGET NAY_INLINE vec_factor vec_factor_of(uint64_t c) {
  const vec_words zero = {0};
  return (vec_factor){vec_all((uint32_t)c), zero + (uint32_t)c, zero + (uint32_t)(c >> 32)};
}

/* The upper half of x * c modulo 2^64; `product` is that of the lower halves. */
VEC_TARGET NAY_INLINE vec_words vec_upper(vec_words low, vec_words top, const vec_factor *c,
                                          vec_wide product) {
  return vec_pack_top(product) + low * c->top_words + top * c->low_words;
}

/* Prefetches the lines of VEC_KEYS places, while those of the next keys are computed. */
NAY_INLINE void vec_prefetch(const uint8_t *bytes, const uint32_t *at, unsigned unit) {
  for (unsigned i = 0; i < VEC_KEYS; i++) NAY_PREFETCH(bytes + (size_t)at[i] * unit);
}

/* Eight bytes at each place: one in nine reaches into the next line. */
NAY_INLINE void vec_prefetch_words(const uint8_t *bytes, const uint32_t *at) {
  vec_prefetch(bytes, at, 1);
  vec_prefetch(bytes + 7, at, 1);
}

/* Bit i: whether number i is 0. */
VEC_TARGET NAY_INLINE uint64_t vec_zeros(vec_wide x) {
  return vec_signs((vec_words)((vec_pack(vec_low(x)) | vec_pack_top(x)) == 0));
}

#endif /* NAY_HAS_VEC */

#endif /* NAY_VEC_H */

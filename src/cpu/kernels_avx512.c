/*
 * kernels_avx512.c - blocked filters with 512-bit vectors: a block is one register.
 *
 * As kernels_avx2.c, with sixteen probes in one pass, one permute for the words, and no halves.
 */
#include "cpu/kernels_simd.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512dq,bmi2")))

static const uint32_t avx512_powers[16] = NAY_G32_POWERS_0_TO_15;

AVX512 NAY_INLINE bool avx512_blocked_test(const nay_bits *b, uint64_t hash, uint32_t k) {
  __m512i block = _mm512_loadu_si512(nay__block_of(b, hash));
  __m512i powers = _mm512_loadu_si512(avx512_powers);
  uint32_t h = (uint32_t)hash, left = k;
  for (;; left -= 16, h *= NAY_G32_POWER_16) {
    __m512i probe = _mm512_mullo_epi32(_mm512_set1_epi32((int32_t)h), powers);
    __m512i words = _mm512_permutexvar_epi32(_mm512_srli_epi32(probe, 28), block);
    __m512i bit = _mm512_srli_epi32(_mm512_slli_epi32(probe, 4), 27);
    __m512i wanted = _mm512_sllv_epi32(_mm512_set1_epi32(1), bit);
    __mmask16 lanes = left < 16 ? (__mmask16)((1u << left) - 1) : (__mmask16)0xffff;
    if (_mm512_mask_testn_epi32_mask(lanes, words, wanted) != 0) return false;
    if (left <= 16) return true;
  }
}

AVX512 NAY_INLINE bool avx512_blocked_add(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint8_t *block = nay__block_of(b, hash);
  const __m512i base = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
  const __m512i one = _mm512_set1_epi64(1);
  __m512i old = _mm512_loadu_si512(block), bits = old;
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    __m512i at = _mm512_set1_epi64((int64_t)(h >> 23));
    bits = _mm512_or_si512(bits, _mm512_sllv_epi64(one, _mm512_sub_epi64(at, base)));
  }
  _mm512_storeu_si512(block, bits);
  return _mm512_cmpneq_epi64_mask(old, bits) != 0;
}

NAY_DEFINE_KERNEL(AVX512, avx512_test, avx512_blocked_test)
NAY_DEFINE_KERNEL(AVX512, avx512_add, avx512_blocked_add)

const nay_kernels nay__kernels_avx512 = {
    .name = "avx512",
    .popcnt = true,
    .bloom_test = nay__bloom_test,
    .bloom_add = nay__bloom_add,
    .bloom_test64 = nay__bloom_test64,
    .bloom_add64 = nay__bloom_add64,
    .bloom_prefetch64 = nay__bloom_prefetch64,
    .blocked_test = avx512_test,
    .blocked_add = avx512_add,
    .blocked_test64 = avx512_test64,
    .blocked_add64 = avx512_add64,
    .blocked_prefetch64 = nay__blocked_prefetch64,
    .fuse_aim64 = nay__fuse_aim64_avx512,
    .cuckoo_aim64 = nay__cuckoo_aim64_avx512,
    .ribbon_look = nay__ribbon_look_avx512,
};

#endif /* NAY_HAS_X86_KERNELS */

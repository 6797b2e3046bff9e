/*
 * window_avx512.c - the window filter with 512-bit vectors: a unit is two registers.
 *
 * One multiplication by the powers of g gives eight probes; a permute of both registers fetches
 * their words, a shift by lanes puts the cells at the lowest bits, and the lanes are combined with
 * and.
 */
#include "cpu/groups.h"
#include "cpu/units.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define WINDOW_TARGET \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2,popcnt,prfchw")))

/* Probes h, h * g, ... h * g^7; of the first k lanes, ones elsewhere. */
WINDOW_TARGET NAY_INLINE __m512i window_avx512_eight(__m512i low, __m512i high, uint32_t h,
                                                     uint32_t all, uint32_t k) {
  static const uint32_t powers[8] = {NAY_G32_POWS_0_TO_7};
  __m256i x = _mm256_mullo_epi32(_mm256_set1_epi32((int32_t)h),
                                 _mm256_loadu_si256((const __m256i *)(const void *)powers));
  __m512i word = _mm512_cvtepu32_epi64(_mm256_srli_epi32(x, 28));
  __m512i rest = _mm512_cvtepu32_epi64(_mm256_and_si256(x, _mm256_set1_epi32(0x0fffffff)));
  __m512i cell =
      _mm512_srli_epi64(_mm512_mul_epu32(rest, _mm512_set1_epi64((int64_t)(64 / all))), 28);
  __m512i shift = _mm512_mul_epu32(cell, _mm512_set1_epi64((int64_t)all));
  __m512i cells = _mm512_permutex2var_epi64(low, word, high);
  __mmask8 lanes = k < 8 ? (__mmask8)((1u << k) - 1) : (__mmask8)0xff;
  return _mm512_mask_srlv_epi64(_mm512_set1_epi64(-1), lanes, cells, shift);
}

WINDOW_TARGET NAY_INLINE uint64_t window_avx512_find(const nay_bits *b, uint64_t hash) {
  const uint8_t *unit = nay__unit_of(b, hash);
  __m512i low = _mm512_loadu_si512(unit), high = _mm512_loadu_si512(unit + (NAY_WINDOW_UNIT / 2));
  uint32_t h = (uint32_t)hash, all = b->extra;
  __m512i found = window_avx512_eight(low, high, h, all, b->k);
  for (uint32_t k = b->k; k > 8; k -= 8) {
    h *= NAY_G32_POW_8;
    found = _mm512_and_si512(found, window_avx512_eight(low, high, h, all, k - 8));
  }
  __m256i four =
      _mm256_and_si256(_mm512_castsi512_si256(found), _mm512_extracti64x4_epi64(found, 1));
  __m128i two = _mm_and_si128(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
  uint64_t one = (uint64_t)_mm_cvtsi128_si64(two) & (uint64_t)_mm_extract_epi64(two, 1);
  return one & (((uint64_t)1 << all) - 1);
}

#define WINDOW(name) window_avx512_##name
#include "cpu/window_template.h"

const nay_window_kernels nay__window_avx512 = {window_avx512_test, window_avx512_test64,
                                               window_avx512_find_one};

#endif /* NAY_HAS_X86_KERNELS */

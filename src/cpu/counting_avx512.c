/* counting_avx512.c - as counting_avx2.c, with all eight groups and 16 probes in a register each.
 */
#include "cpu/counting_common.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define COUNTING_TARGET __attribute__((target("avx2,avx512f,avx512dq,avx512cd,bmi,bmi2,popcnt")))

static const uint32_t counting_avx512_powers[16] = {NAY_G32_POWS_0_TO_15};

COUNTING_TARGET static inline uint64_t counting_avx512_place(uint64_t word, unsigned r) {
  return _pdep_u64((uint64_t)1 << r, word << 1 | 1);
}

COUNTING_TARGET static inline bool counting_avx512_odd(const uint8_t *plane, const uint8_t *words,
                                                       uint32_t h, uint32_t k) {
  if (k > 16) return true;
  __m512i p = _mm512_loadu_si512(plane), w = _mm512_loadu_si512(words);
  __mmask8 odd = _mm512_mask_test_epi64_mask(_mm512_testn_epi64_mask(w, w), p, p);
  /* bit i of run: bits i to i + 13 are not set. One with such a run below it is saturated */
  __m512i run = _mm512_andnot_si512(w, _mm512_set1_epi64(-1));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 1));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 2));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 4));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 6));
  odd |= _mm512_test_epi64_mask(run, _mm512_srli_epi64(w, NAY_COUNTER_SATURATED - 1));
  odd |= _mm512_test_epi64_mask(w, _mm512_set1_epi64((int64_t)(~(uint64_t)0 << (64 - k))));
  __m512i at =
      _mm512_mullo_epi32(_mm512_set1_epi32((int)h), _mm512_loadu_si512(counting_avx512_powers));
  __m512i same = _mm512_conflict_epi32(_mm512_srli_epi32(at, NAY_BLOCK_BIT_SHIFT));
  return (odd | (_mm512_test_epi32_mask(same, same) & ((1u << k) - 1))) != 0;
}

NAY_COUNTING_DEFINE(COUNTING_TARGET, counting_avx512, counting_avx512_odd, counting_avx512_place)

const nay_counting_kernels nay__counting_avx512 = {counting_avx512_add, counting_avx512_remove};

#endif /* NAY_HAS_X86_KERNELS */

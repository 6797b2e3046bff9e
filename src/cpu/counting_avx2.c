/*
 * counting_avx2.c - the counters of a block with AVX2: a check of four groups at a time whether the
 * block has anything unusual; counters are found by select or, where it is fast, by PDEP.
 */
#include "cpu/counting_common.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define COUNTING_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))

static const uint32_t counting_avx2_powers[16] = {NAY_G32_POWS_0_TO_15};

COUNTING_TARGET static inline uint64_t counting_avx2_pdep_place(uint64_t word, unsigned r) {
  return _pdep_u64((uint64_t)1 << r, word << 1 | 1);
}

/* Positions of up to eight probes. In lanes from n on are other numbers, no two of them equal. */
COUNTING_TARGET static inline __m256i counting_avx2_positions(uint32_t h, const uint32_t *powers,
                                                              uint32_t n) {
  static const uint32_t beyond[16] = {0,   0,    0,    0,    0,    0,    0,    0,
                                      512, 1024, 1536, 2048, 2560, 3072, 3584, 4096};
  __m256i at = _mm256_mullo_epi32(_mm256_set1_epi32((int)h),
                                  _mm256_loadu_si256((const __m256i *)(const void *)powers));
  __m256i other = _mm256_loadu_si256((const __m256i *)(const void *)(beyond + 8 - n));
  return _mm256_or_si256(_mm256_srli_epi32(at, NAY_BLOCK_BIT_SHIFT), other);
}

COUNTING_TARGET static inline __m256i counting_avx2_swap_halves(__m256i a) {
  return _mm256_permute2x128_si256(a, a, 1);
}

/* Not 0 where a lane of a equals that of b which is 1 to 4 lanes after it, in a circle of eight. */
COUNTING_TARGET static inline __m256i counting_avx2_equal(__m256i a, __m256i b) {
  __m256i swapped = counting_avx2_swap_halves(b);
  __m256i one = _mm256_cmpeq_epi32(a, _mm256_alignr_epi8(swapped, b, 4));
  __m256i two = _mm256_cmpeq_epi32(a, _mm256_alignr_epi8(swapped, b, 8));
  __m256i three = _mm256_cmpeq_epi32(a, _mm256_alignr_epi8(swapped, b, 12));
  __m256i four = _mm256_cmpeq_epi32(a, swapped);
  return _mm256_or_si256(_mm256_or_si256(one, two), _mm256_or_si256(three, four));
}

/* Not 0 where two of up to 16 probes are equal. */
COUNTING_TARGET static inline __m256i counting_avx2_repeats(uint32_t h, uint32_t k) {
  __m256i a = counting_avx2_positions(h, counting_avx2_powers, k < 8 ? k : 8),
          same = counting_avx2_equal(a, a);
  if (k <= 8) return same;
  __m256i b = counting_avx2_positions(h, counting_avx2_powers + 8, k - 8);
  __m256i across = _mm256_or_si256(counting_avx2_equal(b, a),
                                   counting_avx2_equal(b, counting_avx2_swap_halves(a)));
  return _mm256_or_si256(_mm256_or_si256(same, counting_avx2_equal(b, b)), across);
}

/* Not 0 where one of four groups is such that a kernel must be careful. */
COUNTING_TARGET static inline __m256i counting_avx2_unusual(const uint8_t *plane,
                                                            const uint8_t *words, uint32_t k) {
  __m256i p = _mm256_loadu_si256((const __m256i *)(const void *)plane);
  __m256i w = _mm256_loadu_si256((const __m256i *)(const void *)words);
  /* bit i of ones: one of the bits i to i + 13 is set. If not, one that follows is saturated */
  __m256i ones = _mm256_or_si256(w, _mm256_srli_epi64(w, 1));
  ones = _mm256_or_si256(ones, _mm256_srli_epi64(ones, 2));
  ones = _mm256_or_si256(ones, _mm256_srli_epi64(ones, 4));
  ones = _mm256_or_si256(ones, _mm256_srli_epi64(ones, 6));
  __m256i saturated = _mm256_andnot_si256(ones, _mm256_srli_epi64(w, NAY_COUNTER_SATURATED - 1));
  __m256i full = _mm256_and_si256(w, _mm256_set1_epi64x((int64_t)(~(uint64_t)0 << (64 - k))));
  __m256i bare = _mm256_and_si256(p, _mm256_cmpeq_epi64(w, _mm256_setzero_si256()));
  return _mm256_or_si256(saturated, _mm256_or_si256(full, bare));
}

COUNTING_TARGET static inline bool counting_avx2_odd(const uint8_t *plane, const uint8_t *words,
                                                     uint32_t h, uint32_t k) {
  if (k > 16) return true;
  __m256i odd = _mm256_or_si256(counting_avx2_unusual(plane, words, k),
                                counting_avx2_unusual(plane + 32, words + 32, k));
  odd = _mm256_or_si256(odd, counting_avx2_repeats(h, k));
  return !_mm256_testz_si256(odd, odd);
}

NAY_COUNTING_DEFINE(COUNTING_TARGET, counting_avx2, counting_avx2_odd, nay__counted_selected)
NAY_COUNTING_DEFINE(COUNTING_TARGET, counting_avx2_pdep, counting_avx2_odd,
                    counting_avx2_pdep_place)

const nay_counting_kernels nay__counting_avx2 = {counting_avx2_add, counting_avx2_remove};
const nay_counting_kernels nay__counting_avx2_pdep = {counting_avx2_pdep_add,
                                                      counting_avx2_pdep_remove};

#endif /* NAY_HAS_X86_KERNELS */

/* ribbon_avx2.c - as ribbon_avx512.c for one key, by vectors of 256 bits: two columns each. */
#include "cpu/groups.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#include "cpu/ribbon_lanes.h"

#define RIBBON_AVX2 __attribute__((target("avx2")))

/* All ones in the words of n columns, read from 16 - 2 n on. */
static const int64_t ribbon_avx2_masks[32] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                              -1, -1, -1, -1, -1, -1, -1, -1};

/* The slots that are the key's, in both words of a column of both blocks. */
typedef struct ribbon_avx2_slots {
  __m256i here, next;
} ribbon_avx2_slots;

/* Two columns; `words` says which of their words are loaded. */
RIBBON_AVX2 NAY_INLINE __m256i ribbon_avx2_two(const uint8_t *here, const uint8_t *next,
                                               const int64_t *words, ribbon_avx2_slots p) {
  __m256i mask = _mm256_loadu_si256((const __m256i *)(const void *)words);
  __m256i a = _mm256_maskload_epi64((const long long *)(const void *)here, mask);
  __m256i b = _mm256_maskload_epi64((const long long *)(const void *)next, mask);
  return _mm256_xor_si256(_mm256_and_si256(a, p.here), _mm256_and_si256(b, p.next));
}

/* Four columns, a word each: 0, 2, 1, 3. */
RIBBON_AVX2 NAY_INLINE __m256i ribbon_avx2_four(const uint8_t *here, const uint8_t *next,
                                                const int64_t *words, ribbon_avx2_slots p) {
  __m256i low = ribbon_avx2_two(here, next, words, p);
  __m256i high = ribbon_avx2_two(here + 32, next + 32, words + 4, p);
  return _mm256_xor_si256(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
}

/* The parities of eight words, halves of which meet in one vector. */
RIBBON_AVX2 NAY_INLINE uint32_t ribbon_avx2_parities(__m256i low, __m256i high) {
  low = _mm256_xor_si256(low, _mm256_srli_epi64(low, 32));
  high = _mm256_xor_si256(high, _mm256_slli_epi64(high, 32));
  __m256i x = _mm256_permute4x64_epi64(_mm256_blend_epi32(low, high, 0xaa), 0xd8);
  x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 16));
  x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 8));
  x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 4));
  x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 2));
  x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 1));
  return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(x));
}

RIBBON_AVX2 NAY_INLINE ribbon_avx2_slots ribbon_avx2_slots_of(const nay_ribbon_location *s) {
  const int64_t a = (int64_t)s->bits[0], b = (int64_t)s->bits[1], c = (int64_t)s->bits[2];
  int64_t upper = 0 - (int64_t)s->upper, first = a & ~upper, second = (b & ~upper) | (a & upper);
  int64_t third = (c & ~upper) | (b & upper), fourth = c & upper;
  return (ribbon_avx2_slots){.here = _mm256_set_epi64x(second, first, second, first),
                             .next = _mm256_set_epi64x(fourth, third, fourth, third)};
}

/* The parities of eight columns at byte `at` of their blocks, or of those that are left; 0 of
 * others. */
RIBBON_AVX2 NAY_INLINE uint32_t ribbon_avx2_eight(const nay_ribbon_location *s, size_t at,
                                                  unsigned left, ribbon_avx2_slots p) {
  const int64_t *words = ribbon_avx2_masks + 16 - 2 * (left < 8 ? left : 8);
  const uint8_t *here = s->here + at, *next = s->next + at;
  return ribbon_avx2_parities(ribbon_avx2_four(here, next, words, p),
                              ribbon_avx2_four(here + 64, next + 64, words + 8, p));
}

RIBBON_AVX2 static bool ribbon_avx2_test(const nay_ribbon_location *s) {
  ribbon_avx2_slots p = ribbon_avx2_slots_of(s);
  uint64_t fingerprint = s->fingerprint;
  uint32_t differ = 0;
  for (unsigned left = s->columns, at = 0;; left -= 8, at += 128, fingerprint >>= 2) {
    uint32_t got = ribbon_avx2_eight(s, at, left, p);
    uint64_t want = fingerprint & RIBBON_PAIRS; /* as PEXT, which is slow before Zen 3 */
    want |= want >> 14;
    want |= want >> 28;
    differ |= (got ^ (uint32_t)want) & RIBBON_LANES(left).valid;
    if (left <= 8) return differ == 0;
  }
}

RIBBON_AVX2 static uint64_t ribbon_avx2_sum(const nay_ribbon_location *s) {
  ribbon_avx2_slots p = ribbon_avx2_slots_of(s);
  uint64_t word = 0;
  for (unsigned c = 0; c < s->columns; c += 8) {
    word |= (uint64_t)ribbon_avx2_eight(s, 16 * (size_t)c, s->columns - c, p) << c;
  }
  return ribbon_by_columns(word);
}

const nay_ribbon_kernels nay__ribbon_avx2 = {.test = ribbon_avx2_test, .sum = ribbon_avx2_sum};

#endif /* NAY_HAS_X86_KERNELS */

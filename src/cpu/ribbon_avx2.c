/* ribbon_avx2.c - as ribbon_avx512.c for one key, by vectors of 256 bits: two columns each. */
#include "cpu/groups.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#include "cpu/ribbon_lanes.h"

#define RIBBON_AVX2 __attribute__((target("avx2")))

/* All ones in the words of n columns, read from 16 - 2 n on. */
static const int64_t ribbon_avx2_masks[32] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                              -1, -1, -1, -1, -1, -1, -1, -1};

typedef struct ribbon_avx2_slots {
  __m256i here, next, mask[4];
} ribbon_avx2_slots;

/* Four columns from pair i on, a word each: 0, 2, 1, 3. */
RIBBON_AVX2 static inline __m256i ribbon_avx2_four(const nay_ribbon_location *s, size_t at,
                                                   const ribbon_avx2_slots *p, unsigned i) {
  __m256i sum[2];
  for (unsigned j = 0; j < 2; j++) {
    const long long *here = (const long long *)(const void *)(s->here + at + 32 * (i + j));
    const long long *next = (const long long *)(const void *)(s->next + at + 32 * (i + j));
    __m256i a = _mm256_and_si256(_mm256_maskload_epi64(here, p->mask[i + j]), p->here);
    __m256i b = _mm256_and_si256(_mm256_maskload_epi64(next, p->mask[i + j]), p->next);
    sum[j] = _mm256_xor_si256(a, b);
  }
  return _mm256_xor_si256(_mm256_unpacklo_epi64(sum[0], sum[1]),
                          _mm256_unpackhi_epi64(sum[0], sum[1]));
}

/* The parities of eight words, halves of which meet in one vector. */
RIBBON_AVX2 static inline uint32_t ribbon_avx2_parities(__m256i low, __m256i high) {
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

RIBBON_AVX2 static bool ribbon_avx2_test(const nay_ribbon_location *s) {
  const int64_t a = (int64_t)s->bits[0], b = (int64_t)s->bits[1], c = (int64_t)s->bits[2];
  int64_t upper = 0 - (int64_t)s->upper, first = a & ~upper, second = (b & ~upper) | (a & upper);
  int64_t third = (c & ~upper) | (b & upper), fourth = c & upper;
  ribbon_avx2_slots p = {.here = _mm256_set_epi64x(second, first, second, first),
                         .next = _mm256_set_epi64x(fourth, third, fourth, third)};
  uint64_t fingerprint = s->fingerprint;
  uint32_t differ = 0;
  for (unsigned left = s->columns, at = 0;; left -= 8, at += 128, fingerprint >>= 2) {
    const int64_t *words = ribbon_avx2_masks + 16 - 2 * (left < 8 ? left : 8);
    for (unsigned i = 0; i < 4; i++) {
      p.mask[i] = _mm256_loadu_si256((const __m256i *)(const void *)(words + 4 * i));
    }
    uint32_t got =
        ribbon_avx2_parities(ribbon_avx2_four(s, at, &p, 0), ribbon_avx2_four(s, at, &p, 2));
    uint64_t want = fingerprint & RIBBON_PAIRS; /* as PEXT, which is slow before Zen 3 */
    want |= want >> 14;
    want |= want >> 28;
    differ |= (got ^ (uint32_t)want) & RIBBON_LANES(left).valid;
    if (left <= 8) return differ == 0;
  }
}

const nay_ribbon_kernels nay__ribbon_avx2 = {.test = ribbon_avx2_test};

#endif /* NAY_HAS_X86_KERNELS */

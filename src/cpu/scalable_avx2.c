/*
 * scalable_avx2.c - the levels of a scalable filter with 256-bit vectors: a block is one register.
 *
 * One multiplication by the powers of g gives eight probes, whose top 3 bits select one of the
 * eight 32-bit words of a block and the next 5 the bit. These sixteen words and masks are the same
 * for every half of every level; a half costs two permutes and two tests.
 */
#include "cpu/groups.h"
#include "cpu/halves.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define SCALABLE_TARGET __attribute__((target("avx2,bmi2,popcnt")))

static const uint32_t scalable_avx2_powers[16] = {NAY_G32_POWS_0_TO_15};

/* All ones for probe i of k, from index 16 - k on; k is at most 16. */
static const int32_t scalable_avx2_lanes[32] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                -1, -1, -1, -1, -1, -1, -1, -1};

/* The first 16 probes of a key. */
typedef struct scalable_avx2_pattern {
  __m256i word[2], bit[2];
} scalable_avx2_pattern;

SCALABLE_TARGET NAY_INLINE scalable_avx2_pattern scalable_avx2_make(uint64_t hash) {
  scalable_avx2_pattern p;
  for (unsigned i = 0; i < 2; i++) {
    __m256i powers =
        _mm256_loadu_si256((const __m256i *)(const void *)(scalable_avx2_powers + 8 * i));
    __m256i probe = _mm256_mullo_epi32(_mm256_set1_epi32((int32_t)hash), powers);
    p.word[i] = _mm256_srli_epi32(probe, NAY_HALF_WORD32_SHIFT);
    __m256i bit =
        _mm256_and_si256(_mm256_srli_epi32(probe, NAY_HALF_BIT_SHIFT), _mm256_set1_epi32(31));
    p.bit[i] = _mm256_sllv_epi32(_mm256_set1_epi32(1), bit);
  }
  return p;
}

/* Whether one of the halves has probes [0, k) of the pattern. */
SCALABLE_TARGET NAY_INLINE unsigned scalable_avx2_has_16(__m256i left, __m256i right, uint32_t k,
                                                         const scalable_avx2_pattern *p) {
  const int32_t *lanes = scalable_avx2_lanes + 16 - k;
  unsigned has_left = 1, has_right = 1;
  for (unsigned i = 0; i < 2; i++) {
    __m256i wanted = _mm256_and_si256(
        p->bit[i], _mm256_loadu_si256((const __m256i *)(const void *)(lanes + 8 * i)));
    __m256i from_left = _mm256_permutevar8x32_epi32(left, p->word[i]);
    __m256i from_right = _mm256_permutevar8x32_epi32(right, p->word[i]);
    has_left &= (unsigned)_mm256_testc_si256(from_left, wanted);
    has_right &= (unsigned)_mm256_testc_si256(from_right, wanted);
  }
  return has_left | has_right;
}

SCALABLE_TARGET NAY_INLINE unsigned scalable_avx2_has(const uint8_t *payload, const uint8_t *row,
                                                      uint64_t hash,
                                                      const scalable_avx2_pattern *pattern) {
  uint64_t shape = nay__row_word(row + NAY_ROW_K);
  uint32_t k = (uint32_t)shape, nhalves = (uint32_t)(shape >> 32);
  if (NAY_UNLIKELY(k > 16 || nay__row_is_wide(row))) return nay__row_has(payload, row, hash);
  uint64_t block = nay__reduce(hash, nay__row_word(row + NAY_ROW_NBLOCKS));
  const uint8_t *at =
      payload + nay__row_word(row + NAY_ROW_AT) + (block << (NAY_HALF_BYTES_LOG + nhalves - 1));
  __m256i left = _mm256_loadu_si256((const __m256i *)(const void *)at);
  __m256i right =
      _mm256_loadu_si256((const __m256i *)(const void *)(at + (nhalves - 1) * NAY_HALF_BYTES));
  return scalable_avx2_has_16(left, right, k, pattern);
}

#define SCALABLE(name) scalable_avx2_##name
#include "cpu/scalable_template.h"

/* The position p of a probe, minus 0, 64, 128, 192, is a shift count for the four words: a shift by
 * 64 or more, which a negative count is, gives 0. */
SCALABLE_TARGET static unsigned scalable_avx2_set(const nay_halves *level, uint8_t *block,
                                                  uint64_t hash) {
  if (level->block_log != NAY_HALF_BYTES_LOG) return nay__halves_set(level, block, hash);
  const __m256i base = _mm256_setr_epi64x(0, 64, 128, 192), one = _mm256_set1_epi64x(1);
  __m256i bits = _mm256_setzero_si256();
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < level->k; i++, h *= NAY_G32) {
    __m256i at = _mm256_set1_epi64x((int64_t)(h >> NAY_HALF_BIT_SHIFT));
    bits = _mm256_or_si256(bits, _mm256_sllv_epi64(one, _mm256_sub_epi64(at, base)));
  }
  __m256i old = _mm256_loadu_si256((const __m256i *)(const void *)block);
  uint64_t fresh[4];
  _mm256_storeu_si256((__m256i *)(void *)fresh, _mm256_andnot_si256(old, bits));
  _mm256_storeu_si256((__m256i *)(void *)block, _mm256_or_si256(old, bits));
  return nay__popcount64(fresh[0]) + nay__popcount64(fresh[1]) + nay__popcount64(fresh[2]) +
         nay__popcount64(fresh[3]);
}

static nay_bits_probe scalable_avx2_choose_test(const nay_bits *b) {
  (void)b;
  return scalable_avx2_test;
}

const nay_scalable_kernels nay__scalable_avx2 = {
    .choose_test = scalable_avx2_choose_test,
    .test64 = scalable_avx2_test64,
    .set = scalable_avx2_set,
};

#endif /* NAY_HAS_X86_KERNELS */

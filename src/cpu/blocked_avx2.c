/*
 * blocked_avx2.c - the blocked filter with 256-bit vectors.
 *
 * test   One multiplication by the powers of g gives eight probes. The top 4 bits of a product
 *        select one of the sixteen 32-bit words of the block: a permute of each half and a blend on
 *        the product's top bit fetch them. The next 5 bits select the bit. k <= 8 is one pass.
 * add    The position p of a probe, minus 0, 64, ... 448, is a shift count for the eight 64-bit
 *        words. A shift by 64 or more, which a negative count is, gives 0, so only the right word
 *        gets a bit. The block is read once and written once.
 */
#include "cpu/block.h"
#include "cpu/groups.h"
#include "cpu/specialize.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define BLOCKED_TARGET __attribute__((target("avx2,bmi2")))

static const uint32_t blocked_avx2_powers[8] = {NAY_G32_POWS_0_TO_7};

BLOCKED_TARGET NAY_INLINE bool blocked_avx2_test_k(const nay_bits *b, uint64_t hash, uint32_t k) {
  static const int32_t lanes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  const uint8_t *block = nay__block_of(b, hash);
  __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)block);
  __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
  __m256i powers = _mm256_loadu_si256((const __m256i *)(const void *)blocked_avx2_powers);
  uint32_t h = (uint32_t)hash, left = k;
  for (;; left -= 8, h *= NAY_G32_POW_8) {
    __m256i probe = _mm256_mullo_epi32(_mm256_set1_epi32((int32_t)h), powers);
    __m256i word = _mm256_srli_epi32(probe, NAY_BLOCK_WORD32_SHIFT);
    __m256 from_low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, word));
    __m256 from_high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, word));
    __m256 words = _mm256_blendv_ps(from_low, from_high, _mm256_castsi256_ps(probe));
    const int32_t *ones_at = lanes + (left < 8 ? 8 - left : 0);
    __m256i ones = _mm256_loadu_si256((const __m256i *)(const void *)ones_at);
    __m256i bit = _mm256_srli_epi32(_mm256_slli_epi32(probe, 4), 27);
    __m256i wanted = _mm256_sllv_epi32(ones, bit);
    if (!_mm256_testc_si256(_mm256_castps_si256(words), wanted)) return false;
    if (left <= 8) return true;
  }
}

BLOCKED_TARGET NAY_INLINE bool blocked_avx2_add_k(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint8_t *block = nay__block_of(b, hash);
  const __m256i low_base = _mm256_setr_epi64x(0, 64, 128, 192);
  const __m256i high_base = _mm256_setr_epi64x(256, 320, 384, 448);
  const __m256i one = _mm256_set1_epi64x(1);
  __m256i low = _mm256_setzero_si256(), high = low;
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    __m256i at = _mm256_set1_epi64x((int64_t)(h >> NAY_BLOCK_BIT_SHIFT));
    low = _mm256_or_si256(low, _mm256_sllv_epi64(one, _mm256_sub_epi64(at, low_base)));
    high = _mm256_or_si256(high, _mm256_sllv_epi64(one, _mm256_sub_epi64(at, high_base)));
  }
  __m256i old_low = _mm256_loadu_si256((const __m256i *)(const void *)block);
  __m256i old_high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
  _mm256_storeu_si256((__m256i *)(void *)block, _mm256_or_si256(old_low, low));
  _mm256_storeu_si256((__m256i *)(void *)(block + 32), _mm256_or_si256(old_high, high));
  return !(_mm256_testc_si256(old_low, low) && _mm256_testc_si256(old_high, high));
}

/* A batch of adds: all positions first, for the reason given in blocked_avx512.c. */
BLOCKED_TARGET NAY_INLINE uint64_t blocked_avx2_add_all(const nay_bits *b, const uint64_t *hashes,
                                                        unsigned n, const uint64_t *next,
                                                        uint32_t k, bool report) {
  uint32_t at[64][8] __attribute__((aligned(32)));
  const __m256i powers = _mm256_loadu_si256((const __m256i *)(const void *)blocked_avx2_powers);
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    __m256i probe = _mm256_mullo_epi32(_mm256_set1_epi32((int32_t)hashes[i]), powers);
    _mm256_store_si256((__m256i *)(void *)at[i], _mm256_srli_epi32(probe, NAY_BLOCK_BIT_SHIFT));
  }
  const __m256i low_base = _mm256_setr_epi32(0, 32, 64, 96, 128, 160, 192, 224);
  const __m256i high_base = _mm256_setr_epi32(256, 288, 320, 352, 384, 416, 448, 480);
  const __m256i one = _mm256_set1_epi32(1);
  for (unsigned i = 0; i < n; i++) {
    __m256i *block = (__m256i *)(void *)nay__block_of(b, hashes[i]);
    if (next != NULL) NAY_PREFETCH(nay__block_of(b, next[i]));
    __m256i low = _mm256_setzero_si256(), high = low;
    for (uint32_t probe = 0; probe < k; probe++) {
      __m256i p = _mm256_set1_epi32((int32_t)at[i][probe]);
      low = _mm256_or_si256(low, _mm256_sllv_epi32(one, _mm256_xor_si256(p, low_base)));
      high = _mm256_or_si256(high, _mm256_sllv_epi32(one, _mm256_xor_si256(p, high_base)));
    }
    __m256i old_low = _mm256_loadu_si256(block), old_high = _mm256_loadu_si256(block + 1);
    _mm256_storeu_si256(block, _mm256_or_si256(old_low, low));
    _mm256_storeu_si256(block + 1, _mm256_or_si256(old_high, high));
    if (!report) continue;
    bool old = _mm256_testc_si256(old_low, low) && _mm256_testc_si256(old_high, high);
    bitmap |= (uint64_t)!old << i;
  }
  return bitmap;
}

#define BLOCKED(name) blocked_avx2_##name
#define BLOCKED_TEST
#define BLOCKED_ADD
#include "cpu/blocked_template.h"

#define BLOCKED_AVX2_ADD_ALL(k) \
  bitmap = blocked_avx2_add_all(b, hashes, n, next, (k) < 8 ? (k) : 8, report)

/* Above 8 probes, one key at a time. */
BLOCKED_TARGET NAY_INLINE uint64_t blocked_avx2_add_batch(const nay_bits *b, const uint64_t *hashes,
                                                          unsigned n, const uint64_t *next,
                                                          bool report) {
  uint64_t bitmap = 0;
  if (b->k > 8) {
    for (unsigned i = 0; i < n; i++) {
      if (next != NULL) NAY_PREFETCH(nay__block_of(b, next[i]));
      bitmap |= (uint64_t)blocked_avx2_add_k(b, hashes[i], b->k) << i;
    }
    return bitmap;
  }
  NAY_FOR_COMMON_K(b->k, BLOCKED_AVX2_ADD_ALL)
  return bitmap;
}

BLOCKED_TARGET static uint64_t blocked_avx2_add64(const nay_bits *b, const uint64_t *hashes,
                                                  unsigned n, const uint64_t *next, bool report) {
  if (next == NULL) {
    return report ? blocked_avx2_add_batch(b, hashes, n, NULL, true)
                  : blocked_avx2_add_batch(b, hashes, n, NULL, false);
  }
  return report ? blocked_avx2_add_batch(b, hashes, 64, next, true)
                : blocked_avx2_add_batch(b, hashes, 64, next, false);
}

const nay_blocked_kernels nay__blocked_avx2 = {blocked_avx2_test, blocked_avx2_test64};

const nay_blocked_add_kernels nay__blocked_add_avx2 = {
    .add = blocked_avx2_add,
    .choose_add_blind = blocked_avx2_choose_add_blind,
    .add64 = blocked_avx2_add64,
};

#endif /* NAY_HAS_X86_KERNELS */

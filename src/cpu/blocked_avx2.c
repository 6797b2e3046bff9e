/*
 * blocked_avx2.c - blocked filters with 256-bit vectors.
 *
 * test   one multiplication by the powers of g gives eight probes. The top 4 bits of a product name
 *        one of the sixteen 32-bit words of the block: a permute of each half and a blend on the
 *        product's own top bit fetch them; the next 5 bits name the bit. k <= 8 is one pass.
 * add    a probe's position p, less 0, 64, ... 448, is a shift count for the eight 64-bit words: a
 *        shift by 64 or more, which a negative count is, gives 0, so only the right word gets a
 * bit. The block is read once and written once.
 */
#include "cpu/groups.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,bmi2")))

/* g^0 .. g^7 and g^8. */
static const uint32_t avx2_powers[8] = {NAY_G32_POWS_0_TO_7};

AVX2 NAY_INLINE bool avx2_blocked_test(const nay_bits *b, uint64_t hash, uint32_t k) {
  static const int32_t lanes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  const uint8_t *block = nay__block_of(b, hash);
  __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)block);
  __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
  __m256i powers = _mm256_loadu_si256((const __m256i *)(const void *)avx2_powers);
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

AVX2 NAY_INLINE bool avx2_blocked_add(const nay_bits *b, uint64_t hash, uint32_t k) {
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

/* Many adds: all positions first, for the reason that blocked_avx512.c gives. */
AVX2 NAY_INLINE uint64_t avx2_add_all(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                      const uint64_t *next, uint32_t k, bool tell) {
  uint32_t at[64][8] __attribute__((aligned(32)));
  const __m256i powers = _mm256_loadu_si256((const __m256i *)(const void *)avx2_powers);
  uint64_t word = 0;
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
    if (!tell) continue;
    bool old = _mm256_testc_si256(old_low, low) && _mm256_testc_si256(old_high, high);
    word |= (uint64_t)!old << i;
  }
  return word;
}

NAY_DEFINE_KERNEL(static AVX2, avx2_test, avx2_blocked_test)
NAY_DEFINE_TEST_AHEAD(static AVX2, avx2_test64_ahead, avx2_blocked_test)

NAY_DEFINE_PUTS(AVX2, avx2_put, avx2_blocked_add)

AVX2 static bool avx2_add(const nay_bits *b, uint64_t hash) {
  return avx2_blocked_add(b, hash, b->k);
}

#define AVX2_ADD_ALL(tell, k) word = avx2_add_all(b, hashes, n, next, (k) < 8 ? (k) : 8, tell)

/* The answers are there in any case when k is above 8: such filters take one key at a time. */
AVX2 NAY_INLINE uint64_t avx2_add_any(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                      const uint64_t *next, bool tell) {
  uint64_t word = 0;
  if (b->k > 8) {
    for (unsigned i = 0; i < n; i++) {
      if (next != NULL) NAY_PREFETCH(nay__block_of(b, next[i]));
      word |= (uint64_t)avx2_blocked_add(b, hashes[i], b->k) << i;
    }
    return word;
  }
  NAY_FOR_USUAL_K(b->k, AVX2_ADD_ALL, tell)
  return word;
}

AVX2 static uint64_t avx2_add64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  return avx2_add_any(b, hashes, n, NULL, true);
}

AVX2 static void avx2_put64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  avx2_add_any(b, hashes, n, NULL, false);
}

AVX2 static uint64_t avx2_add64_ahead(const nay_bits *b, const uint64_t *hashes,
                                      const uint64_t *next, bool tell) {
  return tell ? avx2_add_any(b, hashes, 64, next, true) : avx2_add_any(b, hashes, 64, next, false);
}

/* Two tables that differ in how counters are found (counting_scalar.c). */
#define AVX2_TABLES(...)                                                                     \
  const nay_kernels nay__kernels_avx2 = {.name = "avx2",                                     \
                                         .counting_add = nay__counting_add_avx2,             \
                                         .counting_remove = nay__counting_remove_avx2,       \
                                         __VA_ARGS__};                                       \
  const nay_kernels nay__kernels_deposit = {.name = "deposit",                               \
                                            .counting_add = nay__counting_add_deposit,       \
                                            .counting_remove = nay__counting_remove_deposit, \
                                            __VA_ARGS__};

/* A line for each kernel, as in the other tables. */
/* clang-format off */
AVX2_TABLES(
    .popcnt = true,
    .bloom_test = nay__avx2_bloom_test,
    .bloom_test_for = nay__avx2_bloom_test_for,
    .bloom_add = nay__avx2_bloom_add,
    .bloom_put_for = nay__avx2_bloom_put_for,
    .bloom_test64 = nay__avx2_bloom_test64,
    .bloom_add64 = nay__avx2_bloom_add64,
    .bloom_put64 = nay__avx2_bloom_put64,
    .blocked_test = avx2_test,
    .blocked_add = avx2_add,
    .blocked_put = avx2_put,
    .blocked_test64 = avx2_test64,
    .blocked_add64 = avx2_add64,
    .blocked_put64 = avx2_put64,
    .blocked_prefetch64 = nay__blocked_prefetch64,
    .fuse_test64 = nay__fuse_test64_aimed,
    .cuckoo_test64 = nay__cuckoo_test64_aimed,
    .fuse_ask = nay__fuse_ask_aimed,
    .cuckoo_ask = nay__cuckoo_ask_aimed,
    .cuckoo_probe = nay__cuckoo_probe_avx2,
    .ribbon_look = nay__ribbon_look_avx2,
    .blocked_test64_ahead = avx2_test64_ahead,
    .blocked_add64_ahead = avx2_add64_ahead,
)
/* clang-format on */

#endif /* NAY_HAS_X86_KERNELS */

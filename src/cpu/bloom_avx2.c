/*
 * bloom_avx2.c - the classic Bloom filter with AVX2: positions four or eight at a time.
 *
 * Without 64-bit products, h * G^i takes three of 32 by 32 bits, two of which only need their low
 * halves; with the two of bloom_avx512.c for reduce() that is about ten instructions for four
 * positions. The scalar code is bound by its products, one per cycle. So:
 *
 *   test, add   four positions by a vector, the others (three of seven) by scalar products at the
 *               same time, on another execution port
 *   add_blind   all eight by vectors: stores wait for less
 *   test64      two probes of eight keys by vectors and gathers; the numbers of the keys that are
 *               left, packed by a table, without a branch; those are tested one by one
 *
 * Arrays above 512 MiB take the scalar kernels. Figures: doc/design/speed.md.
 */
#include "cpu/bloom_common.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define BLOOM_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))

/* ---- four products ---- */

static const uint64_t bloom_avx2_powers[8] = {NAY_G64_POWS_0_TO_7};

BLOOM_TARGET NAY_INLINE __m256i bloom_avx2_all(uint64_t x) {
  return _mm256_set1_epi64x((int64_t)x);
}

/* A factor of four products, and the same with its halves exchanged. */
typedef struct bloom_avx2_factor {
  __m256i x, swapped;
} bloom_avx2_factor;

BLOOM_TARGET NAY_INLINE bloom_avx2_factor bloom_avx2_same(uint64_t x) {
  return (bloom_avx2_factor){bloom_avx2_all(x), _mm256_shuffle_epi32(bloom_avx2_all(x), 0xb1)};
}

/* reduce(x, nbits) in the high halves, from both halves of x, each in the low ones of a lane. */
BLOOM_TARGET NAY_INLINE __m256i bloom_avx2_reduce(__m256i low, __m256i high, __m256i nbits) {
  __m256i carry = _mm256_srli_epi64(_mm256_mul_epu32(low, nbits), 32);
  return _mm256_add_epi64(_mm256_mul_epu32(high, nbits), carry);
}

/* The same of products. */
BLOOM_TARGET NAY_INLINE __m256i bloom_avx2_reduce_product(bloom_avx2_factor a, __m256i b,
                                                          __m256i nbits) {
  __m256i low = _mm256_mul_epu32(a.x, b), cross = _mm256_mullo_epi32(a.swapped, b);
  __m256i high = _mm256_add_epi32(cross, _mm256_srli_epi64(cross, 32));
  return bloom_avx2_reduce(low, _mm256_add_epi32(high, _mm256_srli_epi64(low, 32)), nbits);
}

/* The high halves of both: lane 2 i is a's i-th, 2 i + 1 is b's. */
BLOOM_TARGET NAY_INLINE __m256i bloom_avx2_zip(__m256i a, __m256i b) {
  return _mm256_blend_epi32(_mm256_srli_epi64(a, 32), b, 0xaa);
}

BLOOM_TARGET NAY_INLINE __m256i bloom_avx2_powers_from(unsigned first) {
  return _mm256_loadu_si256((const __m256i *)(const void *)(bloom_avx2_powers + first));
}

/* ---- one key ---- */

typedef struct bloom_avx2_words {
  uint64_t w[4];
} bloom_avx2_words;

BLOOM_TARGET NAY_INLINE bloom_avx2_words bloom_avx2_out(__m256i x) {
  __m128i low = _mm256_castsi256_si128(x), high = _mm256_extracti128_si256(x, 1);
  return (bloom_avx2_words){{(uint64_t)_mm_cvtsi128_si64(low), (uint64_t)_mm_extract_epi64(low, 1),
                             (uint64_t)_mm_cvtsi128_si64(high),
                             (uint64_t)_mm_extract_epi64(high, 1)}};
}

BLOOM_TARGET NAY_INLINE nay_bloom_locations bloom_avx2_locate8(const nay_bits *b, uint64_t h) {
  bloom_avx2_factor x = bloom_avx2_same(h);
  __m256i nbits = bloom_avx2_all(b->nunits);
  __m256i first = bloom_avx2_reduce_product(x, bloom_avx2_powers_from(0), nbits);
  __m256i last = bloom_avx2_reduce_product(x, bloom_avx2_powers_from(4), nbits);
  bloom_avx2_words pairs = bloom_avx2_out(bloom_avx2_zip(first, last));
  nay_bloom_locations p;
  for (unsigned i = 0; i < 8; i++) p.at[i] = (uint32_t)(pairs.w[i % 4] >> i / 4 * 32);
  return p;
}

/* The last four by a vector, those before them by scalar products. */
BLOOM_TARGET NAY_INLINE nay_bloom_locations bloom_avx2_locate(const nay_bits *b, uint64_t h,
                                                              uint32_t k) {
  nay_bloom_locations p = {{0}};
  nay__bloom_locate_scalar(b, h, k < 4 ? k : k - 4, &p, k < 4 ? 0 : 4);
  if (k < 4) return p;
  __m256i powers = bloom_avx2_powers_from(k - 4), nbits = bloom_avx2_all(b->nunits);
  __m256i at = bloom_avx2_reduce_product(bloom_avx2_same(h), powers, nbits);
  bloom_avx2_words four = bloom_avx2_out(_mm256_srli_epi64(at, 32));
  for (unsigned i = 0; i < 4; i++) p.at[i] = four.w[i];
  return p;
}

/* ---- a batch of tests ---- */

/* Bit 0 of each lane: is this bit set? */
BLOOM_TARGET NAY_INLINE __m256i bloom_avx2_bits(const nay_bits *b, __m256i at) {
  const int *words = (const int *)(const void *)b->bytes;
  __m256i got = _mm256_i32gather_epi32(words, _mm256_srli_epi32(at, 5), 4);
  return _mm256_srlv_epi32(got, _mm256_and_si256(at, _mm256_set1_epi32(31)));
}

/* Which of eight keys have their first `probes` bits set; in the order of bloom_avx2_zip. */
BLOOM_TARGET NAY_INLINE unsigned bloom_avx2_test8(const nay_bits *b, const uint64_t *hashes,
                                                  uint32_t probes) {
  __m256i nbits = bloom_avx2_all(b->nunits);
  __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)hashes);
  __m256i y = _mm256_loadu_si256((const __m256i *)(const void *)(hashes + 4));
  __m256i all =
      bloom_avx2_bits(b, bloom_avx2_zip(bloom_avx2_reduce(x, _mm256_srli_epi64(x, 32), nbits),
                                        bloom_avx2_reduce(y, _mm256_srli_epi64(y, 32), nbits)));
  if (probes > 1) {
    bloom_avx2_factor g = bloom_avx2_same(NAY_G64);
    all = _mm256_and_si256(
        all, bloom_avx2_bits(b, bloom_avx2_zip(bloom_avx2_reduce_product(g, x, nbits),
                                               bloom_avx2_reduce_product(g, y, nbits))));
  }
  return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(all, 31)));
}

/* The numbers of the keys in a mask, a byte each: lanes 0 to 3 are keys 0, 4, 1, 5, and lanes 4 to
 * 7 are 2, 6, 3, 7. The bytes above the last one are undefined. */
BLOOM_TARGET NAY_INLINE uint64_t bloom_avx2_who(unsigned mask) {
  static const uint32_t who[16] = {0,   0,     0x4,   0x400,   0x1,   0x100,   0x104,   0x10400,
                                   0x5, 0x500, 0x504, 0x50400, 0x501, 0x50100, 0x50104, 0x5010400};
  uint64_t upper = who[mask >> 4] + 0x02020202u;
  return who[mask & 15] | upper << 8 * (unsigned)_mm_popcnt_u32(mask & 15);
}

/* Fewer than eight keys: nothing past the last is read. */
BLOOM_TARGET NAY_INLINE unsigned bloom_avx2_test_few(const nay_bits *b, const uint64_t *hashes,
                                                     unsigned n, uint32_t probes) {
  uint64_t some[8] = {0};
  unsigned mask = 0;
  for (unsigned i = 0; i < n; i++) {
    some[i] = hashes[i];
    mask |= 1u << (i % 4 * 2 + i / 4);
  }
  return mask & bloom_avx2_test8(b, some, probes);
}

BLOOM_TARGET NAY_INLINE unsigned bloom_avx2_survivors(const nay_bits *b, const uint64_t *hashes,
                                                      unsigned n, uint32_t probes,
                                                      uint8_t who[64 + 8]) {
  unsigned left = 0;
  for (unsigned i = 0; i < n; i += 8) {
    unsigned mask = n - i < 8 ? bloom_avx2_test_few(b, hashes + i, n - i, probes)
                              : bloom_avx2_test8(b, hashes + i, probes);
    nay__store64le(who + left, bloom_avx2_who(mask) + i * 0x0101010101010101u);
    left += (unsigned)_mm_popcnt_u32(mask);
  }
  return left;
}

#define BLOOM(name) bloom_avx2_##name
#define BLOOM_SURVIVORS
#include "cpu/bloom_template.h"

const nay_bloom_kernels nay__bloom_avx2 = {
    .test = bloom_avx2_test,
    .choose_test = bloom_avx2_choose_test,
    .test64 = bloom_avx2_test64,
    .add = bloom_avx2_add,
    .choose_add_blind = bloom_avx2_choose_add_blind,
    .add64 = bloom_avx2_add64,
};

#endif /* NAY_HAS_X86_KERNELS */

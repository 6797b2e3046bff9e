/*
 * bloom_avx2.c - the classic Bloom with AVX2: positions four or eight at a time.
 *
 * Without 64-bit products, h * G^i takes three of 32 by 32 bits, two of which only need their low
 * halves; with the two of bloom_avx512.c for reduce() that is some ten instructions for
 * four positions. The plain code is bound by its products, of which a cycle begins one. So:
 *
 *   test, add   four positions by a vector, the others (three of seven) plainly at the same time,
 *               by another unit of the processor
 *   put         all eight by vectors: stores have to wait for less
 *   test64      two probes of eight keys by vectors and gathers; the numbers of the keys that are
 *               left, packed by a table, without a branch; those are tested one by one
 *
 * Larger arrays take the plain way. Figures: doc/design/speed.md.
 */
#include "cpu/bloom_common.h"
#include "cpu/groups.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define BLOOM4_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))

/* ---- four products ---- */

static const uint64_t bloom4_powers[8] = {NAY_G64_POWS_0_TO_7};

BLOOM4_AVX2 NAY_INLINE __m256i bloom4_all(uint64_t x) { return _mm256_set1_epi64x((int64_t)x); }

/* A factor of four products, and the same with its halves exchanged. */
typedef struct bloom4_factor {
  __m256i x, swapped;
} bloom4_factor;

BLOOM4_AVX2 NAY_INLINE bloom4_factor bloom4_all_the_same(uint64_t x) {
  return (bloom4_factor){bloom4_all(x), _mm256_shuffle_epi32(bloom4_all(x), 0xb1)};
}

/* reduce(x, nbits) in the high halves, from both halves of x, each in the low ones of a lane. */
BLOOM4_AVX2 NAY_INLINE __m256i bloom4_reduce(__m256i low, __m256i high, __m256i nbits) {
  __m256i carry = _mm256_srli_epi64(_mm256_mul_epu32(low, nbits), 32);
  return _mm256_add_epi64(_mm256_mul_epu32(high, nbits), carry);
}

/* The same of products. */
BLOOM4_AVX2 NAY_INLINE __m256i bloom4_reduce_product(bloom4_factor a, __m256i b, __m256i nbits) {
  __m256i low = _mm256_mul_epu32(a.x, b), cross = _mm256_mullo_epi32(a.swapped, b);
  __m256i high = _mm256_add_epi32(cross, _mm256_srli_epi64(cross, 32));
  return bloom4_reduce(low, _mm256_add_epi32(high, _mm256_srli_epi64(low, 32)), nbits);
}

/* The high halves of both: lane 2 i is a's i-th, 2 i + 1 is b's. */
BLOOM4_AVX2 NAY_INLINE __m256i bloom4_zip(__m256i a, __m256i b) {
  return _mm256_blend_epi32(_mm256_srli_epi64(a, 32), b, 0xaa);
}

BLOOM4_AVX2 NAY_INLINE __m256i bloom4_powers_from(unsigned first) {
  return _mm256_loadu_si256((const __m256i *)(const void *)(bloom4_powers + first));
}

/* ---- one key ---- */

typedef struct bloom4_words {
  uint64_t w[4];
} bloom4_words;

BLOOM4_AVX2 NAY_INLINE bloom4_words bloom4_out(__m256i x) {
  __m128i low = _mm256_castsi256_si128(x), high = _mm256_extracti128_si256(x, 1);
  return (bloom4_words){{(uint64_t)_mm_cvtsi128_si64(low), (uint64_t)_mm_extract_epi64(low, 1),
                         (uint64_t)_mm_cvtsi128_si64(high), (uint64_t)_mm_extract_epi64(high, 1)}};
}

BLOOM4_AVX2 NAY_INLINE nay_bloom_spots bloom4_eight(const nay_bits *b, uint64_t h) {
  bloom4_factor x = bloom4_all_the_same(h);
  __m256i nbits = bloom4_all(b->nunits);
  __m256i first = bloom4_reduce_product(x, bloom4_powers_from(0), nbits);
  __m256i last = bloom4_reduce_product(x, bloom4_powers_from(4), nbits);
  bloom4_words pairs = bloom4_out(bloom4_zip(first, last));
  nay_bloom_spots p;
  for (unsigned i = 0; i < 8; i++) p.at[i] = (uint32_t)(pairs.w[i % 4] >> i / 4 * 32);
  return p;
}

/* The last four by a vector, those before them plainly. */
BLOOM4_AVX2 NAY_INLINE nay_bloom_spots bloom4_aim(const nay_bits *b, uint64_t h, uint32_t k) {
  nay_bloom_spots p = {{0}};
  nay__bloom_aim_plain(b, h, k < 4 ? k : k - 4, &p, k < 4 ? 0 : 4);
  if (k < 4) return p;
  __m256i powers = bloom4_powers_from(k - 4), nbits = bloom4_all(b->nunits);
  __m256i at = bloom4_reduce_product(bloom4_all_the_same(h), powers, nbits);
  bloom4_words four = bloom4_out(_mm256_srli_epi64(at, 32));
  for (unsigned i = 0; i < 4; i++) p.at[i] = four.w[i];
  return p;
}

NAY_BLOOM_DEFINE_SPOTS(BLOOM4_AVX2, bloom4)
NAY_BLOOM_DEFINE_ONE_KEY(nay__avx2_bloom, bloom4)

/* ---- up to 64 keys: asking ---- */

/* Bit 0 of each lane: is this bit set? */
BLOOM4_AVX2 NAY_INLINE __m256i bloom4_look(const nay_bits *b, __m256i at) {
  const int *words = (const int *)(const void *)b->bytes;
  __m256i got = _mm256_i32gather_epi32(words, _mm256_srli_epi32(at, 5), 4);
  return _mm256_srlv_epi32(got, _mm256_and_si256(at, _mm256_set1_epi32(31)));
}

/* Which of eight keys have their first `probes` bits set; in the order of bloom4_zip. */
BLOOM4_AVX2 NAY_INLINE unsigned bloom4_look_eight(const nay_bits *b, const uint64_t *hashes,
                                                  uint32_t probes) {
  __m256i nbits = bloom4_all(b->nunits);
  __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)hashes);
  __m256i y = _mm256_loadu_si256((const __m256i *)(const void *)(hashes + 4));
  __m256i all = bloom4_look(b, bloom4_zip(bloom4_reduce(x, _mm256_srli_epi64(x, 32), nbits),
                                          bloom4_reduce(y, _mm256_srli_epi64(y, 32), nbits)));
  if (probes > 1) {
    bloom4_factor g = bloom4_all_the_same(NAY_G64);
    all = _mm256_and_si256(all, bloom4_look(b, bloom4_zip(bloom4_reduce_product(g, x, nbits),
                                                          bloom4_reduce_product(g, y, nbits))));
  }
  return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(all, 31)));
}

/* The numbers of the keys in a mask, a byte each: lanes 0 to 3 are keys 0, 4, 1, 5, and lanes 4 to
 * 7 are 2, 6, 3, 7. What is above the last of them is of no account. */
BLOOM4_AVX2 NAY_INLINE uint64_t bloom4_who(unsigned mask) {
  static const uint32_t who[16] = {0,   0,     0x4,   0x400,   0x1,   0x100,   0x104,   0x10400,
                                   0x5, 0x500, 0x504, 0x50400, 0x501, 0x50100, 0x50104, 0x5010400};
  uint64_t upper = who[mask >> 4] + 0x02020202u;
  return who[mask & 15] | upper << 8 * (unsigned)_mm_popcnt_u32(mask & 15);
}

/* Fewer than eight, none of whom is past the end. */
BLOOM4_AVX2 NAY_INLINE unsigned bloom4_look_few(const nay_bits *b, const uint64_t *hashes,
                                                unsigned n, uint32_t probes) {
  uint64_t some[8] = {0};
  unsigned mask = 0;
  for (unsigned i = 0; i < n; i++) {
    some[i] = hashes[i];
    mask |= 1u << (i % 4 * 2 + i / 4);
  }
  return mask & bloom4_look_eight(b, some, probes);
}

BLOOM4_AVX2 NAY_INLINE unsigned bloom4_first(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                             uint32_t probes, uint8_t who[64 + 8]) {
  unsigned kept = 0;
  for (unsigned i = 0; i < n; i += 8) {
    unsigned mask = n - i < 8 ? bloom4_look_few(b, hashes + i, n - i, probes)
                              : bloom4_look_eight(b, hashes + i, probes);
    nay__store64le(who + kept, bloom4_who(mask) + i * 0x0101010101010101u);
    kept += (unsigned)_mm_popcnt_u32(mask);
  }
  return kept;
}

BLOOM4_AVX2 uint64_t nay__avx2_bloom_test64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  if (!nay__bloom_fits(b)) return nay__bloom_test64(b, hashes, n);
  NAY_BLOOM_TEST64(bloom4, bloom4_first);
}

NAY_BLOOM_DEFINE_ADDS(BLOOM4_AVX2, nay__avx2_bloom, bloom4)

#endif /* NAY_HAS_X86_KERNELS */

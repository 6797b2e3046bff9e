/*
 * window_avx512.c - the window filter with 512-bit vectors: a unit is two registers.
 *
 * One multiplication by the powers of g gives eight probes; a permute of both registers fetches
 * their words, a shift by lanes puts the cells at the lowest bits, and the lanes are combined with
 * and.
 */
#include "cpu/groups.h"
#include "cpu/specialize.h"
#include "cpu/units.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define WINDOW_TARGET \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2,popcnt,prfchw")))

/* Where probes h, h * g, ... h * g^7 are in a unit: the words, and the shifts of their cells. */
typedef struct window_avx512_places {
  __m512i word, shift;
} window_avx512_places;

WINDOW_TARGET NAY_INLINE window_avx512_places window_avx512_locate(uint32_t h, uint32_t all) {
  static const uint32_t powers[8] = {NAY_G32_POWS_0_TO_7};
  __m256i x = _mm256_mullo_epi32(_mm256_set1_epi32((int32_t)h),
                                 _mm256_loadu_si256((const __m256i *)(const void *)powers));
  __m512i word = _mm512_cvtepu32_epi64(_mm256_srli_epi32(x, 28));
  if (all == 8) { /* the default: cells are bytes */
    __m256i shift = _mm256_and_si256(_mm256_srli_epi32(x, 22), _mm256_set1_epi32(56));
    return (window_avx512_places){word, _mm512_cvtepu32_epi64(shift)};
  }
  __m512i rest = _mm512_cvtepu32_epi64(_mm256_and_si256(x, _mm256_set1_epi32(0x0fffffff)));
  __m512i cell =
      _mm512_srli_epi64(_mm512_mul_epu32(rest, _mm512_set1_epi64((int64_t)(64 / all))), 28);
  return (window_avx512_places){word, _mm512_mul_epu32(cell, _mm512_set1_epi64((int64_t)all))};
}

/* The cells of eight probes, at the lowest bits; of the first k lanes, ones elsewhere. */
WINDOW_TARGET NAY_INLINE __m512i window_avx512_eight(__m512i low, __m512i high, uint32_t h,
                                                     uint32_t all, uint32_t k) {
  window_avx512_places p = window_avx512_locate(h, all);
  __m512i cells = _mm512_permutex2var_epi64(low, p.word, high);
  __mmask8 lanes = k < 8 ? (__mmask8)((1u << k) - 1) : (__mmask8)0xff;
  return _mm512_mask_srlv_epi64(_mm512_set1_epi64(-1), lanes, cells, p.shift);
}

/* Lane by lane the and of all probes of a key. */
WINDOW_TARGET NAY_INLINE __m512i window_avx512_lanes(const nay_bits *b, uint64_t hash,
                                                     uint32_t all) {
  const uint8_t *unit = nay__unit_of(b, hash);
  __m512i low = _mm512_loadu_si512(unit), high = _mm512_loadu_si512(unit + (NAY_WINDOW_UNIT / 2));
  uint32_t h = (uint32_t)hash;
  __m512i found = window_avx512_eight(low, high, h, all, b->k);
  for (uint32_t k = b->k; k > 8; k -= 8) {
    h *= NAY_G32_POW_8;
    found = _mm512_and_si512(found, window_avx512_eight(low, high, h, all, k - 8));
  }
  return found;
}

WINDOW_TARGET NAY_INLINE uint64_t window_avx512_find(const nay_bits *b, uint64_t hash) {
  __m512i found = window_avx512_lanes(b, hash, b->extra);
  __m256i four =
      _mm256_and_si256(_mm512_castsi512_si256(found), _mm512_extracti64x4_epi64(found, 1));
  __m128i two = _mm_and_si128(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
  uint64_t one = (uint64_t)_mm_cvtsi128_si64(two) & (uint64_t)_mm_extract_epi64(two, 1);
  return one & (((uint64_t)1 << b->extra) - 1);
}

#define WINDOW(name) window_avx512_##name
#include "cpu/window_template.h"

/* ---- a batch of tests ---- */

/* Up to eight generations: the eight lanes of a key become the bytes of a word, and the bytes of
 * eight keys are combined at once. */
WINDOW_TARGET NAY_INLINE uint64_t window_avx512_test_all(const nay_bits *b, const uint64_t *hashes,
                                                         unsigned n, const uint64_t *next,
                                                         uint32_t all) {
  uint64_t words[64] __attribute__((aligned(64)));
  uint64_t bitmap = 0;
  memset(words, 0, sizeof words);
  for (unsigned i = 0; i < n; i++) {
    if (next != NULL) window_avx512_prefetch(b, next[i]);
    __m128i bytes = _mm512_cvtepi64_epi8(window_avx512_lanes(b, hashes[i], all));
    words[i] = (uint64_t)_mm_cvtsi128_si64(bytes);
  }
  const __m512i generations = _mm512_set1_epi64((int64_t)(((uint64_t)1 << all) - 1));
  for (unsigned i = 0; i < 64; i += 8) {
    __m512i found = _mm512_load_si512(words + i);
    found = _mm512_and_si512(found, _mm512_srli_epi64(found, 32));
    found = _mm512_and_si512(found, _mm512_srli_epi64(found, 16));
    found = _mm512_and_si512(found, _mm512_srli_epi64(found, 8));
    bitmap |= (uint64_t)_mm512_test_epi64_mask(found, generations) << i;
  }
  return bitmap;
}

WINDOW_TARGET static uint64_t window_avx512_test_64(const nay_bits *b, const uint64_t *hashes,
                                                    unsigned n, const uint64_t *next) {
  if (b->extra > 8) return window_avx512_test64(b, hashes, n, next);
  return b->extra == 8 ? window_avx512_test_all(b, hashes, n, next, 8)
                       : window_avx512_test_all(b, hashes, n, next, b->extra);
}

/* ---- adds to one of eight generations, the default: cells are bytes ---- */

/* The bytes of both lines of a unit that a key probes: eight keys at a time, a lane each. */
typedef struct window_avx512_bytes {
  uint64_t low[64], high[64];
} window_avx512_bytes;

WINDOW_TARGET NAY_INLINE void window_avx512_choose_bytes(const uint64_t *hashes, unsigned n,
                                                         uint32_t k, window_avx512_bytes *bytes) {
  const __m512i one = _mm512_set1_epi64(1), g = _mm512_set1_epi64(NAY_G32);
  for (unsigned i = 0; i < n; i += 8) {
    __mmask8 lanes = n - i < 8 ? (__mmask8)((1u << (n - i)) - 1) : (__mmask8)0xff;
    __m512i x = _mm512_and_si512(_mm512_maskz_loadu_epi64(lanes, hashes + i),
                                 _mm512_set1_epi64(UINT32_MAX));
    __m512i low = _mm512_setzero_si512(), high = low;
    for (uint32_t probe = 0; probe < k; probe++) {
      __m512i byte = _mm512_srli_epi64(x, 25); /* shifts by 64 and more, and less than 0, give 0 */
      low = _mm512_or_si512(low, _mm512_sllv_epi64(one, byte));
      high = _mm512_or_si512(high,
                             _mm512_sllv_epi64(one, _mm512_sub_epi64(byte, _mm512_set1_epi64(64))));
      x = _mm512_mullo_epi32(x, g); /* the upper half of a lane stays 0 */
    }
    _mm512_storeu_si512(bytes->low + i, low);
    _mm512_storeu_si512(bytes->high + i, high);
  }
}

/* Lane by lane the and of the bytes that were chosen; the others count as ones. */
WINDOW_TARGET NAY_INLINE __m128i window_avx512_and(__m512i low, __m512i high, __mmask64 in_low,
                                                   __mmask64 in_high) {
  const __m512i ones = _mm512_set1_epi64(-1);
  __m512i all = _mm512_and_si512(_mm512_mask_mov_epi8(ones, in_low, low),
                                 _mm512_mask_mov_epi8(ones, in_high, high));
  __m256i half = _mm256_and_si256(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
  return _mm_and_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

/* Bit i: no bit of `generations` is in all 16 bytes of key i. */
WINDOW_TARGET NAY_INLINE uint64_t window_avx512_none(const __m128i *found, uint64_t generations) {
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < 64; i += 8) {
    __m512i a = _mm512_loadu_si512(found + i), b = _mm512_loadu_si512(found + i + 4);
    __m512i all =
        _mm512_and_si512(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)); /* 0 4 1 5 .. */
    all = _mm512_and_si512(all, _mm512_srli_epi64(all, 32));
    all = _mm512_and_si512(all, _mm512_srli_epi64(all, 16));
    all = _mm512_and_si512(all, _mm512_srli_epi64(all, 8));
    all = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), all);
    bitmap |= (uint64_t)_mm512_testn_epi64_mask(all, _mm512_set1_epi64((int64_t)generations)) << i;
  }
  return bitmap;
}

/* The bytes of all keys are chosen before the first unit is read: stores wait for nothing but the
 * line that they are for, and so delay no load. */
WINDOW_TARGET NAY_INLINE uint64_t window_avx512_add_bytes(const nay_bits *b, const uint64_t *hashes,
                                                          unsigned n, const uint64_t *next,
                                                          unsigned generation, unsigned *nchanged) {
  window_avx512_bytes bytes;
  __m128i found[64] __attribute__((aligned(64)));
  const __m512i bit = _mm512_set1_epi8((char)(1u << generation));
  window_avx512_choose_bytes(hashes, n, b->k, &bytes);
  for (unsigned i = 0; i < n; i++) {
    if (next != NULL) window_avx512_prefetch(b, next[i]);
    uint8_t *unit = nay__unit_of(b, hashes[i]);
    __mmask64 in_low = bytes.low[i], in_high = bytes.high[i];
    __m512i low = _mm512_loadu_si512(unit), high = _mm512_loadu_si512(unit + 64);
    _mm512_storeu_si512(unit, _mm512_or_si512(low, _mm512_maskz_mov_epi8(in_low, bit)));
    _mm512_storeu_si512(unit + 64, _mm512_or_si512(high, _mm512_maskz_mov_epi8(in_high, bit)));
    found[i] = window_avx512_and(low, high, in_low, in_high);
  }
  for (unsigned i = n; i < 64; i++) found[i] = _mm_set1_epi8(-1);
  *nchanged = nay__popcount64(window_avx512_none(found, (uint64_t)1 << generation));
  return window_avx512_none(found, 0xff);
}

/* ---- adds ---- */

#define WINDOW_FEW_K 16u

/* The bits of eight probes in a unit. */
WINDOW_TARGET NAY_INLINE void window_avx512_bits(uint32_t h, uint32_t all, unsigned generation,
                                                 uint32_t *bits) {
  window_avx512_places p = window_avx512_locate(h, all);
  __m512i bit = _mm512_add_epi64(_mm512_slli_epi64(p.word, 6), p.shift);
  bit = _mm512_add_epi64(bit, _mm512_set1_epi64(generation));
  _mm256_storeu_si256((__m256i *)(void *)bits, _mm512_cvtepi64_epi32(bit));
}

/*
 * Two passes. First all units are read and the places of all bits stored, then the bits are set:
 * the places have reached L1 by then, and no load of a unit waits for the stores of another. A key
 * is new when no generation had it in the first pass, and one of its bits is clear in the second:
 * what the keys before it have added is in the same generation.
 */
WINDOW_TARGET NAY_INLINE uint64_t window_avx512_add_all(const nay_bits *b, const uint64_t *hashes,
                                                        unsigned n, const uint64_t *next,
                                                        unsigned generation, unsigned *nchanged,
                                                        uint32_t k) {
  uint32_t bits[64][WINDOW_FEW_K] __attribute__((aligned(64)));
  uint64_t fresh = 0, changed = 0;
  for (unsigned i = 0; i < n; i++) {
    if (next != NULL) window_avx512_prefetch(b, next[i]);
    fresh |= (uint64_t)(window_avx512_find(b, hashes[i]) == 0) << i;
    uint32_t h = (uint32_t)hashes[i];
    window_avx512_bits(h, b->extra, generation, bits[i]);
    if (k > 8) window_avx512_bits(h * NAY_G32_POW_8, b->extra, generation, bits[i] + 8);
  }
  for (unsigned i = 0; i < n; i++) {
    uint8_t *unit = nay__unit_of(b, hashes[i]);
    unsigned clear = 0;
    for (uint32_t probe = 0; probe < k; probe++) clear |= nay__unit_set(unit, bits[i][probe]);
    changed |= (uint64_t)clear << i;
  }
  *nchanged = nay__popcount64(changed);
  return fresh & changed;
}

#define WINDOW_AVX512_ADD(k) \
  fresh = window_avx512_add_all(b, hashes, n, next, generation, nchanged, k)

WINDOW_TARGET static uint64_t window_avx512_add64(const nay_bits *b, const uint64_t *hashes,
                                                  unsigned n, const uint64_t *next,
                                                  unsigned generation, unsigned *nchanged) {
  uint64_t fresh;
  if (b->extra == 8) return window_avx512_add_bytes(b, hashes, n, next, generation, nchanged);
  if (b->k > WINDOW_FEW_K) {
    return window_avx512_add_one_by_one(b, hashes, n, next, generation, nchanged);
  }
  NAY_FOR_COMMON_K(b->k, WINDOW_AVX512_ADD)
  return fresh;
}

const nay_window_kernels nay__window_avx512 = {window_avx512_test, window_avx512_test_64,
                                               window_avx512_find_one, window_avx512_add64};

#endif /* NAY_HAS_X86_KERNELS */

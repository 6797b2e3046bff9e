/*
 * bloom_avx512.c - the classic Bloom filter with AVX-512: positions eight at a time.
 *
 * Position i of a key is the high half of a product of 64 by 64 bits, which no vector instruction
 * gives. But an array has less than 2^32 bits unless it is larger than 512 MiB, and then
 *
 *   reduce(x, nbits) = (high32(x) * nbits + (low32(x) * nbits >> 32)) >> 32
 *
 * takes two products of 32 by 32 bits. One key: lanes are its probes, h * (1, G, G^2 ...), and each
 * goes to a general register to load its word. A test has four of them in half a register and the
 * others by scalar products, so that both multipliers work; add_blind has eight. A batch: the lanes
 * are eight keys, and words are gathered; keys that are left after two probes are compressed into
 * full vectors, again without a branch. Arrays above 512 MiB take the scalar kernels. Figures:
 * doc/design/speed.md.
 */
#include "cpu/bloom_common.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define BLOOM_TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,bmi,bmi2,popcnt")))
#define BLOOM_AVX512_FIRST 2u /* probes of a batch before absent keys are dropped */
#define BLOOM_AVX512_NEXT 5u  /* and so on: 7 probes are two rounds */

BLOOM_TARGET NAY_INLINE __m256i bloom_avx512_reduce(__m512i x, __m512i nbits) {
  __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), nbits);
  __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(x, nbits), 32);
  return _mm512_cvtepi64_epi32(_mm512_srli_epi64(_mm512_add_epi64(high, low), 32));
}

BLOOM_TARGET NAY_INLINE __m512i bloom_avx512_nbits(const nay_bits *b) {
  return _mm512_set1_epi64((int64_t)b->nunits);
}

BLOOM_TARGET NAY_INLINE __m512i bloom_avx512_step(__m512i x) {
  return _mm512_mullo_epi64(x, _mm512_set1_epi64((int64_t)NAY_G64));
}

/* ---- one key ---- */

static const uint64_t bloom_avx512_powers[8] = {NAY_G64_POWS_0_TO_7};

BLOOM_TARGET NAY_INLINE nay_bloom_locations bloom_avx512_locate8(const nay_bits *b, uint64_t h) {
  __m512i x =
      _mm512_mullo_epi64(_mm512_set1_epi64((int64_t)h), _mm512_loadu_si512(bloom_avx512_powers));
  __m256i at = bloom_avx512_reduce(x, bloom_avx512_nbits(b));
  __m128i low = _mm256_castsi256_si128(at), high = _mm256_extracti128_si256(at, 1);
  uint64_t pairs[4] = {(uint64_t)_mm_cvtsi128_si64(low), (uint64_t)_mm_extract_epi64(low, 1),
                       (uint64_t)_mm_cvtsi128_si64(high), (uint64_t)_mm_extract_epi64(high, 1)};
  nay_bloom_locations p;
  for (unsigned i = 0; i < 8; i++) p.at[i] = (uint32_t)(pairs[i / 2] >> i % 2 * 32);
  return p;
}

/* The last four by half a register, those before them by scalar products at the same time. */
BLOOM_TARGET NAY_INLINE nay_bloom_locations bloom_avx512_locate(const nay_bits *b, uint64_t h,
                                                                uint32_t k) {
  nay_bloom_locations p = {{0}};
  nay__bloom_locate_scalar(b, h, k < 4 ? k : k - 4, &p, k < 4 ? 0 : 4);
  if (k < 4) return p;
  __m256i powers = _mm256_loadu_si256((const __m256i *)(const void *)(bloom_avx512_powers + k - 4));
  __m256i nbits = _mm256_set1_epi64x((int64_t)b->nunits);
  __m256i x = _mm256_mullo_epi64(_mm256_set1_epi64x((int64_t)h), powers);
  __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), nbits);
  __m256i low = _mm256_srli_epi64(_mm256_mul_epu32(x, nbits), 32);
  __m256i at = _mm256_srli_epi64(_mm256_add_epi64(high, low), 32);
  __m128i first = _mm256_castsi256_si128(at), last = _mm256_extracti128_si256(at, 1);
  p.at[0] = (uint64_t)_mm_cvtsi128_si64(first);
  p.at[1] = (uint64_t)_mm_extract_epi64(first, 1);
  p.at[2] = (uint64_t)_mm_cvtsi128_si64(last);
  p.at[3] = (uint64_t)_mm_extract_epi64(last, 1);
  return p;
}

/* ---- a batch of tests ---- */

/* Which of eight keys have the next `probes` bits set; *x moves on to the probe after them. */
BLOOM_TARGET NAY_INLINE unsigned bloom_avx512_test8(const nay_bits *b, __m512i *x,
                                                    uint32_t probes) {
  const __m256i one = _mm256_set1_epi32(1);
  __m512i nbits = bloom_avx512_nbits(b);
  __m256i all = one;
  for (uint32_t i = 0; i < probes; i++, *x = bloom_avx512_step(*x)) {
    __m256i at = bloom_avx512_reduce(*x, nbits);
    __m256i words =
        _mm256_i32gather_epi32((const int *)(const void *)b->bytes, _mm256_srli_epi32(at, 5), 4);
    __m256i bit = _mm256_and_si256(at, _mm256_set1_epi32(31));
    all = _mm256_and_si256(all, _mm256_srlv_epi32(words, bit));
  }
  return _mm256_test_epi32_mask(all, one);
}

/* Keys whose probes so far were all set: the hash of the next probe, and a bit of the bitmap. */
typedef struct bloom_avx512_left {
  uint64_t x[64 + 8], bit[64 + 8];
  unsigned n;
} bloom_avx512_left;

BLOOM_TARGET NAY_INLINE __mmask8 bloom_avx512_lanes(unsigned n) {
  return (__mmask8)(n < 8 ? (1u << n) - 1 : 0xff);
}

BLOOM_TARGET NAY_INLINE void bloom_avx512_keep(bloom_avx512_left *left, __mmask8 lanes, __m512i x,
                                               __m512i bit) {
  _mm512_storeu_si512(left->x + left->n, _mm512_maskz_compress_epi64(lanes, x));
  _mm512_storeu_si512(left->bit + left->n, _mm512_maskz_compress_epi64(lanes, bit));
  left->n += (unsigned)_mm_popcnt_u32(lanes);
}

BLOOM_TARGET NAY_INLINE void bloom_avx512_first(const nay_bits *b, const uint64_t *hashes,
                                                unsigned n, uint32_t probes,
                                                bloom_avx512_left *left) {
  __m512i bit = _mm512_setr_epi64(1, 2, 4, 8, 16, 32, 64, 128);
  left->n = 0;
  for (unsigned i = 0; i < n; i += 8, bit = _mm512_slli_epi64(bit, 8)) {
    __mmask8 lanes = bloom_avx512_lanes(n - i);
    __m512i x = _mm512_maskz_loadu_epi64(lanes, hashes + i);
    lanes &= (__mmask8)bloom_avx512_test8(b, &x, probes);
    bloom_avx512_keep(left, lanes, x, bit);
  }
}

/* In place: what is kept never overtakes what is read. */
BLOOM_TARGET NAY_INLINE void bloom_avx512_next(const nay_bits *b, uint32_t probes,
                                               bloom_avx512_left *left) {
  unsigned n = left->n;
  left->n = 0;
  for (unsigned i = 0; i < n; i += 8) {
    __m512i x = _mm512_loadu_si512(left->x + i), bit = _mm512_loadu_si512(left->bit + i);
    __mmask8 lanes = bloom_avx512_lanes(n - i);
    lanes &= (__mmask8)bloom_avx512_test8(b, &x, probes);
    bloom_avx512_keep(left, lanes, x, bit);
  }
}

BLOOM_TARGET NAY_INLINE uint64_t bloom_avx512_last(const nay_bits *b, uint32_t probes,
                                                   bloom_avx512_left *left) {
  __m512i bitmap = _mm512_setzero_si512();
  for (unsigned i = 0; i < left->n; i += 8) {
    __m512i x = _mm512_loadu_si512(left->x + i), bit = _mm512_loadu_si512(left->bit + i);
    __mmask8 lanes = bloom_avx512_lanes(left->n - i);
    lanes &= (__mmask8)bloom_avx512_test8(b, &x, probes);
    bitmap = _mm512_mask_or_epi64(bitmap, lanes, bitmap, bit);
  }
  return (uint64_t)_mm512_reduce_or_epi64(bitmap);
}

BLOOM_TARGET static uint64_t bloom_avx512_test64(const nay_bits *b, const uint64_t *hashes,
                                                 unsigned n) {
  if (!nay__bloom_fits(b)) return nay__bloom_scalar.test64(b, hashes, n);
  bloom_avx512_left left;
  uint32_t probes = b->k < BLOOM_AVX512_FIRST ? b->k : BLOOM_AVX512_FIRST;
  bloom_avx512_first(b, hashes, n, probes, &left);
  uint32_t more = b->k - probes;
  for (unsigned i = 0; i < left.n && nay__bloom_prefetches_tests(b); i++) {
    nay__bloom_prefetch(b, left.x[i], more);
  }
  for (; more > BLOOM_AVX512_NEXT; more -= BLOOM_AVX512_NEXT)
    bloom_avx512_next(b, BLOOM_AVX512_NEXT, &left);
  return bloom_avx512_last(b, more, &left);
}

/* ---- filters with concurrent adds: bits by the part that they lie in ---- */

/* One probe of 16 keys: a comparison and a compress for each part. */
BLOOM_TARGET NAY_INLINE void bloom_avx512_split16(__m512i at, __mmask16 lanes,
                                                  nay_bloom_parts *parts) {
  __m512i part = _mm512_srl_epi32(at, _mm_cvtsi32_si128((int)parts->shift));
  at = _mm512_sub_epi32(at, _mm512_sll_epi32(part, _mm_cvtsi32_si128((int)parts->shift)));
  for (unsigned i = 0; i < NAY_BLOOM_NPARTS; i++) {
    __mmask16 here = _mm512_mask_cmpeq_epu32_mask(lanes, part, _mm512_set1_epi32((int)i));
    _mm512_storeu_si512(parts->at[i] + parts->used[i], _mm512_maskz_compress_epi32(here, at));
    parts->used[i] += (uint32_t)_mm_popcnt_u32(here);
  }
}

BLOOM_TARGET static void bloom_avx512_split(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                            nay_bloom_parts *parts) {
  if (!nay__bloom_fits(b)) {
    nay__bloom_split_scalar.split(b, hashes, n, parts);
    return;
  }
  const __m512i nbits = bloom_avx512_nbits(b);
  for (unsigned i = 0; i < n; i += 16) {
    unsigned left = n - i;
    __mmask16 lanes = (__mmask16)(left < 16 ? (1u << left) - 1 : 0xffff);
    __m512i x = _mm512_maskz_loadu_epi64((__mmask8)lanes, hashes + i), y = _mm512_setzero_si512();
    if (left > 8) y = _mm512_maskz_loadu_epi64((__mmask8)(lanes >> 8), hashes + i + 8);
    for (uint32_t probe = 0; probe < b->k; probe++) {
      __m512i at = _mm512_castsi256_si512(bloom_avx512_reduce(x, nbits));
      at = _mm512_inserti64x4(at, bloom_avx512_reduce(y, nbits), 1);
      bloom_avx512_split16(at, lanes, parts);
      x = bloom_avx512_step(x), y = bloom_avx512_step(y);
    }
  }
}

const nay_bloom_split_kernels nay__bloom_split_avx512 = {bloom_avx512_split};

#define BLOOM(name) bloom_avx512_##name
#include "cpu/bloom_template.h"

const nay_bloom_kernels nay__bloom_avx512 = {
    .test = bloom_avx512_test,
    .choose_test = bloom_avx512_choose_test,
    .test64 = bloom_avx512_test64,
    .add = bloom_avx512_add,
    .choose_add_blind = bloom_avx512_choose_add_blind,
    .add64 = bloom_avx512_add64,
};

#endif /* NAY_HAS_X86_KERNELS */

/*
 * scalable_avx512.c - the levels of a scalable filter with 512-bit vectors: a line is one register.
 *
 * The top 4 bits of a probe select one of the sixteen 16-bit words of a block and the next 4 the
 * bit. Sixteen probes of the left block and the same of the right one are the 32 lanes of a vector,
 * so that a level costs one permute and one test.
 *
 * A core can only load the lines of as many keys at once as its reorder buffer has room for, so
 * the number of instructions of a probe counts even where it waits for memory. The usual filter, of
 * at most sixteen levels and 15 probes, whose levels but the last have both halves, has a loop
 * without anything else (`few`).
 */
#include "cpu/groups.h"
#include "cpu/halves.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define SCALABLE_TARGET \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2,popcnt,prfchw")))

#define SCALABLE_FEW_K 15u
/* Added to what is missing of each half in up to 15 probes, sets the top bit of its 16 unless
 * nothing is missing. */
#define SCALABLE_CARRY 0x7fff7fffu
#define SCALABLE_TOP 0x80008000u

/* The first 16 probes of a key: the words of a line that they are in, and their bits. */
typedef struct scalable_avx512_pattern {
  __m512i word, bit;
} scalable_avx512_pattern;

SCALABLE_TARGET NAY_INLINE scalable_avx512_pattern scalable_avx512_make(uint64_t hash) {
  static const uint32_t powers[16] = {NAY_G32_POWS_0_TO_15};
  static const uint16_t upper[32] = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                     1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
  static const uint16_t right[32] = {0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
                                     0,  0,  0,  0,  0,  16, 16, 16, 16, 16, 16,
                                     16, 16, 16, 16, 16, 16, 16, 16, 16, 16};
  __m512i probe = _mm512_mullo_epi32(_mm512_set1_epi32((int32_t)hash), _mm512_loadu_si512(powers));
  __m512i top = _mm512_permutexvar_epi16(_mm512_loadu_si512(upper), probe);
  __m512i at = _mm512_and_si512(_mm512_srli_epi16(top, 8), _mm512_set1_epi16(15));
  return (scalable_avx512_pattern){
      _mm512_or_si512(_mm512_srli_epi16(top, 12), _mm512_loadu_si512(right)),
      _mm512_sllv_epi16(_mm512_set1_epi16(1), at),
  };
}

/* Bit i of each half: probe i finds no bit. */
SCALABLE_TARGET NAY_INLINE uint32_t scalable_avx512_missing(__m512i line, uint32_t k,
                                                            const scalable_avx512_pattern *p) {
  uint32_t missing = _mm512_testn_epi16_mask(_mm512_permutexvar_epi16(p->word, line), p->bit);
  NAY_OPAQUE(missing); /* gcc 12 would go on in mask registers */
  return missing & ((0x10001u << k) - 0x10001u);
}

SCALABLE_TARGET NAY_INLINE __m512i scalable_avx512_line(const uint8_t *level, uint64_t block) {
  return _mm512_loadu_si512(level + block * (2 * NAY_HALF_BYTES));
}

/* The line of a level of one half: its block twice. */
SCALABLE_TARGET NAY_INLINE __m512i scalable_avx512_twice(const uint8_t *level, uint64_t block) {
  const uint8_t *left = level + block * NAY_HALF_BYTES;
  return _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)(const void *)left));
}

/* ---- one key ---- */

SCALABLE_TARGET static bool scalable_avx512_test_few(const nay_bits *b, uint64_t hash) {
  const uint8_t *payload = b->bytes;
  const uint8_t *first = payload + NAY_LEVELS_HEADER,
                *row = payload + (size_t)nay__levels_count(payload) * NAY_LEVELS_ROW;
  const scalable_avx512_pattern bits = scalable_avx512_make(hash);
  uint64_t shape = nay__row_word(row + NAY_ROW_K);
  uint64_t block = nay__reduce(hash, nay__row_word(row + NAY_ROW_NBLOCKS));
  const uint8_t *level = payload + nay__row_word(row + NAY_ROW_AT);
  __m512i line =
      shape >> 32 == 2 ? scalable_avx512_line(level, block) : scalable_avx512_twice(level, block);
  uint32_t all = SCALABLE_CARRY + scalable_avx512_missing(line, (uint32_t)shape, &bits);
  while (row != first) {
    row -= NAY_LEVELS_ROW;
    block = nay__reduce(hash, nay__row_word(row + NAY_ROW_NBLOCKS));
    line = scalable_avx512_line(payload + nay__row_word(row + NAY_ROW_AT), block);
    all &= SCALABLE_CARRY +
           scalable_avx512_missing(line, (uint32_t)nay__row_word(row + NAY_ROW_K), &bits);
  }
  return (~all & SCALABLE_TOP) != 0;
}

/* More than 15 probes, and blocks of 512 bits: sixteen probes at a time, 32-bit words. */
SCALABLE_TARGET static NAY_NOINLINE unsigned scalable_avx512_has_any(const uint8_t *payload,
                                                                     const uint8_t *row,
                                                                     uint64_t hash) {
  static const uint32_t powers[16] = {NAY_G32_POWS_0_TO_15};
  const nay_halves level = nay__halves_of((uint8_t *)(uintptr_t)payload, row);
  const uint8_t *at = nay__halves_line(&level, hash);
  const uint8_t *other = at + (level.nhalves - 1) * nay__halves_block_bytes(&level);
  bool wide = level.block_log != NAY_HALF_BYTES_LOG;
  __m512i left = wide ? _mm512_loadu_si512(at) : scalable_avx512_twice(at, 0);
  __m512i right = wide ? _mm512_loadu_si512(other) : scalable_avx512_twice(other, 0);
  __m128i bit_shift = _mm_cvtsi32_si128((int)(29 - level.block_log));
  __m128i word_shift = _mm_cvtsi32_si128((int)(34 - level.block_log));
  unsigned missing_left = 0, missing_right = 0;
  uint32_t h = (uint32_t)hash;
  for (uint32_t k = level.k;; k -= 16, h *= NAY_G32_POW_16) {
    __m512i probe = _mm512_mullo_epi32(_mm512_set1_epi32((int32_t)h), _mm512_loadu_si512(powers));
    __m512i word = _mm512_srl_epi32(probe, word_shift);
    __m512i bit = _mm512_rolv_epi32(_mm512_set1_epi32(1), _mm512_srl_epi32(probe, bit_shift));
    __mmask16 lanes = k < 16 ? (__mmask16)((1u << k) - 1) : (__mmask16)0xffff;
    missing_left |=
        (unsigned)_mm512_mask_testn_epi32_mask(lanes, _mm512_permutexvar_epi32(word, left), bit);
    missing_right |=
        (unsigned)_mm512_mask_testn_epi32_mask(lanes, _mm512_permutexvar_epi32(word, right), bit);
    if (k <= 16) return missing_left == 0 || missing_right == 0;
  }
}

SCALABLE_TARGET NAY_INLINE unsigned scalable_avx512_has(const uint8_t *payload, const uint8_t *row,
                                                        uint64_t hash,
                                                        const scalable_avx512_pattern *pattern) {
  uint64_t shape = nay__row_word(row + NAY_ROW_K);
  uint32_t k = (uint32_t)shape;
  if (k > SCALABLE_FEW_K || nay__row_is_wide(row)) {
    return scalable_avx512_has_any(payload, row, hash);
  }
  uint64_t block = nay__reduce(hash, nay__row_word(row + NAY_ROW_NBLOCKS));
  const uint8_t *level = payload + nay__row_word(row + NAY_ROW_AT);
  __m512i line =
      shape >> 32 == 2 ? scalable_avx512_line(level, block) : scalable_avx512_twice(level, block);
  return ~(SCALABLE_CARRY + scalable_avx512_missing(line, k, pattern)) & SCALABLE_TOP;
}

#define SCALABLE(name) scalable_avx512_##name
#include "cpu/scalable_template.h"

static nay_bits_probe scalable_avx512_choose_test(const nay_bits *b) {
  unsigned nlevels = nay__levels_count(b->bytes);
  bool few = nlevels <= NAY_LEVELS_CHUNK;
  for (unsigned i = 0; i < nlevels; i++) {
    nay_halves level = nay__halves_of(b->bytes, nay__levels_row(b->bytes, i));
    few &= level.k <= SCALABLE_FEW_K && level.block_log == NAY_HALF_BYTES_LOG &&
           (level.nhalves == 2 || i == nlevels - 1);
  }
  return few ? scalable_avx512_test_few : scalable_avx512_test;
}

/* ---- a batch: level after level, as its numbers stay in registers then ---- */

typedef struct scalable_avx512_batch {
  scalable_avx512_pattern bits[64];
  uint32_t missing[64] __attribute__((aligned(64))); /* in the current level */
} scalable_avx512_batch;

#define SCALABLE_SOON 8u
#define SCALABLE_FAR ((uint64_t)8 << 20) /* bytes of a half */

/* Which keys a half of the level has, 64 keys. next: prefetched, or NULL. soon: the level is out of
 * cache, and lines that have come to L2 are prefetched again, into L1. */
SCALABLE_TARGET NAY_INLINE void scalable_avx512_level(const nay_halves *level,
                                                      const uint64_t *hashes, const uint64_t *next,
                                                      bool two, bool soon,
                                                      scalable_avx512_batch *batch) {
  const uint8_t *bytes = level->bytes;
  const uint64_t nblocks = level->nblocks;
  const __mmask32 lanes = (0x10001u << level->k) - 0x10001u;
  for (unsigned i = 0; i < 64; i++) {
    if (next != NULL) {
      NAY_PREFETCH(bytes + nay__reduce(next[i], nblocks) * ((two ? 2 : 1) * NAY_HALF_BYTES));
    }
    if (soon && i + SCALABLE_SOON < 64) {
      NAY_PREFETCH_SOON(bytes + nay__reduce(hashes[i + SCALABLE_SOON], nblocks) *
                                    ((two ? 2 : 1) * NAY_HALF_BYTES));
    }
    uint64_t block = nay__reduce(hashes[i], nblocks);
    __m512i line = two ? scalable_avx512_line(bytes, block) : scalable_avx512_twice(bytes, block);
    batch->missing[i] = _mm512_mask_testn_epi16_mask(
        lanes, _mm512_permutexvar_epi16(batch->bits[i].word, line), batch->bits[i].bit);
  }
}

/* The bitmap of keys of which nothing is missing in a half. */
SCALABLE_TARGET NAY_INLINE uint64_t scalable_avx512_found(const scalable_avx512_batch *batch) {
  uint64_t found = 0;
  for (unsigned i = 0; i < 64; i += 16) {
    __m512i missing = _mm512_load_si512(batch->missing + i);
    found |=
        (uint64_t)_cvtmask16_u32(_mm512_cmpneq_epi32_mask(
            _mm512_and_si512(_mm512_add_epi32(missing, _mm512_set1_epi32((int32_t)SCALABLE_CARRY)),
                             _mm512_set1_epi32((int32_t)SCALABLE_TOP)),
            _mm512_set1_epi32((int32_t)SCALABLE_TOP)))
        << i;
  }
  return found;
}

SCALABLE_TARGET static uint64_t scalable_avx512_test_64(const nay_bits *b, const uint64_t *hashes,
                                                        const uint64_t *next) {
  scalable_avx512_batch batch;
  unsigned nlevels = nay__levels_count(b->bytes),
           near = next != NULL ? nay__levels_near(b->bytes) : nlevels;
  uint64_t found = 0;
  for (unsigned i = 0; i < 64; i++) batch.bits[i] = scalable_avx512_make(hashes[i]);
  for (unsigned i = nlevels; i > 0 && (found != UINT64_MAX || i > near); i--) {
    const uint8_t *row = nay__levels_row(b->bytes, i - 1);
    const nay_halves level = nay__halves_of(b->bytes, row);
    const uint64_t *later = i > near ? next : NULL;
    if (level.k > SCALABLE_FEW_K || level.block_log != NAY_HALF_BYTES_LOG) {
      for (unsigned j = 0; j < 64; j++) {
        if (later != NULL) NAY_PREFETCH(nay__halves_line(&level, later[j]));
        found |= (uint64_t)(scalable_avx512_has_any(b->bytes, row, hashes[j]) != 0) << j;
      }
      continue;
    }
    bool soon = level.nblocks >= SCALABLE_FAR / NAY_HALF_BYTES;
    if (later == NULL) {
      level.nhalves == 1 ? scalable_avx512_level(&level, hashes, NULL, false, false, &batch)
                         : scalable_avx512_level(&level, hashes, NULL, true, false, &batch);
    } else if (level.nhalves == 1) {
      scalable_avx512_level(&level, hashes, later, false, soon, &batch);
    } else if (soon) {
      scalable_avx512_level(&level, hashes, later, true, true, &batch);
    } else {
      scalable_avx512_level(&level, hashes, later, true, false, &batch);
    }
    found |= scalable_avx512_found(&batch);
  }
  return found;
}

SCALABLE_TARGET static uint64_t scalable_avx512_test_group(const nay_bits *b,
                                                           const uint64_t *hashes, unsigned n,
                                                           const uint64_t *next) {
  return n == 64 ? scalable_avx512_test_64(b, hashes, next)
                 : scalable_avx512_test64(b, hashes, n, next);
}

/* ---- adds ---- */

/* As scalable_avx2_set, with 32-bit words and the positions of eight probes at a time. */
SCALABLE_TARGET static unsigned scalable_avx512_set(const nay_halves *level, uint8_t *block,
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
  __m256i fresh = _mm256_andnot_si256(old, bits);
  _mm256_storeu_si256((__m256i *)(void *)block, _mm256_or_si256(old, bits));
  return nay__popcount64((uint64_t)_mm256_extract_epi64(fresh, 0)) +
         nay__popcount64((uint64_t)_mm256_extract_epi64(fresh, 1)) +
         nay__popcount64((uint64_t)_mm256_extract_epi64(fresh, 2)) +
         nay__popcount64((uint64_t)_mm256_extract_epi64(fresh, 3));
}

const nay_scalable_kernels nay__scalable_avx512 = {
    .choose_test = scalable_avx512_choose_test,
    .test64 = scalable_avx512_test_group,
    .set = scalable_avx512_set,
};

#endif /* NAY_HAS_X86_KERNELS */

/*
 * blocked_avx512.c - the blocked filter with 512-bit vectors: a block is one register.
 *
 * As blocked_avx2.c, with sixteen probes in one pass, one permute for the words, and no halves.
 */
#include "cpu/block.h"
#include "cpu/groups.h"
#include "cpu/specialize.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define BLOCKED_TARGET \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2,popcnt,prfchw")))

static const uint32_t blocked_avx512_powers[16] = {NAY_G32_POWS_0_TO_15};

/*
 * Which of up to eight probes find no bit: the common case. 256-bit registers are enough, and cost
 * half on some CPUs.
 */
BLOCKED_TARGET NAY_INLINE __mmask8 blocked_avx512_missing(const nay_bits *b, uint64_t hash,
                                                          uint32_t k) {
  const uint8_t *block = nay__block_of(b, hash);
  __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)block);
  __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
  __m256i powers = _mm256_loadu_si256((const __m256i *)(const void *)blocked_avx512_powers);
  __m256i probe = _mm256_mullo_epi32(_mm256_set1_epi32((int32_t)hash), powers);
  __m256i words =
      _mm256_permutex2var_epi32(low, _mm256_srli_epi32(probe, NAY_BLOCK_WORD32_SHIFT), high);
  /* a rotation takes its count modulo 32 */
  __m256i wanted =
      _mm256_rolv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(probe, NAY_BLOCK_BIT_SHIFT));
  return _mm256_mask_testn_epi32_mask((__mmask8)((1u << k) - 1), words, wanted);
}

BLOCKED_TARGET NAY_INLINE bool blocked_avx512_test_k(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint32_t h = (uint32_t)hash, left = k;
  if (k <= 8) return blocked_avx512_missing(b, hash, k) == 0;
  __m512i block = _mm512_loadu_si512(nay__block_of(b, hash));
  __m512i powers = _mm512_loadu_si512(blocked_avx512_powers);
  for (;; left -= 16, h *= NAY_G32_POW_16) {
    __m512i probe = _mm512_mullo_epi32(_mm512_set1_epi32((int32_t)h), powers);
    __m512i words =
        _mm512_permutexvar_epi32(_mm512_srli_epi32(probe, NAY_BLOCK_WORD32_SHIFT), block);
    __m512i wanted =
        _mm512_rolv_epi32(_mm512_set1_epi32(1), _mm512_srli_epi32(probe, NAY_BLOCK_BIT_SHIFT));
    __mmask16 lanes = left < 16 ? (__mmask16)((1u << left) - 1) : (__mmask16)0xffff;
    if (_mm512_mask_testn_epi32_mask(lanes, words, wanted) != 0) return false;
    if (left <= 16) return true;
  }
}

/*
 * The pattern first, then the block, so that no store waits long for its data
 * (doc/design/speed.md). The prefetch does not wait for earlier stores, as the load may.
 */
BLOCKED_TARGET NAY_INLINE bool blocked_avx512_add_k(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint8_t *block = nay__block_of(b, hash);
  const __m512i base = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
  const __m512i one = _mm512_set1_epi64(1);
  __m512i bits = _mm512_setzero_si512();
  uint32_t h = (uint32_t)hash;
  NAY_PREFETCH_TO_WRITE(block);
  for (uint32_t i = 0; i < k; i++) {
    if (i % 16 == 0 && i != 0) h *= NAY_G32_POW_16;
    __m512i at =
        _mm512_set1_epi64((int64_t)(h * blocked_avx512_powers[i % 16] >> NAY_BLOCK_BIT_SHIFT));
    bits = _mm512_or_si512(bits, _mm512_sllv_epi64(one, _mm512_sub_epi64(at, base)));
  }
  __m512i old = _mm512_loadu_si512(block), fresh = _mm512_andnot_si512(old, bits);
  _mm512_storeu_si512(block, _mm512_or_si512(old, bits));
  return _mm512_test_epi64_mask(fresh, fresh) != 0;
}

/*
 * A batch of adds, in two passes: the positions of all keys, then the blocks. A broadcast from
 * memory is only a load, which saves a third of the vector operations. The positions must have
 * reached L1 by then: a load of a part of an earlier, wider store is not forwarded, but waits
 * (three times slower when tried key by key).
 */
BLOCKED_TARGET NAY_INLINE uint64_t blocked_avx512_add_all(const nay_bits *b, const uint64_t *hashes,
                                                          unsigned n, const uint64_t *next,
                                                          uint32_t k, bool report) {
  uint32_t at[64][16] __attribute__((aligned(64)));
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    __m512i probe = _mm512_mullo_epi32(_mm512_set1_epi32((int32_t)hashes[i]),
                                       _mm512_loadu_si512(blocked_avx512_powers));
    _mm512_store_si512(at[i], _mm512_srli_epi32(probe, NAY_BLOCK_BIT_SHIFT));
  }
  const __m512i base =
      _mm512_setr_epi32(0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480);
  const __m512i one = _mm512_set1_epi32(1);
  for (unsigned i = 0; i < n; i++) {
    uint8_t *block = nay__block_of(b, hashes[i]);
    if (next != NULL) NAY_PREFETCH(nay__block_of(b, next[i]));
    __m512i old = _mm512_loadu_si512(block), bits = old;
    for (uint32_t probe = 0; probe < k; probe++) {
      __m512i shift = _mm512_xor_si512(_mm512_set1_epi32((int32_t)at[i][probe]), base);
      bits = _mm512_or_si512(bits, _mm512_sllv_epi32(one, shift));
    }
    _mm512_storeu_si512(block, bits);
    if (report) bitmap |= (uint64_t)(_mm512_cmpneq_epi64_mask(old, bits) != 0) << i;
  }
  return bitmap;
}

/*
 * A batch of tests: what is missing of each key goes to a byte, and one instruction finds the bytes
 * that are 0. Shifting each answer into a bitmap would take a fifth of the time. These loops are so
 * fast that lines of a filter out of cache, prefetched into L2, must be prefetched again, into L1
 * (100 M keys: 4.1 to 3.7 ns; in cache it costs a tenth).
 */
#define BLOCKED_AVX512_SOON 8u
BLOCKED_TARGET NAY_INLINE uint64_t blocked_avx512_test_all(const nay_bits *b,
                                                           const uint64_t *hashes, unsigned n,
                                                           const uint64_t *next, bool out_of_cache,
                                                           uint32_t k) {
  uint8_t missing[64] __attribute__((aligned(64)));
  _mm512_store_si512(missing, _mm512_set1_epi8(1)); /* of keys past the n-th */
  for (unsigned i = 0; i < n; i++) {
    if (next != NULL) NAY_PREFETCH(nay__block_of(b, next[i]));
    if (out_of_cache && i + BLOCKED_AVX512_SOON < n) {
      NAY_PREFETCH_SOON(nay__block_of(b, hashes[i + BLOCKED_AVX512_SOON]));
    }
    missing[i] =
        k <= 8 ? blocked_avx512_missing(b, hashes[i], k) : !blocked_avx512_test_k(b, hashes[i], k);
  }
  __m512i all = _mm512_load_si512(missing);
  return _mm512_testn_epi8_mask(all, all);
}

#define BLOCKED_AVX512_TEST(k) bitmap = blocked_avx512_test_all(b, hashes, n, NULL, false, k)
#define BLOCKED_AVX512_TEST_NEXT(k) bitmap = blocked_avx512_test_all(b, hashes, 64, next, false, k)
#define BLOCKED_AVX512_TEST_MISSES(k) bitmap = blocked_avx512_test_all(b, hashes, 64, next, true, k)

BLOCKED_TARGET static uint64_t blocked_avx512_test64(const nay_bits *b, const uint64_t *hashes,
                                                     unsigned n, const uint64_t *next) {
  uint64_t bitmap;
  if (next == NULL) {
    NAY_FOR_COMMON_K(b->k, BLOCKED_AVX512_TEST)
  } else if (b->nunits < NAY_OUT_OF_CACHE_BYTES / NAY_BLOCK_BYTES) {
    NAY_FOR_COMMON_K(b->k, BLOCKED_AVX512_TEST_NEXT)
  } else {
    NAY_FOR_COMMON_K(b->k, BLOCKED_AVX512_TEST_MISSES)
  }
  return bitmap;
}

BLOCKED_TARGET static bool blocked_avx512_test(const nay_bits *b, uint64_t hash) {
  return blocked_avx512_test_k(b, hash, b->k);
}

#define BLOCKED(name) blocked_avx512_##name
#define BLOCKED_ADD
#include "cpu/blocked_template.h"

#define BLOCKED_AVX512_ADD_ALL(k) bitmap = blocked_avx512_add_all(b, hashes, n, next, k, report)

/* Above 16 probes, one key at a time. */
BLOCKED_TARGET NAY_INLINE uint64_t blocked_avx512_add_batch(const nay_bits *b,
                                                            const uint64_t *hashes, unsigned n,
                                                            const uint64_t *next, bool report) {
  uint64_t bitmap = 0;
  if (b->k > 16) {
    for (unsigned i = 0; i < n; i++) {
      if (next != NULL) NAY_PREFETCH(nay__block_of(b, next[i]));
      bitmap |= (uint64_t)blocked_avx512_add_k(b, hashes[i], b->k) << i;
    }
    return bitmap;
  }
  NAY_FOR_COMMON_K(b->k, BLOCKED_AVX512_ADD_ALL)
  return bitmap;
}

BLOCKED_TARGET static uint64_t blocked_avx512_add64(const nay_bits *b, const uint64_t *hashes,
                                                    unsigned n, const uint64_t *next, bool report) {
  if (next == NULL) {
    return report ? blocked_avx512_add_batch(b, hashes, n, NULL, true)
                  : blocked_avx512_add_batch(b, hashes, n, NULL, false);
  }
  return report ? blocked_avx512_add_batch(b, hashes, 64, next, true)
                : blocked_avx512_add_batch(b, hashes, 64, next, false);
}

const nay_blocked_kernels nay__blocked_avx512 = {blocked_avx512_test, blocked_avx512_test64};

const nay_blocked_add_kernels nay__blocked_add_avx512 = {
    .add = blocked_avx512_add,
    .choose_add_blind = blocked_avx512_choose_add_blind,
    .add64 = blocked_avx512_add64,
};

#endif /* NAY_HAS_X86_KERNELS */

/*
 * blocked_avx512.c - blocked filters with 512-bit vectors: a block is one register.
 *
 * As blocked_avx2.c, with sixteen probes in one pass, one permute for the words, and no halves.
 */
#include "cpu/groups.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2,popcnt,prfchw")))

static const uint32_t avx512_powers[16] = {NAY_G32_POWS_0_TO_15};

/*
 * Which of up to eight probes find no bit: the usual case. Half registers will do, and cost half on
 * some CPUs.
 */
AVX512 NAY_INLINE __mmask8 avx512_missing(const nay_bits *b, uint64_t hash, uint32_t k) {
  const uint8_t *block = nay__block_of(b, hash);
  __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)block);
  __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
  __m256i powers = _mm256_loadu_si256((const __m256i *)(const void *)avx512_powers);
  __m256i probe = _mm256_mullo_epi32(_mm256_set1_epi32((int32_t)hash), powers);
  __m256i words =
      _mm256_permutex2var_epi32(low, _mm256_srli_epi32(probe, NAY_BLOCK_WORD32_SHIFT), high);
  /* a rotation takes its count modulo 32 */
  __m256i wanted =
      _mm256_rolv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(probe, NAY_BLOCK_BIT_SHIFT));
  return _mm256_mask_testn_epi32_mask((__mmask8)((1u << k) - 1), words, wanted);
}

AVX512 NAY_INLINE bool avx512_test_one(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint32_t h = (uint32_t)hash, left = k;
  if (k <= 8) return avx512_missing(b, hash, k) == 0;
  __m512i block = _mm512_loadu_si512(nay__block_of(b, hash));
  __m512i powers = _mm512_loadu_si512(avx512_powers);
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
 * The pattern first, then the block: so that no store waits for long (doc/design/speed.md). The
 * prefetch does not wait for the stores before it, as the load may.
 */
AVX512 NAY_INLINE bool avx512_add_one(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint8_t *block = nay__block_of(b, hash);
  const __m512i base = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
  const __m512i one = _mm512_set1_epi64(1);
  __m512i bits = _mm512_setzero_si512();
  uint32_t h = (uint32_t)hash;
  NAY_PREFETCH_TO_WRITE(block);
  for (uint32_t i = 0; i < k; i++) {
    if (i % 16 == 0 && i != 0) h *= NAY_G32_POW_16;
    __m512i at = _mm512_set1_epi64((int64_t)(h * avx512_powers[i % 16] >> NAY_BLOCK_BIT_SHIFT));
    bits = _mm512_or_si512(bits, _mm512_sllv_epi64(one, _mm512_sub_epi64(at, base)));
  }
  __m512i old = _mm512_loadu_si512(block), fresh = _mm512_andnot_si512(old, bits);
  _mm512_storeu_si512(block, _mm512_or_si512(old, bits));
  return _mm512_test_epi64_mask(fresh, fresh) != 0;
}

/*
 * Many adds, in two passes: the positions of all keys, then the blocks. A broadcast from memory is
 * only a load, which spares the vector units a third of their work; and the positions must be in
 * the cache by then, since a load of a part of what a store before it has not yet brought there
 * waits for it (three times slower when it was tried key by key).
 */
AVX512 NAY_INLINE uint64_t avx512_add_all(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                          const uint64_t *next, uint32_t k, bool tell) {
  uint32_t at[64][16] __attribute__((aligned(64)));
  uint64_t word = 0;
  for (unsigned i = 0; i < n; i++) {
    __m512i probe = _mm512_mullo_epi32(_mm512_set1_epi32((int32_t)hashes[i]),
                                       _mm512_loadu_si512(avx512_powers));
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
    if (tell) word |= (uint64_t)(_mm512_cmpneq_epi64_mask(old, bits) != 0) << i;
  }
  return word;
}

/*
 * Many tests: what is missing of each key goes to a byte, and one instruction finds the bytes that
 * are 0. To make a bit of each answer and put it in its place takes a fifth of the time. These
 * loops are so quick that far lines, asked for into the second level, must be asked for again, into
 * the first (100 M keys: 4.1 to 3.7 ns; nearer it costs a tenth).
 */
#define AVX512_SOON 8u
AVX512 NAY_INLINE uint64_t avx512_test_all(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                           const uint64_t *next, bool far, uint32_t k) {
  uint8_t missing[64] __attribute__((aligned(64)));
  _mm512_store_si512(missing, _mm512_set1_epi8(1)); /* of keys that are not there */
  for (unsigned i = 0; i < n; i++) {
    if (next != NULL) NAY_PREFETCH(nay__block_of(b, next[i]));
    if (far && i + AVX512_SOON < n) NAY_PREFETCH_SOON(nay__block_of(b, hashes[i + AVX512_SOON]));
    missing[i] = k <= 8 ? avx512_missing(b, hashes[i], k) : !avx512_test_one(b, hashes[i], k);
  }
  __m512i all = _mm512_load_si512(missing);
  return _mm512_testn_epi8_mask(all, all);
}

#define AVX512_TEST_ALL(next, k) word = avx512_test_all(b, hashes, n, next, false, k)
#define AVX512_TEST_FAR(next, k) word = avx512_test_all(b, hashes, n, next, true, k)

AVX512 bool nay__avx512_blocked_test(const nay_bits *b, uint64_t hash) {
  return avx512_test_one(b, hash, b->k);
}

AVX512 uint64_t nay__avx512_blocked_test64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  uint64_t word;
  NAY_FOR_USUAL_K(b->k, AVX512_TEST_ALL, NULL)
  return word;
}

AVX512 uint64_t nay__avx512_test64_ahead(const nay_bits *b, const uint64_t *hashes,
                                         const uint64_t *next) {
  const unsigned n = 64;
  uint64_t word;
  if (b->nunits >= NAY_FAR_BYTES / NAY_BLOCK_BYTES) {
    NAY_FOR_USUAL_K(b->k, AVX512_TEST_FAR, next)
  } else {
    NAY_FOR_USUAL_K(b->k, AVX512_TEST_ALL, next)
  }
  return word;
}

NAY_DEFINE_PUTS(AVX512, avx512_put, avx512_add_one)

AVX512 bool nay__avx512_blocked_add(const nay_bits *b, uint64_t hash) {
  return avx512_add_one(b, hash, b->k);
}

#define AVX512_ADD_ALL(tell, k) word = avx512_add_all(b, hashes, n, next, k, tell)

/* More than 16 probes go one key at a time. */
AVX512 NAY_INLINE uint64_t avx512_add_any(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                          const uint64_t *next, bool tell) {
  uint64_t word = 0;
  if (b->k > 16) {
    for (unsigned i = 0; i < n; i++) {
      if (next != NULL) NAY_PREFETCH(nay__block_of(b, next[i]));
      word |= (uint64_t)avx512_add_one(b, hashes[i], b->k) << i;
    }
    return word;
  }
  NAY_FOR_USUAL_K(b->k, AVX512_ADD_ALL, tell)
  return word;
}

AVX512 uint64_t nay__avx512_blocked_add64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  return avx512_add_any(b, hashes, n, NULL, true);
}

AVX512 void nay__avx512_blocked_put64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  avx512_add_any(b, hashes, n, NULL, false);
}

AVX512 uint64_t nay__avx512_add64_ahead(const nay_bits *b, const uint64_t *hashes,
                                        const uint64_t *next, bool tell) {
  return tell ? avx512_add_any(b, hashes, 64, next, true)
              : avx512_add_any(b, hashes, 64, next, false);
}

AVX512 unsigned nay__avx512_keep64(const uint64_t *hashes, uint64_t least, uint64_t span,
                                   uint64_t *kept) {
  unsigned used = 0;
  for (unsigned i = 0; i < 64; i += 8) {
    __m512i h = _mm512_loadu_si512(hashes + i);
    __m512i above = _mm512_sub_epi64(h, _mm512_set1_epi64((int64_t)least));
    __mmask8 mine = _mm512_cmple_epu64_mask(above, _mm512_set1_epi64((int64_t)span));
    _mm512_storeu_si512(kept + used, _mm512_maskz_compress_epi64(mine, h)); /* used <= i */
    used += (unsigned)__builtin_popcount(mine);
  }
  return used;
}

const nay_kernels nay__kernels_avx512 = {
    .name = "avx512",
    .popcnt = true,
    .bloom_test = nay__avx512_bloom_test,
    .bloom_test_for = nay__avx512_bloom_test_for,
    .bloom_add = nay__avx512_bloom_add,
    .bloom_put_for = nay__avx512_bloom_put_for,
    .bloom_test64 = nay__avx512_bloom_test64,
    .bloom_add64 = nay__avx512_bloom_add64,
    .bloom_put64 = nay__avx512_bloom_put64,
    .blocked_test = nay__avx512_blocked_test,
    .blocked_add = nay__avx512_blocked_add,
    .blocked_put = avx512_put,
    .blocked_test64 = nay__avx512_blocked_test64,
    .blocked_add64 = nay__avx512_blocked_add64,
    .blocked_put64 = nay__avx512_blocked_put64,
    .blocked_prefetch64 = nay__blocked_prefetch64,
    .blocked_test64_ahead = nay__avx512_test64_ahead,
    .blocked_add64_ahead = nay__avx512_add64_ahead,
    .keep64 = nay__avx512_keep64,
    .fuse_test64 = nay__fuse_test64_aimed,
    .cuckoo_test64 = nay__cuckoo_test64_aimed,
    .fuse_ask = nay__fuse_ask_aimed,
    .cuckoo_ask = nay__cuckoo_ask_aimed,
    .cuckoo_probe = nay__cuckoo_probe_avx2,
    .counting_add = nay__counting_add_avx512,
    .counting_remove = nay__counting_remove_avx512,
    .ribbon_look = nay__ribbon_look_avx512,
    .xxh3_short = nay__avx512_xxh3_short,
};

#endif /* NAY_HAS_X86_KERNELS */

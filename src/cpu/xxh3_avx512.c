/*
 * xxh3_avx512.c - XXH3 of eight keys of 9 to 16 bytes at a time.
 *
 * For such keys XXH3 (64 bits, with a seed) takes the first and the last 8 bytes, a and b:
 *
 *   a ^= c1 + seed,  b ^= c2 - seed          c1, c2: words of its default secret, xored
 *   x  = length + swapped(a) + b + (high half ^ low half of a * b)
 *   x ^= x >> 37,  x *= prime,  x ^= x >> 32
 *
 * There is no vector product of 64 by 64 bits with its high half: four of 32 by 32 make it. The
 * bytes are loaded key by key, straight into registers. Through an array they would be slower than
 * scalar code: a vector load is not forwarded from the narrower stores before it, but waits until
 * they have reached L1.
 */
#include "cpu/groups.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define XXH3_TARGET __attribute__((target("avx512f,avx512dq,avx512bw")))

/* The halves of a * b, xored. */
XXH3_TARGET NAY_INLINE __m512i xxh3_fold(__m512i a, __m512i b) {
  const __m512i low32 = _mm512_set1_epi64(0xffffffff);
  __m512i a_high = _mm512_srli_epi64(a, 32), b_high = _mm512_srli_epi64(b, 32);
  __m512i low = _mm512_mul_epu32(a, b), high = _mm512_mul_epu32(a_high, b_high);
  __m512i middle = _mm512_mul_epu32(a_high, b);
  __m512i cross = _mm512_add_epi64(_mm512_srli_epi64(low, 32), _mm512_mul_epu32(a, b_high));
  cross = _mm512_add_epi64(cross, _mm512_and_si512(middle, low32));
  high = _mm512_add_epi64(high, _mm512_srli_epi64(middle, 32));
  high = _mm512_add_epi64(high, _mm512_srli_epi64(cross, 32));
  low = _mm512_and_si512(low, low32);
  return _mm512_xor_si512(_mm512_xor_si512(high, low), _mm512_slli_epi64(cross, 32));
}

XXH3_TARGET NAY_INLINE __m512i xxh3_swap(__m512i a) {
  const __m512i order =
      _mm512_broadcast_i32x4(_mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
  return _mm512_shuffle_epi8(a, order);
}

NAY_INLINE const uint8_t *xxh3_key(const nay_key_list *list, size_t i, size_t *len) {
  *len = list->keys != NULL ? list->lens[i] : list->offsets[i + 1] - list->offsets[i];
  return list->keys != NULL ? list->keys[i] : list->bytes + list->offsets[i];
}

/* The first 8 bytes of a key, and the last. */
XXH3_TARGET NAY_INLINE __m128i xxh3_ends(const nay_key_list *list, size_t i) {
  size_t len;
  const uint8_t *key = xxh3_key(list, i, &len);
  __m128i first = _mm_loadl_epi64((const __m128i *)(const void *)key);
  const double *last = (const double *)(const void *)(key + len - 8);
  return _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(first), last));
}

/* Four keys, one in each quarter; those of 16 bytes are their own ends. */
XXH3_TARGET NAY_INLINE __m512i xxh3_four(const nay_key_list *list, size_t from, bool whole) {
  __m128i key[4];
#pragma GCC unroll 4
  for (size_t i = 0; i < 4; i++) {
    size_t len;
    key[i] = whole ? _mm_loadu_si128((const __m128i *)(const void *)xxh3_key(list, from + i, &len))
                   : xxh3_ends(list, from + i);
  }
  __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(key[0]), key[1], 1);
  __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(key[2]), key[3], 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* Keys 0, 4, 1, 5, 2, 6, 3, 7: the order that unpacking two fours gives. */
XXH3_TARGET NAY_INLINE __m512i xxh3_woven(__m512i in_order) {
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), in_order);
}

XXH3_TARGET NAY_INLINE __m512i xxh3_lens(const nay_key_list *list, size_t i) {
  if (list->keys != NULL) return _mm512_loadu_si512(list->lens + i);
  return _mm512_sub_epi64(_mm512_loadu_si512(list->offsets + i + 1),
                          _mm512_loadu_si512(list->offsets + i));
}

/* Of eight keys, four in each of `low` and `high`. */
XXH3_TARGET NAY_INLINE __m512i xxh3_hashes(uint64_t seed, __m512i len, __m512i low, __m512i high) {
  __m512i a = _mm512_xor_si512(_mm512_unpacklo_epi64(low, high),
                               _mm512_set1_epi64((int64_t)(NAY_XXH3_FIRST + seed)));
  __m512i b = _mm512_xor_si512(_mm512_unpackhi_epi64(low, high),
                               _mm512_set1_epi64((int64_t)(NAY_XXH3_LAST - seed)));
  __m512i x = _mm512_add_epi64(xxh3_woven(len), b);
  x = _mm512_add_epi64(x, _mm512_add_epi64(xxh3_swap(a), xxh3_fold(a, b)));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 37));
  x = _mm512_mullo_epi64(x, _mm512_set1_epi64((int64_t)NAY_XXH3_PRIME));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 32));
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), x);
}

XXH3_TARGET NAY_INLINE bool xxh3_eight(uint64_t seed, const nay_key_list *list, size_t from,
                                       uint64_t *hashes) {
  __m512i len = xxh3_lens(list, from), above = _mm512_sub_epi64(len, _mm512_set1_epi64(9));
  if (_mm512_cmplt_epu64_mask(above, _mm512_set1_epi64(8)) != 0xff) return false;
  if (list->keys != NULL) {
    __m512i keys = _mm512_loadu_si512(list->keys + from);
    if (_mm512_test_epi64_mask(keys, keys) != 0xff) return false;
  }
  nay__prefetch_keys(list, from, 8);
  bool whole = _mm512_cmpeq_epi64_mask(len, _mm512_set1_epi64(16)) == 0xff;
  __m512i low = whole ? xxh3_four(list, from, true) : xxh3_four(list, from, false);
  __m512i high = whole ? xxh3_four(list, from + 4, true) : xxh3_four(list, from + 4, false);
  _mm512_storeu_si512(hashes, xxh3_hashes(seed, len, low, high));
  return true;
}

XXH3_TARGET static size_t xxh3_avx512_short(uint64_t seed, const nay_key_list *list, size_t from,
                                            size_t n, uint64_t *hashes) {
  size_t done = 0;
  if (list->keys == NULL && list->bytes == NULL) return 0;
  while (done + 8 <= n && xxh3_eight(seed, list, from + done, hashes + done)) done += 8;
  return done;
}

const nay_hash_kernels nay__hash_avx512 = {xxh3_avx512_short};

#endif /* NAY_HAS_X86_KERNELS */

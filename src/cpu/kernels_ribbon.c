/*
 * kernels_ribbon.c - one key of a ribbon filter: four columns in a register, all parities at once.
 *
 * A column is 128 bits, so four of them fill a register. And-ed with the masks of the key and added
 * from both blocks, the population count of each half is odd or even: two bits a column, whose xor
 * is the parity. A product moves the four parities to where the fingerprint has them.
 */
#include "cpu/kernels_simd.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define RIBBON_AVX512 __attribute__((target("avx512f,avx512dq,avx512vpopcntdq")))
#define RIBBON_LOWEST 0x0001000100010001u
#define RIBBON_SPREAD 0x0000040010004001u /* bit 2 c to bit 16 c, for c below 4 */

/* Both halves of a mask, for four columns: loaded one by one, since they have just been stored. */
RIBBON_AVX512 NAY_INLINE __m512i ribbon_mask(const uint64_t bits[2]) {
  __m512i low = _mm512_set1_epi64((int64_t)bits[0]);
  return _mm512_mask_set1_epi64(low, 0xaa, (int64_t)bits[1]);
}

/* The parities of columns 0 to 3 at `at`, in the lowest bit of each quarter. */
RIBBON_AVX512 NAY_INLINE uint64_t ribbon_four(const nay_ribbon_look *l, size_t at, unsigned columns,
                                              __m512i here_mask, __m512i next_mask) {
  __mmask8 lanes = columns < 4 ? (__mmask8)((1u << 2 * columns) - 1) : (__mmask8)0xff;
  __m512i here = _mm512_maskz_loadu_epi64(lanes, l->here + at);
  __m512i next = _mm512_maskz_loadu_epi64(lanes, l->next + at);
  __m512i sum =
      _mm512_xor_si512(_mm512_and_si512(here, here_mask), _mm512_and_si512(next, next_mask));
  unsigned odd = _mm512_test_epi64_mask(_mm512_popcnt_epi64(sum), _mm512_set1_epi64(1));
  return ((odd ^ odd >> 1) & 0x55) * RIBBON_SPREAD & RIBBON_LOWEST;
}

RIBBON_AVX512 bool nay__avx512_ribbon_look(const nay_ribbon_look *l) {
  __m512i here_mask = ribbon_mask(l->here_bits), next_mask = ribbon_mask(l->next_bits);
  uint64_t print = l->print, differ = 0;
  unsigned left = l->columns;
  size_t at = 0;
  if (left == 0) return true;
  for (; left > 4; left -= 4, at += 64, print >>= 1) {
    differ |= (ribbon_four(l, at, 4, here_mask, next_mask) ^ print) & RIBBON_LOWEST;
  }
  uint64_t wanted = RIBBON_LOWEST & ~(uint64_t)0 >> (64 - 16 * left);
  differ |= (ribbon_four(l, at, left, here_mask, next_mask) ^ print) & wanted;
  return differ == 0;
}

#endif /* NAY_HAS_X86_KERNELS */

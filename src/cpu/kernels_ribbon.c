/*
 * kernels_ribbon.c - eight columns of a ribbon filter at once.
 *
 * A column is 128 slots of a block, 16 bytes; those of one block follow each other. So one vector
 * of 512 bits is four columns of the block where a key begins, another the same columns of the next
 * block, and two ands, a xor and a fold leave the parity of each column in every bit of its lane.
 * Two such vectors, one in the even lanes and one in the odd, are folded together: no branch
 * depends on the key, where the plain code leaves after four columns and guesses wrong for half of
 * the keys.
 */
#include "cpu/kernels_simd.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define RIBBON_TARGET __attribute__((target("avx512f,avx512dq,bmi2")))
#define RIBBON_PAIRS 0x0003000300030003u /* of a fingerprint: the bits of columns c and c + 4 */

/* Which words of eight columns to load when there are n, and in which lanes their parities end. */
typedef struct ribbon_lanes {
  uint8_t low, high; /* columns 0 to 3, 4 to 7 */
  uint8_t valid;     /* column c in lane 2c, column c + 4 in lane 2c + 1 */
} ribbon_lanes;
static const ribbon_lanes ribbon_lanes_of[9] = {
    {0, 0, 0},          {0x03, 0, 0x01},    {0x0f, 0, 0x05},    {0x3f, 0, 0x15},   {0xff, 0, 0x55},
    {0xff, 0x03, 0x57}, {0xff, 0x0f, 0x5f}, {0xff, 0x3f, 0x7f}, {0xff, 0xff, 0xff}};

/* The slots of up to four columns that are the key's, summed over both blocks. */
RIBBON_TARGET static inline __m512i ribbon_sum(const nay_ribbon_spot *s, size_t at, __mmask8 lanes,
                                               __m512i here, __m512i next) {
  __m512i a = _mm512_and_si512(_mm512_maskz_loadu_epi64(lanes, s->here + at), here);
  __m512i b = _mm512_and_si512(_mm512_maskz_loadu_epi64(lanes, s->next + at), next);
  __m512i x = _mm512_xor_si512(a, b);
  return _mm512_xor_si512(x, _mm512_shuffle_epi32(x, _MM_PERM_BADC)); /* both words of a column */
}

/* Bit i: the parity of lane i. */
RIBBON_TARGET static inline uint32_t ribbon_parity(__m512i x) {
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 32));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 16));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 8));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 4));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 2));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 1));
  return _mm512_test_epi64_mask(x, _mm512_set1_epi64(1));
}

RIBBON_TARGET bool nay__ribbon_look_avx512(const nay_ribbon_spot *s) {
  /* the 128 coefficients begin in the lower (even) or in the upper (odd) words of their block */
  const unsigned even = 0x55, odd = 0xaa, upper = s->upper;
  __mmask8 outer = (__mmask8)(even << upper);
  __mmask8 second_here = (__mmask8)(odd & (upper - 1)),
           second_next = (__mmask8)(even & (0 - upper));
  __m512i second = _mm512_set1_epi64((int64_t)s->bits[1]);
  __m512i here = _mm512_mask_set1_epi64(_mm512_maskz_mov_epi64(second_here, second), outer,
                                        (int64_t)s->bits[0]);
  __m512i next = _mm512_mask_set1_epi64(_mm512_maskz_mov_epi64(second_next, second), outer,
                                        (int64_t)s->bits[2]);
  uint64_t print = s->print;
  uint32_t differ = 0;
  for (unsigned left = s->columns, at = 0;; left -= 8, at += 128, print >>= 2) {
    const ribbon_lanes *lanes = &ribbon_lanes_of[left < 8 ? left : 8];
    __m512i low = ribbon_sum(s, at, lanes->low, here, next);
    __m512i high = ribbon_sum(s, at + 64, lanes->high, here, next);
    uint32_t got = ribbon_parity(_mm512_mask_mov_epi64(low, (__mmask8)odd, high));
    differ |= (got ^ (uint32_t)_pext_u64(print, RIBBON_PAIRS)) & lanes->valid;
    if (left <= 8) break;
  }
  return differ == 0;
}

#endif

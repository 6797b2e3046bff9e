/*
 * ribbon_rows_avx512.h - the equations of eight keys of a ribbon filter, side by side. The formulas
 * are those of nay__burr_row_of (family/burr.h).
 */
#ifndef NAY_RIBBON_ROWS_H
#define NAY_RIBBON_ROWS_H

#include <immintrin.h>

#include "cpu/groups.h"

#define RIBBON_POPCNT \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vbmi2,avx512vpopcntdq,bmi,bmi2,popcnt")))

RIBBON_POPCNT static inline __m512i ribbon_set1(uint64_t x) {
  return _mm512_set1_epi64((int64_t)x);
}

/* Both halves of x * c, from products of 32 bits. */
RIBBON_POPCNT static inline __m512i ribbon_product(__m512i x, uint64_t c, __m512i *low) {
  __m512i c0 = ribbon_set1(c & 0xffffffffu), c1 = ribbon_set1(c >> 32);
  __m512i x1 = _mm512_srli_epi64(x, 32), low32 = ribbon_set1(0xffffffffu);
  __m512i a = _mm512_mul_epu32(x1, c0), b = _mm512_mul_epu32(x, c1);
  __m512i carry = _mm512_srli_epi64(_mm512_mul_epu32(x, c0), 32);
  carry = _mm512_add_epi64(carry, _mm512_and_si512(a, low32));
  carry = _mm512_add_epi64(carry, _mm512_and_si512(b, low32));
  __m512i high = _mm512_add_epi64(_mm512_mul_epu32(x1, c1), _mm512_srli_epi64(carry, 32));
  high = _mm512_add_epi64(high, _mm512_srli_epi64(a, 32));
  *low = _mm512_mullo_epi64(x, ribbon_set1(c));
  return _mm512_add_epi64(high, _mm512_srli_epi64(b, 32));
}

/* nay__fold */
RIBBON_POPCNT static inline __m512i ribbon_fold(__m512i x, uint64_t c) {
  __m512i low, high = ribbon_product(x, c, &low);
  return _mm512_xor_si512(high, low);
}

typedef struct ribbon_rows {
  __m512i lo, hi, fingerprint, start;
} ribbon_rows;

/* starts: how many first slots the part has. */
RIBBON_POPCNT static inline ribbon_rows ribbon_rows_of(__m512i x, __m512i seed, __m512i starts) {
  ribbon_rows r;
  __m512i m = ribbon_fold(_mm512_xor_si512(x, seed), NAY_REMIX);
  r.hi = ribbon_product(m, NAY_RIBBON_ROW, &r.lo);
  r.lo = _mm512_or_si512(r.lo, ribbon_set1(1));
  r.fingerprint = ribbon_fold(m, NAY_FINGERPRINT);
  r.start = _mm512_srli_epi64(_mm512_mul_epu32(m, starts), 32);
  return r;
}

#endif /* NAY_RIBBON_ROWS_H */

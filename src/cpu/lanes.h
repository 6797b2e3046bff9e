/*
 * lanes.h - the exclusive or of many words, in four lanes: word i goes to lane i % 4.
 *
 * Every x86-64 has SSE2, so there is nothing to dispatch. The number of loads limits this loop: two
 * words at a time are twice as fast.
 */
#ifndef NAY_LANES_H
#define NAY_LANES_H

#include "base/bytes.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define NAY_LANES_BYTES 32u

/* nay__lanes: of the nbytes at p, a multiple of 32; little-endian words, any alignment. */
static inline void nay__lanes(const uint8_t *p, size_t nbytes, uint64_t lane[4]) {
#if defined(__SSE2__)
  __m128i low = _mm_setzero_si128(), high = low;
  for (size_t i = 0; i < nbytes; i += NAY_LANES_BYTES) {
    low = _mm_xor_si128(low, _mm_loadu_si128((const __m128i *)(const void *)(p + i)));
    high = _mm_xor_si128(high, _mm_loadu_si128((const __m128i *)(const void *)(p + i + 16)));
  }
  _mm_storeu_si128((__m128i *)(void *)lane, low);
  _mm_storeu_si128((__m128i *)(void *)(lane + 2), high);
#else
  lane[0] = lane[1] = lane[2] = lane[3] = 0;
  for (size_t i = 0; i < nbytes; i += NAY_LANES_BYTES) {
    for (unsigned j = 0; j < 4; j++) lane[j] ^= nay__load64le(p + i + 8 * j);
  }
#endif
}

#endif /* NAY_LANES_H */

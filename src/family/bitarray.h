/*
 * bitarray.h - an array of bits in bytes, least significant bit first: the payload of every Bloom
 * filter.
 *
 *      bit  7 6 5 4 3 2 1 0   15 14 13 12 11 10 9 8  ...
 *           [   byte 0    ]   [      byte 1       ]
 *
 * Bit b is bit b % 8 of byte b / 8. As the arrays are bytes, they are the same on every machine.
 */
#ifndef NAY_BITARRAY_H
#define NAY_BITARRAY_H

#include "base/base.h"

static inline bool nay__bit_get(const uint8_t *bits, uint64_t b) {
  return (bits[b >> 3] >> (b & 7) & 1) != 0;
}

/* nay__bit_set: sets a bit and returns its previous value. */
static inline bool nay__bit_set(uint8_t *bits, uint64_t b) {
  bool before = nay__bit_get(bits, b);
  bits[b >> 3] |= (uint8_t)(1u << (b & 7));
  return before;
}

/* nay__bits_count: how many bits are set in len bytes. */
uint64_t nay__bits_count(const uint8_t *bits, size_t len);

/* nay__bits_count_or: how many bits are set in a | b. */
uint64_t nay__bits_count_or(const uint8_t *a, const uint8_t *b, size_t len);

void nay__bits_or(uint8_t *dst, const uint8_t *src, size_t len);
void nay__bits_and(uint8_t *dst, const uint8_t *src, size_t len);

/* nay__bits_next: the first bit at or after `from` that is set, or nbits. The array is whole words
 * of 8 bytes, and zero from nbits on. */
uint64_t nay__bits_next(const uint8_t *bits, uint64_t from, uint64_t nbits);

/* nay__bits_read: loads len bytes into the cache sequentially, at twice the bandwidth of random
 * access; for bytes that random accesses change next. */
void nay__bits_read(const uint8_t *bits, size_t len);

/* nay__bits_tail_clear: whether the bits from nbits to the end of len bytes are all zero. */
bool nay__bits_tail_clear(const uint8_t *bits, size_t len, uint64_t nbits);

#endif /* NAY_BITARRAY_H */

/*
 * select.h - the r-th set bit of a word (select), without PDEP.
 *
 * The counts of the bytes, summed up by a multiplication, tell in which byte it is; a table of 2
 * KiB has the set bits of each byte one after the other. About 25 instructions, no branch.
 */
#ifndef NAY_SELECT_H
#define NAY_SELECT_H

#include "base/bits.h"
#if defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

/* Byte i of entry b: the i-th set bit of byte b, alone; 0 when it has fewer. */
extern const uint64_t nay__ones_of_byte[256];

/* The number of set bits in each byte of x. */
static inline uint64_t nay__count_bytes(uint64_t x) {
#if defined(__aarch64__) && defined(__ARM_NEON)
  return vget_lane_u64(vreinterpret_u64_u8(vcnt_u8(vcreate_u8(x))), 0);
#else
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  return (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
#endif
}

/* nay__select64: the r-th set bit of x alone, from r = 0; x has more than r. */
static inline uint64_t nay__select64(uint64_t x, unsigned r) {
  const uint64_t ones = 0x0101010101010101u, tops = ones << 7;
  uint64_t sums = nay__count_bytes(x) * ones; /* byte i: set bits up to byte i, 64 at most */
  unsigned at = nay__ctz64((sums + (tops - ones) - r * ones) & tops) & 56; /* the first above r */
  unsigned before = (unsigned)(sums << 8 >> at) & 255;
  return (nay__ones_of_byte[x >> at & 255] >> ((r - before) * 8 & 56) & 255) << at;
}

#endif /* NAY_SELECT_H */

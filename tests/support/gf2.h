/*
 * gf2.h - the rank of bit vectors over GF(2). Vectors of independent, evenly distributed bits have
 * full rank: n + 64 of n bits have not once in 2^64. A rank that is lower means that the sum of
 * some of the bits is 0 in all vectors.
 */
#ifndef NAY_TEST_GF2_H
#define NAY_TEST_GF2_H

#include <string.h>

#include "base/bits.h"
#include "support/test.h"

#define GF2_WORDS 4u
#define GF2_BITS (64 * GF2_WORDS)

typedef struct gf2_vector {
  uint64_t word[GF2_WORDS];
} gf2_vector;

/* gf2_space: reduced vectors, by their lowest bit; zero it first. */
typedef struct gf2_space {
  gf2_vector by_bit[GF2_BITS];
  uint8_t has[GF2_BITS];
  unsigned rank;
} gf2_space;

/* gf2_add: whether the vector is no sum of those that were added before. */
static inline bool gf2_add(gf2_space *space, gf2_vector v) {
  for (unsigned w = 0; w < GF2_WORDS; w++) {
    while (v.word[w] != 0) {
      unsigned bit = 64 * w + nay__ctz64(v.word[w]);
      if (!space->has[bit]) {
        space->by_bit[bit] = v;
        space->has[bit] = 1;
        space->rank++;
        return true;
      }
      for (unsigned i = w; i < GF2_WORDS; i++) v.word[i] ^= space->by_bit[bit].word[i];
    }
  }
  return false;
}

#endif /* NAY_TEST_GF2_H */

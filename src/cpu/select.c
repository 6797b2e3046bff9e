/* select.c - the set bits of each byte. */
#include "cpu/select.h"

/*
 * From the set bits of b to those of 2 b and of 2 b + 1: all move up by one, and below the latter
 * comes bit 0. Eight times both, from those of 0, which has none.
 */
#define SELECT_EVEN(b) ((uint64_t)(b) << 1)
#define SELECT_ODD(b) ((uint64_t)(b) << 9 | 1)
#define SELECT_2(b) SELECT_EVEN(b), SELECT_ODD(b)
#define SELECT_4(b) SELECT_2(SELECT_EVEN(b)), SELECT_2(SELECT_ODD(b))
#define SELECT_8(b) SELECT_4(SELECT_EVEN(b)), SELECT_4(SELECT_ODD(b))
#define SELECT_16(b) SELECT_8(SELECT_EVEN(b)), SELECT_8(SELECT_ODD(b))
#define SELECT_32(b) SELECT_16(SELECT_EVEN(b)), SELECT_16(SELECT_ODD(b))
#define SELECT_64(b) SELECT_32(SELECT_EVEN(b)), SELECT_32(SELECT_ODD(b))
#define SELECT_128(b) SELECT_64(SELECT_EVEN(b)), SELECT_64(SELECT_ODD(b))

const uint64_t nay__ones_of_byte[256] = {SELECT_128(SELECT_EVEN(0)), SELECT_128(SELECT_ODD(0))};

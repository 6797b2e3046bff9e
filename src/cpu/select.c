/* select.c - the table of select.h. */
#include "cpu/select.h"

/*
 * From the set bits of b to those of 2 b and of 2 b + 1: all move up by one, and below the latter
 * comes bit 0. Eight times both, from those of 0, which has none.
 */
#define NAY_SELECT_EVEN(b) ((uint64_t)(b) << 1)
#define NAY_SELECT_ODD(b) ((uint64_t)(b) << 9 | 1)
#define NAY_SELECT_2(b) NAY_SELECT_EVEN(b), NAY_SELECT_ODD(b)
#define NAY_SELECT_4(b) NAY_SELECT_2(NAY_SELECT_EVEN(b)), NAY_SELECT_2(NAY_SELECT_ODD(b))
#define NAY_SELECT_8(b) NAY_SELECT_4(NAY_SELECT_EVEN(b)), NAY_SELECT_4(NAY_SELECT_ODD(b))
#define NAY_SELECT_16(b) NAY_SELECT_8(NAY_SELECT_EVEN(b)), NAY_SELECT_8(NAY_SELECT_ODD(b))
#define NAY_SELECT_32(b) NAY_SELECT_16(NAY_SELECT_EVEN(b)), NAY_SELECT_16(NAY_SELECT_ODD(b))
#define NAY_SELECT_64(b) NAY_SELECT_32(NAY_SELECT_EVEN(b)), NAY_SELECT_32(NAY_SELECT_ODD(b))
#define NAY_SELECT_128(b) NAY_SELECT_64(NAY_SELECT_EVEN(b)), NAY_SELECT_64(NAY_SELECT_ODD(b))

const uint64_t nay__ones_of_byte[256] = {NAY_SELECT_128(NAY_SELECT_EVEN(0)),
                                         NAY_SELECT_128(NAY_SELECT_ODD(0))};

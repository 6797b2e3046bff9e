/* ribbon_lanes.h - eight columns of a ribbon filter in the lanes of x86 vectors. */
#ifndef NAY_RIBBON_LANES_H
#define NAY_RIBBON_LANES_H

#include "cpu/groups.h"

#define RIBBON_PAIRS 0x0003000300030003u /* of a fingerprint: the bits of columns c and c + 4 */

/* Which words of eight columns to load when there are n, and in which lanes their parities end. */
typedef struct ribbon_lanes {
  uint8_t low, high; /* columns 0 to 3, 4 to 7 */
  uint8_t valid;     /* column c in lane 2c, column c + 4 in lane 2c + 1 */
} ribbon_lanes;
static const ribbon_lanes ribbon_lanes_of[9] = {
    {0, 0, 0},          {0x03, 0, 0x01},    {0x0f, 0, 0x05},    {0x3f, 0, 0x15},   {0xff, 0, 0x55},
    {0xff, 0x03, 0x57}, {0xff, 0x0f, 0x5f}, {0xff, 0x3f, 0x7f}, {0xff, 0xff, 0xff}};

/* The order of columns, in each byte of parities in the order of lanes. */
static inline uint64_t ribbon_by_columns(uint64_t lanes) {
  uint64_t swap = (lanes ^ lanes >> 1) & 0x2222222222222222u;
  lanes ^= swap ^ swap << 1;
  swap = (lanes ^ lanes >> 2) & 0x0c0c0c0c0c0c0c0cu;
  return lanes ^ swap ^ swap << 2;
}

/* For the columns that are left. */
#define RIBBON_LANES(left) (ribbon_lanes_of[(left) < 8 ? (left) : 8])

#endif /* NAY_RIBBON_LANES_H */

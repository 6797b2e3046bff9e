/*
 * crc32c.h - CRC-32C (Castagnoli), the checksum of LevelDB's and RocksDB's blocks.
 *
 * All of them continue a checksum: nay__crc32c_x(nay__crc32c_x(0, a), b) is that of a followed by
 * b. cpu/crc32c.h has the one that is fastest here.
 */
#ifndef NAY_CRC32C_H
#define NAY_CRC32C_H

#include "base/bits.h"

/* nay__crc32c_scalar: slicing by eight bytes, on any CPU. */
uint32_t nay__crc32c_scalar(uint32_t crc, const uint8_t *bytes, size_t len);

/*
 * nay__crc32c_mask: how a checksum is stored next to the bytes it is of. The CRC of bytes that
 * contain their own CRC is the same for all contents; a rotation and a constant undo that.
 */
static inline uint32_t nay__crc32c_mask(uint32_t crc) { return nay__rotr32(crc, 15) + 0xa282ead8u; }

#endif /* NAY_CRC32C_H */

/*
 * crc32c.h - CRC-32C (Castagnoli), the checksum of LevelDB's and RocksDB's blocks.
 *
 * Every implementation continues a checksum: nay__crc32c_x(nay__crc32c_x(0, a), b) is the CRC of a
 * followed by b. cpu/crc32c.h picks the fastest for this CPU.
 */
#ifndef NAY_CRC32C_H
#define NAY_CRC32C_H

#include "base/bits.h"

/* nay__crc32c_scalar: slicing-by-8, on any CPU. */
uint32_t nay__crc32c_scalar(uint32_t crc, const uint8_t *bytes, size_t len);

/*
 * nay__crc32c_mask: the masked form in which LevelDB stores a CRC. The CRC of bytes that end in
 * their own CRC is a constant; a rotation and an addition avoid that.
 */
static inline uint32_t nay__crc32c_mask(uint32_t crc) { return nay__rotr32(crc, 15) + 0xa282ead8u; }

#endif /* NAY_CRC32C_H */

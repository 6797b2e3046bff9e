/*
 * crc32c.h - CRC-32C (Castagnoli), the checksum of LevelDB's and RocksDB's blocks.
 *
 * Every implementation continues a checksum: f(f(0, a), b) is the CRC of a followed by b.
 *
 *   crc32c.c      slicing-by-8 on any CPU, and the choice of the fastest implementation
 *   crc32c_hw.c   the instructions of x86 and Arm
 */
#ifndef NAY_SST_BLOCK_CRC32C_H
#define NAY_SST_BLOCK_CRC32C_H

#include "base/bits.h"

/* NAY_CRC32C_HAS_X86: crc32c_hw.c has the instructions of SSE 4.2, which the CPU may lack. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define NAY_CRC32C_HAS_X86 1
#else
#define NAY_CRC32C_HAS_X86 0
#endif

typedef uint32_t (*nay_crc32c)(uint32_t crc, const uint8_t *bytes, size_t len);

/* nay_sst__crc32c: continues a checksum, by the fastest implementation for this CPU. */
uint32_t nay_sst__crc32c(uint32_t crc, const uint8_t *bytes, size_t len);

/* nay_sst__crc32c_at: the i-th implementation that this CPU can run, slicing-by-8 first; NULL past
 * the last. */
nay_crc32c nay_sst__crc32c_at(size_t i);

uint32_t nay_sst__crc32c_scalar(uint32_t crc, const uint8_t *bytes, size_t len);
uint32_t nay_sst__crc32c_sse42(uint32_t crc, const uint8_t *bytes, size_t len);
uint32_t nay_sst__crc32c_arm(uint32_t crc, const uint8_t *bytes, size_t len);

/*
 * nay_sst__crc32c_mask: the masked CRC that LevelDB stores. A block whose data holds an unmasked
 * CRC of its own would always have the same CRC; a rotation and an addition avoid that.
 */
static inline uint32_t nay_sst__crc32c_mask(uint32_t crc) {
  return nay__rotr32(crc, 15) + 0xa282ead8u;
}

#endif /* NAY_SST_BLOCK_CRC32C_H */

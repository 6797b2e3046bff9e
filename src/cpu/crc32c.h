/* crc32c.h - CRC-32C with the instructions of the CPU. */
#ifndef NAY_CPU_CRC32C_H
#define NAY_CPU_CRC32C_H

#include "base/crc32c.h"

typedef uint32_t (*nay_crc32c)(uint32_t crc, const uint8_t *bytes, size_t len);

/* nay__crc32c: continues a checksum, by the fastest implementation for this CPU. */
uint32_t nay__crc32c(uint32_t crc, const uint8_t *bytes, size_t len);

/* nay__crc32c_at: the i-th implementation that this CPU can run, scalar first; NULL past the last.
 */
nay_crc32c nay__crc32c_at(size_t i);

/* those of crc32c_hw.c; only where dispatch.c says so */
uint32_t nay__crc32c_sse42(uint32_t crc, const uint8_t *bytes, size_t len);
uint32_t nay__crc32c_arm(uint32_t crc, const uint8_t *bytes, size_t len);

#endif /* NAY_CPU_CRC32C_H */

/* crc32.h - CRC-32 (IEEE, the one of zlib and Ethernet). */
#ifndef NAY_CRC32_H
#define NAY_CRC32_H

#include "base/base.h"

uint32_t nay__crc32(const uint8_t *bytes, size_t len);

#endif /* NAY_CRC32_H */

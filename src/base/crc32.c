/* crc32.c - CRC-32, four bits at a time: a table of 16 words is enough for a trailer. */
#include "base/crc32.h"

uint32_t nay__crc32(const uint8_t *bytes, size_t len) {
  static const uint32_t table[16] = {0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu,
                                     0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu,
                                     0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
                                     0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};
  uint32_t crc = ~0u;
  for (size_t i = 0; i < len; i++) {
    crc ^= bytes[i];
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return ~crc;
}

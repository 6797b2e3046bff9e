/* seal.h - recomputes the checksum of a Redis DUMP, as an attacker would. */
#ifndef NAY_TEST_SEAL_H
#define NAY_TEST_SEAL_H

#include <stddef.h>
#include <stdint.h>

/* CRC-64 (Jones), bit by bit: not the code under test. */
static inline void seal_dump(uint8_t *bytes, size_t len) {
  uint64_t crc = 0;
  if (len < 8) return;
  for (size_t i = 0; i < len - 8; i++) {
    crc ^= bytes[i];
    for (unsigned b = 0; b < 8; b++) crc = crc >> 1 ^ (0x95ac9329ac4bc9b5u & (0 - (crc & 1)));
  }
  for (unsigned i = 0; i < 8; i++) bytes[len - 8 + i] = (uint8_t)(crc >> (8 * i));
}

#endif /* NAY_TEST_SEAL_H */

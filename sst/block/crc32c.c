/*
 * crc32c.c - CRC-32C by slicing-by-8, and the fastest implementation for this CPU.
 *
 * Row k of the table has the CRC of one byte followed by k zero bytes, so eight rows together
 * advance the register by eight bytes. A row is linear over GF(2): entry b is the xor of the
 * entries of the bits of b, and the source lists those eight. A test derives them again.
 */
#include "block/crc32c.h"

#include "base/bytes.h"

#define CRC_BIT(i, bit, value) (((i) >> (bit)&1u) != 0 ? (value) : 0u)
#define CRC_SUM(i, a, b, c, d, e, f, g, h)                                                        \
  (CRC_BIT(i, 0, a) ^ CRC_BIT(i, 1, b) ^ CRC_BIT(i, 2, c) ^ CRC_BIT(i, 3, d) ^ CRC_BIT(i, 4, e) ^ \
   CRC_BIT(i, 5, f) ^ CRC_BIT(i, 6, g) ^ CRC_BIT(i, 7, h))
#define CRC_4(i, ...)                                                                             \
  CRC_SUM((i) + 0u, __VA_ARGS__), CRC_SUM((i) + 1u, __VA_ARGS__), CRC_SUM((i) + 2u, __VA_ARGS__), \
      CRC_SUM((i) + 3u, __VA_ARGS__)
#define CRC_16(i, ...)                                                                      \
  CRC_4((i) + 0u, __VA_ARGS__), CRC_4((i) + 4u, __VA_ARGS__), CRC_4((i) + 8u, __VA_ARGS__), \
      CRC_4((i) + 12u, __VA_ARGS__)
#define CRC_64(i, ...)                                                                           \
  CRC_16((i) + 0u, __VA_ARGS__), CRC_16((i) + 16u, __VA_ARGS__), CRC_16((i) + 32u, __VA_ARGS__), \
      CRC_16((i) + 48u, __VA_ARGS__)
#define CRC_ROW(...)                                                              \
  {                                                                               \
    CRC_64(0u, __VA_ARGS__), CRC_64(64u, __VA_ARGS__), CRC_64(128u, __VA_ARGS__), \
        CRC_64(192u, __VA_ARGS__)                                                 \
  }

static const uint32_t crc_rows[8][256] = {
    CRC_ROW(0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu, 0x105ec76fu, 0x20bd8edeu,
            0x417b1dbcu, 0x82f63b78u),
    CRC_ROW(0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u, 0x3fc5f181u, 0x7f8be302u,
            0xff17c604u, 0xfbc3faf9u),
    CRC_ROW(0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u, 0x70a27d8au, 0xe144fb14u,
            0xc76580d9u, 0x8b277743u),
    CRC_ROW(0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u, 0xe964b13du, 0xd725148bu,
            0xaba65fe7u, 0x52a0c93fu),
    CRC_ROW(0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u, 0x8f2261d3u, 0x1ba8b557u,
            0x37516aaeu, 0x6ea2d55cu),
    CRC_ROW(0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu, 0xc00c303eu, 0x85f4168du,
            0x0e045bebu, 0x1c08b7d6u),
    CRC_ROW(0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u, 0x9c5bfaa6u, 0x3d5b83bdu,
            0x7ab7077au, 0xf56e0ef4u),
    CRC_ROW(0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau, 0x847609b4u, 0x0d006599u,
            0x1a00cb32u, 0x34019664u),
};

static uint32_t crc_word(uint32_t word, unsigned row) {
  return crc_rows[row][word & 0xff] ^ crc_rows[row - 1][word >> 8 & 0xff] ^
         crc_rows[row - 2][word >> 16 & 0xff] ^ crc_rows[row - 3][word >> 24];
}

uint32_t nay_sst__crc32c_scalar(uint32_t crc, const uint8_t *bytes, size_t len) {
  crc = ~crc;
  for (; len >= 8; bytes += 8, len -= 8) {
    crc = crc_word(crc ^ nay__load32le(bytes), 7) ^ crc_word(nay__load32le(bytes + 4), 3);
  }
  for (; len > 0; bytes++, len--) crc = crc >> 8 ^ crc_rows[0][(crc ^ *bytes) & 0xff];
  return ~crc;
}

nay_crc32c nay_sst__crc32c_at(size_t i) {
  nay_crc32c ways[2] = {nay_sst__crc32c_scalar};
  size_t n = 1;
#if NAY_CRC32C_HAS_X86
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) {
    ways[n++] = nay_sst__crc32c_sse42;
  }
#elif defined(__ARM_FEATURE_CRC32)
  ways[n++] = nay_sst__crc32c_arm; /* decided by the compiler's target: ARMv8.1 and later have it */
#endif
  return i < n ? ways[i] : NULL;
}

uint32_t nay_sst__crc32c(uint32_t crc, const uint8_t *bytes, size_t len) {
  nay_crc32c best = nay_sst__crc32c_at(1);
  return best != NULL ? best(crc, bytes, len) : nay_sst__crc32c_scalar(crc, bytes, len);
}

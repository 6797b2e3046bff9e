/*
 * crc32c_hw.c - CRC-32C by instructions: SSE 4.2 with carry-less multiplication, and ARMv8.
 *
 * The instruction takes 8 bytes and has a latency of three cycles, so three interleaved streams
 * keep it busy. To join two streams, the CRC of the first is advanced over as many zero bytes as
 * the second has: a product with x^(8 n) mod P. The carry-less product of reflected polynomials
 * lacks one factor x, and reducing it with the instruction itself adds x^32, so the constant for n
 * bytes is x^(8 n - 33).
 */
#include "base/bytes.h"
#include "block/crc32c.h"

#if NAY_CRC32C_HAS_X86

#include <immintrin.h>

#define CRC_STREAM 256u        /* a block of 4 KiB is five rounds and a rest */
#define CRC_SKIP_1 0xb9e02b86u /* x^(8 * 256 - 33) mod P, reflected */
#define CRC_SKIP_2 0xdd7e3b0cu /* x^(8 * 512 - 33) */
#define CRC_TARGET __attribute__((target("sse4.2,pclmul")))

CRC_TARGET static inline uint64_t crc_load(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v); /* x86 is little-endian */
  return v;
}

CRC_TARGET static inline uint64_t crc_advance(uint64_t crc, uint64_t constant) {
  __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc),
                                         _mm_cvtsi64_si128((long long)constant), 0);
  return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

CRC_TARGET uint32_t nay_sst__crc32c_sse42(uint32_t start, const uint8_t *p, size_t len) {
  uint64_t crc = ~start;
  for (; len >= 3 * CRC_STREAM; p += 3 * CRC_STREAM, len -= 3 * CRC_STREAM) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < CRC_STREAM; i += 8) {
      crc = _mm_crc32_u64(crc, crc_load(p + i));
      second = _mm_crc32_u64(second, crc_load(p + CRC_STREAM + i));
      third = _mm_crc32_u64(third, crc_load(p + 2 * CRC_STREAM + i));
    }
    crc = crc_advance(crc, CRC_SKIP_2) ^ crc_advance(second, CRC_SKIP_1) ^ third;
  }
  for (; len >= 8; p += 8, len -= 8) crc = _mm_crc32_u64(crc, crc_load(p));
  uint32_t low = (uint32_t)crc;
  for (; len > 0; p++, len--) low = _mm_crc32_u8(low, *p);
  return ~low;
}

#endif

#if defined(__ARM_FEATURE_CRC32)

#include <arm_acle.h>

#include "base/bytes.h"

uint32_t nay_sst__crc32c_arm(uint32_t crc, const uint8_t *p, size_t len) {
  crc = ~crc;
  for (; len >= 8; p += 8, len -= 8) crc = __crc32cd(crc, nay__load64le(p));
  for (; len > 0; p++, len--) crc = __crc32cb(crc, *p);
  return ~crc;
}

#endif

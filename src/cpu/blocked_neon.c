/*
 * blocked_neon.c - tests of the blocked filter with NEON.
 *
 * NEON's table lookup takes a 64-byte table, which is a block: one instruction fetches the byte of
 * each of sixteen probes, and a test-bits of it with 1 << (position % 8) decides them all.
 *
 * Adds take the scalar group. A pattern of seven bits in the four registers of a block needs, for
 * each bit and register, a comparison, an and, and an or: 142 instructions with the answer, 98 of
 * them for the vector units, of which a Neoverse N1 has two. Seven bytes read, or-ed and written
 * take 77. Shifting lanes by more than their width, as on x86, does not help: NEON uses the low 8
 * bits of the count.
 */
#include "cpu/block.h"
#include "cpu/groups.h"
#include "cpu/specialize.h"

#if NAY_HAS_NEON_KERNELS

#include <arm_neon.h>

static const uint32_t blocked_neon_powers[16] = {NAY_G32_POWS_0_TO_15};

/* Lanes from k on are no probes: 0xff makes them "set". */
static const uint8_t blocked_neon_beyond[32] = {
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* The top 9 bits of four products at a time, narrowed to 16 bits. */
NAY_INLINE uint16x8_t blocked_neon_positions(uint32x4_t h, unsigned first) {
  uint32x4_t a = vmulq_u32(h, vld1q_u32(blocked_neon_powers + first));
  uint32x4_t b = vmulq_u32(h, vld1q_u32(blocked_neon_powers + first + 4));
  return vcombine_u16(vmovn_u32(vshrq_n_u32(a, NAY_BLOCK_BIT_SHIFT)),
                      vmovn_u32(vshrq_n_u32(b, NAY_BLOCK_BIT_SHIFT)));
}

NAY_INLINE bool blocked_neon_test_k(const nay_bits *b, uint64_t hash, uint32_t k) {
  const uint8_t *block = nay__block_of(b, hash);
  uint8x16x4_t table = {
      {vld1q_u8(block), vld1q_u8(block + 16), vld1q_u8(block + 32), vld1q_u8(block + 48)}};
  uint32_t h = (uint32_t)hash, left = k;
  for (;; left -= 16, h *= NAY_G32_POW_16) {
    uint16x8_t p0 = blocked_neon_positions(vdupq_n_u32(h), 0),
               p1 = blocked_neon_positions(vdupq_n_u32(h), 8);
    uint8x16_t index = vcombine_u8(vshrn_n_u16(p0, 3), vshrn_n_u16(p1, 3));
    uint8x16_t low = vcombine_u8(vmovn_u16(p0), vmovn_u16(p1));
    uint8x16_t shift = vandq_u8(low, vdupq_n_u8(7));
    uint8x16_t mask = vshlq_u8(vdupq_n_u8(1), vreinterpretq_s8_u8(shift));
    uint8x16_t set = vtstq_u8(vqtbl4q_u8(table, index), mask);
    if (left < 16) set = vorrq_u8(set, vld1q_u8(blocked_neon_beyond + 16 - left));
    if (vminvq_u8(set) == 0) return false;
    if (left <= 16) return true;
  }
}

#define BLOCKED(name) blocked_neon_##name
#define BLOCKED_TARGET
#define BLOCKED_TEST
#include "cpu/blocked_template.h"

const nay_blocked_kernels nay__blocked_neon = {blocked_neon_test, blocked_neon_test64};

#endif /* NAY_HAS_NEON_KERNELS */

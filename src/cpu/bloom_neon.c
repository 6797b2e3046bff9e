/*
 * bloom_neon.c - the classic Bloom filter with NEON: positions four at a time.
 *
 * As bloom_avx2.c: of a key's probes four take the vector units, which have products of 32 by 32
 * bits, and the others the integer multiplier, at the same time. By Arm's guide a Neoverse N1
 * starts a 64-bit product every third cycle and the high half of one every fourth: the seven
 * positions of a key are about 46 cycles of the one unit that can do them. Three are 18, and the
 * four in vectors 10 of another unit. Cores with faster multipliers (Neoverse V1, Apple's) run
 * about ten instructions more. Counted, not timed: only qemu was available. Batches test two bits
 * of each key with scalar code, as bloom_scalar.c does: NEON has no gathers.
 */
#include "cpu/bloom_common.h"

#if NAY_HAS_NEON_KERNELS

#include <arm_neon.h>

/* G^0 to G^7, low and high halves apart. */
typedef struct bloom_neon_halves {
  uint32_t low[8], high[8];
} bloom_neon_halves;

static const bloom_neon_halves bloom_neon_powers = {
    {(uint32_t)NAY_G64_POW_0, (uint32_t)NAY_G64_POW_1, (uint32_t)NAY_G64_POW_2,
     (uint32_t)NAY_G64_POW_3, (uint32_t)NAY_G64_POW_4, (uint32_t)NAY_G64_POW_5,
     (uint32_t)NAY_G64_POW_6, (uint32_t)NAY_G64_POW_7},
    {NAY_G64_POW_0 >> 32, NAY_G64_POW_1 >> 32, NAY_G64_POW_2 >> 32, NAY_G64_POW_3 >> 32,
     NAY_G64_POW_4 >> 32, NAY_G64_POW_5 >> 32, NAY_G64_POW_6 >> 32, NAY_G64_POW_7 >> 32}};

/* reduce(h * G^i, nbits) for i from `first` on. */
NAY_INLINE uint32x4_t bloom_neon_four(uint64_t h, unsigned first, uint32_t nbits) {
  uint32x4_t low = vld1q_u32(bloom_neon_powers.low + first);
  uint32x4_t high = vld1q_u32(bloom_neon_powers.high + first);
  uint32x4_t cross = vmlaq_n_u32(vmulq_n_u32(high, (uint32_t)h), low, (uint32_t)(h >> 32));
  uint64x2_t a = vmull_n_u32(vget_low_u32(low), (uint32_t)h);
  uint64x2_t b = vmull_high_n_u32(low, (uint32_t)h);
  uint32x4_t ab = vreinterpretq_u32_u64(a), cd = vreinterpretq_u32_u64(b);
  low = vuzp1q_u32(ab, cd);
  high = vaddq_u32(vuzp2q_u32(ab, cd), cross);
  a = vshrq_n_u64(vmull_n_u32(vget_low_u32(low), nbits), 32);
  b = vshrq_n_u64(vmull_high_n_u32(low, nbits), 32);
  a = vmlal_n_u32(a, vget_low_u32(high), nbits);
  b = vmlal_high_n_u32(b, high, nbits);
  return vuzp2q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
}

NAY_INLINE void bloom_neon_out(uint32x4_t at, uint64_t to[4]) {
  to[0] = vgetq_lane_u32(at, 0);
  to[1] = vgetq_lane_u32(at, 1);
  to[2] = vgetq_lane_u32(at, 2);
  to[3] = vgetq_lane_u32(at, 3);
}

/* The last four by a vector, those before them by scalar products. k is at most 8, which gcc does
 * not see. */
NAY_INLINE nay_bloom_locations bloom_neon_locate(const nay_bits *b, uint64_t h, uint32_t k) {
  nay_bloom_locations p = {{0}};
  nay__bloom_locate_scalar(b, h, k < 4 ? k : k - 4, &p, k < 4 ? 0 : 4);
  if (k >= 4 && k <= 8) bloom_neon_out(bloom_neon_four(h, k - 4, (uint32_t)b->nunits), p.at);
  return p;
}

NAY_INLINE nay_bloom_locations bloom_neon_locate8(const nay_bits *b, uint64_t h) {
  nay_bloom_locations p;
  nay__bloom_locate_scalar(b, h, 4, &p, 0);
  bloom_neon_out(bloom_neon_four(h, 4, (uint32_t)b->nunits), p.at + 4);
  return p;
}

/* The numbers of the keys whose first `probes` bits are set; how many. */
NAY_INLINE unsigned bloom_neon_survivors(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                         uint32_t probes, uint8_t who[64 + 8]) {
  unsigned left = 0;
  for (unsigned i = 0; i < n; i++) {
    who[left] = (uint8_t)i;
    left += nay__bloom_test_all(b, hashes[i], probes);
  }
  return left;
}

#define BLOOM(name) bloom_neon_##name
#define BLOOM_TARGET
#define BLOOM_SURVIVORS
#include "cpu/bloom_template.h"

const nay_bloom_kernels nay__bloom_neon = {
    .test = bloom_neon_test,
    .choose_test = bloom_neon_choose_test,
    .test64 = bloom_neon_test64,
    .add = bloom_neon_add,
    .choose_add_blind = bloom_neon_choose_add_blind,
    .add64 = bloom_neon_add64,
};

#endif /* NAY_HAS_NEON_KERNELS */

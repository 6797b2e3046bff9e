/*
 * ribbon_neon.c - eight columns of a ribbon filter on 64-bit Arm.
 *
 * A vector is one column. The words of two columns are summed across into one vector, bits are
 * counted byte by byte, and three rounds of adding neighbours leave a byte for each of eight
 * columns, to be compared with as many bytes of the fingerprint.
 */
#include "cpu/groups.h"

#if NAY_HAS_NEON_KERNELS

#include <arm_neon.h>

typedef struct ribbon_neon_masks {
  uint64x2_t here, next;
} ribbon_neon_masks;

static inline ribbon_neon_masks ribbon_neon_masks_of(const nay_ribbon_location *s) {
  uint64x1_t first = vcreate_u64(s->bits[0]), second = vcreate_u64(s->bits[1]);
  uint64x1_t third = vcreate_u64(s->bits[2]), none = vcreate_u64(0);
  if (s->upper) return (ribbon_neon_masks){vcombine_u64(none, first), vcombine_u64(second, third)};
  return (ribbon_neon_masks){vcombine_u64(first, second), vcombine_u64(third, none)};
}

static inline uint64x2_t ribbon_neon_sum(const nay_ribbon_location *s, size_t at,
                                         const ribbon_neon_masks *m) {
  uint64x2_t here = vreinterpretq_u64_u8(vld1q_u8(s->here + at));
  uint64x2_t next = vreinterpretq_u64_u8(vld1q_u8(s->next + at));
  return veorq_u64(vandq_u64(here, m->here), vandq_u64(next, m->next));
}

/* Counts of the bits of two columns, eight bytes each. */
static inline uint8x16_t ribbon_neon_counts(uint64x2_t a, uint64x2_t b) {
  return vcntq_u8(vreinterpretq_u8_u64(veorq_u64(vzip1q_u64(a, b), vzip2q_u64(a, b))));
}

/* Byte c: bit 0 is the parity of column first + c, 0 for a column that is not there. */
static inline uint8x8_t ribbon_neon_eight(const nay_ribbon_location *s, unsigned first,
                                          const ribbon_neon_masks *masks) {
  unsigned left = s->columns - first < 8 ? s->columns - first : 8;
  uint64x2_t sum[8];
  for (unsigned c = 0; c < 8; c++) {
    sum[c] = c < left ? ribbon_neon_sum(s, (size_t)(first + c) * 16, masks) : vdupq_n_u64(0);
  }
  uint8x16_t low =
      vpaddq_u8(ribbon_neon_counts(sum[0], sum[1]), ribbon_neon_counts(sum[2], sum[3]));
  uint8x16_t high =
      vpaddq_u8(ribbon_neon_counts(sum[4], sum[5]), ribbon_neon_counts(sum[6], sum[7]));
  uint8x16_t all = vpaddq_u8(low, high);
  return vpadd_u8(vget_low_u8(all), vget_high_u8(all));
}

/* Byte c: bit 0 is the fingerprint's for column c of eight; other bits are undefined. */
static inline uint8x8_t ribbon_neon_fingerprint(uint64_t fingerprint) {
  return vmovn_u16(vcombine_u16(vcreate_u16(fingerprint), vcreate_u16(fingerprint >> 1)));
}

static bool ribbon_neon_test(const nay_ribbon_location *s) {
  static const uint8_t wanted[16] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  ribbon_neon_masks masks = ribbon_neon_masks_of(s);
  uint8x8_t differ = vdup_n_u8(0);
  uint64_t fingerprint = s->fingerprint;
  for (unsigned first = 0; first < s->columns; first += 8, fingerprint >>= 2) {
    unsigned left = s->columns - first < 8 ? s->columns - first : 8;
    uint8x8_t got = ribbon_neon_eight(s, first, &masks);
    got = vand_u8(veor_u8(got, ribbon_neon_fingerprint(fingerprint)), vld1_u8(wanted + 8 - left));
    differ = vorr_u8(differ, got);
  }
  return vget_lane_u64(vreinterpret_u64_u8(differ), 0) == 0;
}

static uint64_t ribbon_neon_word(const nay_ribbon_location *s) {
  static const int8_t places[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  ribbon_neon_masks masks = ribbon_neon_masks_of(s);
  uint64_t word = 0;
  for (unsigned first = 0; first < s->columns; first += 8) {
    uint8x8_t bits = vand_u8(ribbon_neon_eight(s, first, &masks), vdup_n_u8(1));
    word |= (uint64_t)vaddv_u8(vshl_u8(bits, vld1_s8(places))) << first;
  }
  return word;
}

const nay_ribbon_kernels nay__ribbon_neon = {.test = ribbon_neon_test, .sum = ribbon_neon_word};

#endif /* NAY_HAS_NEON_KERNELS */

/*
 * kernels_aim.c - where 64 keys lie in a fuse or cuckoo filter, computed side by side.
 *
 * A probe of these families is mostly multiplication: a dozen of them choose its places, and only
 * then memory is looked at. Eight keys fit into a vector of 512 bits, whose instructions multiply
 * 64 by 64 bits. Written as plain loops over words, which the compiler turns into vectors: measured
 * in the cache, fuse goes from 2.9 to 1.9 ns a key. Vectors of 256 bits have no such multiplication
 * and are slower than one key at a time (4.2 ns), so there is no table for them.
 *
 * The formulas are those of family/fuse.h and family/cuckoo.c, in halves of 32 bits where those
 * have products of 128; batches and single probes are compared by the contract tests.
 */
#include "cpu/kernels_simd.h"

#if NAY_HAS_X86_KERNELS

#define AIM_TARGET __attribute__((target("avx512f,avx512dq")))
#define AIM_LOW(x) ((x)&0xffffffffu)

/* floor(x * n / 2^64), n below 2^32. */
static inline uint64_t aim_reduce(uint64_t x, uint64_t n) {
  return ((x >> 32) * n + (AIM_LOW(x) * n >> 32)) >> 32;
}

/* High half xor low half of x * 0xd6e8feb86659fd93, as nay__remix. */
static inline uint64_t aim_remix(uint64_t x) {
  const uint64_t c = 0xd6e8feb86659fd93u;
  uint64_t high = x >> 32, low = AIM_LOW(x);
  uint64_t a = high * AIM_LOW(c), b = low * (c >> 32);
  uint64_t middle = (low * AIM_LOW(c) >> 32) + AIM_LOW(a) + AIM_LOW(b);
  return (high * (c >> 32) + (a >> 32) + (b >> 32) + (middle >> 32)) ^ x * c;
}

AIM_TARGET void nay__fuse_aim64_avx512(const nay_fuse_aim *aim, const uint64_t *x,
                                       nay_fuse_spots *spots) {
  uint64_t span = aim->span, segment = aim->segment, mask = segment - 1, factor = aim->factor;
  uint64_t print = ((uint64_t)1 << aim->bits) - 1;
  for (unsigned i = 0; i < 64; i++) {
    uint64_t m = aim_remix(x[i]), at = aim_reduce(m, span), w = m * factor;
    spots->at[0][i] = (uint32_t)at;
    spots->at[1][i] = (uint32_t)((at + segment) ^ (w >> 48 & mask));
    spots->at[2][i] = (uint32_t)((at + 2 * segment) ^ (w >> 32 & mask));
    spots->at[3][i] = (uint32_t)((at + 3 * segment) ^ (w * 0xa0761d6478bd642fu >> 48 & mask));
    spots->print[i] = (uint32_t)(w & print);
  }
}

AIM_TARGET void nay__cuckoo_aim64_avx512(const nay_cuckoo_aim *aim, const uint64_t *hashes,
                                         nay_cuckoo_spots *spots) {
  uint64_t m = aim->nbuckets, mask = aim->tag_mask;
  for (unsigned i = 0; i < 64; i++) {
    uint64_t tag = hashes[i] & mask, home = aim_reduce(hashes[i], m);
    tag += tag == 0;
    uint64_t r = aim_reduce(tag * tag * 0x9e3779b97f4a7c15u, m) | 1;
    spots->tag[i] = (uint32_t)tag;
    spots->home[i] = (uint32_t)home;
    spots->other[i] = (uint32_t)(r - home + (r < home ? m : 0));
  }
}

#endif

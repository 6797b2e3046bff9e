/* bloom_common.h - what the scalar and the vector kernels of the classic Bloom filter share. */
#ifndef NAY_BLOOM_COMMON_H
#define NAY_BLOOM_COMMON_H

#include "base/bits.h"
#include "base/bytes.h"
#include "cpu/groups.h"
#include "cpu/specialize.h"

#define NAY_BLOOM_MAX_K 64u
#define NAY_BLOOM_ROUND 8u /* probes of one key that are tested without a branch between them */
#define NAY_BLOOM_FIRST 2u /* probes of a batch before absent keys are dropped: three of four */
#define NAY_BLOOM_GROUP 8u /* keys whose lines are prefetched together: 8 x 7 lines fit in L1 */

/*
 * Adds prefetch only from 4 MiB on: 14 ns a key in place of 19 (10 M keys). In smaller filters the
 * prefetch costs as much as it saves, or more.
 */
NAY_INLINE bool nay__bloom_prefetches_adds(const nay_bits *b) { return b->nunits >> 25 != 0; }

/* Tests of a batch prefetch only where lines miss the LLC. */
NAY_INLINE bool nay__bloom_prefetches_tests(const nay_bits *b) {
  return b->nunits >= NAY_OUT_OF_CACHE_BYTES * 8;
}

/* The bit is bit 0 of the result; the others are undefined. Words take fewer instructions than
 * bytes; a payload is whole words, so no load reaches past its end. */
NAY_INLINE uint64_t nay__bloom_bit(const uint8_t *bytes, uint64_t bit) {
  return nay__load64le(bytes + (bit >> 6) * 8) >> (bit & 63);
}

/* Probes 0 to k - 1 of h together. */
NAY_INLINE bool nay__bloom_test_all(const nay_bits *b, uint64_t h, uint32_t k) {
  uint64_t all = 1;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) {
    all &= nay__bloom_bit(b->bytes, nay__reduce(h, b->nunits));
  }
  return (all & 1) != 0;
}

NAY_INLINE void nay__bloom_prefetch(const nay_bits *b, uint64_t h, uint32_t k) {
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) {
    NAY_PREFETCH(b->bytes + (nay__reduce(h, b->nunits) >> 3));
  }
}

/* ---- for vector kernels, which are for little-endian machines ---- */

/*
 * Arrays of less than 2^32 bits, that is, up to 512 MiB: products of 32 by 32 bits, for which there
 * are vectors, then give positions. Larger arrays take the scalar kernels.
 */
NAY_INLINE bool nay__bloom_fits(const nay_bits *b) { return b->nunits >> 32 == 0; }

/* Positions of up to eight probes. */
typedef struct nay_bloom_locations {
  uint64_t at[NAY_BLOOM_ROUND];
} nay_bloom_locations;

/* Written out: compilers would turn a loop into a gather, which is slower for one key. */
#define NAY_BLOOM_EACH(k, one) \
  do {                         \
    if ((k) > 0) one(0);       \
    if ((k) > 1) one(1);       \
    if ((k) > 2) one(2);       \
    if ((k) > 3) one(3);       \
    if ((k) > 4) one(4);       \
    if ((k) > 5) one(5);       \
    if ((k) > 6) one(6);       \
    if ((k) > 7) one(7);       \
  } while (0)

NAY_INLINE bool nay__bloom_test_at(const uint8_t *bytes, const nay_bloom_locations *p, uint32_t k) {
  uint64_t all = 1;
#define NAY_BLOOM_TEST(i) all &= nay__bloom_bit(bytes, p->at[i])
  NAY_BLOOM_EACH(k, NAY_BLOOM_TEST);
#undef NAY_BLOOM_TEST
  return (all & 1) != 0;
}

/* Stores are 64 bits wide, like the loads: store-to-load forwarding fails when the store is
 * narrower. */
NAY_INLINE void nay__bloom_set(uint8_t *bytes, uint64_t bit) {
  uint64_t word;
  memcpy(&word, bytes + (bit >> 6) * 8, sizeof word);
  word |= (uint64_t)1 << (bit & 63);
  memcpy(bytes + (bit >> 6) * 8, &word, sizeof word);
}

NAY_INLINE void nay__bloom_set_at(uint8_t *bytes, const nay_bloom_locations *p, uint32_t k) {
#define NAY_BLOOM_SET(i) nay__bloom_set(bytes, p->at[i])
  NAY_BLOOM_EACH(k, NAY_BLOOM_SET);
#undef NAY_BLOOM_SET
}

/* True when at least one bit was clear. A round (up to 8 probes) whose bits were all set changes
 * nothing, so the next round still tests the old bits. */
NAY_INLINE bool nay__bloom_add_at(uint8_t *bytes, const nay_bloom_locations *p, uint32_t k) {
  bool was = nay__bloom_test_at(bytes, p, k);
  nay__bloom_set_at(bytes, p, k);
  return !was;
}

/* The first n positions, at most four, by scalar products, into p->at[from] and those after it. */
NAY_INLINE void nay__bloom_locate_scalar(const nay_bits *b, uint64_t x, uint32_t n,
                                         nay_bloom_locations *p, unsigned from) {
#define NAY_BLOOM_LOCATE(i) p->at[from + (i)] = nay__reduce(x, b->nunits), x *= NAY_G64
  if (n > 0) NAY_BLOOM_LOCATE(0);
  if (n > 1) NAY_BLOOM_LOCATE(1);
  if (n > 2) NAY_BLOOM_LOCATE(2);
  if (n > 3) NAY_BLOOM_LOCATE(3);
#undef NAY_BLOOM_LOCATE
}

#endif /* NAY_BLOOM_COMMON_H */

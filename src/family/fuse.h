/*
 * fuse.h - the bytes of xor and fuse filters, and where a key's slots are. fuse.c probes them,
 * peel.c fills them.
 *
 *   0    u64 premix        8   u32 slots of one shard      12   u32 segment length (xor: 0)
 *   16   for each shard:    u64 where its array begins, counted from the start of the payload
 *                           u32 seed
 *                           u32 span: how many slots can be a key's first. 0: the shard gives the
 *                           same answer to every key, nay when the seed is 0, maybe when it is 1
 *   ...  the arrays, one after the other
 *
 * An array is its slots, r bits each, least significant bit first, then zeros.
 */
#ifndef NAY_FUSE_H
#define NAY_FUSE_H

#include "base/bytes.h"
#include "family/family.h"
#include "family/static_hash.h"

#define NAY_FUSE_MIN_BITS 4u
#define NAY_FUSE_MAX_BITS 32u
#define NAY_FUSE_HEADER 16u
#define NAY_FUSE_ENTRY 16u
#define NAY_FUSE_MAX_SEGMENT 65536u /* slices of 16 bits of m */

typedef enum nay_fuse_layout { NAY_FUSE_3, NAY_FUSE_4, NAY_XOR_3 } nay_fuse_layout;

/* nay_fuse_dims: what a number of keys needs; see math in fuse.c. */
typedef struct nay_fuse_dims {
  uint64_t nshards;
  uint32_t slots;   /* of one shard */
  uint32_t segment; /* length; 0 for xor */
} nay_fuse_dims;

nay_fuse_dims nay__fuse_dims(nay_fuse_layout layout, uint64_t nkeys);

/* nay_fuse_shard: one entry of the shard table, with what the whole filter shares. */
typedef struct nay_fuse_shard {
  uint64_t array_at;
  uint32_t seed;
  uint64_t span;
  uint32_t segment;
} nay_fuse_shard;

NAY_INLINE uint64_t nay__fuse_nshards(const nay_shape *shape) { return shape->extra >> 8; }
NAY_INLINE unsigned nay__fuse_bits(const nay_shape *shape) { return shape->extra & 255; }

NAY_INLINE uint64_t nay__fuse_arrays_at(uint64_t nshards) {
  return NAY_FUSE_HEADER + nshards * NAY_FUSE_ENTRY;
}

/* nay__fuse_stride: bytes of one array. 8 more than the slots need: a slot is read as a word. */
NAY_INLINE uint64_t nay__fuse_stride(uint64_t nshards, uint64_t slots, unsigned bits) {
  uint64_t bytes = (slots * bits + 7) / 8 + (bits == 8 || bits == 16 || bits == 32 ? 0 : 8);
  return nshards == 1 ? (bytes + 7) & ~(uint64_t)7 : (bytes + 63) & ~(uint64_t)63;
}

NAY_INLINE nay_fuse_shard nay__fuse_shard_at(const uint8_t *bytes, uint64_t shard) {
  const uint8_t *entry = bytes + NAY_FUSE_HEADER + shard * NAY_FUSE_ENTRY;
  return (nay_fuse_shard){nay__load64le(entry), nay__load32le(entry + 8), nay__load32le(entry + 12),
                          nay__load32le(bytes + 12)};
}

NAY_INLINE unsigned nay__fuse_arity(nay_fuse_layout layout) { return layout == NAY_FUSE_4 ? 4 : 3; }

/*
 * nay__fuse_slots: the slots of a key, of which only m = nay__remix(x, seed) is needed. fuse: the
 * top bits choose the first slot, slices of 16 bits one in each of the segments that follow. xor:
 * slices of 32 bits choose one slot in each third of the array.
 */
NAY_INLINE void nay__fuse_slots(nay_fuse_layout layout, const nay_fuse_shard *s, uint64_t m,
                                uint32_t at[4]) {
  if (layout == NAY_XOR_3) {
    for (unsigned j = 0; j < 3; j++) {
      uint32_t slice = (uint32_t)(j == 0 ? m : nay__rotl64(m, 21 * j));
      at[j] = (uint32_t)(j * s->span + (slice * s->span >> 32));
    }
    return;
  }
  at[0] = (uint32_t)nay__reduce(m, s->span);
  for (unsigned j = 1; j < nay__fuse_arity(layout); j++, m >>= 16) {
    at[j] = (at[0] + j * s->segment) ^ ((uint32_t)m & (s->segment - 1));
  }
}

NAY_INLINE uint32_t nay__fuse_print(uint64_t m, unsigned bits) {
  return (uint32_t)(nay__print_of(m) >> (64 - bits));
}

/* nay__fuse_get: the only place that knows widths, with nay__fuse_put. */
NAY_INLINE uint32_t nay__fuse_get(const uint8_t *array, uint64_t slot, unsigned bits) {
  switch (bits) {
    case 8: return array[slot];
    case 16: return nay__load16le(array + 2 * slot);
    case 32: return nay__load32le(array + 4 * slot);
    default: break;
  }
  uint64_t bit = slot * bits, word = nay__load64le(array + (bit >> 3)) >> (bit & 7);
  return (uint32_t)(word & (((uint64_t)1 << bits) - 1));
}

/* nay__fuse_put: into a slot that is zero. */
NAY_INLINE void nay__fuse_put(uint8_t *array, uint64_t slot, unsigned bits, uint32_t value) {
  switch (bits) {
    case 8: array[slot] = (uint8_t)value; return;
    case 16: nay__store16le(array + 2 * slot, (uint16_t)value); return;
    case 32: nay__store32le(array + 4 * slot, value); return;
    default: break;
  }
  uint64_t bit = slot * bits;
  uint8_t *p = array + (bit >> 3);
  nay__store64le(p, nay__load64le(p) | (uint64_t)value << (bit & 7));
}

extern const nay_solver nay__peel_solver;

/* nay__fuse_layout_of: from the kind and the arity. */
nay_fuse_layout nay__fuse_layout_of(const nay_filter *f);

uint64_t nay__fuse_test64(const nay_filter *f, const uint64_t *x, unsigned n);

#endif /* NAY_FUSE_H */

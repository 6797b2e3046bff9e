/*
 * fuse.h - the bytes of xor and fuse filters, and where a key's slots are. fuse.c probes them,
 * peel.c fills them.
 *
 *   0    u64 premix           8  u64 bytes of one shard's array       16  u32 slots of one shard
 *   20   u32 zero            24  for each shard: u32 seed, u8 segment length (its log2), u8 mode,
 *                                u16 number of windows; the last three are 0 in xor filters but
 * mode
 *   ...  zeros to a multiple of 8, or of 64 when there are several shards; then the arrays
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
#define NAY_FUSE_HEADER 24u
#define NAY_FUSE_ENTRY 8u
#define NAY_FUSE_MAX_SEGMENT 16u /* log2: four slices of 16 bits of m */

typedef enum nay_fuse_layout { NAY_FUSE_3, NAY_FUSE_4, NAY_XOR_3 } nay_fuse_layout;

/* What a shard answers: as its array says, or the same to every key. */
enum { NAY_SHARD_NORMAL = 0, NAY_SHARD_MAYBE = 1, NAY_SHARD_EMPTY = 2 };

/* nay_fuse_dims: what a number of keys needs; see math in fuse.c. */
typedef struct nay_fuse_dims {
  uint64_t nshards;
  uint32_t slots;   /* of one shard */
  unsigned segment; /* log2 of the segment length; 0 for xor */
} nay_fuse_dims;

nay_fuse_dims nay__fuse_dims(nay_fuse_layout layout, uint64_t nkeys);

/* nay_fuse_shard: one entry of the shard table, unpacked, with what the whole filter shares. */
typedef struct nay_fuse_shard {
  uint64_t nshards;
  uint32_t seed;
  uint32_t slots;
  uint32_t nwindows;
  unsigned segment;
  unsigned mode;
} nay_fuse_shard;

NAY_INLINE uint64_t nay__fuse_nshards(const nay_shape *shape) { return shape->extra >> 8; }
NAY_INLINE unsigned nay__fuse_bits(const nay_shape *shape) { return shape->extra & 255; }

NAY_INLINE uint64_t nay__fuse_arrays_at(uint64_t nshards) {
  uint64_t end = NAY_FUSE_HEADER + nshards * NAY_FUSE_ENTRY;
  return nshards == 1 ? end : (end + 63) & ~(uint64_t)63;
}

/* nay__fuse_stride: bytes of one array. 8 more than the slots need: a slot is read as a word. */
NAY_INLINE uint64_t nay__fuse_stride(uint64_t nshards, uint64_t slots, unsigned bits) {
  uint64_t bytes = (slots * bits + 7) / 8 + (bits == 8 || bits == 16 || bits == 32 ? 0 : 8);
  return nshards == 1 ? (bytes + 7) & ~(uint64_t)7 : (bytes + 63) & ~(uint64_t)63;
}

NAY_INLINE nay_fuse_shard nay__fuse_shard_at(const uint8_t *bytes, uint64_t nshards,
                                             uint64_t shard) {
  uint64_t entry = nay__load64le(bytes + NAY_FUSE_HEADER + shard * NAY_FUSE_ENTRY);
  return (nay_fuse_shard){nshards,
                          (uint32_t)entry,
                          nay__load32le(bytes + 16),
                          (uint32_t)(entry >> 48),
                          (unsigned)(entry >> 32 & 255),
                          (unsigned)(entry >> 40 & 255)};
}

NAY_INLINE unsigned nay__fuse_arity(nay_fuse_layout layout) { return layout == NAY_FUSE_4 ? 4 : 3; }

/*
 * nay__fuse_slots: the slots of a key. fuse: the place chooses a window of `arity` neighbouring
 * segments, m one slot in each. xor: m chooses one slot in each third of the array.
 */
NAY_INLINE void nay__fuse_slots(nay_fuse_layout layout, const nay_fuse_shard *s, uint64_t x,
                                uint64_t m, uint32_t at[4]) {
  if (layout == NAY_XOR_3) {
    uint32_t third = s->slots / 3;
    for (unsigned j = 0; j < 3; j++) {
      uint32_t slice = (uint32_t)(j == 0 ? m : nay__rotl64(m, 21 * j));
      at[j] = j * third + (uint32_t)((uint64_t)slice * third >> 32);
    }
    return;
  }
  uint32_t length = (uint32_t)1 << s->segment;
  uint32_t first = (uint32_t)nay__reduce(nay__place_of(x, s->nshards), s->nwindows) << s->segment;
  for (unsigned j = 0; j < nay__fuse_arity(layout); j++, first += length, m >>= 16) {
    at[j] = first + ((uint32_t)m & (length - 1));
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

/*
 * fuse.h - the bytes of xor and fuse filters, and where a key's slots are. fuse.c probes them,
 * peel.c fills them.
 *
 *   0    u64 premix        8   u32 slots of one shard      12   u32 segment length (xor: 0)
 *   16   u32 span: how many slots can be a key's first     20   u32 zero
 *   24   u64 for each shard: its factor, odd; or the same answer for every key (NAY_FUSE_SAYS_)
 *   ...  zeros to a multiple of 64 (8 when there is one shard), then the arrays, one after the
 * other
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
#define NAY_FUSE_SAYS_NAY 0u        /* the shard has no key */
#define NAY_FUSE_SAYS_MAYBE 2u      /* no factor worked */
#define NAY_FUSE_MAX_SEGMENT 65536u /* slices of 16 bits of m */

typedef enum nay_fuse_layout { NAY_FUSE_3, NAY_FUSE_4, NAY_XOR_3 } nay_fuse_layout;

/* nay_fuse_dims: what a number of keys needs; see math in fuse.c. */
typedef struct nay_fuse_dims {
  uint64_t nshards;
  uint32_t slots;   /* of one shard */
  uint32_t segment; /* length; 0 for xor */
} nay_fuse_dims;

nay_fuse_dims nay__fuse_dims(nay_fuse_layout layout, uint64_t nkeys);

NAY_INLINE uint64_t nay__fuse_nshards(const nay_shape *shape) { return shape->extra >> 8; }
NAY_INLINE unsigned nay__fuse_bits(const nay_shape *shape) { return shape->extra & 255; }

NAY_INLINE uint64_t nay__fuse_align(uint64_t nshards) { return nshards == 1 ? 8 : 64; }

NAY_INLINE uint64_t nay__fuse_arrays_at(uint64_t nshards) {
  return nay__round_up(NAY_FUSE_HEADER + nshards * 8, nay__fuse_align(nshards));
}

/* nay__fuse_stride: bytes of one array. 8 more than the slots need: a slot is read as a word. */
NAY_INLINE uint64_t nay__fuse_stride(uint64_t nshards, uint64_t slots, unsigned bits) {
  uint64_t bytes = (slots * bits + 7) / 8 + (bits == 8 || bits == 16 || bits == 32 ? 0 : 8);
  return nay__round_up(bytes, nay__fuse_align(nshards));
}

/* nay_fuse_view: a payload with its geometry, on the stack of a call: it points into the payload.
 */
typedef struct nay_fuse_view {
  uint64_t nshards, stride, span, segment;
  const uint8_t *factors; /* of the shards */
  uint8_t *arrays;
} nay_fuse_view;

NAY_INLINE nay_fuse_view nay__fuse_view_of(const nay_shape *shape, uint8_t *payload) {
  uint64_t nshards = nay__fuse_nshards(shape), slots = shape->nunits / nshards;
  return (nay_fuse_view){.nshards = nshards,
                         .stride = nay__fuse_stride(nshards, slots, nay__fuse_bits(shape)),
                         .span = nay__load32le(payload + 16),
                         .segment = nay__load32le(payload + 12),
                         .factors = payload + NAY_FUSE_HEADER,
                         .arrays = payload + nay__fuse_arrays_at(nshards)};
}

/* What is derived from that (nay_filter.derived), so that a single probe only loads it. */
enum {
  NAY_FUSE_NSHARDS,
  NAY_FUSE_STRIDE,
  NAY_FUSE_SPAN,
  NAY_FUSE_SEGMENT,
  NAY_FUSE_ARRAYS_AT, /* offset of the first array */
  NAY_FUSE_NDERIVED
};
_Static_assert(NAY_FUSE_NDERIVED <= NAY_NDERIVED, "the handle has no room for it");

NAY_INLINE nay_fuse_view nay__fuse_view_derived(const uint64_t *derived, uint8_t *payload) {
  return (nay_fuse_view){.nshards = derived[NAY_FUSE_NSHARDS],
                         .stride = derived[NAY_FUSE_STRIDE],
                         .span = derived[NAY_FUSE_SPAN],
                         .segment = derived[NAY_FUSE_SEGMENT],
                         .factors = payload + NAY_FUSE_HEADER,
                         .arrays = payload + derived[NAY_FUSE_ARRAYS_AT]};
}

NAY_INLINE uint64_t nay__fuse_factor(const nay_fuse_view *v, uint64_t shard) {
  return nay__load64le(v->factors + 8 * shard);
}

NAY_INLINE bool nay__fuse_is_fixed(uint64_t factor) { return factor % 2 == 0; }

NAY_INLINE unsigned nay__fuse_arity(nay_fuse_layout layout) { return layout == NAY_FUSE_4 ? 4 : 3; }

/*
 * nay__fuse_slots: the slots and the fingerprint of a key, of which only m = nay__remix(x, 0) is
 * needed. The top bits of m choose the first slot: its load can start before the factor of the
 * shard is loaded. The product of m and that factor chooses the others and the fingerprint. fuse:
 * its slices of 16 bits choose one slot in each of the segments that follow; a fourth slot takes
 * another product. xor: its upper half chooses the slot in the second third of the array, that of
 * another product the slot in the last. No slot is chosen by bits of the fingerprint: those would
 * be a function of the slot, members and absent keys alike would agree with it, and the FPR would
 * be above 2^-r.
 */
NAY_INLINE uint32_t nay__fuse_slots(nay_fuse_layout layout, const nay_fuse_view *v, uint64_t factor,
                                    uint64_t m, unsigned bits, uint64_t at[4]) {
  uint64_t w = m * factor, mask = v->segment - 1;
  at[0] = nay__reduce(m, v->span);
  if (layout == NAY_XOR_3) {
    at[1] = v->span + ((w >> 32) * v->span >> 32);
    at[2] = 2 * v->span + ((w * NAY_FINGERPRINT >> 32) * v->span >> 32);
  } else {
    at[1] = (at[0] + v->segment) ^ (nay__rotl64(w, 16) & mask);
    at[2] = (at[0] + 2 * v->segment) ^ (nay__rotl64(w, 32) & mask);
  }
  if (layout == NAY_FUSE_4) {
    at[3] = (at[0] + 3 * v->segment) ^ (nay__rotl64(w * NAY_FINGERPRINT, 16) & mask);
  }
  return (uint32_t)(w & (((uint64_t)1 << bits) - 1));
}

/* nay__fuse_get: with nay__fuse_put, the only place that knows widths. */
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

/* nay__fuse_test_premixed: up to 64 keys. */
uint64_t nay__fuse_test_premixed(const nay_filter *f, const uint64_t *x, unsigned n);

/* Verbs that xor shares with fuse; those with a layout are wrapped. */
nay_status nay__fuse_plan(nay_fuse_layout layout, const nay_params *params, nay_diag *diag,
                          nay_shape *shape);
bool nay__fuse_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes);
double nay__fuse_fpr(const nay_shape *shape, uint64_t nkeys);
nay_status nay__fuse_check(nay_fuse_layout layout, const nay_shape *shape, const uint8_t *payload,
                           nay_diag *diag);
void nay__fuse_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                      nay_census *census);
void nay__fuse_bind(nay_filter *f);
bool nay__fuse_test(const nay_filter *f, nay_hash h);
void nay__fuse_explain(const nay_filter *f, nay_hash h, struct nay_explain_run *run);
unsigned nay__fuse_probe_addresses(const nay_filter *f, nay_hash h, const uint8_t **addresses);
extern const nay_family_batch nay__fuse_batch;
extern const nay_family_bulk nay__fuse_bulk;

#endif /* NAY_FUSE_H */

/*
 * fuse_vector.c - 64 keys of a fuse or xor filter, side by side, with AVX2 or NEON (vec.h).
 *
 * Called by fuse_kernel_test in family/fuse.c, for exactly 64 keys.
 *
 * The formulas are those of family/fuse.h. All slots of the 64 keys are located before the first is
 * read. Fingerprints that straddle bytes are read as the eight bytes around them and compared in
 * vectors again; fingerprints of whole bytes are summed one key at a time, where a load and a xor
 * are one instruction.
 *
 * Zen 4, in cache, fuse of 8 bits: 2.5 ns a key one at a time, 1.5 ns here. NEON has only been
 * counted, not timed.
 */
#include "cpu/vec.h"

#if NAY_HAS_VEC

/* Slots and fingerprints of 64 keys. */
typedef struct fuse_vector_locations {
  _Alignas(32) uint32_t at[4][64]; /* the slot; if it straddles bytes, its first byte */
  uint32_t shifts[64];             /* and four bytes: its first bit there */
  uint32_t shards[64];
  uint32_t fingerprint[64];
} fuse_vector_locations;

/* nay__remix: high half xor low half of x * NAY_REMIX. */
VEC_TARGET NAY_INLINE void fuse_vector_remix(vec_half *low, vec_half *top) {
  const uint64_t c = NAY_REMIX;
  const vec_half c_low = vec_all((uint32_t)c), c_top = vec_all((uint32_t)(c >> 32));
  vec_wide first = vec_mul(*low, c_low);
  vec_wide second = vec_add_top(vec_mul(*top, c_low), first);
  vec_wide third = vec_add_low(vec_mul(*low, c_top), second);
  vec_wide high = vec_add_top(vec_add_top(vec_mul(*top, c_top), second), third);
  *low = vec_xor(vec_low(high), vec_low(first));
  *top = vec_xor(vec_top(high), vec_low(third));
}

/* nay__fuse_slots, of VEC_KEYS keys. */
VEC_TARGET NAY_INLINE void fuse_vector_slots(const nay_fuse_map *map, const uint64_t *x,
                                             const vec_factor *factor, unsigned arity, bool is_xor,
                                             vec_words at[4], vec_words *fingerprint) {
  const uint32_t segment = (uint32_t)map->segment, mask = segment - 1, span = (uint32_t)map->span;
  const vec_half all_span = vec_all(span);
  vec_wide keys = vec_load(x);
  vec_half low = vec_low(keys), top = vec_top(keys);
  fuse_vector_remix(&low, &top);
  vec_wide product = vec_mul(low, factor->low);
  vec_words w_low = vec_pack(vec_low(product));
  vec_words w_top = vec_upper(vec_pack(low), vec_pack(top), factor, product);
  *fingerprint = w_low & (uint32_t)(((uint64_t)1 << map->bits) - 1);
  at[0] = vec_reduce(low, top, all_span);
  const vec_factor f = vec_factor_of(NAY_FINGERPRINT);
  if (is_xor) {
    vec_words upper = vec_upper(w_low, w_top, &f, vec_mul(vec_low(product), f.low));
    at[1] = vec_pack_top(vec_mul(vec_unpack(w_top), all_span)) + span;
    at[2] = vec_pack_top(vec_mul(vec_unpack(upper), all_span)) + 2 * span;
    return;
  }
  at[1] = (at[0] + segment) ^ (w_top >> 16 & mask);
  at[2] = (at[0] + 2 * segment) ^ (w_top & mask);
  if (arity == 3) return;
  vec_words upper = vec_upper(w_low, w_top, &f, vec_mul(vec_low(product), f.low));
  at[3] = (at[0] + 3 * segment) ^ (upper >> 16 & mask);
}

/* Slots of two keys in one load: loads limit the next loop. */
NAY_INLINE uint64_t fuse_vector_two(const uint32_t *at) {
  uint64_t two = nay__load64le((const uint8_t *)(const void *)at);
  NAY_OPAQUE(two); /* or compilers collect single slots into vectors */
  return two;
}

#define FUSE_DEFINE_SUM(name, type, load)                                                       \
  VEC_TARGET NAY_INLINE uint64_t name(const uint8_t *array,                                     \
                                      const fuse_vector_locations *locations, unsigned arity) { \
    _Alignas(32) uint32_t sums[64];                                                             \
    uint64_t bitmap = 0;                                                                        \
    for (unsigned i = 0; i < 64; i += 2) {                                                      \
      type a = 0, b = 0;                                                                        \
      for (unsigned j = 0; j < arity; j++) {                                                    \
        uint64_t two = fuse_vector_two(&locations->at[j][i]);                                   \
        a = (type)(a ^ load(array + sizeof(type) * (uint32_t)two));                             \
        b = (type)(b ^ load(array + sizeof(type) * (two >> 32)));                               \
      }                                                                                         \
      sums[i] = a;                                                                              \
      sums[i + 1] = b;                                                                          \
    }                                                                                           \
    for (unsigned i = 0; i < 64; i += VEC_KEYS) {                                               \
      vec_words same = (vec_words)(vec_read(sums + i) == vec_read(locations->fingerprint + i)); \
      bitmap |= vec_signs(same) << i;                                                           \
    }                                                                                           \
    return bitmap;                                                                              \
  }

NAY_INLINE uint8_t fuse_vector_load8(const uint8_t *p) { return *p; }

FUSE_DEFINE_SUM(fuse_vector_sum8, uint8_t, fuse_vector_load8)
FUSE_DEFINE_SUM(fuse_vector_sum16, uint16_t, nay__load16le)
FUSE_DEFINE_SUM(fuse_vector_sum32, uint32_t, nay__load32le)
#undef FUSE_DEFINE_SUM

/* Slots that straddle bytes: the eight bytes around each, shifted. */
VEC_TARGET NAY_INLINE uint64_t fuse_vector_sum_any(const nay_fuse_map *map,
                                                   const fuse_vector_locations *locations,
                                                   unsigned arity) {
  const uint64_t mask = ((uint64_t)1 << map->bits) - 1;
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < 64; i += VEC_KEYS) {
    vec_wide sum = vec_widen(vec_read(locations->fingerprint + i));
    vec_words shifts = vec_read(locations->shifts + i);
    for (unsigned j = 0; j < arity; j++) {
      vec_wide around = vec_fetch(map->arrays, locations->at[j] + i),
               by = vec_widen(shifts >> 8 * j & 7);
      sum.a ^= vec_shift(around.a, by.a);
      sum.b ^= vec_shift(around.b, by.b);
    }
    bitmap |= vec_zeros((vec_wide){sum.a & mask, sum.b & mask}) << i;
  }
  return bitmap;
}

/* The shards of n keys, as places of their factors. */
VEC_TARGET NAY_INLINE void fuse_vector_shards(const nay_fuse_map *map, const uint64_t *x,
                                              unsigned n, uint32_t *shards) {
  const vec_half nshards = vec_all((uint32_t)map->nshards);
  for (unsigned i = 0; i < n; i += VEC_KEYS) {
    vec_wide keys = vec_load(x + i);
    vec_store(shards + i, vec_reduce(vec_low(keys), vec_top(keys), nshards) * 8);
  }
}

/* How a filter is laid out: compile-time constants of the callers. */
typedef struct fuse_vector_layout {
  unsigned arity;
  bool is_xor, sharded, straddles, prefetches;
} fuse_vector_layout;

/* All slots; returns the keys whose shard has an even factor. */
VEC_TARGET NAY_INLINE uint64_t fuse_vector_locate_keys(const nay_fuse_map *map, const uint64_t *x,
                                                       unsigned n, fuse_vector_layout layout,
                                                       fuse_vector_locations *locations) {
  const bool sharded = layout.sharded, straddles = layout.straddles;
  const uint32_t stride = (uint32_t)(straddles ? map->stride : map->stride / (map->bits / 8));
  vec_factor factor = vec_factor_of(nay__load64le(map->factors));
  uint64_t odd = sharded ? 0 : 0 - (uint64_t)(map->factors[0] & 1);
  if (sharded) fuse_vector_shards(map, x, n, locations->shards);
  for (unsigned i = 0; i < n; i += VEC_KEYS) {
    vec_words at[4], fingerprint, shifts = {0}, array = {0};
    if (sharded) {
      vec_wide c = vec_fetch(map->factors, locations->shards + i);
      factor = (vec_factor){vec_low(c), vec_pack(vec_low(c)), vec_pack_top(c)};
      array = (vec_read(locations->shards + i) >> 3) * stride;
      odd |= vec_signs(factor.low_words << 31) << i;
    }
    fuse_vector_slots(map, x + i, &factor, layout.arity, layout.is_xor, at, &fingerprint);
    for (unsigned j = 0; j < layout.arity; j++) {
      if (straddles) at[j] *= map->bits;
      if (straddles) shifts |= (at[j] & 7) << 8 * j;
      vec_store(locations->at[j] + i, (straddles ? at[j] >> 3 : at[j]) + array);
      if (layout.prefetches && straddles) vec_prefetch_words(map->arrays, locations->at[j] + i);
      if (layout.prefetches && !straddles)
        vec_prefetch(map->arrays, locations->at[j] + i, map->bits / 8);
    }
    if (straddles) vec_store(locations->shifts + i, shifts);
    vec_store(locations->fingerprint + i, fingerprint);
  }
  return ~odd;
}

VEC_TARGET NAY_INLINE bool fuse_vector_straddles(const nay_fuse_map *map) {
  return map->bits != 8 && map->bits != 16 && map->bits != 32;
}

/* `layout` without `sharded`, which is found here. */
VEC_TARGET NAY_INLINE uint64_t fuse_vector_locate(const nay_fuse_map *map, const uint64_t *x,
                                                  unsigned n, fuse_vector_layout layout,
                                                  fuse_vector_locations *locations) {
  if (map->nshards == 1) return fuse_vector_locate_keys(map, x, n, layout, locations);
  layout.sharded = true;
  return fuse_vector_locate_keys(map, x, n, layout, locations);
}

VEC_TARGET NAY_INLINE uint64_t fuse_vector_test_layout(const nay_fuse_map *map, const uint64_t *x,
                                                       unsigned arity, bool is_xor,
                                                       uint64_t *fixed) {
  fuse_vector_locations locations;
  if (fuse_vector_straddles(map)) {
    *fixed = fuse_vector_locate(map, x, 64, (fuse_vector_layout){arity, is_xor, false, true, false},
                                &locations);
    return fuse_vector_sum_any(map, &locations, arity);
  }
  *fixed = fuse_vector_locate(map, x, 64, (fuse_vector_layout){arity, is_xor, false, false, false},
                              &locations);
  if (map->bits == 8) return fuse_vector_sum8(map->arrays, &locations, arity);
  if (map->bits == 16) return fuse_vector_sum16(map->arrays, &locations, arity);
  return fuse_vector_sum32(map->arrays, &locations, arity);
}

VEC_TARGET static uint64_t fuse_vector_test64(const nay_fuse_map *map, const uint64_t *x,
                                              uint64_t *fixed) {
  if (map->segment == 0) return fuse_vector_test_layout(map, x, 3, true, fixed);
  return map->arity == 4 ? fuse_vector_test_layout(map, x, 4, false, fixed)
                         : fuse_vector_test_layout(map, x, 3, false, fixed);
}

VEC_TARGET static void fuse_vector_prefetch64(const nay_fuse_map *map, const uint64_t *x,
                                              unsigned n) {
  fuse_vector_locations locations;
  fuse_vector_layout layout = {map->arity, map->segment == 0, false, fuse_vector_straddles(map),
                               true};
  fuse_vector_locate(map, x, n, layout, &locations);
}

const nay_fuse_kernels nay__fuse_vector = {fuse_vector_test64, fuse_vector_prefetch64};

#endif /* NAY_HAS_VEC */

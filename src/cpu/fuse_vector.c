/*
 * fuse_vector.c - 64 keys of a cuckoo, fuse or xor filter, side by side.
 *
 * A probe of these families is mostly multiplication: a dozen products choose its places, and only
 * then memory is looked at. Vectors of AVX2 and NEON multiply 32 by 32 bits at most, so numbers of
 * 64 bits are taken apart; but few of the products need all four of theirs, since arrays have less
 * than 2^32 slots and of most others only one half is wanted. The formulas are those of
 * family/fuse.h and family/cuckoo.c; they stand here once for both kinds of vectors:
 *
 *   longs   64 bits of AIM_KEYS / 2 keys                        halves   32 bits of AIM_KEYS keys,
 *   wide    two of them, for AIM_KEYS keys: products                     ready to be multiplied
 *   words   32 bits of AIM_KEYS keys, in order
 *
 * All places of a group are found before the first is looked at. A cuckoo bucket is a word, and so
 * are the bits around a fingerprint: these are compared in vectors again. Fingerprints of whole
 * bytes are summed one key at a time, where a load and a sum are one instruction.
 *
 * Measured on Zen 4, in the cache, ns a key, one key at a time and here: cuckoo 3.2 and 1.2, fuse
 * of 8 bits 2.5 and 1.5. Vectors of 512 bits, which multiply 64 by 64, took 2.3 and 1.8, so there
 * is no third kind. NEON has only been counted, not timed.
 */
#include "base/bytes.h"
#include "cpu/groups.h"

/* ---- what differs: AVX2 ---- */

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define AIM __attribute__((target("avx2,bmi,bmi2")))
#define AIM_KEYS 8u

typedef uint32_t aim_words __attribute__((vector_size(32)));
typedef uint64_t aim_longs __attribute__((vector_size(32)));
typedef struct aim_wide {
  aim_longs a, b; /* keys 0 1 4 5 and 2 3 6 7, so that packing them is one shuffle */
} aim_wide;
typedef aim_wide aim_half; /* the upper 32 bits may be anything */

AIM NAY_INLINE aim_half aim_all(uint32_t x) {
  aim_longs all = (aim_longs)_mm256_set1_epi64x((int64_t)x);
  return (aim_half){all, all};
}

AIM NAY_INLINE aim_half aim_low(aim_wide x) { return x; }

AIM NAY_INLINE aim_half aim_top(aim_wide x) { return (aim_half){x.a >> 32, x.b >> 32}; }

AIM NAY_INLINE aim_words aim_pack(aim_half x) {
  return (aim_words)_mm256_shuffle_ps((__m256)x.a, (__m256)x.b, 0x88);
}

AIM NAY_INLINE aim_words aim_pack_top(aim_wide x) {
  return (aim_words)_mm256_shuffle_ps((__m256)x.a, (__m256)x.b, 0xdd);
}

AIM NAY_INLINE aim_half aim_unpack(aim_words x) {
  __m256i v = (__m256i)x;
  return (aim_half){(aim_longs)_mm256_unpacklo_epi32(v, v), (aim_longs)_mm256_unpackhi_epi32(v, v)};
}

AIM NAY_INLINE aim_wide aim_widen(aim_words x) {
  __m256i v = (__m256i)x, zero = _mm256_setzero_si256();
  return (aim_wide){(aim_longs)_mm256_unpacklo_epi32(v, zero),
                    (aim_longs)_mm256_unpackhi_epi32(v, zero)};
}

AIM NAY_INLINE aim_half aim_xor(aim_half x, aim_half y) { return (aim_half){x.a ^ y.a, x.b ^ y.b}; }

AIM NAY_INLINE aim_wide aim_mul(aim_half x, aim_half y) {
  return (aim_wide){(aim_longs)_mm256_mul_epu32((__m256i)x.a, (__m256i)y.a),
                    (aim_longs)_mm256_mul_epu32((__m256i)x.b, (__m256i)y.b)};
}

AIM NAY_INLINE aim_longs aim_shift(aim_longs x, aim_longs counts) {
  return (aim_longs)_mm256_srlv_epi64((__m256i)x, (__m256i)counts);
}

/* Bit i: the sign of word i. */
AIM NAY_INLINE uint64_t aim_signs(aim_words x) { return (uint32_t)_mm256_movemask_ps((__m256)x); }

AIM NAY_INLINE aim_longs aim_join(__m128i low, __m128i high) {
  return (aim_longs)_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

AIM NAY_INLINE aim_wide aim_load(const uint64_t *x) {
  const __m128i *two = (const __m128i *)(const void *)x;
  return (aim_wide){aim_join(_mm_loadu_si128(two), _mm_loadu_si128(two + 2)),
                    aim_join(_mm_loadu_si128(two + 1), _mm_loadu_si128(two + 3))};
}

AIM NAY_INLINE __m128i aim_fetch2(const uint8_t *bytes, const uint32_t *at) {
  __m128i low = _mm_loadl_epi64((const __m128i *)(const void *)(bytes + at[0]));
  return _mm_insert_epi64(low, (int64_t)nay__load64le(bytes + at[1]), 1);
}

/* The eight bytes at each place. Gathered, cuckoo takes 1.6 ns where this takes 1.2. */
AIM NAY_INLINE aim_wide aim_fetch(const uint8_t *bytes, const uint32_t *at) {
  return (aim_wide){aim_join(aim_fetch2(bytes, at), aim_fetch2(bytes, at + 4)),
                    aim_join(aim_fetch2(bytes, at + 2), aim_fetch2(bytes, at + 6))};
}

/* ---- what differs: NEON ---- */

#elif NAY_HAS_NEON_KERNELS

#include <arm_neon.h>

#define AIM
#define AIM_KEYS 4u

typedef uint32_t aim_words __attribute__((vector_size(16)));
typedef uint64_t aim_longs __attribute__((vector_size(16)));
typedef struct aim_wide {
  aim_longs a, b; /* keys 0 1 and 2 3 */
} aim_wide;
typedef uint32x4_t aim_half;

NAY_INLINE aim_half aim_all(uint32_t x) { return vdupq_n_u32(x); }

NAY_INLINE aim_half aim_low(aim_wide x) { return vuzp1q_u32((uint32x4_t)x.a, (uint32x4_t)x.b); }

NAY_INLINE aim_half aim_top(aim_wide x) { return vuzp2q_u32((uint32x4_t)x.a, (uint32x4_t)x.b); }

NAY_INLINE aim_words aim_pack(aim_half x) { return (aim_words)x; }

NAY_INLINE aim_words aim_pack_top(aim_wide x) { return (aim_words)aim_top(x); }

NAY_INLINE aim_half aim_unpack(aim_words x) { return (aim_half)x; }

NAY_INLINE aim_wide aim_widen(aim_words x) {
  uint32x4_t v = (uint32x4_t)x;
  return (aim_wide){(aim_longs)vmovl_u32(vget_low_u32(v)), (aim_longs)vmovl_high_u32(v)};
}

NAY_INLINE aim_half aim_xor(aim_half x, aim_half y) { return veorq_u32(x, y); }

NAY_INLINE aim_wide aim_mul(aim_half x, aim_half y) {
  return (aim_wide){(aim_longs)vmull_u32(vget_low_u32(x), vget_low_u32(y)),
                    (aim_longs)vmull_high_u32(x, y)};
}

NAY_INLINE aim_longs aim_shift(aim_longs x, aim_longs counts) {
  return (aim_longs)vshlq_u64((uint64x2_t)x, vnegq_s64((int64x2_t)counts));
}

NAY_INLINE uint64_t aim_signs(aim_words x) {
  const int32x4_t places = {0, 1, 2, 3};
  return vaddvq_u32(vshlq_u32(vshrq_n_u32((uint32x4_t)x, 31), places));
}

NAY_INLINE aim_wide aim_load(const uint64_t *x) {
  return (aim_wide){(aim_longs)vld1q_u64(x), (aim_longs)vld1q_u64(x + 2)};
}

NAY_INLINE aim_longs aim_fetch2(const uint8_t *bytes, const uint32_t *at) {
  return (aim_longs)vcombine_u64(vreinterpret_u64_u8(vld1_u8(bytes + at[0])),
                                 vreinterpret_u64_u8(vld1_u8(bytes + at[1])));
}

NAY_INLINE aim_wide aim_fetch(const uint8_t *bytes, const uint32_t *at) {
  return (aim_wide){aim_fetch2(bytes, at), aim_fetch2(bytes, at + 2)};
}

#endif

#if NAY_HAS_X86_KERNELS || NAY_HAS_NEON_KERNELS

/* ---- arithmetic ---- */

AIM NAY_INLINE aim_wide aim_add_top(aim_wide sum, aim_wide x) {
  return (aim_wide){sum.a + (x.a >> 32), sum.b + (x.b >> 32)};
}

AIM NAY_INLINE aim_wide aim_add_low(aim_wide sum, aim_wide x) {
  return (aim_wide){sum.a + (x.a & 0xffffffffu), sum.b + (x.b & 0xffffffffu)};
}

AIM NAY_INLINE void aim_store(uint32_t *to, aim_words x) { memcpy(to, &x, sizeof x); }

AIM NAY_INLINE aim_words aim_read(const uint32_t *from) {
  aim_words x;
  memcpy(&x, from, sizeof x);
  return x;
}

/* floor(x * n / 2^64), x in halves. */
AIM NAY_INLINE aim_words aim_reduce(aim_half low, aim_half top, aim_half n) {
  return aim_pack_top(aim_add_top(aim_mul(top, n), aim_mul(low, n)));
}

/* A factor of 64 bits for each key. */
typedef struct aim_factor {
  aim_half low;
  aim_words low_words, top_words;
} aim_factor;

AIM NAY_INLINE aim_factor aim_factor_of(uint64_t c) {
  const aim_words zero = {0};
  return (aim_factor){aim_all((uint32_t)c), zero + (uint32_t)c, zero + (uint32_t)(c >> 32)};
}

/* The upper half of x * c modulo 2^64; `product` is that of the lower halves. */
AIM NAY_INLINE aim_words aim_upper(aim_words low, aim_words top, const aim_factor *c,
                                   aim_wide product) {
  return aim_pack_top(product) + low * c->top_words + top * c->low_words;
}

/* Asks for the lines of AIM_KEYS places, while those of the next keys are computed. */
NAY_INLINE void aim_ask(const uint8_t *bytes, const uint32_t *at, unsigned unit) {
  for (unsigned i = 0; i < AIM_KEYS; i++) NAY_PREFETCH(bytes + (size_t)at[i] * unit);
}

/* Eight bytes at each place: one in nine ends in the next line, and would be waited for. */
NAY_INLINE void aim_ask_words(const uint8_t *bytes, const uint32_t *at) {
  aim_ask(bytes, at, 1);
  aim_ask(bytes + 7, at, 1);
}

/* Bit i: whether number i is 0. */
AIM NAY_INLINE uint64_t aim_zeros(aim_wide x) {
  return aim_signs((aim_words)((aim_pack(aim_low(x)) | aim_pack_top(x)) == 0));
}

/* ---- fuse and xor ---- */

/* Slots and fingerprints of 64 keys. */
typedef struct aim_fuse {
  _Alignas(32) uint32_t at[4][64]; /* the slot; if it straddles bytes, its first byte */
  uint32_t shifts[64];             /* and four bytes: its first bit there */
  uint32_t shards[64];
  uint32_t print[64];
} aim_fuse;

/* nay__remix: high half xor low half of x * C. */
AIM NAY_INLINE void aim_remix(aim_half *low, aim_half *top) {
  const uint64_t c = NAY_REMIX;
  const aim_half c_low = aim_all((uint32_t)c), c_top = aim_all((uint32_t)(c >> 32));
  aim_wide first = aim_mul(*low, c_low);
  aim_wide second = aim_add_top(aim_mul(*top, c_low), first);
  aim_wide third = aim_add_low(aim_mul(*low, c_top), second);
  aim_wide high = aim_add_top(aim_add_top(aim_mul(*top, c_top), second), third);
  *low = aim_xor(aim_low(high), aim_low(first));
  *top = aim_xor(aim_top(high), aim_low(third));
}

/* nay__fuse_slots, of AIM_KEYS keys. */
AIM NAY_INLINE void aim_slots(const nay_fuse_map *map, const uint64_t *x, const aim_factor *factor,
                              unsigned arity, bool is_xor, aim_words at[4], aim_words *print) {
  const uint32_t segment = (uint32_t)map->segment, mask = segment - 1, span = (uint32_t)map->span;
  const aim_half all_span = aim_all(span);
  aim_wide keys = aim_load(x);
  aim_half low = aim_low(keys), top = aim_top(keys);
  aim_remix(&low, &top);
  aim_wide product = aim_mul(low, factor->low);
  aim_words w_low = aim_pack(aim_low(product));
  aim_words w_top = aim_upper(aim_pack(low), aim_pack(top), factor, product);
  *print = w_low & (uint32_t)(((uint64_t)1 << map->bits) - 1);
  at[0] = aim_reduce(low, top, all_span);
  if (is_xor) {
    at[1] = aim_pack_top(aim_mul(aim_unpack(w_top), all_span)) + span;
    at[2] = aim_pack_top(aim_mul(aim_unpack(w_top << 21 | w_low >> 11), all_span)) + 2 * span;
    return;
  }
  at[1] = (at[0] + segment) ^ (w_top >> 16 & mask);
  at[2] = (at[0] + 2 * segment) ^ (w_top & mask);
  if (arity == 3) return;
  const aim_factor f = aim_factor_of(NAY_FINGERPRINT);
  aim_words upper = aim_upper(w_low, w_top, &f, aim_mul(aim_low(product), f.low));
  at[3] = (at[0] + 3 * segment) ^ (upper >> 16 & mask);
}

/* Places of two keys in one load: loads are what limits the next loop. */
NAY_INLINE uint64_t aim_two(const uint32_t *at) {
  uint64_t two = nay__load64le((const uint8_t *)(const void *)at);
  NAY_OPAQUE(two); /* or compilers put single slots together in vectors */
  return two;
}

#define AIM_DEFINE_SUM(name, type, load)                                                      \
  AIM NAY_INLINE uint64_t name(const uint8_t *array, const aim_fuse *spots, unsigned arity) { \
    _Alignas(32) uint32_t sums[64];                                                           \
    uint64_t bitmap = 0;                                                                      \
    for (unsigned i = 0; i < 64; i += 2) {                                                    \
      type a = 0, b = 0;                                                                      \
      for (unsigned j = 0; j < arity; j++) {                                                  \
        uint64_t two = aim_two(&spots->at[j][i]);                                             \
        a = (type)(a ^ load(array + sizeof(type) * (uint32_t)two));                           \
        b = (type)(b ^ load(array + sizeof(type) * (two >> 32)));                             \
      }                                                                                       \
      sums[i] = a;                                                                            \
      sums[i + 1] = b;                                                                        \
    }                                                                                         \
    for (unsigned i = 0; i < 64; i += AIM_KEYS) {                                             \
      aim_words same = (aim_words)(aim_read(sums + i) == aim_read(spots->print + i));         \
      bitmap |= aim_signs(same) << i;                                                         \
    }                                                                                         \
    return bitmap;                                                                            \
  }

NAY_INLINE uint8_t aim_load8(const uint8_t *p) { return *p; }

AIM_DEFINE_SUM(aim_sum8, uint8_t, aim_load8)
AIM_DEFINE_SUM(aim_sum16, uint16_t, nay__load16le)
AIM_DEFINE_SUM(aim_sum32, uint32_t, nay__load32le)
#undef AIM_DEFINE_SUM

/* Slots that straddle bytes: the eight bytes around each, shifted. */
AIM NAY_INLINE uint64_t aim_sum_any(const nay_fuse_map *map, const aim_fuse *spots,
                                    unsigned arity) {
  const uint64_t mask = ((uint64_t)1 << map->bits) - 1;
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < 64; i += AIM_KEYS) {
    aim_wide sum = aim_widen(aim_read(spots->print + i));
    aim_words shifts = aim_read(spots->shifts + i);
    for (unsigned j = 0; j < arity; j++) {
      aim_wide around = aim_fetch(map->arrays, spots->at[j] + i),
               by = aim_widen(shifts >> 8 * j & 7);
      sum.a ^= aim_shift(around.a, by.a);
      sum.b ^= aim_shift(around.b, by.b);
    }
    bitmap |= aim_zeros((aim_wide){sum.a & mask, sum.b & mask}) << i;
  }
  return bitmap;
}

/* The shards of n keys, as places of their factors. */
AIM NAY_INLINE void aim_shards(const nay_fuse_map *map, const uint64_t *x, unsigned n,
                               uint32_t *shards) {
  const aim_half nshards = aim_all((uint32_t)map->nshards);
  for (unsigned i = 0; i < n; i += AIM_KEYS) {
    aim_wide keys = aim_load(x + i);
    aim_store(shards + i, aim_reduce(aim_low(keys), aim_top(keys), nshards) * 8);
  }
}

/* How a filter is laid out, known where the functions are put together. */
typedef struct aim_way {
  unsigned arity;
  bool is_xor, sharded, straddles, asks;
} aim_way;

/* All slots; returns the keys whose shard has an even factor. */
AIM NAY_INLINE uint64_t aim_fuse_keys(const nay_fuse_map *map, const uint64_t *x, unsigned n,
                                      aim_way way, aim_fuse *spots) {
  const bool sharded = way.sharded, straddles = way.straddles;
  const uint32_t stride = (uint32_t)(straddles ? map->stride : map->stride / (map->bits / 8));
  aim_factor factor = aim_factor_of(nay__load64le(map->factors));
  uint64_t odd = sharded ? 0 : 0 - (uint64_t)(map->factors[0] & 1);
  if (sharded) aim_shards(map, x, n, spots->shards);
  for (unsigned i = 0; i < n; i += AIM_KEYS) {
    aim_words at[4], print, shifts = {0}, array = {0};
    if (sharded) {
      aim_wide c = aim_fetch(map->factors, spots->shards + i);
      factor = (aim_factor){aim_low(c), aim_pack(aim_low(c)), aim_pack_top(c)};
      array = (aim_read(spots->shards + i) >> 3) * stride;
      odd |= aim_signs(factor.low_words << 31) << i;
    }
    aim_slots(map, x + i, &factor, way.arity, way.is_xor, at, &print);
    for (unsigned j = 0; j < way.arity; j++) {
      if (straddles) at[j] *= map->bits;
      if (straddles) shifts |= (at[j] & 7) << 8 * j;
      aim_store(spots->at[j] + i, (straddles ? at[j] >> 3 : at[j]) + array);
      if (way.asks && straddles) aim_ask_words(map->arrays, spots->at[j] + i);
      if (way.asks && !straddles) aim_ask(map->arrays, spots->at[j] + i, map->bits / 8);
    }
    if (straddles) aim_store(spots->shifts + i, shifts);
    aim_store(spots->print + i, print);
  }
  return ~odd;
}

AIM NAY_INLINE bool aim_straddles(const nay_fuse_map *map) {
  return map->bits != 8 && map->bits != 16 && map->bits != 32;
}

/* `way` without what is found here: one shard or many. */
AIM NAY_INLINE uint64_t aim_fuse_aim(const nay_fuse_map *map, const uint64_t *x, unsigned n,
                                     aim_way way, aim_fuse *spots) {
  if (map->nshards == 1) return aim_fuse_keys(map, x, n, way, spots);
  way.sharded = true;
  return aim_fuse_keys(map, x, n, way, spots);
}

AIM NAY_INLINE uint64_t aim_fuse_test(const nay_fuse_map *map, const uint64_t *x, unsigned arity,
                                      bool is_xor, uint64_t *fixed) {
  aim_fuse spots;
  if (aim_straddles(map)) {
    *fixed = aim_fuse_aim(map, x, 64, (aim_way){arity, is_xor, false, true, false}, &spots);
    return aim_sum_any(map, &spots, arity);
  }
  *fixed = aim_fuse_aim(map, x, 64, (aim_way){arity, is_xor, false, false, false}, &spots);
  if (map->bits == 8) return aim_sum8(map->arrays, &spots, arity);
  if (map->bits == 16) return aim_sum16(map->arrays, &spots, arity);
  return aim_sum32(map->arrays, &spots, arity);
}

AIM uint64_t nay__fuse_test64_aimed(const nay_fuse_map *map, const uint64_t *x, uint64_t *fixed) {
  if (map->segment == 0) return aim_fuse_test(map, x, 3, true, fixed);
  return map->arity == 4 ? aim_fuse_test(map, x, 4, false, fixed)
                         : aim_fuse_test(map, x, 3, false, fixed);
}

AIM void nay__fuse_ask_aimed(const nay_fuse_map *map, const uint64_t *x, unsigned n) {
  aim_fuse spots;
  aim_way way = {map->arity, map->segment == 0, false, aim_straddles(map), true};
  aim_fuse_aim(map, x, n, way, &spots);
}

/* ---- cuckoo ---- */

/* Tags of 64 keys, and the first bytes of both buckets. */
typedef struct aim_cuckoo {
  _Alignas(32) uint32_t tag[64], home[64], other[64];
  uint32_t shifts[64]; /* two bytes: the first bits of the buckets there */
} aim_cuckoo;

/* cuckoo_locate, of AIM_KEYS keys. */
AIM NAY_INLINE void aim_buckets(const nay_cuckoo_map *map, const uint64_t *hashes, aim_words *tags,
                                aim_words *home, aim_words *other) {
  const uint32_t m = (uint32_t)map->nbuckets, mask = ((uint32_t)1 << map->bits) - 1;
  const aim_half all_m = aim_all(m);
  aim_wide keys = aim_load(hashes);
  aim_half low = aim_low(keys), top = aim_top(keys);
  aim_words tag = aim_pack(low) & mask;
  tag -= (aim_words)(tag == 0);
  aim_words square = tag * tag;
  aim_wide product = aim_mul(aim_unpack(square), aim_all((uint32_t)NAY_G64));
  aim_words upper = aim_pack_top(product) + square * (uint32_t)(NAY_G64 >> 32);
  aim_words r = aim_reduce(aim_low(product), aim_unpack(upper), all_m) | 1;
  *tags = tag;
  *home = aim_reduce(low, top, all_m);
  *other = r - *home + ((aim_words)(r < *home) & m);
}

/* cuckoo_has: 0 when neither of the two buckets has the tag. */
AIM NAY_INLINE aim_longs aim_has(aim_longs home, aim_longs other, aim_longs pair, unsigned f) {
  const uint64_t two = 1 | (uint64_t)1 << f, ones = two | two << 2 * f, top = ones << (f - 1);
  aim_longs same = pair | pair << 2 * f;
  home ^= same;
  other ^= same;
  return (((home - ones) & ~home) | ((other - ones) & ~other)) & top;
}

/* Tags of odd width: a bucket may begin in the middle of its first byte. */
AIM NAY_INLINE aim_wide aim_bucket(const uint8_t *slots, const uint32_t *at, bool odd,
                                   aim_words shifts) {
  aim_wide word = aim_fetch(slots, at);
  if (!odd) return word;
  aim_wide by = aim_widen(shifts & 4);
  return (aim_wide){aim_shift(word.a, by.a), aim_shift(word.b, by.b)};
}

AIM NAY_INLINE uint64_t aim_compare(const nay_cuckoo_map *map, const aim_cuckoo *spots, bool odd) {
  const unsigned f = map->bits;
  uint64_t none = 0;
  for (unsigned i = 0; i < 64; i += AIM_KEYS) {
    aim_words tag = aim_read(spots->tag + i), shifts = {0};
    if (odd) shifts = aim_read(spots->shifts + i);
    aim_wide pair = aim_widen(tag | tag << f);
    aim_wide home = aim_bucket(map->slots, spots->home + i, odd, shifts);
    aim_wide other = aim_bucket(map->slots, spots->other + i, odd, shifts >> 8);
    aim_wide has = {aim_has(home.a, other.a, pair.a, f), aim_has(home.b, other.b, pair.b, f)};
    none |= aim_zeros(has) << i;
  }
  return ~none;
}

AIM NAY_INLINE void aim_cuckoo_keys(const nay_cuckoo_map *map, const uint64_t *hashes, unsigned n,
                                    bool odd, bool asks, aim_cuckoo *spots) {
  for (unsigned i = 0; i < n; i += AIM_KEYS) {
    aim_words tag, home, other;
    aim_buckets(map, hashes + i, &tag, &home, &other);
    home *= map->bits; /* half bytes */
    other *= map->bits;
    aim_store(spots->tag + i, tag);
    aim_store(spots->home + i, home >> 1);
    aim_store(spots->other + i, other >> 1);
    if (odd) aim_store(spots->shifts + i, (home & 1) << 2 | (other & 1) << 10);
    if (asks) aim_ask_words(map->slots, spots->home + i);
    if (asks) aim_ask_words(map->slots, spots->other + i);
  }
}

AIM NAY_INLINE uint64_t aim_cuckoo_test(const nay_cuckoo_map *map, const uint64_t *hashes,
                                        bool odd) {
  aim_cuckoo spots;
  aim_cuckoo_keys(map, hashes, 64, odd, false, &spots);
  return aim_compare(map, &spots, odd);
}

AIM uint64_t nay__cuckoo_test64_aimed(const nay_cuckoo_map *map, const uint64_t *hashes) {
  return map->bits % 2 == 0 ? aim_cuckoo_test(map, hashes, false)
                            : aim_cuckoo_test(map, hashes, true);
}

AIM void nay__cuckoo_ask_aimed(const nay_cuckoo_map *map, const uint64_t *hashes, unsigned n) {
  aim_cuckoo spots;
  aim_cuckoo_keys(map, hashes, n, false, true, &spots);
}

#endif

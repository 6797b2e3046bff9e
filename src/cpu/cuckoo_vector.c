/*
 * cuckoo_vector.c - the cuckoo filter with AVX2 or NEON: 64 keys side by side (vec.h), and with
 * AVX2 one key with both of its buckets in one vector.
 *
 * 64 keys: all buckets are located before the first is read; a bucket is a word, and these are
 * compared in vectors again. Zen 4, in cache: 1.2 ns a key; NEON has only been counted, not timed.
 *
 * One key: what limits a probe in the cache is the number of scalar instructions, of which a
 * processor runs four in a cycle, and most of them locate the buckets. So the comparison is left to
 * the vector units, which are idle: eight tags at a time. The constants are memory operands, which
 * cost no instruction of their own. There is a function for each width up to 16 bits, of which four
 * fill a word. Zen 4, tags of 12 and 13 bits: in cache 2.6 and 3.1 ns, scalar 3.1 and 4.0; a
 * million keys 4.0 ns, scalar 5.7.
 */
#include "cpu/cuckoo_lookup.h"
#include "cpu/vec.h"

#if NAY_HAS_VEC

/* ---- 64 keys ---- */

/* Tags of 64 keys, and the first bytes of both buckets. */
typedef struct cuckoo_vector_locations {
  _Alignas(32) uint32_t tag[64], home[64], other[64];
  uint32_t shifts[64]; /* two bytes: the first bits of the buckets there */
} cuckoo_vector_locations;

/* nay__cuckoo_locate, of VEC_KEYS keys. */
VEC_TARGET NAY_INLINE void cuckoo_vector_buckets(const nay_cuckoo_map *map, const uint64_t *hashes,
                                                 vec_words *tags, vec_words *home,
                                                 vec_words *other) {
  const uint32_t m = (uint32_t)map->nbuckets, mask = ((uint32_t)1 << map->bits) - 1;
  const vec_half all_m = vec_all(m);
  vec_wide keys = vec_load(hashes);
  vec_half low = vec_low(keys), top = vec_top(keys);
  vec_words tag = vec_pack(low) & mask;
  tag -= (vec_words)(tag == 0);
  vec_words square = tag * tag;
  vec_wide product = vec_mul(vec_unpack(square), vec_all((uint32_t)NAY_G64));
  vec_words upper = vec_pack_top(product) + square * (uint32_t)(NAY_G64 >> 32);
  vec_words r = vec_reduce(vec_low(product), vec_unpack(upper), all_m) | 1;
  *tags = tag;
  *home = vec_reduce(low, top, all_m);
  *other = r - *home + ((vec_words)(r < *home) & m);
}

/* nay__cuckoo_has, of VEC_KEYS / 2 keys: 0 when neither of the two buckets has the tag. */
VEC_TARGET NAY_INLINE vec_longs cuckoo_vector_has(vec_longs home, vec_longs other, vec_longs pair,
                                                  unsigned f) {
  const uint64_t two = 1 | (uint64_t)1 << f, ones = two | two << 2 * f, top = ones << (f - 1);
  vec_longs same = pair | pair << 2 * f;
  home ^= same;
  other ^= same;
  return (NAY_CUCKOO_ZERO_FIELDS(home, ones) | NAY_CUCKOO_ZERO_FIELDS(other, ones)) & top;
}

/* Tags of odd width: a bucket may begin in the middle of its first byte. */
VEC_TARGET NAY_INLINE vec_wide cuckoo_vector_bucket(const uint8_t *slots, const uint32_t *at,
                                                    bool odd, vec_words shifts) {
  vec_wide word = vec_fetch(slots, at);
  if (!odd) return word;
  vec_wide by = vec_widen(shifts & 4);
  return (vec_wide){vec_shift(word.a, by.a), vec_shift(word.b, by.b)};
}

VEC_TARGET NAY_INLINE uint64_t cuckoo_vector_compare(const nay_cuckoo_map *map,
                                                     const cuckoo_vector_locations *locations,
                                                     bool odd) {
  const unsigned f = map->bits;
  uint64_t none = 0;
  for (unsigned i = 0; i < 64; i += VEC_KEYS) {
    vec_words tag = vec_read(locations->tag + i), shifts = {0};
    if (odd) shifts = vec_read(locations->shifts + i);
    vec_wide pair = vec_widen(tag | tag << f);
    vec_wide home = cuckoo_vector_bucket(map->slots, locations->home + i, odd, shifts);
    vec_wide other = cuckoo_vector_bucket(map->slots, locations->other + i, odd, shifts >> 8);
    vec_wide has = {cuckoo_vector_has(home.a, other.a, pair.a, f),
                    cuckoo_vector_has(home.b, other.b, pair.b, f)};
    none |= vec_zeros(has) << i;
  }
  return ~none;
}

VEC_TARGET NAY_INLINE void cuckoo_vector_locate(const nay_cuckoo_map *map, const uint64_t *hashes,
                                                unsigned n, bool odd, bool prefetches,
                                                cuckoo_vector_locations *locations) {
  for (unsigned i = 0; i < n; i += VEC_KEYS) {
    vec_words tag, home, other;
    cuckoo_vector_buckets(map, hashes + i, &tag, &home, &other);
    home *= map->bits; /* half bytes */
    other *= map->bits;
    vec_store(locations->tag + i, tag);
    vec_store(locations->home + i, home >> 1);
    vec_store(locations->other + i, other >> 1);
    if (odd) vec_store(locations->shifts + i, (home & 1) << 2 | (other & 1) << 10);
    if (prefetches) vec_prefetch_words(map->slots, locations->home + i);
    if (prefetches) vec_prefetch_words(map->slots, locations->other + i);
  }
}

VEC_TARGET NAY_INLINE uint64_t cuckoo_vector_test_parity(const nay_cuckoo_map *map,
                                                         const uint64_t *hashes, bool odd) {
  cuckoo_vector_locations locations;
  cuckoo_vector_locate(map, hashes, 64, odd, false, &locations);
  return cuckoo_vector_compare(map, &locations, odd);
}

VEC_TARGET static uint64_t cuckoo_vector_test64(const nay_cuckoo_map *map, const uint64_t *hashes) {
  return map->bits % 2 == 0 ? cuckoo_vector_test_parity(map, hashes, false)
                            : cuckoo_vector_test_parity(map, hashes, true);
}

VEC_TARGET static void cuckoo_vector_prefetch64(const nay_cuckoo_map *map, const uint64_t *hashes,
                                                unsigned n) {
  cuckoo_vector_locations locations;
  cuckoo_vector_locate(map, hashes, n, false, true, &locations);
}

#endif /* NAY_HAS_VEC */

#if NAY_HAS_X86_KERNELS

/* ---- one key ---- */

#define PAIR_TARGET __attribute__((target("avx2,bmi2")))

typedef struct pair_constants {
  uint64_t ones[2], top[2]; /* of the fields of both buckets */
  uint64_t factor;
} pair_constants;

#define PAIR_ONES(f) \
  ((uint64_t)1 | (uint64_t)1 << (f) | (uint64_t)1 << 2 * (f) | (uint64_t)1 << 3 * (f))
#define PAIR_TOP(f) (PAIR_ONES(f) << ((f)-1))
#define PAIR_CONSTANTS(f) \
  { {PAIR_ONES(f), PAIR_ONES(f)}, {PAIR_TOP(f), PAIR_TOP(f)}, NAY_G64 }

typedef uint64_t pair_words __attribute__((vector_size(16)));

PAIR_TARGET NAY_INLINE __m128i pair_load(const uint64_t x[2]) {
  return _mm_loadu_si128((const __m128i *)(const void *)x);
}

/* The tag in each of the four fields of both halves. */
PAIR_TARGET NAY_INLINE __m128i pair_broadcast(uint64_t tag, int f) {
  __m128i x = _mm_set1_epi64x((int64_t)tag);
  x = _mm_or_si128(x, _mm_slli_epi64(x, f));
  return _mm_or_si128(x, _mm_slli_epi64(x, 2 * f));
}

/* Both buckets from bit 0 on. Every other one of odd tags begins in the middle of a byte. */
PAIR_TARGET NAY_INLINE __m128i pair_fetch(const uint8_t *slots, uint64_t home, uint64_t other,
                                          uint64_t f) {
  const uint8_t *at = slots + (f % 2 == 0 ? home * (f / 2) : home * f / 2);
  const uint8_t *to = slots + (f % 2 == 0 ? other * (f / 2) : other * f / 2);
  __m128i x = _mm_loadl_epi64((const __m128i *)(const void *)at);
  x = _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(x), (const double *)(const void *)to));
  if (f % 2 == 0) return x;
  __m128i buckets = _mm_set_epi64x((int64_t)other, (int64_t)home);
  return _mm_srlv_epi64(x, _mm_and_si128(_mm_slli_epi64(buckets, 2), _mm_set1_epi64x(4)));
}

PAIR_TARGET NAY_INLINE bool pair_test(const nay_bits *b, uint64_t hash, int f,
                                      const pair_constants *c) {
  NAY_OPAQUE(c);
  nay_cuckoo_table t = nay__cuckoo_plain(b, (unsigned)f);
  t.factor = c->factor;
  nay_cuckoo_key key = nay__cuckoo_locate(&t, hash);
  pair_words x = (pair_words)pair_fetch(t.slots, key.home, key.other, (uint64_t)f);
  x ^= (pair_words)pair_broadcast(key.home_tag, f);
  x = NAY_CUCKOO_ZERO_FIELDS(x, (pair_words)pair_load(c->ones));
  return !_mm_testz_si128((__m128i)x, pair_load(c->top));
}

#define PAIR_WIDTHS(X) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

#define PAIR_DEFINE(f)                                                       \
  PAIR_TARGET static bool pair_probe_##f(const nay_bits *b, uint64_t hash) { \
    static const pair_constants constants = PAIR_CONSTANTS(f);               \
    return pair_test(b, hash, f, &constants);                                \
  }
PAIR_WIDTHS(PAIR_DEFINE)
#undef PAIR_DEFINE

static nay_bits_probe pair_choose_test(unsigned tag_bits) {
  switch (tag_bits) {
#define PAIR_CASE(f) \
  case f: return pair_probe_##f;
    PAIR_WIDTHS(PAIR_CASE)
#undef PAIR_CASE
    default: return NULL;
  }
}

const nay_cuckoo_kernels nay__cuckoo_vector = {
    .choose_test = pair_choose_test,
    .test64 = cuckoo_vector_test64,
    .prefetch64 = cuckoo_vector_prefetch64,
};

#elif NAY_HAS_NEON_KERNELS

const nay_cuckoo_kernels nay__cuckoo_vector = {
    .test64 = cuckoo_vector_test64,
    .prefetch64 = cuckoo_vector_prefetch64,
};

#endif

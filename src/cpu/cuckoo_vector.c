/*
 * cuckoo_vector.c - one key of a cuckoo filter, with both of its buckets in one vector.
 *
 * What limits a probe in the cache is the number of instructions for the general registers, of
 * which a processor runs four in a cycle: finding the buckets takes most of them. So the comparison
 * is left to the vectors, which are idle: eight tags at a time, with the formula of cuckoo_has. The
 * constants are read from memory, where an instruction takes its operand for nothing.
 *
 * There is a function for each width up to 16 bits, of which four fill a word. Zen 4, tags of 12
 * and 13 bits, ns: in the cache 3.1 to 2.6 and 4.0 to 3.1; a million keys 5.7 to 4.0.
 */
#include "base/bits.h"
#include "cpu/groups.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define PAIR_AVX2 __attribute__((target("avx2,bmi2")))

typedef struct pair_constants {
  uint64_t minus_ones[2], top[2]; /* of the fields of both buckets */
  uint64_t factor;
} pair_constants;

#define PAIR_ONES(f) \
  ((uint64_t)1 | (uint64_t)1 << (f) | (uint64_t)1 << 2 * (f) | (uint64_t)1 << 3 * (f))
#define PAIR_TOP(f) (PAIR_ONES(f) << ((f)-1))
#define PAIR_CONSTANTS(f) \
  { {0 - PAIR_ONES(f), 0 - PAIR_ONES(f)}, {PAIR_TOP(f), PAIR_TOP(f)}, NAY_G64 }

PAIR_AVX2 NAY_INLINE __m128i pair_load(const uint64_t x[2]) {
  return _mm_loadu_si128((const __m128i *)(const void *)x);
}

/* The tag in each of the four fields of both halves. */
PAIR_AVX2 NAY_INLINE __m128i pair_spread(uint64_t tag, int f) {
  __m128i x = _mm_set1_epi64x((int64_t)tag);
  x = _mm_or_si128(x, _mm_slli_epi64(x, f));
  return _mm_or_si128(x, _mm_slli_epi64(x, 2 * f));
}

/* Both buckets from bit 0 on. Every other one of odd tags begins in the middle of a byte. */
PAIR_AVX2 NAY_INLINE __m128i pair_fetch(const uint8_t *slots, uint64_t home, uint64_t other,
                                        uint64_t f) {
  const uint8_t *at = slots + (f % 2 == 0 ? home * (f / 2) : home * f / 2);
  const uint8_t *to = slots + (f % 2 == 0 ? other * (f / 2) : other * f / 2);
  __m128i x = _mm_loadl_epi64((const __m128i *)(const void *)at);
  x = _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(x), (const double *)(const void *)to));
  if (f % 2 == 0) return x;
  __m128i buckets = _mm_set_epi64x((int64_t)other, (int64_t)home);
  return _mm_srlv_epi64(x, _mm_and_si128(_mm_slli_epi64(buckets, 2), _mm_set1_epi64x(4)));
}

PAIR_AVX2 NAY_INLINE bool pair_test(const nay_bits *b, uint64_t hash, int f,
                                    const pair_constants *c) {
  NAY_OPAQUE(c);
  const uint8_t *slots = b->bytes + NAY_CUCKOO_HEADER;
  uint64_t m = b->nunits, tag = hash & (((uint64_t)1 << f) - 1);
  tag = tag != 0 ? tag : 1;
  uint64_t home = nay__reduce(hash, m), r = nay__reduce(tag * tag * c->factor, m) | 1;
  uint64_t other = r - home, more = other + m;
  other = more < other ? more : other;
  __m128i x = pair_fetch(slots, home, other, (uint64_t)f);
  x = _mm_xor_si128(x, pair_spread(tag, f));
  __m128i found = _mm_andnot_si128(x, _mm_add_epi64(x, pair_load(c->minus_ones)));
  return !_mm_testz_si128(found, pair_load(c->top));
}

#define PAIR_WIDTHS(X) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

#define PAIR_DEFINE(f)                                                     \
  PAIR_AVX2 static bool pair_probe_##f(const nay_bits *b, uint64_t hash) { \
    static const pair_constants constants = PAIR_CONSTANTS(f);             \
    return pair_test(b, hash, f, &constants);                              \
  }
PAIR_WIDTHS(PAIR_DEFINE)
#undef PAIR_DEFINE

nay_probe nay__cuckoo_probe_avx2(unsigned tag_bits) {
  switch (tag_bits) {
#define PAIR_CASE(f) \
  case f: return pair_probe_##f;
    PAIR_WIDTHS(PAIR_CASE)
#undef PAIR_CASE
    default: return NULL;
  }
}

#endif

/*
 * counting_scalar.c - adds and removes a key in a block of a counting filter.
 *
 * A block is eight groups: a word of the bit plane, and a word with the counters of its set bits in
 * unary, c - 1 zeros and a one for each (family/counting.c). The counter of the r-th set bit begins
 * after the r-th one: at the r-th one of the word moved up by one, with a one put below it. The
 * deposit instruction finds that at once; where there is none, or a slow one, cpu/select.h does.
 * What is left is to insert or delete one bit.
 *
 * A kernel leaves alone what is not in the word: the probes of groups that have bits and no
 * counters (they are in the pool, or stuck) and, when adding, of those that are full; they are for
 * counting.c. It also leaves counters that have stuck, and probes that repeat, which count once.
 * Vectors tell beforehand whether a block has anything of all that. Most have nothing, and there
 * the steps need not look, which saves a sixth. Nowhere is there a branch that asks whether a bit
 * is set already, which is a coin's throw in a filter that is full (a third slower).
 *
 * Probes go one by one, though some wait for what the one before has stored: sorted by group there
 * are branches that nobody can foretell (a third slower), and with steps for empty groups in their
 * place there are too many (twice as slow). To find the places of all of them in the words as they
 * were, and then to move each by what has been inserted below it, is no faster: it is the number of
 * instructions that counts, not the waiting.
 */
#include "base/bytes.h"
#include "cpu/groups.h"
#include "cpu/select.h"

#define COUNTED_STUCK 15u /* a counter that has come so far is never changed again */

/* Where the r-th counter of a word begins, as a single bit. */
typedef uint64_t (*counted_place)(uint64_t word, unsigned r);

/* Whether a probe of the key repeats, or a group has no counters, or one that has stuck, or fewer
 * than k bits left. */
typedef bool (*counted_odd)(const uint8_t *plane, const uint8_t *words, uint32_t h, uint32_t k);

/*
 * Changes one bit of a group. `once` is 0 when that has been done, and all ones otherwise: choices
 * are masks, since where the compiler sees a condition it may make a branch. Returns the bit if it
 * was not set.
 */
NAY_INLINE uint64_t counted_step(uint8_t *plane, uint8_t *word, uint64_t bit, uint64_t once,
                                 counted_place place, bool removing, bool careful) {
  uint64_t p = nay__load64le(plane), w = nay__load64le(word), fresh = ~p & bit;
  uint64_t at = place(w, nay__popcount64(p & (bit - 1))) & once;
  uint64_t above = w & (0 - at), absent = 0 - (uint64_t)(fresh != 0);
  uint64_t counter = w & ((at << (COUNTED_STUCK - 1)) - at);
  if (careful && NAY_UNLIKELY((counter | absent | ~once) == 0)) return 0; /* 14 zeros: stuck */
  if (removing) {
    nay__store64le(plane, p ^ (bit & (0 - (uint64_t)((w & at) != 0))));
    nay__store64le(word, w ^ above ^ (above >> 1 & (0 - at)));
  } else {
    nay__store64le(plane, p | bit);
    nay__store64le(word, w + above + (at & absent));
  }
  return fresh;
}

/* Whether a group has bits and no counters, or there is no room for what is added. */
NAY_INLINE bool counted_leaves(const uint8_t *plane, const uint8_t *word, bool removing) {
  uint64_t w = nay__load64le(word);
  if (!removing && NAY_UNLIKELY(w >> 63 != 0)) return true;
  return w < (uint64_t)(nay__load64le(plane) != 0); /* one comparison: empty groups are frequent */
}

NAY_INLINE nay_counted counted_steps(uint8_t *plane, uint8_t *words, uint32_t h, uint32_t k,
                                     counted_place place, bool removing, bool careful) {
  uint64_t fresh = 0, left = 0, seen[8] = {0};
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    unsigned g = h >> NAY_BLOCK_WORD64_SHIFT;
    uint64_t bit = (uint64_t)1 << (h >> NAY_BLOCK_BIT_SHIFT & 63), once = ~(uint64_t)0;
    if (careful) {
      once = (seen[g] >> (h >> NAY_BLOCK_BIT_SHIFT & 63) & 1) - 1;
      seen[g] |= bit;
      if (NAY_UNLIKELY(counted_leaves(plane + g * 8, words + g * 8, removing))) {
        left |= (once & 1) << i;
        continue;
      }
    }
    fresh |= counted_step(plane + g * 8, words + g * 8, bit, once, place, removing, careful);
  }
  return (nay_counted){left, fresh != 0};
}

NAY_INLINE nay_counted counted_change(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k,
                                      counted_odd odd, counted_place place, bool removing) {
  uint32_t h = (uint32_t)hash;
  if (NAY_LIKELY(odd != NULL && !odd(plane, words, h, k))) {
    return counted_steps(plane, words, h, k, place, removing, false);
  }
  return counted_steps(plane, words, h, k, place, removing, true);
}

#define COUNTED_DEFINE(attribute, add, remove, odd, place)                                  \
  attribute nay_counted add(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k) {    \
    return counted_change(plane, words, hash, k, odd, place, false);                        \
  }                                                                                         \
  attribute nay_counted remove(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k) { \
    return counted_change(plane, words, hash, k, odd, place, true);                         \
  }

NAY_INLINE uint64_t counted_selected(uint64_t word, unsigned r) {
  return nay__select64(word << 1 | 1, r);
}

COUNTED_DEFINE(, nay__counting_add, nay__counting_remove, NULL, counted_selected)

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define COUNTED_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define COUNTED_AVX512 __attribute__((target("avx2,avx512f,avx512dq,avx512cd,bmi,bmi2,popcnt")))

static const uint32_t counted_powers[16] = {NAY_G32_POWS_0_TO_15};

COUNTED_AVX2 static inline uint64_t counted_deposited(uint64_t word, unsigned r) {
  return _pdep_u64((uint64_t)1 << r, word << 1 | 1);
}

/* Positions of up to eight probes. In lanes from n on are other numbers, no two of them equal. */
COUNTED_AVX2 static inline __m256i counted_positions(uint32_t h, const uint32_t *powers,
                                                     uint32_t n) {
  static const uint32_t beyond[16] = {0,   0,    0,    0,    0,    0,    0,    0,
                                      512, 1024, 1536, 2048, 2560, 3072, 3584, 4096};
  __m256i at = _mm256_mullo_epi32(_mm256_set1_epi32((int)h),
                                  _mm256_loadu_si256((const __m256i *)(const void *)powers));
  __m256i other = _mm256_loadu_si256((const __m256i *)(const void *)(beyond + 8 - n));
  return _mm256_or_si256(_mm256_srli_epi32(at, NAY_BLOCK_BIT_SHIFT), other);
}

COUNTED_AVX2 static inline __m256i counted_far(__m256i a) {
  return _mm256_permute2x128_si256(a, a, 1);
}

/* Not 0 where a lane of a equals that of b which is 1 to 4 lanes after it, in a circle of eight. */
COUNTED_AVX2 static inline __m256i counted_equal(__m256i a, __m256i b) {
  __m256i far = counted_far(b);
  __m256i one = _mm256_cmpeq_epi32(a, _mm256_alignr_epi8(far, b, 4));
  __m256i two = _mm256_cmpeq_epi32(a, _mm256_alignr_epi8(far, b, 8));
  __m256i three = _mm256_cmpeq_epi32(a, _mm256_alignr_epi8(far, b, 12));
  __m256i four = _mm256_cmpeq_epi32(a, far);
  return _mm256_or_si256(_mm256_or_si256(one, two), _mm256_or_si256(three, four));
}

/* Not 0 where two of up to 16 probes are equal. */
COUNTED_AVX2 static inline __m256i counted_repeats(uint32_t h, uint32_t k) {
  __m256i a = counted_positions(h, counted_powers, k < 8 ? k : 8), same = counted_equal(a, a);
  if (k <= 8) return same;
  __m256i b = counted_positions(h, counted_powers + 8, k - 8);
  __m256i across = _mm256_or_si256(counted_equal(b, a), counted_equal(b, counted_far(a)));
  return _mm256_or_si256(_mm256_or_si256(same, counted_equal(b, b)), across);
}

/* Not 0 where one of four groups is such that a kernel must be careful. */
COUNTED_AVX2 static inline __m256i counted_unusual(const uint8_t *plane, const uint8_t *words,
                                                   uint32_t k) {
  __m256i p = _mm256_loadu_si256((const __m256i *)(const void *)plane);
  __m256i w = _mm256_loadu_si256((const __m256i *)(const void *)words);
  /* bit i of ones: one of the bits i to i + 13 is set. If not, one that comes then has stuck */
  __m256i ones = _mm256_or_si256(w, _mm256_srli_epi64(w, 1));
  ones = _mm256_or_si256(ones, _mm256_srli_epi64(ones, 2));
  ones = _mm256_or_si256(ones, _mm256_srli_epi64(ones, 4));
  ones = _mm256_or_si256(ones, _mm256_srli_epi64(ones, 6));
  __m256i stuck = _mm256_andnot_si256(ones, _mm256_srli_epi64(w, COUNTED_STUCK - 1));
  __m256i full = _mm256_and_si256(w, _mm256_set1_epi64x((int64_t)(~(uint64_t)0 << (64 - k))));
  __m256i bare = _mm256_and_si256(p, _mm256_cmpeq_epi64(w, _mm256_setzero_si256()));
  return _mm256_or_si256(stuck, _mm256_or_si256(full, bare));
}

COUNTED_AVX2 static inline bool counted_odd_avx2(const uint8_t *plane, const uint8_t *words,
                                                 uint32_t h, uint32_t k) {
  if (k > 16) return true;
  __m256i odd =
      _mm256_or_si256(counted_unusual(plane, words, k), counted_unusual(plane + 32, words + 32, k));
  odd = _mm256_or_si256(odd, counted_repeats(h, k));
  return !_mm256_testz_si256(odd, odd);
}

/* Where the deposit instruction is slow, and where it is not. */
COUNTED_DEFINE(COUNTED_AVX2, nay__counting_add_avx2, nay__counting_remove_avx2, counted_odd_avx2,
               counted_selected)
COUNTED_DEFINE(COUNTED_AVX2, nay__counting_add_deposit, nay__counting_remove_deposit,
               counted_odd_avx2, counted_deposited)

COUNTED_AVX512 static inline bool counted_odd_avx512(const uint8_t *plane, const uint8_t *words,
                                                     uint32_t h, uint32_t k) {
  if (k > 16) return true;
  __m512i p = _mm512_loadu_si512(plane), w = _mm512_loadu_si512(words);
  __mmask8 odd = _mm512_mask_test_epi64_mask(_mm512_testn_epi64_mask(w, w), p, p);
  /* bit i of run: bits i to i + 13 are not set. One with such a run below it has stuck */
  __m512i run = _mm512_andnot_si512(w, _mm512_set1_epi64(-1));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 1));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 2));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 4));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 6));
  odd |= _mm512_test_epi64_mask(run, _mm512_srli_epi64(w, COUNTED_STUCK - 1));
  odd |= _mm512_test_epi64_mask(w, _mm512_set1_epi64((int64_t)(~(uint64_t)0 << (64 - k))));
  __m512i at = _mm512_mullo_epi32(_mm512_set1_epi32((int)h), _mm512_loadu_si512(counted_powers));
  __m512i same = _mm512_conflict_epi32(_mm512_srli_epi32(at, NAY_BLOCK_BIT_SHIFT));
  return (odd | (_mm512_test_epi32_mask(same, same) & ((1u << k) - 1))) != 0;
}

COUNTED_DEFINE(COUNTED_AVX512, nay__counting_add_avx512, nay__counting_remove_avx512,
               counted_odd_avx512, counted_deposited)

#endif /* NAY_HAS_X86_KERNELS */

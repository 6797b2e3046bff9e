/*
 * kernels_counting.c - adds and removes a key in a block of a counting filter, where nothing
 * unusual is in it.
 *
 * A block is eight groups: a word of the bit plane, and a word with the counters of its set bits in
 * unary, c - 1 zeros and a one for each (family/counting.c). The counter of the r-th set bit begins
 * after the r-th one: at the r-th one of the word moved up by one, with a one put below it, and
 * that the deposit instruction finds at once. What is left is to insert or delete one bit.
 *
 * Nothing is done in a block with a group that is stuck, and adding ends at a group that is full:
 * both are for counting.c. Vectors tell beforehand whether a block has a group that may become full
 * or a counter that has stuck, and whether a probe repeats, which counts once. In most there is
 * nothing of that, and the probes need no branch at all; least of all one that asks whether a bit
 * is set already, which is a coin's throw in a filter that is full (a third slower).
 *
 * Probes go one by one, though some wait for what the one before has stored: sorted by group there
 * are branches that nobody can foretell (a third slower), and with steps for empty groups in their
 * place there are too many (twice as slow).
 */
#include "cpu/kernels_simd.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#include "base/bytes.h"

#define COUNTED_TARGET __attribute__((target("avx512f,avx512dq,avx512cd,bmi,bmi2,popcnt")))
#define COUNTED_MAX_K 16u
#define COUNTED_STUCK 15u /* a counter that has come so far is never changed again */

static const uint32_t counted_powers[16] = NAY_G32_POWERS_0_TO_15;

/* What the groups of a block are like. */
typedef struct counted_block {
  bool stuck;   /* one has bits and no counters */
  bool careful; /* one has a counter that has stuck, or fewer than k bits left */
} counted_block;

COUNTED_TARGET static inline counted_block counted_look(const uint8_t *plane, const uint8_t *words,
                                                        uint32_t k) {
  __m512i p = _mm512_loadu_si512(plane), w = _mm512_loadu_si512(words);
  __mmask8 stuck = _mm512_mask_test_epi64_mask(_mm512_testn_epi64_mask(w, w), p, p);
  /* bit i of run: bits i to i + 13 are not set. One with such a run below it has stuck */
  __m512i run = _mm512_andnot_si512(w, _mm512_set1_epi64(-1));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 1));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 2));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 4));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 6));
  __mmask8 careful = _mm512_test_epi64_mask(run, _mm512_srli_epi64(w, COUNTED_STUCK - 1));
  careful |= _mm512_test_epi64_mask(w, _mm512_set1_epi64((int64_t)(~(uint64_t)0 << (64 - k))));
  return (counted_block){stuck != 0, careful != 0};
}

/* Bit i: probe i is the same as one before it. */
COUNTED_TARGET static inline unsigned counted_repeats(uint32_t h, uint32_t k) {
  __m512i at = _mm512_mullo_epi32(_mm512_set1_epi32((int)h), _mm512_loadu_si512(counted_powers));
  __m512i same = _mm512_conflict_epi32(_mm512_srli_epi32(at, 23));
  return _mm512_test_epi32_mask(same, same) & ((1u << k) - 1);
}

/*
 * Changes one bit of a group. `at` is where its counter begins, as a single bit. Choices are masks
 * of all ones: where the compiler sees a condition it may make a branch. Returns the bit if it was
 * not set.
 */
COUNTED_TARGET static inline uint64_t counted_step(uint8_t *plane, uint8_t *word, uint64_t bit,
                                                   bool removing, bool careful) {
  uint64_t p = nay__load64le(plane), w = nay__load64le(word), fresh = ~p & bit;
  uint64_t at = _pdep_u64((uint64_t)1 << _mm_popcnt_u64(p & (bit - 1)), w << 1 | 1);
  uint64_t above = w & (0 - at), absent = 0 - (uint64_t)(fresh != 0);
  uint64_t counter = w & ((at << (COUNTED_STUCK - 1)) - at);
  if (careful && (counter | absent) == 0) return 0; /* 14 zeros: it has stuck */
  if (removing) {
    nay__store64le(plane, p ^ (bit & (0 - (uint64_t)((w & at) != 0))));
    nay__store64le(word, w ^ above ^ (above >> 1 & (0 - at)));
  } else {
    nay__store64le(plane, p | bit);
    nay__store64le(word, w + above + (at & absent));
  }
  return fresh;
}

COUNTED_TARGET static inline nay_counted counted_steps(uint8_t *plane, uint8_t *words, uint32_t h,
                                                       uint32_t k, bool removing, bool careful,
                                                       unsigned repeats) {
  uint64_t fresh = 0;
  uint32_t i = 0;
  for (; i < k; i++, h *= NAY_G32) {
    size_t at = (h >> 29) * 8;
    if (careful && (repeats >> i & 1) != 0) continue;
    if (careful && !removing && nay__load64le(words + at) >> 63 != 0) break;
    fresh |= counted_step(plane + at, words + at, (uint64_t)1 << (h >> 23 & 63), removing, careful);
  }
  return (nay_counted){i, fresh != 0};
}

COUNTED_TARGET static inline nay_counted counted_change(uint8_t *plane, uint8_t *words,
                                                        uint64_t hash, uint32_t k, bool removing) {
  if (k > COUNTED_MAX_K) return (nay_counted){0, false};
  uint32_t h = (uint32_t)hash;
  unsigned repeats = counted_repeats(h, k);
  counted_block block = counted_look(plane, words, k);
  if (NAY_UNLIKELY(block.stuck)) return (nay_counted){0, false};
  if (NAY_LIKELY(!block.careful && repeats == 0)) {
    return counted_steps(plane, words, h, k, removing, false, 0);
  }
  return counted_steps(plane, words, h, k, removing, true, repeats);
}

COUNTED_TARGET nay_counted nay__counting_add_avx512(uint8_t *plane, uint8_t *words, uint64_t hash,
                                                    uint32_t k) {
  return counted_change(plane, words, hash, k, false);
}

COUNTED_TARGET nay_counted nay__counting_remove_avx512(uint8_t *plane, uint8_t *words,
                                                       uint64_t hash, uint32_t k) {
  return counted_change(plane, words, hash, k, true);
}

#endif

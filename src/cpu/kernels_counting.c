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
 * both are for counting.c. Probes that repeat are found by comparing all positions with each other.
 * The others go one by one, though some wait for what the one before has stored: sorted by group
 * there are branches that nobody can foretell (a third slower), and with steps for empty groups in
 * their place there are too many (twice as slow). The branches of a step are hardly ever taken;
 * none asks whether a bit is set already, which is a coin's throw in a filter that is full.
 */
#include "cpu/kernels_simd.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#include "base/bytes.h"

#define COUNTING_TARGET __attribute__((target("avx512f,avx512dq,avx512cd,bmi,bmi2,popcnt")))
#define COUNTING_MAX_K 16u
#define COUNTING_STUCK 15u /* a counter that has come so far is never changed again */

static const uint32_t counting_powers[16] = NAY_G32_POWERS_0_TO_15;

/* A stuck group has bits and no counters. */
COUNTING_TARGET static inline bool counting_is_stuck(const uint8_t *plane, const uint8_t *words) {
  __m512i p = _mm512_loadu_si512(plane), w = _mm512_loadu_si512(words);
  return _mm512_mask_test_epi64_mask(_mm512_testn_epi64_mask(w, w), p, p) != 0;
}

/* Bit i: probe i is the same as one before it. */
COUNTING_TARGET static inline unsigned counting_repeats(uint32_t h, uint32_t k) {
  __m512i at = _mm512_mullo_epi32(_mm512_set1_epi32((int)h), _mm512_loadu_si512(counting_powers));
  __m512i same = _mm512_conflict_epi32(_mm512_srli_epi32(at, 23));
  return _mm512_test_epi32_mask(same, same) & ((1u << k) - 1);
}

/* A group in registers. */
typedef struct counting_work {
  uint64_t plane, word;
} counting_work;

/* Changes one bit of a group. `at` is where its counter begins, as a single bit. */
COUNTING_TARGET static inline void counting_step(counting_work *w, uint64_t bit, bool removing) {
  unsigned r = (unsigned)_mm_popcnt_u64(w->plane & (bit - 1));
  uint64_t at = _pdep_u64((uint64_t)1 << (r & 63), w->word << 1 | 1);
  /* all ones for yes: where the compiler sees a choice it may make a branch */
  uint64_t there = 0 - (uint64_t)((w->plane & bit) != 0);
  uint64_t counter = w->word & ((at << (COUNTING_STUCK - 1)) - at);
  if (NAY_UNLIKELY((counter | ~there) == 0)) return; /* 14 zeros: it has stuck */
  uint64_t above = w->word & (0 - at);
  if (removing) {
    w->plane ^= bit & (0 - (uint64_t)((w->word & at) != 0));
    w->word ^= above ^ (above >> 1 & (0 - at));
  } else {
    w->word += above + (at & ~there);
    w->plane |= bit;
  }
}

COUNTING_TARGET static inline nay_counted counting_change(uint8_t *plane, uint8_t *words,
                                                          uint64_t hash, uint32_t k,
                                                          bool removing) {
  if (k > COUNTING_MAX_K || counting_is_stuck(plane, words)) return (nay_counted){0, false};
  uint32_t h = (uint32_t)hash, i = 0;
  unsigned repeats = counting_repeats(h, k);
  uint64_t fresh = 0;
  for (; i < k; i++, h *= NAY_G32, repeats >>= 1) {
    if (NAY_UNLIKELY((repeats & 1) != 0)) continue; /* it counts once */
    unsigned at = (h >> 29) * 8;
    uint64_t bit = (uint64_t)1 << (h >> 23 & 63);
    counting_work w = {nay__load64le(plane + at), nay__load64le(words + at)};
    if (NAY_UNLIKELY(!removing && w.word >> 63 != 0)) break;
    fresh |= ~w.plane & bit;
    counting_step(&w, bit, removing);
    nay__store64le(plane + at, w.plane);
    nay__store64le(words + at, w.word);
  }
  return (nay_counted){i, fresh != 0};
}

COUNTING_TARGET nay_counted nay__counting_add_avx512(uint8_t *plane, uint8_t *words, uint64_t hash,
                                                     uint32_t k) {
  return counting_change(plane, words, hash, k, false);
}

COUNTING_TARGET nay_counted nay__counting_remove_avx512(uint8_t *plane, uint8_t *words,
                                                        uint64_t hash, uint32_t k) {
  return counting_change(plane, words, hash, k, true);
}

#endif

/*
 * counting_common.h - adds and removes a key in a block of a counting filter.
 *
 * A block is eight groups: a word of the bit plane, and a word with the counters of its set bits in
 * unary, c - 1 zeros and a one for each (family/counting.c). The counter of the r-th set bit begins
 * after the r-th one: at the r-th one of the word shifted up by one, with a one put below it. PDEP
 * finds that at once; where there is none, or a slow one, cpu/select.h does. What is left is to
 * insert or delete one bit.
 *
 * A kernel leaves alone what is not in the word: the probes of groups that have bits and no
 * counters (they are in the pool, or saturated) and, when adding, of groups that are full; these
 * are for counting.c. It also leaves saturated counters, and probes that repeat, which count once.
 * Vectors tell beforehand whether a block has any of that. Most blocks have none, and there the
 * steps need not check, which saves a sixth. No branch asks whether a bit is set already, which is
 * unpredictable in a full filter (a third slower).
 *
 * Probes go one by one, though some wait for the store of the one before: sorted by group there are
 * mispredicted branches (a third slower), and with steps for empty groups in their place there are
 * too many steps (twice as slow). To find the places of all of them in the words as they were, and
 * then to shift each by what was inserted below it, is no faster: the number of instructions is the
 * limit, not the latency.
 *
 * Words of the plane are stored whole, and a reader that takes no lock sees bits of keys that are
 * in: the kernels serve filters with concurrent adds, too.
 */
#ifndef NAY_COUNTING_COMMON_H
#define NAY_COUNTING_COMMON_H

#include "base/bytes.h"
#include "cpu/groups.h"
#include "cpu/select.h"

#define NAY_COUNTER_SATURATED 15u /* a counter at this value is never changed again */

/* Where the r-th counter of a word begins, as a single bit. */
typedef uint64_t (*nay_counted_place)(uint64_t word, unsigned r);

/* Whether a probe of the key repeats, or a group has no counters, or a saturated counter, or fewer
 * than k bits left. */
typedef bool (*nay_counted_odd)(const uint8_t *plane, const uint8_t *words, uint32_t h, uint32_t k);

/*
 * Changes one bit of a group. `once` is 0 when that has been done, and all ones otherwise: choices
 * are masks, since compilers may turn a condition into a branch. Returns the bit if it
 * was not set.
 */
NAY_INLINE uint64_t nay__counted_step(uint8_t *plane, uint8_t *word, uint64_t bit, uint64_t once,
                                      nay_counted_place place, bool removing, bool careful) {
  uint64_t p = nay__load64le(plane), w = nay__load64le(word), fresh = ~p & bit;
  uint64_t at = place(w, nay__popcount64(p & (bit - 1))) & once;
  uint64_t above = w & (0 - at), absent = 0 - (uint64_t)(fresh != 0);
  uint64_t counter = w & ((at << (NAY_COUNTER_SATURATED - 1)) - at);
  if (careful && NAY_UNLIKELY((counter | absent | ~once) == 0)) return 0; /* 14 zeros: saturated */
  if (removing) {
    nay__shared_store64le(plane, p ^ (bit & (0 - (uint64_t)((w & at) != 0))));
    nay__store64le(word, w ^ above ^ (above >> 1 & (0 - at)));
  } else {
    nay__shared_store64le(plane, p | bit);
    nay__store64le(word, w + above + (at & absent));
  }
  return fresh;
}

/* Whether a group has bits and no counters, or no free bit for what is added. */
NAY_INLINE bool nay__counted_leaves(const uint8_t *plane, const uint8_t *word, bool removing) {
  uint64_t w = nay__load64le(word);
  if (!removing && NAY_UNLIKELY(w >> 63 != 0)) return true;
  return w < (uint64_t)(nay__load64le(plane) != 0); /* one comparison: empty groups are frequent */
}

NAY_INLINE nay_counted nay__counted_steps(uint8_t *plane, uint8_t *words, uint32_t h, uint32_t k,
                                          nay_counted_place place, bool removing, bool careful) {
  uint64_t fresh = 0, left = 0, seen[8] = {0};
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    unsigned g = h >> NAY_BLOCK_WORD64_SHIFT;
    uint64_t bit = (uint64_t)1 << (h >> NAY_BLOCK_BIT_SHIFT & 63), once = ~(uint64_t)0;
    if (careful) {
      once = (seen[g] >> (h >> NAY_BLOCK_BIT_SHIFT & 63) & 1) - 1;
      seen[g] |= bit;
      if (NAY_UNLIKELY(nay__counted_leaves(plane + g * 8, words + g * 8, removing))) {
        left |= (once & 1) << i;
        continue;
      }
    }
    fresh |= nay__counted_step(plane + g * 8, words + g * 8, bit, once, place, removing, careful);
  }
  return (nay_counted){left, fresh != 0};
}

NAY_INLINE nay_counted nay__counted_change(uint8_t *plane, uint8_t *words, uint64_t hash,
                                           uint32_t k, nay_counted_odd odd, nay_counted_place place,
                                           bool removing) {
  uint32_t h = (uint32_t)hash;
  if (NAY_LIKELY(odd != NULL && !odd(plane, words, h, k))) {
    return nay__counted_steps(plane, words, h, k, place, removing, false);
  }
  return nay__counted_steps(plane, words, h, k, place, removing, true);
}

/* Defines name_add and name_remove. */
#define NAY_COUNTING_DEFINE(attribute, name, odd, place)                                    \
  attribute static nay_counted name##_add(uint8_t *plane, uint8_t *words, uint64_t hash,    \
                                          uint32_t k) {                                     \
    return nay__counted_change(plane, words, hash, k, odd, place, false);                   \
  }                                                                                         \
  attribute static nay_counted name##_remove(uint8_t *plane, uint8_t *words, uint64_t hash, \
                                             uint32_t k) {                                  \
    return nay__counted_change(plane, words, hash, k, odd, place, true);                    \
  }

NAY_INLINE uint64_t nay__counted_selected(uint64_t word, unsigned r) {
  return nay__select64(word << 1 | 1, r);
}

#endif /* NAY_COUNTING_COMMON_H */

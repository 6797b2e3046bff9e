/* bloom_common.h - what the plain and the vector kernels of the classic Bloom share. */
#ifndef NAY_KERNELS_BLOOM_H
#define NAY_KERNELS_BLOOM_H

#include "base/bytes.h"
#include "cpu/blocked_common.h"

#define NAY_BLOOM_MAX_K 64u
#define NAY_BLOOM_ROUND 8u /* probes of one key that are looked at without a branch between */
#define NAY_BLOOM_FIRST 2u /* probes of a batch before what is absent is dropped: three of four */
#define NAY_BLOOM_GROUP 8u /* keys whose lines are asked for together: 8 x 7 lines fit in L1 */

/*
 * Lines are asked for ahead of adds only where they come from far: from 4 MiB on that takes 14 ns a
 * key in place of 19 (10^7 keys), below it adds as much as it saves, or more.
 */
NAY_INLINE bool nay__bloom_is_far(const nay_bits *b) { return b->nunits >> 25 != 0; }

NAY_INLINE uint64_t nay__bloom_look(const uint8_t *bytes, uint64_t bit) {
  return nay__load64le(bytes + (bit >> 6) * 8) >> (bit & 63);
}

/* Probes 0 to k - 1 of h together. */
NAY_INLINE bool nay__bloom_look_all(const nay_bits *b, uint64_t h, uint32_t k) {
  uint64_t all = 1;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) {
    all &= nay__bloom_look(b->bytes, nay__reduce(h, b->nunits));
  }
  return (all & 1) != 0;
}

NAY_INLINE bool nay__bloom_test_k(const nay_bits *b, uint64_t h, uint32_t k) {
  for (; k > NAY_BLOOM_ROUND; k -= NAY_BLOOM_ROUND, h *= NAY_G64_POW_8) {
    if (!nay__bloom_look_all(b, h, NAY_BLOOM_ROUND)) return false;
  }
  return nay__bloom_look_all(b, h, k);
}

/* Batches ask for lines from farther off than adds do: what is near comes by itself. */
NAY_INLINE bool nay__bloom_is_very_far(const nay_bits *b) { return b->nunits >= NAY_FAR_BYTES * 8; }

/* Asks for the lines of k probes. */
NAY_INLINE void nay__bloom_ask(const nay_bits *b, uint64_t h, uint32_t k) {
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) {
    NAY_PREFETCH(b->bytes + (nay__reduce(h, b->nunits) >> 3));
  }
}

/* The body of a test64: those whom first() leaves are tested one by one with name_test_k. */
#define NAY_BLOOM_REST(name, k)                                           \
  for (unsigned i = 0; i < kept; i++) {                                   \
    uint64_t x = hashes[who[i]] * (NAY_G64 * NAY_G64);                    \
    word |= (uint64_t)name##_test_k(b, x, (k)-NAY_BLOOM_FIRST) << who[i]; \
  }
#define NAY_BLOOM_TEST64(name, first)                                    \
  uint8_t who[64 + 8];                                                   \
  uint32_t few = b->k < NAY_BLOOM_FIRST ? b->k : NAY_BLOOM_FIRST;        \
  uint64_t word = 0;                                                     \
  unsigned kept = first(b, hashes, n, few, who);                         \
  for (unsigned i = 0; i < kept && nay__bloom_is_very_far(b); i++) {     \
    nay__bloom_ask(b, hashes[who[i]] * (NAY_G64 * NAY_G64), b->k - few); \
  }                                                                      \
  NAY_FOR_USUAL_K(b->k - few + NAY_BLOOM_FIRST, NAY_BLOOM_REST, name)    \
  return word

/*
 * Defines name_for(k), which gives the function for so many probes, from an inline one(bits, hash,
 * k) that has no loop when k is a constant.
 */
#define NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, k, suffix)         \
  attribute static type name##_##suffix(const nay_bits *b, uint64_t hash) { \
    return one(b, hash, k);                                                 \
  }
#define NAY_BLOOM_DEFINE(attribute, type, pointer, name, one)                           \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 4, 4)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 5, 5)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 6, 6)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 7, 7)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 8, 8)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, b->k, any)                           \
  static pointer name##_for(uint32_t k) {                                               \
    static const pointer usual[5] = {name##_4, name##_5, name##_6, name##_7, name##_8}; \
    return k >= 4 && k <= 8 ? usual[k - 4] : name##_any;                                \
  }

/*
 * What follows is for arrays of less than 2^32 bits, that is, up to 512 MiB: products of 32 by 32
 * bits, for which there are vectors, then give positions. Larger arrays take the plain way.
 */
NAY_INLINE bool nay__bloom_fits(const nay_bits *b) { return b->nunits >> 32 == 0; }

/* One probe of so few bits is as fast without vectors. */
NAY_INLINE bool nay__bloom_has_four(const nay_bits *b) { return nay__bloom_fits(b) && b->k >= 4; }

/* Positions of up to eight probes. */
typedef struct nay_bloom_spots {
  uint64_t at[NAY_BLOOM_ROUND];
} nay_bloom_spots;

/*
 * Vector kernels are for little-endian machines. Looking and setting agree on the width, since a
 * load does not get what a narrower store before it has written until that is in the cache; and a
 * byte takes an instruction more.
 */
NAY_INLINE void nay__bloom_set(uint8_t *bytes, uint64_t bit) {
  uint64_t word;
  memcpy(&word, bytes + (bit >> 6) * 8, sizeof word);
  word |= (uint64_t)1 << (bit & 63);
  memcpy(bytes + (bit >> 6) * 8, &word, sizeof word);
}

/* Written out: as a loop the compiler would make a gather of it, which is slower for one key. */
#define NAY_BLOOM_EACH(k, one) \
  do {                         \
    if ((k) > 0) one(0);       \
    if ((k) > 1) one(1);       \
    if ((k) > 2) one(2);       \
    if ((k) > 3) one(3);       \
    if ((k) > 4) one(4);       \
    if ((k) > 5) one(5);       \
    if ((k) > 6) one(6);       \
    if ((k) > 7) one(7);       \
  } while (0)

NAY_INLINE bool nay__bloom_look_spots(const uint8_t *bytes, const nay_bloom_spots *p, uint32_t k) {
  uint64_t all = 1;
#define NAY_BLOOM_LOOK(i) all &= nay__bloom_look(bytes, p->at[i])
  NAY_BLOOM_EACH(k, NAY_BLOOM_LOOK);
  return (all & 1) != 0;
}

NAY_INLINE void nay__bloom_set_spots(uint8_t *bytes, const nay_bloom_spots *p, uint32_t k) {
#define NAY_BLOOM_SET(i) nay__bloom_set(bytes, p->at[i])
  NAY_BLOOM_EACH(k, NAY_BLOOM_SET);
}

/* True when a bit was clear. A round that finds none changes none, so the next sees what was. */
NAY_INLINE bool nay__bloom_add_spots(uint8_t *bytes, const nay_bloom_spots *p, uint32_t k) {
  bool was = nay__bloom_look_spots(bytes, p, k);
  nay__bloom_set_spots(bytes, p, k);
  return !was;
}

/* The first few positions, at most four, plainly, into p->at[from] and those after it. */
NAY_INLINE void nay__bloom_aim_plain(const nay_bits *b, uint64_t x, uint32_t few,
                                     nay_bloom_spots *p, unsigned from) {
#define NAY_BLOOM_AIM(i) p->at[from + (i)] = nay__reduce(x, b->nunits), x *= NAY_G64
  if (few > 0) NAY_BLOOM_AIM(0);
  if (few > 1) NAY_BLOOM_AIM(1);
  if (few > 2) NAY_BLOOM_AIM(2);
  if (few > 3) NAY_BLOOM_AIM(3);
}

/*
 * Defines name_test, name_add and name_put for one key, from name_aim(bits, hash, k), the positions
 * of k <= 8 probes in any order, and name_eight(bits, hash), those of eight in their order.
 */
#define NAY_BLOOM_DEFINE_SPOTS(attribute, name)                                             \
  attribute NAY_INLINE bool name##_test_k(const nay_bits *b, uint64_t h, uint32_t k) {      \
    nay_bloom_spots p;                                                                      \
    if (k < NAY_BLOOM_ROUND) {                                                              \
      p = name##_aim(b, h, k);                                                              \
      return nay__bloom_look_spots(b->bytes, &p, k);                                        \
    }                                                                                       \
    for (;; k -= NAY_BLOOM_ROUND, h *= NAY_G64_POW_8) {                                     \
      if (k < NAY_BLOOM_ROUND) return nay__bloom_look_all(b, h, k);                         \
      p = name##_aim(b, h, NAY_BLOOM_ROUND);                                                \
      bool all = nay__bloom_look_spots(b->bytes, &p, NAY_BLOOM_ROUND);                      \
      if (k == NAY_BLOOM_ROUND || !all) return all;                                         \
    }                                                                                       \
  }                                                                                         \
  attribute NAY_INLINE bool name##_add_k(const nay_bits *b, uint64_t h, uint32_t k) {       \
    nay_bloom_spots p;                                                                      \
    bool fresh = false;                                                                     \
    for (; k > NAY_BLOOM_ROUND; k -= NAY_BLOOM_ROUND, h *= NAY_G64_POW_8) {                 \
      p = name##_aim(b, h, NAY_BLOOM_ROUND);                                                \
      fresh |= nay__bloom_add_spots(b->bytes, &p, NAY_BLOOM_ROUND);                         \
    }                                                                                       \
    p = name##_aim(b, h, k);                                                                \
    return nay__bloom_add_spots(b->bytes, &p, k) || fresh;                                  \
  }                                                                                         \
  attribute NAY_INLINE nay_status name##_put_k(const nay_bits *b, uint64_t h, uint32_t k) { \
    for (;; k -= NAY_BLOOM_ROUND, h *= NAY_G64_POW_8) {                                     \
      nay_bloom_spots p = name##_eight(b, h);                                               \
      nay__bloom_set_spots(b->bytes, &p, k);                                                \
      if (k <= NAY_BLOOM_ROUND) return NAY_OK;                                              \
    }                                                                                       \
  }                                                                                         \
  NAY_BLOOM_DEFINE(attribute, bool, nay_probe, name##_test, name##_test_k)                  \
  NAY_BLOOM_DEFINE(attribute, bool, nay_probe, name##_add, name##_add_k)                    \
  NAY_BLOOM_DEFINE(attribute, nay_status, nay_put, name##_put, name##_put_k)

/* Defines what a table has for one key from them. */
#define NAY_BLOOM_DEFINE_ONE_KEY(public, name)                                                   \
  nay_probe public##_test_for(const nay_bits *b) {                                               \
    return nay__bloom_has_four(b) ? name##_test_for(b->k) : nay__bloom_test_for(b);              \
  }                                                                                              \
  bool public##_test(const nay_bits *b, uint64_t hash) { return public##_test_for(b)(b, hash); } \
  bool public##_add(const nay_bits *b, uint64_t hash) {                                          \
    return nay__bloom_fits(b) ? name##_add_for(b->k)(b, hash) : nay__bloom_add(b, hash);         \
  }                                                                                              \
  nay_put public##_put_for(const nay_bits *b) {                                                  \
    return nay__bloom_fits(b) ? name##_put_for(b->k) : nay__bloom_put_for(b);                    \
  }

/*
 * Defines public_add64 and public_put64 from the functions of NAY_BLOOM_DEFINE_SPOTS. Positions are
 * found twice when lines are asked for: to keep them takes as long.
 */
#define NAY_BLOOM_ASK_SPOT(i) NAY_PREFETCH(b->bytes + (p.at[i] >> 3))
#define NAY_BLOOM_ADD_LOOP(name, k)                                        \
  for (unsigned i = 0; i < n; i++) {                                       \
    if (far && i % NAY_BLOOM_GROUP == 0) name##_ask(b, hashes + i, n - i); \
    word |= (uint64_t)name##_add_k(b, hashes[i], k) << i;                  \
  }
#define NAY_BLOOM_PUT_LOOP(name, k)                                        \
  for (unsigned i = 0; i < n; i++) {                                       \
    if (far && i % NAY_BLOOM_GROUP == 0) name##_ask(b, hashes + i, n - i); \
    (void)name##_put_k(b, hashes[i], k);                                   \
  }
#define NAY_BLOOM_DEFINE_ADDS(attribute, public, name)                                       \
  attribute static void name##_ask(const nay_bits *b, const uint64_t *hashes, unsigned n) {  \
    for (unsigned i = 0; i < n && i < NAY_BLOOM_GROUP; i++) {                                \
      uint64_t h = hashes[i];                                                                \
      for (uint32_t probe = 0; probe < b->k; probe += NAY_BLOOM_ROUND, h *= NAY_G64_POW_8) { \
        nay_bloom_spots p = name##_eight(b, h);                                              \
        NAY_BLOOM_EACH(b->k - probe, NAY_BLOOM_ASK_SPOT);                                    \
      }                                                                                      \
    }                                                                                        \
  }                                                                                          \
  attribute uint64_t public##_add64(const nay_bits *b, const uint64_t *hashes, unsigned n) { \
    if (!nay__bloom_fits(b)) return nay__bloom_add64(b, hashes, n);                          \
    const bool far = nay__bloom_is_far(b);                                                   \
    uint64_t word = 0;                                                                       \
    NAY_FOR_USUAL_K(b->k, NAY_BLOOM_ADD_LOOP, name)                                          \
    return word;                                                                             \
  }                                                                                          \
  attribute void public##_put64(const nay_bits *b, const uint64_t *hashes, unsigned n) {     \
    const bool far = nay__bloom_is_far(b);                                                   \
    if (nay__bloom_fits(b)) {                                                                \
      NAY_FOR_USUAL_K(b->k, NAY_BLOOM_PUT_LOOP, name)                                        \
    } else {                                                                                 \
      nay__bloom_put64(b, hashes, n);                                                        \
    }                                                                                        \
  }

#endif /* NAY_KERNELS_BLOOM_H */

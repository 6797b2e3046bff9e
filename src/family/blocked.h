/*
 * blocked.h - what the families built of blocks (counting, scalable) share with blocked.c.
 */
#ifndef NAY_BLOCKED_H
#define NAY_BLOCKED_H

#include "family/family.h"

/* nay_pattern: the k bits of a key as the eight words of its block; a repeated bit counts once. */
typedef struct nay_pattern {
  uint64_t word[NAY_BLOCK_BITS / 64];
} nay_pattern;

static inline nay_pattern nay__block_pattern(uint64_t hash, uint32_t k) {
  nay_pattern p = {{0}};
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    uint32_t bit = h >> NAY_BLOCK_BIT_SHIFT;
    p.word[bit >> 6] |= (uint64_t)1 << (bit & 63);
  }
  return p;
}

/* nay__blocked_plan: params -> nblocks and k of a bit plane. */
nay_status nay__blocked_plan(const nay_params *params, nay_diag *diag, nay_shape *shape);

/* nay__blocked_measure: keys and FPR of a plane, of the union with another, or of a fold. */
void nay__blocked_measure(const nay_bits *a, const nay_bits *b, uint64_t factor,
                          nay_census *census);

/* nay__blocked_census: for payloads that begin with a bit plane of shape.nunits blocks. */
void nay__blocked_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                         nay_census *census);

/* Verbs that a family with a blocked bit plane at the start of its payload shares. */
void nay__blocked_to_params(const nay_filter *f, nay_params *params);
void nay__blocked_bind_probe(nay_filter *f);
uint64_t nay__blocked_batch_test(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                 unsigned n, const uint64_t *next);
void nay__blocked_prefetch(const nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n);

/* nay__blocked_add_range: adds those of n hashes whose block is in [first, first + count). */
void nay__blocked_add_range(nay_filter *f, const uint64_t *lo, uint64_t n, uint64_t first,
                            uint64_t count);

#endif /* NAY_BLOCKED_H */

/* plan.h - from what the user wants to a size: the checks and searches that families share. */
#ifndef NAY_PLAN_H
#define NAY_PLAN_H

#include "base/base.h"

#define NAY_MAX_K 64u
#define NAY_MAX_NKEYS ((uint64_t)1 << 56)
#define NAY_MAX_NBITS ((uint64_t)1 << 60)
#define NAY_MAX_BITS_PER_KEY 4096.0

/* Which of the four sizes of nay_params is set. */
typedef enum nay_sizing { NAY_BY_FPR, NAY_BY_BITS_PER_KEY, NAY_BY_NBYTES, NAY_BY_NBITS } nay_sizing;

/*
 * nay__params_check: every rule of nay_params that does not depend on the family, with a diag that
 * names the field; tells which size was given. Positive numbers only, no NaN, exactly one size.
 */
nay_status nay__params_check(const nay_params *params, nay_diag *diag, nay_sizing *sizing);

/* nay__params_knobs: the fields that belong to one family only; NAY_EINVAL when another has them.
 */
nay_status nay__params_knobs(const nay_params *params, nay_kind kind, nay_diag *diag);

/* nay__bloom_k: probes for m bits and n keys: the smallest k whose rate is within 1 % of the best.
 */
uint32_t nay__bloom_k(uint64_t m, uint64_t n);

/* nay__bloom_bits: the fewest bits that keep n keys at or below fpr with k probes (k 0: any k). */
uint64_t nay__bloom_bits(uint64_t n, double fpr, uint32_t k);

/* nay__blocked_k: as nay__bloom_k, for blocks of 512 bits. */
uint32_t nay__blocked_k(uint64_t nblocks, uint64_t n);

/*
 * nay__blocked_blocks: the fewest blocks that keep n keys at or below fpr; 0 when no size up to
 * NAY_MAX_BITS_PER_KEY does (a block is too small a place for a very low rate).
 */
uint64_t nay__blocked_blocks(uint64_t n, double fpr, uint32_t k);

/*
 * nay__fold_step: a size that is a multiple of this has many small divisors, so that it can be
 * folded, and rounding to it costs at most 0.4 %. When fold is above 1 it divides the step.
 */
uint64_t nay__fold_step(uint64_t size, uint64_t fold);

#endif /* NAY_PLAN_H */

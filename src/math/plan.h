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

/* Knobs: fields of nay_params that only some families take. */
#define NAY_KNOB_TAG_BITS 0x1u
#define NAY_KNOB_MAX_NKEYS 0x2u
#define NAY_KNOB_UNIQUE 0x4u      /* flags: NAY_UNIQUE */
#define NAY_KNOB_GENERATIONS 0x8u /* and window */
#define NAY_KNOB_MAX_NBYTES 0x10u
#define NAY_KNOB_VALUES 0x20u /* value_bits and check_bits */
#define NAY_KNOB_RANGE 0x40u  /* range_length, range_keys, range_delimiter */
#define NAY_KNOB_LIST 0x80u   /* list_base, list_prefix, list_delimiter, list_outside */

/* nay__params_knobs: NAY_EINVAL when a field is set that is not among the family's knobs. */
nay_status nay__params_knobs(const nay_params *params, unsigned knobs, nay_diag *diag);

/* nay__bloom_k: probes for m bits and n keys: the smallest k whose FPR is within 1% of the best.
 */
uint32_t nay__bloom_k(uint64_t m, uint64_t n);

/* nay__bloom_bits: the fewest bits that keep n keys at or below fpr with k probes (k 0: any k). */
uint64_t nay__bloom_bits(uint64_t n, double fpr, uint32_t k);

/* nay__blocked_k: as nay__bloom_k, for blocks of 512 bits. */
uint32_t nay__blocked_k(uint64_t nblocks, uint64_t n);

/*
 * nay__blocked_blocks: the fewest blocks that keep n keys at or below fpr; 0 when no size up to
 * NAY_MAX_BITS_PER_KEY does (a block is too small a place for a very low FPR).
 */
uint64_t nay__blocked_blocks(uint64_t n, double fpr, uint32_t k);

/*
 * nay__bloom_size, nay__blocked_size: the same, in bits and in blocks, of sizes that fold: above
 * 128 words or blocks m * 2^e with 128 <= m < 256, at most 1/128 above the least, and exactly twice
 * as large for twice the keys.
 */
uint64_t nay__bloom_size(uint64_t n, double fpr, uint32_t k);
uint64_t nay__blocked_size(uint64_t n, double fpr, uint32_t k);

/*
 * nay__halves_size: the fewest blocks of a level of two halves, of 256 or 512 bits a block, that
 * keep the FPR of both together when each holds n keys; *k is the number of probes. 0: none can.
 */
uint64_t nay__halves_size(uint32_t block_bits, uint64_t n, double fpr, uint32_t *k);

/* nay__grid_up, nay__grid_down: such a size at or above, at or below a number of units. */
uint64_t nay__grid_up(double units);
uint64_t nay__grid_down(uint64_t units);

#endif /* NAY_PLAN_H */

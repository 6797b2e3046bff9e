/*
 * explain.h - how a family tells what a probe reads (nay_explain.h): what its verb `explain` calls.
 *
 *   nay__explain_group(run, level, n)        a group of n steps begins
 *   nay__explain_bit, nay__explain_step      n times
 *
 * and for the usual arrays nay__explain_bloom and nay__explain_block, which emit a whole group. The
 * run numbers the steps and derives the answer by the one rule, so a family states only what it
 * reads and what it expects there. It states all of it: where a probe stops at the first clear bit,
 * an explanation goes on.
 */
#ifndef NAY_EXPLAIN_INTERNAL_H
#define NAY_EXPLAIN_INTERNAL_H

#include "base/base.h"
#include "nay_explain.h"

/* nay_explain_run: an explanation while it is made. */
typedef struct nay_explain_run {
  nay_explain_visitor visit;
  void *ctx;
  nay_status status;    /* the visitor's; once it is not NAY_OK, nothing more is emitted */
  nay_explanation what; /* payload and word are set before the family is called */
  /* of the current group */
  uint32_t level, index, nsteps;
  bool group_ok;
  bool only_constants; /* no step so far reads bits */
  bool constant_match; /* the group that matches is a constant */
} nay_explain_run;

/* nay_explain_unit: a part of the payload, for the fields of a step that name it. */
typedef struct nay_explain_unit {
  const char *name;
  uint64_t index, bit, nbits;
} nay_explain_unit;

/* nay__explain_at: the first bit of a byte of the payload. */
static inline uint64_t nay__explain_at(const nay_explain_run *run, const uint8_t *at) {
  return (uint64_t)(at - (const uint8_t *)run->what.payload) * 8;
}

/* nay__explain_group: the next nsteps steps are a group; nsteps is not 0. */
void nay__explain_group(nay_explain_run *run, uint32_t level, uint32_t nsteps);

/* nay__explain_step: a step of the group. The family sets kind, bit, nbits, found, expected, and
 * what else its kind has; unit NULL: the step reads none. */
void nay__explain_step(nay_explain_run *run, const nay_explain_unit *unit, nay_explain_step step);

/* nay__explain_bit: a bit of a unit, which must be set. */
void nay__explain_bit(nay_explain_run *run, const nay_explain_unit *unit, uint64_t bit_of_unit,
                      uint32_t counter);

/* nay__explain_line_bit: the same for an array of nbits bits, whose units are lines of 64 bytes. */
void nay__explain_line_bit(nay_explain_run *run, const uint8_t *array, uint64_t nbits,
                           uint64_t bit);

/*
 * nay__explain_column: 128 slots of one column, those from slot `offset` of `unit` on, which starts
 * at bit column_bit; what follows its 128th slot is at next_bit. coefficients selects from them.
 */
void nay__explain_column(nay_explain_run *run, const nay_explain_unit *unit, uint64_t column_bit,
                         unsigned offset, uint64_t next_bit, const uint64_t coefficients[2],
                         unsigned expected);

/* nay__explain_constant: a group of one step: the same answer for every key. */
void nay__explain_constant(nay_explain_run *run, uint32_t level, bool maybe);

/* nay__explain_bloom: the group of a Bloom filter (bloom.c) of nbits bits. */
void nay__explain_bloom(nay_explain_run *run, const uint8_t *array, uint64_t nbits, uint32_t k,
                        uint64_t word);

/* nay__explain_block: the group of a block (blocked.c): k bits of `block`, made from pattern. */
void nay__explain_block(nay_explain_run *run, uint32_t level, const uint8_t *blocks, uint64_t block,
                        uint32_t k, uint32_t pattern);

/* nay__explain_block_unit: block `block` of an array of them. */
nay_explain_unit nay__explain_block_unit(const nay_explain_run *run, const uint8_t *blocks,
                                         uint64_t block);

#endif /* NAY_EXPLAIN_INTERNAL_H */

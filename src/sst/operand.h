/*
 * operand.h - the combination of merge operands: ONE implementation for compactions
 * (compact_entry.c), gets (lookup_operand.c) and merging iterators (merge.c).
 *
 *   newest                                     oldest
 *   operand    operand    operand    value, deletion or nothing
 *      |----------|          |         |
 *           |----------------|         |
 *                    |-----------------|       base: the result is a value
 *
 * What was combined so far is one operand in one buffer, the result of the next call of the
 * operator grows in another, and the two change places: the memory is that of the two longest
 * results, however many operands there are. A string that grows by n operands is copied n times.
 */
#ifndef NAY_SST_OPERAND_H
#define NAY_SST_OPERAND_H

#include "nay_operand.h"
#include "sst/block.h"

/* nay_operator: the caller's; call NULL: there is none. */
typedef struct nay_operator {
  nay_sst_merge_operator call;
  void *ctx;
} nay_operator;

/* nay_operand: the merge operands of a key so far, combined. Zero-initialise. */
typedef struct nay_operand {
  bool set;
  uint64_t sequence;      /* of the newest */
  uint64_t oldest;        /* of the oldest */
  nay_buffer value, next; /* next: the result that is being made */
} nay_operand;

/* nay_older: a version of the key below the operand. */
typedef struct nay_older {
  nay_entry_type type;
  uint64_t sequence;
  nay_bytes value;
} nay_older;

/* nay__operand_start: the newest operand. NAY_ENOMEM. */
nay_status nay__operand_start(nay_operand *op, uint64_t sequence, nay_bytes value,
                              const nay_allocator *a, nay_diag *diag);

/*
 * nay__operand_absorb: combines the operand with the next older version of the key. If that is no
 * operand, op->value becomes a value, and `set` false. NAY_ECORRUPT: the operator refuses them, or
 * the version is not older. NAY_ENOMEM.
 */
nay_status nay__operand_absorb(nay_operand *op, const nay_operator *by, nay_bytes key,
                               const nay_older *older, const nay_allocator *a, nay_diag *diag);

/* nay__operand_end: the same where the key has no older version. */
nay_status nay__operand_end(nay_operand *op, const nay_operator *by, nay_bytes key,
                            const nay_allocator *a, nay_diag *diag);

void nay__operand_free(nay_operand *op, const nay_allocator *a);

static inline nay_bytes nay__operand_value(const nay_operand *op) {
  return (nay_bytes){op->value.at, op->value.len};
}

#endif /* NAY_SST_OPERAND_H */

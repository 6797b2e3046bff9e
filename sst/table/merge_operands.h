/*
 * merge_operands.h - combines the merge operands of a key, newest first. Compactions
 * (compact_entry.c), gets (lookup_merge.c) and merging iterators (scan.c) all use this
 * implementation.
 *
 *   newest                                     oldest
 *   operand    operand    operand    value, deletion or nothing
 *      |----------|          |         |
 *           |----------------|         |
 *                    |-----------------|       base: the result is a value
 *
 * INVARIANT: everything combined so far is one operand in `value`. The operator writes its next
 * result into `scratch`, and the two buffers are swapped. Memory is bounded by the two longest
 * results, however many operands there are; a string that grows by n operands is copied n times.
 */
#ifndef NAY_SST_TABLE_MERGE_OPERANDS_H
#define NAY_SST_TABLE_MERGE_OPERANDS_H

#include "block/block.h"
#include "nay_sst_merge.h"

/*
 * nay_sst__callback_again: after a callback that writes a result of len bytes to an empty buffer:
 * whether to call it again with a capacity of at least len. Sets the buffer's length after NAY_OK.
 * A status that the callback must not return becomes NAY_EINVAL: NAY_ENOENT and NAY_EEND would say
 * that a key is absent.
 */
static inline bool nay_sst__callback_again(nay_buffer *result, size_t len, nay_status *status) {
  bool fits = len <= result->cap;
  if (*status == NAY_EBUFFER && !fits) return true;
  if (*status == NAY_OK && fits) {
    result->len = len;
  } else if (*status == NAY_OK || *status == NAY_EBUFFER || *status == NAY_ENOENT ||
             *status == NAY_EEND) {
    *status = NAY_EINVAL;
  }
  return false;
}

/* nay_operator: the caller's merge operator. call NULL: there is none. */
typedef struct nay_operator {
  nay_sst_merge_operator call;
  void *ctx;
} nay_operator;

/* nay_operand: the merge operands of a key, combined so far. Zero-initialise. */
typedef struct nay_operand {
  bool set;
  uint64_t sequence; /* sequence number of the newest operand */
  uint64_t oldest;   /* sequence number of the oldest operand */
  /* The combined operand, and the buffer of the operator's next result. */
  nay_buffer value, scratch;
} nay_operand;

/* nay_older: a version of the key that is older than the operand. */
typedef struct nay_older {
  nay_entry_type type;
  uint64_t sequence;
  nay_bytes value;
} nay_older;

/* nay_sst__operand_start: sets the operand to the newest one of a key. NAY_ENOMEM. */
nay_status nay_sst__operand_start(nay_operand *op, uint64_t sequence, nay_bytes value,
                                  const nay_allocator *a, nay_diag *diag);

/* nay_sst__operand_absorb: combines the operand with the next older version of the key. If that
 * version is a value or a deletion, op->value becomes the key's value and `set` becomes false.
 * NAY_ECORRUPT: the operator refuses them, or the version is not older. NAY_ENOMEM. */
nay_status nay_sst__operand_absorb(nay_operand *op, const nay_operator *by, nay_bytes key,
                                   const nay_older *older, const nay_allocator *a, nay_diag *diag);

/* nay_sst__operand_end: combines the operand with nothing, as the key has no older version. Errors
 * as above. */
nay_status nay_sst__operand_end(nay_operand *op, const nay_operator *by, nay_bytes key,
                                const nay_allocator *a, nay_diag *diag);

void nay_sst__operand_free(nay_operand *op, const nay_allocator *a);

static inline nay_bytes nay_sst__operand_value(const nay_operand *op) {
  return (nay_bytes){op->value.at, op->value.len};
}

#endif /* NAY_SST_TABLE_MERGE_OPERANDS_H */

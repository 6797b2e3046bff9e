/* merge_operands.c - combines merge operands; see merge_operands.h. */
#include "table/merge_operands.h"

#define OPERAND_FIRST_CAPACITY 256u /* bytes offered to the operator for a result at first */

static nay_status operand_no_memory(nay_diag *diag) {
  return nay__fail(diag, NAY_ENOMEM, "no memory for merge operands", 0);
}

/* The operator never gets NULL for present but empty bytes. */
static const void *operand_not_null(const uint8_t *at) {
  return at != NULL ? at : (const void *)"";
}

nay_status nay_sst__operand_start(nay_operand *op, uint64_t sequence, nay_bytes value,
                                  const nay_allocator *a, nay_diag *diag) {
  op->value.len = 0;
  if (nay__buffer_append(&op->value, value.at, value.len, a) != NAY_OK) {
    return operand_no_memory(diag);
  }
  op->set = true;
  op->sequence = op->oldest = sequence;
  return NAY_OK;
}

/* Replaces the operand by the operator's result for it and an older version. `older` is NULL below
 * the oldest version. */
static nay_status operand_combine(nay_operand *op, const nay_operator *by, nay_bytes key,
                                  const nay_bytes *older, bool base, const nay_allocator *a,
                                  nay_diag *diag) {
  nay_sst_operands both = {.size = sizeof both,
                           .key = operand_not_null(key.at),
                           .key_len = key.len,
                           .newer = operand_not_null(op->value.at),
                           .newer_len = op->value.len,
                           .older = older != NULL ? operand_not_null(older->at) : NULL,
                           .older_len = older != NULL ? older->len : 0,
                           .base = base};
  op->scratch.len = 0;
  size_t len = OPERAND_FIRST_CAPACITY;
  nay_status status;
  do {
    if (nay__buffer_reserve(&op->scratch, len, a) != NAY_OK) return operand_no_memory(diag);
    len = 0;
    status = by->call(by->ctx, &both, op->scratch.at, op->scratch.cap, &len);
  } while (nay_sst__callback_again(&op->scratch, len, &status));
  if (status != NAY_OK) return nay__fail(diag, status, "merge operands could not be combined", 0);
  nay_buffer previous = op->value;
  op->value = op->scratch;
  op->scratch = previous;
  op->set = !base;
  return NAY_OK;
}

nay_status nay_sst__operand_absorb(nay_operand *op, const nay_operator *by, nay_bytes key,
                                   const nay_older *older, const nay_allocator *a, nay_diag *diag) {
  if (older->sequence >= op->oldest) {
    return nay__fail(diag, NAY_ECORRUPT,
                     "a version below a merge operand is not older than the operand", 0);
  }
  op->oldest = older->sequence;
  bool base = older->type != NAY_KEY_MERGE;
  const nay_bytes *value = older->type != NAY_KEY_DELETION ? &older->value : NULL;
  return operand_combine(op, by, key, value, base, a, diag);
}

nay_status nay_sst__operand_end(nay_operand *op, const nay_operator *by, nay_bytes key,
                                const nay_allocator *a, nay_diag *diag) {
  return operand_combine(op, by, key, NULL, true, a, diag);
}

void nay_sst__operand_free(nay_operand *op, const nay_allocator *a) {
  nay__buffer_free(&op->value, a);
  nay__buffer_free(&op->scratch, a);
}

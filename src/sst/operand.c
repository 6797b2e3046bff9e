/* operand.c - see operand.h. */
#include "sst/operand.h"

#define OPERAND_ROOM 256u /* bytes that the operator gets for a result at first */

static nay_status operand_no_memory(nay_diag *diag) {
  return nay__fail(diag, NAY_ENOMEM, "no memory for merge operands", 0);
}

/* What the operator gets: empty bytes are not NULL. */
static const void *operand_text(const uint8_t *at) { return at != NULL ? at : (const void *)""; }

nay_status nay__operand_start(nay_operand *op, uint64_t sequence, nay_bytes value,
                              const nay_allocator *a, nay_diag *diag) {
  op->value.len = 0;
  if (nay__buffer_append(&op->value, value.at, value.len, a) != NAY_OK) {
    return operand_no_memory(diag);
  }
  op->set = true;
  op->sequence = op->oldest = sequence;
  return NAY_OK;
}

/* The operand becomes what the operator makes of it and an older version; NULL: there is none. */
static nay_status operand_combine(nay_operand *op, const nay_operator *by, nay_bytes key,
                                  const nay_bytes *older, bool base, const nay_allocator *a,
                                  nay_diag *diag) {
  nay_sst_operands both = {.size = sizeof both,
                           .key = operand_text(key.at),
                           .key_len = key.len,
                           .newer = operand_text(op->value.at),
                           .newer_len = op->value.len,
                           .older = older != NULL ? operand_text(older->at) : NULL,
                           .older_len = older != NULL ? older->len : 0,
                           .base = base};
  op->next.len = 0;
  size_t len = OPERAND_ROOM;
  do {
    if (nay__buffer_reserve(&op->next, len, a) != NAY_OK) return operand_no_memory(diag);
    len = 0;
    if (!by->call(by->ctx, &both, op->next.at, op->next.cap, &len)) {
      return nay__fail(diag, NAY_ECORRUPT, "merge operands could not be combined", 0);
    }
  } while (len > op->next.cap);
  op->next.len = len;
  nay_buffer done = op->value;
  op->value = op->next;
  op->next = done;
  op->set = !base;
  return NAY_OK;
}

nay_status nay__operand_absorb(nay_operand *op, const nay_operator *by, nay_bytes key,
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

nay_status nay__operand_end(nay_operand *op, const nay_operator *by, nay_bytes key,
                            const nay_allocator *a, nay_diag *diag) {
  return operand_combine(op, by, key, NULL, true, a, diag);
}

void nay__operand_free(nay_operand *op, const nay_allocator *a) {
  nay__buffer_free(&op->value, a);
  nay__buffer_free(&op->next, a);
}

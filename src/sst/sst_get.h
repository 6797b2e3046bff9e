/*
 * sst_get.h - the steps of a get, shared by gets of one key (sst_get.c) and of many
 * (sst_get_many.c).
 */
#ifndef NAY_SST_SST_GET_H
#define NAY_SST_SST_GET_H

#include "sst/operand.h"
#include "sst/sst.h"

/* nay_get_position: where a key would be: an index entry, and the block it points to. */
typedef struct nay_get_position {
  nay_entry entry;
  nay_handle handle;
  size_t near;       /* leading bytes of the key that an adjacent key in index or block shares */
  size_t prefix_len; /* bytes that the prefix filter was probed with; 0: it was not */
} nay_get_position;

/* nay__get_in_range: whether the key is between the first and the last of the table. */
bool nay__get_in_range(const nay_sst *sst, const nay_target *target);

/* nay__get_locate: the data block that may have the key. NAY_ENOENT: none does. What was found is
 * valid until the pin is given back. */
nay_status nay__get_locate(const nay_sst *sst, const nay_target *target, nay_index_pin *pin,
                           nay_diag *diag, nay_get_position *at);

/* nay__get_find: the key in that block; what the value refers to stays in the block.
 * NAY_GET_OPERAND: it is a merge operand, and *diag says so. */
nay_status nay__get_find(const nay_sst *sst, const nay_target *target, const nay_block *block,
                         nay_get_position *at, nay_diag *diag, nay_sst_value *value);

/* nay__get_false_positive: whether a maybe for an absent key was one. */
static inline bool nay__get_false_positive(const nay_get_position *at) {
  /* Keys that share a prefix are contiguous: if any key has it, an adjacent one has. At the edge of
   * the block the index key stands for it. */
  return at->prefix_len == 0 || at->near < at->prefix_len;
}

/* nay__get_other_type: the error of a type that LevelDB does not have. */
nay_status nay__get_other_type(nay_diag *diag, uint64_t at);

/* nay_collector: the merge operands that one get has met. Set the first three; the rest is valid
 * once it has started. */
struct nay_collector {
  const nay_operator *by; /* call NULL: operands are an error */
  const nay_allocator *allocator;
  bool started;
  nay_operand operand;
  nay_buffer key; /* of the newest */
};

/* nay__collect_start: its key. Whatever this returns, nay__collect_end follows in the end. */
nay_status nay__collect_start(nay_collector *collector, nay_bytes key, nay_diag *diag);

/* nay__collect: the versions of a key in a table, from the operand on that nay__get_find found in
 * the block. NAY_OK: `value` is the value or deletion below the operands. NAY_GET_OPERAND: there is
 * none in this table. */
nay_status nay__collect(const nay_sst *sst, const nay_target *target, const nay_block *index,
                        const nay_get_position *at, const nay_block *block,
                        const nay_hash_memo *memo, nay_diag *diag, nay_sst_value *value);

/* nay__collect_end: `value` becomes what the operator makes of the operands and of that below them:
 * of `value` with NAY_OK, of nothing with NAY_ENOENT. Any other status is returned. */
nay_status nay__collect_end(nay_collector *collector, nay_status status, nay_diag *diag,
                            nay_sst_value *value);

/* nay__get_trace_operand, nay__get_trace_block: the steps of nay__collect. */
void nay__get_trace_operand(const nay_hash_memo *memo);
void nay__get_trace_block(const nay_hash_memo *memo, nay_handle handle, const nay_hold *hold);

/*
 * nay_get_batch: keys in ascending order that no table has answered yet, in parallel arrays; and
 * the caller's arrays for the answers.
 */
typedef struct nay_get_batch {
  size_t n;
  const void **keys;
  size_t *lens;
  uint32_t *numbers; /* of the key in the caller's arrays */
  uint64_t *lo, *hi; /* hashes, if hashed */
  uint64_t *bitmap;  /* scratch: the answers of a filter */
  bool hashed;
  nay_hasher hasher; /* of lo and hi */
  uint64_t nhashes;
  uint64_t trailer;      /* of the search in internal keys */
  nay_hold *hold;        /* of the block that is being searched */
  nay_hold *filter_hold; /* of a partition of a filter */
  nay_index_pin pin;     /* of the table that is searched */

  uint8_t *values; /* nay_sst_value, stride bytes apart */
  size_t stride;
  nay_status *statuses; /* NAY_ENOENT: no answer yet */
  size_t *tables;       /* may be NULL */
  bool *answered;       /* keys, by number */
  size_t nanswered;
  bool merges;      /* merge operands are no error: the status becomes NAY_GET_OPERAND, */
  size_t noperands; /* so many times, for the caller to resolve */
  size_t table;     /* the number of the one that is searched */
  uint32_t failed;  /* the first key that did; UINT32_MAX: none */
  nay_diag *why;    /* it did; may be NULL */
} nay_get_batch;

/* nay__get_failed: why a key failed, if no key before it did. */
static inline void nay__get_failed(nay_get_batch *b, uint32_t number, const nay_diag *why) {
  if (number >= b->failed) return;
  b->failed = number;
  if (b->why != NULL) *b->why = *why;
}

/* nay__sst_get_many: nay__sst_get for keys [from, to) of the batch. */
void nay__sst_get_many(const nay_sst *sst, nay_get_batch *batch, size_t from, size_t to);

#endif /* NAY_SST_SST_GET_H */

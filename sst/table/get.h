/*
 * get.h - the steps of a get, shared by gets of one key (get.c), gets of many keys
 * (get_many.c) and the collection of merge operands (lookup_merge.c).
 */
#ifndef NAY_SST_TABLE_GET_H
#define NAY_SST_TABLE_GET_H

#include "table/merge_operands.h"
#include "table/table.h"

/* nay_get_position: where the index says a key would be: an index entry, and its data block. */
typedef struct nay_get_position {
  nay_entry entry;
  nay_handle handle;
  size_t near;       /* longest common prefix of the key with its neighbours in index and block */
  size_t prefix_len; /* length of the prefix that was probed; 0: none was */
} nay_get_position;

/* nay_sst__get_in_range: whether the key lies in the key range of the table. */
bool nay_sst__get_in_range(const nay_sst *sst, const nay_target *target);

/* nay_sst__get_locate: searches the index for the data block that may have the key. NAY_ENOENT: no
 * block may. The position is valid until the index is unpinned. */
nay_status nay_sst__get_locate(const nay_sst *sst, const nay_target *target, nay_index_pin *pin,
                               nay_diag *diag, nay_get_position *at);

/* nay_sst__get_find: searches the data block for the key; `value` points into the block.
 * NAY_GET_OPERAND: the newest visible version is a merge operand; *diag has the error for a get
 * without merge operator. */
nay_status nay_sst__get_find(const nay_sst *sst, const nay_target *target, const nay_block *block,
                             nay_get_position *at, nay_diag *diag, nay_sst_value *value);

/* nay_sst__get_false_positive: whether a maybe for an absent key is a false positive. */
static inline bool nay_sst__get_false_positive(const nay_get_position *at) {
  /* A prefix filter was right if any key of the table has the prefix. Keys with one prefix are
   * contiguous, so a neighbour of the absent key would have it; at the edge of the block the index
   * key stands for the neighbour. */
  return at->prefix_len == 0 || at->near < at->prefix_len;
}

/* nay_sst__get_other_type: fails with NAY_ENOTSUP for an entry type that LevelDB does not have. */
nay_status nay_sst__get_other_type(nay_diag *diag, uint64_t at);

/* nay_collector: the merge operands that a get has met so far. The caller sets the first three
 * fields; the others are valid once `started` is set. */
struct nay_collector {
  const nay_operator *by; /* call NULL: there is no operator, and operands are an error */
  const nay_allocator *allocator;
  bool started;
  nay_operand operand;
  nay_buffer key; /* user key of the operands */
};

/* nay_sst__collect_start: starts a collection for the key. nay_sst__collect_end must follow, also
 * after an error. */
nay_status nay_sst__collect_start(nay_collector *collector, nay_bytes key, nay_diag *diag);

/* nay_sst__collect: combines the versions of a key in one table, from the operand on that
 * nay_sst__get_find found in the block. NAY_OK: `value` is the value or deletion below the
 * operands. NAY_GET_OPERAND: this table has no such base; older tables may. */
nay_status nay_sst__collect(const nay_sst *sst, const nay_target *target, const nay_block *index,
                            const nay_get_position *at, const nay_block *block,
                            const nay_hash_memo *memo, nay_diag *diag, nay_sst_value *value);

/* nay_sst__collect_end: sets `value` to the operator's result for the operands and their base:
 * `value` if status is NAY_OK, nothing if it is NAY_ENOENT. Any other status is returned as it is.
 */
nay_status nay_sst__collect_end(nay_collector *collector, nay_status status, nay_diag *diag,
                                nay_sst_value *value);

/* nay_sst__get_trace_operand, nay_sst__get_trace_block: report the steps of nay_sst__collect to the
 * trace. */
void nay_sst__get_trace_operand(const nay_hash_memo *memo);
void nay_sst__get_trace_block(const nay_hash_memo *memo, nay_handle handle, const nay_hold *hold);

/* nay_get_batch: the keys of a batch that no table has answered yet, ascending, in parallel arrays;
 * the state of the table being searched; and the caller's arrays for the answers. */
typedef struct nay_get_batch {
  size_t n;
  const void **keys;
  size_t *lens;
  uint32_t *numbers; /* position of the key in the caller's arrays */
  uint64_t *lo, *hi; /* hashes of the keys; valid if `hashed` */
  uint64_t *bitmap;  /* scratch: the answers of a filter */
  bool hashed;
  nay_hasher hasher; /* hash function of lo and hi */
  uint64_t nhashes;
  uint64_t trailer;      /* trailer of the search targets: the sequence number of the snapshot */
  nay_hold *hold;        /* block being searched */
  nay_hold *filter_hold; /* filter partition being probed */
  nay_index_pin pin;     /* index of the table being searched */

  uint8_t *values; /* array of nay_sst_value, `stride` bytes apart */
  size_t stride;
  nay_status *statuses; /* NAY_ENOENT: not answered yet */
  size_t *tables;       /* number of the table that answered each key; may be NULL */
  bool *answered;       /* whether a key is answered, by its position in the caller's arrays */
  size_t nanswered;
  /* Merge operands are no error: a key that meets one gets the status NAY_GET_OPERAND. */
  bool merges;
  size_t noperands; /* keys with NAY_GET_OPERAND, for the caller to resolve */
  size_t table;     /* number of the table being searched */
  uint32_t failed;  /* position of the first key that failed; UINT32_MAX: none did */
  nay_diag *why;    /* why that key failed; may be NULL */
} nay_get_batch;

/* nay_sst__get_failed: records why a key failed, unless an earlier key of the caller's failed too.
 */
static inline void nay_sst__get_failed(nay_get_batch *b, uint32_t number, const nay_diag *why) {
  if (number >= b->failed) return;
  b->failed = number;
  if (b->why != NULL) *b->why = *why;
}

/* nay_sst__get_many: nay_sst__get for the keys [from, to) of the batch. */
void nay_sst__get_many(const nay_sst *sst, nay_get_batch *batch, size_t from, size_t to);

#endif /* NAY_SST_TABLE_GET_H */

/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_merge.h - merge operands: versions of a key that change what is below them.
 *
 * An engine that increments a counter need not read it: it writes the operand "+1". Whoever reads
 * the key combines the operands above its last value, or above nothing, with that:
 *
 *   sequence    9     7     4     2                     a reader at 9 sees 13,
 *   version    "+1"  "+5"  "=7"  "+3"                   one at 8 sees 12, one at 3 sees 3
 *
 * Operands are entries of internal keys with the type 2, RocksDB's kTypeMerge: see nay_sst_entry.
 * The operator is given to a lookup (nay_sst_lookup.h), whose gets and merging iterators
 * (nay_sst_iter.h) then combine what they meet, and to compactions (nay_sst_compact.h), which store
 * the result. All of them combine in the same way: in pairs, the newest operand with the next older
 * version, the result with the next, down to a value, a deletion or the end of the key.
 *
 * Two versions of a key with one sequence number cannot be told apart: where one of them is an
 * operand that is combined, that is NAY_ECORRUPT, as are operands that the operator refuses.
 */
#ifndef NAY_SST_MERGE_H
#define NAY_SST_MERGE_H

#include "nay_sst.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * nay_sst_operands: two adjacent versions of a key. `newer` is a merge operand. With `base` the
 * result is a value: older is the value below, or NULL when there is none. Without it `older` is an
 * operand too, and so is the result. `key` is the key of the newest operand.
 */
typedef struct nay_sst_operands {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  const void *key;
  size_t key_len;
  const void *newer;
  size_t newer_len;
  const void *older;
  size_t older_len;
  bool base;
} nay_sst_operands;

/*
 * nay_sst_merge_operator: combines them into *len bytes at out; if that is above cap, it is called
 * again with a larger cap. It must be associative: how many operands a compaction has combined must
 * not change what a reader sees. false: they cannot be combined, and the call ends with
 * NAY_ECORRUPT. Calls may come from many threads at once.
 */
typedef bool (*nay_sst_merge_operator)(void *ctx, const nay_sst_operands *operands, void *out,
                                       size_t cap, size_t *len);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_MERGE_H */

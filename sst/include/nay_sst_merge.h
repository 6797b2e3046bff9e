/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_merge.h - merge operands: versions of a key that modify the version below them.
 *
 * An engine that increments a counter need not read it first: it writes the operand "+1". A reader
 * of the key combines the operands with the value below them, or with nothing if there is none:
 *
 *   sequence    9     7     4     2                     a reader at 9 sees 13,
 *   version    "+1"  "+5"  "=7"  "+3"                   one at 8 sees 12, one at 3 sees 3
 *
 * An operand is an entry of an internal key with type 2, RocksDB's kTypeMerge: see nay_sst_entry. A
 * lookup (nay_sst_lookup.h) takes the operator for its gets and merging iterators (nay_sst_iter.h),
 * and a compaction (nay_sst_compact.h) takes it to store combined versions. All of them combine in
 * pairs: the newest operand with the next older version, then the result with the next, until a
 * value, a deletion or the end of the key's versions.
 *
 * Two versions of a key with the same sequence number have no order. If one of them is an operand
 * that must be combined, the call is NAY_ECORRUPT. Operands that the operator refuses are
 * NAY_ECORRUPT as well.
 */
#ifndef NAY_SST_MERGE_H
#define NAY_SST_MERGE_H

#include "nay_sst.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * nay_sst_operands: two adjacent versions of a key; `newer` is a merge operand. With `base` the
 * result is a value: `older` is the value below the operand, or NULL if there is none. Without
 * `base` `older` is an operand as well, and so is the result. `key` is the key of the newest
 * operand.
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
 * nay_sst_merge_operator: combines two versions and writes the result, *written bytes, to
 * dst[0, cap). NAY_EBUFFER: the result needs *written bytes; the operator is called again with a
 * larger cap. NAY_ECORRUPT: the versions cannot be combined. A get, a scan or a compaction that
 * calls the operator ends with its failure (NAY_ENOENT and NAY_EEND, which would mean that a key is
 * absent, become NAY_EINVAL). The operator must be associative: the result of a read must not
 * depend on which operands a compaction has combined. Several threads may call it at once.
 */
typedef nay_status (*nay_sst_merge_operator)(void *ctx, const nay_sst_operands *operands, void *dst,
                                             size_t cap, size_t *written);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_MERGE_H */

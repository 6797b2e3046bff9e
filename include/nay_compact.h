/*
 * nay_compact.h - several tables into one, as an LSM tree compacts them.
 *
 *   nay_sst_write_options write = {sizeof write, .filter = NAY_SST_FULL_FILTER};
 *   nay_sst_compact_options how = {sizeof how, .write = &write, .bottom = true};
 *   if (nay_sst_compact(tables, 3, "new.ldb", &how, NULL, NULL, NULL) != NAY_OK) return 1;
 */
#ifndef NAY_COMPACT_H
#define NAY_COMPACT_H

#include "nay_sst.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nay_sst_compact_stats: how many entries were read, written and dropped. */
typedef struct nay_sst_compact_stats {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t read;
  uint64_t written;
  uint64_t superseded; /* dropped: a newer version or table has the key */
  uint64_t deletions;  /* dropped: no older version is left to hide */
} nay_sst_compact_stats;

/*
 * nay_sst_compact_options: all zero but for the size makes a plain LevelDB table that answers as a
 * lookup over its inputs does. write->keys stays NAY_SST_KEYS_AUTO: they are those of the inputs.
 */
typedef struct nay_sst_compact_options {
  size_t size;                        /* sizeof the struct: see ABI in nay.h */
  const nay_sst_write_options *write; /* how the new table is made, its filters from its keys;
                                         NULL: without a filter */
  bool bottom; /* no table below has an older version of these keys: deletions may go as well */
  uint64_t oldest_snapshot; /* of internal keys, the versions that readers at this sequence or above
                               can see are kept; 0: there are no such readers */
  void (*progress)(void *ctx, const nay_sst_compact_stats *so_far); /* now and then; may be NULL */
  void *progress_ctx;
} nay_sst_compact_options;

/*
 * nay_sst_compact: the entries of n tables, newest first, become one table at path, which may be
 * that of an input. Of plain keys the newest table's value is kept; of internal keys the newest
 * version, and those that a snapshot needs. NAY_EMISMATCH: some tables have plain keys and some
 * internal ones, or another comparator, or write says otherwise. NAY_EINVAL: no tables, or an
 * option. Errors of the inputs as nay_sst_iter, of the output as nay_sst_writer; then there is no
 * new table. stats may be NULL.
 */
NAY_API nay_status nay_sst_compact(const nay_sst *const *tables, size_t n, const char *path,
                                   const nay_sst_compact_options *options,
                                   const nay_allocator *allocator, nay_diag *diag,
                                   nay_sst_compact_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* NAY_COMPACT_H */

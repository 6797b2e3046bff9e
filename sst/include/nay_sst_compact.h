/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_compact.h - compaction: merges tables into new tables, as an LSM tree does.
 *
 *   nay_sst_write_options write = {sizeof write, .filter = NAY_SST_FULL_FILTER};
 *   nay_sst_compact_options how = {sizeof how, .write = &write, .bottom = true};
 *   if (nay_sst_compact(tables, 3, "new.ldb", &how, NULL, NULL, NULL) != NAY_OK) return 1;
 *
 * VERSIONS. Of a plain key the compaction keeps the value of the newest table. Of an internal key
 * it keeps the versions that a reader can see: the newest version, and for each snapshot the newest
 * version at or below it. A deletion is kept as well, because it hides versions in older tables.
 * With `bottom` there are no older tables, so a deletion that no snapshot needs is dropped. Keys
 * that the comparator calls equal are one key, as in a lookup. Each kept version keeps the bytes of
 * its own key.
 *
 * MEMORY. All memory comes from the given allocator, which is called by one thread at a time. Each
 * thread needs one block of each table that it reads, the readahead buffers, the indexes that a
 * cache would hold, and one output table: the open block, the index, and 8 bytes for each key of
 * the filter, in pages of 512 KiB. Tables with disjoint ranges are read one after the other. So
 * target_bytes bounds the memory, and max_memory limits it strictly. Caches are bypassed. To split
 * the key space, the compaction reads all indexes that are in a cache at once.
 *
 * THREADS. Input tables are only read. See each callback for the threads that call it.
 */
#ifndef NAY_SST_COMPACT_H
#define NAY_SST_COMPACT_H

#include "nay_sst.h"
#include "nay_sst_merge.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nay_sst_compact_stats: read = written + superseded + deletions + filtered + merged. */
typedef struct nay_sst_compact_stats {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t read;
  uint64_t written;
  uint64_t superseded; /* dropped: no reader can see this version */
  uint64_t deletions;  /* deletions dropped: no older version is left to hide */
  /* Values dropped by the filter callback; a value that it turns into a deletion counts as
     written */
  uint64_t filtered;
  uint64_t merged;        /* combined with a newer merge operand */
  uint64_t bytes_read;    /* bytes of the keys and values read */
  uint64_t bytes_written; /* bytes of the finished tables */
  uint64_t outputs;       /* finished tables */
  uint64_t peak_memory;   /* largest number of bytes allocated at the same time */
} nay_sst_compact_stats;

/* nay_sst_compact_verdict: the decision of a filter callback about a value. */
typedef enum nay_sst_compact_verdict {
  NAY_SST_COMPACT_KEEP = 0,
  NAY_SST_COMPACT_DROP = 1,  /* treat the key as deleted by this version */
  NAY_SST_COMPACT_CHANGE = 2 /* replace the value by the *written bytes at dst */
} nay_sst_compact_verdict;

/*
 * nay_sst_compact_filter: the compaction filter. It is called for each value that is the newest
 * version of its key and that no snapshot sees, never for deletions. *verdict is KEEP before the
 * call. DROP writes a deletion, unless no older version is left to hide. NAY_EBUFFER: the new value
 * needs *written bytes; the filter is called again with a larger cap. Any other failure ends the
 * compaction with that status.
 */
typedef nay_status (*nay_sst_compact_filter)(void *ctx, const nay_sst_entry *entry,
                                             const void *value, size_t value_len,
                                             nay_sst_compact_verdict *verdict, void *dst,
                                             size_t cap, size_t *written);

/*
 * nay_sst_compact_options: options that are all zero except `size` make a plain LevelDB table that
 * answers as a lookup over the inputs does. write->keys stays NAY_SST_KEYS_AUTO: the outputs have
 * the inputs' kind of keys.
 */
typedef struct nay_sst_compact_options {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  /* Write options of the new tables; each filter is built from the keys of its table. NULL: no
     filters. */
  const nay_sst_write_options *write;
  bool bottom;               /* no older table has these keys: deletions may be dropped as well */
  const uint64_t *snapshots; /* sequence numbers of live snapshots, ascending */
  size_t nsnapshots;
  /* Size of the data blocks after which an output ends, at the next user key; 0: one output. */
  uint64_t target_bytes;
  /* Approximate size of the ranges into which the inputs are split; an output ends with its range.
     0: 8 * target_bytes. */
  uint64_t range_bytes;
  /* Largest number of ranges compacted in parallel; 0: 1. The outputs have the same bytes for any
     number of threads. */
  unsigned threads;
  /* Memory limit in bytes; 0: none. NAY_EFULL: the compaction needs more. It uses fewer threads to
     stay below the limit. */
  size_t max_memory;
  /* May be NULL. Several threads may call it at once. Plain keys have no deletions, so the filter
     then needs `bottom`. */
  nay_sst_compact_filter filter;
  void *filter_ctx;
  nay_sst_merge_operator merge; /* NULL: tables with merge operands are NAY_ENOTSUP */
  void *merge_ctx;
  /*
   * Called now and then from each thread; may sleep to throttle. A failure, NAY_ECANCELED say, ends
   * the compaction with that status. May be NULL.
   */
  nay_status (*progress)(void *ctx, const nay_sst_compact_stats *so_far);
  void *progress_ctx;
} nay_sst_compact_options;

/*
 * nay_sst_compact: merges n tables, newest first, into one table at path, which may be the path of
 * an input. stats may be NULL. After an error there is no new table. NAY_EMISMATCH: the inputs, or
 * inputs and write options, differ in the kind of keys, the comparator or the key description.
 * NAY_ENOTSUP: as nay_sst_lookup_new. NAY_EINVAL: there are no tables, an option is wrong
 * (target_bytes must be 0), or a comparator without equal_may_differ calls different bytes equal.
 * Errors of the inputs as nay_sst_iter, errors of the output as nay_sst_writer.
 */
NAY_API nay_status nay_sst_compact(const nay_sst *const *tables, size_t n, const char *path,
                                   const nay_sst_compact_options *options,
                                   const nay_allocator *allocator, nay_diag *diag,
                                   nay_sst_compact_stats *stats);

/* ---- several outputs ------------------------------------------------------------------------- */

/* nay_sst_output: a finished table. Keys are user keys. All pointers are valid during the call
   only. */
typedef struct nay_sst_output {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  const char *path;
  const void *smallest;
  size_t smallest_len;
  const void *largest;
  size_t largest_len;
  uint64_t smallest_sequence, largest_sequence; /* plain keys: 0 */
  uint64_t entries, deletions;
  uint64_t nbytes;              /* length of the file */
  const nay_sst_target *target; /* copy of the target that received the table; path is then NULL */
} nay_sst_output;

/*
 * nay_sst_outputs: the destination of the new tables: files, named by next, or targets, given by
 * next_target (nay_sst_target in nay_sst.h). The other callback is NULL. No two calls of this
 * struct run at the same time.
 *
 * next returns the path of the next table; the text must stay valid until that table is finished.
 * next_target returns the target of the next table; its struct is copied before the next call. Each
 * target ends with finish or abort, whatever happens to the compaction. With several threads
 * several targets are in use at the same time. A NULL result ends the compaction with
 * NAY_ECANCELED.
 *
 * done (may be NULL) reports each finished table: with one thread in key order, with several
 * threads in any order.
 */
typedef struct nay_sst_outputs {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  const char *(*next)(void *ctx);
  void (*done)(void *ctx, const nay_sst_output *output);
  const nay_sst_target *(*next_target)(void *ctx);
  void *ctx; /* the first argument of each call */
} nay_sst_outputs;

/*
 * nay_sst_compact_to: nay_sst_compact into as many tables as target_bytes requires, with disjoint
 * key ranges. All versions of a key are in one table. If no entry is left, no table is written.
 * After an error the finished tables remain, and the caller removes them. NAY_EINVAL: also outputs
 * with both next and next_target, or with neither, and a target without write.
 */
NAY_API nay_status nay_sst_compact_to(const nay_sst *const *tables, size_t n,
                                      const nay_sst_outputs *outputs,
                                      const nay_sst_compact_options *options,
                                      const nay_allocator *allocator, nay_diag *diag,
                                      nay_sst_compact_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_COMPACT_H */

/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_compact.h - tables into fewer or larger ones, as an LSM tree compacts them.
 *
 *   nay_sst_write_options write = {sizeof write, .filter = NAY_SST_FULL_FILTER};
 *   nay_sst_compact_options how = {sizeof how, .write = &write, .bottom = true};
 *   if (nay_sst_compact(tables, 3, "new.ldb", &how, NULL, NULL, NULL) != NAY_OK) return 1;
 *
 * VERSIONS. Of plain keys the value of the newest table is kept. Of internal keys those versions
 * are kept that a reader can see: the newest, and for each snapshot the newest that is not above
 * it. A deletion is kept as well, because it hides versions in older tables; with `bottom` there
 * are none, and one that no snapshot needs is dropped. Keys that the comparator calls equal are one
 * key, as in a lookup; each version that is kept keeps its own bytes.
 *
 * MEMORY. Everything is allocated from the given allocator, one call at a time: for each thread one
 * block of each table that it is reading (tables whose ranges do not meet are open one after the
 * other), its readahead if it has some, its index if a cache has that, and one table that is being
 * written: its open block, its index, and 8 bytes for each key of its filter, in pages of 512 KiB.
 * So target_bytes bounds it, and max_memory is never exceeded. Caches are bypassed; to cut ranges,
 * all indexes that are in one are read at once.
 *
 * THREADS. Tables are only read. Callbacks: see each.
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
  uint64_t superseded;    /* dropped: no reader sees this version */
  uint64_t deletions;     /* dropped: no older version is left to hide */
  uint64_t filtered;      /* dropped by the filter callback; what it made deletions of is written */
  uint64_t merged;        /* combined with a newer merge operand */
  uint64_t bytes_read;    /* of keys and values */
  uint64_t bytes_written; /* of finished tables */
  uint64_t outputs;       /* finished tables */
  uint64_t peak_memory;   /* bytes allocated at the same time, at most */
} nay_sst_compact_stats;

/* nay_sst_compact_verdict: what a filter callback does with a value. */
typedef enum nay_sst_compact_verdict {
  NAY_SST_COMPACT_KEEP = 0,
  NAY_SST_COMPACT_DROP = 1,  /* as if the key had been deleted by this version */
  NAY_SST_COMPACT_CHANGE = 2 /* to *len bytes at out */
} nay_sst_compact_verdict;

/*
 * nay_sst_compact_filter: called for each value that is the newest version of its key and that no
 * snapshot sees; never for deletions. CHANGE: if *len is above cap, it is called again with a
 * larger cap. DROP leaves a deletion unless nothing is left to hide.
 */
typedef nay_sst_compact_verdict (*nay_sst_compact_filter)(void *ctx, const nay_sst_entry *version,
                                                          const void *value, size_t value_len,
                                                          void *out, size_t cap, size_t *len);

/*
 * nay_sst_compact_options: all zero but for the size makes a plain LevelDB table that answers as a
 * lookup over its inputs does. write->keys stays NAY_SST_KEYS_AUTO: they are those of the inputs.
 */
typedef struct nay_sst_compact_options {
  size_t size;                        /* sizeof the struct: see ABI in nay.h */
  const nay_sst_write_options *write; /* how new tables are made, their filters from their keys;
                                         NULL: without a filter */
  bool bottom; /* no table below has an older version of these keys: deletions may go as well */
  const uint64_t *snapshots; /* sequences that readers still read at, ascending */
  size_t nsnapshots;
  uint64_t target_bytes; /* an output of data blocks of this size ends before the next user key; 0:
                            there is one output */
  uint64_t range_bytes;  /* inputs are cut into ranges of about this size; an output ends with its
                            range. 0: 8 * target_bytes */
  unsigned threads;      /* at most so many ranges at the same time; the outputs have the same bytes
                            for any number. 0: 1 */
  size_t max_memory;     /* NAY_EFULL when more is needed at a time; fewer threads are used to stay
                            below. 0: no limit */
  nay_sst_compact_filter filter; /* may be NULL; with several threads several calls at once. Over
                                    plain keys, which have no deletions, it needs bottom */
  void *filter_ctx;
  nay_sst_merge_operator merge; /* NULL: tables with merge operands are NAY_ENOTSUP */
  void *merge_ctx;
  /*
   * now and then, from each thread; may sleep to throttle. false cancels: NAY_ECANCELED. May be
   * NULL.
   */
  bool (*progress)(void *ctx, const nay_sst_compact_stats *so_far);
  void *progress_ctx;
} nay_sst_compact_options;

/*
 * nay_sst_compact: the entries of n tables, newest first, become one table at path, which may be
 * that of an input. NAY_EMISMATCH: some tables have plain keys and some internal ones, or another
 * comparator, or different key descriptions, or write says otherwise. NAY_ENOTSUP: as
 * nay_sst_lookup_new_tables. NAY_EINVAL: no tables, or an option (target_bytes must be 0), or a
 * comparator without equal_may_differ that calls other bytes the same key. Errors of the inputs as
 * nay_sst_iter, of the output as nay_sst_writer; then there is no new table. stats may be NULL.
 */
NAY_API nay_status nay_sst_compact(const nay_sst *const *tables, size_t n, const char *path,
                                   const nay_sst_compact_options *options,
                                   const nay_allocator *allocator, nay_diag *diag,
                                   nay_sst_compact_stats *stats);

/* ---- several outputs ------------------------------------------------------------------------- */

/* nay_sst_output: a finished table. Keys are user keys; all pointers are valid during the call. */
typedef struct nay_sst_output {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  const char *path;
  const void *smallest;
  size_t smallest_len;
  const void *largest;
  size_t largest_len;
  uint64_t smallest_sequence, largest_sequence; /* plain keys: 0 */
  uint64_t entries, deletions;
  uint64_t nbytes;            /* of the file */
  const nay_sst_target *sink; /* that took it, copied; path is then NULL */
} nay_sst_output;

/*
 * nay_sst_outputs: where the new tables go: to files, by next, or into sinks (nay_sst.h), by
 * next_target; the other of the two is NULL. No two calls of this struct run at the same time.
 *
 * next names the file of a table that is about to be written; the text must stay until that table
 * is finished. next_target returns what takes its bytes; the struct is copied before the next call.
 * Each sink ends with finish or with abort, whatever happens to the compaction; those of several
 * threads are in use at the same time. NULL: there is none, and the compaction ends with
 * NAY_ECANCELED.
 *
 * done (may be NULL) tells of each finished table: with one thread in the order of their keys, with
 * several in any order.
 */
typedef struct nay_sst_outputs {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  const char *(*next)(void *ctx);
  void (*done)(void *ctx, const nay_sst_output *output);
  void *ctx;
  const nay_sst_target *(*next_target)(void *ctx);
} nay_sst_outputs;

/*
 * nay_sst_compact_to: the same into as many tables as target_bytes asks for, with disjoint ranges
 * of keys; the versions of one key are never in two of them. None when no entry is left. After an
 * error the tables that were finished stay, for the caller to remove. NAY_EINVAL: also outputs with
 * both next and next_target, or none, and a sink without write.
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

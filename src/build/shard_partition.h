/*
 * shard_partition.h - hashes, cut by their top bits into tasks that a thread can hold in its cache.
 *
 *   source ---count---> keys of each shard ---load---> work[]: task after task
 *   (only read,          (exact, or with                (8 bytes a key, private; all tasks,
 *    in any order)        repeats)                       or one group of them after the other)
 *
 * Calls: open cut (rewind (next)*)* ... close, and cut again for another number of shards.
 */
#ifndef NAY_SHARD_PARTITION_H
#define NAY_SHARD_PARTITION_H

#include "base/alloc.h"
#include "build/hash_source.h"

typedef struct nay_partition {
  nay_source source;
  nay_allocator allocator;
  unsigned nthreads;
  uint64_t group_limit; /* keys in work[] at one time, unless one task has more */
  uint64_t premix;      /* 0, or what hashes are mixed with: family/static_hash.h */
  bool dedupe;          /* free every group of repeats as it is loaded */
  bool sorted;          /* work[] is the whole set, premixed, ascending, without repeats */

  uint64_t nshards, ntasks;
  unsigned task_log2;
  uint64_t *counts;  /* keys of each shard, repeats counted unless `sorted` */
  uint64_t *ranges;  /* the same for each thread's part of the source */
  uint64_t *cursors; /* where a thread puts the next key of a task */
  uint64_t *starts;  /* where a task begins in work[] */
  uint64_t *lens;    /* how many keys it has there */
  size_t tables_bytes;

  uint64_t *work;
  size_t work_bytes;
  uint64_t group, group_end; /* tasks that are in work[] */

  uint64_t next; /* counter of pieces that threads take */
  nay_status io; /* of the thread that reads the file */
} nay_partition;

void nay__partition_open(nay_partition *p, const nay_source *source, unsigned nthreads,
                         uint64_t group_limit, const nay_allocator *allocator);
void nay__partition_close(nay_partition *p);

/* nay__partition_cut: for so many shards, 2^task_log2 of them a task; counts[] is then known. */
nay_status nay__partition_cut(nay_partition *p, uint64_t nshards, unsigned task_log2);

/* nay__partition_rewind, nay__partition_next: all tasks, group by group. *more is false at the end.
 */
void nay__partition_rewind(nay_partition *p);
nay_status nay__partition_next(nay_partition *p, bool *more);

/* nay__partition_whole: whether all tasks are one group. */
bool nay__partition_whole(const nay_partition *p);

/*
 * nay__partition_distinct: how many distinct hashes there are. From then on no group has repeats;
 * when all tasks are one group the set is also kept sorted. Cut again afterwards.
 */
nay_status nay__partition_distinct(nay_partition *p, uint64_t *n);

/* nay__partition_recount: counts[] without repeats, for a partition that dedupes group by group. */
nay_status nay__partition_recount(nay_partition *p);

/* nay__partition_mix: draws a premix from the set, which has been made distinct. Cut again. */
nay_status nay__partition_mix(nay_partition *p);

static inline uint64_t nay__partition_first_shard(const nay_partition *p, uint64_t task) {
  return nay__min_u64(p->nshards, task << p->task_log2);
}

#endif /* NAY_SHARD_PARTITION_H */

/*
 * shard_partition.h - radix partitioning of hashes by their top bits, into shards.
 *
 *   source ---count---> keys per shard ---load---> work[]: shard after shard
 *   (read only,         (duplicates                (a copy, 8 bytes per key; all shards,
 *    any order)          included or not)           or one group of shards at a time)
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
  uint64_t group_limit; /* keys in work[] at a time, unless one shard has more */
  uint64_t premix;      /* mixes the hashes unless 0: family/static_hash.h */
  bool dedupe;          /* drop the duplicates of every group when it is loaded */
  bool sorted;          /* work[] is the whole set, premixed, ascending, distinct */

  uint64_t nshards;
  uint64_t *counts;  /* keys per shard, duplicates included unless `sorted` */
  uint64_t *ranges;  /* the same per thread's range of the source */
  uint64_t *cursors; /* where a thread writes the next key of a shard */
  uint64_t *starts;  /* where a shard starts in work[] */
  uint64_t *lens;    /* keys of a shard in work[] */
  size_t tables_bytes;

  uint64_t *work;
  size_t work_bytes;
  uint64_t group, group_end; /* the shards in work[]: [group, group_end) */

  uint64_t next; /* counter from which threads take work */
  nay_status io; /* of the thread that reads the spill file */
} nay_partition;

void nay__partition_open(nay_partition *p, const nay_source *source, unsigned nthreads,
                         uint64_t group_limit, const nay_allocator *allocator);
void nay__partition_close(nay_partition *p);

/* nay__partition_cut: sets the number of shards and computes counts[]. */
nay_status nay__partition_cut(nay_partition *p, uint64_t nshards);

/* nay__partition_rewind, nay__partition_next: load all shards, group by group, until !*more. */
void nay__partition_rewind(nay_partition *p);
nay_status nay__partition_next(nay_partition *p, bool *more);

/* nay__partition_whole: whether one group holds all shards. */
bool nay__partition_whole(const nay_partition *p);

/*
 * nay__partition_distinct: counts the distinct hashes. From then on groups have no duplicates; if
 * one group holds all shards, the set also stays sorted. Cut again afterwards.
 */
nay_status nay__partition_distinct(nay_partition *p, uint64_t *n);

/* nay__partition_recount: counts[] of the distinct hashes, if groups are deduplicated. */
nay_status nay__partition_recount(nay_partition *p);

/* nay__partition_mix: derives a premix from the set, which must be distinct. Cut again. mask: the
 * bits that it may have, the lowest among them. */
nay_status nay__partition_mix(nay_partition *p, uint64_t mask);

#endif /* NAY_SHARD_PARTITION_H */

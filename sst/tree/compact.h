/*
 * compact.h - the private interface of compaction, which is these files:
 *
 *   compact.c      the public calls: options, threads
 *   compact_split.c    splits the key space into ranges, which threads compact independently
 *   compact_cover.c    finds the tables that overlap a range
 *   compact_range.c    compacts one range: a k-way merge of its tables
 *   compact_entry.c    decides on one entry: keep, drop, filter or combine
 *   compact_output.c   writes the output tables
 *
 *        tables ---> merge heap ---> entry rules ---> output tables     one thread per range
 *
 * A range is what RocksDB calls a subcompaction. The range boundaries depend only on the indexes of
 * the inputs and on the options, and an output never crosses a boundary. So the outputs have the
 * same bytes for any number of threads.
 */
#ifndef NAY_SST_TREE_COMPACT_H
#define NAY_SST_TREE_COMPACT_H

#include "nay_sst_compact.h"
#include "os/mutex.h"
#include "table/merge_operands.h"
#include "table/table.h"
#include "tree/memory_budget.h"
#include "tree/merge_heap.h"

/* nay_compact_cover: finds the tables that overlap a range; see compact_cover.c. All arrays are in
 * one allocation, which `starts` points to. */
typedef struct nay_compact_cover {
  size_t *starts; /* starts[r + 1]: number of tables whose first range is at most r */
  size_t *sorted; /* numbers of the tables, in ascending order of their first range */
  size_t *tree;   /* max tree over `sorted`: the children of node k are 2k and 2k + 1 */
  size_t leaves;  /* a power of two; leaf i, of table sorted[i], is node leaves + i */
  size_t bytes;   /* size of the allocation */
} nay_compact_cover;

/* nay_compaction: what all ranges of a compaction share. Threads update `next_range`, `totals` and
 * `stop` atomically. The mutex protects `status` and `why`, and serialises the callbacks of
 * nay_sst_outputs. */
typedef struct nay_compaction {
  nay_allocator allocator; /* allocates from `budget` */
  nay_budget *budget;
  nay_order order; /* order of the keys of all inputs */
  nay_sst_compact_options options;
  nay_sst_write_options write;
  nay_sst_outputs outputs;
  nay_sst *tables; /* shallow copies of the inputs, newest first; they allocate from `budget` and
                      bypass the cache */
  size_t ntables;
  nay_buffer *cuts; /* user keys: range i has the keys in [cuts[i - 1], cuts[i]) */
  size_t ncuts, cuts_capacity;
  nay_compact_cover cover;
  uint64_t next_range; /* the next range that a thread takes */
  nay_sst_compact_stats totals;
  uint8_t stop; /* nonzero after a range has failed: the other ranges end early */
  nay_mutex mutex;
  nay_status status; /* status of the first range that failed */
  nay_diag why;      /* diag of the first range that failed */
} nay_compaction;

/* nay_compact_output: the output table that a range is writing. */
typedef struct nay_compact_output {
  nay_sst_writer *writer; /* NULL: no output is open */
  const char *path;       /* NULL: the output goes to `sink` */
  nay_sst_target sink;
  nay_buffer smallest, largest; /* user keys */
  uint64_t smallest_sequence, largest_sequence;
  uint64_t entries, deletions;
} nay_compact_output;

/* nay_compact_input: a table of a range. */
typedef struct nay_compact_input {
  const nay_sst *table;
  nay_sst_iter *iter; /* NULL until the merge reaches the table's first key */
} nay_compact_input;

/* nay_compact_range: the state of one range, which belongs to one thread. */
typedef struct nay_compact_range {
  nay_compaction *shared;
  const nay_allocator *allocator;
  nay_diag *diag;
  const nay_buffer *from, *to; /* user keys: the range is [from, to); NULL: no bound */
  nay_merge_heap heap;
  nay_compact_input *inputs; /* the tables that overlap the range */
  size_t ninputs;
  nay_buffer key;          /* user key of the newest version of the current snapshot stripe */
  bool has_key;            /* `key` is set */
  size_t stripe;           /* snapshot stripe (compact_entry.c) of the previous version */
  bool has_stripe;         /* `stripe` is set: the current key had a previous version */
  nay_operand operand;     /* merge operands of the current key, combined so far */
  size_t operand_stripe;   /* snapshot stripe of `operand` */
  nay_buffer internal_key; /* scratch: the key being written */
  nay_buffer new_value;    /* value that the compaction filter returned */
  nay_compact_output output;
  nay_sst_compact_stats stats;   /* counts that are not yet in the totals */
  uint64_t bytes_since_progress; /* bytes read since the last progress callback */
} nay_compact_range;

/* nay_compact_entry: a decoded entry of an input table. A plain key has sequence 0. */
typedef struct nay_compact_entry {
  nay_bytes user;
  uint64_t sequence;
  nay_entry_type type;
  nay_bytes value;
} nay_compact_entry;

/* nay_sst__compact_not_null: the bytes of a buffer for a callback, which never gets NULL. */
static inline const void *nay_sst__compact_not_null(const nay_buffer *b) {
  return b->at != NULL ? b->at : (const void *)"";
}

/* nay_sst__compact_split: computes c->cuts. NAY_ENOMEM, NAY_ECORRUPT. */
nay_status nay_sst__compact_split(nay_compaction *c, nay_diag *diag);

/* nay_sst__compact_cover: computes c->cover from c->cuts. NAY_ENOMEM. */
nay_status nay_sst__compact_cover(nay_compaction *c);

/* nay_sst__compact_covering: returns the number of tables that overlap a range, and stores them in
 * `inputs` unless that is NULL. */
size_t nay_sst__compact_covering(const nay_compaction *c, size_t range, nay_compact_input *inputs);

/* nay_sst__compact_range: compacts range i and writes its outputs. */
nay_status nay_sst__compact_range(nay_compaction *c, size_t i, nay_diag *diag);

/* nay_sst__compact_entry: processes the next entry of the merge. Entries come in key order, the
 * versions of a key newest first. */
nay_status nay_sst__compact_entry(nay_compact_range *r, const nay_compact_entry *e);

/* nay_sst__compact_end: ends the range after its last entry, and finishes its output. */
nay_status nay_sst__compact_end(nay_compact_range *r);

/* nay_sst__compact_write: writes an entry with the current key to the output; opens one if needed.
 */
nay_status nay_sst__compact_write(nay_compact_range *r, uint64_t sequence, nay_entry_type type,
                                  nay_bytes value);

/* nay_sst__compact_cut: finishes the output if it has reached target_bytes. Callers call it between
 * two user keys only. */
nay_status nay_sst__compact_cut(nay_compact_range *r);

/* nay_sst__compact_finish: finishes the output, if one is open, and calls outputs.done. */
nay_status nay_sst__compact_finish(nay_compact_range *r);
void nay_sst__compact_output_free(nay_compact_range *r);

#endif /* NAY_SST_TREE_COMPACT_H */

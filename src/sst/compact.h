/*
 * compact.h - a compaction, shared by its parts:
 *
 *   sst_compact.c      the calls: options, ranges, threads
 *   compact_split.c    the ranges of keys that threads compact independently
 *   compact_cover.c    the tables that have keys of a range
 *   compact_range.c    one range: a merge of its tables
 *   compact_entry.c    one entry: kept, dropped, filtered or combined
 *   compact_output.c   the tables that are written
 *
 *        tables ---> heap ---> rules ---> outputs          for each range, by one thread
 *
 * Ranges are cut by the indexes of the inputs and by the options alone, and an output ends with its
 * range, so the outputs have the same bytes for any number of threads.
 */
#ifndef NAY_SST_COMPACT_H
#define NAY_SST_COMPACT_H

#include "nay_compact.h"
#include "os/mutex.h"
#include "sst/budget.h"
#include "sst/merge_heap.h"
#include "sst/operand.h"
#include "sst/sst.h"

/* nay_compact_cover: the inputs by the ranges they meet; one allocation. */
typedef struct nay_compact_cover {
  size_t *starts; /* starts[r + 1]: so many tables begin by range r */
  size_t *ages;   /* of the tables, by the range they begin in */
  size_t *tree;   /* of maxima: node k has 2k and 2k + 1, leaf i is node leaves + i */
  size_t leaves;  /* a power of two */
  size_t bytes;
} nay_compact_cover;

/* nay_compaction: what all ranges share. Threads change `totals` and `stop` atomically, and with
 * the mutex `status` and `why`. The mutex also serialises the calls of nay_sst_outputs. */
typedef struct nay_compaction {
  nay_allocator allocator; /* of the budget */
  nay_budget *budget;
  nay_order order;
  nay_sst_compact_options options;
  nay_sst_write_options write;
  nay_sst_outputs outputs;
  nay_sst *tables; /* shallow copies of the inputs, newest first: another allocator, no cache */
  size_t ntables;
  nay_buffer *cuts; /* user keys: range i has the keys from cuts[i - 1] to before cuts[i] */
  size_t ncuts, cuts_capacity;
  nay_compact_cover cover;
  uint64_t next_range;
  nay_sst_compact_stats totals;
  uint8_t stop; /* a range has failed: the others end */
  nay_mutex mutex;
  nay_status status; /* of the first that did */
  nay_diag why;
} nay_compaction;

/* nay_compact_output: the table that a range is writing. */
typedef struct nay_compact_output {
  nay_sst_writer *writer; /* NULL: none */
  const char *path;       /* NULL: it goes into the sink */
  nay_sst_sink sink;
  nay_buffer smallest, largest; /* user keys */
  uint64_t smallest_sequence, largest_sequence;
  uint64_t entries, deletions;
} nay_compact_output;

/* nay_compact_input: a table of a range; its iterator is made when its first entry comes up. */
typedef struct nay_compact_input {
  const nay_sst *table;
  nay_sst_iter *iter;
} nay_compact_input;

/* nay_compact_range: what one thread compacts at a time. */
typedef struct nay_compact_range {
  nay_compaction *shared;
  const nay_allocator *allocator;
  nay_diag *diag;
  const nay_buffer *from, *to; /* user keys; NULL: no bound */
  nay_merge_heap heap;
  nay_compact_input *inputs; /* the tables that have keys of it, */
  size_t ninputs;
  nay_buffer key; /* user key of the last version that was the newest of its stripe */
  bool has_key;
  size_t stripe;         /* of the last version that was decided */
  bool decided;          /* there was one of this key */
  nay_operand operand;   /* of the current key, */
  size_t operand_stripe; /* and its stripe */
  nay_buffer internal;   /* a key that is being written */
  nay_buffer changed;    /* a value of the filter callback */
  nay_compact_output output;
  nay_sst_compact_stats stats; /* not yet in the totals */
  uint64_t since;              /* bytes since the last progress */
} nay_compact_range;

/* nay_compact_entry: an entry as the merge meets it. Plain keys have sequence 0. */
typedef struct nay_compact_entry {
  nay_bytes user;
  uint64_t sequence;
  nay_entry_type type;
  nay_bytes value;
} nay_compact_entry;

/* nay__compact_text: what callbacks get: empty bytes are not NULL. */
static inline const void *nay__compact_text(const nay_buffer *b) {
  return b->at != NULL ? b->at : (const void *)"";
}

/* nay__compact_split: fills the cuts. NAY_ENOMEM, NAY_ECORRUPT. */
nay_status nay__compact_split(nay_compaction *c, nay_diag *diag);

/* nay__compact_cover: fills the cover, once there are cuts. NAY_ENOMEM. */
nay_status nay__compact_cover(nay_compaction *c);

/* nay__compact_covering: how many tables may have keys of a range; they become the tables of
 * `inputs`, unless that is NULL. */
size_t nay__compact_covering(const nay_compaction *c, size_t range, nay_compact_input *inputs);

/* nay__compact_range: range number i, with the tables it writes. */
nay_status nay__compact_range(nay_compaction *c, size_t i, nay_diag *diag);

/* nay__compact_entry: the next entry in order. */
nay_status nay__compact_entry(nay_compact_range *r, const nay_compact_entry *e);

/* nay__compact_end: after the last entry. */
nay_status nay__compact_end(nay_compact_range *r);

/* nay__compact_write: an entry of the current key into the output, which is opened if there is
 * none. */
nay_status nay__compact_write(nay_compact_range *r, uint64_t sequence, nay_entry_type type,
                              nay_bytes value);

/* nay__compact_cut: finishes the output if it is large enough; called between two user keys. */
nay_status nay__compact_cut(nay_compact_range *r);

/* nay__compact_finish: finishes the output, if there is one, and tells the caller. */
nay_status nay__compact_finish(nay_compact_range *r);
void nay__compact_output_free(nay_compact_range *r);

#endif /* NAY_SST_COMPACT_H */

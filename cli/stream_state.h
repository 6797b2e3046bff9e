/*
 * stream_state.h - what the two halves of a stream share: stream_fill.c, the producer, which makes
 * batches of files, and stream.c, which hands them out.
 */
#ifndef NAY_STREAM_STATE_H
#define NAY_STREAM_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "batch.h"
#include "read_stats.h"
#include "stream.h"

#define RING 6u

struct key_stream {
  key_reader reader;
  source_use use;
  const char *const *paths;
  size_t npaths, next_path;
  bool wants_header; /* of each file */
  source *source;
  const char *name;
  bool last;        /* the source has ended */
  struct {          /* bytes that were read for one long record, and belong to others */
    uint8_t *bytes; /* or NULL */
    size_t at, len;
    bool last; /* nothing comes after them in this source */
  } pending;
  uint64_t nread, nreframed;  /* bytes read; bytes of records that were framed again in a pause */
  uint8_t *carry;             /* unfinished bytes for the next batch: in the batch before it */
  size_t carry_len, searched; /* `searched` bytes of them hold no terminator */
  bool has_zero;              /* and a zero byte at zero_at, if searched is not 0 */
  size_t zero_at;
  uint64_t position;  /* of the files that are closed */
  const bool *found;  /* of each path, whether it was met in a directory; or NULL */
  bool checks_binary; /* the open file was, and is skipped when its start is no text */
  uint64_t nskipped;  /* binary files */
  char *skipped_first;
  uint8_t *unread; /* of each path: 1, it was skipped or failed */
  const nay_filter *hash_with;
  bool wide_hash, ended, had_header;
  unsigned nwhy; /* bad records of the open file that have a message */
  uint64_t nkeys;
  read_counts counts; /* of the batches that were handed out */

  key_batch ring[RING];
  /* with a second thread: */
  bool threaded, stopping, finished;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned filled, used; /* counters: filled - used batches are ready or held */
  bool holding;          /* the consumer uses ring[used] */
  /* of the consumer: */
  on_bad mode; /* what becomes of bad records */
  bool given;  /* by --on-bad */
  uint64_t max_record;
  uint64_t ntold;       /* messages about bad records */
  bool skips_bad_files; /* status: of those that were skipped */
  int status;
  bool all_end_in_cr;       /* all keys so far */
  _Atomic uint64_t skipped; /* no more keys of files up to this number */
  uint8_t *args;            /* keys that are arguments, or NULL */
  uint8_t args_terminator;  /* what ends them when they are printed */
};

/* stream_fill: fills b with at least one key, unless the input has ended or a file failed. */
void stream_fill(key_stream *s, key_batch *b);

#endif /* NAY_STREAM_STATE_H */

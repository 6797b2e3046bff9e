/*
 * list_stream.h - the universe of a list that is added several times instead of kept
 * (NAY_LIST_TWO_PASSES): whether it is the same each time, and which of its keys are kept.
 */
#ifndef NAY_LIST_STREAM_H
#define NAY_LIST_STREAM_H

#include "build/list_records.h"
#include "build/map_build.h"
#include "family/list.h"

/* nay_list_digest: of the keys of a universe, in any order: their number and the sums of both
 * hashes. */
typedef struct nay_list_digest {
  uint64_t nkeys, sums[2];
} nay_list_digest;

/* nay_list_sieve: level 1 of a group, and keys that wait for a batch of lookups. */
typedef struct nay_list_sieve {
  nay_filter *map; /* or NULL: not built yet */
  unsigned columns, nqueued;
  nay_list_record queue[NAY_MAP_GROUP];
} nay_list_sieve;

typedef struct nay_list_stream {
  unsigned pass; /* from 0 */
  bool gathers;  /* this pass keeps the keys of partitions without a level 1, and inverted ones */
  bool filters;  /* this pass keeps what passes level 1 */
  nay_list_digest first, now;
  nay_list_sieve sieves[NAY_LIST_MAX_GROUPS];
} nay_list_stream;

/* nay__list_stream_new: NULL: no memory. */
nay_list_stream *nay__list_stream_new(const nay_allocator *allocator);
void nay__list_stream_free(nay_list_stream *stream, const nay_allocator *allocator);

/* nay__list_stream_clear: before the first pass, as a new one. */
void nay__list_stream_clear(nay_list_stream *stream);

/* nay__list_stream_count: a key of this pass. */
void nay__list_stream_count(nay_list_stream *stream, const nay_list_record *record);

/* nay__list_stream_same: this pass added the keys of the first one. */
bool nay__list_stream_same(const nay_list_stream *stream);

/* nay__list_stream_next: begins the next pass. */
void nay__list_stream_next(nay_list_stream *stream, bool gathers, bool filters);

/* nay__list_stream_take: an unlisted key, or one of which that is not known, in a partition of
 * this class; it is kept, dropped, or waits for its lookup. A failed call keeps nothing. */
nay_status nay__list_stream_take(nay_list_stream *stream, nay_list_records *records,
                                 const nay_list_record *record, unsigned class);

/* nay__list_stream_flush: looks up all keys that wait. A failed call may be repeated. */
nay_status nay__list_stream_flush(nay_list_stream *stream, nay_list_records *records);

#endif /* NAY_LIST_STREAM_H */

/*
 * batch.h - a batch of keys as a sequence of groups of 64 hashes.
 *
 * Batches of probes (batch.c) and of adds (build/batch_add.c) read the groups from a feed, which
 * hides where the hashes come from: the caller's arrays, or keys that the feed hashes.
 */
#ifndef NAY_BATCH_H
#define NAY_BATCH_H

#include "base/compiler.h"
#include "family/family.h"
#include "nay_column.h"

typedef struct nay_batch_group {
  const uint64_t *lo, *hi; /* hi is NULL where the hash has one word */
  unsigned n;
  uint64_t hashed[2][64];
} nay_batch_group;

/* The caller's input: hashes, a list of keys, or a column. */
typedef struct nay_batch_input {
  const uint64_t *lo, *hi;
  bool hashed;
  nay_key_list list;
  const nay_column *column; /* NULL: the list */
  size_t n;
} nay_batch_input;

typedef struct nay_batch_feed {
  const nay_filter *filter;
  nay_batch_input in;
  size_t next;
  nay_batch_group groups[3]; /* a ring: the current group, and two whose lines are prefetched */
  unsigned turn, last;       /* the next group to return; the group that was filled last */
  bool prefetch;             /* the filter is larger than the cache */
  bool interleaved;          /* and the family does it, key by key, with its work */
  bool bad;                  /* a key was NULL and had a length */
} nay_batch_feed;

static inline nay_batch_input nay__batch_of_hashes(const uint64_t *lo, const uint64_t *hi,
                                                   size_t n) {
  return (nay_batch_input){.lo = lo, .hi = hi, .hashed = true, .n = n};
}

static inline nay_batch_input nay__batch_of_keys(const void *const *keys, const size_t *lens,
                                                 size_t n) {
  return (nay_batch_input){.list = {.keys = keys, .lens = lens, .n = n}, .n = n};
}

static inline nay_batch_input nay__batch_of_column(const nay_column *column, size_t n) {
  return (nay_batch_input){.column = column, .n = n};
}

/* nay__column_read: the caller's column, whose fields fit together and to n keys. The offsets are
 * checked where they are read. */
nay_status nay__column_read(const nay_column *from, size_t n, nay_column *column);

/* nay__batch_keys_ok: checks every key before the first one is added: a failed batch adds none. */
nay_status nay__batch_keys_ok(const nay_filter *filter, const nay_batch_input *in);
nay_status nay__batch_hashes_ok(const nay_filter *filter, const nay_batch_input *in);

/* nay__batch_key: key i of an input that nay__batch_all_ok accepts. */
const void *nay__batch_key(const nay_batch_input *in, size_t i, size_t *len);

/* nay__batch_all_ok: whether every key of the input can be hashed. */
bool nay__batch_all_ok(const nay_batch_input *in);

/*
 * nay__batch_hash: n keys of the input. hi may be NULL where the hash has one word. False: a key is
 * NULL and has a length, or offsets are not in order; the hashes are then of no use.
 */
bool nay__batch_hash(const nay_hash_fn *fn, const nay_hash_kernels *kernels,
                     const nay_batch_input *in, size_t from, size_t n, uint64_t *lo, uint64_t *hi);

/* nay__batch_start: fills the first two groups. interleaves: the family prefetches
 * with its work. */
void nay__batch_start(nay_batch_feed *feed, const nay_filter *filter, const nay_batch_input *in,
                      bool interleaves);

/* nay__batch_next: the next group, after filling the second one behind it; n is 0 at the end. */
const nay_batch_group *nay__batch_next(nay_batch_feed *feed);

/* nay__batch_prefetch: the lines of the group filled last, unless hashing prefetched them. */
void nay__batch_prefetch(const nay_batch_feed *feed);

/* nay__batch_interleaved: the hashes of the group filled last, if the family prefetches their
 * lines. */
NAY_INLINE const uint64_t *nay__batch_interleaved(const nay_batch_feed *feed) {
  const nay_batch_group *g = &feed->groups[feed->last];
  return feed->interleaved && g->n == 64 ? g->lo : NULL;
}

/* nay__batch_each_key: calls visit for each key of an input of keys, in order, until it fails. */
typedef nay_status (*nay_batch_key_visitor)(void *ctx, const uint8_t *key, size_t len, size_t i);
nay_status nay__batch_each_key(const nay_batch_input *in, nay_batch_key_visitor visit, void *ctx);

#endif /* NAY_BATCH_H */

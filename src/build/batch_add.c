/*
 * batch_add.c - adds of many keys in one call.
 *
 * Groups of 64 come from a feed (batch.h) that prefetches their cache lines. A batch that is large
 * for its filter, and whose caller does not ask which keys are new, is partitioned instead
 * (partitioned_add.c); so is a batch for a filter that other threads add to (concurrent_add.c).
 */
#include "batch.h"
#include "build/bulk_strategy.h"
#include "build/concurrent_add.h"
#include "build/partitioned_add.h"
#include "filter.h"

/* word may be NULL; after a failure *taken says how many were added. */
static nay_status batch_add_group(const nay_batch_feed *feed, nay_filter *f,
                                  const nay_batch_group *g, uint64_t *word, size_t *taken) {
  const uint64_t *next = nay__batch_interleaved(feed);
  if (next == NULL) nay__batch_prefetch(feed);
  return f->family->batch->add(f, g->lo, g->hi, g->n, next, word, taken);
}

/* The keys have been checked. */
static void batch_partition_keys(const nay_filter *f, const nay_batch_input *in,
                                 nay_partitioner *partitioner) {
  uint64_t hashes[1024];
  for (size_t i = 0; i < in->n; i += 1024) {
    size_t n = (size_t)nay__min_u64(in->n - i, 1024);
    (void)nay__batch_hash(&f->hasher, f->kernels->hash, in, i, n, hashes, NULL);
    nay__partitioner_add(partitioner, 0, hashes, n);
  }
}

/* False: partitioning does not pay, or there is no memory for it; nothing has been added. */
static bool batch_add_partitioned(nay_filter *f, const nay_batch_input *in) {
  nay_partitioner *partitioner;
  if (!nay__bulk_strategy(f, in->n, in->lo, in->n, 1).partitioned) return false;
  if (nay__partitioner_new(f, 1, &partitioner) != NAY_OK) return false;
  if (in->hashed) {
    nay__partitioner_add(partitioner, 0, in->lo, in->n);
  } else {
    batch_partition_keys(f, in, partitioner);
  }
  nay__partitioner_flush(partitioner, 0);
  nay__partitioner_free(partitioner);
  return true;
}

/* *taken is the number of keys before the one that failed: all groups before its group, and those
 * of its group that the family has added. */
static nay_status batch_add_groups(nay_filter *f, const nay_batch_input *in, uint64_t *bitmap,
                                   size_t *taken) {
  nay_batch_feed feed;
  nay__batch_start(&feed, f, in, f->family->batch->interleaves_add);
  const nay_batch_group *g;
  for (*taken = 0; (g = nay__batch_next(&feed))->n != 0; *taken += g->n) {
    size_t of_group = 0;
    nay_status status = batch_add_group(&feed, f, g, bitmap, &of_group);
    if (status != NAY_OK) {
      *taken += of_group;
      return status;
    }
    if (bitmap != NULL) bitmap++;
  }
  return NAY_OK;
}

typedef struct batch_key_adds {
  nay_filter *filter;
  uint64_t *bitmap;
  size_t taken;
} batch_key_adds;

static nay_status batch_add_key(void *ctx, const uint8_t *key, size_t len, size_t i) {
  batch_key_adds *a = ctx;
  bool is_new = false;
  NAY_TRY(a->filter->family->add_key(a->filter, key, len, &is_new));
  if (a->bitmap != NULL) {
    if (i % 64 == 0) a->bitmap[i / 64] = 0;
    a->bitmap[i / 64] |= (uint64_t)is_new << i % 64;
  }
  a->taken = i + 1;
  return NAY_OK;
}

static nay_status batch_add(nay_filter *f, const nay_batch_input *in, uint64_t *bitmap,
                            size_t *taken) {
  if (f->family->add == NULL) return NAY_ENOTSUP;
  if (f->family->add_key != NULL) {
    batch_key_adds adds = {f, bitmap, 0};
    nay_status added = nay__batch_each_key(in, batch_add_key, &adds);
    if (taken != NULL) *taken = adds.taken;
    return added;
  }
  size_t n = in->n;
  nay_status status = NAY_OK;
  bool partitioned = bitmap == NULL && batch_add_partitioned(f, in);
  if (!partitioned && nay__concurrent_add_pays(f, n)) {
    nay__concurrent_add(f, in, bitmap);
  } else if (!partitioned) {
    status = batch_add_groups(f, in, bitmap, &n);
  }
  if (taken != NULL) *taken = n;
  return status;
}

nay_status nay_filter_add_hash_many(nay_filter *f, const uint64_t *lo, const uint64_t *hi, size_t n,
                                    uint64_t *bitmap, size_t *taken) {
  nay_batch_input in = nay__batch_of_hashes(lo, hi, n);
  if (taken != NULL) *taken = 0;
  NAY_TRY(nay__filter_writable(f));
  NAY_TRY(nay__batch_hashes_ok(f, &in));
  return batch_add(f, &in, bitmap, taken);
}

nay_status nay_filter_add_many(nay_filter *f, const void *const *keys, const size_t *lens, size_t n,
                               uint64_t *bitmap, size_t *taken) {
  nay_batch_input in = nay__batch_of_keys(keys, lens, n);
  if (taken != NULL) *taken = 0;
  NAY_TRY(nay__filter_writable(f));
  NAY_TRY(nay__batch_keys_ok(f, &in));
  return batch_add(f, &in, bitmap, taken);
}

nay_status nay_filter_add_column(nay_filter *f, const nay_column *column, size_t n,
                                 uint64_t *bitmap, size_t *taken) {
  nay_column full;
  nay_batch_input in = nay__batch_of_column(&full, n);
  if (taken != NULL) *taken = 0;
  NAY_TRY(nay__filter_writable(f));
  NAY_TRY(nay__column_read(column, n, &full));
  NAY_TRY(nay__batch_keys_ok(f, &in));
  return batch_add(f, &in, bitmap, taken);
}

/*
 * batch_add.c - adds of many keys in one call.
 *
 * Groups of 64 come from a feed (batch.h) that prefetches their cache lines. A batch that is large
 * for its filter, and whose caller does not ask which keys are new, is partitioned instead
 * (partitioned_add.c).
 */
#include "batch.h"
#include "build/bulk_strategy.h"
#include "build/partitioned_add.h"
#include "filter.h"

/* word may be NULL. */
static nay_status batch_add_group(const nay_batch_feed *feed, nay_filter *f,
                                  const nay_batch_group *g, uint64_t *word) {
  const uint64_t *next = nay__batch_interleaved(feed);
  if (next == NULL) nay__batch_prefetch(feed);
  return f->family->batch->add(f, g->lo, g->hi, g->n, next, word);
}

/* The keys have been checked. */
static void batch_partition_keys(const nay_filter *f, const nay_batch_input *in,
                                 nay_partitioner *partitioner) {
  uint64_t hashes[1024];
  for (size_t i = 0; i < in->n; i += 1024) {
    size_t n = nay__min_u64(in->n - i, 1024);
    (void)nay__batch_hash(f, &in->list, i, n, hashes, NULL);
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

static nay_status batch_add(nay_filter *f, const nay_batch_input *in, uint64_t *bitmap) {
  if (f->family->add == NULL) return NAY_ENOTSUP;
  if (bitmap == NULL && batch_add_partitioned(f, in)) return NAY_OK;
  nay_batch_feed feed;
  nay__batch_start(&feed, f, in, f->family->batch->interleaves_add);
  const nay_batch_group *g;
  while ((g = nay__batch_next(&feed))->n != 0) {
    NAY_TRY(batch_add_group(&feed, f, g, bitmap));
    if (bitmap != NULL) bitmap++;
  }
  return NAY_OK;
}

nay_status nay_filter_add_hash_many(nay_filter *f, const uint64_t *lo, const uint64_t *hi, size_t n,
                                    uint64_t *bitmap) {
  nay_batch_input in = nay__batch_of_hashes(lo, hi, n);
  NAY_TRY(nay__filter_writable(f));
  NAY_TRY(nay__batch_hashes_ok(f, &in));
  return batch_add(f, &in, bitmap);
}

nay_status nay_filter_add_many(nay_filter *f, const void *const *keys, const size_t *lens, size_t n,
                               uint64_t *bitmap) {
  nay_batch_input in = nay__batch_of_keys(keys, lens, n);
  NAY_TRY(nay__filter_writable(f));
  NAY_TRY(nay__batch_keys_ok(f, &in));
  return batch_add(f, &in, bitmap);
}

nay_status nay_filter_add_packed(nay_filter *f, const void *bytes, const size_t *offsets, size_t n,
                                 uint64_t *bitmap) {
  nay_batch_input in = nay__batch_of_packed(bytes, offsets, n);
  NAY_TRY(nay__filter_writable(f));
  NAY_TRY(nay__batch_keys_ok(f, &in));
  return batch_add(f, &in, bitmap);
}

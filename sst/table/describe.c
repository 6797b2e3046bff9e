/* describe.c - describes an open table, and reads its counters. */
#include "table/table.h"

static const char *info_text(const nay_buffer *name) {
  return name->len != 0 ? (const char *)name->at : NULL;
}

nay_status nay_sst_stats(const nay_sst *t, nay_sst_info *info) {
  if (t == NULL || info == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_INFO, info, NULL));
  bool internal = t->order.internal;
  nay_sst_info i = {
      .keys = internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN,
      .keys_guessed = t->order_guessed,
      .nbytes = t->file_len,
      .nblocks = t->nblocks,
      .codec = t->first_codec,
      .filter = t->filter,
      .filter_used = t->filter_used,
      .filter_bytes = t->filter_bytes,
      .npartitions = t->npartitions,
      .policy = info_text(&t->policy_name),
      .prefix = info_text(&t->prefix_name),
      .prefix_used = t->prefix_used,
      .prefix_bytes = t->prefix_bytes,
      .smallest =
          t->has_smallest ? (t->smallest.len != 0 ? t->smallest.at : (const void *)"") : NULL,
      .smallest_len = t->has_smallest ? t->smallest.len : 0,
      .largest = t->empty ? NULL : (t->largest.len != 0 ? t->largest.at : (const void *)""),
      .largest_len = t->largest.len,
      .comparator = nay_sst__comparator_name(t->order.user),
      .comparator_stored = t->comparator_stored,
      .key = nay_sst__key(t),
  };
  nay__abi_write(NAY_ABI_SST_INFO, &i, info);
  return NAY_OK;
}

const nay_filter *nay_sst_filter_of(const nay_sst *t) { return t->full.filter; }

nay_status nay_sst_count(const nay_sst *t, nay_sst_counters *counters) {
  if (t == NULL || counters == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_COUNTERS, counters, NULL));
  const nay_sst_tally *c = t->counts;
  uint64_t useful = nay__atomic_load64(&c->useful), maybe = nay__atomic_load64(&c->maybe);
  uint64_t out = nay__atomic_load64(&c->out_of_range);
  uint64_t prefix_useful = nay__atomic_load64(&c->prefix_useful);
  nay_sst_counters now = {
      .gets = out + useful + maybe + nay__atomic_load64(&c->unfiltered),
      .out_of_range = out,
      .filter_checks = useful + maybe,
      .filter_useful = useful,
      .filter_false_positives = nay__atomic_load64(&c->false_positives),
      .filter_faults = nay__atomic_load64(&c->faults),
      .filter_loads = nay__atomic_load64(&c->loads),
      .prefix_checks = prefix_useful + nay__atomic_load64(&c->prefix_maybe),
      .prefix_useful = prefix_useful,
      .hashes = nay__atomic_load64(&c->hashes),
      .block_reads = nay__atomic_load64(&c->reads),
      .cache_hits = nay__atomic_load64(&c->hits),
      .operands = nay__atomic_load64(&c->operands),
      .index_loads = nay__atomic_load64(&c->index_loads),
  };
  nay__abi_write(NAY_ABI_SST_COUNTERS, &now, counters);
  return NAY_OK;
}

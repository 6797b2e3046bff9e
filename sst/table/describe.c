/* describe.c - nay_sst_stats (description, properties and counters of an open table), and
 * nay_sst_version. */
#include "table/table.h"
#include "table/translated.h"

#define VERSION_TEXT(x) #x
#define VERSION_NUMBER(x) VERSION_TEXT(x)

const char *nay_sst_version(void) {
  return VERSION_NUMBER(NAY_SST_VERSION_MAJOR) "." VERSION_NUMBER(
      NAY_SST_VERSION_MINOR) "." VERSION_NUMBER(NAY_SST_VERSION_PATCH);
}

static const void *describe_bytes(const uint8_t *at, size_t len) {
  return len != 0 ? at : (const void *)"";
}

static const char *describe_text(const nay_buffer *name) {
  return name->len != 0 ? (const char *)name->at : NULL;
}

void nay_sst__describe(nay_sst *t) {
  const nay_table_stats *s = &t->meta.stats;
  if (t->foreign != NULL) nay_sst__foreign_info(t, &t->meta.foreign);
  if (!s->has_entries) return;
  bool any = s->nentries != 0;
  t->meta.stated =
      (nay_sst_properties){.size = sizeof t->meta.stated,
                           .nentries = s->nentries,
                           .ndeletions = s->ndeletions,
                           .nmerges = s->nmerges,
                           .key_bytes = s->key_bytes,
                           .value_bytes = s->value_bytes,
                           .smallest_sequence = s->smallest_sequence,
                           .largest_sequence = s->largest_sequence,
                           .smallest = any ? describe_bytes(s->smallest.at, s->smallest.len) : NULL,
                           .smallest_len = s->smallest.len,
                           .largest = any ? describe_bytes(s->largest.at, s->largest.len) : NULL,
                           .largest_len = s->largest.len};
}

nay_sst_counters nay_sst__counters(const nay_sst *t) {
  const nay_sst_tally *c = t->counts;
  uint64_t useful = nay__atomic_load64(&c->useful), maybe = nay__atomic_load64(&c->maybe);
  uint64_t out = nay__atomic_load64(&c->out_of_range);
  uint64_t prefix_useful = nay__atomic_load64(&c->prefix_useful);
  uint64_t range_useful = nay__atomic_load64(&c->range_useful);
  return (nay_sst_counters){
      .size = sizeof(nay_sst_counters),
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
      .range_checks = range_useful + nay__atomic_load64(&c->range_maybe),
      .range_useful = range_useful,
      .range_false_positives = nay__atomic_load64(&c->range_false_positives),
  };
}

nay_status nay_sst_stats(const nay_sst *t, nay_sst_info *info) {
  if (t == NULL || info == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_INFO, info, NULL));
  nay_sst_info i = {
      .keys = t->order.internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN,
      .keys_guessed = t->sorting.guessed,
      .nbytes = t->source.len,
      .nblocks = t->blocks.n,
      .codec = t->blocks.first_codec,
      .filter = t->filters.layout,
      .filter_used = t->filters.used,
      .filter_bytes = t->filters.nbytes,
      .npartitions = t->filters.npartitions,
      .policy = describe_text(&t->filters.policy_name),
      .prefix = describe_text(&t->filters.prefix_name),
      .prefix_used = t->filters.prefix_used,
      .prefix_bytes = t->filters.prefix_bytes,
      .smallest = t->range.has_smallest
                      ? describe_bytes(t->range.smallest.at, t->range.smallest.len)
                      : NULL,
      .smallest_len = t->range.has_smallest ? t->range.smallest.len : 0,
      .upper_bound =
          t->range.empty ? NULL : describe_bytes(t->range.largest.at, t->range.largest.len),
      .upper_bound_len = t->range.largest.len,
      .comparator = nay_sst__comparator_name(t->order.user),
      .comparator_stored = t->sorting.comparator_stored,
      .key = nay_sst__key(t),
      .native = t->filters.full.filter,
      .properties = t->meta.stated.size != 0 ? &t->meta.stated : NULL,
      .foreign = t->foreign != NULL ? &t->meta.foreign : NULL,
      .counters = nay_sst__counters(t),
      .range_bytes = t->filters.range_bytes,
      .range_used = t->filters.range_used && t->order.user == NULL,
  };
  nay__abi_write(NAY_ABI_SST_INFO, &i, info);
  return NAY_OK;
}

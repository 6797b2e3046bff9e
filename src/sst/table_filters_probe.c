/*
 * table_filters_probe.c - what the filters of a table say of a key.
 *
 * LevelDB's filter block: only the index tells which filter a key belongs to. Nothing tells whether
 * its keys are internal keys, and the two readings may lead to two data blocks: then both filters
 * are probed. If the keys are not known to be in bytewise order, every filter or partition is
 * probed.
 */
#include "format/format.h"
#include "sst/table_filters.h"

static bool probe_filter(const nay_table_filters *t, const uint8_t *bytes, size_t filter_len,
                         const void *key, size_t len) {
  nay_view view;
  if (t->policy != NULL) return t->policy->may_match(t->policy, key, len, bytes, filter_len);
  if (t->format == NULL) return true;
  if (nay__format_view(t->format, bytes, filter_len, NULL, &view) != NAY_OK) return true;
  return nay_filter_may_contain(nay_view_filter(&view), key, len);
}

/* ---- LevelDB's filter block ---- */

static bool probe_all(const nay_table_filters *t, const void *key, size_t len) {
  const nay_filter_block *b = &t->filter_block;
  bool any = b->n == 0;
  for (uint64_t i = 0; i < b->n && !any; i++) {
    const uint8_t *bytes;
    size_t filter_len;
    any = !nay__filter_block_at(b, i, &bytes, &filter_len) ||
          (filter_len != 0 && probe_filter(t, bytes, filter_len, key, len));
  }
  return any;
}

/* The filter of data block i; past the last one no key exists. */
static bool probe_data_block(const nay_table_filters *t, size_t i, const void *key, size_t len) {
  const uint8_t *bytes;
  size_t filter_len;
  if (i >= nay__index_count(&t->index)) return false;
  uint64_t offset = nay__index_at(&t->index, i)->handle.offset;
  if (!nay__filter_block_find(&t->filter_block, offset, &bytes, &filter_len)) return true;
  return filter_len != 0 && probe_filter(t, bytes, filter_len, key, len);
}

static bool probe_filter_block(const nay_table_filters *t, const void *key, size_t len) {
  if (t->damaged) return true;
  if (!t->index_known) return probe_all(t, key, len);
  size_t plain = nay__index_find(&t->index, NAY_BYTEWISE, key, len), internal = plain;
  if (t->index.all_internal) internal = nay__index_find(&t->index, NAY_INTERNAL_KEYS, key, len);
  return probe_data_block(t, plain, key, len) ||
         (internal != plain && probe_data_block(t, internal, key, len));
}

/* ---- partitions ---- */

static bool probe_partition(const nay_table_filters *t, size_t i, const void *key, size_t len) {
  const nay_index_entry *e = nay__index_at(&t->index, i);
  return e->damaged ||
         probe_filter(t, t->bytes + e->handle.offset, (size_t)e->handle.size, key, len);
}

/* The whole key selects the partition; its first probe_len bytes are probed. A key past the last
 * partition goes to the last one, as in RocksDB: its prefix may be there. */
static bool probe_partitions(const nay_table_filters *t, const void *key, size_t len,
                             size_t probe_len) {
  size_t n = nay__index_count(&t->index);
  if (n == 0) return false;
  bool any = false;
  for (size_t i = 0; t->other_order && i < n && !any; i++) {
    any = probe_partition(t, i, key, probe_len);
  }
  if (t->other_order) return any;
  size_t i = nay__index_find(&t->index, nay__table_filters_comparator(t), key, len);
  return probe_partition(t, i < n ? i : n - 1, key, probe_len);
}

/* ---- prefixes ---- */

static bool probe_prefix_block(const nay_table_filters *t, const void *key, size_t prefix_len) {
  nay_view view;
  const uint8_t *bytes = t->bytes + t->prefix_block.offset;
  if (t->prefix_damaged ||
      nay_view_open(bytes, (size_t)t->prefix_block.size, NULL, NULL, &view) != NAY_OK) {
    return true;
  }
  return nay_filter_may_contain(nay_view_filter(&view), key, prefix_len);
}

bool nay_table_filters_may_contain(const nay_table_filters *t, const void *key, size_t len) {
  if (t == NULL || (key == NULL && len != 0)) return true;
  if (key == NULL) key = "";
  size_t probe_len = len;
  if (!t->properties.whole_keys) {
    if (!t->properties.prefixes || !t->has_extractor ||
        !t->extractor.extract(&t->extractor, key, len, &probe_len)) {
      return true;
    }
    if (t->prefix_block.size != 0) return probe_prefix_block(t, key, probe_len);
  }
  switch (t->layout) {
    case NAY_SST_NO_FILTER: break;
    case NAY_SST_BLOCK_FILTER: return probe_filter_block(t, key, probe_len);
    case NAY_SST_FULL_FILTER:
      if (t->damaged) return true;
      if (t->has_view) return nay_filter_may_contain(nay_view_filter(&t->view), key, probe_len);
      return t->policy == NULL ||
             probe_filter(t, t->bytes + t->filter.offset, (size_t)t->filter.size, key, probe_len);
    case NAY_SST_PARTITIONED_FILTER: return probe_partitions(t, key, len, probe_len);
  }
  return true;
}

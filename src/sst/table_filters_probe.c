/*
 * table_filters_probe.c - what the filters of a table say of a key.
 *
 * Whose filter of 2 KiB a key belongs to only the index knows. Nothing says whether its keys are
 * internal ones, and the two readings may lead to two blocks: then both filters are asked. A table
 * whose keys are not known to be in bytewise order has every filter or partition asked.
 */
#include "sst/table_filters.h"

#include "format/format.h"

/* A decimal number to the end of the text, after a prefix; 0 when it is none. */
static size_t probe_number(const char *text, const char *start) {
  size_t rest, value = 0;
  const uint8_t *p = nay__text_after((const uint8_t *)text, strlen(text), start, &rest);
  for (size_t i = 0; p != NULL && i < rest; i++) {
    if (p[i] < '0' || p[i] > '9' || value > 65535) return 0;
    value = value * 10 + (size_t)(p[i] - '0');
  }
  return value;
}

/* ---- asking ---- */

static bool probe_one(const nay_table_filters *t, const uint8_t *bytes, size_t filter_len,
                      const void *key, size_t len) {
  nay_view view;
  if (t->policy != NULL) return t->policy->may_match(t->policy, key, len, bytes, filter_len);
  if (t->format == NULL) return true;
  if (nay__format_view(t->format, bytes, filter_len, NULL, &view) != NAY_OK) return true;
  return nay_filter_may_contain(nay_view_filter(&view), key, len);
}

/* The filter of the data block at `offset`. */
static bool probe_block(const nay_table_filters *t, const nay_filter_blocks *b, uint64_t offset,
                        const void *key, size_t len) {
  const uint8_t *bytes;
  size_t filter_len;
  uint64_t i = b->lg < 64 ? offset >> b->lg : 0;
  if (i >= b->count || !nay__filter_block_at(b, i, &bytes, &filter_len)) return true;
  return filter_len != 0 && probe_one(t, bytes, filter_len, key, len);
}

static bool probe_blocks(const nay_table_filters *t, const void *key, size_t len) {
  nay_filter_blocks b = nay__filter_blocks(t);
  if (t->damaged) return true;
  if (!t->index_known) {
    bool any = b.count == 0;
    for (uint64_t i = 0; i < b.count && !any; i++) {
      const uint8_t *bytes;
      size_t filter_len;
      any = !nay__filter_block_at(&b, i, &bytes, &filter_len) ||
            (filter_len != 0 && probe_one(t, bytes, filter_len, key, len));
    }
    return any;
  }
  size_t n = nay__index_count(&t->parts);
  size_t plain = nay__index_find(&t->parts, NAY_BYTEWISE, key, len), internal = plain;
  if (t->parts.all_internal) {
    internal = nay__index_find(&t->parts, NAY_INTERNAL_KEYS, key, len);
  }
  if (plain < n && probe_block(t, &b, nay__index_at(&t->parts, plain)->handle.offset, key, len))
    return true;
  return internal != plain && internal < n &&
         probe_block(t, &b, nay__index_at(&t->parts, internal)->handle.offset, key, len);
}

static bool probe_part(const nay_table_filters *t, size_t i, const void *key, size_t len) {
  const nay_index_entry *part = nay__index_at(&t->parts, i);
  return part->damaged ||
         probe_one(t, t->frame.bytes + part->handle.offset, (size_t)part->handle.size, key, len);
}

/* The key chooses the partition, its first what_len bytes are asked. A key past all of them is
 * asked of the last one, as RocksDB does: a prefix may belong there. */
static bool probe_partitions(const nay_table_filters *t, const void *key, size_t len,
                             size_t what_len) {
  size_t n = nay__index_count(&t->parts);
  if (n == 0) return false;
  bool any = false;
  for (size_t i = 0; t->other_order && i < n && !any; i++) any = probe_part(t, i, key, what_len);
  if (t->other_order) return any;
  nay_comparator order = t->internal ? NAY_INTERNAL_KEYS : NAY_BYTEWISE;
  size_t i = nay__index_find(&t->parts, order, key, len);
  return probe_part(t, i < n ? i : n - 1, key, what_len);
}

/* The prefix of a key; false when the extractor is not known, or the key has none. */
static bool probe_prefix_of(const nay_table_filters *t, const uint8_t *key, size_t len,
                            size_t *prefix) {
  size_t fixed = probe_number(t->prefix, "rocksdb.FixedPrefix.");
  size_t capped = probe_number(t->prefix, "rocksdb.CappedPrefix.");
  if (fixed == 0) fixed = probe_number(t->prefix, "nay.fixed.");
  if (capped != 0) {
    *prefix = len < capped ? len : capped;
    return true;
  }
  if (fixed != 0) {
    *prefix = fixed;
    return len >= fixed;
  }
  size_t rest;
  if (nay__text_after((const uint8_t *)t->prefix, strlen(t->prefix), "nay.delimiter.", &rest) ==
      NULL) {
    return false;
  }
  const uint8_t *end =
      len == 0 ? NULL : memchr(key, (int)probe_number(t->prefix, "nay.delimiter."), len);
  if (end != NULL) *prefix = (size_t)(end - key) + 1;
  return end != NULL;
}

static bool probe_prefix_block(const nay_table_filters *t, const void *key, size_t prefix) {
  nay_view view;
  const uint8_t *bytes = t->frame.bytes + t->prefix_block.offset;
  if (t->prefix_damaged ||
      nay_view_open(bytes, (size_t)t->prefix_block.size, NULL, NULL, &view) != NAY_OK) {
    return true;
  }
  return nay_filter_may_contain(nay_view_filter(&view), key, prefix);
}

bool nay_table_filters_may_contain(const nay_table_filters *t, const void *key, size_t len) {
  if (t == NULL || (key == NULL && len != 0)) return true;
  if (key == NULL) key = "";
  size_t what = len;
  if (!t->whole_keys) {
    if (!t->prefixes || !probe_prefix_of(t, key, len, &what)) return true;
    if (t->prefix_block.size != 0) return probe_prefix_block(t, key, what);
  }
  switch (t->layout) {
    case NAY_SST_NO_FILTER: break;
    case NAY_SST_BLOCK_FILTER: return probe_blocks(t, key, what);
    case NAY_SST_FULL_FILTER:
      if (t->damaged) return true;
      if (t->has_view) return nay_filter_may_contain(nay_view_filter(&t->view), key, what);
      return t->policy == NULL ||
             probe_one(t, t->frame.bytes + t->filter.offset, (size_t)t->filter.size, key, what);
    case NAY_SST_PARTITIONED_FILTER: return probe_partitions(t, key, len, what);
  }
  return true;
}

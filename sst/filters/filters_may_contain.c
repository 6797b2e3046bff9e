/*
 * filters_may_contain.c - probes the filters of a table for a key, and explains the answer.
 *
 *   full filter       probed with the key
 *   partitions        the partition index selects one partition
 *   filter block      LevelDB: the index of data blocks selects a block, and its offset a filter.
 *                     Nothing states whether the keys are internal keys. If the two readings of the
 *                     index select two blocks, the filters of both are probed.
 *   unknown order     every filter or partition is probed
 *
 * An explanation takes the same path with a sink, which receives every filter that the answer may
 * depend on, also those after the first maybe.
 */
#include "filters/filters.h"
#include "nay_explain.h"

/* A key being probed. */
typedef struct probe {
  const nay_sst_filters *t;
  const void *key;
  size_t len;                   /* length of the key, which selects filters */
  size_t probe_len;             /* length of the bytes that are probed: the key or its prefix */
  nay_sst_filters_visitor sink; /* NULL: only the answer is wanted */
  void *ctx;
  nay_status status; /* status of the sink */
} probe;

/* Whether to probe further filters: the answer may still change, or the caller wants an explanation
   with all filters. */
static bool probe_continues(const probe *p, bool any) {
  return !any || (p->sink != NULL && p->status == NAY_OK);
}

static bool probe_report(probe *p, const uint8_t *bytes, const nay_filter *filter, bool damaged,
                         bool maybe) {
  nay_sst_filters_step step = {.size = sizeof step,
                               .filter = filter,
                               .offset = (uint64_t)(bytes - p->t->bytes),
                               .key = p->key,
                               .key_len = p->probe_len,
                               .damaged = damaged,
                               .maybe = maybe};
  if (p->sink != NULL && p->status == NAY_OK) p->status = p->sink(p->ctx, &step);
  return maybe;
}

static bool probe_view(probe *p, const uint8_t *bytes, const nay_view *view) {
  const nay_filter *f = nay_view_filter(view);
  return probe_report(p, bytes, f, false, nay_filter_may_contain(f, p->key, p->probe_len));
}

static bool probe_filter(probe *p, const uint8_t *bytes, size_t filter_len) {
  const nay_sst_filters *t = p->t;
  nay_view view = {.size = sizeof view};
  if (t->policy != NULL) {
    bool maybe = t->policy->may_contain(t->policy->ctx, p->key, p->probe_len, bytes, filter_len);
    return probe_report(p, bytes, NULL, false, maybe);
  }
  if (t->format == NULL ||
      nay_format_view(t->format, bytes, filter_len, NAY_FORMAT_CERTAIN, NULL, &view) != NAY_OK) {
    return probe_report(p, bytes, NULL, t->format != NULL, true);
  }
  return probe_view(p, bytes, &view);
}

/* ---- LevelDB's filter block ---- */

/* Probes a filter of LevelDB's filter block. A filter whose offsets lie outside of the block is
 * damaged, and answers maybe; an empty filter covers a range without keys. */
static bool probe_block_entry(probe *p, bool found, const uint8_t *bytes, size_t filter_len) {
  const nay_sst_filters *t = p->t;
  if (!found) return probe_report(p, t->bytes + t->filter.at.offset, NULL, true, true);
  return filter_len != 0 && probe_filter(p, bytes, filter_len);
}

static bool probe_all(probe *p) {
  const nay_filter_block *b = &p->t->filter_block;
  bool any = b->n == 0;
  for (uint64_t i = 0; i < b->n && probe_continues(p, any); i++) {
    const uint8_t *bytes = NULL;
    size_t filter_len = 0;
    bool found = nay_sst__filter_block_at(b, i, &bytes, &filter_len);
    any |= probe_block_entry(p, found, bytes, filter_len);
  }
  return any;
}

/* Probes the filter of data block i. Past the last block there is no key. */
static bool probe_data_block(probe *p, size_t i) {
  const nay_sst_filters *t = p->t;
  const uint8_t *bytes = NULL;
  size_t filter_len = 0;
  if (i >= nay_sst__index_count(&t->index)) return false;
  uint64_t offset = nay_sst__index_at(&t->index, i)->handle.offset;
  bool found = nay_sst__filter_block_find(&t->filter_block, offset, &bytes, &filter_len);
  return probe_block_entry(p, found, bytes, filter_len);
}

static bool probe_filter_block(probe *p) {
  const nay_sst_filters *t = p->t;
  if (t->damaged) return probe_report(p, t->bytes + t->filter.at.offset, NULL, true, true);
  if (!t->index_known) return probe_all(p);
  size_t plain = nay_sst__index_find(&t->index, NAY_BYTEWISE, p->key, p->probe_len),
         internal = plain;
  if (t->index.all_internal) {
    internal = nay_sst__index_find(&t->index, NAY_INTERNAL_KEYS, p->key, p->probe_len);
  }
  bool any = probe_data_block(p, plain);
  if (internal != plain && probe_continues(p, any)) any |= probe_data_block(p, internal);
  return any;
}

/* ---- partitions ---- */

static bool probe_partition(probe *p, size_t i) {
  const nay_index_entry *e = nay_sst__index_at(&p->t->index, i);
  const uint8_t *bytes = p->t->bytes + e->handle.offset;
  if (e->damaged) return probe_report(p, bytes, NULL, true, true);
  return probe_filter(p, bytes, (size_t)e->handle.size);
}

/* Probes the partition that the whole key selects, with its first probe_len bytes. A key past the
 * last partition is probed in the last one, as in RocksDB: its prefix may be there. */
static bool probe_partitions(probe *p) {
  const nay_sst_filters *t = p->t;
  size_t n = nay_sst__index_count(&t->index);
  if (n == 0) return false;
  bool any = false;
  for (size_t i = 0; t->order_unknown && i < n && probe_continues(p, any); i++) {
    any |= probe_partition(p, i);
  }
  if (t->order_unknown) return any;
  size_t i = nay_sst__index_find(&t->index, nay_sst__filters_comparator(t), p->key, p->len);
  return probe_partition(p, i < n ? i : n - 1);
}

/* ---- prefixes ---- */

static bool probe_prefix_block(probe *p) {
  const nay_sst_filters *t = p->t;
  nay_view view = {.size = sizeof view};
  const uint8_t *bytes = t->bytes + t->prefix_block.at.offset;
  if (t->prefix_damaged ||
      nay_view_open(bytes, (size_t)t->prefix_block.at.size, NULL, NULL, &view) != NAY_OK) {
    return probe_report(p, bytes, NULL, true, true);
  }
  return probe_view(p, bytes, &view);
}

/* ---- the table ---- */

static bool probe_full(probe *p) {
  const nay_sst_filters *t = p->t;
  const uint8_t *bytes = t->bytes + t->filter.at.offset;
  if (t->damaged) return probe_report(p, bytes, NULL, true, true);
  if (t->has_view) return probe_view(p, bytes, &t->view);
  if (t->policy == NULL) return probe_report(p, bytes, NULL, false, true);
  return probe_filter(p, bytes, (size_t)t->filter.at.size);
}

/* Probes nori's filter inside the block that may have the key. Without such a block the key is
 * absent. */
static bool probe_in_block(probe *p) {
  const nay_filter *filter;
  uint64_t offset;
  bool damaged;
  const nay_sst_filters *t = p->t;
  if (!nay_sst__filters_find_foreign(t, p->key, p->len, &filter, &offset, &damaged)) return false;
  bool maybe = filter == NULL || nay_filter_may_contain(filter, p->key, p->probe_len);
  return probe_report(p, t->bytes + offset, filter, damaged, maybe);
}

static bool probe_table(probe *p) {
  const nay_sst_filters *t = p->t;
  if (nay_sst__filters_in_blocks(t)) return probe_in_block(p);
  if (!t->properties.whole_keys) {
    if (!t->properties.prefixes || !t->has_extractor ||
        t->extractor.extract(t->extractor.ctx, p->key, p->len, &p->probe_len) != NAY_OK) {
      return true;
    }
    if (t->prefix_block.at.size != 0) return probe_prefix_block(p);
  }
  switch (t->layout) {
    case NAY_SST_NO_FILTER: break;
    case NAY_SST_BLOCK_FILTER: return probe_filter_block(p);
    case NAY_SST_FULL_FILTER: return probe_full(p);
    case NAY_SST_PARTITIONED_FILTER: return probe_partitions(p);
  }
  return true;
}

bool nay_sst_filters_may_contain(const nay_sst_filters *t, const void *key, size_t len) {
  if (t == NULL || (key == NULL && len != 0)) return true;
  probe p = {.t = t, .key = key != NULL ? key : "", .len = len, .probe_len = len};
  return probe_table(&p);
}

nay_status nay_sst_filters_explain(const nay_sst_filters *t, const void *key, size_t len,
                                   nay_sst_filters_visitor sink, void *ctx, bool *maybe) {
  if (t == NULL || (key == NULL && len != 0) || sink == NULL || maybe == NULL) return NAY_EINVAL;
  probe p = {.t = t,
             .key = key != NULL ? key : "",
             .len = len,
             .probe_len = len,
             .sink = sink,
             .ctx = ctx};
  bool answer = probe_table(&p);
  if (p.status == NAY_OK) *maybe = answer;
  return p.status;
}

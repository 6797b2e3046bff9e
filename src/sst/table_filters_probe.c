/*
 * table_filters_probe.c - what the filters of a table say of a key, and which of them say it.
 *
 * LevelDB's filter block: only the index tells which filter a key belongs to. Nothing tells whether
 * its keys are internal keys, and the two readings may lead to two data blocks: then both filters
 * are probed. If the keys are not known to be in bytewise order, every filter or partition is
 * probed.
 *
 * An explanation takes the same way with a sink: it hands out each filter that an answer may depend
 * on, also those after the first maybe.
 */
#include "nay_explain.h"
#include "sst/table_filters.h"

/* A key on its way to the filters. */
typedef struct probe {
  const nay_table_filters *t;
  const void *key;
  size_t len;                  /* of the key, which selects filters */
  size_t probe_len;            /* of what is probed: the key or its prefix */
  nay_table_explain_sink sink; /* NULL: only the answer is wanted */
  void *ctx;
  nay_status status; /* of the sink */
} probe;

/* Whether the answer may still change, or somebody wants all of it. */
static bool probe_goes_on(const probe *p, bool any) {
  return !any || (p->sink != NULL && p->status == NAY_OK);
}

static bool probe_tell(probe *p, const uint8_t *bytes, const nay_filter *filter, bool damaged,
                       bool maybe) {
  nay_table_explain_step step = {.size = sizeof step,
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
  return probe_tell(p, bytes, f, false, nay_filter_may_contain(f, p->key, p->probe_len));
}

static bool probe_filter(probe *p, const uint8_t *bytes, size_t filter_len) {
  const nay_table_filters *t = p->t;
  nay_view view = {.size = sizeof view};
  if (t->policy != NULL) {
    bool maybe = t->policy->may_contain(t->policy->ctx, p->key, p->probe_len, bytes, filter_len);
    return probe_tell(p, bytes, NULL, false, maybe);
  }
  if (t->format == NULL ||
      nay_format_view(t->format, bytes, filter_len, NAY_FORMAT_CERTAIN, NULL, &view) != NAY_OK) {
    return probe_tell(p, bytes, NULL, t->format != NULL, true);
  }
  return probe_view(p, bytes, &view);
}

/* ---- LevelDB's filter block ---- */

/* A filter of the block. Without bounds that lie in the block it is damaged, which is a maybe; an
 * empty one stands for a range without keys. */
static bool probe_bounds(probe *p, bool found, const uint8_t *bytes, size_t filter_len) {
  const nay_table_filters *t = p->t;
  if (!found) return probe_tell(p, t->bytes + t->filter.at.offset, NULL, true, true);
  return filter_len != 0 && probe_filter(p, bytes, filter_len);
}

static bool probe_all(probe *p) {
  const nay_filter_block *b = &p->t->filter_block;
  bool any = b->n == 0;
  for (uint64_t i = 0; i < b->n && probe_goes_on(p, any); i++) {
    const uint8_t *bytes = NULL;
    size_t filter_len = 0;
    bool found = nay__filter_block_at(b, i, &bytes, &filter_len);
    any |= probe_bounds(p, found, bytes, filter_len);
  }
  return any;
}

/* The filter of data block i; past the last one no key exists. */
static bool probe_data_block(probe *p, size_t i) {
  const nay_table_filters *t = p->t;
  const uint8_t *bytes = NULL;
  size_t filter_len = 0;
  if (i >= nay__index_count(&t->index)) return false;
  uint64_t offset = nay__index_at(&t->index, i)->handle.offset;
  bool found = nay__filter_block_find(&t->filter_block, offset, &bytes, &filter_len);
  return probe_bounds(p, found, bytes, filter_len);
}

static bool probe_filter_block(probe *p) {
  const nay_table_filters *t = p->t;
  if (t->damaged) return probe_tell(p, t->bytes + t->filter.at.offset, NULL, true, true);
  if (!t->index_known) return probe_all(p);
  size_t plain = nay__index_find(&t->index, NAY_BYTEWISE, p->key, p->probe_len), internal = plain;
  if (t->index.all_internal) {
    internal = nay__index_find(&t->index, NAY_INTERNAL_KEYS, p->key, p->probe_len);
  }
  bool any = probe_data_block(p, plain);
  if (internal != plain && probe_goes_on(p, any)) any |= probe_data_block(p, internal);
  return any;
}

/* ---- partitions ---- */

static bool probe_partition(probe *p, size_t i) {
  const nay_index_entry *e = nay__index_at(&p->t->index, i);
  const uint8_t *bytes = p->t->bytes + e->handle.offset;
  if (e->damaged) return probe_tell(p, bytes, NULL, true, true);
  return probe_filter(p, bytes, (size_t)e->handle.size);
}

/* The whole key selects the partition; its first probe_len bytes are probed. A key past the last
 * partition goes to the last one, as in RocksDB: its prefix may be there. */
static bool probe_partitions(probe *p) {
  const nay_table_filters *t = p->t;
  size_t n = nay__index_count(&t->index);
  if (n == 0) return false;
  bool any = false;
  for (size_t i = 0; t->other_order && i < n && probe_goes_on(p, any); i++) {
    any |= probe_partition(p, i);
  }
  if (t->other_order) return any;
  size_t i = nay__index_find(&t->index, nay__table_filters_comparator(t), p->key, p->len);
  return probe_partition(p, i < n ? i : n - 1);
}

/* ---- prefixes ---- */

static bool probe_prefix_block(probe *p) {
  const nay_table_filters *t = p->t;
  nay_view view = {.size = sizeof view};
  const uint8_t *bytes = t->bytes + t->prefix_block.at.offset;
  if (t->prefix_damaged ||
      nay_view_open(bytes, (size_t)t->prefix_block.at.size, NULL, NULL, &view) != NAY_OK) {
    return probe_tell(p, bytes, NULL, true, true);
  }
  return probe_view(p, bytes, &view);
}

/* ---- the table ---- */

static bool probe_full(probe *p) {
  const nay_table_filters *t = p->t;
  const uint8_t *bytes = t->bytes + t->filter.at.offset;
  if (t->damaged) return probe_tell(p, bytes, NULL, true, true);
  if (t->has_view) return probe_view(p, bytes, &t->view);
  if (t->policy == NULL) return probe_tell(p, bytes, NULL, false, true);
  return probe_filter(p, bytes, (size_t)t->filter.at.size);
}

/* nori's filter inside the block that may have the key; without such a block no key exists. */
static bool probe_in_block(probe *p) {
  const nay_filter *filter;
  uint64_t offset;
  bool damaged;
  const nay_table_filters *t = p->t;
  if (!nay__table_filters_find_foreign(t, p->key, p->len, &filter, &offset, &damaged)) return false;
  bool maybe = filter == NULL || nay_filter_may_contain(filter, p->key, p->probe_len);
  return probe_tell(p, t->bytes + offset, filter, damaged, maybe);
}

static bool probe_table(probe *p) {
  const nay_table_filters *t = p->t;
  if (nay__table_filters_in_blocks(t)) return probe_in_block(p);
  if (!t->properties.whole_keys) {
    if (!t->properties.prefixes || !t->has_extractor ||
        !t->extractor.extract(&t->extractor, p->key, p->len, &p->probe_len)) {
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

bool nay_table_filters_may_contain(const nay_table_filters *t, const void *key, size_t len) {
  if (t == NULL || (key == NULL && len != 0)) return true;
  probe p = {.t = t, .key = key != NULL ? key : "", .len = len, .probe_len = len};
  return probe_table(&p);
}

nay_status nay_table_filters_explain(const nay_table_filters *t, const void *key, size_t len,
                                     nay_table_explain_sink sink, void *ctx, bool *maybe) {
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

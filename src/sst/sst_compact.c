/*
 * sst_compact.c - k tables into one, as an LSM tree does it.
 *
 * A heap (merge_heap.h) holds an iterator for each table that has entries left. The versions of a
 * key come newest first, and each is compared with the one before it:
 *
 *   the same key came before, at or below the oldest snapshot    superseded: no reader can see it
 *   a deletion, at or below the oldest snapshot, at the bottom: no older version is left to hide
 *   anything else                                              written
 *
 * Plain keys are the same with all sequence numbers 0 and no snapshot. Filters are not merged:
 * their union would still answer maybe for every dropped key, at the combined load. The writer
 * builds new ones from the keys that are left.
 */
#include "sst/merge_heap.h"
#include "sst/sst.h"

typedef struct compaction {
  nay_allocator allocator;
  nay_order order;
  uint64_t snapshot; /* what is at or below it is seen by all readers alike */
  bool bottom;
  nay_sst_writer *writer;
  nay_merge_heap heap; /* of iterators */
  size_t ninputs;
  nay_buffer last; /* user key of the entry before */
  bool has_last;
  uint64_t last_sequence;
  nay_sst_compact_stats stats;
} compaction;

#define COMPACT_PROGRESS 8192u /* entries between two reports: some milliseconds */

/* ---- the inputs ---- */

/* The entry that an iterator moved to; *at is false at its end. */
static nay_status compact_look(nay_merge_input *input, nay_status moved, nay_diag *diag, bool *at) {
  *at = moved == NAY_OK;
  if (moved != NAY_OK && moved != NAY_ENOENT) {
    if (diag != NULL) *diag = *nay_sst_iter_diag(input->source);
    return moved;
  }
  input->key = nay_sst_iter_key(input->source, &input->len);
  return NAY_OK;
}

static nay_status compact_open(compaction *c, const nay_sst *const *tables, nay_diag *diag) {
  for (size_t i = 0; i < c->ninputs; i++) {
    nay_sst_iter *iter;
    bool at;
    NAY_TRY(nay_sst_iter_new(tables[i], &iter));
    nay_merge_input input = {.age = i, .source = iter};
    nay_status status = compact_look(&input, nay_sst_iter_first(iter), diag, &at);
    if (status == NAY_OK && at) {
      nay__merge_push(&c->heap, input);
    } else {
      nay_sst_iter_free(iter);
    }
    NAY_TRY(status);
  }
  return NAY_OK;
}

static nay_status compact_advance(compaction *c, nay_diag *diag) {
  nay_merge_input *top = nay__merge_top(&c->heap);
  bool at;
  NAY_TRY(compact_look(top, nay_sst_iter_next(top->source), diag, &at));
  if (at) {
    nay__merge_sink(&c->heap);
  } else {
    nay_sst_iter_free(top->source);
    nay__merge_pop(&c->heap);
  }
  return NAY_OK;
}

/* ---- one entry ---- */

static nay_status compact_split(const compaction *c, const nay_merge_input *top, nay_diag *diag,
                                nay_sst_version *v) {
  if (!c->order.internal) {
    *v = (nay_sst_version){.size = sizeof *v, .key = top->key, .len = top->len};
    return NAY_OK;
  }
  if (nay_sst_key_split(top->key, top->len, v) == NAY_OK) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "a key of the table is not an internal key", 0);
}

/* Whether the entry goes into the new table; it is then the one before the next. */
static nay_status compact_decide(compaction *c, const nay_sst_version *v, bool *keep) {
  bool same =
      c->has_last && nay__compare_users(c->order, v->key, v->len, c->last.at, c->last.len) == 0;
  bool superseded = same && (c->last_sequence <= c->snapshot || c->last_sequence == v->sequence);
  bool gone = !superseded && v->deleted && c->bottom && v->sequence <= c->snapshot;
  c->stats.superseded += superseded;
  c->stats.deletions += gone;
  *keep = !superseded && !gone;
  c->last_sequence = v->sequence;
  c->has_last = true;
  if (same) return NAY_OK;
  c->last.len = 0;
  return nay__buffer_append(&c->last, v->key, v->len, &c->allocator);
}

/* The writer refuses a key only if an input table is not in order; any other error is final, and
 * finish reports it. */
static nay_status compact_write(compaction *c, const nay_merge_input *top, nay_diag *diag) {
  size_t value_len;
  const void *value = nay_sst_iter_value(top->source, &value_len);
  nay_status status = nay_sst_writer_add(c->writer, top->key, top->len, value, value_len);
  if (status == NAY_EINVAL) {
    return nay__fail(diag, NAY_ECORRUPT, "the keys of a table are not in order", 0);
  }
  if (status != NAY_OK) return nay_sst_writer_finish(c->writer, diag);
  c->stats.written++;
  return NAY_OK;
}

static nay_status compact_entry(compaction *c, nay_diag *diag) {
  const nay_merge_input *top = nay__merge_top(&c->heap);
  nay_sst_version version = {.size = sizeof version};
  bool keep;
  NAY_TRY(compact_split(c, top, diag, &version));
  NAY_TRY(compact_decide(c, &version, &keep));
  c->stats.read++;
  if (keep) NAY_TRY(compact_write(c, top, diag));
  return compact_advance(c, diag);
}

/* ---- all of them ---- */

/* An empty table has no keys to be of one kind or the other. */
static nay_status compact_order(const nay_sst *const *tables, size_t n, nay_sst_keys wanted,
                                nay_diag *diag, nay_order *order) {
  bool known = wanted != NAY_SST_KEYS_AUTO;
  *order = (nay_order){NULL, wanted == NAY_SST_KEYS_INTERNAL};
  for (size_t i = 0; i < n; i++) {
    if (tables[i] == NULL) return nay__fail(diag, NAY_EINVAL, "a table is NULL", 0);
    if (tables[i]->empty) continue;
    if (known && tables[i]->order.internal != order->internal) {
      return nay__fail(diag, NAY_EMISMATCH, "some keys are plain and some are internal", 0);
    }
    order->internal = tables[i]->order.internal;
    known = true;
  }
  return nay__sst_same_comparator(tables, n, diag, &order->user);
}

static nay_status compact_run(compaction *c, const nay_sst *const *tables,
                              const nay_sst_compact_options *o, nay_diag *diag) {
  NAY_TRY(compact_open(c, tables, diag));
  while (nay__merge_top(&c->heap) != NULL) {
    NAY_TRY(compact_entry(c, diag));
    if (o->progress != NULL && c->stats.read % COMPACT_PROGRESS == 0) {
      o->progress(o->progress_ctx, &c->stats);
    }
  }
  return nay_sst_writer_finish(c->writer, diag);
}

static void compact_close(compaction *c) {
  for (size_t i = 0; i < c->heap.n; i++) nay_sst_iter_free(c->heap.at[i].source);
  nay_sst_writer_free(c->writer);
  nay__buffer_free(&c->last, &c->allocator);
  nay__merge_free(&c->heap, &c->allocator);
}

static nay_status compact_begin(compaction *c, const char *path, const nay_sst_compact_options *o,
                                nay_diag *diag) {
  nay_sst_write_options write = {.size = sizeof write};
  if (o->write != NULL) NAY_TRY(nay__abi_read(NAY_ABI_SST_WRITE, o->write, diag, &write));
  if (write.comparator != NULL && !nay__same_comparator(write.comparator, c->order.user)) {
    return nay__fail(diag, NAY_EMISMATCH, "write->comparator is not that of the tables", 0);
  }
  write.comparator = c->order.user;
  write.keys = c->order.internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN;
  c->heap.order = c->order;
  NAY_TRY(nay__merge_reserve(&c->heap, c->ninputs, &c->allocator));
  return nay_sst_writer_new(path, &write, &c->allocator, diag, &c->writer);
}

nay_status nay_sst_compact(const nay_sst *const *tables, size_t n, const char *path,
                           const nay_sst_compact_options *options, const nay_allocator *allocator,
                           nay_diag *diag, nay_sst_compact_stats *stats) {
  nay_sst_compact_options o = {.size = sizeof o};
  if (tables == NULL || n == 0 || path == NULL) {
    return nay__fail(diag, NAY_EINVAL, "no tables, or no path", 0);
  }
  if (options != NULL) NAY_TRY(nay__abi_read(NAY_ABI_SST_COMPACT, options, diag, &o));
  if (stats != NULL) NAY_TRY(nay__abi_check(NAY_ABI_SST_COMPACTED, stats, diag));
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  compaction c = {.allocator = a,
                  .bottom = o.bottom,
                  .ninputs = n,
                  .stats = {.size = sizeof c.stats},
                  .snapshot = o.oldest_snapshot != 0 ? o.oldest_snapshot : UINT64_MAX};
  nay_sst_keys keys = NAY_SST_KEYS_AUTO;
  if (o.write != NULL) {
    NAY_TRY(nay__abi_check_input(NAY_ABI_SST_WRITE, o.write, diag));
    keys = o.write->keys;
  }
  NAY_TRY(compact_order(tables, n, keys, diag, &c.order));
  nay_status status = compact_begin(&c, path, &o, diag);
  if (status == NAY_OK) status = compact_run(&c, tables, &o, diag);
  compact_close(&c);
  if (status == NAY_OK && stats != NULL) nay__abi_write(NAY_ABI_SST_COMPACTED, &c.stats, stats);
  return status;
}

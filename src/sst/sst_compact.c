/*
 * sst_compact.c - k tables into one, as an LSM tree does it.
 *
 * A heap holds an iterator for each table that has entries left. The smallest key is on top; of
 * equal keys, that of the newest table. So the versions of a key come newest first, and each is
 * compared with the one before it:
 *
 *   the same key came before, at or below the oldest snapshot    superseded: no reader can see it
 *   a deletion, at or below the oldest snapshot, at the bottom: no older version is left to hide
 *   anything else                                              written
 *
 * Plain keys are the same with all sequence numbers 0 and no snapshot. Filters are not merged:
 * their union would still answer maybe for every dropped key, at the combined load. The writer
 * builds new ones from the keys that are left.
 */
#include "sst/sst.h"

typedef struct compact_input {
  nay_sst_iter *iter;
  const uint8_t *key; /* of the entry the iterator is at */
  size_t len;
  size_t age; /* 0: the newest table */
} compact_input;

typedef struct compaction {
  nay_allocator allocator;
  nay_comparator order;
  uint64_t snapshot; /* what is at or below it is seen by all readers alike */
  bool bottom;
  nay_sst_writer *writer;
  compact_input *heap;
  size_t n, ninputs; /* in the heap; room of the array */
  nay_buffer last;   /* user key of the entry before */
  bool has_last;
  uint64_t last_sequence;
  nay_sst_compact_stats stats;
} compaction;

#define COMPACT_PROGRESS 8192u /* entries between two reports: some milliseconds */

/* ---- the heap ---- */

/* Of one version in two tables the newer table's counts, be it a value or a deletion: tables of
 * engines without sequence numbers have 0 everywhere. */
static bool compact_same_version(const compaction *c, const compact_input *a,
                                 const compact_input *b) {
  if (c->order != NAY_INTERNAL_KEYS || a->len != b->len || a->len < NAY_KEY_TRAILER) return false;
  size_t user = a->len - NAY_KEY_TRAILER;
  return nay__load64le(a->key + user) >> 8 == nay__load64le(b->key + user) >> 8 &&
         (user == 0 || memcmp(a->key, b->key, user) == 0);
}

static bool compact_before(const compaction *c, const compact_input *a, const compact_input *b) {
  int order = nay__compare(c->order, a->key, a->len, b->key, b->len);
  if (order == 0 || compact_same_version(c, a, b)) return a->age < b->age;
  return order < 0;
}

static void compact_sink(compaction *c, size_t at) {
  compact_input x = c->heap[at];
  for (size_t child; (child = 2 * at + 1) < c->n; at = child) {
    if (child + 1 < c->n && compact_before(c, &c->heap[child + 1], &c->heap[child])) child++;
    if (!compact_before(c, &c->heap[child], &x)) break;
    c->heap[at] = c->heap[child];
  }
  c->heap[at] = x;
}

/* The entry that an iterator moved to; *at is false at its end. */
static nay_status compact_look(compact_input *input, nay_status moved, nay_diag *diag, bool *at) {
  *at = moved == NAY_OK;
  if (moved != NAY_OK && moved != NAY_ENOENT) {
    if (diag != NULL) *diag = *nay_sst_iter_diag(input->iter);
    return moved;
  }
  input->key = nay_sst_iter_key(input->iter, &input->len);
  return NAY_OK;
}

static nay_status compact_open(compaction *c, const nay_sst *const *tables, nay_diag *diag) {
  for (size_t i = 0; i < c->ninputs; i++) {
    compact_input *input = &c->heap[c->n];
    bool at;
    *input = (compact_input){.age = i};
    NAY_TRY(nay_sst_iter_new(tables[i], &input->iter));
    nay_status status = compact_look(input, nay_sst_iter_first(input->iter), diag, &at);
    if (status == NAY_OK && at) {
      c->n++;
    } else {
      nay_sst_iter_free(input->iter);
    }
    NAY_TRY(status);
  }
  for (size_t i = c->n / 2; i > 0; i--) compact_sink(c, i - 1);
  return NAY_OK;
}

static nay_status compact_advance(compaction *c, nay_diag *diag) {
  compact_input *top = &c->heap[0];
  bool at;
  NAY_TRY(compact_look(top, nay_sst_iter_next(top->iter), diag, &at));
  if (!at) {
    nay_sst_iter_free(top->iter);
    *top = c->heap[--c->n];
  }
  if (c->n > 0) compact_sink(c, 0);
  return NAY_OK;
}

/* ---- one entry ---- */

static nay_status compact_split(const compaction *c, const compact_input *top, nay_diag *diag,
                                nay_sst_version *v) {
  if (c->order == NAY_BYTEWISE) {
    *v = (nay_sst_version){.size = sizeof *v, .key = top->key, .len = top->len};
    return NAY_OK;
  }
  if (nay_sst_key_split(top->key, top->len, v) == NAY_OK) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "a key of the table is not an internal key", 0);
}

/* Whether the entry goes into the new table; it is then the one before the next. */
static nay_status compact_decide(compaction *c, const nay_sst_version *v, bool *keep) {
  bool same = c->has_last && nay__compare_bytes(v->key, v->len, c->last.at, c->last.len) == 0;
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
static nay_status compact_write(compaction *c, const compact_input *top, nay_diag *diag) {
  size_t value_len;
  const void *value = nay_sst_iter_value(top->iter, &value_len);
  nay_status status = nay_sst_writer_add(c->writer, top->key, top->len, value, value_len);
  if (status == NAY_EINVAL) {
    return nay__fail(diag, NAY_ECORRUPT, "the keys of a table are not in order", 0);
  }
  if (status != NAY_OK) return nay_sst_writer_finish(c->writer, diag);
  c->stats.written++;
  return NAY_OK;
}

static nay_status compact_entry(compaction *c, nay_diag *diag) {
  const compact_input *top = &c->heap[0];
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
                                nay_diag *diag, nay_comparator *order) {
  bool known = wanted != NAY_SST_KEYS_AUTO;
  *order = wanted == NAY_SST_KEYS_INTERNAL ? NAY_INTERNAL_KEYS : NAY_BYTEWISE;
  for (size_t i = 0; i < n; i++) {
    if (tables[i] == NULL) return nay__fail(diag, NAY_EINVAL, "a table is NULL", 0);
    if (tables[i]->empty) continue;
    if (known && tables[i]->order != *order) {
      return nay__fail(diag, NAY_EMISMATCH, "some keys are plain and some are internal", 0);
    }
    *order = tables[i]->order;
    known = true;
  }
  return NAY_OK;
}

static nay_status compact_run(compaction *c, const nay_sst *const *tables,
                              const nay_sst_compact_options *o, nay_diag *diag) {
  NAY_TRY(compact_open(c, tables, diag));
  while (c->n > 0) {
    NAY_TRY(compact_entry(c, diag));
    if (o->progress != NULL && c->stats.read % COMPACT_PROGRESS == 0) {
      o->progress(o->progress_ctx, &c->stats);
    }
  }
  return nay_sst_writer_finish(c->writer, diag);
}

static void compact_close(compaction *c) {
  for (size_t i = 0; i < c->n; i++) nay_sst_iter_free(c->heap[i].iter);
  nay_sst_writer_free(c->writer);
  nay__buffer_free(&c->last, &c->allocator);
  nay__free(&c->allocator, c->heap, c->ninputs * sizeof *c->heap);
}

static nay_status compact_begin(compaction *c, const char *path, const nay_sst_compact_options *o,
                                nay_diag *diag) {
  size_t size;
  nay_sst_write_options write = {.size = sizeof write};
  if (o->write != NULL) NAY_TRY(nay__abi_read(NAY_ABI_SST_WRITE, o->write, diag, &write));
  write.keys = c->order == NAY_INTERNAL_KEYS ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN;
  if (!nay__mul_ok(c->ninputs, sizeof *c->heap, &size)) return NAY_ENOMEM;
  c->heap = nay__alloc(&c->allocator, size);
  if (c->heap == NULL) return NAY_ENOMEM;
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

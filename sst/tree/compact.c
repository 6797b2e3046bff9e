/*
 * compact.c - the calls of nay_sst_compact.h: checks the options, splits the key space into ranges,
 * and compacts the ranges in parallel (compact.h).
 *
 * Filters are not merged, as the union of the old filters would still answer maybe for every
 * dropped key, at a higher FPR. The writer builds new filters from the keys that remain.
 */
#include "tree/compact.h"
#include "os/thread.h"

/* Rough memory of a thread, besides the index and filter of its output: the write buffer and some
 * open blocks; for each native filter one page of hashes. */
#define COMPACT_THREAD_BYTES (256u << 10)
#define COMPACT_FILTER_BYTES (512u << 10)

/* ---- options ---- */

/* Determines the key order of the outputs. All tables must agree, except empty ones, which have no
 * keys. */
static nay_status compact_order(const nay_sst *const *tables, size_t n, nay_sst_keys wanted,
                                nay_diag *diag, nay_order *order) {
  bool known = wanted != NAY_SST_KEYS_AUTO;
  *order = (nay_order){NULL, wanted == NAY_SST_KEYS_INTERNAL};
  for (size_t i = 0; i < n; i++) {
    if (tables[i] == NULL) return nay__fail(diag, NAY_EINVAL, "a table is NULL", i);
    if (tables[i]->range.empty) continue;
    if (known && tables[i]->order.internal != order->internal) {
      return nay__fail(diag, NAY_EMISMATCH,
                       "some tables have plain keys and some have internal keys", i);
    }
    order->internal = tables[i]->order.internal;
    known = true;
  }
  return nay_sst__join_all(tables, n, diag, &order->user);
}

static nay_status compact_check(const nay_compaction *c, nay_diag *diag) {
  const nay_sst_compact_options *o = &c->options;
  if (o->snapshots == NULL && o->nsnapshots != 0) {
    return nay__fail(diag, NAY_EINVAL, "snapshots is NULL", 0);
  }
  for (size_t i = 1; i < o->nsnapshots; i++) {
    if (o->snapshots[i - 1] > o->snapshots[i]) {
      return nay__fail(diag, NAY_EINVAL, "snapshots are not in ascending order", i);
    }
  }
  if (o->threads > NAY_MAX_THREADS) return nay__fail(diag, NAY_EINVAL, "too many threads", 0);
  if (o->filter != NULL && !c->order.internal && !o->bottom) {
    return nay__fail(diag, NAY_EINVAL,
                     "a filter callback over plain keys needs bottom: they have no deletions", 0);
  }
  return NAY_OK;
}

/* ---- threads ---- */

static void compact_failed(nay_compaction *c, nay_status status, const nay_diag *why) {
  nay__mutex_lock(&c->mutex);
  if (c->status == NAY_OK) {
    c->status = status;
    c->why = *why;
  }
  nay__mutex_unlock(&c->mutex);
  nay__atomic_store8(&c->stop, 1);
}

static void compact_work(void *ctx, unsigned worker) {
  nay_compaction *c = ctx;
  (void)worker;
  while (nay__atomic_load8(&c->stop) == 0) {
    uint64_t i = nay__take(&c->next_range);
    nay_diag why = {.what = NULL};
    if (i > c->ncuts) return;
    nay_status status = nay_sst__compact_range(c, (size_t)i, &why);
    if (status == NAY_ENOMEM && why.what == NULL) {
      nay__fail(&why, status, "no memory for a compaction", 0);
    }
    if (status != NAY_OK) compact_failed(c, status, &why);
  }
}

/* Returns the number of threads: limited by the options, the number of ranges, and max_memory. An
 * output is assumed to need an eighth of its size for index and filter. */
static unsigned compact_threads(const nay_compaction *c) {
  const nay_sst_compact_options *o = &c->options;
  uint64_t n = o->threads != 0 ? o->threads : 1;
  if (n > c->ncuts + 1) n = c->ncuts + 1;
  uint64_t each = COMPACT_THREAD_BYTES + o->target_bytes / 8;
  bool full = c->write.filter > NAY_SST_BLOCK_FILTER && c->write.policy == NULL;
  each += COMPACT_FILTER_BYTES *
          ((uint64_t)full + (c->write.prefix != NULL) + (c->write.range != NULL));
  if (o->max_memory != 0 && n > o->max_memory / each) n = o->max_memory / each;
  return n != 0 ? (unsigned)n : 1;
}

static nay_status compact_all(nay_compaction *c, nay_diag *diag) {
  NAY_TRY(nay_sst__compact_split(c, diag));
  NAY_TRY(nay_sst__compact_cover(c));
  unsigned n = compact_threads(c);
  if (n == 1) {
    compact_work(c, 0);
  } else {
    nay__parallel(n, compact_work, c);
  }
  if (c->status != NAY_OK && diag != NULL) *diag = c->why;
  return c->status;
}

/* ---- calls ---- */

/* Makes shallow copies of the tables, so that their reads are charged to the compaction's allocator
 * and bypass the cache. */
static nay_status compact_copy_tables(nay_compaction *c, const nay_sst *const *tables, size_t n) {
  size_t size;
  if (!nay__mul_ok(n, sizeof *c->tables, &size)) return NAY_ENOMEM;
  c->tables = nay__alloc(&c->allocator, size);
  if (c->tables == NULL) return NAY_ENOMEM;
  c->ntables = n;
  for (size_t i = 0; i < n; i++) {
    c->tables[i] = *tables[i];
    c->tables[i].allocator = c->allocator;
    c->tables[i].options.cache = c->tables[i].cached.meta = NULL;
    /* a compaction reads whole ranges, so probes would save nothing */
    c->tables[i].filters.prefix_used = c->tables[i].filters.range_used = false;
  }
  return NAY_OK;
}

static void compact_free(nay_compaction *c) {
  const nay_allocator *a = &c->allocator;
  for (size_t i = 0; i < c->ncuts; i++) nay__buffer_free(&c->cuts[i], a);
  nay__free(a, c->cuts, c->cuts_capacity * sizeof *c->cuts);
  nay__free(a, c->cover.starts, c->cover.bytes);
  nay__free(a, c->tables, c->ntables * sizeof *c->tables);
}

static nay_status compact_run(nay_compaction *c, const nay_sst *const *tables, size_t n,
                              nay_diag *diag) {
  nay_diag why = {.what = NULL};
  nay_status status = compact_copy_tables(c, tables, n);
  if (status == NAY_OK) status = compact_all(c, &why);
  compact_free(c);
  c->totals.peak_memory = c->budget->peak;
  if (status == NAY_OK) return NAY_OK;
  if (status == NAY_ENOMEM && c->budget->exceeded) {
    return nay__fail(diag, NAY_EFULL, "the compaction needs more than max_memory", 0);
  }
  if (why.what == NULL) nay__fail(&why, status, "no memory for a compaction", 0);
  if (diag != NULL) *diag = why;
  return status;
}

/* Determines the key description of the outputs. All tables that state one must agree. A table that
 * states none has the description in write->key, or text without it. */
static nay_status compact_key(nay_compaction *c, const nay_sst *const *tables, size_t n,
                              nay_diag *diag) {
  const char *all = c->write.key;
  for (size_t i = 0; i < n; i++) {
    const char *key = nay_sst__key(tables[i]);
    if (key == NULL && c->write.key != NULL) continue;
    if (key == NULL) key = "text";
    if (all == NULL) all = key;
    if (nay_key_description_same(all, key)) continue;
    return nay__fail(diag, NAY_EMISMATCH,
                     "tables with different key descriptions, or another one "
                     "in write->key",
                     0);
  }
  c->write.key = all;
  return NAY_OK;
}

static nay_status compact_begin(nay_compaction *c, const nay_sst *const *tables, size_t n,
                                nay_diag *diag) {
  NAY_TRY(compact_order(tables, n, c->write.keys, diag, &c->order));
  if (c->write.comparator != NULL &&
      !nay_sst__same_comparator(c->write.comparator, c->order.user)) {
    return nay__fail(diag, NAY_EMISMATCH, "write->comparator is not the one of the tables", 0);
  }
  NAY_TRY(compact_key(c, tables, n, diag));
  c->write.comparator = c->order.user;
  c->write.keys = c->order.internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN;
  return compact_check(c, diag);
}

/* Writes a table without entries, for a caller who expects a file at the path. */
static nay_status compact_write_empty(const nay_compaction *c, const char *path, nay_diag *diag) {
  nay_sst_writer *w;
  NAY_TRY(nay_sst_writer_new(path, &c->write, &c->allocator, diag, &w));
  nay_status status = nay_sst_writer_finish(w, diag);
  nay_sst_writer_free(w);
  return status;
}

static nay_status compact_locks(nay_compaction *c, nay_budget *budget, nay_diag *diag) {
  nay_status status = nay__mutex_init(&c->mutex);
  if (status == NAY_OK) {
    status = nay_sst__budget_init(budget);
    if (status != NAY_OK) nay__mutex_free(&c->mutex);
  }
  return status == NAY_OK ? NAY_OK : nay__fail(diag, status, "no memory for a compaction", 0);
}

/* Runs a compaction. `empty` is the path where an empty table is written if there is no other
 * output; NULL: none is written. */
static nay_status compact_call(nay_compaction *c, const nay_sst *const *tables, size_t n,
                               const char *empty, const nay_allocator *allocator, nay_diag *diag,
                               nay_sst_compact_stats *stats) {
  nay_budget budget = {.limit = c->options.max_memory};
  if (tables == NULL || n == 0) return nay__fail(diag, NAY_EINVAL, "there are no tables", 0);
  if (stats != NULL) NAY_TRY(nay__abi_check(NAY_ABI_SST_COMPACT_STATS, stats, diag));
  NAY_TRY(nay__allocator_read(allocator, diag, &budget.below));
  NAY_TRY(compact_begin(c, tables, n, diag));
  NAY_TRY(compact_locks(c, &budget, diag));
  c->budget = &budget;
  c->allocator = nay_sst__budget_allocator(&budget);
  nay_status status = compact_run(c, tables, n, diag);
  if (status == NAY_OK && empty != NULL && c->totals.outputs == 0) {
    status = compact_write_empty(c, empty, diag);
  }
  nay_sst__budget_free(&budget);
  nay__mutex_free(&c->mutex);
  if (status == NAY_OK && stats != NULL)
    nay__abi_write(NAY_ABI_SST_COMPACT_STATS, &c->totals, stats);
  return status;
}

static nay_status compact_read_options(const nay_sst_compact_options *options, nay_diag *diag,
                                       nay_compaction *c) {
  *c = (nay_compaction){.options = {.size = sizeof c->options},
                        .write = {.size = sizeof c->write},
                        .totals = {.size = sizeof c->totals}};
  if (options != NULL) NAY_TRY(nay__abi_read(NAY_ABI_SST_COMPACT, options, diag, &c->options));
  if (c->options.write == NULL) return NAY_OK;
  return nay__abi_read(NAY_ABI_SST_WRITE, c->options.write, diag, &c->write);
}

nay_status nay_sst_compact_to(const nay_sst *const *tables, size_t n,
                              const nay_sst_outputs *outputs,
                              const nay_sst_compact_options *options,
                              const nay_allocator *allocator, nay_diag *diag,
                              nay_sst_compact_stats *stats) {
  nay_compaction c;
  if (outputs == NULL) return nay__fail(diag, NAY_EINVAL, "outputs is NULL", 0);
  NAY_TRY(compact_read_options(options, diag, &c));
  NAY_TRY(nay__abi_read(NAY_ABI_SST_OUTPUTS, outputs, diag, &c.outputs));
  if ((c.outputs.next == NULL) == (c.outputs.next_target == NULL)) {
    return nay__fail(diag, NAY_EINVAL, "outputs needs either next or next_target", 0);
  }
  return compact_call(&c, tables, n, NULL, allocator, diag, stats);
}

static const char *compact_only_path(void *ctx) { return ctx; }

nay_status nay_sst_compact(const nay_sst *const *tables, size_t n, const char *path,
                           const nay_sst_compact_options *options, const nay_allocator *allocator,
                           nay_diag *diag, nay_sst_compact_stats *stats) {
  nay_compaction c;
  if (path == NULL) return nay__fail(diag, NAY_EINVAL, "path is NULL", 0);
  NAY_TRY(compact_read_options(options, diag, &c));
  if (c.options.target_bytes != 0) {
    return nay__fail(diag, NAY_EINVAL,
                     "target_bytes needs nay_sst_compact_to: there is only one output", 0);
  }
  c.outputs = (nay_sst_outputs){.size = sizeof c.outputs, .next = compact_only_path};
  c.outputs.ctx = (void *)(uintptr_t)path;
  return compact_call(&c, tables, n, path, allocator, diag, stats);
}

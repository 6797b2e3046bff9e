/*
 * compact_range.c - compacts one range of keys: a k-way merge of the tables that overlap it. Each
 * entry of the merge goes to the rules of compact_entry.c.
 *
 * A table enters the merge heap under its smallest key, which is known without reading a block, and
 * gets its iterator only when that key reaches the top. Tables whose keys do not overlap therefore
 * have one iterator at a time, and need the memory of one.
 */
#include "tree/compact.h"

#define RANGE_PROGRESS (256u << 10) /* bytes read between two progress callbacks: milliseconds */

/* ---- inputs ---- */

static int range_compare(const nay_sst *t, const nay_buffer *key, const nay_buffer *user) {
  size_t len = nay_sst__user_len(t->order, key->len);
  return nay_sst__compare_users(t->order, key->at, len, user->at, user->len);
}

/* Takes the key that the iterator moved to; `moved` is the status of the movement. *at is false at
 * the end of the table. */
static nay_status range_take_key(nay_compact_range *r, nay_merge_input *input, nay_status moved,
                                 bool *at) {
  const nay_compact_input *source = input->source;
  *at = moved == NAY_OK;
  if (moved != NAY_OK && moved != NAY_EEND) {
    if (r->diag != NULL) *r->diag = *nay_sst_iter_diag(source->iter);
    return moved;
  }
  input->key = nay_sst_iter_key(source->iter, &input->len);
  return NAY_OK;
}

/* Makes the iterator and moves it to the table's first entry in the range. */
static nay_status range_open(nay_compact_range *r, nay_merge_input *input, bool *at) {
  nay_compact_input *source = input->source;
  if (nay_sst_iter_new(source->table, NULL, &source->iter) != NAY_OK) {
    return nay__fail(r->diag, NAY_ENOMEM, "no memory for an iterator", 0);
  }
  nay_status moved;
  if (r->from == NULL && r->to == NULL) {
    moved = nay_sst_iter_first(source->iter);
  } else {
    nay_buffer none = {NULL, 0, 0};
    const nay_buffer *from = r->from != NULL ? r->from : &none;
    moved =
        nay_sst_iter_seek_range(source->iter, from->at, from->len, r->to != NULL ? r->to->at : NULL,
                                r->to != NULL ? r->to->len : 0);
  }
  return range_take_key(r, input, moved, at);
}

static void range_close(nay_merge_input *input) {
  nay_compact_input *source = input->source;
  nay_sst_iter_free(source->iter);
  source->iter = NULL;
}

static nay_status range_add_input(nay_compact_range *r, nay_compact_input *source) {
  const nay_sst *t = source->table;
  nay_merge_input input = {.age = (size_t)(t - r->shared->tables), .source = source};
  bool at = true;
  if (t->range.has_smallest &&
      (r->from == NULL || range_compare(t, &t->range.smallest, r->from) >= 0)) {
    input.key = t->range.smallest.at;
    input.len = t->range.smallest.len;
  } else {
    NAY_TRY(range_open(r, &input, &at));
    if (!at) range_close(&input);
  }
  if (at) nay_sst__merge_push(&r->heap, input);
  return NAY_OK;
}

/* Moves the input on top to its next entry; the first time, makes its iterator. */
static nay_status range_advance(nay_compact_range *r, nay_merge_input *top) {
  const nay_compact_input *source = top->source;
  bool at;
  if (source->iter == NULL) {
    NAY_TRY(range_open(r, top, &at));
  } else {
    NAY_TRY(range_take_key(r, top, nay_sst_iter_next(source->iter), &at));
  }
  if (at) {
    nay_sst__merge_sink(&r->heap);
  } else {
    range_close(top);
    nay_sst__merge_pop(&r->heap);
  }
  return NAY_OK;
}

/* ---- entries ---- */

static nay_status range_decode(const nay_compact_range *r, const nay_merge_input *top,
                               nay_compact_entry *e) {
  const nay_compact_input *source = top->source;
  e->value.at = nay_sst_iter_value(source->iter, &e->value.len);
  e->user = (nay_bytes){top->key, nay_sst__user_len(r->shared->order, top->len)};
  e->sequence = 0;
  e->type = NAY_KEY_VALUE;
  if (!r->shared->order.internal) return NAY_OK;
  uint64_t trailer = nay__load64le(top->key + e->user.len);
  if ((trailer & 0xff) > NAY_KEY_MERGE) {
    return nay__fail(r->diag, NAY_ENOTSUP, "a table has an entry of a type that only RocksDB has",
                     0);
  }
  e->sequence = trailer >> 8;
  e->type = (nay_entry_type)(trailer & 0xff);
  return NAY_OK;
}

/* Adds the range's counts to the totals of the compaction. */
static void range_publish(nay_compact_range *r) {
  nay_sst_compact_stats *all = &r->shared->totals, *own = &r->stats;
  nay__atomic_add64(&all->read, own->read);
  nay__atomic_add64(&all->written, own->written);
  nay__atomic_add64(&all->superseded, own->superseded);
  nay__atomic_add64(&all->deletions, own->deletions);
  nay__atomic_add64(&all->filtered, own->filtered);
  nay__atomic_add64(&all->merged, own->merged);
  nay__atomic_add64(&all->bytes_read, own->bytes_read);
  nay__atomic_add64(&all->bytes_written, own->bytes_written);
  nay__atomic_add64(&all->outputs, own->outputs);
  *own = (nay_sst_compact_stats){.size = sizeof *own};
}

static nay_status range_progress(nay_compact_range *r) {
  nay_compaction *c = r->shared;
  const nay_sst_compact_stats *all = &c->totals;
  r->bytes_since_progress = 0;
  range_publish(r);
  if (nay__atomic_load8(&c->stop) != 0) {
    return nay__fail(r->diag, NAY_ECANCELED, "another range of the compaction failed", 0);
  }
  if (c->options.progress == NULL) return NAY_OK;
  nay_sst_compact_stats now = {.size = sizeof now,
                               .read = nay__atomic_load64(&all->read),
                               .written = nay__atomic_load64(&all->written),
                               .superseded = nay__atomic_load64(&all->superseded),
                               .deletions = nay__atomic_load64(&all->deletions),
                               .filtered = nay__atomic_load64(&all->filtered),
                               .merged = nay__atomic_load64(&all->merged),
                               .bytes_read = nay__atomic_load64(&all->bytes_read),
                               .bytes_written = nay__atomic_load64(&all->bytes_written),
                               .outputs = nay__atomic_load64(&all->outputs)};
  nay_status status = c->options.progress(c->options.progress_ctx, &now);
  if (status == NAY_OK) return NAY_OK;
  return nay__fail(r->diag, status, "the progress callback ended the compaction", 0);
}

static nay_status range_entry(nay_compact_range *r, const nay_merge_input *top) {
  nay_compact_entry e;
  NAY_TRY(range_decode(r, top, &e));
  NAY_TRY(nay_sst__compact_entry(r, &e));
  r->stats.bytes_read += top->len + e.value.len;
  r->bytes_since_progress += top->len + e.value.len;
  return r->bytes_since_progress >= RANGE_PROGRESS ? range_progress(r) : NAY_OK;
}

static nay_status range_run(nay_compact_range *r) {
  for (size_t i = 0; i < r->ninputs; i++) NAY_TRY(range_add_input(r, &r->inputs[i]));
  for (nay_merge_input *top; (top = nay_sst__merge_top(&r->heap)) != NULL;) {
    const nay_compact_input *source = top->source;
    if (source->iter != NULL) NAY_TRY(range_entry(r, top));
    NAY_TRY(range_advance(r, top));
  }
  return nay_sst__compact_end(r);
}

nay_status nay_sst__compact_range(nay_compaction *c, size_t i, nay_diag *diag) {
  nay_compact_range r = {.shared = c,
                         .allocator = &c->allocator,
                         .diag = diag,
                         .from = i != 0 ? &c->cuts[i - 1] : NULL,
                         .to = i < c->ncuts ? &c->cuts[i] : NULL,
                         .heap = {.order = c->order}};
  r.ninputs = nay_sst__compact_covering(c, i, NULL);
  size_t bytes = r.ninputs * sizeof *r.inputs + 1; /* cannot overflow: nay_sst is larger */
  r.inputs = nay__alloc(r.allocator, bytes);
  nay_status status = r.inputs == NULL ? NAY_ENOMEM : NAY_OK;
  if (status == NAY_OK) {
    for (size_t k = 0; k < r.ninputs; k++) r.inputs[k] = (nay_compact_input){.iter = NULL};
    nay_sst__compact_covering(c, i, r.inputs);
    status = nay_sst__merge_reserve(&r.heap, r.ninputs, r.allocator);
  }
  if (status == NAY_OK) status = range_run(&r);
  range_publish(&r);
  for (size_t k = 0; r.inputs != NULL && k < r.ninputs; k++) nay_sst_iter_free(r.inputs[k].iter);
  nay_buffer *buffers[] = {&r.key, &r.operand.value, &r.operand.scratch, &r.internal_key,
                           &r.new_value};
  for (size_t k = 0; k < sizeof buffers / sizeof *buffers; k++) {
    nay__buffer_free(buffers[k], r.allocator);
  }
  nay_sst__compact_output_free(&r);
  nay_sst__merge_free(&r.heap, r.allocator);
  nay__free(r.allocator, r.inputs, bytes);
  return status;
}

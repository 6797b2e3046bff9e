/*
 * compact_output.c - writes the output tables of a compaction.
 *
 * An output is opened for its first entry, so no output is empty. An output ends between two user
 * keys: the tables of a level stay disjoint only if no key has versions in two of them. The size of
 * an output, which target_bytes limits, is the size of the data blocks written so far.
 *
 * The callbacks of nay_sst_outputs run under the compaction's mutex; the callbacks of sinks run
 * without it. The writer finishes or aborts the sink that the caller gave. If the writer cannot be
 * made, the sink is aborted here.
 */
#include "io/table_file.h"
#include "table/write_options.h"
#include "tree/compact.h"

/* Asks the caller for the path or the sink of the next output. */
static nay_status output_next(nay_compaction *c, nay_compact_output *o, nay_diag *diag) {
  const nay_sst_outputs *to = &c->outputs;
  o->path = NULL;
  if (to->next_target == NULL) {
    o->path = to->next(to->ctx);
    if (o->path != NULL) return NAY_OK;
    return nay__fail(diag, NAY_ECANCELED, "outputs.next returned no path for the next table", 0);
  }
  const nay_sst_target *sink = to->next_target(to->ctx);
  if (sink != NULL) return nay__abi_read(NAY_ABI_SST_TARGET, sink, diag, &o->sink);
  return nay__fail(diag, NAY_ECANCELED, "outputs.next_target returned no sink for the next table",
                   0);
}

static nay_status output_new_writer(nay_compact_range *r) {
  const nay_compaction *c = r->shared;
  nay_compact_output *o = &r->output;
  o->smallest.len = 0;
  NAY_TRY(nay__buffer_append(&o->smallest, r->key.at, r->key.len, r->allocator));
  if (o->path != NULL) {
    return nay_sst_writer_new(o->path, &c->write, r->allocator, r->diag, &o->writer);
  }
  return nay_sst_writer_new_target(&o->sink, &c->write, r->allocator, r->diag, &o->writer);
}

static nay_status output_open(nay_compact_range *r) {
  nay_compaction *c = r->shared;
  nay_compact_output *o = &r->output;
  nay__mutex_lock(&c->mutex);
  nay_status status = output_next(c, o, r->diag);
  nay__mutex_unlock(&c->mutex);
  NAY_TRY(status);
  o->entries = o->deletions = o->largest_sequence = 0;
  o->smallest_sequence = UINT64_MAX;
  status = output_new_writer(r);
  if (status != NAY_OK && o->path == NULL) nay_sst__io_abort(&o->sink);
  return status;
}

/* Encodes the current key into r->internal_key, with its trailer if keys are internal. */
static nay_status output_key(nay_compact_range *r, uint64_t sequence, nay_entry_type type) {
  uint8_t trailer[NAY_KEY_TRAILER];
  r->internal_key.len = 0;
  NAY_TRY(nay__buffer_append(&r->internal_key, r->key.at, r->key.len, r->allocator));
  if (!r->shared->order.internal) return NAY_OK;
  nay__store64le(trailer, sequence << 8 | type);
  return nay__buffer_append(&r->internal_key, trailer, sizeof trailer, r->allocator);
}

/* The writer refuses a key with NAY_EINVAL only if an input table is out of order. Any other error
 * of the writer is final, and finish reports its cause. */
static nay_status output_add(nay_compact_range *r, nay_bytes value) {
  nay_sst_writer *w = r->output.writer;
  if (value.len >= NAY_SST_ENTRY_MAX) { /* the merge operator or the compaction filter made it */
    return nay__fail(r->diag, NAY_EFULL, "a callback made a value of 1 GiB or more", 0);
  }
  nay_status status =
      nay_sst_writer_add(w, r->internal_key.at, r->internal_key.len, value.at, value.len, NULL);
  if (status == NAY_EINVAL) {
    return nay__fail(r->diag, NAY_ECORRUPT, "the keys of an input table are out of order", 0);
  }
  return status != NAY_OK ? nay_sst_writer_finish(w, r->diag) : NAY_OK;
}

nay_status nay_sst__compact_write(nay_compact_range *r, uint64_t sequence, nay_entry_type type,
                                  nay_bytes value) {
  nay_compact_output *o = &r->output;
  if (o->writer == NULL) NAY_TRY(output_open(r));
  NAY_TRY(output_key(r, sequence, type));
  NAY_TRY(output_add(r, value));
  o->largest.len = 0;
  NAY_TRY(nay__buffer_append(&o->largest, r->key.at, r->key.len, r->allocator));
  o->entries++;
  o->deletions += type == NAY_KEY_DELETION;
  if (sequence < o->smallest_sequence) o->smallest_sequence = sequence;
  if (sequence > o->largest_sequence) o->largest_sequence = sequence;
  r->stats.written++;
  return NAY_OK;
}

nay_status nay_sst__compact_cut(nay_compact_range *r) {
  uint64_t target = r->shared->options.target_bytes;
  bool full =
      r->output.writer != NULL && target != 0 && nay_sst__writer_bytes(r->output.writer) >= target;
  return full ? nay_sst__compact_finish(r) : NAY_OK;
}

nay_status nay_sst__compact_finish(nay_compact_range *r) {
  nay_compaction *c = r->shared;
  nay_compact_output *o = &r->output;
  if (o->writer == NULL) return NAY_OK;
  NAY_TRY(nay_sst_writer_finish(o->writer, r->diag));
  nay_sst_output done = {.size = sizeof done,
                         .path = o->path,
                         .smallest = nay_sst__compact_not_null(&o->smallest),
                         .smallest_len = o->smallest.len,
                         .largest = nay_sst__compact_not_null(&o->largest),
                         .largest_len = o->largest.len,
                         .smallest_sequence = o->smallest_sequence,
                         .largest_sequence = o->largest_sequence,
                         .entries = o->entries,
                         .deletions = o->deletions,
                         .nbytes = nay_sst__writer_bytes(o->writer),
                         .target = o->path == NULL ? &o->sink : NULL};
  nay_sst_writer_free(o->writer);
  o->writer = NULL;
  r->stats.outputs++;
  r->stats.bytes_written += done.nbytes;
  if (c->outputs.done == NULL) return NAY_OK;
  nay__mutex_lock(&c->mutex);
  c->outputs.done(c->outputs.ctx, &done);
  nay__mutex_unlock(&c->mutex);
  return NAY_OK;
}

void nay_sst__compact_output_free(nay_compact_range *r) {
  nay_sst_writer_free(r->output.writer);
  nay__buffer_free(&r->output.smallest, r->allocator);
  nay__buffer_free(&r->output.largest, r->allocator);
}

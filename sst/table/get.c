/*
 * get.c - get of one key from one table:
 *
 *   key range -> filter -> index block -> data block
 *
 * Each step may end the search, and each costs more than the one before. Only the last reads the
 * file. A get allocates only if a block must be read or uncompressed and `value` has no buffer of
 * an earlier get, or if the caller's comparator needs a long key in one piece.
 */
#include "table/get.h"

bool nay_sst__get_in_range(const nay_sst *t, const nay_target *target) {
  if (t->range.empty) return false;
  size_t low = nay_sst__user_len(t->order, t->range.smallest.len);
  size_t high = nay_sst__user_len(t->order, t->range.largest.len);
  nay_order order = t->order;
  if (t->range.has_smallest &&
      nay_sst__compare_users(order, target->user, target->len, t->range.smallest.at, low) < 0) {
    return false;
  }
  return nay_sst__compare_users(order, target->user, target->len, t->range.largest.at, high) <= 0;
}

/* ---- trace ---- */

static const char *get_step_text(nay_sst_lookup_what what) {
  switch (what) {
    case NAY_SST_LOOKUP_OUT_OF_RANGE: return "outside of its range of keys";
    case NAY_SST_LOOKUP_FILTER_NAY: return "filter: nay";
    case NAY_SST_LOOKUP_FILTER_MAYBE: return "filter: maybe";
    case NAY_SST_LOOKUP_NO_FILTER: return "no filter";
    case NAY_SST_LOOKUP_INDEX: return "index: block";
    case NAY_SST_LOOKUP_BLOCK: return "block read";
    case NAY_SST_LOOKUP_FOUND: return "found";
    case NAY_SST_LOOKUP_DELETED: return "deleted";
    case NAY_SST_LOOKUP_ABSENT: return "absent";
    case NAY_SST_LOOKUP_FAILED: return "failed";
    case NAY_SST_LOOKUP_OPERAND: return "merge operand";
  }
  return "unknown step";
}

NAY_NOINLINE static void get_report(nay_get_trace *trace, nay_sst_lookup_step step) {
  if (trace->status != NAY_OK) return;
  step.size = sizeof step;
  step.text = get_step_text(step.what);
  step.level = trace->level;
  step.table = trace->table;
  trace->status = trace->visit(trace->ctx, &step);
}

NAY_INLINE void get_trace(const nay_hash_memo *memo, nay_sst_lookup_what what) {
  if (NAY_UNLIKELY(memo->trace != NULL))
    get_report(memo->trace, (nay_sst_lookup_step){.what = what});
}

NAY_INLINE void get_trace_block(const nay_hash_memo *memo, nay_sst_lookup_what what,
                                nay_handle handle, bool cached) {
  if (NAY_LIKELY(memo->trace == NULL)) return;
  get_report(memo->trace,
             (nay_sst_lookup_step){
                 .what = what, .offset = handle.offset, .nbytes = handle.size, .cached = cached});
}

/* Reports how the search in a data block ended. */
NAY_INLINE void get_trace_end(const nay_hash_memo *memo, nay_status status, bool deleted) {
  if (NAY_LIKELY(memo->trace == NULL)) return;
  nay_sst_lookup_step step = {.what = NAY_SST_LOOKUP_FAILED, .status = status};
  if (status == NAY_GET_OPERAND) return; /* nay_sst__collect has reported the operand */
  if (status == NAY_OK) step.what = deleted ? NAY_SST_LOOKUP_DELETED : NAY_SST_LOOKUP_FOUND;
  if (status == NAY_ENOENT) step.what = NAY_SST_LOOKUP_ABSENT;
  if (status == NAY_ENOENT) step.status = NAY_OK;
  get_report(memo->trace, step);
}

NAY_INLINE void get_trace_verdict(const nay_hash_memo *memo, nay_verdict verdict) {
  if (NAY_LIKELY(memo->trace == NULL)) return;
  if (verdict == NAY_NOT_PROBED) {
    get_trace(memo, NAY_SST_LOOKUP_NO_FILTER);
  } else {
    get_trace(memo,
              verdict == NAY_SAYS_NAY ? NAY_SST_LOOKUP_FILTER_NAY : NAY_SST_LOOKUP_FILTER_MAYBE);
  }
}

void nay_sst__get_trace_operand(const nay_hash_memo *memo) {
  get_trace(memo, NAY_SST_LOOKUP_OPERAND);
}

void nay_sst__get_trace_block(const nay_hash_memo *memo, nay_handle handle, const nay_hold *hold) {
  get_trace_block(memo, NAY_SST_LOOKUP_BLOCK, handle, hold != NULL && hold->cached);
}

/* ---- steps ---- */

nay_status nay_sst__get_other_type(nay_diag *diag, uint64_t at) {
  return nay__fail(diag, NAY_ENOTSUP, "the key has an entry of a type that LevelDB does not have",
                   at);
}

/* Reports an entry that is neither a value nor a deletion. */
NAY_NOINLINE static nay_status get_special_type(unsigned type, uint64_t at, nay_diag *diag) {
  if (type != NAY_KEY_MERGE) return nay_sst__get_other_type(diag, at);
  nay__fail(diag, NAY_ENOTSUP, "the key has a merge operand, and there is no merge operator", at);
  return NAY_GET_OPERAND;
}

nay_status nay_sst__get_locate(const nay_sst *t, const nay_target *target, nay_index_pin *pin,
                               nay_diag *diag, nay_get_position *at) {
  nay_found found;
  const nay_block *index;
  NAY_TRY(nay_sst__table_index(t, pin, diag, &index));
  nay_status status = nay_sst__block_find(index, t->order, target, &t->allocator, diag, &found);
  at->near = found.near;
  NAY_TRY(status);
  at->entry = found.entry;
  return nay_sst__table_handle(t, found.entry.value, found.entry.value_len, diag, &at->handle);
}

nay_status nay_sst__get_find(const nay_sst *t, const nay_target *target, const nay_block *block,
                             nay_get_position *at, nay_diag *diag, nay_sst_value *value) {
  nay_found found;
  nay_status status = nay_sst__block_find(block, t->order, target, &t->allocator, diag, &found);
  if (found.near > at->near) at->near = found.near;
  NAY_TRY(nay_sst__in_file(status, diag, at->handle));
  if (!found.equal) return NAY_ENOENT;
  if ((found.trailer & 0xff) > 1) {
    return get_special_type(found.trailer & 0xff, at->handle.offset + found.entry.at, diag);
  }
  value->bytes = found.entry.value;
  value->len = found.entry.value_len;
  value->sequence = found.trailer >> 8;
  value->deleted = t->order.internal && (found.trailer & 0xff) == 0;
  return NAY_OK;
}

static nay_status get_from_block(const nay_sst *t, const nay_target *target, const nay_block *index,
                                 nay_get_position *at, const nay_hash_memo *memo, nay_diag *diag,
                                 nay_sst_value *value) {
  nay_block block;
  nay_hold *hold = value->hold;
  nay_status status =
      nay_sst__table_read_data(t, index, &at->entry, &at->handle, &hold, diag, &block);
  value->hold = hold;
  if (status != NAY_OK) return status;
  get_trace_block(memo, NAY_SST_LOOKUP_BLOCK, at->handle, hold != NULL && hold->cached);
  status = nay_sst__get_find(t, target, &block, at, diag, value);
  if (NAY_LIKELY(status != NAY_GET_OPERAND)) return status;
  const nay_collector *c = memo->collector;
  if (c == NULL || c->by->call == NULL) return NAY_ENOTSUP;
  return nay_sst__collect(t, target, index, at, &block, memo, diag, value);
}

/* Probes the filters and searches the index. The index stays pinned unless the answer is nay. */
NAY_INLINE nay_verdict get_probe(const nay_sst *t, const nay_target *target, nay_hash_memo *memo,
                                 nay_hold **hold, nay_index_pin *pin, nay_diag *diag,
                                 nay_status *status, nay_get_position *at) {
  at->prefix_len = 0;
  nay_verdict verdict = nay_sst__probe(t, target, memo, hold, &at->prefix_len);
  *status = NAY_OK;
  bool per_block = t->filters.used && t->filters.layout == NAY_SST_BLOCK_FILTER;
  if (!per_block) get_trace_verdict(memo, verdict);
  if (verdict == NAY_SAYS_NAY) return verdict;
  *status = nay_sst__get_locate(t, target, pin, diag, at);
  if (*status != NAY_OK) return verdict;
  get_trace_block(memo, NAY_SST_LOOKUP_INDEX, at->handle, false);
  if (!per_block) return verdict;
  verdict = nay_sst__probe_block(t, target, at->handle, hold);
  get_trace_verdict(memo, verdict);
  if (verdict == NAY_SAYS_NAY) nay_sst__table_index_unpin(t, pin);
  return verdict;
}

nay_status nay_sst__get(const nay_sst *t, const nay_target *target, nay_hash_memo *memo,
                        nay_diag *diag, nay_sst_value *value) {
  nay_status status;
  nay_get_position at;
  nay_sst_tally *counts = t->counts;
  if (t->sorting.unknown != NAY_OK) {
    nay__atomic_increment64(&counts->unfiltered);
    get_trace_end(memo, t->sorting.unknown, false);
    return nay_sst__order_unknown(t, diag);
  }
  if (!nay_sst__get_in_range(t, target)) {
    nay__atomic_increment64(&counts->out_of_range);
    get_trace(memo, NAY_SST_LOOKUP_OUT_OF_RANGE);
    return NAY_ENOENT;
  }
  nay_hold *hold = value->hold;
  nay_index_pin pin;
  pin.block.bytes = NULL;
  nay_verdict verdict = get_probe(t, target, memo, &hold, &pin, diag, &status, &at);
  value->hold = hold;
  if (verdict == NAY_SAYS_NAY) {
    nay__atomic_increment64(&counts->useful);
    return NAY_ENOENT;
  }
  bool probed = verdict == NAY_SAYS_MAYBE;
  nay__atomic_increment64(probed ? &counts->maybe : &counts->unfiltered);
  if (status == NAY_OK)
    status = get_from_block(t, target, nay_sst__table_index_at(t, &pin), &at, memo, diag, value);
  nay_sst__table_index_unpin(t, &pin);
  get_trace_end(memo, status, value->deleted);
  if (status == NAY_ENOENT && probed && nay_sst__get_false_positive(&at)) {
    nay__atomic_increment64(&counts->false_positives);
  }
  return status;
}

nay_status nay_sst_get(const nay_sst *t, const void *key, size_t len, uint64_t sequence,
                       nay_diag *diag, nay_sst_value *value) {
  if (t == NULL || value == NULL || (key == NULL && len != 0) || sequence > NAY_SST_MAX_SEQUENCE) {
    return nay__fail(diag, NAY_EINVAL,
                     "table, key or value is NULL, or the sequence number has more than 56 bits",
                     0);
  }
  NAY_TRY(nay__abi_check(NAY_ABI_SST_VALUE, value, diag));
  nay_target target = {len != 0 ? key : "", len, NAY_KEY_TRAILER_OF(sequence)};
  nay_hash_memo memo = {.set = false};
  value->deleted = false;
  nay_status status = nay_sst__get(t, &target, &memo, diag, value);
  if (status != NAY_OK) return status;
  return value->deleted ? NAY_ENOENT : NAY_OK;
}

bool nay_sst_may_contain(const nay_sst *t, const void *key, size_t len) {
  if (t == NULL || (key == NULL && len != 0)) return true;
  nay_target target = {len != 0 ? key : "", len, NAY_KEY_TRAILER_OF(NAY_SST_MAX_SEQUENCE)};
  nay_hash_memo memo = {.set = false};
  nay_hold *hold = NULL;
  nay_status status = NAY_OK;
  nay_get_position at;
  if (t->sorting.unknown != NAY_OK) return true;
  if (!nay_sst__get_in_range(t, &target)) return false;
  nay_index_pin pin = {.entry = NULL};
  nay_verdict verdict = get_probe(t, &target, &memo, &hold, &pin, NULL, &status, &at);
  nay_sst__table_index_unpin(t, &pin);
  nay_sst__hold_free(hold);
  return verdict != NAY_SAYS_NAY && status != NAY_ENOENT;
}

void nay_sst_value_free(nay_sst_value *value) {
  if (value == NULL || nay__abi_check(NAY_ABI_SST_VALUE, value, NULL) != NAY_OK) return;
  nay_sst__hold_free(value->hold);
  nay__abi_write(NAY_ABI_SST_VALUE, &(nay_sst_value){.bytes = NULL}, value);
}

/*
 * compact_entry.c - decides which versions of a key a compaction keeps.
 *
 * The snapshots partition the sequence numbers into *snapshot stripes*. Between two snapshots no
 * reader can see any version but the newest, so the others are dropped.
 *
 *   sequence    0 ........ snapshots[0] ........ snapshots[1] ........ now
 *   stripe           0                  1                     2
 *
 * The versions of a key arrive newest first. Each is handled by the first rule that applies, where
 * "bottom" is the option: no older table can have the key.
 *
 *   the stripe has a newer version     that is a merge operand: combined with it, until a value or
 *                                      a deletion ends the operands; otherwise: superseded
 *   deletion in stripe 0, bottom       dropped: no older version is left for it to hide
 *   merge operand                      starts to collect the older versions of its stripe. Written
 *                                      as a value once it met a value or a deletion, or at the end
 *                                      of the key with bottom; as one combined operand otherwise
 *   value in the last stripe           the compaction filter keeps, changes or drops it. A dropped
 *                                      value is written as a deletion, unless it is in stripe 0
 *                                      with bottom
 *   anything else                      kept
 *
 * Plain keys have sequence 0 and no snapshots, so there is one stripe: the newest table's entry is
 * kept.
 *
 * The tables' comparator decides which keys are equal, as in a lookup: with equal_may_differ a
 * deletion of "KEY" hides "key". Each kept version keeps the bytes of its own key; a combined
 * operand keeps the key of its newest operand.
 */
#include "tree/compact.h"

#define ENTRY_ROOM 256u /* initial buffer for the result of a callback, in bytes */

static nay_bytes entry_bytes(const nay_buffer *b) { return (nay_bytes){b->at, b->len}; }

/* The snapshot stripe of a sequence number: the number of snapshots below it. */
static size_t entry_stripe(const nay_sst_compact_options *o, uint64_t sequence) {
  size_t low = 0, high = o->nsnapshots;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (o->snapshots[middle] < sequence) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* ---- values ---- */

/* Calls the compaction filter, again with a larger buffer if its new value does not fit. */
static nay_status entry_filter(nay_compact_range *r, uint64_t sequence, nay_bytes value,
                               nay_sst_compact_verdict *verdict) {
  const nay_sst_compact_options *o = &r->shared->options;
  nay_buffer *out = &r->new_value;
  nay_sst_entry v = {
      .size = sizeof v, .key = nay_sst__compact_not_null(&r->key), .len = r->key.len};
  v.sequence = sequence;
  out->len = 0;
  size_t len = ENTRY_ROOM;
  nay_status status;
  do {
    NAY_TRY(nay__buffer_reserve(out, len, r->allocator));
    len = 0;
    *verdict = NAY_SST_COMPACT_KEEP;
    status = o->filter(o->filter_ctx, &v, value.at, value.len, verdict, out->at, out->cap, &len);
  } while (nay_sst__callback_again(out, len, &status));
  if (status != NAY_OK) return nay__fail(r->diag, status, "the compaction filter failed", 0);
  if (*verdict != NAY_SST_COMPACT_CHANGE) out->len = 0;
  return NAY_OK;
}

static nay_status entry_value(nay_compact_range *r, uint64_t sequence, size_t stripe,
                              nay_bytes value) {
  const nay_sst_compact_options *o = &r->shared->options;
  nay_sst_compact_verdict verdict = NAY_SST_COMPACT_KEEP;
  if (o->filter != NULL && stripe == o->nsnapshots) {
    NAY_TRY(entry_filter(r, sequence, value, &verdict));
  }
  switch (verdict) {
    case NAY_SST_COMPACT_KEEP: return nay_sst__compact_write(r, sequence, NAY_KEY_VALUE, value);
    case NAY_SST_COMPACT_CHANGE:
      return nay_sst__compact_write(r, sequence, NAY_KEY_VALUE, entry_bytes(&r->new_value));
    case NAY_SST_COMPACT_DROP: break;
    default:
      return nay__fail(r->diag, NAY_EINVAL, "the compaction filter set an unknown verdict", 0);
  }
  if (o->bottom && stripe == 0) {
    r->stats.filtered++;
    return NAY_OK;
  }
  return nay_sst__compact_write(r, sequence, NAY_KEY_DELETION, (nay_bytes){NULL, 0});
}

/* ---- merge operands ---- */

static nay_operator entry_operator(const nay_compact_range *r) {
  const nay_sst_compact_options *o = &r->shared->options;
  return (nay_operator){o->merge, o->merge_ctx};
}

/* Writes the value that the operator made of the operands. */
static nay_status entry_write_combined(nay_compact_range *r) {
  return entry_value(r, r->operand.sequence, r->operand_stripe,
                     nay_sst__operand_value(&r->operand));
}

/* Writes the collected operands, if there are any: their stripe has no older version. */
static nay_status entry_flush_operand(nay_compact_range *r, bool end_of_key) {
  nay_operand *op = &r->operand;
  if (!op->set) return NAY_OK;
  if (end_of_key && r->shared->options.bottom) {
    nay_operator by = entry_operator(r);
    NAY_TRY(nay_sst__operand_end(op, &by, entry_bytes(&r->key), r->allocator, r->diag));
    return entry_write_combined(r);
  }
  op->set = false;
  return nay_sst__compact_write(r, op->sequence, NAY_KEY_MERGE, nay_sst__operand_value(op));
}

/* Combines an older version of the same stripe with the collected operands. */
static nay_status entry_absorb(nay_compact_range *r, const nay_compact_entry *e) {
  nay_operator by = entry_operator(r);
  nay_older older = {e->type, e->sequence, e->value};
  r->stats.merged++;
  NAY_TRY(nay_sst__operand_absorb(&r->operand, &by, entry_bytes(&r->key), &older, r->allocator,
                                  r->diag));
  return r->operand.set ? NAY_OK : entry_write_combined(r);
}

static nay_status entry_start_operand(nay_compact_range *r, const nay_compact_entry *e,
                                      size_t stripe) {
  if (r->shared->options.merge == NULL) {
    return nay__fail(r->diag, NAY_ENOTSUP,
                     "a table has merge operands, and there is no merge operator", 0);
  }
  r->operand_stripe = stripe;
  return nay_sst__operand_start(&r->operand, e->sequence, e->value, r->allocator, r->diag);
}

/* ---- entries ---- */

/* Handles the newest version of a stripe. */
static nay_status entry_newest(nay_compact_range *r, const nay_compact_entry *e, size_t stripe) {
  if (e->type == NAY_KEY_MERGE) return entry_start_operand(r, e, stripe);
  if (e->type == NAY_KEY_VALUE) return entry_value(r, e->sequence, stripe, e->value);
  if (!r->shared->options.bottom || stripe != 0) {
    return nay_sst__compact_write(r, e->sequence, NAY_KEY_DELETION, e->value);
  }
  r->stats.deletions++;
  return NAY_OK;
}

/* Sets *same to whether `user` equals the current key. A comparator that calls different bytes
 * equal must say so with equal_may_differ, because filters hash the bytes. */
static nay_status entry_same_key(const nay_compact_range *r, nay_bytes user, bool *same) {
  nay_order order = r->shared->order;
  *same =
      r->has_key && nay_sst__compare_users(order, user.at, user.len, r->key.at, r->key.len) == 0;
  if (!*same || order.user == NULL || order.user->equal_may_differ) return NAY_OK;
  if (nay_sst__compare_bytes(user.at, user.len, r->key.at, r->key.len) == 0) return NAY_OK;
  return nay__fail(r->diag, NAY_EINVAL,
                   "the comparator calls different bytes equal, without equal_may_differ", 0);
}

static nay_status entry_end_key(nay_compact_range *r) {
  NAY_TRY(entry_flush_operand(r, true));
  r->has_stripe = false;
  return nay_sst__compact_cut(r);
}

static nay_status entry_set_key(nay_compact_range *r, nay_bytes user) {
  r->has_key = true;
  r->key.len = 0;
  return nay__buffer_append(&r->key, user.at, user.len, r->allocator);
}

nay_status nay_sst__compact_entry(nay_compact_range *r, const nay_compact_entry *e) {
  bool same;
  size_t stripe = entry_stripe(&r->shared->options, e->sequence);
  r->stats.read++;
  NAY_TRY(entry_same_key(r, e->user, &same));
  if (!same) NAY_TRY(entry_end_key(r));
  bool newest = !r->has_stripe || stripe != r->stripe;
  r->has_stripe = true;
  r->stripe = stripe;
  if (r->operand.set && !newest) return entry_absorb(r, e);
  NAY_TRY(entry_flush_operand(r, false));
  if (newest) {
    NAY_TRY(entry_set_key(r, e->user));
    return entry_newest(r, e, stripe);
  }
  r->stats.superseded++;
  return NAY_OK;
}

nay_status nay_sst__compact_end(nay_compact_range *r) {
  NAY_TRY(entry_flush_operand(r, true));
  return nay_sst__compact_finish(r);
}

/*
 * compact_entry.c - which versions of a key stay.
 *
 * Snapshots cut the sequence numbers into *stripes*: all versions of a stripe are told apart by no
 * reader but through the newest of them.
 *
 *   sequence    0 ........ snapshots[0] ........ snapshots[1] ........ now
 *   stripe           0                  1                     2
 *
 * The versions of a key come newest first. For each:
 *
 *   its stripe has a newer version         superseded
 *   deletion, stripe 0, at the bottom      dropped: there is nothing left that it could hide
 *   merge operand                          combined with the older versions of its stripe, down to
 *                                          a value or a deletion, which makes it a value; at the
 *                                          bottom the end of the key does, too
 *   value, last stripe                     as the filter callback says. Dropped, it becomes a
 *                                          deletion unless it is in stripe 0 at the bottom
 *   anything else                          kept
 *
 * Plain keys have sequence 0, no snapshots, and so one stripe: the first of equal keys is kept.
 *
 * Which keys are equal the comparator of the tables says, as in a lookup: with equal_may_differ a
 * deletion of "KEY" hides "key". Each version is written with its own bytes, a combined operand
 * with those of its newest.
 */
#include "sst/compact.h"

#define ENTRY_ROOM 256u /* bytes that callbacks get for a result at first */

static nay_bytes entry_bytes(const nay_buffer *b) { return (nay_bytes){b->at, b->len}; }

/* The number of snapshots below this sequence. */
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

/* Calls the filter until its result fits; *verdict is what it says. */
static nay_status entry_filter(nay_compact_range *r, uint64_t sequence, nay_bytes value,
                               nay_sst_compact_verdict *verdict) {
  const nay_sst_compact_options *o = &r->shared->options;
  nay_buffer *out = &r->changed;
  nay_sst_version v = {.size = sizeof v, .key = nay__compact_text(&r->key), .len = r->key.len};
  v.sequence = sequence;
  out->len = 0;
  size_t len = ENTRY_ROOM;
  do {
    NAY_TRY(nay__buffer_reserve(out, len, r->allocator));
    len = 0;
    *verdict = o->filter(o->filter_ctx, &v, value.at, value.len, out->at, out->cap, &len);
  } while (*verdict == NAY_COMPACT_CHANGE && len > out->cap);
  out->len = *verdict == NAY_COMPACT_CHANGE ? len : 0;
  return NAY_OK;
}

static nay_status entry_value(nay_compact_range *r, uint64_t sequence, size_t stripe,
                              nay_bytes value) {
  const nay_sst_compact_options *o = &r->shared->options;
  nay_sst_compact_verdict verdict = NAY_COMPACT_KEEP;
  if (o->filter != NULL && stripe == o->nsnapshots) {
    NAY_TRY(entry_filter(r, sequence, value, &verdict));
  }
  switch (verdict) {
    case NAY_COMPACT_KEEP: return nay__compact_write(r, sequence, NAY_KEY_VALUE, value);
    case NAY_COMPACT_CHANGE:
      return nay__compact_write(r, sequence, NAY_KEY_VALUE, entry_bytes(&r->changed));
    case NAY_COMPACT_DROP: break;
    default: return nay__fail(r->diag, NAY_EINVAL, "the filter callback returned no verdict", 0);
  }
  if (o->bottom && stripe == 0) {
    r->stats.filtered++;
    return NAY_OK;
  }
  return nay__compact_write(r, sequence, NAY_KEY_DELETION, (nay_bytes){NULL, 0});
}

/* ---- merge operands ---- */

static nay_operator entry_operator(const nay_compact_range *r) {
  const nay_sst_compact_options *o = &r->shared->options;
  return (nay_operator){o->merge, o->merge_ctx};
}

/* The operands have become a value. */
static nay_status entry_combined(nay_compact_range *r) {
  return entry_value(r, r->operand.sequence, r->operand_stripe, nay__operand_value(&r->operand));
}

/* The operand's stripe has no older version. */
static nay_status entry_flush(nay_compact_range *r, bool end_of_key) {
  nay_operand *op = &r->operand;
  if (!op->set) return NAY_OK;
  if (end_of_key && r->shared->options.bottom) {
    nay_operator by = entry_operator(r);
    NAY_TRY(nay__operand_end(op, &by, entry_bytes(&r->key), r->allocator, r->diag));
    return entry_combined(r);
  }
  op->set = false;
  return nay__compact_write(r, op->sequence, NAY_KEY_MERGE, nay__operand_value(op));
}

/* An older version in the stripe of the operand. */
static nay_status entry_absorb(nay_compact_range *r, const nay_compact_entry *e) {
  nay_operator by = entry_operator(r);
  nay_older older = {e->type, e->sequence, e->value};
  r->stats.merged++;
  NAY_TRY(
      nay__operand_absorb(&r->operand, &by, entry_bytes(&r->key), &older, r->allocator, r->diag));
  return r->operand.set ? NAY_OK : entry_combined(r);
}

static nay_status entry_start_operand(nay_compact_range *r, const nay_compact_entry *e,
                                      size_t stripe) {
  if (r->shared->options.merge == NULL) {
    return nay__fail(r->diag, NAY_ENOTSUP, "a table has merge operands: there is no callback", 0);
  }
  r->operand_stripe = stripe;
  return nay__operand_start(&r->operand, e->sequence, e->value, r->allocator, r->diag);
}

/* ---- all ---- */

/* The newest version of its stripe. */
static nay_status entry_newest(nay_compact_range *r, const nay_compact_entry *e, size_t stripe) {
  if (e->type == NAY_KEY_MERGE) return entry_start_operand(r, e, stripe);
  if (e->type == NAY_KEY_VALUE) return entry_value(r, e->sequence, stripe, e->value);
  if (!r->shared->options.bottom || stripe != 0) {
    return nay__compact_write(r, e->sequence, NAY_KEY_DELETION, e->value);
  }
  r->stats.deletions++;
  return NAY_OK;
}

/* Whether the entry is another version of the current key. As in a search (block.c), a comparator
 * may call other bytes the same key only if it says so: filters hash the bytes. */
static nay_status entry_same_key(const nay_compact_range *r, nay_bytes user, bool *same) {
  nay_order order = r->shared->order;
  *same = r->has_key && nay__compare_users(order, user.at, user.len, r->key.at, r->key.len) == 0;
  if (!*same || order.user == NULL || order.user->equal_may_differ) return NAY_OK;
  if (nay__compare_bytes(user.at, user.len, r->key.at, r->key.len) == 0) return NAY_OK;
  return nay__fail(r->diag, NAY_EINVAL, "the comparator calls other bytes the same key", 0);
}

static nay_status entry_end_key(nay_compact_range *r) {
  NAY_TRY(entry_flush(r, true));
  r->decided = false;
  return nay__compact_cut(r);
}

/* Each version that stays keeps the bytes of its own key. */
static nay_status entry_set_key(nay_compact_range *r, nay_bytes user) {
  r->has_key = true;
  r->key.len = 0;
  return nay__buffer_append(&r->key, user.at, user.len, r->allocator);
}

nay_status nay__compact_entry(nay_compact_range *r, const nay_compact_entry *e) {
  bool same;
  size_t stripe = entry_stripe(&r->shared->options, e->sequence);
  r->stats.read++;
  NAY_TRY(entry_same_key(r, e->user, &same));
  if (!same) NAY_TRY(entry_end_key(r));
  bool newest = !r->decided || stripe != r->stripe;
  r->decided = true;
  r->stripe = stripe;
  if (r->operand.set && !newest) return entry_absorb(r, e);
  NAY_TRY(entry_flush(r, false));
  if (newest) {
    NAY_TRY(entry_set_key(r, e->user));
    return entry_newest(r, e, stripe);
  }
  r->stats.superseded++;
  return NAY_OK;
}

nay_status nay__compact_end(nay_compact_range *r) {
  NAY_TRY(entry_flush(r, true));
  return nay__compact_finish(r);
}

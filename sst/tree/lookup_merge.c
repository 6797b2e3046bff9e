/*
 * lookup_merge.c - resolves merge operands in gets.
 *
 * A get whose newest version is a merge operand needs the versions below it. The get iterates over
 * the older versions of the key in this table, from the block that it has read, and combines
 * operands (merge_operands.h) until it meets a value or a deletion. If the table has neither, the
 * get continues in the next older table. Key range and filter of that table are checked as in any
 * get: a filter that answers nay skips its own table only.
 *
 *   table          versions of the key            operands collected
 *   newest         9 operand, 7 operand           9, 7
 *   next           none; its filter says nay      9, 7
 *   older          4 operand, 2 value, 1 value    9, 7, 4: combined with the value of 2
 *
 * A get that meets no operand pays nothing for this. A get that does needs memory for the combined
 * value (merge_operands.h) and for two keys.
 */
#include "table/get.h"
#include "table/iterator.h"

/* ---- one table ---- */

static nay_status collect_operand(nay_collector *c, nay_bytes key, const nay_older *version,
                                  nay_diag *diag) {
  if (c->started) {
    nay_bytes newest = {c->key.at, c->key.len};
    return nay_sst__operand_absorb(&c->operand, c->by, newest, version, c->allocator, diag);
  }
  NAY_TRY(nay_sst__collect_start(c, key, diag));
  return nay_sst__operand_start(&c->operand, version->sequence, version->value, c->allocator, diag);
}

/* Handles the version at the iterator. A merge operand is combined with those collected. A value or
 * a deletion is stored in *value and sets *ended. NAY_ENOENT: the iterator is at another key. */
static nay_status collect_version(nay_collector *c, const nay_sst_iter *it,
                                  const nay_target *target, nay_diag *diag, nay_sst_value *value,
                                  bool *ended) {
  nay_order order = it->table->order;
  nay_bytes key = {it->data.key.at, nay_sst__user_len(order, it->data.key.len)};
  if (nay_sst__compare_users(order, key.at, key.len, target->user, target->len) != 0)
    return NAY_ENOENT;
  uint64_t trailer = nay__load64le(key.at + key.len), at = it->block.offset + it->data.entry.at;
  if (nay_sst__equal_is_same(order) &&
      nay_sst__compare_bytes(key.at, key.len, target->user, target->len) != 0) {
    return nay__fail(diag, NAY_EINVAL,
                     "the comparator calls different bytes equal, without equal_may_differ", at);
  }
  nay_older version = {(nay_entry_type)(trailer & 0xff),
                       trailer >> 8,
                       {it->data.entry.value, it->data.entry.value_len}};
  if (version.type > NAY_KEY_MERGE) return nay_sst__get_other_type(diag, at);
  *ended = version.type != NAY_KEY_MERGE;
  if (!*ended) return collect_operand(c, key, &version, diag);
  value->bytes = version.value.at;
  value->len = version.value.len;
  value->sequence = version.sequence;
  value->deleted = version.type == NAY_KEY_DELETION;
  return NAY_OK;
}

/* Handles all versions of the key from the iterator's position on, until a value or a deletion.
 * NAY_ENOENT, NAY_EEND: all of them were merge operands. */
static nay_status collect_walk(nay_sst_iter *it, const nay_target *target,
                               const nay_hash_memo *memo, nay_sst_value *value) {
  for (bool ended = false;;) {
    NAY_TRY(collect_version(memo->collector, it, target, &it->diag, value, &ended));
    if (ended) return NAY_OK;
    nay__atomic_increment64(&it->table->counts->operands);
    nay_sst__get_trace_operand(memo);
    uint64_t block = it->block.offset;
    NAY_TRY(nay_sst_iter_next(it));
    if (it->block.offset != block) nay_sst__get_trace_block(memo, it->block, it->hold);
  }
}

nay_status nay_sst__collect(const nay_sst *t, const nay_target *target, const nay_block *index,
                            const nay_get_position *at, const nay_block *block,
                            const nay_hash_memo *memo, nay_diag *diag, nay_sst_value *value) {
  nay_cursor cursor = {.order = t->order, .allocator = &t->allocator};
  nay_sst_iter it = {.table = t, .index = cursor, .data = cursor, .block = at->handle};
  it.index.block = *index;
  it.data.block = *block;
  it.hold = value->hold; /* holds the block's bytes */
  it.valid = true;
  nay_status status = nay_sst__cursor_at(&it.index, at->entry.at, &it.diag);
  if (status == NAY_OK) {
    status = nay_sst__in_file(nay_sst__cursor_seek(&it.data, target, &it.diag), &it.diag, it.block);
  }
  if (status == NAY_OK) status = collect_walk(&it, target, memo, value);
  value->hold = it.hold;
  nay__buffer_free(&it.index.key, &t->allocator);
  nay__buffer_free(&it.data.key, &t->allocator);
  if (status == NAY_ENOENT || status == NAY_EEND) return NAY_GET_OPERAND;
  if (status != NAY_OK && diag != NULL) *diag = it.diag;
  return status;
}

/* ---- all tables ---- */

nay_status nay_sst__collect_start(nay_collector *c, nay_bytes key, nay_diag *diag) {
  c->started = true;
  c->operand = (nay_operand){.set = false};
  c->key = (nay_buffer){NULL, 0, 0};
  if (nay__buffer_append(&c->key, key.at, key.len, c->allocator) == NAY_OK) return NAY_OK;
  return nay__fail(diag, NAY_ENOMEM, "no memory for a key", 0);
}

nay_status nay_sst__collect_end(nay_collector *c, nay_status status, nay_diag *diag,
                                nay_sst_value *value) {
  nay_bytes key = {c->key.at, c->key.len};
  if (status == NAY_OK) {
    nay_older base = {value->deleted ? NAY_KEY_DELETION : NAY_KEY_VALUE,
                      value->sequence,
                      {value->bytes, value->len}};
    status = nay_sst__operand_absorb(&c->operand, c->by, key, &base, c->allocator, diag);
  } else if (status == NAY_ENOENT) {
    status = nay_sst__operand_end(&c->operand, c->by, key, c->allocator, diag);
  }
  if (status == NAY_OK) {
    nay_hold *hold = value->hold;
    status =
        nay_sst__hold_copy(&hold, c->allocator, nay_sst__operand_value(&c->operand), &value->bytes);
    value->hold = hold;
    if (status != NAY_OK) nay__fail(diag, status, "no memory for a value", 0);
    value->len = c->operand.value.len;
    value->sequence = c->operand.sequence;
  }
  value->deleted = false;
  nay_sst__operand_free(&c->operand, c->allocator);
  nay__buffer_free(&c->key, c->allocator);
  return status;
}

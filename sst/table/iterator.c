/*
 * iterator.c - iterates over a table with LevelDB's two-level iterator: a cursor in the index
 * block, and a cursor in the data block that the index entry names.
 */
#include "table/iterator.h"

#include "table/translated.h"

nay_status nay_sst_iter_new(const nay_sst *t, nay_diag *diag, nay_sst_iter **iter) {
  if (t == NULL || iter == NULL) return nay__fail(diag, NAY_EINVAL, "table or iterator is NULL", 0);
  nay_sst_iter *it = nay__alloc(&t->allocator, sizeof *it);
  if (it == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for an iterator", 0);
  nay_cursor cursor = {.order = t->order, .allocator = &t->allocator};
  *it = (nay_sst_iter){.table = t, .index = cursor, .data = cursor, .status = NAY_EEND};
  it->index.block = t->blocks.index;
  if (t->options.readahead != 0) {
    if (nay_sst__hold_of(t, &it->hold) == NULL) {
      nay__free(&t->allocator, it, sizeof *it);
      return nay__fail(diag, NAY_ENOMEM, "no memory for an iterator", 0);
    }
    it->hold->ahead.max_window = t->options.readahead;
  }
  *iter = it;
  return NAY_OK;
}

void nay_sst_iter_free(nay_sst_iter *it) {
  if (it == NULL) return;
  const nay_allocator *a = &it->table->allocator;
  nay__buffer_free(&it->index.key, a);
  nay__buffer_free(&it->data.key, a);
  nay__buffer_free(&it->end, a);
  nay_sst__table_index_unpin(it->table, &it->pin);
  nay_sst__hold_free(it->hold);
  nay__free(a, it, sizeof *it);
}

/* Makes sure that the index block is in memory, before the index cursor moves. */
static nay_status iter_index(nay_sst_iter *it) {
  const nay_block *index;
  if (NAY_LIKELY(it->index.block.bytes != NULL)) return NAY_OK;
  NAY_TRY(nay_sst__table_index(it->table, &it->pin, &it->diag, &index));
  it->index.block = *index;
  return NAY_OK;
}

/* Loads the data block of the current index entry. */
static nay_status iter_load(nay_sst_iter *it) {
  const nay_entry *e = &it->index.entry;
  NAY_TRY(nay_sst__table_handle(it->table, e->value, e->value_len, &it->diag, &it->block));
  it->data.valid = false;
  return nay_sst__table_read_data(it->table, &it->index.block, e, &it->block, &it->hold, &it->diag,
                                  &it->data.block);
}

/* Loads the data block after a seek, which ends a sequential run of readahead. */
static nay_status iter_load_after_seek(nay_sst_iter *it) {
  if (it->hold != NULL) it->hold->ahead.sequential = 0;
  return iter_load(it);
}

static nay_status iter_in_block(nay_sst_iter *it, nay_status status) {
  return nay_sst__in_file(status, &it->diag, it->block);
}

typedef nay_status (*iter_move)(nay_cursor *, nay_diag *);

/* While the data cursor is past the end of its block, moves on to the next block with an entry:
 * LevelDB's SkipEmptyDataBlocks. */
static nay_status iter_skip_empty(nay_sst_iter *it, nay_status status, iter_move step,
                                  iter_move enter) {
  while (status == NAY_EEND) {
    NAY_TRY(step(&it->index, &it->diag));
    NAY_TRY(iter_load(it));
    status = iter_in_block(it, enter(&it->data, &it->diag));
  }
  return status;
}

static nay_status iter_enter(nay_sst_iter *it, nay_status status, iter_move step, iter_move enter) {
  if (status == NAY_OK) status = iter_load_after_seek(it);
  if (status != NAY_OK) return status;
  return iter_skip_empty(it, iter_in_block(it, enter(&it->data, &it->diag)), step, enter);
}

/* Ends a move. next and prev return the status again while the iterator is not valid. */
static nay_status iter_set_status(nay_sst_iter *it, nay_status status) {
  it->valid = status == NAY_OK;
  it->status = status;
  return status;
}

/* Ends a move, and invalidates the iterator if the entry is at or past the end of the range. */
static nay_status iter_end_move(nay_sst_iter *it, nay_status status) {
  if (status == NAY_OK && it->has_end) {
    size_t len = nay_sst__user_len(it->table->order, it->data.key.len);
    nay_order order = it->table->order;
    if (nay_sst__compare_users(order, it->data.key.at, len, it->end.at, it->end.len) >= 0) {
      status = NAY_EEND;
    }
  }
  return iter_set_status(it, status);
}

static nay_status iter_first(nay_sst_iter *it) {
  nay_status status = iter_index(it);
  if (status == NAY_OK) status = nay_sst__cursor_first(&it->index, &it->diag);
  return iter_end_move(it, iter_enter(it, status, nay_sst__cursor_next, nay_sst__cursor_first));
}

nay_status nay_sst_iter_first(nay_sst_iter *it) {
  it->has_end = false;
  return iter_first(it);
}

nay_status nay_sst_iter_last(nay_sst_iter *it) {
  it->has_end = false;
  nay_status status = iter_index(it);
  if (status == NAY_OK) status = nay_sst__cursor_last(&it->index, &it->diag);
  return iter_end_move(it, iter_enter(it, status, nay_sst__cursor_prev, nay_sst__cursor_last));
}

nay_status nay_sst_iter_next(nay_sst_iter *it) {
  if (!it->valid) return it->status;
  nay_status status = iter_in_block(it, nay_sst__cursor_next(&it->data, &it->diag));
  return iter_end_move(it,
                       iter_skip_empty(it, status, nay_sst__cursor_next, nay_sst__cursor_first));
}

nay_status nay_sst_iter_prev(nay_sst_iter *it) {
  if (!it->valid) return it->status;
  nay_status status = iter_in_block(it, nay_sst__cursor_prev(&it->data, &it->diag));
  return iter_end_move(it, iter_skip_empty(it, status, nay_sst__cursor_prev, nay_sst__cursor_last));
}

static nay_status iter_seek(nay_sst_iter *it, const void *key, size_t len) {
  nay_target target = {len != 0 ? key : (const void *)"", len,
                       NAY_KEY_TRAILER_OF(NAY_SST_MAX_SEQUENCE)};
  if (it->table->sorting.unknown != NAY_OK) {
    return iter_set_status(it, nay_sst__order_unknown(it->table, &it->diag));
  }
  nay_status status = iter_index(it);
  if (status == NAY_OK) status = nay_sst__cursor_seek(&it->index, &target, &it->diag);
  if (status == NAY_OK) status = iter_load_after_seek(it);
  if (status == NAY_OK) {
    status = iter_in_block(it, nay_sst__cursor_seek(&it->data, &target, &it->diag));
    status = iter_skip_empty(it, status, nay_sst__cursor_next, nay_sst__cursor_first);
  }
  return iter_end_move(it, status);
}

/* Seeks the last entry before the target. With `stay`, an entry at or after the target that has its
 * user key is taken instead. Reads one block, or two if the target precedes all entries of the
 * first. */
static nay_status iter_seek_back(nay_sst_iter *it, const nay_target *target, bool stay) {
  it->has_end = false;
  if (it->table->sorting.unknown != NAY_OK) {
    return iter_set_status(it, nay_sst__order_unknown(it->table, &it->diag));
  }
  nay_status status = iter_index(it);
  if (status == NAY_OK) status = nay_sst__cursor_seek(&it->index, target, &it->diag);
  if (status == NAY_EEND) return nay_sst_iter_last(it);
  if (status == NAY_OK) status = iter_load_after_seek(it);
  if (status != NAY_OK) return iter_set_status(it, status);
  status = iter_in_block(it, nay_sst__cursor_seek(&it->data, target, &it->diag));
  if (status == NAY_OK && stay) {
    nay_order order = it->table->order;
    const nay_buffer *key = &it->data.key;
    size_t len = nay_sst__user_len(order, key->len);
    if (nay_sst__compare_users(order, key->at, len, target->user, target->len) == 0) {
      return iter_set_status(it, NAY_OK);
    }
  }
  if (status == NAY_OK) {
    status = nay_sst__cursor_prev(&it->data, &it->diag);
  } else if (status == NAY_EEND) { /* all entries of the block precede the target */
    status = nay_sst__cursor_last(&it->data, &it->diag);
  }
  status = iter_in_block(it, status);
  return iter_set_status(it,
                         iter_skip_empty(it, status, nay_sst__cursor_prev, nay_sst__cursor_last));
}

nay_status nay_sst__iter_seek_before(nay_sst_iter *it, const void *key, size_t len) {
  nay_target target = {len != 0 ? key : (const void *)"", len,
                       NAY_KEY_TRAILER_OF(NAY_SST_MAX_SEQUENCE)};
  return iter_seek_back(it, &target, false);
}

static nay_status iter_bad_argument(nay_sst_iter *it) {
  return iter_set_status(
      it, nay__fail(&it->diag, NAY_EINVAL, "the key is NULL but its length is not 0", 0));
}

nay_status nay_sst_iter_seek(nay_sst_iter *it, const void *key, size_t len) {
  if (key == NULL && len != 0) return iter_bad_argument(it);
  it->has_end = false;
  return iter_seek(it, key, len);
}

nay_status nay_sst_iter_seek_for_prev(nay_sst_iter *it, const void *key, size_t len) {
  if (key == NULL && len != 0) return iter_bad_argument(it);
  /* trailer 0 (sequence 0, deletion) sorts after every version of the key */
  nay_target target = {len != 0 ? key : (const void *)"", len, 0};
  return iter_seek_back(it, &target, true);
}

/* Sets the exclusive end of a range; `end` is copied. */
static nay_status iter_set_end(nay_sst_iter *it, bool has_end, const void *end, size_t len) {
  it->has_end = has_end;
  it->end.len = 0;
  if (nay__buffer_append(&it->end, end, has_end ? len : 0, &it->table->allocator) == NAY_OK) {
    return NAY_OK;
  }
  return iter_set_status(it, nay__fail(&it->diag, NAY_ENOMEM, "no memory for a key", 0));
}

/* Seeks `from` in a range whose end is set, unless a filter excludes the range. */
static nay_status iter_seek_range(nay_sst_iter *it, const uint8_t *from, size_t len) {
  nay_bytes start = {from, len}, end = {it->end.at, it->end.len};
  bool asked;
  if (it->end.at == NULL) end.at = (const uint8_t *)"";
  if (nay_sst__probe_range(it->table, start, it->has_end ? &end : NULL, &asked) == NAY_SAYS_NAY) {
    return iter_set_status(it, NAY_EEND);
  }
  nay_status status = iter_seek(it, from, len);
  if (asked && status == NAY_EEND) nay_sst__range_false_positive(it->table);
  return status;
}

nay_status nay_sst_iter_seek_range(nay_sst_iter *it, const void *from, size_t from_len,
                                   const void *to, size_t to_len) {
  if ((from == NULL && from_len != 0) || (to == NULL && to_len != 0)) return iter_bad_argument(it);
  NAY_TRY(iter_set_end(it, to != NULL, to, to_len));
  if (from == NULL)
    return iter_first(it); /* the empty key need not be the smallest of a comparator */
  return iter_seek_range(it, from_len != 0 ? from : (const void *)"", from_len);
}

nay_status nay_sst_iter_seek_prefix(nay_sst_iter *it, const void *prefix, size_t len) {
  if (prefix == NULL && len != 0) return iter_bad_argument(it);
  if (it->table->order.user != NULL) {
    const char *what = "a prefix scan needs the bytewise comparator";
    return iter_set_status(it, nay__fail(&it->diag, NAY_ENOTSUP, what, 0));
  }
  const uint8_t *p = len != 0 ? prefix : (const void *)"";
  size_t n = len;
  while (n > 0 && p[n - 1] == 0xff) n--;
  /* the successor of the prefix: increment the last byte that is not 0xff */
  NAY_TRY(iter_set_end(it, n != 0, p, n));
  if (n != 0) it->end.at[n - 1]++;
  return iter_seek_range(it, p, len);
}

const void *nay_sst_iter_key(const nay_sst_iter *it, size_t *len) {
  *len = it->valid ? it->data.key.len : 0;
  if (!it->valid) return NULL;
  return it->data.key.len != 0 ? it->data.key.at : (const void *)"";
}

const void *nay_sst_iter_value(const nay_sst_iter *it, size_t *len) {
  *len = it->valid ? it->data.entry.value_len : 0;
  return it->valid ? it->data.entry.value : NULL;
}

const nay_diag *nay_sst_iter_diag(const nay_sst_iter *it) { return &it->diag; }

nay_status nay_sst_iter_entry(const nay_sst_iter *it, nay_sst_entry *entry) {
  if (it == NULL || entry == NULL || !it->valid) return NAY_EINVAL;
  bool usual =
      entry->size == sizeof *entry; /* a caller of these headers: each entry pays for this */
  if (!usual) NAY_TRY(nay__abi_check(NAY_ABI_SST_ENTRY, entry, NULL));
  nay_sst_entry e = {.size = sizeof e};
  e.key = nay_sst_iter_key(it, &e.len);
  if (it->table->order.internal && !nay_sst__key_parts(e.key, e.len, &e)) return NAY_ENOTSUP;
  if (it->table->foreign != NULL)
    e.term = nay_sst__foreign_term(&it->data.block, it->data.entry.at);
  if (NAY_LIKELY(usual)) {
    *entry = e;
  } else {
    nay__abi_write(NAY_ABI_SST_ENTRY, &e, entry);
  }
  return NAY_OK;
}

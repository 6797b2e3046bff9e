/*
 * scan.c - moves a merging iterator: first, last, seek, next, prev.
 *
 * The heap holds one child per sorted run and yields every version of every key, newest first. A
 * reader at a sequence number sees at most one entry per user key: the newest version at or below
 * that number, unless this version is a deletion.
 *
 *   forward    The current entry is the top of the heap. next saves its user key and skips versions
 *              above the sequence number, older versions of the saved key, and keys whose newest
 *              visible version is a deletion.
 *   backward   Versions of a key come oldest first, so the visible one is the last before the user
 *              key changes. By then the heap has moved below the key, as in LevelDB's DBIter: the
 *              key is saved, and the block of its value is pinned (pin.c).
 *
 * Merge operands. A forward move combines a visible operand with the older versions of its key
 * (merge_operands.h). The heap then stands at the value below the operands, or at the next key. A
 * backward move has already passed the older versions, so it seeks the key again, combines forward,
 * and the next prev seeks back: two seeks for each such key.
 *
 * A change of direction seeks every child to the other side of the current key. With all_versions
 * the current entry is the top of the heap in both directions, and a change of direction seeks
 * every child to the other side of the current version.
 *
 * Range filters. Tables whose range filter excludes the bounds are not children (scan_new.c). A
 * child whose filter excludes what a seek leaves of the bounds is not moved, and not in the heap;
 * every change of direction moves all children again.
 *
 * Cost of a step: one key comparison in the heap while the same child stays on top, one comparison
 * with the saved key, no allocation once the buffers fit the longest key.
 */
#include "tree/scan.h"

/* ---- the current entry ---- */

static nay_status merge_set_status(nay_sst_scan *m, nay_status status) {
  m->valid = status == NAY_OK;
  m->status = status;
  return status;
}

static nay_bytes merge_bytes(const nay_buffer *b) {
  return (nay_bytes){b->len != 0 ? b->at : (const uint8_t *)"", b->len};
}

static nay_status merge_save_key(nay_sst_scan *m, const uint8_t *key, size_t len) {
  m->saved_key.len = 0;
  if (nay__buffer_append(&m->saved_key, key, len, &m->allocator) == NAY_OK) return NAY_OK;
  return nay__fail(&m->diag, NAY_ENOMEM, "no memory for a key", 0);
}

static inline bool merge_is_saved_key(const nay_sst_scan *m, nay_bytes key) {
  if (m->order.user != NULL) {
    return nay_sst__compare_users(m->order, key.at, key.len, m->saved_key.at, m->saved_key.len) ==
           0;
  }
  return key.len == m->saved_key.len &&
         (key.len == 0 || memcmp(key.at, m->saved_key.at, key.len) == 0);
}

static inline int merge_compare_bound(const nay_sst_scan *m, nay_bytes key,
                                      const nay_buffer *bound) {
  return nay_sst__compare_users(m->order, key.at, key.len, bound->at, bound->len);
}

/* Splits the key of the top into user key and trailer. A plain key gets the trailer of a value. */
static inline nay_bytes merge_split(const nay_sst_scan *m, const nay_merge_input *top,
                                    uint64_t *trailer) {
  *trailer = 1;
  if (!m->order.internal) return (nay_bytes){top->key, top->len};
  size_t len = top->len - NAY_KEY_TRAILER;
  *trailer = nay__load64le(top->key + len);
  return (nay_bytes){top->key, len};
}

/* Fails for an entry type that cannot be shown. `table` is the entry's table; NULL: it came from a
 * source. */
static nay_status merge_bad_type(nay_sst_scan *m, const nay_sst *table) {
  m->failed_table = table;
  return nay__fail(&m->diag, NAY_ENOTSUP,
                   "the entry is a merge operand and there is no merge operator, or its type is "
                   "unknown to LevelDB",
                   0);
}

/* ---- moving children ---- */

/* Moves one child. On an error, records the child's table for nay_sst_scan_table. */
static nay_status merge_move(nay_sst_scan *m, nay_scan_child *c, nay_scan_move move,
                             nay_bytes key) {
  nay_status status = nay_sst__scan_child_move(c, move, key, &m->diag);
  if (NAY_UNLIKELY(status != NAY_OK && status != NAY_EEND)) {
    m->failed_table = c->tables != NULL ? c->tables[c->at] : NULL;
  }
  return status;
}

/* Copies the key that the child now stands at into its heap input. */
static nay_status merge_load_key(nay_sst_scan *m, nay_merge_input *input) {
  nay_bytes key = nay_sst__scan_child_key(input->source);
  input->key = key.at;
  input->len = key.len;
  if (!m->order.internal || key.len >= NAY_KEY_TRAILER) return NAY_OK;
  return nay__fail(&m->diag, NAY_EINVAL, "a source has a key that is not an internal key", 0);
}

/* Moves the top child one entry on in the current direction and restores the heap. */
static nay_status merge_advance(nay_sst_scan *m) {
  nay_merge_input *top = nay_sst__merge_top(&m->heap);
  nay_scan_move move = m->backward ? NAY_MERGE_PREV : NAY_MERGE_NEXT;
  nay_status status = merge_move(m, top->source, move, (nay_bytes){NULL, 0});
  if (status == NAY_EEND) {
    nay_sst__merge_pop(&m->heap);
    return NAY_OK;
  }
  NAY_TRY(status);
  NAY_TRY(merge_load_key(m, top));
  nay_sst__merge_sink(&m->heap);
  return NAY_OK;
}

static nay_status merge_push(nay_sst_scan *m, size_t child, nay_status moved) {
  nay_merge_input input = {.age = child, .source = &m->children[child]};
  if (moved == NAY_EEND) return NAY_OK;
  NAY_TRY(moved);
  NAY_TRY(merge_load_key(m, &input));
  nay_sst__merge_push(&m->heap, input);
  return NAY_OK;
}

static void merge_turn(nay_sst_scan *m, bool backward) {
  m->backward = m->heap.descending = backward;
  m->detached = backward && !m->all_versions;
  nay_sst__merge_clear(&m->heap);
}

/* Moves every child and rebuilds the heap. */
static nay_status merge_move_all(nay_sst_scan *m, nay_scan_move move, nay_bytes key,
                                 bool backward) {
  merge_turn(m, backward);
  for (size_t i = 0; i < m->nchildren; i++) {
    NAY_TRY(merge_push(m, i, merge_move(m, &m->children[i], move, key)));
  }
  return NAY_OK;
}

/* ---- range filters ---- */

/* Whether a child that has been moved stands at no entry inside the bound of its direction. */
static bool merge_is_outside(const nay_sst_scan *m, const nay_scan_child *c) {
  if (c->iter == NULL || !c->iter->valid) return true;
  nay_bytes key = nay_sst__scan_child_key(c);
  key.len = nay_sst__user_len(m->order, key.len);
  return m->backward ? merge_compare_bound(m, key, &m->lower) < 0
                     : merge_compare_bound(m, key, &m->upper) >= 0;
}

/* Counts the false positives of the range filters that were probed for the bounds, once every child
 * stands at its first entry inside them, if it has one. A run stands at a table after those without
 * such an entry. */
NAY_NOINLINE static void merge_count_false_positives(nay_sst_scan *m) {
  m->any_asked = false;
  for (size_t i = 0; i < m->nchildren; i++) {
    const nay_scan_child *c = &m->children[i];
    size_t first = m->backward ? c->at + 1 : 0, end = m->backward ? c->n : c->at;
    if (c->tables == NULL) continue;
    if (merge_is_outside(m, c) && c->asked[c->at]) nay_sst__range_false_positive(c->tables[c->at]);
    for (size_t j = first; j < end; j++) {
      if (c->asked[j]) nay_sst__range_false_positive(c->tables[j]);
    }
  }
}

/* A seek below the upper bound: range filters are probed for the rest of the range. */
static nay_status merge_seek_bounded(nay_sst_scan *m, nay_bytes key) {
  nay_bytes upper = merge_bytes(&m->upper);
  merge_turn(m, false);
  for (size_t i = 0; i < m->nchildren; i++) {
    nay_scan_child *c = &m->children[i];
    const nay_sst *asked;
    if (nay_sst__scan_child_excludes(c, key, upper, &asked)) continue;
    nay_status status = merge_move(m, c, NAY_MERGE_SEEK, key);
    NAY_TRY(merge_push(m, i, status));
    if (asked != NULL && merge_is_outside(m, c)) nay_sst__range_false_positive(asked);
  }
  return NAY_OK;
}

/* ---- merge operands ---- */

/* Combines the operand of the top with the older versions of its key, until a value, a deletion or
 * the end of the key's versions. The last version consumed stays on top. */
static nay_status merge_combine_older(nay_sst_scan *m) {
  for (nay_bytes saved = {m->saved_key.at, m->saved_key.len}; m->operand.set;) {
    NAY_TRY(merge_advance(m));
    const nay_merge_input *top = nay_sst__merge_top(&m->heap);
    uint64_t trailer = 0;
    nay_bytes key = top != NULL ? merge_split(m, top, &trailer) : saved;
    nay_status status;
    if (top == NULL || !merge_is_saved_key(m, key)) {
      status =
          nay_sst__operand_end(&m->operand, &m->merge_operator, saved, &m->allocator, &m->diag);
    } else if ((trailer & 0xff) > NAY_KEY_MERGE) {
      return merge_bad_type(m, nay_sst__scan_top_table(m));
    } else {
      nay_older older = {(nay_entry_type)(trailer & 0xff), trailer >> 8,
                         nay_sst__scan_child_value(top->source)};
      status = nay_sst__operand_absorb(&m->operand, &m->merge_operator, saved, &older,
                                       &m->allocator, &m->diag);
    }
    if (status != NAY_OK) m->failed_table = m->operand_table;
    NAY_TRY(status);
  }
  return NAY_OK;
}

/* Handles a top that is neither a value nor a deletion: a merge operand becomes the current entry,
 * combined with the older versions; any other type is an error. */
NAY_NOINLINE static nay_status merge_combine(nay_sst_scan *m) {
  const nay_merge_input *top = nay_sst__merge_top(&m->heap);
  uint64_t trailer;
  nay_bytes key = merge_split(m, top, &trailer);
  if ((trailer & 0xff) != NAY_KEY_MERGE || m->merge_operator.call == NULL) {
    return merge_bad_type(m, nay_sst__scan_top_table(m));
  }
  m->operand_table = nay_sst__scan_top_table(m);
  NAY_TRY(merge_save_key(m, key.at, key.len));
  NAY_TRY(nay_sst__operand_start(&m->operand, trailer >> 8, nay_sst__scan_child_value(top->source),
                                 &m->allocator, &m->diag));
  NAY_TRY(merge_combine_older(m));
  m->key = (nay_bytes){m->saved_key.at, m->saved_key.len};
  m->trailer = (trailer & ~(uint64_t)0xff) | NAY_KEY_VALUE;
  m->detached = m->slow_path = true;
  return NAY_OK;
}

/* Combines the operand that a backward move has saved: seeks its key and combines forward. The heap
 * is in forward order afterwards. */
NAY_NOINLINE static nay_status merge_combine_backward(nay_sst_scan *m) {
  nay_bytes user = merge_bytes(&m->saved_key);
  uint64_t trailer;
  if ((m->trailer & 0xff) != NAY_KEY_MERGE || m->merge_operator.call == NULL) {
    return merge_bad_type(m, m->saved_value.table);
  }
  NAY_TRY(merge_move_all(m, NAY_MERGE_SEEK, user, false));
  for (const nay_merge_input *top;;) {
    top = nay_sst__merge_top(&m->heap);
    bool same = top != NULL && merge_is_saved_key(m, merge_split(m, top, &trailer));
    if (!same)
      return nay__fail(&m->diag, NAY_EINVAL, "a source no longer has an entry that it had", 0);
    if (trailer <= m->trailer) break;
    NAY_TRY(merge_advance(m));
  }
  return merge_combine(m);
}

/* ---- forward ---- */

/* Finds the first visible entry from the top on. With `skip`, entries of the saved key are not
 * visible. */
static nay_status merge_find_next(nay_sst_scan *m, bool skip) {
  for (const nay_merge_input *top; (top = nay_sst__merge_top(&m->heap)) != NULL;) {
    nay_bytes key = merge_split(m, top, &m->trailer);
    if (m->has_upper && merge_compare_bound(m, key, &m->upper) >= 0) return NAY_EEND;
    bool seen = m->trailer >> 8 <= m->sequence && !(skip && merge_is_saved_key(m, key));
    if (seen && (m->trailer & 0xff) > 1) return merge_combine(m);
    if (seen && ((m->trailer & 0xff) == 1 || m->keep_deletions)) {
      m->key = key;
      return NAY_OK;
    }
    if (seen) { /* a deletion hides the older versions of its key */
      NAY_TRY(merge_save_key(m, key.at, key.len));
      skip = true;
    }
    NAY_TRY(merge_advance(m));
  }
  return NAY_EEND;
}

/* ---- backward ---- */

/* Saves the value of the top child before the child moves on. */
static nay_status merge_save_value(nay_sst_scan *m, const nay_scan_child *c) {
  nay_saved_value *saved = &m->saved_value;
  saved->value = nay_sst__scan_child_value(c);
  if (c->iter != NULL) {
    const uint8_t *block = c->iter->data.block.bytes;
    if (saved->table == c->iter->table && saved->block == block) return NAY_OK;
    saved->table = c->iter->table;
    saved->block = block;
    if (nay_sst__hold_pin(c->iter->table, c->iter->hold, block, &saved->hold) == NAY_OK)
      return NAY_OK;
    saved->block = NULL;
    return nay__fail(&m->diag, NAY_ENOMEM, "no memory for a value", 0);
  }
  saved->table = NULL;
  saved->stable = c->source.stable;
  if (saved->stable) return NAY_OK;
  saved->copy.len = 0;
  if (nay__buffer_append(&saved->copy, saved->value.at, saved->value.len, &m->allocator) !=
      NAY_OK) {
    return nay__fail(&m->diag, NAY_ENOMEM, "no memory for a value", 0);
  }
  saved->value.at = saved->copy.at;
  return NAY_OK;
}

/* Finds the last visible user key from the top on. Versions come oldest first, so the last one at
 * or below the sequence number decides whether the key is shown, and with which value. */
static nay_status merge_find_prev(nay_sst_scan *m) {
  bool found = false;
  for (const nay_merge_input *top; (top = nay_sst__merge_top(&m->heap)) != NULL;) {
    uint64_t trailer;
    nay_bytes key = merge_split(m, top, &trailer);
    if (m->has_lower && merge_compare_bound(m, key, &m->lower) < 0) break;
    if (trailer >> 8 <= m->sequence) {
      bool same = found && merge_is_saved_key(m, key);
      if (found && !same) break;
      found = (trailer & 0xff) != 0 || m->keep_deletions;
      if (found) {
        /* With equal_may_differ the versions of one key may have different bytes. */
        if (!same || m->order.user != NULL) NAY_TRY(merge_save_key(m, key.at, key.len));
        NAY_TRY(merge_save_value(m, top->source));
        m->trailer = trailer;
      }
    }
    NAY_TRY(merge_advance(m));
  }
  m->key = (nay_bytes){m->saved_key.at, m->saved_key.len};
  if (found && (m->trailer & 0xff) > 1) return merge_combine_backward(m);
  return found ? NAY_OK : NAY_EEND;
}

/* ---- all versions ---- */

/* Finds the first version from the top on that is at or below the sequence number. This version
 * stays on top. */
static nay_status merge_find_version(nay_sst_scan *m) {
  for (const nay_merge_input *top; (top = nay_sst__merge_top(&m->heap)) != NULL;) {
    m->key = merge_split(m, top, &m->trailer);
    if (m->has_upper && !m->backward && merge_compare_bound(m, m->key, &m->upper) >= 0) break;
    if (m->has_lower && m->backward && merge_compare_bound(m, m->key, &m->lower) < 0) break;
    if (m->trailer >> 8 <= m->sequence) {
      return (m->trailer & 0xff) > 2 ? merge_bad_type(m, nay_sst__scan_top_table(m)) : NAY_OK;
    }
    NAY_TRY(merge_advance(m));
  }
  return NAY_EEND;
}

/* Seeks a child to the first entry after the current version, or backward to the last before it. */
static nay_status merge_seek_past(nay_sst_scan *m, size_t child, const nay_merge_input *current,
                                  bool backward) {
  nay_scan_child *c = &m->children[child];
  nay_merge_input input = {.age = child, .source = c};
  nay_bytes user = {current->key, nay_sst__user_len(m->order, current->len)};
  nay_status status = merge_move(m, c, NAY_MERGE_SEEK, user);
  while (status == NAY_OK) {
    NAY_TRY(merge_load_key(m, &input));
    bool behind = backward ? !nay_sst__merge_before(&m->heap, &input, current)
                           : nay_sst__merge_before(&m->heap, current, &input);
    if (behind) break;
    status = merge_move(m, c, NAY_MERGE_NEXT, user);
  }
  if (!backward) return status;
  if (status == NAY_OK) return merge_move(m, c, NAY_MERGE_PREV, user);
  return status == NAY_EEND ? merge_move(m, c, NAY_MERGE_LAST, user) : status;
}

/* Changes direction at the current version. */
static nay_status merge_reverse_versions(nay_sst_scan *m) {
  const nay_merge_input *top = nay_sst__merge_top(&m->heap);
  bool backward = !m->backward;
  NAY_TRY(merge_save_key(m, top->key, top->len));
  nay_merge_input current = {.key = m->saved_key.at, .len = m->saved_key.len, .age = top->age};
  nay_sst__merge_clear(&m->heap);
  for (size_t i = 0; i < m->nchildren; i++) {
    m->heap.descending = false; /* merge_seek_past compares in forward order */
    nay_status status = merge_seek_past(m, i, &current, backward);
    m->heap.descending = backward; /* merge_push needs the new order */
    NAY_TRY(merge_push(m, i, status));
  }
  m->backward = backward;
  return NAY_OK;
}

/* ---- moves ---- */

static nay_status merge_find(nay_sst_scan *m) {
  if (m->all_versions) return merge_find_version(m);
  return m->backward ? merge_find_prev(m) : merge_find_next(m, false);
}

static nay_status merge_reposition(nay_sst_scan *m, nay_scan_move move, nay_bytes key,
                                   bool backward) {
  m->failed_table = NULL;
  m->slow_path = m->all_versions;
  nay_status status = merge_move_all(m, move, key, backward);
  return merge_set_status(m, status == NAY_OK ? merge_find(m) : status);
}

/* Moves to the first or the last entry inside the bounds. */
static nay_status merge_enter(nay_sst_scan *m, nay_scan_move move, const nay_buffer *bound,
                              bool backward) {
  m->failed_table = NULL;
  m->slow_path = m->all_versions;
  nay_status status = merge_move_all(m, move, merge_bytes(bound), backward);
  if (status == NAY_OK && m->any_asked) merge_count_false_positives(m);
  return merge_set_status(m, status == NAY_OK ? merge_find(m) : status);
}

nay_status nay_sst_scan_first(nay_sst_scan *m) {
  nay_scan_move move = m->has_lower ? NAY_MERGE_SEEK : NAY_MERGE_FIRST;
  return merge_enter(m, move, &m->lower, false);
}

nay_status nay_sst_scan_last(nay_sst_scan *m) {
  nay_scan_move move = m->has_upper ? NAY_MERGE_SEEK_BEFORE : NAY_MERGE_LAST;
  return merge_enter(m, move, &m->upper, true);
}

static nay_status merge_bad_argument(nay_sst_scan *m) {
  return merge_set_status(
      m, nay__fail(&m->diag, NAY_EINVAL, "the key is NULL but its length is not 0", 0));
}

nay_status nay_sst_scan_seek(nay_sst_scan *m, const void *key, size_t len) {
  if (key == NULL && len != 0) return merge_bad_argument(m);
  nay_bytes from = {len != 0 ? key : (const void *)"", len};
  if (m->has_lower && merge_compare_bound(m, from, &m->lower) < 0) return nay_sst_scan_first(m);
  if (!m->has_upper) return merge_reposition(m, NAY_MERGE_SEEK, from, false);
  m->failed_table = NULL;
  m->slow_path = m->all_versions;
  nay_status status = merge_seek_bounded(m, from);
  return merge_set_status(m, status == NAY_OK ? merge_find(m) : status);
}

nay_status nay_sst_scan_seek_for_prev(nay_sst_scan *m, const void *key, size_t len) {
  if (key == NULL && len != 0) return merge_bad_argument(m);
  nay_bytes from = {len != 0 ? key : (const void *)"", len};
  if (m->has_upper && merge_compare_bound(m, from, &m->upper) >= 0) return nay_sst_scan_last(m);
  return merge_reposition(m, NAY_MERGE_SEEK_FOR_PREV, from, true);
}

/* Steps from an entry of all_versions, or from a combined entry. The key of a combined entry is
 * saved, and the top is past its operands. */
NAY_NOINLINE static nay_status merge_step_slow(nay_sst_scan *m, bool backward) {
  if (m->all_versions) {
    NAY_TRY(m->backward == backward ? merge_advance(m) : merge_reverse_versions(m));
    return merge_find_version(m);
  }
  m->slow_path = false;
  m->detached = backward;
  if (m->backward != backward) {
    nay_scan_move move = backward ? NAY_MERGE_SEEK_BEFORE : NAY_MERGE_SEEK;
    NAY_TRY(merge_move_all(m, move, merge_bytes(&m->saved_key), backward));
  }
  return backward ? merge_find_prev(m) : merge_find_next(m, true);
}

/* Steps past the current entry in either direction, reversing the children if they stand on the
 * other side. */
static nay_status merge_step(nay_sst_scan *m, bool backward) {
  if (NAY_UNLIKELY(m->slow_path)) return merge_step_slow(m, backward);
  if (m->backward == backward && backward) return merge_find_prev(m);
  if (!m->backward) NAY_TRY(merge_save_key(m, m->key.at, m->key.len));
  if (m->backward == backward) {
    NAY_TRY(merge_advance(m));
    return merge_find_next(m, true);
  }
  nay_bytes key = merge_bytes(&m->saved_key);
  NAY_TRY(merge_move_all(m, backward ? NAY_MERGE_SEEK_BEFORE : NAY_MERGE_SEEK, key, backward));
  return backward ? merge_find_prev(m) : merge_find_next(m, true);
}

nay_status nay_sst_scan_next(nay_sst_scan *m) {
  return m->valid ? merge_set_status(m, merge_step(m, false)) : m->status;
}

nay_status nay_sst_scan_prev(nay_sst_scan *m) {
  return m->valid ? merge_set_status(m, merge_step(m, true)) : m->status;
}

/*
 * merge.c - the movements of a merging iterator.
 *
 * All children in one heap give every version of every key, newest first. Of that a reader at a
 * sequence number sees one entry per user key: the first that is not above the number, unless it
 * is a deletion.
 *
 *   forward    The present entry is the top of the heap. next saves its user key, and skips what
 *              is too new, what has the saved key, and keys whose first visible version is a
 *              deletion.
 *   backward   Versions come oldest first, so the one to show is the last visible one before the
 *              user key changes. Its child has moved on by then: the key is saved and the block of
 *              its value kept (sst_pin.c), and the children stand below the present key.
 *
 * Merge operands: when the version to show is one, it is combined (operand.h) with what follows of
 * its key in a walk forward. Then the children stand behind the operands, at the value below them
 * or at the next key; the key is saved. A walk back has passed the versions in the other order, and
 * only the newest knows whether the others matter: so it seeks the key and turns, and the next step
 * back turns again. That is two seeks for each such key, and memory for one combined operand.
 *
 * A change of direction puts every child to the other side of the present key by a seek. With
 * all_versions the present entry is the top of the heap in both directions, and a change of
 * direction puts every child to the other side of the present version.
 *
 * A step costs one comparison in the heap while the same child stays on top, and one with the saved
 * key; no allocation once the buffers have grown to the longest key.
 */
#include "sst/merge.h"

/* ---- the present entry ---- */

static nay_status merge_end(nay_merge *m, nay_status status) {
  m->valid = status == NAY_OK;
  m->status = status;
  return status;
}

static nay_bytes merge_bytes(const nay_buffer *b) {
  return (nay_bytes){b->len != 0 ? b->at : (const uint8_t *)"", b->len};
}

static nay_status merge_save(nay_merge *m, const uint8_t *key, size_t len) {
  m->saved.len = 0;
  if (nay__buffer_append(&m->saved, key, len, &m->allocator) == NAY_OK) return NAY_OK;
  return nay__fail(&m->diag, NAY_ENOMEM, "no memory for a key", 0);
}

static inline bool merge_is_saved(const nay_merge *m, nay_bytes key) {
  if (m->order.user != NULL) {
    return nay__compare_users(m->order, key.at, key.len, m->saved.at, m->saved.len) == 0;
  }
  return key.len == m->saved.len && (key.len == 0 || memcmp(key.at, m->saved.at, key.len) == 0);
}

static inline int merge_to_bound(const nay_merge *m, nay_bytes key, const nay_buffer *bound) {
  return nay__compare_users(m->order, key.at, key.len, bound->at, bound->len);
}

/* Takes the top apart. Plain keys have the trailer of a value. */
static inline nay_bytes merge_split(const nay_merge *m, const nay_merge_input *top,
                                    uint64_t *trailer) {
  *trailer = 1;
  if (!m->order.internal) return (nay_bytes){top->key, top->len};
  size_t len = top->len - NAY_KEY_TRAILER;
  *trailer = nay__load64le(top->key + len);
  return (nay_bytes){top->key, len};
}

/* table: that of the entry; NULL: a source. */
static nay_status merge_bad_type(nay_merge *m, const nay_sst *table) {
  m->failed = table;
  return nay__fail(
      &m->diag, NAY_ENOTSUP,
      "a merge operand, and there is no merge operator; or a type that LevelDB does not have", 0);
}

/* ---- moving children ---- */

/* Moves a child; an error is that of its table. */
static nay_status merge_move(nay_merge *m, nay_merge_child *c, nay_merge_move move, nay_bytes key) {
  nay_status status = nay__merge_child_move(c, move, key, &m->diag);
  if (NAY_UNLIKELY(status != NAY_OK && status != NAY_ENOENT)) {
    m->failed = c->tables != NULL ? c->tables[c->at] : NULL;
  }
  return status;
}

/* The key that the child of an input has moved to. */
static nay_status merge_look(nay_merge *m, nay_merge_input *input) {
  nay_bytes key = nay__merge_child_key(input->source);
  input->key = key.at;
  input->len = key.len;
  if (!m->order.internal || key.len >= NAY_KEY_TRAILER) return NAY_OK;
  return nay__fail(&m->diag, NAY_EINVAL, "a source has a key that is not an internal key", 0);
}

/* The top moves one entry on, in the present direction. */
static nay_status merge_advance(nay_merge *m) {
  nay_merge_input *top = nay__merge_top(&m->heap);
  nay_merge_move move = m->backward ? NAY_MERGE_PREV : NAY_MERGE_NEXT;
  nay_status status = merge_move(m, top->source, move, (nay_bytes){NULL, 0});
  if (status == NAY_ENOENT) {
    nay__merge_pop(&m->heap);
    return NAY_OK;
  }
  NAY_TRY(status);
  NAY_TRY(merge_look(m, top));
  nay__merge_sink(&m->heap);
  return NAY_OK;
}

static nay_status merge_push(nay_merge *m, size_t child, nay_status moved) {
  nay_merge_input input = {.age = child, .source = &m->children[child]};
  if (moved == NAY_ENOENT) return NAY_OK;
  NAY_TRY(moved);
  NAY_TRY(merge_look(m, &input));
  nay__merge_push(&m->heap, input);
  return NAY_OK;
}

/* Moves all children, and makes the heap anew. */
static nay_status merge_place(nay_merge *m, nay_merge_move move, nay_bytes key, bool backward) {
  m->backward = m->heap.descending = backward;
  m->stored = backward && !m->all_versions;
  nay__merge_clear(&m->heap);
  for (size_t i = 0; i < m->nchildren; i++) {
    NAY_TRY(merge_push(m, i, merge_move(m, &m->children[i], move, key)));
  }
  return NAY_OK;
}

/* ---- merge operands ---- */

/* The versions behind that on top, whose operand is set; the last one that counts stays on top. */
static nay_status merge_absorb(nay_merge *m) {
  for (nay_bytes saved = {m->saved.at, m->saved.len}; m->operand.set;) {
    NAY_TRY(merge_advance(m));
    const nay_merge_input *top = nay__merge_top(&m->heap);
    uint64_t trailer = 0;
    nay_bytes key = top != NULL ? merge_split(m, top, &trailer) : saved;
    nay_status status;
    if (top == NULL || !merge_is_saved(m, key)) {
      status = nay__operand_end(&m->operand, &m->merge, saved, &m->allocator, &m->diag);
    } else if ((trailer & 0xff) > NAY_KEY_MERGE) {
      return merge_bad_type(m, nay__merge_top_table(m));
    } else {
      nay_older older = {(nay_entry_type)(trailer & 0xff), trailer >> 8,
                         nay__merge_child_value(top->source)};
      status = nay__operand_absorb(&m->operand, &m->merge, saved, &older, &m->allocator, &m->diag);
    }
    if (status != NAY_OK) m->failed = m->from;
    NAY_TRY(status);
  }
  return NAY_OK;
}

/* The top, whose trailer m->trailer is, is neither a value nor a deletion. An operand becomes the
 * present entry, combined. */
NAY_NOINLINE static nay_status merge_combine(nay_merge *m) {
  const nay_merge_input *top = nay__merge_top(&m->heap);
  uint64_t trailer;
  nay_bytes key = merge_split(m, top, &trailer);
  if ((trailer & 0xff) != NAY_KEY_MERGE || m->merge.call == NULL) {
    return merge_bad_type(m, nay__merge_top_table(m));
  }
  m->from = nay__merge_top_table(m);
  NAY_TRY(merge_save(m, key.at, key.len));
  NAY_TRY(nay__operand_start(&m->operand, trailer >> 8, nay__merge_child_value(top->source),
                             &m->allocator, &m->diag));
  NAY_TRY(merge_absorb(m));
  m->key = (nay_bytes){m->saved.at, m->saved.len};
  m->trailer = (trailer & ~(uint64_t)0xff) | NAY_KEY_VALUE;
  m->stored = m->special = true;
  return NAY_OK;
}

/* The same for the version that a walk back has kept; the direction is forward then. */
NAY_NOINLINE static nay_status merge_combine_back(nay_merge *m) {
  nay_bytes user = merge_bytes(&m->saved);
  uint64_t trailer;
  if ((m->trailer & 0xff) != NAY_KEY_MERGE || m->merge.call == NULL) {
    return merge_bad_type(m, m->kept.table);
  }
  NAY_TRY(merge_place(m, NAY_MERGE_SEEK, user, false));
  for (const nay_merge_input *top;;) {
    top = nay__merge_top(&m->heap);
    bool same = top != NULL && merge_is_saved(m, merge_split(m, top, &trailer));
    if (!same) return nay__fail(&m->diag, NAY_EINVAL, "a source of the merge lost an entry", 0);
    if (trailer <= m->trailer) break;
    NAY_TRY(merge_advance(m));
  }
  return merge_combine(m);
}

/* ---- forward ---- */

/* The first entry from the top on that a reader sees. skip: not those of the saved key. */
static nay_status merge_find_next(nay_merge *m, bool skip) {
  for (const nay_merge_input *top; (top = nay__merge_top(&m->heap)) != NULL;) {
    nay_bytes key = merge_split(m, top, &m->trailer);
    if (m->has_upper && merge_to_bound(m, key, &m->upper) >= 0) return NAY_ENOENT;
    bool seen = m->trailer >> 8 <= m->sequence && !(skip && merge_is_saved(m, key));
    if (seen && (m->trailer & 0xff) > 1) return merge_combine(m);
    if (seen && ((m->trailer & 0xff) == 1 || m->keep_deletions)) {
      m->key = key;
      return NAY_OK;
    }
    if (seen) { /* a deletion: hides what follows of its key */
      NAY_TRY(merge_save(m, key.at, key.len));
      skip = true;
    }
    NAY_TRY(merge_advance(m));
  }
  return NAY_ENOENT;
}

/* ---- backward ---- */

/* The value of the top, which moves on after this. */
static nay_status merge_keep(nay_merge *m, const nay_merge_child *c) {
  nay_merge_kept *kept = &m->kept;
  kept->value = nay__merge_child_value(c);
  if (c->iter != NULL) {
    const uint8_t *block = c->iter->data.block.bytes;
    if (kept->table == c->iter->table && kept->block == block) return NAY_OK;
    kept->table = c->iter->table;
    kept->block = block;
    if (nay__hold_pin(c->iter->table, c->iter->hold, block, &kept->hold) == NAY_OK) return NAY_OK;
    kept->block = NULL;
    return nay__fail(&m->diag, NAY_ENOMEM, "no memory for a value", 0);
  }
  kept->table = NULL;
  kept->stable = c->source.stable;
  if (kept->stable) return NAY_OK;
  kept->copy.len = 0;
  if (nay__buffer_append(&kept->copy, kept->value.at, kept->value.len, &m->allocator) != NAY_OK) {
    return nay__fail(&m->diag, NAY_ENOMEM, "no memory for a value", 0);
  }
  kept->value.at = kept->copy.at;
  return NAY_OK;
}

/* The last user key from the top on that a reader sees: of its versions, which come oldest first,
 * the last visible one decides, also whether its type is one to show. */
static nay_status merge_find_prev(nay_merge *m) {
  bool found = false;
  for (const nay_merge_input *top; (top = nay__merge_top(&m->heap)) != NULL;) {
    uint64_t trailer;
    nay_bytes key = merge_split(m, top, &trailer);
    if (m->has_lower && merge_to_bound(m, key, &m->lower) < 0) break;
    if (trailer >> 8 <= m->sequence) {
      bool same = found && merge_is_saved(m, key);
      if (found && !same) break;
      found = (trailer & 0xff) != 0 || m->keep_deletions;
      if (found) {
        /* with equal_may_differ the versions of a key need not have the same bytes */
        if (!same || m->order.user != NULL) NAY_TRY(merge_save(m, key.at, key.len));
        NAY_TRY(merge_keep(m, top->source));
        m->trailer = trailer;
      }
    }
    NAY_TRY(merge_advance(m));
  }
  m->key = (nay_bytes){m->saved.at, m->saved.len};
  if (found && (m->trailer & 0xff) > 1) return merge_combine_back(m);
  return found ? NAY_OK : NAY_ENOENT;
}

/* ---- all versions ---- */

/* The first version from the top on that is not too new; it stays on top. */
static nay_status merge_find_version(nay_merge *m) {
  for (const nay_merge_input *top; (top = nay__merge_top(&m->heap)) != NULL;) {
    m->key = merge_split(m, top, &m->trailer);
    if (m->has_upper && !m->backward && merge_to_bound(m, m->key, &m->upper) >= 0) break;
    if (m->has_lower && m->backward && merge_to_bound(m, m->key, &m->lower) < 0) break;
    if (m->trailer >> 8 <= m->sequence) {
      return (m->trailer & 0xff) > 2 ? merge_bad_type(m, nay__merge_top_table(m)) : NAY_OK;
    }
    NAY_TRY(merge_advance(m));
  }
  return NAY_ENOENT;
}

/* Moves a child to the first entry behind the present version, or the last before it. */
static nay_status merge_pass(nay_merge *m, size_t child, const nay_merge_input *present,
                             bool backward) {
  nay_merge_child *c = &m->children[child];
  nay_merge_input input = {.age = child, .source = c};
  nay_bytes user = {present->key, nay__user_len(m->order, present->len)};
  nay_status status = merge_move(m, c, NAY_MERGE_SEEK, user);
  while (status == NAY_OK) {
    NAY_TRY(merge_look(m, &input));
    bool behind = backward ? !nay__merge_before(&m->heap, &input, present)
                           : nay__merge_before(&m->heap, present, &input);
    if (behind) break;
    status = merge_move(m, c, NAY_MERGE_NEXT, user);
  }
  if (!backward) return status;
  if (status == NAY_OK) return merge_move(m, c, NAY_MERGE_PREV, user);
  return status == NAY_ENOENT ? merge_move(m, c, NAY_MERGE_LAST, user) : status;
}

/* The other direction, from the present version on. */
static nay_status merge_turn_versions(nay_merge *m) {
  const nay_merge_input *top = nay__merge_top(&m->heap);
  bool backward = !m->backward;
  NAY_TRY(merge_save(m, top->key, top->len));
  nay_merge_input present = {.key = m->saved.at, .len = m->saved.len, .age = top->age};
  nay__merge_clear(&m->heap);
  for (size_t i = 0; i < m->nchildren; i++) {
    m->heap.descending = false; /* the order of comparisons, */
    nay_status status = merge_pass(m, i, &present, backward);
    m->heap.descending = backward; /* and of the heap */
    NAY_TRY(merge_push(m, i, status));
  }
  m->backward = backward;
  return NAY_OK;
}

/* ---- movements ---- */

static nay_status merge_find(nay_merge *m) {
  if (m->all_versions) return merge_find_version(m);
  return m->backward ? merge_find_prev(m) : merge_find_next(m, false);
}

static nay_status merge_start(nay_merge *m, nay_merge_move move, nay_bytes key, bool backward) {
  m->failed = NULL;
  m->special = m->all_versions;
  nay_status status = merge_place(m, move, key, backward);
  return merge_end(m, status == NAY_OK ? merge_find(m) : status);
}

nay_status nay_merge_first(nay_merge *m) {
  nay_merge_move move = m->has_lower ? NAY_MERGE_SEEK : NAY_MERGE_FIRST;
  return merge_start(m, move, merge_bytes(&m->lower), false);
}

nay_status nay_merge_last(nay_merge *m) {
  nay_merge_move move = m->has_upper ? NAY_MERGE_SEEK_BEFORE : NAY_MERGE_LAST;
  return merge_start(m, move, merge_bytes(&m->upper), true);
}

static nay_status merge_bad_argument(nay_merge *m) {
  return merge_end(m, nay__fail(&m->diag, NAY_EINVAL, "a key is NULL and has a length", 0));
}

nay_status nay_merge_seek(nay_merge *m, const void *key, size_t len) {
  if (key == NULL && len != 0) return merge_bad_argument(m);
  nay_bytes from = {len != 0 ? key : (const void *)"", len};
  if (m->has_lower && merge_to_bound(m, from, &m->lower) < 0) return nay_merge_first(m);
  return merge_start(m, NAY_MERGE_SEEK, from, false);
}

nay_status nay_merge_seek_for_prev(nay_merge *m, const void *key, size_t len) {
  if (key == NULL && len != 0) return merge_bad_argument(m);
  nay_bytes from = {len != 0 ? key : (const void *)"", len};
  if (m->has_upper && merge_to_bound(m, from, &m->upper) >= 0) return nay_merge_last(m);
  return merge_start(m, NAY_MERGE_SEEK_FOR_PREV, from, true);
}

/* From a version, or a combined entry: its key is saved, and the top is behind its operands. */
NAY_NOINLINE static nay_status merge_step_special(nay_merge *m, bool backward) {
  if (m->all_versions) {
    NAY_TRY(m->backward == backward ? merge_advance(m) : merge_turn_versions(m));
    return merge_find_version(m);
  }
  m->special = false;
  m->stored = backward;
  if (m->backward != backward) {
    nay_merge_move move = backward ? NAY_MERGE_SEEK_BEFORE : NAY_MERGE_SEEK;
    NAY_TRY(merge_place(m, move, merge_bytes(&m->saved), backward));
  }
  return backward ? merge_find_prev(m) : merge_find_next(m, true);
}

/* To the next entry in either direction, past the present one; the children stand on its side. */
static nay_status merge_step(nay_merge *m, bool backward) {
  if (NAY_UNLIKELY(m->special)) return merge_step_special(m, backward);
  if (m->backward == backward && backward) return merge_find_prev(m);
  if (!m->backward) NAY_TRY(merge_save(m, m->key.at, m->key.len));
  if (m->backward == backward) {
    NAY_TRY(merge_advance(m));
    return merge_find_next(m, true);
  }
  nay_bytes key = merge_bytes(&m->saved);
  NAY_TRY(merge_place(m, backward ? NAY_MERGE_SEEK_BEFORE : NAY_MERGE_SEEK, key, backward));
  return backward ? merge_find_prev(m) : merge_find_next(m, true);
}

nay_status nay_merge_next(nay_merge *m) {
  return m->valid ? merge_end(m, merge_step(m, false)) : m->status;
}

nay_status nay_merge_prev(nay_merge *m) {
  return m->valid ? merge_end(m, merge_step(m, true)) : m->status;
}

/*
 * block.c - see block.h.
 *
 * A bytewise search never reconstructs a key. The search keeps `same`, the length of the prefix
 * that the current key shares with the target, and the byte of the current key after that prefix.
 * An entry with `shared` > `same` has that byte as well, so its key compares like the current one
 * and its suffix is not read. Any other entry's suffix starts at or before the first difference,
 * and is compared from there.
 */
#include "block/block.h"

/* ---- writing ---- */

nay_status nay_sst__block_reset(nay_block_builder *b, const nay_allocator *a) {
  const uint8_t first[4] = {0, 0, 0, 0};
  b->bytes.len = b->restarts.len = 0;
  b->nsince_restart = 0;
  return nay__buffer_append(&b->restarts, first, sizeof first, a);
}

void nay_sst__block_builder_free(nay_block_builder *b, const nay_allocator *a) {
  nay__buffer_free(&b->bytes, a);
  nay__buffer_free(&b->restarts, a);
}

nay_status nay_sst__block_add(nay_block_builder *b, const uint8_t *key, size_t len, size_t shared,
                              const uint8_t *value, size_t value_len, const nay_allocator *a) {
  bool restart = b->nsince_restart >= b->interval;
  if (restart || b->bytes.len == 0) shared = 0;
  NAY_TRY(nay__buffer_reserve(&b->restarts, 4, a));
  NAY_TRY(nay__buffer_reserve(&b->bytes, 3 * NAY_VARINT32_MAX + len - shared + value_len, a));
  if (restart) {
    nay__store32le(b->restarts.at + b->restarts.len, (uint32_t)b->bytes.len);
    b->restarts.len += 4;
    b->nsince_restart = 0;
  }
  uint8_t *p = b->bytes.at + b->bytes.len;
  p = nay__varint_store(p, shared);
  p = nay__varint_store(p, len - shared);
  p = nay__varint_store(p, value_len);
  if (len != shared) memcpy(p, key + shared, len - shared);
  p += len - shared;
  if (value_len != 0) memcpy(p, value, value_len);
  b->bytes.len = (size_t)(p + value_len - b->bytes.at);
  b->nsince_restart++;
  return NAY_OK;
}

nay_status nay_sst__block_finish(nay_block_builder *b, const nay_allocator *a) {
  NAY_TRY(nay__buffer_reserve(&b->bytes, b->restarts.len + 4, a));
  uint8_t *p = b->bytes.at + b->bytes.len;
  memcpy(p, b->restarts.at, b->restarts.len);
  nay__store32le(p + b->restarts.len, (uint32_t)(b->restarts.len / 4));
  b->bytes.len += b->restarts.len + 4;
  return NAY_OK;
}

/* ---- reading ---- */

nay_status nay_sst__block_open(const uint8_t *bytes, size_t len, nay_diag *diag, nay_block *block) {
  if (len < 4 || len > UINT32_MAX) {
    return nay__fail(diag, NAY_ECORRUPT, "a block is too short or too long", 0);
  }
  uint32_t n = nay__load32le(bytes + len - 4);
  if (n > (len - 4) / 4) {
    return nay__fail(diag, NAY_ECORRUPT, "a block has more restarts than bytes", len - 4);
  }
  if (n == 0) { /* LevelDB's writer stores one even for an empty block; 0 would hide all entries */
    return nay__fail(diag, NAY_ECORRUPT, "a block has no restarts", len - 4);
  }
  *block = (nay_block){bytes, (uint32_t)(len - 4 - (size_t)n * 4), n};
  return NAY_OK;
}

NAY_INLINE nay_status block_corrupt(nay_diag *diag, uint32_t at) {
  return nay__fail(diag, NAY_ECORRUPT, "a block has an entry that does not fit", at);
}

NAY_INLINE bool block_entry(const nay_block *b, uint32_t at, nay_entry *e) {
  const uint8_t *p = b->bytes + at, *end = b->bytes + b->end;
  p = nay__varint32_load(p, end, &e->shared);
  if (p == NULL || (p = nay__varint32_load(p, end, &e->unshared)) == NULL) return false;
  p = nay__varint32_load(p, end, &e->value_len);
  if (p == NULL || (uint64_t)e->unshared + e->value_len > (uint64_t)(end - p)) return false;
  e->at = at;
  e->suffix = p;
  e->value = p + e->unshared;
  e->next = (uint32_t)(e->value + e->value_len - b->bytes);
  return true;
}

static inline uint32_t block_restart(const nay_block *b, uint32_t i) {
  return nay__load32le(b->bytes + b->end + (size_t)i * 4);
}

/* Decodes the entry at restart point i, whose key must be whole. */
static nay_status block_restart_entry(const nay_block *b, uint32_t i, nay_diag *diag,
                                      nay_entry *e) {
  uint32_t at = block_restart(b, i);
  if (at >= b->end || !block_entry(b, at, e) || e->shared != 0) return block_corrupt(diag, at);
  return NAY_OK;
}

/* Sets *restart to the last restart point whose key is before the target, or to 0. The block must
 * have entries. */
static nay_status block_find_restart(const nay_block *b, nay_order order, const nay_target *target,
                                     nay_diag *diag, uint32_t *restart) {
  uint32_t low = 0, high = b->nrestarts - 1;
  while (low < high) {
    uint32_t middle = low + (high - low + 1) / 2;
    nay_entry e;
    NAY_TRY(block_restart_entry(b, middle, diag, &e));
    if (nay_sst__compare_target(order, e.suffix, e.unshared, target) < 0) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  *restart = low;
  return NAY_OK;
}

/* The state of a bytewise search: how the current key compares with the target. */
typedef struct block_search {
  const uint8_t *target; /* user key of the target */
  size_t target_len;
  size_t same;      /* length of the prefix that target and current key share */
  uint8_t mismatch; /* byte `same` of the current key, if the key is that long */
  /* Internal keys: bytes [target_len, target_len + 8) of the current key, as far as it has them.
   * These bytes are its trailer if its user key equals the target. */
  uint8_t tail[NAY_KEY_TRAILER];
} block_search;

static inline void block_search_step(block_search *w, const nay_entry *e) {
  if (e->shared > w->same) return;
  size_t room = w->target_len - e->shared, n = e->unshared < room ? e->unshared : room;
  size_t more = nay_sst__common(e->suffix, w->target + e->shared, n);
  w->same = e->shared + more;
  if (more < e->unshared) w->mismatch = e->suffix[more];
}

static inline void block_keep_tail(block_search *w, const nay_entry *e) {
  for (size_t i = 0; i < NAY_KEY_TRAILER; i++) {
    size_t at = w->target_len + i;
    if (at >= e->shared && at - e->shared < e->unshared) w->tail[i] = e->suffix[at - e->shared];
  }
}

/* Compares the current user key, which is `len` bytes long, with the target. */
static inline int block_compare(const block_search *w, size_t len) {
  if (w->same >= len) return len < w->target_len ? -1 : 0;
  if (w->same == w->target_len) return 1;
  return w->mismatch < w->target[w->same] ? -1 : 1;
}

/* ---- searching with a custom comparator ---- */

/* A whole key: it points into the block if nothing is shared, else into `small` or `large`. */
typedef struct block_key {
  const uint8_t *at;
  size_t len;
  uint8_t small[256];
  nay_buffer large;
} block_key;

/* Turns *k from the key of the previous entry into the key of entry e. */
static nay_status block_key_next(block_key *k, const nay_entry *e, const nay_allocator *a) {
  size_t shared = e->shared, len = shared + e->unshared;
  if (shared == 0) {
    k->at = e->suffix;
    k->len = len;
    return NAY_OK;
  }
  uint8_t *to = k->small;
  if (len > sizeof k->small) {
    bool in_large = k->at == k->large.at;
    k->large.len = in_large ? shared : 0; /* a reallocation copies large.len bytes */
    NAY_TRY(nay__buffer_reserve(&k->large, len - k->large.len, a));
    if (in_large) k->at = k->large.at;
    to = k->large.at;
  }
  if (k->at != to) memmove(to, k->at, shared);
  if (e->unshared != 0) memcpy(to + shared, e->suffix, e->unshared);
  k->at = to;
  k->len = len;
  return NAY_OK;
}

/* NAY_OK: entry e with key k is at or after the target, and *found is set. NAY_ENOENT: the entry is
 * before the target. */
static nay_status block_key_found(nay_order order, const block_key *k, const nay_target *target,
                                  const nay_entry *e, nay_diag *diag, nay_found *found) {
  size_t user = nay_sst__user_len(order, k->len), least = user < target->len ? user : target->len;
  size_t near = nay_sst__common(k->at, target->user, least);
  if (nay_sst__compare_target(order, k->at, k->len, target) < 0) {
    found->near = near;
    return NAY_ENOENT;
  }
  bool equal = nay_sst__compare_users(order, k->at, user, target->user, target->len) == 0;
  bool same = user == target->len && near == user;
  if (equal && !same && !order.user->equal_may_differ) {
    return nay__fail(diag, NAY_EINVAL,
                     "the comparator calls different bytes equal, without equal_may_differ", e->at);
  }
  uint64_t trailer = equal && order.internal ? nay__load64le(k->at + user) : 0;
  *found = (nay_found){*e, trailer, equal, near > found->near ? near : found->near};
  return NAY_OK;
}

static nay_status block_find_custom(const nay_block *b, nay_order order, const nay_target *target,
                                    uint32_t at, const nay_allocator *a, nay_diag *diag,
                                    nay_found *found) {
  block_key k = {.at = NULL};
  nay_status status = NAY_ENOENT;
  for (nay_entry e; at < b->end && status == NAY_ENOENT; at = e.next) {
    if (!block_entry(b, at, &e) || e.shared > k.len ||
        (order.internal && (uint64_t)e.shared + e.unshared < NAY_KEY_TRAILER)) {
      status = block_corrupt(diag, at);
      break;
    }
    status = block_key_next(&k, &e, a);
    if (status == NAY_OK) status = block_key_found(order, &k, target, &e, diag, found);
  }
  nay__buffer_free(&k.large, a);
  return status;
}

/* ---- searching ---- */

nay_status nay_sst__block_find(const nay_block *b, nay_order order, const nay_target *target,
                               const nay_allocator *a, nay_diag *diag, nay_found *found) {
  found->near = 0;
  if (b->end == 0) return NAY_ENOENT;
  bool internal = order.internal;
  size_t near = 0; /* common prefix of the target and the previous entry */
  uint32_t restart;
  NAY_TRY(block_find_restart(b, order, target, diag, &restart));
  block_search w = {.target = target->user, .target_len = target->len};
  uint32_t at = block_restart(b, restart);
  if (at > b->end) return block_corrupt(diag, at);
  if (order.user != NULL) return block_find_custom(b, order, target, at, a, diag, found);
  uint64_t key_len = 0;
  for (nay_entry e; at < b->end; at = e.next) {
    if (!block_entry(b, at, &e) || e.shared > key_len) return block_corrupt(diag, at);
    key_len = (uint64_t)e.shared + e.unshared;
    if (internal && key_len < NAY_KEY_TRAILER) return block_corrupt(diag, at);
    block_search_step(&w, &e);
    if (internal) block_keep_tail(&w, &e);
    size_t user_len = internal ? (size_t)key_len - NAY_KEY_TRAILER : (size_t)key_len;
    size_t before = near;
    near = w.same < user_len ? w.same : user_len;
    int sign = block_compare(&w, user_len);
    if (sign < 0) continue;
    uint64_t trailer = sign == 0 && internal ? nay__load64le(w.tail) : 0;
    if (sign == 0 && internal && trailer > target->trailer) {
      continue; /* skips a version newer than the search's sequence number */
    }
    *found = (nay_found){e, trailer, sign == 0, near > before ? near : before};
    return NAY_OK;
  }
  found->near = near;
  return NAY_ENOENT;
}

/* ---- walking ---- */

/* Decodes the entry at offset `at`. The cursor holds the previous entry's key, which must have the
 * shared bytes. */
static nay_status cursor_decode(const nay_cursor *c, uint32_t at, nay_diag *diag, nay_entry *e) {
  if (!block_entry(&c->block, at, e) || e->shared > c->key.len) return block_corrupt(diag, at);
  uint64_t len = (uint64_t)e->shared + e->unshared;
  if (c->order.internal && len < NAY_KEY_TRAILER) return block_corrupt(diag, at);
  return NAY_OK;
}

/* Makes e the current entry and reconstructs its key. */
static nay_status cursor_set(nay_cursor *c, const nay_entry *e, nay_diag *diag) {
  c->key.len = e->shared;
  if (nay__buffer_append(&c->key, e->suffix, e->unshared, c->allocator) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for a key", e->at);
  }
  c->entry = *e;
  c->valid = true;
  return NAY_OK;
}

static nay_status cursor_move_to(nay_cursor *c, uint32_t at, nay_diag *diag) {
  nay_entry e;
  c->valid = false;
  if (at >= c->block.end) return at == c->block.end ? NAY_EEND : block_corrupt(diag, at);
  NAY_TRY(cursor_decode(c, at, diag, &e));
  return cursor_set(c, &e, diag);
}

static nay_status cursor_restart(nay_cursor *c, uint32_t restart, nay_diag *diag) {
  c->valid = false;
  c->key.len = 0;
  return cursor_move_to(c, block_restart(&c->block, restart), diag);
}

nay_status nay_sst__cursor_first(nay_cursor *c, nay_diag *diag) {
  c->valid = false;
  if (block_restart(&c->block, 0) != 0) return block_corrupt(diag, c->block.end);
  return cursor_restart(c, 0, diag);
}

nay_status nay_sst__cursor_next(nay_cursor *c, nay_diag *diag) {
  return c->valid ? cursor_move_to(c, c->entry.next, diag) : NAY_EEND;
}

/* Moves from a restart point to the last entry that starts before offset `limit`. */
static nay_status cursor_walk_to(nay_cursor *c, uint32_t restart, uint32_t limit, nay_diag *diag) {
  NAY_TRY(cursor_restart(c, restart, diag));
  while (c->entry.next < limit) NAY_TRY(cursor_move_to(c, c->entry.next, diag));
  return NAY_OK;
}

nay_status nay_sst__cursor_last(nay_cursor *c, nay_diag *diag) {
  return cursor_walk_to(c, c->block.nrestarts - 1, c->block.end, diag);
}

/* Moves to the last entry that starts before offset `limit`. */
static nay_status cursor_before(nay_cursor *c, uint32_t limit, nay_diag *diag) {
  uint32_t low = 0, high = c->block.nrestarts;
  while (low < high) { /* restart points below `low` are before `limit` */
    uint32_t middle = low + (high - low) / 2;
    if (block_restart(&c->block, middle) < limit) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  c->valid = false;
  if (low == 0) return NAY_EEND;
  return cursor_walk_to(c, low - 1, limit, diag);
}

nay_status nay_sst__cursor_prev(nay_cursor *c, nay_diag *diag) {
  return c->valid ? cursor_before(c, c->entry.at, diag) : NAY_EEND;
}

nay_status nay_sst__cursor_at(nay_cursor *c, uint32_t at, nay_diag *diag) {
  return cursor_before(c, at + 1, diag);
}

nay_status nay_sst__cursor_seek(nay_cursor *c, const nay_target *target, nay_diag *diag) {
  uint32_t restart = 0;
  c->valid = false;
  NAY_TRY(block_find_restart(&c->block, c->order, target, diag, &restart));
  NAY_TRY(cursor_restart(c, restart, diag));
  while (nay_sst__compare_target(c->order, c->key.at, c->key.len, target) < 0) {
    NAY_TRY(cursor_move_to(c, c->entry.next, diag));
  }
  return NAY_OK;
}

nay_status nay_sst__block_walk(const nay_block *block, nay_block_visit visit, void *ctx,
                               const nay_allocator *a, nay_diag *diag) {
  nay_cursor c = {.block = *block, .order = NAY_BYTEWISE, .allocator = a};
  nay_status status = nay_sst__cursor_first(&c, diag);
  while (status == NAY_OK) {
    status = visit(ctx, &c, diag);
    if (status == NAY_OK) status = nay_sst__cursor_next(&c, diag);
  }
  nay__buffer_free(&c.key, a);
  return status == NAY_EEND ? NAY_OK : status;
}

/* ---- checking ---- */

/* The trailer of entry e's key; `last` is the previous entry's key. */
static uint64_t check_trailer(const nay_buffer *last, const nay_entry *e) {
  uint8_t bytes[NAY_KEY_TRAILER];
  size_t user = (size_t)e->shared + e->unshared - NAY_KEY_TRAILER;
  for (size_t i = 0; i < NAY_KEY_TRAILER; i++) {
    size_t at = user + i;
    bytes[i] = at < e->shared ? last->at[at] : e->suffix[at - e->shared];
  }
  return nay__load64le(bytes);
}

/* Whether the key of entry e is above `last`, the previous entry's key, in bytewise order. The
 * shared bytes are not compared. Internal keys have been checked to have trailers. */
static bool check_ascends(nay_order order, const nay_buffer *last, const nay_entry *e) {
  size_t a = nay_sst__user_len(order, last->len);
  size_t b = nay_sst__user_len(order, (size_t)e->shared + e->unshared);
  int sign = (a > b) - (a < b);
  if (e->shared <= a && e->shared <= b) {
    const uint8_t *rest = a != 0 ? last->at + e->shared : NULL; /* an empty key has no buffer */
    sign = nay_sst__compare_bytes(rest, a - e->shared, e->suffix, b - e->shared);
  }
  if (sign != 0 || !order.internal) return sign < 0;
  return nay__load64le(last->at + a) > check_trailer(last, e);
}

static nay_status check_out_of_order(const nay_cursor *c, nay_diag *diag, uint32_t at) {
  const char *what = c->order.user != NULL ? NAY_CUSTOM_ORDER_TEXT : NAY_ORDER_TEXT;
  return nay__fail(diag, NAY_ENOTSUP, what, at);
}

/* Makes e the current entry and checks that its key is above the previous one. A custom comparator
 * needs both keys whole: `last` is the buffer for the previous one. */
static nay_status check_and_set(nay_cursor *c, const nay_entry *e, nay_buffer *last,
                                nay_diag *diag) {
  bool custom = c->order.user != NULL, first = e->at == 0;
  if (!custom) {
    if (!first && !check_ascends(c->order, &c->key, e)) return check_out_of_order(c, diag, e->at);
    return cursor_set(c, e, diag);
  }
  last->len = 0;
  if (nay__buffer_append(last, c->key.at, c->key.len, c->allocator) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for a key", e->at);
  }
  NAY_TRY(cursor_set(c, e, diag));
  bool ascends =
      first || nay_sst__compare(c->order, last->at, last->len, c->key.at, c->key.len) < 0;
  return ascends ? NAY_OK : check_out_of_order(c, diag, e->at);
}

/* Checks all entries. The cursor is at the last one afterwards. */
static nay_status check_entries(nay_cursor *c, const nay_buffer *above, nay_buffer *last,
                                nay_diag *diag) {
  const nay_block *b = &c->block;
  uint32_t restart = 0;
  for (uint32_t at = 0; at < b->end; at = c->entry.next) {
    nay_entry e;
    NAY_TRY(cursor_decode(c, at, diag, &e));
    if (restart < b->nrestarts && block_restart(b, restart) == at) {
      if (e.shared != 0) return block_corrupt(diag, at);
      restart++;
    }
    NAY_TRY(check_and_set(c, &e, last, diag));
    if (at == 0 && above != NULL &&
        nay_sst__compare(c->order, above->at, above->len, c->key.at, c->key.len) >= 0) {
      return check_out_of_order(c, diag, at);
    }
  }
  bool restarts_match = restart == b->nrestarts && block_restart(b, 0) == 0;
  return restarts_match ? NAY_OK : block_corrupt(diag, b->end);
}

nay_status nay_sst__block_check(const nay_block *b, nay_order order, const nay_buffer *above,
                                const nay_buffer *upto, const nay_allocator *a, nay_diag *diag) {
  nay_cursor c = {.block = *b, .order = order, .allocator = a};
  if (b->end == 0) return NAY_OK;
  nay_buffer last = {NULL, 0, 0};
  nay_status status = check_entries(&c, above, &last, diag);
  if (status == NAY_OK && upto != NULL &&
      nay_sst__compare(order, c.key.at, c.key.len, upto->at, upto->len) > 0) {
    status = check_out_of_order(&c, diag, c.entry.at);
  }
  nay__buffer_free(&last, a);
  nay__buffer_free(&c.key, a);
  return status;
}

/*
 * sst_get_many.c - gets of many keys from one table: the steps of sst_get.c, each for all keys.
 *
 *   range     two binary searches in the keys, which are in order: the keys of the table are
 *             contiguous
 *   filter    a native full filter takes the hashes of these keys as one batch
 *   index     a key that is not above the index entry of the key before it is in the same block
 *   block     in the order of the file; a block that several keys need is read once
 *
 * The answers, errors included, and the counters are those of nay__sst_get, key by key, but for the
 * number of blocks read.
 */
#include "sst/sst_get.h"

/* many_place: where the last key was searched. */
typedef struct many_place {
  nay_get_position at;
  bool located, read;
  uint64_t offset; /* of the block, if it was read */
  nay_block block;
} many_place;

/* Outcomes, added to the table's in the end. */
typedef struct many_tally {
  uint64_t out_of_range, useful, maybe, unfiltered, false_positives;
} many_tally;

static nay_target many_target(const nay_get_batch *b, size_t i) {
  return (nay_target){b->lens[i] != 0 ? b->keys[i] : "", b->lens[i], b->trailer};
}

/* ---- range ---- */

/* The first key in [from, to) that is above `bound`, or not below it if equal counts as well. */
static size_t many_bound(const nay_sst *t, const nay_get_batch *b, size_t from, size_t to,
                         const nay_buffer *bound, bool equal) {
  size_t len = nay__user_len(t->order, bound->len);
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    int sign = nay__compare_users(t->order, b->lens[middle] != 0 ? b->keys[middle] : "",
                                  b->lens[middle], bound->at, len);
    if (sign < 0 || (sign == 0 && !equal)) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

/* ---- answers ---- */

static void many_answer(nay_get_batch *b, size_t i, nay_status status, const nay_diag *why) {
  uint32_t number = b->numbers[i];
  b->statuses[number] = status;
  b->answered[number] = true;
  b->nanswered++;
  if (b->tables != NULL) b->tables[number] = b->table;
  if (status == NAY_OK || status == NAY_ENOENT || number >= b->failed) return;
  b->failed = number;
  if (b->why != NULL) *b->why = *why;
}

/* The value refers to the block, and keeps it. */
static void many_found(const nay_sst *t, nay_get_batch *b, size_t i, const nay_block *block,
                       const nay_sst_value *found) {
  nay_sst_value *v = (nay_sst_value *)(void *)(b->values + b->numbers[i] * b->stride);
  nay_diag why;
  nay_hold *hold = v->hold;
  nay_status status = nay__hold_pin(t, b->hold, block->bytes, &hold);
  v->hold = hold;
  if (status != NAY_OK) {
    nay__fail(&why, status, "no memory for a block", 0);
    many_answer(b, i, status, &why);
    return;
  }
  v->bytes = found->bytes;
  v->len = found->len;
  v->sequence = found->sequence;
  v->deleted = found->deleted;
  many_answer(b, i, found->deleted ? NAY_ENOENT : NAY_OK, NULL);
}

/* ---- one key ---- */

/* The place of a key that is not below the one before it. */
static nay_status many_locate(const nay_sst *t, const nay_target *target, many_place *p,
                              nay_diag *why) {
  const nay_entry *e = &p->at.entry;
  bool same = p->located && p->at.prefix_len == 0 && e->shared == 0 &&
              nay__compare_target(t->order, e->suffix, e->unshared, target) >= 0;
  if (same) return NAY_OK;
  nay_status status = nay__get_locate(t, target, why, &p->at);
  p->located = status == NAY_OK;
  return status;
}

static nay_status many_read(const nay_sst *t, nay_get_batch *b, many_place *p, nay_diag *why) {
  if (p->read && p->offset == p->at.handle.offset) return NAY_OK;
  p->read = false;
  NAY_TRY(nay__sst_read_data(t, &p->at.entry, p->at.handle, &b->hold, why, &p->block));
  p->read = true;
  p->offset = p->at.handle.offset;
  return NAY_OK;
}

/* The search of a key for which the filters of the table answered so. */
static void many_search(const nay_sst *t, nay_get_batch *b, size_t i, nay_verdict verdict,
                        many_place *p, many_tally *tally) {
  nay_target target = many_target(b, i);
  nay_diag why;
  nay_sst_value found = {.size = sizeof found};
  nay_status status = many_locate(t, &target, p, &why);
  if (status == NAY_OK && t->filter_used && t->filter == NAY_SST_BLOCK_FILTER) {
    verdict = nay__sst_probe_block(t, &target, p->at.handle);
  }
  if (verdict == NAY_SAYS_NAY) {
    tally->useful++;
    return;
  }
  bool probed = verdict == NAY_SAYS_MAYBE;
  tally->maybe += probed;
  tally->unfiltered += !probed;
  if (status == NAY_OK) status = many_read(t, b, p, &why);
  if (status == NAY_OK) status = nay__get_find(t, &target, &p->block, &p->at, &why, &found);
  if (status == NAY_OK) {
    many_found(t, b, i, &p->block, &found);
  } else if (status != NAY_ENOENT) {
    many_answer(b, i, status, &why);
  } else {
    tally->false_positives += probed && nay__get_false_positive(&p->at);
  }
}

/* ---- filters ---- */

/* Whether the table has a filter for hashes, and the batch has them. */
static bool many_hash(const nay_sst *t, nay_get_batch *b) {
  const nay_filter *f = t->full;
  bool native = t->filter_used && t->filter == NAY_SST_FULL_FILTER && f != NULL;
  if (!native || nay__hasher_ready(&f->hasher) != NAY_OK) return false;
  if (b->hashed && nay__hasher_same(&b->hasher, &f->hasher)) return true;
  b->hashed = nay_filter_hash_many(f, b->keys, b->lens, b->n, b->lo, b->hi) == NAY_OK;
  b->hasher = f->hasher;
  b->nhashes += b->n;
  nay__atomic_add64(&t->counts->hashes, b->n);
  return b->hashed;
}

/* All keys of [from, to) through the full filter; those that pass it are searched. */
static bool many_batch(const nay_sst *t, nay_get_batch *b, size_t from, size_t to, many_place *p,
                       many_tally *tally) {
  size_t n = to - from;
  const uint64_t *hi = nay__hash_has_hi(t->full->hasher.kind) ? b->hi + from : NULL;
  if (nay_filter_may_contain_hash_many(t->full, b->lo + from, hi, n, b->bitmap) != NAY_OK) {
    return false;
  }
  tally->useful += n;
  for (size_t w = 0; w < (n + 63) / 64; w++) {
    for (uint64_t bits = b->bitmap[w]; bits != 0; bits &= bits - 1) {
      tally->useful--;
      many_search(t, b, from + w * 64 + nay__ctz64(bits), NAY_SAYS_MAYBE, p, tally);
    }
  }
  return true;
}

/* Key by key: partitions, policies, prefixes, or no filter. */
static void many_each(const nay_sst *t, nay_get_batch *b, size_t from, size_t to, many_place *p,
                      many_tally *tally) {
  for (size_t i = from; i < to; i++) {
    nay_target target = many_target(b, i);
    nay_hash_memo memo = {.set = b->hashed, .hasher = b->hasher};
    if (b->hashed) memo.hash = (nay_hash){b->lo[i], b->hi[i]};
    size_t prefix_len = 0;
    nay_verdict verdict = nay__sst_probe(t, &target, &memo, &b->filter_hold, &prefix_len);
    b->nhashes += memo.nhashes;
    if (verdict == NAY_SAYS_NAY) {
      tally->useful++;
      continue;
    }
    if (prefix_len != 0) p->located = false;
    p->at.prefix_len = prefix_len;
    many_search(t, b, i, verdict, p, tally);
  }
}

/* ---- all ---- */

static void many_count(const nay_sst *t, const many_tally *tally) {
  nay_sst_tally *c = t->counts;
  if (tally->out_of_range != 0) nay__atomic_add64(&c->out_of_range, tally->out_of_range);
  if (tally->useful != 0) nay__atomic_add64(&c->useful, tally->useful);
  if (tally->maybe != 0) nay__atomic_add64(&c->maybe, tally->maybe);
  if (tally->unfiltered != 0) nay__atomic_add64(&c->unfiltered, tally->unfiltered);
  if (tally->false_positives != 0) nay__atomic_add64(&c->false_positives, tally->false_positives);
}

void nay__sst_get_many(const nay_sst *t, nay_get_batch *b, size_t from, size_t to) {
  many_tally tally = {.out_of_range = to - from};
  many_place place = {.located = false};
  if (t->order_unknown != NAY_OK) {
    for (size_t i = from; i < to; i++) many_answer(b, i, t->order_unknown, &t->order_unknown_why);
    tally = (many_tally){.unfiltered = to - from};
  } else if (!t->empty) {
    if (t->has_smallest) from = many_bound(t, b, from, to, &t->smallest, true);
    to = many_bound(t, b, from, to, &t->largest, false);
    tally.out_of_range -= to - from;
    bool batch = from < to && many_hash(t, b) && many_batch(t, b, from, to, &place, &tally);
    if (!batch) many_each(t, b, from, to, &place, &tally);
  }
  many_count(t, &tally);
}

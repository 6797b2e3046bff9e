/*
 * get_many.c - get of many keys from one table: each step of get.c for all keys.
 *
 *   range     The sorted keys inside the table's range are contiguous: two binary searches.
 *   filter    A native full filter is probed with the hashes of these keys as one batch.
 *   index     The index is pinned once. A key at or below the index key of the previous key's
 *             block is in the same block.
 *   block     Blocks are visited in file order; a block that several keys need is read once.
 *
 * A search in a block of a mapped file is a chain of cache misses: the restart count at its end,
 * the entries at restart points, then the entries after one of them. Keys that pass the filter
 * therefore go through a ring of MANY_AHEAD steps: the end of a key's block is prefetched when the
 * key enters the ring, and the entries at its restart points half a ring before the search.
 *
 * INVARIANT: answers, errors and counters are those of nay_sst__get for each key, except for the
 * number of blocks read.
 */
#include "table/get.h"

#define MANY_AHEAD 8u
#define MANY_RESTARTS 16u /* restart points that are prefetched; a block of 4 KiB has about 8 */

/* many_step: a key in the ring, and the block that may have it. */
typedef struct many_step {
  size_t i;
  nay_status status; /* result of the search in the index */
  nay_get_position at;
  nay_diag why;
} many_step;

/* many_block: the block that was searched last. */
typedef struct many_block {
  bool read;
  /* Offset of its index entry. The block's own offset would not do: a damaged index may name one
   * block twice, and only one of the entries can be right. */
  uint32_t entry;
  nay_block block;
} many_block;

/* many_tally: outcomes of the batch, added to the table's counters at the end. */
typedef struct many_tally {
  uint64_t out_of_range, useful, maybe, unfiltered, false_positives;
} many_tally;

static nay_target many_target(const nay_get_batch *b, size_t i) {
  return (nay_target){b->lens[i] != 0 ? b->keys[i] : "", b->lens[i], b->trailer};
}

/* ---- range ---- */

/* Returns the first key in [from, to) that is above `bound`; with `equal`, at or above it. */
static size_t many_bound(const nay_sst *t, const nay_get_batch *b, size_t from, size_t to,
                         const nay_buffer *bound, bool equal) {
  size_t len = nay_sst__user_len(t->order, bound->len);
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    int sign = nay_sst__compare_users(t->order, b->lens[middle] != 0 ? b->keys[middle] : "",
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
  if (status != NAY_OK && status != NAY_ENOENT) nay_sst__get_failed(b, number, why);
}

/* Handles a key that meets a merge operand: the caller resolves the key and counts its get. */
NAY_NOINLINE static void many_defer_operand(nay_get_batch *b, size_t i, bool probed,
                                            const nay_diag *why, many_tally *tally) {
  if (!b->merges) {
    many_answer(b, i, NAY_ENOTSUP, why);
    return;
  }
  tally->maybe -= probed;
  tally->unfiltered -= !probed;
  many_answer(b, i, NAY_OK, NULL);
  b->statuses[b->numbers[i]] = NAY_GET_OPERAND;
  b->noperands++;
}

/* Stores the value of a key, and pins the block that it points into. */
static void many_found(const nay_sst *t, nay_get_batch *b, size_t i, const nay_block *block,
                       const nay_sst_value *found) {
  nay_sst_value *v = (nay_sst_value *)(void *)(b->values + b->numbers[i] * b->stride);
  nay_diag why;
  nay_hold *hold = v->hold;
  nay_status status = nay_sst__hold_pin(t, b->hold, block->bytes, &hold);
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

/* Searches the index for a key that is not below the key of `before` (NULL: there is none). */
NAY_INLINE void many_locate(const nay_sst *t, nay_get_batch *b, size_t i, const many_step *before,
                            many_step *s) {
  nay_target target = many_target(b, i);
  s->i = i;
  if (before != NULL && before->status == NAY_OK) {
    const nay_entry *e = &before->at.entry;
    if (e->shared == 0 && nay_sst__compare_target(t->order, e->suffix, e->unshared, &target) >= 0) {
      s->status = NAY_OK;
      s->at = before->at;
      return;
    }
  }
  s->status = nay_sst__get_locate(t, &target, &b->pin, &s->why, &s->at);
}

static nay_status many_read(const nay_sst *t, nay_get_batch *b, many_step *s, many_block *m) {
  if (m->read && m->entry == s->at.entry.at) return NAY_OK;
  m->read = false;
  NAY_TRY(nay_sst__table_read_data(t, nay_sst__table_index_at(t, &b->pin), &s->at.entry,
                                   &s->at.handle, &b->hold, &s->why, &m->block));
  m->read = true;
  m->entry = s->at.entry.at;
  return NAY_OK;
}

/* Searches the block of a located key. `verdict` is the answer of the table's filters. */
static void many_search(const nay_sst *t, nay_get_batch *b, many_step *s, nay_verdict verdict,
                        many_block *m, many_tally *tally) {
  nay_target target = many_target(b, s->i);
  nay_sst_value found = {.size = sizeof found};
  nay_status status = s->status;
  if (status == NAY_OK && t->filters.used && t->filters.layout == NAY_SST_BLOCK_FILTER) {
    verdict = nay_sst__probe_block(t, &target, s->at.handle, &b->filter_hold);
  }
  if (verdict == NAY_SAYS_NAY) {
    tally->useful++;
    return;
  }
  bool probed = verdict == NAY_SAYS_MAYBE;
  tally->maybe += probed;
  tally->unfiltered += !probed;
  if (status == NAY_OK) status = many_read(t, b, s, m);
  if (status == NAY_OK) status = nay_sst__get_find(t, &target, &m->block, &s->at, &s->why, &found);
  if (status == NAY_OK) {
    many_found(t, b, s->i, &m->block, &found);
  } else if (NAY_UNLIKELY(status == NAY_GET_OPERAND)) {
    many_defer_operand(b, s->i, probed, &s->why, tally);
  } else if (status != NAY_ENOENT) {
    many_answer(b, s->i, status, &s->why);
  } else {
    tally->false_positives += probed && nay_sst__get_false_positive(&s->at);
  }
}

/* ---- prefetching ---- */

/* Returns the block if it is mapped. NULL: it must be read. */
static const uint8_t *many_in_place(const nay_sst *t, const many_step *s) {
  nay_handle h = s->at.handle;
  bool mapped = s->status == NAY_OK && t->source.bytes != NULL && t->foreign == NULL &&
                nay_sst__handle_fits(h, t->meta.footer.at) && h.size >= 4;
  return mapped ? t->source.bytes + h.offset : NULL;
}

static void many_prefetch_end(const nay_sst *t, const many_step *s) {
  const uint8_t *block = many_in_place(t, s);
  if (block != NULL) NAY_PREFETCH(block + s->at.handle.size - 4);
}

static void many_prefetch_restarts(const nay_sst *t, const many_step *s) {
  const uint8_t *block = many_in_place(t, s);
  if (block == NULL || block[s->at.handle.size] != 0) return; /* the block is compressed */
  size_t end = (size_t)s->at.handle.size - 4, n = nay__load32le(block + end);
  if (n > end / 4 || n > MANY_RESTARTS) return;
  for (size_t i = 0; i < n; i++) {
    uint32_t at = nay__load32le(block + end - 4 * n + 4 * i);
    if (at < end) NAY_PREFETCH(block + at);
  }
}

/* ---- filters ---- */

/* Makes sure that the batch has the hashes for a native full filter. False: the table has no such
 * filter, or its secret key is missing. */
static bool many_hash(const nay_sst *t, const nay_native_filter *f, nay_get_batch *b) {
  bool native = t->filters.used && t->filters.layout == NAY_SST_FULL_FILTER && f != NULL;
  if (!native) return false;
  if (b->hashed && nay_hasher_same(&b->hasher, &f->hasher)) return true;
  b->hashed = nay_hasher_hash_many(&f->hasher, b->keys, b->lens, b->n, b->lo, b->hi) == NAY_OK;
  if (!b->hashed) return false; /* the secret key is missing */
  b->hasher = f->hasher;
  b->nhashes += b->n;
  nay__atomic_add64(&t->counts->hashes, b->n);
  return true;
}

/* many_maybes: iterates over the keys that pass the filter. */
typedef struct many_maybes {
  const uint64_t *bitmap;
  size_t nwords, word;
  uint64_t bits; /* bits of the current word that are left */
} many_maybes;

static bool many_next_maybe(many_maybes *m, size_t *i) {
  while (m->bits == 0) {
    if (++m->word >= m->nwords) return false;
    m->bits = m->bitmap[m->word];
  }
  *i = m->word * 64 + nay__ctz64(m->bits);
  m->bits &= m->bits - 1;
  return true;
}

/* Searches the keys that pass the filter, through the ring. */
static void many_ring(const nay_sst *t, nay_get_batch *b, size_t from, many_maybes *maybes,
                      many_tally *tally) {
  many_step ring[MANY_AHEAD];
  many_block block = {.read = false};
  size_t located = 0, prefetched = 0, done = 0; /* positions that only grow */
  for (bool more = true; more || done < located; done++) {
    size_t i;
    while (more && located - done < MANY_AHEAD) {
      more = many_next_maybe(maybes, &i);
      if (!more) break;
      const many_step *before = located != 0 ? &ring[(located - 1) % MANY_AHEAD] : NULL;
      many_locate(t, b, from + i, before, &ring[located % MANY_AHEAD]);
      ring[located % MANY_AHEAD].at.prefix_len = 0;
      many_prefetch_end(t, &ring[located++ % MANY_AHEAD]);
    }
    for (; prefetched < located && prefetched < done + MANY_AHEAD / 2; prefetched++) {
      many_prefetch_restarts(t, &ring[prefetched % MANY_AHEAD]);
    }
    if (done == located) break;
    many_search(t, b, &ring[done % MANY_AHEAD], NAY_SAYS_MAYBE, &block, tally);
  }
}

/* Probes the full filter with the keys [from, to) as one batch, and searches those that pass.
 * False: the filter takes no batch. */
static bool many_batch(const nay_sst *t, const nay_native_filter *f, nay_get_batch *b, size_t from,
                       size_t to, many_tally *tally) {
  size_t n = to - from;
  nay_status status =
      nay_filter_may_contain_hash_many(f->filter, b->lo + from, b->hi + from, n, b->bitmap);
  if (status != NAY_OK) return false;
  many_maybes maybes = {.bitmap = b->bitmap, .nwords = (n + 63) / 64, .bits = b->bitmap[0]};
  tally->useful += n - nay_bitmap_count(b->bitmap, n);
  many_ring(t, b, from, &maybes, tally);
  return true;
}

/* Probes and searches key by key: for partitions, policies, prefix filters, or without a filter. */
static void many_each(const nay_sst *t, nay_get_batch *b, size_t from, size_t to,
                      many_tally *tally) {
  many_block block = {.read = false};
  many_step steps[2]; /* previous and current key */
  bool has_before = false;
  for (size_t i = from; i < to; i++) {
    nay_target target = many_target(b, i);
    nay_hash_memo memo = {.set = b->hashed, .hasher = b->hasher};
    if (b->hashed) memo.hash = (nay_hash){b->lo[i], b->hi[i]};
    size_t prefix_len = 0;
    nay_verdict verdict = nay_sst__probe(t, &target, &memo, &b->filter_hold, &prefix_len);
    b->nhashes += memo.nhashes;
    if (verdict == NAY_SAYS_NAY) {
      tally->useful++;
      continue;
    }
    /* the previous position has another `near`, which nay_sst__get_false_positive needs */
    many_locate(t, b, i, has_before && prefix_len == 0 ? &steps[0] : NULL, &steps[1]);
    steps[1].at.prefix_len = prefix_len;
    steps[0] = steps[1];
    has_before = true;
    many_search(t, b, &steps[1], verdict, &block, tally);
  }
}

/* ---- all ---- */

/* A full filter that lives in the cache stays pinned for the whole batch. */
static void many_in_range(const nay_sst *t, nay_get_batch *b, size_t from, size_t to,
                          many_tally *tally) {
  nay_cache_entry *pin;
  const nay_native_filter *f = nay_sst__filter_full(t, &b->filter_hold, &pin);
  bool batch = many_hash(t, f, b) && many_batch(t, f, b, from, to, tally);
  if (pin != NULL) nay_sst__cached_release(t, pin);
  if (!batch) many_each(t, b, from, to, tally);
  nay_sst__table_index_unpin(t, &b->pin);
}

static void many_count(const nay_sst *t, const many_tally *tally) {
  nay_sst_tally *c = t->counts;
  if (tally->out_of_range != 0) nay__atomic_add64(&c->out_of_range, tally->out_of_range);
  if (tally->useful != 0) nay__atomic_add64(&c->useful, tally->useful);
  if (tally->maybe != 0) nay__atomic_add64(&c->maybe, tally->maybe);
  if (tally->unfiltered != 0) nay__atomic_add64(&c->unfiltered, tally->unfiltered);
  if (tally->false_positives != 0) nay__atomic_add64(&c->false_positives, tally->false_positives);
}

void nay_sst__get_many(const nay_sst *t, nay_get_batch *b, size_t from, size_t to) {
  many_tally tally = {.out_of_range = to - from};
  if (t->sorting.unknown != NAY_OK) {
    for (size_t i = from; i < to; i++)
      many_answer(b, i, t->sorting.unknown, &t->sorting.unknown_why);
    tally = (many_tally){.unfiltered = to - from};
  } else if (!t->range.empty) {
    if (t->range.has_smallest) from = many_bound(t, b, from, to, &t->range.smallest, true);
    to = many_bound(t, b, from, to, &t->range.largest, false);
    tally.out_of_range -= to - from;
    if (from < to) many_in_range(t, b, from, to, &tally);
  }
  many_count(t, &tally);
}

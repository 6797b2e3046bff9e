/*
 * batch.c - many keys in one call.
 *
 * Groups of 64, so that a group's answers are one word of the bitmap. While the family works on one
 * group the memory of the next is on its way (unless the whole filter fits in the cache). A feed
 * hides where the hashes come from: the caller's arrays, or keys that are hashed as they are
 * needed.
 */
#include "base/compiler.h"
#include "filter.h"

typedef struct batch_group {
  const uint64_t *lo, *hi;
  unsigned n;
  uint64_t hashed[2][64];
} batch_group;

typedef struct batch_feed {
  const nay_filter *filter;
  const void *const *keys; /* NULL: lo and hi are given */
  const size_t *lens;
  const uint64_t *lo, *hi;
  size_t n, next;
  batch_group groups[2];
  unsigned turn;
} batch_feed;

/* Fills the other group with the keys that follow, and asks for the memory that they will touch. */
static void batch_feed_ahead(batch_feed *feed) {
  const nay_filter *f = feed->filter;
  batch_group *g = &feed->groups[feed->turn ^= 1];
  size_t left = feed->n - feed->next;
  g->n = left < 64 ? (unsigned)left : 64;
  if (feed->keys == NULL) {
    g->lo = feed->lo != NULL ? feed->lo + feed->next : NULL; /* an empty batch may have no array */
    g->hi = feed->hi != NULL ? feed->hi + feed->next : NULL;
  } else {
    for (unsigned i = 0; i < g->n; i++) {
      const void *key = feed->keys[feed->next + i];
      nay_hash h = nay__hash_key(&f->hasher, key != NULL ? key : "", feed->lens[feed->next + i]);
      g->hashed[0][i] = h.lo;
      g->hashed[1][i] = h.hi;
    }
    g->lo = g->hashed[0];
    g->hi = g->hashed[1];
  }
  feed->next += g->n;
  if (f->family->prefetch64 != NULL && !f->bits.in_cache && f->lazy == NULL) {
    f->family->prefetch64(f, g->lo, g->hi, g->n);
  }
}

/* The group that is ready; the one after it is fetched meanwhile. n is 0 when all are done. */
static const batch_group *batch_feed_next(batch_feed *feed) {
  const batch_group *ready = &feed->groups[feed->turn];
  batch_feed_ahead(feed);
  return ready;
}

/* Keys must be usable before the first one is added: a failed batch has added nothing. */
static nay_status batch_keys_ok(const nay_filter *f, const void *const *keys, const size_t *lens,
                                size_t n) {
  if (f == NULL || (n != 0 && (keys == NULL || lens == NULL))) return NAY_EINVAL;
  for (size_t i = 0; i < n; i++) {
    if (keys[i] == NULL && lens[i] != 0) return NAY_EINVAL;
  }
  return nay__hasher_ready(&f->hasher);
}

static nay_status batch_feed_keys(const nay_filter *f, const void *const *keys, const size_t *lens,
                                  size_t n, batch_feed *feed) {
  NAY_TRY(batch_keys_ok(f, keys, lens, n));
  feed->filter = f;
  feed->keys = keys;
  feed->lens = lens;
  feed->lo = feed->hi = NULL;
  feed->n = keys != NULL ? n : 0;
  feed->next = feed->turn = 0;
  batch_feed_ahead(feed);
  return NAY_OK;
}

static nay_status batch_feed_hashes(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    size_t n, batch_feed *feed) {
  if (f == NULL || (n != 0 && lo == NULL)) return NAY_EINVAL;
  if (n != 0 && hi == NULL && nay__hash_has_hi(f->hasher.kind)) return NAY_EINVAL;
  feed->filter = f;
  feed->keys = NULL;
  feed->lens = NULL;
  feed->lo = lo;
  feed->hi = hi;
  feed->n = n;
  feed->next = feed->turn = 0;
  batch_feed_ahead(feed);
  return NAY_OK;
}

static nay_status batch_add(nay_filter *f, batch_feed *feed, uint64_t *bitmap) {
  if (f->family->add64 == NULL) return NAY_ENOTSUP;
  const batch_group *g;
  while ((g = batch_feed_next(feed))->n != 0) {
    uint64_t word;
    if (bitmap == NULL && f->family->put64 != NULL && f->family->put64(f, g->lo, g->n)) continue;
    NAY_TRY(f->family->add64(f, g->lo, g->hi, g->n, &word));
    if (bitmap != NULL) *bitmap++ = word;
  }
  return NAY_OK;
}

nay_status nay_filter_add_hash_many(nay_filter *f, const uint64_t *lo, const uint64_t *hi, size_t n,
                                    uint64_t *bitmap) {
  batch_feed feed;
  NAY_TRY(nay__filter_writable(f));
  NAY_TRY(batch_feed_hashes(f, lo, hi, n, &feed));
  return batch_add(f, &feed, bitmap);
}

nay_status nay_filter_hash_many(const nay_filter *f, const void *const *keys, const size_t *lens,
                                size_t n, uint64_t *lo, uint64_t *hi) {
  NAY_TRY(batch_keys_ok(f, keys, lens, n));
  if (n != 0 && (lo == NULL || (hi == NULL && nay__hash_has_hi(f->hasher.kind)))) {
    return NAY_EINVAL;
  }
  for (size_t i = 0; i < n; i++) {
    nay_hash h = nay__hash_key(&f->hasher, keys[i] != NULL ? keys[i] : "", lens[i]);
    lo[i] = h.lo;
    if (hi != NULL) hi[i] = h.hi;
  }
  return NAY_OK;
}

nay_status nay_filter_add_many(nay_filter *f, const void *const *keys, const size_t *lens, size_t n,
                               uint64_t *bitmap) {
  batch_feed feed;
  NAY_TRY(nay__filter_writable(f));
  NAY_TRY(batch_feed_keys(f, keys, lens, n, &feed));
  return batch_add(f, &feed, bitmap);
}

static uint64_t batch_test_group(const nay_filter *f, const batch_group *g) {
  if (NAY_LIKELY(f->lazy == NULL)) return f->family->test64(f, g->lo, g->hi, g->n);
  uint64_t word = 0;
  for (unsigned i = 0; i < g->n; i++) {
    nay_hash hash = {g->lo[i], g->hi != NULL ? g->hi[i] : 0};
    word |= (uint64_t)nay_filter_may_contain_hash(f, hash) << i;
  }
  return word;
}

/* `status` tells whether there is a feed; without one no key is known to be absent. */
static nay_status batch_test(nay_status status, const nay_filter *f, batch_feed *feed, size_t n,
                             uint64_t *bitmap) {
  if (status != NAY_OK) {
    for (size_t i = 0; i < n; i += 64)
      bitmap[i / 64] = ~(uint64_t)0 >> (n - i < 64 ? 64 - (n - i) : 0);
    return status;
  }
  const batch_group *g;
  while ((g = batch_feed_next(feed))->n != 0) *bitmap++ = batch_test_group(f, g);
  return nay_filter_health(f);
}

nay_status nay_filter_may_contain_hash_many(const nay_filter *f, const uint64_t *lo,
                                            const uint64_t *hi, size_t n, uint64_t *bitmap) {
  if (n != 0 && bitmap == NULL) return NAY_EINVAL;
  batch_feed feed;
  return batch_test(batch_feed_hashes(f, lo, hi, n, &feed), f, &feed, n, bitmap);
}

nay_status nay_filter_may_contain_many(const nay_filter *f, const void *const *keys,
                                       const size_t *lens, size_t n, uint64_t *bitmap) {
  if (n != 0 && bitmap == NULL) return NAY_EINVAL;
  batch_feed feed;
  return batch_test(batch_feed_keys(f, keys, lens, n, &feed), f, &feed, n, bitmap);
}

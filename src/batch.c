/*
 * batch.c - many keys in one call.
 *
 * Groups of 64, so that a group's answers are one word of the bitmap. While the family works on one
 * group the memory of the two that follow is on its way (unless the whole filter fits in the
 * cache). It is asked for in one of three ways:
 *
 *   with the work    a line for each key that is worked on: families that have test64_ahead
 *   with the hashes  16 keys are hashed, then 16 asked for: other families, keys of the caller
 *   at once          other families, hashes of the caller; and groups of less than 64
 *
 * The processor keeps track of only so many lines that are on their way; if 64 are asked for at
 * once, what comes next waits until the last of them is on its way. All are asked for into the
 * second level of the cache, where there may be more of them (NAY_PREFETCH).
 *
 * A feed hides where the hashes come from: the caller's arrays, or keys that are hashed as they are
 * needed, 64 at a time, each with its own pointer or one after the other in a buffer. Those with
 * pointers may lie anywhere, so they come from memory too: the first NAY_KEYS_AHEAD are asked for
 * when the batch begins, each other one when the key so many before it is hashed.
 */
#include "base/compiler.h"
#include "build/partitioned_add.h"
#include "filter.h"

typedef struct batch_group {
  const uint64_t *lo, *hi;
  unsigned n;
  uint64_t hashed[2][64];
} batch_group;

/* Keys as the caller has them: hashes, or a list of keys. */
typedef struct batch_input {
  const uint64_t *lo, *hi;
  bool hashed;
  nay_key_list list;
  size_t n;
} batch_input;

typedef struct batch_feed {
  const nay_filter *filter;
  batch_input in;
  size_t next;
  batch_group groups[3]; /* one is worked on, one after the other is made ready */
  unsigned turn, last;   /* the next to work on; the one that was made last */
  bool fetch;            /* memory has to be asked for */
  bool paced;            /* and the family does it, key by key */
  bool bad;              /* a key was NULL and had a length */
} batch_feed;

/* ---- hashing ---- */

NAY_INLINE const void *batch_key(const nay_key_list *list, size_t i, size_t *len) {
  if (list->keys != NULL) {
    *len = list->lens[i];
    return list->keys[i];
  }
  *len = list->offsets[i + 1] - list->offsets[i];
  bool usable = list->bytes != NULL && list->offsets[i] <= list->offsets[i + 1];
  return usable ? list->bytes + list->offsets[i] : NULL;
}

/*
 * The usual hash: short keys by vectors where the machine can, others inlined into the loop. False:
 * a key is NULL and has a length; the hashes are then of no use.
 */
NAY_FLATTEN static bool batch_hash_xxh3(const nay_filter *f, const nay_key_list *list, size_t from,
                                        size_t n, uint64_t *lo) {
  uint64_t seed = f->hasher.seed;
  bool ok = true;
  for (size_t i = 0; i < n;) {
    if (f->kernels->xxh3_short != NULL) {
      i += f->kernels->xxh3_short(seed, list, from + i, n - i, lo + i);
    }
    for (size_t end = n - i < 8 ? n : i + 8; i < end; i++) {
      size_t len;
      const void *key = batch_key(list, from + i, &len);
      nay__keys_ahead(list, from + i, 1);
      ok &= key != NULL || len == 0;
      lo[i] = nay__hash_xxh3(seed, key, key != NULL ? len : 0);
    }
  }
  return ok;
}

/* hi may be NULL where the hash has one word. */
static bool batch_hash(const nay_filter *f, const nay_key_list *list, size_t from, size_t n,
                       uint64_t *lo, uint64_t *hi) {
  if (NAY_LIKELY(f->hasher.kind == NAY_HASH_XXH3)) {
    for (size_t i = 0; hi != NULL && i < n; i++) hi[i] = 0;
    return batch_hash_xxh3(f, list, from, n, lo);
  }
  bool ok = true;
  for (size_t i = 0; i < n; i++) {
    size_t len;
    const void *key = batch_key(list, from + i, &len);
    ok &= key != NULL || len == 0;
    nay_hash h = nay__hash_key(&f->hasher, key, key != NULL ? len : 0);
    lo[i] = h.lo;
    if (hi != NULL) hi[i] = h.hi;
  }
  return ok;
}

/* ---- the feed ---- */

#define BATCH_STEP 16u

static bool batch_hash_group(const batch_feed *feed, batch_group *g) {
  const nay_filter *f = feed->filter;
  bool two = nay__hash_has_hi(f->hasher.kind), fetch = feed->fetch && !feed->paced, ok = true;
  g->lo = g->hashed[0];
  g->hi = two ? g->hashed[1] : NULL;
  for (unsigned i = 0, step = fetch ? BATCH_STEP : 64; i < g->n; i += step) {
    unsigned n = g->n - i < step ? g->n - i : step;
    uint64_t *hi = two ? g->hashed[1] + i : NULL;
    ok &= batch_hash(f, &feed->in.list, feed->next + i, n, g->hashed[0] + i, hi);
    if (fetch) f->family->prefetch64(f, g->lo + i, hi, n);
  }
  return ok;
}

NAY_INLINE unsigned batch_turn(unsigned turn) { return turn < 2 ? turn + 1 : 0; }

/* Makes another group of the keys that follow. */
static void batch_feed_ahead(batch_feed *feed) {
  const batch_input *in = &feed->in;
  feed->last = batch_turn(feed->last);
  batch_group *g = &feed->groups[feed->last];
  size_t left = in->n - feed->next;
  g->n = left < 64 ? (unsigned)left : 64;
  if (in->hashed) {
    g->lo = in->lo != NULL ? in->lo + feed->next : NULL; /* an empty batch may have no array */
    g->hi = in->hi != NULL ? in->hi + feed->next : NULL;
  } else {
    feed->bad |= !batch_hash_group(feed, g);
  }
  feed->next += g->n;
}

/* The group that is ready; the second one after it is made meanwhile. n is 0 when all are done. */
static const batch_group *batch_feed_next(batch_feed *feed) {
  const batch_group *ready = &feed->groups[feed->turn];
  feed->turn = batch_turn(feed->turn);
  batch_feed_ahead(feed);
  return ready;
}

/* The hashes of the group that was made last, if the family is to ask for their memory. */
NAY_INLINE const uint64_t *batch_feed_paced(const batch_feed *feed) {
  const batch_group *g = &feed->groups[feed->last];
  return feed->paced && g->n == 64 ? g->lo : NULL;
}

/* Asks for the memory of that group at once, unless that has been done with its hashes. */
static void batch_feed_fetch(const batch_feed *feed) {
  const batch_group *g = &feed->groups[feed->last];
  if (!feed->fetch || (!feed->in.hashed && !feed->paced)) return;
  feed->filter->family->prefetch64(feed->filter, g->lo, g->hi, g->n);
}

/* Asks for the first keys, those that nay__keys_ahead does not. */
static void batch_first_keys(const nay_key_list *list) {
  size_t n = list->n < NAY_KEYS_AHEAD ? list->n : NAY_KEYS_AHEAD;
  for (size_t i = 0; list->keys != NULL && i < n; i++) NAY_PREFETCH(list->keys[i]);
}

static void batch_feed_start(batch_feed *feed, const nay_filter *f, const batch_input *in,
                             bool can_pace) {
  feed->filter = f;
  feed->in = *in;
  feed->next = feed->turn = 0;
  feed->last = 2;
  feed->fetch = f->family->prefetch64 != NULL && !f->bits.in_cache && f->lazy == NULL;
  feed->paced = feed->fetch && can_pace;
  feed->bad = false;
  if (!in->hashed) batch_first_keys(&in->list);
  for (unsigned i = 0; i < 2; i++) {
    batch_feed_ahead(feed);
    batch_feed_fetch(feed);
  }
}

/* ---- what the caller may not give ---- */

/* Single keys are looked at when they are hashed. */
static nay_status batch_list_ok(const nay_filter *f, const batch_input *in) {
  const nay_key_list *list = &in->list;
  bool there = list->offsets != NULL || (list->keys != NULL && list->lens != NULL);
  if (f == NULL || (in->n != 0 && !there)) return NAY_EINVAL;
  return nay__hasher_ready(&f->hasher);
}

/* Keys must be usable before the first one is added: a failed batch has added nothing. */
static nay_status batch_keys_ok(const nay_filter *f, const batch_input *in) {
  NAY_TRY(batch_list_ok(f, in));
  bool bad = false;
  for (size_t i = 0; i < in->n; i++) {
    size_t len;
    bad |= batch_key(&in->list, i, &len) == NULL && len != 0;
  }
  return bad ? NAY_EINVAL : NAY_OK;
}

static nay_status batch_hashes_ok(const nay_filter *f, const batch_input *in) {
  if (f == NULL || (in->n != 0 && in->lo == NULL)) return NAY_EINVAL;
  bool half = in->n != 0 && in->hi == NULL && nay__hash_has_hi(f->hasher.kind);
  return half ? NAY_EINVAL : NAY_OK;
}

static batch_input batch_of_hashes(const uint64_t *lo, const uint64_t *hi, size_t n) {
  return (batch_input){.lo = lo, .hi = hi, .hashed = true, .n = n};
}

static batch_input batch_of_keys(const void *const *keys, const size_t *lens, size_t n) {
  return (batch_input){.list = {.keys = keys, .lens = lens, .n = n}, .n = n};
}

static batch_input batch_of_packed(const void *bytes, const size_t *offsets, size_t n) {
  return (batch_input){.list = {.bytes = bytes, .offsets = offsets, .n = n}, .n = n};
}

/* ---- add ---- */

/* word may be NULL. */
static nay_status batch_add_group(const batch_feed *feed, nay_filter *f, const batch_group *g,
                                  uint64_t *word) {
  const uint64_t *next = batch_feed_paced(feed);
  if (next != NULL) return f->family->add64_ahead(f, g->lo, next, word);
  batch_feed_fetch(feed);
  uint64_t ignored;
  if (word == NULL && f->family->put64 != NULL && f->family->put64(f, g->lo, g->n)) return NAY_OK;
  return f->family->add64(f, g->lo, g->hi, g->n, word != NULL ? word : &ignored);
}

/* The keys have been checked. */
static void batch_spread_keys(const nay_filter *f, const batch_input *in, nay_partitioner *spread) {
  uint64_t hashes[1024];
  for (size_t i = 0; i < in->n; i += 1024) {
    size_t n = nay__min_u64(in->n - i, 1024);
    (void)batch_hash(f, &in->list, i, n, hashes, NULL);
    nay__partitioner_add(spread, 0, hashes, n);
  }
}

/* So many that they are gathered by neighbourhood. False: that does not pay, or takes memory that
 * cannot be had. */
static bool batch_spread(nay_filter *f, const batch_input *in) {
  nay_partitioner *spread;
  bool ordered = in->hashed && nay__partitioner_ordered(in->lo, in->n);
  if (ordered || !nay__partitioner_pays(f, in->n)) return false;
  if (nay__partitioner_new(f, 1, &spread) != NAY_OK) return false;
  if (in->hashed) {
    nay__partitioner_add(spread, 0, in->lo, in->n);
  } else {
    batch_spread_keys(f, in, spread);
  }
  nay__partitioner_flush(spread, 0);
  nay__partitioner_free(spread);
  return true;
}

static nay_status batch_add(nay_filter *f, const batch_input *in, uint64_t *bitmap) {
  if (f->family->add64 == NULL) return NAY_ENOTSUP;
  if (bitmap == NULL && batch_spread(f, in)) return NAY_OK;
  batch_feed feed;
  batch_feed_start(&feed, f, in, f->family->add64_ahead != NULL);
  const batch_group *g;
  while ((g = batch_feed_next(&feed))->n != 0) {
    NAY_TRY(batch_add_group(&feed, f, g, bitmap));
    if (bitmap != NULL) bitmap++;
  }
  return NAY_OK;
}

nay_status nay_filter_add_hash_many(nay_filter *f, const uint64_t *lo, const uint64_t *hi, size_t n,
                                    uint64_t *bitmap) {
  batch_input in = batch_of_hashes(lo, hi, n);
  NAY_TRY(nay__filter_writable(f));
  NAY_TRY(batch_hashes_ok(f, &in));
  return batch_add(f, &in, bitmap);
}

nay_status nay_filter_add_many(nay_filter *f, const void *const *keys, const size_t *lens, size_t n,
                               uint64_t *bitmap) {
  batch_input in = batch_of_keys(keys, lens, n);
  NAY_TRY(nay__filter_writable(f));
  NAY_TRY(batch_keys_ok(f, &in));
  return batch_add(f, &in, bitmap);
}

nay_status nay_filter_add_packed(nay_filter *f, const void *bytes, const size_t *offsets, size_t n,
                                 uint64_t *bitmap) {
  batch_input in = batch_of_packed(bytes, offsets, n);
  NAY_TRY(nay__filter_writable(f));
  NAY_TRY(batch_keys_ok(f, &in));
  return batch_add(f, &in, bitmap);
}

nay_status nay_filter_hash_many(const nay_filter *f, const void *const *keys, const size_t *lens,
                                size_t n, uint64_t *lo, uint64_t *hi) {
  batch_input in = batch_of_keys(keys, lens, n);
  NAY_TRY(batch_keys_ok(f, &in));
  if (n != 0 && (lo == NULL || (hi == NULL && nay__hash_has_hi(f->hasher.kind)))) {
    return NAY_EINVAL;
  }
  batch_hash(f, &in.list, 0, n, lo, hi);
  return NAY_OK;
}

/* ---- test ---- */

static NAY_NOINLINE uint64_t batch_test_one_by_one(const nay_filter *f, const batch_group *g) {
  uint64_t word = 0;
  for (unsigned i = 0; i < g->n; i++) {
    nay_hash hash = {g->lo[i], g->hi != NULL ? g->hi[i] : 0};
    word |= (uint64_t)nay_filter_may_contain_hash(f, hash) << i;
  }
  return word;
}

static uint64_t batch_test_group(const batch_feed *feed, const batch_group *g) {
  const nay_filter *f = feed->filter;
  const uint64_t *next = batch_feed_paced(feed);
  if (next != NULL) return f->family->test64_ahead(f, g->lo, next);
  if (NAY_UNLIKELY(f->lazy != NULL)) return batch_test_one_by_one(f, g);
  batch_feed_fetch(feed);
  return f->family->test64(f, g->lo, g->hi, g->n);
}

static nay_status batch_all_maybe(nay_status status, size_t n, uint64_t *bitmap) {
  for (size_t i = 0; i < n; i += 64) {
    bitmap[i / 64] = ~(uint64_t)0 >> (n - i < 64 ? 64 - (n - i) : 0);
  }
  return status;
}

/* `status` tells whether the input can be used; where it cannot no key is known to be absent. */
static nay_status batch_test(nay_status status, const nay_filter *f, const batch_input *in,
                             uint64_t *bitmap) {
  if (in->n != 0 && bitmap == NULL) return NAY_EINVAL;
  if (status != NAY_OK) return batch_all_maybe(status, in->n, bitmap);
  batch_feed feed;
  batch_feed_start(&feed, f, in, f->family->test64_ahead != NULL);
  const batch_group *g;
  uint64_t *word = bitmap;
  while ((g = batch_feed_next(&feed))->n != 0) *word++ = batch_test_group(&feed, g);
  if (feed.bad) return batch_all_maybe(NAY_EINVAL, in->n, bitmap);
  return nay_filter_health(f);
}

nay_status nay_filter_may_contain_hash_many(const nay_filter *f, const uint64_t *lo,
                                            const uint64_t *hi, size_t n, uint64_t *bitmap) {
  batch_input in = batch_of_hashes(lo, hi, n);
  return batch_test(batch_hashes_ok(f, &in), f, &in, bitmap);
}

nay_status nay_filter_may_contain_many(const nay_filter *f, const void *const *keys,
                                       const size_t *lens, size_t n, uint64_t *bitmap) {
  batch_input in = batch_of_keys(keys, lens, n);
  return batch_test(batch_list_ok(f, &in), f, &in, bitmap);
}

nay_status nay_filter_may_contain_packed(const nay_filter *f, const void *bytes,
                                         const size_t *offsets, size_t n, uint64_t *bitmap) {
  batch_input in = batch_of_packed(bytes, offsets, n);
  return batch_test(batch_list_ok(f, &in), f, &in, bitmap);
}

/* ---- one key, in two steps ---- */

void nay_filter_prepare(const nay_filter *f, nay_hash hash) {
  if (f == NULL || f->bits.in_cache || f->lazy != NULL) return;
  if (f->family->prepare != NULL) {
    f->family->prepare(f, hash);
  } else if (f->family->prefetch64 != NULL) {
    f->family->prefetch64(f, &hash.lo, &hash.hi, 1);
  }
}

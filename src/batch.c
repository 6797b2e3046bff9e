/*
 * batch.c - many keys in one call: the feed of groups, and batches of probes.
 *
 * A batch is cut into groups of 64, so that the answers of a group are one word of the bitmap.
 * While the family works on one group, the cache lines of the next two are being prefetched (unless
 * the filter fits in the cache), by one of three strategies:
 *
 *   with the work    one line for each key of the current group: families that interleave
 *   with the hashes  hash 16 keys, then prefetch 16 lines: other families, the caller's keys
 *   at once          other families, the caller's hashes; and groups of fewer than 64
 *
 * A core tracks only so many outstanding misses (line-fill buffers); 64 prefetches at once stall
 * what follows until the last of them has a buffer. All prefetches target L2, which has more of
 * them than L1 (NAY_PREFETCH).
 *
 * Keys with pointers of their own may be anywhere, so they miss the cache, too: the start of the
 * batch prefetches the first NAY_KEYS_AHEAD, and hashing a key prefetches the one that many later.
 */
#include "batch.h"

#include "base/abi.h"
#include "filter.h"

/* ---- hashing ---- */

NAY_INLINE const void *batch_key(const nay_key_list *list, size_t i, size_t *len) {
  if (list->keys != NULL) {
    *len = list->lens[i];
    return list->keys[i];
  }
  *len = list->offsets[i + 1] - list->offsets[i]; /* of a column: checked */
  return list->bytes != NULL ? list->bytes + list->offsets[i] : NULL;
}

/* XXH3: vector kernels hash short keys where the CPU has them; the loop inlines the others. */
NAY_FLATTEN static bool batch_hash_xxh3(uint64_t seed, const nay_hash_kernels *kernels,
                                        const nay_key_list *list, size_t from, size_t n,
                                        uint64_t *lo) {
  bool ok = true;
  for (size_t i = 0; i < n;) {
    if (kernels != NULL) i += kernels->xxh3_short(seed, list, from + i, n - i, lo + i);
    for (size_t end = n - i < 8 ? n : i + 8; i < end; i++) {
      size_t len;
      const void *key = batch_key(list, from + i, &len);
      nay__prefetch_keys(list, from + i, 1);
      ok &= key != NULL || len == 0;
      lo[i] = nay__hash_xxh3(seed, key, key != NULL ? len : 0);
    }
  }
  return ok;
}

static bool batch_hash_list(const nay_hash_fn *fn, const nay_hash_kernels *kernels,
                            const nay_key_list *list, size_t from, size_t n, uint64_t *lo,
                            uint64_t *hi) {
  if (NAY_LIKELY(fn->kind == NAY_HASH_XXH3)) {
    for (size_t i = 0; hi != NULL && i < n; i++) hi[i] = 0;
    return batch_hash_xxh3(fn->seed, kernels, list, from, n, lo);
  }
  bool ok = true;
  for (size_t i = 0; i < n; i++) {
    size_t len;
    const void *key = batch_key(list, from + i, &len);
    ok &= key != NULL || len == 0;
    nay_hash h = nay__hash_key(fn, key, key != NULL ? len : 0);
    lo[i] = h.lo;
    if (hi != NULL) hi[i] = h.hi;
  }
  return ok;
}

/* ---- columns ---- */

#define BATCH_COLUMN_ABI NAY_ABI(nay_column, width)
#define BATCH_OFFSETS 64u /* keys whose offsets are read and checked at a time */

nay_status nay__column_read(const nay_column *from, size_t n, nay_column *c) {
  if (from == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_read(BATCH_COLUMN_ABI, from, NULL, c));
  if (c->bytes == NULL && c->nbytes != 0) return NAY_EINVAL;
  if (c->offsets == NULL) {
    bool fits = c->width != 0 && n <= c->nbytes / c->width;
    return c->offset_bytes == 0 && (n == 0 || fits) ? NAY_OK : NAY_EINVAL;
  }
  return c->width == 0 && (c->offset_bytes == 4 || c->offset_bytes == 8) ? NAY_OK : NAY_EINVAL;
}

NAY_INLINE uint64_t batch_offset(const nay_column *c, const uint8_t *offsets, size_t from,
                                 size_t i) {
  uint32_t narrow;
  uint64_t wide;
  if (offsets == NULL) return (uint64_t)(from + i) * c->width;
  if (c->offset_bytes == 4) {
    memcpy(&narrow, offsets + 4 * i, sizeof narrow);
    return narrow;
  }
  memcpy(&wide, offsets + 8 * i, sizeof wide);
  return wide;
}

/* The offsets of n keys, at most BATCH_OFFSETS. False: one descends or is beyond the bytes, and all
 * are 0. */
static bool batch_offsets(const nay_column *c, size_t from, size_t n,
                          size_t offsets[BATCH_OFFSETS + 1]) {
  const uint8_t *next = c->offsets != NULL ? (const uint8_t *)c->offsets + from * c->offset_bytes
                                           : NULL; /* at any address */
  uint64_t last = 0;
  bool ok = true;
  for (size_t i = 0; i <= n; i++) {
    uint64_t at = batch_offset(c, next, from, i);
    ok &= at >= last && at <= c->nbytes;
    offsets[i] = (size_t)at;
    last = at;
  }
  if (!ok) memset(offsets, 0, (n + 1) * sizeof *offsets);
  return ok;
}

bool nay__batch_hash(const nay_hash_fn *fn, const nay_hash_kernels *kernels,
                     const nay_batch_input *in, size_t from, size_t n, uint64_t *lo, uint64_t *hi) {
  if (in->column == NULL) return batch_hash_list(fn, kernels, &in->list, from, n, lo, hi);
  bool ok = true;
  for (size_t i = 0; i < n; i += BATCH_OFFSETS) {
    size_t offsets[BATCH_OFFSETS + 1], m = n - i < BATCH_OFFSETS ? n - i : BATCH_OFFSETS;
    ok &= batch_offsets(in->column, from + i, m, offsets);
    nay_key_list list = {.bytes = in->column->bytes, .offsets = offsets};
    ok &= batch_hash_list(fn, kernels, &list, 0, m, lo + i, hi != NULL ? hi + i : NULL);
  }
  return ok;
}

bool nay__batch_all_ok(const nay_batch_input *in) {
  bool ok = true;
  const nay_key_list *list = &in->list;
  for (size_t i = 0; list->keys != NULL && i < in->n; i++) {
    if (list->keys[i] == NULL && list->lens[i] != 0) return false;
  }
  for (size_t i = 0; list->keys == NULL && in->column == NULL && i < in->n; i++) {
    size_t len;
    ok &= batch_key(list, i, &len) != NULL || len == 0;
  }
  for (size_t i = 0; in->column != NULL && i < in->n; i += BATCH_OFFSETS) {
    size_t offsets[BATCH_OFFSETS + 1], m = in->n - i < BATCH_OFFSETS ? in->n - i : BATCH_OFFSETS;
    ok &= batch_offsets(in->column, i, m, offsets);
  }
  return ok;
}

const void *nay__batch_key(const nay_batch_input *in, size_t i, size_t *len) {
  if (in->column == NULL) return batch_key(&in->list, i, len);
  size_t offsets[BATCH_OFFSETS + 1];
  (void)batch_offsets(in->column, i, 1, offsets);
  *len = offsets[1] - offsets[0];
  return in->column->bytes != NULL ? (const uint8_t *)in->column->bytes + offsets[0] : NULL;
}

/* ---- the feed ---- */

#define BATCH_STEP 16u

static bool batch_hash_group(const nay_batch_feed *feed, nay_batch_group *g) {
  const nay_filter *f = feed->filter;
  bool two = nay__hasher_has_hi(&f->hasher), prefetch = feed->prefetch && !feed->interleaved,
       ok = true;
  g->lo = g->hashed[0];
  g->hi = two ? g->hashed[1] : NULL;
  for (unsigned i = 0, step = prefetch ? BATCH_STEP : 64; i < g->n; i += step) {
    unsigned n = g->n - i < step ? g->n - i : step;
    uint64_t *hi = two ? g->hashed[1] + i : NULL;
    ok &= nay__batch_hash(&f->hasher, f->kernels->hash, &feed->in, feed->next + i, n,
                          g->hashed[0] + i, hi);
    if (prefetch) f->family->batch->prefetch(f, g->lo + i, hi, n);
  }
  return ok;
}

NAY_INLINE unsigned batch_turn(unsigned turn) { return turn < 2 ? turn + 1 : 0; }

/* Fills the next group of the ring. */
static void batch_make_group(nay_batch_feed *feed) {
  const nay_batch_input *in = &feed->in;
  feed->last = batch_turn(feed->last);
  nay_batch_group *g = &feed->groups[feed->last];
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

const nay_batch_group *nay__batch_next(nay_batch_feed *feed) {
  const nay_batch_group *ready = &feed->groups[feed->turn];
  feed->turn = batch_turn(feed->turn);
  batch_make_group(feed);
  return ready;
}

void nay__batch_prefetch(const nay_batch_feed *feed) {
  const nay_batch_group *g = &feed->groups[feed->last];
  if (!feed->prefetch || (!feed->in.hashed && !feed->interleaved)) return;
  feed->filter->family->batch->prefetch(feed->filter, g->lo, g->hi, g->n);
}

/* Prefetches the first keys, which nay__prefetch_keys does not. */
static void batch_first_keys(const nay_key_list *list) {
  size_t n = list->n < NAY_KEYS_AHEAD ? list->n : NAY_KEYS_AHEAD;
  for (size_t i = 0; list->keys != NULL && i < n; i++) NAY_PREFETCH(list->keys[i]);
}

void nay__batch_start(nay_batch_feed *feed, const nay_filter *f, const nay_batch_input *in,
                      bool interleaves) {
  feed->filter = f;
  feed->in = *in;
  feed->next = feed->turn = 0;
  feed->last = 2;
  feed->prefetch = f->family->batch->prefetch != NULL && !f->bits.in_cache && f->lazy == NULL;
  feed->interleaved = feed->prefetch && interleaves;
  feed->bad = false;
  if (!in->hashed) batch_first_keys(&in->list);
  for (unsigned i = 0; i < 2; i++) {
    batch_make_group(feed);
    nay__batch_prefetch(feed);
  }
}

/* ---- keys themselves, for families that take no hashes ---- */

nay_status nay__batch_each_key(const nay_batch_input *in, nay_batch_key_visitor visit, void *ctx) {
  for (size_t i = 0; i < in->n; i += BATCH_OFFSETS) {
    size_t offsets[BATCH_OFFSETS + 1], m = in->n - i < BATCH_OFFSETS ? in->n - i : BATCH_OFFSETS;
    nay_key_list list = in->list;
    size_t from = i;
    if (in->column != NULL) {
      if (!batch_offsets(in->column, i, m, offsets)) return NAY_EINVAL;
      list = (nay_key_list){.bytes = in->column->bytes, .offsets = offsets};
      from = 0;
    }
    for (size_t j = 0; j < m; j++) {
      size_t len;
      const void *key = batch_key(&list, from + j, &len);
      if (key == NULL && len != 0) return NAY_EINVAL;
      NAY_TRY(visit(ctx, nay__key_bytes(key), len, i + j));
    }
  }
  return NAY_OK;
}

typedef struct batch_key_test {
  const nay_filter *filter;
  uint64_t *bitmap;
} batch_key_test;

static nay_status batch_test_key(void *ctx, const uint8_t *key, size_t len, size_t i) {
  const batch_key_test *t = ctx;
  uint64_t bit = (uint64_t)t->filter->family->test_key(t->filter, key, len) << i % 64;
  t->bitmap[i / 64] = i % 64 == 0 ? bit : t->bitmap[i / 64] | bit;
  return NAY_OK;
}

/* ---- checks of the input ---- */

/* Hashing checks the single keys. */
static nay_status batch_list_ok(const nay_hash_fn *fn, const nay_batch_input *in) {
  const nay_key_list *list = &in->list;
  bool there = in->column != NULL || (list->keys != NULL && list->lens != NULL);
  if (in->n != 0 && !there) return NAY_EINVAL;
  return fn->foreign != NULL && fn->foreign->by_key ? NAY_OK : nay__hasher_ready(fn);
}

static nay_status batch_keys_ok(const nay_hash_fn *fn, const nay_batch_input *in) {
  NAY_TRY(batch_list_ok(fn, in));
  return nay__batch_all_ok(in) ? NAY_OK : NAY_EINVAL;
}

nay_status nay__batch_keys_ok(const nay_filter *f, const nay_batch_input *in) {
  return f != NULL ? batch_keys_ok(&f->hasher, in) : NAY_EINVAL;
}

nay_status nay__batch_hashes_ok(const nay_filter *f, const nay_batch_input *in) {
  if (f == NULL || (in->n != 0 && in->lo == NULL)) return NAY_EINVAL;
  if (f->family->test_key != NULL) return NAY_ENOTSUP;
  bool half = in->n != 0 && in->hi == NULL && nay__hasher_has_hi(&f->hasher);
  return half ? NAY_EINVAL : NAY_OK;
}

/* ---- hashes for the caller ---- */

nay_status nay_hasher_hash_many(const nay_hasher *hasher, const void *const *keys,
                                const size_t *lens, size_t n, uint64_t *lo, uint64_t *hi) {
  if (hasher == NULL) return NAY_EINVAL;
  const nay_hash_fn *fn = nay__hasher_of(hasher);
  nay_batch_input in = nay__batch_of_keys(keys, lens, n);
  NAY_TRY(batch_keys_ok(fn, &in));
  NAY_TRY(nay__hasher_ready(fn));
  if (n != 0 && (lo == NULL || (hi == NULL && nay__hasher_has_hi(fn)))) return NAY_EINVAL;
  nay__batch_hash(fn, nay__kernels_best()->hash, &in, 0, n, lo, hi);
  return NAY_OK;
}

/* ---- test ---- */

static NAY_NOINLINE uint64_t batch_test_one_by_one(const nay_filter *f, const nay_batch_group *g) {
  uint64_t word = 0;
  for (unsigned i = 0; i < g->n; i++) {
    nay_hash hash = {g->lo[i], g->hi != NULL ? g->hi[i] : 0};
    word |= (uint64_t)nay_filter_may_contain_hash(f, hash) << i;
  }
  return word;
}

static uint64_t batch_test_group(const nay_batch_feed *feed, const nay_batch_group *g) {
  const nay_filter *f = feed->filter;
  const uint64_t *next = nay__batch_interleaved(feed);
  if (NAY_UNLIKELY(f->lazy != NULL)) return batch_test_one_by_one(f, g);
  if (next == NULL) nay__batch_prefetch(feed);
  return f->family->batch->test(f, g->lo, g->hi, g->n, next);
}

static nay_status batch_all_maybe(nay_status status, size_t n, uint64_t *bitmap) {
  for (size_t i = 0; i < n; i += 64) {
    bitmap[i / 64] = ~(uint64_t)0 >> (n - i < 64 ? 64 - (n - i) : 0);
  }
  return status;
}

/* A family that needs the keys themselves. */
static nay_status batch_test_keys(const nay_filter *f, const nay_batch_input *in,
                                  uint64_t *bitmap) {
  if (!nay__batch_all_ok(in)) return batch_all_maybe(NAY_EINVAL, in->n, bitmap);
  for (size_t i = 0; i < in->n; i += 64) {
    const void *keys[64];
    size_t lens[64], n = in->n - i < 64 ? in->n - i : 64;
    for (size_t j = 0; j < n; j++) keys[j] = nay__batch_key(in, i + j, &lens[j]);
    bitmap[i / 64] = f->family->order->test_many(f, keys, lens, (unsigned)n);
  }
  return nay_filter_health(f);
}

/* status: whether the input is usable. If not, every answer is maybe. */
static nay_status batch_test(nay_status status, const nay_filter *f, const nay_batch_input *in,
                             uint64_t *bitmap) {
  if (in->n != 0 && bitmap == NULL) return NAY_EINVAL;
  if (status != NAY_OK) return batch_all_maybe(status, in->n, bitmap);
  if (f->family->test_key != NULL) {
    batch_key_test keys = {f, bitmap};
    status = nay__batch_each_key(in, batch_test_key, &keys);
    return status == NAY_OK ? NAY_OK : batch_all_maybe(status, in->n, bitmap);
  }
  if (!in->hashed && f->family->order != NULL) return batch_test_keys(f, in, bitmap);
  nay_batch_feed feed;
  nay__batch_start(&feed, f, in, f->family->batch->interleaves_test);
  const nay_batch_group *g;
  uint64_t *word = bitmap;
  while ((g = nay__batch_next(&feed))->n != 0) *word++ = batch_test_group(&feed, g);
  if (feed.bad) return batch_all_maybe(NAY_EINVAL, in->n, bitmap);
  return nay_filter_health(f);
}

nay_status nay_filter_may_contain_hash_many(const nay_filter *f, const uint64_t *lo,
                                            const uint64_t *hi, size_t n, uint64_t *bitmap) {
  nay_batch_input in = nay__batch_of_hashes(lo, hi, n);
  return batch_test(nay__batch_hashes_ok(f, &in), f, &in, bitmap);
}

nay_status nay_filter_may_contain_many(const nay_filter *f, const void *const *keys,
                                       const size_t *lens, size_t n, uint64_t *bitmap) {
  nay_batch_input in = nay__batch_of_keys(keys, lens, n);
  return batch_test(f != NULL ? batch_list_ok(&f->hasher, &in) : NAY_EINVAL, f, &in, bitmap);
}

nay_status nay_filter_may_contain_column(const nay_filter *f, const nay_column *column, size_t n,
                                         uint64_t *bitmap) {
  nay_column full;
  nay_status status = nay__column_read(column, n, &full);
  nay_batch_input in = nay__batch_of_column(&full, n);
  if (status == NAY_OK) status = f != NULL ? batch_list_ok(&f->hasher, &in) : NAY_EINVAL;
  return batch_test(status, f, &in, bitmap);
}

/* ---- one key, in two steps ---- */

void nay_filter_prefetch(const nay_filter *f, nay_hash hash) {
  if (f == NULL || f->lazy != NULL) return;
  if (f->family->batch->prefetch != NULL) f->family->batch->prefetch(f, &hash.lo, &hash.hi, 1);
}

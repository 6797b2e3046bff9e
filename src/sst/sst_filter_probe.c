/*
 * sst_filter_probe.c - probes the filters of a table before an index or data block is read.
 *
 * A native filter takes a hash, and nay_hash_memo keeps that of the last hash function: a lookup
 * over many tables hashes its key once.
 */
#include "sst/sst.h"

static bool filter_native_test(const nay_sst *t, const nay_native_filter *f,
                               const nay_target *target, nay_hash_memo *memo) {
  if (!memo->set || !nay_hasher_same(&memo->hasher, &f->hasher)) {
    nay_hash hash;
    if (nay_hasher_hash(&f->hasher, target->user, target->len, &hash) != NAY_OK) {
      return true; /* its secret key is missing */
    }
    memo->hasher = f->hasher;
    memo->hash = hash;
    memo->set = true;
    memo->nhashes++;
    nay__atomic_increment64(&t->counts->hashes);
  }
  return nay__native_filter_may_contain(f, memo->hash);
}

const nay_native_filter *nay__sst_filter_full(const nay_sst *t, nay_hold **hold,
                                              nay_cache_entry **pin) {
  *pin = NULL;
  if (t->filter_handle.at.size == 0 || t->policy != NULL || t->filter != NAY_SST_FULL_FILTER) {
    return t->full.filter != NULL ? &t->full : NULL;
  }
  nay_status status = nay__sst_cached(t, NAY_CACHED_FILTER, &t->filter_handle, hold, NULL, pin);
  return status == NAY_OK ? (*pin)->native : NULL;
}

static bool filter_policy_test(const nay_sst *t, const nay_target *target, const uint8_t *bytes,
                               size_t len) {
  return t->policy->may_contain(t->policy->ctx, target->user, target->len, bytes, len);
}

/* One that the cache has or takes, pinned; NULL: it cannot be read, which is counted. */
static nay_cache_entry *filter_cached(const nay_sst *t, nay_cached what,
                                      const nay_checked_handle *handle, nay_hold **hold) {
  nay_cache_entry *e;
  if (nay__sst_cached(t, what, handle, hold, NULL, &e) == NAY_OK) return e;
  nay__sst_filter_fault(t);
  return NULL;
}

/* A partition, or a full filter in the cache. */
static nay_verdict filter_probe_cached(const nay_sst *t, const nay_checked_handle *handle,
                                       const nay_target *target, nay_hash_memo *memo,
                                       nay_hold **hold) {
  nay_cache_entry *e = filter_cached(t, NAY_CACHED_FILTER, handle, hold);
  if (e == NULL) return NAY_NOT_PROBED;
  bool maybe = t->policy != NULL ? filter_policy_test(t, target, e->bytes, e->len)
                                 : filter_native_test(t, e->native, target, memo);
  nay__sst_cached_release(t, e);
  return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
}

static bool filter_find_partition(const nay_sst *t, const nay_block *partitions,
                                  const nay_target *target, nay_checked_handle *handle) {
  nay_found found;
  return nay__block_find(partitions, t->order, target, &t->allocator, NULL, &found) == NAY_OK &&
         nay__sst_partition(t, &found.entry, handle);
}

/* The same by an index of partitions in the cache. */
static bool filter_find_cached(const nay_sst *t, const nay_target *target, nay_hold **hold,
                               nay_checked_handle *handle) {
  nay_block partitions;
  nay_cache_entry *e;
  if (nay__sst_cached(t, NAY_CACHED_PARTITIONS, &t->filter_handle, hold, NULL, &e) != NAY_OK) {
    return false;
  }
  bool found = nay__block_open(e->bytes, e->len, NULL, &partitions) == NAY_OK &&
               filter_find_partition(t, &partitions, target, handle);
  nay__sst_cached_release(t, e);
  return found;
}

static nay_verdict filter_probe_partition(const nay_sst *t, const nay_target *target,
                                          nay_hash_memo *memo, nay_hold **hold) {
  nay_checked_handle handle;
  bool found = t->partitions.bytes != NULL
                   ? filter_find_partition(t, &t->partitions, target, &handle)
                   : filter_find_cached(t, target, hold, &handle);
  if (found) return filter_probe_cached(t, &handle, target, memo, hold);
  nay__sst_filter_fault(t);
  return NAY_NOT_PROBED;
}

/* The prefix filter knows the prefix of every key that has one. */
static nay_verdict filter_probe_prefix(const nay_sst *t, const uint8_t *key, size_t len,
                                       nay_hold **hold, size_t *prefix_len) {
  size_t n = 0;
  const nay_sst_prefix *prefix = t->options.prefix;
  if (!t->prefix_used || !prefix->extract(prefix, key, len, &n) || n > len) return NAY_NOT_PROBED;
  nay_cache_entry *e = NULL;
  const nay_filter *f = t->prefix;
  if (f == NULL) {
    e = filter_cached(t, NAY_CACHED_PREFIX, &t->prefix_handle, hold);
    if (e == NULL) return NAY_NOT_PROBED;
    f = e->native->filter;
  }
  bool maybe = nay_filter_may_contain(f, key, n);
  if (e != NULL) nay__sst_cached_release(t, e);
  *prefix_len = n;
  nay__atomic_increment64(maybe ? &t->counts->prefix_maybe : &t->counts->prefix_useful);
  return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
}

nay_verdict nay__sst_probe(const nay_sst *t, const nay_target *target, nay_hash_memo *memo,
                           nay_hold **hold, size_t *prefix_len) {
  bool maybe;
  if (!t->filter_used) return filter_probe_prefix(t, target->user, target->len, hold, prefix_len);
  switch (t->filter) {
    case NAY_SST_FULL_FILTER:
      if (t->filter_handle.at.size != 0) {
        return filter_probe_cached(t, &t->filter_handle, target, memo, hold);
      }
      maybe = t->full.filter != NULL
                  ? filter_native_test(t, &t->full, target, memo)
                  : filter_policy_test(t, target, t->filter_at.at, t->filter_at.len);
      return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
    case NAY_SST_PARTITIONED_FILTER: return filter_probe_partition(t, target, memo, hold);
    default: return NAY_NOT_PROBED;
  }
}

NAY_INLINE nay_verdict filter_probe_in_block(const nay_sst *t, const nay_filter_block *block,
                                             const nay_target *target, nay_handle handle) {
  const uint8_t *bytes;
  size_t len;
  if (!nay__filter_block_find(block, handle.offset, &bytes, &len)) return NAY_SAYS_MAYBE;
  bool maybe = len != 0 && filter_policy_test(t, target, bytes, len);
  return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
}

/* The filter block is in the cache. */
NAY_NOINLINE static nay_verdict filter_probe_cached_block(const nay_sst *t,
                                                          const nay_target *target,
                                                          nay_handle handle, nay_hold **hold) {
  nay_filter_block block;
  nay_cache_entry *e = filter_cached(t, NAY_CACHED_FILTER, &t->filter_handle, hold);
  if (e == NULL) return NAY_NOT_PROBED;
  bool whole = nay__filter_block_open(e->bytes, e->len, &block);
  if (!whole) nay__sst_filter_fault(t);
  nay_verdict verdict = whole ? filter_probe_in_block(t, &block, target, handle) : NAY_NOT_PROBED;
  nay__sst_cached_release(t, e);
  return verdict;
}

nay_verdict nay__sst_probe_block(const nay_sst *t, const nay_target *target, nay_handle handle,
                                 nay_hold **hold) {
  if (!t->filter_used || t->filter != NAY_SST_BLOCK_FILTER) return NAY_NOT_PROBED;
  if (t->filter_handle.at.size != 0) return filter_probe_cached_block(t, target, handle, hold);
  return filter_probe_in_block(t, &t->filter_block, target, handle);
}

/* Whether no key at or above `prefix` and below `to` starts otherwise: to <= successor(prefix). */
static bool filter_covers(nay_bytes prefix, nay_bytes to) {
  size_t n = prefix.len;
  while (n > 0 && prefix.at[n - 1] == 0xff) n--;
  if (n == 0) return true; /* nothing sorts behind all keys that start with it */
  size_t least = n - 1 < to.len ? n - 1 : to.len, same = nay__common(prefix.at, to.at, least);
  if (same < least) return to.at[same] < prefix.at[same];
  if (to.len < n) return true;
  return to.at[n - 1] <= prefix.at[n - 1] || (to.at[n - 1] == prefix.at[n - 1] + 1 && to.len == n);
}

/* Of the caller's comparator only what it says is known: between two keys of one prefix all keys
 * have it. */
static bool filter_same_prefix(const nay_sst *t, nay_bytes prefix, const nay_bytes *to) {
  const nay_sst_prefix *extractor = t->options.prefix;
  size_t n = 0;
  return t->order.user->prefixes_contiguous && to != NULL &&
         extractor->extract(extractor, to->at, to->len, &n) && n == prefix.len && n <= to->len &&
         memcmp(to->at, prefix.at, n) == 0;
}

/* Whether all keys of the range share the prefix of `from`. */
static bool filter_range_shares(const nay_sst *t, nay_bytes from, const nay_bytes *to) {
  size_t n = 0;
  const nay_sst_prefix *prefix = t->options.prefix;
  if (!prefix->extract(prefix, from.at, from.len, &n) || n > from.len) {
    return false;
  }
  nay_bytes start = {from.at, n};
  if (t->order.user != NULL) return filter_same_prefix(t, start, to);
  if (to != NULL) return filter_covers(start, *to);
  for (size_t i = 0; i < n; i++) {
    if (from.at[i] != 0xff) return false;
  }
  return true;
}

nay_verdict nay__sst_probe_range(const nay_sst *t, nay_bytes from, const nay_bytes *to) {
  size_t n;
  nay_hold *hold = NULL;
  if (!t->prefix_used || !filter_range_shares(t, from, to)) return NAY_NOT_PROBED;
  nay_verdict verdict = filter_probe_prefix(t, from.at, from.len, &hold, &n);
  nay__hold_free(hold);
  return verdict;
}

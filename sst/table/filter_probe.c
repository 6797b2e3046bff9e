/*
 * filter_probe.c - probes the filters of a table, before an index or data block is read.
 *
 * A native filter is probed with a hash. nay_hash_memo keeps the hash of the last hash function, so
 * a lookup over many tables hashes its key once.
 */
#include "table/table.h"

static bool filter_probe_native(const nay_sst *t, const nay_native_filter *f,
                                const nay_target *target, nay_hash_memo *memo) {
  if (!memo->set || !nay_hasher_same(&memo->hasher, &f->hasher)) {
    nay_hash hash;
    if (nay_hasher_hash(&f->hasher, target->user, target->len, &hash) != NAY_OK) {
      return true; /* the filter's secret key is missing */
    }
    memo->hasher = f->hasher;
    memo->hash = hash;
    memo->set = true;
    memo->nhashes++;
    nay__atomic_increment64(&t->counts->hashes);
  }
  return nay_sst__native_filter_may_contain(f, memo->hash);
}

const nay_native_filter *nay_sst__filter_full(const nay_sst *t, nay_hold **hold,
                                              nay_cache_entry **pin) {
  *pin = NULL;
  if (t->filters.handle.at.size == 0 || t->filters.policy != NULL ||
      t->filters.layout != NAY_SST_FULL_FILTER) {
    return t->filters.full.filter != NULL ? &t->filters.full : NULL;
  }
  nay_status status = nay_sst__cached(t, NAY_CACHED_FILTER, &t->filters.handle, hold, NULL, pin);
  return status == NAY_OK ? (*pin)->native : NULL;
}

static bool filter_probe_policy(const nay_sst *t, const nay_target *target, const uint8_t *bytes,
                                size_t len) {
  return t->filters.policy->may_contain(t->filters.policy->ctx, target->user, target->len, bytes,
                                        len);
}

/* Returns the pinned cache entry of a filter. NULL: it cannot be loaded, which is counted as a
 * fault. */
static nay_cache_entry *filter_load_cached(const nay_sst *t, nay_cached what,
                                           const nay_checked_handle *handle, nay_hold **hold) {
  nay_cache_entry *e;
  if (nay_sst__cached(t, what, handle, hold, NULL, &e) == NAY_OK) return e;
  nay_sst__filter_fault(t);
  return NULL;
}

/* Probes a partition, or a full filter that lives in the cache. */
static nay_verdict filter_probe_cached(const nay_sst *t, const nay_checked_handle *handle,
                                       const nay_target *target, nay_hash_memo *memo,
                                       nay_hold **hold) {
  nay_cache_entry *e = filter_load_cached(t, NAY_CACHED_FILTER, handle, hold);
  if (e == NULL) return NAY_NOT_PROBED;
  bool maybe = t->filters.policy != NULL ? filter_probe_policy(t, target, e->bytes, e->len)
                                         : filter_probe_native(t, e->native, target, memo);
  nay_sst__cached_release(t, e);
  return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
}

static bool filter_find_partition(const nay_sst *t, const nay_block *partitions,
                                  const nay_target *target, nay_checked_handle *handle) {
  nay_found found;
  return nay_sst__block_find(partitions, t->order, target, &t->allocator, NULL, &found) == NAY_OK &&
         nay_sst__table_partition(t, &found.entry, handle);
}

/* Finds the partition of a key by a partition index that lives in the cache. */
static bool filter_find_partition_cached(const nay_sst *t, const nay_target *target,
                                         nay_hold **hold, nay_checked_handle *handle) {
  nay_block partitions;
  nay_cache_entry *e;
  if (nay_sst__cached(t, NAY_CACHED_PARTITIONS, &t->filters.handle, hold, NULL, &e) != NAY_OK) {
    return false;
  }
  bool found = nay_sst__block_open(e->bytes, e->len, NULL, &partitions) == NAY_OK &&
               filter_find_partition(t, &partitions, target, handle);
  nay_sst__cached_release(t, e);
  return found;
}

static nay_verdict filter_probe_partition(const nay_sst *t, const nay_target *target,
                                          nay_hash_memo *memo, nay_hold **hold) {
  nay_checked_handle handle;
  bool found = t->filters.partitions.bytes != NULL
                   ? filter_find_partition(t, &t->filters.partitions, target, &handle)
                   : filter_find_partition_cached(t, target, hold, &handle);
  if (found) return filter_probe_cached(t, &handle, target, memo, hold);
  nay_sst__filter_fault(t);
  return NAY_NOT_PROBED;
}

/* Probes the prefix filter with the prefix of the key. Every key that has a prefix is in the
 * filter. */
static nay_verdict filter_probe_prefix(const nay_sst *t, const uint8_t *key, size_t len,
                                       nay_hold **hold, size_t *prefix_len) {
  size_t n = 0;
  const nay_sst_prefix *prefix = t->options.prefix;
  if (!t->filters.prefix_used || prefix->extract(prefix->ctx, key, len, &n) != NAY_OK || n > len)
    return NAY_NOT_PROBED;
  nay_cache_entry *e = NULL;
  const nay_filter *f = t->filters.prefix;
  if (f == NULL) {
    e = filter_load_cached(t, NAY_CACHED_PREFIX, &t->filters.prefix_handle, hold);
    if (e == NULL) return NAY_NOT_PROBED;
    f = e->native->filter;
  }
  bool maybe = nay_filter_may_contain(f, key, n);
  if (e != NULL) nay_sst__cached_release(t, e);
  *prefix_len = n;
  nay__atomic_increment64(maybe ? &t->counts->prefix_maybe : &t->counts->prefix_useful);
  return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
}

nay_verdict nay_sst__probe(const nay_sst *t, const nay_target *target, nay_hash_memo *memo,
                           nay_hold **hold, size_t *prefix_len) {
  bool maybe;
  if (!t->filters.used) return filter_probe_prefix(t, target->user, target->len, hold, prefix_len);
  switch (t->filters.layout) {
    case NAY_SST_FULL_FILTER:
      if (t->filters.handle.at.size != 0) {
        return filter_probe_cached(t, &t->filters.handle, target, memo, hold);
      }
      maybe = t->filters.full.filter != NULL
                  ? filter_probe_native(t, &t->filters.full, target, memo)
                  : filter_probe_policy(t, target, t->filters.at.at, t->filters.at.len);
      return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
    case NAY_SST_PARTITIONED_FILTER: return filter_probe_partition(t, target, memo, hold);
    default: return NAY_NOT_PROBED;
  }
}

NAY_INLINE nay_verdict filter_probe_in_block(const nay_sst *t, const nay_filter_block *block,
                                             const nay_target *target, nay_handle handle) {
  const uint8_t *bytes;
  size_t len;
  if (!nay_sst__filter_block_find(block, handle.offset, &bytes, &len)) return NAY_SAYS_MAYBE;
  bool maybe = len != 0 && filter_probe_policy(t, target, bytes, len);
  return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
}

/* Probes LevelDB's filter block when it lives in the cache. */
NAY_NOINLINE static nay_verdict filter_probe_cached_block(const nay_sst *t,
                                                          const nay_target *target,
                                                          nay_handle handle, nay_hold **hold) {
  nay_filter_block block;
  nay_cache_entry *e = filter_load_cached(t, NAY_CACHED_FILTER, &t->filters.handle, hold);
  if (e == NULL) return NAY_NOT_PROBED;
  bool whole = nay_sst__filter_block_open(e->bytes, e->len, &block);
  if (!whole) nay_sst__filter_fault(t);
  nay_verdict verdict = whole ? filter_probe_in_block(t, &block, target, handle) : NAY_NOT_PROBED;
  nay_sst__cached_release(t, e);
  return verdict;
}

nay_verdict nay_sst__probe_block(const nay_sst *t, const nay_target *target, nay_handle handle,
                                 nay_hold **hold) {
  if (!t->filters.used || t->filters.layout != NAY_SST_BLOCK_FILTER) return NAY_NOT_PROBED;
  if (t->filters.handle.at.size != 0) return filter_probe_cached_block(t, target, handle, hold);
  return filter_probe_in_block(t, &t->filters.block, target, handle);
}

/* Whether all keys in [prefix, to) start with the prefix: to <= successor(prefix). */
static bool filter_prefix_covers(nay_bytes prefix, nay_bytes to) {
  size_t n = prefix.len;
  while (n > 0 && prefix.at[n - 1] == 0xff) n--;
  if (n == 0) return true; /* the prefix is all 0xff: all keys from it on start with it */
  size_t least = n - 1 < to.len ? n - 1 : to.len, same = nay_sst__common(prefix.at, to.at, least);
  if (same < least) return to.at[same] < prefix.at[same];
  if (to.len < n) return true;
  return to.at[n - 1] <= prefix.at[n - 1] || (to.at[n - 1] == prefix.at[n - 1] + 1 && to.len == n);
}

/* Whether `to` has the same prefix, and the caller's comparator promises that keys of one prefix
 * are contiguous. The library knows nothing else about the order of a comparator. */
static bool filter_contiguous_prefix(const nay_sst *t, nay_bytes prefix, const nay_bytes *to) {
  const nay_sst_prefix *extractor = t->options.prefix;
  size_t n = 0;
  return t->order.user->prefixes_contiguous && to != NULL &&
         extractor->extract(extractor->ctx, to->at, to->len, &n) == NAY_OK && n == prefix.len &&
         n <= to->len && memcmp(to->at, prefix.at, n) == 0;
}

/* Whether all keys in [from, to) share the prefix of `from`. */
static bool filter_range_has_one_prefix(const nay_sst *t, nay_bytes from, const nay_bytes *to) {
  size_t n = 0;
  const nay_sst_prefix *prefix = t->options.prefix;
  if (prefix->extract(prefix->ctx, from.at, from.len, &n) != NAY_OK || n > from.len) {
    return false;
  }
  nay_bytes start = {from.at, n};
  if (t->order.user != NULL) return filter_contiguous_prefix(t, start, to);
  if (to != NULL) return filter_prefix_covers(start, *to);
  for (size_t i = 0; i < n; i++) {
    if (from.at[i] != 0xff) return false;
  }
  return true;
}

nay_verdict nay_sst__probe_range(const nay_sst *t, nay_bytes from, const nay_bytes *to,
                                 bool *asked) {
  size_t n;
  nay_hold *hold = NULL;
  nay_verdict range = to != NULL ? nay_sst__probe_range_filter(t, from, *to) : NAY_NOT_PROBED;
  *asked = range == NAY_SAYS_MAYBE;
  if (range == NAY_SAYS_NAY) return range;
  if (!t->filters.prefix_used || !filter_range_has_one_prefix(t, from, to)) return range;
  nay_verdict verdict = filter_probe_prefix(t, from.at, from.len, &hold, &n);
  nay_sst__hold_free(hold);
  if (verdict == NAY_SAYS_NAY && *asked) nay_sst__range_false_positive(t);
  return verdict;
}

/*
 * sst_filter_probe.c - probes the filters of a table before an index or data block is read.
 *
 * A native filter takes a hash, and nay_hash_memo keeps that of the last hash function: a lookup
 * over many tables hashes its key once.
 */
#include "sst/sst.h"

static bool filter_native_test(const nay_sst *t, const nay_filter *f, const nay_target *target,
                               nay_hash_memo *memo) {
  if (!memo->set || !nay__hasher_same(&memo->hasher, &f->hasher)) {
    if (nay__hasher_ready(&f->hasher) != NAY_OK) return true; /* its secret key is missing */
    memo->hasher = f->hasher;
    memo->hash = nay__hash_key(&f->hasher, target->len != 0 ? target->user : (const uint8_t *)"",
                               target->len);
    memo->set = true;
    memo->nhashes++;
    nay__atomic_increment64(&t->counts->hashes);
  }
  return nay_filter_may_contain_hash(f, memo->hash);
}

nay_status nay__sst_filter_load(const nay_sst *t, nay_handle handle, nay_hold **hold,
                                nay_cache_entry **entry) {
  nay_sst_cache *cache = t->partition_cache;
  nay_bytes bytes;
  nay_cache_entry *e = nay__cache_find(cache, NAY_CACHE_FILTER, t->cache_id, handle.offset);
  *entry = e;
  if (e != NULL) return NAY_OK;
  nay__atomic_increment64(&t->counts->loads);
  NAY_TRY(nay__sst_read(t, handle, hold, NULL, &bytes));
  e = nay__cache_entry_new(cache, t->cache_id, handle.offset, t->policy != NULL ? bytes.len : 0);
  if (e == NULL) return NAY_ENOMEM;
  if (t->policy != NULL) {
    memcpy(e->bytes, bytes.at, bytes.len);
  } else {
    e->filter = nay__sst_filter_decode(t, bytes, nay__cache_allocator(cache));
    if (e->filter == NULL) {
      nay__cache_entry_free(cache, e);
      return NAY_ECORRUPT;
    }
    e->charge += sizeof *e->filter + e->filter->memory.raw_size;
  }
  nay__cache_insert(cache, NAY_CACHE_FILTER, e);
  *entry = e;
  return NAY_OK;
}

const nay_filter *nay__sst_filter_full(const nay_sst *t, nay_hold **hold, nay_cache_entry **pin) {
  *pin = NULL;
  if (t->full_handle.size == 0 || t->policy != NULL || !t->filter_used) return t->full;
  return nay__sst_filter_load(t, t->full_handle, hold, pin) == NAY_OK ? (*pin)->filter : NULL;
}

static bool filter_policy_test(const nay_sst *t, const nay_target *target, const uint8_t *bytes,
                               size_t len) {
  return t->policy->may_match(t->policy, target->user, target->len, bytes, len);
}

/* A partition, or a full filter in the cache. */
static nay_verdict filter_probe_cached(const nay_sst *t, nay_handle handle,
                                       const nay_target *target, nay_hash_memo *memo,
                                       nay_hold **hold) {
  nay_cache_entry *e;
  if (nay__sst_filter_load(t, handle, hold, &e) != NAY_OK) {
    nay__sst_filter_fault(t);
    return NAY_NOT_PROBED;
  }
  bool maybe = t->policy != NULL ? filter_policy_test(t, target, e->bytes, e->len)
                                 : filter_native_test(t, e->filter, target, memo);
  nay__cache_release(t->partition_cache, NAY_CACHE_FILTER, e);
  return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
}

static nay_verdict filter_probe_partition(const nay_sst *t, const nay_target *target,
                                          nay_hash_memo *memo, nay_hold **hold) {
  nay_found found;
  nay_handle handle;
  if (nay__block_find(&t->partitions, t->order, target, &t->allocator, NULL, &found) == NAY_OK &&
      nay__sst_handle(t, found.entry.value, found.entry.value_len, NULL, &handle) == NAY_OK) {
    return filter_probe_cached(t, handle, target, memo, hold);
  }
  nay__sst_filter_fault(t);
  return NAY_NOT_PROBED;
}

/* The prefix filter knows the prefix of every key that has one. */
static nay_verdict filter_probe_prefix(const nay_sst *t, const uint8_t *key, size_t len,
                                       size_t *prefix_len) {
  size_t n = 0;
  const nay_sst_prefix *prefix = t->options.prefix;
  if (t->prefix == NULL || !prefix->extract(prefix, key, len, &n) || n > len) return NAY_NOT_PROBED;
  bool maybe = nay_filter_may_contain(t->prefix, key, n);
  *prefix_len = n;
  nay__atomic_increment64(maybe ? &t->counts->prefix_maybe : &t->counts->prefix_useful);
  return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
}

nay_verdict nay__sst_probe(const nay_sst *t, const nay_target *target, nay_hash_memo *memo,
                           nay_hold **hold, size_t *prefix_len) {
  bool maybe;
  if (!t->filter_used) return filter_probe_prefix(t, target->user, target->len, prefix_len);
  switch (t->filter) {
    case NAY_SST_FULL_FILTER:
      if (t->full_handle.size != 0) {
        return filter_probe_cached(t, t->full_handle, target, memo, hold);
      }
      maybe = t->full != NULL ? filter_native_test(t, t->full, target, memo)
                              : filter_policy_test(t, target, t->filter_at.at, t->filter_at.len);
      return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
    case NAY_SST_PARTITIONED_FILTER: return filter_probe_partition(t, target, memo, hold);
    default: return NAY_NOT_PROBED;
  }
}

nay_verdict nay__sst_probe_block(const nay_sst *t, const nay_target *target, nay_handle handle) {
  if (!t->filter_used || t->filter != NAY_SST_BLOCK_FILTER) return NAY_NOT_PROBED;
  const uint8_t *bytes;
  size_t len;
  if (!nay__filter_block_find(&t->filter_block, handle.offset, &bytes, &len)) return NAY_SAYS_MAYBE;
  bool maybe = len != 0 && filter_policy_test(t, target, bytes, len);
  return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
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

nay_verdict nay__sst_probe_range(const nay_sst *t, nay_bytes from, const nay_bytes *to) {
  size_t n = 0;
  const nay_sst_prefix *prefix = t->options.prefix;
  if (t->prefix == NULL || !prefix->extract(prefix, from.at, from.len, &n) || n > from.len) {
    return NAY_NOT_PROBED;
  }
  nay_bytes start = {from.at, n}, all = {NULL, 0};
  if (t->order.user != NULL) {
    if (!filter_same_prefix(t, start, to)) return NAY_NOT_PROBED;
    return filter_probe_prefix(t, from.at, from.len, &n);
  }
  if (to == NULL) {
    for (size_t i = 0; i < n; i++) {
      if (from.at[i] != 0xff) return NAY_NOT_PROBED;
    }
  } else {
    all = *to;
  }
  if (to != NULL && !filter_covers(start, all)) return NAY_NOT_PROBED;
  return filter_probe_prefix(t, from.at, from.len, &n);
}

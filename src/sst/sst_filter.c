/*
 * sst_filter.c - the filters of a table: found in the metaindex, asked before blocks are read.
 *
 *   filter.<policy>            LevelDB's block of filters, one for each 2 KiB
 *   nay.full.<policy>          one filter
 *   nay.keys                   "plain" or "internal"
 *   nay.partitioned.<policy>   index of filters, one for each range of keys
 *   nay.prefix.<extractor>     one filter of prefixes, native
 *   rocksdb.properties         a table of RocksDB, format 0, which has LevelDB's footer
 *
 * A filter only ever saves work: one that cannot be read, has a policy that nobody knows or was
 * fed by another extractor is left out. Damage is counted as a fault.
 */
#include "sst/sst.h"

#define META_MAX_NAME 1024u         /* a longer one is nobody's */
#define FILTER_OWN_BYTES (1u << 20) /* of partitions: 100 of the default size */

/* ---- opening ---- */

static void filter_fault(const nay_sst *t) { nay__atomic_increment64(&t->counts->faults); }

static bool filter_starts(const nay_buffer *key, const char *with, nay_bytes *rest) {
  size_t n = strlen(with);
  if (key->len < n || memcmp(key->at, with, n) != 0) return false;
  *rest = (nay_bytes){key->at + n, key->len - n};
  return true;
}

static bool filter_is(nay_bytes name, const char *text) {
  size_t n = strlen(text);
  return name.len == n && (n == 0 || memcmp(name.at, text, n) == 0);
}

static const nay_policy *filter_policy(const nay_sst *t, nay_bytes name) {
  for (size_t i = 0; i < t->options.npolicies; i++) {
    if (filter_is(name, t->options.policies[i]->name)) return t->options.policies[i];
  }
  return NULL;
}

static nay_status filter_name(const nay_sst *t, nay_buffer *to, nay_bytes name) {
  to->len = 0;
  NAY_TRY(nay__buffer_append(to, name.at, name.len, &t->allocator));
  return nay__buffer_append(to, "", 1, &t->allocator);
}

/* A native filter from its bytes, with the caller's secret key if it wants one. NULL: damaged. */
static nay_filter *filter_decode(const nay_sst *t, nay_bytes bytes, const nay_allocator *a) {
  nay_filter *f = NULL;
  if (nay_filter_decode(bytes.at, bytes.len, a, NULL, &f) != NAY_OK) return NULL;
  if (t->options.hash_key != NULL) (void)nay_filter_unlock(f, t->options.hash_key);
  return f;
}

/* Whether a whole-key filter that is fetched can be used; fills the field of its kind. */
static bool filter_accept(nay_sst *t, nay_sst_filter kind, bool native, nay_bytes bytes) {
  switch (kind) {
    case NAY_SST_BLOCK_FILTER: return nay__filter_block_open(bytes.at, bytes.len, &t->filter_block);
    case NAY_SST_PARTITIONED_FILTER:
      t->npartitions = 0;
      return nay__block_open(bytes.at, bytes.len, NULL, &t->partitions) == NAY_OK;
    default:
      t->filter_at = bytes;
      if (native) t->full = filter_decode(t, bytes, &t->allocator);
      return !native || t->full != NULL;
  }
}

/*
 * What the partitions hold in all; their index tells, and so is walked once. Without a cache of the
 * caller's the table has one of its own for them: to read, check and decode a partition costs more
 * than the block that it saves.
 */
static nay_status filter_measure(nay_sst *t) {
  uint64_t largest = 0;
  nay_cursor c = {.block = t->partitions, .order = t->order, .allocator = &t->allocator};
  nay_status status = nay__cursor_first(&c, NULL);
  for (; status == NAY_OK; status = nay__cursor_next(&c, NULL)) {
    nay_handle h;
    if (nay__sst_handle(t, c.entry.value, c.entry.value_len, NULL, &h) != NAY_OK) continue;
    t->npartitions++;
    t->filter_bytes += h.size;
    if (h.size > largest) largest = h.size;
  }
  nay__buffer_free(&c.key, &t->allocator);
  t->partition_cache = t->options.cache;
  if (t->partition_cache != NULL) return NAY_OK;
  size_t budget = FILTER_OWN_BYTES + 2 * (size_t)largest;
  NAY_TRY(nay_sst_cache_new(0, budget, &t->allocator, &t->own_cache));
  t->partition_cache = t->own_cache;
  return NAY_OK;
}

static nay_status filter_open_whole(nay_sst *t, nay_sst_filter kind, nay_bytes name,
                                    nay_bytes value) {
  nay_handle handle;
  nay_bytes bytes;
  if (t->filter_used) return NAY_OK; /* one is enough */
  t->filter = kind;
  NAY_TRY(filter_name(t, &t->policy_name, name));
  bool native = kind != NAY_SST_BLOCK_FILTER && filter_is(name, NAY_NATIVE_POLICY);
  t->policy = native ? NULL : filter_policy(t, name);
  if (nay__sst_handle(t, value.at, value.len, NULL, &handle) != NAY_OK) {
    filter_fault(t);
    return NAY_OK;
  }
  t->filter_bytes = handle.size;
  if (!native && t->policy == NULL) return NAY_OK; /* not understood, which is no fault */
  nay_status status = nay__sst_read(t, handle, &t->filter_hold, NULL, &bytes);
  if (status == NAY_ENOMEM) return status;
  t->filter_used = status == NAY_OK && filter_accept(t, kind, native, bytes);
  if (!t->filter_used) filter_fault(t);
  return NAY_OK;
}

static nay_status filter_open_prefix(nay_sst *t, nay_bytes name, nay_bytes value) {
  nay_handle handle;
  nay_bytes bytes;
  nay_hold *hold = NULL;
  if (t->prefix != NULL) return NAY_OK;
  NAY_TRY(filter_name(t, &t->prefix_name, name));
  const nay_prefix *extractor = t->options.prefix;
  bool ours = extractor != NULL && filter_is(name, extractor->name);
  nay_status status = nay__sst_handle(t, value.at, value.len, NULL, &handle);
  if (status == NAY_OK) {
    t->prefix_bytes = handle.size;
    if (!ours) return NAY_OK;
    status = nay__sst_read(t, handle, &hold, NULL, &bytes);
  }
  if (status == NAY_OK) t->prefix = filter_decode(t, bytes, &t->allocator);
  if (ours && t->prefix == NULL) filter_fault(t);
  nay__hold_free(hold);
  return status == NAY_ENOMEM ? status : NAY_OK;
}

static nay_status filter_open_entry(nay_sst *t, const nay_cursor *c) {
  nay_bytes name, value = {c->entry.value, c->entry.value_len};
  if (c->key.len > META_MAX_NAME) return NAY_OK;
  if (filter_starts(&c->key, "filter.", &name)) {
    return filter_open_whole(t, NAY_SST_BLOCK_FILTER, name, value);
  }
  if (filter_starts(&c->key, "nay.full.", &name)) {
    return filter_open_whole(t, NAY_SST_FULL_FILTER, name, value);
  }
  if (filter_starts(&c->key, "nay.partitioned.", &name)) {
    return filter_open_whole(t, NAY_SST_PARTITIONED_FILTER, name, value);
  }
  if (filter_starts(&c->key, "nay.prefix.", &name)) return filter_open_prefix(t, name, value);
  return NAY_OK;
}

/* What is not a filter: what kind of table this is. */
static nay_status filter_open_other(nay_sst *t, const nay_cursor *c) {
  nay_bytes name = {c->key.at, c->key.len}, value = {c->entry.value, c->entry.value_len};
  if (filter_is(name, "rocksdb.properties")) {
    t->rocksdb = nay__sst_handle(t, value.at, value.len, NULL, &t->properties) == NAY_OK;
    if (t->options.keys == NAY_SST_KEYS_AUTO) {
      t->order = NAY_INTERNAL_KEYS; /* as all keys of RocksDB; the index has types of its own */
      t->order_guessed = false;
    }
  }
  if (!filter_is(name, "nay.keys")) return NAY_OK;
  t->order_named = true;
  if (t->options.keys == NAY_SST_KEYS_AUTO) {
    t->order = filter_is(value, "internal") ? NAY_INTERNAL_KEYS : NAY_BYTEWISE;
    t->order_guessed = false;
  }
  return NAY_OK;
}

nay_status nay__sst_filters_open(nay_sst *t, nay_handle metaindex) {
  nay_hold *hold = NULL;
  nay_bytes bytes;
  nay_cursor c = {.order = NAY_BYTEWISE, .allocator = &t->allocator};
  nay_status status = nay__sst_read(t, metaindex, &hold, NULL, &bytes);
  if (status == NAY_OK) status = nay__block_open(bytes.at, bytes.len, NULL, &c.block);
  if (status == NAY_OK) status = nay__cursor_first(&c, NULL);
  while (status == NAY_OK) {
    status = filter_open_other(t, &c);
    if (status == NAY_OK && (t->options.flags & NAY_SST_NO_FILTERS) == 0) {
      status = filter_open_entry(t, &c);
    }
    if (status == NAY_OK) status = nay__cursor_next(&c, NULL);
  }
  nay__buffer_free(&c.key, &t->allocator);
  nay__hold_free(hold);
  if (status == NAY_ENOMEM) return status;
  if (status != NAY_ENOENT) filter_fault(t);
  bool partitioned = t->filter_used && t->filter == NAY_SST_PARTITIONED_FILTER;
  return partitioned ? filter_measure(t) : NAY_OK;
}

void nay__sst_filters_free(nay_sst *t) {
  nay_filter_free(t->full);
  nay_filter_free(t->prefix);
  nay__hold_free(t->filter_hold);
  nay_sst_cache_free(t->own_cache);
  nay__buffer_free(&t->policy_name, &t->allocator);
  nay__buffer_free(&t->prefix_name, &t->allocator);
}

/* ---- asking ---- */

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

/* A partition that is in the cache, or is put there. NULL: it cannot be read. */
static nay_cache_entry *filter_partition(const nay_sst *t, nay_handle handle, nay_hold **hold) {
  nay_sst_cache *cache = t->partition_cache;
  nay_bytes bytes;
  nay_cache_entry *e = nay__cache_find(cache, NAY_CACHE_FILTER, t->cache_id, handle.offset);
  if (e != NULL) return e;
  nay__atomic_increment64(&t->counts->loads);
  if (nay__sst_read(t, handle, hold, NULL, &bytes) != NAY_OK) return NULL;
  e = nay__cache_entry_new(cache, t->cache_id, handle.offset, t->policy != NULL ? bytes.len : 0);
  if (e == NULL) return NULL;
  if (t->policy != NULL) {
    memcpy(e->bytes, bytes.at, bytes.len);
  } else {
    e->filter = filter_decode(t, bytes, nay__cache_allocator(cache));
    if (e->filter == NULL) {
      nay__cache_entry_free(cache, e);
      return NULL;
    }
    e->charge += sizeof *e->filter + e->filter->memory.raw_size;
  }
  nay__cache_insert(cache, NAY_CACHE_FILTER, e);
  return e;
}

static bool filter_policy_test(const nay_sst *t, const nay_target *target, const uint8_t *bytes,
                               size_t len) {
  return t->policy->may_match(t->policy, target->user, target->len, bytes, len);
}

static nay_verdict filter_ask_partition(const nay_sst *t, const nay_target *target,
                                        nay_hash_memo *memo, nay_hold **hold) {
  nay_found found;
  nay_handle handle;
  nay_verdict verdict = NAY_NOT_PROBED;
  if (nay__block_find(&t->partitions, t->order, target, NULL, &found) == NAY_OK &&
      nay__sst_handle(t, found.entry.value, found.entry.value_len, NULL, &handle) == NAY_OK) {
    nay_cache_entry *e = filter_partition(t, handle, hold);
    if (e != NULL) {
      bool maybe = t->policy != NULL ? filter_policy_test(t, target, e->bytes, e->len)
                                     : filter_native_test(t, e->filter, target, memo);
      nay__cache_release(t->partition_cache, NAY_CACHE_FILTER, e);
      verdict = maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
    }
  }
  if (verdict == NAY_NOT_PROBED) filter_fault(t);
  return verdict;
}

/* The prefix filter knows the prefix of every key that has one. */
static nay_verdict filter_ask_prefix(const nay_sst *t, const uint8_t *key, size_t len,
                                     size_t *prefix_len) {
  size_t n = 0;
  const nay_prefix *prefix = t->options.prefix;
  if (t->prefix == NULL || !prefix->extract(prefix, key, len, &n) || n > len) return NAY_NOT_PROBED;
  bool maybe = nay_filter_may_contain(t->prefix, key, n);
  *prefix_len = n;
  nay__atomic_increment64(maybe ? &t->counts->prefix_maybe : &t->counts->prefix_useful);
  return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
}

nay_verdict nay__sst_probe(const nay_sst *t, const nay_target *target, nay_hash_memo *memo,
                           nay_hold **hold, size_t *prefix_len) {
  bool maybe;
  if (!t->filter_used) return filter_ask_prefix(t, target->user, target->len, prefix_len);
  switch (t->filter) {
    case NAY_SST_FULL_FILTER:
      maybe = t->full != NULL ? filter_native_test(t, t->full, target, memo)
                              : filter_policy_test(t, target, t->filter_at.at, t->filter_at.len);
      return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
    case NAY_SST_PARTITIONED_FILTER: return filter_ask_partition(t, target, memo, hold);
    default: return NAY_NOT_PROBED;
  }
}

nay_verdict nay__sst_probe_block(const nay_sst *t, const nay_target *target, nay_handle handle) {
  if (!t->filter_used || t->filter != NAY_SST_BLOCK_FILTER) return NAY_NOT_PROBED;
  bool maybe = nay__filter_block_may_match(&t->filter_block, t->policy, handle.offset, target->user,
                                           target->len);
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

nay_verdict nay__sst_probe_range(const nay_sst *t, nay_bytes from, const nay_bytes *to) {
  size_t n = 0;
  const nay_prefix *prefix = t->options.prefix;
  if (t->prefix == NULL || !prefix->extract(prefix, from.at, from.len, &n) || n > from.len) {
    return NAY_NOT_PROBED;
  }
  nay_bytes start = {from.at, n}, all = {NULL, 0};
  if (to == NULL) {
    for (size_t i = 0; i < n; i++) {
      if (from.at[i] != 0xff) return NAY_NOT_PROBED;
    }
  } else {
    all = *to;
  }
  if (to != NULL && !filter_covers(start, all)) return NAY_NOT_PROBED;
  return filter_ask_prefix(t, from.at, from.len, &n);
}

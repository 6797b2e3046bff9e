/*
 * lookup.c - one key in many tables, newest first. The key is hashed once, not once per table, and
 * while one filter is probed the cache lines of the next few are prefetched.
 */
#include "sst/sst.h"

#define LOOKUP_AHEAD 8u /* tables: about as many misses as a core can have outstanding */

struct nay_lookup {
  nay_allocator allocator;
  size_t n;
  uint64_t own[2];
  uint64_t *counts; /* gets and hashes, in own[]: const calls count too */
  const nay_sst *tables[];
};

static size_t lookup_size(size_t n) {
  size_t bytes;
  if (!nay__mul_ok(n, sizeof(const nay_sst *), &bytes) || bytes > SIZE_MAX / 2) return 0;
  return sizeof(nay_lookup) + bytes;
}

nay_status nay_lookup_new(const nay_sst *const *tables, size_t n, const nay_allocator *allocator,
                          nay_lookup **lookup) {
  if ((tables == NULL && n != 0) || lookup == NULL) return NAY_EINVAL;
  for (size_t i = 0; i < n; i++) {
    if (tables[i] == NULL) return NAY_EINVAL;
  }
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, NULL, &a));
  size_t size = lookup_size(n);
  nay_lookup *l = size == 0 ? NULL : nay__alloc(&a, size);
  if (l == NULL) return NAY_ENOMEM;
  l->allocator = a;
  l->n = n;
  for (size_t i = 0; i < n; i++) l->tables[i] = tables[i];
  l->counts = l->own;
  l->counts[0] = l->counts[1] = 0;
  *lookup = l;
  return NAY_OK;
}

void nay_lookup_free(nay_lookup *l) {
  if (l == NULL) return;
  nay_allocator a = l->allocator;
  nay__free(&a, l, lookup_size(l->n));
}

static void lookup_prefetch(const nay_sst *t, const nay_hash_memo *memo) {
  const nay_filter *f = t->full;
  if (f == NULL || f->family->batch->prefetch == NULL || f->lazy != NULL ||
      !nay__hasher_same(&memo->hasher, &f->hasher)) {
    return;
  }
  f->family->batch->prefetch(f, &memo->hash.lo, &memo->hash.hi, 1);
}

nay_status nay_lookup_get(const nay_lookup *l, const void *key, size_t len, nay_diag *diag,
                          nay_sst_value *value, size_t *table) {
  if (l == NULL || value == NULL || (key == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "lookup, key or value", 0);
  }
  NAY_TRY(nay__abi_check(NAY_ABI_SST_VALUE, value, diag));
  nay_target target = {len != 0 ? key : (const void *)"", len, NAY_KEY_TRAILER_NEWEST};
  nay_hash_memo memo = {.set = false};
  nay_status status = NAY_ENOENT;
  size_t i = 0, fetched = 0;
  value->deleted = false;
  for (; i < l->n && status == NAY_ENOENT; i++) {
    for (; memo.set && fetched < l->n && fetched <= i + LOOKUP_AHEAD; fetched++) {
      if (fetched > i) lookup_prefetch(l->tables[fetched], &memo);
    }
    status = nay__sst_get(l->tables[i], &target, &memo, diag, value);
  }
  nay__atomic_increment64(&l->counts[0]);
  if (memo.nhashes != 0) nay__atomic_add64(&l->counts[1], memo.nhashes);
  if (table != NULL && status != NAY_ENOENT) *table = i - 1;
  if (status != NAY_OK) return status;
  return value->deleted ? NAY_ENOENT : NAY_OK;
}

nay_status nay_lookup_count(const nay_lookup *l, nay_sst_counters *counters) {
  if (l == NULL || counters == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_COUNTERS, counters, NULL));
  nay_sst_counters sum = {.gets = 0};
  for (size_t i = 0; i < l->n; i++) {
    nay_sst_counters c = {.size = sizeof c};
    NAY_TRY(nay_sst_count(l->tables[i], &c));
    sum.out_of_range += c.out_of_range;
    sum.filter_checks += c.filter_checks;
    sum.filter_useful += c.filter_useful;
    sum.filter_false_positives += c.filter_false_positives;
    sum.filter_faults += c.filter_faults;
    sum.filter_loads += c.filter_loads;
    sum.prefix_checks += c.prefix_checks;
    sum.prefix_useful += c.prefix_useful;
    sum.block_reads += c.block_reads;
    sum.cache_hits += c.cache_hits;
  }
  sum.gets = nay__atomic_load64(&l->counts[0]);
  sum.hashes = nay__atomic_load64(&l->counts[1]);
  nay__abi_write(NAY_ABI_SST_COUNTERS, &sum, counters);
  return NAY_OK;
}

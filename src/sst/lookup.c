/*
 * lookup.c - one key in many tables, newest first. The key is hashed once, not once per table, and
 * while one filter is probed the cache lines of the next few are prefetched.
 *
 * The tables that can have the key pass through a short ring: a disjoint level gives one of them,
 * found by binary search, any other level all of them.
 */
#include "sst/lookup.h"

#define LOOKUP_AHEAD 8u /* tables: about as many misses as a core can have outstanding */

/* lookup_walk: the slots to search for a key, in turn. */
typedef struct lookup_walk {
  const nay_lookup *lookup;
  const nay_target *target;
  size_t run, at; /* slots of that run that were given out */
  const nay_lookup_slot *ring[LOOKUP_AHEAD];
  size_t head, tail, fetched; /* of the ring, ever increasing */
} lookup_walk;

static const nay_lookup_slot *lookup_next(lookup_walk *w) {
  const nay_lookup *l = w->lookup;
  for (; w->run < l->nruns; w->run++, w->at = 0) {
    const nay_lookup_run *run = &l->runs[w->run];
    if (!run->disjoint && w->at < run->n) return &l->slots[run->first + w->at++];
    if (!run->disjoint || w->at != 0) continue;
    w->at = 1;
    const nay_lookup_slot *slot = nay__lookup_find(l, run, w->target->user, w->target->len);
    if (slot != NULL) return slot;
  }
  return NULL;
}

static void lookup_prefetch(const nay_sst *t, const nay_hash_memo *memo) {
  const nay_filter *f = t->full;
  if (f == NULL || f->family->batch->prefetch == NULL || f->lazy != NULL ||
      !nay__hasher_same(&memo->hasher, &f->hasher)) {
    return;
  }
  f->family->batch->prefetch(f, &memo->hash.lo, &memo->hash.hi, 1);
}

/* The next slot; NULL: there is none. Once the hash is known, the filters of the next are
 * prefetched. */
static const nay_lookup_slot *lookup_take(lookup_walk *w, const nay_hash_memo *memo) {
  const nay_lookup_slot *slot;
  while (w->tail - w->head < LOOKUP_AHEAD && (slot = lookup_next(w)) != NULL) {
    w->ring[w->tail++ % LOOKUP_AHEAD] = slot;
  }
  if (w->head == w->tail) return NULL;
  for (; memo->set && w->fetched < w->tail; w->fetched++) {
    if (w->fetched > w->head) {
      lookup_prefetch(w->ring[w->fetched % LOOKUP_AHEAD]->table, memo);
    }
  }
  return w->ring[w->head++ % LOOKUP_AHEAD];
}

static size_t lookup_level(const nay_lookup *l, const nay_lookup_slot *slot) {
  size_t level = 0, at = (size_t)(slot - l->slots);
  while (at >= l->runs[level].first + l->runs[level].n) level++;
  return level;
}

nay_status nay_lookup_trace(const nay_lookup *l, const void *key, size_t len, uint64_t sequence,
                            nay_lookup_trace_call call, void *ctx, nay_diag *diag,
                            nay_sst_value *value, size_t *table) {
  if (l == NULL || value == NULL || (key == NULL && len != 0) || sequence > NAY_SST_MAX_SEQUENCE) {
    return nay__fail(diag, NAY_EINVAL, "lookup, key, sequence or value", 0);
  }
  NAY_TRY(nay__abi_check(NAY_ABI_SST_VALUE, value, diag));
  nay_target target = {len != 0 ? key : (const void *)"", len, NAY_KEY_TRAILER_OF(sequence)};
  nay_get_trace trace = {call, ctx, 0, 0};
  nay_hash_memo memo = {.trace = call != NULL ? &trace : NULL};
  lookup_walk walk = {.lookup = l, .target = &target};
  nay_status status = NAY_ENOENT;
  const nay_lookup_slot *slot = NULL;
  value->deleted = false;
  while (status == NAY_ENOENT && (slot = lookup_take(&walk, &memo)) != NULL) {
    if (call != NULL) trace = (nay_get_trace){call, ctx, lookup_level(l, slot), slot->number};
    status = nay__sst_get(slot->table, &target, &memo, diag, value);
  }
  nay__atomic_increment64(&l->counts[0]);
  if (memo.nhashes != 0) nay__atomic_add64(&l->counts[1], memo.nhashes);
  if (table != NULL && slot != NULL) *table = slot->number;
  if (status != NAY_OK) return status;
  return value->deleted ? NAY_ENOENT : NAY_OK;
}

nay_status nay_lookup_get_at(const nay_lookup *l, const void *key, size_t len, uint64_t sequence,
                             nay_diag *diag, nay_sst_value *value, size_t *table) {
  return nay_lookup_trace(l, key, len, sequence, NULL, NULL, diag, value, table);
}

nay_status nay_lookup_get(const nay_lookup *l, const void *key, size_t len, nay_diag *diag,
                          nay_sst_value *value, size_t *table) {
  return nay_lookup_trace(l, key, len, NAY_SST_MAX_SEQUENCE, NULL, NULL, diag, value, table);
}

const char *nay_lookup_step_text(nay_lookup_what what) {
  switch (what) {
    case NAY_LOOKUP_OUT_OF_RANGE: return "outside of its range of keys";
    case NAY_LOOKUP_FILTER_NAY: return "filter: nay";
    case NAY_LOOKUP_FILTER_MAYBE: return "filter: maybe";
    case NAY_LOOKUP_NO_FILTER: return "no filter";
    case NAY_LOOKUP_INDEX: return "index: block";
    case NAY_LOOKUP_BLOCK: return "block read";
    case NAY_LOOKUP_FOUND: return "found";
    case NAY_LOOKUP_DELETED: return "deleted";
    case NAY_LOOKUP_ABSENT: return "absent";
    case NAY_LOOKUP_FAILED: return "failed";
  }
  return "unknown step";
}

nay_status nay_lookup_count(const nay_lookup *l, nay_sst_counters *counters) {
  if (l == NULL || counters == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_COUNTERS, counters, NULL));
  nay_sst_counters sum = {.gets = 0};
  for (size_t i = 0; i < l->ntables; i++) {
    nay_sst_counters c = {.size = sizeof c};
    NAY_TRY(nay_sst_count(l->tables[i].table, &c));
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

/*
 * lookup.c - gets one key from many tables, newest first. The key is hashed once and not once per
 * table. While one filter is probed, the cache lines of the next few filters are prefetched.
 *
 * The slots to search pass through a short queue, which tells what to prefetch. A disjoint level
 * adds at most one slot, found by binary search; an overlapping level adds all its slots.
 */
#include "tree/lookup.h"

#define LOOKUP_AHEAD 8u /* tables to prefetch for: about a core's number of outstanding misses */
#define LOOKUP_QUEUE 32u

/* lookup_walk: enumerates the slots to search for a key. */
typedef struct lookup_walk {
  const nay_sst_lookup *lookup;
  const nay_target *target;
  size_t level, at;                 /* slot `at` of this level is the next to enter the queue */
  bool more;                        /* some levels have not entered the queue entirely */
  const nay_sst_lookup_slot *queue; /* `own`; or all slots of the lookup if no level is disjoint */
  size_t next;                      /* queue[next] is searched next */
  size_t n;                         /* slots in the queue */
  size_t fetched;                   /* queue[0, fetched) needs no prefetch any more */
  nay_sst_lookup_slot own[LOOKUP_QUEUE];
} lookup_walk;

/* Moves slots of a level, from w->at on, into the queue until it is full. Returns whether the level
 * has no more. */
static bool lookup_fill_level(lookup_walk *w, const nay_level_slots *level) {
  const nay_sst_lookup *l = w->lookup;
  if (level->disjoint) {
    const nay_sst_lookup_slot *slot =
        nay_sst__lookup_find_slot(l, level, w->target->user, w->target->len);
    if (slot != NULL) w->own[w->n++] = *slot;
    return true;
  }
  const nay_sst_lookup_slot *slots = l->slots + level->first;
  while (w->at < level->n && w->n < LOOKUP_QUEUE) w->own[w->n++] = slots[w->at++];
  return w->at == level->n;
}

/* Refills the queue behind the slots that are still in it. */
static void lookup_fill(lookup_walk *w) {
  size_t left = w->n - w->next;
  for (size_t i = 0; i < left; i++) w->own[i] = w->own[w->next + i];
  w->fetched = w->fetched > w->next ? w->fetched - w->next : 0;
  w->next = 0;
  w->n = left;
  while (w->level < w->lookup->nlevels && w->n < LOOKUP_QUEUE) {
    if (!lookup_fill_level(w, &w->lookup->levels[w->level])) break;
    w->level++;
    w->at = 0;
  }
  w->more = w->level < w->lookup->nlevels;
}

static void lookup_prefetch(const nay_sst *t, const nay_hash_memo *memo) {
  const nay_native_filter *f = &t->filters.full;
  if (f->filter != NULL && nay_hasher_same(&memo->hasher, &f->hasher)) {
    nay_filter_prefetch(f->filter, memo->hash);
  }
}

/* Takes the next slot from the queue; NULL: there is none. Prefetches the filters of the following
 * slots once the hash is known. */
NAY_INLINE const nay_sst_lookup_slot *lookup_take(lookup_walk *w, const nay_hash_memo *memo) {
  if (w->more && w->n - w->next <= LOOKUP_AHEAD) lookup_fill(w);
  if (w->next == w->n) return NULL;
  if (memo->set) {
    size_t end = w->next + LOOKUP_AHEAD < w->n ? w->next + LOOKUP_AHEAD + 1 : w->n;
    if (w->fetched <= w->next) w->fetched = w->next + 1;
    for (; w->fetched < end; w->fetched++) lookup_prefetch(w->queue[w->fetched].table, memo);
  }
  return &w->queue[w->next++];
}

static size_t lookup_level_of(const nay_sst_lookup *l, size_t number) {
  size_t level = 0;
  while (number >= l->levels[level].tables_end) level++;
  return level;
}

/* Starts at the newest table. */
static void lookup_start(lookup_walk *w, const nay_sst_lookup *l, const nay_target *target) {
  w->lookup = l;
  w->target = target;
  w->level = w->at = w->next = w->fetched = 0;
  w->queue = l->overlapping ? l->slots : w->own;
  w->n = l->overlapping ? l->nslots : 0;
  w->more = !l->overlapping;
}

/* Searches the remaining tables until one has the key. Sets *slot to that table's slot, or to NULL.
 * `trace` receives the steps and is memo->trace; NULL: no trace. */
NAY_INLINE nay_status lookup_search(lookup_walk *w, const nay_target *target, nay_hash_memo *memo,
                                    nay_get_trace *trace, nay_diag *diag, nay_sst_value *value,
                                    const nay_sst_lookup_slot **slot) {
  nay_status status = NAY_ENOENT;
  const nay_sst_lookup_slot *at = NULL;
  while (status == NAY_ENOENT && (at = lookup_take(w, memo)) != NULL) {
    if (trace != NULL) {
      trace->level = lookup_level_of(w->lookup, at->number);
      trace->table = at->number;
    }
    status = nay_sst__get(at->table, target, memo, diag, value);
  }
  *slot = at;
  return status;
}

/* Continues a get that met merge operands in the older tables, and combines the operands with what
 * it finds there. `status` is the result of *slot, the table with the newest operand, or NULL if
 * the newest operands come from no table. After an error *slot is the table that failed. */
NAY_NOINLINE static nay_status lookup_below(lookup_walk *w, nay_hash_memo *memo,
                                            nay_get_trace *trace, nay_status status, nay_diag *diag,
                                            nay_sst_value *value,
                                            const nay_sst_lookup_slot **slot) {
  const nay_sst_lookup_slot *at = *slot;
  while (status == NAY_GET_OPERAND) {
    status = lookup_search(w, w->target, memo, trace, diag, value, &at);
    if (*slot == NULL) *slot = at;
  }
  if (status != NAY_OK && status != NAY_ENOENT) *slot = at;
  return nay_sst__collect_end(memo->collector, status, diag, value);
}

NAY_INLINE nay_status lookup_check(const nay_sst_lookup *l, const void *key, size_t len,
                                   uint64_t sequence, nay_diag *diag, const nay_sst_value *value) {
  if (l == NULL || value == NULL || (key == NULL && len != 0) || sequence > NAY_SST_MAX_SEQUENCE) {
    return nay__fail(diag, NAY_EINVAL, "lookup, key or value is NULL, or sequence is too large", 0);
  }
  return nay__abi_check(NAY_ABI_SST_VALUE, value, diag);
}

NAY_INLINE void lookup_counted(const nay_sst_lookup *l, const nay_hash_memo *memo) {
  nay__atomic_increment64(&l->counts[0]);
  if (memo->nhashes != 0) nay__atomic_add64(&l->counts[1], memo->nhashes);
}

nay_status nay_sst_lookup_explain(const nay_sst_lookup *l, const void *key, size_t len,
                                  uint64_t sequence, nay_sst_lookup_visitor visit, void *ctx,
                                  nay_diag *diag, nay_sst_value *value, size_t *table) {
  NAY_TRY(lookup_check(l, key, len, sequence, diag, value));
  nay_target target = {len != 0 ? key : (const void *)"", len, NAY_KEY_TRAILER_OF(sequence)};
  nay_get_trace trace = {.visit = visit, .ctx = ctx};
  nay_collector operands;
  operands.by = &l->merge;
  operands.allocator = &l->allocator;
  operands.started = false;
  nay_hash_memo memo = {.trace = visit != NULL ? &trace : NULL, .collector = &operands};
  lookup_walk walk;
  lookup_start(&walk, l, &target);
  const nay_sst_lookup_slot *slot = NULL;
  value->deleted = false;
  nay_status status =
      lookup_search(&walk, &target, &memo, visit != NULL ? &trace : NULL, diag, value, &slot);
  if (NAY_UNLIKELY(operands.started)) {
    status = lookup_below(&walk, &memo, visit != NULL ? &trace : NULL, status, diag, value, &slot);
  }
  lookup_counted(l, &memo);
  if (table != NULL && slot != NULL) *table = slot->number;
  if (NAY_UNLIKELY(trace.status != NAY_OK)) {
    return nay__fail(diag, trace.status, "the visitor ended the explanation", 0);
  }
  if (status != NAY_OK) return status;
  return value->deleted ? NAY_ENOENT : NAY_OK;
}

nay_status nay_sst__lookup_get_from(const nay_sst_lookup *l, size_t level, size_t i,
                                    const nay_target *target, nay_hash_memo *memo, nay_diag *diag,
                                    nay_sst_value *value, size_t *table) {
  nay_collector operands = {.by = &l->merge, .allocator = &l->allocator};
  lookup_walk walk;
  const nay_sst_lookup_slot *slot = NULL;
  memo->collector = &operands;
  lookup_start(&walk, l, target);
  walk.level = level;
  walk.at = l->levels[level].disjoint ? 0 : i;
  if (l->overlapping) walk.next = l->levels[level].first + i;
  value->deleted = false;
  nay_status status = lookup_search(&walk, target, memo, NULL, diag, value, &slot);
  if (operands.started) status = lookup_below(&walk, memo, NULL, status, diag, value, &slot);
  if (slot != NULL) *table = slot->number;
  if (status != NAY_OK) return status;
  return value->deleted ? NAY_ENOENT : NAY_OK;
}

nay_status nay_sst_lookup_get(const nay_sst_lookup *l, const void *key, size_t len,
                              uint64_t sequence, nay_diag *diag, nay_sst_value *value,
                              size_t *table) {
  return nay_sst_lookup_explain(l, key, len, sequence, NULL, NULL, diag, value, table);
}

nay_status nay_sst_lookup_stats(const nay_sst_lookup *l, nay_sst_counters *counters) {
  if (l == NULL || counters == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_COUNTERS, counters, NULL));
  nay_sst_counters sum = {.gets = 0};
  for (size_t i = 0; i < l->ntables; i++) {
    nay_sst_counters c = nay_sst__counters(l->tables[i].table);
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
    sum.operands += c.operands;
    sum.index_loads += c.index_loads;
    sum.range_checks += c.range_checks;
    sum.range_useful += c.range_useful;
    sum.range_false_positives += c.range_false_positives;
  }
  sum.gets = nay__atomic_load64(&l->counts[0]);
  sum.hashes = nay__atomic_load64(&l->counts[1]);
  nay__abi_write(NAY_ABI_SST_COUNTERS, &sum, counters);
  return NAY_OK;
}

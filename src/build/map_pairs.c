/*
 * map_pairs.c - checks the pairs of a map before it is built.
 *
 * Duplicates are rare, so they are looked for in a copy of the hashes alone, which is sorted: 8
 * bytes for each pair, or for those of one group of hashes after the other when memory is scarce.
 * Only the hashes that come more than once are kept, 24 bytes each; if there are any, each pair is
 * looked up among them, and a second value for a hash is a conflict.
 *
 *   pass 1   bits of the values, pairs of each group
 *   pass 2   the groups, sorted: distinct hashes, and those that come more than once
 *   pass 3   conflicts, if there are such
 */
#include "build/map_pairs.h"

#include "base/bits.h"
#include "base/sort.h"

/* ---- reading ---- */

typedef void (*pairs_each)(void *ctx, uint64_t hash, uint64_t value, uint64_t index);

typedef struct pairs_reader {
  uint64_t lo, hi;
  pairs_each each;
  void *ctx;
} pairs_reader;

static void pairs_read_chunk(void *ctx, const uint64_t *records, size_t n) {
  const pairs_reader *r = ctx;
  for (const uint64_t *end = records + n * NAY_MAP_RECORD; records < end;
       records += NAY_MAP_RECORD) {
    if (records[0] < r->lo || records[0] > r->hi) continue;
    r->each(r->ctx, records[0], records[1], records[2]);
  }
}

/* Pairs with a hash in [lo, hi]; those with one hash by their indexes. */
static nay_status pairs_read(const nay_map_pairs *p, uint64_t lo, uint64_t hi, pairs_each each,
                             void *ctx) {
  pairs_reader reader = {lo, hi, each, ctx};
  const nay_map_source *s = &p->source;
  if (s->spill != NULL) return nay__hash_spill_read(s->spill, lo, hi, pairs_read_chunk, &reader);
  uint64_t index = 0;
  for (const nay_map_run *run = s->runs; run < s->runs + s->nruns; run++) {
    for (size_t i = 0; i < run->n; i++, index++) {
      uint64_t hash = run->hashes[i];
      if (hash >= lo && hash <= hi) each(ctx, hash, run->values[i], index);
    }
  }
  return NAY_OK;
}

/* ---- values, and groups of hashes ---- */

typedef struct pairs_groups {
  uint64_t ngroups, width; /* of a range of hashes, when there are several */
  uint64_t *counts;        /* pairs of each */
  uint64_t most;           /* that a value may be */
  uint64_t all;            /* bits that values have */
  uint64_t wide;           /* index of the first that is above `most`; UINT64_MAX: none */
} pairs_groups;

static void pairs_survey(void *ctx, uint64_t hash, uint64_t value, uint64_t index) {
  pairs_groups *g = ctx;
  g->all |= value;
  if (value > g->most && index < g->wide) g->wide = index;
  g->counts[g->ngroups == 1 ? 0 : hash / g->width]++;
}

static nay_status pairs_open_groups(const nay_map_pairs *p, uint32_t value_bits, nay_memory *memory,
                                    pairs_groups *g) {
  *g = (pairs_groups){.most = value_bits != 0 ? nay__low_bits(value_bits) : ~(uint64_t)0,
                      .wide = UINT64_MAX};
  bool whole = p->source.n <= p->source.group_keys;
  g->ngroups = whole ? 1 : nay__ceil_div(p->source.n, p->source.group_keys);
  g->width = UINT64_MAX / g->ngroups + (g->ngroups > 1);
  size_t size;
  if (!nay__size_ok(g->ngroups, &size) || !nay__mul_ok(size, 8, &size)) return NAY_ENOMEM;
  NAY_TRY(nay__memory_new(&p->allocator, size, memory));
  g->counts = (uint64_t *)(void *)memory->at;
  return NAY_OK;
}

/* ---- duplicates ---- */

static nay_status pairs_keep(nay_map_pairs *p, uint64_t hash) {
  if (p->nrepeats == p->repeats_cap) {
    size_t cap = p->repeats_cap == 0 ? 64 : 2 * p->repeats_cap, size;
    if (!nay__mul_ok(cap, sizeof *p->repeats, &size)) return NAY_ENOMEM;
    nay_map_repeat *more = nay__alloc(&p->allocator, size);
    if (more == NULL) return NAY_ENOMEM;
    if (p->nrepeats != 0) memcpy(more, p->repeats, p->nrepeats * sizeof *more);
    nay__free(&p->allocator, p->repeats, p->repeats_cap * sizeof *more);
    p->repeats = more;
    p->repeats_cap = cap;
  }
  p->repeats[p->nrepeats++] = (nay_map_repeat){.hash = hash};
  return NAY_OK;
}

typedef struct pairs_hashes {
  uint64_t *at;
  size_t n;
} pairs_hashes;

static void pairs_collect(void *ctx, uint64_t hash, uint64_t value, uint64_t index) {
  (void)value, (void)index;
  pairs_hashes *h = ctx;
  h->at[h->n++] = hash;
}

/* The hashes of one group, sorted in place. */
static nay_status pairs_find_repeats(nay_map_pairs *p, const pairs_hashes *h) {
  nay__sort_u64(h->at, h->n);
  for (size_t i = 0; i < h->n; i++) {
    bool again = i != 0 && h->at[i] == h->at[i - 1];
    p->ndistinct += !again;
    if (!again || (p->nrepeats != 0 && p->repeats[p->nrepeats - 1].hash == h->at[i])) continue;
    NAY_TRY(pairs_keep(p, h->at[i]));
  }
  return NAY_OK;
}

static nay_status pairs_sort(nay_map_pairs *p, const pairs_groups *g) {
  uint64_t most = 0;
  for (uint64_t i = 0; i < g->ngroups; i++) most = nay__max_u64(most, g->counts[i]);
  nay_memory memory;
  size_t size;
  if (!nay__size_ok(most, &size) || !nay__mul_ok(size, 8, &size)) return NAY_ENOMEM;
  NAY_TRY(nay__memory_raw(&p->allocator, size, &memory));
  nay_status status = NAY_OK;
  for (uint64_t i = 0; i < g->ngroups && status == NAY_OK; i++) {
    pairs_hashes hashes = {(uint64_t *)(void *)memory.at, 0};
    uint64_t lo = i * g->width, hi = i + 1 == g->ngroups ? UINT64_MAX : lo + g->width - 1;
    status = pairs_read(p, lo, hi, pairs_collect, &hashes);
    if (status == NAY_OK) status = pairs_find_repeats(p, &hashes);
  }
  nay__memory_free(&p->allocator, &memory);
  return status;
}

/* What is kept of a hash that comes more than once; NULL: it comes once. */
static nay_map_repeat *pairs_find(const nay_map_pairs *p, uint64_t hash) {
  size_t from = 0, to = p->nrepeats;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (p->repeats[middle].hash < hash) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from < p->nrepeats && p->repeats[from].hash == hash ? &p->repeats[from] : NULL;
}

/* ---- conflicts ---- */

typedef struct pairs_conflict {
  const nay_map_pairs *pairs;
  uint64_t index; /* of the first; UINT64_MAX: none */
} pairs_conflict;

static void pairs_compare(void *ctx, uint64_t hash, uint64_t value, uint64_t index) {
  pairs_conflict *c = ctx;
  nay_map_repeat *repeat = pairs_find(c->pairs, hash);
  if (repeat == NULL) return;
  if (repeat->first == 0) {
    repeat->first = index + 1;
    repeat->value = value;
  } else if (repeat->value != value) {
    c->index = nay__min_u64(c->index, index);
  }
}

static nay_status pairs_scan(nay_map_pairs *p, const pairs_groups *g, nay_diag *diag) {
  if (g->wide != UINT64_MAX) {
    return nay__fail(diag, NAY_EINVAL, "a value has more bits than value_bits", g->wide);
  }
  nay_status status = pairs_sort(p, g);
  if (status != NAY_OK) return nay__fail(diag, status, "no memory to look for duplicates", 0);
  if (p->nrepeats == 0) return NAY_OK;
  pairs_conflict conflict = {p, UINT64_MAX};
  NAY_TRY(pairs_read(p, 0, UINT64_MAX, pairs_compare, &conflict));
  if (conflict.index == UINT64_MAX) return NAY_OK;
  return nay__fail(diag, NAY_EINVAL, "two values for one key", conflict.index);
}

nay_status nay__map_pairs_check(nay_map_pairs *p, uint32_t *value_bits, nay_diag *diag) {
  pairs_groups g;
  nay_memory counts;
  nay_status status = pairs_open_groups(p, *value_bits, &counts, &g);
  if (status != NAY_OK) return nay__fail(diag, status, "no memory to look for duplicates", 0);
  status = pairs_read(p, 0, UINT64_MAX, pairs_survey, &g);
  if (status == NAY_OK) status = pairs_scan(p, &g, diag);
  nay__memory_free(&p->allocator, &counts);
  if (status == NAY_OK && *value_bits == 0) {
    *value_bits = g.all == 0 ? 1 : nay__log2_64(g.all) + 1;
  }
  return status;
}

void nay__map_pairs_free(nay_map_pairs *p) {
  nay__free(&p->allocator, p->repeats, p->repeats_cap * sizeof *p->repeats);
}

/* ---- each hash once ---- */

typedef struct pairs_once {
  const nay_map_pairs *pairs;
  nay_map_each each;
  void *ctx;
} pairs_once;

static void pairs_first(void *ctx, uint64_t hash, uint64_t value, uint64_t index) {
  const pairs_once *o = ctx;
  const nay_map_repeat *repeat = o->pairs->nrepeats == 0 ? NULL : pairs_find(o->pairs, hash);
  if (repeat == NULL || repeat->first == index + 1) o->each(o->ctx, hash, value);
}

nay_status nay__map_pairs_each(nay_map_pairs *p, uint64_t lo, uint64_t hi, nay_map_each each,
                               void *ctx) {
  pairs_once once = {p, each, ctx};
  return pairs_read(p, lo, hi, pairs_first, &once);
}

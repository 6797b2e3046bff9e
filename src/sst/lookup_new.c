/*
 * lookup_new.c - a lookup from tables or levels.
 *
 * The order of a disjoint level is verified, because a search in tables that overlap would miss
 * keys: each table's last key must be below the first key of the next. The index tells a bound of
 * the last key; only if that is not below, the last block is read for the key itself. In a table
 * with properties the bound is the last key (sst_writer.c), so nothing is read; in LevelDB's it is
 * shortened. What the properties state is never taken for the bound: they could be wrong.
 */
#include "sst/lookup.h"

/* The array of levels as the caller's compiler laid it out: the first size is the stride. */
static const void *lookup_level_at(const nay_lookup_level *levels, size_t i) {
  return (const uint8_t *)levels + i * levels[0].size;
}

static nay_status lookup_read_level(const nay_lookup_level *levels, size_t i, nay_diag *diag,
                                    nay_lookup_level *level) {
  const void *at = lookup_level_at(levels, i);
  size_t size;
  memcpy(&size, at, sizeof size);
  if (size != levels[0].size) {
    return nay__fail(diag, NAY_EINVAL, "the levels of a lookup differ in size", i);
  }
  NAY_TRY(nay__abi_read(NAY_ABI_LOOKUP_LEVEL, at, diag, level));
  if (level->tables == NULL && level->n != 0) {
    return nay__fail(diag, NAY_EINVAL, "a level has no array of tables", i);
  }
  for (size_t k = 0; k < level->n; k++) {
    if (level->tables[k] == NULL) return nay__fail(diag, NAY_EINVAL, "a table is NULL", k);
  }
  return NAY_OK;
}

/* *first is the first table of all that has keys. */
static nay_status lookup_check_comparators(const nay_lookup_level *level, size_t number,
                                           nay_diag *diag, const nay_sst **first) {
  for (size_t i = 0; i < level->n; i++) {
    NAY_TRY(nay__sst_join(level->tables[i], number + i, diag, first));
  }
  return NAY_OK;
}

/* ---- disjoint levels ---- */

static nay_bytes lookup_user(const nay_sst *t, const uint8_t *key, size_t len) {
  return (nay_bytes){key, nay__user_len(t->order, len)};
}

static int lookup_compare(const nay_sst *t, nay_bytes a, nay_bytes b) {
  return nay__compare_users(t->order, a.at, a.len, b.at, b.len);
}

/* Whether the last key itself, which the last block has, is below a key. */
static nay_status lookup_last_below(const nay_sst *t, nay_bytes key, nay_diag *diag, bool *below) {
  nay_sst_iter *it;
  if (nay_sst_iter_new(t, &it) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for an iterator", 0);
  }
  nay_status status = nay_sst_iter_last(it);
  if (status == NAY_OK) {
    size_t len;
    const uint8_t *last = nay_sst_iter_key(it, &len);
    *below = lookup_compare(t, lookup_user(t, last, len), key) < 0;
  } else if (status != NAY_ENOENT && diag != NULL) {
    *diag = *nay_sst_iter_diag(it);
  }
  nay_sst_iter_free(it);
  return status == NAY_ENOENT ? NAY_OK : status;
}

/* Whether all keys of `before` are below those of t. Both have some. */
static nay_status lookup_is_above(const nay_sst *before, const nay_sst *t, nay_diag *diag,
                                  bool *above) {
  nay_bytes first = lookup_user(t, t->smallest.at, t->smallest.len);
  nay_bytes bound = lookup_user(before, before->largest.at, before->largest.len);
  *above = lookup_compare(t, bound, first) < 0;
  return *above ? NAY_OK : lookup_last_below(before, first, diag, above);
}

nay_status nay__lookup_check_place(const nay_sst *before, const nay_sst *t, size_t number,
                                   nay_diag *diag) {
  bool above = true;
  if (t->order_unknown != NAY_OK) return nay__sst_order_unknown(t, diag);
  if (!t->has_smallest) {
    return nay__fail(diag, NAY_EINVAL, "a table of a disjoint level has no readable first key",
                     number);
  }
  if (before != NULL) NAY_TRY(lookup_is_above(before, t, diag, &above));
  if (above) return NAY_OK;
  return nay__fail(diag, NAY_EINVAL, "a table of a disjoint level is not above the one before it",
                   number);
}

static nay_status lookup_check_disjoint(const nay_lookup_level *level, size_t number,
                                        nay_diag *diag) {
  const nay_sst *before = NULL;
  for (size_t i = 0; i < level->n; i++) {
    const nay_sst *t = level->tables[i];
    if (t->empty) continue;
    NAY_TRY(nay__lookup_check_place(before, t, number + i, diag));
    before = t;
  }
  return NAY_OK;
}

size_t nay__lookup_bound(const nay_lookup *l, const nay_lookup_run *run, const uint8_t *key,
                         size_t len) {
  const nay_lookup_slot *slots = l->slots + run->first;
  size_t low = 0, high = run->n; /* smallest keys before low are not above the key */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const nay_sst *t = slots[middle].table;
    nay_bytes first = lookup_user(t, t->smallest.at, t->smallest.len);
    if (lookup_compare(t, first, (nay_bytes){key, len}) <= 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

const nay_lookup_slot *nay__lookup_find(const nay_lookup *l, const nay_lookup_run *run,
                                        const uint8_t *key, size_t len) {
  size_t n = nay__lookup_bound(l, run, key, len);
  return n != 0 ? &l->slots[run->first + n - 1] : NULL;
}

/* ---- making and releasing ---- */

/* Bytes of the arrays; 0: too many. */
static size_t lookup_array_bytes(size_t ntables, size_t nruns) {
  size_t slots, runs;
  if (!nay__mul_ok(ntables, 2 * sizeof(nay_lookup_slot), &slots) ||
      !nay__mul_ok(nruns, sizeof(nay_lookup_run), &runs) || slots > SIZE_MAX / 2 - runs) {
    return 0;
  }
  return slots + runs + 1;
}

void nay__lookup_add_run(nay_lookup *l, bool disjoint) {
  nay_lookup_run *run = &l->runs[l->nruns++];
  *run = (nay_lookup_run){.first = l->nslots, .tables_end = l->ntables, .disjoint = disjoint};
  l->overlapping &= !disjoint;
}

void nay__lookup_add(nay_lookup *l, const nay_sst *t) {
  nay_lookup_run *run = &l->runs[l->nruns - 1];
  nay_lookup_slot slot = {t, l->ntables};
  l->tables[l->ntables++] = slot;
  run->tables_end = l->ntables;
  if (run->disjoint && t->empty) return;
  l->slots[l->nslots++] = slot;
  run->n++;
}

nay_status nay__lookup_alloc(size_t ntables, size_t nruns, const nay_allocator *a, nay_diag *diag,
                             nay_lookup **lookup) {
  size_t bytes = lookup_array_bytes(ntables, nruns);
  nay_lookup *l = bytes == 0 ? NULL : nay__alloc(a, sizeof *l);
  nay_lookup_slot *arrays = l == NULL ? NULL : nay__alloc(a, bytes);
  if (arrays == NULL) {
    nay__free(a, l, sizeof *l);
    return nay__fail(diag, NAY_ENOMEM, "no memory for a lookup", 0);
  }
  *l = (nay_lookup){.allocator = *a, .array_bytes = bytes, .tables = arrays};
  l->slots = arrays + ntables;
  l->runs = (nay_lookup_run *)(void *)(l->slots + ntables);
  l->counts = l->own;
  l->overlapping = true;
  *lookup = l;
  return NAY_OK;
}

nay_status nay_lookup_new_levels(const nay_lookup_level *levels, size_t n,
                                 const nay_lookup_options *options, const nay_allocator *allocator,
                                 nay_diag *diag, nay_lookup **lookup) {
  nay_lookup_options o = {.size = sizeof o};
  nay_allocator a;
  nay_lookup_level level;
  const nay_sst *first = NULL;
  size_t ntables = 0;
  if ((levels == NULL && n != 0) || lookup == NULL) {
    return nay__fail(diag, NAY_EINVAL, "levels or lookup is NULL", 0);
  }
  if (options != NULL) NAY_TRY(nay__abi_read(NAY_ABI_LOOKUP, options, diag, &o));
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  for (size_t i = 0; i < n; i++) {
    NAY_TRY(lookup_read_level(levels, i, diag, &level));
    NAY_TRY(lookup_check_comparators(&level, ntables, diag, &first));
    if (level.disjoint) NAY_TRY(lookup_check_disjoint(&level, ntables, diag));
    ntables += level.n;
  }
  nay_lookup *l;
  NAY_TRY(nay__lookup_alloc(ntables, n, &a, diag, &l));
  for (size_t i = 0; i < n; i++) {
    (void)lookup_read_level(levels, i, NULL, &level); /* as before */
    nay__lookup_add_run(l, level.disjoint);
    for (size_t k = 0; k < level.n; k++) nay__lookup_add(l, level.tables[k]);
  }
  l->merge = (nay_operator){o.merge, o.merge_ctx};
  *lookup = l;
  return NAY_OK;
}

nay_status nay_lookup_new(const nay_sst *const *tables, size_t n, const nay_allocator *allocator,
                          nay_lookup **lookup) {
  nay_lookup_level all = {.size = sizeof all, .tables = tables, .n = n};
  return nay_lookup_new_levels(&all, 1, NULL, allocator, NULL, lookup);
}

void nay_lookup_free(nay_lookup *l) {
  if (l == NULL) return;
  nay_allocator a = l->allocator;
  nay__free(&a, l->tables, l->array_bytes);
  nay__free(&a, l, sizeof *l);
}

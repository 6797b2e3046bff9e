/*
 * lookup_new.c - makes a lookup from tables or levels.
 *
 * A disjoint level is verified: each table's last key must be below the smallest key of the next
 * table, because a binary search over overlapping tables would miss keys. The last key of its
 * index is an upper bound of a table's last key. Only if the bound is not below the next table, the
 * last block is read for the key itself. nay's tables with properties have the last key as their
 * bound (writer.c), so no block is read; LevelDB's bound is a shortened separator. The largest
 * key that the properties state is never used: it could be wrong.
 */
#include "tree/lookup.h"

/* Element i of the caller's array, whose stride is the size field of its first element: the caller
 * may have been compiled with a larger or smaller struct. */
static const void *lookup_level_at(const nay_sst_lookup_level *levels, size_t i) {
  return (const uint8_t *)levels + i * levels[0].size;
}

static nay_status lookup_read_level(const nay_sst_lookup_level *levels, size_t i, nay_diag *diag,
                                    nay_sst_lookup_level *level) {
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

/* Checks that the tables of a level match *first, the first table with keys of all levels. `number`
 * is the number of the level's first table. */
static nay_status lookup_check_comparators(const nay_sst_lookup_level *level, size_t number,
                                           nay_diag *diag, const nay_sst **first) {
  for (size_t i = 0; i < level->n; i++) {
    NAY_TRY(nay_sst__join(level->tables[i], number + i, diag, first));
  }
  return NAY_OK;
}

/* ---- disjoint levels ---- */

static nay_bytes lookup_user_key(const nay_sst *t, const uint8_t *key, size_t len) {
  return (nay_bytes){key, nay_sst__user_len(t->order, len)};
}

static int lookup_compare(const nay_sst *t, nay_bytes a, nay_bytes b) {
  return nay_sst__compare_users(t->order, a.at, a.len, b.at, b.len);
}

/* Sets *below to whether the last key of table t is below `key`. Reads the last block. */
static nay_status lookup_last_below(const nay_sst *t, nay_bytes key, nay_diag *diag, bool *below) {
  nay_sst_iter *it;
  if (nay_sst_iter_new(t, NULL, &it) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for an iterator", 0);
  }
  nay_status status = nay_sst_iter_last(it);
  if (status == NAY_OK) {
    size_t len;
    const uint8_t *last = nay_sst_iter_key(it, &len);
    *below = lookup_compare(t, lookup_user_key(t, last, len), key) < 0;
  } else if (status != NAY_EEND && diag != NULL) {
    *diag = *nay_sst_iter_diag(it);
  }
  nay_sst_iter_free(it);
  return status == NAY_EEND ? NAY_OK : status;
}

/* Sets *above to whether all keys of t are above those of `before`. Neither table is empty. */
static nay_status lookup_is_above(const nay_sst *before, const nay_sst *t, nay_diag *diag,
                                  bool *above) {
  nay_bytes first = lookup_user_key(t, t->range.smallest.at, t->range.smallest.len);
  nay_bytes bound = lookup_user_key(before, before->range.largest.at, before->range.largest.len);
  *above = lookup_compare(t, bound, first) < 0;
  return *above ? NAY_OK : lookup_last_below(before, first, diag, above);
}

nay_status nay_sst__lookup_check_place(const nay_sst *before, const nay_sst *t, size_t number,
                                       nay_diag *diag) {
  bool above = true;
  if (t->sorting.unknown != NAY_OK) return nay_sst__order_unknown(t, diag);
  if (!t->range.has_smallest) {
    return nay__fail(diag, NAY_EINVAL, "a table of a disjoint level has no readable first key",
                     number);
  }
  if (before != NULL) NAY_TRY(lookup_is_above(before, t, diag, &above));
  if (above) return NAY_OK;
  return nay__fail(diag, NAY_EINVAL, "a table of a disjoint level is not above the table before it",
                   number);
}

static nay_status lookup_check_disjoint(const nay_sst_lookup_level *level, size_t number,
                                        nay_diag *diag) {
  const nay_sst *before = NULL;
  for (size_t i = 0; i < level->n; i++) {
    const nay_sst *t = level->tables[i];
    if (t->range.empty) continue;
    NAY_TRY(nay_sst__lookup_check_place(before, t, number + i, diag));
    before = t;
  }
  return NAY_OK;
}

size_t nay_sst__lookup_upper_bound(const nay_sst_lookup *l, const nay_level_slots *level,
                                   const uint8_t *key, size_t len) {
  const nay_sst_lookup_slot *slots = l->slots + level->first;
  size_t low = 0, high = level->n; /* the smallest keys of slots below `low` are at most `key` */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const nay_sst *t = slots[middle].table;
    nay_bytes first = lookup_user_key(t, t->range.smallest.at, t->range.smallest.len);
    if (lookup_compare(t, first, (nay_bytes){key, len}) <= 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

const nay_sst_lookup_slot *nay_sst__lookup_find_slot(const nay_sst_lookup *l,
                                                     const nay_level_slots *level,
                                                     const uint8_t *key, size_t len) {
  size_t n = nay_sst__lookup_upper_bound(l, level, key, len);
  return n != 0 ? &l->slots[level->first + n - 1] : NULL;
}

/* ---- new and free ---- */

/* Bytes of the three arrays; 0: the size overflows. */
static size_t lookup_array_bytes(size_t ntables, size_t nlevels) {
  size_t slots, levels;
  if (!nay__mul_ok(ntables, 2 * sizeof(nay_sst_lookup_slot), &slots) ||
      !nay__mul_ok(nlevels, sizeof(nay_level_slots), &levels) || slots > SIZE_MAX / 2 - levels) {
    return 0;
  }
  return slots + levels + 1;
}

void nay_sst__lookup_add_level(nay_sst_lookup *l, bool disjoint) {
  nay_level_slots *level = &l->levels[l->nlevels++];
  *level = (nay_level_slots){.first = l->nslots, .tables_end = l->ntables, .disjoint = disjoint};
  l->overlapping &= !disjoint;
}

void nay_sst__lookup_add_table(nay_sst_lookup *l, const nay_sst *t) {
  nay_level_slots *level = &l->levels[l->nlevels - 1];
  nay_sst_lookup_slot slot = {t, l->ntables};
  l->tables[l->ntables++] = slot;
  level->tables_end = l->ntables;
  if (level->disjoint && t->range.empty) return;
  l->slots[l->nslots++] = slot;
  level->n++;
}

nay_status nay_sst__lookup_alloc(size_t ntables, size_t nlevels, const nay_allocator *a,
                                 nay_diag *diag, nay_sst_lookup **lookup) {
  size_t bytes = lookup_array_bytes(ntables, nlevels);
  nay_sst_lookup *l = bytes == 0 ? NULL : nay__alloc(a, sizeof *l);
  nay_sst_lookup_slot *arrays = l == NULL ? NULL : nay__alloc(a, bytes);
  if (arrays == NULL) {
    nay__free(a, l, sizeof *l);
    return nay__fail(diag, NAY_ENOMEM, "no memory for a lookup", 0);
  }
  *l = (nay_sst_lookup){.allocator = *a, .array_bytes = bytes, .tables = arrays};
  l->slots = arrays + ntables;
  l->levels = (nay_level_slots *)(void *)(l->slots + ntables);
  l->counts = l->counters;
  l->overlapping = true;
  *lookup = l;
  return NAY_OK;
}

nay_status nay_sst_lookup_new(const nay_sst_lookup_level *levels, size_t n,
                              const nay_sst_lookup_options *options, const nay_allocator *allocator,
                              nay_diag *diag, nay_sst_lookup **lookup) {
  nay_sst_lookup_options o = {.size = sizeof o};
  nay_allocator a;
  nay_sst_lookup_level level;
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
  nay_sst_lookup *l;
  NAY_TRY(nay_sst__lookup_alloc(ntables, n, &a, diag, &l));
  for (size_t i = 0; i < n; i++) {
    (void)lookup_read_level(levels, i, NULL, &level); /* cannot fail: it was checked above */
    nay_sst__lookup_add_level(l, level.disjoint);
    for (size_t k = 0; k < level.n; k++) nay_sst__lookup_add_table(l, level.tables[k]);
  }
  l->merge = (nay_operator){o.merge, o.merge_ctx};
  *lookup = l;
  return NAY_OK;
}

void nay_sst_lookup_free(nay_sst_lookup *l) {
  if (l == NULL) return;
  nay_allocator a = l->allocator;
  nay__free(&a, l->tables, l->array_bytes);
  nay__free(&a, l, sizeof *l);
}

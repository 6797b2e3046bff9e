/*
 * lookup_edit.c - makes a lookup from the previous one and the tables that a flush or compaction
 * removed and added (LevelDB's VersionEdit).
 *
 * Tables that stay were checked when they were added and are not checked again. With n tables and c
 * changes an edit takes O(c log n) key comparisons, and copies 32 bytes for each table that stays.
 * It reads the last block of a table only if the bound in its index (lookup_new.c) is not enough
 * to tell an added table and its neighbour apart.
 *
 * A disjoint level stays disjoint when tables are removed. An added table is placed by its smallest
 * key and compared with its two neighbours.
 */
#include "base/sort.h"
#include "tree/lookup.h"

/* edit_place: where an added table is in the new lookup. */
typedef struct edit_place {
  size_t level;
  size_t slot; /* SIZE_MAX: none, because the table is empty and the level disjoint */
  size_t number;
} edit_place;

typedef struct edit_work {
  const nay_sst_lookup *from;
  nay_sst_lookup *to;
  const nay_sst_lookup_edit *edits; /* the caller's array */
  size_t nedits;
  size_t nadded, nremoved; /* sums over all edits */
  uint64_t *removed;       /* sorted addresses of the current edit's removed tables; bit 0 is set
                              once the table was found in its level */
  size_t ncurrent;         /* length of `removed` for the current edit */
  edit_place *places;      /* of the added tables, so far */
  size_t nplaces;
  nay_diag *diag;
} edit_work;

/* ---- the edits ---- */

/* Reads edit i. The size field of the first edit is the stride of the caller's array: the caller
 * may have been compiled with a larger or smaller struct. */
static nay_status edit_read(const edit_work *w, size_t i, nay_sst_lookup_edit *edit) {
  const uint8_t *at = (const uint8_t *)w->edits + i * w->edits[0].size;
  size_t size;
  memcpy(&size, at, sizeof size);
  if (size != w->edits[0].size) {
    return nay__fail(w->diag, NAY_EINVAL, "the edits of a lookup differ in size", i);
  }
  return nay__abi_read(NAY_ABI_LOOKUP_EDIT, at, w->diag, edit);
}

static bool edit_none_null(const nay_sst *const *tables, size_t n) {
  if (tables == NULL && n != 0) return false;
  for (size_t i = 0; i < n; i++) {
    if (tables[i] == NULL) return false;
  }
  return true;
}

static nay_status edit_check(edit_work *w) {
  size_t next = 0; /* the lowest level that the next edit may name */
  for (size_t i = 0; i < w->nedits; i++) {
    nay_sst_lookup_edit e;
    NAY_TRY(edit_read(w, i, &e));
    if (e.level >= w->from->nlevels || e.level < next) {
      return nay__fail(w->diag, NAY_EINVAL,
                       "an edit names no level, or the edits are not in ascending order", i);
    }
    if (!edit_none_null(e.removed, e.nremoved) || !edit_none_null(e.added, e.nadded)) {
      return nay__fail(w->diag, NAY_EINVAL, "a table of an edit is NULL", i);
    }
    next = e.level + 1;
    w->nadded += e.nadded;
    w->nremoved += e.nremoved;
  }
  return NAY_OK;
}

/* ---- removed tables ---- */

static nay_status edit_sort_removed(edit_work *w, const nay_sst_lookup_edit *e) {
  size_t n = e->nremoved, first = 0;
  for (size_t i = 0; i < n; i++) w->removed[i] = (uint64_t)(uintptr_t)e->removed[i];
  nay__sort_u64(w->removed, n);
  w->ncurrent = n;
  for (size_t i = 1; i < n; i++) {
    if (w->removed[i] != w->removed[i - 1]) continue;
    while ((uint64_t)(uintptr_t)e->removed[first] != w->removed[i]) first++;
    size_t again = first + 1;
    while (e->removed[again] != e->removed[first]) again++;
    return nay__fail(w->diag, NAY_EINVAL, "a removed table is named twice", again);
  }
  return NAY_OK;
}

static bool edit_is_removed(edit_work *w, const nay_sst *t) {
  uint64_t address = (uint64_t)(uintptr_t)t;
  size_t low = 0, high = w->ncurrent;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if ((w->removed[middle] & ~(uint64_t)1) < address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == w->ncurrent || (w->removed[low] & ~(uint64_t)1) != address) return false;
  w->removed[low] |= 1;
  return true;
}

static nay_status edit_check_all_found(const edit_work *w, const nay_sst_lookup_edit *e) {
  for (size_t i = 0; i < w->ncurrent; i++) {
    if ((w->removed[i] & 1) != 0) continue;
    size_t at = 0;
    while ((uint64_t)(uintptr_t)e->removed[at] != w->removed[i]) at++;
    return nay__fail(w->diag, NAY_EINVAL, "a removed table is not in its level", at);
  }
  return NAY_OK;
}

/* ---- added tables ---- */

static void edit_add(edit_work *w, const nay_sst *t) {
  nay_sst_lookup *l = w->to;
  size_t slot = l->nslots;
  nay_sst__lookup_add_table(l, t);
  w->places[w->nplaces++] =
      (edit_place){l->nlevels - 1, l->nslots != slot ? slot : SIZE_MAX, l->ntables - 1};
}

/* Where added table i goes: before the table with this number in the old lookup. SIZE_MAX: there is
 * no added table i. 0: at once, for empty tables and in overlapping levels, whose added tables come
 * first because they are the newest. */
static size_t edit_insert_before(const edit_work *w, const nay_level_slots *level,
                                 const nay_sst_lookup_edit *e, size_t i) {
  if (i == e->nadded) return SIZE_MAX;
  const nay_sst *t = e->added[i];
  if (!level->disjoint || t->range.empty) return 0;
  size_t len = nay_sst__user_len(t->order, t->range.smallest.len);
  size_t n =
      nay_sst__lookup_upper_bound(w->from, level, nay__buffer_at(&t->range.smallest, 0), len);
  return n < level->n ? w->from->slots[level->first + n].number : level->tables_end;
}

/* Makes one level of the new lookup from the old one; e NULL: without changes. */
static nay_status edit_level(edit_work *w, size_t level_number, const nay_sst_lookup_edit *e) {
  const nay_level_slots *level = &w->from->levels[level_number];
  size_t number = level_number != 0 ? level[-1].tables_end : 0, i = 0;
  nay_sst__lookup_add_level(w->to, level->disjoint);
  if (e == NULL) {
    for (; number < level->tables_end; number++) {
      nay_sst__lookup_add_table(w->to, w->from->tables[number].table);
    }
    return NAY_OK;
  }
  NAY_TRY(edit_sort_removed(w, e));
  size_t next = edit_insert_before(w, level, e, 0);
  for (;; number++) {
    while (next <= number) {
      edit_add(w, e->added[i++]);
      next = edit_insert_before(w, level, e, i);
    }
    if (number == level->tables_end) break;
    const nay_sst *t = w->from->tables[number].table;
    if (!edit_is_removed(w, t)) nay_sst__lookup_add_table(w->to, t);
  }
  return edit_check_all_found(w, e);
}

/* The first table with keys of the old lookup, which added tables must match in comparator and kind
 * of keys. A table for ingestion was the only one with keys: if it was removed, there is nothing to
 * match, and the result is NULL. */
static const nay_sst *edit_first_nonempty(const edit_work *w) {
  const nay_sst *first = NULL;
  for (size_t i = 0; first == NULL && i < w->from->ntables; i++) {
    if (!w->from->tables[i].table->range.empty) first = w->from->tables[i].table;
  }
  if (first == NULL || !first->meta.for_ingestion) return first;
  for (size_t i = 0; i < w->to->ntables; i++) {
    if (w->to->tables[i].table == first) return first;
  }
  return NULL;
}

static nay_status edit_check_place(const edit_work *w, const edit_place *place) {
  const nay_sst_lookup *l = w->to;
  const nay_level_slots *level = &l->levels[place->level];
  const nay_sst_lookup_slot *slot = &l->slots[place->slot];
  if (!level->disjoint) return NAY_OK;
  size_t i = place->slot - level->first;
  const nay_sst *before = i != 0 ? slot[-1].table : NULL;
  NAY_TRY(nay_sst__lookup_check_place(before, slot->table, slot->number, w->diag));
  if (i + 1 == level->n) return NAY_OK;
  return nay_sst__lookup_check_place(slot->table, slot[1].table, slot[1].number, w->diag);
}

static nay_status edit_check_added(const edit_work *w) {
  const nay_sst *first = edit_first_nonempty(w);
  for (size_t i = 0; i < w->nplaces; i++) {
    size_t number = w->places[i].number;
    NAY_TRY(nay_sst__join(w->to->tables[number].table, number, w->diag, &first));
  }
  for (size_t i = 0; i < w->nplaces; i++) {
    if (w->places[i].slot != SIZE_MAX) NAY_TRY(edit_check_place(w, &w->places[i]));
  }
  return NAY_OK;
}

/* ---- the call ---- */

static nay_status edit_apply(edit_work *w) {
  size_t next = 0;
  for (size_t level = 0; level < w->from->nlevels; level++) {
    nay_sst_lookup_edit e = {.level = SIZE_MAX};
    if (next < w->nedits) NAY_TRY(edit_read(w, next, &e));
    bool changed = e.level == level;
    NAY_TRY(edit_level(w, level, changed ? &e : NULL));
    next += changed;
  }
  return edit_check_added(w);
}

nay_status nay_sst_lookup_new_edited(const nay_sst_lookup *previous,
                                     const nay_sst_lookup_edit *edits, size_t n,
                                     const nay_allocator *allocator, nay_diag *diag,
                                     nay_sst_lookup **lookup) {
  edit_work w = {.from = previous, .edits = edits, .nedits = n, .diag = diag};
  nay_allocator a;
  size_t places, removed;
  if (previous == NULL || (edits == NULL && n != 0) || lookup == NULL) {
    return nay__fail(diag, NAY_EINVAL, "previous, edits or lookup is NULL", 0);
  }
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  NAY_TRY(edit_check(&w));
  if (!nay__mul_ok(w.nadded + 1, sizeof *w.places, &places) ||
      !nay__mul_ok(w.nremoved + 1, sizeof *w.removed, &removed) || places > SIZE_MAX - removed) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for a lookup", 0);
  }
  NAY_TRY(nay_sst__lookup_alloc(previous->ntables + w.nadded, previous->nlevels, &a, diag, &w.to));
  w.places = nay__alloc(&a, places + removed);
  nay_status status;
  if (w.places != NULL) {
    w.removed = (uint64_t *)(void *)(w.places + w.nadded + 1);
    status = edit_apply(&w);
  } else {
    status = nay__fail(diag, NAY_ENOMEM, "no memory for a lookup", 0);
  }
  nay__free(&a, w.places, places + removed);
  w.to->merge = previous->merge;
  if (status == NAY_OK) {
    *lookup = w.to;
  } else {
    nay_sst_lookup_free(w.to);
  }
  return status;
}

const nay_sst *nay_sst_lookup_table(const nay_sst_lookup *l, size_t number) {
  return l != NULL && number < l->ntables ? l->tables[number].table : NULL;
}

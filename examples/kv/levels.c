/*
 * levels.c - tables, and the levels they are in.
 *
 * The tables of level 0 overlap; those of any other level are disjoint and in the order of keys, so
 * that a binary search finds those that overlap a range. Each table knows how many bytes of the
 * next level overlap it. A change of the levels recomputes that for the tables near the change
 * alone: it costs comparisons in proportion to what changes, not to the tables there are.
 */
#include <nay_sst_iter.h>

#include "store.h"

/* NAY_OK: the key is the one that the iterator is at. */
static nay_status table_key_is(nay_sst_iter *it, nay_status status, kv_slice key, kv_file *at,
                               kv_error *error) {
  kv_slice has = {NULL, 0};
  if (status != NAY_OK && status != NAY_EEND) {
    at->diag = *nay_sst_iter_diag(it);
    return kv__blame(error, status, at);
  }
  if (status == NAY_OK) has.data = nay_sst_iter_key(it, &has.len);
  if (has.len >= 8 && kv__compare((kv_slice){has.data, has.len - 8}, key) == 0) return NAY_OK;
  return kv__fail(error, NAY_ECORRUPT, "%s: its keys are not those that it states", at->path);
}

/* The range of a table decides what is merged with what: one that lies about it would hide newer
 * entries. So what it states is compared with its first and its last entry. */
static nay_status table_range(const kv_table *t, kv_file *at, kv_error *error) {
  nay_sst_iter *it;
  if (nay_sst_iter_new(t->sst, NULL, &it) != NAY_OK) abort(); /* memory */
  nay_status status = table_key_is(it, nay_sst_iter_first(it), t->smallest, at, error);
  if (status == NAY_OK) status = table_key_is(it, nay_sst_iter_last(it), t->largest, at, error);
  nay_sst_iter_free(it);
  return status;
}

bool kv__table_reaches(const char *path, uint64_t sequence) {
  nay_sst *sst;
  nay_sst_info is = {.size = sizeof is};
  nay_sst_read_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL};
  if (nay_sst_open(path, &how, NULL, NULL, &sst) != NAY_OK) return false;
  nay_sst_stats(sst, &is);
  bool reaches = is.properties != NULL && is.properties->largest_sequence > sequence;
  nay_sst_free(sst);
  return reaches;
}

/* The largest key is the exact one: that of the index may be far above it, and compactions would
 * merge what does not overlap. */
nay_status kv__table_open(const kv *db, kv_table *t, kv_error *error) {
  const uint64_t bytes = t->bytes, last = t->last;
  kv_file at = kv__file_numbered(db, t->number, "ldb");
  nay_sst_info info = {.size = sizeof info};
  nay_sst_properties has = {.size = sizeof has};
  t->pool = db->pool;
  nay_status status = nay_sst_pool_acquire(t->pool, at.path, &at.diag, &t->sst);
  if (status != NAY_OK) return kv__blame(error, status, &at);
  nay_sst_stats(t->sst, &info);
  if (info.properties != NULL) has = *info.properties;
  t->bytes = info.nbytes;
  t->last = has.largest_sequence;
  t->smallest = (kv_slice){has.smallest, has.smallest_len};
  t->largest = (kv_slice){has.largest, has.largest_len};
  bool same = bytes == t->bytes && last == t->last;
  if (has.smallest != NULL && (same || bytes == 0)) return table_range(t, &at, error);
  return kv__fail(error, NAY_ECORRUPT, "%s: not the table that was written", at.path);
}

void kv__table_unref(kv_table *t) {
  if (atomic_fetch_sub(&t->refs, 1) > 1) return;
  nay_sst_pool_release(t->pool, t->sst);
  free(t);
}

void kv__levels_unref(kv_levels *l) {
  if (l == NULL || atomic_fetch_sub(&l->refs, 1) > 1) return;
  nay_sst_lookup_free(l->lookup);
  for (size_t i = 0; i < l->n; i++) kv__table_unref(l->tables[i]);
  free(l->before);
  free(l);
}

/* ---- overlaps ---- */

/* The first of the tables from `first` to `end` whose largest key (else: whose smallest) is not
 * below (else: is above) the key. */
static size_t levels_search(const kv_levels *l, size_t first, size_t end, kv_slice key,
                            bool largest) {
  while (first < end) {
    size_t middle = first + (end - first) / 2;
    const kv_table *t = l->tables[middle];
    bool before = largest ? kv__compare(t->largest, key) < 0 : kv__compare(t->smallest, key) <= 0;
    if (before)
      first = middle + 1;
    else
      end = middle;
  }
  return first;
}

kv_range kv__levels_overlap(const kv_levels *l, unsigned level, kv_slice smallest,
                            kv_slice largest) {
  kv_range r = {l->start[level], l->start[level + 1]};
  if (level == 0) return r;
  r.first = levels_search(l, r.first, r.end, smallest, true);
  r.end = levels_search(l, r.first, r.end, largest, false);
  return r;
}

/* The overlaps of a level's tables that have keys from smallest to largest. */
static void levels_weigh(const kv_levels *l, unsigned level, kv_slice smallest, kv_slice largest) {
  kv_range r = kv__levels_overlap(l, level, smallest, largest);
  for (size_t i = r.first; i < r.end && level + 1 < KV_LEVELS; i++) {
    kv_table *t = l->tables[i];
    t->overlap = kv__levels_bytes(l, kv__levels_overlap(l, level + 1, t->smallest, t->largest));
  }
}

/* ---- new levels ---- */

/* Counts the tables, which are in order. */
static void levels_count(kv_levels *l) {
  l->before = kv__alloc((l->n + 1) * sizeof *l->before);
  for (size_t i = 0; i < l->n; i++) {
    l->start[l->tables[i]->level + 1]++;
    l->before[i + 1] = l->before[i] + l->tables[i]->bytes;
  }
  for (unsigned i = 0; i < KV_LEVELS; i++) l->start[i + 1] += l->start[i];
}

/* Of the lookup of new levels. Frees them when it is not NAY_OK: some of them overlap. */
static nay_status levels_status(kv_levels *l, nay_status status, const nay_diag *diag,
                                kv_error *error) {
  if (status == NAY_OK) return NAY_OK;
  kv__fail(error, NAY_ECORRUPT, "%06" PRIu64 ".ldb: %s",
           diag->offset < l->n ? l->tables[diag->offset]->number : 0, diag->what);
  kv__levels_unref(l);
  return NAY_ECORRUPT;
}

static nay_status levels_lookup(kv_levels *l, kv_error *error) {
  const nay_sst **ssts = kv__alloc((l->n + 1) * sizeof(nay_sst *));
  nay_sst_lookup_level levels[KV_LEVELS];
  nay_diag diag = {.what = ""};
  for (size_t i = 0; i < l->n; i++) ssts[i] = l->tables[i]->sst;
  for (unsigned i = 0; i < KV_LEVELS; i++)
    levels[i] =
        (nay_sst_lookup_level){sizeof levels[i], ssts + l->start[i], kv__levels_count(l, i), i > 0};
  nay_status status = nay_sst_lookup_new(levels, KV_LEVELS, NULL, NULL, &diag, &l->lookup);
  free(ssts);
  return levels_status(l, status, &diag, error);
}

/* The lookup of the old levels with their tables that are merged, of two levels at most, replaced
 * by the outputs. */
static nay_status levels_edit(kv_levels *l, const kv_levels *old, kv_table *const *tables, size_t n,
                              const kv_change *change, kv_error *error) {
  const unsigned from = change->to != 0 ? change->to - 1 : 0;
  const nay_sst **removed = kv__alloc((old->n + 1) * sizeof(nay_sst *));
  const nay_sst **added = kv__alloc((n + 1) * sizeof(nay_sst *));
  size_t gone = 0, nedits = change->to - from + 1;
  nay_sst_lookup_edit edits[2] = {{.size = sizeof edits[0]}, {.size = sizeof edits[1]}};
  nay_diag diag = {.what = ""};
  for (size_t i = 0; i < nedits; i++) {
    edits[i].level = from + i;
    edits[i].removed = removed + gone;
    for (size_t k = old->start[from + i]; k < old->start[from + i + 1]; k++)
      if (old->tables[k]->merged) removed[gone++] = old->tables[k]->sst;
    edits[i].nremoved = gone - (size_t)(edits[i].removed - removed);
  }
  for (size_t i = 0; i < n; i++) added[i] = tables[i]->sst;
  edits[nedits - 1].added = added;
  edits[nedits - 1].nadded = n;
  nay_status status =
      nay_sst_lookup_new_edited(old->lookup, edits, nedits, NULL, &diag, &l->lookup);
  free(removed);
  free(added);
  return levels_status(l, status, &diag, error);
}

static kv_levels *levels_alloc(size_t n) {
  kv_levels *l = kv__alloc(sizeof *l + n * sizeof l->tables[0]);
  l->refs = 1;
  l->n = n;
  return l;
}

static int table_order(const void *a, const void *b) {
  const kv_table *s = *(kv_table *const *)a, *t = *(kv_table *const *)b;
  if (s->level != t->level) return s->level < t->level ? -1 : 1;
  return s->level == 0 ? (s->number < t->number ? 1 : -1) : kv__compare(s->smallest, t->smallest);
}

nay_status kv__levels_new(kv_table *const *tables, size_t n, kv_error *error, kv_levels **levels) {
  kv_levels *l = levels_alloc(n);
  if (n != 0) memcpy(l->tables, tables, n * sizeof *tables);
  if (n > 1) qsort(l->tables, n, sizeof l->tables[0], table_order);
  levels_count(l);
  nay_status status = levels_lookup(l, error);
  if (status != NAY_OK) return status;
  for (unsigned i = 0; i < KV_LEVELS; i++) {
    if (kv__levels_count(l, i) == 0) continue;
    kv_slice last = l->tables[l->start[i + 1] - 1]->largest;
    levels_weigh(l, i, l->tables[l->start[i]]->smallest, last);
  }
  *levels = l;
  return NAY_OK;
}

/* Where new tables belong among those that stay: level 0 has the newest first. */
static size_t levels_place(const kv_levels *old, const kv_table *t) {
  size_t first = old->start[t->level], end = old->start[t->level + 1];
  return t->level == 0 ? first : levels_search(old, first, end, t->smallest, true);
}

nay_status kv__levels_next(const kv_levels *old, kv_table *const *tables, size_t n,
                           const kv_change *change, kv_error *error, kv_levels **levels) {
  kv_levels *l = levels_alloc(old->n + n);
  size_t place = n != 0 ? levels_place(old, tables[0]) : 0;
  l->n = 0;
  for (size_t i = 0; i <= old->n; i++) {
    for (size_t k = 0; k < n && i == place; k++) l->tables[l->n++] = tables[k];
    if (i == old->n || old->tables[i]->merged) continue;
    l->tables[l->n++] = old->tables[i];
    old->tables[i]->refs++;
  }
  levels_count(l);
  nay_status status = levels_edit(l, old, tables, n, change, error);
  if (status != NAY_OK) return status;
  /* inputs are gone from the level above: the one above that overlaps less */
  for (unsigned i = change->to < 2 ? 0 : change->to - 2; i <= change->to; i++)
    levels_weigh(l, i, change->smallest, change->largest);
  *levels = l;
  return NAY_OK;
}

/*
 * scan_new.c - creates a merging iterator.
 *
 * Children are ordered from newest to oldest: first the caller's sources (memtables), then the
 * tables of the lookup, level by level. A table that has no key inside the bounds, by its key range
 * or by its prefix filter, does not become a child.
 */
#include "block/option_checks.h"
#include "tree/lookup.h"
#include "tree/scan.h"

/* ---- options ---- */

static nay_status merge_bad(nay_diag *diag, const char *what, uint64_t at) {
  return nay__fail(diag, NAY_EINVAL, what, at);
}

static nay_status merge_check(const nay_sst_scan_options *o, nay_diag *diag) {
  if ((unsigned)o->keys > NAY_SST_KEYS_INTERNAL) return merge_bad(diag, "unknown kind of keys", 0);
  if ((o->sources == NULL && o->nsources != 0) || (o->lower == NULL && o->lower_len != 0) ||
      (o->upper == NULL && o->upper_len != 0) || (o->prefix == NULL && o->prefix_len != 0)) {
    return merge_bad(diag, "sources, a bound or the prefix is NULL but has a length", 0);
  }
  if (o->sequence != NULL && *o->sequence > NAY_SST_MAX_SEQUENCE) {
    return merge_bad(diag, "the sequence number is above NAY_SST_MAX_SEQUENCE", 0);
  }
  return nay_sst__check_comparator(o->comparator, diag);
}

/* Reads source i. The caller's compiler laid out the array, so the first element's size is the
 * stride. */
static nay_status merge_read_source(const nay_sst_scan_options *o, size_t i, nay_diag *diag,
                                    nay_sst_source *source) {
  const uint8_t *at = (const uint8_t *)o->sources + i * o->sources[0].size;
  size_t size;
  memcpy(&size, at, sizeof size);
  if (size != o->sources[0].size)
    return merge_bad(diag, "the sources differ in their field size", i);
  NAY_TRY(nay__abi_read(NAY_ABI_SST_SOURCE, at, diag, source));
  bool calls = source->first != NULL && source->last != NULL && source->seek != NULL &&
               source->seek_for_prev != NULL && source->next != NULL && source->prev != NULL &&
               source->key != NULL && source->value != NULL;
  return calls ? NAY_OK : merge_bad(diag, "a source lacks a call", i);
}

/* Determines the key order of the iterator: the order of the tables that have keys; without such
 * tables the order in the options, then the order of an empty table. */
static nay_status merge_order(nay_sst_scan *m, const nay_sst_lookup *l,
                              const nay_sst_scan_options *o, nay_diag *diag) {
  const nay_sst *first = NULL, *empty = NULL;
  for (size_t i = 0; l != NULL && i < l->ntables; i++) {
    const nay_sst *t = l->tables[i].table;
    if (t->range.empty && !t->sorting.guessed) empty = t;
    NAY_TRY(nay_sst__join(t, i, diag, &first));
    if (first != NULL && !t->range.empty && t->order.internal != first->order.internal) {
      return nay__fail(diag, NAY_EMISMATCH,
                       "some tables have plain keys and some have internal keys", i);
    }
  }
  m->order = (nay_order){o->comparator, o->keys != NAY_SST_KEYS_PLAIN};
  if (first == NULL && empty != NULL) {
    if (o->keys == NAY_SST_KEYS_AUTO) m->order.internal = empty->order.internal;
    if (o->comparator == NULL) m->order.user = empty->order.user;
  }
  if (first == NULL) return NAY_OK;
  m->order = first->order;
  if (o->comparator != NULL && !nay_sst__same_comparator(o->comparator, first->order.user)) {
    return nay__fail(diag, NAY_EMISMATCH, "the comparator is not the one of the tables", 0);
  }
  bool differs =
      o->keys != NAY_SST_KEYS_AUTO && (o->keys == NAY_SST_KEYS_INTERNAL) != first->order.internal;
  if (!differs) return NAY_OK;
  return nay__fail(diag, NAY_EMISMATCH, "the tables have the other kind of keys", 0);
}

/* ---- bounds ---- */

static nay_status merge_set_bound(const nay_sst_scan *m, nay_buffer *bound, bool *has,
                                  const void *key, size_t len) {
  *has = true;
  bound->len = 0;
  return nay__buffer_append(bound, key, len, &m->allocator);
}

/* Narrows the bounds to the keys that start with the prefix. */
static nay_status merge_prefix(nay_sst_scan *m, const uint8_t *prefix, size_t len) {
  size_t n = len;
  if (!m->has_lower || nay_sst__compare_bytes(m->lower.at, m->lower.len, prefix, len) < 0) {
    NAY_TRY(merge_set_bound(m, &m->lower, &m->has_lower, prefix, len));
  }
  while (n > 0 && prefix[n - 1] == 0xff) n--;
  if (n == 0)
    return NAY_OK; /* the prefix is all 0xff: no key sorts after the keys that start with it */
  nay_buffer end = {NULL, 0, 0};
  NAY_TRY(nay__buffer_append(&end, prefix, n, &m->allocator));
  end.at[n - 1]++;
  if (m->has_upper && nay_sst__compare_bytes(m->upper.at, m->upper.len, end.at, end.len) <= 0) {
    nay__buffer_free(&end, &m->allocator);
    return NAY_OK;
  }
  nay__buffer_free(&m->upper, &m->allocator);
  m->upper = end;
  m->has_upper = true;
  return NAY_OK;
}

static nay_status merge_bounds(nay_sst_scan *m, const nay_sst_scan_options *o, nay_diag *diag) {
  if (o->lower != NULL) {
    NAY_TRY(merge_set_bound(m, &m->lower, &m->has_lower, o->lower, o->lower_len));
  }
  if (o->upper != NULL) {
    NAY_TRY(merge_set_bound(m, &m->upper, &m->has_upper, o->upper, o->upper_len));
  }
  if (o->prefix == NULL) return NAY_OK;
  if (m->order.user != NULL) {
    return nay__fail(diag, NAY_ENOTSUP, "a prefix scan needs the bytewise comparator", 0);
  }
  return merge_prefix(m, o->prefix, o->prefix_len);
}

/* Whether a table may have keys inside the bounds. In doubt it may: the iterator skips keys
 * outside. */
static bool merge_may_overlap(const nay_sst_scan *m, const nay_sst *t, bool *asked) {
  *asked = false;
  if (t->range.empty) return false;
  size_t low = nay_sst__user_len(t->order, t->range.smallest.len);
  size_t high = nay_sst__user_len(t->order, t->range.largest.len);
  if (t->sorting.unknown != NAY_OK) return true;
  if (m->has_lower &&
      nay_sst__compare_users(t->order, t->range.largest.at, high, m->lower.at, m->lower.len) < 0) {
    return false;
  }
  if (m->has_upper && t->range.has_smallest &&
      nay_sst__compare_users(t->order, t->range.smallest.at, low, m->upper.at, m->upper.len) >= 0) {
    return false;
  }
  if (!m->has_lower) return true;
  nay_bytes from = {m->lower.len != 0 ? m->lower.at : (const uint8_t *)"", m->lower.len};
  nay_bytes to = {m->upper.len != 0 ? m->upper.at : (const uint8_t *)"", m->upper.len};
  return nay_sst__probe_range(t, from, m->has_upper ? &to : NULL, asked) != NAY_SAYS_NAY;
}

/* ---- children ---- */

static nay_status merge_alloc(nay_sst_scan *m, const nay_sst_lookup *l, size_t nsources) {
  size_t nslots = l != NULL ? l->nslots : 0, n, size;
  if (nslots > SIZE_MAX - nsources) return NAY_ENOMEM;
  n = nslots + nsources;
  m->heap.order = m->order;
  m->tables_capacity = nslots;
  m->nchildren = n;
  if (!nay__mul_ok(n, sizeof *m->children, &size)) return NAY_ENOMEM;
  m->children = n == 0 ? NULL : nay__alloc(&m->allocator, size);
  m->tables = nslots == 0 ? NULL : nay__alloc(&m->allocator, nslots * sizeof *m->tables);
  m->asked = nslots == 0 ? NULL : nay__alloc(&m->allocator, nslots * sizeof *m->asked);
  bool allocated =
      (n == 0 || m->children != NULL) && (nslots == 0 || (m->tables != NULL && m->asked != NULL));
  return allocated ? nay_sst__merge_reserve(&m->heap, n, &m->allocator) : NAY_ENOMEM;
}

/* Adds the tables of one run that may have keys inside the bounds. *used counts the entries of
 * m->tables in use. */
static void merge_add_run(nay_sst_scan *m, const nay_sst_lookup *l, const nay_level_slots *run,
                          size_t *n, size_t *used) {
  nay_scan_child *c = NULL;
  for (size_t i = 0; i < run->n; i++) {
    const nay_sst *t = l->slots[run->first + i].table;
    bool asked;
    if (!merge_may_overlap(m, t, &asked)) continue;
    if (c == NULL || !run->disjoint) {
      c = &m->children[(*n)++];
      *c = (nay_scan_child){.tables = m->tables + *used, .asked = m->asked + *used};
    }
    m->asked[*used] = asked;
    m->any_asked |= asked;
    m->tables[(*used)++] = t;
    c->n++;
  }
}

static nay_status merge_fill(nay_sst_scan *m, const nay_sst_lookup *l,
                             const nay_sst_scan_options *o, nay_diag *diag) {
  size_t n = 0, used = 0;
  for (size_t i = 0; i < o->nsources; i++) {
    nay_sst_source source;
    NAY_TRY(merge_read_source(o, i, diag, &source));
    m->children[n++] = (nay_scan_child){.source = source};
  }
  for (size_t i = 0; l != NULL && i < l->nlevels; i++)
    merge_add_run(m, l, &l->levels[i], &n, &used);
  m->nchildren = n;
  return NAY_OK;
}

static void merge_release(nay_sst_scan *m) {
  nay_allocator a = m->allocator;
  nay_sst__hold_free(m->saved_value.hold);
  nay__buffer_free(&m->saved_value.copy, &a);
  nay__buffer_free(&m->lower, &a);
  nay__buffer_free(&m->upper, &a);
  nay__buffer_free(&m->saved_key, &a);
  nay_sst__operand_free(&m->operand, &a);
  nay_sst__merge_free(&m->heap, &a);
  nay__free(&a, m->tables, m->tables_capacity * sizeof *m->tables);
  nay__free(&a, m->asked, m->tables_capacity * sizeof *m->asked);
  nay__free(&a, m->children, m->children_capacity * sizeof *m->children);
  nay__free(&a, m, sizeof *m);
}

nay_status nay_sst_scan_new(const nay_sst_lookup *lookup, const nay_sst_scan_options *options,
                            const nay_allocator *allocator, nay_diag *diag, nay_sst_scan **merge) {
  nay_sst_scan_options o = {.size = sizeof o};
  nay_allocator a;
  if (merge == NULL) return merge_bad(diag, "merge is NULL", 0);
  if (options != NULL) NAY_TRY(nay__abi_read(NAY_ABI_SST_SCAN, options, diag, &o));
  NAY_TRY(merge_check(&o, diag));
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  nay_sst_scan *m = nay__alloc(&a, sizeof *m);
  if (m == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for a merge", 0);
  *m = (nay_sst_scan){.allocator = a,
                      .sequence = o.sequence != NULL ? *o.sequence : NAY_SST_MAX_SEQUENCE,
                      .keep_deletions = o.keep_deletions || o.all_versions,
                      .all_versions = o.all_versions,
                      .slow_path = o.all_versions,
                      .status = NAY_EEND};
  if (lookup != NULL) m->merge_operator = lookup->merge;
  if (o.merge != NULL) m->merge_operator = (nay_operator){o.merge, o.merge_ctx};
  nay_diag why = {.what = NULL};
  nay_status status = merge_order(m, lookup, &o, &why);
  if (status == NAY_OK) status = merge_bounds(m, &o, &why);
  if (status == NAY_OK) status = merge_alloc(m, lookup, o.nsources);
  m->children_capacity = m->nchildren;
  if (status == NAY_OK) status = merge_fill(m, lookup, &o, &why);
  if (status == NAY_OK) {
    *merge = m;
    return NAY_OK;
  }
  merge_release(m);
  if (why.what == NULL) return nay__fail(diag, status, "no memory for a merge", 0);
  if (diag != NULL) *diag = why;
  return status;
}

void nay_sst_scan_free(nay_sst_scan *m) {
  if (m == NULL) return;
  for (size_t i = 0; i < m->nchildren; i++) nay_sst__scan_child_free(&m->children[i]);
  merge_release(m);
}

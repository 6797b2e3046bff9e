/*
 * compact_cover.c - finds the tables that overlap a range of a compaction: an interval stabbing
 * query.
 *
 * A table overlaps the ranges from its first key's to its last key's, both found by binary search
 * over the cuts. Testing every table against every range would take tables * ranges comparisons.
 * Instead the tables are sorted by first range, and a max tree is built over their last ranges:
 *
 *   first range    0 0 1 3 3 4      tables with first range <= r are a prefix of this order;
 *   last range     0 2 1 3 5 4      a descent of the tree finds those of them with last range >= r
 *
 * A query takes O(log n) steps for each table found, and compares no keys.
 */
#include "tree/compact.h"

/* The range that contains a key: the number of cuts at or below the key. */
static size_t cover_range_of(const nay_compaction *c, const nay_buffer *key) {
  size_t low = 0, high = c->ncuts, len = nay_sst__user_len(c->order, key->len);
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const nay_buffer *cut = &c->cuts[middle];
    if (nay_sst__compare_users(c->order, cut->at, cut->len, key->at, len) <= 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static size_t cover_first_range(const nay_compaction *c, const nay_sst *t) {
  return t->range.has_smallest ? cover_range_of(c, &t->range.smallest) : 0;
}

/* Sorts the non-empty tables by first range, with a counting sort. Afterwards starts[r + 1] is the
 * number of tables whose first range is at most r. */
static void cover_sort(const nay_compaction *c, nay_compact_cover *v, size_t *firsts) {
  for (size_t i = 0; i < c->ntables; i++) {
    if (c->tables[i].range.empty) continue;
    firsts[i] = cover_first_range(c, &c->tables[i]);
    v->starts[firsts[i]]++;
  }
  for (size_t r = 1; r <= c->ncuts; r++) v->starts[r] += v->starts[r - 1];
  v->starts[c->ncuts + 1] = v->starts[c->ncuts];
  for (size_t i = c->ntables; i-- > 0;) { /* starts[r] ends as the first position of range r */
    if (!c->tables[i].range.empty) v->sorted[--v->starts[firsts[i]]] = i;
  }
}

static void cover_tree(const nay_compaction *c, nay_compact_cover *v) {
  size_t n = v->starts[c->ncuts + 1];
  for (size_t i = 0; i < v->leaves; i++) { /* a leaf is 1 + the table's last range; 0: no table */
    v->tree[v->leaves + i] =
        i < n ? 1 + cover_range_of(c, &c->tables[v->sorted[i]].range.largest) : 0;
  }
  for (size_t k = v->leaves; k-- > 1;) {
    size_t a = v->tree[2 * k], b = v->tree[2 * k + 1];
    v->tree[k] = a > b ? a : b;
  }
}

nay_status nay_sst__compact_cover(nay_compaction *c) {
  nay_compact_cover *v = &c->cover;
  size_t words, bytes, n = c->ntables;
  v->leaves = 1;
  while (v->leaves < n) v->leaves *= 2;
  words = c->ncuts + 2 + 2 * n + 2 * v->leaves;
  if (!nay__mul_ok(words, sizeof *v->starts, &bytes)) return NAY_ENOMEM;
  v->starts = nay__alloc(&c->allocator, bytes);
  if (v->starts == NULL) return NAY_ENOMEM;
  v->bytes = bytes;
  memset(v->starts, 0, bytes);
  v->sorted = v->starts + c->ncuts + 2;
  v->tree = v->sorted + n;
  cover_sort(c, v, v->tree + 2 * v->leaves);
  cover_tree(c, v);
  return NAY_OK;
}

size_t nay_sst__compact_covering(const nay_compaction *c, size_t range, nay_compact_input *inputs) {
  const nay_compact_cover *v = &c->cover;
  size_t begun = v->starts[range + 1], n = 0; /* tables with first range <= range */
  size_t k = 1, first = 0, width = v->leaves; /* node k spans the leaves [first, first + width) */
  for (;;) {
    bool found = first < begun && v->tree[k] > range;
    if (found && width > 1) { /* to the left child */
      k *= 2;
      width /= 2;
      continue;
    }
    if (found && inputs != NULL) inputs[n].table = &c->tables[v->sorted[first]];
    n += found;
    while (k % 2 == 1 && k != 1) { /* up, while node k is a right child */
      k /= 2;
      width *= 2;
    }
    if (k == 1) return n;
    k++;
    first = (k - v->leaves / width) * width;
  }
}

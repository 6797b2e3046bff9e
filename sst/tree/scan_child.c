/* scan_child.c - moves of one child of a merging iterator; see scan_child.h. */
#include "tree/scan_child.h"

/* ---- sorted runs ---- */

/* Opens an iterator on table i of the run and closes the previous one. */
static nay_status run_open(nay_scan_child *c, size_t i) {
  if (c->iter != NULL && c->at == i) return NAY_OK;
  nay_sst_iter_free(c->iter);
  c->iter = NULL;
  c->at = i;
  return nay_sst_iter_new(c->tables[i], NULL, &c->iter);
}

/* Moves on to the next table with an entry, while the iterator is past the end of its table. */
static nay_status run_skip_empty(nay_scan_child *c, nay_status status, bool forward) {
  while (status == NAY_EEND) {
    if (forward ? c->at + 1 == c->n : c->at == 0) return NAY_EEND;
    NAY_TRY(run_open(c, forward ? c->at + 1 : c->at - 1));
    status = forward ? nay_sst_iter_first(c->iter) : nay_sst_iter_last(c->iter);
  }
  return status;
}

/* Returns the last table whose smallest key is <= key (with `strict`: < key), or table 0. */
static size_t run_find(const nay_scan_child *c, nay_bytes key, bool strict) {
  size_t low = 0, high = c->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const nay_sst *t = c->tables[middle];
    size_t len = nay_sst__user_len(t->order, t->range.smallest.len);
    int order = nay_sst__compare_users(t->order, t->range.smallest.at, len, key.at, key.len);
    if (strict ? order < 0 : order <= 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low != 0 ? low - 1 : 0;
}

static nay_status run_seek(nay_scan_child *c, nay_scan_move move, nay_bytes key) {
  bool before = move == NAY_MERGE_SEEK_BEFORE;
  NAY_TRY(run_open(c, c->n == 1 ? 0 : run_find(c, key, before)));
  if (move == NAY_MERGE_SEEK) {
    return run_skip_empty(c, nay_sst_iter_seek(c->iter, key.at, key.len), true);
  }
  nay_status status = before ? nay_sst__iter_seek_before(c->iter, key.at, key.len)
                             : nay_sst_iter_seek_for_prev(c->iter, key.at, key.len);
  return run_skip_empty(c, status, false);
}

static nay_status run_move(nay_scan_child *c, nay_scan_move move, nay_bytes key) {
  switch (move) {
    case NAY_MERGE_NEXT: return run_skip_empty(c, nay_sst_iter_next(c->iter), true);
    case NAY_MERGE_PREV: return run_skip_empty(c, nay_sst_iter_prev(c->iter), false);
    case NAY_MERGE_FIRST:
      NAY_TRY(run_open(c, 0));
      return run_skip_empty(c, nay_sst_iter_first(c->iter), true);
    case NAY_MERGE_LAST:
      NAY_TRY(run_open(c, c->n - 1));
      return run_skip_empty(c, nay_sst_iter_last(c->iter), false);
    default: return run_seek(c, move, key);
  }
}

/* ---- sources ---- */

static nay_status source_move(const nay_sst_source *s, nay_scan_move move, nay_bytes key) {
  nay_status status;
  switch (move) {
    case NAY_MERGE_NEXT: return s->next(s->ctx);
    case NAY_MERGE_PREV: return s->prev(s->ctx);
    case NAY_MERGE_FIRST: return s->first(s->ctx);
    case NAY_MERGE_LAST: return s->last(s->ctx);
    case NAY_MERGE_SEEK: return s->seek(s->ctx, key.at, key.len);
    case NAY_MERGE_SEEK_FOR_PREV: return s->seek_for_prev(s->ctx, key.at, key.len);
    default:
      status = s->seek(s->ctx, key.at, key.len);
      if (status == NAY_EEND) return s->last(s->ctx);
      return status == NAY_OK ? s->prev(s->ctx) : status;
  }
}

nay_status nay_sst__scan_child_move(nay_scan_child *c, nay_scan_move move, nay_bytes key,
                                    nay_diag *diag) {
  if (c->tables != NULL) {
    nay_status status = run_move(c, move, key);
    if (status == NAY_OK || status == NAY_EEND) return status;
    if (c->iter == NULL) return nay__fail(diag, status, "no memory for an iterator", 0);
    *diag = c->iter->diag;
    return status;
  }
  nay_status status = source_move(&c->source, move, key);
  if (status == NAY_OK || status == NAY_EEND) return status;
  if (status == NAY_ENOENT) /* NAY_ENOENT would mean that a key is absent */
    return nay__fail(diag, NAY_EINVAL, "a source returned NAY_ENOENT, not NAY_EEND, at its end", 0);
  return nay__fail(diag, status, "a source of the scan failed", 0);
}

bool nay_sst__scan_child_excludes(const nay_scan_child *c, nay_bytes from, nay_bytes to,
                                  const nay_sst **asked) {
  *asked = NULL;
  if (c->tables == NULL) return false;
  size_t first = c->n == 1 ? 0 : run_find(c, from, false);
  for (size_t i = first; i < c->n; i++) {
    const nay_sst *t = c->tables[i];
    size_t len = nay_sst__user_len(t->order, t->range.smallest.len);
    if (i != first &&
        nay_sst__compare_users(t->order, t->range.smallest.at, len, to.at, to.len) >= 0) {
      break;
    }
    nay_verdict verdict = nay_sst__probe_range_filter(t, from, to);
    if (verdict == NAY_SAYS_NAY) continue;
    if (verdict == NAY_SAYS_MAYBE && i == first) *asked = t;
    return false;
  }
  return true;
}

void nay_sst__scan_child_free(nay_scan_child *c) {
  nay_sst_iter_free(c->iter);
  if (c->tables == NULL && c->source.free != NULL) c->source.free(c->source.ctx);
}

/*
 * range_filter.c - the filter that a scan with two bounds probes before it reads a block: a range
 * filter (nay_range.h) of all user keys of the table, named by nay.range in the metaindex.
 *
 * Every entry's user key is in the filter, whatever the entry does: a deletion or a merge operand
 * that a scan must see is found like a value. The filter knows the order of bytes alone. It is
 * therefore not probed when a comparator orders the keys, when the reader splits keys otherwise
 * than the writer did (plain or internal), in tables of RocksDB, which may delete ranges, and for
 * ends that the filter cannot put in order (nay_filter_may_contain_scan). Then, and when the filter
 * is damaged, the data answers.
 *
 * With NAY_SST_BUDGETED the filter lives in the cache, as the other filters do (cached_parts.c).
 */
#include "nay_range.h"
#include "table/table.h"

static bool ranges_is_filter(const nay_filter *f) { return nay_filter_kind(f) == NAY_RANGE; }

/* Loads the filter into memory, or through the cache to learn whether it is intact. Sets
 * t->filters.range_used. */
static nay_status ranges_load(nay_sst *t, const nay_checked_handle *handle) {
  nay_hold *hold = NULL;
  nay_status status;
  if (nay_sst__budgeted(t)) {
    nay_cache_entry *e;
    status = nay_sst__cached(t, NAY_CACHED_RANGE, handle, &hold, NULL, &e);
    if (status == NAY_OK) {
      t->filters.range_used = ranges_is_filter(e->native->filter);
      nay_sst__cached_release(t, e);
    }
    if (t->filters.range_used) t->filters.range_handle = *handle;
  } else {
    nay_bytes bytes;
    status = nay_sst__table_read_checked(t, handle, &hold, NULL, &bytes);
    nay_filter *f = status == NAY_OK ? nay_sst__filter_decode(t, bytes, &t->allocator) : NULL;
    t->filters.range_used = f != NULL && ranges_is_filter(f);
    if (t->filters.range_used) t->filters.range = f;
    if (!t->filters.range_used) nay_filter_free(f);
  }
  nay_sst__hold_free(hold);
  return status == NAY_ENOMEM ? status : NAY_OK;
}

nay_status nay_sst__range_filter_open(nay_sst *t, const nay_meta_entry *e) {
  if (t->filters.range_bytes != 0) return NAY_OK; /* the first one counts */
  if (nay_sst__meta_has_block(e, t->meta.footer.at)) {
    t->filters.range_bytes = e->block.at.size;
    NAY_TRY(ranges_load(t, &e->block));
  }
  if (!t->filters.range_used) nay_sst__filter_fault(t);
  return NAY_OK;
}

void nay_sst__range_filter_free(nay_sst *t) {
  if (t->filters.range_handle.at.size != 0)
    nay_sst__cached_erase(t, NAY_CACHED_RANGE, t->filters.range_handle.at);
  nay_filter_free(t->filters.range);
}

/* Whether the table's keys are in the order, and split from their trailers in the way, that the
 * filter was built for. */
static bool ranges_apply(const nay_sst *t) {
  return t->filters.range_used && t->order.user == NULL && !t->meta.rocksdb && t->sorting.named &&
         t->sorting.internal_named == t->order.internal && t->sorting.unknown == NAY_OK;
}

nay_verdict nay_sst__probe_range_filter(const nay_sst *t, nay_bytes from, nay_bytes to) {
  if (!ranges_apply(t)) return NAY_NOT_PROBED;
  nay_cache_entry *e = NULL;
  const nay_filter *f = t->filters.range;
  if (f == NULL) {
    nay_hold *hold = NULL;
    nay_status loaded =
        nay_sst__cached(t, NAY_CACHED_RANGE, &t->filters.range_handle, &hold, NULL, &e);
    nay_sst__hold_free(hold);
    if (loaded != NAY_OK) {
      nay_sst__filter_fault(t);
      return NAY_NOT_PROBED;
    }
    f = e->native->filter;
  }
  bool maybe = true;
  nay_status status = nay_filter_may_contain_scan(f, from.at, from.len, to.at, to.len, &maybe);
  if (e != NULL) nay_sst__cached_release(t, e);
  if (status != NAY_OK)
    return NAY_NOT_PROBED; /* the secret key is missing, or `from` is above `to` */
  nay__atomic_increment64(maybe ? &t->counts->range_maybe : &t->counts->range_useful);
  return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
}

bool nay_sst__range_filter_denies(const nay_sst *t, const void *key, size_t len) {
  return ranges_apply(t) && t->filters.range != NULL &&
         !nay_filter_may_contain(t->filters.range, key, len);
}

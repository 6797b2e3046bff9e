/*
 * filter_open.c - opens the filters that the metaindex names (metaindex.h).
 *
 * A filter is an optimisation: a filter that cannot be read, whose policy is unknown, or that was
 * built with another prefix extractor is not used. A damaged filter counts as a fault. The
 * metaindex itself must be readable, because it tells the kind of keys and the comparator.
 *
 * With NAY_SST_BUDGETED and without NAY_SST_PINNED, filters that are not used in place live in the
 * cache (cached_parts.c).
 */
#include "block/metaindex.h"
#include "block/option_checks.h"
#include "table/table.h"

#define FILTER_PRIVATE_CACHE (1u << 20) /* bytes: 100 partitions of the default size */

void nay_sst__filter_fault(const nay_sst *t) { nay__atomic_increment64(&t->counts->faults); }

nay_filter *nay_sst__filter_decode(const nay_sst *t, nay_bytes bytes, const nay_allocator *a) {
  nay_filter *f = NULL;
  if (nay_filter_decode(bytes.at, bytes.len, a, NULL, &f) != NAY_OK) return NULL;
  if (t->options.hash_key != NULL) (void)nay_filter_unlock(f, t->options.hash_key);
  return f;
}

static const nay_policy *filter_find_policy(const nay_sst *t, nay_bytes name) {
  for (size_t i = 0; i < t->options.npolicies; i++) {
    if (nay_sst__bytes_are(name, t->options.policies[i]->name)) return t->options.policies[i];
  }
  return NULL;
}

static nay_status filter_copy_name(const nay_sst *t, nay_buffer *to, nay_bytes name) {
  to->len = 0;
  NAY_TRY(nay__buffer_append(to, name.at, name.len, &t->allocator));
  return nay__buffer_append(to, "", 1, &t->allocator);
}

/* Checks and opens the bytes of a whole-key filter. False: it cannot be used. */
static bool filter_accept(nay_sst *t, nay_sst_filter_layout layout, bool native, nay_bytes bytes) {
  t->filters.at = bytes;
  switch (layout) {
    case NAY_SST_BLOCK_FILTER:
      return nay_sst__filter_block_open(bytes.at, bytes.len, &t->filters.block);
    case NAY_SST_PARTITIONED_FILTER:
      t->filters.npartitions = 0;
      return nay_sst__block_open(bytes.at, bytes.len, NULL, &t->filters.partitions) == NAY_OK;
    default:
      if (native)
        t->filters.full =
            nay_sst__native_filter_of(nay_sst__filter_decode(t, bytes, &t->allocator));
      return !native || t->filters.full.filter != NULL;
  }
}

/* Loads a filter into the cache once, to learn whether it is intact. Sets *used. */
static nay_status filter_open_cached(nay_sst *t, nay_cached what, const nay_checked_handle *handle,
                                     bool *used) {
  nay_hold *hold = NULL;
  nay_cache_entry *entry;
  nay_status status = nay_sst__cached(t, what, handle, &hold, NULL, &entry);
  nay_sst__hold_free(hold);
  *used = status == NAY_OK;
  if (*used) nay_sst__cached_release(t, entry);
  return status == NAY_ENOMEM ? status : NAY_OK;
}

/* Opens a native full filter that lives in the cache. */
static nay_status filter_open_full(nay_sst *t, const nay_checked_handle *handle) {
  NAY_TRY(filter_open_cached(t, NAY_CACHED_FILTER, handle, &t->filters.used));
  if (t->filters.used) t->filters.handle = *handle;
  if (!t->filters.used) nay_sst__filter_fault(t);
  return NAY_OK;
}

/* Opens a filter whose bytes are used as they are, or decoded into memory. */
static nay_status filter_open_bytes(nay_sst *t, const nay_meta_entry *e, bool native) {
  nay_bytes bytes;
  nay_status status = nay_sst__table_read_checked(t, &e->block, &t->filters.hold, NULL, &bytes);
  if (status == NAY_ENOMEM) return status;
  t->filters.used = status == NAY_OK && filter_accept(t, e->layout, native, bytes);
  if (t->filters.full.filter != NULL) { /* decoded: the bytes are not needed any more */
    nay_sst__hold_free(t->filters.hold);
    t->filters.hold = NULL;
  } else if (t->filters.used && nay_sst__budgeted(t) && !nay_sst__in_place(t, e->block.at)) {
    t->filters.handle = e->block;
  }
  return NAY_OK;
}

static nay_status filter_open_whole(nay_sst *t, const nay_meta_entry *e) {
  if (t->filters.used) return NAY_OK; /* the first filter that is usable wins */
  t->filters.layout = e->layout;
  NAY_TRY(filter_copy_name(t, &t->filters.policy_name, e->name));
  bool native = e->layout != NAY_SST_BLOCK_FILTER && nay_sst__bytes_are(e->name, NAY_NATIVE_POLICY);
  t->filters.policy = native ? NULL : filter_find_policy(t, e->name);
  bool fits = nay_sst__equal_is_same(t->order) ||
              nay_sst__policy_folds(t->filters.policy, t->order.user->name);
  if (!e->has_handle || !nay_sst__handle_fits(e->block.at, t->meta.footer.at)) {
    nay_sst__filter_fault(t);
    return NAY_OK;
  }
  t->filters.nbytes = e->block.at.size;
  if ((!native && t->filters.policy == NULL) || !fits)
    return NAY_OK; /* an unknown policy is no fault */
  bool full = native && e->layout == NAY_SST_FULL_FILTER;
  if (full && e->block.at.size != 0 && nay_sst__budgeted(t)) return filter_open_full(t, &e->block);
  NAY_TRY(filter_open_bytes(t, e, native));
  if (!t->filters.used) nay_sst__filter_fault(t);
  return NAY_OK;
}

/* Loads the prefix filter into the cache or into memory. */
static nay_status filter_load_prefix(nay_sst *t, const nay_checked_handle *handle) {
  nay_bytes bytes;
  nay_hold *hold = NULL;
  if (nay_sst__budgeted(t) && handle->at.size != 0) {
    t->filters.prefix_handle = *handle;
    return filter_open_cached(t, NAY_CACHED_PREFIX, handle, &t->filters.prefix_used);
  }
  nay_status status = nay_sst__table_read_checked(t, handle, &hold, NULL, &bytes);
  if (status == NAY_OK) t->filters.prefix = nay_sst__filter_decode(t, bytes, &t->allocator);
  t->filters.prefix_used = t->filters.prefix != NULL;
  nay_sst__hold_free(hold);
  return status == NAY_ENOMEM ? status : NAY_OK;
}

static nay_status filter_open_prefix(nay_sst *t, const nay_meta_entry *e) {
  if (t->filters.prefix_used) return NAY_OK;
  NAY_TRY(filter_copy_name(t, &t->filters.prefix_name, e->name));
  const nay_sst_prefix *extractor = t->options.prefix;
  bool ours = extractor != NULL && nay_sst__bytes_are(e->name, extractor->name);
  if (e->has_handle && nay_sst__handle_fits(e->block.at, t->meta.footer.at)) {
    t->filters.prefix_bytes = e->block.at.size;
    if (ours) NAY_TRY(filter_load_prefix(t, &e->block));
  }
  if (ours && !t->filters.prefix_used) nay_sst__filter_fault(t);
  return NAY_OK;
}

/* Records the kind of keys that the file states, unless the caller has named it. */
static void filter_set_keys(nay_sst *t, bool internal) {
  if (t->options.keys != NAY_SST_KEYS_AUTO) return;
  t->order.internal = internal;
  t->sorting.guessed = false;
}

/* Records the lowest offset of a meta block. */
static void filter_note_meta_block(nay_sst *t, const nay_meta_entry *e) {
  if (!nay_sst__meta_has_block(e, t->meta.footer.at)) return;
  if (!t->meta.has_first || e->block.at.offset < t->meta.first_at)
    t->meta.first_at = e->block.at.offset;
  t->meta.has_first = true;
}

static nay_status filter_open_entry(void *ctx, const nay_meta_entry *e) {
  nay_sst *t = ctx;
  filter_note_meta_block(t, e);
  bool wanted = (t->options.flags & NAY_SST_NO_FILTERS) == 0;
  switch (e->kind) {
    /* Nay's block, or the block of a RocksDB table with format_version 0, which has LevelDB's
       footer */
    case NAY_META_IS_PROPERTIES:
      if (!nay_sst__meta_has_block(e, t->meta.footer.at)) return NAY_ECORRUPT;
      t->meta.properties = e->block;
      /* RocksDB has internal keys only; some entry types are its own */
      if (e->engine == NAY_SST_ENGINE_ROCKSDB) {
        t->meta.rocksdb = true;
        filter_set_keys(t, true);
      }
      return NAY_OK;
    case NAY_META_IS_RANGE_DELETIONS:
      return NAY_ENOTSUP; /* ignoring them would bring deleted keys back */
    case NAY_META_IS_KEY:
      memcpy(t->meta.key_text, e->key_text, sizeof t->meta.key_text);
      return NAY_OK;
    case NAY_META_IS_KEYS:
      t->sorting.named = true;
      t->sorting.internal_named = e->internal;
      filter_set_keys(t, e->internal);
      return NAY_OK;
    case NAY_META_IS_FILTER:
      if (!wanted || e->engine == NAY_SST_ENGINE_ROCKSDB) return NAY_OK;
      return filter_open_whole(t, e);
    case NAY_META_IS_PREFIX_FILTER:
      return wanted && nay_sst__equal_is_same(t->order) ? filter_open_prefix(t, e) : NAY_OK;
    case NAY_META_IS_RANGE_FILTER: return wanted ? nay_sst__range_filter_open(t, e) : NAY_OK;
    case NAY_META_IS_OTHER: break;
  }
  return NAY_OK;
}

typedef struct filter_sizes {
  nay_sst *table;
  uint64_t largest;
} filter_sizes;

static nay_status filter_measure_partition(void *ctx, const nay_cursor *c, nay_diag *diag) {
  filter_sizes *sizes = ctx;
  nay_sst *t = sizes->table;
  nay_checked_handle h;
  (void)diag;
  if (!nay_sst__table_partition(t, &c->entry, &h)) return NAY_OK;
  t->filters.npartitions++;
  t->filters.nbytes += h.at.size;
  sizes->largest = nay__max_u64(sizes->largest, h.at.size);
  return NAY_OK;
}

/* Counts the partitions and their bytes. If the caller gave no cache, the table gets a private one
 * for partitions: loading and decoding a partition for every probe would cost more than reading the
 * data block it saves. */
static nay_status filter_open_partitions(nay_sst *t) {
  filter_sizes sizes = {.table = t};
  (void)nay_sst__block_walk(&t->filters.partitions, filter_measure_partition, &sizes, &t->allocator,
                            NULL);
  if (t->cached.meta != NULL) return NAY_OK;
  size_t budget = FILTER_PRIVATE_CACHE + 2 * (size_t)sizes.largest;
  NAY_TRY(
      nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 0, budget, false},
                        &t->allocator, NULL, &t->cached.own));
  t->cached.meta = t->cached.own;
  return NAY_OK;
}

/* Moves the bytes of a filter that is not used in place to the cache. */
static nay_status filter_move_to_cache(nay_sst *t) {
  if (t->filters.handle.at.size == 0 || t->filters.at.at == NULL) return NAY_OK;
  bool parts = t->filters.layout == NAY_SST_PARTITIONED_FILTER;
  nay_cached what = parts ? NAY_CACHED_PARTITIONS : NAY_CACHED_FILTER;
  NAY_TRY(nay_sst__cached_put(t, what, t->filters.handle.at, t->filters.at));
  nay_sst__hold_free(t->filters.hold);
  t->filters.hold = NULL;
  t->filters.at = (nay_bytes){NULL, 0};
  t->filters.partitions = (nay_block){.bytes = NULL};
  t->filters.block = (nay_filter_block){.bytes = NULL};
  return NAY_OK;
}

nay_status nay_sst__filters_open(nay_sst *t, nay_diag *diag) {
  nay_hold *hold = NULL;
  nay_bytes contents;
  nay_handle metaindex = t->meta.footer.metaindex;
  nay_status status = nay_sst__table_read(t, metaindex, &hold, diag, &contents);
  if (status == NAY_OK) {
    status = nay_sst__metaindex_walk(contents, filter_open_entry, t, &t->allocator, diag);
    status = nay_sst__in_file(status, diag, metaindex);
  }
  nay_sst__hold_free(hold);
  NAY_TRY(status);
  if (t->filters.used && t->filters.layout == NAY_SST_PARTITIONED_FILTER)
    NAY_TRY(filter_open_partitions(t));
  return filter_move_to_cache(t);
}

void nay_sst__filters_free(nay_sst *t) {
  bool parts = t->filters.layout == NAY_SST_PARTITIONED_FILTER;
  if (t->filters.handle.at.size != 0) {
    nay_sst__cached_erase(t, parts ? NAY_CACHED_PARTITIONS : NAY_CACHED_FILTER,
                          t->filters.handle.at);
  }
  if (t->filters.prefix_handle.at.size != 0)
    nay_sst__cached_erase(t, NAY_CACHED_PREFIX, t->filters.prefix_handle.at);
  nay_sst__range_filter_free(t);
  nay_filter_free(t->filters.full.filter);
  nay_filter_free(t->filters.prefix);
  nay_sst__hold_free(t->filters.hold);
  nay_sst_cache_free(t->cached.own);
  nay__buffer_free(&t->filters.policy_name, &t->allocator);
  nay__buffer_free(&t->filters.prefix_name, &t->allocator);
}

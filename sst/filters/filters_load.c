/*
 * filters_load.c - opens the filters of a table: footer, metaindex, properties, filter
 * blocks.
 *
 * Only what a probe needs is read. The checksum of every filter block is verified here, so that
 * probes need not do it.
 */
#include "block/codec.h"
#include "block/metaindex.h"
#include "block/option_checks.h"
#include "block/prefix.h"
#include "filters/filters.h"
#include "table/table.h"

#define OPEN_MAX_RATIO 64u /* no codec of LevelDB compresses a block by a larger ratio */

/* ---- blocks ---- */

/* Sets *block to the stored block. NAY_ECORRUPT: it lies outside of the file, or its checksum is
 * wrong. */
static nay_status filters_stored_block(const nay_sst_filters *t, nay_handle handle, nay_diag *diag,
                                       const uint8_t **block) {
  if (!nay_sst__handle_fits(handle, t->footer.at)) {
    return nay__fail(diag, NAY_ECORRUPT, "a handle points outside of the file", handle.offset);
  }
  *block = t->bytes + handle.offset;
  if (nay_sst__block_intact(&t->footer, *block, handle)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "the checksum of a block is wrong", handle.offset);
}

/* Sets *contents to the contents of a block, uncompressed into `buffer` if necessary. */
static nay_status filters_contents(const nay_sst_filters *t, nay_handle handle, nay_buffer *buffer,
                                   nay_diag *diag, nay_bytes *contents) {
  const uint8_t *block;
  const nay_sst_codec *codec;
  size_t size;
  uint64_t most = OPEN_MAX_RATIO * (handle.size + 1);
  NAY_TRY(filters_stored_block(t, handle, diag, &block));
  NAY_TRY(nay_sst__codec_plan(t->options.codecs, t->options.ncodecs,
                              t->engine == NAY_SST_ENGINE_ROCKSDB, block, handle, most, diag,
                              &codec, &size));
  *contents = (nay_bytes){block, size};
  if (codec == NULL) return NAY_OK;
  NAY_TRY(nay__buffer_reserve(buffer, size, &t->allocator));
  contents->at = buffer->at;
  return nay_sst__codec_unpack(codec, block, handle, buffer->at, size, diag);
}

/* Whether a filter block is damaged: its checksum is wrong, or differs from the one in its
 * handle. */
static bool filters_damaged(const nay_sst_filters *t, const nay_checked_handle *handle) {
  const uint8_t *block = t->bytes + handle->at.offset;
  return !nay_sst__block_intact(&t->footer, block, handle->at) ||
         !nay_sst__checked_handle_is(handle, block);
}

/* Sets *block to a block without which the filters cannot be used: damage is an error. */
static nay_status filters_required_block(const nay_sst_filters *t, const nay_checked_handle *handle,
                                         nay_diag *diag, const uint8_t **block) {
  NAY_TRY(filters_stored_block(t, handle->at, diag, block));
  if (nay_sst__checked_handle_is(handle, *block)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "the block is intact, but not the one that its handle names",
                   handle->at.offset);
}

/* ---- metaindex and properties ---- */

static nay_status filters_meta_entry(void *ctx, const nay_meta_entry *e) {
  nay_sst_filters *t = ctx;
  if (e->engine != NAY_SST_ENGINE_LEVELDB) t->engine = e->engine;
  if (e->kind == NAY_META_IS_KEY) memcpy(t->key_text, e->key_text, sizeof t->key_text);
  if (e->kind == NAY_META_IS_KEYS) t->properties.index_internal_keys = e->internal;
  if (e->kind == NAY_META_IS_OTHER) return NAY_OK;
  if (e->kind == NAY_META_IS_RANGE_DELETIONS)
    return NAY_OK; /* filters do not contain range deletions */
  if (e->kind == NAY_META_IS_PROPERTIES && !nay_sst__meta_has_block(e, t->footer.at)) {
    return NAY_ECORRUPT;
  }
  if (!e->has_handle) return NAY_OK;
  if (!nay_sst__handle_fits(e->block.at, t->footer.at)) return NAY_ECORRUPT;
  if (e->kind == NAY_META_IS_PROPERTIES) {
    t->properties_block = e->block;
  } else if (e->kind == NAY_META_IS_PREFIX_FILTER) {
    t->properties.prefixes = true;
    t->prefix_block = e->block;
    nay_sst__name_set(t->properties.prefix_extractor, e->name);
  } else if (e->kind == NAY_META_IS_RANGE_FILTER) {
    if (t->range_block.at.size == 0) t->range_block = e->block;
  } else if (t->layout == NAY_SST_NO_FILTER) { /* the first filter wins */
    t->layout = e->layout;
    t->filter = e->block;
    t->properties.whole_keys = true;
    nay_sst__name_set(t->policy_name, e->name);
  }
  return NAY_OK;
}

static nay_status filters_load_metaindex(nay_sst_filters *t, nay_diag *diag) {
  nay_buffer buffer = {NULL, 0, 0};
  nay_bytes contents;
  nay_handle handle = t->footer.metaindex;
  nay_status status = filters_contents(t, handle, &buffer, diag, &contents);
  if (status == NAY_OK) {
    status = nay_sst__metaindex_walk(contents, filters_meta_entry, t, &t->allocator, diag);
    status = nay_sst__in_file(status, diag, handle);
  }
  nay__buffer_free(&buffer, &t->allocator);
  return status;
}

static nay_status filters_load_properties(nay_sst_filters *t, nay_diag *diag) {
  nay_properties *p = &t->properties;
  const uint8_t *block;
  /* Defaults for properties that a table does not state. */
  bool rocksdb = t->engine == NAY_SST_ENGINE_ROCKSDB;
  p->index_delta = t->footer.format_version >= 4;
  if (rocksdb && t->footer.format_version < 3) p->index_internal_keys = true;
  p->other_comparator = rocksdb;
  if (t->properties_block.at.size != 0) {
    NAY_TRY(filters_required_block(t, &t->properties_block, diag, &block));
    nay_bytes contents = {block, (size_t)t->properties_block.at.size};
    if (block[contents.len] == 0) {
      NAY_TRY(nay_sst__in_file(nay_sst__properties_load(contents, &t->allocator, diag, p), diag,
                               t->properties_block.at));
    }
  }
  t->order_unknown = p->other_comparator;
  t->extractor = (nay_sst_prefix){.size = sizeof t->extractor};
  t->has_extractor = nay_sst_prefix_find(p->prefix_extractor, &t->extractor) == NAY_OK;
  return NAY_OK;
}

/* ---- filters ---- */

/* Bounds the total length of index keys. Each key of a valid index is shorter than the table, and
 * prefix compression must not let a small file claim gigabytes of keys. */
static size_t filters_max_keys(const nay_sst_filters *t) {
  return (size_t)t->footer.at * 2 + 65536;
}

/* Checks the partitions. Partitions do not overlap, so sizes that add up to more than the file are
 * an error, which is found before any partition is read. */
static nay_status filters_check_partitions(nay_sst_filters *t, nay_diag *diag) {
  uint64_t sum = 0;
  bool ours = t->engine == NAY_SST_ENGINE_NAY;
  for (size_t i = 0; i < nay_sst__index_count(&t->index); i++) {
    nay_index_entry *e = nay_sst__index_at(&t->index, i);
    if (!nay_sst__handle_fits(e->handle, t->footer.at) || e->handle.size > t->footer.at - sum) {
      return nay__fail(diag, NAY_ECORRUPT, "the partitions of the filter do not fit the file",
                       t->filter.at.offset);
    }
    sum += e->handle.size;
    nay_checked_handle block = {e->handle, ours, e->checksum};
    e->damaged = (ours && !e->checked) || filters_damaged(t, &block);
  }
  return NAY_OK;
}

static nay_status filters_load_partitions(nay_sst_filters *t, nay_diag *diag) {
  const uint8_t *block;
  bool delta = t->properties.index_delta && t->engine == NAY_SST_ENGINE_ROCKSDB;
  NAY_TRY(filters_required_block(t, &t->filter, diag, &block));
  NAY_TRY(nay_sst__in_file(nay_sst__index_load(block, (size_t)t->filter.at.size, delta,
                                               filters_max_keys(t), &t->allocator, diag, &t->index),
                           diag, t->filter.at));
  if (!nay_sst__index_is_sorted(&t->index, nay_sst__filters_comparator(t))) t->order_unknown = true;
  return filters_check_partitions(t, diag);
}

/* Verifies the key order of a LevelDB table, which does not state its comparator. The order decides
   which filter covers a key. The check reads data blocks, as nay_sst_open does. In doubt the order
   counts as unknown, and every filter is probed. */
static nay_status filters_load_order(nay_sst_filters *t, bool *known) {
  nay_sst_read_options how = {.size = sizeof how,
                              .flags = NAY_SST_NO_FILTERS,
                              .codecs = t->options.codecs,
                              .ncodecs = t->options.ncodecs};
  nay_sst *sst = NULL;
  size_t len = (size_t)t->footer.at + NAY_FOOTER;
  nay_status status = nay_sst_view(t->bytes, len, &how, &t->allocator, NULL, &sst);
  *known = status == NAY_OK && sst->sorting.unknown == NAY_OK;
  nay_sst_free(sst);
  return status == NAY_ENOMEM ? status : NAY_OK;
}

/* Loads the index of LevelDB's data blocks. Without it every filter must be probed. */
static nay_status filters_load_index(nay_sst_filters *t, nay_diag *diag) {
  nay_buffer buffer = {NULL, 0, 0};
  nay_bytes contents;
  nay_handle handle = t->footer.index;
  if (handle.size == 0) return NAY_OK;
  nay_status status = filters_contents(t, handle, &buffer, diag, &contents);
  if (status == NAY_OK) {
    status = nay_sst__index_load(contents.at, contents.len, false, filters_max_keys(t),
                                 &t->allocator, diag, &t->index);
    status = nay_sst__in_file(status, diag, handle);
  }
  if (status == NAY_OK) status = filters_load_order(t, &t->index_known);
  nay__buffer_free(&buffer, &t->allocator);
  return status == NAY_ENOTSUP || status == NAY_EFULL ? NAY_OK : status;
}

static const nay_format *filters_format_of(const char *policy) {
  static const char *const rocksdb[] = {
      "rocksdb.BuiltinBloomFilter", /* the name in RocksDB 6, 7.1 and later */
      "bloomfilter",
      "ribbonfilter", /* the name in early releases of RocksDB 7.0 */
      "rocksdb.internal.LegacyBloomFilter",
      "rocksdb.internal.FastLocalBloomFilter",
      "rocksdb.internal.Standard128RibbonFilter",
      "rocksdb.internal.DeprecatedBlockBasedBloomFilter"};
  if (strcmp(policy, NAY_POLICY_LEVELDB) == 0) return nay_format_find("leveldb");
  if (strcmp(policy, NAY_NATIVE_POLICY) == 0) return nay_format_find("nay");
  if (strcmp(policy, "nay.rocksdb.v1") == 0) return nay_format_find("nay"); /* plugins/rocksdb */
  for (size_t i = 0; i < sizeof rocksdb / sizeof rocksdb[0]; i++) {
    if (strcmp(policy, rocksdb[i]) == 0) return nay_format_find("rocksdb-bloom");
  }
  return NULL;
}

/* Finds what reads the filters: a format or a policy. */
static void filters_find_reader(nay_sst_filters *t) {
  t->format = filters_format_of(t->policy_name);
  /* RocksDB's obsolete block-based filter has LevelDB's layout with another hash function. */
  if (t->layout == NAY_SST_BLOCK_FILTER && t->engine == NAY_SST_ENGINE_ROCKSDB) t->format = NULL;
  if (t->format != NULL) return;
  if (strcmp(t->policy_name, NAY_POLICY_SMALL) == 0 &&
      nay_policy_find(NAY_POLICY_SMALL, 10, &t->small) == NAY_OK) {
    t->policy = &t->small;
  }
  for (size_t i = 0; i < t->options.npolicies; i++) {
    const nay_policy *policy = t->options.policies[i];
    if (strcmp(policy->name, t->policy_name) == 0) t->policy = policy;
  }
}

/* A range filter is damaged as well if it is another kind of filter. */
static bool filters_range_damaged(const nay_sst_filters *t) {
  nay_view view = {.size = sizeof view};
  nay_handle h = t->range_block.at;
  return filters_damaged(t, &t->range_block) ||
         nay_view_open(t->bytes + h.offset, (size_t)h.size, NULL, NULL, &view) != NAY_OK ||
         nay_filter_kind(nay_view_filter(&view)) != NAY_RANGE;
}

static nay_status filters_load(nay_sst_filters *t, nay_diag *diag) {
  const uint8_t *filter = t->bytes + t->filter.at.offset;
  size_t len = (size_t)t->filter.at.size;
  filters_find_reader(t);
  if (t->prefix_block.at.size != 0) t->prefix_damaged = filters_damaged(t, &t->prefix_block);
  if (t->range_block.at.size != 0) t->range_damaged = filters_range_damaged(t);
  if (t->layout == NAY_SST_NO_FILTER) return NAY_OK;
  if (t->layout == NAY_SST_PARTITIONED_FILTER) return filters_load_partitions(t, diag);
  t->damaged = filters_damaged(t, &t->filter);
  if (t->layout == NAY_SST_BLOCK_FILTER) {
    (void)nay_sst__filter_block_open(filter, len, &t->filter_block);
    return filters_load_index(t, diag);
  }
  /* Opening a view of a native filter verifies the whole filter, so the view is opened once. */
  t->has_view =
      t->format != NULL && !t->damaged &&
      nay_format_view(t->format, filter, len, NAY_FORMAT_CERTAIN, NULL, &t->view) == NAY_OK;
  return NAY_OK;
}

/* ---- open and free ---- */

bool nay_sst_filters_recognise(const void *bytes, size_t len) {
  return bytes != NULL &&
         (nay_sst__footer_recognise(bytes, len) || nay_sst__foreign_recognise(bytes, len) != NULL);
}

static nay_status filters_load_table(nay_sst_filters *t, nay_diag *diag) {
  NAY_TRY(filters_load_metaindex(t, diag));
  NAY_TRY(filters_load_properties(t, diag));
  return filters_load(t, diag);
}

/* Opens the filters. `engine` NULL: a table of LevelDB or RocksDB, with this footer. */
static nay_status filters_open(const void *bytes, size_t len, const nay_foreign_engine *engine,
                               const nay_footer *footer, const nay_sst_filters_options *o,
                               const nay_allocator *allocator, nay_diag *diag,
                               nay_sst_filters **filters) {
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  nay_sst_filters *t = nay__alloc(&a, sizeof *t);
  if (t == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the table", 0);
  memset(t, 0, sizeof *t);
  t->view.size = sizeof t->view;
  t->allocator = a;
  t->options = *o;
  t->small.size = sizeof t->small;
  t->bytes = bytes;
  t->footer = *footer;
  t->engine = footer->rocksdb ? NAY_SST_ENGINE_ROCKSDB : NAY_SST_ENGINE_LEVELDB;
  nay_status status = engine != NULL ? nay_sst__filters_load_foreign(t, engine, len, diag)
                                     : filters_load_table(t, diag);
  if (status != NAY_OK) {
    if (status == NAY_ENOMEM) nay__fail(diag, status, "no memory for the table", 0);
    nay_sst_filters_free(t);
    return status;
  }
  *filters = t;
  return NAY_OK;
}

nay_status nay_sst_filters_open(const void *bytes, size_t len,
                                const nay_sst_filters_options *options,
                                const nay_allocator *allocator, nay_diag *diag,
                                nay_sst_filters **filters) {
  nay_sst_filters_options o = {.size = sizeof o};
  nay_footer footer = {.format_version = 0};
  if (filters == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "bytes or filters is NULL", 0);
  }
  if (options != NULL) NAY_TRY(nay__abi_read(NAY_ABI_TABLE_OPTIONS, options, diag, &o));
  NAY_TRY(nay_sst__check_lists(o.codecs, o.ncodecs, o.policies, o.npolicies, diag));
  const nay_foreign_engine *engine = nay_sst__foreign_recognise(bytes, len);
  if (o.layout != NULL) {
    const nay_foreign_engine *named = nay_sst__foreign_find(o.layout);
    if (named == NULL) return nay__fail(diag, NAY_EINVAL, "layout: no such table layout", 0);
    NAY_TRY(nay_sst__foreign_check_name(named, engine, len, diag));
    engine = named;
  }
  if (engine == NULL) NAY_TRY(nay_sst__footer_load(bytes, len, len, diag, &footer));
  return filters_open(bytes, len, engine, &footer, &o, allocator, diag, filters);
}

void nay_sst_filters_free(nay_sst_filters *t) {
  if (t == NULL) return;
  nay_allocator a = t->allocator;
  nay_sst__filters_free_foreign(t);
  nay_sst__index_free(&t->index, &a);
  nay__free(&a, t, sizeof *t);
}

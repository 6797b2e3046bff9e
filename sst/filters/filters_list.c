/* filters_list.c - lists the filters of a table, and describes them. */
#include "filters/filters.h"

static uint64_t filters_count(const nay_sst_filters *t) {
  if (nay_sst__filters_in_blocks(t)) return nay_sst__filters_count_foreign(t);
  switch (t->layout) {
    case NAY_SST_NO_FILTER: return 0;
    case NAY_SST_BLOCK_FILTER: return t->filter_block.n;
    case NAY_SST_FULL_FILTER: return 1;
    case NAY_SST_PARTITIONED_FILTER: return nay_sst__index_count(&t->index);
  }
  return 0;
}

static nay_sst_filters_entry filters_whole_block(const nay_sst_filters *t, nay_handle handle,
                                                 bool damaged) {
  return (nay_sst_filters_entry){.bytes = t->bytes + handle.offset,
                                 .len = (size_t)handle.size,
                                 .offset = handle.offset,
                                 .damaged = damaged,
                                 .format = t->format};
}

/* Returns filter i of LevelDB's filter block. */
static nay_sst_filters_entry filters_in_block(const nay_sst_filters *t, uint64_t i) {
  const uint8_t *bytes = t->filter_block.bytes;
  size_t len = 0;
  bool ok = nay_sst__filter_block_at(&t->filter_block, i, &bytes, &len);
  return (nay_sst_filters_entry){.bytes = bytes,
                                 .len = len,
                                 .offset = (uint64_t)(bytes - t->bytes),
                                 .damaged = !ok || t->damaged,
                                 .format = t->format};
}

/* Returns the exact format of a filter. RocksDB has three formats, which the filter's bytes
   distinguish. */
static const nay_format *filters_exact_format(const nay_sst_filters_entry *f) {
  nay_view view = {.size = sizeof view};
  bool ok = f->format != NULL &&
            nay_format_view(f->format, f->bytes, f->len, NAY_FORMAT_CERTAIN, NULL, &view) == NAY_OK;
  return ok ? nay_filter_format(nay_view_filter(&view)) : f->format;
}

nay_status nay_sst_filters_at(const nay_sst_filters *t, uint64_t i, nay_sst_filters_entry *filter) {
  if (t == NULL || filter == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_TABLE_FILTER, filter, NULL));
  nay_sst_filters_entry f;
  uint64_t n = filters_count(t);
  bool prefixes = t->prefix_block.at.size != 0;
  if (i == n && prefixes) {
    f = filters_whole_block(t, t->prefix_block.at, t->prefix_damaged);
    f.format = nay_format_find("nay");
    f.of_prefixes = true;
  } else if (i == n + prefixes && t->range_block.at.size != 0) {
    f = filters_whole_block(t, t->range_block.at, t->range_damaged);
    f.format = nay_format_find("nay");
    f.of_ranges = true;
  } else if (i >= n) {
    return NAY_EEND;
  } else if (nay_sst__filters_in_blocks(t)) {
    f = nay_sst__filters_at_foreign(t, i);
  } else if (t->layout == NAY_SST_FULL_FILTER) {
    f = filters_whole_block(t, t->filter.at, t->damaged);
  } else if (t->layout == NAY_SST_PARTITIONED_FILTER) {
    const nay_index_entry *e = nay_sst__index_at(&t->index, (size_t)i);
    f = filters_whole_block(t, e->handle, e->damaged);
    f.last_key = nay__buffer_at(&t->index.keys, e->key_at);
    f.last_key_len = nay_sst__user_len(nay_sst__filters_comparator(t), e->key_len);
  } else {
    f = filters_in_block(t, i);
  }
  if (!f.damaged && !nay_sst__filters_in_blocks(t)) f.format = filters_exact_format(&f);
  nay__abi_write(NAY_ABI_TABLE_FILTER, &f, filter);
  return NAY_OK;
}

static const char *filters_text(const nay_name name) { return name[0] != '\0' ? name : NULL; }

nay_status nay_sst_filters_stats(const nay_sst_filters *t, nay_sst_filters_info *info) {
  if (t == NULL || info == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_TABLE_INFO, info, NULL));
  static const char *const checksums[] = {"none", "crc32c", "xxh32", "xxh64", "xxh3"};
  static const char *const engines[] = {"LevelDB", "RocksDB", "nay", "nori", "mini-lsm"};
  const nay_properties *p = &t->properties;
  nay_sst_filters_info d = {
      .engine = t->engine,
      .format_version = t->footer.format_version,
      .checksum = checksums[t->footer.checksum],
      .layout = t->layout,
      .policy = t->layout != NAY_SST_NO_FILTER ? t->policy_name : NULL,
      .policy_option = filters_text(p->filter_policy),
      .prefix = filters_text(p->prefix_extractor),
      .whole_keys = p->whole_keys,
      .prefixes = p->prefixes,
      .understood = t->format != NULL || t->policy != NULL,
      .index_known = t->index_known || t->layout != NAY_SST_BLOCK_FILTER,
      .nkeys = p->nentries,
      .nentries = p->nfilter_entries,
      .key = t->engine == NAY_SST_ENGINE_NAY ? nay_sst__table_key_shown(t->key_text) : NULL,
      .engine_text = engines[t->engine],
  };
  if (t->foreign != NULL) d.checksum = t->foreign->has_checksums ? "crc32" : "none";
  nay_sst_filters_entry f = {.size = sizeof f};
  for (uint64_t i = 0; nay_sst_filters_at(t, i, &f) == NAY_OK; i++) {
    d.nempty += f.len == 0;
    d.nfilters += f.len != 0;
    d.ndamaged += f.damaged;
    d.nbytes += f.len;
  }
  nay__abi_write(NAY_ABI_TABLE_INFO, &d, info);
  return NAY_OK;
}

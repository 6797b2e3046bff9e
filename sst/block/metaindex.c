/* metaindex.c - classifies the entries of a metaindex; see metaindex.h. */
#include "block/metaindex.h"

#define META_MAX_NAME 1024u /* longest name that is recognised; no writer uses a longer one */

static void meta_classify(nay_bytes key, nay_bytes value, nay_meta_entry *e) {
  static const struct {
    const char *start;
    nay_meta_kind kind;
    nay_sst_filters_engine engine;
    nay_sst_filter_layout layout;
  } kinds[] = {
      {NAY_META_FILTER_BLOCK, NAY_META_IS_FILTER, NAY_SST_ENGINE_LEVELDB, NAY_SST_BLOCK_FILTER},
      {"fullfilter.", NAY_META_IS_FILTER, NAY_SST_ENGINE_ROCKSDB, NAY_SST_FULL_FILTER},
      {"partitionedfilter.", NAY_META_IS_FILTER, NAY_SST_ENGINE_ROCKSDB,
       NAY_SST_PARTITIONED_FILTER},
      {NAY_META_FULL, NAY_META_IS_FILTER, NAY_SST_ENGINE_NAY, NAY_SST_FULL_FILTER},
      {NAY_META_PARTITIONED, NAY_META_IS_FILTER, NAY_SST_ENGINE_NAY, NAY_SST_PARTITIONED_FILTER},
      {NAY_META_PREFIX, NAY_META_IS_PREFIX_FILTER, NAY_SST_ENGINE_NAY, NAY_SST_NO_FILTER},
      {"rocksdb.range_del", NAY_META_IS_RANGE_DELETIONS, NAY_SST_ENGINE_ROCKSDB, NAY_SST_NO_FILTER},
      {"rocksdb.", NAY_META_IS_OTHER, NAY_SST_ENGINE_ROCKSDB, NAY_SST_NO_FILTER},
  };
  if (key.len > META_MAX_NAME) return;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (!nay_sst__bytes_after(key, kinds[i].start, &e->name)) continue;
    e->kind = kinds[i].kind;
    e->engine = kinds[i].engine;
    e->layout = kinds[i].layout;
    break;
  }
  /* RocksDB's first name of the properties block was rocksdb.stats. */
  if (nay_sst__bytes_are(key, "rocksdb.properties") || nay_sst__bytes_are(key, "rocksdb.stats")) {
    e->kind = NAY_META_IS_PROPERTIES;
  } else if (nay_sst__bytes_are(key, NAY_META_PROPERTIES)) {
    e->kind = NAY_META_IS_PROPERTIES;
    e->engine = NAY_SST_ENGINE_NAY;
  } else if (nay_sst__bytes_are(key, NAY_META_RANGE)) {
    e->kind = NAY_META_IS_RANGE_FILTER;
    e->engine = NAY_SST_ENGINE_NAY;
  } else if (nay_sst__bytes_are(key, NAY_META_KEY)) {
    e->kind = NAY_META_IS_KEY;
    e->engine = NAY_SST_ENGINE_NAY;
    if (!nay_sst__table_key_stored(value.at, value.len, e->key_text)) e->key_text[0] = '\0';
  } else if (nay_sst__bytes_are(key, NAY_META_KEYS)) {
    e->kind = NAY_META_IS_KEYS;
    e->engine = NAY_SST_ENGINE_NAY;
    e->internal = nay_sst__bytes_are(value, "internal");
  }
}

typedef struct meta_walk {
  nay_meta_visit visit;
  void *ctx;
} meta_walk;

static nay_status meta_visit(void *ctx, const nay_cursor *c, nay_diag *diag) {
  const meta_walk *w = ctx;
  nay_bytes key = {c->key.at, c->key.len}, value = {c->entry.value, c->entry.value_len};
  nay_meta_entry e = {.kind = NAY_META_IS_OTHER};
  meta_classify(key, value, &e);
  if (e.kind == NAY_META_IS_KEYS && !e.internal && !nay_sst__bytes_are(value, "plain")) {
    return nay__fail(diag, NAY_ECORRUPT, "nay.keys is neither plain nor internal", c->entry.at);
  }
  if (e.kind == NAY_META_IS_KEY && e.key_text[0] == '\0') {
    return nay__fail(diag, NAY_ECORRUPT, "nay.key is not a key description", c->entry.at);
  }
  bool ours =
      /* Only nay stores a checksum after the handle. */
      e.engine == NAY_SST_ENGINE_NAY;
  bool is_text = e.kind == NAY_META_IS_KEY || e.kind == NAY_META_IS_KEYS;
  e.has_handle = !is_text && nay_sst__checked_handle_load(value.at, value.len, &e.block) &&
                 (e.block.checked || !ours);
  e.block.checked = e.block.checked && ours;
  nay_status status = w->visit(w->ctx, &e);
  if (status == NAY_ENOTSUP) {
    return nay__fail(diag, status, "a RocksDB table with range deletions", c->entry.at);
  }
  if (status != NAY_ECORRUPT) return status;
  return nay__fail(diag, status, "the metaindex points outside of the file", c->entry.at);
}

nay_status nay_sst__metaindex_walk(nay_bytes contents, nay_meta_visit visit, void *ctx,
                                   const nay_allocator *a, nay_diag *diag) {
  nay_block block;
  meta_walk walk = {visit, ctx};
  NAY_TRY(nay_sst__block_open(contents.at, contents.len, diag, &block));
  return nay_sst__block_walk(&block, meta_visit, &walk, a, diag);
}

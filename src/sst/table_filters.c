/*
 * table_filters.c - finds the filters of a table and asks them.
 *
 *   footer -> metaindex -> "filter.<policy>"              LevelDB: one for each 2 KiB of the file
 *                          "fullfilter.<policy>"          RocksDB: one block
 *                          "partitionedfilter.<policy>"   RocksDB: an index of blocks
 *                          "nay.full.", "nay.partitioned.<policy>", "nay.prefix.<extractor>"
 *                          "rocksdb.properties"           what else RocksDB says of the table
 *
 * A filter block of LevelDB is | filters | offset u32 x N | offset of the offsets u32 | lg u8 |,
 * and filter i is of the data blocks that start in the i-th 2^lg bytes of the file.
 */
#include "sst/table_filters.h"

#include "format/format.h"
#include "sst/block.h"
#include "sst/filter_builder.h"
#include "sst/sst.h"

#define TABLE_FILTERS_MAX_RATIO                                    \
  64u /* no codec that LevelDB has makes less of a block than this \
       */

static const char *const tf_checksums[] = {"none", "crc32c", "xxh32", "xxh64", "xxh3"};

const char *nay_table_engine_name(nay_table_engine engine) {
  static const char *const names[] = {"LevelDB", "RocksDB", "nay"};
  return engine <= NAY_TABLE_NAY ? names[engine] : "unknown";
}

bool nay_table_recognise(const void *bytes, size_t len) {
  return bytes != NULL && nay__frame_magic(bytes, len);
}

/* ---- names ---- */

static bool tf_is(const uint8_t *text, size_t len, const char *what) {
  return len == strlen(what) && memcmp(text, what, len) == 0;
}

/* Keeps a text; one that is too long or has a zero byte is cut there. */
static void tf_keep(char dst[TABLE_FILTERS_TEXT], const uint8_t *text, size_t len) {
  size_t n = len < TABLE_FILTERS_TEXT - 1 ? len : TABLE_FILTERS_TEXT - 1;
  memset(dst, 0, TABLE_FILTERS_TEXT);
  memcpy(dst, text, n);
}

static const nay_format *tf_format_of(const char *policy) {
  static const char *const rocksdb[] = {/* what 7.1 and later and 6 write, then early 7.0 */
                                        "rocksdb.BuiltinBloomFilter",
                                        "bloomfilter",
                                        "ribbonfilter",
                                        "rocksdb.internal.LegacyBloomFilter",
                                        "rocksdb.internal.FastLocalBloomFilter",
                                        "rocksdb.internal.Standard128RibbonFilter",
                                        "rocksdb.internal.DeprecatedBlockBasedBloomFilter"};
  if (strcmp(policy, "leveldb.BuiltinBloomFilter2") == 0) return nay_format_find("leveldb");
  if (strcmp(policy, NAY_NATIVE_POLICY) == 0) return nay_format_find("nay");
  if (strcmp(policy, "nay.rocksdb.v1") == 0) return nay_format_find("nay"); /* plugins/rocksdb */
  for (size_t i = 0; i < sizeof rocksdb / sizeof rocksdb[0]; i++) {
    if (strcmp(policy, rocksdb[i]) == 0) return nay_format_find("rocksdb-bloom");
  }
  return NULL;
}

/* ---- metaindex and properties ---- */

static bool tf_meta_filter(nay_table_filters *t, const uint8_t *key, size_t len,
                           nay_handle handle) {
  static const struct {
    const char *start;
    nay_table_engine engine;
    nay_sst_filter layout;
  } kinds[] = {
      {"filter.", NAY_TABLE_LEVELDB, NAY_SST_BLOCK_FILTER},
      {"fullfilter.", NAY_TABLE_ROCKSDB, NAY_SST_FULL_FILTER},
      {"partitionedfilter.", NAY_TABLE_ROCKSDB, NAY_SST_PARTITIONED_FILTER},
      {"nay.full.", NAY_TABLE_NAY, NAY_SST_FULL_FILTER},
      {"nay.partitioned.", NAY_TABLE_NAY, NAY_SST_PARTITIONED_FILTER},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    size_t rest;
    const uint8_t *name = nay__text_after(key, len, kinds[i].start, &rest);
    if (name == NULL) continue;
    if (t->layout != NAY_SST_NO_FILTER) return true; /* the first one counts */
    t->layout = kinds[i].layout;
    t->filter = handle;
    t->whole_keys = true;
    if (kinds[i].engine != NAY_TABLE_LEVELDB) t->engine = kinds[i].engine;
    tf_keep(t->policy_name, name, rest);
    return true;
  }
  return false;
}

static nay_status tf_meta(nay_table_filters *t, const uint8_t *key, size_t len,
                          const uint8_t *value, size_t value_len, nay_diag *diag) {
  size_t rest;
  if (tf_is(key, len, "nay.keys")) {
    t->engine = NAY_TABLE_NAY;
    t->internal = tf_is(value, value_len, "internal");
    return NAY_OK;
  }
  if (nay__text_after(key, len, "rocksdb.", &rest) != NULL) t->engine = NAY_TABLE_ROCKSDB;
  nay_handle handle;
  if (nay__handle_load(value, value + value_len, &handle) == NULL) return NAY_OK; /* not a block */
  bool properties = tf_is(key, len, "rocksdb.properties") || tf_is(key, len, "rocksdb.stats");
  const uint8_t *extractor = nay__text_after(key, len, "nay.prefix.", &rest);
  bool known = properties || extractor != NULL || tf_meta_filter(t, key, len, handle);
  if (known && !nay__handle_fits(handle, t->frame.end)) {
    return nay__fail(diag, NAY_ECORRUPT, "the metaindex points out of the file",
                     t->frame.footer.metaindex.offset);
  }
  if (properties) t->properties = handle;
  if (extractor != NULL) {
    t->engine = NAY_TABLE_NAY;
    t->prefixes = true;
    t->prefix_block = handle;
    tf_keep(t->prefix, extractor, rest);
  }
  return NAY_OK;
}

static void tf_property(nay_table_filters *t, const uint8_t *key, size_t len, const uint8_t *value,
                        size_t value_len) {
  uint64_t number = 0;
  bool yes = tf_is(value, value_len, "1");
  bool is_number = nay__varint64_load(value, value + value_len, &number) != NULL;
  if (tf_is(key, len, "rocksdb.num.entries") && is_number) t->nkeys = number;
  if (tf_is(key, len, "rocksdb.num.filter_entries") && is_number) t->nentries = number;
  if (tf_is(key, len, "rocksdb.filter.policy")) tf_keep(t->policy_option, value, value_len);
  if (tf_is(key, len, "rocksdb.prefix.extractor.name") && !tf_is(value, value_len, "nullptr")) {
    tf_keep(t->prefix, value, value_len);
  }
  if (tf_is(key, len, "rocksdb.block.based.table.whole.key.filtering")) t->whole_keys = yes;
  if (tf_is(key, len, "rocksdb.block.based.table.prefix.filtering")) t->prefixes = yes;
  if (tf_is(key, len, "rocksdb.index.key.is.user.key")) t->internal = number == 0;
  if (tf_is(key, len, "rocksdb.index.value.is.delta.encoded")) t->delta = number != 0;
  if (tf_is(key, len, "rocksdb.comparator")) {
    t->other_order = !tf_is(value, value_len, "leveldb.BytewiseComparator");
  }
}

/* Walks the metaindex, or the properties. */
static nay_status tf_walk(nay_table_filters *t, const uint8_t *bytes, size_t len, bool properties,
                          uint64_t offset, nay_diag *diag) {
  nay_block block = {NULL, 0, 0};
  nay_status status = nay__block_open(bytes, len, diag, &block);
  nay_cursor c = {.block = block, .order = NAY_BYTEWISE, .allocator = &t->allocator};
  if (status == NAY_OK) status = nay__cursor_first(&c, diag);
  while (status == NAY_OK) {
    if (properties) {
      tf_property(t, c.key.at, c.key.len, c.entry.value, c.entry.value_len);
    } else {
      status = tf_meta(t, c.key.at, c.key.len, c.entry.value, c.entry.value_len, diag);
    }
    if (status == NAY_OK) status = nay__cursor_next(&c, diag);
  }
  nay__buffer_free(&c.key, &t->allocator);
  if (status == NAY_ECORRUPT && diag != NULL && diag->offset < len) diag->offset += offset;
  return status == NAY_ENOENT ? NAY_OK : status;
}

/* ---- compressed blocks ---- */

static const nay_codec *tf_codec(const nay_table_filters *t, uint8_t type) {
  for (size_t i = 0; i < t->options.ncodecs; i++) {
    if (t->options.codecs[i]->id == type) return t->options.codecs[i];
  }
  return NULL;
}

/* The contents of a block, uncompressed into `room` if they must be. */
static nay_status tf_block(const nay_table_filters *t, nay_handle handle, nay_buffer *room,
                           nay_diag *diag, const uint8_t **contents, size_t *len) {
  const uint8_t *stored;
  uint8_t type;
  NAY_TRY(nay__frame_block(&t->frame, handle, diag, &stored, &type));
  *contents = stored;
  *len = (size_t)handle.size;
  if (type == 0) return NAY_OK;
  const nay_codec *codec = tf_codec(t, type);
  if (codec == NULL) {
    return nay__fail(diag, NAY_ENOTSUP, "a block is compressed, and its codec was not given",
                     handle.offset);
  }
  size_t size;
  bool ok = codec->uncompressed_size(codec, stored, *len, &size) &&
            size / TABLE_FILTERS_MAX_RATIO <= *len + 1;
  if (ok) NAY_TRY(nay__buffer_reserve(room, size, &t->allocator));
  if (!ok || !codec->uncompress(codec, stored, *len, room->at, size)) {
    return nay__fail(diag, NAY_ECORRUPT, "a compressed block is damaged", handle.offset);
  }
  *contents = room->at;
  *len = size;
  return NAY_OK;
}

static nay_status tf_load_metaindex(nay_table_filters *t, nay_diag *diag) {
  nay_buffer room = {NULL, 0, 0};
  const uint8_t *contents;
  size_t len;
  nay_handle handle = t->frame.footer.metaindex;
  nay_status status = tf_block(t, handle, &room, diag, &contents, &len);
  if (status == NAY_OK) status = tf_walk(t, contents, len, false, handle.offset, diag);
  nay__buffer_free(&room, &t->allocator);
  return status;
}

static nay_status tf_load_properties(nay_table_filters *t, nay_diag *diag) {
  const uint8_t *contents;
  uint8_t type;
  t->delta = t->frame.format_version >= 4; /* unless the properties say otherwise */
  t->internal = t->internal || (t->engine == NAY_TABLE_ROCKSDB && t->frame.format_version < 3);
  t->other_order = t->engine == NAY_TABLE_ROCKSDB; /* unless they name the comparator */
  if (t->properties.size == 0) return NAY_OK;
  NAY_TRY(nay__frame_block(&t->frame, t->properties, diag, &contents, &type));
  if (type != 0) return NAY_OK;
  return tf_walk(t, contents, (size_t)t->properties.size, true, t->properties.offset, diag);
}

/* ---- parts ---- */

/* Partitions lie beside each other: more bytes than the file has are a lie, and not read. */
static nay_status tf_check_partitions(nay_table_filters *t, nay_diag *diag) {
  uint64_t sum = 0;
  for (size_t i = 0; i < nay__index_count(&t->parts); i++) {
    nay_index_entry *part = nay__index_at(&t->parts, i);
    if (!nay__handle_fits(part->handle, t->frame.end) || part->handle.size > t->frame.end - sum) {
      return nay__fail(diag, NAY_ECORRUPT, "the partitions of the filter do not fit the file",
                       t->filter.offset);
    }
    sum += part->handle.size;
    part->damaged = !nay__frame_sound(&t->frame, part->handle);
  }
  return NAY_OK;
}

static nay_comparator tf_order(const nay_table_filters *t) {
  return t->internal ? NAY_INTERNAL_KEYS : NAY_BYTEWISE;
}

static nay_status tf_load_partitions(nay_table_filters *t, nay_diag *diag) {
  const uint8_t *contents;
  uint8_t type;
  size_t most = (size_t)t->frame.end * 2 + 65536;
  bool delta = t->delta && t->engine == NAY_TABLE_ROCKSDB;
  NAY_TRY(nay__frame_block(&t->frame, t->filter, diag, &contents, &type));
  NAY_TRY(nay__index_load(contents, (size_t)t->filter.size, delta, most, &t->allocator, diag,
                          &t->parts));
  if (!nay__index_is_sorted(&t->parts, tf_order(t))) t->other_order = true;
  return tf_check_partitions(t, diag);
}

/*
 * LevelDB's table does not name its comparator, and the filter of a key is found by the order of
 * keys alone. So the data is looked at after all, as nay_sst_open does. In doubt the order is not
 * known, and every filter is asked.
 */
static nay_status tf_load_order(nay_table_filters *t, bool *known) {
  nay_sst_read_options how = {
      .flags = NAY_SST_NO_FILTERS, .codecs = t->options.codecs, .ncodecs = t->options.ncodecs};
  nay_sst *sst = NULL;
  nay_status status = nay_sst_view(t->frame.bytes, (size_t)t->frame.end + NAY_FOOTER, &how,
                                   &t->allocator, NULL, &sst);
  *known = status == NAY_OK && sst->order_unknown == NAY_OK;
  nay_sst_free(sst);
  return status == NAY_ENOMEM ? status : NAY_OK;
}

/* The index of LevelDB's data blocks; without it every filter must be asked. */
static nay_status tf_load_index(nay_table_filters *t, nay_diag *diag) {
  nay_buffer room = {NULL, 0, 0};
  const uint8_t *contents;
  size_t len, most = (size_t)t->frame.end * 2 + 65536;
  nay_handle handle = t->frame.footer.index;
  if (handle.size == 0) return NAY_OK;
  nay_status status = tf_block(t, handle, &room, diag, &contents, &len);
  if (status == NAY_OK) {
    status = nay__index_load(contents, len, false, most, &t->allocator, diag, &t->parts);
  }
  if (status == NAY_OK) status = tf_load_order(t, &t->index_known);
  nay__buffer_free(&room, &t->allocator);
  return status == NAY_ENOTSUP ? NAY_OK : status;
}

/* A native filter is verified once; the others are ready as they are. */
static void tf_open_view(nay_table_filters *t) {
  if (t->format == NULL || t->damaged) return;
  t->has_view = nay__format_view(t->format, t->frame.bytes + t->filter.offset,
                                 (size_t)t->filter.size, NULL, &t->view) == NAY_OK;
}

static nay_status tf_load_filters(nay_table_filters *t, nay_diag *diag) {
  t->format = tf_format_of(t->policy_name);
  /* RocksDB's old filters for each block are LevelDB's with another hash, and long gone */
  if (t->layout == NAY_SST_BLOCK_FILTER && t->engine == NAY_TABLE_ROCKSDB) t->format = NULL;
  if (t->format == NULL && nay_policy_small(10, &t->small) == NAY_OK &&
      strcmp(t->small.name, t->policy_name) == 0) {
    t->policy = &t->small;
  }
  for (size_t i = 0; t->format == NULL && i < t->options.npolicies; i++) {
    const nay_policy *policy = t->options.policies[i];
    if (strcmp(policy->name, t->policy_name) == 0) t->policy = policy;
  }
  if (t->prefix_block.size != 0) {
    t->prefix_damaged = !nay__frame_sound(&t->frame, t->prefix_block);
  }
  if (t->layout == NAY_SST_NO_FILTER) return NAY_OK;
  if (t->layout == NAY_SST_PARTITIONED_FILTER) return tf_load_partitions(t, diag);
  t->damaged = !nay__frame_sound(&t->frame, t->filter);
  if (t->layout == NAY_SST_BLOCK_FILTER) return tf_load_index(t, diag);
  tf_open_view(t);
  return NAY_OK;
}

/* ---- open and free ---- */

nay_status nay_table_filters_open(const void *bytes, size_t len,
                                  const nay_table_filters_options *options,
                                  const nay_allocator *allocator, nay_diag *diag,
                                  nay_table_filters **table) {
  if (table == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "bytes or table is NULL", 0);
  }
  nay_frame frame;
  NAY_TRY(nay__frame_open(bytes, len, diag, &frame));
  nay_allocator a = nay__allocator_or_default(allocator);
  nay_table_filters *t = nay__alloc(&a, sizeof *t);
  if (t == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the table", 0);
  memset(t, 0, sizeof *t);
  t->allocator = a;
  if (options != NULL) t->options = *options;
  t->frame = frame;
  t->engine = frame.rocksdb ? NAY_TABLE_ROCKSDB : NAY_TABLE_LEVELDB;
  nay_status status = tf_load_metaindex(t, diag);
  if (status == NAY_OK) status = tf_load_properties(t, diag);
  if (status == NAY_OK) status = tf_load_filters(t, diag);
  if (status != NAY_OK) {
    if (status == NAY_ENOMEM) nay__fail(diag, status, "no memory for the table", 0);
    nay_table_filters_free(t);
    return status;
  }
  *table = t;
  return NAY_OK;
}

void nay_table_filters_free(nay_table_filters *t) {
  if (t == NULL) return;
  nay_allocator a = t->allocator;
  nay__index_free(&t->parts, &a);
  nay__free(&a, t, sizeof *t);
}

/* ---- the filters, one by one ---- */

static uint64_t tf_count(const nay_table_filters *t) {
  switch (t->layout) {
    case NAY_SST_NO_FILTER: return 0;
    case NAY_SST_BLOCK_FILTER: return nay__filter_blocks(t).count;
    case NAY_SST_FULL_FILTER: return 1;
    case NAY_SST_PARTITIONED_FILTER: return nay__index_count(&t->parts);
  }
  return 0;
}

static nay_table_filter tf_whole(const nay_table_filters *t, nay_handle handle, bool damaged) {
  return (nay_table_filter){.bytes = t->frame.bytes + handle.offset,
                            .len = (size_t)handle.size,
                            .offset = handle.offset,
                            .damaged = damaged,
                            .format = t->format};
}

/* RocksDB has three layouts: the bytes say which. */
static const nay_format *tf_exact_format(const nay_table_filter *f) {
  nay_view view;
  bool ok =
      f->format != NULL && nay__format_view(f->format, f->bytes, f->len, NULL, &view) == NAY_OK;
  return ok ? nay_format_of(nay_view_filter(&view)) : f->format;
}

nay_status nay_table_filters_at(const nay_table_filters *t, uint64_t i, nay_table_filter *filter) {
  if (t == NULL || filter == NULL) return NAY_EINVAL;
  nay_table_filter f = {.bytes = NULL};
  uint64_t n = tf_count(t);
  if (i == n && t->prefix_block.size != 0) {
    f = tf_whole(t, t->prefix_block, t->prefix_damaged);
    f.format = nay_format_find("nay");
    f.of_prefixes = true;
  } else if (i >= n) {
    return NAY_ENOENT;
  } else if (t->layout == NAY_SST_FULL_FILTER) {
    f = tf_whole(t, t->filter, t->damaged);
  } else if (t->layout == NAY_SST_PARTITIONED_FILTER) {
    const nay_index_entry *part = nay__index_at(&t->parts, (size_t)i);
    f = tf_whole(t, part->handle, part->damaged);
    f.last_key = nay__buffer_at(&t->parts.keys, part->key_at);
    f.last_key_len = nay__user_len(tf_order(t), part->key_len);
  } else {
    nay_filter_blocks b = nay__filter_blocks(t);
    const uint8_t *bytes = b.bytes;
    size_t len = 0;
    f.damaged = !nay__filter_block_at(&b, i, &bytes, &len) || t->damaged;
    f.format = t->format;
    f.bytes = bytes;
    f.len = len;
    f.offset = (uint64_t)(bytes - t->frame.bytes);
  }
  if (!f.damaged) f.format = tf_exact_format(&f);
  *filter = f;
  return NAY_OK;
}

void nay_table_filters_describe(const nay_table_filters *t, nay_table_filters_info *info) {
  nay_table_filters_info d = {
      .engine = t->engine,
      .format_version = t->frame.format_version,
      .checksum = tf_checksums[t->frame.checksum],
      .layout = t->layout,
      .policy = t->layout != NAY_SST_NO_FILTER ? t->policy_name : NULL,
      .policy_option = t->policy_option[0] != '\0' ? t->policy_option : NULL,
      .prefix = t->prefix[0] != '\0' ? t->prefix : NULL,
      .whole_keys = t->whole_keys,
      .prefixes = t->prefixes,
      .understood = t->format != NULL || t->policy != NULL,
      .index_known = t->index_known || t->layout != NAY_SST_BLOCK_FILTER,
      .nkeys = t->nkeys,
      .nentries = t->nentries,
  };
  nay_table_filter f;
  for (uint64_t i = 0; nay_table_filters_at(t, i, &f) == NAY_OK; i++) {
    d.nempty += f.len == 0;
    d.nfilters += f.len != 0;
    d.ndamaged += f.damaged;
    d.nbytes += f.len;
  }
  *info = d;
}

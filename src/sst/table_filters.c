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
 * and filter i is of the data blocks that start in the i-th 2^lg bytes of the file. Whose block a
 * key is in only the index knows. Nothing says whether its keys are internal ones, and the two
 * readings may lead to two blocks: then both filters are asked.
 *
 * A table with another order of keys than that of bytes has every partition asked.
 */
#include "filter.h"
#include "nay_table.h"
#include "sst/block.h"
#include "sst/filter_maker.h"
#include "sst/table_frame.h"
#include "sst/table_parts.h"

#define TABLE_TEXT 128u
#define TABLE_MAX_RATIO 64u /* no codec that LevelDB has makes less of a block than this */

struct nay_table {
  nay_allocator allocator;
  nay_table_options options;
  nay_frame frame;
  nay_table_engine engine;
  nay_sst_filter layout;
  const nay_format *format; /* of the filters; NULL: `policy` is asked, or nobody */
  const nay_policy *policy;
  nay_handle filter;       /* the block that the metaindex names */
  nay_parts parts;         /* partitions; or data blocks, for filters of 2 KiB */
  nay_handle prefix_block; /* nay's filter of prefixes; size 0: none */
  bool prefix_damaged;
  nay_handle properties;
  char policy_name[TABLE_TEXT], policy_option[TABLE_TEXT], prefix[TABLE_TEXT];
  bool whole_keys, prefixes, internal, delta, other_order, index_known;
  bool damaged; /* the one block of a full filter, or that of 2 KiB */
  bool has_view;
  nay_view view; /* of a full filter */
  uint64_t nkeys, nentries;
};

static const char *const table_checksums[] = {"none", "crc32c", "xxh32", "xxh64", "xxh3"};

const char *nay_table_engine_name(nay_table_engine engine) {
  static const char *const names[] = {"LevelDB", "RocksDB", "nay"};
  return engine <= NAY_TABLE_NAY ? names[engine] : "unknown";
}

bool nay_table_recognise(const void *bytes, size_t len) {
  return bytes != NULL && nay__frame_magic(bytes, len);
}

/* ---- names ---- */

/* The rest of a text after a prefix; NULL when it does not start so. */
static const uint8_t *table_after(const uint8_t *text, size_t len, const char *start,
                                  size_t *rest_len) {
  size_t n = strlen(start);
  if (len < n || memcmp(text, start, n) != 0) return NULL;
  *rest_len = len - n;
  return text + n;
}

static bool table_is(const uint8_t *text, size_t len, const char *what) {
  return len == strlen(what) && memcmp(text, what, len) == 0;
}

/* Keeps a text; one that is too long or has a zero byte is cut there. */
static void table_keep(char dst[TABLE_TEXT], const uint8_t *text, size_t len) {
  size_t n = len < TABLE_TEXT - 1 ? len : TABLE_TEXT - 1;
  memset(dst, 0, TABLE_TEXT);
  memcpy(dst, text, n);
}

/* A decimal number to the end of the text, after a prefix; 0 when it is none. */
static size_t table_number(const char *text, const char *start) {
  size_t rest, value = 0;
  const uint8_t *p = table_after((const uint8_t *)text, strlen(text), start, &rest);
  for (size_t i = 0; p != NULL && i < rest; i++) {
    if (p[i] < '0' || p[i] > '9' || value > 65535) return 0;
    value = value * 10 + (size_t)(p[i] - '0');
  }
  return value;
}

static const nay_format *table_format_of(const char *policy) {
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
  for (size_t i = 0; i < sizeof rocksdb / sizeof rocksdb[0]; i++) {
    if (strcmp(policy, rocksdb[i]) == 0) return nay_format_find("rocksdb-bloom");
  }
  return NULL;
}

/* ---- metaindex and properties ---- */

static bool table_meta_filter(nay_table *t, const uint8_t *key, size_t len, nay_handle handle) {
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
    const uint8_t *name = table_after(key, len, kinds[i].start, &rest);
    if (name == NULL) continue;
    if (t->layout != NAY_SST_NO_FILTER) return true; /* the first one counts */
    t->layout = kinds[i].layout;
    t->filter = handle;
    t->whole_keys = true;
    if (kinds[i].engine != NAY_TABLE_LEVELDB) t->engine = kinds[i].engine;
    table_keep(t->policy_name, name, rest);
    return true;
  }
  return false;
}

static nay_status table_meta(nay_table *t, const uint8_t *key, size_t len, const uint8_t *value,
                             size_t value_len, nay_diag *diag) {
  size_t rest;
  if (table_is(key, len, "nay.keys")) {
    t->engine = NAY_TABLE_NAY;
    t->internal = table_is(value, value_len, "internal");
    return NAY_OK;
  }
  if (table_after(key, len, "rocksdb.", &rest) != NULL) t->engine = NAY_TABLE_ROCKSDB;
  nay_handle handle;
  if (nay__handle_load(value, value + value_len, &handle) == NULL) return NAY_OK; /* not a block */
  bool properties = table_is(key, len, "rocksdb.properties") || table_is(key, len, "rocksdb.stats");
  const uint8_t *extractor = table_after(key, len, "nay.prefix.", &rest);
  bool known = properties || extractor != NULL || table_meta_filter(t, key, len, handle);
  if (known && !nay__handle_fits(handle, t->frame.end)) {
    return nay__fail(diag, NAY_ECORRUPT, "the metaindex points out of the file",
                     t->frame.footer.metaindex.offset);
  }
  if (properties) t->properties = handle;
  if (extractor != NULL) {
    t->engine = NAY_TABLE_NAY;
    t->prefixes = true;
    t->prefix_block = handle;
    table_keep(t->prefix, extractor, rest);
  }
  return NAY_OK;
}

static void table_property(nay_table *t, const uint8_t *key, size_t len, const uint8_t *value,
                           size_t value_len) {
  uint64_t number = 0;
  bool yes = table_is(value, value_len, "1");
  bool is_number = nay__varint64_load(value, value + value_len, &number) != NULL;
  if (table_is(key, len, "rocksdb.num.entries") && is_number) t->nkeys = number;
  if (table_is(key, len, "rocksdb.num.filter_entries") && is_number) t->nentries = number;
  if (table_is(key, len, "rocksdb.filter.policy")) table_keep(t->policy_option, value, value_len);
  if (table_is(key, len, "rocksdb.prefix.extractor.name") &&
      !table_is(value, value_len, "nullptr")) {
    table_keep(t->prefix, value, value_len);
  }
  if (table_is(key, len, "rocksdb.block.based.table.whole.key.filtering")) t->whole_keys = yes;
  if (table_is(key, len, "rocksdb.block.based.table.prefix.filtering")) t->prefixes = yes;
  if (table_is(key, len, "rocksdb.index.key.is.user.key")) t->internal = number == 0;
  if (table_is(key, len, "rocksdb.index.value.is.delta.encoded")) t->delta = number != 0;
  if (table_is(key, len, "rocksdb.comparator")) {
    t->other_order = !table_is(value, value_len, "leveldb.BytewiseComparator");
  }
}

/* Walks the metaindex, or the properties. */
static nay_status table_walk(nay_table *t, const uint8_t *bytes, size_t len, bool properties,
                             uint64_t offset, nay_diag *diag) {
  nay_block block = {NULL, 0, 0};
  nay_status status = nay__block_open(bytes, len, diag, &block);
  nay_cursor c = {.block = block, .order = NAY_ORDER_BYTES, .allocator = &t->allocator};
  if (status == NAY_OK) status = nay__cursor_first(&c, diag);
  while (status == NAY_OK) {
    if (properties) {
      table_property(t, c.key.at, c.key.len, c.entry.value, c.entry.value_len);
    } else {
      status = table_meta(t, c.key.at, c.key.len, c.entry.value, c.entry.value_len, diag);
    }
    if (status == NAY_OK) status = nay__cursor_next(&c, diag);
  }
  nay__buffer_free(&c.key, &t->allocator);
  if (status == NAY_ECORRUPT && diag != NULL && diag->offset < len) diag->offset += offset;
  return status == NAY_ENOENT ? NAY_OK : status;
}

/* ---- compressed blocks ---- */

static const nay_codec *table_codec(const nay_table *t, uint8_t type) {
  for (size_t i = 0; i < t->options.ncodecs; i++) {
    if (t->options.codecs[i]->id == type) return t->options.codecs[i];
  }
  return NULL;
}

/* The contents of a block, uncompressed into `room` if they must be. */
static nay_status table_block(const nay_table *t, nay_handle handle, nay_buffer *room,
                              nay_diag *diag, const uint8_t **contents, size_t *len) {
  const uint8_t *stored;
  uint8_t type;
  NAY_TRY(nay__frame_block(&t->frame, handle, diag, &stored, &type));
  *contents = stored;
  *len = (size_t)handle.size;
  if (type == 0) return NAY_OK;
  const nay_codec *codec = table_codec(t, type);
  if (codec == NULL) {
    return nay__fail(diag, NAY_ENOTSUP, "a block is compressed, and its codec was not given",
                     handle.offset);
  }
  size_t size;
  bool ok =
      codec->uncompressed_size(codec, stored, *len, &size) && size / TABLE_MAX_RATIO <= *len + 1;
  if (ok) NAY_TRY(nay__buffer_reserve(room, size, &t->allocator));
  if (!ok || !codec->uncompress(codec, stored, *len, room->at, size)) {
    return nay__fail(diag, NAY_ECORRUPT, "a compressed block is damaged", handle.offset);
  }
  *contents = room->at;
  *len = size;
  return NAY_OK;
}

static nay_status table_load_metaindex(nay_table *t, nay_diag *diag) {
  nay_buffer room = {NULL, 0, 0};
  const uint8_t *contents;
  size_t len;
  nay_handle handle = t->frame.footer.metaindex;
  nay_status status = table_block(t, handle, &room, diag, &contents, &len);
  if (status == NAY_OK) status = table_walk(t, contents, len, false, handle.offset, diag);
  nay__buffer_free(&room, &t->allocator);
  return status;
}

static nay_status table_load_properties(nay_table *t, nay_diag *diag) {
  const uint8_t *contents;
  uint8_t type;
  t->delta = t->frame.format_version >= 4; /* unless the properties say otherwise */
  t->internal = t->internal || (t->engine == NAY_TABLE_ROCKSDB && t->frame.format_version < 3);
  if (t->properties.size == 0) return NAY_OK;
  NAY_TRY(nay__frame_block(&t->frame, t->properties, diag, &contents, &type));
  if (type != 0) return NAY_OK;
  return table_walk(t, contents, (size_t)t->properties.size, true, t->properties.offset, diag);
}

/* ---- parts ---- */

/* Partitions lie beside each other: more bytes than the file has are a lie, and not read. */
static nay_status table_check_partitions(nay_table *t, nay_diag *diag) {
  uint64_t sum = 0;
  for (size_t i = 0; i < nay__parts_count(&t->parts); i++) {
    nay_part *part = nay__part_at(&t->parts, i);
    if (!nay__handle_fits(part->handle, t->frame.end) || part->handle.size > t->frame.end - sum) {
      return nay__fail(diag, NAY_ECORRUPT, "the partitions of the filter do not fit the file",
                       t->filter.offset);
    }
    sum += part->handle.size;
    part->damaged = !nay__frame_sound(&t->frame, part->handle);
  }
  return NAY_OK;
}

static nay_status table_load_partitions(nay_table *t, nay_diag *diag) {
  const uint8_t *contents;
  uint8_t type;
  size_t most = (size_t)t->frame.end * 2 + 65536;
  bool delta = t->delta && t->engine == NAY_TABLE_ROCKSDB;
  NAY_TRY(nay__frame_block(&t->frame, t->filter, diag, &contents, &type));
  NAY_TRY(nay__parts_load(contents, (size_t)t->filter.size, delta, most, &t->allocator, diag,
                          &t->parts));
  return table_check_partitions(t, diag);
}

/* The index of LevelDB's data blocks; without it every filter must be asked. */
static nay_status table_load_index(nay_table *t, nay_diag *diag) {
  nay_buffer room = {NULL, 0, 0};
  const uint8_t *contents;
  size_t len, most = (size_t)t->frame.end * 2 + 65536;
  nay_handle handle = t->frame.footer.index;
  if (handle.size == 0) return NAY_OK;
  nay_status status = table_block(t, handle, &room, diag, &contents, &len);
  if (status == NAY_OK) {
    status = nay__parts_load(contents, len, false, most, &t->allocator, diag, &t->parts);
    t->index_known = status == NAY_OK;
  }
  nay__buffer_free(&room, &t->allocator);
  return status == NAY_ENOTSUP ? NAY_OK : status;
}

/* A native filter is verified once; the others are ready as they are. */
static void table_open_view(nay_table *t) {
  if (t->format == NULL || t->damaged) return;
  t->has_view = nay_format_view(t->format, t->frame.bytes + t->filter.offset,
                                (size_t)t->filter.size, NULL, &t->view) == NAY_OK;
}

static nay_status table_load_filters(nay_table *t, nay_diag *diag) {
  t->format = table_format_of(t->policy_name);
  /* RocksDB's old filters for each block are LevelDB's with another hash, and long gone */
  if (t->layout == NAY_SST_BLOCK_FILTER && t->engine == NAY_TABLE_ROCKSDB) t->format = NULL;
  for (size_t i = 0; t->format == NULL && i < t->options.npolicies; i++) {
    const nay_policy *policy = t->options.policies[i];
    if (strcmp(policy->name, t->policy_name) == 0) t->policy = policy;
  }
  if (t->prefix_block.size != 0) {
    t->prefix_damaged = !nay__frame_sound(&t->frame, t->prefix_block);
  }
  if (t->layout == NAY_SST_NO_FILTER) return NAY_OK;
  if (t->layout == NAY_SST_PARTITIONED_FILTER) return table_load_partitions(t, diag);
  t->damaged = !nay__frame_sound(&t->frame, t->filter);
  if (t->layout == NAY_SST_BLOCK_FILTER) return table_load_index(t, diag);
  table_open_view(t);
  return NAY_OK;
}

/* ---- open and free ---- */

nay_status nay_table_open(const void *bytes, size_t len, const nay_table_options *options,
                          const nay_allocator *allocator, nay_diag *diag, nay_table **table) {
  if (table == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "bytes or table is NULL", 0);
  }
  nay_frame frame;
  NAY_TRY(nay__frame_open(bytes, len, diag, &frame));
  nay_allocator a = nay__allocator_or_default(allocator);
  nay_table *t = nay__alloc(&a, sizeof *t);
  if (t == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the table", 0);
  memset(t, 0, sizeof *t);
  t->allocator = a;
  if (options != NULL) t->options = *options;
  t->frame = frame;
  t->engine = frame.rocksdb ? NAY_TABLE_ROCKSDB : NAY_TABLE_LEVELDB;
  nay_status status = table_load_metaindex(t, diag);
  if (status == NAY_OK) status = table_load_properties(t, diag);
  if (status == NAY_OK) status = table_load_filters(t, diag);
  if (status != NAY_OK) {
    if (status == NAY_ENOMEM) nay__fail(diag, status, "no memory for the table", 0);
    nay_table_free(t);
    return status;
  }
  *table = t;
  return NAY_OK;
}

void nay_table_free(nay_table *t) {
  if (t == NULL) return;
  nay_allocator a = t->allocator;
  nay__parts_free(&t->parts, &a);
  nay__free(&a, t, sizeof *t);
}

/* ---- the filters, one by one ---- */

/* LevelDB's filter block, taken apart; count is 0 when it is not one. */
typedef struct table_blocks {
  const uint8_t *bytes;
  uint32_t array; /* where the offsets are */
  uint32_t count;
  unsigned lg;
} table_blocks;

static table_blocks table_blocks_of(const nay_table *t) {
  table_blocks b = {.bytes = t->frame.bytes + t->filter.offset};
  size_t size = (size_t)t->filter.size;
  if (size < 5 || size > UINT32_MAX) return b;
  uint32_t array = nay__load32le(b.bytes + size - 5);
  if (array > size - 5) return b;
  b.array = array;
  b.count = (uint32_t)((size - 5 - array) / 4);
  b.lg = b.bytes[size - 1];
  return b;
}

/* The i-th filter; false when its place is not one, which LevelDB takes for a maybe. The word after
 * the last offset is that of the offsets themselves, so the last filter needs no case of its own.
 */
static bool table_block_at(const table_blocks *b, uint64_t i, const uint8_t **bytes, size_t *len) {
  const uint8_t *offset = b->bytes + b->array + i * 4;
  uint32_t start = nay__load32le(offset), limit = nay__load32le(offset + 4);
  if (start > limit || limit > b->array) return false;
  *bytes = b->bytes + start;
  *len = limit - start;
  return true;
}

static uint64_t table_count(const nay_table *t) {
  switch (t->layout) {
    case NAY_SST_NO_FILTER: return 0;
    case NAY_SST_BLOCK_FILTER: return table_blocks_of(t).count;
    case NAY_SST_FULL_FILTER: return 1;
    case NAY_SST_PARTITIONED_FILTER: return nay__parts_count(&t->parts);
  }
  return 0;
}

static nay_table_filter table_whole(const nay_table *t, nay_handle handle, bool damaged) {
  return (nay_table_filter){.bytes = t->frame.bytes + handle.offset,
                            .len = (size_t)handle.size,
                            .offset = handle.offset,
                            .damaged = damaged,
                            .format = t->format};
}

/* RocksDB has three layouts: the bytes say which. */
static const nay_format *table_exact_format(const nay_table_filter *f) {
  nay_view view;
  bool ok =
      f->format != NULL && nay_format_view(f->format, f->bytes, f->len, NULL, &view) == NAY_OK;
  return ok ? nay_format_of(nay_view_filter(&view)) : f->format;
}

nay_status nay_table_filter_at(const nay_table *t, uint64_t i, nay_table_filter *filter) {
  if (t == NULL || filter == NULL) return NAY_EINVAL;
  nay_table_filter f = {.bytes = NULL};
  uint64_t n = table_count(t);
  if (i == n && t->prefix_block.size != 0) {
    f = table_whole(t, t->prefix_block, t->prefix_damaged);
    f.format = nay_format_find("nay");
    f.of_prefixes = true;
  } else if (i >= n) {
    return NAY_ENOENT;
  } else if (t->layout == NAY_SST_FULL_FILTER) {
    f = table_whole(t, t->filter, t->damaged);
  } else if (t->layout == NAY_SST_PARTITIONED_FILTER) {
    const nay_part *part = nay__part_at(&t->parts, (size_t)i);
    f = table_whole(t, part->handle, part->damaged);
    f.last_key = t->parts.keys.at + part->key_at;
    f.last_key_len =
        nay__user_len(t->internal ? NAY_ORDER_INTERNAL : NAY_ORDER_BYTES, part->key_len);
  } else {
    table_blocks b = table_blocks_of(t);
    const uint8_t *bytes = b.bytes;
    size_t len = 0;
    f.damaged = !table_block_at(&b, i, &bytes, &len) || t->damaged;
    f.format = t->format;
    f.bytes = bytes;
    f.len = len;
    f.offset = (uint64_t)(bytes - t->frame.bytes);
  }
  if (!f.damaged) f.format = table_exact_format(&f);
  *filter = f;
  return NAY_OK;
}

void nay_table_describe(const nay_table *t, nay_table_info *info) {
  nay_table_info d = {
      .engine = t->engine,
      .format_version = t->frame.format_version,
      .checksum = table_checksums[t->frame.checksum],
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
  for (uint64_t i = 0; nay_table_filter_at(t, i, &f) == NAY_OK; i++) {
    d.nempty += f.len == 0;
    d.nfilters += f.len != 0;
    d.ndamaged += f.damaged;
    d.nbytes += f.len;
  }
  *info = d;
}

/* ---- asking ---- */

static bool table_ask(const nay_table *t, const uint8_t *bytes, size_t filter_len, const void *key,
                      size_t len) {
  nay_view view;
  if (t->policy != NULL) return t->policy->may_match(t->policy, key, len, bytes, filter_len);
  if (t->format == NULL) return true;
  if (nay_format_view(t->format, bytes, filter_len, NULL, &view) != NAY_OK) return true;
  return nay_filter_may_contain(nay_view_filter(&view), key, len);
}

/* The filter of the data block at `offset`. */
static bool table_ask_block(const nay_table *t, const table_blocks *b, uint64_t offset,
                            const void *key, size_t len) {
  const uint8_t *bytes;
  size_t filter_len;
  uint64_t i = b->lg < 64 ? offset >> b->lg : 0;
  if (i >= b->count || !table_block_at(b, i, &bytes, &filter_len)) return true;
  return filter_len != 0 && table_ask(t, bytes, filter_len, key, len);
}

static bool table_ask_blocks(const nay_table *t, const void *key, size_t len) {
  table_blocks b = table_blocks_of(t);
  if (t->damaged) return true;
  if (!t->index_known) {
    bool any = b.count == 0;
    for (uint64_t i = 0; i < b.count && !any; i++) {
      const uint8_t *bytes;
      size_t filter_len;
      any = !table_block_at(&b, i, &bytes, &filter_len) ||
            (filter_len != 0 && table_ask(t, bytes, filter_len, key, len));
    }
    return any;
  }
  size_t n = nay__parts_count(&t->parts);
  size_t plain = nay__parts_find(&t->parts, NAY_ORDER_BYTES, key, len), internal = plain;
  if (t->parts.all_internal) {
    internal = nay__parts_find(&t->parts, NAY_ORDER_INTERNAL, key, len);
  }
  if (plain < n && table_ask_block(t, &b, nay__part_at(&t->parts, plain)->handle.offset, key, len))
    return true;
  return internal != plain && internal < n &&
         table_ask_block(t, &b, nay__part_at(&t->parts, internal)->handle.offset, key, len);
}

static bool table_ask_part(const nay_table *t, size_t i, const void *key, size_t len) {
  const nay_part *part = nay__part_at(&t->parts, i);
  return part->damaged ||
         table_ask(t, t->frame.bytes + part->handle.offset, (size_t)part->handle.size, key, len);
}

/* The key chooses the partition, its first what_len bytes are asked. A key past all of them is
 * asked of the last one, as RocksDB does: a prefix may belong there. */
static bool table_ask_partitions(const nay_table *t, const void *key, size_t len, size_t what_len) {
  size_t n = nay__parts_count(&t->parts);
  if (n == 0) return false;
  bool any = false;
  for (size_t i = 0; t->other_order && i < n && !any; i++)
    any = table_ask_part(t, i, key, what_len);
  if (t->other_order) return any;
  nay_order order = t->internal ? NAY_ORDER_INTERNAL : NAY_ORDER_BYTES;
  size_t i = nay__parts_find(&t->parts, order, key, len);
  return table_ask_part(t, i < n ? i : n - 1, key, what_len);
}

/* The prefix of a key; false when the extractor is not known, or the key has none. */
static bool table_prefix_of(const nay_table *t, const uint8_t *key, size_t len, size_t *prefix) {
  size_t fixed = table_number(t->prefix, "rocksdb.FixedPrefix.");
  size_t capped = table_number(t->prefix, "rocksdb.CappedPrefix.");
  if (fixed == 0) fixed = table_number(t->prefix, "nay.fixed.");
  if (capped != 0) {
    *prefix = len < capped ? len : capped;
    return true;
  }
  if (fixed != 0) {
    *prefix = fixed;
    return len >= fixed;
  }
  size_t rest;
  if (table_after((const uint8_t *)t->prefix, strlen(t->prefix), "nay.delimiter.", &rest) == NULL) {
    return false;
  }
  const uint8_t *end =
      len == 0 ? NULL : memchr(key, (int)table_number(t->prefix, "nay.delimiter."), len);
  if (end != NULL) *prefix = (size_t)(end - key) + 1;
  return end != NULL;
}

static bool table_ask_prefix_block(const nay_table *t, const void *key, size_t prefix) {
  nay_view view;
  const uint8_t *bytes = t->frame.bytes + t->prefix_block.offset;
  if (t->prefix_damaged ||
      nay_view_open(bytes, (size_t)t->prefix_block.size, NULL, NULL, &view) != NAY_OK) {
    return true;
  }
  return nay_filter_may_contain(nay_view_filter(&view), key, prefix);
}

bool nay_table_may_contain(const nay_table *t, const void *key, size_t len) {
  if (t == NULL || (key == NULL && len != 0)) return true;
  if (key == NULL) key = "";
  size_t what = len;
  if (!t->whole_keys) {
    if (!t->prefixes || !table_prefix_of(t, key, len, &what)) return true;
    if (t->prefix_block.size != 0) return table_ask_prefix_block(t, key, what);
  }
  switch (t->layout) {
    case NAY_SST_NO_FILTER: break;
    case NAY_SST_BLOCK_FILTER: return table_ask_blocks(t, key, what);
    case NAY_SST_FULL_FILTER:
      if (t->damaged) return true;
      if (t->has_view) return nay_filter_may_contain(nay_view_filter(&t->view), key, what);
      return t->policy == NULL ||
             table_ask(t, t->frame.bytes + t->filter.offset, (size_t)t->filter.size, key, what);
    case NAY_SST_PARTITIONED_FILTER: return table_ask_partitions(t, key, len, what);
  }
  return true;
}

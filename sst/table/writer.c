/*
 * writer.c - writes a table from sorted entries.
 *
 *   | data block | data block | ... | filters | properties | metaindex | index | footer |
 *
 * The bytes equal those of LevelDB's TableBuilder for the same entries and options, unless the
 * options ask for one of nay's own filters or for properties. Filter partitions are written between
 * data blocks as they fill up.
 *
 * An index entry is written when the first key of the next block is known, because its key is the
 * shortest separator between the two blocks. After the last block LevelDB writes a short successor
 * of the last key; with properties the last key is kept whole, so that the index tells the exact
 * largest key.
 *
 * Memory: the open data block, the index, and the keys or hashes of filters that are not finished.
 */
#include "block/block.h"
#include "block/codec.h"
#include "block/filter_block.h"
#include "block/metaindex.h"
#include "block/properties.h"
#include "foreign/engine_writer.h"
#include "io/table_file.h"
#include "nay_sst.h"
#include "struct_sizes.h"
#include "table/write_options.h"

#define WRITER_BUFFER 65536u /* the buffer size of LevelDB's writable files */

struct nay_sst_writer {
  nay_allocator allocator;
  /* Writer of another engine's layout; if set, the other fields are unused */
  nay_foreign_writer *foreign;
  nay_sst_write_options options;
  nay_params params;       /* parameters of native filters */
  nay_params range_params; /* params of the range filter; kind NAY_AUTO: none */
  nay_order order;
  nay_table_key key_text;
  nay_sst_target sink;
  bool sink_open;       /* the sink is neither finished nor aborted */
  nay_buffer unwritten; /* bytes not yet written to the sink */
  uint64_t offset;      /* file offset of the next block */
  uint64_t count;
  nay_block_builder data, index;
  nay_buffer last_key; /* last key added */
  nay_buffer compressed;
  nay_buffer separator;                /* scratch of the caller's comparator */
  nay_buffer joined_key;               /* scratch: an internal key, joined from a nay_sst_entry */
  bool pending_block;                  /* the last data block has no index entry yet */
  nay_handle block_handle;             /* handle of the data block without index entry */
  bool pending_partition;              /* the last filter partition has no index entry yet */
  nay_checked_handle partition_handle; /* handle of the filter partition without index entry */
  nay_filter_block_builder filter_block;
  nay_filter_builder key_filter, prefix_filter, range_filter;
  nay_buffer last_prefix;
  nay_buffer filter_bytes;           /* encoded filter, before it is written */
  nay_block_builder partition_index; /* index of the filter partitions */
  nay_block_builder metaindex, properties;
  nay_buffer meta_key;
  nay_table_stats stats;
  nay_buffer first_key; /* first user key, for the properties */
  bool finished;
  nay_status failed;
  nay_diag why; /* why the file or a filter failed */
};

/* ---- blocks ---- */

static nay_status writer_flush_file(nay_sst_writer *w) {
  NAY_TRY(nay_sst__io_write(&w->sink, w->unwritten.at, w->unwritten.len, &w->why));
  w->unwritten.len = 0;
  return NAY_OK;
}

static nay_status writer_put(nay_sst_writer *w, const uint8_t *bytes, size_t len) {
  NAY_TRY(nay__buffer_append(&w->unwritten, bytes, len, &w->allocator));
  w->offset += len;
  return w->unwritten.len >= WRITER_BUFFER ? writer_flush_file(w) : NAY_OK;
}

/* Writes the stored form of a block and its trailer. */
static nay_status writer_put_block(nay_sst_writer *w, const nay_buffer *contents, uint8_t type,
                                   nay_checked_handle *handle) {
  uint8_t frame[NAY_BLOCK_TRAILER];
  nay_handle h = {w->offset, contents->len};
  nay_sst__block_trailer_store(frame, type, contents->at, contents->len);
  NAY_TRY(writer_put(w, contents->at, contents->len));
  NAY_TRY(writer_put(w, frame, sizeof frame));
  *handle = (nay_checked_handle){h, true, nay__load32le(frame + 1)};
  return NAY_OK;
}

/* Compresses a block into w->compressed. False: the block stays uncompressed, because
 * compression saves less than an eighth (LevelDB's rule), or the block is too large. */
static bool writer_compress(nay_sst_writer *w, const nay_buffer *raw) {
  const nay_sst_codec *codec = w->options.codec;
  if (codec == NULL || raw->len > NAY_MAX_BLOCK) return false;
  size_t bound = codec->bound(codec->ctx, raw->len), len = bound;
  w->compressed.len = 0;
  if (nay__buffer_reserve(&w->compressed, bound, &w->allocator) != NAY_OK) return false;
  nay_status status = codec->compress(codec->ctx, raw->at, raw->len, w->compressed.at, bound, &len);
  if (status != NAY_OK || len > bound) return false;
  w->compressed.len = len;
  return len < raw->len - raw->len / 8;
}

/* Finishes a block, writes it, and resets the builder. */
static nay_status writer_put_builder(nay_sst_writer *w, nay_block_builder *b, nay_handle *handle) {
  nay_checked_handle block;
  NAY_TRY(nay_sst__block_finish(b, &w->allocator));
  bool compressed = writer_compress(w, &b->bytes);
  NAY_TRY(writer_put_block(w, compressed ? &w->compressed : &b->bytes,
                           compressed ? w->options.codec->id : 0, &block));
  *handle = block.at;
  return nay_sst__block_reset(b, &w->allocator);
}

static nay_status writer_add_handle(nay_sst_writer *w, nay_block_builder *b, const nay_buffer *key,
                                    const nay_checked_handle *handle) {
  uint8_t value[NAY_CHECKED_HANDLE_MAX];
  size_t len = nay_sst__checked_handle_store(value, handle);
  return nay_sst__block_add(b, key->at, key->len, 0, value, len, &w->allocator);
}

/* ---- filters ---- */

/* Writes the filter partition of the data blocks since the last one. The index key of the partition
 * is that of the block just written. */
static nay_status writer_finish_partition(nay_sst_writer *w) {
  w->filter_bytes.len = 0;
  NAY_TRY(nay_sst__filter_builder_finish(&w->key_filter, &w->filter_bytes, &w->allocator, &w->why));
  NAY_TRY(writer_put_block(w, &w->filter_bytes, 0, &w->partition_handle));
  w->pending_partition = true;
  return NAY_OK;
}

static nay_status writer_filter_prefix(nay_sst_writer *w, const uint8_t *key, size_t len) {
  size_t n = 0;
  const nay_sst_prefix *prefix = w->options.prefix;
  if (prefix == NULL) return NAY_OK;
  nay_status status = prefix->extract(prefix->ctx, key, len, &n);
  if (status == NAY_ENOENT) return NAY_OK;
  if (status != NAY_OK) {
    return nay__fail(&w->why, status, "the prefix extractor failed", 0);
  }
  if (n > len) return NAY_OK;
  bool same = w->prefix_filter.n != 0 && w->last_prefix.len == n &&
              (n == 0 || memcmp(w->last_prefix.at, key, n) == 0);
  if (same) return NAY_OK;
  w->last_prefix.len = 0;
  NAY_TRY(nay__buffer_append(&w->last_prefix, key, n, &w->allocator));
  return nay_sst__filter_builder_add(&w->prefix_filter, key, n, &w->allocator);
}

static nay_status writer_filter_key(nay_sst_writer *w, const uint8_t *key, size_t len) {
  if (w->options.filter == NAY_SST_BLOCK_FILTER) {
    NAY_TRY(nay_sst__filter_builder_add(&w->filter_block.filter, key, len, &w->allocator));
  } else if (w->options.filter != NAY_SST_NO_FILTER) {
    NAY_TRY(nay_sst__filter_builder_add(&w->key_filter, key, len, &w->allocator));
  }
  if (w->range_params.kind != NAY_AUTO) {
    NAY_TRY(nay_sst__filter_builder_add(&w->range_filter, key, len, &w->allocator));
  }
  return writer_filter_prefix(w, key, len);
}

/* ---- entries ---- */

/* Adds the index entry of the last data block. `next` is the first key after the block; NULL: there
 * is none. */
static nay_status writer_add_index_entry(nay_sst_writer *w, const uint8_t *next, size_t len) {
  if (!w->pending_block) return NAY_OK;
  if (next == NULL && w->options.properties) {
    /* keep the whole last key */
  } else if (w->order.user == NULL) {
    nay_sst__separator(w->order, &w->last_key, next, len);
  } else {
    NAY_TRY(
        nay_sst__separator_custom(w->order, &w->last_key, next, len, &w->separator, &w->allocator));
  }
  nay_checked_handle block = {.at = w->block_handle};
  NAY_TRY(writer_add_handle(w, &w->index, &w->last_key, &block));
  if (w->pending_partition)
    NAY_TRY(writer_add_handle(w, &w->partition_index, &w->last_key, &w->partition_handle));
  w->pending_block = w->pending_partition = false;
  return NAY_OK;
}

static nay_status writer_flush_block(nay_sst_writer *w) {
  if (w->data.bytes.len == 0) return NAY_OK;
  NAY_TRY(writer_put_builder(w, &w->data, &w->block_handle));
  w->pending_block = true;
  if (w->options.filter == NAY_SST_BLOCK_FILTER) {
    return nay_sst__filter_block_start(&w->filter_block, w->offset, &w->allocator);
  }
  bool full = w->options.filter == NAY_SST_PARTITIONED_FILTER &&
              w->key_filter.n >= w->options.partition_keys;
  return full ? writer_finish_partition(w) : NAY_OK;
}

static nay_status writer_append(nay_sst_writer *w, const uint8_t *key, size_t len, size_t shared,
                                const uint8_t *value, size_t value_len) {
  const nay_allocator *a = &w->allocator;
  NAY_TRY(writer_add_index_entry(w, key, len));
  NAY_TRY(writer_filter_key(w, key, nay_sst__user_len(w->order, len)));
  NAY_TRY(nay_sst__block_add(&w->data, key, len, shared, value, value_len, a));
  w->last_key.len = 0;
  /* a separator is at most one trailer longer than the key */
  NAY_TRY(nay__buffer_reserve(&w->last_key, len + NAY_KEY_TRAILER, a));
  NAY_TRY(nay__buffer_append(&w->last_key, key, len, a));
  if (w->count++ == 0 && w->options.properties) {
    NAY_TRY(nay__buffer_append(&w->first_key, key, nay_sst__user_len(w->order, len), a));
  }
  nay_sst__table_stats_add(&w->stats, w->order, key, len, value_len);
  return nay_sst__block_size(&w->data) >= w->options.block_bytes ? writer_flush_block(w) : NAY_OK;
}

/* Whether the key sorts after the last one. Sets *shared to the length of their common prefix. */
static bool writer_ascends(const nay_sst_writer *w, const uint8_t *key, size_t len,
                           size_t *shared) {
  size_t n = len < w->last_key.len ? len : w->last_key.len;
  *shared = nay_sst__common(w->last_key.at, key, n);
  if (w->count == 0) return true;
  if (w->order.internal || w->order.user != NULL) {
    return nay_sst__compare(w->order, w->last_key.at, w->last_key.len, key, len) < 0;
  }
  return *shared < n ? w->last_key.at[*shared] < key[*shared] : w->last_key.len < len;
}

/* Sets *diag to the cause of w->failed. */
static void writer_blame(const nay_sst_writer *w, nay_diag *diag) {
  nay__fail(diag, w->failed,
            w->failed == NAY_ENOMEM ? "no memory for a filter or a block"
                                    : "a filter or a block could not be built",
            w->offset);
  if (diag != NULL && w->why.what != NULL) *diag = w->why;
}

/* Returns why the entry cannot be added; NULL: it can. */
static const char *writer_refuses(const nay_sst_writer *w, const void *key, size_t len,
                                  size_t value_len, size_t *shared) {
  if (w->finished) return "the table is finished";
  if (len >= NAY_SST_ENTRY_MAX || value_len >= NAY_SST_ENTRY_MAX)
    return "a key or value of 1 GiB or more";
  if (w->order.internal) {
    nay_sst_entry ignored = {.size = sizeof ignored};
    if (nay_sst_key_split(key, len, &ignored) != NAY_OK) return "the key is not an internal key";
  }
  if (!writer_ascends(w, key, len, shared)) return "the key is not above the one before it";
  return NULL;
}

nay_status nay_sst_writer_add(nay_sst_writer *w, const void *key, size_t len, const void *value,
                              size_t value_len, nay_diag *diag) {
  size_t shared;
  if (w == NULL || (key == NULL && len != 0) || (value == NULL && value_len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "writer, key or value is NULL", 0);
  }
  if (w->foreign != NULL) {
    nay_sst_entry entry = {.size = sizeof entry, .key = key, .len = len};
    return nay_sst__foreign_writer_add(w->foreign, &entry, value, value_len, diag);
  }
  if (key == NULL) key = ""; /* prefix extractors get no NULL */
  if (w->failed == NAY_OK) {
    const char *refused = writer_refuses(w, key, len, value_len, &shared);
    if (refused != NULL) return nay__fail(diag, NAY_EINVAL, refused, w->count);
    w->failed = writer_append(w, key, len, shared, value, value_len);
  }
  if (w->failed != NAY_OK) writer_blame(w, diag);
  return w->failed;
}

nay_status nay_sst_writer_add_entry(nay_sst_writer *w, const nay_sst_entry *from, const void *value,
                                    size_t value_len, nay_diag *diag) {
  uint8_t trailer[NAY_KEY_TRAILER];
  nay_sst_entry full, *v = &full;
  if (w == NULL || from == NULL) return nay__fail(diag, NAY_EINVAL, "writer or entry is NULL", 0);
  NAY_TRY(nay__abi_read(NAY_ABI_SST_ENTRY, from, diag, &full));
  if (w->foreign != NULL) return nay_sst__foreign_writer_add(w->foreign, v, value, value_len, diag);
  if (!w->order.internal)
    return nay__fail(diag, NAY_EINVAL, "the keys of this table are not internal keys", 0);
  if ((v->key == NULL && v->len != 0) || v->len >= NAY_SST_ENTRY_MAX ||
      v->sequence > NAY_SST_MAX_SEQUENCE || (unsigned)v->type > NAY_SST_MERGE || v->term != 0) {
    return nay__fail(
        diag, NAY_EINVAL,
        "the entry: key NULL or too long, sequence above 2^56 - 1, unknown type, or a term",
        w->count);
  }
  nay__store64le(trailer, nay_sst__trailer(v->sequence, v->type));
  w->joined_key.len = 0;
  nay_status status = nay__buffer_append(&w->joined_key, v->key, v->len, &w->allocator);
  if (status == NAY_OK) {
    status = nay__buffer_append(&w->joined_key, trailer, sizeof trailer, &w->allocator);
  }
  if (status != NAY_OK) {
    w->failed = status;
    return nay__fail(diag, status, "no memory for a key", 0);
  }
  return nay_sst_writer_add(w, w->joined_key.at, w->joined_key.len, value, value_len, diag);
}

uint64_t nay_sst__writer_bytes(const nay_sst_writer *w) { return w->offset; }

uint64_t nay_sst__writer_count(const nay_sst_writer *w) { return w->count; }

/* ---- finishing ---- */

/* Adds an entry to the metaindex. Callers add entries in key order. */
static nay_status writer_add_meta(nay_sst_writer *w, const char *kind, const char *name,
                                  const uint8_t *value, size_t len) {
  w->meta_key.len = 0;
  NAY_TRY(nay__buffer_append(&w->meta_key, kind, strlen(kind), &w->allocator));
  NAY_TRY(nay__buffer_append(&w->meta_key, name, strlen(name), &w->allocator));
  /* no shared prefix: LevelDB's only entry keeps LevelDB's bytes */
  return nay_sst__block_add(&w->metaindex, w->meta_key.at, w->meta_key.len, 0, value, len,
                            &w->allocator);
}

static nay_status writer_meta_block(nay_sst_writer *w, const nay_buffer *contents, const char *kind,
                                    const char *name) {
  nay_checked_handle handle;
  uint8_t value[NAY_CHECKED_HANDLE_MAX];
  NAY_TRY(writer_put_block(w, contents, 0, &handle));
  if (strcmp(kind, NAY_META_FILTER_BLOCK) == 0)
    handle.checked = false; /* LevelDB's entry has no checksum */
  return writer_add_meta(w, kind, name, value, nay_sst__checked_handle_store(value, &handle));
}

static nay_status writer_meta_filter(nay_sst_writer *w, nay_filter_builder *builder,
                                     const char *kind, const char *name) {
  w->filter_bytes.len = 0;
  NAY_TRY(nay_sst__filter_builder_finish(builder, &w->filter_bytes, &w->allocator, &w->why));
  return writer_meta_block(w, &w->filter_bytes, kind, name);
}

/* Whether the table has a properties block. Tables that LevelDB could have written have none. */
static bool writer_has_properties(const nay_sst_writer *w) {
  return w->order.user != NULL || w->options.properties;
}

static nay_status writer_put_properties(nay_sst_writer *w) {
  if (!writer_has_properties(w)) return NAY_OK;
  if (w->order.user != NULL) {
    NAY_TRY(nay_sst__property_add(&w->properties, NAY_PROPERTY_COMPARATOR, w->order.user->name,
                                  strlen(w->order.user->name), &w->allocator));
  }
  if (w->options.properties) {
    w->stats.smallest = (nay_bytes){w->first_key.at, w->first_key.len};
    w->stats.largest = (nay_bytes){w->last_key.at, nay_sst__user_len(w->order, w->last_key.len)};
    NAY_TRY(nay_sst__table_stats_store(&w->stats, w->order, &w->properties, &w->allocator));
  }
  NAY_TRY(nay_sst__block_finish(&w->properties, &w->allocator));
  return writer_meta_block(w, &w->properties.bytes, NAY_META_PROPERTIES, "");
}

static nay_status writer_put_filters(nay_sst_writer *w) {
  const nay_policy *policy = w->options.policy;
  const char *name = policy != NULL ? policy->name : NAY_NATIVE_POLICY;
  nay_sst_filter_layout filter = w->options.filter;
  if (filter == NAY_SST_BLOCK_FILTER) {
    NAY_TRY(nay_sst__filter_block_finish(&w->filter_block, &w->allocator));
    NAY_TRY(writer_meta_block(w, &w->filter_block.filters, NAY_META_FILTER_BLOCK, name));
  }
  bool empty = w->count == 0; /* a table without keys has no filters */
  if (!empty && filter == NAY_SST_FULL_FILTER) {
    NAY_TRY(writer_meta_filter(w, &w->key_filter, NAY_META_FULL, name));
  }
  bool native = !empty && (filter > NAY_SST_BLOCK_FILTER || w->prefix_filter.n != 0 ||
                           w->range_params.kind != NAY_AUTO);
  bool described = w->key_text[0] != '\0';
  if (described) {
    NAY_TRY(
        writer_add_meta(w, NAY_META_KEY, "", (const uint8_t *)w->key_text, strlen(w->key_text)));
  }
  if (native || described || writer_has_properties(w) || w->stats.nmerges != 0) {
    const char *keys = w->order.internal ? "internal" : "plain";
    NAY_TRY(writer_add_meta(w, NAY_META_KEYS, "", (const uint8_t *)keys, strlen(keys)));
  }
  if (!empty && filter == NAY_SST_PARTITIONED_FILTER) {
    NAY_TRY(nay_sst__block_finish(&w->partition_index, &w->allocator));
    NAY_TRY(writer_meta_block(w, &w->partition_index.bytes, NAY_META_PARTITIONED, name));
  }
  if (w->prefix_filter.n == 0) return NAY_OK;
  return writer_meta_filter(w, &w->prefix_filter, NAY_META_PREFIX, w->options.prefix->name);
}

static nay_status writer_put_range(nay_sst_writer *w) {
  if (w->range_params.kind == NAY_AUTO || w->count == 0) return NAY_OK;
  return writer_meta_filter(w, &w->range_filter, NAY_META_RANGE, "");
}

static nay_status writer_put_end(nay_sst_writer *w) {
  nay_footer footer;
  uint8_t bytes[NAY_FOOTER];
  NAY_TRY(writer_flush_block(w));
  if (w->options.filter == NAY_SST_PARTITIONED_FILTER && w->key_filter.n != 0) {
    NAY_TRY(writer_finish_partition(w));
  }
  NAY_TRY(writer_add_index_entry(w, NULL, 0));
  NAY_TRY(writer_put_filters(w));
  NAY_TRY(writer_put_properties(w));
  NAY_TRY(writer_put_range(w));
  NAY_TRY(writer_put_builder(w, &w->metaindex, &footer.metaindex));
  NAY_TRY(writer_put_builder(w, &w->index, &footer.index));
  nay_sst__footer_store(bytes, &footer);
  return writer_put(w, bytes, sizeof bytes);
}

nay_status nay_sst_writer_finish(nay_sst_writer *w, nay_diag *diag) {
  if (w == NULL || w->finished) {
    return nay__fail(diag, NAY_EINVAL, "writer is NULL or already finished", 0);
  }
  if (w->foreign != NULL) return nay_sst__foreign_writer_finish(w->foreign, diag);
  if (w->failed == NAY_OK) w->failed = writer_put_end(w);
  if (w->failed == NAY_OK) w->failed = writer_flush_file(w);
  if (w->failed == NAY_OK && !w->options.no_sync) w->failed = nay_sst__io_sync(&w->sink, &w->why);
  if (w->failed == NAY_OK) {
    w->sink_open = false;
    w->failed = nay_sst__io_finish(&w->sink, &w->why);
  }
  w->finished = true;
  if (w->failed == NAY_OK) return NAY_OK;
  writer_blame(w, diag);
  return w->failed;
}

/* ---- create and free ---- */

/* Initialises the builders and opens the output: the sink, or the file at path if `sink` is NULL.
 * The output is opened last, so that no failure leaves it open. */
static nay_status writer_init(nay_sst_writer *w, const char *path, const nay_sst_target *sink,
                              nay_diag *diag) {
  const nay_allocator *a = &w->allocator;
  const nay_sst_write_options *o = &w->options;
  nay_block_builder *builders[] = {&w->data, &w->index, &w->partition_index, &w->metaindex,
                                   &w->properties};
  for (size_t i = 0; i < sizeof builders / sizeof *builders; i++) {
    builders[i]->interval = i == 1 || i == 2 ? 1 : o->restart_interval;
    NAY_TRY(nay_sst__block_reset(builders[i], a));
  }
  if (o->filter == NAY_SST_BLOCK_FILTER) {
    NAY_TRY(nay_sst__filter_builder_init(&w->filter_block.filter, o->policy, NULL, a, diag));
  } else if (o->filter != NAY_SST_NO_FILTER) {
    NAY_TRY(nay_sst__filter_builder_init(&w->key_filter, o->policy, &w->params, a, diag));
  }
  if (o->prefix != NULL) {
    nay_params prefixes = w->params;
    prefixes.nkeys = 0; /* the number of prefixes is not known */
    NAY_TRY(nay_sst__filter_builder_init(&w->prefix_filter, NULL, &prefixes, a, diag));
  }
  if (w->range_params.kind != NAY_AUTO) {
    NAY_TRY(nay_sst__filter_builder_init(&w->range_filter, NULL, &w->range_params, a, diag));
    w->range_params.spill_dir = NULL; /* the caller's text */
  }
  if (sink != NULL) {
    w->sink = *sink;
  } else {
    NAY_TRY(nay_sst__io_replace(path, !o->no_sync, a, diag, &w->sink));
  }
  w->sink_open = true;
  return NAY_OK;
}

/* Checks the options of a table of another engine. An option that the engine does not have is an
   error. */
static nay_status writer_foreign_options(const nay_sst_write_options *o, nay_diag *diag,
                                         nay_foreign_options *f) {
  nay_params p = {.size = sizeof p};
  if (o->params != NULL) NAY_TRY(nay__abi_read(NAY_ABI_PARAMS, o->params, diag, &p));
  bool whole = p.bits_per_key >= 0 && p.bits_per_key <= UINT32_MAX &&
               p.bits_per_key == (double)(uint32_t)p.bits_per_key;
  bool others = p.kind != NAY_AUTO || p.fpr != 0 || p.nbytes != 0 || p.nbits != 0 || p.k != 0 ||
                p.flags != 0 || p.fold != 0 || p.hash != NAY_HASH_XXH3 || p.seed != 0 ||
                p.tag_bits != 0 || p.generations != 0 || p.window != 0 || p.max_nkeys != 0 ||
                p.max_nbytes != 0 || p.value_bits != 0 || p.check_bits != 0 || p.range_length != 0;
  if (!whole || others) {
    return nay__fail(diag, NAY_EINVAL, "params of another engine's table: bits_per_key and nkeys",
                     0);
  }
  if (o->keys != NAY_SST_KEYS_AUTO || o->filter != NAY_SST_NO_FILTER || o->policy != NULL ||
      o->partition_keys != 0 || o->prefix != NULL || o->comparator != NULL || o->properties ||
      o->key != NULL || o->range != NULL) {
    return nay__fail(diag, NAY_EINVAL, "an option that only LevelDB's layout has", 0);
  }
  *f = (nay_foreign_options){.name = o->layout,
                             .block_bytes = o->block_bytes,
                             .restart_interval = o->restart_interval,
                             .quotient = o->quotient,
                             .no_sync = o->no_sync,
                             .bits_per_key = (uint32_t)p.bits_per_key,
                             .nkeys = p.nkeys,
                             .codec = o->codec};
  if (o->codec != NULL) NAY_TRY(nay__abi_check_input(NAY_ABI_CODEC, o->codec, diag));
  return NAY_OK;
}

static nay_status writer_new_foreign(const char *path, const nay_sst_target *sink,
                                     const nay_sst_write_options *o, const nay_allocator *allocator,
                                     nay_diag *diag, nay_sst_writer **writer) {
  nay_foreign_options f;
  nay_allocator a;
  NAY_TRY(writer_foreign_options(o, diag, &f));
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  nay_sst_writer *w = nay__alloc(&a, sizeof *w);
  if (w == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for a writer", 0);
  *w = (nay_sst_writer){.allocator = a};
  nay_status status = nay_sst__foreign_writer_new(path, sink, &f, &a, diag, &w->foreign);
  if (status != NAY_OK) {
    nay__free(&a, w, sizeof *w);
    return status;
  }
  *writer = w;
  return NAY_OK;
}

static nay_status writer_new(const char *path, const nay_sst_target *sink,
                             const nay_sst_write_options *options, const nay_allocator *allocator,
                             nay_diag *diag, nay_sst_writer **writer) {
  nay_sst_write_options o = {.size = sizeof o};
  nay_params params[2];
  nay_table_key key_text;
  if (options != NULL) NAY_TRY(nay__abi_read(NAY_ABI_SST_WRITE, options, diag, &o));
  if (o.layout != NULL) return writer_new_foreign(path, sink, &o, allocator, diag, writer);
  if (o.quotient) return nay__fail(diag, NAY_EINVAL, "quotient is for nori's layout alone", 0);
  NAY_TRY(nay_sst__write_options_read(options, diag, &o, params, key_text));
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  nay_sst_writer *w = nay__alloc(&a, sizeof *w);
  if (w == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for a writer", 0);
  *w = (nay_sst_writer){
      .allocator = a, .options = o, .params = params[0], .range_params = params[1]};
  memcpy(w->key_text, key_text, sizeof key_text);
  w->order = (nay_order){o.comparator, o.keys == NAY_SST_KEYS_INTERNAL};
  nay_diag cause = {.what = NULL}; /* diag is set on failure only */
  nay_status status = writer_init(w, path, sink, &cause);
  if (status != NAY_OK) {
    nay__fail(diag, status, "no memory for the blocks of a writer", 0);
    if (diag != NULL && cause.what != NULL) *diag = cause;
    nay_sst_writer_free(w);
    return status;
  }
  *writer = w;
  return NAY_OK;
}

nay_status nay_sst_writer_new(const char *path, const nay_sst_write_options *options,
                              const nay_allocator *allocator, nay_diag *diag,
                              nay_sst_writer **writer) {
  if (path == NULL || writer == NULL) {
    return nay__fail(diag, NAY_EINVAL, "path or writer is NULL", 0);
  }
  return writer_new(path, NULL, options, allocator, diag, writer);
}

nay_status nay_sst_writer_new_target(const nay_sst_target *sink,
                                     const nay_sst_write_options *options,
                                     const nay_allocator *allocator, nay_diag *diag,
                                     nay_sst_writer **writer) {
  nay_sst_target own;
  if (sink == NULL || writer == NULL) {
    return nay__fail(diag, NAY_EINVAL, "sink or writer is NULL", 0);
  }
  NAY_TRY(nay__abi_read(NAY_ABI_SST_TARGET, sink, diag, &own));
  if (own.write == NULL) return nay__fail(diag, NAY_EINVAL, "the sink has no write", 0);
  return writer_new(NULL, &own, options, allocator, diag, writer);
}

void nay_sst_writer_free(nay_sst_writer *w) {
  if (w == NULL) return;
  nay_allocator a = w->allocator;
  nay_sst__foreign_writer_free(w->foreign);
  nay_block_builder *builders[] = {&w->data, &w->index, &w->partition_index, &w->metaindex,
                                   &w->properties};
  for (size_t i = 0; i < sizeof builders / sizeof *builders; i++) {
    nay_sst__block_builder_free(builders[i], &a);
  }
  nay_buffer *buffers[] = {&w->unwritten,  &w->last_key,    &w->compressed,
                           &w->joined_key, &w->last_prefix, &w->filter_bytes,
                           &w->meta_key,   &w->separator,   &w->first_key};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) nay__buffer_free(buffers[i], &a);
  nay_sst__filter_block_free(&w->filter_block, &a);
  nay_sst__filter_builder_free(&w->key_filter, &a);
  nay_sst__filter_builder_free(&w->prefix_filter, &a);
  nay_sst__filter_builder_free(&w->range_filter, &a);
  if (w->sink_open) nay_sst__io_abort(&w->sink);
  nay__free(&a, w, sizeof *w);
}

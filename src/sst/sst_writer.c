/*
 * sst_writer.c - writes a table from keys in order, a block at a time.
 *
 *   | data block | data block | ... | filters | metaindex | index | footer |
 *
 * The bytes are those of LevelDB's TableBuilder for the same entries and options, unless the
 * options name one of nay's own filters or properties. An index entry is written once the first key
 * of the next block is known, because its key is the shortest separator of the two. Behind the last
 * block LevelDB shortens the last key; with properties it stays whole, so that the index, which
 * searches rely on, tells the exact last key. In memory are only the
 * open data block, the index, and the keys or hashes that filters still need; filter partitions are
 * written between data blocks as they fill up.
 */
#include "nay_sst.h"
#include "sst/block.h"
#include "sst/codec.h"
#include "sst/filter_block.h"
#include "sst/metaindex.h"
#include "sst/properties.h"
#include "sst/sst_abi.h"
#include "sst/sst_io.h"
#include "sst/write_options.h"

#define WRITER_BUFFER 65536u /* as LevelDB's files */

struct nay_sst_writer {
  nay_allocator allocator;
  nay_sst_write_options options;
  nay_params params; /* of native filters */
  nay_order order;
  nay_table_key key_text;
  nay_sst_sink sink;
  bool sink_open;  /* neither finished nor aborted */
  nay_buffer out;  /* write buffer of the file */
  uint64_t offset; /* of the next block */
  uint64_t count;
  nay_block_builder data, index;
  nay_buffer last; /* key */
  nay_buffer compressed;
  nay_buffer separator;         /* scratch of the comparator */
  nay_buffer version;           /* an internal key that came in parts */
  bool pending;                 /* a block was written that has no index entry yet: */
  nay_handle block;             /* this one, */
  bool pending_part;            /* and with it a partition of the filter: */
  nay_checked_handle partition; /* this one */
  nay_filter_block_builder filter_block;
  nay_filter_builder whole, prefixes;
  nay_buffer last_prefix;
  nay_buffer filter;     /* bytes of one, before they are written */
  nay_block_builder top; /* index of the partitions */
  nay_block_builder metaindex, properties;
  nay_buffer meta_key;
  nay_table_stats stats;
  nay_buffer smallest; /* user key, for the properties */
  bool finished;
  nay_status failed;
  nay_diag trouble; /* with the file, or with a filter */
};

/* ---- bytes ---- */

static nay_status writer_flush_file(nay_sst_writer *w) {
  NAY_TRY(nay__io_write(&w->sink, w->out.at, w->out.len, &w->trouble));
  w->out.len = 0;
  return NAY_OK;
}

static nay_status writer_put(nay_sst_writer *w, const uint8_t *bytes, size_t len) {
  NAY_TRY(nay__buffer_append(&w->out, bytes, len, &w->allocator));
  w->offset += len;
  return w->out.len >= WRITER_BUFFER ? writer_flush_file(w) : NAY_OK;
}

/* A block as it is, with its trailer. */
static nay_status writer_put_block(nay_sst_writer *w, const nay_buffer *contents, uint8_t type,
                                   nay_checked_handle *handle) {
  uint8_t frame[NAY_BLOCK_TRAILER];
  nay_handle h = {w->offset, contents->len};
  nay__block_trailer_store(frame, type, contents->at, contents->len);
  NAY_TRY(writer_put(w, contents->at, contents->len));
  NAY_TRY(writer_put(w, frame, sizeof frame));
  *handle = (nay_checked_handle){h, true, nay__load32le(frame + 1)};
  return NAY_OK;
}

/* Into w->compressed; false when it saves less than an eighth (LevelDB's rule) or is too long. */
static bool writer_compress(nay_sst_writer *w, const nay_buffer *raw) {
  const nay_sst_codec *codec = w->options.codec;
  if (codec == NULL || raw->len > NAY_MAX_BLOCK) return false;
  size_t bound = codec->bound(codec, raw->len), len = bound;
  w->compressed.len = 0;
  if (nay__buffer_reserve(&w->compressed, bound, &w->allocator) != NAY_OK) return false;
  if (!codec->compress(codec, raw->at, raw->len, w->compressed.at, &len) || len > bound) {
    return false;
  }
  w->compressed.len = len;
  return len < raw->len - raw->len / 8;
}

/* Finishes a block, writes it, and makes the builder ready for the next. */
static nay_status writer_put_builder(nay_sst_writer *w, nay_block_builder *b, nay_handle *handle) {
  nay_checked_handle block;
  NAY_TRY(nay__block_finish(b, &w->allocator));
  bool compressed = writer_compress(w, &b->bytes);
  NAY_TRY(writer_put_block(w, compressed ? &w->compressed : &b->bytes,
                           compressed ? w->options.codec->id : 0, &block));
  *handle = block.at;
  return nay__block_reset(b, &w->allocator);
}

static nay_status writer_add_handle(nay_sst_writer *w, nay_block_builder *b, const nay_buffer *key,
                                    const nay_checked_handle *handle) {
  uint8_t value[NAY_CHECKED_HANDLE_MAX];
  size_t len = nay__checked_handle_store(value, handle);
  return nay__block_add(b, key->at, key->len, 0, value, len, &w->allocator);
}

/* ---- filters ---- */

/* The partition ends with the block just written, and gets the index key of that block. */
static nay_status writer_cut_partition(nay_sst_writer *w) {
  w->filter.len = 0;
  NAY_TRY(nay__filter_builder_finish(&w->whole, &w->filter, &w->allocator, &w->trouble));
  NAY_TRY(writer_put_block(w, &w->filter, 0, &w->partition));
  w->pending_part = true;
  return NAY_OK;
}

static nay_status writer_filter_prefix(nay_sst_writer *w, const uint8_t *key, size_t len) {
  size_t n = 0;
  const nay_sst_prefix *prefix = w->options.prefix;
  if (prefix == NULL || !prefix->extract(prefix, key, len, &n) || n > len) return NAY_OK;
  bool same = w->prefixes.n != 0 && w->last_prefix.len == n &&
              (n == 0 || memcmp(w->last_prefix.at, key, n) == 0);
  if (same) return NAY_OK;
  w->last_prefix.len = 0;
  NAY_TRY(nay__buffer_append(&w->last_prefix, key, n, &w->allocator));
  return nay__filter_builder_add(&w->prefixes, key, n, &w->allocator);
}

static nay_status writer_filter_key(nay_sst_writer *w, const uint8_t *key, size_t len) {
  if (w->options.filter == NAY_SST_BLOCK_FILTER) {
    NAY_TRY(nay__filter_builder_add(&w->filter_block.filter, key, len, &w->allocator));
  } else if (w->options.filter != NAY_SST_NO_FILTER) {
    NAY_TRY(nay__filter_builder_add(&w->whole, key, len, &w->allocator));
  }
  return writer_filter_prefix(w, key, len);
}

/* ---- entries ---- */

/* Writes the index entry of the block before: `next` is the first key after it, NULL at the end. */
static nay_status writer_index_pending(nay_sst_writer *w, const uint8_t *next, size_t len) {
  if (!w->pending) return NAY_OK;
  if (next == NULL && w->options.properties) {
    /* the last key, whole */
  } else if (w->order.user == NULL) {
    nay__separator(w->order, &w->last, next, len);
  } else {
    NAY_TRY(nay__separator_custom(w->order, &w->last, next, len, &w->separator, &w->allocator));
  }
  nay_checked_handle block = {.at = w->block};
  NAY_TRY(writer_add_handle(w, &w->index, &w->last, &block));
  if (w->pending_part) NAY_TRY(writer_add_handle(w, &w->top, &w->last, &w->partition));
  w->pending = w->pending_part = false;
  return NAY_OK;
}

static nay_status writer_flush_block(nay_sst_writer *w) {
  if (w->data.bytes.len == 0) return NAY_OK;
  NAY_TRY(writer_put_builder(w, &w->data, &w->block));
  w->pending = true;
  if (w->options.filter == NAY_SST_BLOCK_FILTER) {
    return nay__filter_block_start(&w->filter_block, w->offset, &w->allocator);
  }
  bool full =
      w->options.filter == NAY_SST_PARTITIONED_FILTER && w->whole.n >= w->options.partition_keys;
  return full ? writer_cut_partition(w) : NAY_OK;
}

static nay_status writer_append(nay_sst_writer *w, const uint8_t *key, size_t len, size_t shared,
                                const uint8_t *value, size_t value_len) {
  const nay_allocator *a = &w->allocator;
  NAY_TRY(writer_index_pending(w, key, len));
  NAY_TRY(writer_filter_key(w, key, nay__user_len(w->order, len)));
  NAY_TRY(nay__block_add(&w->data, key, len, shared, value, value_len, a));
  w->last.len = 0;
  /* capacity for a separator, which is at most a trailer longer */
  NAY_TRY(nay__buffer_reserve(&w->last, len + NAY_KEY_TRAILER, a));
  NAY_TRY(nay__buffer_append(&w->last, key, len, a));
  if (w->count++ == 0 && w->options.properties) {
    NAY_TRY(nay__buffer_append(&w->smallest, key, nay__user_len(w->order, len), a));
  }
  nay__table_stats_add(&w->stats, w->order, key, len, value_len);
  return nay__block_size(&w->data) >= w->options.block_bytes ? writer_flush_block(w) : NAY_OK;
}

/* Whether the key is above the last one, and how many bytes the two share. */
static bool writer_ascends(const nay_sst_writer *w, const uint8_t *key, size_t len,
                           size_t *shared) {
  size_t n = len < w->last.len ? len : w->last.len;
  *shared = nay__common(w->last.at, key, n);
  if (w->count == 0) return true;
  if (w->order.internal || w->order.user != NULL) {
    return nay__compare(w->order, w->last.at, w->last.len, key, len) < 0;
  }
  return *shared < n ? w->last.at[*shared] < key[*shared] : w->last.len < len;
}

nay_status nay_sst_writer_add(nay_sst_writer *w, const void *key, size_t len, const void *value,
                              size_t value_len) {
  nay_sst_version ignored = {.size = sizeof ignored};
  size_t shared;
  if (w == NULL || (key == NULL && len != 0) || (value == NULL && value_len != 0)) {
    return NAY_EINVAL;
  }
  if (key == NULL) key = ""; /* the empty key: prefix extractors get no NULL */
  if (w->failed != NAY_OK) return w->failed;
  if (w->finished || len >= NAY_SST_ENTRY_MAX || value_len >= NAY_SST_ENTRY_MAX) return NAY_EINVAL;
  if (w->order.internal && nay_sst_key_split(key, len, &ignored) != NAY_OK) {
    return NAY_EINVAL;
  }
  if (!writer_ascends(w, key, len, &shared)) return NAY_EINVAL;
  w->failed = writer_append(w, key, len, shared, value, value_len);
  return w->failed;
}

nay_status nay_sst_writer_add_version(nay_sst_writer *w, const nay_sst_version *from,
                                      const void *value, size_t value_len) {
  uint8_t trailer[NAY_KEY_TRAILER];
  nay_sst_version full, *v = &full;
  if (w == NULL || from == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_read(NAY_ABI_SST_VERSION, from, NULL, &full));
  if ((v->key == NULL && v->len != 0) || v->len >= NAY_SST_ENTRY_MAX ||
      v->sequence > NAY_SST_MAX_SEQUENCE || (v->deleted && v->merge) || !w->order.internal) {
    return NAY_EINVAL;
  }
  nay__store64le(trailer, v->sequence << 8 | (v->merge ? 2 : !v->deleted));
  w->version.len = 0;
  nay_status status = nay__buffer_append(&w->version, v->key, v->len, &w->allocator);
  if (status == NAY_OK) {
    status = nay__buffer_append(&w->version, trailer, sizeof trailer, &w->allocator);
  }
  if (status != NAY_OK) return w->failed = status;
  return nay_sst_writer_add(w, w->version.at, w->version.len, value, value_len);
}

uint64_t nay_sst_writer_bytes(const nay_sst_writer *w) { return w->offset; }

uint64_t nay_sst_writer_count(const nay_sst_writer *w) { return w->count; }

/* ---- the end ---- */

/* An entry of the metaindex; they come in the order of their keys. */
static nay_status writer_add_meta(nay_sst_writer *w, const char *kind, const char *name,
                                  const uint8_t *value, size_t len) {
  w->meta_key.len = 0;
  NAY_TRY(nay__buffer_append(&w->meta_key, kind, strlen(kind), &w->allocator));
  NAY_TRY(nay__buffer_append(&w->meta_key, name, strlen(name), &w->allocator));
  /* no shared prefix: LevelDB's one entry stays as LevelDB writes it */
  return nay__block_add(&w->metaindex, w->meta_key.at, w->meta_key.len, 0, value, len,
                        &w->allocator);
}

static nay_status writer_meta_block(nay_sst_writer *w, const nay_buffer *contents, const char *kind,
                                    const char *name) {
  nay_checked_handle handle;
  uint8_t value[NAY_CHECKED_HANDLE_MAX];
  NAY_TRY(writer_put_block(w, contents, 0, &handle));
  if (strcmp(kind, NAY_META_FILTER_BLOCK) == 0) handle.checked = false; /* LevelDB's own */
  return writer_add_meta(w, kind, name, value, nay__checked_handle_store(value, &handle));
}

static nay_status writer_meta_filter(nay_sst_writer *w, nay_filter_builder *builder,
                                     const char *kind, const char *name) {
  w->filter.len = 0;
  NAY_TRY(nay__filter_builder_finish(builder, &w->filter, &w->allocator, &w->trouble));
  return writer_meta_block(w, &w->filter, kind, name);
}

/* What the table states about itself; tables that LevelDB could have written state nothing. */
static bool writer_has_properties(const nay_sst_writer *w) {
  return w->order.user != NULL || w->options.properties;
}

static nay_status writer_put_properties(nay_sst_writer *w) {
  if (!writer_has_properties(w)) return NAY_OK;
  if (w->order.user != NULL) {
    NAY_TRY(nay__property_add(&w->properties, NAY_PROPERTY_COMPARATOR, w->order.user->name,
                              strlen(w->order.user->name), &w->allocator));
  }
  if (w->options.properties) {
    w->stats.smallest = (nay_bytes){w->smallest.at, w->smallest.len};
    w->stats.largest = (nay_bytes){w->last.at, nay__user_len(w->order, w->last.len)};
    NAY_TRY(nay__table_stats_store(&w->stats, w->order, &w->properties, &w->allocator));
  }
  NAY_TRY(nay__block_finish(&w->properties, &w->allocator));
  return writer_meta_block(w, &w->properties.bytes, NAY_META_PROPERTIES, "");
}

static nay_status writer_put_filters(nay_sst_writer *w) {
  const nay_policy *policy = w->options.policy;
  const char *name = policy != NULL ? policy->name : NAY_NATIVE_POLICY;
  nay_sst_filter filter = w->options.filter;
  if (filter == NAY_SST_BLOCK_FILTER) {
    NAY_TRY(nay__filter_block_finish(&w->filter_block, &w->allocator));
    NAY_TRY(writer_meta_block(w, &w->filter_block.filters, NAY_META_FILTER_BLOCK, name));
  }
  bool empty = w->count == 0; /* no keys: no filters */
  if (!empty && filter == NAY_SST_FULL_FILTER) {
    NAY_TRY(writer_meta_filter(w, &w->whole, NAY_META_FULL, name));
  }
  bool native = !empty && (filter > NAY_SST_BLOCK_FILTER || w->prefixes.n != 0);
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
    NAY_TRY(nay__block_finish(&w->top, &w->allocator));
    NAY_TRY(writer_meta_block(w, &w->top.bytes, NAY_META_PARTITIONED, name));
  }
  if (w->prefixes.n == 0) return NAY_OK;
  return writer_meta_filter(w, &w->prefixes, NAY_META_PREFIX, w->options.prefix->name);
}

static nay_status writer_put_end(nay_sst_writer *w) {
  nay_footer footer;
  uint8_t bytes[NAY_FOOTER];
  NAY_TRY(writer_flush_block(w));
  if (w->options.filter == NAY_SST_PARTITIONED_FILTER && w->whole.n != 0) {
    NAY_TRY(writer_cut_partition(w));
  }
  NAY_TRY(writer_index_pending(w, NULL, 0));
  NAY_TRY(writer_put_filters(w));
  NAY_TRY(writer_put_properties(w));
  NAY_TRY(writer_put_builder(w, &w->metaindex, &footer.metaindex));
  NAY_TRY(writer_put_builder(w, &w->index, &footer.index));
  nay__footer_store(bytes, &footer);
  return writer_put(w, bytes, sizeof bytes);
}

nay_status nay_sst_writer_finish(nay_sst_writer *w, nay_diag *diag) {
  if (w == NULL || w->finished) {
    return nay__fail(diag, NAY_EINVAL, "there is no writer, or it has finished", 0);
  }
  if (w->failed == NAY_OK) w->failed = writer_put_end(w);
  if (w->failed == NAY_OK) w->failed = writer_flush_file(w);
  if (w->failed == NAY_OK && !w->options.no_sync) w->failed = nay__io_sync(&w->sink, &w->trouble);
  if (w->failed == NAY_OK) {
    w->sink_open = false;
    w->failed = nay__io_finish(&w->sink, &w->trouble);
  }
  w->finished = true;
  if (w->failed == NAY_OK) return NAY_OK;
  nay__fail(diag, w->failed,
            w->failed == NAY_ENOMEM ? "no memory for a filter or a block"
                                    : "a filter or a block could not be made",
            w->offset);
  if (diag != NULL && w->trouble.what != NULL) *diag = w->trouble;
  return w->failed;
}

/* ---- making and releasing ---- */

/* Where the table goes: a sink, or the file at path if that is NULL. It is opened last. */
static nay_status writer_init(nay_sst_writer *w, const char *path, const nay_sst_sink *sink,
                              nay_diag *diag) {
  const nay_allocator *a = &w->allocator;
  const nay_sst_write_options *o = &w->options;
  nay_block_builder *builders[] = {&w->data, &w->index, &w->top, &w->metaindex, &w->properties};
  for (size_t i = 0; i < sizeof builders / sizeof *builders; i++) {
    builders[i]->interval = i == 1 || i == 2 ? 1 : o->restart_interval;
    NAY_TRY(nay__block_reset(builders[i], a));
  }
  if (o->filter == NAY_SST_BLOCK_FILTER) {
    NAY_TRY(nay__filter_builder_init(&w->filter_block.filter, o->policy, NULL, a, diag));
  } else if (o->filter != NAY_SST_NO_FILTER) {
    NAY_TRY(nay__filter_builder_init(&w->whole, o->policy, &w->params, a, diag));
  }
  if (o->prefix != NULL) {
    nay_params prefixes = w->params;
    prefixes.nkeys = 0; /* how many prefixes the keys have is not known */
    NAY_TRY(nay__filter_builder_init(&w->prefixes, NULL, &prefixes, a, diag));
  }
  if (sink != NULL) {
    w->sink = *sink;
  } else {
    NAY_TRY(nay__io_replace(path, !o->no_sync, a, diag, &w->sink));
  }
  w->sink_open = true;
  return NAY_OK;
}

static nay_status writer_new(const char *path, const nay_sst_sink *sink,
                             const nay_sst_write_options *options, const nay_allocator *allocator,
                             nay_diag *diag, nay_sst_writer **writer) {
  nay_sst_write_options o;
  nay_params params;
  nay_table_key key_text;
  NAY_TRY(nay__write_options_read(options, diag, &o, &params, key_text));
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  nay_sst_writer *w = nay__alloc(&a, sizeof *w);
  if (w == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for a writer", 0);
  *w = (nay_sst_writer){.allocator = a, .options = o, .params = params};
  memcpy(w->key_text, key_text, sizeof key_text);
  w->order = (nay_order){o.comparator, o.keys == NAY_SST_KEYS_INTERNAL};
  nay_diag cause = {.what = NULL}; /* diag is filled on failure alone */
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

nay_status nay_sst_writer_new_sink(const nay_sst_sink *sink, const nay_sst_write_options *options,
                                   const nay_allocator *allocator, nay_diag *diag,
                                   nay_sst_writer **writer) {
  nay_sst_sink own;
  if (sink == NULL || writer == NULL) {
    return nay__fail(diag, NAY_EINVAL, "sink or writer is NULL", 0);
  }
  NAY_TRY(nay__abi_read(NAY_ABI_SST_SINK, sink, diag, &own));
  if (own.write == NULL) return nay__fail(diag, NAY_EINVAL, "the sink has no write", 0);
  return writer_new(NULL, &own, options, allocator, diag, writer);
}

void nay_sst_writer_free(nay_sst_writer *w) {
  if (w == NULL) return;
  nay_allocator a = w->allocator;
  nay_block_builder *builders[] = {&w->data, &w->index, &w->top, &w->metaindex, &w->properties};
  for (size_t i = 0; i < sizeof builders / sizeof *builders; i++) {
    nay__block_builder_free(builders[i], &a);
  }
  nay_buffer *buffers[] = {&w->out,    &w->last,     &w->compressed, &w->version, &w->last_prefix,
                           &w->filter, &w->meta_key, &w->separator,  &w->smallest};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) nay__buffer_free(buffers[i], &a);
  nay__filter_block_free(&w->filter_block, &a);
  nay__filter_builder_free(&w->whole, &a);
  nay__filter_builder_free(&w->prefixes, &a);
  if (w->sink_open) nay__io_abort(&w->sink);
  nay__free(&a, w, sizeof *w);
}

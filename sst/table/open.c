/*
 * open.c - opens a table.
 *
 *   footer -> metaindex -> filters, properties, comparator -> index -> key range -> key order
 *
 * LevelDB's footer has no checksum, so what it names is verified by the layout of the file
 * (open_check_layout).
 */
#include "block/crc32c.h"
#include "block/option_checks.h"
#include "block/properties.h"
#include "os/file.h"
#include "table/translated.h"

/* ---- the key range ---- */

static nay_status open_copy_key(nay_sst *t, nay_buffer *to, const nay_buffer *key) {
  to->len = 0;
  return nay__buffer_append(to, key->at, key->len, &t->allocator);
}

/* Visits the next index entry. Data blocks lie in the file in index order. */
static nay_status open_walk_block(nay_sst *t, const nay_entry *entry, nay_diag *diag,
                                  nay_handle *first) {
  nay_handle handle;
  NAY_TRY(nay_sst__table_handle(t, entry->value, entry->value_len, diag, &handle));
  if (t->blocks.n == 0) *first = handle;
  if (handle.offset < t->blocks.end) {
    return nay__fail(diag, NAY_ECORRUPT, "the blocks of the index overlap", entry->at);
  }
  t->blocks.end = handle.offset + handle.size + NAY_BLOCK_TRAILER;
  t->blocks.n++;
  return NAY_OK;
}

/* Walks the index: counts the data blocks, finds the first one and the end of the last, and copies
 * the last index key, an upper bound of all keys. */
static nay_status open_walk_index(nay_sst *t, nay_diag *diag, nay_handle *first) {
  nay_cursor c = {.block = t->blocks.index, .order = NAY_BYTEWISE, .allocator = &t->allocator};
  nay_status status = nay_sst__cursor_first(&c, diag);
  t->range.empty = status == NAY_EEND;
  while (status == NAY_OK) {
    status = open_walk_block(t, &c.entry, diag, first);
    if (status == NAY_OK) status = nay_sst__cursor_next(&c, diag);
  }
  /* a cursor past the end still has the last key */
  if (status == NAY_EEND)
    status = t->range.empty ? NAY_OK : open_copy_key(t, &t->range.largest, &c.key);
  nay__buffer_free(&c.key, &t->allocator);
  return status;
}

/* Reads the first data block. Its first key is the smallest key of the table, and its keys tell
 * whether they are internal keys. The table opens even if this block cannot be read: gets of the
 * block's keys report the error. If only this block could tell that the keys are plain, every get
 * reports the error. */
nay_status nay_sst__first_block(nay_sst *t, nay_handle handle) {
  nay_hold *hold = NULL;
  nay_bytes contents;
  nay_block block;
  nay_diag why = {.what = NULL};
  nay_cursor c = {.order = NAY_BYTEWISE, .allocator = &t->allocator};
  nay_status status = nay_sst__table_read(t, handle, &hold, &why, &contents);
  if (status == NAY_OK) {
    status = nay_sst__table_block_open(t, contents, handle, &why, &block);
  }
  bool readable = status == NAY_OK;
  if (t->sorting.guessed && status != NAY_ENOMEM) {
    nay_status memory = nay_sst__guess_order(t, readable ? &block : NULL);
    if (!readable && t->order.internal) {
      t->sorting.unknown = status;
      t->sorting.unknown_why = why;
    }
    if (memory != NAY_OK) status = memory;
  }
  if (status == NAY_OK) {
    c.block = block;
    status = nay_sst__cursor_first(&c, NULL);
    if (status == NAY_OK) status = open_copy_key(t, &t->range.smallest, &c.key);
    t->range.has_smallest = status == NAY_OK;
  }
  nay__buffer_free(&c.key, &t->allocator);
  nay_sst__hold_free(hold);
  return status == NAY_ENOMEM ? status : NAY_OK;
}

static nay_status open_codec_of(nay_sst *t, nay_handle handle, nay_diag *diag) {
  uint64_t at = handle.offset + handle.size;
  if (t->source.bytes != NULL) {
    t->blocks.first_codec = t->source.bytes[at];
    return NAY_OK;
  }
  return nay_sst__io_read(&t->source.file, at, &t->blocks.first_codec, 1, diag);
}

/* ---- opening ---- */

static nay_status open_footer(nay_sst *t, nay_diag *diag) {
  uint8_t bytes[NAY_FOOTER_MAX];
  size_t len = t->source.len < sizeof bytes ? (size_t)t->source.len : sizeof bytes;
  const uint8_t *tail = bytes;
  if (t->source.bytes != NULL) {
    tail = t->source.bytes + (t->source.len - len);
  } else {
    NAY_TRY(nay_sst__io_read(&t->source.file, t->source.len - len, bytes, len, diag));
  }
  NAY_TRY(nay_sst__footer_load(tail, len, t->source.len, diag, &t->meta.footer));
  if (!t->meta.footer.rocksdb) return NAY_OK;
  return nay__fail(diag, NAY_EFORMAT, "a RocksDB table: nay reads only its filters",
                   t->source.len - 8);
}

/* Compares the comparator that the table names with the caller's. A table without a name is
 * searched with the caller's comparator, and its key order is verified. nay names every comparator,
 * so a table of nay's without a name is in bytewise order. */
static nay_status open_comparator(nay_sst *t, const nay_properties *p, nay_diag *diag) {
  const char *stored = p->comparator;
  if (t->options.stored_comparator != NULL) {
    nay_sst__name_copy(t->options.stored_comparator, stored, NAY_SST_COMPARATOR_NAME);
  }
  t->sorting.comparator_stored = stored[0] != '\0';
  if (!t->sorting.comparator_stored && t->sorting.named) stored = NAY_BYTEWISE_NAME;
  if (stored[0] == '\0' || strcmp(stored, nay_sst__comparator_name(t->order.user)) == 0)
    return NAY_OK;
  t->sorting.own_comparator.size = sizeof t->sorting.own_comparator;
  if (t->order.user == NULL && (t->options.flags & NAY_SST_STORED_COMPARATOR) != 0 &&
      nay_sst_comparator_find(stored, &t->sorting.own_comparator) == NAY_OK) {
    t->order.user = &t->sorting.own_comparator;
    return NAY_OK;
  }
  return nay__fail(diag, NAY_EMISMATCH, "the table was made with a comparator of another name",
                   t->meta.properties.at.offset + p->comparator_at);
}

/* Copies the properties block as it is stored, with its trailer. */
static nay_status open_copy_properties(nay_sst *t, nay_buffer *copy, nay_diag *diag) {
  nay_handle h = t->meta.properties.at;
  size_t len = (size_t)h.size + NAY_BLOCK_TRAILER;
  NAY_TRY(nay__buffer_reserve(copy, len, &t->allocator));
  if (t->source.bytes == NULL)
    return nay_sst__io_read(&t->source.file, h.offset, copy->at, len, diag);
  memcpy(copy->at, t->source.bytes + h.offset, len);
  return NAY_OK;
}

/* Examines a properties block whose checksum does not match. When RocksDB ingests a table, it
 * overwrites the global sequence number 0 in the block without updating the checksum. If the
 * checksum matches with 0 in that place, *p gets the properties. */
static nay_status open_check_ingested(nay_sst *t, nay_properties *p, nay_diag *diag) {
  nay_buffer copy = {NULL, 0, 0};
  nay_properties found = {.nentries = 0};
  nay_status status = open_copy_properties(t, &copy, diag);
  if (status == NAY_OK) {
    nay_bytes contents = {copy.at, (size_t)t->meta.properties.at.size};
    status = nay_sst__properties_load(contents, &t->allocator, NULL, &found);
  }
  if (status == NAY_OK && found.sequence_at != 0) {
    memset(copy.at + found.sequence_at, 0, 8);
    if (nay_sst__block_intact(&t->meta.footer, copy.at, t->meta.properties.at)) *p = found;
  }
  nay__buffer_free(&copy, &t->allocator);
  return status == NAY_ECORRUPT ? NAY_OK : status;
}

static nay_status open_load_properties(nay_sst *t, nay_properties *p, nay_diag *diag) {
  nay_bytes contents;
  nay_status status = nay_sst__table_read_checked(t, &t->meta.properties, &t->meta.properties_hold,
                                                  diag, &contents);
  if (status == NAY_ECORRUPT && t->meta.rocksdb) {
    NAY_TRY(open_check_ingested(t, p, diag));
    if (p->unsupported != NULL) return NAY_OK;
  }
  NAY_TRY(status);
  status = nay_sst__properties_load(contents, &t->allocator, diag, p);
  return nay_sst__in_file(status, diag, t->meta.properties.at);
}

/* Reads the properties. RocksDB's format_version 0 has LevelDB's footer and blocks, but some of its
 * options would make answers wrong; its filter block may have prefixes only. */
static nay_status open_properties(nay_sst *t, nay_diag *diag) {
  nay_properties p = {.whole_keys = true};
  if (t->meta.properties.at.size != 0) NAY_TRY(open_load_properties(t, &p, diag));
  if (p.unsupported != NULL) {
    return nay__fail(diag, NAY_ENOTSUP, p.unsupported,
                     t->meta.properties.at.offset + p.unsupported_at);
  }
  t->meta.stats = p.stats;
  t->meta.for_ingestion = p.for_ingestion;
  if (!p.whole_keys) t->filters.used = false;
  return open_comparator(t, &p, diag);
}

nay_status nay_sst__note_checks(nay_sst *t) {
  t->blocks.checked_len = t->blocks.index.end / 32 + 1;
  t->blocks.checked = nay__alloc(&t->allocator, t->blocks.checked_len);
  if (t->blocks.checked == NULL) return NAY_ENOMEM;
  memset(t->blocks.checked, 0, t->blocks.checked_len);
  return NAY_OK;
}

static nay_status open_index(nay_sst *t, nay_diag *diag, nay_handle *first) {
  nay_bytes contents;
  nay_handle handle = t->meta.footer.index;
  NAY_TRY(nay_sst__table_read(t, handle, &t->blocks.index_hold, diag, &contents));
  NAY_TRY(nay_sst__in_file(nay_sst__block_open(contents.at, contents.len, diag, &t->blocks.index),
                           diag, handle));
  return nay_sst__in_file(open_walk_index(t, diag, first), diag, handle);
}

/* Checks the order of the blocks in the file, which tells whether the footer names the right ones.
 * Data blocks come first, then meta blocks, metaindex and index; so no other block can pose as the
 * index, and no empty index can hide the data. RocksDB writes the metaindex last; in a table of
 * LevelDB that means the two handles were exchanged. */
static nay_status open_check_layout(const nay_sst *t, nay_handle first, nay_diag *diag) {
  const nay_footer *f = &t->meta.footer;
  const char *what = NULL;
  bool rocksdb = f->index.offset < f->metaindex.offset;
  uint64_t meta = nay__min_u64(f->index.offset, f->metaindex.offset);
  if (t->meta.has_first) meta = nay__min_u64(meta, t->meta.first_at);
  if (t->range.empty && meta != 0)
    what = "the index is empty, but the file begins with a data block";
  if (t->blocks.end > meta) what = "a block of the index lies behind the first meta block";
  if (first.offset != 0) what = "the first block of the index does not begin the file";
  if (rocksdb && !t->meta.rocksdb) what = "the footer names another block as the metaindex";
  return what != NULL ? nay__fail(diag, NAY_ECORRUPT, what, f->at) : NAY_OK;
}

static nay_status open_parts(nay_sst *t, nay_diag *diag) {
  nay_handle first = {0, 0};
  NAY_TRY(open_footer(t, diag));
  t->sorting.guessed = t->options.keys == NAY_SST_KEYS_AUTO;
  t->order = (nay_order){t->options.comparator, t->options.keys == NAY_SST_KEYS_INTERNAL};
  /* The metaindex also tells whether the other blocks are RocksDB's */
  NAY_TRY(nay_sst__filters_open(t, diag));
  NAY_TRY(open_properties(t, diag));
  NAY_TRY(open_index(t, diag, &first));
  NAY_TRY(open_check_layout(t, first, diag));
  if (!nay_sst__table_stats_check(&t->meta.stats, t->order)) {
    return nay__fail(diag, NAY_ECORRUPT, "properties of the table contradict each other",
                     t->meta.properties.at.offset);
  }
  if (t->range.empty) return NAY_OK;
  NAY_TRY(nay_sst__note_checks(t));
  NAY_TRY(open_codec_of(t, first, diag));
  NAY_TRY(nay_sst__first_block(t, first));
  return nay_sst__check_order(t, diag);
}

nay_status nay_sst__check_read(const nay_sst_read_options *o, nay_diag *diag) {
  if ((unsigned)o->keys > NAY_SST_KEYS_INTERNAL ||
      (o->flags & ~(NAY_SST_PREAD | NAY_SST_NO_FILTERS | NAY_SST_STORED_COMPARATOR |
                    NAY_SST_BUDGETED | NAY_SST_PINNED)) != 0) {
    return nay__fail(diag, NAY_EINVAL, "unknown kind of keys or unknown flag", 0);
  }
  if ((o->flags & NAY_SST_BUDGETED) != 0 && o->cache == NULL) {
    return nay__fail(diag, NAY_EINVAL, "NAY_SST_BUDGETED without a cache", 0);
  }
  if ((o->flags & (NAY_SST_BUDGETED | NAY_SST_PINNED)) == NAY_SST_PINNED) {
    return nay__fail(diag, NAY_EINVAL, "NAY_SST_PINNED without NAY_SST_BUDGETED", 0);
  }
  if (o->layout != NULL && nay_sst__foreign_find(o->layout) == NULL) {
    return nay__fail(diag, NAY_EINVAL, "layout: there is no such table layout", 0);
  }
  NAY_TRY(nay_sst__check_lists(o->codecs, o->ncodecs, o->policies, o->npolicies, diag));
  NAY_TRY(nay_sst__check_comparator(o->comparator, diag));
  return nay_sst__check_prefix(o->prefix, diag);
}

static nay_status open_new(const nay_sst_read_options *options, const nay_allocator *allocator,
                           nay_diag *diag, nay_sst **sst) {
  nay_sst_read_options o = {.size = sizeof o};
  if (options != NULL) NAY_TRY(nay__abi_read(NAY_ABI_SST_READ, options, diag, &o));
  NAY_TRY(nay_sst__check_read(&o, diag));
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  nay_sst *t = nay__alloc(&a, sizeof *t);
  nay_sst_tally *counts = nay__alloc(&a, sizeof *counts);
  if (t == NULL || counts == NULL) {
    nay__free(&a, t, sizeof *t);
    nay__free(&a, counts, sizeof *counts);
    return nay__fail(diag, NAY_ENOMEM, "no memory for a table", 0);
  }
  if (o.stored_comparator != NULL) o.stored_comparator[0] = '\0';
  *counts = (nay_sst_tally){.out_of_range = 0};
  *t = (nay_sst){.allocator = a, .options = o, .counts = counts};
  if (o.cache != NULL) t->cached.id = nay_sst__cache_id(o.cache);
  t->cached.meta = o.cache;
  *sst = t;
  return NAY_OK;
}

/* Finds the engine by the magic number at the end of the file. NULL: LevelDB, or unknown. */
static nay_status open_recognise(const nay_sst *t, nay_diag *diag,
                                 const nay_foreign_engine **engine) {
  uint8_t bytes[64];
  const uint8_t *tail = bytes;
  *engine = NULL;
  if (t->source.len < sizeof bytes) return NAY_OK;
  if (t->source.bytes != NULL) {
    tail = t->source.bytes + (t->source.len - sizeof bytes);
  } else {
    NAY_TRY(
        nay_sst__io_read(&t->source.file, t->source.len - sizeof bytes, bytes, sizeof bytes, diag));
  }
  *engine = nay_sst__foreign_recognise(tail, sizeof bytes);
  return NAY_OK;
}

static size_t open_memory_of(const nay_hold *h) {
  return h != NULL ? sizeof *h + h->raw.cap + h->plain.cap : 0;
}

/* Moves the verified index to the cache, unless it is used in place. */
static nay_status open_move_index_to_cache(nay_sst *t) {
  if (t->blocks.index_hold == NULL || t->foreign != NULL || !nay_sst__budgeted(t)) return NAY_OK;
  nay_bytes bytes = {t->blocks.index.bytes, nay_sst__block_len(&t->blocks.index)};
  t->blocks.index_crc = nay_sst__crc32c(0, bytes.at, bytes.len);
  NAY_TRY(nay_sst__cached_put(t, NAY_CACHED_INDEX, t->meta.footer.index, bytes));
  nay_sst__hold_free(t->blocks.index_hold);
  t->blocks.index_hold = NULL;
  t->blocks.index = (nay_block){.bytes = NULL};
  return NAY_OK;
}

/* Charges the memory that an open table keeps to the cache's budget. */
static void open_charge_memory(nay_sst *t) {
  if ((t->options.flags & NAY_SST_BUDGETED) == 0) return;
  t->cached.held = sizeof *t + t->blocks.checked_len + t->range.smallest.cap +
                   t->range.largest.cap + open_memory_of(t->blocks.index_hold) +
                   open_memory_of(t->filters.hold) + open_memory_of(t->meta.properties_hold) +
                   nay_filter_nbytes(t->filters.full.filter) +
                   nay_filter_nbytes(t->filters.prefix) + nay_filter_nbytes(t->filters.range);
  nay_sst__cache_hold(t->options.cache, t->cached.held);
}

/* Sets *engine to the engine that the options name, after a check of the magic number; NULL:
 * LevelDB's layout. */
static nay_status open_engine(nay_sst *t, nay_diag *diag, const nay_foreign_engine **engine) {
  NAY_TRY(open_recognise(t, diag, engine));
  if (t->options.layout == NULL) return NAY_OK;
  const nay_foreign_engine *found = *engine;
  *engine = nay_sst__foreign_find(t->options.layout);
  t->options.layout = NULL; /* the caller's text */
  return nay_sst__foreign_check_name(*engine, found, t->source.len, diag);
}

/* Opens the table in `t`, or frees it. */
static nay_status open_finish(nay_sst *t, nay_diag *diag, nay_sst **sst) {
  const nay_foreign_engine *engine;
  nay_status status = open_engine(t, diag, &engine);
  if (status == NAY_OK) {
    status = engine != NULL ? nay_sst__open_foreign(t, engine, diag) : open_parts(t, diag);
  }
  if (status == NAY_OK) status = open_move_index_to_cache(t);
  if (status != NAY_OK) {
    if (status == NAY_ENOMEM) nay__fail(diag, status, "no memory for a table", 0);
    nay_sst_free(t);
    return status;
  }
  nay_sst__describe(t);
  open_charge_memory(t);
  *sst = t;
  return NAY_OK;
}

nay_status nay_sst_open(const char *path, const nay_sst_read_options *options,
                        const nay_allocator *allocator, nay_diag *diag, nay_sst **sst) {
  nay_sst *t;
  size_t len = 0;
  nay_status status;
  if (path == NULL || sst == NULL) return nay__fail(diag, NAY_EINVAL, "path or sst is NULL", 0);
  NAY_TRY(open_new(options, allocator, diag, &t));
  if ((t->options.flags & NAY_SST_PREAD) != 0) {
    status = nay_sst__io_open(path, diag, &t->source.file);
    t->source.len = t->source.file.length;
  } else {
    status = nay__file_map(path, diag, &t->source.mapping, &len);
    t->source.bytes = t->source.mapping != NULL ? t->source.mapping : (const uint8_t *)"";
    t->source.len = len;
  }
  if (status == NAY_OK) return open_finish(t, diag, sst);
  nay_sst_free(t);
  return status;
}

nay_status nay_sst_view(const void *bytes, size_t len, const nay_sst_read_options *options,
                        const nay_allocator *allocator, nay_diag *diag, nay_sst **sst) {
  nay_sst *t;
  if ((bytes == NULL && len != 0) || sst == NULL) {
    return nay__fail(diag, NAY_EINVAL, "bytes or sst is NULL", 0);
  }
  NAY_TRY(open_new(options, allocator, diag, &t));
  t->source.bytes = len != 0 ? bytes : "";
  t->source.len = len;
  return open_finish(t, diag, sst);
}

nay_status nay_sst_open_file(const nay_sst_file *file, const nay_sst_read_options *options,
                             const nay_allocator *allocator, nay_diag *diag, nay_sst **sst) {
  nay_sst_file own;
  nay_sst *t;
  if (file == NULL || sst == NULL) return nay__fail(diag, NAY_EINVAL, "file or sst is NULL", 0);
  NAY_TRY(nay__abi_read(NAY_ABI_SST_FILE, file, diag, &own));
  size_t len; /* blocks are shorter than the file, so their lengths fit a size_t too */
  if (own.read_at == NULL || !nay__size_ok(own.length, &len)) {
    return nay__fail(diag, NAY_EINVAL, "the file has no read_at, or is too long for this machine",
                     0);
  }
  NAY_TRY(open_new(options, allocator, diag, &t));
  t->source.file = own;
  t->source.file.close = NULL; /* the file belongs to the caller until the table is open */
  t->source.len = own.length;
  NAY_TRY(open_finish(t, diag, &t));
  t->source.file.close = own.close;
  *sst = t;
  return NAY_OK;
}

void nay_sst_free(nay_sst *t) {
  if (t == NULL) return;
  nay_allocator a = t->allocator;
  if (t->cached.held != 0) nay_sst__cache_unhold(t->options.cache, t->cached.held);
  if (nay_sst__budgeted(t)) nay_sst__cached_erase(t, NAY_CACHED_INDEX, t->meta.footer.index);
  nay_sst__filters_free(t);
  nay_sst__hold_free(t->blocks.index_hold);
  nay_sst__hold_free(t->meta.properties_hold);
  nay_sst__foreign_free(t->foreign);
  nay__free(&a, t->blocks.checked, t->blocks.checked_len);
  nay__buffer_free(&t->range.smallest, &a);
  nay__buffer_free(&t->range.largest, &a);
  if (t->source.mapping != NULL) nay__file_unmap(t->source.mapping, (size_t)t->source.len);
  nay_sst__io_close(&t->source.file);
  nay__free(&a, t->counts, sizeof *t->counts);
  nay__free(&a, t, sizeof *t);
}

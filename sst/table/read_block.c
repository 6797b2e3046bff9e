/*
 * read_block.c - reads a block, from the cache or from the file.
 *
 *   mapped, uncompressed       used in place
 *   with a cache               the block is read or uncompressed into a cache entry, and pinned
 *   otherwise                  the block is read or uncompressed into the caller's hold
 *
 * The caller reuses its hold, so a get in steady state allocates nothing.
 */
#include "block/codec.h"
#include "table/translated.h"

#define READ_HASH_INDEX 0x80u /* flag in the last byte of a RocksDB block */

nay_hold *nay_sst__hold_of(const nay_sst *t, nay_hold **slot) {
  if (*slot == NULL) {
    nay_hold *h = nay__alloc(&t->allocator, sizeof *h);
    if (h == NULL) return NULL;
    *h = (nay_hold){.allocator = t->allocator};
    *slot = h;
  }
  return *slot;
}

void nay_sst__hold_free(nay_hold *h) {
  if (h == NULL) return;
  nay_allocator a = h->allocator;
  nay_sst__hold_release(h);
  nay__buffer_free(&h->raw, &a);
  nay__buffer_free(&h->plain, &a);
  nay_sst__foreign_scratch_free(&h->scratch, &a);
  nay__buffer_free(&h->ahead.buffer, &a);
  nay__free(&a, h, sizeof *h);
}

NAY_INLINE nay_status read_no_memory(nay_diag *diag, nay_handle handle) {
  return nay__fail(diag, NAY_ENOMEM, "no memory for a block", handle.offset);
}

static nay_bytes read_pin(const nay_sst *t, nay_hold *h, nay_cache_entry *e) {
  h->cache = t->options.cache;
  h->pin = e;
  return (nay_bytes){e->bytes, e->len};
}

/* Sets *raw to the stored block with its trailer: in place, or read into hold->raw. */
static nay_status read_raw(const nay_sst *t, nay_handle handle, nay_hold **slot, nay_diag *diag,
                           const uint8_t **raw) {
  size_t len = (size_t)handle.size + NAY_BLOCK_TRAILER;
  if (t->source.bytes != NULL) {
    if (t->source.mapping != NULL && *slot != NULL && (*slot)->ahead.max_window != 0) {
      nay_sst__readahead_advise(&(*slot)->ahead, t->source.bytes, t->meta.footer.at, handle.offset,
                                len);
    }
    *raw = t->source.bytes + handle.offset;
    return NAY_OK;
  }
  nay_hold *h = nay_sst__hold_of(t, slot);
  if (h == NULL) return read_no_memory(diag, handle);
  h->raw.len = 0;
  if (nay__buffer_reserve(&h->raw, len, &h->allocator) != NAY_OK) {
    return read_no_memory(diag, handle);
  }
  if (h->ahead.max_window == 0 ||
      !nay_sst__readahead_take(&h->ahead, &t->source.file, t->meta.footer.at, handle.offset,
                               h->raw.at, len, &h->allocator)) {
    NAY_TRY(nay_sst__io_read(&t->source.file, handle.offset, h->raw.at, len, diag));
  }
  h->raw.len = len;
  *raw = h->raw.at;
  return NAY_OK;
}

static nay_status read_into_cache(const nay_sst *t, const uint8_t *raw, nay_handle handle,
                                  const nay_sst_codec *codec, size_t size, nay_hold **slot,
                                  nay_diag *diag, nay_bytes *contents) {
  nay_hold *h = nay_sst__hold_of(t, slot);
  nay_cache_entry *e =
      h == NULL ? NULL
                : nay_sst__cache_entry_new(t->options.cache, t->cached.id, handle.offset, size);
  if (e == NULL) return read_no_memory(diag, handle);
  nay_status status = nay_sst__codec_unpack(codec, raw, handle, e->bytes, size, diag);
  if (status != NAY_OK) {
    nay_sst__cache_release(t->options.cache, e);
    return status;
  }
  nay_sst__cache_insert(t->options.cache, NAY_CACHE_DATA, e);
  *contents = read_pin(t, h, e);
  return NAY_OK;
}

static nay_status read_into_hold(const nay_sst *t, const uint8_t *raw, nay_handle handle,
                                 const nay_sst_codec *codec, size_t size, nay_hold **slot,
                                 nay_diag *diag, nay_bytes *contents) {
  nay_hold *h = nay_sst__hold_of(t, slot);
  if (h == NULL) return read_no_memory(diag, handle);
  h->plain.len = 0;
  if (nay__buffer_reserve(&h->plain, size, &h->allocator) != NAY_OK) {
    return read_no_memory(diag, handle);
  }
  NAY_TRY(nay_sst__codec_unpack(codec, raw, handle, h->plain.at, size, diag));
  *contents = (nay_bytes){h->plain.at, size};
  return NAY_OK;
}

/* Finds the block in the cache, unless it is used in place. */
static bool read_cached(const nay_sst *t, nay_handle handle, nay_hold **slot, nay_bytes *contents) {
  if (t->options.cache == NULL || nay_sst__in_place(t, handle)) return false;
  nay_hold *h = nay_sst__hold_of(t, slot);
  nay_cache_entry *e = h == NULL ? NULL
                                 : nay_sst__cache_find(t->options.cache, NAY_CACHE_DATA,
                                                       t->cached.id, handle.offset);
  if (e == NULL) return false;
  *contents = read_pin(t, h, e);
  return true;
}

/* Reads a block of a foreign table and translates it. With `cache` it is inserted into the
 * cache. */
static nay_status read_translated(const nay_sst *t, nay_handle handle, bool cache, nay_hold **slot,
                                  nay_diag *diag, nay_bytes *contents) {
  nay_hold *h = nay_sst__hold_of(t, slot);
  if (h == NULL) return read_no_memory(diag, handle);
  NAY_TRY(nay_sst__read_foreign(t, handle, h, diag, contents));
  if (!cache) return NAY_OK;
  nay_cache_entry *e =
      nay_sst__cache_entry_new(t->options.cache, t->cached.id, handle.offset, contents->len);
  if (e == NULL) return read_no_memory(diag, handle);
  memcpy(e->bytes, contents->at, contents->len);
  nay_sst__cache_insert(t->options.cache, NAY_CACHE_DATA, e);
  *contents = read_pin(t, h, e);
  return NAY_OK;
}

/* Reads a block from the file. With `verified` its checksum is not compared again; with `cache` it
 * is inserted into the cache. */
static nay_status read_block(const nay_sst *t, nay_handle handle, bool verified, bool cache,
                             nay_hold **slot, nay_diag *diag, nay_bytes *contents) {
  const uint8_t *raw;
  const nay_sst_codec *codec;
  size_t size;
  if (t->foreign != NULL) return read_translated(t, handle, cache, slot, diag, contents);
  NAY_TRY(read_raw(t, handle, slot, diag, &raw));
  if (!verified && !nay_sst__block_intact(&t->meta.footer, raw, handle)) {
    return nay__fail(diag, NAY_ECORRUPT, "the checksum of a block is wrong", handle.offset);
  }
  uint64_t most = t->options.max_block_bytes != 0 ? t->options.max_block_bytes : NAY_MAX_BLOCK;
  NAY_TRY(nay_sst__codec_plan(t->options.codecs, t->options.ncodecs, t->meta.rocksdb, raw, handle,
                              most, diag, &codec, &size));
  if (codec == NULL && (t->source.bytes != NULL || !cache)) {
    *contents = (nay_bytes){raw, size};
    return NAY_OK;
  }
  return (cache ? read_into_cache : read_into_hold)(t, raw, handle, codec, size, slot, diag,
                                                    contents);
}

static nay_status read_outside(nay_diag *diag, nay_handle handle) {
  return nay__fail(diag, NAY_ECORRUPT, "a handle points outside of the file", handle.offset);
}

/* Strips the terms that follow a translated block, so that the rest is a block of block.h. */
static nay_bytes read_strip_terms(const nay_sst *t, nay_bytes contents) {
  if (t->foreign != NULL) contents.len = nay_sst__foreign_block_len(contents);
  return contents;
}

nay_status nay_sst__table_read(const nay_sst *t, nay_handle handle, nay_hold **slot, nay_diag *diag,
                               nay_bytes *contents) {
  if (!nay_sst__handle_fits(handle, t->meta.footer.at)) return read_outside(diag, handle);
  nay_sst__hold_release(*slot);
  NAY_TRY(read_block(t, handle, false, false, slot, diag, contents));
  *contents = read_strip_terms(t, *contents);
  return NAY_OK;
}

nay_status nay_sst__table_read_checked(const nay_sst *t, const nay_checked_handle *handle,
                                       nay_hold **slot, nay_diag *diag, nay_bytes *contents) {
  NAY_TRY(nay_sst__table_read(t, handle->at, slot, diag, contents));
  if (!handle->checked)
    return NAY_OK; /* LevelDB's own handles and those of foreign tables have no checksum */
  const uint8_t *raw =
      t->source.bytes != NULL ? t->source.bytes + handle->at.offset : (*slot)->raw.at;
  if (nay_sst__checked_handle_is(handle, raw)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "the block is intact, but not the one that its handle names",
                   handle->at.offset);
}

/* Finds the bit that records that a data block is checked: the order of its keys and, in a mapped
 * file, its checksum. The offset of its index entry identifies the block; an index entry has at
 * least five bytes, so offset / 4 is unique. */
static uint8_t *read_checked_bit(const nay_sst *t, const nay_entry *entry, uint8_t *mask) {
  size_t bit = entry->at / 4;
  *mask = (uint8_t)(1u << bit % 8);
  return t->blocks.checked != NULL && bit / 8 < t->blocks.checked_len ? t->blocks.checked + bit / 8
                                                                      : NULL;
}

static bool read_is_checked(const nay_sst *t, const nay_entry *entry) {
  uint8_t mask, *byte = read_checked_bit(t, entry, &mask);
  return byte != NULL && (nay__atomic_load8(byte) & mask) != 0;
}

/* Finds the index keys around a block: the key of its own entry, an inclusive upper bound, and the
 * key before, unless *first. */
static nay_status read_bounds(const nay_entry *entry, nay_cursor *before, nay_buffer *upper,
                              bool *first, nay_diag *diag) {
  NAY_TRY(nay_sst__cursor_at(before, entry->at, diag));
  *upper = before->key;
  before->key = (nay_buffer){NULL, 0, 0};
  nay_status status = nay_sst__cursor_prev(before, diag);
  *first = status == NAY_EEND;
  return *first ? NAY_OK : status;
}

nay_status nay_sst__check_block(const nay_sst *t, const nay_block *index, const nay_entry *entry,
                                nay_handle handle, const nay_block *block, nay_diag *diag) {
  const nay_allocator *a = &t->allocator;
  uint8_t mask, *byte = read_checked_bit(t, entry, &mask);
  nay_cursor before = {.block = *index, .order = t->order, .allocator = a};
  nay_buffer upper = {NULL, 0, 0};
  bool first = false;
  nay_status status = read_bounds(entry, &before, &upper, &first, diag);
  if (status == NAY_OK) {
    status = nay_sst__block_check(block, t->order, first ? NULL : &before.key, &upper, a, diag);
  }
  nay__buffer_free(&before.key, a);
  nay__buffer_free(&upper, a);
  if (status == NAY_OK && byte != NULL) (void)nay__atomic_or8(byte, mask);
  return nay_sst__in_file(status, diag, handle);
}

nay_status nay_sst__table_block_open(const nay_sst *t, nay_bytes contents, nay_handle handle,
                                     nay_diag *diag, nay_block *block) {
  nay_status status = nay_sst__block_open(contents.at, contents.len, diag, block);
  if (status == NAY_ECORRUPT && t->meta.rocksdb && contents.len >= 4 &&
      (contents.at[contents.len - 1] & READ_HASH_INDEX) != 0) {
    return nay__fail(diag, NAY_ENOTSUP, "a RocksDB block with a hash index", handle.offset);
  }
  return nay_sst__in_file(status, diag, handle);
}

nay_status nay_sst__table_read_data(const nay_sst *t, const nay_block *index,
                                    const nay_entry *entry, const nay_handle *at, nay_hold **slot,
                                    nay_diag *diag, nay_block *block) {
  nay_bytes contents;
  nay_handle handle = *at;
  if (!nay_sst__handle_fits(handle, t->meta.footer.at)) return read_outside(diag, handle);
  nay__atomic_increment64(&t->counts->reads);
  nay_sst__hold_release(*slot);
  bool checked = read_is_checked(t, entry);
  bool cached = read_cached(t, handle, slot, &contents);
  if (cached) {
    nay__atomic_increment64(&t->counts->hits);
  } else {
    bool verified = t->source.bytes != NULL && checked;
    bool cache = t->options.cache != NULL;
    NAY_TRY(read_block(t, handle, verified, cache, slot, diag, &contents));
  }
  if (*slot != NULL) (*slot)->cached = cached;
  contents = read_strip_terms(t, contents);
  NAY_TRY(nay_sst__table_block_open(t, contents, handle, diag, block));
  return checked ? NAY_OK : nay_sst__check_block(t, index, entry, handle, block, diag);
}

bool nay_sst__table_partition(const nay_sst *t, const nay_entry *entry,
                              nay_checked_handle *handle) {
  return nay_sst__checked_handle_load(entry->value, entry->value_len, handle) && handle->checked &&
         nay_sst__handle_fits(handle->at, t->meta.footer.at);
}

nay_status nay_sst__table_handle(const nay_sst *t, const uint8_t *value, size_t len, nay_diag *diag,
                                 nay_handle *handle) {
  if (nay_sst__handle_load(value, value + len, handle) == NULL ||
      !nay_sst__handle_fits(*handle, t->meta.footer.at)) {
    return nay__fail(diag, NAY_ECORRUPT, "an index entry has no valid block handle", 0);
  }
  return NAY_OK;
}

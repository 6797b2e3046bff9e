/*
 * cached_parts.c - keeps the index and the filters of a table in the block cache, like RocksDB's
 * cache_index_and_filter_blocks: loaded on demand, pinned while in use, evicted under pressure.
 *
 * A table opened with NAY_SST_BUDGETED reads each of these blocks once, verifies it, and leaves it
 * to the cache:
 *
 *   index, filter block, partition index    the uncompressed bytes of the block
 *   full filter, partition, prefix filter   the decoded filter, or the bytes if a policy reads them
 *   range filter                            the decoded filter
 *
 * Blocks that are used in place in a mapped file are not cached, because they need no memory.
 *
 * The cache key is the table id, the block's offset and the kind of block. A damaged metaindex may
 * name one block as both an index and a filter; the kind, in the three upper bits of the offset,
 * keeps raw bytes from being taken for a decoded filter. No file is long enough to use these bits.
 *
 * INVARIANT. A search uses the same index that was verified at open: an index that is loaded again
 * must have the same CRC-32C, besides its block checksum. Its keys are therefore in order, and the
 * offsets of its entries still identify the data blocks known to be checked.
 *
 * A filter that cannot be loaded again is skipped for that probe and counted; an index is an error.
 *
 * COST. A hit is one search under the mutex of a shard. A miss is a read, a checksum, and a copy or
 * the decoding of a filter.
 */
#include "block/crc32c.h"
#include "table/table.h"

#define CACHED_PART_SHIFT 61u

static uint64_t cached_offset(nay_cached what, nay_handle handle) {
  return handle.offset | (uint64_t)what << CACHED_PART_SHIFT;
}

static nay_cache_entry *cached_copy(const nay_sst *t, uint64_t offset, nay_bytes bytes) {
  nay_cache_entry *e = nay_sst__cache_entry_new(t->cached.meta, t->cached.id, offset, bytes.len);
  if (e != NULL) memcpy(e->bytes, bytes.at, bytes.len);
  return e;
}

static nay_status cached_decode(const nay_sst *t, uint64_t offset, nay_bytes bytes,
                                nay_cache_entry **entry) {
  nay_sst_cache *cache = t->cached.meta;
  nay_cache_entry *e =
      nay_sst__cache_entry_new(cache, t->cached.id, offset, sizeof(nay_native_filter));
  if (e == NULL) return NAY_ENOMEM;
  nay_filter *filter = nay_sst__filter_decode(t, bytes, nay_sst__cache_allocator(cache));
  if (filter == NULL) {
    nay_sst__cache_release(cache, e);
    return NAY_ECORRUPT;
  }
  e->native = (nay_native_filter *)(void *)e->bytes;
  *e->native = nay_sst__native_filter_of(filter);
  e->charge += nay_filter_nbytes(filter);
  *entry = e;
  return NAY_OK;
}

/* Reads the block from the file. An index must still be the one verified at open. */
static nay_status cached_read(const nay_sst *t, nay_cached what, const nay_checked_handle *handle,
                              nay_hold **hold, nay_diag *diag, nay_bytes *bytes) {
  bool index = what == NAY_CACHED_INDEX;
  nay__atomic_increment64(index ? &t->counts->index_loads : &t->counts->loads);
  NAY_TRY(nay_sst__table_read_checked(t, handle, hold, diag, bytes));
  if (!index || nay_sst__crc32c(0, bytes->at, bytes->len) == t->blocks.index_crc) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "the index is not the one that the table was opened with",
                   handle->at.offset);
}

nay_status nay_sst__cached(const nay_sst *t, nay_cached what, const nay_checked_handle *handle,
                           nay_hold **hold, nay_diag *diag, nay_cache_entry **entry) {
  uint64_t offset = cached_offset(what, handle->at);
  nay_bytes bytes;
  *entry = nay_sst__cache_find(t->cached.meta, NAY_CACHE_FILTER, t->cached.id, offset);
  if (*entry != NULL) return NAY_OK;
  NAY_TRY(cached_read(t, what, handle, hold, diag, &bytes));
  if (what == NAY_CACHED_PREFIX || what == NAY_CACHED_RANGE ||
      (what == NAY_CACHED_FILTER && t->filters.policy == NULL)) {
    NAY_TRY(cached_decode(t, offset, bytes, entry));
  } else {
    *entry = cached_copy(t, offset, bytes);
    if (*entry == NULL) {
      return nay__fail(diag, NAY_ENOMEM, "no memory for a block", handle->at.offset);
    }
  }
  nay_sst__cache_insert(t->cached.meta, NAY_CACHE_FILTER, *entry);
  return NAY_OK;
}

void nay_sst__cached_release(const nay_sst *t, nay_cache_entry *entry) {
  nay_sst__cache_release(t->cached.meta, entry);
}

nay_status nay_sst__cached_put(const nay_sst *t, nay_cached what, nay_handle handle,
                               nay_bytes bytes) {
  nay_cache_entry *e = cached_copy(t, cached_offset(what, handle), bytes);
  if (e == NULL) return NAY_ENOMEM;
  nay_sst__cache_insert(t->cached.meta, NAY_CACHE_FILTER, e);
  nay_sst__cached_release(t, e);
  return NAY_OK;
}

void nay_sst__cached_erase(const nay_sst *t, nay_cached what, nay_handle handle) {
  nay_sst__cache_erase(t->cached.meta, NAY_CACHE_FILTER, t->cached.id, cached_offset(what, handle));
}

/* ---- the index ---- */

/* Reads the index; the pin keeps its bytes. The tables of a compaction have no cache: the pin then
 * owns the memory. */
static nay_status index_read(const nay_sst *t, nay_index_pin *pin, nay_diag *diag,
                             nay_bytes *bytes) {
  nay_checked_handle handle = {.at = t->meta.footer.index};
  nay_hold *hold = NULL;
  if (t->cached.meta == NULL) {
    return cached_read(t, NAY_CACHED_INDEX, &handle, &pin->hold, diag, bytes);
  }
  nay_status status = nay_sst__cached(t, NAY_CACHED_INDEX, &handle, &hold, diag, &pin->entry);
  nay_sst__hold_free(hold);
  if (status == NAY_OK) *bytes = (nay_bytes){pin->entry->bytes, pin->entry->len};
  return status;
}

nay_status nay_sst__table_index_load(const nay_sst *t, nay_index_pin *pin, nay_diag *diag) {
  nay_bytes bytes = {NULL, 0};
  *pin = (nay_index_pin){.entry = NULL};
  nay_status status = index_read(t, pin, diag, &bytes);
  if (status == NAY_OK) status = nay_sst__block_open(bytes.at, bytes.len, diag, &pin->block);
  if (status != NAY_OK) nay_sst__table_index_free(t, pin);
  return status;
}

void nay_sst__table_index_free(const nay_sst *t, nay_index_pin *pin) {
  if (pin->entry != NULL) nay_sst__cached_release(t, pin->entry);
  nay_sst__hold_free(pin->hold);
  *pin = (nay_index_pin){.entry = NULL};
}

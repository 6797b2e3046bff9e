/*
 * sst_cached.c - index and filters of a table in the cache: read when they are needed, pinned while
 * they are in use, evicted when others need the room.
 *
 * A table opened with NAY_SST_BUDGETED reads all of them once, to check them, and leaves them to
 * the cache:
 *
 *   index, filter block, index of partitions    bytes of the block, uncompressed
 *   full filter, partition, prefix filter       the decoded filter, or the bytes of a policy's
 *
 * What lies in a mapped file as it is used stays there instead: it needs no memory. An entry is
 * found by the table, the offset of the block, and what it is. A damaged metaindex may name one
 * block for two parts, and bytes must not be taken for a filter; so the part is in the two upper
 * bits of the offset, which no file reaches.
 *
 * INVARIANT. The index that a search uses is the one that was checked when the table was opened:
 * one that is read again must have the same CRC-32C, beside its own checksum. So keys that the
 * check found in order stay so, and offsets of entries, by which blocks are known to be checked,
 * keep their meaning. A filter that cannot be read again is left out of that probe and counted; an
 * index is an error.
 *
 * COST. A part that is cached: one search under the mutex of its shard. One that is not: a read,
 * its checksum, a copy or the decoding of a filter.
 */
#include "sst/crc32c.h"
#include "sst/sst.h"

#define CACHED_PART_SHIFT 62u

static uint64_t cached_offset(nay_cached what, nay_handle handle) {
  return handle.offset | (uint64_t)what << CACHED_PART_SHIFT;
}

static nay_cache_entry *cached_copy(const nay_sst *t, uint64_t offset, nay_bytes bytes) {
  nay_cache_entry *e = nay__cache_entry_new(t->meta_cache, t->cache_id, offset, bytes.len);
  if (e != NULL) memcpy(e->bytes, bytes.at, bytes.len);
  return e;
}

static nay_status cached_decode(const nay_sst *t, uint64_t offset, nay_bytes bytes,
                                nay_cache_entry **entry) {
  nay_sst_cache *cache = t->meta_cache;
  nay_cache_entry *e = nay__cache_entry_new(cache, t->cache_id, offset, sizeof(nay_native_filter));
  if (e == NULL) return NAY_ENOMEM;
  nay_filter *filter = nay__sst_filter_decode(t, bytes, nay__cache_allocator(cache));
  if (filter == NULL) {
    nay__cache_release(cache, e);
    return NAY_ECORRUPT;
  }
  e->native = (nay_native_filter *)(void *)e->bytes;
  *e->native = nay__native_filter_of(filter);
  e->charge += nay_filter_nbytes(filter);
  *entry = e;
  return NAY_OK;
}

/* The part as the file has it now. */
static nay_status cached_read(const nay_sst *t, nay_cached what, const nay_checked_handle *handle,
                              nay_hold **hold, nay_diag *diag, nay_bytes *bytes) {
  bool index = what == NAY_CACHED_INDEX;
  nay__atomic_increment64(index ? &t->counts->index_loads : &t->counts->loads);
  NAY_TRY(nay__sst_read_checked(t, handle, hold, diag, bytes));
  if (!index || nay__crc32c(0, bytes->at, bytes->len) == t->index_crc) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "the index is not the one that the table was opened with",
                   handle->at.offset);
}

nay_status nay__sst_cached(const nay_sst *t, nay_cached what, const nay_checked_handle *handle,
                           nay_hold **hold, nay_diag *diag, nay_cache_entry **entry) {
  uint64_t offset = cached_offset(what, handle->at);
  nay_bytes bytes;
  *entry = nay__cache_find(t->meta_cache, NAY_CACHE_FILTER, t->cache_id, offset);
  if (*entry != NULL) return NAY_OK;
  NAY_TRY(cached_read(t, what, handle, hold, diag, &bytes));
  if (what == NAY_CACHED_PREFIX || (what == NAY_CACHED_FILTER && t->policy == NULL)) {
    NAY_TRY(cached_decode(t, offset, bytes, entry));
  } else {
    *entry = cached_copy(t, offset, bytes);
    if (*entry == NULL) {
      return nay__fail(diag, NAY_ENOMEM, "no memory for a block", handle->at.offset);
    }
  }
  nay__cache_insert(t->meta_cache, NAY_CACHE_FILTER, *entry);
  return NAY_OK;
}

void nay__sst_cached_release(const nay_sst *t, nay_cache_entry *entry) {
  nay__cache_release(t->meta_cache, entry);
}

nay_status nay__sst_cached_put(const nay_sst *t, nay_cached what, nay_handle handle,
                               nay_bytes bytes) {
  nay_cache_entry *e = cached_copy(t, cached_offset(what, handle), bytes);
  if (e == NULL) return NAY_ENOMEM;
  nay__cache_insert(t->meta_cache, NAY_CACHE_FILTER, e);
  nay__sst_cached_release(t, e);
  return NAY_OK;
}

void nay__sst_cached_erase(const nay_sst *t, nay_cached what, nay_handle handle) {
  nay__cache_erase(t->meta_cache, NAY_CACHE_FILTER, t->cache_id, cached_offset(what, handle));
}

/* ---- the index ---- */

/* Its bytes, kept by the pin. A compaction has no cache, and memory of its own. */
static nay_status index_read(const nay_sst *t, nay_index_pin *pin, nay_diag *diag,
                             nay_bytes *bytes) {
  nay_checked_handle handle = {.at = t->footer.index};
  nay_hold *hold = NULL;
  if (t->meta_cache == NULL) {
    return cached_read(t, NAY_CACHED_INDEX, &handle, &pin->hold, diag, bytes);
  }
  nay_status status = nay__sst_cached(t, NAY_CACHED_INDEX, &handle, &hold, diag, &pin->entry);
  nay__hold_free(hold);
  if (status == NAY_OK) *bytes = (nay_bytes){pin->entry->bytes, pin->entry->len};
  return status;
}

nay_status nay__sst_index_load(const nay_sst *t, nay_index_pin *pin, nay_diag *diag) {
  nay_bytes bytes = {NULL, 0};
  *pin = (nay_index_pin){.entry = NULL};
  nay_status status = index_read(t, pin, diag, &bytes);
  if (status == NAY_OK) status = nay__block_open(bytes.at, bytes.len, diag, &pin->block);
  if (status != NAY_OK) nay__sst_index_free(t, pin);
  return status;
}

void nay__sst_index_free(const nay_sst *t, nay_index_pin *pin) {
  if (pin->entry != NULL) nay__sst_cached_release(t, pin->entry);
  nay__hold_free(pin->hold);
  *pin = (nay_index_pin){.entry = NULL};
}

/*
 * index_block.c - see index_block.h.
 *
 *   entry     | shared varint | unshared varint | value_len varint | key | value: handle |
 *   delta     | shared varint | unshared varint | key | handle, or zigzag varint of a size |
 *
 * In the second form a value is a handle at a restart (shared is 0); else the block follows the one
 * before it, and the value is by how much its size differs.
 */
#include "sst/index_block.h"

#include "sst/block.h"

typedef struct index_load {
  const nay_allocator *allocator;
  nay_diag *diag;
  size_t most;
  nay_index_entries *parts;
} index_load;

static nay_status index_add(const index_load *l, const nay_buffer *key, nay_handle handle,
                            uint64_t at) {
  nay_index_entries *p = l->parts;
  if (key->len > l->most || p->keys.len > l->most - key->len) {
    return nay__fail(l->diag, NAY_ECORRUPT, "the keys of an index grow beyond the file", at);
  }
  nay_index_entry part = {.handle = handle, .key_at = p->keys.len, .key_len = key->len};
  NAY_TRY(nay__buffer_append(&p->keys, key->at, key->len, l->allocator));
  NAY_TRY(nay__buffer_append(&p->list, &part, sizeof part, l->allocator));
  p->all_internal = p->all_internal && key->len >= NAY_TRAILER;
  return NAY_OK;
}

static nay_status index_bad(const index_load *l, uint64_t at) {
  return nay__fail(l->diag, NAY_ECORRUPT, "an index has an entry that does not fit", at);
}

static nay_status index_load_plain(const index_load *l, const nay_block *block) {
  nay_cursor c = {.block = *block, .order = NAY_BYTEWISE, .allocator = l->allocator};
  nay_status status = nay__cursor_first(&c, l->diag);
  for (; status == NAY_OK; status = nay__cursor_next(&c, l->diag)) {
    nay_handle handle;
    const uint8_t *value = c.entry.value;
    if (nay__handle_load(value, value + c.entry.value_len, &handle) == NULL) {
      status = index_bad(l, c.entry.at);
      break;
    }
    if ((status = index_add(l, &c.key, handle, c.entry.at)) != NAY_OK) break;
  }
  nay__buffer_free(&c.key, l->allocator);
  return status == NAY_ENOENT ? NAY_OK : status;
}

/* The value of an entry in the delta form; NULL when it is not one. */
static const uint8_t *index_value(const uint8_t *p, const uint8_t *end, bool whole, bool first,
                                  nay_handle *handle) {
  if (whole) return nay__handle_load(p, end, handle);
  uint64_t zigzag;
  if (first || (p = nay__varint64_load(p, end, &zigzag)) == NULL) return NULL;
  uint64_t differs = zigzag >> 1 ^ (0 - (zigzag & 1));
  *handle = (nay_handle){handle->offset + handle->size + NAY_BLOCK_FRAME, handle->size + differs};
  return p;
}

static nay_status index_load_delta(const index_load *l, const nay_block *block, nay_buffer *key) {
  const uint8_t *p = block->bytes, *end = block->bytes + block->end;
  nay_handle handle = {0, 0};
  for (bool first = true; p < end; first = false) {
    uint64_t at = (uint64_t)(p - block->bytes);
    uint32_t shared, unshared;
    p = nay__varint32_load(p, end, &shared);
    if (p == NULL || (p = nay__varint32_load(p, end, &unshared)) == NULL) return index_bad(l, at);
    if (shared > key->len || unshared > (size_t)(end - p)) return index_bad(l, at);
    key->len = shared;
    NAY_TRY(nay__buffer_append(key, p, unshared, l->allocator));
    p = index_value(p + unshared, end, shared == 0, first, &handle);
    if (p == NULL) return index_bad(l, at);
    NAY_TRY(index_add(l, key, handle, at));
  }
  return NAY_OK;
}

nay_status nay__index_load(const uint8_t *bytes, size_t len, bool delta, size_t most,
                           const nay_allocator *a, nay_diag *diag, nay_index_entries *parts) {
  nay_block block;
  nay_buffer key = {NULL, 0, 0};
  index_load load = {a, diag, most, parts};
  *parts = (nay_index_entries){.all_internal = true};
  NAY_TRY(nay__block_open(bytes, len, diag, &block));
  nay_status status =
      delta ? index_load_delta(&load, &block, &key) : index_load_plain(&load, &block);
  nay__buffer_free(&key, a);
  if (status != NAY_OK) nay__index_free(parts, a);
  return status;
}

void nay__index_free(nay_index_entries *parts, const nay_allocator *a) {
  nay__buffer_free(&parts->list, a);
  nay__buffer_free(&parts->keys, a);
}

bool nay__index_is_sorted(const nay_index_entries *parts, nay_comparator order) {
  const uint8_t *keys = parts->keys.at;
  for (size_t i = 1; i < nay__index_count(parts); i++) {
    const nay_index_entry *a = nay__index_at(parts, i - 1), *b = a + 1;
    if (nay__compare(order, keys + a->key_at, a->key_len, keys + b->key_at, b->key_len) > 0) {
      return false;
    }
  }
  return true;
}

size_t nay__index_find(const nay_index_entries *parts, nay_comparator order, const void *key,
                       size_t len) {
  nay_target target = {key, len, NAY_TRAILER_NEWEST};
  size_t low = 0, high = nay__index_count(parts);
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const nay_index_entry *part = nay__index_at(parts, middle);
    if (nay__compare_target(order, nay__buffer_at(&parts->keys, part->key_at), part->key_len,
                            &target) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

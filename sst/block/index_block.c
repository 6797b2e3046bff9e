/*
 * index_block.c - see index_block.h. The two encodings of an entry:
 *
 *   plain    | shared varint | unshared varint | value_len varint | key suffix | handle |
 *   delta    | shared varint | unshared varint | key suffix | handle or zigzag varint |
 *
 * In the delta encoding the value of a restart point (shared is 0) is a whole handle. Any other
 * value is the block's size minus the previous block's size; the block starts where the previous
 * one ends.
 */
#include "block/index_block.h"

#include "block/block.h"

typedef struct index_load {
  const nay_allocator *allocator;
  size_t most;
  nay_index_entries *entries;
} index_load;

static nay_status index_add(const index_load *l, const nay_buffer *key,
                            const nay_checked_handle *block, uint64_t at, nay_diag *diag) {
  nay_index_entries *x = l->entries;
  if (key->len > l->most || x->keys.len > l->most - key->len) {
    return nay__fail(diag, NAY_ECORRUPT, "the keys of an index are longer than the file", at);
  }
  nay_index_entry entry = {.handle = block->at,
                           .key_at = x->keys.len,
                           .key_len = key->len,
                           .checked = block->checked,
                           .checksum = block->checksum};
  NAY_TRY(nay__buffer_append(&x->keys, key->at, key->len, l->allocator));
  NAY_TRY(nay__buffer_append(&x->list, &entry, sizeof entry, l->allocator));
  x->all_internal = x->all_internal && key->len >= NAY_KEY_TRAILER;
  return NAY_OK;
}

static nay_status index_corrupt(nay_diag *diag, uint64_t at) {
  return nay__fail(diag, NAY_ECORRUPT, "an entry of an index does not fit", at);
}

static nay_status index_visit(void *ctx, const nay_cursor *c, nay_diag *diag) {
  nay_checked_handle block;
  if (!nay_sst__checked_handle_load(c->entry.value, c->entry.value_len, &block)) {
    return index_corrupt(diag, c->entry.at);
  }
  return index_add(ctx, &c->key, &block, c->entry.at, diag);
}

/* Decodes the value of a delta-encoded entry; *handle is the previous entry's, and becomes this
 * one's. Returns the first byte after the value, or NULL if it is corrupt. */
static const uint8_t *index_value(const uint8_t *p, const uint8_t *end, bool restart, bool first,
                                  nay_handle *handle) {
  if (restart) return nay_sst__handle_load(p, end, handle);
  uint64_t zigzag;
  if (first || (p = nay__varint64_load(p, end, &zigzag)) == NULL) return NULL;
  uint64_t delta = zigzag >> 1 ^ (0 - (zigzag & 1));
  *handle = (nay_handle){handle->offset + handle->size + NAY_BLOCK_TRAILER, handle->size + delta};
  return p;
}

static nay_status index_load_delta(const index_load *l, const nay_block *block, nay_buffer *key,
                                   nay_diag *diag) {
  const uint8_t *p = block->bytes, *end = block->bytes + block->end;
  nay_checked_handle target_block = {.checked = false};
  for (bool first = true; p < end; first = false) {
    uint64_t at = (uint64_t)(p - block->bytes);
    uint32_t shared, unshared;
    p = nay__varint32_load(p, end, &shared);
    if (p == NULL || (p = nay__varint32_load(p, end, &unshared)) == NULL) {
      return index_corrupt(diag, at);
    }
    if (shared > key->len || unshared > (size_t)(end - p)) return index_corrupt(diag, at);
    key->len = shared;
    NAY_TRY(nay__buffer_append(key, p, unshared, l->allocator));
    p = index_value(p + unshared, end, shared == 0, first, &target_block.at);
    if (p == NULL) return index_corrupt(diag, at);
    NAY_TRY(index_add(l, key, &target_block, at, diag));
  }
  return NAY_OK;
}

nay_status nay_sst__index_load(const uint8_t *bytes, size_t len, bool delta, size_t most,
                               const nay_allocator *a, nay_diag *diag, nay_index_entries *entries) {
  nay_block block;
  nay_buffer key = {NULL, 0, 0};
  index_load load = {a, most, entries};
  *entries = (nay_index_entries){.all_internal = true};
  NAY_TRY(nay_sst__block_open(bytes, len, diag, &block));
  nay_status status = delta ? index_load_delta(&load, &block, &key, diag)
                            : nay_sst__block_walk(&block, index_visit, &load, a, diag);
  nay__buffer_free(&key, a);
  if (status != NAY_OK) nay_sst__index_free(entries, a);
  return status;
}

void nay_sst__index_free(nay_index_entries *entries, const nay_allocator *a) {
  nay__buffer_free(&entries->list, a);
  nay__buffer_free(&entries->keys, a);
}

bool nay_sst__index_is_sorted(const nay_index_entries *entries, nay_order order) {
  const uint8_t *keys = entries->keys.at;
  for (size_t i = 1; i < nay_sst__index_count(entries); i++) {
    const nay_index_entry *a = nay_sst__index_at(entries, i - 1), *b = a + 1;
    if (nay_sst__compare(order, keys + a->key_at, a->key_len, keys + b->key_at, b->key_len) > 0) {
      return false;
    }
  }
  return true;
}

size_t nay_sst__index_find(const nay_index_entries *entries, nay_order order, const void *key,
                           size_t len) {
  nay_target target = {key, len, NAY_KEY_TRAILER_NEWEST};
  size_t low = 0, high = nay_sst__index_count(entries);
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const nay_index_entry *e = nay_sst__index_at(entries, middle);
    if (nay_sst__compare_target(order, nay__buffer_at(&entries->keys, e->key_at), e->key_len,
                                &target) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

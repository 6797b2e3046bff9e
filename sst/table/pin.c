/*
 * pin.c - pins the block of an iterator beyond its next move, without copying it.
 *
 * The cost depends on where the block lies:
 *
 *   in a mapped file, uncompressed   nothing: the bytes stay while the table is open
 *   in the cache                     one more reference to the cache entry
 *   in the iterator's buffer         the buffer becomes a reference-counted shared block, and the
 *                                    iterator allocates another for its next block
 *
 * The last reference frees the memory of a block.
 */
#include "table/iterator.h"
#include "table/translated.h"

/* nay_shared_block: the memory of a block that several holds refer to. */
struct nay_shared_block {
  nay_allocator allocator;
  uint64_t refs; /* atomic: holds may belong to several threads */
  nay_buffer bytes;
};

void nay_sst__hold_release(nay_hold *h) {
  if (h == NULL) return;
  if (h->pin != NULL) nay_sst__cache_release(h->cache, h->pin);
  h->pin = NULL;
  nay_shared_block *shared = h->shared;
  h->shared = NULL;
  if (shared == NULL || nay__atomic_decrement64(&shared->refs) != 0) return;
  nay_allocator a = shared->allocator;
  nay__buffer_free(&shared->bytes, &a);
  nay__free(&a, shared, sizeof *shared);
}

/* Turns the buffer of the hold that has the block into a shared block. */
static nay_status pin_share(nay_hold *h, const uint8_t *block) {
  nay_buffer *buffer = block == h->plain.at ? &h->plain : &h->raw;
  if (h->shared != NULL) return NAY_OK;
  nay_shared_block *shared = nay__alloc(&h->allocator, sizeof *shared);
  if (shared == NULL) return NAY_ENOMEM;
  *shared = (nay_shared_block){.allocator = h->allocator, .refs = 1, .bytes = *buffer};
  *buffer = (nay_buffer){NULL, 0, 0};
  h->shared = shared;
  return NAY_OK;
}

nay_status nay_sst__hold_pin(const nay_sst *t, nay_hold *from, const uint8_t *block,
                             nay_hold **to) {
  nay_sst__hold_release(*to);
  bool cached = from != NULL && from->pin != NULL && block == from->pin->bytes;
  bool own = from != NULL && !cached &&
             (from->shared != NULL || block == from->plain.at || block == from->raw.at);
  if (!cached && !own) return NAY_OK; /* used in place */
  if (*to == NULL) {
    *to = nay__alloc(&t->allocator, sizeof **to);
    if (*to == NULL) return NAY_ENOMEM;
    **to = (nay_hold){.allocator = t->allocator};
  }
  if (cached) {
    nay_sst__cache_pin(from->pin);
    (*to)->cache = from->cache;
    (*to)->pin = from->pin;
    return NAY_OK;
  }
  NAY_TRY(pin_share(from, block));
  nay__atomic_increment64(&from->shared->refs);
  (*to)->shared = from->shared;
  return NAY_OK;
}

nay_status nay_sst__hold_copy(nay_hold **slot, const nay_allocator *a, nay_bytes bytes,
                              const void **copy) {
  nay_sst__hold_release(*slot);
  if (*slot == NULL) {
    *slot = nay__alloc(a, sizeof **slot);
    if (*slot == NULL) return NAY_ENOMEM;
    **slot = (nay_hold){.allocator = *a};
  }
  nay_buffer *plain = &(*slot)->plain;
  plain->len = 0;
  NAY_TRY(nay__buffer_append(plain, bytes.at, bytes.len, &(*slot)->allocator));
  *copy = bytes.len != 0 ? plain->at : (const void *)"";
  return NAY_OK;
}

nay_status nay_sst_iter_pin(nay_sst_iter *it, nay_sst_value *value) {
  if (it == NULL || value == NULL || !it->valid) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_VALUE, value, NULL));
  nay_hold *hold = value->hold;
  nay_status status = nay_sst__hold_pin(it->table, it->hold, it->data.block.bytes, &hold);
  value->hold = hold;
  NAY_TRY(status);
  value->bytes = it->data.entry.value;
  value->len = it->data.entry.value_len;
  value->sequence = 0;
  value->deleted = false;
  if (!it->table->order.internal) return NAY_OK;
  uint64_t trailer = nay__load64le(it->data.key.at + it->data.key.len - NAY_KEY_TRAILER);
  value->sequence = trailer >> 8;
  value->deleted = (trailer & 0xff) == 0;
  return NAY_OK;
}

/* buffer.h - a growable byte buffer. Zero-initialise; each call takes the owner's allocator. */
#ifndef NAY_BUFFER_H
#define NAY_BUFFER_H

#include "base/alloc.h"

typedef struct nay_buffer {
  uint8_t *at;
  size_t len;
  size_t cap;
} nay_buffer;

/* nay__buffer_grow: the slow path of nay__buffer_reserve. */
nay_status nay__buffer_grow(nay_buffer *buffer, size_t more, const nay_allocator *a);

/* nay__buffer_reserve: capacity for `more` bytes after len. NAY_ENOMEM changes nothing. */
static inline nay_status nay__buffer_reserve(nay_buffer *buffer, size_t more,
                                             const nay_allocator *a) {
  return buffer->cap - buffer->len >= more ? NAY_OK : nay__buffer_grow(buffer, more, a);
}

static inline nay_status nay__buffer_append(nay_buffer *buffer, const void *bytes, size_t len,
                                            const nay_allocator *a) {
  NAY_TRY(nay__buffer_reserve(buffer, len, a));
  if (len != 0) memcpy(buffer->at + buffer->len, bytes, len);
  buffer->len += len;
  return NAY_OK;
}

/* nay__buffer_at: the address of an offset; NULL for an empty buffer, as NULL + 0 is undefined. */
static inline uint8_t *nay__buffer_at(const nay_buffer *buffer, size_t offset) {
  return buffer->at != NULL ? buffer->at + offset : NULL;
}

static inline void nay__buffer_free(nay_buffer *buffer, const nay_allocator *a) {
  nay__free(a, buffer->at, buffer->cap);
  *buffer = (nay_buffer){NULL, 0, 0};
}

#endif /* NAY_BUFFER_H */

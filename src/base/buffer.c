/* buffer.c - see buffer.h. */
#include "base/buffer.h"

nay_status nay__buffer_grow(nay_buffer *buffer, size_t more, const nay_allocator *a) {
  if (more > SIZE_MAX / 2 - buffer->len) return NAY_ENOMEM;
  size_t cap = buffer->len + more;
  if (cap < 2 * buffer->cap)
    cap = 2 * buffer->cap; /* geometric growth: n appends copy O(n) bytes */
  uint8_t *at = nay__alloc(a, cap);
  if (at == NULL) return NAY_ENOMEM;
  if (buffer->len != 0) memcpy(at, buffer->at, buffer->len);
  nay__free(a, buffer->at, buffer->cap);
  buffer->at = at;
  buffer->cap = cap;
  return NAY_OK;
}

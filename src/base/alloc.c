/* alloc.c - the default allocator, and aligned regions on top of any allocator. */
#include "base/alloc.h"

#include <stdlib.h>

static void *alloc_default(void *ctx, size_t size) {
  (void)ctx;
  return malloc(size);
}

void *nay__calloc_default(void *ctx, size_t size) {
  (void)ctx;
  return calloc(1, size);
}

void nay__free_default(void *ctx, void *ptr, size_t size) {
  (void)ctx;
  (void)size;
  free(ptr);
}

nay_allocator nay__allocator_default(void) {
  return (nay_allocator){.alloc = alloc_default, .free = nay__free_default};
}

nay_status nay__allocator_read(const nay_allocator *from, nay_diag *diag, nay_allocator *to) {
  if (from == NULL) {
    *to = nay__allocator_default();
    return NAY_OK;
  }
  if (from->alloc == NULL || from->free == NULL) {
    return nay__fail(diag, NAY_EINVAL, "allocator: alloc or free is NULL", 0);
  }
  for (size_t i = 0; i < sizeof from->reserved / sizeof from->reserved[0]; i++) {
    if (from->reserved[i] != NULL) {
      return nay__fail(diag, NAY_EINVAL, "allocator: reserved is not NULL", 0);
    }
  }
  *to = *from;
  return NAY_OK;
}

static nay_memory alloc_align(void *raw, size_t raw_size) {
  size_t skip = (size_t)(-(uintptr_t)raw & (NAY_CACHE_LINE - 1));
  return (nay_memory){(uint8_t *)raw + skip, raw, raw_size};
}

nay_status nay__memory_raw(const nay_allocator *a, size_t size, nay_memory *memory) {
  if (size > SIZE_MAX - NAY_CACHE_LINE) return NAY_ENOMEM;
  void *raw = nay__alloc(a, size + NAY_CACHE_LINE);
  if (raw == NULL) return NAY_ENOMEM;
  *memory = alloc_align(raw, size + NAY_CACHE_LINE);
  return NAY_OK;
}

nay_status nay__memory_from(const nay_allocator *a, size_t size, bool zeroed, nay_memory *memory) {
  if (a->alloc != alloc_default) {
    NAY_TRY(nay__memory_raw(a, size, memory));
    if (!zeroed) memset(memory->raw, 0, memory->raw_size);
    return NAY_OK;
  }
  /* calloc returns fresh pages that the kernel has zeroed: no second write of a large filter */
  if (size > SIZE_MAX - NAY_CACHE_LINE) return NAY_ENOMEM;
  void *raw = calloc(1, size + NAY_CACHE_LINE);
  if (raw == NULL) return NAY_ENOMEM;
  *memory = alloc_align(raw, size + NAY_CACHE_LINE);
  return NAY_OK;
}

bool nay__allocator_is_default(const nay_allocator *a) { return a->alloc == alloc_default; }

nay_status nay__memory_new(const nay_allocator *a, size_t size, nay_memory *memory) {
  return nay__memory_from(a, size, false, memory);
}

/* The new block may have another alignment; then the bytes shift within it. */
bool nay__memory_move(nay_memory *memory, nay_mover move, void *ctx) {
  size_t skip = (size_t)(memory->at - (uint8_t *)memory->raw);
  void *raw = move(ctx, memory->raw);
  if (raw == NULL) return false;
  *memory = alloc_align(raw, memory->raw_size);
  uint8_t *was_at = (uint8_t *)raw + skip;
  if (memory->at != was_at) memmove(memory->at, was_at, memory->raw_size - NAY_CACHE_LINE);
  return true;
}

void nay__memory_free(const nay_allocator *a, nay_memory *memory) {
  nay__free(a, memory->raw, memory->raw_size);
  *memory = (nay_memory){NULL, NULL, 0};
}

/* alloc.c - the default allocator, and aligned regions on top of any allocator. */
#include "base/alloc.h"

#include <stdlib.h>

static void *alloc_default(void *ctx, size_t size) {
  (void)ctx;
  return malloc(size);
}

static void free_default(void *ctx, void *ptr, size_t size) {
  (void)ctx;
  (void)size;
  free(ptr);
}

nay_allocator nay__allocator_or_default(const nay_allocator *a) {
  if (a != NULL) return *a;
  return (nay_allocator){alloc_default, free_default, NULL};
}

bool nay__allocator_is_default(const nay_allocator *a) { return a->alloc == alloc_default; }

nay_status nay__memory_new(const nay_allocator *a, size_t size, nay_memory *memory) {
  if (size > SIZE_MAX - NAY_CACHE_LINE) return NAY_ENOMEM;
  size_t raw_size = size + NAY_CACHE_LINE;
  /* calloc hands out fresh pages that the kernel has zeroed: a big filter is not written twice */
  bool is_default = nay__allocator_is_default(a);
  void *raw = is_default ? calloc(1, raw_size) : nay__alloc(a, raw_size);
  if (raw == NULL) return NAY_ENOMEM;
  if (!is_default) memset(raw, 0, raw_size);
  size_t skip = (size_t)(-(uintptr_t)raw & (NAY_CACHE_LINE - 1));
  *memory = (nay_memory){(uint8_t *)raw + skip, raw, raw_size};
  return NAY_OK;
}

void nay__memory_free(const nay_allocator *a, nay_memory *memory) {
  nay__free(a, memory->raw, memory->raw_size);
  *memory = (nay_memory){NULL, NULL, 0};
}

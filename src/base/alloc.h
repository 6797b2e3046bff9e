/* alloc.h - memory from the object's own allocator, aligned to a cache line where it matters. */
#ifndef NAY_ALLOC_H
#define NAY_ALLOC_H

#include "base/base.h"

#define NAY_CACHE_LINE 64u

/* nay__allocator_or_default: a copy of *a, or malloc and free when a is NULL. */
nay_allocator nay__allocator_or_default(const nay_allocator *a);

/* nay__calloc_default: zeroed memory from libc; fresh pages of the kernel are not written again. */
void *nay__calloc_default(void *ctx, size_t size);
void nay__free_default(void *ctx, void *ptr, size_t size);
/* nay__allocator_is_default: whether memory of it is malloc's, and ours to advise. */
bool nay__allocator_is_default(const nay_allocator *a);

static inline void *nay__alloc(const nay_allocator *a, size_t size) {
  return a->alloc(a->ctx, size);
}

static inline void nay__free(const nay_allocator *a, void *ptr, size_t size) {
  if (ptr != NULL) a->free(a->ctx, ptr, size);
}

/*
 * nay_memory: a zeroed, cache-line aligned region. `at` is what to use; the other two are what the
 * allocator gave, which has its own idea of alignment.
 */
typedef struct nay_memory {
  uint8_t *at;
  void *raw;
  size_t raw_size;
} nay_memory;

/* nay__memory_new: size 0 is fine. NAY_ENOMEM leaves *memory alone. */
nay_status nay__memory_new(const nay_allocator *a, size_t size, nay_memory *memory);

/* nay__memory_from: the same; `zeroed` tells that memory of the allocator is zero when it comes. */
nay_status nay__memory_from(const nay_allocator *a, size_t size, bool zeroed, nay_memory *memory);

/* nay__memory_raw: the same, with whatever the allocator's memory has in it. */
nay_status nay__memory_raw(const nay_allocator *a, size_t size, nay_memory *memory);

/* nay__memory_move: offers the region to a nay_mover; false when it stays where it is. */
bool nay__memory_move(nay_memory *memory, nay_mover move, void *ctx);
void nay__memory_free(const nay_allocator *a, nay_memory *memory);

#endif /* NAY_ALLOC_H */

/* alloc.h - memory from the allocator of an object, aligned to a cache line where it matters. */
#ifndef NAY_ALLOC_H
#define NAY_ALLOC_H

#include "base/base.h"

#define NAY_CACHE_LINE 64u

/* nay__allocator_default: malloc and free. */
nay_allocator nay__allocator_default(void);

/* nay__allocator_read: a copy of *from, or malloc and free when it is NULL. NAY_EINVAL: a call is
 * missing, or a word that is reserved is not NULL. */
nay_status nay__allocator_read(const nay_allocator *from, nay_diag *diag, nay_allocator *to);

/* nay__calloc_default: zeroed memory from libc, which does not write fresh pages of the kernel. */
void *nay__calloc_default(void *ctx, size_t size);
void nay__free_default(void *ctx, void *ptr, size_t size);
/* nay__allocator_is_default: whether it is malloc, so that the library may call madvise. */
bool nay__allocator_is_default(const nay_allocator *a);

static inline void *nay__alloc(const nay_allocator *a, size_t size) {
  return a->alloc(a->ctx, size);
}

static inline void nay__free(const nay_allocator *a, void *ptr, size_t size) {
  if (ptr != NULL) a->free(a->ctx, ptr, size);
}

/*
 * nay_memory: a zeroed region, aligned to a cache line. Use `at`; the other two are the block that
 * the allocator returned, at an alignment of its choice.
 */
typedef struct nay_memory {
  uint8_t *at;
  void *raw;
  size_t raw_size;
} nay_memory;

/* nay__memory_new: size 0 is fine. NAY_ENOMEM leaves *memory alone. */
nay_status nay__memory_new(const nay_allocator *a, size_t size, nay_memory *memory);

/* nay__memory_from: the same; zeroed: the allocator returns zeroed memory. */
nay_status nay__memory_from(const nay_allocator *a, size_t size, bool zeroed, nay_memory *memory);

/* nay__memory_raw: the same, not zeroed. */
nay_status nay__memory_raw(const nay_allocator *a, size_t size, nay_memory *memory);

/* nay_mover: moves a block for an allocator that defragments. Returns its new place (the bytes are
 * there, the old block is released) or NULL when it stays. */
typedef void *(*nay_mover)(void *ctx, void *ptr);

/* nay__memory_move: offers the region to a nay_mover; false: it has not moved. */
bool nay__memory_move(nay_memory *memory, nay_mover move, void *ctx);
void nay__memory_free(const nay_allocator *a, nay_memory *memory);

#endif /* NAY_ALLOC_H */

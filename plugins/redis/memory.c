/*
 * memory.c - the server's allocator in the library's terms, so that used_memory, maxmemory and
 * defragmentation are right.
 *
 * RedisModule_Alloc ends the server when memory runs out; the Try functions do not. The kernel may
 * still promise more than the machine has and kill the server when the promise is called in. A
 * header of 73 bytes can ask for an array of any size, hence the limit: the values of one type
 * never hold more than the memory of the machine.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "module.h"

/* From here on an allocator takes fresh pages from the kernel, which are zero: half a huge page. */
enum { MEMORY_LARGE = 1 << 20 };

static size_t memory_limit(void) {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
}

static bool memory_count(memory_use *use, size_t size) {
  if (use->limit == 0) use->limit = memory_limit();
  uint64_t before = atomic_fetch_add_explicit(&use->nbytes, size, memory_order_relaxed);
  if (size <= use->limit && before <= use->limit - size) return true;
  atomic_fetch_sub_explicit(&use->nbytes, size, memory_order_relaxed);
  return false;
}

static void memory_uncount(memory_use *use, size_t size) {
  atomic_fetch_sub_explicit(&use->nbytes, size, memory_order_relaxed);
}

static void *memory_alloc(void *ctx, size_t size) {
  if (!memory_count(ctx, size)) return NULL;
  void *ptr = redis.TryAlloc(size);
  if (ptr == NULL) memory_uncount(ctx, size);
  return ptr;
}

/*
 * Redis 7.0 has no TryCalloc. A large block is tried first and given back: the Calloc that follows
 * finds it, and its pages are zeroed by the kernel when they are used, not here.
 */
static void *memory_try_calloc(size_t size) {
  if (redis.TryCalloc != NULL) return redis.TryCalloc(1, size);
  void *ptr = redis.TryAlloc(size);
  if (ptr == NULL) return NULL;
  if (size < MEMORY_LARGE) return memset(ptr, 0, size);
  redis.Free(ptr);
  return redis.Calloc(1, size);
}

static void *memory_zalloc(void *ctx, size_t size) {
  if (!memory_count(ctx, size)) return NULL;
  void *ptr = memory_try_calloc(size);
  if (ptr == NULL) memory_uncount(ctx, size);
  return ptr;
}

static void memory_free(void *ctx, void *ptr, size_t size) {
  redis.Free(ptr);
  memory_uncount(ctx, size);
}

nay_allocator memory_allocator(memory_use *use) {
  return (nay_allocator){memory_alloc, memory_free, use};
}

nay_zallocator memory_zallocator(memory_use *use) {
  return (nay_zallocator){memory_zalloc, memory_free, use};
}

void memory_adopt(memory_use *use, size_t size) {
  atomic_fetch_add_explicit(&use->nbytes, size, memory_order_relaxed);
}

void memory_disown(memory_use *use, size_t size) { memory_uncount(use, size); }

void memory_value_made(memory_use *use) {
  atomic_fetch_add_explicit(&use->nvalues, 1, memory_order_relaxed);
}

void memory_value_freed(memory_use *use) {
  atomic_fetch_sub_explicit(&use->nvalues, 1, memory_order_relaxed);
}

size_t memory_free_effort(uint64_t nallocations, uint64_t nbytes) {
  return (size_t)(nallocations + (nbytes >> 15));
}

void *memory_move(void *ctx, void *ptr) { return redis.DefragAlloc(ctx, ptr); }

int memory_defrag(redis_defrag *ctx, void **value,
                  bool (*move)(void **value, uint64_t part, redis_defrag *ctx)) {
  unsigned long part = 0;
  if (redis.DefragCursorGet(ctx, &part) != REDIS_OK) part = 0;
  for (; move(value, part, ctx); part++) {
    /* small values have no cursor: for them there is no second time */
    if (redis.DefragShouldStop(ctx) && redis.DefragCursorSet(ctx, part + 1) == REDIS_OK) return 1;
  }
  return 0;
}

void memory_info(redis_info *info, const char *prefix, const memory_use *use) {
  char name[64];
  snprintf(name, sizeof name, "%s_values", prefix);
  redis.InfoAddFieldULongLong(info, name, atomic_load(&use->nvalues));
  snprintf(name, sizeof name, "%s_bytes", prefix);
  redis.InfoAddFieldULongLong(info, name, atomic_load(&use->nbytes));
}

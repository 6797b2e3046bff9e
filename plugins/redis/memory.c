/*
 * memory.c - the server's allocator behind the library's interface, so that used_memory, maxmemory
 * and defragmentation are right.
 *
 * RedisModule_Alloc aborts the server when memory runs out; the Try functions do not. The kernel
 * may still overcommit and kill the server later. A header of 73 bytes can request an array of any
 * size, hence two limits: the values of one type never exceed the physical memory of the machine,
 * and no command creates a filter that does not fit below maxmemory. The server itself compares
 * used_memory with maxmemory before a command, not after.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "module.h"

/* Allocators map blocks of at least this size (half a huge page) as fresh pages, which are zero. */
enum { MEMORY_LARGE = 1 << 20 };

static size_t memory_limit(void) {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
}

/* ---- maxmemory ---- */

/* Allocations of one command up to this many bytes are not checked, because the check costs an
 * INFO. An empty server uses more than that, so a maxmemory without room for them refuses all
 * writes anyway. */
enum { MEMORY_UNWATCHED = 1 << 18 };

/* The running command. Per thread, because threads of the server free values too. */
static _Thread_local struct {
  redis_ctx *ctx; /* NULL: none */
  size_t (*held_nbytes)(const void *value);
  const void *held;
  uint64_t nbytes; /* allocated, less what was freed */
  uint64_t room;   /* for them; once has_room */
  bool has_room, is_refused;
} watched;

/* The largest filter, in bytes, that fits below maxmemory in an otherwise empty server. */
static uint64_t memory_room(redis_ctx *ctx) {
  if (must_obey(ctx) || (redis.GetContextFlags(ctx) & REDIS_CTX_SLAVE) != 0) return UINT64_MAX;
  int no_most = REDIS_OK, no_empty = REDIS_OK;
  redis_server_info *info = redis.GetServerInfo(ctx, "memory");
  uint64_t most = redis.ServerInfoGetFieldUnsigned(info, "maxmemory", &no_most);
  uint64_t empty = redis.ServerInfoGetFieldUnsigned(info, "used_memory_startup", &no_empty);
  redis.FreeServerInfo(ctx, info);
  if (no_most != REDIS_OK || no_empty != REDIS_OK || most == 0) return UINT64_MAX;
  return most > empty ? most - empty : 0;
}

bool memory_permits(uint64_t nbytes) {
  if (watched.ctx == NULL || nbytes <= MEMORY_UNWATCHED) return true;
  if (!watched.has_room) {
    uint64_t held = watched.held_nbytes != NULL ? watched.held_nbytes(watched.held) : 0;
    held -= held < watched.nbytes ? held : watched.nbytes; /* what this command has added */
    watched.room = memory_room(watched.ctx);
    if (watched.room != UINT64_MAX) watched.room -= held < watched.room ? held : watched.room;
    watched.has_room = true;
  }
  if (nbytes <= watched.room) return true;
  watched.is_refused = true;
  return false;
}

void memory_watch(redis_ctx *ctx) {
  memset(&watched, 0, sizeof watched);
  watched.ctx = ctx;
}

void memory_unwatch(void) { watched.ctx = NULL; }

void memory_grows(size_t (*nbytes)(const void *value), const void *value) {
  watched.held_nbytes = nbytes;
  watched.held = value;
}

const char *memory_error(const char *otherwise) {
  return watched.is_refused ? "OOM command not allowed when used memory > 'maxmemory'." : otherwise;
}

/* ---- the allocator ---- */

static bool memory_count(memory_use *use, size_t size) {
  if (size > UINT64_MAX - watched.nbytes || !memory_permits(watched.nbytes + size)) return false;
  if (use->limit == 0) use->limit = memory_limit();
  uint64_t before = atomic_fetch_add_explicit(&use->nbytes, size, memory_order_relaxed);
  if (size <= use->limit && before <= use->limit - size) {
    watched.nbytes += size;
    return true;
  }
  atomic_fetch_sub_explicit(&use->nbytes, size, memory_order_relaxed);
  return false;
}

static void memory_uncount(memory_use *use, size_t size) {
  watched.nbytes -= size < watched.nbytes ? size : watched.nbytes;
  atomic_fetch_sub_explicit(&use->nbytes, size, memory_order_relaxed);
}

static void *memory_alloc(void *ctx, size_t size) {
  if (!memory_count(ctx, size)) return NULL;
  void *ptr = redis.TryAlloc(size);
  if (ptr == NULL) memory_uncount(ctx, size);
  return ptr;
}

/*
 * Redis 7.0 has no TryCalloc. A large block is allocated on trial and freed: the Calloc that
 * follows succeeds, and the kernel zeroes its pages at first touch.
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
  return (nay_allocator){.alloc = memory_alloc, .free = memory_free, .ctx = use};
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
    /* small values have no cursor: there is no second call for them */
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

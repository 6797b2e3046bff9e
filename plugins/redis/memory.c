/*
 * memory.c - the server's allocator in the library's terms, so that used_memory, maxmemory and
 * defragmentation are right.
 *
 * RedisModule_Alloc ends the server when memory runs out; the Try functions do not. The kernel may
 * still promise more than the machine has and kill the server when the promise is called in. A
 * header of 73 bytes can ask for an array of any size, hence two limits: the values of one type
 * never hold more than the memory of the machine, and no command makes a filter that maxmemory has
 * no room for. The server itself compares used_memory with maxmemory before a command, not after.
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

/* ---- maxmemory ---- */

/* Up to so many bytes in one command the server is not asked, which costs it an INFO: without any
 * key it holds more than that, so a maxmemory that has no room for them refuses all writes. */
enum { MEMORY_UNWATCHED = 1 << 18 };

/* The command that runs. Values are freed by threads of the server too, which watch nothing. */
static _Thread_local struct {
  redis_ctx *ctx; /* NULL: none */
  size_t (*held_nbytes)(const void *value);
  const void *held;
  uint64_t nbytes; /* allocated, less what was freed */
  uint64_t room;   /* for them; once has_room */
  bool has_room, is_refused;
} watched;

/* Bytes that a filter can have at most in a server that holds nothing else. */
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
    held -= held < watched.nbytes ? held : watched.nbytes; /* what it has grown by just now */
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

/*
 * flaky.h - an allocator that fails at a chosen call, counts live blocks, records the peak, and
 * checks what is freed: a pointer that it returned, with the requested size.
 *
 *   flaky heap = {.fail_at = 3};                   // the fourth call fails, all others work
 *   nay_allocator a = flaky_allocator(&heap);
 *   ...
 *   assert_true(flaky_is_clean(&heap));            // all freed, every size right
 */
#ifndef NAY_TEST_FLAKY_H
#define NAY_TEST_FLAKY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nay.h"
#include "redis/redis.h"

typedef struct flaky {
  long fail_at;  /* the call that fails, from 0; -1: none */
  bool for_ever; /* all calls after it fail as well */
  long calls;
  size_t live, peak; /* bytes */
  long objects;      /* allocations not yet freed */
  long faults;       /* frees with a wrong size or a foreign pointer */
} flaky;

/* Stands before each allocation; its size keeps what follows aligned for any type. */
typedef struct flaky_label {
  size_t size;
  uint64_t mark;
  uint64_t unused[2];
} flaky_label;

#define FLAKY_MARK 0x666c616b79313233u

static inline void *flaky_alloc(void *ctx, size_t size) {
  flaky *f = ctx;
  long call = f->calls++;
  if (f->fail_at >= 0 && (call == f->fail_at || (f->for_ever && call > f->fail_at))) return NULL;
  if (size > SIZE_MAX / 2) return NULL;
  flaky_label *label = malloc(sizeof *label + size);
  if (label == NULL) return NULL;
  *label = (flaky_label){size, FLAKY_MARK, {0, 0}};
  memset(label + 1, 0xa5, size); /* not zero: no code may rely on zeroed memory */
  f->live += size;
  f->objects++;
  if (f->live > f->peak) f->peak = f->live;
  return label + 1;
}

static inline void flaky_free(void *ctx, void *p, size_t size) {
  flaky *f = ctx;
  flaky_label *label = (flaky_label *)p - 1;
  if (label->mark != FLAKY_MARK || label->size != size) {
    f->faults++;
    return;
  }
  memset(label, 0xdd, sizeof *label + size); /* a read after free gets wrong bytes */
  f->live -= size;
  f->objects--;
  free(label);
}

static inline nay_allocator flaky_allocator(flaky *f) {
  return (nay_allocator){.alloc = flaky_alloc, .free = flaky_free, .ctx = f};
}

static inline void *flaky_zalloc(void *ctx, size_t size) {
  void *p = flaky_alloc(ctx, size);
  return p != NULL ? memset(p, 0, size) : NULL;
}

static inline nay_zallocator flaky_zallocator(flaky *f) {
  return (nay_zallocator){flaky_zalloc, flaky_free, f};
}

/* flaky_arm: call number `at` from now on fails, and all after it if for_ever; -1 disarms. */
static inline void flaky_arm(flaky *f, long at, bool for_ever) {
  f->calls = 0;
  f->fail_at = at;
  f->for_ever = for_ever;
}

static inline bool flaky_is_clean(const flaky *f) {
  return f->objects == 0 && f->live == 0 && f->faults == 0;
}

#endif /* NAY_TEST_FLAKY_H */

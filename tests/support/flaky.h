/* flaky.h - an allocator that fails at a chosen call, counts what lives, and remembers the peak. */
#ifndef NAY_TEST_FLAKY_H
#define NAY_TEST_FLAKY_H

#include <stdbool.h>
#include <stdlib.h>

#include "nay.h"

typedef struct flaky {
  long fail_at;  /* the call that fails, from 0; -1: none */
  bool for_ever; /* all calls after it fail as well */
  long calls;
  size_t live, peak; /* bytes */
  long objects;      /* allocations not yet freed */
} flaky;

static inline void *flaky_alloc(void *ctx, size_t size) {
  flaky *f = ctx;
  long call = f->calls++;
  if (f->fail_at >= 0 && (call == f->fail_at || (f->for_ever && call > f->fail_at))) return NULL;
  void *p = malloc(size);
  if (p == NULL) return NULL;
  f->live += size;
  f->objects++;
  if (f->live > f->peak) f->peak = f->live;
  return p;
}

static inline void flaky_free(void *ctx, void *p, size_t size) {
  flaky *f = ctx;
  f->live -= size;
  f->objects--;
  free(p);
}

static inline nay_allocator flaky_allocator(flaky *f) {
  return (nay_allocator){flaky_alloc, flaky_free, f};
}

#endif /* NAY_TEST_FLAKY_H */

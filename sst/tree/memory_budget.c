/* memory_budget.c - see memory_budget.h. */
#include "tree/memory_budget.h"

nay_status nay_sst__budget_init(nay_budget *b) { return nay__mutex_init(&b->mutex); }

void nay_sst__budget_free(nay_budget *b) { nay__mutex_free(&b->mutex); }

static void *budget_alloc(void *ctx, size_t size) {
  nay_budget *b = ctx;
  nay__mutex_lock(&b->mutex);
  bool fits = b->limit == 0 || (size <= b->limit && b->used <= b->limit - size);
  void *p = fits ? nay__alloc(&b->below, size) : NULL;
  if (!fits) b->exceeded = true;
  if (p != NULL) {
    b->used += size;
    if (b->used > b->peak) b->peak = b->used;
  }
  nay__mutex_unlock(&b->mutex);
  return p;
}

static void budget_free(void *ctx, void *p, size_t size) {
  nay_budget *b = ctx;
  nay__mutex_lock(&b->mutex);
  nay__free(&b->below, p, size);
  b->used -= size;
  nay__mutex_unlock(&b->mutex);
}

nay_allocator nay_sst__budget_allocator(nay_budget *b) {
  return (nay_allocator){.alloc = budget_alloc, .free = budget_free, .ctx = b};
}

/* budget.c - see budget.h. */
#include "base/budget.h"

#include "base/spin.h"

static void *budget_alloc(void *ctx, size_t size) {
  nay_budget *b = ctx;
  nay__spin_take(&b->lock);
  bool fits = b->limit == 0 || (size <= b->limit && b->used <= b->limit - size);
  void *p = fits ? nay__alloc(&b->below, size) : NULL;
  if (!fits) b->exceeded = true;
  if (p != NULL) {
    b->used += size;
    if (b->used > b->peak) b->peak = b->used;
  }
  nay__spin_unlock(&b->lock);
  return p;
}

static void budget_free(void *ctx, void *p, size_t size) {
  nay_budget *b = ctx;
  nay__spin_take(&b->lock);
  nay__free(&b->below, p, size);
  b->used -= size;
  nay__spin_unlock(&b->lock);
}

nay_allocator nay__budget_allocator(nay_budget *b) {
  return (nay_allocator){.alloc = budget_alloc, .free = budget_free, .ctx = b};
}

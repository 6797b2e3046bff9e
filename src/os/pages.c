/* pages.c - see pages.h. */
#define _DEFAULT_SOURCE 1

#include "os/pages.h"

#include <sys/mman.h>

#define PAGES_WORTH ((size_t)4 << 20) /* the TLB covers less than this with small pages */
#define PAGES_HUGE ((uintptr_t)2 << 20)

void nay__pages_want_huge(void *p, size_t len) {
#ifdef MADV_HUGEPAGE
  if (len < PAGES_WORTH) return;
  uintptr_t start = ((uintptr_t)p + PAGES_HUGE - 1) & ~(PAGES_HUGE - 1);
  uintptr_t end = ((uintptr_t)p + len) & ~(PAGES_HUGE - 1);
  if (start < end) (void)madvise((void *)start, end - start, MADV_HUGEPAGE);
#else
  (void)p;
  (void)len;
#endif
}

void nay__pages_random(void *mapping, size_t len) {
#ifdef MADV_RANDOM
  if (mapping != NULL) (void)madvise(mapping, len, MADV_RANDOM);
#endif
  nay__pages_want_huge(mapping, len);
}

void nay__pages_soon(const void *p, size_t len) {
#ifdef MADV_WILLNEED
  const uintptr_t page =
      4096; /* with larger pages the call fails, which costs only the readahead */
  uintptr_t start = (uintptr_t)p & ~(page - 1);
  (void)madvise((void *)start, (uintptr_t)p + len - start, MADV_WILLNEED);
#else
  (void)p;
  (void)len;
#endif
}

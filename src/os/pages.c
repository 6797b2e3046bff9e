/* pages.c - see pages.h. */
#define _DEFAULT_SOURCE 1

#include "os/pages.h"

#include <sys/mman.h>

#define PAGES_WORTH ((size_t)4 << 20) /* below this the TLB holds it anyway */
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

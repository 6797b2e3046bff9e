/* pages.h - huge pages: a random probe into a big filter otherwise misses the TLB as well. */
#ifndef NAY_OS_PAGES_H
#define NAY_OS_PAGES_H

#include "base/base.h"

/*
 * nay__pages_want_huge: tells the kernel that [p, p + len) would like huge pages. Advice only, for
 * fresh memory of 4 MiB and more; there is nothing to undo and nothing that can fail.
 */
void nay__pages_want_huge(void *p, size_t len);

#endif /* NAY_OS_PAGES_H */

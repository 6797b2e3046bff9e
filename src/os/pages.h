/* pages.h - madvise for memory with random access. Failures are ignored. */
#ifndef NAY_OS_PAGES_H
#define NAY_OS_PAGES_H

#include "base/base.h"

/*
 * nay__pages_want_huge: MADV_HUGEPAGE for fresh memory of 4 MiB and more: with small pages a random
 * probe of a large filter also misses the TLB.
 */
void nay__pages_want_huge(void *p, size_t len);

/*
 * nay__pages_random: random access to a mapped file: no readahead, which would read pages that no
 * probe needs, and huge pages where the file system has them.
 */
void nay__pages_random(void *mapping, size_t len);

/* nay__pages_soon: readahead of these bytes of a mapped file. */
void nay__pages_soon(const void *p, size_t len);

#endif /* NAY_OS_PAGES_H */

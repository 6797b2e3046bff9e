/* pages.h - advice to the kernel about memory that is probed at random. Nothing in it can fail. */
#ifndef NAY_OS_PAGES_H
#define NAY_OS_PAGES_H

#include "base/base.h"

/*
 * nay__pages_want_huge: [p, p + len) would like huge pages: a random probe into a big filter
 * otherwise misses the TLB as well. For fresh memory of 4 MiB and more.
 */
void nay__pages_want_huge(void *p, size_t len);

/*
 * nay__pages_random: a mapped file will be read here and there: no reading ahead, which would fetch
 * what nobody asks for, and huge pages where the file system has them.
 */
void nay__pages_random(void *mapping, size_t len);

/* nay__pages_soon: these bytes of a mapped file will be read now, all of them. */
void nay__pages_soon(const void *p, size_t len);

#endif /* NAY_OS_PAGES_H */

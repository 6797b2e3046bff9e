/* zflaky.h - flaky.h for the objects of redis/redis.h, whose allocators hand out zeroed memory. */
#ifndef NAY_TEST_ZFLAKY_H
#define NAY_TEST_ZFLAKY_H

#include "redis/redis.h"
#include "support/flaky.h"

static inline void *zflaky_alloc(void *ctx, size_t size) {
  void *p = flaky_alloc(ctx, size);
  return p == NULL ? NULL : memset(p, 0, size);
}

static inline nay_zallocator zflaky_allocator(flaky *f) {
  return (nay_zallocator){zflaky_alloc, flaky_free, f};
}

#endif /* NAY_TEST_ZFLAKY_H */

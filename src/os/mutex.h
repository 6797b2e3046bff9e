/*
 * mutex.h - a lock for work that may wait: what calls the caller's code (callbacks, allocators), or
 * whose length depends on data. A waiting thread sleeps. For a few instructions: spin.h.
 */
#ifndef NAY_OS_MUTEX_H
#define NAY_OS_MUTEX_H

#include "base/base.h"

#if defined(__wasm__) /* one thread */
typedef struct nay_mutex {
  int unused;
} nay_mutex;
#else
#include <pthread.h>
typedef struct nay_mutex {
  pthread_mutex_t lock;
} nay_mutex;
#endif

/* nay__mutex_init: the mutex must stay where it is until nay__mutex_free. NAY_ENOMEM: the system
 * has no room for one. */
nay_status nay__mutex_init(nay_mutex *mutex);
void nay__mutex_free(nay_mutex *mutex);

/* nay__mutex_lock: not recursive. */
void nay__mutex_lock(nay_mutex *mutex);
void nay__mutex_unlock(nay_mutex *mutex);

#endif /* NAY_OS_MUTEX_H */

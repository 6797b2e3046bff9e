/* mutex.c - see mutex.h. Locking a mutex that was initialised, and unlocking one's own, cannot
 * fail. */
#include "os/mutex.h"

nay_status nay__mutex_init(nay_mutex *m) {
  return pthread_mutex_init(&m->lock, NULL) == 0 ? NAY_OK : NAY_ENOMEM;
}

void nay__mutex_free(nay_mutex *m) { pthread_mutex_destroy(&m->lock); }

void nay__mutex_lock(nay_mutex *m) { pthread_mutex_lock(&m->lock); }

void nay__mutex_unlock(nay_mutex *m) { pthread_mutex_unlock(&m->lock); }

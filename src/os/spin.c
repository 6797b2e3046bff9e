/* spin.c - see spin.h: the contended paths. */
#include "os/spin.h"

#if defined(__unix__) || defined(__APPLE__)
#include <sched.h>
#define SPIN_YIELD() sched_yield()
#else
#define SPIN_YIELD() ((void)0)
#endif

#define SPIN_TRIES 64 /* about as long as the longest add */

void nay__spin_wait(uint8_t *lock) {
  do {
    for (unsigned i = 0; nay__atomic_load8(lock) != 0; i++) {
      if (i >= SPIN_TRIES) SPIN_YIELD();
    }
  } while (nay__atomic_swap8(lock, 1) != 0);
}

void nay__spin_lock_all(uint8_t *locks) {
  for (unsigned i = 0; i < NAY_NSTRIPES; i++) {
    if (nay__atomic_swap8(locks + i, 1) != 0) nay__spin_wait(locks + i);
  }
}

void nay__spin_unlock_all(uint8_t *locks) {
  for (unsigned i = 0; i < NAY_NSTRIPES; i++) nay__spin_unlock(locks + i);
}

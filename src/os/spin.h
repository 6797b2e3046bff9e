/*
 * spin.h - striped spin locks: one byte each, held for the few dozen nanoseconds of an add.
 *
 * A filter that takes concurrent adds has NAY_NSTRIPES of them beside its payload. An add locks the
 * stripe of what it changes (a block, a page, a key), so that test-and-add is atomic; readers never
 * lock. A waiting thread spins briefly, then yields: the holder may have been preempted. Nothing
 * that may wait, allocate or call the caller is done under such a lock: that takes a mutex.h.
 */
#ifndef NAY_OS_SPIN_H
#define NAY_OS_SPIN_H

#include "base/base.h"
#include "base/compiler.h"
#include "base/patterns.h"

/* 4,096: with 32 concurrent adds two collide in a stripe with probability 12%, and one waits for
 * one add. The array is one page. */
#define NAY_NSTRIPES 4096u

/* nay__spin_wait: the slow path of nay__spin_lock. */
void nay__spin_wait(uint8_t *lock);

/* nay__spin_lock: locks the stripe of a thing by its number; pass the result to nay__spin_unlock.
 */
static inline uint8_t *nay__spin_lock(uint8_t *locks, uint64_t thing) {
  uint8_t *lock = locks + (thing * NAY_G64 >> 52);
  if (NAY_UNLIKELY(nay__atomic_swap8(lock, 1) != 0)) nay__spin_wait(lock);
  return lock;
}

static inline void nay__spin_unlock(uint8_t *lock) { nay__atomic_release8(lock, 0); }

/* nay__spin_lock_all: excludes all adds. The caller must hold no lock. */
void nay__spin_lock_all(uint8_t *locks);
void nay__spin_unlock_all(uint8_t *locks);

#endif /* NAY_OS_SPIN_H */

/*
 * spin.h - striped spin locks: one byte each, held for the few dozen nanoseconds of an add.
 *
 * A filter that takes adds from many threads has NAY_NSTRIPES of them beside its payload. An adder
 * locks the stripe of what it changes (a block, a page, a key), so that test-and-add is one step;
 * readers never lock. A thread that waits spins briefly, then lets others run: the holder may have
 * lost its processor.
 */
#ifndef NAY_SPIN_H
#define NAY_SPIN_H

#include "base/base.h"
#include "base/compiler.h"
#include "base/patterns.h"

/* 4096: with 32 adders the chance that two meet in a stripe by accident is 12 %, and they wait for
 * one add; the array is a page of memory. */
#define NAY_NSTRIPES 4096u

/* nay__spin_wait: the slow path of nay__spin_lock. */
void nay__spin_wait(uint8_t *lock);

/* nay__spin_lock: the lock of a thing by its number, taken; hand it back to nay__spin_unlock. */
static inline uint8_t *nay__spin_lock(uint8_t *locks, uint64_t thing) {
  uint8_t *lock = locks + (thing * NAY_G64 >> 52);
  if (NAY_UNLIKELY(nay__atomic_swap8(lock, 1) != 0)) nay__spin_wait(lock);
  return lock;
}

static inline void nay__spin_unlock(uint8_t *lock) { nay__atomic_release8(lock, 0); }

/* nay__spin_lock_all: for what must not see an add half done. No lock may be held before. */
void nay__spin_lock_all(uint8_t *locks);
void nay__spin_unlock_all(uint8_t *locks);

#endif /* NAY_SPIN_H */

/*
 * spin.h - spin locks of a filter that takes concurrent adds: stripes for one add, regions for a
 * batch.
 *
 *   stripes   | 64 of region 0 | 64 of region 1 | ... | 64 of region 63 |      one byte each
 *   regions   | one byte, alone in its cache line, for each             |
 *   batches   | 8 bytes: how many of them run, for bloom                |
 *
 * An add locks the stripe of what it changes (a block, a page, a key), so that test-and-add is
 * atomic; it holds the stripe for a few dozen nanoseconds. A batch of adds sorts its keys by region
 * and locks each region once: no stripe of a locked region can be taken, so the batch writes there
 * as if it were alone. Readers never lock.
 *
 * An adder sets its stripe, then reads the region; a batch sets the region, then reads its stripes.
 * Both are sequentially consistent, so one of the two sees the other: the adder gives its stripe
 * back and waits, the batch waits for the stripe. Nobody waits with a stripe in hand, and whoever
 * holds several regions took them in order, so there is no deadlock.
 *
 * The bits of a bloom key lie in several regions, and its stripe is in none. Such batches announce
 * themselves: a batch counts itself, then reads all stripes; an adder sets its stripe, then reads
 * the count, and while a batch runs it adds as a batch of one. So no stripe is held, and batches
 * exclude one another by regions.
 *
 * A waiting thread spins briefly, then yields: the holder may have been preempted. Nothing that may
 * wait, allocate or call the caller is done under such a lock: that takes a mutex.h.
 */
#ifndef NAY_OS_SPIN_H
#define NAY_OS_SPIN_H

#include "base/base.h"
#include "base/compiler.h"
#include "base/patterns.h"

/* 4,096: with 32 concurrent adds two collide in a stripe with probability 12%, and one waits for
 * one add. */
#define NAY_NSTRIPES 4096u
#define NAY_NREGIONS 64u
#define NAY_REGION_STRIPES (NAY_NSTRIPES / NAY_NREGIONS)

/* NAY_LOCK_BYTES: the locks of a filter, zeroed. */
#define NAY_LOCK_BYTES (NAY_NSTRIPES + NAY_NREGIONS * 64u + 64u)

/* nay__stripe_of: the stripe of a thing by its number, wherever the thing is. */
static inline uint32_t nay__stripe_of(uint64_t thing) { return (uint32_t)(thing * NAY_G64 >> 52); }

/* nay__stripe_in_region: the stripe of a thing that lies in this region. */
static inline uint32_t nay__stripe_in_region(uint32_t region, uint64_t thing) {
  return region * NAY_REGION_STRIPES + (uint32_t)(thing * NAY_G64 >> 58);
}

/* nay__region_shift: unit i of n lies in region i >> shift. */
static inline unsigned nay__region_shift(uint64_t n) {
  unsigned shift = 0;
  while ((n - 1) >> shift >= NAY_NREGIONS) shift++;
  return shift;
}

static inline uint8_t *nay__region_flag(uint8_t *locks, uint32_t region) {
  return locks + NAY_NSTRIPES + (size_t)region * 64;
}

/* nay__spin_try: false: the stripe or its region is taken. */
static inline bool nay__spin_try(uint8_t *locks, uint32_t stripe) {
  uint8_t *lock = locks + stripe;
  if (NAY_UNLIKELY(nay__atomic_swap8(lock, 1) != 0)) return false;
  uint8_t *region = nay__region_flag(locks, stripe / NAY_REGION_STRIPES);
  if (NAY_LIKELY(nay__atomic_ordered8(region) == 0)) return true;
  nay__atomic_release8(lock, 0);
  return false;
}

/* nay__spin_wait: the slow path of nay__spin_lock. */
void nay__spin_wait(uint8_t *locks, uint32_t stripe);

/* nay__spin_lock: locks a stripe; pass the result to nay__spin_unlock. */
static inline uint8_t *nay__spin_lock(uint8_t *locks, uint32_t stripe) {
  if (NAY_UNLIKELY(!nay__spin_try(locks, stripe))) nay__spin_wait(locks, stripe);
  return locks + stripe;
}

static inline void nay__spin_unlock(uint8_t *lock) { nay__atomic_release8(lock, 0); }

/* nay__region_try: false: another batch has the region. Waits for adders that hold a stripe. */
bool nay__region_try(uint8_t *locks, uint32_t region);

/* nay__region_lock: the same, and waits for the other batch. */
void nay__region_lock(uint8_t *locks, uint32_t region);
void nay__region_unlock(uint8_t *locks, uint32_t region);

/* nay__batch_begin, nay__batch_end: of a batch that announces itself; between them no adder holds a
 * stripe that nay__spin_lock_alone gave it. nay__batch_region_lock: a region, among such batches.
 */
void nay__batch_begin(uint8_t *locks);
void nay__batch_end(uint8_t *locks);
void nay__batch_region_lock(uint8_t *locks, uint32_t region);

/* nay__spin_lock_alone: locks a stripe; NULL: a batch has announced itself, and nothing is locked.
 */
uint8_t *nay__spin_lock_alone(uint8_t *locks, uint32_t stripe);

/* nay__spin_lock_all: excludes all adds. The caller must hold no lock. */
void nay__spin_lock_all(uint8_t *locks);
void nay__spin_unlock_all(uint8_t *locks);

#endif /* NAY_OS_SPIN_H */

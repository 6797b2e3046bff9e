/* spin.c - see spin.h: the contended paths, and regions. */
#include "os/spin.h"

#if defined(__unix__) || defined(__APPLE__)
#include <sched.h>
#define SPIN_YIELD() sched_yield()
#else
#define SPIN_YIELD() ((void)0)
#endif

#define SPIN_TRIES 64 /* about as long as the longest add */

static void spin_until_clear(const uint8_t *lock) {
  for (unsigned i = 0; nay__atomic_ordered8(lock) != 0; i++) {
    if (i >= SPIN_TRIES) SPIN_YIELD();
  }
}

void nay__spin_wait(uint8_t *locks, uint32_t stripe) {
  do {
    spin_until_clear(locks + stripe);
    spin_until_clear(nay__region_flag(locks, stripe / NAY_REGION_STRIPES));
  } while (!nay__spin_try(locks, stripe));
}

/* Stripes are nearly always clear: eight of them are one load. ThreadSanitizer, which knows a lock
 * by its address, sees them one by one. */
static void spin_until_all_clear(const uint8_t *stripes, unsigned n) {
  for (unsigned i = 0; i < n; i += 8) {
    if (!NAY_TSAN && NAY_LIKELY(nay__atomic_ordered64(stripes + i) == 0)) continue;
    for (unsigned j = i; j < i + 8; j++) spin_until_clear(stripes + j);
  }
}

bool nay__region_try(uint8_t *locks, uint32_t region) {
  if (nay__atomic_swap8(nay__region_flag(locks, region), 1) != 0) return false;
  spin_until_all_clear(locks + region * NAY_REGION_STRIPES, NAY_REGION_STRIPES);
  return true;
}

void nay__region_lock(uint8_t *locks, uint32_t region) {
  while (!nay__region_try(locks, region)) spin_until_clear(nay__region_flag(locks, region));
}

void nay__region_unlock(uint8_t *locks, uint32_t region) {
  nay__atomic_release8(nay__region_flag(locks, region), 0);
}

static uint8_t *spin_batches(uint8_t *locks) { return locks + NAY_LOCK_BYTES - 64; }

void nay__batch_begin(uint8_t *locks) {
  nay__atomic_ordered_add64(spin_batches(locks), 1);
  spin_until_all_clear(locks, NAY_NSTRIPES);
}

void nay__batch_end(uint8_t *locks) {
  nay__atomic_ordered_add64(spin_batches(locks), ~UINT64_C(0));
}

void nay__batch_region_lock(uint8_t *locks, uint32_t region) {
  uint8_t *flag = nay__region_flag(locks, region);
  while (nay__atomic_swap8(flag, 1) != 0) spin_until_clear(flag);
}

uint8_t *nay__spin_lock_alone(uint8_t *locks, uint32_t stripe) {
  uint8_t *lock = locks + stripe;
  while (nay__atomic_swap8(lock, 1) != 0) spin_until_clear(lock);
  if (NAY_LIKELY(nay__atomic_ordered64(spin_batches(locks)) == 0)) return lock;
  nay__spin_unlock(lock);
  return NULL;
}

void nay__spin_lock_all(uint8_t *locks) {
  for (uint32_t i = 0; i < NAY_NREGIONS; i++) nay__region_lock(locks, i);
}

void nay__spin_unlock_all(uint8_t *locks) {
  for (uint32_t i = 0; i < NAY_NREGIONS; i++) nay__region_unlock(locks, i);
}

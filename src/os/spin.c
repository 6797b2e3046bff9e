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

/* The stripes of a region are nearly always clear: eight of them are one load. */
static bool spin_all_clear(const uint8_t *stripes) {
  uint64_t held = 0;
  for (unsigned i = 0; i < NAY_REGION_STRIPES; i += 8) held |= nay__atomic_ordered64(stripes + i);
  return held == 0;
}

bool nay__region_try(uint8_t *locks, uint32_t region) {
  if (nay__atomic_swap8(nay__region_flag(locks, region), 1) != 0) return false;
  const uint8_t *stripes = locks + region * NAY_REGION_STRIPES;
  if (NAY_LIKELY(spin_all_clear(stripes))) return true;
  for (unsigned i = 0; i < NAY_REGION_STRIPES; i++) spin_until_clear(stripes + i);
  return true;
}

void nay__region_lock(uint8_t *locks, uint32_t region) {
  while (!nay__region_try(locks, region)) spin_until_clear(nay__region_flag(locks, region));
}

void nay__region_unlock(uint8_t *locks, uint32_t region) {
  nay__atomic_release8(nay__region_flag(locks, region), 0);
}

void nay__spin_lock_all(uint8_t *locks) {
  for (uint32_t i = 0; i < NAY_NREGIONS; i++) nay__region_lock(locks, i);
}

void nay__spin_unlock_all(uint8_t *locks) {
  for (uint32_t i = 0; i < NAY_NREGIONS; i++) nay__region_unlock(locks, i);
}

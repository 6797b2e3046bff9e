/*
 * base.h - what every other directory may use of the C library, and the smallest helpers. Only
 * src/base and src/os include libc headers: a port to a platform without libc ports these two.
 */
#ifndef NAY_BASE_H
#define NAY_BASE_H

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nay_advanced.h"

/* NAY_TRY: forwards a failure to the caller. */
#define NAY_TRY(expr)                        \
  do {                                       \
    nay_status nay_try_ = (expr);            \
    if (nay_try_ != NAY_OK) return nay_try_; \
  } while (0)

/* nay__diag_set: all of *diag; a call, so that nay__fail stays small enough to be inlined. */
void nay__diag_set(nay_diag *diag, const char *what, uint64_t offset);

/* nay__fail: fills diag (may be NULL) and returns status: `return nay__fail(...)`. */
static inline nay_status nay__fail(nay_diag *diag, nay_status status, const char *what,
                                   uint64_t offset) {
  if (diag != NULL) nay__diag_set(diag, what, offset);
  return status;
}

/* nay__mul_ok: *product = a * b, false on overflow. For every size of an allocation. */
static inline bool nay__mul_ok(size_t a, size_t b, size_t *product) {
  if (b != 0 && a > SIZE_MAX / b) return false;
  *product = a * b;
  return true;
}

/* nay__size_ok: a 64-bit count of bytes as size_t, false where size_t is too narrow. */
static inline bool nay__size_ok(uint64_t nbytes, size_t *size) {
  if (nbytes > SIZE_MAX / 2) return false; /* half: rounding up needs no second check */
  *size = (size_t)nbytes;
  return true;
}

static inline uint64_t nay__min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t nay__max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

static inline uint64_t nay__ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/* nay__round_up: the least multiple of `to` at or above x; must not overflow. */
static inline uint64_t nay__round_up(uint64_t x, uint64_t to) { return nay__ceil_div(x, to) * to; }

#endif /* NAY_BASE_H */

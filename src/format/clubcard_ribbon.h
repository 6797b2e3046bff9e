/*
 * clubcard_ribbon.h - systems of equations over GF(2) whose coefficients lie in a window of 256
 * columns (ribbon): elimination as equations come, back substitution, and the number of rows.
 */
#ifndef NAY_CLUBCARD_RIBBON_H
#define NAY_CLUBCARD_RIBBON_H

#include "format/clubcard.h"

/* nay_clubrow: the coefficients of 256 unknowns from that of the row on, whose own is 1. All 0:
 * no equation begins here. */
typedef struct nay_clubrow {
  uint64_t a[4];
} nay_clubrow;

/* nay_clubribbon: zero-initialise; nay__clubribbon_free releases the rows. */
typedef struct nay_clubribbon {
  nay_clubrow *rows;
  uint8_t *right; /* right side of each row */
  size_t room;    /* allocated rows: m and the 255 that a window may reach beyond them */
  size_t nrows;   /* m, or more: one past the last that is taken */
  uint64_t m;
  uint64_t nredundant; /* equations that others imply */
} nay_clubribbon;

/* nay__clubribbon_reset: an empty system of m rows. NAY_ENOMEM, NAY_EFULL: above 2^32 rows. */
nay_status nay__clubribbon_reset(nay_clubribbon *r, uint64_t m, const nay_allocator *a);
void nay__clubribbon_free(nay_clubribbon *r, const nay_allocator *a);

/* nay__clubribbon_insert: one more equation; false: it contradicts the others and is left out. */
bool nay__clubribbon_insert(nay_clubribbon *r, const nay_clubkey *key, unsigned right);

/*
 * nay__clubribbon_rows: the number of rows to try for n equations, for trial 0, 1, ...; 0 after the
 * last. Few equations need no slack: the rows beyond m, up to 255, take what is too much. Many do:
 * the chance that a window is full falls as exp(-512 * slack).
 */
#define NAY_CLUBRIBBON_STEP 400u /* a trial has n / 400 more rows than the one before */
uint64_t nay__clubribbon_rows(uint64_t n, unsigned trial);

/* nay_clubrandom: the values of unknowns that no equation determines; state 0 gives zeros. */
typedef struct nay_clubrandom {
  uint64_t state, word;
  unsigned left;
} nay_clubrandom;

/*
 * nay__clubribbon_solve: the unknowns, nrows bits at `bits`. `window` has the 256 unknowns behind
 * the last row, and then those from the first row on.
 */
void nay__clubribbon_solve(const nay_clubribbon *r, nay_clubrandom *random, uint64_t window[4],
                           uint64_t *bits);

#endif /* NAY_CLUBCARD_RIBBON_H */

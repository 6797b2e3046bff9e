/* clubcard_build.h - the block of an issuer, and clubcards of blocks. */
#ifndef NAY_CLUBCARD_BUILD_H
#define NAY_CLUBCARD_BUILD_H

#include "format/clubcard_keys.h"
#include "format/clubcard_ribbon.h"

/* nay_clubblock: what the file has of an issuer. */
typedef struct nay_clubblock {
  const nay_clubcard_issuer *issuer;
  uint64_t nset, nothers; /* the set is that of the revoked, or, inverted, of the others */
  uint64_t approx_m, exact_m, approx_offset, exact_offset;
  uint64_t approx_rows, exact_rows;
  unsigned rank;
  bool inverted;
  size_t number;         /* in the caller's array */
  nay_buffer approx;     /* rank columns of approx_words(rows) words, each with its window */
  nay_buffer exact;      /* one */
  nay_buffer exceptions; /* pointers to records */
} nay_clubblock;

/* nay__clubblock_words: of a column of so many rows, with the 256 unknowns behind them. */
static inline size_t nay__clubblock_words(uint64_t rows) { return (size_t)(rows / 64 + 6); }

/* nay_clubwork: what the blocks share; they are built from the last to the first. */
typedef struct nay_clubwork {
  const nay_allocator *a;
  nay_diag *diag;
  nay_clubribbon ribbon;
  nay_clubset revoked, set, others;
  nay_buffer found;                              /* a byte for each of the revoked: it is known */
  uint64_t windows[NAY_CLUBCARD_MAX_COLUMNS][4]; /* the unknowns behind the block, of each column */
  nay_clubrandom random[NAY_CLUBCARD_MAX_COLUMNS];
  uint64_t exact_window[4];
  unsigned ncolumns; /* begun so far */
} nay_clubwork;

/* nay__clubblock_count: the rank of a block, by the sizes of its sets. */
nay_status nay__clubblock_count(nay_clubwork *w, nay_clubblock *b);

/* nay__clubblock_solve: its unknowns and exceptions. NAY_EINVAL: a revoked serial is not known. */
nay_status nay__clubblock_solve(nay_clubwork *w, nay_clubblock *b);

/* nay__clubblock_revoked: work.revoked becomes the sorted set of the issuer's revoked. */
nay_status nay__clubblock_revoked(nay_clubwork *w, const nay_clubblock *b);

#endif /* NAY_CLUBCARD_BUILD_H */

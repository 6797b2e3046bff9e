/*
 * series.c - the share of level i is 0.18 * 0.82^i.
 *
 * Levels triple, so the last one holds two thirds of the keys and its share decides what a key
 * costs. A series must converge, but slowly. Halving (the usual choice) gives level 14 a share of
 * 2^-15; 1/i^2 is slow in the end but spends 61% on the first level, which is soon a small part of
 * the filter. tests/stats/test_mutable_series.c computes what each costs, with the exact
 * false-positive rate (FPR), for 10^3 to 10^10 keys grown from 10^2, 10^3, 10^5. The table is in
 * doc/families/scalable.md; doc/design/0034-growth.md compares factors of growth.
 */
#include "math/series.h"

#include "base/patterns.h"
#include "math/elementary.h"
#include "math/fpr.h"
#include "math/plan.h"

#define SERIES_FIRST 0.18
#define SERIES_RATIO 0.82
#define SERIES_WIDE                                                             \
  0.0009 /* below this FPR, blocks of 512 bits: those of 256 take over 13% more \
          */

double nay__series_share(unsigned i) { return SERIES_FIRST * nay__ipow(SERIES_RATIO, i); }

/* A key misses a given bit of its block with s = (1-1/b)^k; n keys over N blocks: see fpr.c. */
static uint64_t series_full(uint32_t block_bits, uint64_t nblocks, uint32_t k, uint64_t nkeys) {
  double s = nay__ipow(1 - 1.0 / block_bits, k);
  double clear = nblocks == 1 ? nay__ipow(s, nkeys)
                              : nay__exp((double)nkeys * nay__ln1p((s - 1) / (double)nblocks));
  double full = (double)nblocks * block_bits * (1 - clear);
  return full < 1 ? 1 : (uint64_t)full;
}

/*
 * The bits of nkeys keys vary by about a quarter of sqrt(nkeys) keys. A half planned for
 * sqrt(nkeys) more is not taken for full before nkeys are in: a filter that starts with the right
 * number of keys never grows.
 */
static uint64_t series_with_room(uint64_t nkeys) {
  return nkeys + (uint64_t)nay__exp(0.5 * nay__ln((double)nkeys)) + 1;
}

bool nay__series_level(uint64_t nkeys, double fpr, unsigned i, nay_level *level) {
  if (nkeys == 0 || nkeys > NAY_MAX_NKEYS) return false;
  uint64_t n = series_with_room(nkeys);
  uint32_t k, block_bits = fpr < SERIES_WIDE ? NAY_BLOCK_BITS : NAY_HALF_BITS;
  uint64_t nblocks = nay__halves_size(block_bits, n, fpr * nay__series_share(i), &k);
  if (nblocks == 0) return false;
  *level = (nay_level){nkeys, nblocks, series_full(block_bits, nblocks, k, n), k, block_bits};
  return true;
}

double nay__series_fpr(uint64_t first, double fpr, uint64_t n) {
  double nay = 1; /* chance that an absent key is nay in every half */
  for (unsigned i = 0; n > 0 && i < 64; i++, first *= NAY_SERIES_GROWTH) {
    nay_level level;
    if (!nay__series_level(first, fpr, i, &level)) break;
    for (unsigned half = 0; half < 2; half++) {
      uint64_t here = nay__min_u64(n, first);
      nay *= 1 - nay__fpr_blocks(level.nblocks, level.block_bits, level.k, here);
      n -= here;
    }
  }
  return 1 - nay;
}

/* series.h - how a filter that grows divides its FPR among the levels to come. */
#ifndef NAY_SERIES_H
#define NAY_SERIES_H

#include "base/base.h"

#define NAY_SERIES_GROWTH 3u /* keys of a level: times those of the level before it */

/*
 * nay__series_share: the part of the whole FPR that level i may spend; over all i the parts sum to
 * 1, so the FPR holds however often the filter grows.
 */
double nay__series_share(unsigned i);

/* nay_level: one level of a filter that grows: two blocked Bloom filters side by side, its halves,
 * each planned for nkeys. */
typedef struct nay_level {
  uint64_t nkeys;
  uint64_t nblocks;
  uint64_t nbits_full; /* of a half: no fewer than nkeys keys set, but for one case in 10^4 */
  uint32_t k;
  uint32_t block_bits; /* 256, or 512 at a low FPR */
} nay_level;

/* nay__series_level: level i for 2 * nkeys keys, of a filter with this FPR; false: none can do it.
 */
bool nay__series_level(uint64_t nkeys, double fpr, unsigned i, nay_level *level);

/* nay__series_fpr: the FPR of a filter that started with `first` keys and now holds n. */
double nay__series_fpr(uint64_t first, double fpr, uint64_t n);

#endif /* NAY_SERIES_H */

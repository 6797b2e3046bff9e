/* sliced.h - sizes for a window: several small Bloom filters side by side in each unit. */
#ifndef NAY_SLICED_H
#define NAY_SLICED_H

#include "base/base.h"

/* nay_slices: `slices` filters of nbits bits each in every unit; a query probes them all. */
typedef struct nay_slices {
  uint32_t slices;
  uint32_t nbits;
} nay_slices;

/* nay__sliced_fpr: the FPR when each slice holds n keys over all units. */
double nay__sliced_fpr(nay_slices s, uint64_t nunits, uint32_t k, uint64_t n);

/* nay__sliced_k: the least k whose FPR is within 1% of the best. */
uint32_t nay__sliced_k(nay_slices s, uint64_t nunits, uint64_t n);

/* nay__sliced_units: the fewest units that keep the FPR; k 0: any k; 0 units: none can. */
uint64_t nay__sliced_units(nay_slices s, uint64_t n, double fpr, uint32_t k);

#endif /* NAY_SLICED_H */

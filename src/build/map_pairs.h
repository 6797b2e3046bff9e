/* map_pairs.h - the pairs of a map: how many bits their values have, duplicates and conflicts. */
#ifndef NAY_MAP_PAIRS_H
#define NAY_MAP_PAIRS_H

#include "base/alloc.h"
#include "build/map_build.h"

/* nay_map_repeat: a hash that comes more than once; what its first pair is. */
typedef struct nay_map_repeat {
  uint64_t hash, value;
  uint64_t first; /* 1 + the index of the pair; 0: not met yet */
} nay_map_repeat;

/* nay_map_pairs: all pairs of a build. repeats[] is ascending. */
typedef struct nay_map_pairs {
  nay_map_source source;
  nay_allocator allocator;
  uint64_t ndistinct; /* hashes */
  nay_map_repeat *repeats;
  size_t nrepeats, repeats_cap;
} nay_map_pairs;

/*
 * nay__map_pairs_check: fills *pairs, whose source and allocator are set, and *value_bits, if it is
 * 0. NAY_EINVAL: diag names the pair. NAY_EIO. Afterwards nay__map_pairs_free, whatever it returns.
 */
nay_status nay__map_pairs_check(nay_map_pairs *pairs, uint32_t *value_bits, nay_diag *diag);
void nay__map_pairs_free(nay_map_pairs *pairs);

/* nay__map_pairs_each: calls `each` once for every hash in [lo, hi], with its value. NAY_EIO. */
typedef void (*nay_map_each)(void *ctx, uint64_t hash, uint64_t value);
nay_status nay__map_pairs_each(nay_map_pairs *pairs, uint64_t lo, uint64_t hi, nay_map_each each,
                               void *ctx);

#endif /* NAY_MAP_PAIRS_H */

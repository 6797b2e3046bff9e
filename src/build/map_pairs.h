/* map_pairs.h - the pairs of a map: how many bits their values have, duplicates and conflicts. */
#ifndef NAY_MAP_PAIRS_H
#define NAY_MAP_PAIRS_H

#include "base/alloc.h"
#include "build/map_build.h"

/*
 * nay_map_pairs: all pairs of a build. repeated[] are the hashes that come more than once,
 * ascending; seen[i] is 1 + the index of the first pair with repeated[i], once it has been met.
 */
typedef struct nay_map_pairs {
  const nay_map_run *runs;
  size_t nruns;
  uint64_t n;         /* pairs */
  uint64_t ndistinct; /* hashes */
  nay_allocator allocator;
  nay_memory sorted;
  uint64_t *repeated, *seen;
  size_t nrepeated;
} nay_map_pairs;

/*
 * nay__map_pairs_check: fills *pairs, whose runs, n and allocator are set, and *value_bits, if it
 * is 0. NAY_EINVAL: diag names the pair. Afterwards nay__map_pairs_free, whatever it returns.
 */
nay_status nay__map_pairs_check(nay_map_pairs *pairs, uint32_t *value_bits, nay_diag *diag);
void nay__map_pairs_free(nay_map_pairs *pairs);

/* nay__map_pairs_each: calls `each` once for every hash, with its value. */
void nay__map_pairs_each(nay_map_pairs *pairs, void (*each)(void *, uint64_t hash, uint64_t value),
                         void *ctx);

#endif /* NAY_MAP_PAIRS_H */

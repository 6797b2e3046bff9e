/* map_build.h - builds static maps from runs of hashes and values. */
#ifndef NAY_MAP_BUILD_H
#define NAY_MAP_BUILD_H

#include "map_handle.h"

/* nay_map_run: n pairs of a hash and a value. */
typedef struct nay_map_run {
  const uint64_t *hashes, *values;
  size_t n;
} nay_map_run;

/* nay__map_build: as nay_map_build, from n pairs in nruns runs, all but the last of one length.
 * params are checked. */
nay_status nay__map_build(const nay_map_params *params, const nay_hasher *hasher,
                          const nay_map_run *runs, size_t nruns, uint64_t n,
                          const nay_allocator *allocator, nay_diag *diag, nay_map **map);

#endif /* NAY_MAP_BUILD_H */

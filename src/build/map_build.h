/* map_build.h - builds static maps from pairs of hashes and values. */
#ifndef NAY_MAP_BUILD_H
#define NAY_MAP_BUILD_H

#include "build/hash_spill.h"
#include "map_handle.h"

/* nay_map_run: n pairs of a hash and a value. */
typedef struct nay_map_run {
  const uint64_t *hashes, *values;
  size_t n;
} nay_map_run;

/* NAY_MAP_RECORD: words of a record in a temporary file: hash, value, index of the pair. */
#define NAY_MAP_RECORD 3u

/* nay_map_source: all pairs of a build, duplicates included. A build reads them several times. */
typedef struct nay_map_source {
  const nay_map_run *runs;
  size_t nruns;
  nay_hash_spill *spill; /* the pairs in a temporary file, instead; or NULL */
  uint64_t n;            /* in all */
  uint64_t group_keys;   /* how many of them are in memory at a time */
} nay_map_source;

/* nay__map_build: as nay_map_build. params are checked. */
nay_status nay__map_build(const nay_map_params *params, const nay_hash_fn *hasher,
                          const nay_map_source *source, const nay_allocator *allocator,
                          nay_diag *diag, nay_map **map);

#endif /* NAY_MAP_BUILD_H */

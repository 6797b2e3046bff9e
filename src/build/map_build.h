/* map_build.h - builds static maps from pairs of hashes and values. */
#ifndef NAY_MAP_BUILD_H
#define NAY_MAP_BUILD_H

#include "build/hash_spill.h"
#include "family/map.h"
#include "filter.h"

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

/* nay__map_build: params are checked. Statuses: as nay_builder_finish of a map, nay_map.h. */
nay_status nay__map_build(const nay_params *params, const nay_hash_fn *hasher,
                          const nay_map_source *source, const nay_allocator *allocator,
                          nay_diag *diag, nay_filter **map);

/* nay__map_build_arrays: from n hashes and their values, which are only read. */
nay_status nay__map_build_arrays(const nay_params *params, const uint64_t *hashes,
                                 const uint64_t *values, size_t n, const nay_allocator *allocator,
                                 nay_diag *diag, nay_filter **map);

/*
 * nay_map_builder: what a nay_builder of the kind NAY_MAP keeps: pages of pairs, or with
 * NAY_LOW_MEMORY a temporary file. params are checked.
 */
typedef struct nay_map_builder nay_map_builder;
nay_status nay__map_builder_new(const nay_params *params, const nay_hash_fn *hasher,
                                const nay_allocator *allocator, nay_diag *diag,
                                nay_map_builder **builder);
nay_status nay__map_builder_add(nay_map_builder *builder, uint64_t hash, uint64_t value);
uint64_t nay__map_builder_npairs(const nay_map_builder *builder);
nay_status nay__map_builder_finish(nay_map_builder *builder, nay_diag *diag, nay_filter **map);
void nay__map_builder_free(nay_map_builder *builder);

#endif /* NAY_MAP_BUILD_H */

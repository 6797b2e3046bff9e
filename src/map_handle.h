/* map_handle.h - a map and the filter handle that it is (family/map.h). */
#ifndef NAY_MAP_HANDLE_H
#define NAY_MAP_HANDLE_H

#include "family/map.h"
#include "filter.h"
#include "nay_map.h"

struct nay_map {
  nay_filter filter; /* all of it: a map is released and moved as a filter */
};

static inline const nay_filter *nay__map_filter(const nay_map *map) { return &map->filter; }

/* nay__map_of: the map that a filter of nay__family_map is. */
static inline nay_map *nay__map_of(nay_filter *filter) { return (nay_map *)(void *)filter; }

/* nay__map_params: a copy of params, of the size that this library knows. NAY_EINVAL. */
nay_status nay__map_params(const nay_map_params *params, nay_diag *diag, nay_map_params *copy,
                           nay_hash_fn *hasher);

#endif /* NAY_MAP_HANDLE_H */

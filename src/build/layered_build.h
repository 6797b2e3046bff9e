/* layered_build.h - fills the layers of a static filter (nay_layers, family/family.h). */
#ifndef NAY_LAYERED_BUILD_H
#define NAY_LAYERED_BUILD_H

#include "build/shard_partition.h"
#include "family/family.h"

/* nay_layered: what to build, and from what. */
typedef struct nay_layered {
  nay_filter *filter; /* its payload is written */
  const nay_solver *solver;
  nay_partition *parts; /* cut into the parts of layer 0 */
  const nay_allocator *allocator;
  unsigned nthreads;
  bool verify;
  bool distinct; /* the source has no duplicates */
} nay_layered;

typedef enum nay_layered_end {
  NAY_LAYERED_FILLED,
  NAY_LAYERED_DUPLICATES, /* or so many keys without a slot that there may be duplicates */
  NAY_LAYERED_STUCK       /* no seed works, and there is no premix yet */
} nay_layered_end;

/* nay__layered_build: NAY_ECORRUPT: a filter that was filled lacks a key. */
nay_status nay__layered_build(nay_layered *layered, nay_layered_end *end);

/* nay__layered_memory: bytes for n keys, beside those of the partition. */
uint64_t nay__layered_memory(const nay_layers *layers, const nay_shape *shape, uint64_t n,
                             unsigned nthreads);

#endif /* NAY_LAYERED_BUILD_H */

/* cfchain.h - inside a cuckoo chain: what its operations and its bytes share. */
#ifndef NAY_CFCHAIN_H
#define NAY_CFCHAIN_H

#include "redis/cfsub.h"
#include "redis/redis.h"

struct nay_cfchain {
  nay_cfsub *subs;
  uint64_t nbuckets; /* of subs[0] */
  uint64_t nitems;
  uint64_t ndeletes;
  uint32_t nfilters;
  uint32_t nfilters_room; /* length of subs: compaction leaves it as it is, so it cannot fail */
  uint32_t bucket_size;
  uint32_t max_iterations;
  uint32_t expansion;
  nay_zallocator allocator;
};

/* nay__cf_sub_len: bytes of sub-filter i. */
static inline size_t nay__cf_sub_len(const nay_cfchain *chain, uint64_t i) {
  return (size_t)chain->subs[i].nbuckets * chain->bucket_size;
}

#endif /* NAY_CFCHAIN_H */

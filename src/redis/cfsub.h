/*
 * cfsub.h - one sub-filter of RedisBloom's cuckoo chain, over bytes of the caller: those of the
 * chain object (cfchain.c) or of a dump in memory (format/).
 *
 *   fp = hash % 255 + 1        a slot is one byte; 0: free
 *   bucket 1 = hash mod nbuckets, bucket 2 = (hash ^ fp * 0x5bd1e995) mod nbuckets
 *
 * nbuckets is a power of two, so the partner of a bucket can be told from its index and the
 * fingerprint alone, in this sub-filter and in every smaller one.
 */
#ifndef NAY_CFSUB_H
#define NAY_CFSUB_H

#include "base/base.h"

typedef struct nay_cfsub {
  uint8_t *slots; /* nbuckets * bucket_size of the chain */
  uint64_t nbuckets;
} nay_cfsub;

/* nay_cfkey: where a key may be, in any sub-filter. */
typedef struct nay_cfkey {
  uint64_t h1, h2;
  uint8_t fp;
} nay_cfkey;

static inline uint64_t nay__cf_partner(uint64_t h, uint8_t fp) {
  return h ^ (uint64_t)fp * 0x5bd1e995u;
}

static inline nay_cfkey nay__cf_key(uint64_t hash) {
  uint8_t fp = (uint8_t)(hash % 255 + 1);
  return (nay_cfkey){hash, nay__cf_partner(hash, fp), fp};
}

static inline uint8_t *nay__cf_bucket(const nay_cfsub *sub, uint32_t bucket_size, uint64_t h) {
  return sub->slots + (size_t)(h & (sub->nbuckets - 1)) * bucket_size;
}

/* nay__cf_find: the first slot of bucket 1, then 2, that holds `value` (0: a free one); or NULL. */
static inline uint8_t *nay__cf_find(const nay_cfsub *sub, uint32_t bucket_size,
                                    const nay_cfkey *key, uint8_t value) {
  uint8_t *a = nay__cf_bucket(sub, bucket_size, key->h1);
  for (uint32_t i = 0; i < bucket_size; i++) {
    if (a[i] == value) return a + i;
  }
  uint8_t *b = nay__cf_bucket(sub, bucket_size, key->h2);
  for (uint32_t i = 0; i < bucket_size; i++) {
    if (b[i] == value) return b + i;
  }
  return NULL;
}

/* nay__cf_count: slots that hold the key's fingerprint, each once. */
uint64_t nay__cf_count(const nay_cfsub *sub, uint32_t bucket_size, const nay_cfkey *key);

/*
 * nay__cf_kick: makes room for the key by moving others, at most max_iterations of them. False: it
 * the kicks found no free slot, and every slot is unchanged.
 */
bool nay__cf_kick(const nay_cfsub *sub, uint32_t bucket_size, uint32_t max_iterations,
                  const nay_cfkey *key);

/* nay__cf_occupied: slots that are not free. */
uint64_t nay__cf_occupied(const uint8_t *slots, size_t n);

#endif /* NAY_CFSUB_H */

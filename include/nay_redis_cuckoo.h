/*
 * nay_redis_cuckoo.h - RedisBloom's cuckoo filter (CF.*) as an object: the same answers and the
 * same bytes after the same calls. The module for Redis and the formats of `nay convert` share it.
 *
 *   nay_cfchain_header h;
 *   nay_cfchain_plan(1024, 2, 20, 1, &h);              // capacity, bucket, iterations, expansion
 *   nay_cfchain *chain;
 *   nay_cfchain_new(&h, NULL, NULL, &chain);
 *   nay_cfchain_add(chain, nay_cfchain_hash("foo", 3));
 *   nay_cfchain_free(chain);
 *
 * It is a chain of sub-filters: when the newest is full, one that is `expansion` times as large is
 * added. Fingerprints have 8 bits whatever the size, so the rate grows with the chain; for a filter
 * of your own take NAY_CUCKOO of nay.h. Conventions (ownership, errors, threads) are those of
 * nay.h.
 */
#ifndef NAY_REDIS_CUCKOO_H
#define NAY_REDIS_CUCKOO_H

#include "nay_redis.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NAY_CFCHAIN_HEADER_LEN 38u               /* bytes of a dump before its slots */
#define NAY_CFCHAIN_CHUNK_LEN ((size_t)16 << 20) /* a chunk of a dump is never longer */
#define NAY_CFCHAIN_MAX_FILTERS 65535u
#define NAY_CFCHAIN_MAX_CAPACITY ((uint64_t)1 << 30)

typedef struct nay_cfchain nay_cfchain;

/* nay_cfchain_header: all that a chain is beside its slots. */
typedef struct nay_cfchain_header {
  uint64_t nitems;
  uint64_t nbuckets; /* of the first sub-filter: a power of two; sub-filter i has expansion^i times
                        as many */
  uint64_t ndeletes; /* since the last compaction */
  uint64_t nfilters;
  uint32_t bucket_size;    /* slots of a bucket, 1 to 255 */
  uint32_t max_iterations; /* kicks before the chain grows, 1 to 65535 */
  uint32_t expansion;      /* 0: never grows; else a power of two up to 32768 */
} nay_cfchain_header;

/*
 * nay_cfchain_plan: the header of an empty chain. The number of buckets is capacity / bucket_size,
 * rounded up to a power of two, and so is expansion. NAY_EINVAL: a number is out of range; capacity
 * is 2 * bucket_size to 2^30.
 */
NAY_API nay_status nay_cfchain_plan(uint64_t capacity, uint32_t bucket_size,
                                    uint32_t max_iterations, uint32_t expansion,
                                    nay_cfchain_header *header);

/* nay_cfchain_nslots: bytes that the slots of such a chain take. NAY_ECORRUPT: no chain has such a
 * header, or its size cannot be addressed; diag's offset is that of the field in a dump. */
NAY_API nay_status nay_cfchain_nslots(const nay_cfchain_header *header, nay_diag *diag,
                                      uint64_t *nslots);

/*
 * nay_cfchain_new: a chain of header->nfilters empty sub-filters. header->nitems is not trusted:
 * items are counted as chunks bring them. Its slots are allocated now: give an allocator with a
 * limit when the header is untrusted. NAY_ECORRUPT, NAY_ENOMEM.
 */
NAY_API nay_status nay_cfchain_new(const nay_cfchain_header *header,
                                   const nay_zallocator *allocator, nay_diag *diag,
                                   nay_cfchain **chain);

/*
 * nay_cfchain_open: the same without slots, for a reader that has them in buffers of the same
 * allocator: adopt each in turn (the chain then owns it; refused: still the caller's), then finish,
 * which counts the items. Nothing else may be called before. NAY_ECORRUPT: the length is not that
 * of sub-filter i; or one is missing.
 */
NAY_API nay_status nay_cfchain_open(const nay_cfchain_header *header,
                                    const nay_zallocator *allocator, nay_diag *diag,
                                    nay_cfchain **chain);
NAY_API nay_status nay_cfchain_adopt(nay_cfchain *chain, uint64_t i, uint64_t nbuckets, void *slots,
                                     size_t len);
NAY_API nay_status nay_cfchain_finish(nay_cfchain *chain);

/* nay_cfchain_copy: an independent copy. */
NAY_API nay_status nay_cfchain_copy(const nay_cfchain *chain, const nay_zallocator *allocator,
                                    nay_cfchain **copy);
NAY_API void nay_cfchain_free(nay_cfchain *chain);

/* nay_cfchain_describe: the header as it is now. */
NAY_API void nay_cfchain_describe(const nay_cfchain *chain, nay_cfchain_header *header);

/* nay_cfchain_nbytes: memory in RedisBloom's count: 40, 16 for each sub-filter, the slots. */
NAY_API uint64_t nay_cfchain_nbytes(const nay_cfchain *chain);

/* nay_cfchain_slots: the slots of sub-filter i, NULL past the last. */
NAY_API const uint8_t *nay_cfchain_slots(const nay_cfchain *chain, uint64_t i, size_t *len);

/* nay_cfchain_hash: a key is hashed once; every call below takes the hash. */
NAY_API uint64_t nay_cfchain_hash(const void *key, size_t len);

/* nay_cfchain_prefetch: prefetches the cache lines that adds (all false) or probes (true) of these
 * hashes will read. */
NAY_API void nay_cfchain_prefetch(const nay_cfchain *chain, const uint64_t *hashes, size_t n,
                                  bool all);

/*
 * nay_cfchain_add: NAY_EFULL: no room, and the chain may not grow (expansion 0, 65535 sub-filters).
 * NAY_ENOMEM: it could not grow. The chain is then as it was, kicks undone.
 */
NAY_API nay_status nay_cfchain_add(nay_cfchain *chain, uint64_t hash);
NAY_API bool nay_cfchain_has(const nay_cfchain *chain, uint64_t hash);

/* nay_cfchain_count: slots that hold the fingerprint. A slot counts once, also where both buckets
 * of the key are the same. */
NAY_API uint64_t nay_cfchain_count(const nay_cfchain *chain, uint64_t hash);

/*
 * nay_cfchain_remove: false when the key tests nay. Compacts the chain when more than a tenth as
 * many keys were removed as are in it.
 */
NAY_API bool nay_cfchain_remove(nay_cfchain *chain, uint64_t hash);

/* nay_cfchain_compact: moves fingerprints from newer sub-filters into older ones, and releases
 * the newest as long as that empties it. */
NAY_API void nay_cfchain_compact(nay_cfchain *chain);

/* ---- dumps -------------------------------------------------------------------------------------
 *
 * A dump is the header, then the slots of the sub-filters one after the other, in chunks that never
 * cross a sub-filter.
 */

/* nay_cfchain_write_header: the first bytes of a dump. */
NAY_API void nay_cfchain_write_header(const nay_cfchain_header *header,
                                      uint8_t bytes[NAY_CFCHAIN_HEADER_LEN]);

/* nay_cfchain_read_header: NAY_ECORRUPT: not 38 bytes, or the header of no chain. */
NAY_API nay_status nay_cfchain_read_header(const void *bytes, size_t len, nay_diag *diag,
                                           nay_cfchain_header *header);

/* nay_cfchain_chunk: the bytes from an offset into the slots on, as many as one chunk has; NULL
 * past the last. */
NAY_API const uint8_t *nay_cfchain_chunk(const nay_cfchain *chain, uint64_t offset, size_t *len);

/* nay_cfchain_load: writes a chunk at an offset. NAY_EINVAL: not within one sub-filter. */
NAY_API nay_status nay_cfchain_load(nay_cfchain *chain, uint64_t offset, const void *bytes,
                                    size_t len);

/*
 * nay_cfchain_move: lets `mover` move one allocation of the chain: part 0 is the object itself, 1
 * the list of sub-filters, 2 and up their slots. False when there is no such part.
 */
NAY_API bool nay_cfchain_move(nay_cfchain **chain, uint64_t part, nay_mover mover, void *ctx);

#ifdef __cplusplus
}
#endif

#endif /* NAY_REDIS_CUCKOO_H */

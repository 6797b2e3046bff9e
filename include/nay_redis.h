/*
 * nay_redis.h - RedisBloom's layouts as objects: chained Bloom filters (BF.*, type MBbloom--).
 *
 *   nay_sbchain *chain;
 *   nay_sbchain_new(0.01, 100, 2, NAY_SB_DEFAULT, NULL, &chain);
 *   nay_sbchain_add(chain, "foo", 3, NULL);
 *   if (!nay_sbchain_may_contain(chain, "bar", 3)) puts("nay");
 *   nay_sbchain_free(chain);
 *
 * The bytes are RedisBloom's: a dump, an RDB value or a chunk made here is the one that its module
 * makes of the same commands, and the other way round. The module of plugins/redis and the formats
 * of `nay convert` are built on these calls, which are public for a server or proxy that must have
 * the same bytes. New work that needs no such bytes is better served by
 * nay.h: keyed hashes, checksums, fewer bits.
 *
 * Everything that comes from outside (a header, the fields of an RDB value) is checked before it is
 * used, and every size is computed again: what you receive is safe to query, even if an attacker
 * wrote it.
 *
 * Ownership, errors and threads are as in nay.h.
 */
#ifndef NAY_REDIS_H
#define NAY_REDIS_H

#include "nay_advanced.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory ---------------------------------------------------------------------------------- */

/*
 * nay_zallocator: where the memory of these objects comes from; NULL means calloc and free. Unlike
 * nay_allocator it hands out zeroed memory: bit arrays may be huge, and fresh pages of the system
 * are zero already. `zalloc` returns NULL when there is none.
 */
typedef struct nay_zallocator {
  void *(*zalloc)(void *ctx, size_t size);
  void (*free)(void *ctx, void *ptr, size_t size);
  void *ctx;
} nay_zallocator;

/* ---- chained Bloom filters ------------------------------------------------------------------- */

typedef struct nay_sbchain nay_sbchain;

/* Options, with the numbers of the dumps. New filters have NAY_SB_DEFAULT, or that and NO_SCALING;
 * the rest is what versions before 2.0 wrote. */
#define NAY_SB_NO_ROUND 1u         /* the size is not rounded up to a power of two */
#define NAY_SB_ENTRIES_ARE_LOG2 2u /* capacity was given as the logarithm of the number of bits */
#define NAY_SB_HASH64 4u           /* MurmurHash64A; without it the 32-bit hash of old filters */
#define NAY_SB_NO_SCALING 8u       /* one link, which can be full */
#define NAY_SB_DEFAULT (NAY_SB_NO_ROUND | NAY_SB_HASH64)

/* nay_sblink: one Bloom filter of a chain. */
typedef struct nay_sblink {
  uint64_t entries; /* how many items it is made for */
  uint64_t size;    /* how many have been added */
  double error;     /* its rate when full */
  double bpe;       /* bits per entry */
  uint64_t nbits;
  uint64_t nbytes;
  uint32_t hashes; /* bits that an item sets */
  uint32_t n2;     /* positions are taken modulo 2^n2 (old filters); 0: modulo nbits */
  const uint8_t *bytes;
} nay_sblink;

/* nay_sbstats: the chain as a whole. */
typedef struct nay_sbstats {
  uint64_t size;     /* items that were new when they were added */
  uint64_t capacity; /* sum of the links' entries */
  uint64_t nbytes;   /* sum of the links' arrays */
  uint64_t nlinks;
  uint32_t options;
  uint32_t growth;
} nay_sbstats;

/*
 * nay_sbchain_new: an empty chain of one link for `capacity` items at the rate `error`. Unless it
 * is not scaling, each further link holds `growth` times the items of the one before at half its
 * rate, and the first has error / 2. NAY_EINVAL: error outside (0, 1), capacity 0, growth 0 in a
 * chain that scales, unknown options, or a size beyond 2^63 bits. NAY_ENOMEM.
 */
NAY_API nay_status nay_sbchain_new(double error, uint64_t capacity, uint32_t growth,
                                   uint32_t options, const nay_zallocator *allocator,
                                   nay_sbchain **chain);
NAY_API nay_status nay_sbchain_copy(const nay_sbchain *chain, const nay_zallocator *allocator,
                                    nay_sbchain **copy);
NAY_API void nay_sbchain_free(nay_sbchain *chain);

/*
 * nay_sbchain_add: is_new (may be NULL) tells whether the chain said nay before. NAY_EFULL: the
 * chain does not scale and its link is full. An item that tests maybe is NAY_OK even then.
 * NAY_ENOMEM, NAY_EINVAL: the next link cannot be made.
 */
NAY_API nay_status nay_sbchain_add(nay_sbchain *chain, const void *item, size_t len, bool *is_new);
NAY_API bool nay_sbchain_may_contain(const nay_sbchain *chain, const void *item, size_t len);

/*
 * The same for at most NAY_SB_BATCH items at once, whose memory is fetched together. Bit i of
 * *answers is that of item i. Adds stop at the first item that fails: *done items were taken.
 */
#define NAY_SB_BATCH 64u
NAY_API nay_status nay_sbchain_add_many(nay_sbchain *chain, const void *const *items,
                                        const size_t *lens, size_t n, uint64_t *is_new,
                                        size_t *done);
NAY_API void nay_sbchain_may_contain_many(const nay_sbchain *chain, const void *const *items,
                                          const size_t *lens, size_t n, uint64_t *answers);

/* nay_sbchain_stats: what the chain is and holds; cheap. */
NAY_API void nay_sbchain_stats(const nay_sbchain *chain, nay_sbstats *stats);

/* nay_sbchain_link: link i of nlinks; the first is the oldest. NAY_EINVAL: there is no such link.
 */
NAY_API nay_status nay_sbchain_link(const nay_sbchain *chain, uint64_t i, nay_sblink *link);

/*
 * Dumps. A chain is a header (what BF.SCANDUMP returns first) and the concatenated arrays of its
 * links, in pieces that never cross from one link into the next.
 *
 * nay_sbchain_decode_header checks a header and makes the chain it describes, with all bits zero;
 * its arrays are allocated then, so give an allocator with a limit when the header is untrusted.
 * NAY_ECORRUPT with diag, NAY_ENOMEM.
 */
NAY_API size_t nay_sbchain_header_size(const nay_sbchain *chain);
NAY_API nay_status nay_sbchain_encode_header(const nay_sbchain *chain, void *dst, size_t cap,
                                             size_t *written);
NAY_API nay_status nay_sbchain_decode_header(const void *bytes, size_t len,
                                             const nay_zallocator *allocator, nay_diag *diag,
                                             nay_sbchain **chain);

/* nay_sbchain_chunk: a view of at most max bytes at `offset` of the arrays; false beyond the end.
 */
NAY_API bool nay_sbchain_chunk(const nay_sbchain *chain, uint64_t offset, size_t max,
                               const uint8_t **bytes, size_t *len);

/*
 * nay_sbchain_load_chunk: overwrites the arrays at `offset`. NAY_EINVAL: no link has that offset.
 * NAY_EBUFFER: the bytes do not fit into the rest of the link. Nothing is written then.
 */
NAY_API nay_status nay_sbchain_load_chunk(nay_sbchain *chain, uint64_t offset, const void *bytes,
                                          size_t len);

/*
 * Assembling a chain from the fields of an RDB value. Calls must match
 *
 *   begin (take)* finish      with free at any point; nothing else before finish returned NAY_OK
 *
 * take checks the link and, when it returns NAY_OK, owns `bytes`, link->nbytes long, which must
 * come from the chain's allocator (link->bytes does not matter). finish checks what the links have
 * to be together. All of them: NAY_ECORRUPT with diag, NAY_ENOMEM.
 */
NAY_API nay_status nay_sbchain_begin(uint64_t size, uint64_t options, uint64_t growth,
                                     const nay_zallocator *allocator, nay_diag *diag,
                                     nay_sbchain **chain);
NAY_API nay_status nay_sbchain_take(nay_sbchain *chain, const nay_sblink *link, void *bytes,
                                    nay_diag *diag);
NAY_API nay_status nay_sbchain_finish(nay_sbchain *chain, nay_diag *diag);

/*
 * nay_sbchain_move: lets `mover` move one allocation of the chain: part 0 is the object itself,
 * 1 the list of links, 2 and up the arrays. False when there is no such part.
 */
NAY_API bool nay_sbchain_move(nay_sbchain **chain, uint64_t part, nay_mover mover, void *ctx);

#ifdef __cplusplus
}
#endif

#endif /* NAY_REDIS_H */

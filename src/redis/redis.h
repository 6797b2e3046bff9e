/*
 * redis.h - what the module for Redis (plugins/redis) takes of the library beyond its public
 * headers: RedisBloom's chains as objects, and native filters that come, go and move in pieces.
 * This header is not installed and its calls are not exported: the module links the static library.
 * The formats of `nay convert` share the layout code of the chains.
 *
 *   nay_sbchain *chain;                                      chained Bloom filters: BF.*, MBbloom--
 *   nay__sbchain_new(0.01, 100, 2, NAY_SB_DEFAULT, NULL, &chain);
 *   nay__sbchain_add(chain, "foo", 3, NULL);
 *   if (!nay__sbchain_may_contain(chain, "bar", 3)) puts("nay");
 *   nay__sbchain_free(chain);
 *
 *   nay_cfchain_header h;                                    chained cuckoo filters: CF.*
 *   nay__cfchain_plan(1024, 2, 20, 1, &h);                   capacity, bucket, iterations,
 * expansion nay_cfchain *chain; nay__cfchain_new(&h, NULL, NULL, &chain); nay__cfchain_add(chain,
 * nay__cfchain_hash("foo", 3)); nay__cfchain_free(chain);
 *
 * The bytes are RedisBloom's: a dump, an RDB value or a chunk made here is the one that its module
 * makes of the same commands, and the other way round.
 *
 * Everything that comes from outside (a header, the fields of an RDB value) is checked before it is
 * used, and every size is computed again: what you receive is safe to query, even if an attacker
 * wrote it.
 *
 * Ownership, errors and threads are as in nay.h.
 */
#ifndef NAY_REDIS_H
#define NAY_REDIS_H

#include "base/alloc.h"
#include "nay_advanced.h"

/* ---- memory ---------------------------------------------------------------------------------- */

/*
 * nay_zallocator: where the memory of a chain comes from; NULL means calloc and free. Unlike
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
 * nay__sbchain_new: an empty chain of one link for `capacity` items at the rate `error`. Unless it
 * is not scaling, each further link holds `growth` times the items of the one before at half its
 * rate, and the first has error / 2. NAY_EINVAL: error outside (0, 1), capacity 0, growth 0 in a
 * chain that scales, unknown options, or a size beyond 2^63 bits. NAY_ENOMEM.
 */
nay_status nay__sbchain_new(double error, uint64_t capacity, uint32_t growth, uint32_t options,
                            const nay_zallocator *allocator, nay_sbchain **chain);
nay_status nay__sbchain_copy(const nay_sbchain *chain, const nay_zallocator *allocator,
                             nay_sbchain **copy);
void nay__sbchain_free(nay_sbchain *chain);

/*
 * nay__sbchain_add: is_new (may be NULL) tells whether the chain said nay before. NAY_EFULL: the
 * chain does not scale and its link is full. An item that tests maybe is NAY_OK even then.
 * NAY_ENOMEM, NAY_EINVAL: the next link cannot be made.
 */
nay_status nay__sbchain_add(nay_sbchain *chain, const void *item, size_t len, bool *is_new);
bool nay__sbchain_may_contain(const nay_sbchain *chain, const void *item, size_t len);

/*
 * The same for at most NAY_SB_BATCH items at once, whose memory is fetched together. Bit i of
 * *answers is that of item i. Adds stop at the first item that fails: *done items were taken.
 */
#define NAY_SB_BATCH 64u
nay_status nay__sbchain_add_many(nay_sbchain *chain, const void *const *items, const size_t *lens,
                                 size_t n, uint64_t *is_new, size_t *done);
void nay__sbchain_may_contain_many(const nay_sbchain *chain, const void *const *items,
                                   const size_t *lens, size_t n, uint64_t *answers);

/* nay__sbchain_stats: what the chain is and holds; cheap. */
void nay__sbchain_stats(const nay_sbchain *chain, nay_sbstats *stats);

/* nay__sbchain_link: link i of nlinks; the first is the oldest. NAY_EINVAL: there is no such link.
 */
nay_status nay__sbchain_link(const nay_sbchain *chain, uint64_t i, nay_sblink *link);

/*
 * Dumps. A chain is a header (what BF.SCANDUMP returns first) and the concatenated arrays of its
 * links, in pieces that never cross from one link into the next.
 *
 * nay__sbchain_decode_header checks a header and makes the chain it describes, with all bits zero;
 * its arrays are allocated then, so give an allocator with a limit when the header is untrusted.
 * NAY_ECORRUPT with diag, NAY_ENOMEM.
 */
size_t nay__sbchain_header_size(const nay_sbchain *chain);
nay_status nay__sbchain_encode_header(const nay_sbchain *chain, void *dst, size_t cap,
                                      size_t *written);
nay_status nay__sbchain_decode_header(const void *bytes, size_t len,
                                      const nay_zallocator *allocator, nay_diag *diag,
                                      nay_sbchain **chain);

/* nay__sbchain_chunk: a view of at most max bytes at `offset` of the arrays; false beyond the end.
 */
bool nay__sbchain_chunk(const nay_sbchain *chain, uint64_t offset, size_t max,
                        const uint8_t **bytes, size_t *len);

/*
 * nay__sbchain_load_chunk: overwrites the arrays at `offset`. NAY_EINVAL: no link has that offset.
 * NAY_EBUFFER: the bytes do not fit into the rest of the link. Nothing is written then.
 */
nay_status nay__sbchain_load_chunk(nay_sbchain *chain, uint64_t offset, const void *bytes,
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
nay_status nay__sbchain_begin(uint64_t size, uint64_t options, uint64_t growth,
                              const nay_zallocator *allocator, nay_diag *diag, nay_sbchain **chain);
nay_status nay__sbchain_take(nay_sbchain *chain, const nay_sblink *link, void *bytes,
                             nay_diag *diag);
nay_status nay__sbchain_finish(nay_sbchain *chain, nay_diag *diag);

/*
 * nay__sbchain_move: lets `mover` move one allocation of the chain: part 0 is the object itself,
 * 1 the list of links, 2 and up the arrays. False when there is no such part.
 */
bool nay__sbchain_move(nay_sbchain **chain, uint64_t part, nay_mover mover, void *ctx);

/* ---- chained cuckoo filters ------------------------------------------------------------------ */

/*
 * A chain of sub-filters: when the newest is full, one that is `expansion` times as large is added.
 * Fingerprints have 8 bits whatever the size, so the false-positive rate grows with the chain; for
 * a filter of your own take NAY_CUCKOO of nay.h.
 */

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
 * nay__cfchain_plan: the header of an empty chain. The number of buckets is capacity / bucket_size,
 * rounded up to a power of two, and so is expansion. NAY_EINVAL: a number is out of range; capacity
 * is 2 * bucket_size to 2^30.
 */
nay_status nay__cfchain_plan(uint64_t capacity, uint32_t bucket_size, uint32_t max_iterations,
                             uint32_t expansion, nay_cfchain_header *header);

/* nay__cfchain_nslots: bytes that the slots of such a chain take. NAY_ECORRUPT: no chain has such a
 * header, or its size cannot be addressed; diag's offset is that of the field in a dump. */
nay_status nay__cfchain_nslots(const nay_cfchain_header *header, nay_diag *diag, uint64_t *nslots);

/*
 * nay__cfchain_new: a chain of header->nfilters empty sub-filters. header->nitems is not trusted:
 * items are counted as chunks bring them. Its slots are allocated now: give an allocator with a
 * limit when the header is untrusted. NAY_ECORRUPT, NAY_ENOMEM.
 */
nay_status nay__cfchain_new(const nay_cfchain_header *header, const nay_zallocator *allocator,
                            nay_diag *diag, nay_cfchain **chain);

/*
 * nay__cfchain_open: the same without slots, for a reader that has them in buffers of the same
 * allocator: adopt each in turn (the chain then owns it; refused: still the caller's), then finish,
 * which counts the items. Nothing else may be called before. NAY_ECORRUPT: the length is not that
 * of sub-filter i; or one is missing.
 */
nay_status nay__cfchain_open(const nay_cfchain_header *header, const nay_zallocator *allocator,
                             nay_diag *diag, nay_cfchain **chain);
nay_status nay__cfchain_adopt(nay_cfchain *chain, uint64_t i, uint64_t nbuckets, void *slots,
                              size_t len);
nay_status nay__cfchain_finish(nay_cfchain *chain);

/* nay__cfchain_copy: an independent copy. */
nay_status nay__cfchain_copy(const nay_cfchain *chain, const nay_zallocator *allocator,
                             nay_cfchain **copy);
void nay__cfchain_free(nay_cfchain *chain);

/* nay__cfchain_describe: the header as it is now. */
void nay__cfchain_describe(const nay_cfchain *chain, nay_cfchain_header *header);

/* nay__cfchain_nbytes: memory in RedisBloom's count: 40, 16 for each sub-filter, the slots. */
uint64_t nay__cfchain_nbytes(const nay_cfchain *chain);

/* nay__cfchain_slots: the slots of sub-filter i, NULL past the last. */
const uint8_t *nay__cfchain_slots(const nay_cfchain *chain, uint64_t i, size_t *len);

/* nay__cfchain_hash: a key is hashed once; every call below takes the hash. */
uint64_t nay__cfchain_hash(const void *key, size_t len);

/* nay__cfchain_prefetch: prefetches the cache lines that adds (all false) or probes (true) of these
 * hashes will read. */
void nay__cfchain_prefetch(const nay_cfchain *chain, const uint64_t *hashes, size_t n, bool all);

/*
 * nay__cfchain_add: NAY_EFULL: no room, and the chain may not grow (expansion 0, 65535
 * sub-filters). NAY_ENOMEM: it could not grow. The chain is then as it was, kicks undone.
 */
nay_status nay__cfchain_add(nay_cfchain *chain, uint64_t hash);
bool nay__cfchain_has(const nay_cfchain *chain, uint64_t hash);

/* nay__cfchain_count: slots that hold the fingerprint. A slot counts once, also where both buckets
 * of the key are the same. */
uint64_t nay__cfchain_count(const nay_cfchain *chain, uint64_t hash);

/*
 * nay__cfchain_remove: false when the key tests nay. Compacts the chain when more than a tenth as
 * many keys were removed as are in it.
 */
bool nay__cfchain_remove(nay_cfchain *chain, uint64_t hash);

/* nay__cfchain_compact: moves fingerprints from newer sub-filters into older ones, and releases
 * the newest as long as that empties it. */
void nay__cfchain_compact(nay_cfchain *chain);

/*
 * Dumps of cuckoo chains. A dump is the header, then the slots of the sub-filters one after the
 * other, in chunks that never cross a sub-filter.
 */

/* nay__cfchain_write_header: the first bytes of a dump. */
void nay__cfchain_write_header(const nay_cfchain_header *header,
                               uint8_t bytes[NAY_CFCHAIN_HEADER_LEN]);

/* nay__cfchain_read_header: NAY_ECORRUPT: not 38 bytes, or the header of no chain. */
nay_status nay__cfchain_read_header(const void *bytes, size_t len, nay_diag *diag,
                                    nay_cfchain_header *header);

/* nay__cfchain_chunk: the bytes from an offset into the slots on, as many as one chunk has; NULL
 * past the last. */
const uint8_t *nay__cfchain_chunk(const nay_cfchain *chain, uint64_t offset, size_t *len);

/* nay__cfchain_load: writes a chunk at an offset. NAY_EINVAL: not within one sub-filter. */
nay_status nay__cfchain_load(nay_cfchain *chain, uint64_t offset, const void *bytes, size_t len);

/*
 * nay__cfchain_move: lets `mover` move one allocation of the chain: part 0 is the object itself, 1
 * the list of sub-filters, 2 and up their slots. False when there is no such part.
 */
bool nay__cfchain_move(nay_cfchain **chain, uint64_t part, nay_mover mover, void *ctx);

/* ---- native filters in pieces ---------------------------------------------------------------- */

/*
 * nay__filter_move: for allocators that defragment. Offers each block of the filter to move, which
 * returns its new place (the bytes are there, the old block is released) or NULL when it stays. The
 * handle is such a block too: go on with what is returned.
 */
nay_filter *nay__filter_move(nay_filter *filter, nay_mover move, void *ctx);

/*
 * nay__filter_encode_range: the len bytes of the same file that start at offset, for those who send
 * it in pieces and come back for each. Bytes of the front, which holds the digests, cost a pass
 * over the payload; others are copied. NAY_EINVAL: the range is not within nay_filter_encoded_size.
 * NAY_ENOTSUP: NAY_CONCURRENT, where pieces of different moments would not fit together.
 */
nay_status nay__filter_encode_range(const nay_filter *filter, uint64_t offset, void *dst,
                                    size_t len);

/*
 * nay_decoder: nay_filter_decode for bytes that arrive in pieces, without a second copy of the
 * payload. Calls: new (add)* finish free. The header is checked as soon as it is there; memory
 * follows the bytes that have really come: eight times as much at most, whatever the header claims.
 */
typedef struct nay_decoder nay_decoder;

nay_status nay__decoder_new(const nay_allocator *allocator, nay_decoder **decoder);

/* nay__decoder_add: the next len bytes. A failed call has taken none. NAY_ECORRUPT: more than there
 * should be; otherwise as nay_filter_decode; NAY_EFORMAT: a static map, too. */
nay_status nay__decoder_add(nay_decoder *decoder, const void *bytes, size_t len, nay_diag *diag);

/*
 * nay__decoder_bytes: what has come so far, *len bytes, and in *total how many there will be (0:
 * the header is not complete). Either may be NULL.
 */
const void *nay__decoder_bytes(const nay_decoder *decoder, size_t *len, uint64_t *total);

/* nay__decoder_truncate: forgets all but the first len bytes: some were not what they should be. */
nay_status nay__decoder_truncate(nay_decoder *decoder, size_t len);

/*
 * nay__decoder_finish: checks everything and hands the filter over; the decoder is then empty and
 * can be used again. NAY_ECORRUPT: bytes are missing, or damaged; the decoder is as it was.
 */
nay_status nay__decoder_finish(nay_decoder *decoder, nay_diag *diag, nay_filter **filter);
void nay__decoder_free(nay_decoder *decoder);

#endif /* NAY_REDIS_H */

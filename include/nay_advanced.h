/* Stable: a program works with every later library of the same SONAME. */
/*
 * nay_advanced.h - what engines, plug-ins and tools need beyond nay.h: hashes instead of keys,
 * set algebra, views of bytes that stay where they are. Ownership, errors, threads and the ABI are
 * as nay.h says.
 */
#ifndef NAY_ADVANCED_H
#define NAY_ADVANCED_H

#include "nay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- families, params ------------------------------------------------------------------------ */

/* What a family can do; nay_kind_traits returns a set of these. */
#define NAY_CAN_ADD 0x01u
#define NAY_CAN_REMOVE 0x02u
#define NAY_CAN_MERGE 0x04u
#define NAY_CAN_INTERSECT 0x08u
#define NAY_CAN_FOLD 0x10u
#define NAY_CAN_COUNT 0x20u
#define NAY_CAN_GROW 0x40u
#define NAY_CAN_EXPIRE 0x80u
#define NAY_CAN_GET 0x100u   /* values: static maps and exact lists, see nay_map.h, nay_list.h */
#define NAY_CAN_RANGE 0x200u /* ranges of keys, see nay_range.h */
NAY_API uint32_t nay_kind_traits(nay_kind kind);

/* nay_kind_parse: the inverse of nay_kind_name; "auto" is NAY_AUTO. NAY_EINVAL: no such name. */
NAY_API nay_status nay_kind_parse(const char *name, nay_kind *kind);

/* nay_filter_kind: its family; NAY_AUTO for NULL and for another system's layout. */
NAY_API nay_kind nay_filter_kind(const nay_filter *filter);

/* Further flags of nay_params. */
#define NAY_SMALL_PAGES 0x04u /* no huge pages, which filters of 4 MiB and more request */
#define NAY_NO_VERIFY 0x10u   /* static kinds: hand the filter out without probing every key */
#define NAY_ZEROED 0x40u /* the allocator's memory is zero: nay_filter_new writes no page of it */
/*
 * NAY_LOW_MEMORY: static kinds are built in pieces, their builders keep hashes in a file; large
 * bloom and blocked filters take keys as they come, with no memory beside the filter.
 */
#define NAY_LOW_MEMORY 0x20u

/*
 * nay_filter_params: what nay_filter_new would make an empty twin from: the same shape, hash, seed
 * or secret key, and limits, so that the two can be merged: nay_filter_set_key (nay_key.h) must
 * first give the twin the key description of the filter, if that is not text. So a filter that was
 * opened becomes one that takes concurrent adds: set NAY_CONCURRENT, make the twin, merge. The size
 * comes as nbits (scalable: as fpr). NAY_ENOTSUP: a family without add, or another system's layout.
 * NAY_EKEY: locked.
 */
NAY_API nay_status nay_filter_params(const nay_filter *filter, nay_params *params);

/* ---- hashes ---------------------------------------------------------------------------------- */

/*
 * nay_hash: what a filter knows of a key. Native families use `lo` alone; some layouts of other
 * systems need both words.
 */
typedef struct nay_hash {
  uint64_t lo;
  uint64_t hi;
} nay_hash;

/*
 * nay_hasher: a hash function with its seed or secret key. It is a value: copy it, keep it when the
 * filter is gone. A key that is hashed once serves every filter with the same hasher:
 *
 *   nay_hasher hasher = {.size = sizeof hasher};
 *   nay_filter_hasher(filter, &hasher);
 *   if (nay_hasher_hash(&hasher, key, len, &hash) == NAY_OK) maybe =
 * nay_filter_may_contain_hash(filter, hash);
 */
typedef struct nay_hasher {
  size_t size; /* sizeof the struct: see ABI */
  uint64_t opaque[15];
} nay_hasher;

/* nay_filter_hasher: the hasher of a filter; a locked filter's can be compared, and hashes nothing.
 */
NAY_API nay_status nay_filter_hasher(const nay_filter *filter, nay_hasher *hasher);

/* nay_hasher_hash: key may be NULL when len is 0. NAY_EKEY: locked. NAY_ENOTSUP: NAY_HASH_CALLER.
 */
NAY_API nay_status nay_hasher_hash(const nay_hasher *hasher, const void *key, size_t len,
                                   nay_hash *hash);

/*
 * nay_hasher_hash_many: the same for n keys, into two arrays as the batches below take them. hi may
 * be NULL for hashes of one word (all native families). NAY_EINVAL: an array or a key is NULL.
 */
NAY_API nay_status nay_hasher_hash_many(const nay_hasher *hasher, const void *const *keys,
                                        const size_t *lens, size_t n, uint64_t *lo, uint64_t *hi);

/* nay_hasher_same: whether both map every key to the same hash: equal hash kind, seed and secret
 * key. */
NAY_API bool nay_hasher_same(const nay_hasher *a, const nay_hasher *b);

/* nay_hash_name: "xxh3", "siphash13", "caller", ...; NULL for other numbers. */
NAY_API const char *nay_hash_name(nay_hash_kind kind);

/* nay_filter_add_hash: nay_filter_add of a hash. */
NAY_API nay_status nay_filter_add_hash(nay_filter *filter, nay_hash hash, bool *is_new);

/* nay_filter_may_contain_hash: nay_filter_may_contain of a hash. */
NAY_API bool nay_filter_may_contain_hash(const nay_filter *filter, nay_hash hash);

/*
 * nay_probe: the code that answers for one filter, and its argument. A loop that keeps both in
 * registers makes one indirect call a key:
 *
 *   nay_probe probe;
 *   if (nay_filter_probe(filter, &probe) != NAY_OK) return;
 *   for (size_t i = 0; i < n; i++) maybe[i] = probe.ask(probe.state, hashes[i]);
 *
 * A probe is valid until the filter is changed by another call than an add or a removal (growth by
 * an add ends it as well), moved or freed.
 */
struct nay_bits;
typedef struct nay_probe {
  bool (*ask)(const struct nay_bits *state, uint64_t hash);
  const struct nay_bits *state;
} nay_probe;

/* nay_filter_probe: NAY_ENOTSUP: a layout whose hash has two words. */
NAY_API nay_status nay_filter_probe(const nay_filter *filter, nay_probe *probe);

/*
 * nay_filter_count: at most how often the key was added (families that count). Counting counts to
 * 15, which means "15 or more".
 */
NAY_API nay_status nay_filter_count(const nay_filter *filter, const void *key, size_t len,
                                    uint64_t *count);

/* nay_filter_remove_hash: nay_filter_remove of a hash. */
NAY_API nay_status nay_filter_remove_hash(nay_filter *filter, nay_hash hash);

/*
 * nay_filter_add_hash_many, nay_filter_may_contain_hash_many: batches, as nay_filter_add_many and
 * nay_filter_may_contain_many, of hashes in two arrays; hi may be NULL for native families.
 * Adds without a bitmap to a bloom or blocked filter of 24 MiB and more are twice as fast when
 * there are four or more for each 64 bytes of it; they take half as much memory as the filter while
 * they last, if there is.
 */
NAY_API nay_status nay_filter_add_hash_many(nay_filter *filter, const uint64_t *lo,
                                            const uint64_t *hi, size_t n, uint64_t *bitmap,
                                            size_t *taken);
NAY_API nay_status nay_filter_may_contain_hash_many(const nay_filter *filter, const uint64_t *lo,
                                                    const uint64_t *hi, size_t n, uint64_t *bitmap);

/*
 * nay_filter_build: a filter of n hashes, for every family but maps and range filters, which need
 * more than hashes (NAY_ENOTSUP). hashes[] is only read, duplicates are
 * welcome, and the bytes of the result do not depend on the order. params->nkeys 0 means n. A set
 * has no ages: a window that counts keys spreads them over its generations (nay_builder and adds
 * keep the order); a window by ticks has all in the newest, so that none goes too early: its FPR is
 * above the plan (nay_stats.overloaded).
 * NAY_EFULL: more than nkeys distinct hashes, for cuckoo and a window that counts keys.
 */
NAY_API nay_status nay_filter_build(const nay_params *params, const uint64_t *hashes, size_t n,
                                    const nay_allocator *allocator, nay_diag *diag,
                                    nay_filter **filter);

/* nay_builder_add_hash: nay_builder_add of a hash. */
NAY_API nay_status nay_builder_add_hash(nay_builder *builder, nay_hash hash);

/* nay_hash_mix: a bijection of 64 bits that makes sequential integers look random (SplitMix64). */
static inline uint64_t nay_hash_mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* Values of nay_hash_kind from 64 on are the hashes of other systems' layouts, which native
 * families do not take; nay_hash_name names them, and doc/hashing.md says what they are. */

/* ---- prefetching ----------------------------------------------------------------------------- */

/*
 * nay_filter_prefetch: prefetches the cache lines that a probe of this hash reads, and returns at
 * once. For engines that have other work between hashing a key and needing the answer: prefetch, go
 * on, then call nay_filter_may_contain_hash. Reads no file: skips a lazily mapped filter, and NULL.
 */
NAY_API void nay_filter_prefetch(const nay_filter *filter, nay_hash hash);

/* ---- whole filters --------------------------------------------------------------------------- */

/*
 * nay_filter_intersect: dst keeps only the bits that both have. Keys of both remain *maybe*, but
 * the result is not what building the intersection would give and its rate is not known: it is
 * marked as derived (nay_stats), for ever. Same sizes only.
 */
NAY_API nay_status nay_filter_intersect(nay_filter *dst, const nay_filter *src, nay_diag *diag);

/*
 * nay_filter_fold: shrinks by an integer factor without the keys: the bytes are exactly those of a
 * filter built at that size (counting: unless counters stick). NAY_EINVAL when the size is not
 * divisible by factor. Scalable folds its last level, which may be nearly empty, and is then
 * finished, also with factor 1: it does not grow again, and adding a key that tests nay returns
 * NAY_EFULL.
 */
NAY_API nay_status nay_filter_fold(nay_filter *filter, uint64_t factor, nay_diag *diag);

/*
 * nay_filter_fold_factor: the largest factor by which nay_filter_fold keeps the rate, with the keys
 * that are in now, at or below max_fpr. 1 when there is none: folding by 1 changes nothing.
 */
NAY_API nay_status nay_filter_fold_factor(const nay_filter *filter, double max_fpr,
                                          uint64_t *factor);

/*
 * nay_filter_shrink: makes the payload nbytes or less, without the keys, at the price of a higher
 * FPR (nay_filter_stats tells): exactly the bytes of a filter built with that nbytes, unless a
 * build would make a Bloom filter of so few keys in so few bytes (4,096 keys at most): then this
 * stays a ribbon. For ribbon. NAY_ENOTSUP: another family, a filter that is such a Bloom filter
 * already, or read-only. NAY_EINVAL: too few bytes for one column. More bytes than there are change
 * nothing.
 */
NAY_API nay_status nay_filter_shrink(nay_filter *filter, uint64_t nbytes, nay_diag *diag);

/* nay_overlap: estimated sizes of the union and intersection of two sets, from their filters. When
 * the union is saturated (see nay_stats), the numbers of keys are lower bounds, and the
 * intersection and jaccard are not known (NaN). */
typedef struct nay_overlap {
  size_t size; /* sizeof the struct: see ABI */
  double nkeys_a, nkeys_b;
  double nkeys_union;
  double nkeys_intersection; /* a + b - union, never below 0 */
  double jaccard;            /* intersection / union */
} nay_overlap;

/* nay_filter_overlap: NAY_EMISMATCH when the filters could not be merged at equal size. */
NAY_API nay_status nay_filter_overlap(const nay_filter *a, const nay_filter *b, nay_diag *diag,
                                      nay_overlap *overlap);

/* nay_filter_nbytes: the memory that a filter has asked its allocator for, in all. Reads no key. */
NAY_API size_t nay_filter_nbytes(const nay_filter *filter);

/* nay_filter_meta: the user's own bytes, kept in the file under its checksum. NULL when none. */
NAY_API const void *nay_filter_meta(const nay_filter *filter, size_t *len);

/*
 * nay_filter_set_meta: replaces them (a copy is kept); len 0 removes them. NAY_ENOTSUP for another
 * system's layout, which has no place for them.
 */
NAY_API nay_status nay_filter_set_meta(nay_filter *filter, const void *bytes, size_t len);

/* ---- bytes in pieces, bytes in place --------------------------------------------------------- */

/*
 * nay_filter_encode_stream: the same bytes in pieces, in order, without a second copy of the
 * payload. A status other than NAY_OK from sink stops it and is returned. A filter that takes
 * concurrent adds (NAY_CONCURRENT) is copied first, here and in encode and save: the adds may go on
 * meanwhile, and the file has each of them or not.
 */
typedef nay_status (*nay_sink)(void *ctx, const void *bytes, size_t len);
NAY_API nay_status nay_filter_encode_stream(const nay_filter *filter, nay_sink sink, void *ctx);

/*
 * nay_view: a filter over bytes that stay where they are; nothing is allocated and nothing needs to
 * be freed. For engines that hand over a filter with each call. The bytes need no alignment and
 * must outlive the view. key is the SipHash key or NULL. Set size to sizeof. NAY_EINVAL: it is none
 * that a view ever had. NAY_ENOTSUP: a later library needs a larger one: decode the bytes instead.
 */
typedef struct nay_view {
  size_t size; /* sizeof the struct: see ABI */
  uint64_t opaque[63];
} nay_view;

NAY_API nay_status nay_view_open(const void *bytes, size_t len, const uint8_t *key, nay_diag *diag,
                                 nay_view *view);

/* nay_view_filter: the view as a filter, for every call that takes a const one. */
NAY_API const nay_filter *nay_view_filter(const nay_view *view);

#ifdef __cplusplus
}
#endif

#endif /* NAY_ADVANCED_H */

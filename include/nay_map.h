/*
 * nay_map.h - static maps: a value of 1 to 64 bits for each key; a key outside the set gets an
 * ARBITRARY value, unless the map has check bits.
 *
 *   uint64_t hashes[2] = {nay_hash_mix(1815), nay_hash_mix(1906)}, values[2] = {3, 1}, value;
 *   nay_map_params p = {.size = sizeof p, .hash = NAY_HASH_CALLER};
 *   nay_map *m;
 *   if (nay_map_build(&p, hashes, values, 2, NULL, NULL, &m) != NAY_OK) return 1;
 *   nay_map_get_hash(m, (nay_hash){hashes[1], 0}, &value);
 *   nay_map_free(m);
 *
 * A map stores no keys: some 1.002 bits for each bit of a value (1.005 when it has one bit),
 * whatever the keys are (bumped ribbon retrieval, doc/map.md). So it knows the value of each key it
 * was built from, and cannot tell other keys apart: it returns some value for them, too. With check
 * bits it can, mostly: a key outside the set is then *absent*, except for one in 2^check_bits of
 * them, which gets an arbitrary value. A map does not change once it is built.
 *
 * Keys are known by their 64-bit hashes. Two keys with equal hashes and different values cannot
 * both be in a map: NAY_EINVAL. Among 10^6 keys the chance is 3 * 10^-8, among 10^9 it is 3%;
 * another seed helps.
 *
 * Ownership, errors, threads and memory are as in nay.h: calls on a const map are safe together.
 */
#ifndef NAY_MAP_H
#define NAY_MAP_H

#include "nay_advanced.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nay_map nay_map;

/*
 * nay_map_params: what you want. Set `size` to sizeof(nay_map_params); everything else may stay 0.
 */
typedef struct nay_map_params {
  size_t size;
  uint32_t value_bits; /* 1 to 64; 0: as many as the largest value needs */
  uint32_t check_bits; /* 0: a key outside the set gets an arbitrary value; else it is absent, with
                          an error rate of 2^-check_bits. value_bits + check_bits <= 64 */
  uint32_t flags;      /* NAY_STORE_KEY | NAY_NO_VERIFY | NAY_SMALL_PAGES | NAY_LOW_MEMORY */
  uint32_t threads;    /* threads that build, at most 256; 0: only the caller's */
  nay_hash_kind hash;
  uint64_t seed;         /* for NAY_HASH_XXH3 */
  uint8_t key[16];       /* for NAY_HASH_SIPHASH */
  const char *spill_dir; /* NAY_LOW_MEMORY in a builder: directory of its file; NULL: /tmp */
} nay_map_params;

/* ---- building -----------------------------------------------------------------------------------
 */

/*
 * nay_map_build: a map from n hashes to values[]. Both are only read. A hash may come more than
 * once if its values are equal; the bytes depend on the set of pairs alone, not on their order, on
 * threads or the CPU. NAY_EINVAL: params are out of range; or two values for one hash, or a value
 * above value_bits: diag->offset is then the index of the later pair, or of the value. Memory: some
 * 17 bytes for each key while it builds, and 24 for each hash that comes more than once; with
 * NAY_LOW_MEMORY an eighth of the keys is built at a time, 4 million at least: 3 bytes for each of
 * 40 million keys, more time, the same bytes.
 */
NAY_API nay_status nay_map_build(const nay_map_params *params, const uint64_t *hashes,
                                 const uint64_t *values, size_t n, const nay_allocator *allocator,
                                 nay_diag *diag, nay_map **map);

/*
 * nay_map_builder: when keys stream in. It keeps 16 bytes for each pair, with NAY_LOW_MEMORY 24 in
 * a temporary file without a name. Calls: new (add)* finish free. NAY_EIO: the file.
 */
typedef struct nay_map_builder nay_map_builder;

NAY_API nay_status nay_map_builder_new(const nay_map_params *params, const nay_allocator *allocator,
                                       nay_diag *diag, nay_map_builder **builder);
NAY_API nay_status nay_map_builder_add(nay_map_builder *builder, const void *key, size_t len,
                                       uint64_t value);
NAY_API nay_status nay_map_builder_add_hash(nay_map_builder *builder, nay_hash hash,
                                            uint64_t value);

/* nay_map_builder_npairs: how many pairs were added so far, duplicates included. */
NAY_API uint64_t nay_map_builder_npairs(const nay_map_builder *builder);

/*
 * nay_map_builder_finish: makes the map; the builder is then empty and can be used again. As
 * nay_map_build: an index counts the pairs in the order of the adds. A failed call keeps all pairs.
 */
NAY_API nay_status nay_map_builder_finish(nay_map_builder *builder, nay_diag *diag, nay_map **map);
NAY_API void nay_map_builder_free(nay_map_builder *builder);

/* nay_map_free: NULL is fine. */
NAY_API void nay_map_free(nay_map *map);

/* ---- lookup -------------------------------------------------------------------------------------
 */

/*
 * nay_map_get: the value of a key. NAY_ENOENT: the map has check bits, and the key is certainly not
 * in it. Without check bits a key outside the set gets an arbitrary value, and NAY_OK. NAY_ENOTSUP:
 * the caller hashes (NAY_HASH_CALLER). NAY_EKEY: the secret key is missing. NAY_ECORRUPT: a lazily
 * mapped file is damaged where the value is. Unless it returns NAY_OK, *value is as it was.
 */
NAY_API nay_status nay_map_get(const nay_map *map, const void *key, size_t len, uint64_t *value);
NAY_API nay_status nay_map_get_hash(const nay_map *map, nay_hash hash, uint64_t *value);

/*
 * nay_map_get_many: the same for n keys, several times as fast when the map is larger than the
 * cache. Bit i % 64 of bitmap[i / 64] tells whether key i has a value; without check bits all have
 * one, and bitmap may be NULL. values[i] is 0 for an absent key. NAY_ECORRUPT: as above, for any of
 * the keys; values[] and bitmap[] are then undefined.
 */
NAY_API nay_status nay_map_get_many(const nay_map *map, const void *const *keys, const size_t *lens,
                                    size_t n, uint64_t *values, uint64_t *bitmap);
NAY_API nay_status nay_map_get_hash_many(const nay_map *map, const uint64_t *hashes, size_t n,
                                         uint64_t *values, uint64_t *bitmap);

/* nay_map_hash: the hash of a key, as the map makes it. NAY_ENOTSUP, NAY_EKEY as nay_map_get. */
NAY_API nay_status nay_map_hash(const nay_map *map, const void *key, size_t len, nay_hash *hash);

/* ---- what it knows of itself --------------------------------------------------------------------
 */

/* nay_map_stats: set `size` to sizeof(nay_map_stats) before the call. */
typedef struct nay_map_stats {
  size_t size;
  uint64_t nkeys; /* distinct */
  uint32_t value_bits, check_bits;
  uint64_t nbits;      /* payload */
  uint64_t nbytes;     /* memory held, payload and handle */
  double bits_per_key; /* nbits / nkeys; 0 when nkeys is 0 */
  double error_rate;   /* of keys outside the set that get a value: 2^-check_bits */
  uint32_t nlayers;    /* of the ribbon */
  nay_hash_kind hash;
  bool read_only;  /* mapped, or a view */
  bool locked;     /* keyed, and the key was not given yet */
  bool stores_key; /* files will contain the SipHash key */
} nay_map_stats;

/* nay_map_describe: NAY_EINVAL: stats->size is too small to be one. */
NAY_API nay_status nay_map_describe(const nay_map *map, nay_map_stats *stats);

/* nay_map_unlock: as nay_filter_unlock. */
NAY_API nay_status nay_map_unlock(nay_map *map, const uint8_t key[16]);

/* nay_map_meta, nay_map_set_meta: the user's own bytes, as of a filter. */
NAY_API const void *nay_map_meta(const nay_map *map, size_t *len);
NAY_API nay_status nay_map_set_meta(nay_map *map, const void *bytes, size_t len);

/* nay_map_key, nay_map_set_key: how its keys were made of texts, as nay_filter_key (nay_key.h). */
NAY_API const char *nay_map_key(const nay_map *map);
NAY_API nay_status nay_map_set_key(nay_map *map, const char *description);

/* nay_map_health: NAY_OK, or NAY_ECORRUPT once a lazily mapped map has met damaged bytes. */
NAY_API nay_status nay_map_health(const nay_map *map);

/* nay_map_verify: reads every byte of a lazily mapped map. NAY_ECORRUPT. */
NAY_API nay_status nay_map_verify(const nay_map *map);

/* ---- bytes --------------------------------------------------------------------------------------
 */

/* nay_map_encoded_size: how many bytes nay_map_encode writes; 0 when it cannot. */
NAY_API size_t nay_map_encoded_size(const nay_map *map);

/* nay_map_encode: the file, into dst; see doc/formats/nay.md. NAY_EBUFFER: cap is too small.
 * NAY_EINVAL: dst is NULL. */
NAY_API nay_status nay_map_encode(const nay_map *map, void *dst, size_t cap, size_t *written);
NAY_API nay_status nay_map_encode_stream(const nay_map *map, nay_sink sink, void *ctx);

/*
 * nay_map_decode: reads a file from bytes[0, len) into memory of its own; everything is checked
 * before *map is set. NAY_EFORMAT: not a map (a filter has the same magic number and another kind).
 */
NAY_API nay_status nay_map_decode(const void *bytes, size_t len, const nay_allocator *allocator,
                                  nay_diag *diag, nay_map **map);

/*
 * nay_map_save, nay_map_open, nay_map_mmap: as those of a filter. flags: 0 or NAY_MMAP_LAZY: then
 * header, metadata and the codes at the end of the payload are verified now, with all of the chunks
 * of 64 KiB that they lie in (mostly the first and the last), and any other chunk when a lookup
 * first reads it.
 */
NAY_API nay_status nay_map_save(const nay_map *map, const char *path, nay_diag *diag);
NAY_API nay_status nay_map_open(const char *path, const nay_allocator *allocator, nay_diag *diag,
                                nay_map **map);
NAY_API nay_status nay_map_mmap(const char *path, unsigned flags, const nay_allocator *allocator,
                                nay_diag *diag, nay_map **map);

/*
 * nay_map_view: a map over bytes that stay where they are; nothing is allocated and nothing needs
 * to be freed. key is the SipHash key or NULL. nay_map_view_map: the view as a map, for every call
 * that takes a const one.
 */
typedef struct nay_map_view {
  uint64_t opaque[64];
} nay_map_view;

NAY_API nay_status nay_map_view_open(const void *bytes, size_t len, const uint8_t *key,
                                     nay_diag *diag, nay_map_view *view);
NAY_API const nay_map *nay_map_view_map(const nay_map_view *view);

#ifdef __cplusplus
}
#endif

#endif /* NAY_MAP_H */

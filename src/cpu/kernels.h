/*
 * kernels.h - the inner loops, one table for each way the CPU can run them.
 *
 * A filter takes a pointer to a table when it is made and never asks about the CPU again, so two
 * filters in one process may use different tables, and a test can compare any of them with the
 * scalar one: they must give identical bits.
 *
 * The bit patterns, which are part of the file format:
 *
 *   bloom     probe i is bit reduce(h * G^i mod 2^64, nbits), G = 0x9e3779b97f4a7c15
 *   blocked   block reduce(h, nblocks); probe i is bit (lo32(h) * g^i mod 2^32) >> 23 of its 512,
 *             g = 0x9e3779b9
 *
 * where bit b of a byte array is bit b % 8 (least significant first) of byte b / 8.
 */
#ifndef NAY_KERNELS_H
#define NAY_KERNELS_H

#include "base/base.h"
#include "base/compiler.h"
#include "base/patterns.h"

/*
 * Bytes of a filter that is far: more than its share of a last level of cache. Several lines of a
 * key are then asked for before they are looked at; nearer, asking costs more than it gives.
 */
#define NAY_FAR_BYTES ((uint64_t)24 << 20)

/*
 * nay_bits: what a kernel needs to know of a filter. `nunits` counts bits (bloom) or blocks. It
 * begins with the filter's own probe, for nay_filter_may_contain_hash.
 */
typedef struct nay_bits {
  nay_probe probe;
  uint8_t *bytes;
  uint64_t nunits;
  uint32_t k;
  uint32_t extra; /* for the family, as in its shape */
  bool in_cache;  /* small enough that asking for lines ahead of time costs more than it gives */
} nay_bits;

/* nay_put: adds a key to a filter of k probes, and does not say whether it was new. NAY_OK. */
typedef nay_status (*nay_put)(const nay_bits *, uint64_t hash);

/* A fuse or xor filter of less than 2^32 bytes, with shards of less than 2^32 bits. */
typedef struct nay_fuse_map {
  const uint8_t *factors, *arrays;         /* of the shards */
  uint64_t nshards, stride, span, segment; /* stride: bytes of an array; segment: 0 for xor */
  unsigned bits, arity;
} nay_fuse_map;

/* A cuckoo table that does not grow, of less than 2^28 buckets. */
typedef struct nay_cuckoo_map {
  const uint8_t *slots;
  uint64_t nbuckets;
  unsigned bits; /* of a tag, at most 16 */
} nay_cuckoo_map;

/*
 * Where a key's columns are in a ribbon filter, and which bits of them are its. A column's 128
 * slots are two words; the 128 slots of a key, which may begin anywhere, reach into three of the
 * four of its two blocks.
 */
typedef struct nay_ribbon_spot {
  const uint8_t *here, *next; /* column 0 of both blocks; the same when nothing is in the next */
  uint64_t bits[3];
  bool upper; /* the first word is the upper one of `here` */
  unsigned columns;
  uint64_t print; /* bit c % 4 * 16 + c / 4 is for column c */
} nay_ribbon_spot;

/* The bytes of a ribbon filter, as family/ribbon.h has them: where its directory and its blocks
 * are.
 */
typedef struct nay_ribbon_map {
  const uint8_t *directory, *blocks;
  uint64_t nshards;
  uint64_t short_blocks; /* so many have a column less; never the last one */
  unsigned columns;      /* 1 to 32 */
  bool in_cache;
} nay_ribbon_map;

/* A row of the equations of a ribbon filter, and the slots found so far (family/banding.c). */
typedef struct nay_band_row {
  uint64_t lo, hi; /* lo is 0: empty, and so is print */
  uint64_t print;  /* as in a spot */
} nay_band_row;
typedef struct nay_band_columns {
  uint64_t lo[32], hi[32]; /* the last 128 slots of each column, the lowest bit found last */
} nay_band_columns;

/* Equations on their way, from the first slot of a panel on; room to store eight too many. */
#define NAY_BAND_PENDING 64u
typedef struct nay_band_pending {
  uint64_t lo[NAY_BAND_PENDING + 8], hi[NAY_BAND_PENDING + 8], print[NAY_BAND_PENDING + 8];
  unsigned n;
} nay_band_pending;

/* Half of a shard's slots, and the keys that begin in them, sorted by panels of slots. */
#define NAY_BAND_PANEL 8u
typedef struct nay_band_sweep {
  nay_band_row *rows;     /* of the next panel */
  const uint32_t *ends;   /* of the keys of the next panel and those after it */
  uint64_t *keys;         /* of the shard */
  uint32_t next;          /* key */
  uint32_t seed, starts;  /* of the shard; how many first slots it has */
  uint32_t aside, naside; /* keys set aside, moved to the front of the half's */
  nay_band_pending pending;
} nay_band_sweep;

/* What a kernel has done in a block of a counting filter. */
typedef struct nay_counted {
  uint64_t left; /* bit i: probe i needs more than a kernel can */
  bool fresh;    /* a key that is added: a bit of the others was clear */
} nay_counted;

/* nay_key_list: keys with a pointer and a length each, or one after the other in a buffer. */
typedef struct nay_key_list {
  const void *const *keys; /* NULL: packed */
  const size_t *lens;
  const uint8_t *bytes; /* packed: key i is bytes[offsets[i], offsets[i + 1]) */
  const size_t *offsets;
  size_t n; /* how many there are; 0: not known, and none is fetched ahead */
} nay_key_list;

/*
 * nay__keys_ahead: asks for `count` keys that are hashed NAY_KEYS_AHEAD keys later. They may lie
 * anywhere; packed ones are read in order, which processors notice.
 */
#define NAY_KEYS_AHEAD 128u
static inline void nay__keys_ahead(const nay_key_list *list, size_t i, size_t count) {
  if (list->keys == NULL || i + NAY_KEYS_AHEAD + count > list->n) return;
  for (size_t j = 0; j < count; j++) NAY_PREFETCH(list->keys[i + NAY_KEYS_AHEAD + j]);
}

/*
 * Batches have at most 64 keys: bit i of the word answers for hashes[i]. A batch's prefetch is
 * called one or two batches ahead, and only for filters that do not fit in the cache.
 */
typedef struct nay_kernels {
  const char *name;
  bool popcnt; /* functions marked NAY_BMI2 may be called */
  nay_probe bloom_test;
  /* the same for this size and number of probes only, chosen once; NULL: as bloom_test */
  nay_probe (*bloom_test_for)(const nay_bits *);
  bool (*bloom_add)(const nay_bits *, uint64_t hash); /* true when a bit changed: the key is new */
  uint64_t (*bloom_test64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  uint64_t (*bloom_add64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  /* as the adds, when nobody asks what was new; NULL: adds need a lock */
  nay_put (*bloom_put_for)(const nay_bits *);
  void (*bloom_put64)(const nay_bits *, const uint64_t *hashes, unsigned n);

  bool (*blocked_test)(const nay_bits *, uint64_t hash);
  bool (*blocked_add)(const nay_bits *, uint64_t hash);
  nay_put (*blocked_put)(uint32_t k); /* NULL: adds need a lock */
  uint64_t (*blocked_test64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  uint64_t (*blocked_add64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  /* as blocked_add64, when nobody asks what was new; NULL: no faster than with the answers */
  void (*blocked_put64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  void (*blocked_prefetch64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  /*
   * Exactly 64 keys, for filters out of cache: with each goes the prefetch of one of 64 that come
   * later. As many lines asked for at once would fill the processor's list of those on their way
   * and hold up what comes after them. tell: whether the word of what was new is wanted.
   */
  uint64_t (*blocked_test64_ahead)(const nay_bits *, const uint64_t *hashes, const uint64_t *next);
  uint64_t (*blocked_add64_ahead)(const nay_bits *, const uint64_t *hashes, const uint64_t *next,
                                  bool tell);

  /* a key of a block and its counters, as far as nothing unusual is there; NULL in `shared` alone
   */
  nay_counted (*counting_add)(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k);
  nay_counted (*counting_remove)(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k);

  /* Those of 64 hashes from least to least + span, in their order; returns how many. `kept` has
   * room for 64. NULL: one at a time */
  unsigned (*keep64)(const uint64_t *hashes, uint64_t least, uint64_t span, uint64_t *kept);

  /* exactly 64 keys, for fuse those that are premixed; NULL: one after the other. fixed: the keys
   * of shards with an even factor, which is no factor; what is returned for them means nothing */
  uint64_t (*fuse_test64)(const nay_fuse_map *, const uint64_t *x, uint64_t *fixed);
  uint64_t (*cuckoo_test64)(const nay_cuckoo_map *, const uint64_t *hashes);
  /* ask for the lines of n keys, a multiple of 8 and at most 64; there if the two above are */
  void (*fuse_ask)(const nay_fuse_map *, const uint64_t *x, unsigned n);
  void (*cuckoo_ask)(const nay_cuckoo_map *, const uint64_t *hashes, unsigned n);
  /* one key of tags of so many bits that do not grow. NULL, or it returns NULL: cuckoo.c does it */
  nay_probe (*cuckoo_probe)(unsigned tag_bits);
  bool (*ribbon_look)(const nay_ribbon_spot *); /* NULL: ribbon.c does it by words */
  /* keys that are premixed; NULL: one look after the other */
  uint64_t (*ribbon_test64)(const nay_ribbon_map *, const uint64_t *x, unsigned n);
  /* eliminates all but what is pending or set aside. NULL, as the next: banding.c does it */
  void (*band_sweep)(nay_band_sweep halves[2], uint32_t npanels);
  /* 128 slots of columns 8 part to 8 part + 7, from the last row to the first */
  void (*band_solve)(const nay_band_row *rows, unsigned part, nay_band_columns *);

  /*
   * XXH3 of keys from, from + 1, ... in eights, up to n, until eight of which one has not 9 to 16
   * bytes. Returns how many were hashed. May be NULL.
   */
  size_t (*xxh3_short)(uint64_t seed, const nay_key_list *, size_t from, size_t n,
                       uint64_t *hashes);
} nay_kernels;

extern const nay_kernels nay__kernels_scalar;
/* relaxed atomics: probes from any thread, adds from those that hold the stripe (base/spin.h) */
extern const nay_kernels nay__kernels_shared;

/* nay__kernels_best: for this CPU. */
const nay_kernels *nay__kernels_best(void);

/* nay__kernels_at: the i-th table that this CPU can run, scalar first; NULL past the last. */
const nay_kernels *nay__kernels_at(size_t i);

#endif /* NAY_KERNELS_H */

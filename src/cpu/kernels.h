/*
 * kernels.h - the inner loops: a group of functions for each family, a table of groups for each
 * ISA.
 *
 * src/cpu has one axis, the family: <family>_<isa>.c (<family>_vector.c: AVX2 and NEON from one
 * source, vec.h) implements the kernels of one family for one instruction set and ends in a const
 * group (nay__blocked_avx2). tables.c lists which group each ISA level takes, and dispatch.c
 * chooses the table for this CPU. So a batch of 64 probes of a fuse filter on a CPU with AVX2 is
 * nay__kernels_avx2 in tables.c -> nay__fuse_vector -> fuse_vector.c. Single probes and shorter
 * batches stay in family/fuse.c, which only takes `bmi2` from the table.
 *
 * A filter takes a pointer to a table when it is made and never asks about the CPU again. Two
 * filters in one process may use different tables, and a test can compare any of them with the
 * scalar one: they give identical bits. The bit patterns are those of base/patterns.h.
 *
 * A new kernel: a slot in its group here, its function in the file of an ISA, the call in
 * src/family, its test. Groups that lack the slot have NULL there, and the family does without.
 */
#ifndef NAY_KERNELS_H
#define NAY_KERNELS_H

#include "base/base.h"
#include "base/compiler.h"
#include "base/patterns.h"

/*
 * Filters of at least this size are assumed to miss the LLC: batch kernels then prefetch all lines
 * of a key before they probe the first. Below it the prefetch costs more than it saves.
 */
#define NAY_OUT_OF_CACHE_BYTES ((uint64_t)24 << 20)

/*
 * nay_bits: what a kernel knows of a filter. `nunits` counts bits (bloom) or blocks.
 */
typedef bool (*nay_bits_probe)(const struct nay_bits *, uint64_t hash);
typedef struct nay_bits {
  nay_bits_probe probe; /* of this filter; NULL: its family's test does more */
  uint8_t *bytes;
  uint64_t nunits;
  uint32_t k;
  uint32_t extra; /* for the family, as in its shape */
  bool in_cache;  /* small enough that prefetching costs more than it saves */
} nay_bits;

/* nay_add_blind: adds a key and does not report whether it was new. Returns NAY_OK. */
typedef nay_status (*nay_add_blind)(const nay_bits *, uint64_t hash);

/*
 * Batches have at most 64 keys: bit i of the bitmap answers for hashes[i].
 *
 * `next`: NULL, or 64 hashes of a later batch; n is then 64, and one block of them is prefetched
 * with each key. 64 prefetches at once would fill the line-fill buffers and stall what follows.
 */

/* ---- blocked: probes, which counting shares ---- */

typedef struct nay_blocked_kernels {
  nay_bits_probe test;
  uint64_t (*test64)(const nay_bits *, const uint64_t *hashes, unsigned n, const uint64_t *next);
} nay_blocked_kernels;

/* nay__blocked_prefetch64: the blocks of a later batch, of a filter that is not in the cache. */
void nay__blocked_prefetch64(const nay_bits *b, const uint64_t *hashes, unsigned n);

/* ---- blocked: adds ---- */

typedef struct nay_blocked_add_kernels {
  bool (*add)(const nay_bits *, uint64_t hash);        /* true when a bit changed: the key is new */
  nay_add_blind (*choose_add_blind)(const nay_bits *); /* for this k; NULL: adds need a lock */
  /* report: the bitmap of new keys is wanted; otherwise it is undefined */
  uint64_t (*add64)(const nay_bits *, const uint64_t *hashes, unsigned n, const uint64_t *next,
                    bool report);
} nay_blocked_add_kernels;

/* ---- scalable: all levels of a payload (halves.h) ---- */

struct nay_halves;
typedef struct nay_scalable_kernels {
  /* For the levels that the payload has: chosen again when it grows. No branch of a test depends on
   * a bit before the lines of sixteen levels are loaded. */
  nay_bits_probe (*choose_test)(const nay_bits *);
  uint64_t (*test64)(const nay_bits *, const uint64_t *hashes, unsigned n, const uint64_t *next);
  /* nay__halves_set */
  unsigned (*set)(const struct nay_halves *, uint8_t *block, uint64_t hash);
} nay_scalable_kernels;

/* nay__scalable_prefetch64: the lines of a later batch in levels that are not in the cache. */
void nay__scalable_prefetch64(const nay_bits *b, const uint64_t *hashes, unsigned n);

/* ---- window: units.h ---- */

typedef struct nay_window_kernels {
  nay_bits_probe test;
  uint64_t (*test64)(const nay_bits *, const uint64_t *hashes, unsigned n, const uint64_t *next);
  uint64_t (*find)(const nay_bits *, uint64_t hash); /* the generations that have all bits */
  /* Adds keys to a generation. The bitmap of those that no generation had; *nchanged: how many had
   * a bit clear in this one. */
  uint64_t (*add64)(const nay_bits *, const uint64_t *hashes, unsigned n, const uint64_t *next,
                    unsigned generation, unsigned *nchanged);
} nay_window_kernels;

/* ---- bloom ---- */

#define NAY_BLOOM_NPARTS 8u
#define NAY_BLOOM_PART 1024u /* bits of one part */
#define NAY_BLOOM_SPARE 16u  /* places after them that a vector may overwrite */

/* nay_bloom_parts: bits to set, by the part of the filter that they lie in. */
typedef struct nay_bloom_parts {
  unsigned shift; /* bit i lies in part i >> shift */
  uint32_t used[NAY_BLOOM_NPARTS];
  uint32_t at[NAY_BLOOM_NPARTS][NAY_BLOOM_PART + NAY_BLOOM_SPARE]; /* from its part's first bit */
} nay_bloom_parts;

typedef struct nay_bloom_kernels {
  nay_bits_probe test;
  nay_bits_probe (*choose_test)(const nay_bits *); /* for this size and k only, chosen once */
  uint64_t (*test64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  bool (*add)(const nay_bits *, uint64_t hash);
  nay_add_blind (*choose_add_blind)(const nay_bits *); /* NULL: adds need a lock */
  uint64_t (*add64)(const nay_bits *, const uint64_t *hashes, unsigned n, bool report);
  /* Filters with concurrent adds: sets the bits of a part. */
  void (*set)(const nay_bits *, const nay_bloom_parts *, unsigned part);
} nay_bloom_kernels;

typedef struct nay_bloom_split_kernels {
  /* Appends the bits of n hashes, for which all parts have room, to their parts. */
  void (*split)(const nay_bits *, const uint64_t *hashes, unsigned n, nay_bloom_parts *);
} nay_bloom_split_kernels;

/* ---- counting: a key of a block and its counters, as far as nothing unusual is there ---- */

typedef struct nay_counted {
  uint64_t left; /* bit i: the kernel left probe i to family/counting.c */
  bool fresh;    /* a key that is added: a bit of the other probes was clear */
} nay_counted;

typedef nay_counted (*nay_counting_change)(uint8_t *plane, uint8_t *words, uint64_t hash,
                                           uint32_t k);

typedef struct nay_counting_kernels {
  nay_counting_change add, remove;
} nay_counting_kernels;

/* ---- fuse and xor ---- */

/* A fuse or xor filter of less than 2^32 bytes, with shards of less than 2^32 bits. */
typedef struct nay_fuse_map {
  const uint8_t *factors, *arrays;         /* of the shards */
  uint64_t nshards, stride, span, segment; /* stride: bytes of an array; segment: 0 for xor */
  unsigned bits, arity;
} nay_fuse_map;

typedef struct nay_fuse_kernels {
  /* Exactly 64 premixed keys. fixed: the keys of shards whose factor is even, that is, of shards
   * with a fixed answer; their bits of the bitmap are undefined. */
  uint64_t (*test64)(const nay_fuse_map *, const uint64_t *x, uint64_t *fixed);
  /* The lines of n keys, a multiple of 8 and at most 64. */
  void (*prefetch64)(const nay_fuse_map *, const uint64_t *x, unsigned n);
} nay_fuse_kernels;

/* ---- cuckoo ---- */

/* A cuckoo table that does not grow, of less than 2^28 buckets. */
typedef struct nay_cuckoo_map {
  const uint8_t *slots;
  uint64_t nbuckets;
  unsigned bits; /* of a tag, at most 16 */
} nay_cuckoo_map;

typedef struct nay_cuckoo_kernels {
  /* For tags of so many bits that do not grow. NULL, or returns NULL: cuckoo.c does it. */
  nay_bits_probe (*choose_test)(unsigned tag_bits);
  uint64_t (*test64)(const nay_cuckoo_map *, const uint64_t *hashes); /* exactly 64 keys */
  void (*prefetch64)(const nay_cuckoo_map *, const uint64_t *hashes, unsigned n); /* as fuse */
} nay_cuckoo_kernels;

/* ---- sbbf ---- */

typedef struct nay_sbbf_kernels {
  nay_bits_probe test;
  uint64_t (*test64)(const nay_bits *, const uint64_t *hashes, unsigned n, const uint64_t *next);
  bool (*add)(const nay_bits *, uint64_t hash);
  nay_add_blind add_blind;
  uint64_t (*add64)(const nay_bits *, const uint64_t *hashes, unsigned n, const uint64_t *next,
                    bool report);
} nay_sbbf_kernels;

/* ---- ribbon: lookups ---- */

/*
 * Where a key's columns are in a ribbon filter, and which bits of them are its. A column's 128
 * slots are two words; the 128 slots of a key, which may begin anywhere, reach into three of the
 * four of its two blocks.
 */
typedef struct nay_ribbon_location {
  const uint8_t *here, *next; /* column 0 of both blocks; the same when nothing is in the next */
  uint64_t bits[3];
  bool upper; /* the first word is the upper one of `here` */
  unsigned columns;
  uint64_t fingerprint; /* bit c % 4 * 16 + c / 4 is for column c */
} nay_ribbon_location;

/* The first layer of a ribbon filter, as in family/burr.h. */
typedef struct nay_ribbon_map {
  const uint8_t *blocks; /* of all layers */
  const uint8_t *codes;  /* of all layers; before them are at least 16 bytes. NULL: no key is bumped
                          */
  uint64_t ncodes;       /* bytes */
  uint64_t nparts;
  uint64_t short_blocks; /* so many have a column less; never the last one */
  uint32_t nblocks;      /* of a part */
  uint32_t seed;
  unsigned columns; /* 1 to 32, of a map to 64 */
  bool in_cache;
} nay_ribbon_map;

typedef struct nay_ribbon_kernels {
  bool (*test)(const nay_ribbon_location *);
  /* Premixed keys. Bit i of *bumped: the other layers answer for key i, whose bit of the result is
   * 0. NULL: one lookup after the other. */
  uint64_t (*test64)(const nay_ribbon_map *, const uint64_t *x, unsigned n, uint64_t *bumped);
  /* For static maps: what the key's slots add up to, bit c from column c. */
  uint64_t (*sum)(const nay_ribbon_location *);
  /* The same for n keys, as test64; the words of bumped keys are undefined. NULL: one after the
   * other. */
  void (*sum64)(const nay_ribbon_map *, const uint64_t *x, unsigned n, uint64_t *words,
                uint64_t *bumped);
} nay_ribbon_kernels;

/* ---- ribbon: banding and back substitution (family/banding.c) ---- */

/* A row of the band matrix. */
typedef struct nay_band_row {
  uint64_t lo, hi;      /* coefficients; lo is 0: empty, and so is the fingerprint */
  uint64_t fingerprint; /* or value: as in a location */
} nay_band_row;

/* The slots found so far. */
#define NAY_BAND_MAX_COLUMNS 64u
typedef struct nay_band_columns {
  /* the last 128 slots of each column, the lowest bit found last */
  uint64_t lo[NAY_BAND_MAX_COLUMNS], hi[NAY_BAND_MAX_COLUMNS];
} nay_band_columns;

#define NAY_BAND_PANEL 8u                /* slots: keys are sorted by panels */
#define NAY_BAND_PADDING 64u             /* keys that a kernel may read past the last */
#define NAY_BAND_SWEEP_BYTES (96u << 10) /* scratch of a kernel */

/* nay_band_part: the equations of one part of a layer, while they are solved. */
typedef struct nay_band_part {
  uint32_t nblocks, nbuckets;
  uint32_t seed;
  unsigned nvalue_bytes;   /* of the fingerprints or values: columns / 8, rounded up */
  uint64_t *keys, *values; /* sorted by panel; values NULL: fingerprints */
  uint32_t *ends;          /* of the keys of each panel */
  nay_band_row *rows;
  uint64_t *bumped, *bumped_values; /* room for all keys of the part */
  size_t nkeys, nbumped;
  uint8_t *codes; /* one for each bucket */
  uint8_t *sweep; /* NAY_BAND_SWEEP_BYTES, aligned to a cache line */
} nay_band_part;

typedef struct nay_banding_kernels {
  /* Eliminates: sets rows, codes and the bumped keys. False, and nothing is changed: the keys crowd
   * some buckets, and the portable code does it. */
  bool (*bump)(nay_band_part *);
  /* 128 slots of columns 8 part to 8 part + 7, from the last row to the first. */
  void (*back_substitute)(const nay_band_row *rows, unsigned part, nay_band_columns *);
} nay_banding_kernels;

/* ---- range ---- */

/* nay_range_index: the values of a range filter, as family/range_values.c lays them out. */
typedef struct nay_range_index {
  const uint8_t *upper, *supers, *groups, *low; /* 8 bytes before `upper` are zero */
  uint64_t nwords;                              /* of 64 bits, that may be read from `upper` on */
  uint32_t low_bits;
  bool in_cache;
} nay_range_index;

#define NAY_RANGE_GROUP_LOG 8u     /* buckets of a group: 2^8 */
#define NAY_RANGE_SUPER_LOG 14u    /* of a supergroup */
#define NAY_RANGE_FULL UINT16_MAX  /* in groups: so many values or more */
#define NAY_RANGE_MAX_FAST_LOW 56u /* low bits that one unaligned load of 8 bytes has */

typedef enum nay_range_found { NAY_RANGE_NONE, NAY_RANGE_SOME, NAY_RANGE_LEFT } nay_range_found;

typedef struct nay_range_kernels {
  /* Whether a value is in [lo, hi], lo <= hi. NAY_RANGE_LEFT: the kernel left it to
   * nay__range_any: many values in a bucket, the end of a small payload. */
  nay_range_found (*any)(const nay_range_index *, uint64_t lo, uint64_t hi);
  /* The same for n ranges, at most 64: bit i is the answer of range i. *left: those that the kernel
   * left, whose bits are 0. */
  uint64_t (*any64)(const nay_range_index *, const uint64_t *lo, const uint64_t *hi, unsigned n,
                    uint64_t *left);
} nay_range_kernels;

/* ---- bulk loading: the hashes of a partition ---- */

typedef struct nay_partition_kernels {
  /* Those of 64 hashes in [least, least + span], in their order; returns how many. `kept` has room
   * for 64. */
  unsigned (*select64)(const uint64_t *hashes, uint64_t least, uint64_t span, uint64_t *kept);
} nay_partition_kernels;

/* ---- hashing ---- */

/* nay_key_list: keys with a pointer and a length each, or one after the other in a buffer, whose
 * offsets have been checked. */
typedef struct nay_key_list {
  const void *const *keys; /* NULL: a buffer */
  const size_t *lens;
  const uint8_t *bytes; /* a buffer: key i is bytes[offsets[i], offsets[i + 1]) */
  const size_t *offsets;
  size_t n; /* 0: not known, and no key is prefetched */
} nay_key_list;

/*
 * nay__prefetch_keys: prefetches `count` keys that are hashed NAY_KEYS_AHEAD keys later. Keys
 * of a buffer are read sequentially, which the hardware prefetcher handles.
 */
#define NAY_KEYS_AHEAD 128u
static inline void nay__prefetch_keys(const nay_key_list *list, size_t i, size_t count) {
  if (list->keys == NULL || i + NAY_KEYS_AHEAD + count > list->n) return;
  for (size_t j = 0; j < count; j++) NAY_PREFETCH(list->keys[i + NAY_KEYS_AHEAD + j]);
}

typedef struct nay_hash_kernels {
  /*
   * XXH3 of keys from, from + 1, ... in eights, up to n, until eight of which one has not 9 to 16
   * bytes. Returns how many were hashed.
   */
  size_t (*xxh3_short)(uint64_t seed, const nay_key_list *, size_t from, size_t n,
                       uint64_t *hashes);
} nay_hash_kernels;

/* ---- tables ---- */

/* nay_kernels: a table. A group that is NULL: the caller does it in plain C. */
typedef struct nay_kernels {
  const char *name;
  bool bmi2; /* functions marked NAY_BMI2 may be called */
  const nay_bloom_kernels *bloom;
  const nay_bloom_split_kernels *bloom_split; /* of filters with concurrent adds */
  const nay_blocked_kernels *blocked;
  const nay_blocked_add_kernels *blocked_add;
  const nay_counting_kernels *counting;
  const nay_scalable_kernels *scalable;
  const nay_window_kernels *window;
  const nay_fuse_kernels *fuse;
  const nay_cuckoo_kernels *cuckoo;
  const nay_sbbf_kernels *sbbf; /* never NULL */
  const nay_ribbon_kernels *ribbon;
  const nay_banding_kernels *banding;
  const nay_range_kernels *range; /* never NULL */
  const nay_partition_kernels *partition;
  const nay_hash_kernels *hash;
} nay_kernels;

extern const nay_kernels nay__kernels_scalar;
/* nay__kernels_shared: for this CPU, for filters that take concurrent adds: probes from any thread,
 * adds from those that hold the stripe or the region (os/spin.h). */
const nay_kernels *nay__kernels_shared(void);

/* nay__kernels_shared_at: the i-th such table that this CPU can run, that of bytes first. */
const nay_kernels *nay__kernels_shared_at(size_t i);

/* nay__kernels_best: for this CPU. */
const nay_kernels *nay__kernels_best(void);

/* nay__kernels_at: the i-th table that this CPU can run, scalar first; NULL past the last. */
const nay_kernels *nay__kernels_at(size_t i);

#endif /* NAY_KERNELS_H */

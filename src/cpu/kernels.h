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

#define NAY_BLOCK_BITS 512u
#define NAY_BLOCK_BYTES 64u
#define NAY_G64 0x9e3779b97f4a7c15u
#define NAY_G32 0x9e3779b9u

typedef struct nay_kernels nay_kernels;

/* nay_bits: what a kernel needs to know of a filter. `nunits` counts bits (bloom) or blocks. */
typedef struct nay_bits {
  uint8_t *bytes;
  uint64_t nunits;
  uint32_t k;
  bool in_cache;  /* small enough that asking for lines ahead of time costs more than it gives */
  uint32_t extra; /* the family's own, as in its shape */
  const nay_kernels *kernels;
} nay_bits;

/* nay_key_list: keys with a pointer and a length each, or one after the other in a buffer. */
typedef struct nay_key_list {
  const void *const *keys; /* NULL: packed */
  const size_t *lens;
  const uint8_t *bytes; /* packed: key i is bytes[offsets[i], offsets[i + 1]) */
  const size_t *offsets;
} nay_key_list;

/*
 * nay_ribbon_look: a key of a ribbon filter, as family/ribbon.c aims it. Column c of its two blocks
 * is 128 bits at here + 16 c and next + 16 c; the parity of those that the masks choose should be
 * bit c % 4 * 16 + c / 4 of print.
 */
typedef struct nay_ribbon_look {
  const uint8_t *here, *next;
  uint64_t here_bits[2], next_bits[2];
  uint64_t print;
  unsigned columns;
} nay_ribbon_look;

/*
 * Batches have at most 64 keys: bit i of the word answers for hashes[i]. A batch's prefetch is
 * called one batch ahead, and only for filters that do not fit in the cache.
 */
struct nay_kernels {
  const char *name;
  bool fast_deposit; /* BMI2, and not one of the CPUs where pdep takes a hundred cycles */
  bool (*bloom_test)(const nay_bits *, uint64_t hash);
  bool (*bloom_add)(const nay_bits *, uint64_t hash); /* true when a bit changed: the key is new */
  uint64_t (*bloom_test64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  uint64_t (*bloom_add64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  void (*bloom_prefetch64)(const nay_bits *, const uint64_t *hashes, unsigned n);

  bool (*blocked_test)(const nay_bits *, uint64_t hash);
  bool (*blocked_add)(const nay_bits *, uint64_t hash);
  uint64_t (*blocked_test64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  uint64_t (*blocked_add64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  /* as blocked_add64, when nobody asks what was new; NULL: no faster than with the answers */
  void (*blocked_put64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  void (*blocked_prefetch64)(const nay_bits *, const uint64_t *hashes, unsigned n);

  /* Whether all columns of a key are as they should be. May be NULL. */
  bool (*ribbon_look)(const nay_ribbon_look *);

  /*
   * XXH3 of keys from, from + 1, ... in eights, up to n, until eight of which one has not 9 to 16
   * bytes. Returns how many were hashed. May be NULL.
   */
  size_t (*xxh3_short)(uint64_t seed, const nay_key_list *, size_t from, size_t n,
                       uint64_t *hashes);
};

extern const nay_kernels nay__kernels_scalar;
/* relaxed atomics: probes from any thread, adds from those that hold the stripe (base/spin.h) */
extern const nay_kernels nay__kernels_shared;

/* nay__kernels_best: for this CPU. */
const nay_kernels *nay__kernels_best(void);

/* nay__kernels_at: the i-th table that this CPU can run, scalar first; NULL past the last. */
const nay_kernels *nay__kernels_at(size_t i);

#endif /* NAY_KERNELS_H */

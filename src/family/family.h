/*
 * family.h - what a filter is, and what a family must know how to do. Read this first.
 *
 * A family stores 64-bit hashes (two words for some foreign layouts) and answers whether it has
 * seen one. It lives in one file, which ends in a const nay_family; registry.c lists the native
 * ones. The contract tests run over that list, so a new family is tested before anyone writes a
 * test for it.
 *
 * The payload in memory is, byte for byte, the payload of the file. Writing is copying, opening is
 * checking, mapping and viewing need neither; and the bytes are the same on every machine.
 */
#ifndef NAY_FAMILY_H
#define NAY_FAMILY_H

#include "base/alloc.h"
#include "base/base.h"
#include "cpu/kernels.h"
#include "hash/hash.h"

/* nay_shape: the geometry that makes two filters of one family alike; stored in file headers. */
typedef struct nay_shape {
  uint64_t nunits; /* bloom: bits; blocked: blocks of 512 bits */
  uint32_t k;      /* probes per key */
  uint32_t extra;  /* for the family; 0 when it has no use for it */
} nay_shape;

/* nay_span: some bytes of a section, as found in a file. */
typedef struct nay_span {
  uint8_t *at;
  size_t len;
} nay_span;

typedef struct nay_family nay_family;
struct nay_format;
struct nay_source; /* the hashes of a build: build/hash_source.h */
struct nay_lazy;   /* the unverified chunks of a mapped file: family/lazy.h */

#define NAY_IS_READ_ONLY 0x100u /* the bytes are not ours to change */
#define NAY_IS_DERIVED 0x200u   /* made by intersection */

/* nay_fuse_geometry: where a probe finds the slots in a payload of family/fuse.h. Lengths and
 * offsets: bits.bytes is the only pointer to the payload, so that nay_filter_move can move it. */
typedef struct nay_fuse_geometry {
  uint64_t nshards, stride, span, segment;
  uint64_t arrays_at; /* offset of the first array */
} nay_fuse_geometry;

/* The public handle. Fields are set by filter.c and native_parse.c; families use bits, shape and k.
 */
struct nay_filter {
  nay_bits bits; /* payload as the kernels see it; first, as nay.h says */
  nay_fuse_geometry fuse;
  const nay_family *family;
  const nay_kernels *kernels;
  nay_add_blind
      put;       /* adds one hash where nothing comes before it and nobody asks whether it is new */
  size_t nbytes; /* length of the payload */
  nay_shape shape;
  nay_hasher hasher;
  uint64_t nkeys; /* planned */
  uint32_t flags; /* NAY_CONCURRENT | NAY_STORE_KEY | NAY_IS_... */
  nay_allocator allocator;
  nay_memory memory;   /* what holds the payload, unless it is mapped or borrowed */
  const uint8_t *meta; /* the user's metadata; in `memory`, or in its own allocation */
  size_t meta_len;
  bool meta_owned;
  struct nay_lazy *lazy; /* NULL: every byte has been verified */
  void *mapping;         /* a mapped file, and how to let go of it */
  size_t mapping_len;
  void (*unmap)(void *mapping, size_t len);
  const struct nay_format *format; /* another system's layout; NULL: native */
  uint8_t *locks;                  /* NAY_CONCURRENT: NAY_NSTRIPES of base/spin.h; NULL: none */
  uint64_t nrefused;               /* removals of keys that test nay */
};

/* Numbers that a family reads off its bits, for stats, merge and fold. */
typedef struct nay_census {
  uint64_t nbits; /* that keys can set: counters and headers are not among them */
  uint64_t nbits_set;
  double nkeys; /* estimated */
  double fpr;   /* of the bits as they are */
} nay_census;

/*
 * nay_solver: what a static family knows of being built. static_build.c cuts the keys into shards,
 * runs the threads, draws the seeds, finds duplicates and verifies; a solver sees one shard at a
 * time. Its keys are 64-bit words x made from the hashes by the filter's premix
 * (family/static_hash.h), all of one shard: nay__shard_of(x, nshards). They come in any order, and
 * the bytes must not depend on it. Threads call attempt, give_up and test64 at once, each for
 * shards of its own.
 */
typedef struct nay_solver {
  uint64_t (*nshards)(const nay_shape *);
  unsigned shards_per_task_log2; /* 2^this neighbouring shards are one piece of a thread's work */
  /* Whether filters of a and b keys are laid out alike; NULL: that depends on every count. */
  bool (*alike)(const nay_filter *, uint64_t a, uint64_t b);
  /* Writes all that comes before the arrays; shard s has counts[s] keys. */
  void (*begin)(nay_filter *, uint64_t premix, const uint64_t *counts);
  /* Bytes of scratch for a shard of n keys, 64-byte aligned. */
  size_t (*scratch)(const nay_shape *, uint64_t n);
  /* false: the n keys do not work out with this seed, or two of them are equal. Attempts count up
   * from 0; the seed says what was tried, so it is what is stored. */
  bool (*attempt)(nay_filter *, uint64_t shard, unsigned attempt, uint32_t seed, const uint64_t *x,
                  size_t n, uint8_t *scratch);
  /* After the last attempt: an answer that is never a false nay, at whatever rate. */
  void (*give_up)(nay_filter *, uint64_t shard, uint32_t seed, const uint64_t *x, size_t n,
                  uint8_t *scratch);
  /* As nay_family.test64, for words that are premixed already. */
  uint64_t (*test64)(const nay_filter *, const uint64_t *x, unsigned n);
} nay_solver;

/* A NULL slot means NAY_ENOTSUP. Callers have checked arguments, read-only-ness and mismatch. */
struct nay_family {
  nay_kind kind;
  const char *name;
  unsigned traits; /* NAY_CAN_... */

  /*
   * The length of a payload is stated in the payload itself (shards, levels, a pool), not only in
   * the shape: payload() then gives what a new filter needs, and check() must also verify `len`.
   */
  bool self_sized;
  bool ordered; /* the order of adds or their repeats show: builders choose it, and drop repeats */
  bool shared;  /* takes NAY_CONCURRENT */
  bool copy_locked;   /* and a copy must wait for adds: half of one would not pass check() */
  bool skips_repeats; /* builders drop a hash that equals the one before it */

  /* params -> shape; fills diag with the field to blame. Allocates nothing. */
  nay_status (*plan)(const nay_params *, nay_diag *, nay_shape *);
  /* the payload that a shape needs, in bits and bytes; false when it exceeds what can be addressed
   */
  bool (*payload)(const nay_shape *, uint64_t *nbits, uint64_t *nbytes);
  /* the exact rate of a shape that holds nkeys keys */
  double (*fpr)(const nay_shape *, uint64_t nkeys);

  /* more to say in a plan or in stats than the numbers that all families have */
  void (*foresee)(const nay_params *, const nay_shape *, nay_plan *);
  void (*describe)(const nay_filter *, nay_stats *);

  /* writes what an empty filter has in its zeroed payload; NULL: nothing */
  void (*init)(nay_filter *, const nay_params *);
  /* the size and the knobs that plan and init would make this shape from; families with add */
  void (*recall)(const nay_filter *, nay_params *);
  /* forgets every key; NULL: all bytes become zero */
  nay_status (*clear)(nay_filter *);

  /* static families only: how static_build.c builds them */
  const nay_solver *build;
  /* static layouts of other systems: made from all hashes, in the order in which they came */
  nay_status (*compose)(const struct nay_format *, const nay_params *, const struct nay_source *,
                        const nay_allocator *, nay_filter **);

  /* what answers for one hash of this filter by its bits alone: bits.probe; optional, and NULL when
   * there is none for it. Called when the payload is there; may note in bits what the probe needs
   */
  nay_probe (*kernel)(nay_filter *);
  /* the same for adds, which never fail: f->put; the filter may be written to */
  nay_add_blind (*put_kernel)(const nay_filter *);
  nay_status (*add)(nay_filter *, nay_hash, bool *is_new);
  bool (*test)(const nay_filter *, nay_hash);
  /* at most 64 keys; hi is NULL unless the hash has two words */
  nay_status (*add64)(nay_filter *, const uint64_t *lo, const uint64_t *hi, unsigned n,
                      uint64_t *bitmap);
  /* adds those of n hashes (bloom: those of their bits) that belong to one of nparts parts of the
   * payload, which share no byte: several threads fill a new filter. NULL: one does */
  void (*fill_part)(nay_filter *, const uint64_t *lo, uint64_t n, unsigned part, unsigned nparts);
  /*
   * Adds to `count` units from `first` on, a few hundred KiB that are not in the cache yet, and
   * changes nothing else: hashes of these units, or 32-bit places of bits from `first` on, for
   * families that have bits_of. In any order the bytes are the same; NULL: the order shows.
   */
  void (*add_near)(nay_filter *, const void *items, size_t nbytes, uint64_t first, uint64_t count);
  /* the bits of n hashes, k for each; families whose hashes have more than one unit */
  void (*bits_of)(const nay_filter *, const uint64_t *lo, unsigned n, uint64_t *bits);
  /* add64 when nobody asks what was new, where that is faster; may be NULL, and may refuse */
  bool (*put64)(nay_filter *, const uint64_t *lo, unsigned n);
  uint64_t (*test64)(const nay_filter *, const uint64_t *lo, const uint64_t *hi, unsigned n);
  /* asks for the memory that a later batch will read; optional */
  void (*prefetch64)(const nay_filter *, const uint64_t *lo, const uint64_t *hi, unsigned n);
  /* exactly 64 keys, while the memory of 64 that come later is asked for key by key; optional, for
   * hashes of one word. bitmap may be NULL */
  uint64_t (*test64_ahead)(const nay_filter *, const uint64_t *lo, const uint64_t *next);
  nay_status (*add64_ahead)(nay_filter *, const uint64_t *lo, const uint64_t *next,
                            uint64_t *bitmap);
  /* the same for one key; NULL: prefetch64 does it, or finding the lines takes as long as reading
   */
  void (*prepare)(const nay_filter *, nay_hash);
  nay_status (*remove)(nay_filter *, nay_hash);
  nay_status (*count)(const nay_filter *, nay_hash, uint64_t *count);
  nay_status (*advance)(nay_filter *, uint64_t now);

  /* dst and src have the same shape */
  nay_status (*merge)(nay_filter *dst, const nay_filter *src);
  /* instead of merge, where shapes may differ: hashes agree, the rest is up to the family */
  nay_status (*join)(nay_filter *dst, const nay_filter *src, double max_fpr);
  void (*intersect)(nay_filter *dst, const nay_filter *src);
  /* writes src, folded by factor (a divisor of nunits), into the zeroed bytes of dst */
  void (*fold)(const nay_filter *src, uint64_t factor, uint8_t *dst);
  /* instead of fold, where only a part shrinks and the filter takes no new key after it: the number
   * of units that factor must divide, and the deed */
  uint64_t (*foldable)(const nay_filter *);
  nay_status (*finish)(nay_filter *, uint64_t factor);
  /* shrinking without the keys: the shape of f in nbytes or less, and its bytes */
  nay_status (*shrunk)(const nay_filter *f, uint64_t nbytes, nay_shape *);
  void (*shrink)(const nay_filter *src, const nay_shape *, uint8_t *dst);
  /*
   * Reads the bits: of a as it is (b NULL, factor 1), of the union of a and b, or of a folded.
   * Never both.
   */
  void (*census)(const nay_filter *a, const nay_filter *b, uint64_t factor, nay_census *);

  /*
   * Whether a payload from a file can be this shape's: lengths have been checked against
   * payload(); what is left are invariants of the bytes, such as zero padding. The bytes are an
   * enemy's, and in a lazy map only the first and the last chunk have been verified: what is read
   * elsewhere may be damaged, and touch() must name it again. diag's offset counts from `payload`.
   */
  nay_status (*check)(const nay_shape *, const uint8_t *payload, size_t len, nay_diag *);
  /*
   * The addresses that a probe may read, at most NAY_MAX_TOUCH: verified first in a lazy map, so
   * touch() itself reads nothing outside the first and the last chunk. NULL: no lazy map, files of
   * this family are verified when they are mapped.
   */
  unsigned (*touch)(const nay_filter *, nay_hash, const uint8_t **addresses);
};

#define NAY_MAX_TOUCH 64u

/* Payloads up to this size are taken to be in the cache: half of a usual L2. */
#define NAY_CACHE_BYTES ((size_t)512 << 10)

/* nay__family_at: the i-th native family, NULL past the last. */
const nay_family *nay__family_at(size_t i);

/* nay__family_find: by kind; NULL when there is none (NAY_AUTO included). */
const nay_family *nay__family_find(nay_kind kind);

/* nay__family_is_native: whether the family is in the registry and so has native files. */
bool nay__family_is_native(const nay_family *family);

extern const nay_family nay__family_bloom;
extern const nay_family nay__family_blocked;
extern const nay_family nay__family_counting;
extern const nay_family nay__family_scalable;
extern const nay_family nay__family_window;
extern const nay_family nay__family_cuckoo;
extern const nay_family nay__family_xor;
extern const nay_family nay__family_fuse;
extern const nay_family nay__family_ribbon;

#endif /* NAY_FAMILY_H */

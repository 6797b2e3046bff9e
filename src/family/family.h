/*
 * family.h - what a filter is, and what a family implements. Read this first.
 *
 * A family stores 64-bit hashes (two words for some foreign layouts) and answers whether it has
 * seen one. It lives in one file, which ends in a const nay_family; families.h lists the native
 * ones. The contract tests run over that list, so a new family is tested before anyone writes a
 * test for it.
 *
 * A nay_family has a few core verbs and pointers to groups of optional ones:
 *
 *   core      plan a shape, make and check a payload, add, test, explain, remove, count one hash
 *   batch     the same for up to 64 hashes, with prefetching
 *   bulk      loading many hashes at once: build/
 *   algebra   whole filters: merge, intersect, fold, shrink
 *   order     keys whose order the family knows: it is asked with them, not with their hashes
 *
 * The payload in memory is, byte for byte, the payload of the file. Writing is copying, opening is
 * checking, mapping and viewing need neither; and the bytes are the same on every machine.
 */
#ifndef NAY_FAMILY_H
#define NAY_FAMILY_H

#include "base/alloc.h"
#include "base/base.h"
#include "base/compiler.h"
#include "cpu/kernels.h"
#include "family/families.h"
#include "hash/hash.h"
#include "key/key_description.h"
#include "math/fpr.h"

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
struct nay_source;      /* the hashes of a build: build/hash_source.h */
struct nay_lazy;        /* the unverified chunks of a mapped file: family/lazy.h */
struct nay_explain_run; /* an explanation while it is made: family/explain.h */

#define NAY_IS_READ_ONLY 0x100u  /* the bytes are not ours to change */
#define NAY_IS_DERIVED 0x200u    /* made by intersection */
#define NAY_IS_AS_WRITTEN 0x400u /* NAY_FORMAT_AS_WRITTEN */

#define NAY_NDERIVED 5u

/* nay_filter: the public handle. filter.c and native_parse.c set its fields. */
struct nay_filter {
  nay_bits bits; /* payload as the kernels see it; first: see nay__filter_of */
  /*
   * What `bind` of the family derives from shape and payload so that a probe need not: numbers, no
   * pointers, because nay__filter_move moves the payload. Undefined in families that have no use
   * for it.
   */
  uint64_t derived[NAY_NDERIVED];
  const nay_family *family;
  const nay_kernels *kernels;
  nay_add_blind
      add_blind; /* adds a hash without reporting whether it is new; NULL: family->add does */
  size_t nbytes; /* length of the payload */
  nay_shape shape;
  nay_hash_fn hasher;
  uint64_t nkeys; /* planned */
  uint32_t flags; /* NAY_CONCURRENT | NAY_STORE_KEY | NAY_IS_... */
  nay_allocator allocator;
  nay_memory memory;   /* what holds the payload, unless it is mapped or borrowed */
  const uint8_t *meta; /* the user's metadata; in `memory`, or in its own allocation */
  size_t meta_len;
  bool meta_owned;
  nay_key_text key_text; /* how its keys were made: nay_key.h; "": plain text */
  struct nay_lazy *lazy; /* NULL: every byte has been verified */
  void *mapping;         /* a mapped file, and how to unmap it */
  size_t mapping_len;
  void (*unmap)(void *mapping, size_t len);
  const struct nay_format *format; /* another system's layout; NULL: native */
  uint8_t *locks;                  /* NAY_CONCURRENT: those of os/spin.h; NULL: none */
  uint64_t nrefused;               /* removals of keys that test nay */
};

/* nay__filter_of finds the handle by its first member. */
_Static_assert(offsetof(struct nay_filter, bits) == 0, "bits come first");

/* nay__filter_of: the filter whose bits a probe was called with. */
static inline const nay_filter *nay__filter_of(const nay_bits *bits) {
  return (const nay_filter *)(const void *)bits;
}

/* nay_census: numbers that a family reads off its bits, for stats, merge and fold. */
typedef struct nay_census {
  uint64_t nbits; /* that keys can set: counters and headers are not among them */
  uint64_t nbits_set;
  nay_estimate keys;
  double fpr; /* of the bits as they are */
} nay_census;

/* nay__exactly: a number of keys that is stored. */
static inline nay_estimate nay__exactly(uint64_t nkeys) {
  return (nay_estimate){(double)nkeys, 0, false};
}

/* ---- batch: up to 64 hashes ---- */

/*
 * nay_family_batch: prefetch may be NULL, and so may add in families without adds. hi is NULL
 * unless the hash has two words. Bit i of a bitmap is for hash i.
 */
typedef struct nay_family_batch {
  /*
   * next: NULL, or 64 hashes of a later group, n is then 64: the family prefetches their lines, one
   * with each hash of this group, which occupies fewer line-fill buffers at a time than 64
   * prefetches at once. Only families that say so get it; for the others the caller prefetches.
   */
  bool interleaves_add, interleaves_test;
  /* bitmap: of the hashes that are new; NULL: the caller does not ask (a blind add). An add that
   * fails sets *taken to the number of hashes before the one that failed, which it keeps. */
  nay_status (*add)(nay_filter *, const uint64_t *lo, const uint64_t *hi, unsigned n,
                    const uint64_t *next, uint64_t *bitmap, size_t *taken);
  uint64_t (*test)(const nay_filter *, const uint64_t *lo, const uint64_t *hi, unsigned n,
                   const uint64_t *next);
  /* the lines that a later test or add of these hashes accesses; n is 1 for nay_filter_prefetch */
  void (*prefetch)(const nay_filter *, const uint64_t *lo, const uint64_t *hi, unsigned n);
} nay_family_batch;

/*
 * nay__add_each, nay__test_each: a group by one call for each hash. `add` or `test` is a constant,
 * so that the compiler makes the call direct. After a failed add the bitmap and *taken tell of
 * those before.
 */
NAY_INLINE nay_status nay__add_each(nay_status (*add)(nay_filter *, nay_hash, bool *),
                                    nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    unsigned n, uint64_t *bitmap, size_t *taken) {
  nay_status status = NAY_OK;
  uint64_t word = 0;
  for (unsigned i = 0; i < n && status == NAY_OK; i++) {
    bool is_new = false;
    status = add(f, (nay_hash){lo[i], hi != NULL ? hi[i] : 0}, &is_new);
    word |= (uint64_t)is_new << i;
    if (status != NAY_OK) *taken = i;
  }
  if (bitmap != NULL) *bitmap = word;
  return status;
}

NAY_INLINE uint64_t nay__test_each(bool (*test)(const nay_filter *, nay_hash), const nay_filter *f,
                                   const uint64_t *lo, const uint64_t *hi, unsigned n) {
  uint64_t word = 0;
  for (unsigned i = 0; i < n; i++) {
    word |= (uint64_t)test(f, (nay_hash){lo[i], hi != NULL ? hi[i] : 0}) << i;
  }
  return word;
}

/* nay__batch_each: for families without batches of their own: a call of add or test each. */
extern const nay_family_batch nay__batch_each;

/* ---- bulk: loading many hashes, see build/ ---- */

/* nay_shards: how a static family solves shards that are independent of each other. */
typedef struct nay_shards {
  /* Whether filters of a and b keys are laid out alike; NULL: that depends on every count. */
  bool (*alike)(const nay_filter *, uint64_t a, uint64_t b);
  /* Writes all that comes before the arrays. */
  void (*begin)(nay_filter *, uint64_t premix);
  /* Bytes of scratch for a shard of n keys, 64-byte aligned. */
  size_t (*scratch)(const nay_shape *, uint64_t n);
  /* false: the n keys do not work out with this seed, or two of them are equal. Attempts count up
   * from 0; the seed says what was tried, so it is what is stored. */
  bool (*attempt)(nay_filter *, uint64_t shard, unsigned attempt, uint32_t seed, const uint64_t *x,
                  size_t n, uint8_t *scratch);
  /* After the last attempt: an answer that is never a false nay, at any FPR. */
  void (*give_up)(nay_filter *, uint64_t shard, uint32_t seed, const uint64_t *x, size_t n,
                  uint8_t *scratch);
} nay_shards;

/*
 * nay_layers: layer 0 has the shards as its parts; a part keeps as many keys as it can, and what it
 * leaves is for the next layer, cut into parts in the same way. The last layer is one part and
 * keeps all, or fails. A key that is there twice reaches the last layer and makes it fail.
 */
#define NAY_LAST_ATTEMPTS 255u
typedef struct nay_layers {
  uint64_t (*nparts)(const nay_shape *, unsigned layer);
  bool (*is_last)(const nay_shape *, unsigned layer);
  uint64_t (*capacity)(const nay_shape *, unsigned layer); /* the most keys that it can get */
  /* Bytes of scratch for n keys of a part, 64-byte aligned. */
  size_t (*scratch)(const nay_shape *, unsigned layer, uint64_t n);
  /* An empty payload; the attempt chooses the seed of all layers but the last, up to 255. */
  void (*begin)(nay_filter *, uint64_t premix, unsigned attempt);
  /* Returns how many keys it leaves: *bumped, in the scratch, as the next layer takes them. */
  size_t (*fill_part)(nay_filter *, unsigned layer, uint64_t part, const uint64_t *x, size_t n,
                      uint8_t *scratch, uint64_t **bumped);
  /* false: not with the seed of this attempt, below NAY_LAST_ATTEMPTS, or two keys are equal. */
  bool (*fill_last)(nay_filter *, unsigned attempt, const uint64_t *x, size_t n, uint8_t *scratch);
  /* After the last attempt: every answer is maybe. */
  void (*give_up)(nay_filter *);
} nay_layers;

/*
 * nay_solver: what a static family knows of being built. static_build.c cuts the keys into shards,
 * runs the threads, draws the seeds, finds duplicates and verifies; a solver sees one shard at a
 * time. Its keys are 64-bit words x made from the hashes by the filter's premix
 * (family/static_hash.h), all of one shard: nay__shard_of(x, nshards). They come in any order, and
 * the bytes must not depend on it. Threads call the verbs for one shard at once, each for shards of
 * its own.
 *
 * Either the shards are independent (nay_shards), or they leave keys to further layers
 * (nay_layers).
 */
typedef struct nay_solver {
  uint64_t (*nshards)(const nay_shape *);
  uint64_t premix_mask; /* bits that a premix may have */
  const nay_shards *shards;
  const nay_layers *layers; /* or NULL */
  /* As nay_family_batch.test, for words that are premixed already. */
  uint64_t (*test)(const nay_filter *, const uint64_t *x, unsigned n);
} nay_solver;

/* nay_family_bulk: a family has a solver, or compose, or verbs of the adds below. */
typedef struct nay_family_bulk {
  /* static families: how static_build.c builds them */
  const nay_solver *solver;
  /* static layouts of other systems: made from all hashes, in the order of the input */
  nay_status (*compose)(const struct nay_format *, const nay_params *, const struct nay_source *,
                        const nay_allocator *, nay_diag *, nay_filter **);
  /* adds those of n hashes (bloom: those of their bits) that fall into one of nparts parts of the
   * payload. Parts share no byte: several threads load a new filter */
  void (*add_part)(nay_filter *, const uint64_t *lo, uint64_t n, unsigned part, unsigned nparts);
  /*
   * Adds to units [first, first + count), a few hundred KiB that are not in the cache yet, and
   * changes nothing else. Items are the hashes of these units, or 32-bit locations of bits from
   * `first` on in families that have locate_bits. The bytes are the same for any order of items;
   * NULL: they are not.
   */
  void (*add_partition)(nay_filter *, const void *items, size_t nbytes, uint64_t first,
                        uint64_t count);
  /*
   * Filters that take concurrent adds: adds up to 64 hashes whose units' regions (os/spin.h) the
   * caller holds, and returns which are new, if `report`. Families whose add changes one unit, that
   * of nay__reduce, and locks its stripe in its region.
   */
  uint64_t (*add_held)(nay_filter *, const uint64_t *lo, unsigned n, bool report);
  /* Filters that take concurrent adds, families whose bits of a key lie in several regions: adds n
   * hashes. The bitmap, of those that are new, may be NULL. */
  void (*add_batch)(nay_filter *, const uint64_t *lo, size_t n, uint64_t *bitmap);
  /* the bits of n hashes, k for each; families in which a hash has more than one unit */
  void (*locate_bits)(const nay_filter *, const uint64_t *lo, unsigned n, uint64_t *bits);
} nay_family_bulk;

/* ---- algebra: whole filters, see filter_algebra.c ---- */

typedef struct nay_family_algebra {
  /* dst and src have the same shape, up to capacity_mask */
  nay_status (*merge)(nay_filter *dst, const nay_filter *src);
  /* instead of merge, where shapes may differ: the hash functions agree, the family checks the
   * rest */
  nay_status (*join)(nay_filter *dst, const nay_filter *src, double max_fpr);
  void (*intersect)(nay_filter *dst, const nay_filter *src);
  /* writes src, folded by factor (a divisor of nunits), into the zeroed bytes of dst */
  void (*fold)(const nay_filter *src, uint64_t factor, uint8_t *dst);
  /* instead of fold, where only a part shrinks and the filter takes no new key after it: the number
   * of units that factor must divide, with the k of that part, and the fold */
  uint64_t (*foldable)(const nay_filter *, uint32_t *k);
  nay_status (*fold_and_seal)(nay_filter *, uint64_t factor);
  /* shrinking without the keys: the shape of f in at most nbytes, and the payload of that shape */
  nay_status (*shrunk_shape)(const nay_filter *f, uint64_t nbytes, nay_shape *);
  void (*shrink)(const nay_filter *src, const nay_shape *, uint8_t *dst);
  /* instead of both: in place; NAY_EINVAL: the family cannot be so small */
  nay_status (*shrink_to)(nay_filter *, uint64_t nbytes);
} nay_family_algebra;

/* ---- order: keys, not hashes ---- */

/* nay_family_order: a family whose answers depend on more of a key than its hash. It answers maybe
 * for every hash. */
typedef struct nay_family_order {
  /* NAY_EKEY: locked. Unless it returns NAY_OK, *maybe is as it was. */
  nay_status (*test)(const nay_filter *, const void *key, size_t len, bool *maybe);
  /* up to 64 keys, of a filter whose hasher is ready: bit i is the answer of key i */
  uint64_t (*test_many)(const nay_filter *, const void *const *keys, const size_t *lens,
                        unsigned n);
  /* as nay_family.explain, of a filter whose hasher is ready */
  void (*explain)(const nay_filter *, const void *key, size_t len, struct nay_explain_run *run);
} nay_family_order;

/* ---- the family ---- */

/* A family that only another system's layout has: no number in files, no name for nay_kind_name. */
#define NAY_FOREIGN_KIND ((nay_kind)63)

/*
 * nay_family: plan, payload, fpr, census, test, explain and batch are required; a family with
 * NAY_CAN_ADD also needs add and to_params. Any other verb or group that is NULL means NAY_ENOTSUP,
 * unless it says otherwise. Callers have checked arguments, whether the filter is read-only, and
 * whether two filters match.
 */
struct nay_family {
  nay_kind kind;
  const char *name; /* on the command line, in Redis, in messages */
  unsigned traits;  /* NAY_CAN_...; the contract tests compare them with the verbs */
  unsigned knobs;   /* NAY_KNOB_... of math/plan.h: the fields of nay_params of its own */

  /*
   * The length of a payload is stated in the payload itself (shards, levels, a pool), not only in
   * the shape: payload() then gives the length of a new filter, and check() verifies `len`.
   */
  bool self_sized;
  bool ordered;       /* the order of adds or their duplicates show in the bytes: builders sort the
                         hashes and drop duplicates first */
  bool concurrent;    /* takes NAY_CONCURRENT */
  bool copy_locked;   /* and a copy waits for adds: half an add would not pass check() */
  bool has_note;      /* of another layout: files have a place for metadata all the same */
  bool skips_repeats; /* builders drop a hash that equals the one before it */
  uint32_t capacity_mask; /* bits of shape.extra that say how much a filter can take, not where its
                             keys are: filters that differ in them merge */

  /* ---- shape ---- */

  /* params -> shape; fills diag with the field to blame. Allocates nothing. */
  nay_status (*plan)(const nay_params *, nay_diag *, nay_shape *);
  /* the length of the payload of a new filter; false: it exceeds the address space */
  bool (*payload)(const nay_shape *, uint64_t *nbits, uint64_t *nbytes);
  /* the exact false-positive rate (FPR) of a shape that holds nkeys keys */
  double (*fpr)(const nay_shape *, uint64_t nkeys);
  /* what a plan says beyond the numbers that all families have; NULL: nothing */
  void (*extend_plan)(const nay_params *, const nay_shape *, nay_plan *);

  /* ---- payload ---- */

  /* writes what an empty filter has in its zeroed payload; NULL: nothing */
  void (*init)(nay_filter *, const nay_params *);
  /* the size and the knobs from which plan and init make this shape; families with add */
  void (*to_params)(const nay_filter *, nay_params *);
  /* removes every key; NULL: all bytes become zero */
  nay_status (*clear)(nay_filter *);
  /*
   * Whether a payload from a file is valid for this shape; NULL: every one is. Lengths have been
   * checked against payload(); what is left are invariants of the bytes, such as zero padding. The
   * bytes are an attacker's, and in a lazy map only the first and the last chunk have been
   * verified: what check() reads elsewhere may be damaged, and probe_addresses() must name it
   * again. diag's offset counts from `payload`.
   */
  nay_status (*check)(const nay_shape *, const uint8_t *payload, size_t len, nay_diag *);
  /*
   * Counts the set bits and estimates keys and FPR from them: of a (b NULL, factor 1), of the union
   * of a and b (factor 1), or of a folded by factor (b NULL).
   */
  void (*census)(const nay_filter *a, const nay_filter *b, uint64_t factor, nay_census *);
  /* what stats say beyond the numbers that all families have; NULL: nothing */
  void (*describe)(const nay_filter *, nay_stats *);

  /* ---- one hash ---- */

  /*
   * Chooses the fastest code for this shape, payload and CPU, whenever one of them changes: sets
   * bits.probe, which answers for one hash by its bits alone, and add_blind, which never fails. It
   * may leave either NULL, and writes to `derived` what they need. NULL: test and add are used.
   */
  void (*bind)(nay_filter *);
  bool (*test)(const nay_filter *, nay_hash);
  /* emits what decides the answer of test: all of it, each group of steps whole */
  void (*explain)(const nay_filter *, nay_hash, struct nay_explain_run *);
  nay_status (*add)(nay_filter *, nay_hash, bool *is_new);
  nay_status (*remove)(nay_filter *, nay_hash);
  nay_status (*count)(const nay_filter *, nay_hash, uint64_t *count);
  /* moves the clock of a family that expires keys */
  nay_status (*advance)(nay_filter *, uint64_t now);
  /*
   * The addresses that a probe may read, at most NAY_MAX_ADDRESSES: a lazy map verifies them first,
   * so this reads nothing outside the first and the last chunk. NULL: no lazy map, files of this
   * family are verified when they are mapped.
   */
  unsigned (*probe_addresses)(const nay_filter *, nay_hash, const uint8_t **addresses);
  /* Bytes at the end of the payload that any probe may read: a lazy map verifies them at once, and
   * probe_addresses() need not name them. NULL: none. Not in a self-sized family. */
  uint64_t (*tail)(const nay_shape *);

  /* ---- one key: layouts whose hash is by_key; test, add and explain take no hash of theirs ----
   */

  bool (*test_key)(const nay_filter *, const uint8_t *key, size_t len);
  nay_status (*add_key)(nay_filter *, const uint8_t *key, size_t len, bool *is_new);
  void (*explain_key)(const nay_filter *, const uint8_t *key, size_t len, struct nay_explain_run *);

  /* ---- groups ---- */

  const nay_family_batch *batch; /* nay__batch_each if it has no batch code */
  const nay_family_bulk *bulk;
  const nay_family_algebra *algebra;
  const nay_family_order *order;
};

#define NAY_MAX_ADDRESSES 64u

/* Payloads up to this size are assumed to stay in L2: half of a usual one. */
#define NAY_CACHE_BYTES ((size_t)512 << 10)

/* nay__family_at: the i-th native family of filters, NULL past the last. Maps are not among them.
 */
const nay_family *nay__family_at(size_t i);

/* nay__family_find: by kind, maps included; NULL when there is none (NAY_AUTO included). */
const nay_family *nay__family_find(nay_kind kind);

/* nay__family_is_native: whether the family has native files. */
bool nay__family_is_native(const nay_family *family);

/* nay__family_solver: how the family is built; NULL: it is not static. */
static inline const nay_solver *nay__family_solver(const nay_family *family) {
  return family->bulk != NULL ? family->bulk->solver : NULL;
}

#define NAY_DECLARE_FAMILY(name) extern const nay_family nay__family_##name;
NAY_FAMILIES(NAY_DECLARE_FAMILY)
#undef NAY_DECLARE_FAMILY

#endif /* NAY_FAMILY_H */

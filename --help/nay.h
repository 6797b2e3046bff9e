/*
 * nay.h - membership filters: is this key in the set? The certain answer is "nay".
 *
 *   nay_params p = {.kind = NAY_BLOCKED, .nkeys = 1000000, .fpr = 0.01};
 *   nay_filter *f;
 *   if (nay_filter_new(&p, NULL, &f) != NAY_OK) return 1;
 *   nay_filter_add(f, "foo", 3, NULL);
 *   if (!nay_filter_may_contain(f, "bar", 3)) puts("nay");
 *   nay_filter_free(f);
 *
 * A filter answers *nay* (the key was never added: certain) or *maybe* (it was, or this is one of
 * the few false positives whose rate you chose). Words used below: a *key* is bytes; its *hash* is
 * made once, by the filter's hash function; a *family* is a way to store hashes; a *plan* is what a
 * filter will cost, computed before it exists.
 *
 * OWNERSHIP. Objects are made by nay_x_new (or build, copy, decode, open, map, finish) and released
 * by nay_x_free, which accepts NULL. Buffers are always the caller's. Pointers to const that the
 * library returns are views: valid until the object is changed or freed. Never pass one to free(3).
 *
 * ERRORS. Calls return a nay_status; outputs come last and are untouched on failure, and so is the
 * object: a failed call changes nothing. Membership cannot fail and returns bool: in doubt, true.
 *
 * THREADS. Calls on a const filter are safe together. A filter made with NAY_CONCURRENT (bloom,
 * blocked, counting) also takes adds and removes from many threads at once, beside probes, which
 * never wait; calls that read the whole filter, such as stats, copy and encode, wait until the adds
 * are done. Everything else: one thread at a time.
 *
 * MEMORY. Each object keeps the allocator it was made with (NULL: malloc). There are no globals.
 */
#ifndef NAY_H
#define NAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(NAY_SHARED) && defined(__GNUC__)
#define NAY_API __attribute__((visibility("default")))
#else
#define NAY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version ------------------------------------------------------------------------------------
 */

#define NAY_VERSION_MAJOR 0
#define NAY_VERSION_MINOR 1
#define NAY_VERSION_PATCH 0

/* nay_version: the version of the library that runs, such as "0.1.0". */
NAY_API const char *nay_version(void);

/* ---- status -------------------------------------------------------------------------------------
 */

/* The one list of errors: enum, text and the table in doc/status.md come from it. */
#define NAY_STATUS_MAP(X)                                                                   \
  X(OK, 0, "success")                                                                       \
  X(ENOMEM, -1, "the allocator returned NULL")                                              \
  X(EINVAL, -2, "an argument is out of its documented range")                               \
  X(ENOTSUP, -3, "this filter cannot do that")                                              \
  X(EMISMATCH, -4, "the filters differ in family, shape, hash or seed")                     \
  X(ECORRUPT, -5, "the bytes are damaged: a checksum, length or field is wrong")            \
  X(EVERSION, -6, "the bytes need a newer library: unknown version, kind or required flag") \
  X(EFORMAT, -7, "the bytes are not of this format")                                        \
  X(EKEY, -8, "the secret key is missing or is not the one the filter was made with")       \
  X(EBUFFER, -9, "the output buffer is too small")                                          \
  X(EIO, -10, "the operating system refused a file operation")                              \
  X(EFULL, -11, "the result would exceed a limit on rate or size")                          \
  X(ENOENT, -12, "the key is not in the filter")

typedef enum nay_status {
#define X(name, value, text) NAY_##name = (value),
  NAY_STATUS_MAP(X)
#undef X
} nay_status;

/* nay_status_text: one line for people; "unknown status" for other numbers. */
NAY_API const char *nay_status_text(nay_status status);

/* nay_status_name: "NAY_EINVAL" and so on, for logs. */
NAY_API const char *nay_status_name(nay_status status);

/*
 * nay_diag: what exactly was wrong, and where. Functions that take one accept NULL; they fill it
 * only when they fail. `what` is static text; `offset` counts bytes from the start of the input
 * (0 when no byte is to blame); `os_error` is errno when the status is NAY_EIO, else 0.
 */
typedef struct nay_diag {
  const char *what;
  uint64_t offset;
  int os_error;
} nay_diag;

/* ---- allocator ----------------------------------------------------------------------------------
 */

/*
 * nay_allocator: where an object's memory comes from. `alloc` returns NULL when there is none, and
 * memory aligned for any type otherwise; `free` gets the size that was asked for. Both get `ctx`.
 */
typedef struct nay_allocator {
  void *(*alloc)(void *ctx, size_t size);
  void (*free)(void *ctx, void *ptr, size_t size);
  void *ctx;
} nay_allocator;

/* ---- hash ---------------------------------------------------------------------------------------
 */

/*
 * nay_hash: what a filter knows of a key. Native families use `lo` alone; some layouts of other
 * systems need both words.
 */
typedef struct nay_hash {
  uint64_t lo;
  uint64_t hi;
} nay_hash;

/*
 * nay_hash_kind: how keys become hashes. The numbers are those of the file format.
 *
 * NAY_HASH_XXH3 is the default: fast, stable for ever, seeded. A secret seed hardens it but does
 * not make it a pseudo-random function. NAY_HASH_SIPHASH is one (SipHash-1-3, 128-bit key): take it
 * when an enemy chooses the keys. NAY_HASH_CALLER: you bring 64 well-mixed bits through the _hash
 * calls (nay_hash_mix makes them from an integer); calls that take key bytes return NAY_ENOTSUP,
 * and may_contain answers maybe.
 */
typedef enum nay_hash_kind {
  NAY_HASH_XXH3 = 0,
  NAY_HASH_SIPHASH = 1,
  NAY_HASH_CALLER = 2,
  /* hashes of other systems' layouts; not available to native families */
  NAY_HASH_LEVELDB = 64,    /* LevelDB's 32-bit hash, seed 0xbc9f1d34 */
  NAY_HASH_FARM32 = 65,     /* FarmHash Fingerprint32, as mini-lsm's crate has it */
  NAY_HASH_XXH64_PAIR = 66, /* XXH64 with seeds 0 and 1, as nori */
  NAY_HASH_FNV_MIX = 67,    /* SplitMix64 of FNV-1a-64, halves widened, as the lab */
  NAY_HASH_XXPH3 = 72,      /* XXH3 of xxHash 0.7.2, a preview that RocksDB kept */
  NAY_HASH_LEVELDB_S8 = 73, /* LevelDB's with signed tail bytes, as RocksDB's old filters */
  NAY_HASH_MURMUR64 = 80,   /* MurmurHash64A, seed 0, as RedisBloom's cuckoo filters */
  NAY_HASH_MURMUR64X2 = 81, /* two of it, the second seeded by the first: its Bloom filters */
  NAY_HASH_MURMUR32X2 = 82  /* the same of MurmurHash2: its Bloom filters of before 2019 */
} nay_hash_kind;

/* nay_hash_name: "xxh3", "siphash13", "caller", ...; "unknown" for other numbers. */
NAY_API const char *nay_hash_name(nay_hash_kind kind);

/* nay_hash_mix: a bijection of 64 bits that makes sequential integers look random (SplitMix64). */
NAY_API uint64_t nay_hash_mix(uint64_t x);

/* nay_hash_siphash: SipHash-c-d of bytes under a 16-byte key; the reference vectors are of 2-4. */
NAY_API uint64_t nay_hash_siphash(const uint8_t key[16], const void *bytes, size_t len, unsigned c,
                                  unsigned d);

/* ---- params and plan ----------------------------------------------------------------------------
 */

/*
 * nay_kind: the families. The numbers are those of the file format and never change; nay_kind_name
 * tells whether this library has a family.
 */
typedef enum nay_kind {
  NAY_AUTO = 0,     /* let the planner choose among the families that take adds */
  NAY_BLOOM = 1,    /* classic Bloom: any size, tiny sets, lowest rates */
  NAY_BLOCKED = 2,  /* one cache line per probe: the default */
  NAY_COUNTING = 3, /* blocked, with removal */
  NAY_SCALABLE = 4, /* grows when the number of keys is not known */
  NAY_WINDOW = 5,   /* forgets old keys */
  NAY_CUCKOO = 6,   /* removal at low rates */
  NAY_XOR = 7,      /* static: the classic xor filter */
  NAY_FUSE = 8,     /* static: fastest probe for big lists */
  NAY_RIBBON = 9    /* static: fewest bits */
} nay_kind;

/* nay_kind_name: "bloom", "blocked", ...; NULL for a number that no family has. */
NAY_API const char *nay_kind_name(nay_kind kind);

/* nay_kind_parse: the inverse; "auto" is NAY_AUTO. NAY_EINVAL when the name is not known. */
NAY_API nay_status nay_kind_parse(const char *name, nay_kind *kind);

/* What a family can do; nay_kind_traits returns a set of these. */
#define NAY_CAN_ADD 0x01u
#define NAY_CAN_REMOVE 0x02u
#define NAY_CAN_MERGE 0x04u
#define NAY_CAN_INTERSECT 0x08u
#define NAY_CAN_FOLD 0x10u
#define NAY_CAN_COUNT 0x20u
#define NAY_CAN_GROW 0x40u
#define NAY_CAN_EXPIRE 0x80u
NAY_API unsigned nay_kind_traits(nay_kind kind);

/* Flags of nay_params. */
#define NAY_CONCURRENT 0x01u  /* adds from many threads at once */
#define NAY_STORE_KEY 0x02u   /* write the SipHash key into files: they then open without it */
#define NAY_SMALL_PAGES 0x04u /* no huge pages, which filters of 4 MiB and more ask for */
#define NAY_UNIQUE 0x08u      /* counting, cuckoo: adding a key that tests maybe changes nothing */
#define NAY_NO_VERIFY 0x10u   /* static kinds: hand the filter out without probing every key */
#define NAY_LOW_MEMORY 0x20u  /* static kinds: build in pieces; builders keep hashes in a file */
#define NAY_ZEROED 0x40u /* the allocator's memory is zero: nay_filter_new writes no page of it */

/*
 * nay_params: what you want. Zero-initialise it, then set `nkeys` and exactly one size:
 *
 *   fpr           the rate of false positives once nkeys keys are in: 0 < fpr < 1 (families that
 *                 grow: however many keys are in)
 *   bits_per_key  payload bits for each key: 0 < bits_per_key <= 4096
 *   nbytes        a memory budget for the payload: the best filter that fits
 *   nbits         exactly this many bits that keys can set (nkeys may then be 0); blocked needs a
 *                 multiple of 512, window of 1024, cuckoo of 8 tags; counters and headers come on
 * top
 *
 * scalable takes fpr alone; its nkeys is only where it starts (0: 1000).
 * Everything else may stay 0. Values out of range are refused, never clamped.
 */
typedef struct nay_params {
  nay_kind kind;
  uint64_t nkeys; /* how many distinct keys you will add; at most 2^56. For a static kind this is
                     for the plan alone: what is built has the size for the keys that are there */
  double fpr;
  double bits_per_key;
  uint64_t nbytes;
  uint64_t nbits;
  uint32_t k;     /* probes per key, 1 to 64; fuse: 3 or 4 slots; 0: the best for the size */
  uint32_t flags; /* NAY_CONCURRENT | NAY_STORE_KEY | ... */
  uint64_t fold;  /* make the size divisible by this, so that nay_filter_fold can; 0: as it comes */
  nay_hash_kind hash;
  uint64_t seed;   /* for NAY_HASH_XXH3 */
  uint8_t key[16]; /* for NAY_HASH_SIPHASH: secret and random, one per filter */
  /* families that change; 0 is the default everywhere */
  uint32_t tag_bits;    /* cuckoo: bits kept of each key, 6 to 32; 0: the fewest for the rate */
  uint32_t generations; /* window: how many make up the window, 1 to 15; 0: 7 */
  uint64_t window;      /* window: its length in ticks; 0: the last nkeys keys */
  uint64_t max_nkeys;   /* cuckoo: may grow to hold this many; 0: stays at nkeys */
  uint64_t max_nbytes;  /* scalable, cuckoo: the payload never grows beyond this; 0: no limit */
  /* builds from many keys: static families, bloom, blocked, counting */
  uint32_t threads;      /* threads that build, at most 256; 0: only the caller's */
  const char *spill_dir; /* NAY_LOW_MEMORY in a builder: folder of its file; NULL: /tmp */
} nay_params;

/* nay_plan: what a filter will be. Computed, not measured; `fpr` is exact for the family. */
typedef struct nay_plan {
  nay_kind kind;
  uint32_t k; /* probes per key */
  uint64_t nkeys;
  uint64_t nbits;        /* payload */
  uint64_t nbytes;       /* payload, in memory */
  uint64_t nbytes_file;  /* a saved file without metadata */
  uint64_t nbytes_build; /* peak memory of nay_filter_build, the caller's hashes not counted */
  double bits_per_key;   /* nbits / nkeys; 0 when nkeys is 0 */
  double fpr;            /* expected once nkeys keys are in */
  /* families that change */
  double fpr_limit;     /* the rate that growth never exceeds; others: fpr */
  double window_error;  /* window: a key may stay this share of the window too long; else 0 */
  uint32_t generations; /* window; else 0 */
  uint32_t tag_bits;    /* cuckoo; else 0 */
} nay_plan;

/*
 * nay_params_plan: what a filter made from params would be, before anything is allocated.
 * NAY_EINVAL when params are out of range or no filter can do it: diag says which field.
 */
NAY_API nay_status nay_params_plan(const nay_params *params, nay_diag *diag, nay_plan *plan);

/*
 * nay_params_choose_static: which static family to take for a set that is built once (NAY_AUTO
 * chooses among those that take adds). NAY_FUSE when its probe, three to six times as fast, costs
 * at most an eighth more bytes than ribbon, or twice its rate in the same bytes; else NAY_RIBBON.
 * params->kind does not matter. NAY_EINVAL when neither can do it.
 */
NAY_API nay_status nay_params_choose_static(const nay_params *params, nay_diag *diag,
                                            nay_kind *kind);

/* ---- filter: making and releasing ---------------------------------------------------------------
 */

typedef struct nay_filter nay_filter;

/*
 * nay_filter_new: an empty filter. allocator may be NULL. NAY_EINVAL as nay_params_plan, which
 * tells why; NAY_ENOTSUP for a kind that must be built; NAY_ENOMEM.
 */
NAY_API nay_status nay_filter_new(const nay_params *params, const nay_allocator *allocator,
                                  nay_filter **filter);

/*
 * nay_filter_build: a filter of n hashes, for every family. hashes[] is only read, duplicates are
 * welcome, and the bytes of the result do not depend on the order. params->nkeys 0 means n. A set
 * has no ages: a window gets the keys spread over its generations. NAY_EFULL: cuckoo, n > nkeys.
 */
NAY_API nay_status nay_filter_build(const nay_params *params, const uint64_t *hashes, size_t n,
                                    const nay_allocator *allocator, nay_filter **filter);

/* nay_filter_copy: an independent copy, owned and writable even if the original is mapped. */
NAY_API nay_status nay_filter_copy(const nay_filter *filter, const nay_allocator *allocator,
                                   nay_filter **copy);

/*
 * nay_filter_params: what nay_filter_new would make an empty twin from: the same shape, hash, seed
 * or secret key, and limits, so that the two can be merged. The size comes as nbits (scalable: as
 * fpr). NAY_ENOTSUP: a family without add, or another system's layout. NAY_EKEY: locked.
 */
NAY_API nay_status nay_filter_params(const nay_filter *filter, nay_params *params);

/* nay_filter_free: NULL is fine. */
NAY_API void nay_filter_free(nay_filter *filter);

/*
 * nay_filter_share: as NAY_CONCURRENT, for a filter that was opened. Call it before others see f.
 * NAY_ENOTSUP: another system's layout, or a family that takes adds from one thread at a time.
 * NAY_ENOMEM.
 */
NAY_API nay_status nay_filter_share(nay_filter *filter);

/*
 * nay_filter_clear: forgets every key; a window keeps its clock. NAY_ENOTSUP when the filter is
 * read-only. NAY_ENOMEM only for a scalable filter that was folded below its first size.
 */
NAY_API nay_status nay_filter_clear(nay_filter *filter);

/* ---- filter: keys -------------------------------------------------------------------------------
 */

/*
 * nay_filter_add: adds a key. is_new (may be NULL) tells whether the filter would have said nay
 * before: false means that the key was there already, or a false positive. With NAY_CONCURRENT,
 * of the threads that add one key at the same moment exactly one is told that it is new.
 * NAY_EFULL: cuckoo has no room, or holds 8 copies of the key; a growing family met its limit.
 * NAY_ENOTSUP: read-only, or a family without add. NAY_EKEY: locked (see nay_filter_unlock).
 * NAY_EINVAL: key is NULL and len is not 0.
 */
NAY_API nay_status nay_filter_add(nay_filter *filter, const void *key, size_t len, bool *is_new);

/*
 * nay_filter_may_contain: false is certain, true is a maybe. A filter that cannot hash the key
 * (locked, NAY_HASH_CALLER, NULL with a length) or finds its bytes damaged answers true.
 */
NAY_API bool nay_filter_may_contain(const nay_filter *filter, const void *key, size_t len);

/*
 * nay_filter_remove: takes out a key that was added (once, if it was added more often). NAY_ENOENT
 * when it tests nay: nothing changes. Never remove a key that was not added: with the chance fpr it
 * tests maybe, and what is then removed belongs to others, who may become false nays.
 */
NAY_API nay_status nay_filter_remove(nay_filter *filter, const void *key, size_t len);

/*
 * nay_filter_count: at most how often the key was added (families that count). Counting counts to
 * 15, which means "15 or more".
 */
NAY_API nay_status nay_filter_count(const nay_filter *filter, const void *key, size_t len,
                                    uint64_t *count);

/*
 * nay_filter_advance: tells an expiring filter made with params.window what time it is. now is a
 * moment of the caller's clock in ticks (seconds, offsets of a log), not a distance; the first call
 * sets the clock. A key is remembered for at least `window` ticks after the moment of its add and
 * at most window_error (nay_plan) longer. NAY_EINVAL: now is before the last call: time never goes
 * back. NAY_ENOTSUP: a family that does not expire, or a window that counts keys.
 */
NAY_API nay_status nay_filter_advance(nay_filter *filter, uint64_t now);

/*
 * nay_filter_hash: hashes a key once, for many probes: filters with equal hash kind, seed and key
 * agree on it (nay_filter_same_hash). NAY_EKEY: locked. NAY_ENOTSUP: NAY_HASH_CALLER.
 */
NAY_API nay_status nay_filter_hash(const nay_filter *filter, const void *key, size_t len,
                                   nay_hash *hash);
NAY_API bool nay_filter_same_hash(const nay_filter *a, const nay_filter *b);

/*
 * nay_filter_hash_many: the same for n keys, into two arrays as the batches below take them. hi may
 * be NULL for hashes of one word (all native families). Needs no filter but its hash: one thread
 * can hash while another adds. NAY_EINVAL: an array or a key is NULL.
 */
NAY_API nay_status nay_filter_hash_many(const nay_filter *filter, const void *const *keys,
                                        const size_t *lens, size_t n, uint64_t *lo, uint64_t *hi);

/* The same verbs for a hash instead of a key. */
NAY_API nay_status nay_filter_add_hash(nay_filter *filter, nay_hash hash, bool *is_new);
NAY_API nay_status nay_filter_remove_hash(nay_filter *filter, nay_hash hash);
NAY_API nay_status nay_filter_count_hash(const nay_filter *filter, nay_hash hash, uint64_t *count);

/*
 * May-contain is inline, so that a probe in a loop is one call: a filter begins with a pointer to
 * the code that answers for it, or NULL where more has to be decided. That pointer is all that is
 * public of its bytes.
 */
struct nay_bits;
typedef bool (*nay_probe)(const struct nay_bits *, uint64_t hash);
NAY_API bool nay_filter_may_contain_hash_slow(const nay_filter *filter, nay_hash hash);
NAY_API inline bool nay_filter_may_contain_hash(const nay_filter *filter, nay_hash hash) {
  const void *bits = filter; /* the first thing in it, whose first thing is the pointer */
  nay_probe probe = filter != NULL ? *(const nay_probe *)bits : NULL;
  if (probe == NULL) return nay_filter_may_contain_hash_slow(filter, hash);
  return probe((const struct nay_bits *)bits, hash.lo);
}

/*
 * Batches. Bit i % 64 of bitmap[i / 64] answers for key i; bitmap has (n + 63) / 64 words, all of
 * them written. For adds it tells which keys were new and may be NULL. Keys are keys[i] with
 * lens[i] bytes; hashes come as two arrays, where hi may be NULL for native families. A batch of
 * adds that fails has added nothing; only a family that can be full or grows (scalable, cuckoo)
 * may fail in the middle, and keeps the keys before the one that failed. A probe batch returns
 * NAY_EINVAL for arguments it cannot use and NAY_ECORRUPT when it met damaged bytes; the bitmap
 * then says maybe wherever there is doubt.
 */
NAY_API nay_status nay_filter_add_many(nay_filter *filter, const void *const *keys,
                                       const size_t *lens, size_t n, uint64_t *bitmap);
NAY_API nay_status nay_filter_may_contain_many(const nay_filter *filter, const void *const *keys,
                                               const size_t *lens, size_t n, uint64_t *bitmap);
NAY_API nay_status nay_filter_add_hash_many(nay_filter *filter, const uint64_t *lo,
                                            const uint64_t *hi, size_t n, uint64_t *bitmap);
NAY_API nay_status nay_filter_may_contain_hash_many(const nay_filter *filter, const uint64_t *lo,
                                                    const uint64_t *hi, size_t n, uint64_t *bitmap);

/*
 * Keys one after the other in one buffer, as columns of a table are: key i is
 * bytes[offsets[i], offsets[i + 1]), so there are n + 1 offsets, which never descend (NAY_EINVAL).
 */
NAY_API nay_status nay_filter_add_packed(nay_filter *filter, const void *bytes,
                                         const size_t *offsets, size_t n, uint64_t *bitmap);
NAY_API nay_status nay_filter_may_contain_packed(const nay_filter *filter, const void *bytes,
                                                 const size_t *offsets, size_t n, uint64_t *bitmap);

/*
 * nay_filter_prepare: asks the memory for what a probe of this hash will read, and returns at once.
 * For engines that have other work between hashing a key and needing the answer: prepare, go on,
 * then nay_filter_may_contain_hash finds the lines in the cache. Changes nothing else, reads no
 * file (a lazily mapped filter is not touched); NULL is ignored.
 */
NAY_API void nay_filter_prepare(const nay_filter *filter, nay_hash hash);

/* ---- filter: whole-filter operations ------------------------------------------------------------
 */

/*
 * nay_filter_merge: dst becomes the union, exactly as if every key of src had been added to it.
 * Sizes may differ: both are folded to their greatest common size first. max_fpr refuses a union
 * whose rate would be higher (1.0: no limit). Counting adds the counters; scalable joins the levels
 * of both, whatever their sizes, and the rates add up. NAY_EMISMATCH: another family, k, hash or
 * seed, or no common size. NAY_EFULL: above max_fpr. NAY_ENOTSUP: the family cannot merge, or dst
 * is read-only.
 */
NAY_API nay_status nay_filter_merge(nay_filter *dst, const nay_filter *src, double max_fpr);

/*
 * nay_filter_intersect: dst keeps only the bits that both have. Keys of both remain *maybe*, but
 * the result is not what building the intersection would give and its rate is not known: it is
 * marked as derived (nay_stats), for ever. Same sizes only.
 */
NAY_API nay_status nay_filter_intersect(nay_filter *dst, const nay_filter *src);

/*
 * nay_filter_fold: shrinks by an integer factor without the keys: the bytes are exactly those of a
 * filter built at that size (counting: unless counters stick). NAY_EINVAL when the size is not
 * divisible by factor. Scalable folds its last level, which may be nearly empty, and is then
 * finished, also with factor 1: it does not grow again, and adding a key that tests nay returns
 * NAY_EFULL.
 */
NAY_API nay_status nay_filter_fold(nay_filter *filter, uint64_t factor);

/*
 * nay_filter_fold_factor: the largest factor by which nay_filter_fold keeps the rate, with the keys
 * that are in now, at or below max_fpr. 1 when there is none: folding by 1 changes nothing.
 */
NAY_API nay_status nay_filter_fold_factor(const nay_filter *filter, double max_fpr,
                                          uint64_t *factor);

/*
 * nay_filter_shrink: makes the payload nbytes or less, without the keys, at the price of a higher
 * rate (nay_filter_stats tells): exactly the bytes of a filter built with that nbytes. For ribbon.
 * NAY_ENOTSUP: another family, a set so small that it is kept as a Bloom filter, or read-only.
 * NAY_EINVAL: too few bytes for one column. More bytes than there are change nothing.
 */
NAY_API nay_status nay_filter_shrink(nay_filter *filter, uint64_t nbytes);

/* ---- filter: what it knows of itself ------------------------------------------------------------
 */

/* nay_stats: the state of a filter. Rates and counts are estimates from the bits themselves. */
typedef struct nay_stats {
  nay_kind kind;
  nay_hash_kind hash;
  uint32_t k;
  uint64_t nkeys;         /* planned; 0 when it was made from nbits alone */
  double nkeys_estimated; /* maximum likelihood, from the bits */
  uint64_t nbits;         /* payload, as in the plan */
  uint64_t nbits_set;
  uint64_t nbytes;    /* memory held, payload and handle */
  double fill;        /* nbits_set / the bits that keys can set: no counters, no headers */
  double utilisation; /* nkeys_estimated / nkeys; 0 when nkeys is 0 */
  double fpr_now;     /* chance that an absent key is a maybe, with these bits */
  double fpr_planned; /* the same, expected, with nkeys keys in */
  bool overloaded;    /* more keys than planned: the rate is above the plan */
  bool derived;       /* made by intersection: nkeys_estimated and fpr_now are not known (NaN) */
  bool read_only;     /* mapped, or a view */
  bool locked;        /* keyed, and the key was not given yet */
  bool stores_key;    /* files will contain the SipHash key */
  /* families that change */
  uint32_t nlevels;  /* scalable: levels; window: generations; cuckoo: 1 + doublings; others 1 */
  uint32_t tag_bits; /* cuckoo: of a key, now; else 0 */
  uint64_t nstuck;   /* counting: counters that removal will not change any more */
  uint64_t nrefused; /* removals of keys that tested nay, through this handle */
  uint64_t clock;    /* window by ticks: the last nay_filter_advance; else 0 */
} nay_stats;

/* nay_filter_stats: reads the whole payload. NAY_ECORRUPT: a lazily mapped file is damaged. */
NAY_API nay_status nay_filter_stats(const nay_filter *filter, nay_stats *stats);

/* nay_filter_kind: its family; NAY_AUTO for NULL and for another system's layout. */
NAY_API nay_kind nay_filter_kind(const nay_filter *filter);

/* nay_filter_nbytes: the memory that a filter has asked its allocator for, in all. Reads no key. */
NAY_API size_t nay_filter_nbytes(const nay_filter *filter);

/*
 * nay_filter_move: for allocators that defragment. Offers each block of the filter to move, which
 * returns its new place (the bytes are there, the old block is released) or NULL when it stays. The
 * handle is such a block too: go on with what is returned.
 */
typedef void *(*nay_mover)(void *ctx, void *ptr);
NAY_API nay_filter *nay_filter_move(nay_filter *filter, nay_mover move, void *ctx);

/* nay_overlap: estimated sizes of the union and intersection of two sets, from their filters. */
typedef struct nay_overlap {
  double nkeys_a, nkeys_b;
  double nkeys_union;
  double nkeys_intersection; /* a + b - union, never below 0 */
  double jaccard;            /* intersection / union */
} nay_overlap;

/* nay_filter_overlap: NAY_EMISMATCH when the filters could not be merged at equal size. */
NAY_API nay_status nay_filter_overlap(const nay_filter *a, const nay_filter *b,
                                      nay_overlap *overlap);

/*
 * nay_filter_unlock: gives the SipHash key to a filter whose file does not contain it. NAY_EKEY: it
 * is not the key the filter was made with. Until then keys cannot be hashed (may_contain: maybe).
 */
NAY_API nay_status nay_filter_unlock(nay_filter *filter, const uint8_t key[16]);

/* nay_filter_meta: the user's own bytes, kept in the file under its checksum. NULL when none. */
NAY_API const void *nay_filter_meta(const nay_filter *filter, size_t *len);

/*
 * nay_filter_set_meta: replaces them (a copy is kept); len 0 removes them. NAY_ENOTSUP for another
 * system's layout, which has no place for them.
 */
NAY_API nay_status nay_filter_set_meta(nay_filter *filter, const void *bytes, size_t len);

/* nay_filter_health: NAY_OK, or NAY_ECORRUPT once a lazily mapped filter has met damaged bytes. */
NAY_API nay_status nay_filter_health(const nay_filter *filter);

/* ---- filter: bytes ------------------------------------------------------------------------------
 */

/* nay_filter_encoded_size: how many bytes nay_filter_encode writes; 0 when it cannot. */
NAY_API size_t nay_filter_encoded_size(const nay_filter *filter);

/* nay_filter_encode: the native file, into dst. NAY_EBUFFER when cap is too small. */
NAY_API nay_status nay_filter_encode(const nay_filter *filter, void *dst, size_t cap,
                                     size_t *written);

/*
 * nay_filter_encode_stream: the same bytes in pieces, in order, without a second copy of the
 * payload. A status other than NAY_OK from sink stops it and is returned. A filter that takes
 * concurrent adds (NAY_CONCURRENT) is copied first, here and in encode and save: the adds may go on
 * meanwhile, and the file has each of them or not.
 */
typedef nay_status (*nay_sink)(void *ctx, const void *bytes, size_t len);
NAY_API nay_status nay_filter_encode_stream(const nay_filter *filter, nay_sink sink, void *ctx);

/*
 * nay_filter_encode_range: the len bytes of the same file that start at offset, for those who send
 * it in pieces and come back for each. Bytes of the front, which holds the digests, cost a pass
 * over the payload; others are copied. NAY_EINVAL: the range is not within nay_filter_encoded_size.
 * NAY_ENOTSUP: NAY_CONCURRENT, where pieces of different moments would not fit together.
 */
NAY_API nay_status nay_filter_encode_range(const nay_filter *filter, uint64_t offset, void *dst,
                                           size_t len);

/*
 * nay_filter_decode: reads a native file from bytes[0,len) into memory of its own. Everything is
 * checked before *filter is set: a filter you receive is safe to query, whoever wrote the bytes.
 * NAY_EFORMAT: not a nay file. NAY_ECORRUPT: damaged. NAY_EVERSION: from a newer library.
 */
NAY_API nay_status nay_filter_decode(const void *bytes, size_t len, const nay_allocator *allocator,
                                     nay_diag *diag, nay_filter **filter);

/*
 * nay_decoder: nay_filter_decode for bytes that arrive in pieces, without a second copy of the
 * payload. Calls: new (add)* finish free. The header is checked as soon as it is there; memory
 * follows the bytes that have really come: eight times as much at most, whatever the header claims.
 */
typedef struct nay_decoder nay_decoder;

NAY_API nay_status nay_decoder_new(const nay_allocator *allocator, nay_decoder **decoder);

/* nay_decoder_add: the next len bytes. A failed call has taken none. NAY_ECORRUPT: more than there
 * should be; otherwise as nay_filter_decode. */
NAY_API nay_status nay_decoder_add(nay_decoder *decoder, const void *bytes, size_t len,
                                   nay_diag *diag);

/*
 * nay_decoder_bytes: what has come so far, *len bytes, and in *total how many there will be (0: the
 * header is not complete). Either may be NULL.
 */
NAY_API const void *nay_decoder_bytes(const nay_decoder *decoder, size_t *len, uint64_t *total);

/* nay_decoder_truncate: forgets all but the first len bytes: some were not what they should be. */
NAY_API nay_status nay_decoder_truncate(nay_decoder *decoder, size_t len);

/*
 * nay_decoder_finish: checks everything and hands the filter over; the decoder is then empty and
 * can be used again. NAY_ECORRUPT: bytes are missing, or damaged; the decoder is as it was.
 */
NAY_API nay_status nay_decoder_finish(nay_decoder *decoder, nay_diag *diag, nay_filter **filter);
NAY_API void nay_decoder_free(nay_decoder *decoder);

/*
 * nay_filter_save: replaces the file atomically: after a crash it is the old one or the new one. A
 * symbolic link keeps pointing where it did, an existing file keeps its permissions. NAY_EIO: diag
 * says which step failed and errno; the old file and the filter are as they were.
 */
NAY_API nay_status nay_filter_save(const nay_filter *filter, const char *path, nay_diag *diag);

/* nay_filter_open: reads a file into memory, all checksums verified. */
NAY_API nay_status nay_filter_open(const char *path, const nay_allocator *allocator, nay_diag *diag,
                                   nay_filter **filter);

/*
 * nay_filter_map: probes a file in place, read-only. Checksums are verified now, or with
 * NAY_MAP_LAZY each 64 KiB at its first touch: a damaged one answers maybe and nay_filter_health
 * tells. A file that another process shortens while it is mapped kills the process (SIGBUS): map
 * only files that are replaced, as nay_filter_save does, never overwritten.
 */
#define NAY_MAP_LAZY 0x01u
NAY_API nay_status nay_filter_map(const char *path, unsigned flags, const nay_allocator *allocator,
                                  nay_diag *diag, nay_filter **filter);

/*
 * nay_view: a filter over bytes that stay where they are; nothing is allocated and nothing needs to
 * be freed. For engines that hand over a filter with each call. The bytes need no alignment and
 * must outlive the view. key is the SipHash key or NULL.
 */
typedef struct nay_view {
  uint64_t opaque[48];
} nay_view;

NAY_API nay_status nay_view_open(const void *bytes, size_t len, const uint8_t *key, nay_diag *diag,
                                 nay_view *view);

/* nay_view_filter: the view as a filter, for every call that takes a const one. */
NAY_API const nay_filter *nay_view_filter(const nay_view *view);

/* ---- builder ------------------------------------------------------------------------------------
 */

/*
 * nay_builder: when keys stream in and their number is not known. It keeps 8 bytes for each key,
 * counts the distinct ones, sizes the filter exactly and builds it. Calls: new (add)* finish free.
 * params->nkeys 0 means "count them"; another number is taken as it is.
 */
typedef struct nay_builder nay_builder;

NAY_API nay_status nay_builder_new(const nay_params *params, const nay_allocator *allocator,
                                   nay_builder **builder);
NAY_API nay_status nay_builder_add(nay_builder *builder, const void *key, size_t len);
NAY_API nay_status nay_builder_add_hash(nay_builder *builder, nay_hash hash);

/* nay_builder_nkeys: how many keys were added so far, duplicates included. */
NAY_API uint64_t nay_builder_nkeys(const nay_builder *builder);

/* nay_builder_finish: makes the filter; the builder is then empty and can be used again. */
NAY_API nay_status nay_builder_finish(nay_builder *builder, nay_filter **filter);
NAY_API void nay_builder_free(nay_builder *builder);

#ifdef __cplusplus
}
#endif

#endif /* NAY_H */

/*
 * nay_format.h - other systems' filter bytes: recognise, read, probe, write.
 *
 *   const nay_format *leveldb = nay_format_find("leveldb");
 *   nay_params p = {.nkeys = 1000, .bits_per_key = 10};
 *   nay_filter *f;
 *   nay_format_new(leveldb, &p, NULL, NULL, &f);      // an empty filter with LevelDB's layout
 *   nay_filter_add(f, "foo", 3, NULL);                // hashed as LevelDB hashes
 *   nay_format_encode(leveldb, f, buf, sizeof buf, &len);
 *
 * A filter in another system's layout is a nay_filter like any other: probe it, add to it, ask for
 * its statistics. Its hash is that system's, so it merges only with its like, and becomes a native
 * file only by being built again from the keys.
 *
 * Layouts without a magic number are read when they are named, never guessed.
 */
#ifndef NAY_FORMAT_H
#define NAY_FORMAT_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nay_format nay_format;

/* nay_format_find: by name ("nay", "leveldb", ...); NULL when there is none. */
NAY_API const nay_format *nay_format_find(const char *name);

/* nay_format_at: the i-th known format, NULL past the last: for lists. */
NAY_API const nay_format *nay_format_at(size_t i);

/* nay_format_name: the name that nay_format_find finds it by. */
NAY_API const char *nay_format_name(const nay_format *format);

/* nay_format_about: one line that says whose bytes these are. */
NAY_API const char *nay_format_about(const nay_format *format);

/* nay_format_has_magic: whether nay_format_recognise can tell these bytes from others. */
NAY_API bool nay_format_has_magic(const nay_format *format);

/* nay_format_has_checksum: whether damage to these bytes is noticed. */
NAY_API bool nay_format_has_checksum(const nay_format *format);

/* nay_format_recognise: the format whose magic number the bytes start with; NULL when none. */
NAY_API const nay_format *nay_format_recognise(const void *bytes, size_t len);

/*
 * nay_format_plan: what nay_format_new would make. Sizes are in that system's terms: nkeys and a
 * whole number of bits_per_key, or fpr (turned into the least whole bits per key that reach it by
 * the textbook formula). RocksDB's layouts take fractions of a bit, and find a rate in tenths.
 * nkeys 0 is a filter of no keys. NAY_EINVAL: diag says which field.
 * plan->fpr takes the k probes as independent. These layouts use double hashing, whose real rate is
 * higher for small sets and many bits per key: doc/formats/README.md has a table.
 */
NAY_API nay_status nay_format_plan(const nay_format *format, const nay_params *params,
                                   nay_diag *diag, nay_plan *plan);

/* nay_format_new: an empty filter in that layout. NAY_ENOTSUP: it must be built (RocksDB's ribbon).
 */
NAY_API nay_status nay_format_new(const nay_format *format, const nay_params *params,
                                  const nay_allocator *allocator, nay_diag *diag,
                                  nay_filter **filter);

/*
 * nay_format_builder: a builder for that layout. The number of keys is the one params state, else
 * the number added, duplicates counted as these systems count them. Of RocksDB's layouts any name
 * reads and writes all: a small ribbon is a Bloom filter there, too, and nay_format_of tells.
 */
NAY_API nay_status nay_format_builder(const nay_format *format, const nay_params *params,
                                      const nay_allocator *allocator, nay_diag *diag,
                                      nay_builder **builder);

/* nay_format_of: the layout that a filter is in. */
NAY_API const nay_format *nay_format_of(const nay_filter *filter);

/*
 * nay_format_encoded_size: bytes that nay_format_encode writes; 0 when it cannot, and for filters
 * that have none (LevelDB's of no bytes, RocksDB's ribbon of no keys).
 */
NAY_API size_t nay_format_encoded_size(const nay_format *format, const nay_filter *filter);

/*
 * nay_format_encode: NAY_EMISMATCH when the filter is in another layout: build it from the keys.
 * Only RedisBloom's filters have two layouts that are written from each other.
 */
NAY_API nay_status nay_format_encode(const nay_format *format, const nay_filter *filter, void *dst,
                                     size_t cap, size_t *written);

/* nay_format_decode: as nay_filter_decode, for that layout. */
NAY_API nay_status nay_format_decode(const nay_format *format, const void *bytes, size_t len,
                                     const nay_allocator *allocator, nay_diag *diag,
                                     nay_filter **filter);

/* nay_format_view: as nay_view_open, for that layout: probe the bytes where they are. NAY_ENOTSUP:
 * Redis' DUMP, whose bytes are packed. */
NAY_API nay_status nay_format_view(const nay_format *format, const void *bytes, size_t len,
                                   nay_diag *diag, nay_view *view);

#ifdef __cplusplus
}
#endif

#endif /* NAY_FORMAT_H */

/*
 * nay_policy.h - how a table makes a filter from the keys of a block, and asks it later.
 *
 *   nay_policy policy;
 *   if (nay_policy_leveldb(10, &policy) != NAY_OK) return 1;
 *   policy.create(&policy, keys, lens, n, &allocator, &bytes, &len);
 *   if (!policy.may_match(&policy, "bar", 3, bytes, len)) puts("nay");
 *
 * A policy is LevelDB's FilterPolicy as a C struct: a name and two calls. Tables (nay_sst.h) and
 * plug-ins take any policy, the library's or yours. The name is stored beside the filter, and a
 * reader that has a policy of another name ignores the filter: so change the name whenever the
 * bytes change.
 *
 * All calls may come from many threads at once and must not change the policy.
 */
#ifndef NAY_POLICY_H
#define NAY_POLICY_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nay_policy nay_policy;
struct nay_policy {
  const char *name;
  /*
   * Makes the filter of n keys; keys may repeat. *filter is memory of `allocator` (NULL: malloc),
   * exactly *len bytes (at least 1), for the caller to release with allocator->free. On failure
   * both are untouched. NAY_EINVAL: a key is NULL and its length is not 0. NAY_ENOMEM.
   */
  nay_status (*create)(const nay_policy *self, const void *const *keys, const size_t *lens,
                       size_t n, const nay_allocator *allocator, uint8_t **filter, size_t *len);
  /*
   * false: the key was not among them, for certain. On any doubt true: for bytes that are not a
   * filter of this policy, and always for NAY_POLICY_EVERYTHING. Bytes need no alignment.
   */
  bool (*may_match)(const nay_policy *self, const void *key, size_t key_len, const uint8_t *filter,
                    size_t len);
  /*
   * The same in two steps, for a key that is looked for in many tables: hash it once, ask each
   * filter. Both or neither: NULL in a policy that cannot.
   */
  nay_hash (*hash)(const nay_policy *self, const void *key, size_t key_len);
  bool (*may_match_hash)(const nay_policy *self, nay_hash hash, const uint8_t *filter, size_t len);
  void *state;       /* yours; the library's own policies keep NULL here */
  nay_params params; /* of the library's own policies; may stay zero in yours */
};

/*
 * The filter to store when one could not be made: every policy answers maybe to each key, and so
 * does LevelDB itself (one byte would not do: LevelDB takes it for a filter without keys).
 */
#define NAY_POLICY_EVERYTHING "\x00\xff"
#define NAY_POLICY_EVERYTHING_LEN 2u

/*
 * nay_policy_leveldb: "leveldb.BuiltinBloomFilter2", the bytes of LevelDB's own policy.
 * NAY_EINVAL: bits_per_key is 0 or above 4096.
 */
NAY_API nay_status nay_policy_leveldb(uint32_t bits_per_key, nay_policy *policy);

/*
 * nay_policy_small: "nay.small.v1", for the many small filters of such tables: exactly as many
 * bytes as LevelDB's, a lower rate, and a check that turns every flipped bit, of the filter or of
 * its length, into a maybe. A nay reads the whole filter for that: for a filter over a whole table
 * take nay_policy_filter. doc/design/0011-small-filters.md has the bytes. NAY_EINVAL as above.
 */
NAY_API nay_status nay_policy_small(uint32_t bits_per_key, nay_policy *policy);

/*
 * nay_policy_filter: "nay.filter.v1", a native file of any family, for one filter over a whole
 * table. params as for nay_builder; nkeys stays 0. Each question opens the bytes as a nay_view,
 * which verifies all of them: who asks often opens the view once and asks that.
 * NAY_EINVAL as nay_params_plan, or the hash is NAY_HASH_CALLER.
 */
NAY_API nay_status nay_policy_filter(const nay_params *params, nay_policy *policy);

#ifdef __cplusplus
}
#endif

#endif /* NAY_POLICY_H */

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
 * of `nay convert` are built on these calls. New work that needs no such bytes is better served by
 * nay.h: keyed hashes, checksums, fewer bits.
 *
 * Everything that comes from outside (a header, the fields of an RDB value) is checked before it is
 * used, and every size is computed again: what you receive is safe to query, whoever wrote it.
 *
 * Ownership, errors and threads are as in nay.h.
 */
#ifndef NAY_REDIS_H
#define NAY_REDIS_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory -------------------------------------------------------------------------------------
 */

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

/* ---- chained Bloom filters ----------------------------------------------------------------------
 */

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
 * chain does not scale and its link is full. NAY_ENOMEM, NAY_EINVAL: the next link cannot be made.
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
 * its arrays are allocated then, so give an allocator with a limit when the header is a stranger's.
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
 * nay_cfchain_new: a chain of header->nfilters empty sub-filters. header->nitems is not believed:
 * items are counted as chunks bring them. Its slots are allocated now: give an allocator with a
 * limit when the header is a stranger's. NAY_ECORRUPT, NAY_ENOMEM.
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

/* nay_cfchain_prefetch: asks for the memory that adds (all false) or probes (true) of these hashes
 * will read. */
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

/*
 * nay_sst.h - sorted tables: files of keys and values in order, with filters inside.
 *
 *   nay_sst_write_options how = {.filter = NAY_SST_FULL_FILTER};
 *   nay_sst_writer *w;
 *   if (nay_sst_writer_new("a.ldb", &how, NULL, NULL, &w) != NAY_OK) return 1;
 *   nay_sst_writer_add(w, "foo", 3, "bar", 3);
 *   nay_sst_writer_finish(w, NULL);
 *   nay_sst_writer_free(w);
 *
 *   nay_sst *t;
 *   nay_sst_value v = {0};
 *   if (nay_sst_open("a.ldb", NULL, NULL, NULL, &t) != NAY_OK) return 1;
 *   if (nay_sst_get(t, "baz", 3, NULL, &v) == NAY_ENOENT) puts("nay");
 *   nay_sst_value_free(&v);
 *   nay_sst_free(t);
 *
 * The file is LevelDB's table: what is written here opens in leveldb::Table, and the tables of any
 * LevelDB, inside a database or not, open here. doc/formats/sst.md has the bytes, doc/sst.md the
 * tour. A filter answers before a block is read; a filter that is damaged or not understood is left
 * out and counted, and the answer then comes from the data. Damaged data is NAY_ECORRUPT, with the
 * place in nay_diag: never a wrong answer.
 *
 * CALLS, in order: writer new (add)* [finish] free; table open (get | iter | ...)* free; iter new
 * (first | last | seek | range | next | prev)* free, before its table; value and counters as said
 * there. What options point to (policies, codecs, a prefix, a cache) must outlive the object.
 *
 * THREADS. All calls on a const nay_sst, nay_lookup or on a nay_sst_cache are safe together. A
 * writer, an iterator and a value belong to one thread at a time.
 */
#ifndef NAY_SST_H
#define NAY_SST_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- keys ---------------------------------------------------------------------------------------
 */

/*
 * nay_sst_keys: what the keys of a table are. Plain keys are ordered as bytes. Inside a LevelDB or
 * RocksDB database each key has a trailer of 8 bytes with a sequence number and a type, and the
 * versions of a key are ordered newest first; users ask for keys without the trailer.
 *
 * NAY_SST_KEYS_AUTO, when reading: internal if the keys of the first block and up to 64 keys of the
 * index all have 8 bytes or more, a type of 0 or 1, and stand in the order of internal keys; else
 * plain. Tables with nay's own filters say which they are. When writing: plain.
 */
typedef enum nay_sst_keys {
  NAY_SST_KEYS_AUTO = 0,
  NAY_SST_KEYS_PLAIN = 1,
  NAY_SST_KEYS_INTERNAL = 2
} nay_sst_keys;

#define NAY_SST_MAX_SEQUENCE 0xffffffffffffffu /* 56 bits */

/* nay_sst_version: an internal key, taken apart. */
typedef struct nay_sst_version {
  const void *key; /* the user's, inside the internal one */
  size_t len;
  uint64_t sequence;
  bool deleted;
} nay_sst_version;

/* nay_sst_key_split: NAY_EINVAL when it has fewer than 8 bytes or a type other than 0 and 1. */
NAY_API nay_status nay_sst_key_split(const void *key, size_t len, nay_sst_version *version);

/* ---- codecs -------------------------------------------------------------------------------------
 */

/*
 * nay_codec: how blocks are compressed. The library has none and links with none; doc/sst.md shows
 * snappy (id 1) in ten lines. Each call returns false when it cannot; compress then leaves the
 * block as it is, uncompress is a damaged block. Calls may come from many threads at once.
 */
typedef struct nay_codec nay_codec;
struct nay_codec {
  uint8_t id; /* in the file: 1 snappy, 2 zstd (LevelDB) */
  /* how many bytes compress may write for len bytes of input */
  size_t (*bound)(const nay_codec *self, size_t len);
  bool (*compress)(const nay_codec *self, const void *src, size_t len, void *dst, size_t *dst_len);
  bool (*uncompressed_size)(const nay_codec *self, const void *src, size_t len, size_t *size);
  /* writes exactly the size that uncompressed_size said */
  bool (*uncompress)(const nay_codec *self, const void *src, size_t len, void *dst, size_t size);
  void *state; /* yours */
};

/* ---- prefixes -----------------------------------------------------------------------------------
 */

/*
 * nay_prefix: which part of a key a prefix filter knows. extract tells how many leading bytes of
 * the key are its prefix, or returns false for a key that has none. It must depend on those bytes
 * alone: every key that starts with them has the same prefix. The name is stored, and a reader
 * whose extractor has another name leaves the filter alone.
 */
typedef struct nay_prefix nay_prefix;
struct nay_prefix {
  char name[56]; /* ends in 0 */
  bool (*extract)(const nay_prefix *self, const void *key, size_t len, size_t *prefix_len);
  uint64_t number; /* of the library's own */
  void *state;     /* yours */
};

/* nay_prefix_fixed: the first len bytes; shorter keys have none. NAY_EINVAL: 0 or above 65535. */
NAY_API nay_status nay_prefix_fixed(size_t len, nay_prefix *prefix);

/* nay_prefix_delimiter: up to the first such byte, and with it; keys without it have none. */
NAY_API nay_status nay_prefix_delimiter(uint8_t byte, nay_prefix *prefix);

/* ---- writer -------------------------------------------------------------------------------------
 */

/* nay_sst_filter: which filter of whole keys a table has. */
typedef enum nay_sst_filter {
  NAY_SST_NO_FILTER = 0,
  NAY_SST_BLOCK_FILTER = 1,      /* LevelDB's own: one for each 2 KiB of the file */
  NAY_SST_FULL_FILTER = 2,       /* one for the table, in memory while it is open */
  NAY_SST_PARTITIONED_FILTER = 3 /* one for each range of keys, loaded when it is asked */
} nay_sst_filter;

/* nay_sst_write_options: all zero is a LevelDB table of plain keys without a filter. */
typedef struct nay_sst_write_options {
  nay_sst_keys keys;
  uint32_t block_bytes;      /* a data block is closed at this size; 0: 4096 */
  uint32_t restart_interval; /* entries from one whole key to the next; 0: 16 */
  const nay_codec *codec;    /* NULL: blocks are not compressed */
  nay_sst_filter filter;
  const nay_policy *policy; /* how filters are made; a block filter needs one. NULL: by params */
  nay_params params;        /* of full, partitioned and prefix filters, nkeys 0; without a size:
                               10 bits per key. Kind 0: blocked */
  uint32_t partition_keys;  /* a partition is closed at this many keys; 0: 8192 */
  const nay_prefix *prefix; /* also a filter of prefixes, for scans; NULL: none */
} nay_sst_write_options;

typedef struct nay_sst_writer nay_sst_writer;

/*
 * nay_sst_writer_new: a table that will replace the file at path; until finish there is only an
 * unnamed temporary file beside it. options may be NULL. NAY_EINVAL: diag says which option.
 */
NAY_API nay_status nay_sst_writer_new(const char *path, const nay_sst_write_options *options,
                                      const nay_allocator *allocator, nay_diag *diag,
                                      nay_sst_writer **writer);

/*
 * nay_sst_writer_add: keys in strictly ascending order. NAY_EINVAL: the key is not above the one
 * before it, is not an internal key in a table of such, or key or value is 1 GiB or longer; nothing
 * has changed, and the next key may be added. Any other error is final: the table cannot be
 * finished.
 */
NAY_API nay_status nay_sst_writer_add(nay_sst_writer *writer, const void *key, size_t len,
                                      const void *value, size_t value_len);

/* nay_sst_writer_add_version: the same for an internal key in parts. */
NAY_API nay_status nay_sst_writer_add_version(nay_sst_writer *writer,
                                              const nay_sst_version *version, const void *value,
                                              size_t value_len);

/* nay_sst_writer_bytes: how long the file is so far, without the block that is being filled. */
NAY_API uint64_t nay_sst_writer_bytes(const nay_sst_writer *writer);

/* nay_sst_writer_count: how many keys were added. */
NAY_API uint64_t nay_sst_writer_count(const nay_sst_writer *writer);

/*
 * nay_sst_writer_finish: writes filters and index, syncs, and puts the table at its path: after a
 * crash there is the old file or the new one. Then the writer can only be freed.
 */
NAY_API nay_status nay_sst_writer_finish(nay_sst_writer *writer, nay_diag *diag);

/* nay_sst_writer_free: without a finish before it, it is as if there had been no writer. */
NAY_API void nay_sst_writer_free(nay_sst_writer *writer);

/* ---- cache --------------------------------------------------------------------------------------
 */

/*
 * nay_sst_cache: keeps blocks that had to be read or uncompressed, and partitions of filters, the
 * least recently used leaving first. Each of the two kinds has its own budget of bytes and cannot
 * push out the other. Many tables may share one. What lies in a mapped file as it is needed is used
 * there and not cached.
 */
typedef struct nay_sst_cache nay_sst_cache;

NAY_API nay_status nay_sst_cache_new(size_t data_bytes, size_t filter_bytes,
                                     const nay_allocator *allocator, nay_sst_cache **cache);

/* nay_sst_cache_free: after all tables that use it. */
NAY_API void nay_sst_cache_free(nay_sst_cache *cache);

/* nay_sst_cache_stats: what a cache holds now, and what it did so far. */
typedef struct nay_sst_cache_stats {
  struct nay_sst_cache_side {
    uint64_t bytes, entries, hits, misses, evictions;
  } data, filter;
} nay_sst_cache_stats;

/* nay_sst_cache_describe: at any time, from any thread. */
NAY_API void nay_sst_cache_describe(const nay_sst_cache *cache, nay_sst_cache_stats *stats);

/* ---- reader -------------------------------------------------------------------------------------
 */

#define NAY_SST_PREAD 0x01u /* read blocks instead of mapping the file: I/O errors are errors */
#define NAY_SST_NO_FILTERS 0x02u /* answer from index and data alone */

/* nay_sst_read_options: all zero opens any table that is not compressed. */
typedef struct nay_sst_read_options {
  nay_sst_keys keys;
  uint32_t flags;
  const nay_codec *const *codecs; /* for compressed blocks */
  size_t ncodecs;
  const nay_policy *const *policies; /* for filters that name them; nay's native ones need none */
  size_t npolicies;
  const nay_prefix *prefix; /* for filters of prefixes */
  nay_sst_cache *cache;     /* NULL: blocks are read, and partitions checked, each time */
  const uint8_t *hash_key;  /* 16 bytes, for filters with a secret key that is not in the file */
  uint64_t max_block_bytes; /* a block may be this long uncompressed; 0: 256 MiB */
} nay_sst_read_options;

typedef struct nay_sst nay_sst;

/*
 * nay_sst_open: options may be NULL. NAY_EFORMAT: not a table. NAY_ECORRUPT: footer or index
 * are damaged. NAY_ENOTSUP: the index is compressed and no codec was given for it.
 * Checksums: each block's when it is read; in a mapped file, when it is first used. A file that
 * another process shortens while it is mapped kills the process (SIGBUS): tables are replaced,
 * never overwritten.
 */
NAY_API nay_status nay_sst_open(const char *path, const nay_sst_read_options *options,
                                const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);

/* nay_sst_view: the same over bytes that stay where they are until nay_sst_free. */
NAY_API nay_status nay_sst_view(const void *bytes, size_t len, const nay_sst_read_options *options,
                                const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);
NAY_API void nay_sst_free(nay_sst *sst);

/*
 * nay_sst_value: a place for one answer. Zero-initialise it, use it for any number of gets, free it
 * before the table (and the cache). The bytes are valid until the next get into it.
 */
typedef struct nay_sst_value {
  const void *bytes;
  size_t len;
  uint64_t sequence; /* of an internal key; else 0 */
  bool deleted;      /* the newest version is a deletion; bytes and len are then those of it */
  void *hold;        /* the library's */
} nay_sst_value;

NAY_API void nay_sst_value_free(nay_sst_value *value);

/*
 * nay_sst_get: asks the range of keys, then the filter, then the index, then one block. NAY_ENOENT:
 * not in the table. NAY_OK with value->deleted: the table knows that it was deleted. NAY_ECORRUPT,
 * NAY_ENOTSUP (a compressed block without its codec), NAY_EIO, NAY_ENOMEM: diag says where.
 */
NAY_API nay_status nay_sst_get(const nay_sst *sst, const void *key, size_t len, nay_diag *diag,
                               nay_sst_value *value);

/* nay_sst_get_at: of internal keys, the newest version that is not above sequence. */
NAY_API nay_status nay_sst_get_at(const nay_sst *sst, const void *key, size_t len,
                                  uint64_t sequence, nay_diag *diag, nay_sst_value *value);

/*
 * nay_sst_may_contain: asks range and filters alone; false is certain. Reads a partition of a
 * filter if it must, and never a data block.
 */
NAY_API bool nay_sst_may_contain(const nay_sst *sst, const void *key, size_t len);

/* nay_sst_info: what a table is. Texts and keys are views, valid while the table is open. */
typedef struct nay_sst_info {
  nay_sst_keys keys;     /* plain or internal */
  bool keys_guessed;     /* neither the caller nor the file said so */
  uint64_t nbytes;       /* of the file */
  uint64_t nblocks;      /* data blocks */
  uint8_t codec;         /* of the first block; 0: none */
  nay_sst_filter filter; /* that the file has */
  bool filter_used;      /* and that is understood and whole */
  uint64_t filter_bytes; /* of all its parts */
  uint64_t npartitions;
  const char *policy; /* the filter's policy; NULL when there is no filter */
  const char *prefix; /* the extractor of its prefix filter; NULL when there is none */
  bool prefix_used;
  uint64_t prefix_bytes;
  const void *smallest; /* first key, NULL when the table is empty or its block cannot be read */
  size_t smallest_len;
  const void *largest; /* last key of the index: no key is above it */
  size_t largest_len;
} nay_sst_info;

/* nay_sst_describe: reads nothing from the file. */
NAY_API void nay_sst_describe(const nay_sst *sst, nay_sst_info *info);

/* nay_sst_filter_of: the native full filter, NULL when there is none: for stats and checks. */
NAY_API const nay_filter *nay_sst_filter_of(const nay_sst *sst);

/*
 * nay_sst_counters: what happened so far; may be read at any time, from any thread. Of the checks,
 * `useful` said nay and so saved a block; false positives are maybes for a key that was not there.
 */
typedef struct nay_sst_counters {
  uint64_t gets;
  uint64_t out_of_range; /* gets that the first and the last key answered */
  uint64_t filter_checks;
  uint64_t filter_useful;
  uint64_t filter_false_positives;
  uint64_t filter_faults; /* filters or partitions that were damaged and left out */
  uint64_t filter_loads;  /* partitions read */
  uint64_t prefix_checks;
  uint64_t prefix_useful;
  uint64_t hashes;      /* keys hashed for native filters */
  uint64_t block_reads; /* data blocks looked into, those of a cache included */
  uint64_t cache_hits;  /* of them, found in the cache */
} nay_sst_counters;

/* nay_sst_count: each counter as it is at this moment. */
NAY_API void nay_sst_count(const nay_sst *sst, nay_sst_counters *counters);

/* ---- iterator -----------------------------------------------------------------------------------
 */

/*
 * nay_sst_iter: walks a table in order. Movements return NAY_OK when the iterator is at an entry,
 * NAY_ENOENT past either end, or an error, which stays until it is moved elsewhere. key and value
 * are valid until it moves; in a table of internal keys the key is the whole internal key.
 */
typedef struct nay_sst_iter nay_sst_iter;

NAY_API nay_status nay_sst_iter_new(const nay_sst *sst, nay_sst_iter **iter);
NAY_API void nay_sst_iter_free(nay_sst_iter *iter);
NAY_API nay_status nay_sst_iter_first(nay_sst_iter *iter);
NAY_API nay_status nay_sst_iter_last(nay_sst_iter *iter);
NAY_API nay_status nay_sst_iter_next(nay_sst_iter *iter);
NAY_API nay_status nay_sst_iter_prev(nay_sst_iter *iter);

/* nay_sst_iter_seek: the first entry at or above key; of internal keys, its newest version. */
NAY_API nay_status nay_sst_iter_seek(nay_sst_iter *iter, const void *key, size_t len);

/*
 * nay_sst_iter_range: seek to `from`; next then ends before `to` (user keys; NULL: no end). When
 * all keys of the range have one prefix, the prefix filter is asked first, and a nay reads no
 * block. first, last and seek take the end away again.
 */
NAY_API nay_status nay_sst_iter_range(nay_sst_iter *iter, const void *from, size_t from_len,
                                      const void *to, size_t to_len);

/* nay_sst_iter_prefix: the range of all keys that start so. */
NAY_API nay_status nay_sst_iter_prefix(nay_sst_iter *iter, const void *prefix, size_t len);

/* nay_sst_iter_valid: whether it is at an entry; key and value are NULL when it is not. */
NAY_API bool nay_sst_iter_valid(const nay_sst_iter *iter);
NAY_API const void *nay_sst_iter_key(const nay_sst_iter *iter, size_t *len);
NAY_API const void *nay_sst_iter_value(const nay_sst_iter *iter, size_t *len);

/* nay_sst_iter_diag: of the last error. */
NAY_API const nay_diag *nay_sst_iter_diag(const nay_sst_iter *iter);

/* ---- lookup over many tables --------------------------------------------------------------------
 */

/*
 * nay_lookup: asks tables one after the other, newest first, until one knows the key. The key is
 * hashed once for all native filters that share hash and seed. The tables stay the caller's and
 * must outlive it.
 */
typedef struct nay_lookup nay_lookup;

NAY_API nay_status nay_lookup_new(const nay_sst *const *tables, size_t n,
                                  const nay_allocator *allocator, nay_lookup **lookup);
NAY_API void nay_lookup_free(nay_lookup *lookup);

/*
 * nay_lookup_get: NAY_ENOENT when no table has the key, or the newest that does says that it is
 * deleted (value->deleted). table (may be NULL) tells which one answered. Errors as nay_sst_get: a
 * damaged table is an error, not a reason to ask an older one.
 */
NAY_API nay_status nay_lookup_get(const nay_lookup *lookup, const void *key, size_t len,
                                  nay_diag *diag, nay_sst_value *value, size_t *table);

/* nay_lookup_count: the sum over its tables, with `gets` and `hashes` those of the lookup. */
NAY_API void nay_lookup_count(const nay_lookup *lookup, nay_sst_counters *counters);

/* ---- compaction ---------------------------------------------------------------------------------
 */

/* nay_sst_compact_stats: what became of the entries. */
typedef struct nay_sst_compact_stats {
  uint64_t read;
  uint64_t written;
  uint64_t superseded; /* left out: a newer version or table has the key */
  uint64_t deletions;  /* left out: nothing older is below */
} nay_sst_compact_stats;

/*
 * nay_sst_compact_options: all zero makes a plain LevelDB table that answers as a lookup over its
 * inputs does. write.keys stays NAY_SST_KEYS_AUTO: they are those of the inputs.
 */
typedef struct nay_sst_compact_options {
  nay_sst_write_options write; /* how the new table is made; its filters are made from its keys */
  bool bottom; /* no table below has an older version of these keys: deletions may go as well */
  uint64_t oldest_snapshot; /* of internal keys, the versions that readers at this sequence or above
                               can see are kept; 0: there are no such readers */
  void (*progress)(void *ctx, const nay_sst_compact_stats *so_far); /* now and then; may be NULL */
  void *progress_ctx;
} nay_sst_compact_options;

/*
 * nay_sst_compact: the entries of n tables, newest first, become one table at path, which may be
 * that of an input. Of plain keys the newest table's value is kept; of internal keys the newest
 * version, and those that a snapshot needs. NAY_EMISMATCH: some tables have plain keys and some
 * internal ones, or write.keys says otherwise. NAY_EINVAL: no tables, or an option. Errors of the
 * inputs as nay_sst_iter, of the output as nay_sst_writer; then there is no new table. stats may be
 * NULL.
 */
NAY_API nay_status nay_sst_compact(const nay_sst *const *tables, size_t n, const char *path,
                                   const nay_sst_compact_options *options,
                                   const nay_allocator *allocator, nay_diag *diag,
                                   nay_sst_compact_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_H */

/*
 * nay_table.h - the filters inside a table of LevelDB, RocksDB or nay, found and asked without
 * touching its data.
 *
 *   nay_table *t;
 *   if (nay_table_open(bytes, len, NULL, NULL, NULL, &t) != NAY_OK) return 1;
 *   if (!nay_table_may_contain(t, "foo", 3)) puts("nay");
 *   nay_table_free(t);
 *
 * For tools: which filters does this .ldb or .sst have, how large are they, at which rate, what do
 * they say of a key. nay_sst.h reads and writes tables with their data, as LevelDB has them; this
 * also knows RocksDB's files, whose data it never needs: every footer from format 0 to 7, all five
 * checksums, full and partitioned filters, the names that early 7.0 releases gave them, prefixes.
 *
 * Bytes may come from anyone. What is damaged is an error with its offset, or, when it is a filter,
 * a maybe. THREADS: calls on a const nay_table are safe together.
 */
#ifndef NAY_TABLE_H
#define NAY_TABLE_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nay_table nay_table;

typedef enum nay_table_engine {
  NAY_TABLE_LEVELDB = 0,
  NAY_TABLE_ROCKSDB = 1,
  NAY_TABLE_NAY = 2 /* LevelDB's layout with filters of nay's own */
} nay_table_engine;

/* nay_table_engine_name: "LevelDB", "RocksDB", "nay". */
NAY_API const char *nay_table_engine_name(nay_table_engine engine);

/* nay_table_options: may be all zero. What it points to must outlive the table. */
typedef struct nay_table_options {
  const nay_codec *const *codecs; /* LevelDB may compress the index, which its filters need */
  size_t ncodecs;
  const nay_policy *const *policies; /* for filters of other policies than those of the formats */
  size_t npolicies;
} nay_table_options;

/* nay_table_recognise: whether the bytes end as a table of LevelDB or RocksDB does. */
NAY_API bool nay_table_recognise(const void *bytes, size_t len);

/*
 * nay_table_open: over bytes that stay where they are until nay_table_free; options and allocator
 * may be NULL. Every filter block is checked against its checksum here.
 * NAY_EFORMAT: not a table. NAY_ECORRUPT: footer, metaindex, properties or the index of partitions.
 * NAY_EVERSION: a format that RocksDB did not have when this was written. NAY_ENOTSUP: the
 * metaindex is compressed and no codec was given. NAY_ENOMEM.
 */
NAY_API nay_status nay_table_open(const void *bytes, size_t len, const nay_table_options *options,
                                  const nay_allocator *allocator, nay_diag *diag,
                                  nay_table **table);
NAY_API void nay_table_free(nay_table *table);

/* nay_table_info: what a table says of itself. Texts are the table's own. */
typedef struct nay_table_info {
  nay_table_engine engine;
  uint32_t format_version;
  const char *checksum;      /* of its blocks: "none", "crc32c", "xxh32", "xxh64", "xxh3" */
  nay_sst_filter layout;     /* none, one for each 2 KiB, full, partitioned */
  const char *policy;        /* whose name the filter has; NULL: there is none */
  const char *policy_option; /* RocksDB: what the writer was asked for; else NULL */
  const char *prefix;        /* the prefix extractor; NULL: none */
  bool whole_keys;           /* whole keys are in the filter */
  bool prefixes;             /* prefixes are, or have a filter of their own */
  bool understood;           /* the filter can be asked; else every answer is maybe */
  bool index_known;          /* one filter for each 2 KiB: false when the index is compressed and
                                no codec was given. All of them are then asked */
  uint64_t nkeys;            /* entries of the table; 0: it does not say */
  uint64_t nentries;         /* entries of the filter; 0: it does not say */
  uint64_t nfilters;         /* non-empty ones, the filter of prefixes included */
  uint64_t nempty;           /* ranges of 2 KiB in which no block starts */
  uint64_t ndamaged;         /* whose checksum is wrong */
  uint64_t nbytes;           /* of all filters */
} nay_table_info;

/* nay_table_describe: looks at every filter; the texts live as long as the table. */
NAY_API void nay_table_describe(const nay_table *table, nay_table_info *info);

/* nay_table_filter: one of them. */
typedef struct nay_table_filter {
  const void *bytes;
  size_t len;
  uint64_t offset;          /* in the file */
  bool damaged;             /* its checksum is wrong */
  bool of_prefixes;         /* a filter of prefixes alone, beside one of whole keys */
  const nay_format *format; /* that reads it; NULL: a policy that no format has */
  const void *last_key;     /* a partition: no key in it is above this one; else NULL */
  size_t last_key_len;
} nay_table_filter;

/*
 * nay_table_filter_at: the i-th of nfilters + nempty, in the order of the file; one without bytes
 * is empty. NAY_ENOENT past the last.
 */
NAY_API nay_status nay_table_filter_at(const nay_table *table, uint64_t i,
                                       nay_table_filter *filter);

/*
 * nay_table_may_contain: what a reader of that engine would be told of a user key: false is
 * certain. A filter of prefixes alone is asked for the key's prefix, if the extractor is one that
 * is known (RocksDB's FixedPrefix and CappedPrefix, nay's). In doubt true.
 */
NAY_API bool nay_table_may_contain(const nay_table *table, const void *key, size_t len);

#ifdef __cplusplus
}
#endif

#endif /* NAY_TABLE_H */

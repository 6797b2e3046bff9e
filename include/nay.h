/*
 * nay.h - membership filters: is this key in the set? The certain answer is "nay".
 *
 *   nay_params p = {.kind = NAY_BLOCKED, .nkeys = 1000000, .fpr = 0.01};
 *   nay_filter *f;
 *   if (nay_filter_new(&p, NULL, NULL, &f) != NAY_OK) return 1;
 *   nay_filter_add(f, "foo", 3, NULL);
 *   if (!nay_filter_may_contain(f, "bar", 3)) puts("nay");
 *   nay_filter_free(f);
 *
 * A filter answers *nay* (the key was never added: certain) or *maybe* (it was, or this is one of
 * the few false positives whose rate you chose). Words used below: a *key* is bytes; its *hash* is
 * made once, by the filter's hash function; a *family* is a way to store hashes; a *plan* is what a
 * filter will cost, computed before it exists.
 *
 * OWNERSHIP. Objects are made by nay_x_new (or build, copy, decode, open, mmap, finish) and
 * released by nay_x_free, which accepts NULL. Buffers are always the caller's. Pointers to const
 * that the library returns are views: valid until the object is changed or freed. Never pass one to
 * free(3).
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

/* ---- version --------------------------------------------------------------------------------- */

#define NAY_VERSION_MAJOR 0
#define NAY_VERSION_MINOR 9
#define NAY_VERSION_PATCH 0

/* nay_version: the version of the library that runs, "MAJOR.MINOR.PATCH". */
NAY_API const char *nay_version(void);

/* ---- status ---------------------------------------------------------------------------------- */

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

/* ---- allocator ------------------------------------------------------------------------------- */

/*
 * nay_allocator: where an object's memory comes from. `alloc` returns NULL when there is none, and
 * memory aligned for any type otherwise; `free` gets the size that alloc was given. Both get `ctx`.
 */
typedef struct nay_allocator {
  void *(*alloc)(void *ctx, size_t size);
  void (*free)(void *ctx, void *ptr, size_t size);
  void *ctx;
} nay_allocator;

/* ---- hash ------------------------------------------------------------------------------------ */

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
 * when an attacker chooses the keys. NAY_HASH_CALLER: you bring 64 well-mixed bits through the
 * _hash calls (nay_hash_mix makes them from an integer); calls that take key bytes return
 * NAY_ENOTSUP, and may_contain answers maybe.
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

/* ---- params and plan ------------------------------------------------------------------------- */

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
#define NAY_SMALL_PAGES 0x04u /* no huge pages, which filters of 4 MiB and more request */
#define NAY_UNIQUE 0x08u      /* counting, cuckoo: adding a key that tests maybe changes nothing */
#define NAY_NO_VERIFY 0x10u   /* static kinds: hand the filter out without probing every key */
/*
 * NAY_LOW_MEMORY: static kinds are built in pieces, their builders keep hashes in a file; large
 * bloom and blocked filters take keys as they come, with no memory beside the filter.
 */
#define NAY_LOW_MEMORY 0x20u
#define NAY_ZEROED 0x40u /* the allocator's memory is zero: nay_filter_new writes no page of it */

/*
 * nay_params: what you want. Zero-initialise it, then set `nkeys` and exactly one size:
 *
 *   fpr           the false-positive rate (FPR) once nkeys keys are in: 0 < fpr < 1 (families that
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
  uint64_t window;      /* window: its length in ticks; 0: the last nkeys adds */
  uint64_t max_nkeys;   /* cuckoo: may grow to hold this many; 0: stays at nkeys */
  uint64_t max_nbytes;  /* scalable, cuckoo: the payload never grows beyond this; 0: no limit */
  /* builds from many keys: static families, bloom, blocked, counting */
  uint32_t threads;      /* threads that build, at most 256; 0: only the caller's */
  const char *spill_dir; /* NAY_LOW_MEMORY in a builder: directory of its file; NULL: /tmp */
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
 * nay_params_plan: what a filter made from params would be, before anything is allocated. The FPR
 * of a window by ticks holds for keys that come evenly: plan for generations times as many when all
 * may come at once. NAY_EINVAL: out of range, or no filter can do it: diag says which field.
 */
NAY_API nay_status nay_params_plan(const nay_params *params, nay_diag *diag, nay_plan *plan);

/*
 * nay_params_choose_static: which static family to take for a set that is built once (NAY_AUTO
 * chooses among those that take adds). NAY_FUSE when its probe, three to six times as fast, costs
 * at most 15% more bytes than ribbon, or 2.2 times its rate in the same bytes; else NAY_RIBBON.
 * params->kind does not matter. NAY_EINVAL when neither can do it.
 */
NAY_API nay_status nay_params_choose_static(const nay_params *params, nay_diag *diag,
                                            nay_kind *kind);

/* ---- filter: making and releasing ------------------------------------------------------------ */

typedef struct nay_filter nay_filter;

/*
 * nay_filter_new: an empty filter. allocator and diag may be NULL. NAY_EINVAL as nay_params_plan;
 * NAY_ENOTSUP for a kind that must be built; NAY_ENOMEM.
 */
NAY_API nay_status nay_filter_new(const nay_params *params, const nay_allocator *allocator,
                                  nay_diag *diag, nay_filter **filter);

/*
 * nay_filter_build: a filter of n hashes, for every family. hashes[] is only read, duplicates are
 * welcome, and the bytes of the result do not depend on the order. params->nkeys 0 means n. A set
 * has no ages: a window that counts keys spreads them over its generations; a window by ticks has
 * all in the newest, so that none goes too early: its FPR is above the plan (nay_stats.overloaded).
 * NAY_EFULL: more than nkeys distinct hashes, for cuckoo and a window that counts keys.
 */
NAY_API nay_status nay_filter_build(const nay_params *params, const uint64_t *hashes, size_t n,
                                    const nay_allocator *allocator, nay_diag *diag,
                                    nay_filter **filter);

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
 * nay_filter_make_concurrent: as NAY_CONCURRENT, for a filter that was opened. Call it before
 * others see f. NAY_ENOTSUP: another system's layout, or a family that takes adds from one thread
 * at a time. NAY_ENOMEM.
 */
NAY_API nay_status nay_filter_make_concurrent(nay_filter *filter);

/*
 * nay_filter_clear: forgets every key; a window keeps its clock. NAY_ENOTSUP when the filter is
 * read-only. A scalable filter starts again with its first level; one that was folded and read from
 * a file, with a level that fits the memory it has, or 64 KiB: NAY_ENOMEM only there.
 */
NAY_API nay_status nay_filter_clear(nay_filter *filter);

/* ---- filter: keys ---------------------------------------------------------------------------- */

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
 * then says maybe wherever there is doubt. Hand over as many keys as you have: adds without a
 * bitmap to a bloom or blocked filter of 24 MiB and more are twice as fast when there are four or
 * more for each 64 bytes of it; they take half as much memory as the filter while they last, if
 * there is.
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
 * nay_filter_prefetch: prefetches the cache lines that a probe of this hash reads, and returns at
 * once. For engines that have other work between hashing a key and needing the answer: prefetch, go
 * on, then call nay_filter_may_contain_hash. Reads no file: skips a lazily mapped filter, and NULL.
 */
NAY_API void nay_filter_prefetch(const nay_filter *filter, nay_hash hash);

/* ---- filter: whole-filter operations --------------------------------------------------------- */

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
 * FPR (nay_filter_stats tells): exactly the bytes of a filter built with that nbytes, unless a
 * build would make a Bloom filter of so few keys in so few bytes (4,096 keys at most): then this
 * stays a ribbon. For ribbon. NAY_ENOTSUP: another family, a filter that is such a Bloom filter
 * already, or read-only. NAY_EINVAL: too few bytes for one column. More bytes than there are change
 * nothing.
 */
NAY_API nay_status nay_filter_shrink(nay_filter *filter, uint64_t nbytes);

/* ---- filter: what it knows of itself --------------------------------------------------------- */

/* nay_stats: the state of a filter. Rates and counts are estimates from the bits themselves. */
typedef struct nay_stats {
  nay_kind kind;
  nay_hash_kind hash;
  uint32_t k;
  uint64_t nkeys;         /* planned; 0: unknown, as when it was made from nbits alone */
  double nkeys_estimated; /* maximum likelihood, from the bits */
  uint64_t nbits;         /* payload, as in the plan */
  uint64_t nbits_set;
  uint64_t nbytes;    /* memory held, payload and handle */
  double fill;        /* nbits_set / the bits that keys can set: no counters, no headers */
  double utilisation; /* nkeys_estimated / nkeys; 0 when nkeys is 0 */
  double fpr_now;     /* chance that an absent key is a maybe, with these bits */
  double fpr_planned; /* the same, expected, with nkeys keys in */
  bool overloaded;    /* more keys than planned, in a window in one generation: FPR above plan */
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

/* ---- filter: bytes --------------------------------------------------------------------------- */

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
 * symbolic link keeps pointing where it did, an existing file keeps its permissions; a new one that
 * stores its key (NAY_STORE_KEY) can be read by its owner alone. See nay_file_replace. NAY_EIO:
 * diag says which step failed and errno; the old file and the filter are as they were.
 */
NAY_API nay_status nay_filter_save(const nay_filter *filter, const char *path, nay_diag *diag);

/* nay_filter_open: reads a file into memory, all checksums verified. */
NAY_API nay_status nay_filter_open(const char *path, const nay_allocator *allocator, nay_diag *diag,
                                   nay_filter **filter);

/*
 * nay_filter_mmap: probes a file in place, read-only. Checksums are verified now, or with
 * NAY_MMAP_LAZY each 64 KiB at its first touch: a damaged one answers maybe and nay_filter_health
 * tells. A file that another process shortens while it is mapped kills the process (SIGBUS): map
 * only files that are replaced, as nay_filter_save does, never overwritten.
 */
#define NAY_MMAP_LAZY 0x01u
NAY_API nay_status nay_filter_mmap(const char *path, unsigned flags, const nay_allocator *allocator,
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

/* ---- builder --------------------------------------------------------------------------------- */

/*
 * nay_builder: when keys stream in and their number is not known. It keeps 8 bytes for each key,
 * counts the distinct ones, sizes the filter exactly and builds it. Calls: new (add)* finish free.
 * params->nkeys 0 means "count them"; another number is taken as it is.
 */
typedef struct nay_builder nay_builder;

NAY_API nay_status nay_builder_new(const nay_params *params, const nay_allocator *allocator,
                                   nay_diag *diag, nay_builder **builder);
NAY_API nay_status nay_builder_add(nay_builder *builder, const void *key, size_t len);
NAY_API nay_status nay_builder_add_hash(nay_builder *builder, nay_hash hash);

/* nay_builder_nkeys: how many keys were added so far, duplicates included. */
NAY_API uint64_t nay_builder_nkeys(const nay_builder *builder);

/*
 * nay_builder_finish: makes the filter; the builder is then empty and can be used again. A failed
 * call keeps the keys: finish again when there is memory, or add more first.
 */
NAY_API nay_status nay_builder_finish(nay_builder *builder, nay_diag *diag, nay_filter **filter);
NAY_API void nay_builder_free(nay_builder *builder);

#ifdef __cplusplus
}
#endif

#endif /* NAY_H */

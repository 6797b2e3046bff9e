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
 * at most an eighth more bytes than ribbon, or twice its rate in the same bytes; else NAY_RIBBON.
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

/*
 * nay_explain.h - why a filter answers nay or maybe: what a probe reads, step by step.
 *
 *   static nay_status show(void *ctx, const nay_explain_step *step) {
 *     printf("%s %llu: bit %llu is %llu\n", step->unit, (unsigned long long)step->unit_index,
 *            (unsigned long long)step->bit, (unsigned long long)step->found);
 *     return NAY_OK;
 *   }
 *   nay_explanation why = {.size = sizeof why};
 *   nay_filter_explain(filter, "foo", 3, show, NULL, &why);
 *   puts(why.maybe ? "maybe" : "nay");
 *
 * For people and for programs that draw: a command, a debugger, a page in a browser. The
 * explanation lists all that decides the answer, where a probe stops at the first bit that does. It
 * is made of *steps*. A step reads some bits of the payload and compares what it finds with what it
 * expects. Steps form *groups*, and one rule holds for every family and every layout:
 *
 *   the answer is maybe exactly when there is a group whose steps are all ok
 *
 *   bloom, blocked, counting   one group: the k bits of the key
 *   scalable, RedisBloom's     one group for each level or link: k bits each
 *   window                     one group for each generation: k bits each
 *   cuckoo                     one group for each slot of the key's two buckets: a fingerprint
 *   xor, fuse                  one group: 3 or 4 slots, and their xor against the fingerprint
 *   ribbon                     one group: in each column a parity against a bit of the fingerprint
 *
 * A filter or shard that answers the same for every key has a group of one constant step.
 *
 * Positions are bits of the payload, which is the same bytes in memory and in a file: bit b is bit
 * b % 8, least significant first, of byte b / 8. nay_explanation.payload points to it.
 *
 * Explaining costs a call for each step and allocates nothing. THREADS: as for other calls on a
 * const filter.
 */
#ifndef NAY_EXPLAIN_H
#define NAY_EXPLAIN_H

#ifdef __cplusplus
extern "C" {
#endif

/* nay_step_kind: what a step compares. */
typedef enum nay_step_kind {
  NAY_STEP_BIT = 1,         /* one bit, expected to be 1 */
  NAY_STEP_FINGERPRINT = 2, /* a slot of a bucket with the fingerprint of a key in it; 0: empty */
  NAY_STEP_SLOT = 3,        /* a slot for the xor below; it is always ok: expected is found */
  NAY_STEP_XOR = 4,     /* the xor of the slots of the group: reads nothing, nbits is its width */
  NAY_STEP_COLUMN = 5,  /* the parity of the bits that `mask` selects, in one column of slots */
  NAY_STEP_CONSTANT = 6 /* the answer for every key, found 1: maybe, 0: nay; expected 1 */
} nay_step_kind;

/* nay_step_kind_name: "bit", "fingerprint", "slot", "xor", "column", "constant"; else "unknown". */
NAY_API const char *nay_step_kind_name(nay_step_kind kind);

/*
 * nay_explain_step: one of them. The library sets `size` to its own sizeof, and it only grows: a
 * field is there when it lies within `size`.
 */
typedef struct nay_explain_step {
  size_t size;
  nay_step_kind kind;
  bool ok;         /* found is expected */
  uint32_t group;  /* from 0, in order */
  uint32_t level;  /* of the group: scalable's level and RedisBloom's link, 0 is the oldest; window:
                      the age of the generation, 0 is the newest; else 0 */
  uint32_t index;  /* of the step in its group */
  uint32_t nsteps; /* of the group */
  /* the part of the payload in which the step lies */
  const char *unit;    /* "line" (64 bytes of a bit array), "block", "unit" (of a window), "bucket",
                          "segment" (of a fuse filter), "third" (of a xor filter); "" for steps that
                          read no unit */
  uint64_t unit_index; /* among those of its level, array or shard */
  uint64_t unit_bit;   /* where it starts in the payload */
  uint64_t unit_nbits; /* and how long it is */
  /* what is read: nbits from `bit` on; a column that goes on in the next block: nbits2 from bit2 */
  uint64_t bit;
  uint64_t bit2;
  uint32_t nbits;
  uint32_t nbits2;
  uint64_t mask[2]; /* a column: which of the nbits + nbits2 = 128 bits count, the first ones in the
                       low bits of mask[0]; else 0 */
  uint64_t found;
  uint64_t expected;
  uint32_t counter; /* counting: keys that hold the bit; 15: 15 or more, or not known; else 0 */
  uint32_t zero;    /* for later use */
} nay_explain_step;

/* nay_explain_sink: gets each step, in order. Another status than NAY_OK ends the explanation and
 * is returned. The step is valid during the call. */
typedef nay_status (*nay_explain_sink)(void *ctx, const nay_explain_step *step);

/* nay_explain_reason: why the answer is what it is. */
typedef enum nay_explain_reason {
  NAY_REASON_NO_MATCH = 0,  /* nay: in every group a step is not ok */
  NAY_REASON_MATCH = 1,     /* maybe: all steps of a group are ok */
  NAY_REASON_NO_KEYS = 2,   /* nay: the filter, or the shard of the key, was made of no keys */
  NAY_REASON_NO_ANSWER = 3, /* maybe: the filter, or the shard of the key, says so for every key */
  NAY_REASON_LOCKED = 4,    /* maybe: keys cannot be hashed without the secret key */
  NAY_REASON_NO_HASH = 5,   /* maybe: the caller hashes (NAY_HASH_CALLER): explain a hash instead */
  NAY_REASON_DAMAGED = 6 /* maybe: a lazily mapped file, and bytes that the probe needs are bad */
} nay_explain_reason;

/* nay_explain_reason_text: one line for people; "unknown reason" for other numbers. */
NAY_API const char *nay_explain_reason_text(nay_explain_reason reason);

/* nay_explanation: the answer, and what led to it. Set `size` to sizeof before the call. */
typedef struct nay_explanation {
  size_t size;
  bool maybe; /* what nay_filter_may_contain answers */
  nay_explain_reason reason;
  nay_hash_kind hash_kind;
  nay_hash hash;           /* of the key; 0 when there is none: locked, or no hash */
  uint64_t seed;           /* of the hash function; 0 when it has none, or a secret key instead */
  uint64_t premix;         /* static families: drawn when keys crowd some shards; 0: none */
  uint64_t word;           /* what positions are computed from: hash.lo, or mix(hash.lo ^ premix) */
  uint64_t nshards, shard; /* static families: how many, and that of the key; else 1 and 0 */
  uint64_t shard_seed;     /* ribbon: seed of the shard; xor, fuse: its factor; else 0 */
  uint64_t nsteps, nfailed; /* steps, and those that are not ok */
  uint64_t ngroups;
  uint64_t group;      /* maybe: the first whose steps are all ok; else ngroups */
  uint32_t level;      /* of that group */
  uint32_t zero;       /* for later use */
  const void *payload; /* a view, as long as the filter is not changed */
  uint64_t payload_nbytes;
} nay_explanation;

/*
 * nay_filter_explain: why nay_filter_may_contain answers as it does for a key. sink may be NULL:
 * then there is only the summary. A lazily mapped filter verifies what the probe reads, as a probe
 * does. NAY_EINVAL: an argument is NULL, or a size is none that the library ever had. Another
 * status is the sink's; *explanation is then untouched.
 */
NAY_API nay_status nay_filter_explain(const nay_filter *filter, const void *key, size_t len,
                                      nay_explain_sink sink, void *ctx,
                                      nay_explanation *explanation);

/* nay_filter_explain_hash: the same for nay_filter_may_contain_hash. */
NAY_API nay_status nay_filter_explain_hash(const nay_filter *filter, nay_hash hash,
                                           nay_explain_sink sink, void *ctx,
                                           nay_explanation *explanation);

#ifdef __cplusplus
}
#endif

#endif /* NAY_EXPLAIN_H */

/*
 * nay_file.h - files that several processes read and change: replace one atomically, lock one.
 *
 *   nay_filelock lock;
 *   nay_file_lock("f.nay", 0, &lock, NULL);           // others that lock it wait
 *   nay_filter_open("f.nay", NULL, NULL, &f);         // read, modify ...
 *   nay_filter_save(f, "f.nay", NULL);                // ... and replace: readers see old or new
 *   nay_file_unlock(&lock);
 *
 * Readers need no lock: they open the old file or the new one, whole. Writers that read first do,
 * or one of two loses its update. The commands of nay(1) that change or replace a file take this
 * lock.
 */
#ifndef NAY_FILE_H
#define NAY_FILE_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * nay_producer: writes the bytes of a file to sink, in order and in pieces of any size. A status
 * other than NAY_OK from sink must be returned; one of its own abandons the file.
 */
typedef nay_status (*nay_producer)(void *ctx, nay_sink sink, void *sink_ctx);

/* NAY_FILE_PRIVATE: a file that does not exist yet gets mode 0600, from the moment it is created.
 */
#define NAY_FILE_PRIVATE 0x01u

/*
 * nay_file_replace: what `produce` writes to its sink becomes the file at path, or nothing changes.
 * The bytes go to a new file in the same directory, which is created with O_EXCL (never through a
 * link that is already there), synced, and renamed; then the directory is synced.
 *
 * A symbolic link keeps pointing where it did: its target is replaced, or made if it does not exist
 * yet. Other hard links keep the old file. An existing file's permissions are kept, and its owner
 * and group where the system lets us; where the group cannot be kept, its members get no more than
 * everybody has. Access control lists are not kept. At no moment can anyone read the new bytes who
 * could not read the old file. A new file gets mode 0666 less the umask, or see NAY_FILE_PRIVATE.
 *
 * NAY_EIO, with errno in diag: also for a target that is not a regular file (EISDIR, EINVAL). One
 * failure comes too late to undo: when the directory cannot be synced, the new file is in place and
 * diag says so. Else the status of `produce`, which leaves diag alone.
 */
NAY_API nay_status nay_file_replace(const char *path, uint32_t flags, nay_producer produce,
                                    void *ctx, nay_diag *diag);

/* nay_filelock: in the caller's memory; the fields are the library's. */
typedef struct nay_filelock {
  int fd, dir;
  char name[256];
} nay_filelock;

/* NAY_LOCK_TRY: do not wait. NAY_EIO with os_error EWOULDBLOCK: another has the lock. */
#define NAY_LOCK_TRY 0x01u

/*
 * nay_file_lock: waits until nobody else holds the lock of the file at path, and takes it. The file
 * need not exist. The lock is an flock(2) on an empty file beside it, ".NAME.nay-lock", which
 * nay_file_unlock removes: so it survives that the file itself is replaced, and ends with the
 * process however that dies (a lock file that kill -9 leaves behind is not locked, and is used
 * again). Symbolic links lead to the lock of their target. Two hard links are two files to whoever
 * replaces them, and have two locks.
 *
 * It excludes only those who take it too, threads of the same process included. On a network file
 * system it works between machines as far as flock does there: on NFS since Linux 2.6.12, on others
 * ask their manual. NAY_ENOTSUP: the file system has no locks. NAY_EIO, with errno in diag: the
 * directory does not exist, cannot be written, or the lock file is another user's.
 */
NAY_API nay_status nay_file_lock(const char *path, uint32_t flags, nay_filelock *lock,
                                 nay_diag *diag);

/* nay_file_unlock: async-signal-safe, so that a handler may release the lock before it exits. */
NAY_API void nay_file_unlock(nay_filelock *lock);

#ifdef __cplusplus
}
#endif

#endif /* NAY_FILE_H */

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
 * A filter in another system's layout is a nay_filter like any other: probe it, add to it, read
 * its statistics. Its hash is that system's, so it merges only with filters of the same layout, and
 * only building it again from the keys makes a native file of it.
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

/* nay_format_has_checksum: whether damage to these bytes is detected. */
NAY_API bool nay_format_has_checksum(const nay_format *format);

/* nay_format_recognise: the format whose magic number the bytes start with; NULL when none. */
NAY_API const nay_format *nay_format_recognise(const void *bytes, size_t len);

/*
 * nay_format_plan: what nay_format_new would make. Sizes are in that system's terms: nkeys and a
 * whole number of bits_per_key, or fpr (turned into the least whole bits per key that reach it by
 * the textbook formula). RocksDB's layouts take fractions of a bit, and
 * reach an fpr in steps of a tenth.
 * nkeys 0 is a filter of no keys. NAY_EINVAL: diag says which field.
 * plan->fpr takes the k probes as independent. These layouts use double hashing, whose real
 * false-positive rate (FPR) is higher for small sets and many bits per key: doc/formats/README.md
 * has a table.
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
 * the number added, duplicates counted as these systems count them. Any of RocksDB's names reads
 * and writes all its layouts: RocksDB, too, makes a Bloom filter of a small ribbon, and
 * nay_format_of tells which it is.
 */
NAY_API nay_status nay_format_builder(const nay_format *format, const nay_params *params,
                                      const nay_allocator *allocator, nay_diag *diag,
                                      nay_builder **builder);

/* nay_format_of: the layout that a filter is in. */
NAY_API const nay_format *nay_format_of(const nay_filter *filter);

/*
 * nay_format_caveat: what a user of this filter must know about its answers, in one line; NULL when
 * there is nothing. Such as: the system that wrote the filter loses keys of it.
 */
NAY_API const char *nay_format_caveat(const nay_filter *filter);

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

/*
 * nay_format_decode: as nay_filter_decode, for that layout. NAY_EFORMAT: the bytes have the magic
 * number of another layout (nay_format_recognise tells which), or a checksum of another holds over
 * them (mini-lsm's) and this one has none.
 */
NAY_API nay_status nay_format_decode(const nay_format *format, const void *bytes, size_t len,
                                     const nay_allocator *allocator, nay_diag *diag,
                                     nay_filter **filter);

/* nay_format_view: as nay_view_open, for that layout: probe the bytes where they are. NAY_EFORMAT
 * as nay_format_decode; NAY_ENOTSUP: bytes that must be unpacked first (Redis' DUMP, nori's
 * quotient filter). */
NAY_API nay_status nay_format_view(const nay_format *format, const void *bytes, size_t len,
                                   nay_diag *diag, nay_view *view);

#ifdef __cplusplus
}
#endif

#endif /* NAY_FORMAT_H */

/*
 * nay_inline.h - probes that the compiler inlines into your loop, for blocked and fuse filters.
 *
 *   nay_inline_blocked probe;
 *   if (nay_inline_blocked_init(filter, NULL, &probe) == NAY_OK) {
 *     for (size_t i = 0; i < n; i++) maybes += nay_inline_blocked_may_contain(&probe, hashes[i]);
 *   } else {
 *     for (size_t i = 0; i < n; i++) maybes += nay_filter_may_contain_hash(filter, ...);
 *   }
 *
 * WHEN. nay_filter_may_contain_hash is an indirect call of code for this CPU. Inlined, the shape of
 * the filter stays in registers and a probe has fewer instructions, so that the CPU works on more
 * iterations of your loop at once and more of their cache misses overlap. Take it for a loop of
 * your own that probes one filter. When the hashes are in an array already, the batch calls of
 * nay.h are faster still, because they prefetch.
 *
 * HOW. Init checks family and shape once, and copies what a probe needs: addresses and numbers. A
 * probe then does what the filter's own code does, with the same answer. Keep the struct in a local
 * variable: it stays in registers. A condition around the loop makes a field constant inside it:
 *
 *   if (probe.k == 6) { for (...) ... } else { for (...) ... }               blocked
 *   if (probe.fuse.nshards == 1) { for (...) ... } else { for (...) ... }    fuse
 *
 * The answers are the same with and without; the second lets clang vectorize the loop. Compile with
 * -march=native, -mavx2 or -mavx512f -mavx512vl: then a probe of a blocked filter tests eight or
 * sixteen bits at a time. No flag is required. fuse is portable C.
 *
 * HASHES are the low word of nay_filter_hash, or an array that nay_filter_hash_many has filled, or
 * your own (NAY_HASH_CALLER). The _key calls hash a key and probe it.
 *
 * LIFETIME. A probe ends when the filter changes in another way than by adds: do not use it after
 * free, merge, intersect, fold, clear or move, or when a view or its bytes are gone. Adds to a
 * blocked filter by the same thread are seen.
 *
 * INIT REFUSES what these probes cannot answer, and diag says why:
 *
 *   NAY_EINVAL    an argument is NULL
 *   NAY_EKEY      the filter is locked
 *   NAY_ENOTSUP   another family, another system's layout, other fingerprints or slots; a lazily
 *                 mapped file, as a probe would not verify what it reads; a blocked filter that
 *                 takes concurrent adds (NAY_CONCURRENT); a fuse filter of no keys, or of hashes
 *                 that were not random
 *
 * Go on with nay_filter_may_contain_hash then, which answers for every filter. A refusal leaves the
 * probe as it was.
 *
 * ABI. The structs are fixed for ever. What a probe reads is the payload of the file format, which
 * is as fixed; of the handle it reads nothing. A later library refuses filters that these probes
 * cannot answer.
 */
#ifndef NAY_INLINE_H
#define NAY_INLINE_H

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define NAY_INLINE_PROBE static inline __attribute__((always_inline))
#define NAY_INLINE_PREFETCH(p) __builtin_prefetch(p)
#define NAY_INLINE_UNLIKELY(x) __builtin_expect(x, 0)
#else
#define NAY_INLINE_PROBE static inline
#define NAY_INLINE_PREFETCH(p) ((void)(p))
#define NAY_INLINE_UNLIKELY(x) (x)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The constants of the file format (doc/formats/nay.md). */
#define NAY_INLINE_G32 0x9e3779b9u       /* blocked: from one bit of a key to the next */
#define NAY_INLINE_G32_POW_8 0xab25f4c1u /* eight bits on */
#define NAY_INLINE_G32_POW_16 0x7fca7981u
#define NAY_INLINE_REMIX 0xd6e8feb86659fd93u  /* fuse */
#define NAY_INLINE_FOURTH 0xa0761d6478bd642fu /* fuse: the fourth slot */

/* ---- words ---- */

/* The high and the low half of a * b. */
NAY_INLINE_PROBE uint64_t nay_inline_mul(uint64_t a, uint64_t b, uint64_t *low) {
#if defined(__SIZEOF_INT128__)
  __extension__ typedef unsigned __int128 nay_inline_u128;
  nay_inline_u128 product = (nay_inline_u128)a * b;
  *low = (uint64_t)product;
  return (uint64_t)(product >> 64);
#else
  uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
  uint64_t mid = ah * bl + (al * bl >> 32);
  uint64_t mid2 = al * bh + (uint32_t)mid;
  *low = a * b;
  return ah * bh + (mid >> 32) + (mid2 >> 32);
#endif
}

/* floor(hash * n / 2^64): from a hash to one of n. */
NAY_INLINE_PROBE uint64_t nay_inline_reduce(uint64_t hash, uint64_t n) {
  uint64_t low;
  return nay_inline_mul(hash, n, &low);
}

/* Little-endian loads at any alignment; compilers make one instruction of each. */
NAY_INLINE_PROBE uint32_t nay_inline_load16(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

NAY_INLINE_PROBE uint64_t nay_inline_load64(const uint8_t *p) {
  return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
         (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

/* ---- blocked ---- */

/* nay_inline_blocked: a blocked filter, as a probe sees it. */
typedef struct nay_inline_blocked {
  const nay_filter *filter;
  const uint8_t *blocks; /* of 64 bytes */
  uint64_t nblocks;
  uint64_t k; /* bits of a key in its block, 1 to 64 */
} nay_inline_blocked;

/* nay_filter_inline_blocked: the library's part of nay_inline_blocked_init. */
NAY_API nay_status nay_filter_inline_blocked(const nay_filter *filter, nay_diag *diag,
                                             nay_inline_blocked *probe);

/* nay_inline_blocked_init: probes of a blocked filter. Statuses: above, "init refuses". */
NAY_INLINE_PROBE nay_status nay_inline_blocked_init(const nay_filter *filter, nay_diag *diag,
                                                    nay_inline_blocked *probe) {
  nay_inline_blocked made; /* the library sees this address, so *probe can stay in registers */
  nay_status status = nay_filter_inline_blocked(filter, diag, &made);
  if (status == NAY_OK) *probe = made;
  return status;
}

NAY_INLINE_PROBE const uint8_t *nay_inline_block(const nay_inline_blocked *probe, uint64_t hash) {
  return probe->blocks + nay_inline_reduce(hash, probe->nblocks) * 64;
}

/*
 * Bit i of a key is (h * g^i mod 2^32) >> 23 of the 512 of its block. nay_inline_bits_8 tests the
 * first `left` of up to eight, nay_inline_bits the next eight or sixteen. No branch depends on the
 * block: it would be mispredicted, and discard the misses of later keys.
 */
#if defined(__AVX512F__) && defined(__AVX512VL__)

#define NAY_INLINE_VECTORS
#define NAY_INLINE_AT_ONCE 16u
#define NAY_INLINE_NEXT_BITS NAY_INLINE_G32_POW_16
NAY_INLINE_PROBE __m512i nay_inline_powers(void) {
  return _mm512_setr_epi32(0x00000001, (int)0x9e3779b9, (int)0xe35e67b1, 0x734297e9, 0x35fbe861,
                           (int)0xdeb7c719, 0x0448b211, 0x3459b749, (int)0xab25f4c1, 0x52941879,
                           (int)0x9c95e071, (int)0xf5ab9aa9, 0x2d6ba521, (int)0x8bededd9,
                           (int)0x9bfb72d1, 0x3ae1c209);
}

/* Half a register: less work on some CPUs. */
NAY_INLINE_PROBE bool nay_inline_bits_8(const uint8_t *block, uint32_t h, uint32_t left) {
  __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)block);
  __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
  __m256i powers = _mm512_castsi512_si256(nay_inline_powers());
  __m256i probes = _mm256_mullo_epi32(_mm256_set1_epi32((int)h), powers);
  __m256i words = _mm256_permutex2var_epi32(low, _mm256_srli_epi32(probes, 28), high);
  __m256i wanted = _mm256_rolv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(probes, 23));
  return _mm256_mask_testn_epi32_mask((__mmask8)((1u << left) - 1), words, wanted) == 0;
}

NAY_INLINE_PROBE bool nay_inline_bits(const uint8_t *block, uint32_t h, uint32_t left) {
  __m512i probes = _mm512_mullo_epi32(_mm512_set1_epi32((int)h), nay_inline_powers());
  __m512i words =
      _mm512_permutexvar_epi32(_mm512_srli_epi32(probes, 28), _mm512_loadu_si512(block));
  __m512i wanted = _mm512_rolv_epi32(_mm512_set1_epi32(1), _mm512_srli_epi32(probes, 23));
  __mmask16 lanes = left < 16 ? (__mmask16)((1u << left) - 1) : (__mmask16)0xffff;
  return _mm512_mask_testn_epi32_mask(lanes, words, wanted) == 0;
}

#elif defined(__AVX2__)

#define NAY_INLINE_VECTORS
#define NAY_INLINE_AT_ONCE 8u
#define NAY_INLINE_NEXT_BITS NAY_INLINE_G32_POW_8
NAY_INLINE_PROBE bool nay_inline_bits_8(const uint8_t *block, uint32_t h, uint32_t left) {
  const __m256i powers = _mm256_setr_epi32(0x00000001, (int)0x9e3779b9, (int)0xe35e67b1, 0x734297e9,
                                           0x35fbe861, (int)0xdeb7c719, 0x0448b211, 0x3459b749);
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)block);
  __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
  __m256i probes = _mm256_mullo_epi32(_mm256_set1_epi32((int)h), powers);
  /* the top 4 bits are one of sixteen words, the topmost chooses the half */
  __m256i at = _mm256_srli_epi32(probes, 28);
  __m256 in_low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, at));
  __m256 in_high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, at));
  __m256 words = _mm256_blendv_ps(in_low, in_high, _mm256_castsi256_ps(probes));
  /* the next 5 are one of its bits; lanes from `left` on want none */
  __m256i one = _mm256_srli_epi32(_mm256_sub_epi32(index, _mm256_set1_epi32((int)left)), 31);
  __m256i wanted = _mm256_sllv_epi32(one, _mm256_srli_epi32(_mm256_slli_epi32(probes, 4), 27));
  return _mm256_testc_si256(_mm256_castps_si256(words), wanted) != 0;
}

NAY_INLINE_PROBE bool nay_inline_bits(const uint8_t *block, uint32_t h, uint32_t left) {
  return nay_inline_bits_8(block, h, left);
}

#else

#define NAY_INLINE_AT_ONCE 8u
#define NAY_INLINE_NEXT_BITS NAY_INLINE_G32_POW_8
NAY_INLINE_PROBE bool nay_inline_bits_8(const uint8_t *block, uint32_t h, uint32_t left) {
  uint32_t set = 1;
  for (uint32_t i = 0; i < left; i++, h *= NAY_INLINE_G32) {
    set &= (uint32_t)block[h >> 26] >> (h >> 23 & 7);
  }
  return set != 0;
}

NAY_INLINE_PROBE bool nay_inline_bits(const uint8_t *block, uint32_t h, uint32_t left) {
  return nay_inline_bits_8(block, h, left < 8 ? left : 8);
}

#endif

/*
 * nay_inline_blocked_may_contain: false is certain, true is a maybe. Compiled for x86-64 without
 * AVX2 this calls the filter's own code, which is chosen for the CPU at run time: portable C takes
 * twice as long, inlined or not.
 */
NAY_INLINE_PROBE bool nay_inline_blocked_may_contain(const nay_inline_blocked *probe,
                                                     uint64_t hash) {
#if defined(__x86_64__) && !defined(NAY_INLINE_VECTORS) && !defined(NAY_INLINE_PORTABLE)
  nay_hash both = {hash, 0};
  return nay_filter_may_contain_hash(probe->filter, both);
#else
  const uint8_t *block = nay_inline_block(probe, hash);
  uint32_t h = (uint32_t)hash, left = (uint32_t)probe->k;
  if (left <= 8) return nay_inline_bits_8(block, h, left);
  for (;; left -= NAY_INLINE_AT_ONCE, h *= NAY_INLINE_NEXT_BITS) {
    bool set = nay_inline_bits(block, h, left);
    if (left <= NAY_INLINE_AT_ONCE || !set) return set;
  }
#endif
}

/* nay_inline_blocked_may_contain_key: hashes a key, then probes. Maybe when it cannot be hashed. */
NAY_INLINE_PROBE bool nay_inline_blocked_may_contain_key(const nay_inline_blocked *probe,
                                                         const void *key, size_t len) {
  nay_hash hash;
  return nay_filter_hash(probe->filter, key, len, &hash) != NAY_OK ||
         nay_inline_blocked_may_contain(probe, hash.lo);
}

/* nay_inline_blocked_prefetch: the cache line that a probe of this hash reads. */
NAY_INLINE_PROBE void nay_inline_blocked_prefetch(const nay_inline_blocked *probe, uint64_t hash) {
  NAY_INLINE_PREFETCH(nay_inline_block(probe, hash));
}

/* ---- fuse ---- */

/*
 * nay_inline_fuse: a fuse filter, as a probe sees it. Above 2^21 keys the set is cut into shards by
 * the top bits of the hash; each has an array of slots and a factor of its own.
 */
typedef struct nay_inline_fuse {
  const nay_filter *filter;
  const uint8_t *arrays;  /* the slots of shard 0; those of the next shard are `stride` bytes on */
  const uint8_t *factors; /* of 8 bytes */
  uint64_t nshards, stride;
  uint64_t span;    /* so many slots can be the first of a key */
  uint64_t segment; /* the others are in the segments after it; a power of two */
} nay_inline_fuse;

/* nay_filter_inline_fuse: the library's part of the four inits below. */
NAY_API nay_status nay_filter_inline_fuse(const nay_filter *filter, unsigned bits, unsigned slots,
                                          nay_diag *diag, nay_inline_fuse *probe);

/* Where a hash is: the addresses of its slots. `bits` and `slots` are constants. */
typedef struct nay_inline_slots {
  uint64_t fingerprint;
  const uint8_t *at[4];
} nay_inline_slots;

NAY_INLINE_PROBE nay_inline_slots nay_inline_locate(const nay_inline_fuse *probe, unsigned bits,
                                                    unsigned slots, uint64_t hash) {
  nay_inline_slots found;
  const uint8_t *array = probe->arrays, *factor = probe->factors;
  uint64_t low, high = nay_inline_mul(hash, NAY_INLINE_REMIX, &low), m = high ^ low;
  uint64_t first = nay_inline_reduce(m, probe->span), mask = probe->segment - 1;
  if (NAY_INLINE_UNLIKELY(probe->nshards != 1)) {
    uint64_t shard = nay_inline_reduce(hash, probe->nshards);
    array += shard * probe->stride;
    factor += 8 * shard;
  }
  uint64_t w = found.fingerprint = m * nay_inline_load64(factor);
  found.at[0] = array + first * (bits / 8);
  found.at[1] = array + ((first + probe->segment) ^ (w >> 48 & mask)) * (bits / 8);
  found.at[2] = array + ((first + 2 * probe->segment) ^ (w >> 32 & mask)) * (bits / 8);
  found.at[3] = found.at[0];
  if (slots == 4) {
    w *= NAY_INLINE_FOURTH;
    found.at[3] = array + ((first + 3 * probe->segment) ^ (w >> 48 & mask)) * (bits / 8);
  }
  return found;
}

NAY_INLINE_PROBE uint64_t nay_inline_slot(const uint8_t *at, unsigned bits) {
  return bits == 8 ? *at : nay_inline_load16(at);
}

/* Whether the xor of the slots is the fingerprint. */
NAY_INLINE_PROBE bool nay_inline_fits(nay_inline_slots found, unsigned bits, unsigned slots) {
  uint64_t sum = found.fingerprint ^ nay_inline_slot(found.at[0], bits);
  sum ^= nay_inline_slot(found.at[1], bits) ^ nay_inline_slot(found.at[2], bits);
  if (slots == 4) sum ^= nay_inline_slot(found.at[3], bits);
  return bits == 8 ? (uint8_t)sum == 0 : (uint16_t)sum == 0;
}

/*
 * A type for each shape, so that its numbers are constants in the probe and cannot be mixed up:
 *
 *   nay_inline_fuse8    nay_inline_fuse8_4wise      fingerprints of 8 bits, 3 and 4 slots
 *   nay_inline_fuse16   nay_inline_fuse16_4wise     16 bits
 *
 * each with, as for nay_inline_blocked,
 *
 *   nay_status TYPE_init(const nay_filter *, nay_diag *, TYPE *)
 *   bool TYPE_may_contain(const TYPE *, uint64_t hash)
 *   bool TYPE_may_contain_key(const TYPE *, const void *key, size_t len)
 *   void TYPE_prefetch(const TYPE *, uint64_t hash)
 */
#define NAY_INLINE_FUSE(type, bits, slots)                                                         \
  typedef struct type {                                                                            \
    nay_inline_fuse fuse;                                                                          \
  } type;                                                                                          \
  NAY_INLINE_PROBE nay_status type##_init(const nay_filter *filter, nay_diag *diag, type *probe) { \
    nay_inline_fuse made;                                                                          \
    nay_status status = nay_filter_inline_fuse(filter, bits, slots, diag, &made);                  \
    if (status == NAY_OK) probe->fuse = made;                                                      \
    return status;                                                                                 \
  }                                                                                                \
  NAY_INLINE_PROBE bool type##_may_contain(const type *probe, uint64_t hash) {                     \
    return nay_inline_fits(nay_inline_locate(&probe->fuse, bits, slots, hash), bits, slots);       \
  }                                                                                                \
  NAY_INLINE_PROBE bool type##_may_contain_key(const type *probe, const void *key, size_t len) {   \
    nay_hash hash;                                                                                 \
    return nay_filter_hash(probe->fuse.filter, key, len, &hash) != NAY_OK ||                       \
           type##_may_contain(probe, hash.lo);                                                     \
  }                                                                                                \
  NAY_INLINE_PROBE void type##_prefetch(const type *probe, uint64_t hash) {                        \
    nay_inline_slots found = nay_inline_locate(&probe->fuse, bits, slots, hash);                   \
    for (unsigned i = 0; i < (slots); i++) NAY_INLINE_PREFETCH(found.at[i]);                       \
  }

NAY_INLINE_FUSE(nay_inline_fuse8, 8, 3)
NAY_INLINE_FUSE(nay_inline_fuse16, 16, 3)
NAY_INLINE_FUSE(nay_inline_fuse8_4wise, 8, 4)
NAY_INLINE_FUSE(nay_inline_fuse16_4wise, 16, 4)

#undef NAY_INLINE_FUSE
#undef NAY_INLINE_VECTORS
#undef NAY_INLINE_PROBE
#undef NAY_INLINE_PREFETCH
#undef NAY_INLINE_UNLIKELY

#ifdef __cplusplus
}
#endif

#endif /* NAY_INLINE_H */

/*
 * nay_key.h - typed values as keys: one canonical form, so that the same value is the same key in
 * every program and language.
 *
 *   uint8_t key[8];
 *   nay_key_int(-7, key);
 *   nay_filter_add(f, key, sizeof key, NULL);
 *
 *   size_t len;                          // the same key from text, such as a field of a CSV file
 *   if (nay_key_parse(NAY_KEY_INT, "-7", 2, key, sizeof key, &len, &diag) != NAY_OK) return 1;
 *
 * doc/keys.md is the specification; tests/golden/keys/keys.txt has test vectors. Nothing here
 * allocates, reads the locale or computes in floating point.
 */
#ifndef NAY_KEY_H
#define NAY_KEY_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * nay_key_type: what a text stands for, and how its value becomes key bytes. All integers are
 * little-endian. The type is not part of the key: values that are compared must have one type.
 */
typedef enum nay_key_type {
  NAY_KEY_TEXT = 0,      /* the bytes as they are: UTF-8, not normalised, not validated */
  NAY_KEY_INT = 1,       /* -2^63 to 2^64 - 1, decimal or 0x: 8 bytes, modulo 2^64 */
  NAY_KEY_FLOAT = 2,     /* the nearest IEEE 754 binary64: 8 bytes; one zero, one NaN */
  NAY_KEY_BOOL = 3,      /* true, false, t, f, 1, 0: the integer 1 or 0 */
  NAY_KEY_DATE = 4,      /* YYYY-MM-DD: days since 1970-01-01, as an integer */
  NAY_KEY_TIMESTAMP = 5, /* ISO 8601: microseconds since 1970-01-01T00:00Z, as an integer */
  NAY_KEY_UUID = 6,      /* 16 bytes in the order in which they are printed */
  NAY_KEY_NUMERIC = 7,   /* exact decimal: its shortest text without an exponent */
  NAY_KEY_HEX = 8,       /* the bytes that the hexadecimal digits encode */
  NAY_KEY_B64 = 9        /* the bytes that the base64 text encodes */
} nay_key_type;

/* nay_key_type_name: "text", "int", ..., "b64"; NULL for a number that no type has. */
NAY_API const char *nay_key_type_name(nay_key_type type);

/* nay_key_type_parse: the inverse. NAY_EINVAL when the name is not known. */
NAY_API nay_status nay_key_type_parse(const char *name, nay_key_type *type);

/* ---- values ---------------------------------------------------------------------------------- */

/*
 * nay_key_int: a signed integer of any width; a bool as 0 or 1; a date as days, a timestamp as
 * microseconds since 1970-01-01 UTC, where INT64_MAX is "infinity" and INT64_MIN "-infinity".
 */
NAY_API void nay_key_int(int64_t value, uint8_t key[8]);

/*
 * nay_key_uint: an unsigned integer of any width. Up to 2^63 - 1 its key is that of nay_key_int;
 * above, that of value - 2^64: such a pair collides, which costs a false positive, never a false
 * nay.
 */
NAY_API void nay_key_uint(uint64_t value, uint8_t key[8]);

/* nay_key_float: a float or double. -0 becomes +0, and every NaN 0x7ff8000000000000. */
NAY_API void nay_key_float(double value, uint8_t key[8]);

/* ---- text ------------------------------------------------------------------------------------ */

/*
 * NAY_KEY_NUMERIC_MAX: bytes of the longest numeric key: a sign, 131,072 digits before the point
 * and 16,383 after it, which are PostgreSQL's limits.
 */
#define NAY_KEY_NUMERIC_MAX (1u + 131072u + 1u + 16383u)

/*
 * nay_key_parse: text[0, len) of a type -> the key in out[0, cap), *key_len bytes of it. White
 * space around the value is an error. len + 8 bytes are enough for every key but that of a numeric
 * with an exponent, which needs up to NAY_KEY_NUMERIC_MAX. out may be NULL: then the text is
 * checked, *key_len is what the key needs, and cap is ignored. text and out must not overlap. On
 * failure out and *key_len are untouched. NAY_EINVAL: not a value of this type, or out of its
 * range; diag says what and at which byte. NAY_EBUFFER: the key is longer than cap.
 */
NAY_API nay_status nay_key_parse(nay_key_type type, const char *text, size_t len, uint8_t *out,
                                 size_t cap, size_t *key_len, nay_diag *diag);

#ifdef __cplusplus
}
#endif

#endif /* NAY_KEY_H */

/*
 * nay_policy.h - how a table builds a filter from the keys of a block and probes it.
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
   * Builds the filter of n keys; duplicates are allowed. *filter is memory of `allocator` (NULL:
   * malloc), exactly *len bytes (at least 1), for the caller to release with allocator->free. On
   * failure both are untouched. NAY_EINVAL: a key is NULL and its length is not 0. NAY_ENOMEM.
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
   * The same in two steps, for a lookup in many tables: hash the key once, probe each filter with
   * the hash. Both, or NULL twice.
   */
  nay_hash (*hash)(const nay_policy *self, const void *key, size_t key_len);
  bool (*may_match_hash)(const nay_policy *self, nay_hash hash, const uint8_t *filter, size_t len);
  void *state;       /* yours; the library's own policies keep NULL here */
  nay_params params; /* of the library's own policies; may stay zero in yours */
};

/*
 * The filter to store when none could be built: every policy answers maybe for each key, and so
 * does LevelDB itself (a single byte LevelDB takes for a filter without keys).
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
 * bytes as LevelDB's, a lower false-positive rate (FPR), and a check that turns every flipped bit,
 * of the filter or of its length, into a maybe. A nay reads the whole filter for that: for a filter
 * over a whole table use nay_policy_filter. doc/design/0011-small-filters.md has the bytes.
 * NAY_EINVAL as above.
 */
NAY_API nay_status nay_policy_small(uint32_t bits_per_key, nay_policy *policy);

/*
 * nay_policy_filter: "nay.filter.v1", a native file of any family, for one filter over a whole
 * table. params as for nay_builder; nkeys stays 0. Each probe opens the bytes as a nay_view, which
 * verifies all of them: for many probes open the view once and probe that.
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
 * used, and every size is computed again: what you receive is safe to query, even if an attacker
 * wrote it.
 *
 * Ownership, errors and threads are as in nay.h.
 */
#ifndef NAY_REDIS_H
#define NAY_REDIS_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory ---------------------------------------------------------------------------------- */

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
 * chain does not scale and its link is full. An item that tests maybe is NAY_OK even then.
 * NAY_ENOMEM, NAY_EINVAL: the next link cannot be made.
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
 * its arrays are allocated then, so give an allocator with a limit when the header is untrusted.
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
 * nay_cfchain_new: a chain of header->nfilters empty sub-filters. header->nitems is not trusted:
 * items are counted as chunks bring them. Its slots are allocated now: give an allocator with a
 * limit when the header is untrusted. NAY_ECORRUPT, NAY_ENOMEM.
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

/* nay_cfchain_prefetch: prefetches the cache lines that adds (all false) or probes (true) of these
 * hashes will read. */
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
 * tour. A filter is probed before a block is read; a filter that is damaged or of an unknown
 * policy is left out and counted, and the data answers. Damaged data is NAY_ECORRUPT, with the
 * offset in nay_diag: never a wrong answer.
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

/* ---- keys ------------------------------------------------------------------------------------ */

/*
 * nay_sst_keys: what the keys of a table are. Plain keys are ordered as bytes. Inside a LevelDB or
 * RocksDB database each key is an internal key: it ends in a trailer of 8 bytes with a sequence
 * number and a type, and the versions of a key are ordered newest first. Calls take user keys,
 * without the trailer.
 *
 * NAY_SST_KEYS_AUTO, when reading: internal if the keys of the first block and up to 64 keys of the
 * index all have 8 bytes or more, a type of 0 or 1, and stand in the order of internal keys; else
 * plain. Tables with nay's own filters say which they are, RocksDB's (format 0) are internal. When
 * writing: plain.
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

/* ---- codecs ---------------------------------------------------------------------------------- */

/*
 * nay_codec: how blocks are compressed. The library has none and links with none; doc/sst.md shows
 * snappy (id 1) in ten lines. A call returns false when it fails: the block is then written
 * uncompressed, or counts as damaged. Calls may come from many threads at once.
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

/* ---- prefixes -------------------------------------------------------------------------------- */

/*
 * nay_prefix: a prefix extractor. extract sets how many leading bytes of the key are its prefix, or
 * returns false for a key that has none. It must depend on those bytes alone: every key that starts
 * with them has the same prefix. The name is stored, and a reader whose extractor has another name
 * ignores the filter.
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

/* ---- writer ---------------------------------------------------------------------------------- */

/* nay_sst_filter: which filter of whole keys a table has. */
typedef enum nay_sst_filter {
  NAY_SST_NO_FILTER = 0,
  NAY_SST_BLOCK_FILTER = 1,      /* LevelDB's own: one for each 2 KiB of the file */
  NAY_SST_FULL_FILTER = 2,       /* one for the table, in memory while it is open */
  NAY_SST_PARTITIONED_FILTER = 3 /* one for each range of keys, read when it is probed */
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

/* ---- cache ----------------------------------------------------------------------------------- */

/*
 * nay_sst_cache: an LRU cache of blocks that had to be read or uncompressed, and of filter
 * partitions. Each of the two kinds has its own budget of bytes and cannot evict the other. Many
 * tables may share one. Uncompressed blocks of a mapped file are used in place and not cached.
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

/* ---- reader ---------------------------------------------------------------------------------- */

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
  nay_sst_cache *cache;     /* NULL: blocks are read each time, and the table caches 1 MiB of the
                               filter partitions probed last */
  const uint8_t *hash_key;  /* 16 bytes, for filters with a secret key that is not in the file */
  uint64_t max_block_bytes; /* a block may be this long uncompressed; 0: 256 MiB */
} nay_sst_read_options;

typedef struct nay_sst nay_sst;

/*
 * nay_sst_open: options may be NULL. NAY_EFORMAT: not a table. NAY_ECORRUPT: footer or index
 * are damaged. NAY_ENOTSUP: the index is compressed and no codec was given for it, or the keys are
 * not in bytewise order, because the table was made with another comparator, or RocksDB has
 * partitioned its index.
 * Order: that of the index here, and of some data blocks (of all up to 8, unless nay wrote the
 * table); that of each block when it is first used. So a get, a walk or a compaction that meets
 * keys of another order is NAY_ENOTSUP. Walk a table from end to end to check all of it.
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
 * nay_sst_get: checks the range of keys, then the filter, then the index, then one block.
 * NAY_ENOENT: not in the table. NAY_OK with value->deleted: the table knows that it was deleted.
 * NAY_ECORRUPT, NAY_ENOTSUP (a compressed block without its codec, keys that are not in bytewise
 * order, an entry that only RocksDB has), NAY_EIO, NAY_ENOMEM: diag says where. In a table that nay
 * did not write, compressed blocks without their codec make every get NAY_ENOTSUP: the order is not
 * known.
 */
NAY_API nay_status nay_sst_get(const nay_sst *sst, const void *key, size_t len, nay_diag *diag,
                               nay_sst_value *value);

/* nay_sst_get_at: of internal keys, the newest version that is not above sequence. */
NAY_API nay_status nay_sst_get_at(const nay_sst *sst, const void *key, size_t len,
                                  uint64_t sequence, nay_diag *diag, nay_sst_value *value);

/*
 * nay_sst_may_contain: by range and filters alone; false is certain. May read a filter partition,
 * never a data block.
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
 * the `useful` ones answered nay and so saved a block; a false positive is a maybe for a key that
 * is not in the table and, if only a prefix filter was probed, whose prefix is not either.
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
  uint64_t block_reads; /* data blocks searched, cached ones included */
  uint64_t cache_hits;  /* of them, found in the cache */
} nay_sst_counters;

/* nay_sst_count: each counter as it is at this moment. */
NAY_API void nay_sst_count(const nay_sst *sst, nay_sst_counters *counters);

/* ---- iterator -------------------------------------------------------------------------------- */

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
 * nay_sst_iter_range: seek to `from`; next then ends before `to` (user keys; NULL: no end). If all
 * keys of the range share a prefix, the prefix filter is probed first, and on nay no block is read.
 * first, last and seek remove the end.
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

/* ---- lookup over many tables ----------------------------------------------------------------- */

/*
 * nay_lookup: searches tables in turn, newest first, until one has the key. The key is
 * hashed once for all native filters that share hash and seed. The tables stay the caller's and
 * must outlive it.
 */
typedef struct nay_lookup nay_lookup;

NAY_API nay_status nay_lookup_new(const nay_sst *const *tables, size_t n,
                                  const nay_allocator *allocator, nay_lookup **lookup);
NAY_API void nay_lookup_free(nay_lookup *lookup);

/*
 * nay_lookup_get: NAY_ENOENT when no table has the key, or the newest that does says that it is
 * deleted (value->deleted). table (may be NULL) tells which one answered, or failed. Errors as
 * nay_sst_get: a damaged table is an error, not a reason to search an older one.
 */
NAY_API nay_status nay_lookup_get(const nay_lookup *lookup, const void *key, size_t len,
                                  nay_diag *diag, nay_sst_value *value, size_t *table);

/* nay_lookup_count: the sum over its tables, with `gets` and `hashes` those of the lookup. */
NAY_API void nay_lookup_count(const nay_lookup *lookup, nay_sst_counters *counters);

/* ---- compaction ------------------------------------------------------------------------------ */

/* nay_sst_compact_stats: how many entries were read, written and dropped. */
typedef struct nay_sst_compact_stats {
  uint64_t read;
  uint64_t written;
  uint64_t superseded; /* dropped: a newer version or table has the key */
  uint64_t deletions;  /* dropped: no older version is left to hide */
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
 * nay_sst_foreign.h - sorted tables of nori and mini-lsm, read through nay_sst.h.
 *
 *   nay_sst *t;
 *   if (nay_sst_open_as("00001.sst", "mini-lsm-sst", NULL, NULL, NULL, &t) != NAY_OK) return 1;
 *   if (nay_sst_get(t, "foo", 3, NULL, &v) == NAY_OK && !v.deleted) ...
 *
 * A foreign table is a nay_sst like any other: get, iterate, look up, compact. Its keys are
 * internal keys: deletions are told, and the sequence number is the version that the table stores
 * (nori: the sequence number, or the index beside a term; mini-lsm: the timestamp; else 0). nori's
 * tables have a magic number, and nay_sst_open takes them as they are; mini-lsm's have none and are
 * read when they are named.
 *
 * CODECS. nori compresses with raw LZ4 blocks and zstd frames, neither with its size: give a
 * nay_codec of id 4 for the first and 2 for the second, whose uncompressed_size finds the size.
 *
 * CHECKSUMS. Blocks, index and filter of nori have none, nor has anything in mini-lsm's first week:
 * damage that still parses gives wrong answers. nay_sst_foreign_caveat says so.
 */
#ifndef NAY_SST_FOREIGN_PUBLIC_H
#define NAY_SST_FOREIGN_PUBLIC_H

#ifdef __cplusplus
extern "C" {
#endif

/* nay_sst_foreign_name: the i-th layout that nay_sst_open_as takes, NULL past the last. */
NAY_API const char *nay_sst_foreign_name(size_t i);

/* nay_sst_foreign_about: one line that says whose tables these are; NULL for an unknown name. */
NAY_API const char *nay_sst_foreign_about(const char *name);

/*
 * nay_sst_open_as: a table in the layout of this name: "nori-sst"; "mini-lsm-sst", which tries all
 * its forms; "mini-lsm-sst-day4", "-week1", "-week2" (the finished course), "-week3" (timestamps).
 * NAY_EINVAL: no such name. NAY_EFORMAT, NAY_ECORRUPT, NAY_EVERSION, NAY_ENOTSUP (a codec is
 * missing): diag says where. options.keys is not used.
 */
NAY_API nay_status nay_sst_open_as(const char *path, const char *name,
                                   const nay_sst_read_options *options,
                                   const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);

/* nay_sst_view_as: the same over bytes that stay where they are until nay_sst_free. */
NAY_API nay_status nay_sst_view_as(const void *bytes, size_t len, const char *name,
                                   const nay_sst_read_options *options,
                                   const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);

/* nay_sst_foreign_info: what a foreign table says of itself. Set size before the call. */
typedef struct nay_sst_foreign_info {
  size_t size;
  const char *layout;      /* "nori-sst", "mini-lsm-sst-week2", ... */
  uint32_t footer_version; /* nori: 0, 1 or 2 */
  const char *versions;    /* of entries: "none", "sequence", "term and index", "timestamp" */
  bool versions_tried;     /* the file does not say: they were told by parsing all blocks */
  const char *codec;       /* "none", "lz4", "zstd" */
  bool codec_ignored;      /* nori's first writer: the footer names it, the blocks are not
                              compressed */
  bool has_checksums;      /* of blocks, metadata and filter */
  bool has_nentries;
  uint64_t nentries;     /* that the footer states, deletions included */
  uint64_t block_bytes;  /* the writer's target; 0: not stored */
  uint64_t max_version;  /* mini-lsm with timestamps; else 0 */
  const char *filter;    /* its layout, as nay_format_find takes it; NULL: none */
  bool filter_in_blocks; /* one in each data block: it saves no block read */
} nay_sst_foreign_info;

/* nay_sst_foreign_describe: NAY_ENOENT: the table is LevelDB's. NAY_EINVAL: size. */
NAY_API nay_status nay_sst_foreign_describe(const nay_sst *sst, nay_sst_foreign_info *info);

/*
 * nay_sst_foreign_caveat: the i-th thing that a user of this table must know about its answers, or
 * about those of the engine that wrote it; NULL past the last, and for LevelDB's tables.
 */
NAY_API const char *nay_sst_foreign_caveat(const nay_sst *sst, size_t i);

/*
 * nay_sst_foreign_verify: reads every block, and asks the table's own filters for every key as the
 * engine that wrote them does. *nentries, *ndenied: how many there are, and how many of them that
 * engine denies. NAY_ENOENT: the table is LevelDB's. Errors as nay_sst_iter.
 */
NAY_API nay_status nay_sst_foreign_verify(const nay_sst *sst, nay_diag *diag, uint64_t *nentries,
                                          uint64_t *ndenied);

/* nay_sst_iter_term: nori's term of the entry that the iterator is at; else 0. */
NAY_API uint64_t nay_sst_iter_term(const nay_sst_iter *iter);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_FOREIGN_PUBLIC_H */

/*
 * nay_table_filters.h - the filters inside a table of LevelDB, RocksDB or nay, found and probed
 * without its data.
 *
 *   nay_table_filters *t;
 *   if (nay_table_filters_open(bytes, len, NULL, NULL, NULL, &t) != NAY_OK) return 1;
 *   if (!nay_table_filters_may_contain(t, "foo", 3)) puts("nay");
 *   nay_table_filters_free(t);
 *
 * For tools: which filters an .ldb or .sst has, their size and false-positive rate (FPR), and what
 * they answer for a key. nay_sst.h reads and writes the tables themselves, in LevelDB's format;
 * this header also takes RocksDB's files, whose data it never needs: every footer from format 0 to
 * 7, all five checksums, full and partitioned filters, the names that early 7.0 releases gave them,
 * prefixes.
 *
 * Bytes may come from anyone. Damage is an error with its offset; a damaged filter answers maybe.
 * THREADS: calls on a const nay_table_filters are safe together.
 */
#ifndef NAY_TABLE_FILTERS_H
#define NAY_TABLE_FILTERS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nay_table_filters nay_table_filters;

typedef enum nay_table_engine {
  NAY_TABLE_LEVELDB = 0,
  NAY_TABLE_ROCKSDB = 1,
  NAY_TABLE_NAY = 2, /* LevelDB's layout with filters of nay's own */
  NAY_TABLE_NORI = 3,
  NAY_TABLE_MINILSM = 4
} nay_table_engine;

/* nay_table_engine_name: "LevelDB", "RocksDB", "nay", "nori", "mini-lsm". */
NAY_API const char *nay_table_engine_name(nay_table_engine engine);

/* nay_table_filters_options: may be all zero. What it points to must outlive the table. */
typedef struct nay_table_filters_options {
  const nay_codec *const *codecs; /* LevelDB may compress the index, which its filters need */
  size_t ncodecs;
  const nay_policy *const *policies; /* for filters of other policies than those of the formats */
  size_t npolicies;
} nay_table_filters_options;

/* nay_table_recognise: whether the bytes end as a table of LevelDB, RocksDB or nori does. */
NAY_API bool nay_table_recognise(const void *bytes, size_t len);

/*
 * nay_table_filters_open: over bytes that stay where they are until nay_table_filters_free; options
 * and allocator may be NULL. Every filter block is checked against its checksum here. Tables of any
 * comparator: where the key order selects a filter and is not bytewise, all filters are
 * probed. NAY_EFORMAT: not a table. NAY_ECORRUPT: footer, metaindex, properties or the index of
 * partitions. NAY_EVERSION: a format that RocksDB did not have when this was written. NAY_ENOTSUP:
 * the metaindex is compressed and no codec was given. NAY_ENOMEM.
 */
NAY_API nay_status nay_table_filters_open(const void *bytes, size_t len,
                                          const nay_table_filters_options *options,
                                          const nay_allocator *allocator, nay_diag *diag,
                                          nay_table_filters **table);
NAY_API void nay_table_filters_free(nay_table_filters *table);

/* nay_table_filters_info: what a table says of itself. Texts are the table's own. */
typedef struct nay_table_filters_info {
  nay_table_engine engine;
  uint32_t format_version;
  const char *checksum;  /* of its blocks: "none", "crc32", "crc32c", "xxh32", "xxh64", "xxh3" */
  nay_sst_filter layout; /* none, one for each 2 KiB, full, partitioned */
  const char *policy;    /* whose name the filter has; NULL: there is none */
  const char *policy_option; /* RocksDB: the option of the writer; else NULL */
  const char *prefix;        /* the prefix extractor; NULL: none */
  bool whole_keys;           /* whole keys are in the filter */
  bool prefixes;             /* prefixes are, or have a filter of their own */
  bool understood;           /* the filter can be probed; else every answer is maybe */
  bool index_known;          /* one filter for each 2 KiB: false when the index is compressed and
                                no codec was given, or the keys are not known to be in bytewise
                                order. All of them are then probed */
  uint64_t nkeys;            /* entries of the table; 0: it does not say */
  uint64_t nentries;         /* entries of the filter; 0: it does not say */
  uint64_t nfilters;         /* non-empty ones, the filter of prefixes included */
  uint64_t nempty;           /* ranges of 2 KiB in which no block starts */
  uint64_t ndamaged;         /* whose checksum is wrong */
  uint64_t nbytes;           /* of all filters */
} nay_table_filters_info;

/* nay_table_filters_describe: goes through every filter; the texts live as long as the table. */
NAY_API void nay_table_filters_describe(const nay_table_filters *table,
                                        nay_table_filters_info *info);

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
 * nay_table_filters_at: the i-th of nfilters + nempty, in the order of the file; one without bytes
 * is empty. NAY_ENOENT past the last.
 */
NAY_API nay_status nay_table_filters_at(const nay_table_filters *table, uint64_t i,
                                        nay_table_filter *filter);

/*
 * nay_table_filters_may_contain: what that engine's own reader would answer for a user key: false
 * is certain. A filter of prefixes alone is probed with the key's prefix, if the extractor is known
 * (RocksDB's FixedPrefix and CappedPrefix, nay's). In doubt true.
 */
NAY_API bool nay_table_filters_may_contain(const nay_table_filters *table, const void *key,
                                           size_t len);

/* ---- tables of nori and mini-lsm ---- */

/*
 * nay_table_filters_open_as: a table in a layout of nay_sst_foreign.h, by its name; nori's are
 * recognised without. nori's filters inside blocks appear as partitions; they are read with the
 * blocks, so they save no read. A filter that denies keys of its own table answers maybe.
 */
NAY_API nay_status nay_table_filters_open_as(const void *bytes, size_t len, const char *name,
                                             const nay_table_filters_options *options,
                                             const nay_allocator *allocator, nay_diag *diag,
                                             nay_table_filters **table);

/* nay_table_filters_caveat: as nay_sst_foreign_caveat, for the filters of the table. */
NAY_API const char *nay_table_filters_caveat(const nay_table_filters *table, size_t i);

#ifdef __cplusplus
}
#endif

#endif /* NAY_TABLE_FILTERS_H */

/* Stable: a program works with every later library of the same SONAME. */
/*
 * nay.h - membership filters: is this key in the set? The certain answer is "nay".
 *
 *   nay_params p = {sizeof p, .kind = NAY_BLOCKED, .nkeys = 1000000, .fpr = 0.01};
 *   nay_filter *f;
 *   if (nay_filter_new(&p, NULL, NULL, &f) != NAY_OK) return 1;
 *   nay_filter_add(f, "foo", 3, NULL);
 *   if (!nay_filter_may_contain(f, "bar", 3)) puts("nay");
 *   nay_filter_free(f);
 *
 * A filter answers *nay* (the key was never added: certain) or *maybe* (it was, or this is one of
 * the few false positives whose rate you chose). Words used below: a *key* is bytes; its *hash* is
 * made once, by the filter's hash function; a *family* is a way to store hashes; a *plan* is what a
 * filter will cost, computed before it exists. nay_advanced.h has what engines and tools need
 * beyond.
 *
 * OWNERSHIP. Objects are made by nay_x_new (or build, copy, decode, open, mmap, finish) and
 * released by nay_x_free, which accepts NULL. Buffers are always the caller's. Pointers to const
 * that the library returns are views: valid until the object is changed or freed.
 *
 * ERRORS. Calls return a nay_status; outputs come last and are untouched on failure, and so is the
 * object: a failed call changes nothing. A batch of adds that fails says how many keys it took, and
 * has done exactly those adds. Membership cannot fail and returns bool: in doubt, true.
 *
 * THREADS. Calls on a const filter are safe together. A filter made with NAY_CONCURRENT (bloom,
 * blocked, counting) also takes adds and removes from many threads at once, beside probes, which
 * never wait; calls that read the whole filter, such as stats, copy and encode, wait until the adds
 * are done. Everything else: one thread at a time.
 *
 * MEMORY. Each object keeps the allocator it was made with (NULL: malloc). There are no globals.
 *
 * ABI. A program works with every later library of the same SONAME. A struct that begins with
 * `size` may get further fields at its end, where 0 means "as before"; set size to sizeof:
 * `nay_params p = {sizeof p, .fpr = 0.01};`, `nay_stats s = {.size = sizeof s};`, and in C++17
 * `nay_stats s = {}; s.size = sizeof s;`. An input whose size is below that of the first version or
 * absurd, in which a field unknown to this library is not 0, or which has an unknown flag, is
 * NAY_EINVAL. An output is never written past its size; what the caller has beyond the library's
 * fields becomes 0. Enums may get further values, nay_diag and nay_allocator use their reserved
 * words; nay_hash and the numbers of statuses, kinds and hashes never change. Of an object no byte
 * is public.
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
#define NAY_VERSION_MINOR 10
#define NAY_VERSION_PATCH 0

/* nay_version: of the library that runs, "MAJOR.MINOR.PATCH". */
NAY_API const char *nay_version(void);

/* ---- status, memory -------------------------------------------------------------------------- */

/* The one list of errors: enum, text and the table in doc/status.md come from it. */
#define NAY_STATUS_MAP(X)                                                                   \
  X(OK, 0, "success")                                                                       \
  X(ENOMEM, -1, "the allocator returned NULL")                                              \
  X(EINVAL, -2, "an argument is out of its documented range")                               \
  X(ENOTSUP, -3, "not supported")                                                           \
  X(EMISMATCH, -4, "the filters differ in family, shape, hash, seed or key description")    \
  X(ECORRUPT, -5, "the bytes are damaged: a checksum, length or field is wrong")            \
  X(EVERSION, -6, "the bytes need a newer library: unknown version, kind or required flag") \
  X(EFORMAT, -7, "the bytes are not of this format")                                        \
  X(EKEY, -8, "the secret key is missing or is not the one the filter was made with")       \
  X(EBUFFER, -9, "the output buffer is too small")                                          \
  X(EIO, -10, "the operating system refused a file operation")                              \
  X(EFULL, -11, "the result would exceed a limit on rate or size")                          \
  X(ENOENT, -12, "the key is not in the filter")                                            \
  X(ECANCELED, -13, "a callback of the caller ended the call")                              \
  X(EEND, -14, "there are no more: the last one came before")

typedef enum nay_status {
#define X(name, value, text) NAY_##name = (value),
  NAY_STATUS_MAP(X)
#undef X
} nay_status;

/* nay_status_text: one line for people; "unknown status" for other numbers. */
NAY_API const char *nay_status_text(nay_status status);

/* nay_status_name: "NAY_EINVAL" and so on, for logs; NULL for other numbers. */
NAY_API const char *nay_status_name(nay_status status);

/*
 * nay_diag: what exactly was wrong, and where. Functions that take one accept NULL; they fill it
 * only when they fail. `what` is static text, then never NULL; `offset` counts bytes from the start
 * of the input (0 when no byte is to blame); `os_error` is errno if the status is NAY_EIO, else 0.
 */
typedef struct nay_diag {
  const char *what;
  uint64_t offset;
  int os_error;
  uint32_t reserved32;
  uint64_t reserved[4]; /* for later versions; written as 0 */
} nay_diag;

/*
 * nay_allocator: where an object's memory comes from. `alloc` returns NULL when there is none, and
 * memory aligned for any type otherwise; `free` gets the size that alloc was given. Both get `ctx`.
 */
typedef struct nay_allocator {
  void *(*alloc)(void *ctx, size_t size);
  void (*free)(void *ctx, void *ptr, size_t size);
  void *ctx;
  void *reserved[4]; /* for later versions: NULL, else NAY_EINVAL */
} nay_allocator;

/* ---- params and plan ------------------------------------------------------------------------- */

/*
 * nay_hash_kind: how keys become hashes. The numbers are those of the file format.
 *
 * NAY_HASH_XXH3 is the default: fast, stable for ever, seeded. A secret seed hardens it but does
 * not make it a pseudo-random function. NAY_HASH_SIPHASH is one (SipHash-1-3, 128-bit key): take it
 * when an attacker chooses the keys. NAY_HASH_CALLER: you bring 64 well-mixed bits through the
 * _hash calls of nay_advanced.h; calls that take key bytes return NAY_ENOTSUP, and may_contain
 * answers maybe.
 */
typedef enum nay_hash_kind {
  NAY_HASH_XXH3 = 0,
  NAY_HASH_SIPHASH = 1,
  NAY_HASH_CALLER = 2,
  NAY_HASH_OTHERS = 64, /* 64 to 127: hashes of other systems' layouts: nay_hash_name */
  NAY_HASH_LAST = 127
} nay_hash_kind;

/*
 * nay_kind: the families. The numbers are those of the file format and never change;
 * nay_kind_name tells whether this library has a family.
 */
typedef enum nay_kind {
  NAY_AUTO = 0,         /* let the planner choose among the families that take adds */
  NAY_BLOOM = 1,        /* classic Bloom: any size, tiny sets, lowest rates */
  NAY_BLOCKED = 2,      /* one cache line per probe: the default */
  NAY_COUNTING = 3,     /* blocked, with removal */
  NAY_SCALABLE = 4,     /* grows when the number of keys is not known */
  NAY_WINDOW = 5,       /* forgets old keys */
  NAY_CUCKOO = 6,       /* removal at low rates */
  NAY_XOR = 7,          /* static: the classic xor filter */
  NAY_FUSE = 8,         /* static: fastest probe for big lists */
  NAY_RIBBON = 9,       /* static: fewest bits */
  NAY_RANGE = 10,       /* static: is a key between a and b, see nay_range.h */
  NAY_SBBF = 11,        /* split blocks of 256 bits: Parquet's filter */
  NAY_MAP = 12,         /* static: a value for each key, see nay_map.h */
  NAY_LIST = 13,        /* static: which keys of a known universe are listed, see nay_list.h */
  NAY_AUTO_STATIC = 256 /* nay_params_plan alone: let it choose among the static families */
} nay_kind;

/* nay_kind_name: "bloom", "blocked", ...; NULL for a number that no family has. */
NAY_API const char *nay_kind_name(nay_kind kind);

/* Flags of nay_params; nay_advanced.h has more, for builds and memory. */
#define NAY_CONCURRENT 0x01u /* adds from many threads at once */
#define NAY_STORE_KEY 0x02u  /* write the SipHash key into files: they then open without it */
#define NAY_UNIQUE 0x08u     /* counting, cuckoo: adding a key that tests maybe changes nothing */

/*
 * nay_params: what you want. All 0 but `size`, `nkeys` (for a builder 0: it counts) and one of:
 *
 *   fpr           the false-positive rate (FPR) once nkeys keys are in: 0 < fpr < 1 (families that
 *                 grow: however many keys are in)
 *   bits_per_key  payload bits for each key: 0 < bits_per_key <= 4096
 *   nbytes        a memory budget for the payload: the best filter that fits (one that grows: when
 *                 it is new; max_nbytes is the limit of its growth)
 *   nbits         exactly this many bits that keys can set (nkeys may then be 0); blocked needs a
 *                 multiple of 512, window of 1024, cuckoo of 8 tags; counters come on top
 *
 * scalable takes fpr alone; its nkeys is only where it starts (0: 1000). Values out of range are
 * refused, never clamped.
 */
typedef struct nay_params {
  size_t size; /* sizeof the struct: see ABI */
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
  uint64_t max_nkeys;   /* cuckoo: grows to hold this many; 0: stays at nkeys */
  uint64_t max_nbytes;  /* scalable, cuckoo: the payload never grows beyond this; 0: no limit */
  /* builds from many keys: static families, bloom, blocked, counting */
  uint32_t threads;      /* threads that build, at most 256; 0: only the caller's */
  const char *spill_dir; /* NAY_LOW_MEMORY in a builder: directory of its file; NULL: /tmp */
  /* maps */
  uint32_t value_bits; /* 1 to 64; 0: as many as the largest value needs */
  uint32_t check_bits; /* 0: a key outside the set gets an arbitrary value; else it is absent, with
                          an error rate of 2^-check_bits. value_bits + check_bits <= 64 */
  /* range filters */
  uint64_t range_length; /* how many numbers the longest range has for which the FPR is planned */
  uint32_t range_keys;   /* how keys end in numbers: nay_range_keys of nay_range.h */
  uint32_t range_delimiter; /* the byte that prefixes of keys end in; 0: any, or no prefix */
  /* exact lists; they take check_bits, too */
  uint64_t list_base;      /* list_id of the list that this one changes; 0: none */
  uint32_t list_prefix;    /* the first bytes of a key are its partition; 0: none, at most 65535 */
  uint32_t list_delimiter; /* or those before the first such byte, 1 to 255 */
  uint32_t list_outside;   /* listed keys that are not of the universe, see nay_list.h */
} nay_params;

/* nay_plan: what a filter will be. Computed, not measured; `fpr` is exact for the family. */
typedef struct nay_plan {
  size_t size; /* sizeof the struct: see ABI */
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
  double fpr_limit;     /* filters that grow: fpr at the end of growth; others: fpr */
  double window_error;  /* window: a key may stay this share of the window too long; else 0 */
  uint32_t generations; /* window; else 0 */
  uint32_t tag_bits;    /* cuckoo; else 0 */
} nay_plan;

/*
 * nay_params_plan: what a filter made from params would be, before anything is allocated. The FPR
 * of a window by ticks holds for keys that come evenly: plan for generations times as many when all
 * may come at once. For a set that is built once NAY_AUTO_STATIC plans NAY_FUSE when its probe,
 * three to six times as fast, costs at most 15% more bytes than ribbon, or 2.2 times its rate in
 * the same bytes; else NAY_RIBBON: build plan->kind. NAY_EINVAL: out of range, or no filter can do
 * it: diag says which field.
 */
NAY_API nay_status nay_params_plan(const nay_params *params, nay_diag *diag, nay_plan *plan);

/* ---- filter: making and releasing ------------------------------------------------------------ */

typedef struct nay_filter nay_filter;

/*
 * nay_filter_new: an empty filter. allocator and diag may be NULL. NAY_EINVAL as nay_params_plan;
 * NAY_ENOTSUP for a kind that must be built; NAY_ENOMEM.
 */
NAY_API nay_status nay_filter_new(const nay_params *params, const nay_allocator *allocator,
                                  nay_diag *diag, nay_filter **filter);

/* nay_filter_copy: an independent copy, owned and writable even if the original is mapped.
 * NAY_ENOMEM; NAY_ECORRUPT: a lazily mapped file is damaged. */
NAY_API nay_status nay_filter_copy(const nay_filter *filter, const nay_allocator *allocator,
                                   nay_diag *diag, nay_filter **copy);

/* nay_filter_free: NULL is fine. */
NAY_API void nay_filter_free(nay_filter *filter);

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
 * nay_filter_advance: tells an expiring filter made with params.window what time it is. now is a
 * moment of the caller's clock in ticks (seconds, offsets of a log), not a distance; the first call
 * sets the clock. A key is remembered for at least `window` ticks after the moment of its add and
 * at most window_error (nay_plan) longer. NAY_EINVAL: now is before the last call: time never goes
 * back. NAY_ENOTSUP: a family that does not expire, or a window that counts keys.
 */
NAY_API nay_status nay_filter_advance(nay_filter *filter, uint64_t now);

/*
 * nay_filter_add_many, nay_filter_may_contain_many: batches of n keys, keys[i] with lens[i] bytes.
 * Their cache misses overlap, so hand over as many keys as you have. The answers are a bitmap of
 * NAY_BITMAP_WORDS(n) words, all of them written: bit i is for key i. For adds it tells which keys
 * were new and may be NULL; *taken, which may be NULL too, tells how many of them were added. That
 * is n, unless the batch fails: the filter then is what as many adds of the first keys make it, the
 * key after them is the one that failed, and the bitmap has their bits and undefined ones. Only a
 * family that can be full or grows (scalable, cuckoo) fails in the middle; other errors take none.
 * A probe batch returns NAY_EINVAL for arguments it cannot use and NAY_ECORRUPT when it met damaged
 * bytes; the bitmap then says maybe wherever there is doubt.
 */
NAY_API nay_status nay_filter_add_many(nay_filter *filter, const void *const *keys,
                                       const size_t *lens, size_t n, uint64_t *bitmap,
                                       size_t *taken);
NAY_API nay_status nay_filter_may_contain_many(const nay_filter *filter, const void *const *keys,
                                               const size_t *lens, size_t n, uint64_t *bitmap);

/* nay_bitmap_get: bit i. uint64_t bitmap[NAY_BITMAP_WORDS(n)] has n bits. */
#define NAY_BITMAP_WORDS(n) (((n) + 63) / 64)
static inline bool nay_bitmap_get(const uint64_t *bitmap, size_t i) {
  return (bitmap[i / 64] >> (i % 64) & 1) != 0;
}

/* nay_bitmap_next: the first set bit at or after i, n when there is none: to visit all maybes,
 * for (i = nay_bitmap_next(b, n, 0); i < n; i = nay_bitmap_next(b, n, i + 1)). */
static inline size_t nay_bitmap_next(const uint64_t *bitmap, size_t n, size_t i) {
  for (; i < n; i++) {
    uint64_t rest = bitmap[i / 64] >> (i % 64);
    if ((rest & 1) != 0) return i;
    if (rest == 0) i |= 63; /* nothing more in this word */
  }
  return n;
}

/* nay_bitmap_count: how many of the n bits are set. */
static inline size_t nay_bitmap_count(const uint64_t *bitmap, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; i += 64) {
    uint64_t x = n - i < 64 ? bitmap[i / 64] << (64 - (n - i)) : bitmap[i / 64];
    for (; x != 0; x &= x - 1) count++;
  }
  return count;
}

/* ---- filter: as a whole ---------------------------------------------------------------------- */

/*
 * nay_filter_merge: dst becomes the union, exactly as if every key of src had been added to it.
 * Sizes may differ: both are folded to their greatest common size first. max_fpr refuses a union
 * whose rate would be higher (1.0: no limit). Counting adds the counters; scalable joins the levels
 * of both, whatever their sizes, and the rates add up. NAY_EMISMATCH: another family, k, hash, seed
 * or key description (nay_key.h), or no common size. NAY_EFULL: above max_fpr. NAY_ENOTSUP: the
 * family cannot merge, or dst is read-only.
 */
NAY_API nay_status nay_filter_merge(nay_filter *dst, const nay_filter *src, double max_fpr,
                                    nay_diag *diag);

/* nay_stats: the state of a filter. Rates and counts are estimates from the bits themselves. */
typedef struct nay_stats {
  size_t size; /* sizeof the struct: see ABI */
  nay_kind kind;
  nay_hash_kind hash;
  uint32_t k;
  uint64_t nkeys;         /* planned; 0: unknown, as when it was made from nbits alone */
  double nkeys_estimated; /* maximum likelihood, from the bits; saturated: there are more */
  uint64_t nbits;         /* payload, as in the plan */
  uint64_t nbits_set;
  uint64_t nbytes;    /* memory held, payload and handle */
  double fill;        /* nbits_set / the bits that keys can set: no counters, no headers */
  double utilisation; /* nkeys_estimated / nkeys; 0 when nkeys is 0 */
  double fpr_now;     /* chance that an absent key is a maybe, with these bits */
  double fpr_planned; /* the same, expected, with nkeys keys in; filters that grow: at the end of
                         growth, as nay_plan.fpr_limit */
  bool overloaded;    /* more keys than planned, in a window in one generation: FPR above plan */
  bool derived;       /* made by intersection: nkeys_estimated and fpr_now are not known (NaN) */
  bool saturated;     /* a block, or the whole array, has no clear bit, which any number of keys can
                         do: nkeys_estimated and utilisation are lower bounds (999 in 1,000) */
  bool read_only;     /* mapped, or a view */
  bool locked;        /* keyed, and the key was not given yet */
  bool stores_key;    /* files will contain the SipHash key */
  /* families that change */
  uint32_t nlevels;  /* scalable: levels; window: generations; cuckoo: 1 + doublings; others 1 */
  uint32_t tag_bits; /* cuckoo: of a key, now; else 0 */
  uint64_t nstuck;   /* counting: counters that removal will not change any more */
  uint64_t nrefused; /* removals of keys that tested nay, through this handle */
  uint64_t clock;    /* window by ticks: the last nay_filter_advance; else 0 */
  uint32_t value_bits, check_bits; /* maps, lists; else 0 */
  /* range filters; else 0 */
  uint64_t range_length; /* as planned */
  uint64_t range_block;  /* a range within two neighbouring blocks of so many numbers is answered */
  uint32_t range_exact;  /* 1: no false positive, for ranges of any length */
  uint32_t range_shift;  /* bits of each number that nay_filter_shrink has dropped */
  /* exact lists; else 0 */
  uint64_t nlisted;     /* keys of the universe that are listed; nkeys are all of it */
  uint64_t list_bound;  /* information-theoretic lower bound of the payload in bits */
  uint64_t list_id;     /* tells lists apart, for list_base */
  uint64_t list_base;   /* as built */
  uint32_t npartitions; /* 1 without a rule */
  uint32_t nexceptions; /* keys whose hashes collide */
  uint32_t list_prefix, list_delimiter;
} nay_stats;

/* nay_filter_stats: reads the whole payload. NAY_ECORRUPT: a lazily mapped file is damaged. */
NAY_API nay_status nay_filter_stats(const nay_filter *filter, nay_stats *stats);

/*
 * nay_filter_unlock: gives the SipHash key to a filter whose file does not contain it. NAY_EKEY: it
 * is not the key the filter was made with. Until then keys cannot be hashed (may_contain: maybe).
 */
NAY_API nay_status nay_filter_unlock(nay_filter *filter, const uint8_t key[16]);

/* nay_filter_health: NAY_OK, or NAY_ECORRUPT once a lazily mapped filter has met damaged bytes. */
NAY_API nay_status nay_filter_health(const nay_filter *filter);

/* ---- filter: bytes --------------------------------------------------------------------------- */

/* nay_filter_encoded_size: how many bytes nay_filter_encode writes; 0 when it cannot. */
NAY_API size_t nay_filter_encoded_size(const nay_filter *filter);

/* nay_filter_encode: the native file, into dst. NAY_EBUFFER when cap is too small. */
NAY_API nay_status nay_filter_encode(const nay_filter *filter, void *dst, size_t cap,
                                     size_t *written);

/*
 * nay_filter_decode: reads a native file from bytes[0,len) into memory of its own. Everything is
 * checked before *filter is set: a filter you receive is safe to query, whoever wrote the bytes.
 * NAY_EFORMAT: not a nay file. NAY_ECORRUPT: damaged. NAY_EVERSION: from a newer library.
 */
NAY_API nay_status nay_filter_decode(const void *bytes, size_t len, const nay_allocator *allocator,
                                     nay_diag *diag, nay_filter **filter);

/*
 * nay_filter_save: replaces the file atomically: after a crash it is the old one or the new one. A
 * symbolic link keeps pointing where it did, an existing file keeps its permissions; a new one that
 * stores its key (NAY_STORE_KEY) can be read by its owner alone. See nay_file_replace. NAY_EIO:
 * diag says which step failed and errno; the old file and the filter are as they were.
 */
NAY_API nay_status nay_filter_save(const nay_filter *filter, const char *path, nay_diag *diag);

/* nay_filter_open: reads a file into memory, all checksums verified. NAY_EIO, or as a decode. */
NAY_API nay_status nay_filter_open(const char *path, const nay_allocator *allocator, nay_diag *diag,
                                   nay_filter **filter);

/*
 * nay_filter_mmap: probes a file in place, read-only. Checksums are verified now (flags 0), or with
 * NAY_MMAP_LAZY each 64 KiB at its first touch: a damaged one answers maybe and nay_filter_health
 * tells. Statuses: as nay_filter_open. A file that another process shortens while it is mapped
 * kills the process (SIGBUS): map only files that are replaced, as nay_filter_save does.
 */
#define NAY_MMAP_LAZY 0x01u
NAY_API nay_status nay_filter_mmap(const char *path, uint32_t flags, const nay_allocator *allocator,
                                   nay_diag *diag, nay_filter **filter);

/* ---- builder --------------------------------------------------------------------------------- */

/*
 * nay_builder: how static kinds are made, and filters of keys whose number is not known before. It
 * hashes each key, keeps 8 bytes of it, counts the distinct ones and builds for so many; kinds that
 * take adds for params->nkeys, if that is not 0; a window keeps their order. No keys are fine too.
 * NAY_EINVAL: as nay_params_plan; NAY_ENOMEM; NAY_EIO: a file for hashes. Calls: new (add)* finish.
 */
typedef struct nay_builder nay_builder;

NAY_API nay_status nay_builder_new(const nay_params *params, const nay_allocator *allocator,
                                   nay_diag *diag, nay_builder **builder);
NAY_API nay_status nay_builder_add(nay_builder *builder, const void *key, size_t len);

/* nay_builder_nkeys: how many keys were added so far, duplicates included. */
NAY_API uint64_t nay_builder_nkeys(const nay_builder *builder);

/* nay_builder_finish: makes the filter; the builder is then empty and can be used again. A failed
 * call keeps the keys: finish again when there is memory, or add more first. */
NAY_API nay_status nay_builder_finish(nay_builder *builder, nay_diag *diag, nay_filter **filter);
NAY_API void nay_builder_free(nay_builder *builder);

#ifdef __cplusplus
}
#endif

#endif /* NAY_H */

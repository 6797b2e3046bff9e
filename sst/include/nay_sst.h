/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst.h - sorted tables: files of keys and values in order, with filters inside.
 *
 *   nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER};
 *   nay_sst_writer *w;
 *   if (nay_sst_writer_new("a.ldb", &how, NULL, NULL, &w) != NAY_OK) return 1;
 *   nay_sst_writer_add(w, "foo", 3, "bar", 3, NULL);
 *   nay_sst_writer_finish(w, NULL);
 *   nay_sst_writer_free(w);
 *
 *   nay_sst *t;
 *   nay_sst_value v = {.size = sizeof v};
 *   if (nay_sst_open("a.ldb", NULL, NULL, NULL, &t) != NAY_OK) return 1;
 *   if (nay_sst_get(t, "baz", 3, NAY_SST_NEWEST, NULL, &v) == NAY_ENOENT) puts("nay");
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
 * (first | last | seek | range | next | prev | ...)* free, before its table; value and counters as
 * said there. What options point to (policies, codecs, a prefix, a comparator, a cache) must
 * outlive the object.
 *
 * THREADS. All calls on a const nay_sst are safe together. A writer, an iterator and a value belong
 * to one thread at a time.
 *
 * Many tables: nay_sst_lookup.h finds a key in them, nay_sst_iter.h walks one or all of them,
 * nay_sst_compact.h makes one of them (nay_sst_merge.h: merge operands in them), nay_sst_cache.h
 * bounds their memory.
 */
#ifndef NAY_SST_H
#define NAY_SST_H

#include "nay.h"
#include "nay_policy.h"

/* The version of libnaysst. Before 1.0 a minor version may change any call of it. */
#define NAY_SST_VERSION_MAJOR 0
#define NAY_SST_VERSION_MINOR 1
#define NAY_SST_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ---- keys ------------------------------------------------------------------------------------ */

/*
 * nay_sst_keys: what the keys of a table are. Plain keys are user keys. Inside a LevelDB or
 * RocksDB database each key is an internal key: it ends in a trailer of 8 bytes with a sequence
 * number and a type, and the versions of a key are ordered newest first. Calls take user keys,
 * without the trailer.
 *
 * NAY_SST_KEYS_AUTO, when reading: internal if the keys of the first block and up to 64 keys of the
 * index all have 8 bytes or more, a type of 0 to 2, and stand in the order of internal keys; else
 * plain. Tables with nay's own filters, properties or merge operands say which they are, RocksDB's
 * (format 0) are internal. When writing: plain.
 */
typedef enum nay_sst_keys {
  NAY_SST_KEYS_AUTO = 0,
  NAY_SST_KEYS_PLAIN = 1,
  NAY_SST_KEYS_INTERNAL = 2
} nay_sst_keys;

#define NAY_SST_MAX_SEQUENCE 0xffffffffffffffu /* 56 bits */
#define NAY_SST_NEWEST NAY_SST_MAX_SEQUENCE    /* a get at this sequence sees every version */

/* nay_sst_entry: an internal key, taken apart. */
typedef struct nay_sst_entry {
  size_t size;     /* sizeof the struct: see ABI in nay.h */
  const void *key; /* the user's, inside the internal one */
  size_t len;
  uint64_t sequence;
  bool deleted;  /* a deletion: type 0 in the file, where a value has 1 */
  bool merge;    /* a merge operand (nay_sst_merge.h): type 2, which LevelDB lacks */
  uint64_t term; /* nori's, beside the index that `sequence` then is; else 0 */
} nay_sst_entry;

/* nay_sst_key_split: NAY_EINVAL when it has fewer than 8 bytes or a type above 2. */
NAY_API nay_status nay_sst_key_split(const void *key, size_t len, nay_sst_entry *version);

/* nay_sst_key_join: the internal key of an entry: entry->len + 8 bytes at dst. NAY_EINVAL: the
 * sequence is above NAY_SST_MAX_SEQUENCE. NAY_EBUFFER: cap is less; *written (may be NULL) is set.
 */
NAY_API nay_status nay_sst_key_join(const nay_sst_entry *entry, void *dst, size_t cap,
                                    size_t *written);

/* ---- comparators ----------------------------------------------------------------------------- */

#define NAY_SST_COMPARATOR_NAME 56u /* bytes of a name, with the 0 at its end */

/*
 * nay_sst_comparator: the order of user keys. Without one keys are in bytewise order, LevelDB's
 * default. A writer stores the name, and a reader checks it: another name is NAY_EMISMATCH.
 * LevelDB's own tables do not have the name (its MANIFEST does): there the order of the keys is
 * checked instead.
 *
 * compare must be a total order over all byte strings, as those of a damaged table are compared as
 * well; it gets no NULL. Keys that compare equal must be the same bytes, since filters hash the
 * bytes; otherwise set equal_may_differ. Then a filter of whole keys needs a policy of yours that
 * ignores the same bytes and names this comparator (nay_policy.h); native filters, the library's
 * policies and prefix filters are refused, and left out when reading. Calls may come from many
 * threads at once.
 */
typedef struct nay_sst_comparator nay_sst_comparator;
struct nay_sst_comparator {
  size_t size;                        /* sizeof the struct: see ABI in nay.h */
  char name[NAY_SST_COMPARATOR_NAME]; /* ends in 0; not the name of the bytewise order */
  /* below 0, 0 or above 0: a comes before b, is the same, comes after it */
  int (*compare)(void *ctx, const void *a, size_t a_len, const void *b, size_t b_len);
  /* shortens key in place so that key <= result < next, and returns its length: for the index. next
     NULL: key <= result. NULL: the index has whole keys, as with LevelDB's C interface */
  size_t (*separator)(void *ctx, void *key, size_t len, const void *next, size_t next_len);
  bool equal_may_differ;    /* as case-insensitive keys do */
  bool prefixes_contiguous; /* all keys between two of one prefix have it too, whatever the
                               extractor: ranges may then probe prefix filters */
  void *ctx;                /* the first argument of the calls */
};

/* nay_sst_compare: two user keys, as compare; comparator NULL: bytewise. */
NAY_API int nay_sst_compare(const nay_sst_comparator *comparator, const void *a, size_t a_len,
                            const void *b, size_t b_len);

/*
 * nay_sst_comparator_find: one of the library's own, by its name. NAY_EINVAL: there is none.
 *
 *   "rocksdb.ReverseBytewiseComparator"   bytewise, descending
 *   "nay.decimal"                         numbers in decimal digits by their value, of equal ones
 *                                         the shorter first; then all other keys, bytewise
 *   "nay.prefix.<n>"                      the first n bytes (1 to 65,535) ascending, what follows
 *                                         them descending: the newest first for keys that end in a
 *                                         time
 */
NAY_API nay_status nay_sst_comparator_find(const char *name, nay_sst_comparator *comparator);

/* ---- codecs ---------------------------------------------------------------------------------- */

/*
 * nay_sst_codec: compresses and uncompresses blocks. The library has none and links with none;
 * nay_codecs.h, a library beside it, has snappy, zstd and lz4 ready. A call returns false when it
 * fails: the block is then written uncompressed, or counts as damaged. Calls may come from many
 * threads at once.
 */
typedef struct nay_sst_codec nay_sst_codec;
struct nay_sst_codec {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint8_t id;  /* in the file: 1 snappy, 2 zstd (LevelDB) */
  /* how many bytes compress may write for len bytes of input */
  size_t (*bound)(void *ctx, size_t len);
  bool (*compress)(void *ctx, const void *src, size_t len, void *dst, size_t *dst_len);
  bool (*uncompressed_size)(void *ctx, const void *src, size_t len, size_t *size);
  /* writes exactly the size that uncompressed_size said */
  bool (*uncompress)(void *ctx, const void *src, size_t len, void *dst, size_t size);
  void *ctx; /* the first argument of the calls */
};

/* ---- prefixes -------------------------------------------------------------------------------- */

/*
 * nay_sst_prefix: a prefix extractor. extract sets how many leading bytes of the key are its
 * prefix, or returns false for a key that has none. It must depend on those bytes alone: every key
 * that starts with them has the same prefix. The name is stored, and a reader whose extractor has
 * another name ignores the filter.
 */
typedef struct nay_sst_prefix nay_sst_prefix;
struct nay_sst_prefix {
  size_t size;   /* sizeof the struct: see ABI in nay.h */
  char name[56]; /* ends in 0 */
  bool (*extract)(void *ctx, const void *key, size_t len, size_t *prefix_len);
  void *ctx; /* the first argument of extract */
};

/* nay_sst_prefix_fixed: the first len bytes; shorter keys have none. NAY_EINVAL: 0 or above 65535.
 */
NAY_API nay_status nay_sst_prefix_fixed(size_t len, nay_sst_prefix *prefix);

/* nay_sst_prefix_delimiter: up to the first such byte, and with it; keys without it have none. */
NAY_API nay_status nay_sst_prefix_delimiter(uint8_t byte, nay_sst_prefix *prefix);

/* nay_sst_cache: blocks and filter partitions that many tables share: nay_sst_cache.h. */
typedef struct nay_sst_cache nay_sst_cache;

/* ---- where the bytes are ----------------------------------------------------------------------
 */

/*
 * Statuses of your own calls: NAY_EIO, NAY_ENOMEM or NAY_ECORRUPT; any other than NAY_OK counts as
 * NAY_EIO, since NAY_ENOENT, for example, would say that a key is absent. Fill in diag if you can:
 * what, offset and os_error are passed on.
 */

/* nay_sst_file: bytes that do not change while a table is open over them. */
typedef struct nay_sst_file nay_sst_file;
struct nay_sst_file {
  size_t size;     /* sizeof the struct: see ABI in nay.h */
  uint64_t length; /* bytes */
  /* all len bytes from offset `at` on, which lie within length, or an error. From many threads at
     once */
  nay_status (*read_at)(void *ctx, uint64_t at, void *dst, size_t len, nay_diag *diag);
  void (*close)(void *ctx); /* may be NULL */
  void *ctx;                /* the first argument of the calls */
};

/*
 * nay_sst_target: takes the bytes of a table in order. Either finish is called, once and last, or
 * abort. After a call that failed, only abort is called; finish that fails is the last.
 */
typedef struct nay_sst_target nay_sst_target;
struct nay_sst_target {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  nay_status (*write)(void *ctx, const void *bytes, size_t len, nay_diag *diag);
  nay_status (*sync)(void *ctx, nay_diag *diag);   /* all is written: make it durable;
                                                    NULL, or no_sync: not called */
  nay_status (*finish)(void *ctx, nay_diag *diag); /* publish it; may be NULL */
  void (*abort)(void *ctx);                        /* as if there had been no table; may be NULL */
  void *ctx;                                       /* the first argument of the calls */
};

/* nay_sst_target_descriptor: writes to an open descriptor from where it stands, and syncs it. It
 * stays yours: a table that is not finished leaves bytes behind. Pipes cannot be synced: set
 * no_sync. */
NAY_API nay_status nay_sst_target_descriptor(int fd, nay_sst_target *sink);

/* nay_sst_memory: a table in memory. */
typedef struct nay_sst_memory nay_sst_memory;
NAY_API nay_status nay_sst_memory_new(const nay_allocator *allocator, nay_sst_memory **memory);
NAY_API void nay_sst_memory_free(nay_sst_memory *memory);

/* nay_sst_memory_target: a table that replaces what the memory has. */
NAY_API nay_status nay_sst_memory_target(nay_sst_memory *memory, nay_sst_target *sink);

/* nay_sst_memory_bytes: the finished table; NULL before that. Valid until the next sink or free. */
NAY_API const void *nay_sst_memory_bytes(const nay_sst_memory *memory, size_t *len);

/* ---- writer ---------------------------------------------------------------------------------- */

/* nay_sst_filter_layout: which filter of whole keys a table has. */
typedef enum nay_sst_filter_layout {
  NAY_SST_NO_FILTER = 0,
  NAY_SST_BLOCK_FILTER = 1,      /* LevelDB's own: one for each 2 KiB of the file */
  NAY_SST_FULL_FILTER = 2,       /* one for the table, in memory while it is open */
  NAY_SST_PARTITIONED_FILTER = 3 /* one for each range of keys, read when it is probed */
} nay_sst_filter_layout;

/* nay_sst_write_options: all zero but for the size is a LevelDB table of plain keys without a
 * filter. */
typedef struct nay_sst_write_options {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  nay_sst_keys keys;
  uint32_t block_bytes;       /* a data block is closed at this size, at most 1 GiB; 0: 4096 */
  uint32_t restart_interval;  /* entries from one whole key to the next; 0: 16 */
  const nay_sst_codec *codec; /* NULL: blocks are not compressed */
  nay_sst_filter_layout filter;
  const nay_policy *policy; /* how filters are made; a block filter needs one. NULL: by params */
  const nay_params *params; /* of full, partitioned and prefix filters; without a size or NULL: 10
                               bits per key. Kind 0: blocked. Of few keys the filter is the smallest
                               that the kind has. nkeys is 0, or for a full filter of a kind that
                               takes adds the number of keys to size it for: it is then filled as
                               they come, and no hashes wait; more keys raise its FPR */
  uint32_t partition_keys;  /* a partition is closed at this many keys; 0: 8192 */
  const nay_sst_prefix *prefix;         /* also a filter of prefixes, for scans; NULL: none */
  const nay_sst_comparator *comparator; /* the order of user keys; NULL: bytewise */
  bool properties; /* also a block of counts and ranges: nay_sst.h. LevelDB ignores it */
  bool no_sync;    /* finish does not wait for the disk: other processes see the old file or the new
                      one, but after a crash of the system the new one may be damaged, which reading
                      reports, or the old one be back */
  const char *key; /* how keys are made of texts: a key description, nay_key.h; known here or not.
                      NULL: text; of a compaction: what the tables state. One that states none, as
                      those of LevelDB, then counts as text: give key if it is not. LevelDB ignores
                      it */
  const char *layout; /* of another engine: nay_sst_layout_at, and below. NULL: LevelDB's */
  bool quotient;      /* of nori alone: a quotient filter in each block (version 2) */
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
 * nay_sst_writer_new_target: nay_sst_writer_new into a sink; the struct is copied. If it fails no
 * call of the sink was made. nay_sst_writer_finish calls write, sync and finish,
 * nay_sst_writer_free without a finish that succeeded calls abort.
 */
NAY_API nay_status nay_sst_writer_new_target(const nay_sst_target *sink,
                                             const nay_sst_write_options *options,
                                             const nay_allocator *allocator, nay_diag *diag,
                                             nay_sst_writer **writer);

/*
 * nay_sst_writer_add: keys in strictly ascending order. NAY_EINVAL: the key is not above the one
 * before it, is not an internal key in a table of such, or key or value is 1 GiB or longer; nothing
 * has changed, and the next key may be added. Any other error is final: the table cannot be
 * finished. NAY_EFULL: a filter of a fixed size cannot have so many keys.
 */
NAY_API nay_status nay_sst_writer_add(nay_sst_writer *writer, const void *key, size_t len,
                                      const void *value, size_t value_len, nay_diag *diag);

/* nay_sst_writer_add_entry: nay_sst_writer_add for an internal key in parts. */
NAY_API nay_status nay_sst_writer_add_entry(nay_sst_writer *writer, const nay_sst_entry *entry,
                                            const void *value, size_t value_len, nay_diag *diag);

/*
 * nay_sst_writer_finish: writes filters and index, syncs, and puts the table at its path: after a
 * crash there is the old file or the new one. Then the writer can only be freed.
 */
NAY_API nay_status nay_sst_writer_finish(nay_sst_writer *writer, nay_diag *diag);

/* nay_sst_writer_free: before a finish, leaves the old file or no file at the path. */
NAY_API void nay_sst_writer_free(nay_sst_writer *writer);

/* ---- reader ---------------------------------------------------------------------------------- */

#define NAY_SST_PREAD 0x01u /* read blocks instead of mapping the file: I/O errors are errors */
#define NAY_SST_NO_FILTERS 0x02u        /* probe no filter */
#define NAY_SST_STORED_COMPARATOR 0x04u /* use the comparator that the table names, if known */
#define NAY_SST_BUDGETED 0x08u          /* index and filters in the cache: nay_sst_cache.h */
#define NAY_SST_PINNED                                                      \
  0x10u /* with BUDGETED: index and filters stay in memory, and are charged \
         */

/* nay_sst_read_options: all zero but for the size opens any table that is not compressed. */
typedef struct nay_sst_read_options {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  nay_sst_keys keys;
  uint32_t flags;
  const nay_sst_codec *const *codecs; /* for compressed blocks */
  size_t ncodecs;
  const nay_policy *const *policies; /* for filters that name them; nay's native ones need none */
  size_t npolicies;
  const nay_sst_prefix *prefix; /* for filters of prefixes */
  nay_sst_cache *cache;     /* NULL: blocks are read each time, and the table caches 1 MiB of the
                               filter partitions probed last */
  const uint8_t *hash_key;  /* 16 bytes, for filters with a secret key that is not in the file */
  uint64_t max_block_bytes; /* a compressed block may be this long uncompressed, longer ones are
                               NAY_EFULL; 0: 256 MiB, above which the writer compresses none */
  const nay_sst_comparator *comparator; /* the order of user keys; NULL: bytewise */
  char *stored_comparator; /* NULL, or NAY_SST_COMPARATOR_NAME bytes that open sets to the name that
                              the table stores, also when it is another: "" if it stores none */
  size_t readahead;   /* an iterator that walks forward reads up to so many bytes at a time, and
                         has memory for them; of a mapped file the system is advised. 0: a block
                         at a time */
  const char *layout; /* of another engine: nay_sst_layout_at; `keys` is then not used. NULL:
                         LevelDB's, or one that the file names. NAY_EINVAL: unknown */
} nay_sst_read_options;

typedef struct nay_sst nay_sst;

/*
 * nay_sst_open: options may be NULL. NAY_EFORMAT: not a table. NAY_ECORRUPT: footer, index,
 * metaindex or properties are damaged. NAY_EMISMATCH: the table names another comparator.
 * NAY_ENOTSUP: one of them is compressed and no codec was given for it, or the keys are not in the
 * order of the comparator, because the table was made with another, or the table has what only
 * RocksDB has: range deletions, a codec or an index of its own, one sequence number for the whole
 * table. Order: open checks the index and some data blocks (up to 8 of them all, unless nay wrote
 * the table); the first use of a block checks that block. So a get, a walk or a compaction that
 * meets keys of another order is NAY_ENOTSUP. Walk a table from end to end to check all of it.
 * Checksums: each block's when it is read; in a mapped file, when it is first used. A file that
 * another process shortens while it is mapped kills the process (SIGBUS): tables are replaced,
 * never overwritten.
 */
NAY_API nay_status nay_sst_open(const char *path, const nay_sst_read_options *options,
                                const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);

/* nay_sst_view: nay_sst_open for bytes, which must not move or change until nay_sst_free. */
NAY_API nay_status nay_sst_view(const void *bytes, size_t len, const nay_sst_read_options *options,
                                const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);
NAY_API void nay_sst_free(nay_sst *sst);

/*
 * nay_sst_open_file: nay_sst_open over a file of your own; the struct is copied. nay_sst_free
 * closes it; if the open fails it stays yours and is not closed. Every block is read by read_at:
 * NAY_SST_PREAD changes nothing.
 */
NAY_API nay_status nay_sst_open_file(const nay_sst_file *file, const nay_sst_read_options *options,
                                     const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);

/* nay_sst_file_descriptor: the regular file behind an open descriptor, which stays yours: close it
 * after the table. NAY_EIO: it is none. */
NAY_API nay_status nay_sst_file_descriptor(int fd, nay_diag *diag, nay_sst_file *file);

/*
 * nay_sst_value: a place for one answer. Zero it but for its size, use it for any number of gets,
 * free it before the table (and the cache). The bytes are valid until the next get into it.
 */
typedef struct nay_sst_value {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  const void *bytes;
  size_t len;
  uint64_t sequence; /* of an internal key; else 0 */
  bool deleted;      /* the get found a deletion: older tables must not be searched for the key */
  void *hold;        /* the library's */
} nay_sst_value;

NAY_API void nay_sst_value_free(nay_sst_value *value);

/*
 * nay_sst_get: the newest version of a key that is not above `sequence` (NAY_SST_NEWEST: the
 * newest). Checks the range of keys, then the filter, then the index, then one block. NAY_ENOENT:
 * the table has no value; value->deleted tells whether it says that the key was deleted.
 * NAY_ECORRUPT, NAY_ENOTSUP (a compressed block without its codec, keys that are not in the order
 * of the comparator, an entry or a block that only RocksDB has), NAY_EFULL (max_block_bytes),
 * NAY_EIO, NAY_ENOMEM: diag says where. In a table that nay did not write, compressed blocks
 * without their codec make every get NAY_ENOTSUP: the order is not known. NAY_EINVAL: also a
 * comparator that calls other bytes the same key without equal_may_differ.
 */
NAY_API nay_status nay_sst_get(const nay_sst *sst, const void *key, size_t len, uint64_t sequence,
                               nay_diag *diag, nay_sst_value *value);

/*
 * nay_sst_may_contain: by range and filters alone; false is certain. May read a filter partition,
 * never a data block.
 */
NAY_API bool nay_sst_may_contain(const nay_sst *sst, const void *key, size_t len);

/*
 * nay_sst_properties: what the writer counted, if its options had `properties`. Keys are user keys,
 * valid while the table is open; NULL when there are no entries. The block has a checksum, but the
 * entries are not counted again: nay sst info --verify does.
 */
typedef struct nay_sst_properties {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t nentries;
  uint64_t ndeletions;  /* of them, in a table of internal keys */
  uint64_t nmerges;     /* of them, merge operands */
  uint64_t key_bytes;   /* of all keys, uncompressed; of internal keys with their trailers */
  uint64_t value_bytes; /* of all values, uncompressed */
  uint64_t smallest_sequence, largest_sequence; /* of internal keys; else 0 */
  const void *smallest;                         /* the first key */
  size_t smallest_len;
  const void *largest; /* the last key itself; nay_sst_info.upper_bound may be above it */
  size_t largest_len;
} nay_sst_properties;

/* nay_sst_foreign_info: what a table of nori or mini-lsm says of itself. */
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

/*
 * nay_sst_counters: what happened so far; may be read at any time, from any thread. Of the checks,
 * the `useful` ones answered nay and so saved a block; a false positive is a maybe for a key that
 * is not in the table and, if only a prefix filter was probed, whose prefix is not either.
 */
typedef struct nay_sst_counters {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t gets;
  uint64_t out_of_range; /* the key is below the first key or above the bound */
  uint64_t filter_checks;
  uint64_t filter_useful;
  uint64_t filter_false_positives;
  uint64_t filter_faults; /* filters or partitions that were damaged and left out */
  uint64_t filter_loads;  /* partitions, or filters of the cache, read */
  uint64_t prefix_checks;
  uint64_t prefix_useful;
  uint64_t hashes;      /* keys hashed for native filters */
  uint64_t block_reads; /* data blocks searched, cached ones included */
  uint64_t cache_hits;  /* of them, found in the cache */
  uint64_t operands;    /* merge operands that gets of a lookup have met */
  uint64_t index_loads; /* indexes of the cache, read */
  uint64_t reserved[4]; /* 0 */
} nay_sst_counters;

/* nay_sst_info: what a table is. Texts and keys are views, valid while the table is open. */
typedef struct nay_sst_info {
  size_t size;                  /* sizeof the struct: see ABI in nay.h */
  nay_sst_keys keys;            /* plain or internal */
  bool keys_guessed;            /* neither the caller nor the file said so */
  uint64_t nbytes;              /* of the file */
  uint64_t nblocks;             /* data blocks */
  uint8_t codec;                /* of the first block; 0: none */
  nay_sst_filter_layout filter; /* the filter in the file */
  bool filter_used;             /* the filter is intact, and its policy is known */
  uint64_t filter_bytes;        /* of all parts of the filter */
  uint64_t npartitions;
  const char *policy; /* the filter's policy; NULL when there is no filter */
  const char *prefix; /* the extractor of its prefix filter; NULL when there is none */
  bool prefix_used;
  uint64_t prefix_bytes;
  const void *smallest; /* first key, NULL when the table is empty or its block cannot be read */
  size_t smallest_len;
  const void *upper_bound; /* last key of the index: no key of the table is above it */
  size_t upper_bound_len;
  const char *comparator; /* name of the comparator that orders the keys here */
  bool comparator_stored; /* the file states this name */
  const char *key; /* the key description (nay_key.h); NULL: an engine wrote it that states none */
  const nay_filter *native;             /* the full filter, if it is nay's own and not in a cache */
  const nay_sst_properties *properties; /* NULL: the table does not state them */
  const nay_sst_foreign_info *foreign;  /* NULL: the table is in LevelDB's layout */
  nay_sst_counters counters;            /* of this table, each as it is at this moment */
} nay_sst_info;

/* nay_sst_stats: what a table is, states and did. Reads nothing from the file. NAY_EINVAL:
 * info->size. */
NAY_API nay_status nay_sst_stats(const nay_sst *sst, nay_sst_info *info);

/* ---- other engines' tables ----------------------------------------------------------------------
 */

/*
 * Tables of nori and mini-lsm are a nay_sst like any other: get, iterate, look up, compact. Their
 * keys are internal keys: deletions are reported, and the sequence number is the version that the
 * table stores (nori: the sequence number, or the index beside a term; mini-lsm: the timestamp;
 * else 0). nori's tables have a magic number, and nay_sst_open takes them as they are; mini-lsm's
 * have none and are read when they are named.
 *
 * WRITING. With `layout` a writer makes a table whose bytes are the engine's own for the same
 * entries; "mini-lsm-sst" is that of week 2. Options: block_bytes and no_sync; of nori also
 * restart_interval, codec, quotient, and of params bits_per_key, a whole number, and nkeys, for
 * which its Bloom filter is planned; mini-lsm always has 10 bits per key. Any other option is
 * NAY_EINVAL. Entries: keys ascend; in mini-lsm's week 3 a key may come again with a lower sequence
 * number, its timestamp. NAY_EINVAL, and nothing has changed: out of order; a sequence number or a
 * term where the layout has none; an empty key, an empty value that is no deletion, or more than
 * 65,535 bytes in mini-lsm; a deletion with a value. mini-lsm has no table without entries: finish
 * is NAY_EINVAL.
 *
 * CODECS. nori compresses with raw LZ4 blocks and zstd frames, neither with its size: give a
 * nay_sst_codec of id 4 for the first and 2 for the second, whose uncompressed_size finds the size.
 *
 * CHECKSUMS. Blocks, index and filter of nori have none, nor has anything in mini-lsm's first week:
 * damage that still parses gives wrong answers. nay_sst_caveat says so.
 */

/* nay_sst_layout_at: the i-th name that `layout` of nay_sst_read_options takes, NULL past the last:
 * "nori-sst"; "mini-lsm-sst", which tries all its forms; "mini-lsm-sst-day4", "-week1", "-week2"
 * (the finished course), "-week3" (timestamps). */
NAY_API const char *nay_sst_layout_at(size_t i);

/* nay_sst_layout_about: one line that says whose tables these are; NULL for an unknown name. */
NAY_API const char *nay_sst_layout_about(const char *name);

/*
 * nay_sst_caveat: the i-th thing that a user of this table must know about its answers, or
 * about those of the engine that wrote it; NULL past the last, and for LevelDB's tables.
 */
NAY_API const char *nay_sst_caveat(const nay_sst *sst, size_t i);

/*
 * nay_sst_verify: reads every block, and probes the table's own filters for every key; those of
 * nori and mini-lsm as the engine that wrote them does. Sets *nentries, and *ndenied to how many of
 * them the filters deny: 0, unless an engine's filter loses keys. Errors as nay_sst_iter.
 */
NAY_API nay_status nay_sst_verify(const nay_sst *sst, nay_diag *diag, uint64_t *nentries,
                                  uint64_t *ndenied);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_H */

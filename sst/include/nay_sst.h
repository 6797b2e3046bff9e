/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst.h - sorted tables: files of keys and values in key order, with filters inside.
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
 * The file format is LevelDB's table. leveldb::Table opens the tables written here, and this
 * library opens every LevelDB table, inside a database or not. doc/formats/sst.md describes the
 * bytes, and doc/sst.md is the tour. A get probes the filter before it reads a block. A damaged
 * filter, or one of an unknown policy, is skipped and counted, and the data answers. Damaged data
 * is NAY_ECORRUPT, with the offset in nay_diag: the library never returns a wrong answer.
 *
 * CALLS, in order: writer new (add)* [finish] free; table open (get | iter | ...)* free; iter new
 * (first | last | seek | range | next | prev | ...)* free, before its table. Everything that
 * options point to (policies, codecs, a prefix extractor, a comparator, a cache) must outlive the
 * object.
 *
 * THREADS. All calls on a const nay_sst are safe together. A writer, an iterator and a value belong
 * to one thread at a time.
 *
 * Several tables: nay_sst_lookup.h finds a key in them, nay_sst_iter.h iterates over one or all of
 * them, nay_sst_compact.h compacts them, nay_sst_merge.h combines their merge operands, and
 * nay_sst_cache.h bounds their memory.
 */
#ifndef NAY_SST_H
#define NAY_SST_H

#include "nay.h"
#include "nay_policy.h"

/* The version of these headers. Before 1.0 a minor version may change any call of libnaysst. */
#define NAY_SST_VERSION_MAJOR 0
#define NAY_SST_VERSION_MINOR 1
#define NAY_SST_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* nay_sst_version: of the library that runs, "MAJOR.MINOR.PATCH". */
NAY_API const char *nay_sst_version(void);

/* ---- keys ------------------------------------------------------------------------------------ */

/*
 * nay_sst_keys: the kind of a table's keys. A plain key is a user key. In a LevelDB or RocksDB
 * database each key is an internal key: it ends in a trailer of 8 bytes with a sequence number and
 * a type, and the versions of a key are ordered newest first. Calls take user keys, without the
 * trailer.
 *
 * NAY_SST_KEYS_AUTO, when reading: the table's own statement decides, if it has one. Tables with
 * nay's own filters, properties or merge operands state the kind; RocksDB's tables (format 0) have
 * internal keys. In other tables the keys decide: they are internal if the keys of the first block
 * and up to 64 keys of the index have at least 8 bytes, a type of 0 to 2, and the order of internal
 * keys. When writing: plain keys.
 */
typedef enum nay_sst_keys {
  NAY_SST_KEYS_AUTO = 0,
  NAY_SST_KEYS_PLAIN = 1,
  NAY_SST_KEYS_INTERNAL = 2
} nay_sst_keys;

#define NAY_SST_MAX_SEQUENCE 0xffffffffffffffu /* 56 bits */
#define NAY_SST_NEWEST NAY_SST_MAX_SEQUENCE /* a get at this sequence number sees every version */

/* nay_sst_entry_type: what an entry is. These are not the numbers of the file (put is 1 there). */
typedef enum nay_sst_entry_type {
  NAY_SST_PUT = 0,    /* a value */
  NAY_SST_DELETE = 1, /* a deletion */
  NAY_SST_MERGE = 2   /* a merge operand (nay_sst_merge.h), which LevelDB lacks */
} nay_sst_entry_type;

/* nay_sst_entry: an internal key, split into its parts. */
typedef struct nay_sst_entry {
  size_t size;     /* sizeof the struct: see ABI in nay.h */
  const void *key; /* the user key, without the trailer */
  size_t len;
  uint64_t sequence;
  nay_sst_entry_type type;
  uint64_t term; /* the Raft term of a nori entry, whose index is `sequence`; other tables: 0 */
} nay_sst_entry;

/* nay_sst_key_split: splits an internal key. NAY_EINVAL: the key has fewer than 8 bytes or a type
   above 2. */
NAY_API nay_status nay_sst_key_split(const void *key, size_t len, nay_sst_entry *entry);

/* nay_sst_key_join: writes the internal key of an entry, entry->len + 8 bytes, to dst. NAY_EINVAL:
   the sequence number is above NAY_SST_MAX_SEQUENCE, or the type is unknown. NAY_EBUFFER: cap is
   too small; *written (may be NULL) is set to the length. */
NAY_API nay_status nay_sst_key_join(const nay_sst_entry *entry, void *dst, size_t cap,
                                    size_t *written);

/* ---- comparators ----------------------------------------------------------------------------- */

#define NAY_SST_COMPARATOR_NAME 56u /* bytes of a name, with its NUL */

/*
 * nay_sst_comparator: the order of user keys. Without a comparator the order is bytewise, LevelDB's
 * default. A writer stores the name, and a reader compares it: another name is NAY_EMISMATCH.
 * LevelDB's own tables do not store the name (the MANIFEST does), so the reader checks the key
 * order instead.
 *
 * compare must be a total order over all byte strings, because the reader also compares the keys of
 * damaged tables. Its arguments are never NULL. A filter hashes the bytes of a key, so keys that
 * compare equal must have the same bytes; set equal_may_differ if they may not. A table in such an
 * order needs, for a filter of whole keys, your own policy that hashes equal keys alike and names
 * this comparator (nay_policy.h). A writer refuses native filters, the library's policies and
 * prefix filters for such an order, and a reader does not use them. Several threads may make calls
 * at once.
 */
typedef struct nay_sst_comparator nay_sst_comparator;
struct nay_sst_comparator {
  size_t size;                        /* sizeof the struct: see ABI in nay.h */
  char name[NAY_SST_COMPARATOR_NAME]; /* NUL-terminated; not the name of the bytewise order */
  /* Returns a number below, equal to or above 0: a sorts before b, is equal to b, sorts after b. */
  int (*compare)(void *ctx, const void *a, size_t a_len, const void *b, size_t b_len);
  /* Shortens key in place so that key <= result < next, for the index, and returns the new length.
     If next is NULL, key <= result is enough. The call may be NULL: the index then has whole keys,
     as with LevelDB's C interface. */
  size_t (*separator)(void *ctx, void *key, size_t len, const void *next, size_t next_len);
  /* Keys with different bytes may compare equal, as in a case-insensitive order */
  bool equal_may_differ;
  /* All keys between two keys with the same prefix have that prefix too, with any extractor. Range
     scans may then probe prefix filters. */
  bool prefixes_contiguous;
  void *ctx; /* the first argument of the calls */
};

/* nay_sst_compare: compares two user keys. comparator NULL: bytewise. */
NAY_API int nay_sst_compare(const nay_sst_comparator *comparator, const void *a, size_t a_len,
                            const void *b, size_t b_len);

/*
 * nay_sst_comparator_find: finds a built-in comparator by its name. NAY_EINVAL: the name is
 * unknown.
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
 * nay_sst_codec: compresses and uncompresses blocks. The library contains no codec and links with
 * none; nay_codecs.h, a separate library, provides snappy, zstd and lz4. Several threads may make
 * calls at once.
 */
typedef struct nay_sst_codec nay_sst_codec;
struct nay_sst_codec {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint8_t id;  /* compression type in the file: 1 snappy, 2 zstd (LevelDB) */
  /* Returns the largest number of bytes that compress writes for len bytes of input. */
  size_t (*bound)(void *ctx, size_t len);
  /* Writes at most cap bytes, which is bound(len). If it fails, the writer stores the block
     uncompressed (nori's tables cannot: their writer fails with NAY_EINVAL). */
  nay_status (*compress)(void *ctx, const void *src, size_t len, void *dst, size_t cap,
                         size_t *written);
  /* NAY_ENOMEM; every other failure means that the block is damaged: NAY_ECORRUPT. */
  nay_status (*uncompressed_size)(void *ctx, const void *src, size_t len, size_t *size);
  /* Writes exactly `size` bytes, the number that uncompressed_size reported. Fails as it does. */
  nay_status (*uncompress)(void *ctx, const void *src, size_t len, void *dst, size_t size);
  void *ctx; /* the first argument of the calls */
};

/* ---- prefixes -------------------------------------------------------------------------------- */

/*
 * nay_sst_prefix: a prefix extractor. extract sets the length of the key's prefix. NAY_ENOENT: the
 * key has no prefix. After any other failure an add to a table fails with the same status, and a
 * read does not use the prefix filter. The result must depend on the prefix alone: every key that
 * starts with the prefix has the same prefix. The table stores the name. A reader whose extractor
 * has another name does not use the filter.
 */
typedef struct nay_sst_prefix nay_sst_prefix;
struct nay_sst_prefix {
  size_t size;   /* sizeof the struct: see ABI in nay.h */
  char name[56]; /* NUL-terminated */
  nay_status (*extract)(void *ctx, const void *key, size_t len, size_t *prefix_len);
  void *ctx; /* the first argument of extract */
};

/*
 * nay_sst_prefix_find: finds a built-in prefix extractor by its name. NAY_EINVAL: the name is
 * unknown. Numbers are decimal, without leading zeros.
 *
 *   "nay.fixed.<n>"              the first n bytes, 1 to 65,535; shorter keys have no prefix
 *   "nay.delimiter.<byte>"       up to the first such byte, inclusive; keys without the byte, 0 to
 *                                255, have no prefix
 *   "rocksdb.FixedPrefix.<n>"    the first n bytes, as nay.fixed
 *   "rocksdb.CappedPrefix.<n>"   the first n bytes; a shorter key is its own prefix
 */
NAY_API nay_status nay_sst_prefix_find(const char *name, nay_sst_prefix *prefix);

/* nay_sst_cache: a cache of blocks and filter partitions that several tables share:
   nay_sst_cache.h. */
typedef struct nay_sst_cache nay_sst_cache;

/* ---- where the bytes are ----------------------------------------------------------------------
 */

/*
 * Your callbacks return NAY_EIO, NAY_ENOMEM or NAY_ECORRUPT on failure. Any other status than
 * NAY_OK becomes NAY_EIO, because NAY_ENOENT, for example, would mean that a key is absent. Fill in
 * diag if you can: what, offset and os_error are passed on.
 */

/* nay_sst_file: a file to read. Its bytes must not change while a table is open over them. */
typedef struct nay_sst_file nay_sst_file;
struct nay_sst_file {
  size_t size;     /* sizeof the struct: see ABI in nay.h */
  uint64_t length; /* length of the file in bytes */
  /* Reads len bytes from offset `at`, or fails. The range lies within length. Several threads may
     call it at once. */
  nay_status (*read_at)(void *ctx, uint64_t at, void *dst, size_t len, nay_diag *diag);
  void (*close)(void *ctx); /* may be NULL */
  void *ctx;                /* the first argument of the calls */
};

/*
 * nay_sst_target: receives the bytes of a table in order. The last call is either finish or abort,
 * once. After a failed call only abort is called. After a failed finish nothing more is called.
 */
typedef struct nay_sst_target nay_sst_target;
struct nay_sst_target {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  nay_status (*write)(void *ctx, const void *bytes, size_t len, nay_diag *diag);
  /* Makes the bytes durable, after the last write; NULL, or no_sync: not called */
  nay_status (*sync)(void *ctx, nay_diag *diag);
  nay_status (*finish)(void *ctx, nay_diag *diag); /* publishes the table; may be NULL */
  void (*abort)(void *ctx);                        /* discards everything written; may be NULL */
  void *ctx;                                       /* the first argument of the calls */
};

/* nay_sst_target_descriptor: writes to an open file descriptor from its current offset, and syncs
   the file. The descriptor stays yours. An unfinished table leaves bytes in the file. A pipe cannot
   be synced: set no_sync. */
NAY_API nay_status nay_sst_target_descriptor(int fd, nay_sst_target *target);

/* nay_sst_memory: a table in memory. */
typedef struct nay_sst_memory nay_sst_memory;
NAY_API nay_status nay_sst_memory_new(const nay_allocator *allocator, nay_sst_memory **memory);
NAY_API void nay_sst_memory_free(nay_sst_memory *memory);

/* nay_sst_memory_target: a target that replaces the memory's table when it is finished. */
NAY_API nay_status nay_sst_memory_target(nay_sst_memory *memory, nay_sst_target *target);

/* nay_sst_memory_bytes: the finished table; NULL before finish. The bytes are valid until the next
   target of this memory is made or the memory is freed. */
NAY_API const void *nay_sst_memory_bytes(const nay_sst_memory *memory, size_t *len);

/* ---- writer ---------------------------------------------------------------------------------- */

/* nay_sst_filter_layout: the layout of a table's filter of whole keys. */
typedef enum nay_sst_filter_layout {
  NAY_SST_NO_FILTER = 0,
  NAY_SST_BLOCK_FILTER = 1,      /* LevelDB's layout: a filter for each 2 KiB of the file */
  NAY_SST_FULL_FILTER = 2,       /* one filter for the table, in memory while the table is open */
  NAY_SST_PARTITIONED_FILTER = 3 /* one filter for each range of keys, read when it is probed */
} nay_sst_filter_layout;

/* nay_sst_write_options: options that are all zero except `size` make a LevelDB table of plain keys
   without a filter. */
typedef struct nay_sst_write_options {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  nay_sst_keys keys;
  uint32_t block_bytes;       /* size at which a data block is finished, at most 1 GiB; 0: 4096 */
  uint32_t restart_interval;  /* entries per restart point; 0: 16 */
  const nay_sst_codec *codec; /* NULL: blocks are stored uncompressed */
  nay_sst_filter_layout filter;
  /* Policy that makes the filters; a block filter needs one. NULL: `params` makes them */
  const nay_policy *policy;
  /* Params of full, partitioned and prefix filters. NULL, or params without a size: 10 bits per
     key. Kind 0: blocked. A filter of few keys has the smallest size of its kind. nkeys is 0, or,
     for a full filter of a kind that supports add, the number of keys to plan for. With nkeys the
     writer adds keys as they come and keeps no hashes in memory; more keys than planned raise the
     FPR. */
  const nay_params *params;
  uint32_t partition_keys; /* number of keys at which a filter partition is finished; 0: 8192 */
  const nay_sst_prefix *prefix;         /* adds a prefix filter, for range scans; NULL: none */
  const nay_sst_comparator *comparator; /* the order of user keys; NULL: bytewise */
  /* Adds a properties block with counts and key ranges, see nay_sst_properties; LevelDB ignores
     it */
  bool properties;
  /* finish does not wait for the disk. Other processes see the old or the new file. After a system
     crash the new file may be damaged, which a reader reports, or the old file may be back. */
  bool no_sync;
  /* The key description (nay_key.h): how keys are made from text. The library need not know the
     description. NULL: text, or for a compaction the description that the inputs state. An input
     without a description, such as a LevelDB table, counts as text: set `key` if its keys are not
     text. LevelDB ignores the description. */
  const char *key;
  /* Layout of another engine, from nay_sst_layout_at; see below. NULL: LevelDB's layout. */
  const char *layout;
  bool quotient; /* nori: stores a quotient filter in each block (version 2) */
  /*
   * Adds a range filter of all user keys (nay_range.h), which scans with two bounds probe before
   * they read a block; LevelDB ignores it. Params of a builder: fpr and range_length, or
   * bits_per_key and range_length, range_keys and range_delimiter, hash and seed; kind 0 or
   * NAY_RANGE. Deletions and merge operands are keys of the filter as values are. NAY_EINVAL with a
   * comparator, whose order the filter does not know. NULL: none.
   */
  const nay_params *range;
} nay_sst_write_options;

typedef struct nay_sst_writer nay_sst_writer;

/*
 * nay_sst_writer_new: starts a table that replaces the file at path when it is finished. Until then
 * only an unnamed temporary file exists beside it. options may be NULL. NAY_EINVAL: diag names the
 * option.
 */
NAY_API nay_status nay_sst_writer_new(const char *path, const nay_sst_write_options *options,
                                      const nay_allocator *allocator, nay_diag *diag,
                                      nay_sst_writer **writer);

/*
 * nay_sst_writer_new_target: nay_sst_writer_new with a target, whose struct is copied. If this call
 * fails, no callback of the target was called. nay_sst_writer_finish calls write, sync and finish.
 * nay_sst_writer_free calls abort unless a finish succeeded.
 */
NAY_API nay_status nay_sst_writer_new_target(const nay_sst_target *target,
                                             const nay_sst_write_options *options,
                                             const nay_allocator *allocator, nay_diag *diag,
                                             nay_sst_writer **writer);

/*
 * nay_sst_writer_add: adds an entry. Keys must ascend strictly. NAY_EINVAL: the key is not above
 * the previous key, the key is not an internal key in a table of internal keys, or key or value has
 * 1 GiB or more; nothing has changed, and the next key may be added. Any other error is final: the
 * table cannot be finished. NAY_EFULL: a filter of fixed size cannot hold more keys.
 */
NAY_API nay_status nay_sst_writer_add(nay_sst_writer *writer, const void *key, size_t len,
                                      const void *value, size_t value_len, nay_diag *diag);

/* nay_sst_writer_add_entry: nay_sst_writer_add for an internal key that is given in parts. */
NAY_API nay_status nay_sst_writer_add_entry(nay_sst_writer *writer, const nay_sst_entry *entry,
                                            const void *value, size_t value_len, nay_diag *diag);

/*
 * nay_sst_writer_finish: writes filters and index, syncs the file, and renames it to its path.
 * After a crash the path has the old file or the new file. Afterwards the writer can only be freed.
 */
NAY_API nay_status nay_sst_writer_finish(nay_sst_writer *writer, nay_diag *diag);

/* nay_sst_writer_free: frees a writer. Before a finish, the path keeps its old file, or has no
   file. */
NAY_API void nay_sst_writer_free(nay_sst_writer *writer);

/* ---- reader ---------------------------------------------------------------------------------- */

/* Read blocks with pread, not by mapping the file: I/O errors are errors */
#define NAY_SST_PREAD 0x01u
#define NAY_SST_NO_FILTERS 0x02u        /* probe no filter */
#define NAY_SST_STORED_COMPARATOR 0x04u /* use the comparator that the table names, if known */
#define NAY_SST_BUDGETED 0x08u          /* keep index and filters in the cache: nay_sst_cache.h */
#define NAY_SST_PINNED \
  0x10u /* with BUDGETED: keep index and filters in memory, charged to the cache */

/* nay_sst_read_options: options that are all zero except `size` open any uncompressed table. */
typedef struct nay_sst_read_options {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  nay_sst_keys keys;
  uint32_t flags;
  const nay_sst_codec *const *codecs; /* codecs for compressed blocks */
  size_t ncodecs;
  /* Policies for filters that name a policy; nay's native filters need none */
  const nay_policy *const *policies;
  size_t npolicies;
  const nay_sst_prefix *prefix; /* prefix extractor for prefix filters */
  /* Block cache. NULL: each access reads the block, and the table caches 1 MiB of filter
     partitions. */
  nay_sst_cache *cache;
  /* Secret key of 16 bytes, for keyed filters whose key is not in the file */
  const uint8_t *hash_key;
  /* Limit for the uncompressed size of a compressed block; a longer block is NAY_EFULL. 0: 256 MiB,
     above which the writer stores blocks uncompressed. */
  uint64_t max_block_bytes;
  const nay_sst_comparator *comparator; /* the order of user keys; NULL: bytewise */
  /* NULL, or a buffer of NAY_SST_COMPARATOR_NAME bytes for the comparator name that the table
     stores; "" if it stores none. open fills the buffer even if the names differ. */
  char *stored_comparator;
  /* Largest number of bytes that a forward iterator reads at a time; it allocates as many. For a
     mapped file the library advises the system instead. 0: one block at a time. */
  size_t readahead;
  /* Layout of another engine, from nay_sst_layout_at; `keys` is then ignored. NULL: LevelDB's
     layout, or the layout that the file's magic number names. NAY_EINVAL: the layout is unknown. */
  const char *layout;
} nay_sst_read_options;

typedef struct nay_sst nay_sst;

/*
 * nay_sst_open: opens the table at path. options may be NULL. NAY_EFORMAT: the file is not a table.
 * NAY_ECORRUPT: footer, index, metaindex or properties are damaged. NAY_EMISMATCH: the table names
 * another comparator. NAY_ENOTSUP: a block that open needs is compressed and its codec is missing;
 * or the keys are not in the comparator's order, because the writer used another comparator; or the
 * table has a feature of RocksDB alone: range deletions, RocksDB's codecs or index types, or one
 * sequence number for the whole table.
 *
 * KEY ORDER. open checks the index and a sample of data blocks: up to 8, which is all blocks of a
 * small table. A table that states that nay wrote it needs no sample. The first use of any block
 * checks that block. A get, an iterator or a compaction that meets keys in another order returns
 * NAY_ENOTSUP. To check a whole table, iterate over all of it.
 *
 * CHECKSUMS. Each block's checksum is verified when the block is read, or in a mapped file when the
 * block is first used. If another process truncates a mapped file, SIGBUS kills this process:
 * replace tables, never overwrite them.
 */
NAY_API nay_status nay_sst_open(const char *path, const nay_sst_read_options *options,
                                const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);

/* nay_sst_view: nay_sst_open for bytes in memory. The bytes must not move or change until
   nay_sst_free. */
NAY_API nay_status nay_sst_view(const void *bytes, size_t len, const nay_sst_read_options *options,
                                const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);
NAY_API void nay_sst_free(nay_sst *sst);

/*
 * nay_sst_open_file: nay_sst_open over your own file; the struct is copied. nay_sst_free closes the
 * file. If the open fails, the file stays yours and is not closed. Every block is read with
 * read_at, so NAY_SST_PREAD has no effect.
 */
NAY_API nay_status nay_sst_open_file(const nay_sst_file *file, const nay_sst_read_options *options,
                                     const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);

/* nay_sst_file_descriptor: the regular file of an open descriptor. The descriptor stays yours:
   close it after the table. NAY_EIO: the descriptor is not a regular file. */
NAY_API nay_status nay_sst_file_descriptor(int fd, nay_diag *diag, nay_sst_file *file);

/*
 * nay_sst_value: the result of a get. Zero the struct and set `size`. It can be reused for any
 * number of gets; free it before the table and the cache. The bytes are valid until the next get
 * into it.
 */
typedef struct nay_sst_value {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  const void *bytes;
  size_t len;
  uint64_t sequence; /* sequence number of an internal key; else 0 */
  bool deleted;      /* the get found a deletion: do not search older tables for the key */
  void *hold;        /* private to the library */
} nay_sst_value;

NAY_API void nay_sst_value_free(nay_sst_value *value);

/*
 * nay_sst_get: finds the newest version of a key at or below `sequence` (NAY_SST_NEWEST: the newest
 * of all). The get checks the key range, the filter, the index and one data block, in this order.
 * NAY_ENOENT: the table has no value; value->deleted tells whether it has a deletion. NAY_ENOTSUP:
 * the block's codec is missing, the keys are not in the comparator's order, or an entry or block is
 * of a type that only RocksDB has. NAY_EFULL: the block is longer than max_block_bytes. NAY_EINVAL:
 * also a comparator that calls different bytes equal without equal_may_differ. NAY_ECORRUPT,
 * NAY_EIO, NAY_ENOMEM. diag has the position.
 *
 * If a table that nay did not write has compressed blocks and their codec is missing, every get is
 * NAY_ENOTSUP, because the key order cannot be verified.
 */
NAY_API nay_status nay_sst_get(const nay_sst *sst, const void *key, size_t len, uint64_t sequence,
                               nay_diag *diag, nay_sst_value *value);

/*
 * nay_sst_may_contain: checks key range and filters only. false is certain. The call may read a
 * filter partition, but never a data block.
 */
NAY_API bool nay_sst_may_contain(const nay_sst *sst, const void *key, size_t len);

/*
 * nay_sst_properties: the totals that the writer stored, if the option `properties` was set. The
 * keys are user keys and valid while the table is open; NULL if the table is empty. The block has a
 * checksum, but open does not recount the entries: nay sst info --verify does.
 */
typedef struct nay_sst_properties {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t nentries;
  uint64_t ndeletions; /* deletions, in a table of internal keys */
  uint64_t nmerges;    /* merge operands, in a table of internal keys */
  /* Bytes of all keys, uncompressed; internal keys count with their trailers */
  uint64_t key_bytes;
  uint64_t value_bytes;                         /* bytes of all values, uncompressed */
  uint64_t smallest_sequence, largest_sequence; /* sequence numbers of internal keys; else 0 */
  const void *smallest;                         /* the smallest key */
  size_t smallest_len;
  const void *largest; /* the largest key itself; nay_sst_info.upper_bound may be above it */
  size_t largest_len;
} nay_sst_properties;

/* nay_sst_foreign_info: what a table of nori or mini-lsm states about itself. */
typedef struct nay_sst_foreign_info {
  size_t size;
  const char *layout;      /* "nori-sst", "mini-lsm-sst-week2", ... */
  uint32_t footer_version; /* nori: 0, 1 or 2 */
  /* Versions of entries: "none", "sequence", "term and index", "timestamp" */
  const char *versions;
  /* The file does not state `versions`: they were inferred by parsing all blocks */
  bool versions_tried;
  const char *codec; /* "none", "lz4", "zstd" */
  /* nori's first writer: the footer names a codec, but the blocks are uncompressed */
  bool codec_ignored;
  bool has_checksums; /* blocks, metadata and filter have checksums */
  bool has_nentries;
  uint64_t nentries;     /* number of entries that the footer states, deletions included */
  uint64_t block_bytes;  /* the writer's target size of a block; 0: not stored */
  uint64_t max_version;  /* largest timestamp of mini-lsm's week 3; else 0 */
  const char *filter;    /* layout of the filter, a name for nay_format_find; NULL: no filter */
  bool filter_in_blocks; /* each data block contains its own filter, which saves no block read */
} nay_sst_foreign_info;

/*
 * nay_sst_counters: event counters of a table. They may be read at any time, from any thread. The
 * `useful` checks are those whose filter answered nay, which saved a block read. A false positive
 * is a maybe for a key that the table does not have; if only a prefix filter was probed, a maybe
 * for a prefix that the table does not have.
 */
typedef struct nay_sst_counters {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t gets;
  uint64_t out_of_range; /* gets of keys below the first key or above the upper bound */
  uint64_t filter_checks;
  uint64_t filter_useful;
  uint64_t filter_false_positives;
  uint64_t filter_faults; /* filters or partitions that were damaged and not used */
  uint64_t filter_loads;  /* filter partitions, or filters of the cache, that were read */
  uint64_t prefix_checks;
  uint64_t prefix_useful;
  uint64_t hashes;                /* keys that were hashed for native filters */
  uint64_t block_reads;           /* data blocks that were searched, cached blocks included */
  uint64_t cache_hits;            /* data blocks found in the cache */
  uint64_t operands;              /* merge operands that gets through a lookup have met */
  uint64_t index_loads;           /* indexes that were read into the cache */
  uint64_t range_checks;          /* probes of the range filter */
  uint64_t range_useful;          /* range_checks answered nay: no block was read */
  uint64_t range_false_positives; /* range_checks answered maybe for ranges without an entry */
  uint64_t reserved[1];           /* 0 */
} nay_sst_counters;

/* nay_sst_info: the description of an open table. Texts and keys are views, valid while the table
   is open. */
typedef struct nay_sst_info {
  size_t size;                  /* sizeof the struct: see ABI in nay.h */
  nay_sst_keys keys;            /* plain or internal */
  bool keys_guessed;            /* neither the caller nor the file states the kind of keys */
  uint64_t nbytes;              /* length of the file */
  uint64_t nblocks;             /* data blocks */
  uint8_t codec;                /* compression type of the first data block; 0: uncompressed */
  nay_sst_filter_layout filter; /* layout of the filter in the file */
  bool filter_used;             /* the filter is intact, and its policy is known */
  uint64_t filter_bytes;        /* bytes of all parts of the filter */
  uint64_t npartitions;
  const char *policy; /* policy of the filter; NULL: the table has no filter */
  const char *prefix; /* extractor of the prefix filter; NULL: the table has no prefix filter */
  bool prefix_used;
  uint64_t prefix_bytes;
  const void *smallest; /* first key; NULL: the table is empty or its first block cannot be read */
  size_t smallest_len;
  const void *upper_bound; /* last key of the index: every key of the table is at or below it */
  size_t upper_bound_len;
  const char *comparator; /* name of the comparator in use */
  bool comparator_stored; /* the file states this name */
  /* Key description (nay_key.h); NULL: the table states none, because another engine wrote it */
  const char *key;
  const nay_filter *native;             /* the full filter, if it is native and not in a cache */
  const nay_sst_properties *properties; /* NULL: the table does not state them */
  const nay_sst_foreign_info *foreign;  /* NULL: the table is in LevelDB's layout */
  nay_sst_counters counters;            /* a snapshot of this table's counters */
  uint64_t range_bytes;                 /* bytes of the range filter; 0: the table has none */
  bool range_used;                      /* it is intact, and the keys are in the order of bytes */
} nay_sst_info;

/* nay_sst_stats: describes the table, its properties and its counters. The call reads nothing from
   the file. NAY_EINVAL: info->size. */
NAY_API nay_status nay_sst_stats(const nay_sst *sst, nay_sst_info *info);

/* ---- other engines' tables ----------------------------------------------------------------------
 */

/*
 * Tables of nori and mini-lsm open as a nay_sst: get, iterators, lookups and compactions work on
 * them. Their keys are internal keys. Deletions are reported. The sequence number is the version
 * that the table stores: nori's sequence number, or the index beside a term; mini-lsm's timestamp;
 * else 0. nori's tables have a magic number, so nay_sst_open recognises them. mini-lsm's tables
 * have none, so the caller must name the layout.
 *
 * WRITING. With `layout` a writer makes the same bytes as the engine's own writer for the same
 * entries; "mini-lsm-sst" means the layout of week 2. Both engines take block_bytes and no_sync.
 * nori also takes restart_interval, codec, quotient, and from params bits_per_key (a whole number)
 * and nkeys, the number of keys that its Bloom filter is planned for. mini-lsm always has 10 bits
 * per key. Any other option is NAY_EINVAL. Keys must ascend; in mini-lsm's week 3 a key may repeat
 * with a lower sequence number, its timestamp. These entries are NAY_EINVAL and change nothing: a
 * key out of order; a sequence number or a term that the layout cannot store; an empty key; in
 * mini-lsm an empty value that is no deletion, or more than 65,535 bytes; a deletion with a value.
 * mini-lsm has no table without entries: finish is then NAY_EINVAL.
 *
 * CODECS. nori compresses with raw LZ4 blocks and zstd frames, and stores no uncompressed size.
 * Give nay_sst_codec 4 for LZ4 and 2 for zstd, with an uncompressed_size that finds the size.
 *
 * CHECKSUMS. nori has no checksums over blocks, index and filter, and mini-lsm's first week has
 * none at all: damage that still parses gives wrong answers. nay_sst_caveat reports this.
 */

/* nay_sst_layout_at: the i-th name for `layout` in nay_sst_read_options, NULL past the last:
   "nori-sst"; "mini-lsm-sst", which tries all forms; "mini-lsm-sst-day4", "-week1", "-week2" (the
   finished course), "-week3" (timestamps). */
NAY_API const char *nay_sst_layout_at(size_t i);

/* nay_sst_layout_about: one line that describes the layout; NULL: the name is unknown. */
NAY_API const char *nay_sst_layout_about(const char *name);

/*
 * nay_sst_caveat: the i-th caveat about the answers of this table, or about the answers of the
 * engine that wrote it. NULL past the last, and for LevelDB's tables.
 */
NAY_API const char *nay_sst_caveat(const nay_sst *sst, size_t i);

/*
 * nay_sst_verify: reads every block, and probes the table's own filters for every key; filters of
 * nori and mini-lsm are probed as their engine does. Sets *nentries to the number of entries, and
 * *ndenied to the number of entries that the filters deny. *ndenied is 0 unless an engine's filter
 * loses keys. Errors as nay_sst_iter.
 */
NAY_API nay_status nay_sst_verify(const nay_sst *sst, nay_diag *diag, uint64_t *nentries,
                                  uint64_t *ndenied);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_H */

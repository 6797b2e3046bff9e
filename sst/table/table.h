/*
 * table.h - an open table: the state that opening, reading, probing and iterating share.
 *
 *   open.c               opens a table: footer, metaindex, properties, index, key range
 *   order_check.c        detects plain or internal keys, and verifies the key order
 *   filter_open.c        opens the filters that the metaindex names
 *   filter_probe.c       probes them
 *   range_filter.c       the filter that scans probe
 *   read_block.c         reads a block from the cache or the file, and verifies it
 *   cached_parts.c       keeps index and filters in the block cache
 *   get.c, get_many.c    get of one key, of many keys
 *   iterator.c, pin.c    iterator over one table; keeps a block beyond its next move
 *   merge_operands.c     the merge operands of one key
 *   describe.c           nay_sst_stats: description, properties, counters
 *   approximate_offset.c where in the file a key is
 *   translated.c         tables of nori and mini-lsm behind the same interface
 *   writer.c             writes a table from sorted entries
 */
#ifndef NAY_SST_TABLE_TABLE_H
#define NAY_SST_TABLE_TABLE_H

#include "base/compiler.h"
#include "block/block.h"
#include "block/entry_totals.h"
#include "block/filter_block.h"
#include "block/footer.h"
#include "block/key_text.h"
#include "block/metaindex.h"
#include "cache/block_cache.h"
#include "cache/native_filter.h"
#include "foreign/engine.h"
#include "io/readahead.h"
#include "nay_sst.h"
#include "struct_sizes.h"

/* nay_sst_tally: the counters of a table, updated by relaxed atomics. Every get increments exactly
   one of the first four. */
typedef struct nay_sst_tally {
  uint64_t out_of_range, useful, maybe, unfiltered;
  uint64_t false_positives, faults, loads, index_loads;
  uint64_t prefix_useful, prefix_maybe;
  uint64_t range_useful, range_maybe, range_false_positives;
  uint64_t hashes, reads, hits, operands;
} nay_sst_tally;

typedef struct nay_shared_block nay_shared_block;

/* nay_hold: owns or pins the bytes of a block that is not used in place. Functions that read a
 * block take a slot (nay_hold **) and allocate the hold on first use, so a caller that keeps its
 * slot reuses the buffers. */
typedef struct nay_hold {
  nay_allocator allocator;
  nay_buffer raw;   /* block as read from the file, with trailer */
  nay_buffer plain; /* block uncompressed or translated */
  nay_sst_cache *cache;
  nay_cache_entry *pin; /* pinned entry of the data side of the cache */
  bool cached;          /* the last block came from the cache */
  /* A reference-counted block that replaces raw or plain, because another hold pins it too. */
  nay_shared_block *shared;
  nay_foreign_scratch scratch;
  nay_readahead ahead; /* used by iterators only */
} nay_hold;

/* nay_sst__hold_of: returns the hold in the slot, allocated on first use. NULL: no memory. */
nay_hold *nay_sst__hold_of(const nay_sst *sst, nay_hold **slot);
void nay_sst__hold_free(nay_hold *hold);

/* nay_sst__hold_release: drops the references to a cache entry and to a shared block; keeps the
 * buffers. */
void nay_sst__hold_release(nay_hold *hold);

/* nay_sst__hold_copy: copies the bytes into the hold in the slot (allocated with `a` on first use)
 * and sets *copy to them. NAY_ENOMEM: the hold keeps nothing. */
nay_status nay_sst__hold_copy(nay_hold **slot, const nay_allocator *a, nay_bytes bytes,
                              const void **copy);

/* nay_sst__hold_pin: makes the hold in slot *to (allocated on first use) keep the block that `from`
 * keeps. `from` may be NULL: the block lies in the file's mapping. NAY_ENOMEM: *to keeps
 * nothing. */
nay_status nay_sst__hold_pin(const nay_sst *sst, nay_hold *from, const uint8_t *block,
                             nay_hold **to);

/* nay_index_pin: the index block of a table whose index lives in the cache, pinned while a get, an
 * iterator or a compaction uses it. The caller sets block.bytes to NULL. */
typedef struct nay_index_pin {
  nay_block block;        /* bytes NULL: not loaded */
  nay_cache_entry *entry; /* cache entry of the index; NULL: `hold` has the bytes */
  nay_hold *hold;         /* index read without a cache */
} nay_index_pin;

/* nay_table_source: where the bytes of a table are. */
typedef struct nay_table_source {
  /* The whole file, mapped or the caller's. NULL: blocks are read through `file`. */
  const uint8_t *bytes;
  void *mapping;
  nay_sst_file file;
  uint64_t len; /* length of the file */
} nay_table_source;

/* nay_table_sorting: what is known about the key order of a table. */
typedef struct nay_table_sorting {
  bool guessed; /* plain or internal keys: the keys themselves told */
  /* The table states whether its keys are plain or internal, so nay wrote it. */
  bool named;
  bool internal_named;    /* what it states; valid if `named` */
  bool comparator_stored; /* the table states a comparator */
  /* The comparator that the table names, opened because of NAY_SST_STORED_COMPARATOR. */
  nay_sst_comparator own_comparator;
  /* Why the key order could not be verified; no search can be trusted then. NAY_OK: the order was
   * verified, or the table states it. */
  nay_status unknown;
  nay_diag unknown_why;
} nay_table_sorting;

/* nay_table_meta: footer, metaindex and properties. */
typedef struct nay_table_meta {
  nay_footer footer;
  bool rocksdb; /* the metaindex names RocksDB's properties */
  /* Written for ingestion into RocksDB, whose manifest may have the sequence number of its
   * entries. */
  bool for_ingestion;
  bool has_first;                /* the metaindex names a block, and `first_at` is valid */
  uint64_t first_at;             /* offset of the first meta block */
  nay_checked_handle properties; /* size 0: the table has no properties block */
  nay_hold *properties_hold;
  nay_table_stats stats; /* stated totals; the keys point into the properties block */
  /* The stated totals as nay_sst_stats shows them; size 0: not stated */
  nay_sst_properties stated;
  nay_sst_foreign_info foreign; /* shown by nay_sst_stats; valid if the table has another layout */
  nay_table_key key_text;       /* description of the keys (nay_key.h); "": not stated, or text */
} nay_table_meta;

/* nay_table_blocks: the index, and what is known about the data blocks. */
typedef struct nay_table_blocks {
  nay_block index; /* bytes NULL in an open table: the index is in the cache */
  nay_hold *index_hold;
  /* CRC-32C of an index in the cache, as verified when the table was opened. */
  uint32_t index_crc;
  uint8_t first_codec;
  uint64_t n;
  uint64_t end; /* end offset of the last data block */
  /* One bit per data block: its key order is verified and, in a mapped file, its checksum too.
   * NULL: the table is empty. */
  uint8_t *checked;
  size_t checked_len;
} nay_table_blocks;

/* nay_table_range: the keys between which the entries lie. */
typedef struct nay_table_range {
  bool empty;
  bool has_smallest;
  nay_buffer smallest, largest; /* first key; last key of the index, an upper bound */
} nay_table_range;

/* nay_table_filters: the filter of whole keys, the filter of prefixes and the range filter. */
typedef struct nay_table_filters {
  nay_sst_filter_layout layout;
  bool used;
  uint64_t nbytes;
  uint64_t npartitions;
  nay_buffer policy_name;   /* NUL-terminated; empty: no filter */
  const nay_policy *policy; /* NULL: the filter is in the native format */
  nay_hold *hold;
  /* Contents of the filter block. Undefined once `full` has the decoded filter. */
  nay_bytes at;
  nay_filter_block block; /* LevelDB's filter block */
  nay_block partitions;   /* index of the filter partitions */
  nay_native_filter full;
  /* Handle of the filter block, when the filter lives in the cache: a full filter, LevelDB's filter
   * block, or the index of partitions. Size 0: it does not. */
  nay_checked_handle handle;
  nay_buffer prefix_name; /* NUL-terminated; empty: no filter of prefixes */
  bool prefix_used;
  /* The prefix filter. NULL: there is none, or it lives in the cache and prefix_handle names it. */
  nay_filter *prefix;
  nay_checked_handle prefix_handle;
  uint64_t prefix_bytes;
  uint64_t range_bytes; /* 0: the table has no range filter */
  bool range_used;
  nay_filter *range; /* NULL: there is none, or it lives in the cache and range_handle names it */
  nay_checked_handle range_handle;
} nay_table_filters;

/* nay_table_cached: the table's use of caches. */
typedef struct nay_table_cached {
  uint64_t id;
  /* Cache of index and filters: the caller's cache, or `own`. */
  nay_sst_cache *meta;
  nay_sst_cache *own;
  size_t held; /* bytes charged to the caller's cache for this table */
} nay_table_cached;

struct nay_sst {
  nay_allocator allocator;
  nay_sst_read_options options;
  nay_table_source source;
  nay_order order;
  nay_table_sorting sorting;
  nay_table_meta meta;
  nay_table_blocks blocks;
  nay_table_range range;
  nay_table_filters filters;
  nay_table_cached cached;
  nay_foreign *foreign; /* NULL: a table in LevelDB's layout */
  nay_sst_tally *counts;
  void *pool_entry; /* entry in the nay_sst_pool that opened the table; NULL: none did */
};

/* nay_get_trace: the visitor that receives the steps of a get, the table that they report, and the
 * first failure of the visitor, after which it is not called again. */
typedef struct nay_get_trace {
  nay_sst_lookup_visitor visit;
  void *ctx;
  size_t level, table;
  nay_status status;
} nay_get_trace;

typedef struct nay_collector nay_collector;

/* nay_hash_memo: what the probes of one get share over all tables: the hash of the key, reused by
 * every filter with the same hash function, the trace and the merge operands. Zero-initialise. */
typedef struct nay_hash_memo {
  bool set;
  nay_hasher hasher;
  nay_hash hash;
  uint64_t nhashes;
  nay_get_trace *trace;     /* NULL: no trace */
  nay_collector *collector; /* see get.h; NULL: merge operands are an error */
} nay_hash_memo;

/* nay_sst__describe: fills in what nay_sst_stats shows of a table that has just been opened. */
void nay_sst__describe(nay_sst *sst);

/* nay_sst__counters: takes a snapshot of the counters. */
nay_sst_counters nay_sst__counters(const nay_sst *sst);

/* nay_sst__approximate_offset: the file offset of the data block that has the key or would have it;
   the end of the data if all keys are below it. Reads the index only. */
nay_status nay_sst__approximate_offset(const nay_sst *sst, const void *key, size_t len,
                                       nay_diag *diag, uint64_t *offset);

/* nay_sst__check_read: checks the options of an open. NAY_EINVAL. */
nay_status nay_sst__check_read(const nay_sst_read_options *options, nay_diag *diag);

/* nay_sst__table_read: reads a block other than a data block, verifies its checksum and
 * uncompresses it, bypassing the cache. The contents stay valid until the hold in the slot is used
 * again. */
nay_status nay_sst__table_read(const nay_sst *sst, nay_handle handle, nay_hold **hold,
                               nay_diag *diag, nay_bytes *contents);

/* nay_sst__in_place: whether the block is uncompressed in a mapping, so that no copy is needed. */
static inline bool nay_sst__in_place(const nay_sst *sst, nay_handle handle) {
  return sst->source.bytes != NULL && sst->foreign == NULL &&
         sst->source.bytes[handle.offset + handle.size] == 0;
}

/* nay_sst__table_read_checked: nay_sst__table_read that also compares the block's checksum with the
 * one stored beside its handle. NAY_ECORRUPT: it is an intact block, but not the one that the
 * handle names. */
nay_status nay_sst__table_read_checked(const nay_sst *sst, const nay_checked_handle *handle,
                                       nay_hold **hold, nay_diag *diag, nay_bytes *contents);

/* nay_sst__table_block_open: opens the contents of a data block. NAY_ENOTSUP: a RocksDB block with
 * a hash index, which the highest bit of the restart count tells. NAY_ECORRUPT. */
nay_status nay_sst__table_block_open(const nay_sst *sst, nay_bytes contents, nay_handle handle,
                                     nay_diag *diag, nay_block *block);

/* nay_sst__table_read_data: reads the data block of an index entry, from the cache or the file, and
 * verifies its key order on first use. Counts the read. */
nay_status nay_sst__table_read_data(const nay_sst *sst, const nay_block *index,
                                    const nay_entry *entry, const nay_handle *handle,
                                    nay_hold **hold, nay_diag *diag, nay_block *block);

/* nay_sst__check_block: verifies that the keys of a data block ascend and lie between the index
 * keys around it, and records the result. NAY_ENOTSUP: another comparator ordered them.
 * NAY_ECORRUPT. */
nay_status nay_sst__check_block(const nay_sst *sst, const nay_block *index, const nay_entry *entry,
                                nay_handle handle, const nay_block *block, nay_diag *diag);

/* nay_sst__order_unknown: returns the error of every search while the key order is unverified. */
static inline nay_status nay_sst__order_unknown(const nay_sst *sst, nay_diag *diag) {
  if (diag != NULL) *diag = sst->sorting.unknown_why;
  return sst->sorting.unknown;
}

/* nay_sst__guess_order: decides from the keys whether they are internal keys. first_block may be
 * NULL. NAY_ENOMEM. */
nay_status nay_sst__guess_order(nay_sst *sst, const nay_block *first_block);

/* nay_sst__first_block: reads the first data block for the smallest key, and to guess the kind of
 * keys. A block that cannot be read is no error. NAY_ENOMEM. */
nay_status nay_sst__first_block(nay_sst *sst, nay_handle handle);

/* nay_sst__check_order: verifies the key order of the index and of a sample of data blocks.
 * NAY_ENOTSUP: another comparator ordered them. */
nay_status nay_sst__check_order(nay_sst *sst, nay_diag *diag);

/* nay_sst__join: checks that a table can be merged with *first, the first table that has keys; sets
 * *first if it is NULL. Errors name the table by `number`. NAY_EMISMATCH: the comparators differ.
 * NAY_ENOTSUP: one of the two is for ingestion into RocksDB, and nothing in it tells which is
 * newer. */
nay_status nay_sst__join(const nay_sst *sst, size_t number, nay_diag *diag, const nay_sst **first);

/* nay_sst__join_all: nay_sst__join for n tables. Sets *user to their comparator. */
nay_status nay_sst__join_all(const nay_sst *const *tables, size_t n, nay_diag *diag,
                             const nay_sst_comparator **user);

/* nay_sst__table_partition: parses the handle in an entry of the partition index. False: the handle
 * is invalid. */
bool nay_sst__table_partition(const nay_sst *sst, const nay_entry *entry,
                              nay_checked_handle *handle);

/* nay_sst__table_handle: parses the block handle in the value of an index entry. NAY_ECORRUPT. */
nay_status nay_sst__table_handle(const nay_sst *sst, const uint8_t *value, size_t len,
                                 nay_diag *diag, nay_handle *handle);

/* nay_sst__filters_open: reads the metaindex, and opens the filters unless the caller wants none. A
 * damaged filter is only counted as a fault. A metaindex that cannot be read is an error:
 * NAY_ECORRUPT, NAY_ENOTSUP (no codec for it), NAY_EIO, NAY_ENOMEM. */
nay_status nay_sst__filters_open(nay_sst *sst, nay_diag *diag);
void nay_sst__filters_free(nay_sst *sst);

/* nay_sst__filter_decode: decodes a native filter and unlocks it with the caller's secret key.
 * NULL: damaged. */
nay_filter *nay_sst__filter_decode(const nay_sst *sst, nay_bytes bytes, const nay_allocator *a);

/* nay_cached: the kinds of blocks, besides data blocks, that the cache may have. */
typedef enum nay_cached {
  NAY_CACHED_INDEX,
  NAY_CACHED_FILTER, /* a full filter, a filter partition or a filter block */
  NAY_CACHED_PARTITIONS,
  NAY_CACHED_PREFIX,
  NAY_CACHED_RANGE
} nay_cached;

/* nay_sst__budgeted: whether index and filters are read through the cache. */
static inline bool nay_sst__budgeted(const nay_sst *sst) {
  return (sst->options.flags & (NAY_SST_BUDGETED | NAY_SST_PINNED)) == NAY_SST_BUDGETED;
}

/* nay_sst__cached: finds a block in the cache, or reads it and inserts it. The entry is pinned.
 * NAY_ECORRUPT: the block cannot be decoded, or has changed since the table was opened. Any other
 * error is an error of the read. */
nay_status nay_sst__cached(const nay_sst *sst, nay_cached what, const nay_checked_handle *handle,
                           nay_hold **hold, nay_diag *diag, nay_cache_entry **entry);
void nay_sst__cached_release(const nay_sst *sst, nay_cache_entry *entry);

/* nay_sst__cached_put: inserts bytes that were verified when the table was opened. NAY_ENOMEM. */
nay_status nay_sst__cached_put(const nay_sst *sst, nay_cached what, nay_handle handle,
                               nay_bytes bytes);

/* nay_sst__cached_erase: removes the block of a table that is being closed. */
void nay_sst__cached_erase(const nay_sst *sst, nay_cached what, nay_handle handle);

/* nay_sst__table_index_load: pins the index of a table whose index is in the cache, until
 * nay_sst__table_index_unpin. */
nay_status nay_sst__table_index_load(const nay_sst *sst, nay_index_pin *pin, nay_diag *diag);
void nay_sst__table_index_free(const nay_sst *sst, nay_index_pin *pin);

/* nay_sst__table_index_at: the index block, resident or pinned. bytes NULL: neither. */
static inline const nay_block *nay_sst__table_index_at(const nay_sst *sst,
                                                       const nay_index_pin *pin) {
  return NAY_LIKELY(sst->blocks.index.bytes != NULL) ? &sst->blocks.index : &pin->block;
}

/* nay_sst__table_index: sets *index to the index block and pins it if it is in the cache. *index is
 * valid until nay_sst__table_index_unpin. */
static inline nay_status nay_sst__table_index(const nay_sst *sst, nay_index_pin *pin,
                                              nay_diag *diag, const nay_block **index) {
  *index = nay_sst__table_index_at(sst, pin);
  return NAY_LIKELY((*index)->bytes != NULL) ? NAY_OK : nay_sst__table_index_load(sst, pin, diag);
}

static inline void nay_sst__table_index_unpin(const nay_sst *sst, nay_index_pin *pin) {
  if (NAY_UNLIKELY(pin->block.bytes != NULL)) nay_sst__table_index_free(sst, pin);
}

/* nay_sst__filter_full: returns the native full filter; NULL: there is none. Sets *pin to the cache
 * entry that the caller must release, or to NULL if the filter is resident. */
const nay_native_filter *nay_sst__filter_full(const nay_sst *sst, nay_hold **hold,
                                              nay_cache_entry **pin);

/* nay_sst__key: the key description that the table states. NULL: nay did not write the table. */
static inline const char *nay_sst__key(const nay_sst *sst) {
  return sst->sorting.named && sst->foreign == NULL ? nay_sst__table_key_shown(sst->meta.key_text)
                                                    : NULL;
}

/* nay_sst__filter_fault: counts a filter that is damaged or cannot be read. */
void nay_sst__filter_fault(const nay_sst *sst);

/* nay_verdict: the answer of a table's filters. NAY_NOT_PROBED: no filter covers this key or
   range. */
typedef enum nay_verdict { NAY_NOT_PROBED, NAY_SAYS_NAY, NAY_SAYS_MAYBE } nay_verdict;

/* nay_sst__probe: probes the full filter, the filter partition or the prefix filter, which need no
 * index entry. Sets *prefix_len if the answer holds for that many leading bytes of the key only. */
nay_verdict nay_sst__probe(const nay_sst *sst, const nay_target *target, nay_hash_memo *memo,
                           nay_hold **hold, size_t *prefix_len);

/* nay_sst__probe_block: probes the filter for this data block in LevelDB's filter block. */
nay_verdict nay_sst__probe_block(const nay_sst *sst, const nay_target *target, nay_handle handle,
                                 nay_hold **hold);

/* nay_sst__probe_range: probes the range filter and the prefix filter for the keys in [from, to).
 * `to` NULL: no upper bound. *asked is set if the range filter was probed and answered maybe: the
 * caller counts a false positive if no entry follows. */
nay_verdict nay_sst__probe_range(const nay_sst *sst, nay_bytes from, const nay_bytes *to,
                                 bool *asked);

/* ---- range_filter.c ---- */

/* nay_sst__range_filter_open: opens the filter of an entry of the metaindex. A damaged one is a
 * fault, and not used. NAY_ENOMEM. */
nay_status nay_sst__range_filter_open(nay_sst *sst, const nay_meta_entry *entry);
void nay_sst__range_filter_free(nay_sst *sst);

/* nay_sst__probe_range_filter: whether the table may have a user key in [from, to). */
nay_verdict nay_sst__probe_range_filter(const nay_sst *sst, nay_bytes from, nay_bytes to);

/* nay_sst__range_filter_denies: whether the resident range filter denies a user key of the table,
 * which only a wrong filter does. */
bool nay_sst__range_filter_denies(const nay_sst *sst, const void *key, size_t len);

/* nay_sst__range_false_positive: counts a maybe of the range filter after which no entry came. */
static inline void nay_sst__range_false_positive(const nay_sst *sst) {
  nay__atomic_increment64(&sst->counts->range_false_positives);
}

/* Private status: the table has merge operands of the key and nothing older; the collector has
 * them. */
#define NAY_GET_OPERAND ((nay_status)1000)

/* nay_sst__get: nay_sst_get with the shared state of a lookup in `memo`. If the memo's collector
 * has a merge operator, NAY_GET_OPERAND is possible. */
nay_status nay_sst__get(const nay_sst *sst, const nay_target *target, nay_hash_memo *memo,
                        nay_diag *diag, nay_sst_value *value);

#endif /* NAY_SST_TABLE_TABLE_H */

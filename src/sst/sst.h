/*
 * sst.h - an open table, shared by what opens it, reads it and walks it.
 *
 *   sst_open.c           footer, index, the range of keys
 *   sst_order.c          plain or internal keys, and whether they are in order
 *   sst_filter_open.c    the filters that the metaindex names
 *   sst_filter_probe.c   what they say of a key
 *   sst_read.c           a block from the file or the cache, verified
 *   sst_cached.c         index and filters in the cache: read when needed, pinned while in use
 *   readahead.c          larger reads, for iterators
 *   sst_io.c             where the bytes are: files, descriptors, memory, own I/O
 *   sst_get.c            one key
 *   sst_iter.c           many in order
 *   sst_pin.c            their blocks, kept beyond the next movement
 *   sst_info.c           what the table is and has counted
 *   sst_stats.c          what it states of its entries, and where a key is
 *   lookup*.c            one key in many tables
 *   operand.c            merge operands, combined
 *   sst_tables.c         open tables, cached
 *   sst_foreign.c        tables of other engines, translated
 */
#ifndef NAY_SST_SST_H
#define NAY_SST_SST_H

#include "base/compiler.h"
#include "nay_sst.h"
#include "sst/block.h"
#include "sst/filter_block.h"
#include "sst/footer.h"
#include "sst/foreign.h"
#include "sst/key_text.h"
#include "sst/native_filter.h"
#include "sst/readahead.h"
#include "sst/sst_abi.h"
#include "sst/sst_cache.h"
#include "sst/table_stats.h"

/* Relaxed atomics. The first four count the outcomes of a get: their sum is `gets`. */
typedef struct nay_sst_tally {
  uint64_t out_of_range, useful, maybe, unfiltered;
  uint64_t false_positives, faults, loads, index_loads;
  uint64_t prefix_useful, prefix_maybe;
  uint64_t hashes, reads, hits, operands;
} nay_sst_tally;

typedef struct nay_shared_block nay_shared_block;

/* nay_hold: what keeps the bytes of a block that was not used in place. Made when first needed. */
typedef struct nay_hold {
  nay_allocator allocator;
  nay_buffer raw;   /* as read from the file */
  nay_buffer plain; /* uncompressed */
  nay_sst_cache *cache;
  nay_cache_entry *pin;     /* in the data side of the cache */
  bool cached;              /* the last block was found in the cache */
  nay_shared_block *shared; /* has the bytes instead of raw or plain, as others need them too */
  nay_foreign_scratch scratch;
  nay_readahead ahead; /* of an iterator */
} nay_hold;

/* nay__hold_of: the hold in the slot, made when it is needed; NULL: no memory. */
nay_hold *nay__hold_of(const nay_sst *sst, nay_hold **slot);
void nay__hold_free(nay_hold *hold);

/* nay__hold_release: gives back what others have too: an entry of the cache, a shared block. */
void nay__hold_release(nay_hold *hold);

/* nay__hold_copy: *slot (made when it is needed, by `a`) keeps a copy of the bytes, at *copy.
 * NAY_ENOMEM: it keeps nothing. */
nay_status nay__hold_copy(nay_hold **slot, const nay_allocator *a, nay_bytes bytes,
                          const void **copy);

/* nay__hold_pin: *to (made when it is needed) keeps the bytes of a block that `from`, which may be
 * NULL, keeps now. NAY_ENOMEM: *to keeps nothing. */
nay_status nay__hold_pin(const nay_sst *sst, nay_hold *from, const uint8_t *block, nay_hold **to);

/*
 * nay_index_pin: the index of a table while a get, an iterator or a compaction uses it, if the
 * table does not have it in memory. Set block.bytes to NULL.
 */
typedef struct nay_index_pin {
  nay_block block;        /* bytes NULL: not loaded */
  nay_cache_entry *entry; /* that has its bytes, */
  nay_hold *hold;         /* or what was read past the cache */
} nay_index_pin;

struct nay_sst {
  nay_allocator allocator;
  nay_sst_read_options options;
  const uint8_t *bytes; /* the whole file, mapped or the caller's; NULL: it is read through file */
  void *mapping;
  nay_sst_file file;
  uint64_t file_len;
  nay_footer footer;
  uint64_t cache_id;
  nay_order order;
  bool order_guessed;
  nay_sst_comparator own_comparator; /* that which the table names, if the caller wants that */
  bool comparator_stored;            /* the file names it */
  bool order_named;                  /* by the file, so a writer of ours made it */
  nay_table_key key_text;            /* how keys are made of texts; "": not stated, or text */
  nay_status order_unknown; /* why the order of the keys could not be checked, so that no search can
                           be trusted; NAY_OK: it was, or the file states it */
  nay_diag order_unknown_why;
  nay_sst_tally *counts;
  nay_foreign *foreign; /* NULL: LevelDB's */
  void *cached;         /* its entry in a nay_sst_tables, if it is in one */

  uint64_t blocks_end;           /* where the last data block ends */
  bool rocksdb_meta;             /* the metaindex names RocksDB's properties */
  bool for_ingestion;            /* into RocksDB, whose manifest may have its sequence number */
  bool has_meta;                 /* the metaindex names a block: */
  uint64_t meta_at;              /* the first of them begins here */
  nay_checked_handle properties; /* nay's or RocksDB's; size 0: none */
  nay_hold *properties_hold;
  nay_table_stats stats; /* that it states; keys lie in the block of properties */
  nay_hold *index_hold;
  nay_block index;    /* bytes NULL once the table is open: it is in the cache */
  uint32_t index_crc; /* then: CRC-32C of its bytes as they were checked */
  uint8_t *checked;   /* a bit for each block that is in order and, in a mapped file, whose checksum
                         was right; NULL: the table is empty */
  size_t checked_len;
  bool empty;
  bool has_smallest;
  nay_buffer smallest, largest;
  uint64_t nblocks;
  uint8_t first_codec;

  nay_sst_filter filter;
  bool filter_used;
  uint64_t filter_bytes;
  uint64_t npartitions;
  nay_buffer policy_name, prefix_name; /* end in 0; empty: no filter */
  const nay_policy *policy;            /* NULL: native */
  nay_hold *filter_hold;
  nay_bytes filter_at;           /* its bytes: all of a full filter of a policy */
  nay_filter_block filter_block; /* LevelDB's */
  nay_block partitions;          /* top-level index */
  nay_native_filter full;
  nay_checked_handle
      filter_handle;         /* if that is in the cache when it is probed, what it is of: a full
                        filter, a filter block, the index of partitions; size 0: it is not */
  nay_sst_cache *meta_cache; /* of index and filters: the caller's, or for partitions alone: */
  nay_sst_cache *own_cache;
  size_t held; /* bytes that count in the cache */
  bool prefix_used;
  nay_filter *prefix; /* NULL: there is none, or it is in the cache when it is probed: */
  nay_checked_handle prefix_handle;
  uint64_t prefix_bytes;
};

/* nay_get_trace: who is told the steps of a get. */
typedef struct nay_get_trace {
  nay_lookup_trace_call call;
  void *ctx;
  size_t level, table;
} nay_get_trace;

typedef struct nay_collector nay_collector;

/* nay_hash_memo: what the tables of one get share: the hash of its key, for all filters that hash
 * alike, its trace and its merge operands. Zero-initialise. */
typedef struct nay_hash_memo {
  bool set;
  nay_hasher hasher;
  nay_hash hash;
  uint64_t nhashes;
  const nay_get_trace *trace; /* NULL: nobody follows */
  nay_collector *collector;   /* sst_get.h; NULL: merge operands are an error */
} nay_hash_memo;

/* nay__sst_check_read: options that an open takes. NAY_EINVAL. */
nay_status nay__sst_check_read(const nay_sst_read_options *options, nay_diag *diag);

/* nay__sst_read: the contents of a block that is not data, its checksum verified, past the
 * cache. *hold is made when it is needed, and keeps the bytes until it is used again. */
nay_status nay__sst_read(const nay_sst *sst, nay_handle handle, nay_hold **hold, nay_diag *diag,
                         nay_bytes *contents);

/* nay__sst_in_place: whether the contents of a block lie in memory as they are. */
static inline bool nay__sst_in_place(const nay_sst *sst, nay_handle handle) {
  return sst->bytes != NULL && sst->foreign == NULL && sst->bytes[handle.offset + handle.size] == 0;
}

/* nay__sst_read_checked: the same; NAY_ECORRUPT also if it is another block than the one meant. */
nay_status nay__sst_read_checked(const nay_sst *sst, const nay_checked_handle *handle,
                                 nay_hold **hold, nay_diag *diag, nay_bytes *contents);

/* nay__sst_block_open: the contents of a data block. NAY_ENOTSUP: RocksDB has put a hash index
 * between its restarts and their number, as the highest bit of that number says. NAY_ECORRUPT. */
nay_status nay__sst_block_open(const nay_sst *sst, nay_bytes contents, nay_handle handle,
                               nay_diag *diag, nay_block *block);

/* nay__sst_read_data: the data block of an entry of the index, for a search or a walk; counted. */
nay_status nay__sst_read_data(const nay_sst *sst, const nay_block *index, const nay_entry *entry,
                              const nay_handle *handle, nay_hold **hold, nay_diag *diag,
                              nay_block *block);

/* nay__sst_check_block: whether the keys of a data block ascend, and lie between the index keys
 * around it; remembered. NAY_ENOTSUP: another comparator. NAY_ECORRUPT.
 */
nay_status nay__sst_check_block(const nay_sst *sst, const nay_block *index, const nay_entry *entry,
                                nay_handle handle, const nay_block *block, nay_diag *diag);

/* nay__sst_order_unknown: the error of a table whose key order is unknown. */
static inline nay_status nay__sst_order_unknown(const nay_sst *sst, nay_diag *diag) {
  if (diag != NULL) *diag = sst->order_unknown_why;
  return sst->order_unknown;
}

/* nay__sst_guess_order: decides whether keys are internal ones; first_block may be NULL.
 * NAY_ENOMEM.
 */
nay_status nay__sst_guess_order(nay_sst *sst, const nay_block *first_block);

/* nay__sst_first_block: reads it for the smallest key, which stays as it is if it cannot be read,
 * and to guess what the keys are. NAY_ENOMEM. */
nay_status nay__sst_first_block(nay_sst *sst, nay_handle handle);

/* nay__sst_check_order: of the index and of some data blocks. NAY_ENOTSUP: another comparator. */
nay_status nay__sst_check_order(nay_sst *sst, nay_diag *diag);

/* nay__sst_join: whether a table can be merged with *first, the first with keys; NULL: it becomes
 * that. At `number`: NAY_EMISMATCH, their orders differ; NAY_ENOTSUP, one of them is for ingestion,
 * so that nothing in it tells which is newer. */
nay_status nay__sst_join(const nay_sst *sst, size_t number, nay_diag *diag, const nay_sst **first);

/* nay__sst_join_all: the same for n tables. *user is their order. */
nay_status nay__sst_join_all(const nay_sst *const *tables, size_t n, nay_diag *diag,
                             const nay_sst_comparator **user);

/* nay__sst_partition: the handle in an entry of the index of partitions; false: there is none. */
bool nay__sst_partition(const nay_sst *sst, const nay_entry *entry, nay_checked_handle *handle);

/* nay__sst_handle: the handle in an index entry's value. */
nay_status nay__sst_handle(const nay_sst *sst, const uint8_t *value, size_t len, nay_diag *diag,
                           nay_handle *handle);

/* nay__sst_filters_open: reads the metaindex, and the filters unless the caller wants none.
 * Whatever is wrong with a filter is counted as a fault, no more; a metaindex that cannot be read
 * or decoded is an error: NAY_ECORRUPT, NAY_ENOTSUP (its codec is missing), NAY_EIO, NAY_ENOMEM. */
nay_status nay__sst_filters_open(nay_sst *sst, nay_diag *diag);
void nay__sst_filters_free(nay_sst *sst);

/* nay__sst_filter_decode: a native filter, unlocked by the caller's secret key. NULL: damaged. */
nay_filter *nay__sst_filter_decode(const nay_sst *sst, nay_bytes bytes, const nay_allocator *a);

/* nay_cached: the parts of a table that its cache may have beside data. */
typedef enum nay_cached {
  NAY_CACHED_INDEX,
  NAY_CACHED_FILTER, /* a full filter, a partition, a filter block */
  NAY_CACHED_PARTITIONS,
  NAY_CACHED_PREFIX
} nay_cached;

/* nay__sst_budgeted: whether index and filters are read through the cache. */
static inline bool nay__sst_budgeted(const nay_sst *sst) {
  return (sst->options.flags & (NAY_SST_BUDGETED | NAY_SST_PINNED)) == NAY_SST_BUDGETED;
}

/* nay__sst_cached: a part that is in the cache, or is read and put there; pinned. NAY_ECORRUPT: it
 * cannot be decoded, or is not what it was when the table was opened. Errors of reading it. */
nay_status nay__sst_cached(const nay_sst *sst, nay_cached what, const nay_checked_handle *handle,
                           nay_hold **hold, nay_diag *diag, nay_cache_entry **entry);
void nay__sst_cached_release(const nay_sst *sst, nay_cache_entry *entry);

/* nay__sst_cached_put: bytes that were read and checked when the table was opened. NAY_ENOMEM. */
nay_status nay__sst_cached_put(const nay_sst *sst, nay_cached what, nay_handle handle,
                               nay_bytes bytes);

/* nay__sst_cached_erase: of a table that is closed. */
void nay__sst_cached_erase(const nay_sst *sst, nay_cached what, nay_handle handle);

/* nay__sst_index_load: the index of a table that does not have it in memory, pinned until
 * nay__sst_index_unpin. */
nay_status nay__sst_index_load(const nay_sst *sst, nay_index_pin *pin, nay_diag *diag);
void nay__sst_index_free(const nay_sst *sst, nay_index_pin *pin);

/* nay__sst_index_at: the index, which is in memory or pinned. */
static inline const nay_block *nay__sst_index_at(const nay_sst *sst, const nay_index_pin *pin) {
  return NAY_LIKELY(sst->index.bytes != NULL) ? &sst->index : &pin->block;
}

/* nay__sst_index: the same, loaded when it is neither; valid until the pin is given back. */
static inline nay_status nay__sst_index(const nay_sst *sst, nay_index_pin *pin, nay_diag *diag,
                                        const nay_block **index) {
  *index = nay__sst_index_at(sst, pin);
  return NAY_LIKELY((*index)->bytes != NULL) ? NAY_OK : nay__sst_index_load(sst, pin, diag);
}

static inline void nay__sst_index_unpin(const nay_sst *sst, nay_index_pin *pin) {
  if (NAY_UNLIKELY(pin->block.bytes != NULL)) nay__sst_index_free(sst, pin);
}

/* nay__sst_filter_full: the native full filter. NULL: there is none. If it is one of the cache,
 * *pin is then to be released; else it is NULL. */
const nay_native_filter *nay__sst_filter_full(const nay_sst *sst, nay_hold **hold,
                                              nay_cache_entry **pin);

/* nay__sst_key: the key description that the table states; NULL: none of our writers made it. */
static inline const char *nay__sst_key(const nay_sst *sst) {
  return sst->order_named && sst->foreign == NULL ? nay__table_key_shown(sst->key_text) : NULL;
}

/* nay__sst_filter_fault: counts one. */
void nay__sst_filter_fault(const nay_sst *sst);

/* What filters answer. NAY_NOT_PROBED: there is none for this key or range. */
typedef enum nay_verdict { NAY_NOT_PROBED, NAY_SAYS_NAY, NAY_SAYS_MAYBE } nay_verdict;

/* nay__sst_probe: probes the filters that need no index entry; hold as in nay__sst_read.
 * *prefix_len is set if the verdict is about that many bytes of the key, and not about all of it.
 */
nay_verdict nay__sst_probe(const nay_sst *sst, const nay_target *target, nay_hash_memo *memo,
                           nay_hold **hold, size_t *prefix_len);

/* nay__sst_probe_block: LevelDB's filter of the data block. */
nay_verdict nay__sst_probe_block(const nay_sst *sst, const nay_target *target, nay_handle handle,
                                 nay_hold **hold);

/* nay__sst_probe_range: the prefix filter, for all keys from `from` to before `to` (NULL: no end).
 */
nay_verdict nay__sst_probe_range(const nay_sst *sst, nay_bytes from, const nay_bytes *to);

/* A status of the library's own: the table has merge operands of the key, which the collector has,
 * and nothing older. */
#define NAY_GET_OPERAND ((nay_status)1000)

/* nay__sst_get: what nay_sst_get does, with a hash that may be known already; with a collector that
 * has an operator also NAY_GET_OPERAND. */
nay_status nay__sst_get(const nay_sst *sst, const nay_target *target, nay_hash_memo *memo,
                        nay_diag *diag, nay_sst_value *value);

#endif /* NAY_SST_SST_H */

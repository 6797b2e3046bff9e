/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_iter.h - entries in order, in both directions: of one table (nay_sst_iter), or of levels
 * of tables and sources of your own, such as a memtable, as one (a scan).
 *
 *   nay_sst_scan *m;
 *   nay_sst_scan_options how = {sizeof how, .lower = "b", .lower_len = 1};
 *   if (nay_sst_scan_new(lookup, &how, NULL, NULL, &m) != NAY_OK) return 1;
 *   for (nay_status s = nay_sst_scan_first(m); s == NAY_OK; s = nay_sst_scan_next(m)) {
 *     size_t len;
 *     const char *key = nay_sst_scan_key(m, &len);
 *     printf("%.*s\n", (int)len, key);
 *   }
 *   nay_sst_scan_free(m);
 *
 * Each user key comes once, with the value that a get at the same sequence number finds: the newest
 * version that is not above it, unless that is a deletion. Tables outside of the bounds, and those
 * whose prefix filter denies the range, are never read; of a level with disjoint ranges one table
 * is open at a time.
 *
 * Values are views of the blocks they are in, keys and combined values of the iterator's memory.
 * All are valid until it moves; nay_sst_scan_pin keeps a value longer.
 *
 * A damaged block is an error with its table and offset, and the error stays until the iterator is
 * moved elsewhere by first, last or a seek: a scan never ends early in silence.
 *
 * Merge operands (nay_sst_merge.h) are combined by the operator of the lookup, or of the options:
 * the entry is then a value, with key, sequence and table of the newest operand. With all_versions
 * they come as they are. Without an operator, as any other type of RocksDB's, they are NAY_ENOTSUP.
 *
 * THREADS. A nay_sst_scan belongs to one thread at a time; any number of them share tables.
 */
#ifndef NAY_SST_ITER_H
#define NAY_SST_ITER_H

#include "nay_sst_lookup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- one table --------------------------------------------------------------------------------
 */

/*
 * nay_sst_iter: walks a table in order. Movements return NAY_OK when the iterator is at an entry,
 * NAY_EEND past either end, or an error, which stays until it is moved elsewhere. key and value
 * are valid until it moves; in a table of internal keys the key is the whole internal key.
 */
typedef struct nay_sst_iter nay_sst_iter;

NAY_API nay_status nay_sst_iter_new(const nay_sst *sst, nay_diag *diag, nay_sst_iter **iter);
NAY_API void nay_sst_iter_free(nay_sst_iter *iter);
NAY_API nay_status nay_sst_iter_first(nay_sst_iter *iter);
NAY_API nay_status nay_sst_iter_last(nay_sst_iter *iter);
NAY_API nay_status nay_sst_iter_next(nay_sst_iter *iter);
NAY_API nay_status nay_sst_iter_prev(nay_sst_iter *iter);

/* nay_sst_iter_seek: the first entry at or above key; of internal keys, its newest version. */
NAY_API nay_status nay_sst_iter_seek(nay_sst_iter *iter, const void *key, size_t len);

/* nay_sst_iter_seek_for_prev: the last entry at or below key; of internal keys, its oldest version.
 */
NAY_API nay_status nay_sst_iter_seek_for_prev(nay_sst_iter *iter, const void *key, size_t len);

/*
 * nay_sst_iter_seek_range: seek to `from` (NULL: to the first key); next then ends before `to`
 * (user keys; NULL: no end). If all keys of the range share a prefix, the prefix filter is probed
 * first, and on nay no block is read. Other seeks, first and last remove the end.
 */
NAY_API nay_status nay_sst_iter_seek_range(nay_sst_iter *iter, const void *from, size_t from_len,
                                           const void *to, size_t to_len);

/* nay_sst_iter_seek_prefix: the range of all keys that start so. NAY_ENOTSUP with a comparator, as
 * such keys need not be a range. */
NAY_API nay_status nay_sst_iter_seek_prefix(nay_sst_iter *iter, const void *prefix, size_t len);

NAY_API const void *nay_sst_iter_key(const nay_sst_iter *iter, size_t *len);
NAY_API const void *nay_sst_iter_value(const nay_sst_iter *iter, size_t *len);

/*
 * nay_sst_iter_pin: the value of the present entry, valid after the iterator moves or is freed, and
 * until `value` is used again or freed. Nothing is copied: the block stays. NAY_EINVAL: at no
 * entry. NAY_ENOMEM.
 */
NAY_API nay_status nay_sst_iter_pin(nay_sst_iter *iter, nay_sst_value *value);

/* nay_sst_iter_diag: why the last movement failed. */
NAY_API const nay_diag *nay_sst_iter_diag(const nay_sst_iter *iter);

/* nay_sst_iter_entry: user key, sequence number (0 in tables of plain keys), type and term of the
 * present entry. NAY_EINVAL: at no entry. NAY_ENOTSUP: of a type that only RocksDB has. */
NAY_API nay_status nay_sst_iter_entry(const nay_sst_iter *iter, nay_sst_entry *entry);

/* ---- many tables ------------------------------------------------------------------------------
 */

/*
 * nay_sst_source: sorted entries of your own: the calls of an iterator. Keys are as in the
 * tables: internal keys (nay_sst_key_join makes them), or plain ones. Movements return NAY_OK at an
 * entry, NAY_EEND past either end, or an error. seek takes a user key and goes to the first entry
 * that is not below it, its newest version; seek_for_prev to the last entry that is not above it,
 * its oldest version. next and prev are called at entries alone. key and value stay valid until the
 * next movement; if `stable`, while the source is used, and then nothing is copied. Entries must be
 * in order, and every NAY_OK of next and prev another entry: that is not checked, and a source that
 * breaks it makes a walk wrong, or endless.
 */
typedef struct nay_sst_source {
  size_t size; /* sizeof the struct, the same in a whole array: see ABI in nay.h */
  void *ctx;   /* the first argument of each call */
  nay_status (*first)(void *ctx);
  nay_status (*last)(void *ctx);
  nay_status (*seek)(void *ctx, const void *key, size_t len);
  nay_status (*seek_for_prev)(void *ctx, const void *key, size_t len);
  nay_status (*next)(void *ctx);
  nay_status (*prev)(void *ctx);
  const void *(*key)(void *ctx, size_t *len);
  const void *(*value)(void *ctx, size_t *len);
  void (*free)(void *ctx); /* when the iterator is freed; may be NULL */
  bool stable;
} nay_sst_source;

/* nay_sst_scan_options: all zero but for the size is everything that is in the tables now. */
typedef struct nay_sst_scan_options {
  size_t size;                   /* sizeof the struct: see ABI in nay.h */
  const nay_sst_source *sources; /* newest first; all are newer than the tables. Copied */
  size_t nsources;
  const uint64_t *sequence; /* of internal keys, what a reader at this number sees, be it 0; NULL:
                               the newest. Copied */
  const void *lower; /* user keys from here on; NULL: from the first. Copied, as are the next two */
  size_t lower_len;
  const void *upper; /* and below it; NULL: to the last */
  size_t upper_len;
  const void *prefix; /* user keys that start so; NULL: all. NAY_ENOTSUP with a comparator */
  size_t prefix_len;
  bool keep_deletions; /* also show keys whose newest version is a deletion */
  bool all_versions;   /* show every version of every key, newest first, deletions included */
  nay_sst_keys keys; /* of sources without tables, or with empty ones alone; AUTO: internal, unless
                        those state another kind. Else those of the tables */
  const nay_sst_comparator *comparator; /* of sources without tables; NULL: bytewise */
  nay_sst_merge_operator merge;         /* NULL: the operator of the lookup */
  void *merge_ctx;
} nay_sst_scan_options;

typedef struct nay_sst_scan nay_sst_scan;

/*
 * nay_sst_scan_new: over the tables of a lookup (may be NULL), which must outlive it, and sources.
 * It is at no entry yet. NAY_EMISMATCH: some tables have plain keys and some internal ones, or keys
 * and comparator are not those of the tables. If it fails, the sources are not freed.
 */
NAY_API nay_status nay_sst_scan_new(const nay_sst_lookup *lookup,
                                    const nay_sst_scan_options *options,
                                    const nay_allocator *allocator, nay_diag *diag,
                                    nay_sst_scan **merge);
NAY_API void nay_sst_scan_free(nay_sst_scan *merge);

/*
 * Movements return NAY_OK when the iterator is at an entry, NAY_EEND past either end or bound, or
 * an error. next and prev may follow each other in any order; at no entry they return what the last
 * movement did.
 */
NAY_API nay_status nay_sst_scan_first(nay_sst_scan *merge);
NAY_API nay_status nay_sst_scan_last(nay_sst_scan *merge);
NAY_API nay_status nay_sst_scan_next(nay_sst_scan *merge);
NAY_API nay_status nay_sst_scan_prev(nay_sst_scan *merge);

/* nay_sst_scan_seek: the first entry at or above a user key; of all versions, the newest. */
NAY_API nay_status nay_sst_scan_seek(nay_sst_scan *merge, const void *key, size_t len);

/* nay_sst_scan_seek_for_prev: the last entry at or below a user key; of all versions, the oldest.
 */
NAY_API nay_status nay_sst_scan_seek_for_prev(nay_sst_scan *merge, const void *key, size_t len);

/* nay_sst_scan_key: the user key. */
NAY_API const void *nay_sst_scan_key(const nay_sst_scan *merge, size_t *len);
NAY_API const void *nay_sst_scan_value(const nay_sst_scan *merge, size_t *len);

/* nay_sst_scan_entry: key, sequence number (0 in tables of plain keys) and whether it is a deletion
 * or a merge operand. NAY_EINVAL: at no entry. */
NAY_API nay_status nay_sst_scan_entry(const nay_sst_scan *merge, nay_sst_entry *version);

/*
 * nay_sst_scan_pin: the value of the present entry, valid after the iterator moves or is freed, and
 * until `value` is used again or freed. What is in tables is not copied, nor what is in stable
 * sources; a combined value is. NAY_EINVAL: at no entry. NAY_ENOMEM.
 */
NAY_API nay_status nay_sst_scan_pin(nay_sst_scan *merge, nay_sst_value *value);

/* nay_sst_scan_diag: why the last movement failed. */
NAY_API const nay_diag *nay_sst_scan_diag(const nay_sst_scan *merge);

/* nay_sst_scan_table: which table has the present entry, or caused the last error; NULL: a source,
 * or no table. */
NAY_API const nay_sst *nay_sst_scan_table(const nay_sst_scan *merge);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_ITER_H */

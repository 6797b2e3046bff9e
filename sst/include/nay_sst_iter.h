/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_iter.h - iterators in both directions: over one table (nay_sst_iter), or over a merge of
 * levels of tables and sources of your own, such as a memtable (nay_sst_scan, a merging iterator).
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
 * A scan shows each user key once, with the value that a get at the same sequence number finds: the
 * newest version at or below that number. A key whose newest version is a deletion is not shown.
 * Tables outside the bounds, and tables whose range or prefix filter excludes the range, are never
 * read; a seek below an upper bound asks the range filters again, for what is left of the range. Of
 * a disjoint level one table is open at a time.
 *
 * Values are views of their blocks. Keys and combined values are in the iterator's memory. All of
 * them are valid until the iterator moves; nay_sst_scan_pin keeps a value longer.
 *
 * A damaged block is an error with its table and offset. The error stays until first, last or a
 * seek moves the iterator elsewhere: a scan never skips damaged data silently.
 *
 * Merge operands (nay_sst_merge.h) are combined by the merge operator of the lookup or of the
 * options. The entry is then a value, with the key, sequence number and table of the newest
 * operand. With all_versions operands are shown uncombined. Without an operator they are
 * NAY_ENOTSUP, as is any other entry type of RocksDB.
 *
 * THREADS. A nay_sst_scan belongs to one thread at a time. Any number of scans may share tables.
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
 * nay_sst_iter: an iterator over one table. A movement returns NAY_OK at an entry, NAY_EEND past
 * either end, or an error. An error stays until the iterator is moved elsewhere. Key and value are
 * valid until the next movement. In a table of internal keys the key is the whole internal key.
 */
typedef struct nay_sst_iter nay_sst_iter;

NAY_API nay_status nay_sst_iter_new(const nay_sst *sst, nay_diag *diag, nay_sst_iter **iter);
NAY_API void nay_sst_iter_free(nay_sst_iter *iter);
NAY_API nay_status nay_sst_iter_first(nay_sst_iter *iter);
NAY_API nay_status nay_sst_iter_last(nay_sst_iter *iter);
NAY_API nay_status nay_sst_iter_next(nay_sst_iter *iter);
NAY_API nay_status nay_sst_iter_prev(nay_sst_iter *iter);

/* nay_sst_iter_seek: moves to the first entry at or after key; of an internal key, to its newest
   version. */
NAY_API nay_status nay_sst_iter_seek(nay_sst_iter *iter, const void *key, size_t len);

/* nay_sst_iter_seek_for_prev: moves to the last entry at or before key; of an internal key, to its
   oldest version. */
NAY_API nay_status nay_sst_iter_seek_for_prev(nay_sst_iter *iter, const void *key, size_t len);

/*
 * nay_sst_iter_seek_range: moves to the first entry at or after `from` (NULL: the first entry).
 * From then on next ends before `to` (NULL: no end). Both are user keys. The range filter, and if
 * all keys of the range share a prefix the prefix filter, are probed first; if one answers nay, no
 * block is read. Any other seek, first and last remove the end.
 */
NAY_API nay_status nay_sst_iter_seek_range(nay_sst_iter *iter, const void *from, size_t from_len,
                                           const void *to, size_t to_len);

/* nay_sst_iter_seek_prefix: nay_sst_iter_seek_range over all keys with this prefix. NAY_ENOTSUP
   with a comparator, because these keys need not be contiguous. */
NAY_API nay_status nay_sst_iter_seek_prefix(nay_sst_iter *iter, const void *prefix, size_t len);

NAY_API const void *nay_sst_iter_key(const nay_sst_iter *iter, size_t *len);
NAY_API const void *nay_sst_iter_value(const nay_sst_iter *iter, size_t *len);

/*
 * nay_sst_iter_pin: stores the value of the current entry in `value`. It stays valid after the
 * iterator moves or is freed, until `value` is reused or freed. The block is pinned, not copied.
 * NAY_EINVAL: the iterator is at no entry. NAY_ENOMEM.
 */
NAY_API nay_status nay_sst_iter_pin(nay_sst_iter *iter, nay_sst_value *value);

/* nay_sst_iter_diag: the cause of the last movement's failure. */
NAY_API const nay_diag *nay_sst_iter_diag(const nay_sst_iter *iter);

/* nay_sst_iter_entry: user key, sequence number (0 in tables of plain keys), type and term of the
   current entry. NAY_EINVAL: the iterator is at no entry. NAY_ENOTSUP: the entry has a type that
   only RocksDB has. */
NAY_API nay_status nay_sst_iter_entry(const nay_sst_iter *iter, nay_sst_entry *entry);

/* ---- many tables ------------------------------------------------------------------------------
 */

/*
 * nay_sst_source: your own sorted entries, as the callbacks of an iterator. The keys are of the
 * same kind as in the tables: internal keys (nay_sst_key_join makes them) or plain keys. A movement
 * returns NAY_OK at an entry, NAY_EEND past either end, or an error. seek moves to the first entry
 * at or after a user key, its newest version. seek_for_prev moves to the last entry at or before a
 * user key, its oldest version. next and prev are called only at an entry. Key and value must stay
 * valid until the next movement. If `stable` is set, they must stay valid while the source is in
 * use, and are not copied. Entries must be in order, and each NAY_OK of next and prev must reach
 * another entry. Nothing checks this: a scan over a source that breaks it gives wrong results or
 * does not end.
 */
typedef struct nay_sst_source {
  size_t size; /* sizeof the struct, the same in a whole array: see ABI in nay.h */
  nay_status (*first)(void *ctx);
  nay_status (*last)(void *ctx);
  nay_status (*seek)(void *ctx, const void *key, size_t len);
  nay_status (*seek_for_prev)(void *ctx, const void *key, size_t len);
  nay_status (*next)(void *ctx);
  nay_status (*prev)(void *ctx);
  const void *(*key)(void *ctx, size_t *len);
  const void *(*value)(void *ctx, size_t *len);
  void (*free)(void *ctx); /* called when the iterator is freed; may be NULL */
  void *ctx;               /* the first argument of each call */
  bool stable;
} nay_sst_source;

/* nay_sst_scan_options: options that are all zero except `size` scan the newest version of every
   key. */
typedef struct nay_sst_scan_options {
  size_t size;                   /* sizeof the struct: see ABI in nay.h */
  const nay_sst_source *sources; /* sources, newest first; all are newer than the tables. Copied */
  size_t nsources;
  /* Snapshot: the scan shows what a reader at this sequence number sees, even if it is 0. Internal
     keys only. NULL: the newest versions. Copied. */
  const uint64_t *sequence;
  const void *lower; /* inclusive lower bound, a user key; NULL: none. Copied */
  size_t lower_len;
  const void *upper; /* exclusive upper bound, a user key; NULL: none. Copied */
  size_t upper_len;
  /* Shows only user keys with this prefix; NULL: all keys. Copied. NAY_ENOTSUP with a
     comparator. */
  const void *prefix;
  size_t prefix_len;
  bool keep_deletions; /* also shows keys whose newest version is a deletion */
  bool all_versions;   /* shows every version of every key, newest first, deletions included */
  /* Kind of keys of the sources, if there are no tables or only empty ones. AUTO: the kind that the
     empty tables state, else internal. Tables with keys decide otherwise. */
  nay_sst_keys keys;
  /* Order of the sources' keys without tables; NULL: bytewise */
  const nay_sst_comparator *comparator;
  nay_sst_merge_operator merge; /* merge operator; NULL: the lookup's operator */
  void *merge_ctx;
} nay_sst_scan_options;

typedef struct nay_sst_scan nay_sst_scan;

/*
 * nay_sst_scan_new: makes a scan over the sources and the tables of a lookup. The lookup may be
 * NULL and must outlive the scan. The scan is at no entry yet. NAY_EMISMATCH: the tables differ in
 * their kind of keys, or the options name another kind or comparator. If the call fails, the
 * sources are not freed.
 */
NAY_API nay_status nay_sst_scan_new(const nay_sst_lookup *lookup,
                                    const nay_sst_scan_options *options,
                                    const nay_allocator *allocator, nay_diag *diag,
                                    nay_sst_scan **scan);
NAY_API void nay_sst_scan_free(nay_sst_scan *scan);

/*
 * A movement returns NAY_OK at an entry, NAY_EEND past either end or bound, or an error. next and
 * prev may follow each other in any order. At no entry they return the status of the last movement.
 */
NAY_API nay_status nay_sst_scan_first(nay_sst_scan *scan);
NAY_API nay_status nay_sst_scan_last(nay_sst_scan *scan);
NAY_API nay_status nay_sst_scan_next(nay_sst_scan *scan);
NAY_API nay_status nay_sst_scan_prev(nay_sst_scan *scan);

/* nay_sst_scan_seek: moves to the first entry at or after a user key; with all_versions, to its
   newest version. */
NAY_API nay_status nay_sst_scan_seek(nay_sst_scan *scan, const void *key, size_t len);

/* nay_sst_scan_seek_for_prev: moves to the last entry at or before a user key; with all_versions,
   to its oldest version. */
NAY_API nay_status nay_sst_scan_seek_for_prev(nay_sst_scan *scan, const void *key, size_t len);

/* nay_sst_scan_key: the user key of the current entry. */
NAY_API const void *nay_sst_scan_key(const nay_sst_scan *scan, size_t *len);
NAY_API const void *nay_sst_scan_value(const nay_sst_scan *scan, size_t *len);

/* nay_sst_scan_entry: key, sequence number (0 in tables of plain keys) and type of the current
   entry: value, deletion or merge operand. NAY_EINVAL: the scan is at no entry. */
NAY_API nay_status nay_sst_scan_entry(const nay_sst_scan *scan, nay_sst_entry *entry);

/*
 * nay_sst_scan_pin: stores the value of the current entry in `value`. It stays valid after the
 * iterator moves or is freed, until `value` is reused or freed. Values of tables and of stable
 * sources are not copied; combined values are. NAY_EINVAL: the scan is at no entry. NAY_ENOMEM.
 */
NAY_API nay_status nay_sst_scan_pin(nay_sst_scan *scan, nay_sst_value *value);

/* nay_sst_scan_diag: the cause of the last movement's failure. */
NAY_API const nay_diag *nay_sst_scan_diag(const nay_sst_scan *scan);

/* nay_sst_scan_table: the table of the current entry or of the last error; NULL: a source, or no
   table. */
NAY_API const nay_sst *nay_sst_scan_table(const nay_sst_scan *scan);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_ITER_H */

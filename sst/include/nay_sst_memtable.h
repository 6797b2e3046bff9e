/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_memtable.h - the newest entries of an LSM tree, in memory and in order: a skip list that
 * is read while it grows.
 *
 *   nay_sst_memtable *m;
 *   nay_sst_source source = {.size = sizeof source};
 *   nay_sst_entry entry = {sizeof entry, "foo", 3, .sequence = 7};
 *   if (nay_sst_memtable_new(NULL, NULL, NULL, &m) != NAY_OK) return 1;
 *   nay_sst_memtable_add(m, &entry, "bar", 3, NULL);
 *   nay_sst_memtable_source(m, &source);                  // for nay_sst_scan_new
 *   nay_sst_memtable_info is = {.size = sizeof is};
 *   nay_sst_memtable_stats(m, &is);
 *   if (is.nbytes >= 4 << 20) nay_sst_memtable_write(m, "1.ldb", NULL, NULL);
 *
 * Entries are versions of keys, as in tables of internal keys (NAY_SST_KEYS_INTERNAL): a key may be
 * in it many times, each with a sequence number of its own. Nothing is removed before the memtable
 * is freed; keys and values that it returns are valid until then.
 *
 * THREADS. One thread adds; any number of others read at the same time, without a lock. They see an
 * entry wholly or not at all: give them a sequence number that you publish after the add. Sources
 * use the allocator of the memtable, from their own threads.
 */
#ifndef NAY_SST_MEMTABLE_H
#define NAY_SST_MEMTABLE_H

#include "nay_sst_iter.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nay_sst_memtable nay_sst_memtable;

/* nay_sst_memtable_new: an empty one. comparator: the order of user keys, NULL: bytewise; it must
 * outlive the memtable. */
NAY_API nay_status nay_sst_memtable_new(const nay_sst_comparator *comparator,
                                        const nay_allocator *allocator, nay_diag *diag,
                                        nay_sst_memtable **memtable);

/* nay_sst_memtable_free: after all values and iterators that read it. */
NAY_API void nay_sst_memtable_free(nay_sst_memtable *memtable);

/*
 * nay_sst_memtable_add: copies key and value. NAY_EINVAL: a version that nay_sst_writer_add_entry
 * would not take either, or one of this key and sequence is there already. NAY_ENOMEM. Then nothing
 * has changed.
 */
NAY_API nay_status nay_sst_memtable_add(nay_sst_memtable *memtable, const nay_sst_entry *version,
                                        const void *value, size_t value_len, nay_diag *diag);

/*
 * nay_sst_memtable_get: as nay_sst_get: the newest version that is not above `sequence`.
 * NAY_ENOENT: the memtable has no value; value->deleted tells whether it has a deletion.
 * NAY_ENOTSUP: the version is a merge operand; nay_sst_iter.h combines it with what is older.
 */
NAY_API nay_status nay_sst_memtable_get(const nay_sst_memtable *memtable, const void *key,
                                        size_t len, uint64_t sequence, nay_diag *diag,
                                        nay_sst_value *value);

/* nay_sst_memtable_source: sets *source to a source of nay_sst_scan_new, at no entry yet.
 * NAY_EINVAL: source->size. NAY_ENOMEM. Free it with source->free if no merge takes it. */
NAY_API nay_status nay_sst_memtable_source(const nay_sst_memtable *memtable,
                                           nay_sst_source *source);

/*
 * nay_sst_memtable_write: all entries become a table at path, of internal keys whatever
 * options->keys says; else as nay_sst_writer_new, with the comparator of the memtable in the
 * options.
 */
NAY_API nay_status nay_sst_memtable_write(const nay_sst_memtable *memtable, const char *path,
                                          const nay_sst_write_options *options, nay_diag *diag);

/* nay_sst_memtable_info: for the thread that adds. */
typedef struct nay_sst_memtable_info {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t nentries;
  uint64_t nbytes; /* of memory; 0: there is none */
} nay_sst_memtable_info;

/* nay_sst_memtable_stats: NAY_EINVAL: info->size. */
NAY_API nay_status nay_sst_memtable_stats(const nay_sst_memtable *memtable,
                                          nay_sst_memtable_info *info);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_MEMTABLE_H */

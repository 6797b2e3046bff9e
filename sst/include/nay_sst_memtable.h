/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_memtable.h - a memtable: the newest entries of an LSM tree, in memory and sorted. It is a
 * skip list that threads read while one thread inserts.
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
 * Entries are versions of keys, as in tables of internal keys (NAY_SST_KEYS_INTERNAL): a key may
 * have many versions, each with its own sequence number. Nothing is removed before the memtable is
 * freed, and the keys and values that it returns stay valid until then.
 *
 * THREADS. One thread adds. Any number of other threads read at the same time, without a lock. A
 * reader sees an entry completely or not at all: read at a sequence number that you publish after
 * the add. Sources use the memtable's allocator from their own threads.
 */
#ifndef NAY_SST_MEMTABLE_H
#define NAY_SST_MEMTABLE_H

#include "nay_sst_iter.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nay_sst_memtable nay_sst_memtable;

/* nay_sst_memtable_new: makes an empty memtable. comparator is the order of user keys and must
   outlive the memtable; NULL: bytewise. */
NAY_API nay_status nay_sst_memtable_new(const nay_sst_comparator *comparator,
                                        const nay_allocator *allocator, nay_diag *diag,
                                        nay_sst_memtable **memtable);

/* nay_sst_memtable_free: frees a memtable, after all values and iterators that read it. */
NAY_API void nay_sst_memtable_free(nay_sst_memtable *memtable);

/*
 * nay_sst_memtable_add: copies key and value. NAY_EINVAL: nay_sst_writer_add_entry would refuse the
 * entry, or the memtable has this key with this sequence number already. NAY_ENOMEM. After an error
 * nothing has changed.
 */
NAY_API nay_status nay_sst_memtable_add(nay_sst_memtable *memtable, const nay_sst_entry *entry,
                                        const void *value, size_t value_len, nay_diag *diag);

/*
 * nay_sst_memtable_get: nay_sst_get in the memtable: finds the newest version at or below
 * `sequence`. NAY_ENOENT: the memtable has no value; value->deleted tells whether it has a
 * deletion. NAY_ENOTSUP: the version is a merge operand; a merging iterator (nay_sst_iter.h)
 * combines it with older versions.
 */
NAY_API nay_status nay_sst_memtable_get(const nay_sst_memtable *memtable, const void *key,
                                        size_t len, uint64_t sequence, nay_diag *diag,
                                        nay_sst_value *value);

/* nay_sst_memtable_source: makes a source for nay_sst_scan_new, at no entry yet. NAY_EINVAL:
   source->size. NAY_ENOMEM. If no scan takes the source, free it with source->free. */
NAY_API nay_status nay_sst_memtable_source(const nay_sst_memtable *memtable,
                                           nay_sst_source *source);

/*
 * nay_sst_memtable_write: writes all entries to a table at path (a flush). The table has internal
 * keys, whatever options->keys says, and the memtable's comparator. Otherwise as
 * nay_sst_writer_new.
 */
NAY_API nay_status nay_sst_memtable_write(const nay_sst_memtable *memtable, const char *path,
                                          const nay_sst_write_options *options, nay_diag *diag);

/* nay_sst_memtable_info: the size of a memtable, for the thread that adds. */
typedef struct nay_sst_memtable_info {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t nentries;
  uint64_t nbytes; /* bytes of memory; 0: no entries */
} nay_sst_memtable_info;

/* nay_sst_memtable_stats: reports the size. NAY_EINVAL: info->size. */
NAY_API nay_status nay_sst_memtable_stats(const nay_sst_memtable *memtable,
                                          nay_sst_memtable_info *info);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_MEMTABLE_H */

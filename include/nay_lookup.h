/*
 * nay_lookup.h - one key in many tables, newest first: the read path of an LSM tree below its
 * memtable.
 *
 *   const nay_sst *tables[] = {newest, older, oldest};
 *   nay_lookup *lookup;
 *   if (nay_lookup_new(tables, 3, NULL, &lookup) != NAY_OK) return 1;
 *   nay_sst_value v = {.size = sizeof v};
 *   if (nay_lookup_get(lookup, "foo", 3, NULL, &v, NULL) == NAY_OK) fwrite(v.bytes, 1, v.len,
 * stdout); nay_sst_value_free(&v); nay_lookup_free(lookup);
 *
 * THREADS. All calls on a const nay_lookup are safe together.
 */
#ifndef NAY_LOOKUP_H
#define NAY_LOOKUP_H

#include "nay_sst.h"

#ifdef __cplusplus
extern "C" {
#endif

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
NAY_API nay_status nay_lookup_count(const nay_lookup *lookup, nay_sst_counters *counters);

#ifdef __cplusplus
}
#endif

#endif /* NAY_LOOKUP_H */

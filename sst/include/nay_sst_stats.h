/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_stats.h - what a table states about its entries, and where in the file a key is: for
 * those who plan compactions.
 *
 *   nay_sst_properties p = {.size = sizeof p};
 *   if (nay_sst_stated(table, &p) == NAY_OK && p.ndeletions * 2 > p.nentries) compact(table);
 *
 *   uint64_t from, to;
 *   if (nay_sst_approximate_offset(table, "a", 1, NULL, &from) != NAY_OK) return 1;
 *   if (nay_sst_approximate_offset(table, "b", 1, NULL, &to) != NAY_OK) return 1;
 *   printf("keys that start with a: about %llu bytes\n", (unsigned long long)(to - from));
 *
 * THREADS. As all calls on a const nay_sst.
 */
#ifndef NAY_SST_STATS_H
#define NAY_SST_STATS_H

#include "nay_sst.h"

#ifdef __cplusplus
extern "C" {
#endif

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
  const void *largest; /* the last key itself: that of nay_sst_info may be above it */
  size_t largest_len;
} nay_sst_properties;

/* nay_sst_stated: reads nothing from the file. NAY_ENOENT: the table does not state them.
 * NAY_EINVAL: properties->size. */
NAY_API nay_status nay_sst_stated(const nay_sst *sst, nay_sst_properties *properties);

/*
 * nay_sst_approximate_offset: where in the file the data block begins that has the key or would
 * have it; behind the data if all keys are below. By the index alone: no block is read. The
 * difference of two offsets is about the size of the range between them, compressed. NAY_ECORRUPT,
 * NAY_ENOTSUP: as a get of the key.
 */
NAY_API nay_status nay_sst_approximate_offset(const nay_sst *sst, const void *key, size_t len,
                                              nay_diag *diag, uint64_t *offset);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_STATS_H */

/* clubcard_keys.h - the certificates of an issuer while its block is built: records, sorted sets.
 */
#ifndef NAY_CLUBCARD_KEYS_H
#define NAY_CLUBCARD_KEYS_H

#include "base/buffer.h"
#include "format/clubcard.h"

/* nay_clubitem: a certificate; record is its serial in the caller's bytes, with its length. */
typedef struct nay_clubitem {
  nay_clubkey key;
  const uint8_t *record;
} nay_clubitem;

/* nay_clubset: items in a buffer; sorted by key, without duplicates, once it is sorted. */
typedef struct nay_clubset {
  nay_buffer items;
  nay_buffer buckets; /* uint32_t each: the first item whose a[1] begins with so many bits */
  unsigned bucket_bits;
} nay_clubset;

static inline size_t nay__clubset_n(const nay_clubset *set) {
  return set->items.len / sizeof(nay_clubitem);
}
static inline nay_clubitem *nay__clubset_at(const nay_clubset *set) {
  return (nay_clubitem *)(void *)set->items.at;
}
static inline nay_status nay__clubset_add(nay_clubset *set, const nay_clubitem *item,
                                          const nay_allocator *a) {
  return nay__buffer_append(&set->items, item, sizeof *item, a);
}
void nay__clubset_free(nay_clubset *set, const nay_allocator *a);

/* nay__clubset_sort: and drops duplicates. NAY_EFULL: above 2^31 items. */
nay_status nay__clubset_sort(nay_clubset *set, const nay_allocator *a);

/* nay__clubset_index: lets nay__clubset_find look; the set is sorted. */
nay_status nay__clubset_index(nay_clubset *set, const nay_allocator *a);

/* nay__clubset_find: the place of a key, or SIZE_MAX. */
size_t nay__clubset_find(const nay_clubset *set, const nay_clubkey *key);

/* nay_clubrecords: a walk over records; zero `at` and set the rest. */
typedef struct nay_clubrecords {
  const uint8_t *bytes;
  size_t len, at;
  const uint8_t *issuer;
} nay_clubrecords;

/* nay__clubrecords_count: how many there are; false: one is cut off or empty. */
bool nay__clubrecords_count(const uint8_t *bytes, size_t len, size_t *n);

/* nay__clubrecords_next: the next item, of records that were counted; false: there are no more. */
bool nay__clubrecords_next(nay_clubrecords *records, nay_clubitem *item);

#endif /* NAY_CLUBCARD_KEYS_H */

/*
 * list_records.h - the keys of a list while it is built: records of three words by the top byte of
 * the hash, in memory or in a temporary file. A bucket is read sorted, each key once.
 */
#ifndef NAY_LIST_RECORDS_H
#define NAY_LIST_RECORDS_H

#include "build/hash_spill.h"

#define NAY_LIST_BUCKETS 256u

/* What is known of a key. A key of the universe is listed if it is added as listed, too: 3. */
enum { NAY_LIST_UNLISTED = 0, NAY_LIST_LISTED = 1, NAY_LIST_OF_UNIVERSE = 2 };

/* nay_list_record: info is the status, 2 bits, the partition, 24 bits, the index of the add, 38. */
typedef struct nay_list_record {
  uint64_t hash, second, info;
} nay_list_record;

#define NAY_LIST_MAX_PARTITIONS ((uint64_t)1 << 24)
#define NAY_LIST_MAX_ADDS ((uint64_t)1 << 38)

static inline uint64_t nay__list_info(unsigned status, uint64_t partition, uint64_t index) {
  return status | partition << 2 | index << 26;
}
static inline unsigned nay__list_status(const nay_list_record *r) { return r->info & 3; }
static inline bool nay__list_is_listed(const nay_list_record *r) { return (r->info & 1) != 0; }
static inline uint64_t nay__list_partition(const nay_list_record *r) {
  return r->info >> 2 & (NAY_LIST_MAX_PARTITIONS - 1);
}

typedef struct nay_list_records nay_list_records;

/* nay__list_records_new: spills: to a temporary file in the directory (NULL: /tmp). outside: what
 * becomes of keys that are listed and not of the universe, a nay_list_outside. NAY_EIO. */
nay_status nay__list_records_new(bool spills, const char *directory, unsigned outside,
                                 const nay_allocator *allocator, nay_diag *diag,
                                 nay_list_records **records);
void nay__list_records_free(nay_list_records *records);
void nay__list_records_clear(nay_list_records *records);

/* nay__list_records_expect: changes `outside` from now on; once: NAY_EINVAL for a key that was
 * added as one of the universe more than once. */
void nay__list_records_expect(nay_list_records *records, unsigned outside, bool once);

/* nay__list_records_add: a failed call adds nothing. */
nay_status nay__list_records_add(nay_list_records *records, const nay_list_record *record);

/*
 * nay__list_records_read: the records of a bucket, ascending by both hashes, each key once, listed
 * or not. They are valid until the next call. NAY_EINVAL: a key that was added as listed and as
 * not listed; diag->offset is the index of the later add; or one that is refused, as it is not of
 * the universe, or added again. NAY_ENOMEM, NAY_EIO.
 */
nay_status nay__list_records_read(nay_list_records *records, unsigned bucket, nay_diag *diag,
                                  const nay_list_record **first, size_t *n);

/* nay__list_records_done: frees what reading needed. */
void nay__list_records_done(nay_list_records *records);

#endif /* NAY_LIST_RECORDS_H */

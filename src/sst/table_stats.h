/*
 * table_stats.h - what the entries of a table add up to: the properties that nay_sst_stats.h shows.
 *
 * A writer counts while entries pass; with `properties` it stores the sums in nay's properties
 * block (properties.h), by these names:
 *
 *   nay.deletions           varint: entries of type 0
 *   nay.entries             varint; the others are read only beside it
 *   nay.key.bytes           varint: of all keys, trailers of internal keys included
 *   nay.largest.key         the last user key, as it is
 *   nay.largest.sequence    varint
 *   nay.merges              varint: entries of type 2
 *   nay.smallest.key        the first user key
 *   nay.smallest.sequence   varint
 *   nay.value.bytes         varint: of all values, uncompressed
 *
 * A table without entries has no keys here, a table of plain keys neither sequences, deletions nor
 * merges. Cost: one copy of the first and of the last key, 250 bytes of file.
 *
 * INVARIANTS, checked when they are read: a number fills its value; deletions and merges are
 * entries; the smallest sequence is not above the largest, which has 56 bits; both keys are there
 * or none; sums of bytes hold the two keys. Whether the sums are right only a walk tells: no search
 * relies on them.
 */
#ifndef NAY_SST_TABLE_STATS_H
#define NAY_SST_TABLE_STATS_H

#include "sst/block.h"

typedef struct nay_table_stats {
  uint64_t nentries, ndeletions, nmerges;
  uint64_t key_bytes, value_bytes;
  uint64_t smallest_sequence, largest_sequence;
  nay_bytes smallest, largest; /* user keys; where they lie, the owner knows */
  bool has_entries, has_smallest, has_largest;
} nay_table_stats;

/* nay__table_stats_add: an entry that was written. */
void nay__table_stats_add(nay_table_stats *stats, nay_order order, const uint8_t *key, size_t len,
                          size_t value_len);

/* nay__table_stats_store: to a builder of the properties block. NAY_ENOMEM. */
nay_status nay__table_stats_store(const nay_table_stats *stats, nay_order order,
                                  nay_block_builder *builder, const nay_allocator *a);

/* nay__table_stats_load: a property, if it is one of these. NAY_ECORRUPT: its value is no number.
 */
nay_status nay__table_stats_load(nay_table_stats *stats, nay_bytes name, nay_bytes value);

/* nay__table_stats_check: the invariants above, once all are read. */
bool nay__table_stats_check(const nay_table_stats *stats, nay_order order);

#endif /* NAY_SST_TABLE_STATS_H */

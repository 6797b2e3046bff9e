/*
 * entry_totals.h - totals over the entries of a table: the properties that nay_sst.h shows.
 *
 * A writer counts entries as they pass. With the option `properties` it stores the totals in nay's
 * properties block (properties.h):
 *
 *   nay.deletions           varint: deletions (type 0)
 *   nay.entries             varint: all entries; without it the others are ignored
 *   nay.key.bytes           varint: bytes of all keys, with the trailers of internal keys
 *   nay.largest.key         bytes: the last user key
 *   nay.largest.sequence    varint
 *   nay.merges              varint: merge operands (type 2)
 *   nay.smallest.key        bytes: the first user key
 *   nay.smallest.sequence   varint
 *   nay.value.bytes         varint: bytes of all values, uncompressed
 *
 * A table without entries stores no keys. A table of plain keys stores no sequences, deletions or
 * merges. Cost: a copy of the first and the last key, and about 250 bytes of file.
 *
 * INVARIANTS, checked when a table is opened: a varint fills its value; deletions + merges <=
 * entries; smallest sequence <= largest sequence < 2^56; both keys are stored or none; neither key
 * is longer than nay.key.bytes. Only a full scan could verify the totals, so no search relies on
 * them.
 */
#ifndef NAY_SST_BLOCK_ENTRY_TOTALS_H
#define NAY_SST_BLOCK_ENTRY_TOTALS_H

#include "block/block.h"

typedef struct nay_table_stats {
  uint64_t nentries, ndeletions, nmerges;
  uint64_t key_bytes, value_bytes;
  uint64_t smallest_sequence, largest_sequence;
  nay_bytes smallest, largest; /* user keys, in memory of the struct's owner */
  bool has_entries, has_smallest, has_largest;
} nay_table_stats;

/* nay_sst__table_stats_add: counts an entry. */
void nay_sst__table_stats_add(nay_table_stats *stats, nay_order order, const uint8_t *key,
                              size_t len, size_t value_len);

/* nay_sst__table_stats_store: appends the properties to a builder of the properties block.
 * NAY_ENOMEM. */
nay_status nay_sst__table_stats_store(const nay_table_stats *stats, nay_order order,
                                      nay_block_builder *builder, const nay_allocator *a);

/* nay_sst__table_stats_load: stores the value of a property, if entry_totals.h lists the property.
   NAY_ECORRUPT: the value is not a valid varint. */
nay_status nay_sst__table_stats_load(nay_table_stats *stats, nay_bytes name, nay_bytes value);

/* nay_sst__table_stats_check: checks the invariants above, after all properties are loaded. */
bool nay_sst__table_stats_check(const nay_table_stats *stats, nay_order order);

#endif /* NAY_SST_BLOCK_ENTRY_TOTALS_H */

/*
 * properties.h - the properties block: name and value of what a table states about itself.
 *
 * RocksDB's "rocksdb.properties" and nay's "nay.properties" are ordinary blocks (block.h). The key
 * of an entry is a property's name, the value a text or a varint. Readers skip unknown names. nay
 * writes:
 *
 *   nay.comparator   text: the name of the user-key comparator
 *   nay.*            with the option `properties`: totals over the entries, see entry_totals.h
 *
 * nay's block is never compressed. A table has one if it was written with a comparator or with the
 * option `properties`.
 */
#ifndef NAY_SST_BLOCK_PROPERTIES_H
#define NAY_SST_BLOCK_PROPERTIES_H

#include "block/block.h"
#include "block/entry_totals.h"

/* nay_name: a NUL-terminated name. A longer name is truncated, and then equals no known name. */
typedef char nay_name[128];

void nay_sst__name_set(nay_name name, nay_bytes text);

/* nay_sst__name_copy: copies a name into `room` bytes, truncated if it is longer, NUL-terminated.
 */
void nay_sst__name_copy(char *to, const char *name, size_t room);

/* nay_properties: the properties of a table. The caller presets the values of properties that may
 * be absent. */
typedef struct nay_properties {
  uint64_t nentries;        /* entries in the table */
  uint64_t nfilter_entries; /* entries in the filter */
  nay_name filter_policy;   /* RocksDB's option filter_policy when the table was written */
  nay_name prefix_extractor;
  bool whole_keys;          /* the filter has whole keys */
  bool prefixes;            /* the filter has prefixes */
  bool index_internal_keys; /* index keys are internal keys, with trailer */
  bool index_delta;         /* index values are delta-encoded */
  bool other_comparator;    /* the comparator is not the bytewise one */
  nay_name comparator;      /* "": not stated */
  uint64_t comparator_at;   /* offset of the comparator's entry in the block */
  const char *unsupported;  /* why LevelDB's reader would give wrong answers; NULL: it would not */
  uint64_t unsupported_at;  /* offset in the block of the entry behind `unsupported` */
  /* Written by RocksDB's SstFileWriter, for ingestion into a database. */
  bool for_ingestion;
  /* Offset in the block of the 8-byte sequence number that an ingestion overwrites; 0: not
   * stated. */
  uint64_t sequence_at;
  nay_table_stats stats; /* keys point into the block */
} nay_properties;

#define NAY_PROPERTY_COMPARATOR "nay.comparator"

/* nay_sst__property_add: appends a property to nay's block. Names must ascend. */
nay_status nay_sst__property_add(nay_block_builder *builder, const char *name, const void *value,
                                 size_t len, const nay_allocator *a);

/* nay_sst__properties_load: parses the uncompressed contents of a properties block. NAY_ECORRUPT:
 * diag->offset counts from the start of the block. */
nay_status nay_sst__properties_load(nay_bytes contents, const nay_allocator *a, nay_diag *diag,
                                    nay_properties *properties);

#endif /* NAY_SST_BLOCK_PROPERTIES_H */

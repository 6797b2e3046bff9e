/*
 * properties.h - the properties block: what a table states about itself, by name.
 *
 * RocksDB's "rocksdb.properties" and nay's "nay.properties" are blocks like any other (block.h):
 * entries in the order of their keys. A key is the name of a property, the value a text or a
 * varint. Readers skip names that they do not know. nay writes
 *
 *   nay.comparator   text, ends with the value: the name of the comparator of user keys
 *   and, with `properties`, what the entries add up to: table_stats.h
 *
 * A block of nay's is never compressed. A table has one if it was made with a comparator or with
 * `properties`.
 */
#ifndef NAY_SST_PROPERTIES_H
#define NAY_SST_PROPERTIES_H

#include "sst/block.h"
#include "sst/table_stats.h"

/* nay_name: a text that ends in 0. A longer one is cut, and then equals no name that we know. */
typedef char nay_name[128];

void nay__name_set(nay_name name, nay_bytes text);

/* nay__name_copy: into `room` bytes, cut if it is longer. */
void nay__name_copy(char *to, const char *name, size_t room);

/* nay_properties: the caller sets what holds for a table that does not state it. */
typedef struct nay_properties {
  uint64_t nentries;        /* of the table */
  uint64_t nfilter_entries; /* of its filter */
  nay_name filter_policy;   /* the option of the writer */
  nay_name prefix_extractor;
  bool whole_keys;          /* are in the filter */
  bool prefixes;            /* are in the filter */
  bool index_internal_keys; /* index keys have the trailer of an internal key */
  bool index_delta;         /* index values are delta-encoded */
  bool other_comparator;    /* than the bytewise one */
  nay_name comparator;      /* "": not stated */
  uint64_t comparator_at;   /* offset in the block of the entry that states it */
  const char *unsupported;  /* what a reader of LevelDB's tables would get wrong; NULL: nothing */
  uint64_t unsupported_at;  /* offset in the block of the entry that states it */
  bool for_ingestion;       /* into a RocksDB database, which may have done it */
  uint64_t sequence_at;     /* offset in the block of the number that it then gave to all entries,
                               8 bytes, 0 until then; 0: not stated */
  nay_table_stats stats;    /* keys are views into the block */
} nay_properties;

#define NAY_PROPERTY_COMPARATOR "nay.comparator"

/* nay__property_add: to a builder of nay's block; in the order of their names. */
nay_status nay__property_add(nay_block_builder *builder, const char *name, const void *value,
                             size_t len, const nay_allocator *a);

/* nay__properties_load: from the uncompressed contents of the block. NAY_ECORRUPT: diag->offset
 * counts from the start of the block. */
nay_status nay__properties_load(nay_bytes contents, const nay_allocator *a, nay_diag *diag,
                                nay_properties *properties);

#endif /* NAY_SST_PROPERTIES_H */

/*
 * rocksdb.h - what the layouts of RocksDB's filter blocks share.
 *
 * A block is some bits and five bytes after them, whose first tells which of three layouts it is.
 * RocksDB's reader goes by these bytes alone, so each of the three names reads all of them. Here
 * the payload of a filter is the whole block, the five bytes included: writing is copying, and odd
 * blocks stay what they are.
 *
 * shape: nunits is 0 for a block of no keys, which answers nay; `extra` has NAY_ROCKSDB_MAYBE for
 * one whose bytes are reserved, which answers maybe.
 */
#ifndef NAY_ROCKSDB_H
#define NAY_ROCKSDB_H

#include "format/format.h"

#define NAY_ROCKSDB_TRAILER 5u
#define NAY_ROCKSDB_BLOOM 0xffu  /* first byte of the trailer */
#define NAY_ROCKSDB_RIBBON 0xfeu /* 1 to 127: legacy, and the number of probes; others: maybe */
#define NAY_ROCKSDB_MAYBE 0x80000000u

extern const nay_foreign_hash nay__rocksdb_hash; /* of all but legacy */
extern const nay_family nay__family_rocksdb_bloom;
extern const nay_family nay__family_rocksdb_legacy;
extern const nay_family nay__family_rocksdb_ribbon;

/* nay__rocksdb_check_bits: RocksDB takes 0.5 to 100 bits, and makes 1 of what is below that. */
nay_status nay__rocksdb_check_bits(double *bits_per_key, nay_diag *diag);

/* nay__rocksdb_probes: how many RocksDB takes for so many thousandths of a bit per key. */
uint32_t nay__rocksdb_probes(uint32_t millibits);

/* bits per key -> thousandths, as RocksDB rounds them */
uint32_t nay__rocksdb_millibits(double bits_per_key);

/* The sizes that RocksDB gives n keys. */
nay_status nay__rocksdb_bloom_plan(uint64_t nkeys, double bits_per_key, nay_diag *, nay_shape *);
nay_status nay__rocksdb_legacy_plan(uint64_t nkeys, double bits_per_key, nay_diag *, nay_shape *);
nay_status nay__rocksdb_ribbon_plan(uint64_t nkeys, double bits_per_key, nay_diag *, nay_shape *);

/* The expected rate at so many bits per key, for a large set. */
double nay__rocksdb_bloom_rate(double bits_per_key);
double nay__rocksdb_ribbon_rate(double bits_per_key);

/* A block of len > 5 bytes whose trailer says that it is one -> its shape. */
nay_shape nay__rocksdb_bloom_shape(const uint8_t *bytes, size_t len);
nay_shape nay__rocksdb_legacy_shape(const uint8_t *bytes, size_t len);
nay_shape nay__rocksdb_ribbon_shape(const uint8_t *bytes, size_t len);

#endif /* NAY_ROCKSDB_H */

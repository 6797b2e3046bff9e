/*
 * nay_rocksdb.h - nay's filters in RocksDB: a FilterPolicy for block-based tables.
 *
 *   std::shared_ptr<const rocksdb::FilterPolicy> filter;
 *   rocksdb::Status s = nay::NewRocksPolicy({}, &filter);
 *   if (!s.ok()) return s;  // this RocksDB is not the one that nay was compiled for
 *   table_options.filter_policy = filter;
 *
 * RocksDB's public headers do not support custom filters since 7.0: this relies on two internal
 * classes, declared anew in filter_bits.h and checked against the version at compile time and at
 * run time. See README.md.
 */
#ifndef NAY_ROCKSDB_H
#define NAY_ROCKSDB_H

#include <rocksdb/filter_policy.h>
#include <rocksdb/status.h>

#include <memory>
#include <vector>

namespace nay {

enum class RocksBytes {
  /* nay's own families in nay's own bytes, which have their own checksums. RocksDB
   * without this policy opens the database and ignores these filters. */
  kNay,
  /* The bytes of RocksDB's own Bloom and ribbon filters, built and probed by nay: any RocksDB since
   * 6.15 uses them, and nay uses filters that RocksDB has built. */
  kCompatible,
};

struct RocksOptions {
  RocksBytes bytes = RocksBytes::kNay;
  /* As in NewBloomFilterPolicy: all filters have the false-positive rate of RocksDB's Bloom filter
   * at this many bits per key. 0.5 to 100. */
  double bits_per_key = 10;
  /* As in NewRibbonFilterPolicy: tables of levels before this one get blocked filters, which
   * build faster, the others ribbon filters, which are 30% smaller. A flush counts as level -1; so
   * 0: only flushes, -1: ribbon everywhere, INT_MAX: blocked everywhere. */
  int blocked_before_level = 0;
  /* Bits per key of the levels, as bits_per_key but with 0 for no filter: number i is for level i,
   * and flushes are level 0. Levels beyond the list, and tables whose level RocksDB does not tell
   * (those of SstFileWriter), have bits_per_key. At most 64; empty: all levels have bits_per_key.
   * `nay plan --lsm` plans them. */
  std::vector<double> bits_per_level;
};

/*
 * NewRocksPolicy: InvalidArgument: bits_per_key or bits_per_level. NotSupported: the RocksDB that
 * runs is of another version than the headers this was compiled with.
 */
rocksdb::Status NewRocksPolicy(const RocksOptions &options,
                               std::shared_ptr<const rocksdb::FilterPolicy> *policy);

/*
 * RegisterRocksPolicy: makes "nay:10:0" (or "nay-compatible:10:0") a filter_policy for options
 * files and strings. The numbers are bits_per_key and blocked_before_level, which may be left out;
 * "nay:10:0:20,15.5,9" has the bits_per_level of levels 0 to 2 besides.
 * Other strings that begin with "nay:" or "nay-", and "nay" alone, are refused: InvalidArgument, at
 * the latest from DB::Open. Call it before options are loaded: RocksDB silently ignores a policy
 * that it does not know.
 */
void RegisterRocksPolicy();

}  // namespace nay

#endif /* NAY_ROCKSDB_H */

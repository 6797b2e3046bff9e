/*
 * nay_rocksdb.h - nay's filters in RocksDB: a FilterPolicy for block-based tables.
 *
 *   std::shared_ptr<const rocksdb::FilterPolicy> filter;
 *   rocksdb::Status s = nay::NewRocksPolicy({}, &filter);
 *   if (!s.ok()) return s;  // this RocksDB is not the one that nay was compiled for
 *   table_options.filter_policy = filter;
 *
 * RocksDB no longer lets anyone bring filters of their own through its public headers: this relies
 * on two internal classes, declared again in filter_bits.h and checked against the version when it
 * is compiled and when it runs. README.md tells what that means.
 */
#ifndef NAY_ROCKSDB_H
#define NAY_ROCKSDB_H

#include <rocksdb/filter_policy.h>
#include <rocksdb/status.h>

#include <memory>

namespace nay {

enum class RocksBytes {
  /* nay's own families in nay's own bytes, which have their own checksums. Other programs ignore
   * these filters; RocksDB without this policy opens the database and does without them. */
  kNay,
  /* The bytes of RocksDB's own Bloom and ribbon filters, made and read by nay: any RocksDB since
   * 6.15 uses them, and filters that RocksDB made before are used as well. */
  kCompatible,
};

struct RocksOptions {
  RocksBytes bytes = RocksBytes::kNay;
  /* As in NewBloomFilterPolicy: all filters get the rate of RocksDB's Bloom filter at this many
   * bits per key, whatever they need for it. 0.5 to 100. */
  double bits_per_key = 10;
  /* As in NewRibbonFilterPolicy: tables of levels before this one get blocked filters, which are
   * made faster, the others ribbon filters, which are 30 % smaller. A flush counts as level -1; so
   * 0: only flushes, -1: ribbon everywhere, INT_MAX: blocked everywhere. */
  int blocked_before_level = 0;
};

/*
 * NewRocksPolicy: InvalidArgument: bits_per_key. NotSupported: the RocksDB that runs is of another
 * version than the headers this was compiled with.
 */
rocksdb::Status NewRocksPolicy(const RocksOptions &options,
                               std::shared_ptr<const rocksdb::FilterPolicy> *policy);

/*
 * RegisterRocksPolicy: makes "nay:10:0" (or "nay-compatible:10:0") a filter_policy for options
 * files and strings. The numbers are bits_per_key and blocked_before_level, which may be left out.
 * Other strings that begin with "nay:" or "nay-", and "nay" alone, are refused: InvalidArgument, at
 * the latest from DB::Open. Call it before options are loaded: RocksDB takes a policy that it does
 * not know for none, silently.
 */
void RegisterRocksPolicy();

}  // namespace nay

#endif /* NAY_ROCKSDB_H */
